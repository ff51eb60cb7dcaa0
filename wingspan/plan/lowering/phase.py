"""Loops being lowered, and the parts of their ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Reg
from wingspan.plan.lowering.state import LoweringState


@dataclass(frozen=True)
class Loop:
    """A loop being lowered: its index, the ends of its range, and its cursors."""

    name: str
    index: Reg
    lo: Expr
    hi: Expr
    last: Expr
    """no index is larger"""
    cursors: Mapping[ir.Fiber, dict[str, Reg]]
    """the registers of each cursor, by the names that `buffers.procedures.cursor` gives them"""
    front: Reg
    """the first index that has not been visited, where runs of fill are skipped"""
    maybe: Mapping[ir.Fiber, Expr]
    """for fibers that may be missing, or have no child at the index: the condition that they have one"""
    cut: bool = False
    """whether it may leave children of its fibers to another part of the range, or to nobody"""
    until: Expr | None = None
    """the last of the indices from `index` on that a visit stands for, if it stands for several"""
    leaves: bool = True
    """whether a visit leaves the fibers that it updates"""
    absorbed: tuple[ir.Absorbing, ...] = ()
    """the scalars at which it ends early"""
    over: Reg | None = None
    """whether it has ended early, if it may"""

    @property
    def on(self) -> Expr:
        """The condition that the phase has not ended early."""
        return Const(True) if self.over is None else op("not", self.over)

    @property
    def single(self) -> bool:
        """Whether it has one iteration only."""
        return self.lo == self.hi


@dataclass(frozen=True)
class Phase:
    """A loop over a range in which all looplets stay what they are: what it does at an index, and in which fibers."""

    loop: Loop
    body: ir.Statement
    reads: Sequence[ir.Fiber]
    """the fibers that the body reads, and"""
    updates: Sequence[ir.Fiber]
    """the fibers that it updates"""

    def maybe(self, there: Mapping[ir.Fiber, Expr]) -> Phase:
        """The phase where these fibers have a child at the index on these conditions."""
        return replace(self, loop=replace(self.loop, maybe={**self.loop.maybe, **there}))

    def sure(self, fibers: Sequence[ir.Fiber]) -> Phase:
        """The phase where these fibers are known to have a child at the index."""
        maybe = {F: c for F, c in self.loop.maybe.items() if F not in fibers}
        return replace(self, loop=replace(self.loop, maybe=maybe))

    def without(self, state: LoweringState, F: ir.Fiber) -> Phase:
        """The phase where a fiber that it reads is all fill."""
        rest = state.simplify_for_fill(self.body, F, self.loop.name)
        return replace(self, body=rest, reads=[R for R in self.reads if R != F])

    def until(self, last: Expr) -> Phase:
        """The phase where a visit stands for all indices up to that one."""
        return replace(self, loop=replace(self.loop, until=last))


Visit = Callable[[Phase], None]
"""Lowers the body of a loop at one index, or at once for several ones."""

LONGEST = 300
"""The most nodes of all versions of a body together."""


def small(body: ir.Statement, choices: int) -> bool:
    """Whether a body may be written anew for each combination of so many choices."""
    return sum(1 for _ in body.walk()) << choices <= LONGEST
