"""Parallel loops: the tasks that run them, what each is given of the iterations, and the tensors it takes along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from wingspan.base.errors import Span
from wingspan.buffers import procedures
from wingspan.lang import ir
from wingspan.lang.devices import Device, Schedule
from wingspan.lang.registers import INT
from wingspan.lang.terms import tensors
from wingspan.plan import ir as plan
from wingspan.plan import layout
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Const, Expr, Place, Ref, Reg
from wingspan.plan.lowering.inline import Instance
from wingspan.plan.lowering.scope import LoweringScope
from wingspan.plan.lowering.state import LoweringState


class Tasks:
    """The lowering of parallel loops; `bound_of` lowers the ends of a range, `serial` what one task runs."""

    def __init__(
        self,
        state: LoweringState,
        bound_of: Callable[[ir.Expression, Span | None], Reg | Const],
        serial: Callable[..., None],
    ) -> None:
        self.state, self.bound_of, self.serial = state, bound_of, serial
        self.builder = state.builder

    def parallel(self, s: ir.For) -> None:
        """for i = parallel(a:b, D, h)"""
        assert isinstance(s.range, ir.Parallel) and isinstance(s.range.range, ir.Range)
        r, device, schedule = s.range.range, s.range.device, s.range.schedule
        assert isinstance(device, Device) and isinstance(schedule, Schedule)
        origin = self.builder.origin(s.span, "ParallelFor")
        a = self.bound_of(r.start, s.span)
        b = a if r.start == r.stop else self.bound_of(r.stop, s.span)
        if device.parent != self.state.device:
            message = f"{device} is spawned from {device.parent}, and this loop runs on {self.state.device}"
            self.builder.emit(Check(Const(False), message, (), origin))
            return
        counter = None
        if schedule.kind == "dynamic":
            group = self.builder.group(lambda id: layout.variable(f"{s.index}_chunk", INT, id))
            counter = Ref(group.buffers[0], self.state.cell(group, group.tensor, origin))
            self.builder.emit(plan.Store(counter, Const(1), a, Place(), origin))
        task = self.builder.fresh("thread")
        body = self.builder.block(lambda: self.worker(s, device, task, a, b, schedule, counter))
        written = {each.reg for each in plan.walk(body) if isinstance(each, plan.Set)}
        outside = {F.dirty for F in self.state.fibers.values() if F.dirty in written}
        inside = {each.reg for each in plan.walk(body) if isinstance(each, plan.Set) and each.value == Const(False)}
        joined = tuple(sorted((r for r in outside - inside if r is not None), key=lambda reg: reg.name))
        count = self.builder.threads(device) if device.open else None
        self.builder.emit(plan.Par(device, task, body, joined, origin, count))
        if counter is not None and self.state.scopes[-1].region > 0:
            self.builder.emit(plan.ReleaseInstance(counter.instance, origin))

    def worker(
        self, s: ir.For, device: Device, task: Reg, a: Expr, b: Expr, schedule: Schedule, counter: Ref | None
    ) -> None:
        """The code of each task: check out, its share of the loop, commit."""
        outer_device, outer_threads = self.state.device, self.state.threads
        self.state.device, self.state.threads = device, {device: task}
        self.state.scopes.append(LoweringScope(self.state.scopes[-1].region + 1))
        commits = [self.checkout(T, s) for T in tensors(s.body)]
        if counter is None:
            origin = self.builder.origin(s.span, "StaticFor")
            first, past = self.share(device, task, a, b, origin)
            lo = self.builder.keep("first", first, origin)
            hi = self.builder.keep("last", op("-", past, Const(1)), origin)
            self.serial(s.index, lo, hi, s.body, within=(a, b))
        else:
            self.chunks(s, a, b, self.builder.chunk(schedule), counter)
        for commit in reversed(commits):
            commit()
        self.state.drop(self.state.scopes.pop())
        self.state.device, self.state.threads = outer_device, outer_threads

    def share(self, device: Device, task: Reg, a: Expr, b: Expr, origin: plan.Origin) -> tuple[Expr, Expr]:
        """The bounds of a task's share: a + (q - 1)·size ÷ n for task q, and for q + 1.

        It is worked out from size = n·whole + rest, since q·size may not fit 64 bits.
        """
        n, size = self.builder.threads(device), op("max", op("+", op("-", b, a), Const(1)), Const(0))
        size = self.builder.keep("size", size, origin)
        whole = self.builder.keep("whole", op("÷", size, n), origin)
        rest = self.builder.keep("rest", op("%", size, n), origin)

        def end(q: Expr) -> Expr:
            return op("+", a, op("+", op("*", q, whole), op("÷", op("*", q, rest), n)))

        return end(op("-", task, Const(1))), end(task)

    def chunks(self, s: ir.For, a: Expr, b: Expr, step: Expr, counter: Ref) -> None:
        """Claim chunk after chunk, until none is left."""
        origin = self.builder.origin(s.span, "DynamicFor")
        first = self.builder.fresh("first")
        claim = plan.FetchChunk(first, counter, b, step, origin)

        def chunk() -> None:
            more = op("min", op("-", step, Const(1)), op("-", b, first))
            last = self.builder.keep("last", op("+", first, more), origin)
            self.serial(s.index, first, last, s.body, within=(a, b))

        self.builder.emit(plan.While((claim,), op("<=", first, b), self.builder.block(chunk)))

    def checkout(self, T: str, s: ir.For) -> Callable[[], None]:
        """transfer(T, s): what comes before s; what is to be written after it."""
        handle, tower = self.state.handle(T), self.state.layouts[T].tower
        out = self.builder.origin(s.span, "Checkout")
        root = ir.Fiber(T, tower.rank + 1)
        if handle.mode == "read":
            return lambda: None
        if handle.mode == "undeclared":
            group = self.state.layouts[T].groups[0]
            reg = self.builder.own(group, out)
            self.state.scopes[-1].handles[T] = replace(handle, root=Instance(self.state.layouts[T], group.id, reg))
            return lambda: self.builder.emit(plan.ReleaseInstance(reg, self.builder.origin(s.span, "Commit")))
        tops = self._tops(T, s) or [(tower.rank + 1, handle.root)]

        def transfer(rule: str, operation: str) -> None:
            for k, (level, instance) in enumerate(tops):
                code = procedures.transfer(tower, level, operation, handle.op)
                new: Expr = Const(True)
                for _, earlier in tops[:k]:
                    new = op("and", new, op("not", op("==", instance.reg, earlier.reg)))
                self.builder.when(new, partial(self.state.run, root, s.span, rule, code, {}, start=instance))

        transfer("Checkout", "checkout")
        return lambda: transfer("Commit", "commit")

    def _tops(self, T: str, s: ir.For) -> list[tuple[int, Instance]]:
        """For each instance in which the body reaches fibers of T the highest level of these, the highest first."""
        tops: dict[Reg, tuple[int, Instance]] = {}
        for F in s.body.walk():
            if isinstance(F, ir.Fiber) and F.tensor == T:
                found = self.state.fiber(F).instance
                tops[found.reg] = (max(F.level, tops.get(found.reg, (0, found))[0]), found)
        return sorted(tops.values(), key=lambda top: -top[0])
