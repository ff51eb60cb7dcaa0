"""Configurations ⟨s, t, σ⟩ over one shared heap μ, and the evaluation contexts that lead to a redex.

A task's configuration is kept focused on its redex: `Config.s` is the statement or expression to reduce next, and
`Config.E` is the context around it, innermost part first::

    E ::= []  |  E; s  |  ⟨E, t, σ⟩  |  an expression or statement with E in place of its next unevaluated part

`whole` plugs the redex back. Tasks that run in parallel are the parts of an `ir.Par`, which stands in the focus of the
task that spawned them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import immutables

from wingspan.errors import InternalError, Span
from wingspan.lang import ir
from wingspan.lang.devices import ROOT, Task
from wingspan.lang.ir import Instance, Literal, node
from wingspan.levels.heap import Heap

Store = immutables.Map[Any, Any]
"""σ: indices (integers) and variables (literals) by name, handles by tensor, cursors by fiber, what rules note."""

EMPTY: Store = immutables.Map()


# ------------------------------------------------------------------------------------------------ what σ maps names to


@node
class Handle:
    """A tensor's entry in σ: its mode, the operator of its phase, its fill value and the instance of its root."""

    mode: str
    op: str
    fill: ir.Value
    instance: Instance = ()


@node
class Cursor:
    """A fiber being iterated, in read or in update mode, and the registers of its cursor."""

    updating: bool
    registers: tuple[tuple[str, Any], ...]


@node
class Chunk:
    """The name of i_chunk, the first iteration of loop i that no task has claimed."""

    index: str


@node
class Dirty:
    """The name of the flag that says whether something below a fiber was written in this iteration."""

    fiber: ir.Fiber


# -------------------------------------------------------------------------------------------------- evaluation contexts


@node
class Then:
    """E; s"""

    rest: tuple[ir.Statement, ...]
    E: Context


@node
class Scope:
    """⟨E, t, σ⟩: σ is the store around the scope"""

    store: Store
    E: Context


@node
class Hole:
    """A statement or expression whose part number k is being evaluated"""

    node: Any
    k: int
    E: Context


Context = Then | Scope | Hole | None


# ------------------------------------------------------------------------------------------------------- configurations


@node
class Config:
    """⟨s, t, σ⟩ in its context E: `s` is the redex, `σ` the innermost store."""

    s: Any
    t: Task
    σ: Store
    E: Context = None

    def to(self, s: Any) -> Config:
        """The same configuration with another redex."""
        return Config(s, self.t, self.σ, self.E)

    def bind(self, name: Any, value: Any) -> Config:
        """σ[name ↦ value]"""
        return Config(self.s, self.t, self.σ.set(name, value), self.E)

    @property
    def finished(self) -> bool:
        """Whether the task has nothing left to do."""
        return self.E is None and isinstance(self.s, ir.Skip)

    @property
    def span(self) -> Span | None:
        """Where the redex was written: for a descent, the access to the fiber that comes next."""
        s = self.s
        if isinstance(s, ir.Enter):
            s = next(iter((*s.reads, *s.updates)), s.body)
        span: Span | None = getattr(s, "span", None)
        return span


@node
class State:
    """⟨μ; C⟩: the heap and the root task's configuration."""

    heap: Heap
    root: Config


def initial(body: ir.Statement, store: Store, heap: Heap) -> State:
    """The state before the first step."""
    return State(heap, refocus(Config(body, ROOT, store)))


# -------------------------------------------------------------------------------------------------- finding the redex


def parts(s: Any) -> tuple[Any, ...]:
    """The expressions that must be values before `s` can be reduced, in the order of evaluation."""
    match s:
        case ir.Call(args=args):
            return args
        case ir.If(condition=e) | ir.Set(value=e) | ir.Assign(value=e) | ir.Declare(init=e) | ir.Spawn(count=e):
            return (e,)
        case ir.For(range=ir.Range(start=a, stop=b)) | ir.For(range=ir.Parallel(range=ir.Range(start=a, stop=b))):
            return (a, b)
    return ()


def with_part(s: Any, k: int, value: Any) -> Any:
    """`s` with its part number k replaced. The two ends of a single-iteration range e:e are evaluated once."""
    match s:
        case ir.Call(op, args):
            return ir.Call(op, (*args[:k], value, *args[k + 1 :]), span=s.span)
        case ir.Assign(access, op, _):
            return ir.Assign(access, op, value, span=s.span)
        case ir.Set(name, _):
            return ir.Set(name, value, span=s.span)
        case ir.If(_, body):
            return ir.If(value, body, span=s.span)
        case ir.For(index, ir.Range() as r, body):
            return ir.For(index, _with_end(r, k, value), body, span=s.span)
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
                s, E = with_part(E.node, E.k, s), E.E
            case ir.Block(statements=(first, *rest)):
                s, E = first, Then(tuple(rest), E) if rest else E
            case ir.Context(body=body, store=inner):
                s, σ, E = body, inner, Scope(σ, E)
            case _:
                for k, part in enumerate(parts(s)):
                    if not isinstance(part, Literal):
                        s, E = part, Hole(s, k, E)
                        break
                else:
                    return Config(s, C.t, σ, E)


def whole(C: Config) -> ir.Context:
    """⟨s, t, σ⟩ with the redex plugged back into its context."""
    s, σ, E = C.s, C.σ, C.E
    if isinstance(s, ir.Par):
        s = ir.Par(tuple(whole(child) for child in s.contexts))
    while E is not None:
        match E:
            case Then(rest=rest):
                s = ir.Block((s, *rest))
            case Scope(store=outer):
                s, σ = ir.Context(s, C.t, σ), outer
            case Hole(node=around, k=k):
                s = with_part(around, k, s)
        E = E.E
    return ir.Context(s, C.t, σ)
