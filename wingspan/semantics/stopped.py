"""A state in which every loop ends now: for views that read tensors while tasks are updating them.

What levels do when a loop is left, ends, or is shared by tasks is left to the rules: all that is dropped from a
configuration is what still would be computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wingspan.lang import ir
from wingspan.semantics.config import Config, Context, ProgramState, Scope, Store, Then, refocus


def stop_loops(state: ProgramState) -> ProgramState:
    """The same memory, with only the fibers of running loops to leave, to close and to commit.

    An operation of a level that has begun ends, but for the update of an element: that stays as far as it got.
    """
    return ProgramState(state.heap, _stop_configuration(state.root), (), (), state.conclude)


def _stop_configuration(C: Config) -> Config:
    s, σ, E = _stop_redex(C.s, C.σ), C.σ, C.E
    if isinstance(s, ir.Unfurl):
        σ = σ.set(s.fiber, None)  # its cursor will be there when its loop finishes
    around: list[tuple[ir.Statement, ...] | Store] = []
    while E is not None:
        if isinstance(E, Then):
            around.append(tuple(_stop_statement(each, σ) for each in E.rest))
        elif isinstance(E, Scope):
            around.append(E.store)
            σ = E.store
        E = E.E
    made: Context = None
    for each in reversed(around):
        if isinstance(each, tuple):
            rest = ir.seq(*each)
            made = made if isinstance(rest, ir.Skip) else Then((rest,), made)
        else:
            made = Scope(each, made)
    return refocus(Config(s, C.t, C.σ, made))


def _stop_redex(s: Any, σ: Store) -> Any:
    """The rest of a redex that has begun."""
    match s:
        case ir.Par(contexts=contexts):
            return ir.Par(tuple(map(_stop_configuration, contexts)), span=s.span)
        case ir.Freeze(frame=frame) | ir.Thaw(frame=frame) | ir.Unfurl(frame=frame) if frame is not None:
            return s
        case ir.Enter(reads=reads, updates=updates, frame=frame):
            entering = (*reads, *updates)[: frame is not None]
            return replace(s, reads=entering[: len(reads)], updates=entering[len(reads) :], body=ir.SKIP)
    return _stop_statement(s, σ)


def _stop_statement(s: Any, σ: Store) -> ir.Statement:
    """The rest of a statement: a loop has no index left, and finishes the fibers that it has opened."""
    match s:
        case ir.Leave() | ir.Finish() | ir.Checkout() | ir.Commit():
            return s
        case ir.For(range=ir.Looplet(fibers=fibers)):
            return replace(s, range=ir.Looplet(1, 0, tuple(F for F in fibers if F in σ)))
        case ir.Block(statements=statements):
            return ir.seq(*(_stop_statement(each, σ) for each in statements))
    return ir.SKIP
