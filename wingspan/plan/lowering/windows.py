"""Loops that read views of fibers: their ranges are divided where a view begins or ends.

    for i = 1:n                                       C[1] = 0 + A[1]
        C[i] = coalesce(A[~(i - 1)], 0) + A[i]   →    for i = 2:n
    end                                                   C[i] = A[i - 1] + A[i]
                                                      end

Inside of its window a view has every index. Outside, one that is open is all fill, and another one is left to fault if
it is evaluated. So nothing is compared in the loops. Levels that are stepped through need no window if the view is
open: they have nothing outside of it.

Where the windows of several open views would make too many parts, all of them have the indices of one part, and the
indices before and after it are compared with the ends of each window; where the body is too large for that, all are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

from wingspan.lang import ir
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr
from wingspan.plan.lowering.cursors import Cursors
from wingspan.plan.lowering.phase import LONGEST, Loop
from wingspan.plan.lowering.state import LoweringState
from wingspan.plan.ranges import range_of

Fibers = Sequence[ir.Fiber]
Window = tuple[Expr, Expr]


class Windows:
    """The lowering of the range of a loop; `phase` lowers a part of it in which some fibers have all indices."""

    def __init__(
        self, state: LoweringState, cursors: Cursors, phase: Callable[[Loop, ir.Statement, Fibers], None]
    ) -> None:
        self.state, self.cursors, self.phase = state, cursors, phase
        self.builder = state.builder

    def divide(self, loop: Loop, body: ir.Statement, unsure: Fibers, there: Fibers = ()) -> None:
        """A range, or a part of it, where some fibers have all indices and others may have."""
        there = [*there, *(F for F in unsure if self.inside(loop, F))]
        unsure = [F for F in unsure if F not in there]
        faulting = [F for F in unsure if not F.open]
        if not unsure:
            self.phase(loop, body, [F for F in loop.cursors if F in there])
        elif loop.single and faulting:
            first = faulting[0]
            rest = [F for F in unsure if first != F]
            self.builder.when(
                self.test(loop, first, loop.lo),
                partial(self.divide, loop, body, rest, [*there, first]),
                partial(self.divide, loop, body, rest, there),
            )
        elif not loop.single and (faulting or self.is_cheap_to_repeat(loop, body, unsure)):
            self.split_at_window(loop, body, unsure, there, self.window((faulting or unsure)[0]))
        elif not loop.single and self.movable(loop) and size(body) <= LONGEST:
            self.middle(loop, body, unsure, there)
        else:
            self.test_views(loop, body, unsure, there)

    # --------------------------------------------------------------------------------------------------------- windows

    def window(self, F: ir.Fiber) -> Window:
        """The first and the last index of a view."""
        by = self.state.shift(F)
        return op("-", Const(1), by), op("-", self.state.extent_of(F), by)

    def inside(self, loop: Loop, F: ir.Fiber) -> bool:
        """Whether a view has all the indices of a range, or nothing where it has them not."""
        if F.open and not (loop.single or self.state.level(F).lookup):
            return True
        (first, last), (least, greatest) = self.window(F), self.among(loop)
        ends = loop.last == self.state.extent_of(F) and self.range(self.state.shift(F))[1] <= 0
        return self.range(first)[1] <= least and (
            ends or last in (loop.last, loop.hi) or self.range(last)[0] >= greatest
        )

    def among(self, loop: Loop) -> tuple[int, int]:
        """The integers that the indices of a range are among."""
        least, greatest = self.builder.ranges[loop.index.name]
        return max(least, self.range(loop.lo)[0]), min(greatest, self.range(loop.hi)[1])

    def range(self, e: Expr) -> tuple[int, int]:
        """The integers that an expression is among."""
        return range_of(e, self.builder.ranges)

    def test(self, loop: Loop, F: ir.Fiber, at: Expr) -> Expr:
        """Whether a view has an index, as far as that is not known."""
        (first, last), (least, greatest) = self.window(F), self.among(loop)
        begun = Const(True) if self.range(first)[1] <= least else op("<=", first, at)
        ended = self.range(last)[0] >= greatest or last == loop.last
        return op("and", begun, Const(True) if ended else op("<=", at, last))

    # ----------------------------------------------------------------------------------------------------------- parts

    def is_cheap_to_repeat(self, loop: Loop, body: ir.Statement, unsure: Fibers) -> bool:
        """Whether the body may be written anew for each part that the windows make."""
        windows = {self.window(F) for F in unsure}
        parts = 3 ** len(windows)
        ends = [
            (int(first.value) - 1, int(last.value))
            for first, last in windows
            if isinstance(first, Const) and isinstance(last, Const)
        ]
        if len(ends) == len(windows):
            least, greatest = self.among(loop)
            parts = 1 + len({end for each in ends for end in each if least <= end < greatest})
        return self.movable(loop) and parts * size(body) <= LONGEST

    def movable(self, loop: Loop) -> bool:
        """Whether no race can have put the entries out of order that the loop steps through."""
        return all(self.state.is_undisturbed(F.tensor) or self.state.level(F).lookup for F in loop.cursors)

    def split_at_window(self, loop: Loop, body: ir.Statement, unsure: Fibers, there: Fibers, window: Window) -> None:
        """Three parts: before a window, inside of it, and after it."""
        first, last = window
        within = [F for F in unsure if self.window(F) == window]
        rest = [F for F in unsure if F not in within]
        without = reduce(
            lambda s, F: self.state.simplify_for_fill(s, F, loop.name), (F for F in within if F.open), body
        )
        end = op("-", first, Const(1))
        self.part(loop, loop.lo, op("min", loop.hi, end), without, partial(self.divide, unsure=rest, there=there))
        inner = op("max", loop.lo, first), op("min", loop.hi, last)
        self.part(loop, *inner, body, partial(self.divide, unsure=rest, there=[*there, *within]))
        begin = op("max", loop.lo, op("+", last, Const(1)))
        self.part(loop, begin, loop.hi, without, partial(self.divide, unsure=rest, there=there))

    def middle(self, loop: Loop, body: ir.Statement, unsure: Fibers, there: Fibers) -> None:
        """Three parts: the middle one inside of all windows."""
        firsts, lasts = zip(*map(self.window, unsure), strict=True)
        first, last = reduce(partial(op, "max"), firsts), reduce(partial(op, "min"), lasts)
        tested = partial(self.test_views, unsure=unsure, there=there)
        self.part(loop, loop.lo, op("min", loop.hi, op("-", first, Const(1))), body, tested)
        inner = op("max", loop.lo, first), op("min", loop.hi, last)
        self.part(loop, *inner, body, partial(self.divide, unsure=(), there=[*there, *unsure]))
        begin = op("max", loop.lo, op("max", first, op("+", last, Const(1))))
        self.part(loop, begin, loop.hi, body, tested)

    def test_views(self, loop: Loop, body: ir.Statement, unsure: Fibers, there: Fibers) -> None:
        """A part at each index of which it is found out which of the open views have it."""
        have = {F: op("and", loop.maybe.get(F, Const(True)), self.test(loop, F, loop.index)) for F in unsure}
        found = [F for F in loop.cursors if F in there or F in have]
        self.phase(replace(loop, maybe={**loop.maybe, **have}), body, found)

    def part(
        self, loop: Loop, lo: Expr, hi: Expr, body: ir.Statement, run: Callable[[Loop, ir.Statement], None]
    ) -> None:
        """A part of a range, if it has indices: cursors that stand before it move on to it."""
        if self.range(lo)[0] > self.range(hi)[1] or isinstance(body, ir.Skip):
            return
        origin = self.builder.origin(None, "SerialFor")
        stepped = [
            F for F in loop.cursors
            if self.state.handle(F.tensor).mode == "read" and not self.state.level(F).lookup
        ]  # fmt: skip
        first, last = self.builder.keep("from", lo, origin), self.builder.keep("to", hi, origin)
        if first == last and stepped:
            last = self.builder.fresh("to")
            self.builder.ranges[last.name] = self.range(first)
            self.builder.set(last, first, origin)
        rest = replace(loop, lo=first, hi=last, cut=True)

        def go() -> None:
            for F in stepped if first != loop.lo and self.movable(loop) else ():
                self.cursors.catch_up(rest, F, first)
            run(rest, body)

        self.builder.when(op("<=", first, last), go)


def size(body: ir.Statement) -> int:
    """The number of nodes of a body."""
    return sum(1 for _ in body.walk())
