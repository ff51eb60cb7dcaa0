"""Branches that reserve all cells of a buffer, where a function may not write any of them. ::

    WS_ALL(x, 18, n);                       if (ready != 0.0) {
    if (ready != 0.0) {            →            WS_ALL(x, 18, n);
        while (q <= n) x_val[q] = …                 while (q <= n) x_val[q] = …
    }                                       }

A function asks once, where it learns of an instance, for the cells that its stores may write. If all of these are in
branches that are in no loop, each of these branches asks instead: that is once, too. Cells that nobody has asked for
take no memory, are not cleared for the next run, and read as zero. Of a sum into copies (`Merge`) on one thread, the
level that the copies are merged into is such memory: it stays unused, and to clear it took as long as a tenth of A·x.
Only instances with keys are treated so. The cells of a root belong to a result, which has all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from wingspan.base.dataclass import dataclass
from wingspan.compiled.registers import within
from wingspan.plan.ir import If, Ref, Reg, Stmt
from wingspan.plan.uses import defs

Branch = tuple[int, bool]
"""The `id` of a statement `If`, and whether it is the branch that is taken if the condition holds."""


@dataclass
class DeferredReserve:
    """The buffers that branches of a function reserve, and which branch reserves which."""

    refs: frozenset[Ref]
    branches: dict[Branch, tuple[Ref, ...]]


def deferred_reserves(
    body: tuple[Stmt, ...], apart: Container[int], roots: Container[Reg], written: Callable[[Stmt], Iterable[Ref]]
) -> DeferredReserve:
    """The reservations to defer into branches. `written` yields the buffers that a statement stores to unasked.

    Statements that are functions apart, by their `id`, reserve for themselves.
    """
    branches: dict[Branch, tuple[Ref, ...]] = {}
    elsewhere: set[Ref] = set()
    for s in body:
        if isinstance(s, If) and id(s) not in apart:
            for block, taken in ((s.then, True), (s.otherwise, False)):
                inside = list(within(block, apart))
                made = {reg for each in inside for reg in defs(each)}
                refs = dict.fromkeys(ref for each in inside for ref in written(each))
                elsewhere |= {ref for ref in refs if ref.instance in made or ref.instance in roots}
                branches[id(s), taken] = tuple(refs)
        else:
            elsewhere |= {ref for each in within((s,), apart) for ref in written(each)}
    asked = {branch: tuple([ref for ref in refs if ref not in elsewhere]) for branch, refs in branches.items()}
    return DeferredReserve(frozenset(ref for refs in asked.values() for ref in refs), asked)
