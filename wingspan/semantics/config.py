"""Configurations ⟨s, t, σ⟩ over one shared heap μ, and the evaluation contexts that lead to a redex.

A task's configuration is kept focused on its redex: `Config.s` is the statement or expression to reduce next, and
`Config.E` is the context around it, innermost part first::

    E ::= []  |  E; s  |  ⟨E, t, σ⟩  |  an expression or statement with E in place of its next unevaluated part

`plug` puts the redex back. Tasks that run in parallel are the parts of an `ir.Par`, which stands in the focus of the
task that spawned them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from itertools import chain
from typing import Any

import immutables

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InternalError, Span
from wingspan.buffers.heap import Heap
from wingspan.lang import ir
from wingspan.lang.devices import Task
from wingspan.lang.ir import Instance, Literal, Operator, Term, node
from wingspan.lang.printer import copy, fiber, value

Store = immutables.Map[Any, Any]
"""σ: indices (integers) and variables (literals) by name, handles by tensor, cursors by fiber, what rules note."""

EMPTY: Store = immutables.Map()


# ------------------------------------------------------------------------------------------------ what σ maps names to


@node
class Handle(Term):
    """A tensor's entry in σ: its mode, the operator of its phase, its fill value and the instance of its root."""

    mode: str
    op: Operator
    fill: ir.Value
    instance: Instance = ()

    def __str__(self) -> str:
        fill = f" of {value(self.fill)}" if self.fill else ""
        return f"{mode(self)}{fill}{copy(self.instance)}"


@node
class Cursor(Term):
    """A fiber being iterated, in read or in update mode, and the registers of its cursor."""

    updating: bool
    registers: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        inside = (f"{name.removeprefix('c.')}={bound}" for name, bound in self.registers)
        return f"cursor({', '.join(inside)})"


@node
class Chunk(Term):
    """The name of i_chunk, the first iteration of loop i that no task has claimed."""

    index: str

    def __str__(self) -> str:
        return f"{self.index}_chunk"


@node
class Dirty(Term):
    """The name of the flag that says whether something below a fiber was written in this iteration."""

    fiber: ir.Fiber

    def __str__(self) -> str:
        return f"written({fiber(self.fiber)})"


def mode(handle: Handle) -> str:
    """`read`, `update(⊕)` or `undeclared`."""
    return f"update({handle.op})" if handle.mode == "update" else handle.mode


# -------------------------------------------------------------------------------------------------- evaluation contexts


@node
class Then(Term):
    """E; s"""

    rest: tuple[ir.Statement, ...]
    E: Context


@node
class Scope(Term):
    """⟨E, t, σ⟩: σ is the store around the scope"""

    store: Store
    E: Context


@node
class Hole(Term):
    """A statement or expression whose part number k is being evaluated"""

    node: Any
    k: int
    E: Context


Context = Then | Scope | Hole | None


# ------------------------------------------------------------------------------------------------------- configurations


@node
class Config(Term):
    """⟨s, t, σ⟩ in its context E: `s` is the redex, `σ` the innermost store."""

    s: Any
    t: Task
    σ: Store
    E: Context = None

    def with_redex(self, s: Any) -> Config:
        """The same configuration with another redex."""
        return Config(s, self.t, self.σ, self.E)

    def bind(self, name: Any, value: Any) -> Config:
        """σ[name ↦ value]"""
        return Config(self.s, self.t, self.σ.set(name, value), self.E)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The paths of the tasks that can step: this one, or those that it has spawned and waits for."""
        if isinstance(self.s, ir.Par):
            return self.tasks_among([child.tasks for child in self.s.contexts])
        return () if self.has_finished else (self.t.path,)

    def tasks_among(self, spawned: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        """The same for a task that has spawned others, given theirs: it waits until none of them can step."""
        return tuple(chain(*spawned)) or (self.t.path,)

    @property
    def has_finished(self) -> bool:
        """Whether the task has nothing left to do."""
        return self.E is None and isinstance(self.s, ir.Skip)

    @property
    def span(self) -> Span | None:
        """The source of the redex: for a descent, the access to the fiber that comes next."""
        s = self.s
        if isinstance(s, ir.Enter):
            s = next(iter((*s.reads, *s.updates)), s.body)
        span: Span | None = s.span
        return span


Conclude = Callable[[Config, int, Config], Config]


@dataclass(slots=True, eq=False)
class ProgramState:
    """⟨μ; C⟩ in focus on the task that stepped last, as a configuration is in focus on its redex.

    `outer` are the tasks that it descends from, innermost first, and `places` which of the contexts that each has
    spawned leads to the focus; states that differ in these alone are equal. Rules ParLeft and ParRight are put off
    until the root is asked for: `conclude` gives the spawning task once its k-th context has stepped.
    """

    heap: Heap
    focus: Config
    outer: tuple[Config, ...]
    places: tuple[int, ...]
    conclude: Conclude
    _root: Config = field(init=False, compare=False, repr=False)
    _tasks: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramState) and self.heap == other.heap and self.root == other.root

    def __hash__(self) -> int:
        return hash((self.heap, self.root))

    def __reduce__(self) -> tuple[type[ProgramState], tuple[Any, ...]]:
        """In focus on the root task, so that no task goes twice to another process."""
        return ProgramState, (self.heap, self.root, (), (), self.conclude)

    @property
    def root(self) -> Config:
        """The root task's configuration."""
        try:
            return self._root
        except AttributeError:
            C = self.focus
            for spawner, k in zip(self.outer, self.places, strict=True):
                C = self.conclude(spawner, k, C)
            self._root = C
            return C

    @property
    def tasks(self) -> tuple[str, ...]:
        """The paths of the tasks that can step."""
        try:
            return self._tasks
        except AttributeError:
            found = self.focus.tasks
            for spawner, k in zip(self.outer, self.places, strict=True):
                spawned = [child.tasks for child in spawner.s.contexts]
                spawned[k] = found
                found = spawner.tasks_among(spawned)
            self._tasks = found
            return found

    def after_step(self, heap: Heap, focus: Config, outer: tuple[Config, ...]) -> ProgramState:
        """The state after a step of the task in focus."""
        after = ProgramState(heap, focus, outer, self.places, self.conclude)
        if focus.tasks == self.focus.tasks:
            after._tasks = self.tasks
        return after

    def focus_on(self, task: str) -> ProgramState:
        """The same state in focus on another task."""
        C = self.root
        outer: tuple[Config, ...] = ()
        places = tuple(int(q) - 1 for q in task.split(".")) if task else ()
        for k in places:
            C, outer = C.s.contexts[k], (C, *outer)
        return ProgramState(self.heap, C, outer, places[::-1], self.conclude)


# -------------------------------------------------------------------------------------------------- finding the redex


def _ends(loop: ir.For) -> tuple[Any, ...]:
    r = loop.range.range if isinstance(loop.range, ir.Parallel) else loop.range
    return (r.start, r.stop) if isinstance(r, ir.Range) else ()


_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    ir.Call: lambda s: s.args,
    ir.If: lambda s: (s.condition,),
    ir.Choice: lambda s: (s.condition,),
    ir.Assert: lambda s: s.operands,
    ir.Set: lambda s: (s.value,),
    ir.Assign: lambda s: (s.value,),
    ir.Declare: lambda s: (s.init,),
    ir.Spawn: lambda s: (s.count,),
    ir.For: _ends,
}


def operands(s: Any) -> tuple[Any, ...]:
    """The expressions that must be values before `s` can be reduced, in the order of evaluation."""
    of = _PARTS.get(type(s))
    return () if of is None else of(s)


def with_operand(s: Any, k: int, value: Any) -> Any:
    """`s` with its part number k replaced. The two ends of a single-iteration range e:e are evaluated once."""
    match s:
        case ir.Call(op, args):
            return ir.Call(op, (*args[:k], value, *args[k + 1 :]), span=s.span)
        case ir.Assign(access, op, _):
            return ir.Assign(access, op, value, span=s.span)
        case ir.Assert():
            return s.with_operand(k, value)
        case ir.Set(name, _):
            return ir.Set(name, value, span=s.span)
        case ir.Choice(_, then, otherwise):
            return ir.Choice(value, then, otherwise, span=s.span)
        case ir.If(_, body):
            return ir.If(value, body, span=s.span)
        case ir.For(index, ir.Range() as r, body):
            return ir.For(index, _with_end(r, k, value), body, s.absorbed, span=s.span)
        case ir.For(index, ir.Parallel(ir.Range() as r, device, schedule), body):
            return ir.For(index, ir.Parallel(_with_end(r, k, value), device, schedule), body, span=s.span)
        case ir.Declare():
            return replace(s, init=value)
        case ir.Spawn():
            return replace(s, count=value)
    raise InternalError(f"nothing to evaluate in {s}")


def _with_end(r: ir.Range, k: int, value: Any) -> ir.Range:
    if k == 0:
        return ir.Range(value, value if r.start == r.stop else r.stop, span=r.span)
    return ir.Range(r.start, value, span=r.span)


def refocus(C: Config) -> Config:
    """Move the focus to the redex: down to the leftmost part that is not a value, up from values and done parts."""
    s, σ, E = C.s, C.σ, C.E
    while True:
        match s:
            case Literal():
                if not isinstance(E, Hole):
                    raise InternalError(f"a value stands where a statement should: {s}")
                s, E = with_operand(E.node, E.k, s), E.E
            case ir.Block(statements=(first, *rest)):
                s, E = first, Then(tuple(rest), E) if rest else E
            case ir.Context(body=body, store=inner):
                s, σ, E = body, inner, Scope(σ, E)
            case _:
                for k, part in enumerate(operands(s)):
                    if not isinstance(part, Literal):
                        s, E = part, Hole(s, k, E)
                        break
                else:
                    return C if s is C.s else Config(s, C.t, σ, E)


def plug(C: Config) -> ir.Context:
    """⟨s, t, σ⟩ with the redex plugged back into its context."""
    s, σ, E = C.s, C.σ, C.E
    if isinstance(s, ir.Par):
        s = ir.Par(tuple(plug(child) for child in s.contexts))
    while E is not None:
        match E:
            case Then(rest=rest):
                s = ir.Block((s, *rest))
            case Scope(store=outer):
                s, σ = ir.Context(s, C.t, σ), outer
            case Hole(node=around, k=k):
                s = with_operand(around, k, s)
        E = E.E
    return ir.Context(s, C.t, σ)
