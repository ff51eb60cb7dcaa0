"""Loops over fibers: the coiteration of everything that a loop reads, without visiting what is all fill.

What a fiber looks like to a loop is a *looplet*:

    Lookup    every index has a child                              a level with `lookup`, or a loop with one index
    Run       the same value at every index                        a fiber that is all fill
    Stepper   gaps of fill, each ended by a Spike, a single child  other levels, where leaving the fiber out of the body
              or by a stretch of indices: see `stretches`          leaves something
    Jumper    the same, where it leaves nothing: the other         other levels
              fibers need only be looked at where it has a child
    Phase     a part of the range in which all looplets stay what they are; a Sequence of phases makes up the range

Which fibers lead and where the loop stops follows from algebra alone: a fiber is replaced by its fill value, and the
body is simplified. A product thus visits the intersection of its factors, a sum the union.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from wingspan.base.errors import InternalError
from wingspan.lang import ir
from wingspan.lang.terms import mentions
from wingspan.plan import ir as plan
from wingspan.plan import kernels, layout
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op
from wingspan.plan.lowering import masks
from wingspan.plan.lowering.cursors import Cursors
from wingspan.plan.lowering.missing import fill_stands_in
from wingspan.plan.lowering.phase import Loop, Phase, Visit, small
from wingspan.plan.lowering.scope import TensorBinding
from wingspan.plan.lowering.state import LoweringState
from wingspan.plan.lowering.stretches import Stretches
from wingspan.plan.lowering.windows import Windows
from wingspan.plan.ranges import range_of


class Coiteration:
    """The lowering of the range of a loop; `visit` lowers the loop at one index."""

    def __init__(self, state: LoweringState, visit: Visit) -> None:
        self.state, self.visit = state, visit
        self.builder = state.builder
        self.cursors = Cursors(state)
        self.stretches = Stretches(state, self.cursors, visit)
        self.windows = Windows(state, self.cursors, self.phase)

    # -------------------------------------------------------------------------------------------------- phases

    def phases(self, loop: Loop, body: ir.Statement) -> None:
        """A Sequence of phases: in each the same fibers have all of the indices, or none; comparisons are decided."""
        if self.split_at_mask(loop, body):
            return
        if any(F.by != 0 or F.open for F in loop.cursors):
            self.windows.divide(loop, body, list(loop.cursors))
            return
        extents = {F: self.state.extent_of(F) for F in loop.cursors}
        least, greatest = self.builder.ranges[loop.index.name]

        def within(n: Expr) -> bool:
            return n == loop.last or (isinstance(n, Const) and greatest <= n.value)

        outside = {F: n for F, n in extents.items() if not (1 <= least <= greatest and within(n))}
        sure = [F for F in loop.cursors if F not in outside]
        if not outside:
            self.phase(loop, body, sure)
            return
        if loop.single:
            self.point(loop, body, _ascending(outside.values()), outside, list(loop.cursors))
            return
        ends = [Const(0), *_ascending(outside.values())]
        if len(ends) > 2 and not all(isinstance(n, Const) for n in ends):
            message = f"{loop.name} may pass the ends of several axes, whose order depends on their extents"
            raise layout.NeedsExtents(message, fix="give the extents")
        for k, end in enumerate([*ends, None]):
            if k == 0 and least >= 1:
                continue
            there = [F for F in loop.cursors if F in sure or (k > 0 and outside[F] not in ends[:k])]
            lo = loop.lo if k == 0 else op("max", loop.lo, op("+", ends[k - 1], Const(1)))
            hi = loop.hi if end is None else op("min", loop.hi, end)
            origin = self.builder.origin(None, "SerialFor")
            lo, hi = self.builder.keep("from", lo, origin), self.builder.keep("to", hi, origin)
            part = replace(loop, lo=lo, hi=hi)
            self.builder.when(op("<=", lo, hi), partial(self.phase, part, body, there))

    def split_at_mask(self, loop: Loop, body: ir.Statement) -> bool:
        """Split the range where a comparison of the index begins or ceases to hold, if there is one: see `masks`."""
        if loop.single:
            return False
        storing = {s.access.fiber.tensor for s in body.walk() if isinstance(s, ir.Assign) and self.stores(s)}
        e = masks.bound(body, loop.name, self.builder.indices, storing)
        if e is None or not all(
            self.state.is_undisturbed(F.tensor) or self.state.level(F).lookup for F in loop.cursors
        ):
            return False
        at, origin = self.bound(e), self.builder.origin(None, "SerialFor")
        if not self.fits(at) or not small(body, 2):
            return False
        below, here, above = (self.beside(loop, body, e, side, storing) for side in masks.SIDES)
        before, after = op("-", at, Const(1)), op("+", at, Const(1))
        parts = [(loop.lo, before, below), (at, at, here), (after, loop.hi, above)]
        if below == here:
            parts = [(loop.lo, at, here), parts[2]]
        elif here == above:
            parts = [parts[0], (at, loop.hi, here)]
        for k, (lo, hi, part) in enumerate(parts):
            first, last = self.builder.fresh("from"), self.builder.fresh("to")
            ends = (first, op("max", loop.lo, lo) if k else lo), (last, op("min", loop.hi, hi))
            for reg, value in ends:
                self.builder.ranges[reg.name] = range_of(value, self.builder.ranges)
                self.builder.set(reg, value, origin)
            cursors = {F: cursor for F, cursor in loop.cursors.items() if mentions(part, F)}
            rest = replace(loop, lo=first, hi=last, cursors=cursors, cut=True)
            self.builder.when(op("<=", first, last), partial(self.part, rest, part))
        return True

    def fits(self, e: Expr) -> bool:
        """Whether an integer, and all that it is computed from, is far from what a register holds at most."""
        least, greatest = range_of(e, self.builder.ranges)
        return -LARGE < least <= greatest < LARGE and (not isinstance(e, Op) or all(map(self.fits, e.args)))

    def bound(self, e: ir.Expression) -> Expr:
        """The bound that an index is compared with: see `masks`."""
        match e:
            case ir.Index(name=name):
                return self.builder.indices[name]
            case ir.Call(op=str() as name, args=args):
                return op(name, *map(self.bound, args))
            case ir.Literal(value=value):
                return Const(value)
        raise InternalError(f"not a bound: {e}")

    def stores(self, s: ir.Assign) -> bool:
        """Whether an update of an element that changes nothing does something."""
        return self.state.effects.update_acts(s.access.fiber.tensor, s.op)

    def beside(
        self, loop: Loop, body: ir.Statement, e: ir.Expression, side: masks.Side, storing: Collection[str]
    ) -> ir.Statement:
        """The body where the index is on one side of a bound; it is simplified if nothing is lost that the rules do."""
        hidden = masks.beside(body, loop.name, e, side, storing)
        decided = masks.reveal_comparisons(hidden)

        def as_loop(s: ir.Statement) -> ir.For:
            return ir.For(loop.name, ir.Range(ir.Literal(1), ir.Literal(1)), s, loop.absorbed)

        rest = as_loop(self.state.simplify(masks.least(hidden, self.state.effects.ranges_act)))
        return hidden if self.state.effects.loses_effects(as_loop(decided), rest) else self.state.simplify(decided)

    def part(self, loop: Loop, body: ir.Statement) -> None:
        """A part of a range: cursors that stand before it move on to it."""
        for F in loop.cursors:
            if self.state.handle(F.tensor).mode == "read" and not self.state.level(F).lookup:
                self.cursors.catch_up(loop, F, loop.lo)
        self.phases(loop, body)

    def point(
        self,
        loop: Loop,
        body: ir.Statement,
        extents: Sequence[Expr],
        outside: Mapping[ir.Fiber, Expr],
        there: Sequence[ir.Fiber],
    ) -> None:
        """The phase that a single index lies in: for each extent, inside of it or not, and so in the larger ones."""
        if not extents:
            self.phase(loop, body, there)
            return
        n, *larger = extents
        beyond = [F for F in there if outside.get(F) != n]
        inside = op("and", op("<=", Const(1), loop.lo), op("<=", loop.lo, n))
        known = [each for each in larger if not (isinstance(n, Const) and isinstance(each, Const))]
        self.builder.when(
            inside,
            partial(self.point, loop, body, known, outside, there),
            partial(self.point, loop, body, larger, outside, beyond),
        )

    def phase(self, loop: Loop, body: ir.Statement, there: Sequence[ir.Fiber]) -> None:
        """One phase, in which the fibers `there` have all indices."""
        reads = [F for F in there if self.state.handle(F.tensor).mode == "read"]
        phase = Phase(loop, body, reads, [F for F in there if F not in reads])
        if loop.single:
            self.builder.set(loop.index, loop.lo, self.builder.origin(None, "SerialFor"))
            self.visit(phase)
        else:
            self.coiterate(phase)

    # ---------------------------------------------------------------------------------------------------- coiteration

    def coiterate(self, phase: Phase) -> None:
        """Visit the indices at which the body does something."""
        steppers = [F for F in phase.reads if not self.state.level(F).lookup]
        jumpers = [F for F in steppers if isinstance(phase.without(self.state, F).body, ir.Skip)]
        stretched = [F for F in steppers if self.state.level(F).stretch]
        if not steppers:
            self.stretches.indices(phase, phase.loop.lo, phase.loop.hi)
        elif jumpers:
            jump = self.stretches.jump if set(jumpers) <= set(stretched) else self.jump
            jump(phase, jumpers, [F for F in steppers if F not in jumpers])
        elif stretched:
            self.stretches.step(phase, steppers)
        else:
            self.step(phase, steppers)

    def step(self, phase: Phase, steppers: Sequence[ir.Fiber]) -> None:
        """Steppers: a run of what is left without them up to the next child of any, and that spike."""
        loop, rest = phase.loop, reduce(lambda p, F: p.without(self.state, F), steppers, phase)
        origin = self.builder.origin(None, "SerialFor")
        idle = isinstance(rest.body, ir.Skip)
        if idle and len(steppers) == 2 and all(self.cursors.is_final(loop, F) for F in steppers):
            self.two(phase, steppers)
            return
        past = self.builder.keep("past", op("+", loop.hi, Const(1)), origin)
        self.builder.set(loop.front, loop.lo, origin)
        if not idle:
            if not small(phase.body, 1):
                self.every(phase, steppers, past)
                return
            self.builder.set(loop.index, loop.lo, origin)

        def ahead() -> tuple[dict[ir.Fiber, Expr], Expr]:
            found = {F: self.cursors.next_index(loop, F, past) for F in steppers}
            stop = self.builder.keep("stop", reduce(lambda x, y: op("min", x, y), found.values()), origin)
            return found, stop

        (found, stop), test = self.builder.capture(ahead)

        def once() -> None:
            if not idle:
                last = self.builder.keep("last", op("-", op("min", stop, past), Const(1)), origin)
                self.stretches.indices(rest, loop.index, last)
            self.builder.when(op("<=", stop, loop.hi), spike)

        def spike() -> None:
            self.builder.set(loop.index, stop, origin)
            self.builder.set(loop.front, op("+", stop, Const(1)), origin)
            here = {F: op("==", found[F], stop) if len(steppers) > 1 else Const(True) for F in steppers}
            self.present(phase, steppers, here, moving=True)
            if not idle:
                self.builder.set(loop.index, op("+", loop.index, Const(1)), origin)

        if idle:
            self.builder.emit(plan.While(test, op("and", loop.on, op("<=", stop, loop.hi)), self.builder.block(spike)))
        else:
            more = op("and", loop.on, op("<=", loop.index, loop.hi))
            self.builder.emit(plan.While((), more, (*test, *self.builder.block(once))))

    def two(self, phase: Phase, steppers: Sequence[ir.Fiber]) -> None:
        """Two steppers, and nothing where neither has a child: as long as both have some left, then what one has."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        heads = [head for F in steppers if (head := self.cursors.head(loop, F)) is not None]
        if len(heads) == 2 and loop.over is None and small(phase.body, 2):
            self.unite(phase, steppers, (heads[0], heads[1]))
            return
        more = [self.cursors.has_more(loop, F) for F in steppers]

        def both() -> None:
            self.builder.assume(*more)
            found = {F: self.cursors.standing(loop, F) for F in steppers}
            first = self.builder.keep("stop", op("min", *found.values()), origin)
            self.builder.set(loop.index, first, origin)
            self.present(phase, steppers, {F: op("==", found[F], first) for F in steppers}, moving=True)

        self.builder.emit(plan.While((), op("and", loop.on, op("and", *more)), self.builder.block(both)))
        for other in reversed(steppers):
            self.coiterate(phase.without(self.state, other))

    def unite(self, phase: Phase, steppers: Sequence[ir.Fiber], heads: tuple[kernels.Head, kernels.Head]) -> None:
        """Two steppers with lists of indices: what `two` does, as a statement that C has code of its own for."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        x, y = steppers
        stop, block = self.builder.fresh("stop"), self.builder.block
        without_x, without_y = (phase.without(self.state, F) for F in steppers)
        more = [self.cursors.has_more(loop, F) for F in steppers]

        def visit(part: Phase, there: Sequence[ir.Fiber]) -> None:
            self.builder.assume(*more)
            self.builder.set(loop.index, stop, origin)
            for F in there:
                self.cursors.settle_presence(loop, F)
            self.visit(part.sure(there))

        def move(cursors: Sequence[ir.Fiber]) -> None:
            self.builder.assume(*more)
            for F in cursors:
                self.cursors.advance(loop, F)

        def rest() -> None:
            self.coiterate(without_y)
            self.coiterate(without_x)

        parts = (phase, steppers), (without_y, [x]), (without_x, [y])
        blocks = [(block(partial(visit, part, there)), block(partial(move, there))) for part, there in parts]
        (both, after_both), (in_x, after_x), (in_y, after_y) = blocks
        onward = after_both, after_x, after_y
        fills = self.stand_ins(phase, {x: without_x.body, y: without_y.body})
        self.builder.emit(kernels.Union(heads, stop, both, in_x, in_y, *onward, block(rest), origin, fills))

    def stand_ins(self, phase: Phase, rests: Mapping[ir.Fiber, ir.Statement]) -> tuple[Const, Const] | None:
        """The values with which the body does what is left of it without either fiber, if there are such."""
        purity, name, found = self.state.effects.purity, phase.loop.name, []
        for F, rest in rests.items():
            match self.state.handle(F.tensor):
                case TensorBinding(z=Const() as z, fill=ir.Literal() as fill):
                    found += [z] if fill_stands_in(phase.body, F, name, fill, rest, purity) else []
        return (found[0], found[1]) if len(found) == 2 else None

    def every(self, phase: Phase, steppers: Sequence[ir.Fiber], past: Expr) -> None:
        """Every index, in a body that is too large to be written twice: the steppers may have a child there."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        self.builder.set(loop.index, loop.lo, origin)

        def once() -> None:
            here = {F: op("==", self.cursors.next_index(loop, F, past), loop.index) for F in steppers}
            self.builder.set(loop.front, op("+", loop.index, Const(1)), origin)
            self.visit(phase.maybe(here))
            for F in steppers:
                self.builder.when(here[F], partial(self.cursors.advance, loop, F))
            self.builder.set(loop.index, op("+", loop.index, Const(1)), origin)

        more = op("and", loop.on, op("<=", loop.index, loop.hi))
        self.builder.emit(plan.While((), more, self.builder.block(once)))

    def jump(self, phase: Phase, jumpers: Sequence[ir.Fiber], others: Sequence[ir.Fiber]) -> None:
        """Jumpers: on to the farthest of their next children, until all have a child there."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        past = self.builder.keep("past", op("+", loop.hi, Const(1)), origin)
        self.builder.set(loop.front, loop.lo, origin)
        heads = [head for F in jumpers if (head := self.cursors.head(loop, F)) is not None]
        if len(heads) == len(jumpers) == 2 and loop.over is None:
            self.intersect(phase, jumpers, (heads[0], heads[1]), others)
            return

        def farthest(found: dict[ir.Fiber, Expr]) -> Expr:
            return self.builder.keep("stop", reduce(lambda x, y: op("max", x, y), found.values()), origin)

        def ahead() -> tuple[dict[ir.Fiber, Expr], Expr]:
            found = {F: self.cursors.next_index(loop, F, past) for F in jumpers}
            return found, farthest(found)

        def once(found: dict[ir.Fiber, Expr], stop: Expr) -> None:
            here = reduce(lambda x, y: op("and", x, y), (op("==", found[F], stop) for F in jumpers))
            certain = Const(True) if len(jumpers) == 1 else here
            self.builder.when(certain, partial(meet, stop), partial(self.seek, loop, found, stop))

        def meet(stop: Expr) -> None:
            self.meet(phase, jumpers, others, stop)
            for F in jumpers:
                self.cursors.advance(loop, F)

        def children() -> None:
            self.builder.assume(*more)
            found = {F: self.cursors.standing(loop, F) for F in jumpers}
            once(found, farthest(found))

        bits = self.cursors.bits(loop, jumpers[0]) if len(jumpers) == 1 and loop.over is None else None
        if bits is not None:
            self.scan(phase, jumpers[0], bits, others)
            return
        if all(self.cursors.is_final(loop, F) for F in jumpers):
            more = [self.cursors.has_more(loop, F) for F in jumpers]
            every = op("and", loop.on, reduce(lambda x, y: op("and", x, y), more))
            self.builder.emit(plan.While((), every, self.builder.block(children)))
            return
        (found, stop), test = self.builder.capture(ahead)
        within = op("and", loop.on, op("<=", stop, loop.hi))
        self.builder.emit(plan.While(test, within, self.builder.block(partial(once, found, stop))))

    def intersect(
        self,
        phase: Phase,
        jumpers: Sequence[ir.Fiber],
        heads: tuple[kernels.Head, kernels.Head],
        others: Sequence[ir.Fiber],
    ) -> None:
        """Two jumpers with lists of indices: what `jump` does, as a statement that C has code of its own for."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        stop, block = self.builder.fresh("stop"), self.builder.block

        def once() -> kernels.Intersection:
            self.builder.assume(*(self.cursors.has_more(loop, F) for F in jumpers))
            body = block(partial(self.meet, phase, jumpers, others, stop))
            x, y = (block(partial(self.cursors.advance, loop, F)) for F in jumpers)
            found = {F: head.index for F, head in zip(jumpers, heads, strict=True)}
            seek = block(partial(self.seek, loop, found, stop))
            return kernels.Intersection(heads, stop, body, (*x, *y), seek, origin)

        self.builder.emit(self.builder.capture(once)[0])

    def scan(self, phase: Phase, F: ir.Fiber, bits: kernels.Bits, others: Sequence[ir.Fiber]) -> None:
        """One jumper with a bitmap: what `jump` does, as a statement that C has code of its own for."""
        loop, origin, block = phase.loop, self.builder.origin(F.span, "Leave"), self.builder.block

        def visit() -> None:
            self.meet(phase, [F], others, bits.index)
            self.cursors.drain(loop, F, bits.index)

        def once() -> kernels.BitmapLoop:
            self.builder.assume(self.cursors.has_more(loop, F))
            body = block(visit)
            self.cursors.settle_presence(loop, F, bits.index)
            return kernels.BitmapLoop(bits, body, block(partial(self.cursors.next, loop, F, bits.index)), origin)

        self.builder.emit(self.builder.capture(once)[0])

    def meet(self, phase: Phase, jumpers: Sequence[ir.Fiber], others: Sequence[ir.Fiber], stop: Expr) -> None:
        """Visit an index at which all jumpers have a child, and others perhaps."""
        loop, origin = phase.loop, self.builder.origin(None, "SerialFor")
        self.builder.set(loop.index, stop, origin)
        self.builder.set(loop.front, op("+", stop, Const(1)), origin)
        here: dict[ir.Fiber, Expr] = {}
        for F in others:
            self.cursors.catch_up(loop, F, stop)
            here[F] = op("==", self.cursors.standing(loop, F), stop)
        for F in jumpers:
            self.cursors.settle_presence(loop, F)
        self.present(phase.sure(jumpers), others, here, moving=False)

    def seek(self, loop: Loop, found: Mapping[ir.Fiber, Expr], stop: Expr) -> None:
        """Move the cursors on to an index that stand before it."""
        for F, at in found.items():
            self.builder.when(op("<", at, stop), partial(self.cursors.seek, loop, F, stop))

    def present(
        self,
        phase: Phase,
        unsure: Sequence[ir.Fiber],
        here: Mapping[ir.Fiber, Expr],
        moving: bool,
        known: tuple[ir.Fiber, ...] = (),
    ) -> None:
        """Visit an index, the body being written for each combination of the unsure fibers if it is small.

        `known` are those that are there. If `moving`, one of all is, and those that are there move on.
        """
        loop = phase.loop
        if not unsure or not small(phase.body, len(unsure)):
            self.visit(phase.maybe({F: here[F] for F in unsure}))
            for F in (*known, *unsure) if moving else ():
                self.builder.when(Const(True) if F in known else here[F], partial(self.cursors.advance, loop, F))
            return
        F, *rest = unsure

        def present_phase() -> None:
            self.cursors.settle_presence(loop, F)
            self.present(phase.sure([F]), rest, here, moving, (*known, F))

        def elsewhere() -> None:
            self.present(phase.without(self.state, F), rest, here, moving, known)

        certain = moving and not rest and not known
        self.builder.when(Const(True) if certain else here[F], present_phase, elsewhere)


LARGE = 2**62
"""Larger than any index, with room for sums."""


def _ascending(extents: Iterable[Expr]) -> list[Expr]:
    """Each extent once, in ascending order; those that are left open last."""
    return sorted(set(extents), key=lambda n: (0, n.value, "") if isinstance(n, Const) else (1, 0, str(n)))
