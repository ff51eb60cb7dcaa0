"""Configurations without the names of their tasks, for symmetry: `explorer.symmetry` has what that is good for."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import immutables

from wingspan.buffers import heap
from wingspan.buffers.heap import anonymize
from wingspan.explorer.machine import AnonymousState
from wingspan.lang import ir
from wingspan.lang.devices import Task, path_of
from wingspan.lang.ir import Instance, Term
from wingspan.semantics.config import Config
from wingspan.semantics.memory import SharedName


def anonymous_state(C: Config, own: dict[str, frozenset[Hashable]]) -> AnonymousState:
    """A context and those that it has spawned; taken from `own`, what each has in the heap, by paths."""
    spawned = C.s.contexts if isinstance(C.s, ir.Par) else ()
    alone = C.with_redex(ir.Par(())) if spawned else C
    mine = _term(alone, C.t.chain), own.pop(C.t.path, None)
    return AnonymousState(mine, tuple(anonymous_state(child, own) for child in spawned))


def split_cell(cell: Any) -> tuple[str, Hashable]:
    """The path of the task that has a cell for itself, and the cell without it: its copies, and its variables."""
    if isinstance(cell, SharedName):
        return path_of(cell.owner), _value(cell, cell.owner)
    return heap.split_cell(cell)


@lru_cache(maxsize=1 << 16)
def _term(term: Term, chain: Instance) -> Hashable:
    """Remove the names of the task with this chain from a term; the term itself if it names no task.

    A worker that is yet to be given its iterations by the thread id keeps that.
    """
    kind: Any = type(term)
    made = {name: _part(name, getattr(term, name), chain) for name in kind.names}
    left = term if all(made[name] is getattr(term, name) for name in made) else kind(**made)
    if isinstance(term, ir.Worker) and term.schedule.kind == "static":
        return left, chain[-1:]
    return left


def _part(name: str, value: Any, chain: Instance) -> Any:
    return anonymize(value, chain) if name == "instance" and value else _value(value, chain)


def _value(value: Any, chain: Instance) -> Any:
    if isinstance(value, Term):
        return _term(value, chain)
    if isinstance(value, Task):
        return None
    if isinstance(value, SharedName):
        return SharedName(_value(value.name, chain), (), value.scope)
    if isinstance(value, tuple):
        items = tuple([_value(item, chain) for item in value])
        return items if any([a is not b for a, b in zip(items, value, strict=True)]) else value
    if isinstance(value, immutables.Map):
        pairs = [(key, _value(key, chain), item, _value(item, chain)) for key, item in value.items()]
        if all(key is new_key and item is new for key, new_key, item, new in pairs):
            return value
        return immutables.Map((new_key, new) for _, new_key, _, new in pairs)
    return value
