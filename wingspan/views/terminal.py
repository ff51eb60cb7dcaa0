"""Reports as text. It reads the same without colours; no line is wrapped or cropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from wingspan.base.errors import Diagnostic, Mark, Span
from wingspan.explorer.incident import Deadlock, FaultReport, Incident
from wingspan.explorer.properties import PropertyReport
from wingspan.explorer.verdict import UNCOMPARED, AccessReport, Race
from wingspan.lang import ir
from wingspan.lang.algebra import show
from wingspan.lang.devices import Device
from wingspan.lang.printer import value
from wingspan.results.listing import chance, listing, listings, share
from wingspan.results.outcome import Outcome
from wingspan.results.words import VERBS, written_indices
from wingspan.views.incident import incident
from wingspan.views.steps import counterexample
from wingspan.views.values import BOUNDS, count, differences, digits, reach, seconds, task
from wingspan.views.view import DistinctResult, Explored, ExploreReport, ReplayReport, SightingReport

if TYPE_CHECKING:
    from wingspan.accesses import LogAccess
    from wingspan.api import Judged, Run, Sighted
    from wingspan.results.comparison import Comparison
    from wingspan.results.histogram import Histogram
    from wingspan.tensors.tensor import Tensor

MOST = 8
"""Races, faults, deadlocks and results shown, of each kind."""
MOST_ENDS = 20
"""Ends of racing runs shown."""
MOST_CELLS = 4
"""Cells listed of a race in a log."""
MOST_LINES = 40
"""Lines drawn of one tensor."""

KINDS = {
    "node": "the same index of the same fiber",
    "sibling": "different indices of the same fiber, which share this cell",
    "cousin": "different fibers of the level, which share this cell",
}
UNHARMED = ("safe", "holds", "unreached", "undefined", "incomplete")
"""Verdicts without a finding that has to be explained."""
NOUNS = {"always": "state", "ends": "result", "reach": "state"}
UNITS = {"dpor": "traces", "random": "runs", "pct": "runs"}
"""The units of a strategy's executions, where their number is informative."""

T = TypeVar("T")


def explore(report: ExploreReport, shown: ReplayReport | None = None) -> str:
    """The verdict and all that it rests on, parts separated by empty lines; `shown` is a counterexample to show."""
    verdict = report.verdict
    if verdict.verdict in UNHARMED:
        return "\n".join([headline(report), *align(_notes(report))])
    return "\n\n".join(
        [
            headline(report),
            *first_few(verdict.faults, "fault", lambda fault: _incident(fault, report)),
            *first_few(verdict.deadlocks, "deadlock", lambda deadlock: _incident(deadlock, report)),
            *first_few(verdict.races, "race", lambda race: _race(race, report)),
            *(
                _violation(asked, list(property_notes(asked, report)))
                for asked in verdict.properties
                if asked.answer == "violated"
            ),
            *(["\n".join(_results(report))] if report.endings else []),
            *(["\n".join(counterexample(shown, report.differing))] if shown else []),
            "\n".join(align(_notes(report))),
        ]
    )


def headline(report: ExploreReport) -> str:
    """The verdict in a line."""
    return f"{report.verdict.verdict}  {report.invocation.name}: {_summary(report)}"


def sighting(report: SightingReport) -> str:
    """One finding of a search that goes on, as its verdict will report it."""
    found = report.finding
    match found:
        case Race():
            return _race(found, report)
        case FaultReport() | Deadlock():
            return _incident(found, report)
        case PropertyReport(answer="reached"):
            return "\n".join([f"{found.text}: reached", *align(list(_decided_by(found, report)))])
        case PropertyReport():
            return _violation(found, list(_decided_by(found, report)))
    assert isinstance(found.outcome, Outcome)
    see = report.invocation.replay(found.interleaving)
    if report.expected is None:
        return f"another result: {listing(found.outcome)}\n  see  {see}"
    why = f"differs from the sequential result: {differences(found.outcome, report.expected)}"
    return f"wrong result: {listing(found.outcome)}\n  why  {why}\n  see  {see}"


def first_few(items: Sequence[T], noun: str, text: Callable[[T], str]) -> list[str]:
    """The texts of the first few, and how many more there are."""
    return [*map(text, items[:MOST]), *count_rest(len(items) - MOST, noun)]


def count_rest(more: int, noun: str, indent: str = "") -> list[str]:
    """A line with the number of those that are not shown; none if all are."""
    return [f"{indent}and {count(more, f'more {noun}')}: --json lists them all"] if more > 0 else []


def _summary(report: ExploreReport) -> str:
    verdict = report.verdict
    many = count(len(report.endings), "result")
    match verdict.verdict:
        case "safe" if report.expected is None:
            return f"{_ways(report)} one result; {_serial(report)}, so there is nothing to compare it with"
        case "safe":
            return f"{_ways(report)} the sequential result"
        case "wrong":
            return f"{_ways(report)} one result, which is not the sequential result"
        case "order-dependent":
            return f"no race, but {_ways(report)} {many}"
        case "holds":
            asked = "the property holds" if len(verdict.properties) == 1 else "all properties hold"
            return f"{asked} in {_interleavings(report)}, which give {many}"
        case "violated":
            return f"no race, but {_names(report, 'violated')} does not always hold; {many}"
        case "unreached":
            return f"no interleaving reaches {_names(report, 'unreached')}"
        case "undefined":
            return f"{_names(report, 'undefined')}: this has no value anywhere"
        case "incomplete":
            return "nothing wrong was found in a part of the interleavings, which proves nothing"
    found = (
        *_ends(report),
        (verdict.races, "race"),
        (report.endings, "result"),
    )
    return ", ".join(count(len(first_few), noun) for first_few, noun in found if first_few)


def _names(report: ExploreReport, answer: str) -> str:
    """The properties with an answer; of several the first, and how many more there are."""
    first, *others = [asked.text for asked in report.verdict.properties if asked.answer == answer]
    return f"{first}, as {len(others)} more," if others else first


def _interleavings(report: ExploreReport) -> str:
    total = report.verdict.interleavings
    if total is None:
        return "all interleavings"
    return "the only interleaving" if total == 1 else f"all {digits(total)} interleavings"


def _violation(asked: PropertyReport, notes: Sequence[tuple[str, str]]) -> str:
    """The report of a property that is violated."""
    aligned = tuple((key.ljust(6), text) for key, text in notes)
    return Diagnostic("error", "property", property_title(asked), notes=aligned).render()


def property_title(asked: PropertyReport) -> str:
    """The violation of a property in a line."""
    return f"{asked.text} does not hold {'of every result' if asked.kind == 'ends' else 'in every state'}"


def property_notes(asked: PropertyReport, report: ExploreReport) -> Iterator[tuple[str, str]]:
    """The frequency, values and command of a state or result that violates or reaches a property."""
    verdict, parts = report.verdict, []
    if asked.states is not None:
        total = len(verdict.results) if asked.kind == "ends" else verdict.states
        parts.append(f"{digits(asked.states)} of {count(total, NOUNS[asked.kind])}")
    if asked.interleavings is not None and verdict.interleavings is not None:
        parts.append(f"{digits(asked.interleavings)} of {count(verdict.interleavings, 'interleaving')}")
    if asked.probability is not None:
        parts.append(f"chance {chance(asked.probability)}")
    if parts:
        yield "in", ", ".join(parts)
    yield from _decided_by(asked, report)


def _decided_by(asked: PropertyReport, report: Explored) -> Iterator[tuple[str, str]]:
    """The values and the command of a state or result that violates or reaches a property."""
    if asked.values:
        import json

        yield "values", ", ".join(f"{name} = {json.dumps(held, default=str)}" for name, held in asked.values.items())
    if asked.interleaving is not None:
        yield "see", report.invocation.replay(asked.interleaving)


def _is_unknown(report: ExploreReport) -> bool:
    """Whether there is no sequential result to compare with, as it was not computed."""
    return any(what == UNCOMPARED for what, _ in report.verdict.left_out)


def _serial(report: ExploreReport) -> str:
    """The reason why there is no sequential result."""
    return f"the sequential result is {'unknown' if _is_unknown(report) else 'a fault'}"


def _ends(report: ExploreReport) -> tuple[tuple[Sequence[Incident], str], ...]:
    """The incidents that end runs without a result, and their name."""
    return (report.verdict.faults, "fault"), (report.verdict.deadlocks, "deadlock")


def _ways(report: ExploreReport) -> str:
    total, verdict = report.verdict.interleavings, report.verdict
    if not verdict.complete:
        return "the runs so far give"
    if total is None:
        return (
            f"all interleavings, {count(verdict.executions, 'trace')}, give"
            if verdict.strategy == "dpor"
            else "all give"
        )
    return "the only interleaving gives" if total == 1 else f"all {digits(total)} interleavings give"


def _notes(report: ExploreReport) -> list[tuple[str, str]]:
    verdict = report.verdict
    notes = []
    if verdict.verdict in UNHARMED:
        so_far = "" if verdict.complete else "  so far"
        notes += [("result", listing(ending.outcome) + so_far) for ending in report.endings[:MOST]]
        notes += [("", text) for text in count_rest(len(report.endings) - MOST, "result")]
    for asked in verdict.properties:
        if asked.answer != "violated":
            notes += [(asked.kind, f"{asked.text}: {asked.answer}"), *_shows_if_reached(asked, report)]
    if report.expected is None and verdict.faults:
        notes.append(("serial", f"{_serial(report)}{', too' * (not _is_unknown(report))}"))
    elif report.expected is not None and report.endings and not any(ending.serial for ending in report.endings):
        notes.append(("serial", listing(report.expected)))
    if verdict.verdict == "safe" and verdict.machine == "semantics":
        notes.append(("values", "exact: 64-bit integers and rationals, so results never differ merely by rounding"))
    elif verdict.machine == "native" and verdict.verdict in ("safe", "wrong", "order-dependent"):
        notes.append(("values", "64-bit integers and doubles, which are rounded where the sequential result is exact"))
    unit = UNITS.get(verdict.strategy, "executions").removesuffix("s")
    states = count(verdict.states, "state") + (" up to names of tasks" if verdict.symmetry else "")
    covered = f"{states}, {count(verdict.steps, 'step')}, {count(verdict.executions, unit)}"
    why = f", as {verdict.reason}" if verdict.reason else ""
    many = f", {verdict.processes} processes" if verdict.processes > 1 else ""
    method = f"strategy {verdict.strategy}{why}{many}; machine {verdict.machine}"
    if verdict.remark:
        notes.append(("bound", verdict.remark))
    notes += [("left out", f"{what} ({BOUNDS.get(bound, bound)})") for what, bound in verdict.left_out]
    if verdict.told_apart:
        notes.append(("symmetry", f"none: {verdict.told_apart}"))
    notes.append(("search", f"{reach(verdict)}: {covered}, in {seconds(verdict.seconds)} ({method})"))
    return notes


def _shows_if_reached(asked: PropertyReport, report: ExploreReport) -> list[tuple[str, str]]:
    return list(property_notes(asked, report)) if asked.answer == "reached" else []


def align(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of keys and texts, the texts below each other."""
    width = max((len(key) for key, _ in notes), default=0)
    return [f"  {key:<{width}}  {text}" for key, text in notes]


# ---------------------------------------------------------------------------------------------------- what went wrong


def _incident(found: Incident, report: Explored) -> str:
    return incident(found, report.program, report.invocation)


def _race(race: Race, report: Explored) -> str:
    first, second = race.first, race.second
    one, other = _task(first, report), _task(second, report)
    does = f"{one} {VERBS[first.operation]} {race.cell}"
    then = f"{other} may {second.operation.replace('atomic ', 'atomically ')} it"
    same = first.span == second.span
    marks = [] if same or second.span is None else [Mark(second.span, f"{then} at the same time")]
    padded = tuple((key.ljust(6), text) for key, text in race_notes(race, report))
    label = f"{does} while {then}" if same else does
    return Diagnostic(
        "error", "race", race_title(race, report), first.span, label, (*marks, *_loop(race, report)), padded
    ).render()


def race_notes(race: Race, report: Explored) -> tuple[tuple[str, str], ...]:
    """The two sides of a race, its kind, and the command that leads there."""
    first, second = race.first, race.second
    sides = table([_side(_task(first, report), first, race), _side(_task(second, report), second, race)], 0)
    return (
        ("first", sides[0].strip()),
        ("second", sides[1].strip()),
        ("kind", _kind(race)),
        ("see", report.invocation.replay(race.interleaving)),
    )


def _loop(race: Race, report: Explored) -> list[Mark]:
    """The loop that started the two tasks, unless its line is shown already."""
    loop = report.parallel_loop(race)
    if loop is None or loop.span is None or loop.span.line in _lines(race.first.span, race.second.span):
        return []
    assert isinstance(loop.range, ir.Parallel) and isinstance(loop.range.device, Device)
    return [Mark(loop.span, f"these iterations run on {count(loop.range.device.nthreads, 'thread')}")]


def _kind(race: Race) -> str:
    """In one phrase what makes two accesses to a cell a node, sibling or cousin dependence."""
    if race.kind == "node" and race.first.index is None:
        return "node: the same position of the same level"
    return f"{race.kind}: {KINDS[race.kind]}" if race.kind else "the same variable"


def race_title(race: Race, report: Explored) -> str:
    """The headline of a race: the two statements, and where they race."""
    one, other = (report.statement(access) for access in (race.first, race.second))
    kind = f"a {race.kind} race" if race.kind else "a race"
    names = [one.text if one else race.first.rule, other.text if other else race.second.rule]
    if one != other and names[0] == names[1]:
        names = [f"{name} (line {line})" for name, line in zip(names, _lines(one, other), strict=False)]
    return f"{names[0]} races with {'itself' if one == other else names[1]}: {kind} on {_place_text(race)}"


def _lines(*spans: Span | None) -> list[int]:
    return [span.line for span in spans if span is not None]


def _place_text(race: Race) -> str:
    if race.level is None:
        return f"the variable {race.tensor}"
    return f"level {race.level} {race.level_name} of {race.tensor}"


def _task(access: AccessReport, report: Explored) -> str:
    return task(access.task, written_indices(access.indices, report.program))


def _side(who: str, access: AccessReport, race: Race) -> list[str]:
    """One access, ready to be compared with the other."""
    place = [] if race.level is None else [_place_text(race)]
    place += [] if access.position is None else [f"position {access.position}"]
    place += [] if access.index is None else [f"index {access.index}"]
    return [who, access.rule, f"{VERBS[access.operation]} {race.cell}", ", ".join(place)]


# ------------------------------------------------------------------------------------------------------------ results


def _results(report: ExploreReport) -> list[str]:
    """A table of the results, the most frequent first, all but the sequential result with the command for it."""
    shown, varying = report.endings[:MOST], report.differing
    texts = listings([ending.outcome for ending in shown], varying or None)
    rows = [["result", ""], *([text, _remark(ending, report)] for text, ending in zip(texts, shown, strict=True))]
    left = _shares(report, shown)
    rows = [[*one, *other] for one, other in zip(left, [*rows, *[["", ""]] * (len(left) - len(rows))], strict=True)]
    if len(left) > len(shown) + 1:
        instead = " or ".join(f"a {noun}" for some, noun in _ends(report) if some)
        rows[-1][-2] = f"none, but {instead}"
    lines = [f"results: {_distinct(report)}"]
    sees = ["", *("" if ending.serial else report.invocation.replay(ending.interleaving) for ending in shown)]
    for line, see in zip_longest(table(rows, len(left[0])), sees):
        lines += [line, f"      see  {see}"] if see else [line]
    return [*lines, *count_rest(len(report.endings) - MOST, "result", "  ")]


def _shares(report: ExploreReport, shown: Sequence[DistinctResult]) -> list[list[str]]:
    """For each of the results how often it comes about; a heading before, and what ends without a result after them.

    Interleavings if they are counted, with how likely each result is when tasks are picked at random; else traces or
    runs, if they were; the runs of other searches mean nothing.
    """
    verdict = report.verdict
    if verdict.interleavings is not None:
        total, of = verdict.interleavings, {id(e): e.interleavings or 0 for e in report.endings}
        rows = [["share", "chance", "interleavings"]]
        rows += [[share(of[id(e)], total), chance(e.probability or 0), digits(of[id(e)])] for e in shown]
        lost, missed = total - sum(of.values()), 1 - sum(e.probability or 0 for e in report.endings)
        return [*rows, [share(lost, total), chance(missed), digits(lost)]] if lost else rows
    if verdict.strategy not in UNITS or not verdict.executions:
        return [[] for _ in range(len(shown) + 1)]
    total = verdict.executions
    rows = [["share", UNITS[verdict.strategy]]]
    rows += [[share(e.executions, total), digits(e.executions)] for e in shown]
    lost = total - sum(e.executions for e in report.endings)
    return [*rows, [share(lost, total), digits(lost)]] if lost else rows


def _distinct(report: ExploreReport) -> str:
    total, varying = report.verdict.interleavings, report.differing
    text = digits(len(report.endings)) + ("" if report.verdict.complete else " so far")
    text += "" if total is None else f", from {count(total, 'interleaving')}"
    return text + (f"; they differ in {', '.join(varying)}" if varying else "")


def _remark(ending: DistinctResult, report: ExploreReport) -> str:
    """The relation of a result to the sequential result, or to the most frequent one if there is none."""
    if ending.serial:
        return "the sequential result"
    if report.expected is not None:
        return f"differs from the sequential result: {differences(ending.outcome, report.expected)}"
    if ending is report.endings[0]:
        return _serial(report)
    return f"differs from the first: {differences(ending.outcome, report.endings[0].outcome)}"


def table(rows: Sequence[Sequence[str]], right: int) -> list[str]:
    """Rows with their columns aligned, the first few to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if k < right else "<" for k in range(len(widths))]
    texts = ([f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows)
    return [("  " + "  ".join(text)).rstrip() for text in texts]


# ---------------------------------------------------------------------------------------------------------------- run


def run(run: Run) -> str:
    """The tensors drawn, each with its name, and the variables."""
    parts = [_drawing(name, tensor) for name, tensor in run.tensors.items()]
    if run.variables:
        parts.append("\n".join(f"{name} = {show(held)}" for name, held in sorted(run.variables.items())))
    return "\n\n".join(parts)


def _drawing(name: str, tensor: Tensor) -> str:
    return shorten(f"{name} = {tensor}")


def shorten(drawing: str) -> str:
    """A drawing of one tensor that is not too long."""
    lines = drawing.splitlines()
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], *([f"… {count(more, 'more line')}"] if more > 0 else [])])


# --------------------------------------------------------------------------------------------------------------- diff


def diff(comparison: Comparison, file: str) -> str:
    """Whether the engines agree, and the first difference."""
    runs = count(len(comparison.endings), "run")
    faults = dict.fromkeys((end.engine, end.fault) for end in comparison.endings if end.fault)
    notes = [("fault", f"{name}: {message}") for name, message in faults]
    notes += [("left out", f"{name}: {why}") for name, why in comparison.left_out.items()]
    notes += [("output", f"{end.engine}: {line}") for end in comparison.endings for line in end.output.splitlines()]
    if explored := comparison.explored:
        states = ", ".join(f"{count(n, 'state')} of {name}" for name, n in explored.states.items())
        bound = f"incomplete, stopped by {BOUNDS[explored.stopped_by]}: " if explored.stopped_by else "complete: "
        notes.append(("explored", bound + states))
    found = comparison.difference
    if found is None:
        return "\n".join([f"same  {file}: {', '.join(comparison.engines)} agree, {runs}", *align(notes)])
    has = [(found.first, found.first_has), (found.second, found.second_has)]
    rows = [[name, x if isinstance(x, str) else value(x)] for name, x in has]  # in full: they differ
    return "\n".join([f"differ  {file}: {found.place}", *table(rows, 0), *align(notes)])


# ------------------------------------------------------------------------------------------------------------- stress


def stress(histogram: Histogram, file: str) -> str:
    """The counts of the ends of runs, beside the prediction."""
    seen = [one for one in histogram.observed if one.runs]
    ends = f"{count(histogram.runs, 'run')} by {histogram.engine} ended in {count(len(seen), 'way')}"
    surprising = (
        {"plain": "not predicted"}.get(histogram.mode, "NOT PREDICTED") if histogram.verdict.complete else "unknown"
    )
    rows = [
        [digits(one.runs), share(one.runs, histogram.runs), "predicted" if one.predicted else surprising, _end(one.end)]
        for one in histogram.observed[:MOST_ENDS]
    ]
    stopped = histogram.verdict.stopped_by
    bound = f"the search was stopped by {BOUNDS[stopped]}, and predicts only what it found" if stopped else ""
    tail = count_rest(len(histogram.observed) - MOST_ENDS, "way", "  ")
    tail += [f"  {bound}"] if bound else []
    head = "surprise" if histogram.surprises and histogram.mode != "plain" else "ran"
    return "\n".join([f"{head}  {file}: {ends}, of {len(histogram.observed)} known", *table(rows, 2), *tail])


def _end(end: Outcome | str) -> str:
    return listing(end) if isinstance(end, Outcome) else f"a fault: {end}"


def judge(judged: Judged, file: str) -> str:
    """The races of a log, whether they are predicted, and what is predicted besides."""
    if judged.stopped_by and not judged.accesses:
        stopped_by = BOUNDS[judged.stopped_by]
        return f"no race so far  {file}: nothing is examined\n  stopped by {stopped_by} while the log was read"
    where = f"{count(judged.accesses, 'access')} of {count(judged.tasks, 'task')}"
    if judged.stopped_by:
        where = f"the first {digits(judged.examined)} of {where}"
    none = "no race so far" if judged.stopped_by else "no race"
    head = (
        f"race  {file}: {count(len(judged.races), 'race')} in {where}" if judged.races else f"{none}  {file}: {where}"
    )
    stopped = judged.verdict.stopped_by if judged.verdict else None
    bound = [f"  the search was stopped by {BOUNDS[stopped]}, and predicts only what it found"] if stopped else []
    if judged.stopped_by:
        bound = [f"  stopped by {BOUNDS[judged.stopped_by]}: accesses after these are not examined, and may race"]
    unseen = [f"  exploring predicts a race on {name}, which the log does not show" for name in judged.unseen]
    racing = {cell for one in judged.races for cell in one.cells}
    quiet = [one for one in judged.beyond if one.cell not in racing]
    beyond = first_few(quiet, "cell", lambda one: f"  line {one.line}: the program has no {one.cell}: {one.extents}")
    return "\n".join(
        [head, *first_few(judged.races, "race", lambda one: _judge_lines(one, judged)), *beyond, *unseen, *bound]
    )


def _judge_lines(one: Sighted, judged: Judged) -> str:
    """The two sides of a race, the later one first, as ThreadSanitizer has them; and the other cells."""
    first, second = one.race.first, one.race.second
    headline = "  ".join([describe_log_access(second, f" of {second.cell}"), *log_race_prediction(one, judged)])
    details = [f"previous {describe_log_access(first)}", *log_race_cells(one)]
    return "\n".join([f"  {headline}", *(f"    {line}" for line in details)])


def log_race_prediction(one: Sighted, judged: Judged) -> list[str]:
    """Whether exploring predicts a race in a log, if there is a program."""
    if judged.verdict is None:
        return []
    extents = next((each.extents for each in judged.beyond if each.cell == one.race.cell), "")
    beyond = f": the program has no {one.race.cell}: {extents}" if extents else ""
    return [{True: "predicted", False: "not predicted", None: "unknown"}[one.predicted] + beyond]


def log_race_cells(one: Sighted) -> list[str]:
    """The cells on which two statements race, if there are several."""
    more = len(one.cells) - MOST_CELLS
    cells = ", ".join(one.cells[:MOST_CELLS]) + (f" and {digits(more)} more" if more > 0 else "")
    return [f"on {count(len(one.cells), 'cell')}: {cells}"] if len(one.cells) > 1 else []


def describe_log_access(access: LogAccess, of: str = "") -> str:
    """An access in words, with its place in the source, if it is known, and its line in the log."""
    task = f"task {access.task}" if access.task else "the root task"
    place = f" at {access.place}" if access.place else ""
    return f"{access.operation_in_words}{of} by {task}{place} (line {access.span.line} of the log)"
