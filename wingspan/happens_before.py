"""The races of a log by happens-before, in time nearly linear in its length.

An *epoch* (FastTrack, PLDI 2009) is the number of an event in the log, from 1. For each cell and operation, one epoch
is enough as long as each access comes after the one before; only accesses in no order take a set, a `Front`.

Forks and joins need no clocks: a task comes after all that its ancestors and descendants did before. So epoch p of
another task comes before an event exactly if an ancestor of both tasks has had an event since p: `Order.top`.

Locks and signals do. A `Clock` has for each task up to which epoch *all in its subtree* is known. It need not say what
forks and joins say anyway, so it is empty until a task acquires or waits, and again after each event of the root task.
Clocks never change, and share the blocks in which they agree.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property

from wingspan.accesses import ACCESSES, ALL, BATCH, CODES, Log, LogAccess, Tick, tensor_of
from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.explorer.machine import CellAccess, Effect

BLOCK = 256
"""Tasks whose epochs clocks share or copy together."""
NOTHING = bytes(4 * BLOCK)
"""A block of epochs, which are 32-bit numbers: all 0."""
NEVER = 2**31 - 1
"""An epoch after all others."""


def _races(one: str, other: str) -> bool:
    effects: tuple[Effect, Effect] = one, other  # type: ignore[assignment]
    return CellAccess("", effects[0], "").races(CellAccess("", effects[1], ""))


RIVALS = [frozenset(CODES[b] for b in ACCESSES if a in ACCESSES and _races(a, b)) for a in ALL]
"""For each operation, those that it can race with."""
ACQUIRE, RELEASE, SIGNAL, WAIT = (CODES[name] for name in ("acquire", "release", "signal", "wait"))


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """For each task an epoch up to which everything in its subtree is known, 0 if nothing is."""

    blocks: tuple[bytes, ...] = ()
    task: int = 0
    epoch: int = NEVER
    """An event of this task that knew all of this clock. So does whoever knows of the event."""

    def epoch_of(self, task: int) -> int:
        """The epoch of a task."""
        number, place = divmod(task, BLOCK)
        if number >= len(self.blocks):
            return 0
        return int.from_bytes(self.blocks[number][4 * place : 4 * place + 4], sys.byteorder)

    def covers(self, other: Clock) -> bool:
        """Whether this clock is known to have all of another one. It may have without being known to."""
        return other is self or self.epoch_of(other.task) >= other.epoch

    def with_epochs(self, epochs: dict[int, int], task: int, epoch: int) -> Clock:
        """This clock with later epochs of some tasks, as known to an event."""
        blocks = list(self.blocks)
        for each, since in epochs.items():
            number, place = divmod(each, BLOCK)
            blocks += [NOTHING] * (number + 1 - len(blocks))
            block = blocks[number]
            blocks[number] = block[: 4 * place] + since.to_bytes(4, sys.byteorder) + block[4 * place + 4 :]
        return Clock(tuple(blocks), task, epoch)

    def union(self, other: Clock) -> Clock:
        """All that one of two clocks has. Blocks that are equal are shared from then on."""
        few, many = sorted((self.blocks, other.blocks), key=len)
        both = [x if x == y else _later(x, y) for x, y in zip(few, many, strict=False)]
        return Clock((*both, *many[len(few) :]))


def _later(one: bytes, other: bytes) -> bytes:
    """The later epochs of two blocks."""
    return np.maximum(np.frombuffer(one, np.int32), np.frombuffer(other, np.int32)).tobytes()


class Order:
    """Happens-before between the events so far, and the present one: `begin` names its task and epoch."""

    def __init__(self, log: Log) -> None:
        self.task_of = log.task
        self.paths = [f"{name}." if name else "" for name in log.tasks]
        self.parents = [_parent(name, log.tasks) for name in log.tasks]
        self.last = [0] * len(log.tasks)
        """the epoch of each task's last event"""
        self.clocks: dict[int, Clock] = {}
        self.sent: dict[int, Clock] = {}
        """for each lock and signal, what is known to its next acquisition or wait"""
        self.gathering: dict[int, dict[int, Clock]] = {}
        """for each task, the clocks that descendants have got since its last event"""
        leaves = set(range(len(log.tasks))) - set(self.parents)
        self.ends = {task: epoch for epoch, task in enumerate(log.task, 1) if task in leaves}
        """the last event of each task without descendants: its clock is not needed any more"""
        events = enumerate(zip(log.operation, log.cell, strict=True), 1)
        self.received = {cell: epoch for epoch, (operation, cell) in events if operation in (ACQUIRE, WAIT)}
        """the last acquisition or wait of each lock and signal"""

    def begin(self, task: int, epoch: int) -> None:
        """The present event is this one. It learns what the task's ancestors and descendants know."""
        self.last[task] = epoch
        if task == 0:
            self.clocks.clear()
            self.sent.clear()
            self.gathering.clear()
        elif self.clocks or self.gathering:
            for above in self.lineage(self.parents[task]):
                if above in self.clocks:
                    self._learn(task, epoch, self.clocks[above])
            for clock in self.gathering.pop(task, {}).values():
                self._learn(task, epoch, clock)

    def receive(self, task: int, epoch: int, cell: int) -> None:
        """The present event is an acquisition or a wait."""
        clock = self.sent.get(cell)
        if task and clock is not None:
            self._learn(task, epoch, clock)
            if clock.epoch == NEVER:  # for the next one, this event is the first that knew all of it
                self.sent[cell] = Clock(clock.blocks, task, epoch)
                if self.clocks[task] is clock:
                    self.clocks[task] = self.sent[cell]
            for above in self.lineage(self.parents[task]):
                self.gathering.setdefault(above, {})[task] = self.clocks[task]
        if epoch == self.received[cell]:
            self.sent.pop(cell, None)

    def send(self, task: int, epoch: int, cell: int) -> None:
        """The present event is a release or a signal."""
        if task and epoch < self.received.get(cell, 0):
            before, own = self.sent.get(cell, EMPTY), self.clocks.get(task, EMPTY)
            alone = before is EMPTY or own.covers(before)
            known = own if alone else before if own is EMPTY or before.covers(own) else before.union(own)
            above = {each: self.last[each] for each in self.lineage(self.parents[task])}
            news = {each: since for each, since in above.items() if since > max(self.last[0], known.epoch_of(each))}
            self.sent[cell] = known.with_epochs(news | {task: epoch}, *((task, epoch) if alone else (0, NEVER)))

    def end(self, task: int, epoch: int) -> None:
        """The present event is over."""
        if self.ends.get(task) == epoch:
            self.clocks.pop(task, None)

    def _learn(self, task: int, epoch: int, clock: Clock) -> None:
        own = self.clocks.get(task)
        if own is None or clock.covers(own):
            self.clocks[task] = clock
        elif not own.covers(clock):
            self.clocks[task] = own.union(clock).with_epochs({task: epoch}, task, epoch)

    def lineage(self, task: int) -> Iterator[int]:
        """The task and its ancestors that have events, without the root task."""
        while task:
            yield task
            task = self.parents[task]

    def on_one_path(self, task: int, other: int) -> bool:
        """Whether one of two tasks is the other, or an ancestor of it."""
        one, two = self.paths[task], self.paths[other]
        return one.startswith(two) or two.startswith(one)

    def top(self, task: int, epoch: int) -> int:
        """The topmost ancestor of a task, or itself, that has had an event since the epoch, or in it.

        To other tasks, an access there is one of this ancestor; if it is the root task, all know of it.
        """
        if epoch <= self.last[0]:
            return 0
        found = task
        for above in self.lineage(self.parents[task]):
            if self.last[above] >= epoch:
                found = above
        return found

    def happens_before(self, epoch: int, task: int) -> bool:
        """Whether an epoch comes before the present event, which is the task's."""
        other = self.task_of[epoch - 1]
        if other == task or epoch <= self.last[0] or self.on_one_path(other, task):
            return True
        return self.on_one_path(self.top(other, epoch), task) or self.knows(task, other, epoch)

    def knows(self, task: int, other: int, epoch: int) -> bool:
        """Whether the present event knows of an epoch through locks and signals."""
        clock = self.clocks.get(task)
        return clock is not None and any(clock.epoch_of(each) >= epoch for each in self.lineage(other))


EMPTY = Clock()


def _parent(name: str, tasks: dict[str, int]) -> int:
    """The closest ancestor of a task that has events; the root task if there is none."""
    while name:
        name = name.rpartition(".")[0]
        if name in tasks:
            return tasks[name]
    return 0


@dataclass(slots=True)
class Front:
    """The last accesses of several tasks to a cell, which were in no order.

    An access that an ancestor has joined counts as one of the ancestor, so that the set stays small. What one task has
    learnt of by its clock is settled for all that have this clock, too.
    """

    live: dict[int, int]
    """the epoch of each task"""
    settled: dict[int, int] = field(default_factory=dict)
    clock: Clock = EMPTY

    def happens_before(self, task: int, order: Order) -> bool:
        """Whether all accesses come before the present event, which is the task's.

        False may be wrong if an ancestor has joined an access, and the task knows of it in another way.
        """
        clock = order.clocks.get(task, EMPTY)
        if self.settled and not (clock is not EMPTY and clock.covers(self.clock)):
            self.live, self.settled = self.settled | self.live, {}
        live: dict[int, int] = {}
        settled: dict[int, int] = {}
        for each, epoch in self.live.items():
            top = order.top(each, epoch)
            if not top:
                continue
            if order.on_one_path(top, task):
                live[top] = max(epoch, live.get(top, 0))
            elif order.knows(task, each, epoch):
                settled[each] = epoch
            else:
                return False
        self.live = live
        if settled:
            self.settled |= settled
            self.clock = clock
        return True


@dataclass(frozen=True)
class LogRace:
    """Two accesses of a log to one cell in no order, at least one of them a write, one not atomic."""

    first: LogAccess
    second: LogAccess

    @property
    def cell(self) -> str:
        """The cell of both."""
        return self.first.cell

    @property
    def tensor(self) -> str:
        """The tensor or variable of the cell."""
        return self.first.tensor


class Detector:
    """Finds the races of a log. Each cell and pair of sites counts once, with the first two accesses.

    A *site* is an operation of a statement on a tensor. Statements are distinguished by their places in the source,
    if the log has them.
    """

    def __init__(self, log: Log) -> None:
        self.log, self.order = log, Order(log)
        self.examined = 0
        """the number of accesses that have been examined"""
        self.found: dict[tuple[int, frozenset[int]], LogRace] = {}
        self.site, self.rivals = _sites(log)
        self.fronts: list[dict[int, int | Front]] = [{} for _ in self.rivals]
        """for each site and cell, the last epoch that comes after all earlier ones, or a set"""

    def run(self, tick: Tick | None = None) -> None:
        """Examine the log. `tick` is called now and then with the numbers of accesses examined and left.

        What it raises ends the search with the races found so far.
        """
        log, order = self.log, self.order
        events = zip(log.task, log.operation, log.cell, self.site, strict=True)
        for epoch, (task, operation, cell, site) in enumerate(events, 1):
            if tick is not None and epoch % BATCH == 0:
                tick(self.examined, len(log) - self.examined)
            order.begin(task, epoch)
            if operation < len(ACCESSES):
                self._access(task, site, cell, epoch)
            elif operation in (ACQUIRE, WAIT):
                order.receive(task, epoch, cell)
            elif operation in (RELEASE, SIGNAL):
                order.send(task, epoch, cell)
            order.end(task, epoch)
            self.examined = epoch

    def _access(self, task: int, site: int, cell: int, epoch: int) -> None:
        order, fronts = self.order, self.fronts
        for rival in self.rivals[site]:
            front = fronts[rival].get(cell)
            if front is None or (self.found and (cell, frozenset((site, rival))) in self.found):
                continue
            if not (order.happens_before(front, task) if isinstance(front, int) else front.happens_before(task, order)):
                self._report(task, site, cell, epoch)
        own = fronts[site].get(cell)
        if isinstance(own, Front):
            own.live[task] = epoch
        elif own is None or order.happens_before(own, task):
            fronts[site][cell] = epoch
        else:
            fronts[site][cell] = Front({order.task_of[own - 1]: own, task: epoch})

    def _report(self, task: int, site: int, cell: int, epoch: int) -> None:
        """Record the races of an access that are new: each with the last access of the first task."""
        last: dict[tuple[int, int], int] = {}
        rivals = set(self.rivals[site])
        for each in self._epochs(cell):
            if each == epoch:
                break
            if self.site[each - 1] in rivals:
                last[self.log.task[each - 1], self.site[each - 1]] = each
        for (_, other), each in last.items():
            key = cell, frozenset((site, other))
            if key not in self.found and not self.order.happens_before(each, task):
                self.found[key] = LogRace(self.log[each - 1], self.log[epoch - 1])

    def _epochs(self, cell: int) -> Iterator[int]:
        """The accesses to a cell, in the order of the log."""
        order, cells = self._by_cell
        begin, end = np.searchsorted(cells, (cell, cell + 1))
        return map(int, order[begin:end] + 1)

    @cached_property
    def _by_cell(self) -> tuple[np.ndarray, np.ndarray]:
        cells = np.asarray(self.log.cell)
        order = np.argsort(cells, kind="stable")
        return order, cells[order]


def _sites(log: Log) -> tuple[Sequence[int], list[list[int]]]:
    """The number of the site of each access, and for each site those that it can race with."""
    tensors: dict[str, int] = {}
    tensor = np.array([tensors.setdefault(tensor_of(cell), len(tensors)) for cell in log.cells])[np.asarray(log.cell)]
    keys = (tensor * len(log.places) + np.asarray(log.place)) * len(ALL) + np.asarray(log.operation)
    distinct, numbers = np.unique(keys, return_inverse=True)
    accessing: dict[int, list[tuple[int, int]]] = {}
    for site, key in enumerate(distinct.tolist()):
        accessing.setdefault(key // (len(log.places) * len(ALL)), []).append((site, key % len(ALL)))
    rivals: list[list[int]] = [[] for _ in distinct]
    for sites in accessing.values():
        for site, operation in sites:
            rivals[site] = [other for other, others in sites if others in RIVALS[operation]]
    return array("i", numbers.astype(np.int32).tobytes()), rivals


def races(log: Log) -> tuple[LogRace, ...]:
    """The races of a log: see `Detector`."""
    detector = Detector(log)
    detector.run()
    return tuple(detector.found.values())
