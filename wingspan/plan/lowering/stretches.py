"""Loops over fibers whose entries are stretches of indices: they go from stretch to stretch.

    front := lo
    while front ≤ hi:
        begin := the first index from here on that one of the fibers has
        visit front … begin - 1 without them, if that leaves something to do
        stop  := the last index up to which each fiber stays what it is at begin: all fill, or in one stretch
        visit begin … stop with the fibers that are there; move these past stop
        front := stop + 1

Where leaving a fiber out leaves nothing to do, `begin` is the farthest of the next indices of such fibers, and those
behind it seek. A visit of several indices is one run of the body if that does the same at each, as `repeat` finds out.
Otherwise it is a loop that counts: what is known of the stretch makes the children of runs registers, and those of
blocks sums, so that nothing is searched for an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from wingspan.lang import algebra, ir
from wingspan.plan import ir as plan
from wingspan.plan import kernels
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op, Reg
from wingspan.plan.lowering import repeat
from wingspan.plan.lowering.cursors import Cursors
from wingspan.plan.lowering.phase import Phase, Visit, small
from wingspan.plan.lowering.state import LoweringState

Fibers = Sequence[ir.Fiber]


class Stretches:
    """The lowering of ranges in which fibers have stretches; `visit` lowers a loop at one index, or at once."""

    def __init__(self, state: LoweringState, cursors: Cursors, visit: Visit) -> None:
        self.state, self.cursors, self.visit = state, cursors, visit
        self.builder = state.builder

    # -------------------------------------------------------------------------------------------------------- the union

    def step(self, phase: Phase, steppers: Fibers) -> None:
        """Stretches that any of the fibers has, and what is left without them in between."""
        loop, rest = phase.loop, reduce(lambda p, F: p.without(self.state, F), steppers, phase)
        origin = self.builder.origin(None, "SerialFor")
        idle = isinstance(rest.body, ir.Skip)
        apart = idle or small(phase.body, len(steppers))
        past = self.builder.keep("past", op("+", loop.hi, Const(1)), origin)
        self.builder.set(loop.front, loop.lo, origin)

        def ahead() -> tuple[dict[ir.Fiber, Expr], Expr]:
            found = {F: self.cursors.next_index(loop, F, past) for F in steppers}
            return found, self.builder.keep("begin", _least(found.values()) if apart else loop.front, origin)

        (found, begin), test = self.builder.capture(ahead)

        def meet() -> None:
            here = {F: Const(True) if apart and len(found) == 1 else op("==", found[F], begin) for F in steppers}
            ends = [op("select", here[F], self.cursors.stop(loop, F, begin), _before(found[F])) for F in steppers]
            stop = self.builder.keep("stop", _least([loop.hi, *ends]), origin)
            self.cases(phase, steppers, here, begin, stop, steppers, certain=apart)
            self.builder.set(loop.front, op("+", stop, Const(1)), origin)

        def once() -> None:
            last = self.builder.keep("last", _before(op("min", begin, past)), origin)
            self.indices(rest, loop.front, last)
            self.builder.set(loop.front, op("+", last, Const(1)), origin)
            self.builder.when(op("<=", begin, loop.hi), meet)

        if idle:
            most, body = self.rounds(phase, steppers), self.builder.block(meet)
            self.builder.emit(plan.While(test, op("and", loop.on, op("<=", begin, loop.hi)), body, rounds=most))
        else:
            body = self.builder.block(once if apart else meet)
            self.builder.emit(plan.While((), op("and", loop.on, op("<=", loop.front, loop.hi)), (*test, *body)))

    def rounds(self, phase: Phase, moving: Fibers) -> Expr | None:
        """At most so many rounds has `step` without a rest, or `jump` over one fiber; None if levels do not count.

        A round ends where a stretch ends, and a cursor goes on to the next one; or before another stretch begins, which
        the next round takes in; or with the range, before some stretch ends. So one of k rounds in a row moves one of k
        cursors, or is the last of all. That does not rest on the order of stretches, which whoever changes a borrowed
        array can spoil.
        """
        total: Expr = Const(0)
        for F in moving:
            counted = self.state.level(F).dense_cursor and self.state.is_undisturbed(F.tensor)
            match self.cursors.has_more(phase.loop, F):
                case Op(op="<", args=(Reg() as q, end)) if counted:
                    total = op("+", total, op("-", end, q))
                case _:
                    return None
        return op("*", Const(len(moving)), total)

    # ------------------------------------------------------------------------------------------------- the intersection

    def jump(self, phase: Phase, jumpers: Fibers, others: Fibers) -> None:
        """Stretches that all of the jumpers have in common; the others may be there, or not."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        past = self.builder.keep("past", op("+", loop.hi, Const(1)), origin)
        self.builder.set(loop.front, loop.lo, origin)

        def ahead() -> tuple[dict[ir.Fiber, Expr], Expr]:
            found = {F: self.cursors.next_index(loop, F, past) for F in jumpers}
            return found, self.builder.keep("begin", reduce(partial(op, "max"), found.values()), origin)

        (found, begin), test = self.builder.capture(ahead)

        def meet() -> None:
            here: dict[ir.Fiber, Expr] = {}
            ends = [loop.hi, *(self.cursors.stop(loop, F, begin) for F in jumpers)]
            for F in others:
                self.cursors.catch_up(loop, F, begin)
                at = self.cursors.standing(loop, F)
                here[F] = op("==", at, begin)
                outside = op("select", op("<", begin, at), _before(at), loop.hi)
                ends.append(op("select", here[F], self.cursors.stop(loop, F, begin), outside))
            stop = self.builder.keep("stop", _least(ends), origin)
            self.cases(phase.sure(jumpers), others, here, begin, stop, jumpers, known=jumpers)
            self.builder.set(loop.front, op("+", stop, Const(1)), origin)

        def onward() -> None:
            for F in jumpers:
                self.builder.when(op("<", found[F], begin), partial(self.cursors.seek, loop, F, begin))

        together = reduce(partial(op, "and"), (op("==", found[F], begin) for F in jumpers))
        body = self.builder.block(partial(self.builder.when, together, meet, onward) if len(jumpers) > 1 else meet)
        most = self.rounds(phase, jumpers) if len(jumpers) == 1 and not others else None
        self.builder.emit(plan.While(test, op("and", loop.on, op("<=", begin, loop.hi)), body, rounds=most))

    # ------------------------------------------------------------------------------------------------------ one stretch

    def cases(
        self,
        phase: Phase,
        unsure: Fibers,
        here: Mapping[ir.Fiber, Expr],
        begin: Expr,
        stop: Expr,
        moving: Fibers,
        known: Fibers = (),
        certain: bool = False,
    ) -> None:
        """Visit a stretch, the body being written for each combination of the unsure fibers if it is small.

        `known` are those that are there. If it is `certain`, one of all is. Those of them that are `moving` go past it.
        """
        if not unsure or not small(phase.body, len(unsure)):
            self.visit_stretch(phase.maybe({F: here[F] for F in unsure}), begin, stop, known)
            for F in (F for F in (*known, *unsure) if F in moving):
                onward = partial(self.cursors.advance, phase.loop, F, stop)
                self.builder.when(Const(True) if F in known else here[F], onward)
            if certain:
                self.common_runs(phase, known)
            return
        F, *rest = unsure

        def when_there() -> None:
            self.cases(phase.sure([F]), rest, here, begin, stop, moving, (*known, F), certain)

        def elsewhere() -> None:
            self.cases(phase.without(self.state, F), rest, here, begin, stop, moving, known, certain)

        self.builder.when(Const(True) if certain and not (rest or known) else here[F], when_there, elsewhere)

    def common_runs(self, phase: Phase, known: Fibers) -> None:
        """Go on through runs that two fibers have in common, if nothing is left without these, and all that is done is
        to compute an element and append it to a fiber of runs.
        """
        loop, here = phase.loop, self.builder.origin(None, "SerialFor")
        lists = [runs for F in known if (runs := self.cursors.runs(loop, F)) is not None]
        into = self.cursors.appended_runs(loop, phase.updates[0]) if len(phase.updates) == 1 else None
        rest = reduce(lambda p, F: p.without(self.state, F), known, phase)
        computes = _is_update(phase.body) and repeat.repetition(self.state, phase, Const(1)) is not None
        if not (len(lists) == len(known) == 2 and into and computes and isinstance(rest.body, ir.Skip)):
            return
        x, y = lists
        for reg in (into.at, into.index, x.at, x.index, x.last, y.at, y.index, y.last):
            self.builder.forget(reg)
        element = replace(phase, loop=replace(loop, leaves=False))
        body = self.builder.block(partial(self.visit_stretch, element, x.index, x.last, known))
        self.builder.emit(kernels.CommonRuns((x, y), into, body, loop.hi, here))

    def visit_stretch(self, phase: Phase, begin: Expr, stop: Expr, known: Fibers) -> None:
        """Visit all indices of a stretch: one if a fiber that is there has a child at this one alone."""
        if all(self.state.level(F).stretch for F in known):
            self.builder.assume(op("<=", begin, stop))
            self.several(phase, begin, stop, known)
        elif not isinstance(phase.body, ir.Skip):
            self.builder.set(phase.loop.index, begin, self.builder.origin(None, "SerialFor"))
            self.within(phase, known)

    def indices(self, phase: Phase, lo: Expr, hi: Expr) -> None:
        """Visit all indices between two, if there are any, where the fibers that are left have a child at each."""
        if any(self.state.level(F).stretch == "run" for F in phase.loop.cursors):
            self.several(phase, lo, hi, ())
        else:
            self.count(phase, lo, hi, ())

    def several(self, phase: Phase, lo: Expr, hi: Expr, known: Fibers) -> None:
        """Visit all indices between two, at once if the body does the same at each.

        If they begin where the index is, it is behind them then.
        """
        index, origin = phase.loop.index, self.builder.origin(None, "SerialFor")
        times = self.builder.keep("times", op("+", op("-", hi, lo), Const(1)), origin)
        found = repeat.repetition(self.state, phase, times)
        if isinstance(phase.body, ir.Skip) or found is None:
            self.count(phase, lo, hi, known)
            return

        def once() -> None:
            self.builder.set(index, lo, origin)
            self.state.repetitions.append(found)
            self.within(phase.until(hi), known)
            self.state.repetitions.pop()
            if lo == index:
                self.builder.set(index, op("+", hi, Const(1)), origin)

        self.builder.when(self.builder.op("<=", lo, hi), once)

    def count(self, phase: Phase, lo: Expr, hi: Expr, known: Fibers) -> None:
        """Visit one index after the other."""
        if isinstance(phase.body, ir.Skip):
            return
        index, origin = phase.loop.index, self.builder.origin(None, "SerialFor")
        self.builder.set(index, lo, origin)

        def once() -> None:
            self.within(phase, known)
            self.builder.set(index, op("+", index, Const(1)), origin)

        more = op("and", phase.loop.on, op("<=", index, hi))
        self.builder.emit(plan.While((), more, self.builder.block(once)))

    def within(self, phase: Phase, known: Fibers) -> None:
        """Visit the index, which lies in a stretch of the fibers that are known to be there."""
        for F in known:
            self.cursors.settle_presence(phase.loop, F)
        self.visit(phase)


def _is_update(s: ir.Statement) -> bool:
    """Whether all that a body does, and always does, is to update an element."""
    if isinstance(s, ir.If) and algebra.is_literal(algebra.simplify_expression(s.condition), True):
        return _is_update(s.body)
    return isinstance(s, ir.Assign)


def _least(indices: Iterable[Expr]) -> Expr:
    return reduce(partial(op, "min"), indices)


def _before(index: Expr) -> Expr:
    return op("-", index, Const(1))
