"""Configurations one by one, for tables of local steps (`explorer/local.py`): what tasks share is in cells.

While a task waits for those that it has spawned, these may change three kinds of entries of its stores: variables,
chunk counters, and notes that something below a fiber was written. Meanwhile such an entry is in a cell, which the
store names in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from wingspan.base.errors import InternalError
from wingspan.explorer.local import ABSENT, Tree
from wingspan.lang import ir
from wingspan.semantics.config import Chunk, Config, Context, Dirty, Hole, Scope, Store, Then
from wingspan.semantics.memory import RuleMemory, SharedName, find_entry, stores


class LocalConfig(NamedTuple):
    """A task's configuration, and those of the tasks that it descends from, innermost first; these wait."""

    C: Config
    outer: tuple[Config, ...]


class SharingMemory(RuleMemory):
    """A memory for one step of one task, where the entries that tasks share are in cells."""

    def _find_outside(self, config: Config, name: Any) -> Any:
        found = find_entry(config, name)
        return self._value(found) if type(found) is SharedName else found

    def _assign_outside(self, k: int, name: Any, value: Any) -> bool:
        cell = find_entry(self.outer[k], name)
        if cell is None:
            return False
        if type(cell) is not SharedName:
            raise InternalError(f"a task changes {name}, which is not shared")
        self.heap.set(cell, _bare(value))
        return True

    def _value(self, cell: SharedName) -> Any:
        return _entry(cell, self.heap.get(cell))

    def spread(self, C: Config, outer: tuple[Config, ...]) -> Tree:
        """A configuration after a step. If it has spawned tasks, entries that these may change go to cells."""
        contexts = C.s.contexts if isinstance(C.s, ir.Par) else ()
        if not contexts:
            return Tree(LocalConfig(C, outer), ended=C.has_finished)
        depths = iter(range(sum(1 for _ in stores(C)) - 1, -1, -1))

        def give(store: Store) -> Store:
            depth = next(depths)
            for name, value in store.items():
                if self._may_be_shared(name):
                    cell = SharedName(name, C.t.chain, depth)
                    self.heap.set(cell, _bare(value))
                    store = store.set(name, cell)
            return store

        waiting = _with_stores(C.with_redex(ir.Par((), span=C.s.span)), give)
        return Tree(LocalConfig(waiting, outer), tuple(self.spread(child, (waiting, *outer)) for child in contexts))

    def _may_be_shared(self, name: Any) -> bool:
        return name in self.facts.contended if isinstance(name, str) else isinstance(name, (Chunk, Dirty))

    def take_back(self, C: Config) -> Config:
        """A configuration whose tasks have all ended, with the entries that were in cells."""

        def take(store: Store) -> Store:
            for name, cell in store.items():
                if type(cell) is SharedName:
                    store = store.set(name, self._value(cell))
                    self.heap.set(cell, ABSENT)
            return store

        return _with_stores(C, take)


def assemble_config(tree: Tree, cells: Mapping[Hashable, Any]) -> Config:
    """A task's configuration with those that it has spawned, and entries that are in cells in their stores."""

    def gather(store: Store) -> Store:
        for name, cell in store.items():
            if type(cell) is SharedName:
                store = store.set(name, _entry(cell, cells[cell]))
        return store

    C: Config = tree.local.C  # type: ignore[attr-defined]
    if tree.below:
        C = C.with_redex(ir.Par(tuple(assemble_config(each, cells) for each in tree.below), span=C.s.span))
    return _with_stores(C, gather) if isinstance(C.s, ir.Par) else C


def _bare(value: Any) -> Any:
    """The value of a cell: variables are literals in stores."""
    return value.value if isinstance(value, ir.Literal) else value


def _entry(cell: SharedName, value: Any) -> Any:
    return ir.Literal(value) if isinstance(cell.name, str) else value


def _with_stores(C: Config, change: Callable[[Store], Store]) -> Config:
    """A configuration with its own stores changed, innermost first."""
    σ = change(C.σ)
    return Config(C.s, C.t, σ, _with_scopes(C.E, change))


def _with_scopes(E: Context, change: Callable[[Store], Store]) -> Context:
    match E:
        case Then(rest=rest):
            return Then(rest, _with_scopes(E.E, change))
        case Hole(node=node, k=k):
            return Hole(node, k, _with_scopes(E.E, change))
        case Scope(store=store):
            store = change(store)
            return Scope(store, _with_scopes(E.E, change))
    return None
