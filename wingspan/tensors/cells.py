"""The cells of a tensor at rest, and its levels' own operations run on them to their end.

A format that can be updated can be written here, and one that can be read can be walked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import groupby
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.buffers import procedures
from wingspan.buffers.eager import eager
from wingspan.buffers.frames import Cell, Rmw
from wingspan.buffers.linear import LinearCode
from wingspan.lang.devices import ROOT, Device, Task
from wingspan.lang.ir import Instance, Value
from wingspan.levels.base import Tower

Entry = tuple[tuple[int, ...], Value]
"""A stored element: its subscripts (from 1) and its value."""


@dataclass
class Cells:
    """The simplest memory: a dictionary. Cells never written read as zero."""

    values: dict[Cell, Any] = field(default_factory=dict)

    def load(self, cell: Cell, position: int | None, index: int | None) -> Any:
        return self.values.get(cell, 0)

    look = load

    def store(self, cell: Cell, value: Any, position: int | None, index: int | None) -> None:
        self.values[cell] = value

    def update(
        self, cell: Cell, change: Callable[[Any], Any], position: int | None, index: int | None, effect: Rmw
    ) -> None:
        self.values[cell] = change(self.values.get(cell, 0))


class _Loader(Task):
    """The task that loads data: thread 1 of whatever device gates a level."""

    def thread(self, device: Device) -> int:
        return 1


LOADER = _Loader(ROOT.device, 1)
"""No task of a program, but one that every level lets in."""


class _Runner:
    """Runs procedures on the cells of one tensor, which has the empty name."""

    def __init__(self, tower: Tower, cells: Mapping[Cell, Any], fill: Value) -> None:
        self.tower, self.cells, self.z = tower, cells, fill

    def run(self, code: LinearCode, instance: Instance, *inputs: Any) -> tuple[tuple[Any, ...], Instance]:
        """The results of a procedure and the instance that it descends to."""
        return eager(code)(self.cells, "", instance, self.z, LOADER, *inputs)


class CellWriter(_Runner):
    """Fills a tensor with elements."""

    def write(self, entries: Iterable[Entry]) -> None:
        """Declare the tensor, store the elements (one each, sorted by their subscripts, last one first), freeze it."""
        top = self.tower.rank + 1
        self.run(procedures.whole_tensor_code(self.tower, "declare"), ())
        self.run(procedures.transfer(self.tower, top, "checkout"), ())
        self._fill(top, 1, (), entries)
        self.run(procedures.transfer(self.tower, top, "commit"), ())
        self.run(procedures.whole_tensor_code(self.tower, "freeze"), ())

    def _fill(self, number: int, position: int, instance: Instance, entries: Iterable[Entry]) -> None:
        """Update the fiber at a position of a level with the elements below it."""
        tower = self.tower
        if number == 1:
            for _, value in entries:
                self.run(procedures.increment(tower, "="), instance, position, value)
            return
        enter, leave = procedures.enter(tower, number), procedures.leave(tower, number, True)
        fields = len(procedures.cursor(tower, number))
        cursor, _ = self.run(procedures.open_(tower, number), instance, position, 1)
        for index, below in groupby(entries, lambda entry: entry[0][number - 2]):
            (child, *rest), inside = self.run(enter, instance, *cursor, index)
            self._fill(number - 1, child, inside, below)
            cursor, _ = self.run(leave, instance, *rest[:fields], index, *rest[fields:])
        self.run(procedures.close(tower, number), instance, *cursor)


class CellReader(_Runner):
    """Walks over the elements of a tensor in read mode."""

    def value(self, position: int, instance: Instance) -> Value:
        """The element at a position of the leaf."""
        (value,), _ = self.run(procedures.unwrap(self.tower), instance, position)
        return value  # type: ignore[no-any-return]

    def children(self, number: int, position: int, instance: Instance) -> Iterator[tuple[int, int, Instance]]:
        """(index, position, instance) of the children, as a loop over the whole axis meets them."""
        for first, last, below, inside in self.stretches(number, position, instance):
            for index in range(first, last + 1):
                yield index, below, inside

    def stretches(self, number: int, position: int, instance: Instance) -> Iterator[tuple[int, int, int, Instance]]:
        """(first index, last index, position, instance) of the children, which have one index unless they are runs.

        Cells that a race has spoiled may hold any numbers: an index that a loop would never reach ends the iteration.
        """
        tower = self.tower
        depth = tower.depths[number]
        extent, lookup = tower.extent(depth), tower.levels[depth].lookup
        index, child = procedures.index(tower, number) if not lookup else None, procedures.child(tower, number)
        step, runs = procedures.next_(tower, number), tower.levels[depth].stretch == "run"
        cursor, _ = self.run(procedures.unfurl(tower, number), instance, position, 1)
        last = 0
        while cursor[0] != 0 and last < extent:
            at = last + 1 if index is None else self.run(index, instance, *cursor)[0][0]
            if not last < at <= extent:
                return
            (below,), inside = self.run(child, instance, *cursor, at)
            last = self.run(procedures.stop(tower, number), instance, *cursor)[0][0] if runs else at
            if not at <= last <= extent:
                return
            yield at, last, below, inside
            cursor, _ = self.run(step, instance, *cursor, last)

    def leaves(self) -> Iterator[tuple[tuple[int, ...], Value, Instance]]:
        """Subscripts, value and instance of every stored element, in column-major order."""
        yield from self.entries_below(self.tower.rank + 1, 1, (), ())

    def entries_below(
        self, number: int, position: int, instance: Instance, subscripts: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], Value, Instance]]:
        """The same of a fiber of a level, to whose subscripts the given ones are added."""
        if position == 0:
            return
        if number == 1:
            yield subscripts, self.value(position, instance), instance
            return
        for index, child, inside in self.children(number, position, instance):
            yield from self.entries_below(number - 1, child, inside, (index, *subscripts))
