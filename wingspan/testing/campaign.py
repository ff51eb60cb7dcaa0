"""Run many random programs through many engines."""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import field, replace
from functools import partial
from hashlib import blake2b
from importlib.metadata import distributions
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any
from warnings import warn

import numpy as np
from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from wingspan import api
from wingspan.api import BuiltIn
from wingspan.api.comparing import MAX_STATES, explore_both
from wingspan.api.machines import is_undecided
from wingspan.api.small import SCHEDULES
from wingspan.base.activity import activity
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, WingspanError
from wingspan.elaborate import Elaborated, refill
from wingspan.isolation import isolate_engines
from wingspan.lang.devices import thread_counts
from wingspan.reference import Undecided
from wingspan.results.comparison import Defect, Ending, Engine, difference, run_to_end
from wingspan.results.tally import Bucket, Disagreement, Tally, shape, symptom
from wingspan.tensors.tensor import Tensor
from wingspan.testing.batched_c import Together
from wingspan.testing.cases import Case, groups
from wingspan.testing.finished_parts import FinishedParts, fingerprint, sources
from wingspan.testing.left_open import LeftOpen
from wingspan.testing.reduction import TRIES, reduce_case
from wingspan.testing.schedules import THREADS, variants
from wingspan.testing.special import SPECIAL
from wingspan.testing.spread import spread

BATCH = 50
"""Programs per seed. Engines prepare them together, so that a compiler reads the included headers once.

A batch is lost with the process that runs it, so it should take seconds. Of 400 programs in batches of 500 and 100, 220
and 231 are different ones, and of 150 in batches of 50, 85.
"""

INPUTS = 8
"""Inputs per program, by default. Drawing and compiling a program takes as long as running ten of its cases."""

TRIES_COLLECTED = 100
"""The largest number of smaller cases that are tried for each bucket of a batch."""
HANGS = 20
"""Runs that may exceed their time while a simpler program is sought, each of which takes all of that time."""

Engines = tuple[Sequence[Engine], Sequence[Engine]]
"""Oracles and subjects."""

OURS = (BuiltIn, LeftOpen, Together)


@dataclass(frozen=True)
class Dealt:
    """A program with several inputs, bound for each pair of a number of threads and a schedule, with a label."""

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
    special: Collection[str] = (),
    collect: bool = False,
    scheduler: str | None = None,
    keep: Path | None = None,
    isolate: float | None = None,
    max_states: int = MAX_STATES,
) -> Tally:
    """Run random programs through engines, and compare every run with the first.

    Each program is also explored, with its first input, by the rules and on the compiled plan: outcomes, races, faults
    and deadlocks must be the same where both searches are complete.

    A program with one of its inputs is a *case*. The same arguments give the same cases, as long as the code is the
    same: Hypothesis also draws constants that it finds in the code. An engine that cannot run a case skips it, and an
    engine that is not `nonfinite` skips inputs with Inf or NaN. A case counts if two engines have run it, or the only
    one.

    Args:
        oracles: engines, or names of engines. Each runs a case once, with the first pair of threads and schedules. An
            engine with a method `prepare` gets `BATCH` programs at once; `compiled` compiles them as one C file.
        subjects: engines that run each case with every pair of `threads` and `schedules` that was drawn for its
            program. So every program must have one result, whatever the schedule.
        programs: a strategy that draws the texts of programs; by default, safe kernels and safe programs. Drawing cases
            is deprecated.
        inputs: the largest number of inputs for a program with open inputs. They differ in elements, types and layouts,
            and have the same extents, so that one plan serves all of them.
        examples: the number of programs.
        threads, schedules: numbers of threads, and texts of schedules, to choose from.
        dealt: the number of pairs for each program.
        repeat: the number of times that a subject runs each pair.
        tolerance: the largest relative difference of two doubles that count as equal.
        first_seed: selects the cases; another seed gives other cases.
        special: additional properties of inputs: see `SPECIAL`.
        collect: whether to continue after a difference. The tally then has the differences in buckets, each with its
            smallest case, which is made minimal as the one that is raised otherwise.
        scheduler: the address of a Dask scheduler, each of whose workers takes `BATCH` programs at a time. Engines that
            are not names must be picklable.
        keep: a folder for the finished batches, of `BATCH` programs each. If the campaign is interrupted or killed, the
            same call goes on from there, and more `examples` continue it. Batches count only for the same arguments,
            sources of wingspan and of the packages that define the engines, and versions of installed packages. Name
            another folder after changing anything else that the engines use, or how `programs` draws.
        isolate: run each engine in a process of its own, and give each run so many seconds. A run that ends the
            process, by a signal or by exiting, or that exceeds its time, is a difference like any other, and the engine
            goes on in a new process. An engine that exceeds its time skips the rest of that program. Without it, only
            what Python can catch is a difference, SystemExit included.
        max_states: the number of states of each machine up to which programs are explored; with 0 they are not.

    Returns:
        A tally of what was run.

    Raises:
        Disagreement: two runs differ. The message shows the simplest case that is found, with the first difference:
            Hypothesis draws simpler ones, and edits of the program and its inputs (`reduction`) make that smaller.
        InputError: there is no such engine; nothing can be kept in the folder, or the source of an engine is unknown;
            no process can be forked.
    """
    asked = Campaign(
        tuple(oracles), tuple(subjects), programs, inputs, examples, thread_counts(threads), tuple(schedules), dealt,
        repeat, tolerance, first_seed, frozenset(special), collect, isolate, max_states,
    )  # fmt: skip
    asked.require()
    kept = None if keep is None else FinishedParts(keep / f"campaign-{asked.key}.jsonl", asked.mark())
    tally, seen, missing = Tally(), set[str](), []

    def add(part: dict[str, Any]) -> None:
        tally.add(Tally.of(part["tally"]))
        seen.update(part["seen"])

    for number in range(-(-examples // BATCH)):
        if kept is not None and (part := kept.parts.get(asked.name(number))) is not None:
            add(part)
        else:
            missing.append(number)
    try:
        with ExitStack() as stack:
            batch: Callable[..., dict[str, Any]] = asked.batch
            if isolate is not None and scheduler is None:  # one process for each engine, whatever the number of batches
                batch = partial(batch, engines=stack.enter_context(asked.engines()))
            for number, part in spread(batch, missing, scheduler=scheduler):
                add(part)
                if kept is not None:
                    kept.add(asked.name(number), part)
    except (KeyboardInterrupt, InputError) as error:
        if kept is not None:
            error.add_note(f"finished batches are kept in {keep}: the same call goes on from there")
        raise
    tally.texts = len(seen)
    return tally


@dataclass(frozen=True)
class Campaign:
    """The arguments of `campaign`."""

    oracles: tuple[str | Engine, ...]
    subjects: tuple[str | Engine, ...]
    programs: st.SearchStrategy[str] | st.SearchStrategy[Case] | None
    inputs: int
    examples: int
    threads: tuple[int, ...]
    schedules: tuple[str, ...]
    dealt: int
    repeat: int
    tolerance: float
    first_seed: int
    special: frozenset[str]
    collect: bool
    isolate: float | None
    max_states: int

    def require(self) -> None:
        """InputError if an engine or a kind of input does not exist. Warns if no oracle can reveal a missing fault."""
        for name in sorted(self.special - set(SPECIAL)):
            raise InputError(f"there are no special inputs {name}", fix=f"use some of {', '.join(SPECIAL)}")
        oracles, subjects = _engines(self.oracles), _engines(self.subjects)
        foreign = [one for one in subjects if not isinstance(one, OURS)]
        if any(not _has(one, "unchecked") for one in foreign) and all(_has(one, "eager") for one in oracles):
            text = "no oracle here detects faults; add the oracle semantics"
            warn(text, UserWarning, stacklevel=3)

    @property
    def key(self) -> str:
        """A digest of the arguments, without the number of programs."""
        engines = [(type(one).__qualname__, vars(one)) for one in _engines(self.oracles + self.subjects)]
        text = repr((engines, len(self.oracles), replace(self, oracles=(), subjects=(), examples=0)))
        return fingerprint((), re.sub(r" at 0x[0-9a-f]+", "", text))

    def mark(self) -> str:
        """A digest of the code that batches run. InputError if the code of an engine is unknown."""
        files = set(sources("wingspan"))
        for one in _engines(self.oracles + self.subjects):
            found = sources(type(one).__module__)
            if not found:
                message = f"nothing can be kept of {one.name}, since it may change: its class is in no file"
                raise InputError(message, fix="write the class into a module, and import it")
            files |= set(found)
        installed = sorted(f"{each.name} {each.version}" for each in distributions())
        return fingerprint(sorted(files), sys.version, *installed)

    def name(self, number: int) -> str:
        """The name under which a batch is saved."""
        return f"{number}: {self.size(number)} programs"

    def size(self, number: int) -> int:
        """The number of programs in a batch."""
        return min(BATCH, self.examples - number * BATCH)

    @contextmanager
    def engines(self) -> Iterator[Engines]:
        """The oracles and the subjects, each in a process of its own within if that is asked for."""
        with (
            isolate_engines(_engines(self.oracles), self.isolate) as oracles,
            isolate_engines(_engines(self.subjects), self.isolate) as subjects,
        ):
            yield oracles, subjects

    def batch(self, number: int, engines: Engines | None = None) -> dict[str, Any]:
        """Run the programs of one seed. Returns a tally, and digests of the programs that ran, as JSON has them."""
        with self.engines() if engines is None else nullcontext(engines) as (oracles, subjects):
            words = f"campaign: drawing programs {number * BATCH + 1} to {number * BATCH + self.size(number)}"
            with activity(words, forks=self.isolate is not None) as say:
                return self._batch(number, Runner(self, oracles, subjects, say))

    def _batch(self, number: int, runner: Runner) -> dict[str, Any]:
        began = time.perf_counter()
        places = st.integers(0, len(self.threads) * len(self.schedules) - 1)
        picks = st.lists(places, min_size=self.dealt, max_size=self.dealt)
        drawn = groups(self.programs, self.inputs, self.special)
        draw = partial(_draw, drawn, picks, runner.deal, self.size(number), self.first_seed + number)
        with collected_rarely():
            _run(draw, runner)
        runner.tally.seconds = time.perf_counter() - began
        return {"tally": runner.tally.data(), "seen": sorted(runner.seen)}


@dataclass
class Runner:
    """The state of a running batch."""

    asked: Campaign
    oracles: Sequence[Engine]
    subjects: Sequence[Engine]
    say: Callable[[str], None] = lambda words: None
    """shows what goes on"""
    tally: Tally = field(default_factory=Tally)
    seen: set[str] = field(default_factory=set)
    """digests of what has run; the programs themselves would take too much memory"""
    alone: set[str] = field(default_factory=set)
    """engines that failed to prepare for all programs of the batch, and prepare for each before they run it"""
    hung: set[str] = field(default_factory=set)
    """engines that have exceeded their time on the program that is running"""
    hangs: int = 0
    """the number of times that an engine has exceeded its time"""
    differing: dict[str, tuple[Disagreement, list[str]]] = field(default_factory=dict)
    """of each bucket the difference with the shortest text, and the threads and schedules that were run"""

    def deal(self, group: list[Case], picked: list[int]) -> Dealt:
        """Bind the program for the picked pairs of threads and schedules."""
        every = list(variants(group[0].program, self.asked.threads, self.asked.schedules))
        some = [every[k] for k in sorted({k % len(every) for k in picked})]
        try:
            return Dealt(group, [(label, replace(group[0], program=variant).bind()) for label, variant in some])
        except InputError:
            reject()

    def prepare(self, programs: Sequence[Elaborated]) -> None:
        """Let the engines prepare for the programs that come next, as far as they do so."""
        for engine in (*self.oracles, *self.subjects):
            if (prepare := getattr(engine, "prepare", None)) is None:
                continue
            try:
                prepare(programs)
            except (WingspanError, KeyboardInterrupt):
                raise
            except BaseException as error:  # which program it is about, its run will show
                how = error.how if isinstance(error, Defect) else Defect.from_exception(error).how
                self.tally.skipped[f"{engine.name}: {len(programs)} programs at once: {shape(how)}"] += 1
                self.alone.add(engine.name)

    def compare(self, one: Dealt) -> None:
        """Run all cases of a program. A Disagreement if two runs differ, unless differences are collected."""
        self.hung.clear()
        before = self.tally.cases
        for case in one.group:
            try:
                filled = [(label, refill(bound, case.inputs)) for label, bound in one.bound]
                self._case(case, filled)
            except Undecided:
                self.tally.undecided += 1
            except InputError:
                continue
        if self.tally.cases > before:
            self._explore(one)
            self.seen.add(blake2b(str(one.group[0].program).encode(), digest_size=8).hexdigest())

    def _case(self, case: Case, filled: Sequence[tuple[str, Elaborated]]) -> None:
        runs = list(self._runs(filled))
        if len(runs) < min(2, len(self.oracles) + len(self.subjects)):
            return
        (_, first), outputs = runs[0], filled[0][1].outputs
        for name, other in runs[1:]:
            found = difference(first, other, outputs, self.asked.tolerance)
            if found is None:
                continue
            if is_undecided(filled[0][1]):
                self.tally.undecided += 1
                break
            sides = f"{found.first} has {found.first_has}, {found.second} has {found.second_has}"
            text = f"{found.place}: {sides}\n{case!r}{''.join(map(_wrote, (first, other)))}"
            kind = symptom(name, first, other, found, case.program.tree)
            self._differ(kind, Disagreement(text, case, kind.partition(",")[0]), filled)
        self.tally.runs += len(runs)
        self.tally.cases += 1
        self.tally.faults += first.fault is not None

    def _explore(self, one: Dealt) -> None:
        """Explore a program on both machines. A Disagreement if they differ, unless differences are collected."""
        case = one.group[0]
        bound = refill(one.bound[0][1], case.inputs)
        explored = explore_both(bound, self.asked.max_states, tolerance=self.asked.tolerance)
        if explored is None:
            return
        self.tally.explored += 1
        self.tally.complete += explored.complete
        if found := explored.difference:
            sides = f"{found.first} has {found.first_has}, {found.second} has {found.second_has}"
            text = f"{found.place}: {sides}\n{case!r}"
            kind = f"{found.second}: {found.place}"
            self._differ(kind, Disagreement(text, case, kind), one.bound)

    def _differ(self, bucket: str, found: Disagreement, variants: Sequence[tuple[str, Elaborated]]) -> None:
        """Raise a difference, or put it into its bucket if differences are collected."""
        if not self.asked.collect:
            raise found
        self.tally.note(bucket, Bucket(1, str(found)))
        if self.tally.buckets[bucket].smallest == str(found):
            self.differing[bucket] = found, [label for label, _ in variants]

    def _runs(self, variants: Sequence[tuple[str, Elaborated]]) -> Iterator[tuple[str, Ending]]:
        """Run a case on all engines; yields the name of the engine and how each run ended. Skipped runs are noted."""
        finite = all(map(_finite, variants[0][1].inputs.values()))
        for number, (label, bound) in enumerate(variants):
            oracles = [(engine, 1, "") for engine in self.oracles] if number == 0 else []
            subjects = [(engine, self.asked.repeat, f"{engine.name} ({label})") for engine in self.subjects]
            for engine, repeat, name in (*oracles, *subjects):
                try:
                    if not (finite or _has(engine, "nonfinite")):
                        raise InputError("an input has Inf or NaN, and the engine is not `nonfinite`")
                    for _ in range(repeat):
                        if engine.name in self.hung:
                            raise InputError("it has exceeded its time on this program")
                        run = run_to_end(bound, engine, name, prepare=engine.name in self.alone)
                        if run.hung:
                            self.hung.add(engine.name)
                            self.hangs += 1
                        yield engine.name, run
                except Undecided:
                    raise
                except InputError as error:
                    self.tally.skipped[f"{engine.name}: {shape(error.message)}"] += 1


def _draw(
    cases: st.SearchStrategy[list[Case]],
    picks: st.SearchStrategy[list[int]],
    deal: Callable[[list[Case], list[int]], Dealt],
    examples: int,
    number: int,
    see: Callable[[Dealt], None],
) -> None:
    """Draw programs with a seed. If `see` raises an error, Hypothesis finds the simplest program that raises it."""
    quiet = settings(
        max_examples=examples, database=None, deadline=None, print_blob=False, suppress_health_check=list(HealthCheck),
        phases=set(Phase) - {Phase.explain},  # which traces each line that runs, for a report that nobody reads
    )  # fmt: skip

    def each(group: list[Case], picked: list[int]) -> None:
        see(deal(group, picked))

    seed(number)(quiet(given(cases, picks)(each)))()


def _run(draw: Callable[[Callable[[Dealt], None]], None], runner: Runner) -> None:
    """Draw programs, prepare for them, and compare. A Disagreement over the simplest case, if two runs differ."""
    drawn: list[Dealt] = []
    draw(drawn.append)
    runner.prepare([bound for one in drawn for _, bound in one.bound])
    for number, one in enumerate(drawn, start=1):
        runner.say(f"campaign: program {number} of {len(drawn)} in this batch")
        try:
            runner.compare(one)
        except Disagreement as found:
            found = _simplify(draw, runner, one.group[0], found)
            raise _reduce(runner, found, [label for label, _ in one.bound]) from None
    for bucket, (shortest, labels) in runner.differing.items():
        raising = replace(runner, asked=replace(runner.asked, collect=False), tally=Tally(), hung=set())
        runner.tally.buckets[bucket].smallest = str(_reduce(raising, shortest, labels, TRIES_COLLECTED))
    gc.collect()  # frees what finished programs have reserved, as address space can run out


def _simplify(
    draw: Callable[[Callable[[Dealt], None]], None], runner: Runner, case: Case, found: Disagreement
) -> Disagreement:
    """Draw the same again, and from `case` on search for a simpler difference.

    After `HANGS` runs that exceed their time, it is the one with the shortest text so far.
    """
    met, most = False, runner.hangs + HANGS
    tried = count(1)

    def see(one: Dealt) -> None:
        nonlocal met, found
        runner.say(f"campaign: a difference, {next(tried)} simpler programs tried")
        met = met or repr(one.group[0]) == repr(case)
        if met and runner.hangs < most:
            try:
                runner.compare(one)
            except Disagreement as other:
                found = min(found, other, key=lambda each: len(str(each)))
                raise

    try:
        draw(see)
    except Disagreement as simplest:
        return simplest
    except Flaky:
        pass
    return found


def _reduce(runner: Runner, found: Disagreement, labels: Sequence[str], tries: int = TRIES) -> Disagreement:
    """The difference on a smaller case, of at most `tries` ones.

    It runs with the numbers of threads and the schedules that are named by `labels`.
    """
    tried = count(1)

    def differs(case: Case) -> bool:
        nonlocal found
        runner.say(f"campaign: a difference, {next(tried)} smaller cases tried")
        if runner.hangs:  # each further try may take all of its time
            return False
        every = dict(variants(case.program, runner.asked.threads, runner.asked.schedules))
        some = {label: every[label] for label in labels if label in every} or dict(list(every.items())[:1])
        try:
            bound = [(label, replace(case, program=variant).bind()) for label, variant in some.items()]
            runner.compare(Dealt([case], bound))
        except Disagreement as smaller:
            if smaller.kind != found.kind:
                return False
            found = smaller
            return True
        except WingspanError:
            return False
        return False

    reduce_case(found.case, differs, tries)
    return found


_LOCK = Lock()
_usual: list[tuple[int, int, int]] = []
"""the usual thresholds at the bottom, then one item for each further campaign that is running"""


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Let the garbage collector look for cycles a hundred times less often.

    Trees of programs and plans are freed without it, and traversing the live ones took a third of the time.
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


def _wrote(run: Ending) -> str:
    """The traceback of an engine that has raised, or the last lines of one whose process has ended, as a comment."""
    lines = "".join(f"\n#   {line}" for line in run.output.splitlines())
    return f"\n# {run.engine} output:{lines}\n" if lines else ""


def _has(engine: Engine, trait: str) -> bool:
    return bool(getattr(engine, trait, False))


def _finite(tensor: Tensor) -> bool:
    """Whether no element is Inf or NaN."""
    stored = tensor.to_coo()
    return stored.values.dtype.kind != "f" or bool(np.isfinite(stored.values).all() and np.isfinite(float(stored.fill)))


def _engines(engines: Sequence[str | Engine]) -> list[Engine]:
    found = [api.engine(one) if isinstance(one, str) else one for one in engines]
    return [Together() if one.name == "compiled" and isinstance(one, BuiltIn) else one for one in found]
