"""The positions of a loop's cursors, and their moves.

Indices are those of the loop. A view of a fiber, which the loop reads, has them shifted.
"""

from __future__ import annotations

from functools import partial

from wingspan.buffers import procedures
from wingspan.lang import ir
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op, Ref
from wingspan.plan.kernels import Appended, Bits, Head, Listed, Runs
from wingspan.plan.lowering.phase import Loop
from wingspan.plan.lowering.state import LoweringState


class Cursors:
    """Writes what asks and moves the cursors of fibers that a loop reads."""

    def __init__(self, state: LoweringState) -> None:
        self.state = state
        self.builder = state.builder

    # ------------------------------------------------------------------------------------------------ where they stand

    def index(self, loop: Loop, F: ir.Fiber) -> Expr:
        """The fiber's own index that the cursor stands at, 0 at its end, as an expression over the cursor."""
        code = procedures.index(self.state.tower(F), F.level)
        results, _ = self.state.run(F, F.span, "Child", code, {}, loop.cursors[F])
        return results["index"]

    def standing(self, loop: Loop, F: ir.Fiber) -> Expr:
        """The index that the cursor stands at, as a register; for a fiber that is missing, or at its end, no index
        of the loop: 0, or of a view the one before the first.
        """
        at = self.own_index(loop, F)
        if F.by != 0:
            at = op("select", op("!=", at, Const(0)), self.loop_index(F, at), op("-", loop.lo, Const(1)))
        return self.builder.keep(f"{F.tensor}{F.level - 1}.at", at, self.builder.origin(F.span, "Child"))

    def own_index(self, loop: Loop, F: ir.Fiber) -> Expr:
        """The fiber's own index that the cursor stands at, 0 at its end and for a fiber that is missing."""
        at = self.index(loop, F)
        return op("select", loop.maybe[F], at, Const(0)) if F in loop.maybe else at

    def loop_index(self, F: ir.Fiber, own: Expr) -> Expr:
        """The index of the loop at which a view has what the fiber has at its own."""
        return op("-", own, self.state.shift(F))

    def next_index(self, loop: Loop, F: ir.Fiber, past: Expr) -> Expr:
        """The first index from where the cursor is on at which F has a child; beyond the range if there is none.

        An index that the loop has passed, which only a race leaves there, ends the iteration: the rules wait for it.
        What no task writes is in order.
        """
        match self.index(loop, F):
            case Op(op="select", args=(more, at, Const(value=0))) if self.state.is_undisturbed(F.tensor):
                more = op("and", loop.maybe.get(F, Const(True)), more)
                ahead = op("select", more, self.loop_index(F, at), past)
            case _:
                standing = self.standing(loop, F)
                ahead = op("select", op("<", standing, loop.front), past, standing)
        return self.builder.keep(f"{F.tensor}{F.level - 1}.next", ahead, self.builder.origin(F.span, "Child"))

    def stop(self, loop: Loop, F: ir.Fiber, begin: Expr) -> Expr:
        """The last index of the stretch that the cursor stands in, at `begin`.

        If a race has put stretches out of order, the cursor may stand behind its own. Then it has no child there.
        """
        if not self.state.level(F).stretch:
            return begin
        last = self.loop_index(F, self.last(loop, F))
        return last if self.state.is_undisturbed(F.tensor) else op("max", begin, last)

    def last(self, loop: Loop, F: ir.Fiber) -> Expr:
        """The fiber's own index at which the stretch ends that the cursor stands in."""
        code = procedures.stop(self.state.tower(F), F.level)
        results, _ = self.state.run(F, F.span, "Child", code, {}, loop.cursors[F])
        return results["index"]

    def is_final(self, loop: Loop, F: ir.Fiber) -> bool:
        """Whether all that is left of a fiber lies ahead and in the range, which ends with it: nobody writes it."""
        return F.by == 0 and self.state.is_undisturbed(F.tensor) and loop.hi == self.state.extent_of(F)

    def has_more(self, loop: Loop, F: ir.Fiber) -> Expr:
        """Whether there are children from where the cursor is on."""
        match self.index(loop, F):
            case Op(op="select", args=(more, _, Const(value=0))):
                pass
            case at:
                more = op("!=", at, Const(0))
        return op("and", loop.maybe[F], more) if F in loop.maybe else more

    def head(self, loop: Loop, F: ir.Fiber) -> Head | None:
        """The list of indices that the cursor goes through to its end, if C can compare it with others."""
        names, fiber = self.state.level(F).index_list, self.state.fiber(F)
        if names is None or F in loop.maybe or not self.is_final(loop, F):
            return None
        if names.keyed and fiber.position != Const(1):
            return None
        cursor, ref = loop.cursors[F], self.indices(F, names.buffer)
        if ref is None:
            return None
        return Head(Listed(ref, cursor[f"c.{names.at}"], cursor["c.end"]), cursor[f"c.{names.index}"])

    def indices(self, F: ir.Fiber, name: str) -> Ref | None:
        """A buffer with indices of a fiber's level, if C can compare several of them at once."""
        tower, handle = self.state.tower(F), self.state.handle(F.tensor)
        buffer = self.state.layouts[F.tensor].buffer(tower.depths[F.level], name)
        if buffer.width != "i32" or buffer.hashed or any(tower.levels[d].key for d in tower.use_modifiers(F.level)):
            return None
        return Ref(buffer, self.state.fiber(F).instance.reg, frozen=handle.mode == "read")

    def run_ends(self, F: ir.Fiber) -> tuple[Ref, Ref] | None:
        """The buffers with the ends of a fiber's runs, if C can compare several of them at once."""
        names = self.state.level(F).run_ends
        left, right = (self.indices(F, names.left), self.indices(F, names.right)) if names else (None, None)
        return (left, right) if left and right else None

    def runs(self, loop: Loop, F: ir.Fiber) -> Runs | None:
        """The list of runs that the cursor goes through, if it is in order."""
        ends, cursor = self.run_ends(F), loop.cursors[F]
        if ends is None or F.by != 0 or not self.state.is_undisturbed(F.tensor):
            return None
        return Runs(*ends, cursor["c.q"], cursor["c.end"], cursor["c.i"], cursor["c.last"])

    def appended_runs(self, loop: Loop, F: ir.Fiber) -> Appended | None:
        """The list of runs that a fiber that is updated grows by, if an element is right below."""
        tower, cursor, ends = self.state.tower(F), loop.cursors[F], self.run_ends(F)
        if ends is None or tower.depths[F.level] + 2 != len(tower.levels) or tower.leaf.layout != "values":
            return None
        layout = self.state.layouts[F.tensor]
        element = Ref(layout.buffer(len(tower.levels) - 1, tower.leaf.buffers[0].name), ends[0].instance)
        return Appended(*ends, element, cursor["c.q"], cursor["c.first"], cursor["c.i"])

    def bits(self, loop: Loop, F: ir.Fiber) -> Bits | None:
        """The bitmap that the cursor goes through to its end, if no modifier leads to an instance of its own."""
        level, tower, cursor = self.state.level(F), self.state.tower(F), loop.cursors[F]
        words, keyed = level.word_cursor, any(tower.levels[d].key for d in tower.use_modifiers(F.level))
        if words is None or keyed or F in loop.maybe or not self.is_final(loop, F):
            return None
        name = next(b.name for b in level.buffers if b.role == "members")
        ref = Ref(self.state.layouts[F.tensor].buffer(tower.depths[F.level], name), self.state.fiber(F).instance.reg)
        return Bits(ref, *(cursor[f"c.{name}"] for name in (words.index, words.rest, words.before)))

    def settle_presence(self, loop: Loop, F: ir.Fiber, at: Expr | None = None) -> None:
        """From here on F is known to have a child at the index, or at another one, until its cursor moves.

        The index may be any of a stretch, unless a race can have put stretches out of order.
        """
        own, first = self.state.own(F, at or loop.index), self.index(loop, F)
        if not self.state.level(F).stretch:
            self.builder.assume(op("==", first, own))
        elif self.state.is_undisturbed(F.tensor):
            match first:
                case Op(op="select", args=(more, first, Const(value=0))):
                    self.builder.assume(more)
                case _:
                    self.builder.assume(op("<", Const(0), first))
            self.builder.assume(op("<=", first, own), op("<=", own, self.last(loop, F)))

    # ---------------------------------------------------------------------------------------------------- how they move

    def seek(self, loop: Loop, F: ir.Fiber, at: Expr) -> None:
        """Move a cursor on to an index."""
        code, own = procedures.seek(self.state.tower(F), F.level), self.state.own(F, at)
        self.state.run(F, F.span, "Child", code, {"index": own}, loop.cursors[F])

    def catch_up(self, loop: Loop, F: ir.Fiber, least: Expr) -> None:
        """Move a cursor on to an index, if it has not passed that."""
        at = self.builder.keep(
            f"{F.tensor}{F.level - 1}.at", self.own_index(loop, F), self.builder.origin(F.span, "Child")
        )
        behind = op("and", op("!=", at, Const(0)), op("<", at, self.state.own(F, least)))
        self.builder.when(behind, partial(self.seek, loop, F, least))

    def advance(self, loop: Loop, F: ir.Fiber, at: Expr | None = None) -> None:
        """Move a cursor past the index, or past another one, where it has a child."""
        at = at or loop.index
        self.settle_presence(loop, F, at)
        self.drain(loop, F, at)
        self.next(loop, F, at)

    def drain(self, loop: Loop, F: ir.Fiber, at: Expr) -> None:
        """Take along what a cursor has read at an index, if nobody reads it again."""
        if self._can_drain(loop, F):
            code, own = procedures.drain(self.state.tower(F), F.level), self.state.own(F, at)
            self.state.run(F, F.span, "Leave", code, {"index": own}, loop.cursors[F], reading=False)

    def next(self, loop: Loop, F: ir.Fiber, at: Expr) -> None:
        """Move a cursor past an index."""
        if self._can_drain(loop, F):
            code = procedures.forget(self.state.tower(F), F.level)
            self.state.run(F, F.span, "Leave", code, {}, loop.cursors[F], reading=False)
        code, own = procedures.next_(self.state.tower(F), F.level), self.state.own(F, at)
        self.state.run(F, F.span, "Leave", code, {"index": own}, loop.cursors[F])

    def _can_drain(self, loop: Loop, F: ir.Fiber) -> bool:
        """Whether a cursor that nobody moves otherwise may take along what it reads, since nobody reads it again."""
        steppers = [G for G in loop.cursors if not self.state.level(G).lookup]
        reading = [G for G in steppers if self.state.handle(G.tensor).mode == "read"]
        return F.by == 0 and F.tensor in self.state.last and reading == [F] and loop.lo == Const(1) and not loop.cut
