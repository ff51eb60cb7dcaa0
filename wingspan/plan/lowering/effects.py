"""The parts of a program that do something although no value depends on them: a lowering must not leave them out.

    for k = 1:2                              k = 1, 2: tasks of d run, and each makes a child of T
        for i = parallel(1:2, d)
            if k >= 3; T[i] += 1; end
        end
    end

By the rules a loop enters the fibers that its body updates, also where a condition in the body is false, or an update
changes nothing. In a Dense level nothing comes of that. Elsewhere a task may claim a fiber, make a child or take a
lock; so there may be a race, a fault or a deadlock. An update that changes nothing is a write, which may race, too.

The procedures of a tower are read instruction by instruction: an access counts if another task may reach the same cell,
a check and a lock count unless a phase visits every fiber once, in order. So nothing counts in what a task has for
itself, as below a Shard; nor in a workspace that it has declared, or in a serial program, but for what an order can
break. Children to which nothing was written do not count then, either: no result shows them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from wingspan.buffers import ops, procedures
from wingspan.buffers.linear import LinearCode
from wingspan.buffers.ops import Check, Expr, Load, Op, Reg, SetReg, Stmt, Store
from wingspan.elaborate import Elaborated
from wingspan.lang import algebra, ir
from wingspan.lang.terms import declared_tensors, written_once
from wingspan.levels.base import Storage
from wingspan.plan.lowering.owners import Owners
from wingspan.plan.lowering.purity import Purity
from wingspan.plan.lowering.variables import Variables


class Effects:
    """Answers what the rules do in a bound program apart from computing values."""

    def __init__(self, bound: Elaborated, variables: Variables) -> None:
        self.towers = bound.towers
        self.purity = Purity(bound, variables)
        self.owners = Owners(bound)
        self.once = written_once(bound.body)
        self.opening_acts, self.entering_acts = cache(self._opening_acts), cache(self._entering_acts)
        self.entering_stores, self.transfer_acts = cache(self._entering_stores), cache(self._transfer_acts)
        self.update_acts = cache(self._update_acts)

    # ---------------------------------------------------------------------------------------------------- what acts

    def _opening_acts(self, T: str, level: int) -> bool:
        """Whether opening a fiber of a level for update does something, or closing it when nothing was written."""
        tower = self.towers[T]
        return any(self._acts(T, code) for code in (procedures.open_(tower, level), procedures.close(tower, level)))

    def _entering_acts(self, T: str, level: int) -> bool:
        """Whether making the child at an index does something if nothing is written below it."""
        tower = self.towers[T]
        codes = (procedures.enter(tower, level), procedures.leave(tower, level, False))
        return any(self._acts(T, code) for code in codes)

    def _entering_stores(self, T: str, level: int) -> bool:
        """Whether going down from a fiber of a level stores to any cell, if nothing is written below it."""
        tower = self.towers[T]
        codes = [procedures.open_(tower, each) for each in range(2, level + 1)]
        codes += [procedures.enter(tower, each) for each in range(2, level + 1)]
        return any(isinstance(s, Store) for code in codes for s in _walk(code.procedure.body))

    def _transfer_acts(self, T: str, level: int) -> bool:
        """Whether a task does something with a tensor when it begins or ends, of which it reaches fibers of a level."""
        codes = (procedures.transfer(self.towers[T], level, operation) for operation in ("checkout", "commit"))
        return any(self._acts(T, code) for code in codes)

    def _update_acts(self, T: str, op: ir.Operator) -> bool:
        """Whether an update of an element does something that changes nothing: stores a zero, or writes a cell that
        other tasks may access.
        """
        tower = self.towers[T]
        stored = any(not level.lookup for level in tower.storage)
        return stored or self._acts(T, procedures.increment(tower, op))

    def visit_acts(self, T: str) -> bool:
        """Whether going down to an element of a tensor does something, if nothing is written there."""
        levels = range(2, self.towers[T].rank + 2)
        visited = any(self.opening_acts(T, level) or self.entering_acts(T, level) for level in levels)
        return visited or any(self.transfer_acts(T, level) for level in (1, *levels))

    def _acts(self, T: str, code: LinearCode) -> bool:
        """Whether a procedure does something that another task may notice, or that may fail."""
        tower, once = self.towers[T], T in self.once
        body = tuple(_walk(code.procedure.body))
        loaded = _load_dependent(body, {name for name in code.procedure.inputs if name != "task"})
        for s in body:
            match s:
                case Load(ref=ref) | ops.AtomicLoad(ref=ref) | ops.Sort(ref=ref) | Store(ref=ref):
                    level = tower.levels[ref.depth]
                    traceless = not isinstance(level, Storage) or not level.may_be_empty
                    if not self.owners.is_alone(T, ref.depth, ref.buffer) or not (isinstance(s, Load) or traceless):
                        return True
                case ops.Acquire(ref=ref) | ops.Release(ref=ref):
                    if not once or not self.owners.is_alone(T, ref.depth, ref.buffer):
                        return True
                case Check(condition=condition, depth=depth):
                    if not self.owners.is_on_device(T, depth) or not (once or loaded.isdisjoint(_registers(condition))):
                        return True
        return False

    # ------------------------------------------------------------------------------------------------ what is lost

    def loses_effects(self, before: ir.For, after: ir.For) -> bool:
        """Whether a loop does something that what is left of it does not; or leaves other cells in its own fibers."""
        done, left = ({*self._of(s), *self._storing(s)} for s in (before, after))
        return not done <= left

    def _storing(self, s: ir.For) -> Iterator[Hashable]:
        """The accesses through which a loop stores to cells where nothing is written."""
        for access, k, level in _entered_levels(s):
            if self.entering_stores(access.fiber.tensor, level):
                yield "store", access.fiber, access.subscripts[k:]

    def _of(self, s: ir.Statement) -> Iterator[Hashable]:
        """The effects of a statement apart from computing values, each as something to compare. Values that are plainly
        not evaluated, and statements under a condition that is plainly false, do nothing; but loops around an access
        enter its fibers.
        """
        match s:
            case ir.Block(statements=statements):
                for each in statements:
                    yield from self._of(each)
            case ir.If(condition=condition, body=body):
                yield from self._evaluating(condition)
                if not algebra.is_literal(algebra.simplify_expression(condition), False):
                    yield from self._of(body)
            case ir.For(range=r, body=body):
                yield from self._ranging(s)
                own = declared_tensors(body)
                for access, updated in ir.accesses(body) if isinstance(r, ir.Parallel) else ():
                    T, level = access.fiber.tensor, access.fiber.level
                    if updated and T not in own and self.transfer_acts(T, level):
                        yield "task", s.span, T
                for access, k, level in _entered_levels(s):
                    T, which = access.fiber.tensor, (s.span, s.index, access.fiber, access.subscripts[k:])
                    if T not in own and self.opening_acts(T, level):
                        yield "open", *which
                    if T not in own and self.entering_acts(T, level):
                        yield "enter", *which
                yield from self._of(body)
            case ir.Assign(access=access, op=op, value=value):
                yield from self._evaluating(value)
                if self.update_acts(access.fiber.tensor, op):
                    yield "update", access.span, access.fiber.tensor
            case ir.Set(value=value) | ir.Assert(condition=value):
                yield from self._evaluating(value)

    def _ranging(self, s: ir.For) -> Iterator[Hashable]:
        """The effects of finding out where a loop begins and ends."""
        r = s.range.range if isinstance(s.range, ir.Parallel) else s.range
        assert isinstance(r, ir.Range)
        yield from self._evaluating(r.start)
        yield from self._evaluating(r.stop)
        for a in s.absorbed:
            if not self.owners.is_alone(a.tensor, len(self.towers[a.tensor].levels) - 1):
                yield "absorbed", s.span, a.tensor

    def without_idle(self, s: ir.Statement) -> ir.Statement:
        """A statement without conditions under which nothing is left, if all that they do is compare indices."""
        match s:
            case ir.Block(statements=statements):
                return ir.seq(*map(self.without_idle, statements))
            case ir.If(condition=condition, body=body):
                inner = self.without_idle(body)
                if isinstance(inner, ir.Skip) and not ir.accesses(condition) and self.purity.is_boolean(condition):
                    return inner
                return s if inner is body else replace(s, body=inner)
            case ir.For(body=body):
                inner = self.without_idle(body)
                if isinstance(inner, ir.Skip):
                    return s if self.ranges_act(s) else inner
                return s if inner is body else replace(s, body=inner)
        return s

    def ranges_act(self, s: ir.For) -> bool:
        """Whether finding out where a loop begins and ends does something."""
        return any(True for _ in self._ranging(s))

    def _evaluating(self, e: ir.Expression) -> Iterator[Hashable]:
        """The parts of an expression that may fault, or that other tasks may write."""
        for part in e.walk():
            inner = [each for each in part.children() if isinstance(each, ir.Expression)]
            if isinstance(part, ir.Expression) and self.purity.kind(part) is None and all(map(self.purity.kind, inner)):
                yield "evaluate", part, part.span


def _entered_levels(s: ir.For) -> Iterator[tuple[ir.Access, int, int]]:
    """The accesses that a loop updates through its index: which of the subscripts it is, and the level it enters."""
    for access, updated in ir.accesses(s.body):
        for k, subscript in enumerate(access.subscripts if updated else ()):
            if subscript == ir.Index(s.index):
                yield access, k, access.fiber.level - (len(access.subscripts) - 1 - k)


def _walk(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """The statements of a procedure, those in blocks too."""
    for s in body:
        yield s
        match s:
            case ops.When(then=then, otherwise=otherwise):
                yield from _walk((*then, *otherwise))
            case ops.While(test=test, body=inner):
                yield from _walk((*test, *inner))
            case ops.Each(body=inner):
                yield from _walk(inner)


def _registers(e: Expr) -> set[str]:
    match e:
        case Reg(name=name):
            return {name}
        case Op(args=args):
            return {name for a in args for name in _registers(a)}
    return set()


def _load_dependent(body: Iterable[Stmt], inputs: set[str]) -> set[str]:
    """The registers that depend on what was loaded, or on these inputs."""
    found, before = set(inputs), -1
    while len(found) != before:
        before = len(found)
        for s in body:
            if isinstance(s, Load) or (isinstance(s, SetReg) and not found.isdisjoint(_registers(s.value))):
                found.add(s.reg)
    return found
