"""The mistakes in a text, and the verdict of the level dependence test with its fixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wingspan import api
from wingspan.base import notes
from wingspan.base.budget import BUDGET
from wingspan.base.errors import Diagnostic, Mark, Span, WingspanError, printable
from wingspan.base.errors import notes as note_lines
from wingspan.dependence import Report
from wingspan.editing.edits import fix_of, range_of
from wingspan.program import Program, parse
from wingspan.views import check as report_view
from wingspan.views.view import CheckReport, Invocation

if TYPE_CHECKING:
    from wingspan.editing.json_types import Diagnosis, Problem, Range

FIXES = {True: "loops that could be parallel, too", False: "fixes that the test has accepted"}
"""The heading above the changes, by whether the program is safe."""
TOP: Range = {"line": 1, "column": 1, "end_line": 1, "end_column": 1}
"""The place of what has none."""


def read(text: str, name: str, folder: Path) -> Program:
    """The program that a text is. `folder` is that of the files that it names. ParseError if it is none."""
    return Program(parse(text + "\n", name).tree, name, folder)


def diagnose(text: str, name: str = "program.ws", folder: Path = Path(), budget: int = BUDGET) -> Diagnosis:
    """The problems of a text and the verdict on it; its fixes if the `budget` of the search for them is above 0.

    The verdict holds for all inputs and parameters that the program leaves open.
    """
    marks: list[Mark] = []
    try:
        with notes.showing(marks.append):
            program = read(text, name, folder)
            marks.extend(program.tree.notes)
            report = api.check(program, budget=budget)
    except WingspanError as error:
        mistakes = [_problem(each) for each in error.diagnostics]
        return {"problems": [*mistakes, *_notes(marks)], "verdict": "", "summary": "", "fixes": [], "advice": ""}
    check_report = CheckReport(Invocation(name), report, program.tree)
    found = [_problem(report_view.diagnostic(group, check_report)) for group in check_report.messages]
    return {
        "problems": [*found, *_notes(marks)],
        "verdict": report.verdict,
        "summary": summary(report, len(found)),
        "fixes": [fix_of(each, program, text) for each in report.advice],
        "advice": FIXES[report.verdict == "safe"],
    }


def summary(report: Report, found: int) -> str:
    """The verdict in one line."""
    if report.verdict == "safe":
        return "safe: no interleaving goes wrong, whatever the inputs"
    tensors = ", ".join(dict.fromkeys(each.tensor for each in report.findings))
    return f"{report.verdict}: {found} finding{'s' * (found != 1)} in {tensors}"


def _problem(diagnostic: Diagnostic) -> Problem:
    """A message as data."""
    span = diagnostic.span or next((mark.span for mark in diagnostic.marks), None)
    details = [*([diagnostic.label] if diagnostic.label else []), *note_lines(diagnostic.notes)]
    return {
        "severity": "error",
        "topic": diagnostic.topic,
        "message": printable(diagnostic.message),
        "range": range_of(span) if span else TOP,
        "details": printable("\n".join(line.removeprefix("  ") for line in details)),
        "related": [{"range": range_of(mark.span), "message": mark.text} for mark in _others(diagnostic.marks, span)],
    }


def _others(marks: Iterable[Mark], span: Span | None) -> list[Mark]:
    return [mark for mark in marks if mark.span != span and mark.text]


def _notes(marks: Sequence[Mark]) -> list[Problem]:
    """The parts of the text that have no effect."""
    return [
        {
            "severity": "note",
            "topic": "note",
            "message": printable(mark.text),
            "range": range_of(mark.span),
            "details": "",
            "related": [],
        }
        for mark in dict.fromkeys(marks)
    ]
