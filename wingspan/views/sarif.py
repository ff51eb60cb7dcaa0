"""Findings as SARIF 2.1.0: what shows them beside the code.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from wingspan.base import documents
from wingspan.base.errors import printable
from wingspan.version import __version__
from wingspan.views.findings import FindingsReport, Location, ReportedFinding

MEANS = {
    "level-dependence": "A level does not support a dependence between two iterations.",
    "gate": "A task of another device updates a level that is gated.",
    "claim": "Two threads reach one position that belongs to the first of them.",
    "order": "An ordered level is updated twice, or not in the order of its positions.",
    "overlap": "A fiber with an instance of its own is visited during another visit of it.",
    "deadlock": "Tasks wait for locks in a circle.",
    "variable": "Tasks share a variable that one of them assigns to.",
    "order-dependence": "The result depends on which task is first, though nothing races.",
    "merge": "Merging the copies does not give the sequential result.",
    "race": "Two tasks access a cell at the same time, and one of them writes it.",
    "fault": "A step fails in some interleaving.",
    "wrong": "The result is not the sequential result.",
    "order-dependent": "Interleavings differ in their results, though nothing races.",
    "difference": "Two engines differ in their results.",
}
"""The kinds of fault, by the topics of findings."""


def text(report: FindingsReport) -> str:
    """The log file as text."""
    return documents.text(log(report))


def log(report: FindingsReport) -> dict[str, Any]:
    """The log file; no results if nothing was found."""
    rules = [
        {"id": name, "shortDescription": {"text": MEANS.get(name, f"The program has a mistake: {name}.")}}
        for name in dict.fromkeys(found.topic for found in report.findings)
    ]
    invocation: dict[str, Any] = {"executionSuccessful": report.has_verdict}
    if report.incomplete:
        note = {"level": "warning", "message": {"text": printable(f"{report.name}: {report.incomplete}")}}
        invocation["toolExecutionNotifications"] = [note]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "wingspan", "version": __version__, "rules": rules}},
                # each verb and program has a category of its own on GitHub, where a log replaces that of its category
                "automationDetails": {"id": printable(f"wingspan/{report.verb}/{report.name}/")},
                "invocations": [invocation],
                "columnKind": "unicodeCodePoints",
                "results": [_result(found) for found in report.findings],
            }
        ],
    }


def _result(found: ReportedFinding) -> dict[str, Any]:
    first, *others = map(_place, found.places) if found.places else [None]
    return {
        "ruleId": found.topic,
        "level": "warning" if found.is_warning else "error",
        "message": {"text": printable(found.text)},
        "locations": [] if first is None else [first],
        **({"relatedLocations": others} if others else {}),
    }


def _place(place: Location) -> dict[str, Any]:
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    where: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line is not None:
        where["region"] = {name: number for name, number in region.items() if number is not None}
    return {"physicalLocation": where, **({"message": {"text": place.text}} if place.text else {})}


def _uri(name: str) -> str:
    """A file as a reference; what has no file is named, too."""
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
