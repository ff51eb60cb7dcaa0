"""The state of a lowering: the names bound here, the fibers reached, the device, and the plan so far.

It is all that the lowering of statements, loops, ranges and tasks shares. A fiber that the program has reached is an
`ir.Fiber` whose position is a number of `LoweringState.fibers`, where its registers stand; so the functions that
rewrite bodies under the rules serve here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from functools import partial, reduce

from wingspan.base.errors import Span
from wingspan.buffers import procedures
from wingspan.buffers.linear import LinearCode
from wingspan.lang import algebra, ir
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import INSTANCE
from wingspan.lang.terms import replace_access, replace_fiber
from wingspan.levels import Tower
from wingspan.levels.base import Level
from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Group, Origin, Reg
from wingspan.plan.layout import TensorLayout
from wingspan.plan.lowering.build import PlanBuilder, under
from wingspan.plan.lowering.effects import Effects
from wingspan.plan.lowering.fill_propagation import FillPropagation
from wingspan.plan.lowering.inline import CallSite, Instance, inline
from wingspan.plan.lowering.scope import LoweringScope, ReachedFiber, Repetition, SharedBinding, TensorBinding


class LoweringState:
    """`dealt`: whether the operations of levels deal independent iterations to tasks of their own.

    `once` are the tensors no cell of which is written twice in a phase, `constant` those that nobody writes,
    `disturbed` those that several tasks may; `effects` knows what is done though no value depends on it.
    """

    def __init__(self, dealt: bool, once: Set[str], constant: Set[str], disturbed: Set[str], effects: Effects) -> None:
        self.dealt, self.once, self.constant, self.disturbed = dealt, once, constant, disturbed
        self.effects, self.fill_propagation = effects, FillPropagation(effects)
        self.builder = PlanBuilder()
        self.layouts: dict[str, TensorLayout] = {}
        self.roots: list[tuple[str, Reg]] = []
        self.fibers: dict[int, ReachedFiber] = {}
        self.open: list[tuple[ir.Fiber, ReachedFiber]] = []
        """the fibers that are being updated here, outermost first"""
        self.device: Device = SERIAL
        self.threads: dict[Device, Reg] = {}
        self.scopes = [LoweringScope(0)]
        self.repetitions: list[Repetition] = []
        """the bodies around that are run once for several indices, outermost first"""
        self.last: Set[str] = frozenset()
        """the tensors that the loop at hand is the last to read before they are declared again, if ever"""

    # ----------------------------------------------------------------------------------------------------------- scopes

    def in_scope(self, build: Callable[[], object]) -> None:
        """Write what `build` writes in a scope of its own."""
        self.scopes.append(LoweringScope(self.scopes[-1].region))
        build()
        self.drop(self.scopes.pop())

    def drop(self, scope: LoweringScope) -> None:
        """A scope ends: the task gives back the cells that it shared in it."""
        for found in scope.variables.values():
            if isinstance(found, SharedBinding) and scope.region > 0:
                self.builder.emit(plan.ReleaseInstance(found.reg, self.builder.origin(None, "ScopeExit")))

    def cell(self, group: Group, name: str, origin: Origin) -> Reg:
        """The instance with a cell that tasks share: the only one, or this task's own."""
        if self.scopes[-1].region > 0:
            return self.builder.own(group, origin)
        reg = self.builder.fresh(name, INSTANCE)
        self.roots.append((name, reg))
        return reg

    def find(self, name: str) -> Reg | SharedBinding | None:
        """The binding of a variable."""
        return next((s.variables[name] for s in reversed(self.scopes) if name in s.variables), None)

    # -------------------------------------------------------------------------------------------------------- tensors

    def handle(self, tensor: str) -> TensorBinding:
        """The tensor's handle, by the nearest scope that has one."""
        return next(s.handles[tensor] for s in reversed(self.scopes) if tensor in s.handles)

    def is_updating(self, F: ir.Fiber) -> bool:
        """Whether a fiber is one of a tensor in update mode; statements may read it, too."""
        return self.handle(F.tensor).mode == "update"

    def is_undisturbed(self, tensor: str) -> bool:
        """Whether no race can have spoiled the order of a tensor: nobody writes it, or one task alone."""
        return tensor in self.constant or tensor not in self.disturbed

    def fiber(self, F: ir.Fiber) -> ReachedFiber:
        """The place of a fiber of the program; the root fiber is that of the tensor's handle."""
        if F.position in self.fibers and F.level <= self.layouts[F.tensor].tower.rank:
            return self.fibers[F.position]
        return ReachedFiber(F.level, Const(1), self.handle(F.tensor).root)

    def reach(self, F: ReachedFiber) -> int:
        """The number of a fiber that the program reaches here."""
        self.fibers[len(self.fibers) + 2] = F
        return len(self.fibers) + 1

    def tower(self, F: ir.Fiber) -> Tower:
        """The tower of a fiber's tensor."""
        return self.layouts[F.tensor].tower

    def extent_of(self, F: ir.Fiber) -> Reg | Const:
        """The extent of the axis that a fiber iterates over."""
        return self.layouts[F.tensor].extents[F.level - 2]

    def shift(self, F: ir.Fiber) -> Expr:
        """The offset from an index of a view to the fiber's own."""
        return Const(F.by) if isinstance(F.by, int) else F.by  # type: ignore[return-value]

    def own(self, F: ir.Fiber, index: Expr) -> Expr:
        """The index of a fiber that a view has as this one."""
        return op("+", index, self.shift(F))

    def level(self, F: ir.Fiber) -> Level:
        """The level that a fiber is one of."""
        return self.tower(F).levels[self.tower(F).depths[F.level]]

    def run(
        self,
        F: ir.Fiber,
        span: Span | None,
        rule: str,
        code: LinearCode,
        given: dict[str, Expr],
        into: dict[str, Reg] | None = None,
        start: Instance | None = None,
        prefix: str = "",
        z: Expr | None = None,
        reading: bool | None = None,
        times: Expr | None = None,
    ) -> tuple[dict[str, Expr], Callable[[], Instance]]:
        """Write a procedure of a tensor's levels, by default in the instance of a fiber: see `inline`."""
        handle = self.handle(F.tensor)
        origin = under(self.builder.origin(span, rule), prefix)
        frozen = handle.mode == "read" if reading is None else reading
        here = CallSite(origin, self.threads, frozen, self.device if self.dealt else None, times)
        layout = self.layouts[F.tensor]
        extents = {name: layout.extents[axis] for name, axis in procedures.open_extents(layout.tower).items()}
        threads = {name: self.builder.threads(D) for name, D in procedures.open_threads(layout.tower).items()}
        inputs = {"z": handle.z if z is None else z, **extents, **threads, **given}
        return inline(self.builder, code, start or self.fiber(F).instance, here, inputs, into or {})

    # ----------------------------------------------------------------------------------------- fibers that are all fill

    def unsure(self, s: ir.Statement) -> list[ir.Fiber]:
        """The fibers that a statement reads and that may turn out to be missing, so that they are all fill."""
        read = dict.fromkeys(access.fiber for access, updated in ir.accesses(s) if not updated)
        positions = {F: self.fiber(F).position for F in read}
        return [F for F in read if self.builder.op("!=", positions[F], Const(0)) != Const(True)]

    def without(self, s: ir.Statement, fibers: Iterable[ir.Fiber]) -> ir.Statement:
        """The statement, simplified for these fibers being all fill."""
        return self.simplify(reduce(lambda s, F: replace_fiber(s, F, self.handle(F.tensor).fill), fibers, s))

    def either(self, F: ir.Fiber, s: ir.Statement, write: Callable[[ir.Statement], None]) -> None:
        """Write a statement twice: where a fiber that it reads is there, and where it is all fill."""
        there = op("!=", self.fiber(F).position, Const(0))

        def when_known() -> None:
            self.builder.assume(there)
            write(s)

        self.builder.when(there, when_known, partial(write, self.without(s, [F])))

    def simplify_for_fill(self, body: ir.Statement, F: ir.Fiber, index: str) -> ir.Statement:
        """The body, simplified for a fiber that it reads being all fill."""
        return self.simplify(replace_access(body, F, index, self.handle(F.tensor).fill))

    def simplify(self, body: ir.Statement) -> ir.Statement:
        """The body with identities worked out and without what changes nothing."""

        def repeats_fill(a: ir.Assign) -> bool:
            T = a.access.fiber.tensor
            fill = self.handle(T).fill
            return T in self.once and isinstance(fill, ir.Literal) and algebra.is_literal(a.value, fill.value)

        simpler = self.fill_propagation.without(algebra.simplify(body, repeats_fill), repeats_fill)
        return self.effects.without_idle(simpler)
