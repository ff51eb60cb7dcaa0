"""Representatives of equal accesses: a long program costs only what its variety costs.

What is asked of two accesses depends on the loops, ranges, conditions and subscripts of each, on how many loops they
share, and on which of them comes first. Of siblings (accesses, or loops with all that is in them) in which these are
equal, the first ones and the last one are kept. So whenever two accesses are left out, two that are kept stand in the
same relation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import combinations_with_replacement
from typing import Generic, TypeVar

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import ProgramError
from wingspan.dependence.sites import EnclosingLoop, UpdateSite, VariableUse
from wingspan.lang import ir

PER_CLASS = 4
"""The number of representatives of equal siblings. Two are enough for the verdict, the others are for the reader."""

MOST = 500
"""The number of accesses that are compared with each other at most: that takes some minutes."""

A = TypeVar("A", bound=UpdateSite | VariableUse)


@dataclass(eq=False)
class _Body(Generic[A]):
    """The accesses in a loop, or outside of all loops, and the loops in it, in the order of the text."""

    items: list[tuple[EnclosingLoop, _Body[A]] | A] = field(default_factory=list)
    loops: dict[EnclosingLoop, _Body[A]] = field(default_factory=dict)

    def inner(self, loop: EnclosingLoop) -> _Body[A]:
        """The body of a loop in it."""
        if loop not in self.loops:
            self.loops[loop] = _Body()
            self.items.append((loop, self.loops[loop]))
        return self.loops[loop]


def representatives(accesses: Iterable[A], valued: bool = False) -> list[A]:
    """The accesses that stand for all. `valued`: also for what depends on the values that updates by = set."""
    root: _Body[A] = _Body()
    for access in accesses:
        body = root
        for loop in access.loops:
            body = body.inner(loop)
        body.items.append(access)
    return _Classes[A](valued).body(root, {})[2]


class _Classes(Generic[A]):
    """Numbers for what is equal, so that a comparison costs the same however much is in a loop."""

    def __init__(self, valued: bool) -> None:
        self.valued = valued
        self.numbers: dict[Hashable, int] = {}

    def body(self, body: _Body[A], depths: dict[str, int]) -> tuple[int, Hashable, list[A]]:
        """Hash-cons a body, as `item` does; indices are named by their depths."""
        found = [self.item(item, depths) for item in body.items]
        kept = [found[k] for k in self.choose([(what, value) for what, value, _ in found])]
        if len(kept) == 1:
            what, value, accesses = kept[0]
            return self.class_number(what), value, accesses
        number = self.class_number(tuple((what, value) for what, value, _ in kept))
        return number, None, [access for *_, accesses in kept for access in accesses]

    def item(self, item: tuple[EnclosingLoop, _Body[A]] | A, depths: dict[str, int]) -> tuple[int, Hashable, list[A]]:
        """Hash-cons an access or a loop: its class number, the value that it sets, and its representatives.

        The value that it sets stands apart as long as there is only one.
        """
        if not isinstance(item, tuple):
            value = item.value if self.valued and isinstance(item, UpdateSite) and item.op == "=" else None
            return (
                self.class_number(_access_key(item, depths)),
                value if isinstance(value, ir.Literal) else None,
                [item],
            )
        loop, inner = item
        ends = _without_names(loop.start, depths), _without_names(loop.stop, depths)
        inside, only, kept = self.body(inner, depths | {loop.index: len(depths)})
        return self.class_number((*ends, loop.device, loop.schedule, inside)), only, kept

    def choose(self, found: Sequence[tuple[int, Hashable]]) -> list[int]:
        """Choose the representatives: of each class the first ones, the last one, and the first with another value."""
        alike: dict[int, list[int]] = {}
        for k, (what, _) in enumerate(found):
            alike.setdefault(what, []).append(k)
        some: set[int] = set()
        for same in alike.values():
            other = next((k for k in same if found[k][1] != found[same[0]][1]), same[0])
            some.update((*same[: PER_CLASS - 1], same[-1], other))
        return sorted(some)

    def class_number(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def _access_key(access: UpdateSite | VariableUse, depths: dict[str, int]) -> Hashable:
    conditions = tuple(_without_names(condition, depths) for condition in access.conditions)
    if isinstance(access, VariableUse):
        return access.name, access.assigned, access.depth, conditions
    return access.life, access.phase, access.op, tuple(depths[name] for name in access.subscripts), conditions


def _without_names(e: ir.Expression | None, depths: dict[str, int]) -> ir.Expression | None:
    """An expression without the names of indices."""
    if e is None:
        return None
    made: ir.Expression = e.map(lambda n: ir.Index(str(depths[n.name])) if isinstance(n, ir.Index) else n)
    return made


def unordered_pairs(accesses: Sequence[A]) -> Iterator[tuple[A, A]]:
    """Every two accesses, and each with itself, in the order of the text; the same error."""
    return combinations_with_replacement(require_comparable(accesses), 2)


def require_comparable(accesses: Sequence[A]) -> Sequence[A]:
    """The accesses. ProgramError if there are too many to compare."""
    if len(accesses) > MOST:
        last = accesses[MOST]
        does, name = ("updates", last.tensor) if isinstance(last, UpdateSite) else ("uses", last.name)
        span = last.access.span if isinstance(last, UpdateSite) else last.node.span
        message = f"{len(accesses)} different {does} of {name}, and the level dependence test compares {MOST} at most"
        raise ProgramError(message, span, topic="limit", fix="write some of them as a loop, or split the program")
    return accesses
