"""The exceptions of the package, classed by whose fault they are, and the one renderer of every message.

`ParseError`, `ProgramError` and `InputError` are mistakes of the program, of its meaning and of its data,
all seen before anything runs. `Fault` is a step that the rules forbid, met while running.
`InternalError` is ours.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from wingspan.base import documents
from wingspan.base.dataclass import dataclass
from wingspan.base.display import JsonResult

if TYPE_CHECKING:
    from wingspan.base.json_types import Error, Mistake

PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Source:
    """The text of a program and the name it goes by in messages."""

    name: str
    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _starts(self) -> list[int]:
        """The offsets at which the lines begin that a newline ends, and the last one."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line(self, number: int) -> str:
        """Line `number` (1-based) without its end, tabs as wide as any character; empty past the last line."""
        return self._lines[number - 1].replace("\t", " ") if 1 <= number <= len(self._lines) else ""

    def span_at(self, offset: int, length: int) -> Span:
        """The span of `length` characters of one line, from `offset` (counted from 0) on."""
        line = bisect_right(self._starts, offset)
        column = offset - self._starts[line - 1] + 1
        return Span(self, line, column, line, column + length)


@dataclass(frozen=True)
class Span:
    """A piece of a source: 1-based lines and columns, the end column exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def text(self) -> str:
        """The text of the span's first line."""
        line = self.source.line(self.line)
        end = self.end_column if self.end_line == self.line else len(line) + 1
        return line[self.column - 1 : end - 1]

    def up_to(self, other: Span | None) -> Span:
        """The span from the start of this one to the end of `other`."""
        if other is None:
            return self
        return Span(self.source, self.line, self.column, other.end_line, other.end_column)


@dataclass(frozen=True)
class Mark:
    """A span with what is to be said of it; the primary one is underlined by carets."""

    span: Span
    text: str = ""
    primary: bool = False


@dataclass(frozen=True)
class Diagnostic:
    """One mistake: a headline, where it is, and what to do instead.

    >>> source = Source("demo.ws", "for i = _\\n    y[i] += x[i\\nend\\n")
    >>> print(Diagnostic("error", "syntax", "this bracket is never closed", Span(source, 2, 14, 2, 15)).render())
    error[syntax]: this bracket is never closed
      demo.ws:2:14
        2 │     y[i] += x[i
          │              ^
    """

    severity: str
    topic: str
    message: str
    span: Span | None = None
    label: str = ""
    marks: tuple[Mark, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    def render(self) -> str:
        """The message as text: headline, place, source lines with carets, notes."""
        lines = [f"{self.severity}[{self.topic}]: {self.message}"]
        marks = list(self.marks)
        if self.span is not None:
            lines.append(f"  {self.span.source.name}:{self.span.line}:{self.span.column}")
            marks.append(Mark(self.span, self.label, primary=True))
        lines += excerpt(marks)
        return printable("\n".join([*lines, *notes(self.notes)]))

    def to_dict(self) -> Mistake:
        """The mistake as an object of JSON, with null for a place or a fix that it does not have."""
        span = self.span
        return {
            "topic": self.topic,
            "message": printable(self.message),
            "file": span.source.name if span else None,
            "line": span.line if span else None,
            "column": span.column if span else None,
            "fix": dict(self.notes).get("fix"),
        }


def to_dict(mistakes: Sequence[Diagnostic]) -> dict[str, Any]:
    """Mistakes as one object of JSON: the first, and others that do not follow from it."""
    first, *others = (mistake.to_dict() for mistake in mistakes)
    made: Error = {"error": first, "others": others}
    return documents.with_schema(made)


def notes(found: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of the notes below a message, each with its key."""
    lines: list[str] = []
    for key, text in found:
        first, *rest = text.splitlines() or [""]
        lines.append(f"  {key}  {first}".rstrip())
        lines += [f"  {' ' * len(key)}  {line}".rstrip() for line in rest]
    return lines


LONGEST = 120
"""Columns of a source line that an excerpt shows; of a longer line, those around the mark."""
WIDTH: ContextVar[int | None] = ContextVar("width", default=None)
"""The columns that source lines and remarks have; if None, remarks are of any length."""
LEAST = 24
"""Columns that a remark beside a mark has at least; if there are fewer, it stands below."""


def excerpt(marks: Iterable[Mark]) -> list[str]:
    """The marked source lines in order, each with its marks underneath, as lines of text."""
    room = WIDTH.get()
    most = LONGEST if room is None else min(LONGEST, room)
    ordered = sorted(marks, key=lambda mark: (mark.span.line, mark.span.column, not mark.primary))
    if not ordered:
        return []
    number = len(str(ordered[-1].span.line))
    lines: list[str] = []
    shown = None
    for mark in ordered:
        span = mark.span
        line = "".join(c if c.isprintable() else "�" for c in span.source.line(span.line))
        first = 0 if len(line) <= most else max(0, min(span.column - 1 - most // 2, len(line) - most))
        text = line[first : first + most]
        if (span.line, first) != shown:
            cut = "…" if first else "", "…" if first + most < len(line) else ""
            lines.append(f"    {span.line:>{number}} │ {cut[0]}{text}{cut[1]}".rstrip())
            shown = span.line, first
        start = span.column - 1 - first
        stop = span.end_column - 1 - first if span.end_line == span.line else len(text)
        stroke = ("^" if mark.primary else "─") * max(1, width(text[start:stop]))
        before = " " * (bool(first) + width(text[:start]))
        gutter = f"    {'':>{number}} │ "
        lines += [f"{gutter}{part}".rstrip() for part in _remark_lines(before + stroke, mark.text, room)]
    return lines


def _remark_lines(stroke: str, text: str, most: int | None) -> list[str]:
    """The lines of a remark to the right of a stroke; below it if there is no room."""
    at = len(stroke) + 1
    if most is None or at + width(text) <= most:
        return [f"{stroke} {text}"]
    if most - at >= LEAST:
        first, *rest = wrap(text, most - at)
        return [f"{stroke} {first}", *(" " * at + line for line in rest)]
    indent = " " * max(0, min(len(stroke) - len(stroke.lstrip()), most - max(LEAST, min(width(text), most))))
    return [stroke, *(indent + line for line in wrap(text, most - len(indent)))]


CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""Characters that control a terminal, end a line, turn the direction of text, or stand for bytes that are not UTF-8."""


def visible(text: str) -> str:
    r"""One line of text with escapes in place of what a terminal or a compiler would obey.

    >>> print(visible("a\x1b[31m\nb\udcff"))
    a\x1b[31m\nb\udcff
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable(text: str) -> str:
    """Lines of text, each made `visible`."""
    return "\n".join(map(visible, text.split("\n")))


def abridge(text: str | bytes, most: int = 80) -> str:
    r"""Cut foreign text for a message: one line, `visible`, with an ellipsis if more follows. Bytes are UTF-8.

    >>> abridge("coordinate", 6), abridge("naïve".encode()), abridge("naïve".encode("latin-1"))
    ('coord…', 'naïve', 'na\\xefve')
    """
    if isinstance(text, bytes):
        text = text[: 4 * most + 4].decode("utf-8", "backslashreplace")
    return visible(text if len(text) <= most else f"{text[: most - 1]}…")


def width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


class WingspanError(JsonResult, Exception):
    """Base of all errors that a user can meet.

    An error has one or more diagnostics: its own, and those of independent mistakes that are reported together.

    Attributes:
        diagnostics: each with its topic, message, place and notes.
    """

    topic = "wingspan"

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        topic: str | None = None,
        label: str = "",
        marks: tuple[Mark, ...] = (),
        fix: str | None = None,
    ) -> None:
        notes = (("fix", fix),) if fix else ()
        first = Diagnostic("error", topic or self.topic, message, span, label, marks, notes)
        self.diagnostics: tuple[Diagnostic, ...] = (first,)
        super().__init__(message)

    @property
    def message(self) -> str:
        """The first diagnostic in one sentence."""
        return self.diagnostics[0].message

    @property
    def span(self) -> Span | None:
        """The place of the first diagnostic, if it has one."""
        return self.diagnostics[0].span

    @property
    def fix(self) -> str | None:
        """The fix of the first diagnostic, if one is known."""
        return dict(self.diagnostics[0].notes).get("fix")

    def render(self) -> str:
        """All diagnostics as text, with source lines, separated by empty lines."""
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)

    def __str__(self) -> str:
        return self.render()

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows: the line of the caller, and the message, without the frames in between."""
        import traceback  # costs each start of the command line two milliseconds

        frames = traceback.extract_tb(self.__traceback__)
        outside = list(takewhile(lambda frame: not frame.filename.startswith(PACKAGE), frames))
        called = [f"{outside[-1].line}  # line {outside[-1].lineno}"] if outside and outside[-1].line else []
        return [*called, *self.render().splitlines()]

    def to_dict(self) -> dict[str, Any]:
        """All diagnostics as an object of JSON."""
        return to_dict(self.diagnostics)


class ParseError(WingspanError):
    """The text is not a program. Correct the marked place."""

    topic = "syntax"


class ProgramError(WingspanError):
    """The program reads well but has no meaning, such as an unknown format, a wrong rank or a misused mode."""

    topic = "program"


class InputError(WingspanError):
    """A tensor, a file, a parameter or an option does not fit the program."""

    topic = "input"


class Fault(WingspanError):
    """A step that the rules forbid: an index out of range, an overflow, an ordered level out of order, and so on."""

    topic = "fault"


class AssertionFault(Fault):
    """An assertion of the program, `assert(e)`, that does not hold."""

    topic = "assertion"


class InternalError(WingspanError):
    """A state that none of the rules foresees, which is a defect of wingspan: please report it with the program."""

    topic = "internal"

    def _render_traceback_(self) -> list[str]:
        """The lines of the whole traceback, which a report needs."""
        import traceback

        return traceback.format_exception(self)


class Mistakes:
    """Collects independent mistakes, to report them together.

    A mistake may *spoil* names, or whatever else strings stand for: later mistakes about these may be its consequences,
    and are dropped.

    >>> mistakes = Mistakes()
    >>> for name in ("x", "y", "x"):
    ...     mistakes.note(ProgramError(f"{name} has no value"), name, spoils=[name])
    >>> [error.message for error in mistakes.errors]
    ['x has no value', 'y has no value']
    """

    def __init__(self) -> None:
        self.errors: list[WingspanError] = []
        self.spoiled: set[str] = set()

    def note(self, error: WingspanError, *about: str, spoils: Iterable[str] = ()) -> None:
        """Remember a mistake, unless something that it is about is spoiled."""
        if self.spoiled.isdisjoint(about):
            self.errors.append(error)
        self.spoiled.update(spoils)

    @contextmanager
    def collecting(self, *about: str, spoils: Iterable[str] = ()) -> Iterator[None]:
        """Within, collect the mistake that ends the block, and continue after it."""
        try:
            yield
        except (ParseError, ProgramError, InputError) as error:
            self.note(error, *about, spoils=spoils)

    def raise_all(self) -> None:
        """Raise all mistakes as one error, ordered by position; first those in arguments, which have no position."""
        if self.errors:
            first, *others = sorted(self.errors, key=_sort_key)
            first.diagnostics += tuple(diagnostic for error in others for diagnostic in error.diagnostics)
            raise first


def _sort_key(error: WingspanError) -> tuple[bool, str, int, int]:
    span = error.span
    return (False, "", 0, 0) if span is None else (True, span.source.name, span.line, span.column)


for _public in (WingspanError, ParseError, ProgramError, InputError, Fault, InternalError):
    _public.__module__ = "wingspan"  # tracebacks and pickles name it as users import it
