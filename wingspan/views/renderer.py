"""The renderer of results in Python: a line for each, the command line's text, HTML for notebooks, and JSON.

All that comes from programs is escaped. Pages need no script, and no style of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import singledispatch
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from wingspan.api import Exploration, Judged, Parallelized, Program, Run
from wingspan.api.sweeping import Sweep
from wingspan.base.errors import printable
from wingspan.dependence import Report
from wingspan.explorer.interleaving import Replay, format_interleaving
from wingspan.explorer.verdict import Verdict
from wingspan.lang.algebra import show
from wingspan.lang.keywords import KEYWORDS
from wingspan.results.comparison import Comparison
from wingspan.results.histogram import Histogram
from wingspan.results.listing import listing, listings, share
from wingspan.results.outcome import Outcome
from wingspan.results.tally import Tally
from wingspan.tensors.tensor import Tensor
from wingspan.views import findings, junit, lanes, sarif, steps, terminal
from wingspan.views import python_reports as reports
from wingspan.views.check import check
from wingspan.views.colours import Painter, console
from wingspan.views.json import to_dict as to_dict
from wingspan.views.parallelize import parallelize
from wingspan.views.sweep import sweep
from wingspan.views.values import count, digits
from wingspan.views.view import counterexample

if TYPE_CHECKING:
    from wingspan.api import Computed

GRID = 12
"""Matrices with more rows or columns are drawn as fibertrees."""

# ------------------------------------------------------------------------------------------------------------ one line


@singledispatch
def short(result: Any) -> str:
    """A result in one line."""
    raise NotImplementedError(type(result).__name__)


def _short_verdict(verdict: Verdict, name: str = "Verdict") -> str:
    kinds = (
        (verdict.faults, "fault"),
        (verdict.deadlocks, "deadlock"),
        (verdict.races, "race"),
        (verdict.results, "result"),
    )
    found = ", ".join(count(len(some), noun) for some, noun in kinds if some)
    reach = "complete" if verdict.complete else f"stopped by {verdict.stopped_by}"
    return f"<{name} {verdict.verdict}: {found}; {reach}, {count(verdict.states, 'state')}>"


@short.register
def _(tensor: Tensor) -> str:
    extents = "×".join(map(str, tensor.shape)) or "a number"
    return f"<Tensor {tensor.tower}: {extents}, {tensor.nnz:,} stored>"


@short.register
def _(comparison: Comparison) -> str:
    verdict = f"differ at {comparison.difference.place}" if comparison.difference else "same"
    return f"<Comparison {verdict}: {', '.join(comparison.engines)}>"


@short.register
def _(histogram: Histogram) -> str:
    seen = [one for one in histogram.observed if one.runs]
    return f"<Histogram of {count(histogram.runs, 'run')} by {histogram.engine}: {count(len(seen), 'end')}>"


@short.register
def _(parallelized: Parallelized) -> str:
    best = parallelized.candidates[0].placement.description
    return f"<Parallelized: {count(len(parallelized.candidates), 'program')}, the best {best}>"


short.register(Program, lambda program: f"<Program {program.name}: {count(len(str(program).splitlines()), 'line')}>")
short.register(Verdict, _short_verdict)
short.register(Exploration, lambda exploration: _short_verdict(exploration.verdict, "Exploration"))
short.register(
    Report, lambda report: f"<Report {report.verdict}: {count(len(report.findings), 'finding')}, test {report.test}>"
)
short.register(Replay, lambda run: f"<Replay {format_interleaving(run.interleaving)} on {run.machine.name}>")
short.register(Run, lambda run: f"<Run by {run.engine}: {', '.join(run) or 'nothing'}>")
short.register(Sweep, lambda sweep: f"<Sweep of {sweep.verb}: {count(len(sweep.points), 'point')}>")
short.register(
    Judged, lambda judged: f"<Judged: {count(len(judged.races), 'race')} in {count(judged.accesses, 'access')}>"
)


# ------------------------------------------------------------------------------------------------------------- as text


@singledispatch
def text(result: Any) -> str:
    """The report that the command line prints of a result, with calls in place of commands."""
    return repr(result)


@text.register
def _(exploration: Exploration) -> str:
    report = reports.exploration(exploration)
    return terminal.explore(report, counterexample(exploration, report))


@text.register
def _(verdict: Verdict) -> str:
    outcomes = [result for result in verdict.results if isinstance(result.outcome, Outcome)]
    rows = [
        *((listing(result.outcome), result.interleaving) for result in outcomes),
        *((race.cell, race.interleaving) for race in verdict.races),
        *((fault.message, fault.interleaving) for fault in verdict.faults),
        *((deadlock.message, deadlock.interleaving) for deadlock in verdict.deadlocks),
        *((f"{asked.text}: {asked.answer}", asked.interleaving or "") for asked in verdict.properties),
    ]
    return "\n".join((short(verdict)[1:-1], *terminal.table(rows, 0))) if rows else short(verdict)


@text.register
def _(replay: Replay) -> str:  # type: ignore[type-arg]
    report = reports.replay(replay)
    return repr(replay) if report is None else steps.replay(report)


text.register(Report, lambda report: check(reports.check(report)))
text.register(Run, terminal.run)
text.register(Comparison, lambda comparison: terminal.diff(comparison, "the program"))
text.register(Sweep, sweep)
text.register(Histogram, lambda histogram: terminal.stress(histogram, "the program"))
text.register(Judged, lambda judged: terminal.judge(judged, "the log"))
text.register(Parallelized, lambda parallelized: parallelize(parallelized, "the program"))


# ------------------------------------------------------------------------------------------------------------- as HTML


@singledispatch
def html(result: Any) -> str:
    """A result for a notebook: the command line's text with its colours, and what is better drawn than written."""
    from wingspan.api import Computed  # loads what chooses programs for expressions, which no other result needs

    return _expression_html(result) if isinstance(result, Computed) else preserve_colours(str(result))


MONOSPACED = "font-family:var(--jp-code-font-family,ui-monospace,monospace)"
"""The font of cells: without it, JupyterLab sets the text of results in one whose letters differ in width."""


def preserve_colours(text: str) -> str:
    """A text as it is, with the colours of the command line."""
    page = console(StringIO(), record=True, width=10_000, color_system="standard")
    page.print(Painter()(printable(text)), soft_wrap=True)
    frame = f'<pre style="{MONOSPACED};white-space:pre;overflow-x:auto;line-height:1.3">{{code}}</pre>'
    return page.export_html(inline_styles=True, code_format=frame)


_WORD = re.compile(rf"(?P<comment>#.*)|(?P<text>&quot;.*?&quot;)|\b(?P<word>{'|'.join(KEYWORDS)})\b")
_STYLE = {"comment": "color:#6a737d", "text": "color:#0a5", "word": "font-weight:bold;color:#0072b2"}


@html.register
def _(program: Program) -> str:
    def paint(match: re.Match[str]) -> str:
        return f'<span style="{_STYLE[str(match.lastgroup)]}">{match[0]}</span>'

    return f'<pre style="{MONOSPACED}">{_WORD.sub(paint, escape(str(program)))}</pre>'


@html.register
def _(exploration: Exploration) -> str:
    verdict = exploration.verdict
    report = reports.exploration(exploration)
    total = verdict.interleavings or sum(ending.executions for ending in report.endings)
    rows = []
    names = listings([ending.outcome for ending in report.endings], report.differing or None)
    for name, ending in zip(names, report.endings, strict=True):
        part = ending.interleavings if verdict.interleavings else ending.executions
        rows.append((name, part or 0, total, "the sequential result" if ending.serial else ""))
    below = _bars(rows[: terminal.MOST]) + _details(
        preserve_colours(str(exploration)), opened=_colour(verdict.verdict) == BAD
    )
    return _with_heading(exploration, verdict.verdict, below)


@html.register
def _(verdict: Verdict) -> str:
    return _with_heading(verdict, verdict.verdict, preserve_colours(str(verdict).partition("\n")[2]))


@html.register
def _(histogram: Histogram) -> str:
    rows = []
    for one in histogram.observed[: terminal.MOST_ENDS]:
        end = listing(one.end) if isinstance(one.end, Outcome) else f"a fault: {one.end}"
        rows.append((end, one.runs, histogram.runs, "predicted" if one.predicted else "not predicted"))
    return _with_heading(histogram, "surprise" if histogram.surprises else "ran", _bars(rows)) + _details(
        preserve_colours(str(histogram))
    )


@html.register
def _(replay: Replay) -> str:  # type: ignore[type-arg]
    report = reports.replay(replay)
    return (
        preserve_colours(repr(replay))
        if report is None
        else lanes.replay_svg(report) + _details(preserve_colours(steps.replay(report)))
    )


@html.register
def _(tensor: Tensor) -> str:
    if not _fits(tensor):
        return preserve_colours(terminal.shorten(str(tensor)))
    return _grid(tensor.to_exact().tolist(), {at for at, _ in tensor.entries()}) + preserve_colours(repr(tensor))


def _expression_html(computed: Computed) -> str:
    grid = ""
    if _fits(computed) and None not in computed.axes:
        stored = {tuple(at[axis] for axis in computed.axes if axis is not None) for at, _ in computed.stored.entries()}
        grid = _grid(computed.to_numpy().tolist(), stored)
    return f"{grid}{preserve_colours(repr(computed))}{_details(html(computed.program), 'program')}"


def _fits(array: Tensor | Computed) -> bool:
    return len(array.shape) == 2 and 0 < max(array.shape) <= GRID


def _grid(matrix: Sequence[Sequence[Any]], stored: Collection[tuple[int, ...]]) -> str:
    """A matrix as a table, in which the elements at these indices stand out."""
    rows = []
    for i, row in enumerate(matrix, start=1):
        cells = (_cell(value, (i, j) in stored) for j, value in enumerate(row, start=1))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _cell(value: Any, stored: bool) -> str:
    style = "font-weight:bold" if stored else "color:#767676"
    return f'<td style="text-align:right;{style}">{escape(show(value))}</td>'


GOOD, BAD, OPEN = "#007a58", "#b03a00", "#7a6000"


def _with_heading(result: Any, verdict: str, below: str) -> str:
    """A result in one line, in the colour of its verdict, and what stands below."""
    return f'<p><b style="color:{_colour(verdict)}">{escape(short(result)[1:-1])}</b></p>{below}'


def _colour(verdict: str) -> str:
    return {"safe": GOOD, "ran": GOOD, "holds": GOOD, "incomplete": OPEN, "unreached": OPEN, "undefined": OPEN}.get(
        verdict, BAD
    )


def _bars(rows: Sequence[tuple[str, int, int, str]]) -> str:
    """A row for each result: how often it comes, as a number and as a bar, and a remark."""
    lines = []
    for name, part, whole, remark in rows:
        wide = 100 * part / whole if whole else 0
        bar = f'<div style="background:#0072b2;height:0.8em;width:{wide:.1f}px"></div>'
        frequency = f"{digits(part)} ({share(part, whole)})" if whole else ""
        cells = (escape(name), frequency, bar, escape(remark))
        lines.append("<tr>" + "".join(f'<td style="text-align:left">{each}</td>' for each in cells) + "</tr>")
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _details(below: str, summary: str = "as text", opened: bool = False) -> str:
    """A part that can be hidden, and is at first unless it matters."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{below}</details>"


# -------------------------------------------------------------------------------------------------------------- for CI


@singledispatch
def findings_of(result: Any) -> findings.FindingsReport:
    """The findings of a result."""
    raise NotImplementedError(type(result).__name__)


findings_of.register(Report, lambda report: findings.check(reports.check(report)))
findings_of.register(Exploration, lambda exploration: findings.explore(reports.exploration(exploration)))
findings_of.register(Comparison, lambda comparison: findings.diff(comparison, comparison.program))
findings_of.register(Judged, findings.judge)
findings_of.register(Tally, findings.campaign)


def to_sarif(result: Any) -> str:
    """The findings of a result in SARIF."""
    return sarif.text(findings_of(result))


def to_junit(result: Any) -> str:
    """The findings of a result in JUnit's XML."""
    return junit.text(findings_of(result))
