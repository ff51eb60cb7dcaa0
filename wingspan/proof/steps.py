"""One step of the induction: two tasks at a level, in a state; whether its accesses conflict, and what state is below.

A *state* says of two accesses that tasks make at the same time how they meet at a level: in one instance or in two; at
one position or at two; with a lock in common or without. It also says by which operations: each visits its fiber, or
only makes a child exist there (`assemble`), compares it (`equal`), or checks the instance out (`moved`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import z3

from wingspan.levels.base import Dependence, Leaf
from wingspan.proof.abstract import AbstractCell, BufferAccess, Z3Term, equal_keys
from wingspan.proof.footprints import (
    EXTENT,
    PROBE_BUFFERS,
    ROWS,
    THREADS,
    Footprint,
    Operation,
    Subject,
    TaskSide,
    X,
    Y,
)
from wingspan.proof.solver import Lemma, Prover

Meeting = Literal["same", "apart"]

LOCK = AbstractCell(-1, "lock", (), z3.IntVal(0))
"""A lock that both tasks hold already."""


@dataclass(frozen=True, order=True)
class MeetingState:
    """The way in which two accesses meet at a level."""

    instance: Meeting = "same"
    position: Meeting = "same"
    locked: bool = False
    one: Operation = "visit"
    other: Operation = "visit"

    @property
    def safe(self) -> bool:
        """Whether nothing below can conflict: all cells lie in two instances, or are accessed with one lock in hand."""
        return self.locked or self.instance == "apart"

    def __str__(self) -> str:
        at = "two instances" if self.instance == "apart" else "one instance"
        where = f"{at}, {'one position' if self.position == 'same' else 'two positions'}"
        asked = "" if self.one == self.other == "visit" else f", {self.one} against {self.other}"
        return f"{where}{', a common lock' if self.locked else ''}{asked}"


MEETINGS = (MeetingState(), MeetingState(position="apart"), MeetingState(locked=True), MeetingState(instance="apart"))
"""The ways in which two accesses may meet: if nothing can conflict, positions do not matter."""


@dataclass(frozen=True)
class Conflict:
    """Two accesses that may be made at the same time: the buffer, and what each is."""

    buffer: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.buffer} ({self.one} against {self.other})"


@dataclass(frozen=True)
class StepOutcome:
    """The outcome at a level in a state: a conflict of its own accesses, and the states of the levels below."""

    conflict: Conflict | None
    below: frozenset[MeetingState]


class LevelSteps:
    """The steps of subjects, each asked once."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self._found: dict[tuple[Subject, MeetingState, Dependence], StepOutcome] = {}
        self._prints: dict[tuple[Subject, Operation, str, bool], Footprint] = {}

    def outcome(self, subject: Subject, state: MeetingState, kind: Dependence) -> StepOutcome:
        """The possible outcomes of two accesses of this kind in the level, for all memory, extents and threads."""
        key = (subject, state, kind)
        if key not in self._found:
            self._found[key] = self._outcome(subject, state, kind)
        return self._found[key]

    def _footprint(self, subject: Subject, operation: Operation, side: TaskSide, locked: bool) -> Footprint:
        key = (subject, operation, side.name, locked)
        if key not in self._prints:
            self._prints[key] = subject.footprint(operation, side, (LOCK,) if locked else ())
        return self._prints[key]

    def _outcome(self, subject: Subject, state: MeetingState, kind: Dependence) -> StepOutcome:
        if not (subject.supports(state.one) and subject.supports(state.other)):
            return StepOutcome(None, frozenset())
        lemma = self.prover.lemma(
            f"step at {subject.name}", "own accesses do not conflict; what is below is as claimed"
        )
        x = self._footprint(subject, state.one, X, state.locked)
        y = self._footprint(subject, state.other, Y, state.locked)
        assumptions = hypotheses(subject, state, kind)
        pairs = [(a, b) for a, b in product(x.accesses, y.accesses) if a.cell.depth == b.cell.depth]
        own = [(a, b) for a, b in pairs if clash(a, b, x.below)]
        what = f"{subject.name}, {state}, {kind}"
        conflict = None
        if own:
            met = [coincide(a, b) for a, b in own]
            model = self.prover.find_model(lemma, what, *assumptions, z3.Or(*met))
            if model is not None:
                conflict = _first_conflict(own, met, model)
        below = [
            (a, b)
            for a, b in pairs
            if a.cell.depth >= x.below and requested_operation(a) != "whole" != requested_operation(b)
        ]
        return StepOutcome(conflict, frozenset(self._below(lemma, what, assumptions, below)))

    def _below(
        self, lemma: Lemma, claim: str, assumptions: list[Z3Term], pairs: list[tuple[BufferAccess, BufferAccess]]
    ) -> set[MeetingState]:
        """The states in which operations of the child may meet that are asked for at the same time."""
        grouped: dict[tuple[Operation, Operation], list[tuple[BufferAccess, BufferAccess]]] = {}
        for a, b in pairs:
            grouped.setdefault((requested_operation(a), requested_operation(b)), []).append((a, b))  # type: ignore[arg-type]
        found = set()
        for (one, other), some in grouped.items():
            for state in MEETINGS:
                met = z3.Or(*(meet_as(a, b, state) for a, b in some))
                if self.prover.find_model(lemma, claim, *assumptions, met) is not None:
                    found.add(replace(state, one=one, other=other))
        return found


def _first_conflict(pairs: list[tuple[BufferAccess, BufferAccess]], met: list[Z3Term], model: Z3Term) -> Conflict:
    """The first conflict of a model; the first pair of all, if z3 has found no model but gives up."""
    real = isinstance(model, z3.ModelRef)
    k = next((k for k, each in enumerate(met) if real and z3.is_true(model.eval(each, model_completion=True))), 0)
    a, b = pairs[k]
    return Conflict(a.cell.buffer, a.effect, b.effect)


def hypotheses(subject: Subject, state: MeetingState, kind: Dependence) -> list[Z3Term]:
    """The hypotheses about two tasks that meet in a state, by a dependence of this kind."""
    assumptions = [X.p >= 1, Y.p >= 1, EXTENT >= 0, THREADS >= 1]
    for side in (X, Y):
        assumptions += [side.t >= 1, side.t <= THREADS]
    assumptions.append(X.K == Y.K if state.instance == "same" else X.K != Y.K)
    assumptions.append(X.p == Y.p if state.position == "same" else X.p != Y.p)
    assumptions.append(X.t != Y.t)  # L5: tasks that run at the same time are other threads of the device
    if kind != "cousin" and not isinstance(subject.level, Leaf) and not subject.level.modifier:
        assumptions.append(X.i == Y.i if kind == "node" else X.i != Y.i)
    return [*assumptions, *ROWS]


def requested_operation(access: BufferAccess) -> str:
    """Map a probe access back to the child operation it models."""
    match access.cell.buffer, access.effect:
        case "at", "read":
            return "equal"
        case "at", _:
            return "assemble"
        case "moved", _ if access.procedure not in ("checkout", "commit"):
            return "whole"
    return access.cell.buffer


def clash(a: BufferAccess, b: BufferAccess, below: int) -> bool:
    """Whether two accesses to one cell would be a conflict; some of those to a probe are looked into further down."""
    if a.cell.depth >= below:
        one, other = requested_operation(a), requested_operation(b)
        return "whole" in (one, other)
    if a.cell.buffer != b.cell.buffer:
        return False
    weak = {a.effect, b.effect}
    return not any(weak <= calm for calm in ({"read", "look"}, {"look", "atomic"}, {"acquire", "release"}))


def coincide(a: BufferAccess, b: BufferAccess) -> Z3Term:
    """Condition: both are made to one cell without a common lock; an access to a whole instance meets all of it."""
    whole = a.cell.buffer in PROBE_BUFFERS
    there = equal_keys(a.cell.keys, b.cell.keys) if whole else a.cell.equals(b.cell)
    return z3.And(X.K == Y.K, there, a.guard, b.guard, z3.Not(have_common_lock(a, b)))


def have_common_lock(a: BufferAccess, b: BufferAccess) -> Z3Term:
    """Condition: some lock is held at both accesses."""
    return z3.Or(*(_are_one_lock(p, q) for p, q in product(a.held, b.held)))


def _are_one_lock(p: AbstractCell, q: AbstractCell) -> Z3Term:
    return p.equals(q) if p.depth < 0 else z3.And(X.K == Y.K, p.equals(q))


def meet_as(a: BufferAccess, b: BufferAccess, state: MeetingState) -> Z3Term:
    """Condition: two operations of the child are requested as a state says."""
    inside = z3.And(X.K == Y.K, equal_keys(a.cell.keys, b.cell.keys))
    if state.instance == "apart":
        return z3.And(a.guard, b.guard, z3.Not(inside))
    if state.locked:
        return z3.And(a.guard, b.guard, inside, have_common_lock(a, b))
    at = a.cell.index == b.cell.index
    if "moved" in (a.cell.buffer, b.cell.buffer):
        at = z3.BoolVal(True)
    where = at if state.position == "same" else z3.Not(at)
    return z3.And(a.guard, b.guard, inside, where, z3.Not(have_common_lock(a, b)))
