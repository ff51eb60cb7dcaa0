"""Many random programs through many engines."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from threading import Lock
from typing import NoReturn

from hypothesis import HealthCheck, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from wingspan import api
from wingspan.api import BuiltIn
from wingspan.api.machines import evaluate
from wingspan.comparison import Ending, Engine, difference, ending
from wingspan.elaborate import Elaborated, refill
from wingspan.errors import Fault, InputError
from wingspan.reference import Undecided
from wingspan.testing.cases import Case, groups
from wingspan.testing.schedules import SCHEDULES, THREADS, variants
from wingspan.testing.together import Together

BATCH = 500
"""Programs that are drawn from one seed: Hypothesis keeps what it has drawn, so that nothing comes twice."""

TOGETHER = 50
"""Programs that engines prepare together: a compiler reads what their C files include once."""

INPUTS = 8
"""Inputs of a program, unless specified. Drawing and compiling a program takes as long as running ten of its cases."""


@dataclass
class Tally:
    """What a campaign has done."""

    cases: int = 0
    """programs that ran, each counted once for each of its inputs, and again where it is drawn again"""
    texts: int = 0
    """programs with a text of their own"""
    runs: int = 0
    faults: int = 0
    """cases that end in a fault, in every engine"""
    undecided: int = 0
    """cases left out since zero times Inf or NaN depends on what formats store: see `reference.Undecided`"""
    seconds: float = 0.0

    @property
    def programs(self) -> int:
        """`cases`; deprecated."""
        return self.cases

    @property
    def rate(self) -> float:
        """Cases a second."""
        return self.cases / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        done = f"{self.cases} cases of {self.texts} programs, {self.runs} runs, {self.faults} faults"
        done += f", {self.undecided} left undecided" if self.undecided else ""
        return f"{done}, {self.rate:.1f} cases a second"


class Disagreement(AssertionError):
    """Two runs of a case differ. The message has the program, its inputs, and the first difference."""


@dataclass(frozen=True)
class Dealt:
    """A program with several inputs, and bound on each pair of a number of threads and a schedule, by its name."""

    group: list[Case]
    bound: list[tuple[str, Elaborated]]


def campaign(
    oracles: Sequence[str | Engine],
    subjects: Sequence[str | Engine] = (),
    *,
    programs: st.SearchStrategy[str] | st.SearchStrategy[Case] | None = None,
    inputs: int = INPUTS,
    examples: int = 100,
    threads: Sequence[int] = THREADS,
    schedules: Sequence[str] = SCHEDULES,
    dealt: int = 1,
    repeat: int = 1,
    tolerance: float = 0.0,
    first_seed: int = 0,
) -> Tally:
    """Run random programs through engines, and compare every run with the first.

    A program with one of its inputs is a case. Equal arguments give equal cases. A case that an engine cannot run is
    not counted.

    Args:
        oracles: engines, given themselves or by name. Each runs a case once.
        subjects: engines that run each case on every pair of `threads` and `schedules` that is drawn for its program,
            so every program must have one result however its loops are dealt.
        programs: draws the texts of programs; by default safe kernels and safe programs. It may draw cases, too, which
            is deprecated.
        inputs: on how many inputs a program with open inputs runs, at most. They differ in elements, types and layouts,
            and have the same extents, so one plan serves them.
        examples: the number of programs.
        threads, schedules: numbers of threads, and texts of schedules, to choose from.
        dealt: the number of pairs for each program.
        repeat: how often a subject runs each of them.
        tolerance: the largest relative difference of two doubles that count as equal.
        first_seed: another one gives other cases.

    Returns:
        How much was run.

    Raises:
        Disagreement: two runs differ. The message is the simplest case that Hypothesis finds, with the first
            difference.
    """
    first_ones, others = _engines(oracles), _engines(subjects)
    tally = Tally()
    seen: set[int] = set()
    """hashes of what has run; the programs themselves would take too much memory"""

    def deal(group: list[Case], picked: list[int]) -> Dealt:
        every = list(variants(group[0].program, threads, schedules))
        some = [every[k] for k in sorted({k % len(every) for k in picked})]
        try:
            return Dealt(group, [(label, replace(group[0], program=variant).bind()) for label, variant in some])
        except InputError:
            reject()

    def compare(one: Dealt) -> None:
        before = tally.cases
        for case in one.group:
            try:
                filled = [(label, refill(bound, case.inputs)) for label, bound in one.bound]
                runs = list(_runs(filled, first_ones, others, repeat))
            except Undecided:
                tally.undecided += 1
                continue
            except InputError:
                continue
            first, outputs = runs[0]
            for other, _ in runs[1:]:
                found = difference(first, other, outputs, tolerance)
                if found is not None and _undecided(filled[0][1]):
                    tally.undecided += 1
                    break
                if found is not None:
                    sides = f"{found.first} has {found.first_has}, {found.second} has {found.second_has}"
                    raise Disagreement(f"{found.place}: {sides}\n{case!r}")
            tally.runs += len(runs)
            tally.cases += 1
            tally.faults += first.fault is not None
        if tally.cases > before:
            seen.add(hash(one.group[0].program.tree))

    began = time.perf_counter()
    places = st.integers(0, len(threads) * len(schedules) - 1)
    picks = st.lists(places, min_size=dealt, max_size=dealt)
    for number, start in enumerate(range(0, examples, BATCH)):
        draw = partial(_draw, groups(programs, inputs), picks, deal, min(BATCH, examples - start), first_seed + number)
        with collected_rarely():
            _run(draw, [*first_ones, *others], compare)
    tally.texts = len(seen)
    tally.seconds = time.perf_counter() - began
    return tally


def _draw(
    cases: st.SearchStrategy[list[Case]],
    picks: st.SearchStrategy[list[int]],
    deal: Callable[[list[Case], list[int]], Dealt],
    examples: int,
    number: int,
    see: Callable[[Dealt], None],
) -> None:
    """Draw programs with a seed. Where `see` raises something, Hypothesis looks for the simplest that has it do so."""
    quiet = settings(
        max_examples=examples, database=None, deadline=None, print_blob=False, suppress_health_check=list(HealthCheck)
    )

    def each(group: list[Case], picked: list[int]) -> None:
        see(deal(group, picked))

    seed(number)(quiet(given(cases, picks)(each)))()


def _run(
    draw: Callable[[Callable[[Dealt], None]], None], engines: Sequence[Engine], compare: Callable[[Dealt], None]
) -> None:
    """Draw programs, prepare for them, and compare. A Disagreement over the simplest case, if two runs differ."""
    drawn: list[Dealt] = []
    draw(drawn.append)
    left = iter(drawn)
    while some := list(islice(left, TOGETHER)):
        for engine in engines:
            if (prepare := getattr(engine, "prepare", None)) is not None:
                prepare([bound for one in some for _, bound in one.bound])
        for one in some:
            try:
                compare(one)
            except Disagreement as found:
                _simplify(draw, compare, one.group[0], found)
        gc.collect()  # what programs that are through have reserved, address space can run out of


def _simplify(
    draw: Callable[[Callable[[Dealt], None]], None], compare: Callable[[Dealt], None], case: Case, found: Disagreement
) -> NoReturn:
    """Draw the same once more, to find something simpler from where `case` comes on: that, or else what was found."""
    met = False

    def see(one: Dealt) -> None:
        nonlocal met
        met = met or repr(one.group[0]) == repr(case)
        if met:
            compare(one)

    with suppress(Flaky):
        draw(see)
    raise found


_LOCK = Lock()
_usual: list[tuple[int, int, int]] = []
"""the usual thresholds, at the bottom, and one item for each other campaign that runs now"""


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Let the garbage collector look for cycles a hundred times less often.

    Trees of programs and plans are freed without it, and looking through those that live took a third of the time.
    """
    with _LOCK:
        _usual.append(gc.get_threshold())
        if len(_usual) == 1:
            gc.set_threshold(_usual[0][0] * 100, *_usual[0][1:])
    try:
        yield
    finally:
        with _LOCK:
            before = _usual.pop()
            if not _usual:
                gc.set_threshold(*before)


def _undecided(bound: Elaborated) -> bool:
    """Whether engines may differ, as zero times Inf or NaN depends on what formats store."""
    with suppress(Fault, InputError):
        try:
            evaluate(bound)
        except Undecided:
            return True
    return False


def _engines(some: Sequence[str | Engine]) -> list[Engine]:
    found = [api.engine(one) if isinstance(one, str) else one for one in some]
    return [Together() if one.name == "compiled" and isinstance(one, BuiltIn) else one for one in found]


def _runs(
    some: Sequence[tuple[str, Elaborated]], oracles: Sequence[Engine], subjects: Sequence[Engine], repeat: int
) -> Iterator[tuple[Ending, tuple[str, ...]]]:
    """How all runs of a case end, and the names of its outputs."""
    for number, (label, bound) in enumerate(some):
        for engine in oracles if number == 0 else ():
            yield ending(bound, engine), bound.outputs
        for engine in subjects:
            for _ in range(repeat):
                yield ending(bound, engine, f"{engine.name} ({label})"), bound.outputs
