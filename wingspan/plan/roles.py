"""The roles of the fields of a plan's nodes, each stated once: where the field is defined.

A field that holds registers, expressions, buffers or statements is made by `role`, as in ::

    @ir_node
    class Load:
        reg: Reg = role("def")
        ref: Ref = role("read")
        index: Expr = role("use")
        place: Place = role("report")
        origin: Origin = role("report")

Definitions, uses, accesses, traversals and rewrites follow from the roles (`ROLES`, `plan.uses`), so a new statement
needs no entry in any table. A field without a role is an attribute, such as the name of an operator.
"""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from typing import Any, Literal, TypeVar, dataclass_transform

from wingspan.base.dataclass import dataclass

Role = Literal["def", "yield", "use", "ref", "read", "write", "update", "part", "block", "local", "report"]
"""The relation of a statement to what a field holds: a value, None, or a tuple of values with or without names.

def: a register that the statement sets. A cursor, which moves on from its position, is `use`, too.
yield: a register that is read at the end of the blocks inside of the statement.
use: an expression that the statement evaluates.
ref, read, write, update: a buffer of which the statement accesses no cells, reads some, writes some, or does both.
part: a node of the statement with roles of its own.
block: statements inside of the statement.
local: a register that only statements inside of the statement set and use.
report: a node with expressions that are needed for reports only.
"""

ACCESSES: tuple[Role, ...] = ("ref", "read", "write", "update")
"""The roles of buffers."""

_T = TypeVar("_T")


def role(*roles: Role, default: Any = MISSING) -> Any:
    """Define a field with these roles."""
    return field(default=default, metadata={"roles": frozenset(roles)})


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of a class's fields by their roles, in the order of the fields."""

    defs: tuple[str, ...]
    yields: tuple[str, ...]
    uses: tuple[str, ...]
    refs: tuple[tuple[str, Role], ...]
    """the references to buffers, each with its role"""
    parts: tuple[str, ...]
    blocks: tuple[str, ...]
    reports: tuple[str, ...]
    reads: tuple[str, ...]
    """the fields in which an equal expression may replace another: they are used or reported, and not set"""
    all: tuple[str, ...]

    @classmethod
    def of(cls, kind: type) -> Roles:
        """Collect the roles of a dataclass's fields."""
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
