"""Parallel placements: every set of parallel loops that the level dependence test accepts, ranked by estimate.

The program is first made serial and its modifiers left out. Then loops of which none is inside another one are made
parallel, on one device, with a static and with a dynamic schedule; if nested devices are asked for, also loops inside
of each other, one on each device. If the test finds something in a tensor, each single
modifier is tried anywhere in its format, and Atomic at its leaf; where one does not suffice but fixes something and
breaks nothing, a second one. Formats that extend an accepted one are left out: what is safe without a modifier is only
slower with it. At the end the choices for all tensors are combined, and the test decides on the program as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations, islice, pairwise, product
from math import inf, prod
from typing import Any

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import ProgramError, Span, WingspanError
from wingspan.choices.counts import ExecutionCounts
from wingspan.choices.estimate import TimeEstimate, estimate, profitable_loops
from wingspan.dependence import changes
from wingspan.dependence.changes import Header, Layers, extends, formats, header_text, headers, with_modifiers
from wingspan.dependence.findings import Report, Test
from wingspan.dependence.retest import Retest, names_of
from wingspan.elaborate import Elaborated, elaborate
from wingspan.lang import ir
from wingspan.lang.devices import THREADS, thread_counts
from wingspan.lang.printer import show
from wingspan.program import Program

Threads = int | Sequence[int]
"""The number of threads of a device, or of each of nested ones, outermost first."""

CHUNKS = 32
"""About how many chunks each thread takes of a loop with a dynamic schedule."""

SETS = 64
"""The most sets of loops to try, single loops first."""

COMBINED = 64
"""The most combinations of formats to try for a set of loops and a schedule."""


@dataclass(frozen=True)
class Placement:
    """A program that the test accepts, and what it is expected to take."""

    program: Program
    estimate: TimeEstimate
    loops: tuple[str, ...]
    """the headers of its parallel loops as text; none in the serial program"""
    schedule: str
    formats: tuple[str, ...]
    """the definitions of the tensors that have modifiers, as text"""

    @property
    def description(self) -> str:
        """One line on what differs from the serial program."""
        return "; ".join((*self.loops, *self.formats)) or "serial"


@dataclass(frozen=True)
class RejectedLoops:
    """Loops that are parallel in no accepted program with a schedule."""

    loops: tuple[str, ...]
    schedule: str
    reasons: tuple[str, ...]
    """the test's reasons against the program without modifiers"""


@dataclass(frozen=True)
class Choices:
    """The accepted programs and the rejected loops.

    Attributes:
        placements: the accepted programs, best first; the serial one is among them.
        rejected: sets of loops that are not parallel in any of them.
        complete: False if there were more sets of loops or combinations of formats than are tried, or the budget was
            spent.
        params: those of the parameters that the serial program has, which all of them take.
        assumed: inputs, parameters and extents that are open, for which estimates rest on assumptions.
    """

    placements: tuple[Placement, ...]
    rejected: tuple[RejectedLoops, ...]
    complete: bool
    params: Mapping[str, Any]
    assumed: tuple[str, ...]

    @property
    def serial(self) -> Placement:
        """The program without parallel loops."""
        return next(each for each in self.placements if not each.loops)


def placements(program: Program, threads: Threads, **given: Any) -> list[Placement]:
    """The placements of a program on so many threads, best first. Arguments and errors: as `choices`."""
    return list(choices(program, threads, **given).placements)


def choices(
    program: Program,
    threads: Threads,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    test: Test = "repaired",
    quick: bool = False,
    budget: Budget | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Choices:
    """Every placement of `parallel` and modifiers in a program that the test accepts.

    Args:
        program: the program as written. Its parallel loops and modifiers are left out first.
        threads: the number of threads of the device that the loops run on; or those of nested devices, outermost first,
            beside one device with as many threads as they have together.
        inputs, params: as for `wingspan.api.bind`. The verdicts hold for all inputs, and for these parameters; the
            estimates are for these inputs, and rest on assumptions about what is not given (`wingspan.choices.counts`).
        test: the test that must accept a program.
        quick: only the best placement is asked for: leave out loops that do not pay by estimate, and of loops side by
            side try only all outermost ones together, and those that are best alone.
        budget: its steps are taken for tests of programs; the serial one is tested in any case.
        progress: called with the number of programs tried, and 0.

    Raises:
        ProgramError: the program has no meaning, or is too large to compare its accesses, or the test does not even
            accept the serial program (topic `unsafe`).
        InputError: an input or a parameter does not fit.
    """
    search = _PlacementSearch(program, threads, inputs or {}, params or {}, test, budget or Budget(), progress)
    search.accept_serial()
    loops = [loop for loop in headers(search.tree) if not quick or loop.node.span in search.profitable_loops]
    if quick:
        search.try_outermost(loops)
    search.try_sets((loop,) for loop in loops)
    hopeful = sorted((loop for loop in loops if loop.number in search.alone), key=lambda at: search.alone[at.number])
    if len(search.devices) > 1:
        search.try_sets(_chains(hopeful, len(search.devices)))
    beside = _independent_sets(hopeful)
    nests = sum(not loop.around for loop in loops)
    search.try_sets(islice(beside, max(nests - 1, 0)) if quick else beside)
    ranked = sorted(search.found, key=lambda each: (each.estimate.time, each.estimate.work))
    return Choices(tuple(ranked), tuple(search.rejected), search.complete, search.retest.params, search.data.symbols)


def _independent_sets(loops: Sequence[Header]) -> Iterator[tuple[Header, ...]]:
    """Sets of several loops of which none is inside another one, those of the first ones first."""

    def sets(rest: Sequence[Header]) -> Iterator[tuple[Header, ...]]:
        if rest:
            first, *others = rest
            apart = [each for each in others if first.number not in each.around and each.number not in first.around]
            yield from ((first, *more) for more in chain([()], sets(apart)))
            yield from sets(others)

    return (found for found in sets(loops) if len(found) > 1)


def _chains(loops: Sequence[Header], length: int) -> Iterator[tuple[Header, ...]]:
    """Chains of so many nested loops, outermost first."""
    ordered = sorted(loops, key=lambda loop: len(loop.around))
    for found in combinations(ordered, length):
        if all(outer.number in inner.around for outer, inner in pairwise(found)):
            yield found


class _PlacementSearch:
    def __init__(
        self,
        program: Program,
        threads: Threads,
        inputs: Mapping[str, Any],
        params: Mapping[str, Any],
        test: Test,
        budget: Budget,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.devices = thread_counts(threads)
        self.threads = max(*self.devices, min(prod(self.devices), THREADS))
        elaborate(program.tree, program.folder, inputs, params, self.threads, symbolic=True)  # with its own mistakes
        self.program, self.progress = program, progress
        self.tree = changes.sequential(program.tree)
        unknown = {name for name in params if name not in names_of(self.tree)}
        left = {name: value for name, value in params.items() if name not in unknown}
        self.data = elaborate(self.tree, program.folder, inputs, left, None, symbolic=True)
        open_ = elaborate(self.tree, program.folder, {}, left, None, symbolic=True) if inputs else self.data
        self.budget = budget
        self.retest = Retest(self.tree, program.folder, open_, left, None, test, budget)
        self.counts = ExecutionCounts(self.data)
        self.complete = True
        self.known: dict[ir.Program, tuple[Elaborated, Report] | None] = {}
        self.sets = 0
        self.found = [self.placement(self.tree, (), "")]
        self.rejected: list[RejectedLoops] = []
        self.alone: dict[int, float] = {}
        """for each loop that can be parallel alone, the least time that this is expected to take"""
        self.hopeless: set[tuple[int, str]] = set()

    def accept_serial(self) -> None:
        """ProgramError unless the test accepts the serial program: then no placement helps."""
        report = self.retest.report(self.retest.bind(self.tree))
        if report.verdict != "safe":
            first = report.findings[0]
            message = f"the level dependence test does not accept the program even where it is serial: {first.reason}"
            raise ProgramError(message, first.access, topic="unsafe", fix="use other formats: see `check` for some")

    def test(self, tree: ir.Program) -> tuple[Elaborated, Report] | None:
        """A program bound, and the report on it; None if it has no meaning, or the budget is spent."""
        if tree not in self.known:
            if not self.budget.spend():
                self.complete = False
                return None
            if self.progress is not None:
                self.progress(len(self.known), 0)
            try:
                bound = self.retest.bind(tree)
                self.known[tree] = bound, self.retest.report(bound)
            except WingspanError:
                self.known[tree] = None
        return self.known[tree]

    def try_sets(self, sets: Iterable[tuple[Header, ...]]) -> None:
        """Try sets of loops with both schedules, at most `SETS` of all."""
        for loops in sets:
            if self.sets == SETS or not self.budget.spend():
                self.complete = False
                return
            self.sets += 1
            for schedule in self.schedules(loops):
                if any((loop.number, schedule.kind) in self.hopeless for loop in loops):
                    continue
                made = list(self.place_loops(loops, schedule))
                accepted = [each for each in made if isinstance(each, Placement)]
                self.found += accepted
                self.rejected += [each for each in made if isinstance(each, RejectedLoops)]
                if len(loops) == 1:
                    (loop,) = loops
                    if accepted:
                        known = self.alone.get(loop.number, inf)
                        self.alone[loop.number] = min(known, *(each.estimate.time for each in accepted))
                    else:
                        self.hopeless.add((loop.number, schedule.kind))

    @cached_property
    def profitable_loops(self) -> set[Span]:
        """The loops for which it may pay to start threads."""
        return profitable_loops(self.data, self.threads)

    def schedules(self, loops: Sequence[Header]) -> Iterator[ir.ScheduleCall]:
        """Static; and dynamic, in chunks of which each thread takes about `CHUNKS` of the shortest loop."""
        yield ir.DEFAULT_SCHEDULE
        every = [s for s in self.data.plain.walk() if isinstance(s, ir.For)]
        shortest = min(self.counts.length(every[loop.number].range, {}) for loop in loops)
        yield ir.ScheduleCall("dynamic", ir.Literal(max(shortest // (self.threads * CHUNKS), 1)))

    def place_loops(self, loops: Sequence[Header], schedule: ir.ScheduleCall) -> Iterator[Placement | RejectedLoops]:
        """The accepted programs with these loops parallel, or why there is none."""
        base, ranges = self.base(loops, schedule)
        tested = self.test(base)
        if tested is None:
            return
        _, report = tested
        names = list(dict.fromkeys(finding.tensor for finding in report.findings))
        options = [list(self.options(base, T, report.about(T))) for T in names]
        made = 0
        for number, chosen in enumerate(product(*options)):
            if number == COMBINED:
                self.complete = False
                break
            program = changes.with_formats(base, dict(zip(names, chosen, strict=True)))
            after = self.test(program)
            if after is not None and after[1].verdict == "safe":
                made += 1
                yield self.placement(program, tuple(ranges), show(schedule))
        if not made and not self.budget.exceeded:
            reasons = dict.fromkeys(f"{finding.tensor}: {finding.reason}" for finding in report.findings)
            yield RejectedLoops(_show_headers(base, tuple(ranges)), show(schedule), tuple(reasons))

    def base(self, loops: Sequence[Header], schedule: ir.ScheduleCall) -> tuple[ir.Program, dict[int, ir.RangeLike]]:
        """The program with these loops parallel, and nothing else changed; and their ranges."""
        nested = len(loops) > 1 and loops[0].number in loops[1].around
        devices, defined = self.with_devices(self.devices if nested else (self.threads,))
        on = zip(loops, devices if nested else devices * len(loops), strict=True)
        ranges: dict[int, ir.RangeLike] = {
            loop.number: ir.Parallel(loop.serial, device, schedule) for loop, device in on if loop.serial
        }
        return changes.with_ranges(defined, ranges), ranges

    def try_outermost(self, loops: Sequence[Header]) -> None:
        """Try the outermost ones of some loops all together, if they need no modifiers."""
        numbers = {loop.number for loop in loops}
        outermost = [loop for loop in loops if numbers.isdisjoint(loop.around)]
        if len(outermost) > 1:
            base, ranges = self.base(outermost, ir.DEFAULT_SCHEDULE)
            tested = self.test(base)
            if tested is not None and tested[1].verdict == "safe":
                self.found.append(self.placement(base, tuple(ranges), show(ir.DEFAULT_SCHEDULE)))

    def with_devices(self, counts: Sequence[int]) -> tuple[list[ir.Variable], ir.Program]:
        """The program with devices of so many threads, each the parent of the next."""
        devices: list[ir.Variable] = []
        tree = self.tree
        for threads in counts:
            parent = devices[-1] if devices else None
            device, tree = changes.with_device(tree, ir.Cpu("", ir.Literal(threads), parent))
            devices.append(device)
        return devices, tree

    def options(self, base: ir.Program, T: str, before: Report) -> Iterator[Layers]:
        """The formats with one or two modifiers in which the test finds nothing in a tensor."""
        if T not in formats(base):
            return
        accepted: list[Layers] = []
        partial: list[tuple[ir.Program, Report]] = []
        for changed in dict.fromkeys(with_modifiers(base, T, formats(base)[T])):
            after = self.report_on_tensor(changed, T)
            if after is not None and not after.findings:
                accepted.append(formats(changed)[T])
            elif after is not None and after.problems < before.problems:
                partial.append((changed, after))
        yield from accepted
        for once, _ in partial:
            for changed in dict.fromkeys(with_modifiers(once, T, formats(once)[T])):
                layers = formats(changed)[T]
                if not any(extends(layers, fewer) for fewer in accepted):
                    after = self.report_on_tensor(changed, T)
                    if after is not None and not after.findings:
                        accepted.append(layers)
                        yield layers

    def report_on_tensor(self, tree: ir.Program, T: str) -> Report | None:
        """The report of the test on one tensor in a program; None if the program has no meaning."""
        tested = self.test(tree)
        return None if tested is None else tested[1].about(T)

    def placement(self, tree: ir.Program, loops: tuple[int, ...], schedule: str) -> Placement:
        """A program that the test accepts, with its estimate for the inputs that are given."""
        tested = self.known.get(tree)
        bound = self.retest.bind(tree) if tested is None else tested[0]
        expected = estimate(replace(bound, inputs=self.data.inputs))
        was = formats(self.tree)
        changed = [s for s in tree.body.statements if isinstance(s, ir.Define) and s.name in was]
        layers = formats(tree)
        definitions = tuple(show(s) for s in changed if changes.without_modifiers(layers[s.name]) != layers[s.name])
        return Placement(replace(self.program, tree=tree), expected, _show_headers(tree, loops), schedule, definitions)


def _show_headers(tree: ir.Program, loops: tuple[int, ...]) -> tuple[str, ...]:
    """The headers of loops, by their numbers."""
    every = headers(tree)
    return tuple(header_text(loop, every) for loop in every if loop.number in loops)
