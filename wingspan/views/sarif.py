"""Findings of the level dependence test, and mistakes in a program, as SARIF 2.1.0: what shows them beside the code.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wingspan.base.errors import Diagnostic, Span, printable
from wingspan.dependence.findings import ORDER, Finding
from wingspan.version import __version__
from wingspan.views.check import title
from wingspan.views.view import CheckReport

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
}
"""The kinds of fault, by the topics of findings."""


def check(check_report: CheckReport) -> dict[str, Any]:
    """The report of the level dependence test; no results for a safe program."""
    return _log([_result(group, check_report) for group in check_report.messages], succeeded=True)


def mistakes(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """The reasons why there is no verdict."""
    return _log([_mistake(each) for each in diagnostics], succeeded=False)


def _log(results: list[dict[str, Any]], succeeded: bool) -> dict[str, Any]:
    topics = dict.fromkeys(result["ruleId"] for result in results)
    rules = [
        {"id": name, "shortDescription": {"text": MEANS.get(name, f"The program has a mistake: {name}.")}}
        for name in topics
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "wingspan", "version": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": succeeded}],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _result(group: Sequence[Finding], check_report: CheckReport) -> dict[str, Any]:
    """One message: findings that differ in their levels only."""
    first = group[0]
    reasons = dict.fromkeys(found.reason for found in group)
    fixes = [f"fix: {check_report.report.advice[0].change}"] if check_report.report.advice else []
    loop = first.loop.span if first.loop else None
    others = [(first.other, "the other access")] if first.other != first.access else []
    return {
        "ruleId": first.topic,
        "level": "warning" if first.topic in ORDER else "error",
        "message": {"text": "\n".join([title(group, check_report), *reasons, *fixes])},
        "locations": _places([(first.access, "")]),
        "relatedLocations": _places([*others, (loop, "the parallel loop")]),
    }


def _mistake(diagnostic: Diagnostic) -> dict[str, Any]:
    notes = [f"{key}: {text}" for key, text in diagnostic.notes]
    return {
        "ruleId": diagnostic.topic,
        "level": "error",
        "message": {"text": printable("\n".join([diagnostic.message, *notes]))},
        "locations": _places([(diagnostic.span, "")]),
    }


def _places(spans: Iterable[tuple[Span | None, str]]) -> list[dict[str, Any]]:
    return [_place(span, text) for span, text in spans if span is not None]


def _place(span: Span, text: str) -> dict[str, Any]:
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(span.source.name)}, "region": region}}
    return {**place, "message": {"text": text}} if text else place


def _uri(name: str) -> str:
    """A file as a reference; what has no file is named, too."""
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
