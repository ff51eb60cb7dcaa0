"""The types of the data that editors are sent.

Lines and columns are counted from 1, in characters; ends are exclusive.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Range(TypedDict):
    """A piece of the text."""

    line: int
    column: int
    end_line: int
    end_column: int


class TextEdit(Range):
    """A piece of the text, and the text to put in its place."""

    text: str


class Fix(TypedDict):
    """A change after which the test accepts the program."""

    title: str
    cost: int
    lossless: bool
    """false if the edits rewrite the whole program, without its comments"""
    edits: list[TextEdit]


class Related(TypedDict):
    """A further place, and the remark on it."""

    range: Range
    message: str


class Problem(TypedDict):
    """A mistake in the program, or a finding of the test."""

    severity: Literal["error", "note"]
    topic: str
    message: str
    range: Range
    details: str
    """the rest of the message: remark, reasons, remedy"""
    related: list[Related]


class Diagnosis(TypedDict):
    """The problems of a text, and the verdict of the test on it."""

    problems: list[Problem]
    verdict: str
    """empty if the text is no program that means something"""
    summary: str
    fixes: list[Fix]
    advice: str
    """the heading above the fixes"""


class Symbol(TypedDict):
    """A definition or a loop."""

    name: str
    detail: str
    kind: Literal["tensor", "device", "schedule", "function", "loop"]
    range: Range
    whole: Range
    children: list[Any]


class Completion(TypedDict):
    """A word that can be written."""

    word: str
    kind: Literal["format", "keyword", "function", "name"]
    detail: str
    insert: str


class InputTable(TypedDict):
    """An input of a program that leaves it open, as drawn or as the user changed it."""

    name: str
    shape: str
    vector: bool
    """whether it has one axis; its elements are one row then"""
    rows: list[list[Any]]
    """empty if it is too large to be shown, or no vector or matrix"""


class ExploredText(TypedDict):
    """The findings of a search."""

    verdict: str
    report: str
    page: str
    """the page to step through what was found"""
    inputs: list[InputTable]
    params: dict[str, str]


class CompiledLine(TypedDict):
    """A line of a plan or of C."""

    text: str
    line: int
    """the line of the program that it comes from; 0 if there is none"""


class Compilation(TypedDict):
    """The plan and the C of a program."""

    plan: list[CompiledLine]
    c: list[CompiledLine]
    """empty if the program is refused"""
    refusal: str
