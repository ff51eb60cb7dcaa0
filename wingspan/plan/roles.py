"""The roles of the fields of a plan's nodes, each stated once: where the field is defined.

A field that holds registers, expressions, buffers or statements is made by `role`, as in ::

    @ir_node
    class Load:
        reg: Reg = role("def")
        ref: Ref = role("read")
        index: Expr = role("use")
        place: Place = role("report")
        origin: Origin = role("report")

Whoever wants to know what a statement defines or uses, or goes through a plan or rewrites it, asks for the names of the
fields with a role (`ROLES`, `plan.uses`), so that a new statement is known to all of them at once. A field without a
role is an attribute, such as the name of an operator.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar, dataclass_transform

Role = Literal["def", "yield", "use", "ref", "read", "write", "update", "part", "block", "local", "report"]
"""What a statement does with what a field holds: a value, None, or a tuple of such, which may come with their names.

def: it sets the register. A cursor, which moves on from where it is, is `use`, too.
yield: the blocks inside of it leave the register, which is read where they end.
use: it works with the expression.
ref, read, write, update: it names the buffer, reads cells of it, writes some, or both.
part: a node whose fields have roles of their own, in the statement.
block: the statements are inside of it.
local: only statements inside of it set and use the register.
report: a node with expressions that only reports on the statement use.
"""

ACCESSES: tuple[Role, ...] = ("ref", "read", "write", "update")
"""The roles of buffers."""

_T = TypeVar("_T")


def role(*roles: Role, default: Any = MISSING) -> Any:
    """A field with these roles."""
    return field(default=default, metadata={"roles": frozenset(roles)})


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of a class's fields by their roles, in the order of the fields."""

    defs: tuple[str, ...]
    yields: tuple[str, ...]
    uses: tuple[str, ...]
    refs: tuple[tuple[str, Role], ...]
    """those of buffers, with what is done with their cells"""
    parts: tuple[str, ...]
    blocks: tuple[str, ...]
    reports: tuple[str, ...]
    reads: tuple[str, ...]
    """those with expressions that are used or reported, and not set: others of the same value may take their place"""
    all: tuple[str, ...]

    @classmethod
    def of(cls, kind: type) -> Roles:
        """The roles of a dataclass's fields."""
        roles = {f.name: f.metadata["roles"] for f in fields(kind) if "roles" in f.metadata}

        def having(*some: Role) -> tuple[str, ...]:
            return tuple(name for name, own in roles.items() if own.intersection(some))

        refs = tuple((name, how) for name, own in roles.items() for how in ACCESSES if how in own)
        reads = tuple(name for name in having("use", *ACCESSES, "part", "report") if "def" not in roles[name])
        return cls(
            defs=having("def"), yields=having("yield"), uses=having("use"), refs=refs, parts=having("part"),
            blocks=having("block"), reports=having("report"), reads=reads, all=tuple(roles),
        )  # fmt: skip


ROLES: dict[type, Roles] = {}
"""The roles of all classes of nodes."""


@dataclass_transform(frozen_default=True, field_specifiers=(role,))
def ir_node(cls: type[_T]) -> type[_T]:
    """A dataclass that type checkers take as frozen. At run time it is not: one that is takes much longer to build."""
    made = dataclass(unsafe_hash=True)(cls)
    ROLES[made] = Roles.of(made)
    return made
