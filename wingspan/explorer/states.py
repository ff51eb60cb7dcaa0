"""The states of a machine as a `Space`, and the findings in them: outcomes, faults, deadlocks, races.

Every strategy walks on one. Each new state is examined once, when it is found. So the findings are those of the states
that a strategy has visited, and do not depend on the path there.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError, Span
from wingspan.base.signals import Terminated
from wingspan.explorer import symmetry
from wingspan.explorer._space import BLOCKED, EFFECTS, FAULT, UNKNOWN, Space
from wingspan.explorer._tables import Tables
from wingspan.explorer.bounds import Bounds, Stopped
from wingspan.explorer.estimate import SampleMean
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.local import SymmetricLocalMachine, offers_local_steps
from wingspan.explorer.machine import Blocked, Machine, Step, Symmetric
from wingspan.explorer.properties import Property
from wingspan.explorer.races import Key, races_of, span_key
from wingspan.explorer.settle import QuiescentState, Successor, advance, settle, went_on

S = TypeVar("S")


@dataclass(frozen=True)
class Status:
    """The progress of a search."""

    unit: str
    """the unit of its counts: state, trace or run"""
    errors: int
    """different races, faults and deadlocks found"""
    explored: int
    planned: int
    """the number of those known and still to be explored"""
    seconds: float
    total: SampleMean | None = None
    """the estimated number in all"""


Progress = Callable[[Status], None]
"""Called now and then during a search."""

LOOK_EVERY = 256
"""The number of new states between two calls of `progress`."""
FREEZE_FROM = 4_096
"""The number of states from which on the garbage collector is kept from scanning them."""
BATCHES = 100_000
"""The number of new states from which on local steps are looked up in batches, which threads share."""
KEEP = 10_000
"""The next steps of this many states are kept until they are needed; for further states they are computed again."""

NODE, RESULT, ERROR, DRAWN = 2e-6, 1e-4, 2e-3, 1e-3
"""Seconds that a verdict takes for each node, result, other finding, and node that is drawn, above the measurements;"""
NODE_BYTES, FINDING_BYTES = 300, 4_000
"""and bytes."""

MOST_DRAWN = 1_000
"""The largest graph that is drawn: Graphviz takes minutes for it, and nobody can read it."""

NUMBERS = {effect: number for number, effect in enumerate(EFFECTS)}


OBSERVED = "what properties read"
"""Stands for a cell that all observed steps update: so they conflict, and race with no step for its sake."""

Finding = tuple[str, Hashable]
"""A possible finding: a `result`, `fault`, `deadlock` or `race`, and which one; or the number of a `property`."""


class States(Space, Generic[S]):
    """The states that a search has visited. `Stopped` is raised where a bound forbids to continue."""

    def __init__(
        self,
        machine: Machine[S],
        max_states: int | None = None,
        bounds: Bounds | None = None,
        progress: Progress | None = None,
        drawn: bool = False,
    ) -> None:
        self.machine = machine
        self.drawn = drawn
        self.symmetry = False
        """whether states that differ only in task names count as one; fixed once there are states"""
        self._symmetric = cast("Symmetric[S]", machine)
        self.tabled = offers_local_steps(machine)
        """whether local steps are kept in tables, and looked up"""
        self.max_states = max_states
        self.bounds = bounds or Bounds()
        self.first = False
        """whether to stop at the first finding"""
        self.expected: Hashable | None = None
        """the right outcome, if known"""
        self.properties: Sequence[Property] = ()
        """the properties of states; fixed once there are states"""
        self.of_results: Sequence[Property] = ()
        """the properties of results: where there are some, they say which results are right"""
        self.shown: dict[int, list[int]] = {}
        """for each property of states by its number, the nodes that violate it, or that it is to reach"""
        self.defined: set[int] = set()
        """the numbers of the properties that have a value in some state"""
        self.on_finding: Callable[[Finding], None] = lambda finding: None
        """called with each new finding: a race, a fault, a deadlock, or a wrong result"""
        self.freezes = False
        """whether to keep Python's garbage collector from scanning all states again and again: not where the caller has
        frozen objects, as thawing is for all at once"""
        self.frozen = False
        """whether it has frozen objects"""
        self.progress = progress
        self.strategy_progress: Callable[[], tuple[str, int, int, SampleMean | None]] = self._expansion_progress
        """the strategy's progress: the unit, the numbers explored and planned, and an estimate of all"""
        self.threads = 1
        """the number of threads that follow all edges if local steps are kept in tables"""
        self.ahead: Callable[[int, str], Successor[S] | None] = lambda node, path: None
        """the successor of a node by a step of a task, if another process has computed it"""
        self.started = monotonic()
        self.stopped_by: str | None = None
        self.interrupts = Interrupts(idle=True)
        self.finished: dict[Hashable, list[int]] = {}
        """for each outcome, the nodes that have it"""
        self.faults: dict[tuple[str, Span | None], list[tuple[int, str]]] = {}
        """for each message and place, the nodes, and the tasks that fault there"""
        self.deadlocks: dict[tuple[Blocked, ...], list[int]] = {}
        self.races: dict[Key, tuple[int, str, str]] = {}
        """for each race, the first node found that has it, and the two tasks"""
        self.pairs: dict[tuple[int, int], set[Key]] = {}
        """for two acts, the races between them"""
        self.at: dict[int, list[tuple[Finding, tuple[str, ...]]]] = {}
        """the findings at a node, and the task that faults there"""
        self._names: dict[tuple[int, int], str | None] = {}
        self._numbers: dict[Hashable, int] = {}
        self._states: list[S] = []
        self._kept: dict[int, dict[str, Step[S]]] = {}
        self._acts: dict[Hashable, int] = {}
        self._cells: dict[Hashable, int] = {}

    def search(self, walk: Callable[[], object]) -> None:
        """Enter the first state, unless it is known, and walk on; `stopped_by` names what cut the walk short, if
        anything.

        Ctrl-C or a similar signal ends it before the next step. A second one is a KeyboardInterrupt, and leaves the
        states half done.
        """
        self.stopped_by = None
        self.interrupts.count = 0
        try:
            with self.interrupts.counting():
                self.begin()
                walk()
        except Stopped as stopped:
            self.stopped_by = stopped.bound
        except KeyboardInterrupt as interrupt:
            if self.interrupts.count > 1:
                raise
            self.stopped_by = "signal" if isinstance(interrupt, Terminated) else "interrupt"
        self.interrupts.count = 0
        self.stopped_by = self.stopped_by or self.bounds.reached or None

    def flood(self, most: int = -1) -> bool:
        """Follow all edges, as `Space.flood` does; in batches, which may exceed `most`, if that is far away."""
        if self.walker is None or self.symmetry or 0 <= most < self.nodes + BATCHES:
            return super().flood(most)
        return self.walker.flood(most, self.threads)

    def tick(self) -> None:
        """`Stopped` if a bound does not allow another step, KeyboardInterrupt after Ctrl-C or a similar signal."""
        if self.interrupts.count:
            raise self.interrupts.error()
        self.bounds.tick()

    def begin(self) -> None:
        """Enter the first state, unless it is known."""
        self.tick()
        self.tabled &= not self.symmetry or isinstance(self.machine, SymmetricLocalMachine)
        if not self.nodes and self.tabled:
            self.walker = Tables(self, LOOK_EVERY)
            self.walker.initial()
        elif not self.nodes:
            settled = settle(self.machine, self.machine.initial(), tick=self.tick)
            self.steps += len(settled.taken)
            self._add_state(settled, self._canonical_form(settled.state), -1, -1)

    def fresh_copy(self) -> States[S]:
        """A fresh set of states of the same machine, not counted here, within the same bounds of time and memory."""
        other = States(self.machine, bounds=self.bounds)
        other.interrupts = self.interrupts
        other.begin()
        return other

    def enter(self, node: int, task: int) -> int:
        """The node to which a step leads. If a bound forbids it, nothing has been counted."""
        before = self.steps
        try:
            return self._enter(node, task)
        except BaseException:
            self.steps = before
            raise

    def _enter(self, node: int, task: int) -> int:
        """Running the task ahead nearly always settles the state.

        If the resulting state is known, it is settled: the other tasks need not be asked, and no task above continues.
        """
        self.tick()
        path = self.paths[task]
        step = self._kept_step(node, path)
        taken = self.ahead(node, path) or advance(self.machine, step or self.step(node, path), self.tick)
        self.steps += taken.steps
        mark = self._canonical_form(taken.state)
        found = self._numbers.get(mark)
        above: tuple[str, ...] = ()
        if found is None:
            settled = settle(self.machine, taken.state, tick=self.tick, known=taken.choice)
            self.steps += len(settled.taken)
            above = went_on(path, settled)
            if settled.taken:
                mark = self._canonical_form(settled.state)
                found = self._numbers.get(mark)
            if found is None:
                found = self._add_state(settled, mark, node, task)
        if above:
            self.note_resumption(node, task, tuple(map(self.task, above)))
        return found

    def _canonical_form(self, state: S) -> Hashable:
        """The canonical form of a state: equal exactly for states that count as the same."""
        if not self.symmetry:
            return self.machine.fingerprint(state)
        return symmetry.canonical_form(*self._symmetric.anonymize(state))

    def name(self, node: int, task: int) -> str | None:
        """The name of a task at the node to which its step leads, if there is symmetry; None if it has ended."""
        if (node, task) not in self._names and self.walker is not None:
            self._names[node, task] = self.walker.name_after(node, task, self.go(node, task))
        if (node, task) not in self._names:
            step = self.step(node, self.paths[task])
            assert not isinstance(step.next, Fault)
            settled = settle(self.machine, step.next, step.task, self.tick)
            self._names[node, task] = self.name_mapping(settled.state, self.state(self.go(node, task))).get(step.task)
        return self._names[node, task]

    def name_mapping(self, one: S, other: S, last: tuple[str, str] | None = None) -> dict[str, str]:
        """Map the names of a state's tasks to those in an equivalent state; that of one task may be known."""
        states = [self._symmetric.anonymize(state)[1] for state in (one, other)]
        if last is not None:
            states = [symmetry.distinguish_task(root, path) for root, path in zip(states, last, strict=True)]
        return symmetry.names(*states)

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Within, a search replays its steps: only time and memory stop it, no number of states and no finding."""
        most, self.max_states = self.max_states, None
        try:
            with self.bounds.finishing():
                yield
        finally:
            self.max_states = most

    def finish(self) -> None:
        """The search is over, and its verdict comes next."""
        self._need()
        self.bounds.finish()

    def _need(self) -> None:
        """Estimate what a verdict would take now."""
        results, errors = len(self.finished), len(self.races) + len(self.faults) + len(self.deadlocks)
        seconds = (NODE + DRAWN * self.drawn) * self.nodes + RESULT * results + ERROR * errors
        self.bounds.need(seconds, NODE_BYTES * self.nodes + FINDING_BYTES * (results + errors))

    def look(self) -> None:
        """Report the progress of the search, and estimate what it needs to end in time."""
        self._need()
        if self.walker is None and self.nodes >= FREEZE_FROM:
            self.freeze()
        unit, explored, planned, total = self.strategy_progress()
        if self.progress is not None:
            errors = len(self.races) + len(self.faults) + len(self.deadlocks)
            self.progress(Status(unit, errors, explored, planned, monotonic() - self.started, total))

    def freeze(self) -> None:
        """Freeze what the search keeps, if it `freezes`."""
        if self.freezes and not self.frozen:
            self.freezes = not gc.get_freeze_count()  # it counts one by one: some milliseconds
        if self.freezes:
            self.frozen = True
            gc.collect(1)
            gc.freeze()

    def _expansion_progress(self) -> tuple[str, int, int, None]:
        return "state", self.nodes, self.nodes - self.expanded, None

    def findings(self) -> dict[Finding, int]:
        """All findings, each with the first node that has it."""
        found: dict[Finding, int] = {("result", outcome): nodes[0] for outcome, nodes in self.finished.items()}
        found |= {("fault", key): places[0][0] for key, places in self.faults.items()}
        found |= {("deadlock", key): nodes[0] for key, nodes in self.deadlocks.items()}
        found |= {("race", key): node for key, (node, _, _) in self.races.items()}
        found |= {("property", number): nodes[0] for number, nodes in self.shown.items()}
        return found

    def ends(self) -> list[int]:
        """The nodes in which runs end, each once for each of its faulting steps."""
        found = [node for places in self.faults.values() for node, _ in places]
        return [*found, *chain(*self.deadlocks.values(), *self.finished.values())]

    def step(self, node: int, path: str) -> Step[S]:
        """The next step of a task that can step at a node."""
        step = self.choice(node, path)
        assert isinstance(step, Step)
        return step

    def choice(self, node: int, path: str) -> Step[S] | Blocked:
        """The next step of a task that has not finished at a node, or what it waits for."""
        return self.machine.step(self.state(node), path)

    def state(self, node: int) -> S:
        """The state as which a node was found."""
        return self._states[node] if self.walker is None else self.walker.state(node)

    def _kept_step(self, node: int, path: str) -> Step[S] | None:
        kept = self._kept.get(node, {})
        step = kept.pop(path, None)
        if not kept:
            self._kept.pop(node, None)
        return step

    def _add_state(self, settled: QuiescentState[S], mark: Hashable, parent: int, by: int) -> int:
        """Add a state as a new node, and record its findings."""
        self.admit()
        node = self._numbers[mark] = self.new_node(parent, by)
        self._states.append(settled.state)
        for path, choice in settled.choices.items():
            target = BLOCKED if isinstance(choice, Blocked) else FAULT if isinstance(choice.next, Fault) else UNKNOWN
            self.new_edge(self.task(path), self.act_of(choice), target)
        self._examine(node, settled.state, settled.choices)
        self.check_properties(node, settled.state)
        following = {
            path: choice
            for path, choice in settled.choices.items()
            if isinstance(choice, Step) and not isinstance(choice.next, Fault)
        }
        if following and len(self._kept) < KEEP:
            self._kept[node] = following
        return node

    @property
    def max_states(self) -> int | None:
        """The bound on the number of nodes. It may change, as for the parts of a search that processes share."""
        return self._max_states

    @max_states.setter
    def max_states(self, most: int | None) -> None:
        self._max_states = most
        if self.walker is not None:
            self.walker.limit = self.most_nodes()

    def most_nodes(self) -> int:
        """The number of nodes from which on `admit` forbids more."""
        bounds = (self.max_states, MOST_DRAWN if self.drawn else None)
        return min((bound for bound in bounds if bound is not None), default=sys.maxsize)

    def admit(self) -> None:
        """`Stopped` if a bound forbids another node."""
        if self.max_states is not None and self.nodes >= self.max_states:
            raise Stopped("max-states")
        if self.drawn and self.nodes >= MOST_DRAWN:
            fix = f"use smaller extents or fewer threads, or stop the search after {MOST_DRAWN} states"
            raise InputError(f"the program has more than {MOST_DRAWN} states, too many for a graph", fix=fix)
        if self.nodes and self.nodes % LOOK_EVERY == 0:
            self.look()

    def act_of(self, choice: Step[S] | Blocked) -> int:
        """The number of what a task does next."""
        if isinstance(choice, Blocked):
            return self._act((choice.lock,), [(choice.lock, "acquire")])
        label = span_key(choice.span), *((t.cell, t.effect, t.tensor, *t.spot) for t in choice.footprint)
        touches: list[tuple[Hashable, str]] = [(t.cell, t.effect) for t in choice.footprint]
        if choice.observed:
            return self._act((OBSERVED, *label), [*touches, (OBSERVED, "atomic")])
        return self._act(label, touches)

    def _act(self, label: tuple[Any, ...], touches: list[tuple[Hashable, str]]) -> int:
        """The number of an act: what a step does at a place in the program."""
        if label not in self._acts:
            cells = [self._cells.setdefault(cell, len(self._cells)) for cell, _ in touches]
            self._acts[label] = self.new_act(cells, [NUMBERS[effect] for _, effect in touches])
        return self._acts[label]

    def examine(self, node: int) -> None:
        """Record the properties of a node that was added without them."""
        state = self.state(node)
        self._examine(node, state, {path: self.machine.step(state, path) for path in self.machine.tasks(state)})

    def _examine(self, node: int, state: S, choices: Mapping[str, Step[S] | Blocked]) -> None:
        """Record the properties of a node, and report the defects of the program that were not known before."""
        new: list[Finding] = []
        steps = {path: choice for path, choice in choices.items() if isinstance(choice, Step)}
        if not choices:
            outcome = self.machine.outcome(state)
            if outcome not in self.finished and self._wrong(outcome):
                new.append(("result", outcome))
            self.finished.setdefault(outcome, []).append(node)
            self.at[node] = [(("result", outcome), ())]
        elif not steps:
            waiting = tuple(choice for choice in choices.values() if isinstance(choice, Blocked))
            if waiting not in self.deadlocks:
                new.append(("deadlock", waiting))
            self.deadlocks.setdefault(waiting, []).append(node)
            self.at[node] = [(("deadlock", waiting), ())]
        for one, other in self.racing(node):
            acts = {self.paths[task]: act for task, act, _ in self.moves(node)}
            for key, _, _ in races_of(steps[one], steps[other]):
                if key not in self.races:
                    new.append(("race", key))
                self.races.setdefault(key, (node, one, other))
                for pair in ((acts[one], acts[other]), (acts[other], acts[one])):
                    self.pairs.setdefault(pair, set()).add(key)
        for path, step in steps.items():
            if isinstance(step.next, Fault):
                self.steps += 1
                key = (step.next.message, step.next.span or step.span)
                if key not in self.faults:
                    new.append(("fault", key))
                self.faults.setdefault(key, []).append((node, path))
                self.at.setdefault(node, []).append((("fault", key), (path,)))
        for finding in new:
            self.on_finding(finding)
            if self.first:
                self.bounds.reach("first")

    def check_properties(self, node: int, state: S) -> None:
        """Record at a new node what its state says about properties."""
        for number, asked in enumerate(self.properties):
            held = asked.holds(state)
            if held is None:
                continue
            self.defined.add(number)
            if held is (asked.kind == "reach"):
                new = number not in self.shown
                self.shown.setdefault(number, []).append(node)
                self.at.setdefault(node, []).append((("property", number), ()))
                if new:
                    self.on_finding(("property", number))
                if self.first:
                    self.bounds.reach("first")

    def _wrong(self, outcome: Hashable) -> bool:
        """Whether a new result is one that no safe program has."""
        if self.of_results:
            return any(asked.holds(outcome) is False for asked in self.of_results)
        return bool(self.finished) if self.expected is None else outcome != self.expected
