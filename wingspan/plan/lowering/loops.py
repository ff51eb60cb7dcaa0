"""Loops: the fibers that they open and close, and what they do at one index. Which indices, `looplets` works out."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from wingspan.buffers import procedures
from wingspan.buffers.staging import definitions
from wingspan.lang import ir
from wingspan.lang.registers import BOOL
from wingspan.lang.terms import mentions, replace_access, tensors, through_view, unfurled_fibers
from wingspan.levels.base import FIBER, Level
from wingspan.plan.fold import constant, op
from wingspan.plan.ir import Check, Const, Expr, Reg
from wingspan.plan.lowering.inline import Instance
from wingspan.plan.lowering.looplets import Coiteration
from wingspan.plan.lowering.phase import Loop, Phase
from wingspan.plan.lowering.scope import ReachedFiber
from wingspan.plan.lowering.state import LoweringState
from wingspan.plan.ranges import range_of


class Loops:
    """The lowering of loops; `statement` lowers what is inside of them."""

    def __init__(self, state: LoweringState, statement: Callable[[ir.Statement], None]) -> None:
        self.state, self.statement = state, statement
        self.builder = state.builder
        self.coiteration = Coiteration(state, self.visit)

    # ------------------------------------------------------------------------------------------------- unfurl and close

    def serial(
        self,
        name: str,
        lo: Reg | Const,
        hi: Reg | Const,
        body: ir.Statement,
        within: tuple[Expr, Expr] | None = None,
        absorbed: tuple[ir.Absorbing, ...] = (),
    ) -> None:
        """for i = lo:hi do body end. The whole range lies inside `within`. It ends once the scalars are `absorbed`."""
        over = self.builder.fresh(f"{name}.over", BOOL) if absorbed else None

        def run() -> None:
            whole = through_view(body, name, self.shift)
            fibers = [(F, self.state.is_updating(F)) for F in unfurled_fibers(whole, name)]
            index, front = self.builder.fresh(name), self.builder.fresh(f"{name}.front")
            first, last = within or (lo, hi)
            least, greatest = (range_of(end, self.builder.ranges) for end in (first, last))
            self.builder.ranges[index.name] = (least[0], greatest[1])
            loop = Loop(name, index, lo, hi, last, {}, front, {}, absorbed=absorbed, over=over)
            self.look(loop)
            self.builder.when(loop.on, lambda: self.unfurl(loop, whole, fibers))

        self.builder.when(op("<=", lo, hi) if lo != hi else Const(True), run)

    def look(self, loop: Loop) -> None:
        """Find out whether a loop ends early here, if it may."""
        if loop.over is None:
            return
        ended: Expr = Const(True)
        for a in loop.absorbed:
            F, tower = ir.Fiber(a.tensor, 1), self.state.layouts[a.tensor].tower
            found, _ = self.state.run(F, None, "ShortCircuit", procedures.unwrap(tower), {"position": Const(1)})
            equal = op("alike" if tower.elements.has_nan else "==", found["value"], constant(a.value.value))
            ended = op("and", ended, op("not", equal) if a.others else equal)
        self.builder.set(loop.over, ended, self.builder.origin(None, "ShortCircuit"))

    def shift(self, e: ir.Expression) -> int | Expr:
        """The offset of an index, over those of the loops around: a number, or an expression."""
        by = self.coiteration.bound(e)
        return int(by.value) if isinstance(by, Const) else by

    def unfurl(self, loop: Loop, body: ir.Statement, fibers: list[tuple[ir.Fiber, bool]]) -> None:
        """Open the fibers in order, iterate, and close those that were updated, in the reverse order."""
        if not fibers:
            self.coiteration.phases(loop, body)
            return
        (F, updating), *rest = fibers
        acts = updating and not self.opens_freely(F)
        twin = next((G for G in loop.cursors if acts and (G.tensor, G.level) == (F.tensor, F.level)), None)
        if twin is None:
            self.open_fibers(loop, body, F, updating, rest)
            return

        def same() -> None:
            whole = body.map(lambda n: _swap_fiber(n, F, twin))
            self.unfurl(loop, whole, rest)

        here, there = self.state.fiber(F), self.state.fiber(twin)
        equal = op("and", op("==", here.position, there.position), op("==", here.instance.reg, there.instance.reg))
        self.builder.when(equal, same, lambda: self.open_fibers(loop, body, F, updating, rest))

    def opens_freely(self, F: ir.Fiber) -> bool:
        """Whether a fiber may be opened twice: nothing is done to update it, and no lock is taken."""
        tower = self.state.tower(F)
        return tower.readable_while_updated and not tower.use_modifiers(F.level)

    def open_fibers(
        self,
        loop: Loop,
        body: ir.Statement,
        F: ir.Fiber,
        updating: bool,
        rest: list[tuple[ir.Fiber, bool]],
    ) -> None:
        """Open one fiber, go on with the others, close it."""
        tower, fiber = self.state.tower(F), self.state.fiber(F)
        names = procedures.cursor(tower, F.level)
        cursor = {n: self.builder.fresh(f"{F.tensor}{F.level - 1}.{n.removeprefix('c.')}") for n in names}
        if updating:
            self.require_closed(F, fiber)
            self.state.open.append((F, fiber))
        code = (
            procedures.open_(tower, F.level, self.state.handle(F.tensor).op)
            if updating
            else procedures.unfurl(tower, F.level)
        )
        given = {"position": fiber.position, "start": self.state.own(F, loop.lo)}
        run = partial(self.state.run, F, F.span, "Unfurl", code, given, cursor)
        there = self.builder.op("!=", fiber.position, Const(0))
        if there != Const(True):
            self.builder.set(cursor["c.p"], Const(0), self.builder.origin(F.span, "Unfurl"))
        self.builder.when(there, run)
        maybe = dict(loop.maybe)
        if there != Const(True) or any(_may_be_missing(tower.levels[depth]) for depth in tower.use_modifiers(F.level)):
            maybe[F] = op("!=", cursor["c.p"], Const(0))
        self.unfurl(replace(loop, cursors={**loop.cursors, F: cursor}, maybe=maybe), body, rest)
        if updating:
            self.state.open.pop()
            late = tower.use_modifiers(F.level)
            if not self.state.level(F).lookup or procedures.unbinds(tower, late):
                done = procedures.close(tower, F.level, self.state.handle(F.tensor).op)
                self.state.run(F, F.span, "Finish", done, {}, cursor)

    def require_closed(self, F: ir.Fiber, fiber: ReachedFiber) -> None:
        """A fault if a level that is appended to in order has a fiber open already, which would be overwritten.

        Fibers that an Isolate around them loads only now lie in levels of their own.
        """
        tower, level = self.state.tower(F), self.state.level(F)
        if not level.once or any(tower.levels[depth].key == FIBER for depth in tower.use_modifiers(F.level)):
            return
        for G, other in self.state.open:
            if (G.tensor, G.level) == (F.tensor, F.level):
                where = f"{F.tensor}, level {F.level} {level.name}"
                message = f"{where}: fiber {{p}} is visited while a visit of fiber {{q}} goes on"
                apart = op("not", op("==", fiber.instance.reg, other.instance.reg))
                values = (("p", fiber.position), ("q", other.position))
                if apart != Const(True):
                    self.builder.emit(Check(apart, message, values, self.builder.origin(F.span, "Unfurl")))

    # --------------------------------------------------------------------------------------------------- one iteration

    def visit(self, phase: Phase) -> None:
        """Visit an index, unless the loop has ended early."""

        def run() -> None:
            self.enter(phase)
            self.look(phase.loop)

        if not isinstance(phase.body, ir.Skip):
            self.builder.when(phase.loop.on, run)

    def enter(self, phase: Phase) -> None:
        """Enter the fibers at an index, first those that are read; run the body; leave them."""
        loop, around, ends = phase.loop, self.builder.indices, self.builder.ends
        self.builder.indices = {**around, loop.name: loop.index}
        self.builder.ends = ends if loop.until is None else {**ends, loop.name: loop.until}
        self.descend(loop, phase.body, [F for F in phase.reads if mentions(phase.body, F)], phase.updates)
        self.builder.indices, self.builder.ends = around, ends

    def descend(self, loop: Loop, body: ir.Statement, reads: Sequence[ir.Fiber], updates: Sequence[ir.Fiber]) -> None:
        if isinstance(body, ir.Skip):
            return
        if reads:
            self.read(loop, body, reads[0], reads[1:], updates)
            return
        unsure = self.state.unsure(body)
        if unsure and _lost_updates(body, self.state.without(body, unsure), updates):
            self.state.either(unsure[0], body, lambda s: self.descend(loop, s, (), updates))
            return
        for k, F in enumerate(updates):
            if mentions(body, F):
                self.update(loop, body, F, updates[k + 1 :])
                return
        self.state.in_scope(lambda: self.statement(body))

    def read(
        self,
        loop: Loop,
        body: ir.Statement,
        F: ir.Fiber,
        rest: Sequence[ir.Fiber],
        updates: Sequence[ir.Fiber],
    ) -> None:
        """Go down into a fiber that is read: to its child, or on without it.

        Whether there is a child may turn out during the run only. Then the body is written twice if it depends on that
        which fibers it updates, as under the rules; otherwise statements see to it where it matters.
        """
        position, descend = self.child(loop, F)
        there = op("!=", position, Const(0))
        instance = self.state.fiber(F).instance

        def go() -> None:
            nonlocal instance
            instance = descend()

        def on() -> None:
            inner = self.state.reach(ReachedFiber(F.level - 1, position, instance))
            below = ir.Fiber(F.tensor, F.level - 1, inner, span=F.span)
            self.descend(loop, replace_access(body, F, loop.name, below), rest, updates)

        def skip() -> None:
            self.descend(loop, fill, [R for R in rest if mentions(fill, R)], updates)

        if self.sure(loop, F):
            self.builder.assume(there)
            go()
            on()
            return
        fill = self.state.simplify_for_fill(body, F, loop.name)
        if not (isinstance(fill, ir.Skip) or _lost_updates(body, fill, updates)):
            self.builder.when(there, go)
            on()
            return

        def when_known() -> None:
            self.builder.assume(there)
            go()
            on()

        self.builder.when(there, when_known, skip)

    def child(self, loop: Loop, F: ir.Fiber) -> tuple[Expr, Callable[[], Instance]]:
        """The position of the child at the index, 0 if there is none, and what writes the way to its instance."""
        code = procedures.child(self.state.tower(F), F.level)
        origin = self.builder.origin(F.span, "Child")
        hint = f"{F.tensor}{F.level - 2}.p"

        def look() -> tuple[Expr, Callable[[], Instance]]:
            own = self.state.own(F, loop.index)
            results, descend = self.state.run(F, F.span, "Child", code, {"index": own}, loop.cursors[F])
            return results["position"], descend

        if F not in loop.maybe:
            position, descend = look()
            return self.builder.keep(hint, position, origin), descend
        found = self.builder.fresh(hint)
        self.builder.set(found, Const(0), origin)
        made: list[Callable[[], Instance]] = []

        def look_up() -> None:
            if not (loop.single or self.state.level(F).lookup):
                self.coiteration.cursors.settle_presence(loop, F)
            position, descend = look()
            self.builder.set(found, position, origin)
            made.append(descend)

        self.builder.when(loop.maybe[F], look_up)
        return found, made[0]

    def sure(self, loop: Loop, F: ir.Fiber) -> bool:
        """Whether a fiber is known to have a child where it is entered."""
        if F in loop.maybe:
            return False
        tower = self.state.tower(F)
        if any(_may_be_missing(tower.levels[depth]) for depth in tower.entry_modifiers(F.level - 1)):
            return False
        level = self.state.level(F)
        spoiled = level.stretch and not self.state.is_undisturbed(F.tensor)
        return level.lookup or not (loop.single or level.numbers_arrivals or spoiled)

    def update(self, loop: Loop, body: ir.Statement, F: ir.Fiber, rest: Sequence[ir.Fiber]) -> None:
        """Go down into a fiber that is updated: make the child, run what is below, leave it."""
        tower, fiber, cursor = self.state.tower(F), self.state.fiber(F), loop.cursors[F]
        bound = {
            n: self.builder.fresh(f"{F.tensor}{F.level - 2}.{n}")
            for n in procedures.entry_registers(tower, F.level - 1)
        }
        code = procedures.enter(tower, F.level, self.state.handle(F.tensor).op)
        if self.state.level(F).once:  # its cursor has the last index in c.i, and a loop goes upwards
            self.builder.assume(op("<", cursor["c.i"], loop.index))
        results, descend = self.state.run(F, F.span, "Child", code, {"index": loop.index}, {**cursor, **bound})
        origin = self.builder.origin(F.span, "Child")
        position = self.builder.keep(f"{F.tensor}{F.level - 2}.p", results["position"], origin)
        dirty = (
            self.builder.fresh(f"{F.tensor}{F.level - 2}.written", BOOL) if tower.tracks_writes(F.level - 1) else None
        )
        if dirty is not None:
            self.builder.set(dirty, Const(False), origin)
        if loop.until is not None:
            self.builder.set(cursor["c.last"], loop.until, origin)
        self.builder.assume(op("!=", position, Const(0)))
        inner = self.state.reach(ReachedFiber(F.level - 1, position, descend(), dirty))
        below = ir.Fiber(F.tensor, F.level - 1, inner, span=F.span)
        self.descend(loop, replace_access(body, F, loop.name, below), (), rest)
        if not loop.leaves:
            return

        def leave(written: bool) -> Callable[[], None]:
            def run() -> None:
                code = procedures.leave(tower, F.level, written, self.state.handle(F.tensor).op)
                self.state.run(F, F.span, "Leave", code, {"index": loop.index}, {**cursor, **bound})
                if written and fiber.dirty is not None:
                    self.builder.set(fiber.dirty, Const(True), self.builder.origin(F.span, "Leave"))

            return run

        if dirty is not None:
            self.builder.when(dirty, leave(True), leave(False))
        elif procedures.unbinds(tower, tower.entry_modifiers(F.level - 1)):
            leave(False)()


def changes_control_flow(
    before: ir.Statement, after: ir.Statement, fibers: Sequence[ir.Fiber], is_updating: Callable[[ir.Fiber], bool]
) -> bool:
    """Whether a statement does something else, values apart, once fibers are replaced by their fill values."""
    if type(before) is not type(after):
        return True
    match before, after:
        case ir.For(index=i, range=r, body=s), ir.For(body=t):
            if isinstance(r, ir.Parallel) and tensors(s) != tensors(t):
                return True
            return _lost_updates(s, t, [G for G in unfurled_fibers(s, i) if is_updating(G)])
        case ir.If(condition=e), ir.If(condition=f):
            return isinstance(f, ir.Literal) or _loses_faults(e, f, fibers)
        case (ir.Assign(value=e), ir.Assign(value=f)) | (ir.Set(value=e), ir.Set(value=f)):
            return _loses_faults(e, f, fibers)
        case ir.Assert(condition=e), ir.Assert(condition=f):
            return _loses_faults(e, f, fibers)
    return False


def _lost_updates(before: ir.Statement, after: ir.Statement, updates: Sequence[ir.Fiber]) -> bool:
    """Whether a body no longer updates a fiber that it updated."""
    return any(mentions(before, U) and not mentions(after, U) for U in updates)


def _loses_faults(before: ir.Expression, after: ir.Expression, fibers: Sequence[ir.Fiber]) -> bool:
    """Whether something that could fault is no longer evaluated.

    What mentions the fibers could not, but for an access with an index left, which is out of bounds.
    """

    def others(e: ir.Expression) -> Counter[ir.Node]:
        parts = (n for n in e.walk() if isinstance(n, ir.Access | ir.Call))
        return Counter(n for n in parts if getattr(n, "subscripts", ()) or not any(mentions(n, F) for F in fibers))

    return bool(others(before) - others(after))


def _swap_fiber(node: ir.Node, F: ir.Fiber, by: ir.Fiber) -> ir.Node:
    """An access to one fiber turned into one to another."""
    if isinstance(node, ir.Access) and node.fiber == F:
        return ir.Access(by, node.subscripts, span=node.span)
    return node


def _may_be_missing(level: Level) -> bool:
    """Whether a modifier may say, by position 0, that there is no fiber: if it gives another position than its own."""
    match definitions(level.operations)["bind_read"].body[-1]:
        case ast.Return(value=ast.Tuple(elts=[*_, position])) | ast.Return(value=position):
            return not (isinstance(position, ast.Name) and position.id == "p")
    return True
