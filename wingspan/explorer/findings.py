"""From the findings of a search to its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from time import monotonic
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.interleaving import format_interleaving
from wingspan.explorer.machine import Blocked, Step
from wingspan.explorer.properties import Answer, Property, PropertyReport
from wingspan.explorer.races import races_of, report_race
from wingspan.explorer.shortest import FindingPath, Shortest
from wingspan.explorer.stategraph import state_graph
from wingspan.explorer.states import Finding, States
from wingspan.explorer.verdict import FindingReport, Race, Result, Verdict, judge


@dataclass
class SearchStatistics:
    """Search statistics that are not stored per state."""

    strategy: str
    executions: int = 0
    ends: Counter[int] = field(default_factory=Counter)
    """the number of executions that ended in each node"""
    tallied: Mapping[int, tuple[int, float]] | None = None
    """the number of paths to each end node, and its probability; if all of them are known"""
    through: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    """for each property of states by its number, the number of paths through the nodes that show it, and their
    probability; if all of them are known"""
    interleavings: int | None = None
    reason: str = ""
    """the reason for this strategy, if `auto` selected it"""
    remark: str = ""
    """the meaning of its bound"""
    processes: int = 1
    """the number of processes that searched"""
    asymmetry: str = ""
    """the reason that tasks keep their names in all states although symmetry was requested"""
    elsewhere: int = 0
    """states that only other processes have reached, counted once for each process"""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """the missing parts of the verdict, each with the bound that ended the work on it"""
    unchecked: str = ""
    """the unchecked facts from the resumed checkpoint"""

    @staticmethod
    def from_ends(strategy: str, states: States[Any]) -> SearchStatistics:
        """The statistics of a search of states, where every end is one execution."""
        ends = states.ends()
        return SearchStatistics(strategy, len(ends), Counter(set(ends)))


def verdict(states: States[Any], covered: SearchStatistics, expected: Hashable | None, exact: bool) -> Verdict:
    """The verdict of a search. Its interleavings are the shortest known ones, or the shortest of all if `exact`.

    If the states are to be drawn, it has their graph.
    """
    states.finish()
    ways = _shortest_paths(states, covered, exact)
    complete = states.stopped_by is None
    results = [_result(states, covered, outcome, ways) for outcome in _in_order("result", states.finished, ways)]
    races = [_race(states, key, ways) for key in _in_order("race", states.races, ways)]
    faults = [_fault(states, key, ways) for key in _in_order("fault", states.faults, ways)]
    deadlocks = [_deadlock(states, key, ways) for key in _in_order("deadlock", states.deadlocks, ways)]
    properties = (*_of_states(states, covered, complete, ways), *_of_results(states, complete, results))
    return Verdict(
        verdict=judge(complete, expected, results, races, faults, deadlocks, properties),
        complete=complete,
        stopped_by=states.stopped_by,
        strategy=covered.strategy,
        machine=states.machine.name,
        executions=covered.executions,
        interleavings=covered.interleavings,
        states=states.nodes + covered.elsewhere,
        steps=states.steps,
        seconds=monotonic() - states.started,
        results=tuple(results),
        races=tuple(races),
        faults=tuple(faults),
        deadlocks=tuple(deadlocks),
        properties=properties,
        reason=covered.reason,
        remark=join_remarks(covered.unchecked, covered.remark),
        processes=covered.processes,
        symmetry=states.symmetry,
        told_apart=covered.asymmetry,
        left_out=tuple(covered.left_out),
        graph=state_graph(states) if states.drawn else None,
    )


def report_finding(states: States[Any], finding: Finding) -> FindingReport:
    """Report one finding of a search, with the path on which it was found. A result that violates a property is
    reported as this violation.
    """
    what, key = finding
    match what:
        case "race":
            return _race(states, key, {})
        case "fault":
            return _fault(states, key, {})
        case "deadlock":
            return _deadlock(states, key, {})
        case "property":
            number: Any = key
            state, tasks, _ = _shortest_path(states, finding, states.shown[number][0], (), {})
            return _report_property(states.properties[number], state, format_interleaving(tasks))
    result = _result(states, SearchStatistics(""), key, {})
    violated = next((asked for asked in states.of_results if asked.holds(key) is False), None)
    return result if violated is None else _report_property(violated, key, result.interleaving)


def _report_property(asked: Property, at: Any, interleaving: str) -> PropertyReport:
    """Report a property that a state or a result decides, before it is known how many others do."""
    answer: Answer = "reached" if asked.kind == "reach" else "violated"
    return PropertyReport(asked.kind, asked.text, answer, None, None, None, interleaving, asked.values(at))


def _shortest_paths(states: States[Any], covered: SearchStatistics, exact: bool) -> Mapping[Finding, FindingPath]:
    """The shortest paths; if a bound ends the search for them, those that are known, and otherwise the search's own.

    The shortest known paths can be found even where no new state may be entered.
    """
    shortest = Shortest(states, follow=exact)
    try:
        return shortest.find()
    except Stopped as stopped:
        covered.left_out.append(("shortest interleavings: some that are shown are longer", stopped.bound))
        if not exact:
            return shortest.ways
        known = Shortest(states)
        with suppress(Stopped):
            known.find()
        return known.ways or shortest.ways


def join_remarks(*remarks: str) -> str:
    """Remarks as one."""
    return "; ".join(filter(None, remarks))


def _in_order(kind: str, found: Iterable[Any], ways: Mapping[Finding, FindingPath]) -> list[Any]:
    """Findings in the order of their paths, shortest first."""
    known = [key for each, key in ways if each == kind]
    return [*known, *(key for key in found if (kind, key) not in ways)]


def _shortest_path(
    states: States[Any], finding: Finding, node: int, who: tuple[str, ...], ways: Mapping[Finding, FindingPath]
) -> FindingPath:
    """A shortest path to a finding; if none is known, the path on which it was found."""
    return ways.get(finding) or Shortest(states).first_path(finding, node, who)


def _result(
    states: States[Any], covered: SearchStatistics, outcome: Hashable, ways: Mapping[Finding, FindingPath]
) -> Result:
    nodes = states.finished[outcome]
    interleavings, probability = None, None
    if covered.tallied is not None:
        interleavings = sum(covered.tallied[node][0] for node in nodes)
        probability = sum(covered.tallied[node][1] for node in nodes)
    return Result(
        outcome=outcome,
        interleavings=interleavings,
        interleaving=format_interleaving(_shortest_path(states, ("result", outcome), nodes[0], (), ways).tasks),
        executions=sum(covered.ends[node] for node in nodes),
        probability=probability,
    )


def _of_states(
    states: States[Any], covered: SearchStatistics, complete: bool, ways: Mapping[Finding, FindingPath]
) -> Iterator[PropertyReport]:
    for number, asked in enumerate(states.properties):
        absent: Answer = "unreached" if asked.kind == "reach" else "holds"
        nodes = states.shown.get(number, [])
        if not nodes:
            answer: Answer = "unknown" if not complete else absent if number in states.defined else "undefined"
            shown, through, chance = (0, 0, 0.0) if complete else (None, None, None)
            yield PropertyReport(asked.kind, asked.text, answer, shown, through, chance, None, {})
            continue
        through, chance = covered.through.get(number, (None, None))
        state, tasks, _ = _shortest_path(states, ("property", number), nodes[0], (), ways)
        yield PropertyReport(
            asked.kind,
            asked.text,
            "reached" if asked.kind == "reach" else "violated",
            None if covered.strategy == "dpor" else len(nodes),
            through,
            chance,
            format_interleaving(tasks),
            asked.values(state),
        )


def _of_results(states: States[Any], complete: bool, results: Sequence[Result]) -> Iterator[PropertyReport]:
    for asked in states.of_results:
        held = {result: asked.holds(result.outcome) for result in results}
        wrong = [result for result in results if held[result] is False]
        counted = all(result.interleavings is not None for result in results)
        counts = (
            len(wrong),
            sum(result.interleavings or 0 for result in wrong) if counted else None,
            sum(result.probability or 0.0 for result in wrong) if counted else None,
        )
        if wrong:
            first = wrong[0]
            yield PropertyReport(
                asked.kind, asked.text, "violated", *counts, first.interleaving, asked.values(first.outcome)
            )
            continue
        defined = any(each is not None for each in held.values()) or not results
        answer: Answer = "unknown" if not complete else "holds" if defined else "undefined"
        yield PropertyReport(asked.kind, asked.text, answer, *counts, None, {})


def _deadlock(states: States[Any], key: Any, ways: Mapping[Finding, FindingPath]) -> Deadlock:
    state, tasks, _ = _shortest_path(states, ("deadlock", key), states.deadlocks[key][0], (), ways)
    choices = (states.machine.step(state, task) for task in states.machine.tasks(state))
    return Deadlock(tuple(each for each in choices if isinstance(each, Blocked)), format_interleaving(tasks))


def _fault(states: States[Any], key: Any, ways: Mapping[Finding, FindingPath]) -> FaultReport:
    node, task = states.faults[key][0]
    state, tasks, (task,) = _shortest_path(states, ("fault", key), node, (task,), ways)
    step = states.machine.step(state, task)
    assert isinstance(step, Step) and isinstance(step.next, Fault)
    return FaultReport.from_step(step, step.next, format_interleaving(tasks))


def _race(states: States[Any], key: Any, ways: Mapping[Finding, FindingPath]) -> Race:
    node, one, other = states.races[key]
    state, tasks, who = _shortest_path(states, ("race", key), node, (one, other), ways)
    first, second = (states.machine.step(state, task) for task in who)
    assert isinstance(first, Step) and isinstance(second, Step)
    x, y = next((x, y) for each, x, y in races_of(first, second) if each == key)
    return report_race(first, x, second, y, format_interleaving(tasks))
