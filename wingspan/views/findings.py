"""Findings of any verb as CI takes them: a topic, a headline, details and places. `sarif` and `junit` print them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from wingspan.accesses import LogAccess
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Diagnostic, Span
from wingspan.dependence.findings import ORDER, Finding
from wingspan.explorer.incident import Incident
from wingspan.explorer.properties import PropertyReport
from wingspan.explorer.verdict import Race
from wingspan.lang.printer import value
from wingspan.results.listing import listing
from wingspan.views.check import title
from wingspan.views.terminal import (
    describe_log_access,
    first_few,
    headline,
    log_race_cells,
    log_race_prediction,
    property_notes,
    property_title,
    race_notes,
    race_title,
)
from wingspan.views.values import BOUNDS, count, reach
from wingspan.views.view import CheckReport, ExploreReport

if TYPE_CHECKING:
    from wingspan.api import Judged, Sighted
    from wingspan.results.comparison import Comparison
    from wingspan.results.tally import Tally


@dataclass(frozen=True)
class Location:
    """A place in a file; without a line, the whole file."""

    file: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    text: str = ""
    """the role of a related place; empty for the place of the finding itself"""

    def __str__(self) -> str:
        """As compilers write it: `a.ws:3:5`."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class ReportedFinding:
    """One finding. The first place is its own, others are related to it."""

    topic: str
    message: str
    details: tuple[str, ...] = ()
    places: tuple[Location, ...] = ()
    is_warning: bool = False

    @property
    def text(self) -> str:
        """The headline and the details, a line each."""
        return "\n".join([self.message, *self.details])


@dataclass(frozen=True)
class FindingsReport:
    """The findings of a verb in one program or log."""

    verb: str
    name: str
    """of the program or log"""
    findings: tuple[ReportedFinding, ...]
    has_verdict: bool = True
    """False if the findings are mistakes, so that there is no verdict"""
    incomplete: str = ""
    """the reason why the absence of findings proves nothing, if it does not"""
    seconds: float | None = None
    notes: str = ""


# ------------------------------------------------------------------------------------------------------------ of verbs


def mistakes(diagnostics: Sequence[Diagnostic], verb: str) -> FindingsReport:
    """The reasons why there is no verdict."""
    found = [
        ReportedFinding(
            each.topic, each.message, tuple(starmap("{}: {}".format, each.notes)), _places((each.span, "the mistake"))
        )
        for each in diagnostics
    ]
    name = next((each.span.source.name for each in diagnostics if each.span), "command line")
    return FindingsReport(verb, name, tuple(found), has_verdict=False)


def check(report: CheckReport) -> FindingsReport:
    """The report of the level dependence test."""
    found = tuple(_dependence(group, report) for group in report.messages)
    return FindingsReport("check", report.invocation.name, found)


def _dependence(group: Sequence[Finding], report: CheckReport) -> ReportedFinding:
    """One message: findings that differ in their levels only."""
    first = group[0]
    reasons = dict.fromkeys(found.reason for found in group)
    fixes = [f"fix: {report.report.advice[0].change}"] if report.report.advice else []
    other = first.other if first.other != first.access else None
    loop = first.loop.span if first.loop else None
    places = _places((first.access, ""), (other, "the other access"), (loop, "the parallel loop"))
    return ReportedFinding(first.topic, title(group, report), (*reasons, *fixes), places, first.topic in ORDER)


def explore(report: ExploreReport) -> FindingsReport:
    """The verdict on all interleavings. Results are a finding if nothing else explains that they are wrong."""
    verdict = report.verdict
    incidents: tuple[Incident, ...] = (*verdict.faults, *verdict.deadlocks)
    found = [
        *(_incident(each, report) for each in incidents),
        *(_race(each, report) for each in verdict.races),
        *(_property(each, report) for each in verdict.properties if each.answer == "violated"),
    ]
    if not found and verdict.verdict not in ("safe", "holds", "incomplete"):
        ends = [f"{listing(end.outcome)}: {report.invocation.replay(end.interleaving)}" for end in report.endings]
        place = Location(report.invocation.name)
        found = [ReportedFinding(verdict.verdict, headline(report), tuple(first_few(ends, "result", str)), (place,))]
    incomplete = "" if verdict.complete else f"not all interleavings are covered: {reach(verdict)}"
    return FindingsReport("explore", report.invocation.name, tuple(found), True, incomplete, verdict.seconds)


def _incident(incident: Incident, report: ExploreReport) -> ReportedFinding:
    see = f"see: {report.invocation.replay(incident.interleaving)}"
    return ReportedFinding(incident.topic, incident.message, (see,), _places((incident.span, "")))


def _property(asked: PropertyReport, report: ExploreReport) -> ReportedFinding:
    details = tuple(map("{0[0]}: {0[1]}".format, property_notes(asked, report)))
    return ReportedFinding("property", property_title(asked), details, (Location(report.invocation.name),))


def _race(race: Race, report: ExploreReport) -> ReportedFinding:
    details = tuple(f"{key.strip()}: {text}" for key, text in race_notes(race, report))
    loop = report.parallel_loop(race)
    other = race.second.span if race.second.span != race.first.span else None
    places = _places(
        (race.first.span, ""), (other, "the other access"), (loop.span if loop else None, "the parallel loop")
    )
    return ReportedFinding("race", race_title(race, report), details, places)


def diff(comparison: Comparison, name: str) -> FindingsReport:
    """The comparison of engines on one program."""
    found = comparison.difference
    notes = "\n".join(f"left out: {engine}: {why}" for engine, why in comparison.left_out.items())
    seconds = sum(end.seconds for end in comparison.endings)
    if found is None:
        return FindingsReport("diff", name, (), seconds=seconds, notes=notes)
    has = [(found.first, found.first_has), (found.second, found.second_has)]
    sides = [f"{engine} has {x if isinstance(x, str) else value(x)}" for engine, x in has]
    output = [f"{end.engine}: {line}" for end in comparison.endings for line in end.output.splitlines()]
    message = f"{found.place} differs: {', '.join(sides)}"
    finding = ReportedFinding("difference", message, tuple(output), (Location(name),))
    return FindingsReport("diff", name, (finding,), seconds=seconds, notes=notes)


def judge(judged: Judged) -> FindingsReport:
    """The races of a log, at the statements, or else at the lines of the log."""
    incomplete = ""
    if judged.stopped_by:
        incomplete = f"{judged.examined} accesses were examined: stopped by {BOUNDS[judged.stopped_by]}"
    elif judged.verdict and not judged.verdict.complete:
        incomplete = f"the search behind the prediction is not complete: {reach(judged.verdict)}"
    return FindingsReport("judge", judged.log, tuple(_log_race(one, judged) for one in judged.races), True, incomplete)


def _log_race(one: Sighted, judged: Judged) -> ReportedFinding:
    first, second = one.race.first, one.race.second
    details = [f"previous {describe_log_access(first)}", *log_race_cells(one), *log_race_prediction(one, judged)]
    places = _log_place(second, ""), _log_place(first, "the previous access")
    return ReportedFinding("race", describe_log_access(second, f" of {second.cell}"), tuple(details), places)


def _log_place(access: LogAccess, text: str) -> Location:
    if not access.place:
        return Location(access.span.source.name, access.span.line, text=text)
    file, _, line = access.place.rpartition(":")
    return Location(file, int(line), text=text)


def campaign(tally: Tally) -> FindingsReport:
    """The collected differences of a campaign, a finding for each symptom. They are in no file."""
    found = [
        ReportedFinding("difference", f"{count(bucket.cases, 'case')} differ: {symptom}", (bucket.smallest,))
        for symptom, bucket in tally.buckets.items()
    ]
    return FindingsReport("campaign", "random programs", tuple(found), seconds=tally.seconds, notes=str(tally))


def _places(*spans: tuple[Span | None, str]) -> tuple[Location, ...]:
    """The places that are known."""
    return tuple(
        Location(span.source.name, span.line, span.column, span.end_line, span.end_column, text)
        for span, text in spans
        if span is not None
    )
