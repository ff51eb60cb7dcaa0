"""Reports as plain data: the terminal and JSON print the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from wingspan import api
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.explorer.incident import Incident
from wingspan.explorer.interleaving import Mismatch, Replay, parse_interleaving
from wingspan.explorer.machine import CellAccess, Indices, Step
from wingspan.explorer.verdict import AccessReport, FindingReport, Race, Result, Verdict
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.lang.pairs import Pair
from wingspan.lang.printer import device
from wingspan.levels import Tower
from wingspan.program import Program
from wingspan.results.outcome import Outcome, differing, to_plain_number
from wingspan.results.words import describe_accesses, written_indices

if TYPE_CHECKING:  # they take machines and engines, which a report on the dependence test does without
    from wingspan.api import Exploration, Sighting
    from wingspan.api.small import Small
    from wingspan.dependence import Finding, Report
    from wingspan.semantics.reads import LostUpdate

T = TypeVar("T")

CELL = "%%wingspan"
"""The program of an invocation by the magic of a notebook, whose cell is the program."""


@dataclass(frozen=True)
class Invocation:
    """A program and its options on the command line, from which a report prints commands that can be pasted."""

    file: str
    params: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    program: str = "wingspan"
    machine: str = "semantics"
    """the one whose interleavings the commands are about"""
    given: Program | None = None
    """the program, if `file` is `-`, standard input"""
    loaded: tuple[str, ...] = ()
    """the modules that were imported first"""
    drawn: Small | None = None
    """the values drawn for what it leaves open"""
    watched: tuple[str, ...] = ()
    """the properties of states that interleavings are about"""

    @property
    def name(self) -> str:
        """The name of the program in reports."""
        return self.given.name if self.given else self.file

    @property
    def runnable(self) -> Program | str:
        """The program as an argument of the functions of `wingspan.api`."""
        return self.given or self.file

    @property
    def binding(self) -> dict[str, Any]:
        """The arguments with which the functions of `wingspan.api` bind the program."""
        if self.drawn is None:
            return {"params": self.params, "inputs": self.inputs, "threads": self.threads}
        return self.drawn.binding(self.inputs, self.params, self.threads)

    def replay(self, interleaving: str) -> str:
        """The command that follows an interleaving of this program.

        >>> Invocation("a.ws", {"nt": "2"}, threads=3).replay("1*2,2")
        "wingspan replay a.ws -p nt=2 --threads 3 --interleaving '1*2,2'"
        >>> Invocation("a.ws", machine="native").replay("2,1")
        'wingspan replay a.ws --machine native --interleaving 2,1'
        """
        watched = [word for text in self.watched for word in ("--watch", text)]
        return self.command("replay", "--interleaving", interleaving, *watched)

    def explore(self) -> str:
        """The command that explores this program."""
        return self.command("explore")

    def check(self) -> str:
        """The command that puts this program to the level dependence test."""
        return self.command("check")

    def command(self, verb: str, *options: str) -> str:
        """The command that runs a verb on this program, bound as it is; in a notebook, that of its cell."""
        file = f"./{self.file}" if self.file.startswith("-") and self.given is None else self.file
        words = [*self.program.split(), verb, *([] if self.program == CELL else [file])]
        for flag, pairs in (("-p", self.params), ("-i", self.inputs)):
            words += [word for name, value in pairs.items() for word in (flag, f"{name}={value}")]
        words += [] if self.threads is None else ["--threads", str(self.threads)]
        words += [] if self.drawn is None else ["--small", str(self.drawn)]
        words += [word for name in self.loaded for word in ("--load", name)]
        words += [] if self.machine == "semantics" else ["--machine", self.machine]
        return shlex.join([*words, *options])


# ----------------------------------------------------------------------------------------------------------- explore


@dataclass(frozen=True)
class DistinctResult:
    """A distinct result, in how many interleavings or executions of the search it comes about, and a short one."""

    outcome: Outcome
    interleavings: int | None
    executions: int
    probability: float | None
    interleaving: str
    serial: bool | None
    """whether it is the sequential result; None if there is none to compare with"""


@dataclass(frozen=True)
class Explored:
    """A program, as it was given and as it is written, to explain what was found in it."""

    invocation: Invocation
    program: ir.Node
    """as written, to name its loops"""
    expected: Outcome | None

    def statement(self, access: AccessReport) -> Span | None:
        """The place of the statement that makes an access."""
        spans = [node.span for node in _path(self.program, access.span) if isinstance(node, STATEMENTS) and node.span]
        return spans[-1] if spans else access.span

    def parallel_loop(self, race: Race) -> ir.For | None:
        """The loop that started the two tasks of a race."""
        one, other = race.first.task.split("."), race.second.task.split(".")
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        path = _path(self.program, race.first.span)[:-1]
        loops = [node for node in path if isinstance(node, ir.For) and isinstance(node.range, ir.Parallel)]
        return loops[shared] if shared < len(loops) else None


@dataclass(frozen=True)
class ExploreReport(Explored):
    """A verdict with what is needed to explain it; the results come most frequent first."""

    verdict: Verdict
    endings: tuple[DistinctResult, ...]
    towers: Mapping[str, Tower]
    inputs: Collection[str]
    """the tensors that the program is given"""

    @property
    def differing(self) -> list[str]:
        """The names on which the results differ."""
        return differing(ending.outcome for ending in self.endings)


@dataclass(frozen=True)
class SightingReport(Explored):
    """One finding of a search that goes on."""

    finding: FindingReport


STATEMENTS = (ir.Set, ir.Assign, ir.Declare, ir.For, ir.If, ir.Assert, ir.Freeze, ir.Thaw)


def _path(node: ir.Node, span: Span | None) -> list[ir.Node]:
    """The nodes from this one to the first that stands at a span; none if nothing does."""
    if node.span is not None and node.span == span:
        return [node]
    below = next(filter(None, (_path(part, span) for part in node.children())), None)
    return [node, *below] if below else []


def exploration_report(exploration: Exploration, invocation: Invocation) -> ExploreReport:
    """The report on an exploration."""
    verdict, expected = exploration.verdict, exploration.expected
    endings = tuple(_ending(result, expected) for result in verdict.frequent)
    program = exploration.program
    return ExploreReport(
        invocation, program.plain, expected, verdict, endings, program.towers, frozenset(program.inputs)
    )


def sighting_report(sighting: Sighting, invocation: Invocation) -> SightingReport:
    """The report on a finding of a search that goes on."""
    return SightingReport(invocation, sighting.program.plain, sighting.expected, sighting.finding)


def _ending(result: Result, expected: Outcome | None) -> DistinctResult:
    assert isinstance(result.outcome, Outcome)
    serial = None if expected is None else result.outcome == expected
    return DistinctResult(
        result.outcome, result.interleavings, result.executions, result.probability, result.interleaving, serial
    )


# ------------------------------------------------------------------------------------------------------------ replay


@dataclass(frozen=True)
class Action:
    """A step that was taken, without the states around it; `task` is 0 for the root."""

    task: str
    rule: str
    span: Span | None
    touches: tuple[CellAccess, ...]
    visible: bool
    indices: Indices = ()
    """the indices in force of the loops as written, outermost first; the machines report them for visible steps"""
    lost: LostUpdate | None = None
    """the update that the step overwrites"""

    @property
    def does(self) -> str:
        """Its accesses, in words; empty if it has none."""
        return describe_accesses(self.touches)


@dataclass(frozen=True)
class ReplayReport:
    """One run, step by step, and how it ended. `followed` is the number of visible steps that were asked for."""

    invocation: Invocation
    interleaving: str
    followed: int
    mismatch: Mismatch | None
    """the place and the reason of leaving the rest of the interleaving"""
    actions: tuple[Action, ...]
    places: tuple[Mapping[str, Span | None], ...]
    """the place of each task before each visible step, and at the end; tasks by name, 0 being the root"""
    end: str
    incident: Incident | None
    """the fault or the deadlock"""
    outcome: Outcome | None
    """None unless the run finished"""
    program: ir.Node
    """as written, to name its loops"""

    @property
    def visible(self) -> list[Action]:
        """The steps that other tasks can observe, as they are numbered."""
        return [action for action in self.actions if action.visible]

    @property
    def racing(self) -> CellAccess | None:
        """The cell on which the last two of the steps asked for race, if they do: both tasks could step before both."""
        first, second = ([None, None, *self.visible[: self.followed]])[-2:]
        if first is None or second is None or first.task == second.task:
            return None
        if second.task not in self.places[self.followed - 2]:
            return None
        return next((mine for mine in second.touches for theirs in first.touches if mine.races(theirs)), None)


def replay_report(run: Replay[Any], interleaving: str, program: ir.Node, invocation: Invocation) -> ReplayReport:
    """The report on a run that follows an interleaving; takes it to its end."""
    from wingspan.semantics.reads import NONE

    actions, places, reads = [], [], NONE
    for step in run:
        lost = None
        if step.visible:
            places.append(_standing(run))
            reads, lost = reads.after_step(step)
        actions.append(_action(step, program, lost))
    outcome = run.machine.outcome(run.state) if run.incident is None else None
    assert outcome is None or isinstance(outcome, Outcome)
    return ReplayReport(
        invocation=invocation,
        interleaving=interleaving,
        followed=run.followed,
        mismatch=run.mismatch,
        actions=tuple(actions),
        places=(*places, _standing(run)),
        end=str(run.end),
        incident=run.incident,
        outcome=outcome,
        program=program,
    )


def _action(step: Step[Any], program: ir.Node, lost: LostUpdate | None) -> Action:
    indices = tuple(written_indices(step.indices, program))
    return Action(step.task or "0", step.rule, step.span, step.footprint, step.visible, indices, lost)


def _standing(replay: Replay[Any]) -> dict[str, Span | None]:
    return {task or "0": choice.span for task, choice in replay.choices.items()}


LONGEST = 200
"""Visible steps of a counterexample that is followed."""


def counterexample(
    exploration: Exploration, report: ExploreReport, tick: Callable[[], None] = lambda: None
) -> ReplayReport | None:
    """The run to the first fault, deadlock, result that should not be there, or race; `tick` is called with each step.

    None if there is none, if nothing can be observed in it, or if it is longer than anybody reads.
    """
    found = next(iter(exploration.findings.values()), None)
    if found is None or not 0 < len(parse_interleaving(found)) <= LONGEST:
        return None
    machine, watched = exploration.verdict.machine, exploration.watched
    followed = api.replay(exploration.program, found, machine=machine, watch=watched)
    followed.tick = tick
    return replay_report(followed, found, report.program, report.invocation)


# ------------------------------------------------------------------------------------------------------------- check


@dataclass(frozen=True)
class CheckReport:
    """The report of the level dependence test, with the program as written, to name its loops and devices."""

    invocation: Invocation
    report: Report
    program: ir.Program

    @property
    def messages(self) -> list[list[Finding]]:
        """The findings in one message: one topic and one pair of accesses, over the levels of a tensor."""
        groups: dict[Any, list[Finding]] = {}
        for found in self.report.findings:
            loop = found.loop.span if found.loop else None
            groups.setdefault((found.topic, found.tensor, found.access, found.other, loop), []).append(found)
        return list(groups.values())

    def device(self, loop: ir.For) -> str:
        """The device of a parallel loop by its name in the program; `cpu(2)` if it has none."""
        assert isinstance(loop.range, ir.Parallel)
        for node in self.program.walk():
            match node:
                case ir.For(range=ir.Parallel(device=ir.Variable(name=name))) if node.span == loop.span:
                    return name
        d = loop.range.device
        return f"cpu({d.nthreads})" if isinstance(d, Device) else device(d)

    def written_facts(self, indices: Mapping[str, T]) -> dict[str, T]:
        """The facts about the loops that stand in the program as written."""
        return dict(written_indices(list(indices.items()), self.program))


# ------------------------------------------------------------------------------------------------------------ values


def number(value: Any) -> Any:
    """A value as JSON has it: a rational as the nearest double, or as text if it is beyond all doubles; a pair as two.

    >>> number(Fraction(1, 4)), number(True), number(Fraction(10) ** 400 / 3)[-4:]
    (0.25, True, '00/3')

    A lock that is taken holds the path of a task.

    >>> number("1.2"), number("")
    ('1.2', '0')
    """
    if isinstance(value, str):
        return value or "0"
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, Pair)):
        return value
    return to_plain_number(value) if isinstance(value, (Fraction, Pair)) else str(value)
