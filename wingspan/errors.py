"""What can go wrong, classed by whose fault it is, and the one renderer of every message.

`ParseError`, `ProgramError` and `InputError` are mistakes of the program, of its meaning and of its data,
all seen before anything runs. `Fault` is a step that the rules forbid, met while running.
`InternalError` is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """The text of a program and the name it goes by in messages."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line `number` (1-based) without its end, tabs as wide as any character; empty past the last line."""
        lines = self.text.splitlines()
        return lines[number - 1].replace("\t", " ") if 1 <= number <= len(lines) else ""


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
        """What the span covers of its first line."""
        line = self.source.line(self.line)
        end = self.end_column if self.end_line == self.line else len(line) + 1
        return line[self.column - 1 : end - 1]

    def to(self, other: Span | None) -> Span:
        """From the start of this span to the end of `other`."""
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
        for key, text in self.notes:
            first, *rest = text.splitlines() or [""]
            lines.append(f"  {key}  {first}".rstrip())
            lines += [f"  {' ' * len(key)}  {line}".rstrip() for line in rest]
        return "\n".join(lines)


def excerpt(marks: Iterable[Mark]) -> list[str]:
    """The marked source lines in order, each with its marks underneath, as lines of text."""
    ordered = sorted(marks, key=lambda mark: (mark.span.line, mark.span.column, not mark.primary))
    if not ordered:
        return []
    width = len(str(ordered[-1].span.line))
    lines: list[str] = []
    shown = None
    for mark in ordered:
        span = mark.span
        text = span.source.line(span.line)
        if span.line != shown:
            lines.append(f"    {span.line:>{width}} │ {text}".rstrip())
            shown = span.line
        stop = span.end_column if span.end_line == span.line else len(text) + 1
        stroke = ("^" if mark.primary else "─") * max(1, stop - span.column)
        lines.append(f"    {'':>{width}} │ {' ' * (span.column - 1)}{stroke} {mark.text}".rstrip())
    return lines


class WingspanError(Exception):
    """Base of every error that a user can meet; it carries one or more diagnostics."""

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
        also: tuple[Diagnostic, ...] = (),
    ) -> None:
        notes = (("fix", fix),) if fix else ()
        first = Diagnostic("error", topic or self.topic, message, span, label, marks, notes)
        self.diagnostics: tuple[Diagnostic, ...] = (first, *also)
        super().__init__(message)

    @property
    def message(self) -> str:
        """The headline of the first diagnostic."""
        return self.diagnostics[0].message

    @property
    def span(self) -> Span | None:
        """Where the first diagnostic is."""
        return self.diagnostics[0].span

    def render(self) -> str:
        """All diagnostics as text, an empty line between them."""
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)


class ParseError(WingspanError):
    """The text is not a program. Mend the marked place."""

    topic = "syntax"


class ProgramError(WingspanError):
    """The program reads well but cannot mean anything: an unknown format, a wrong rank, a mode misused."""

    topic = "program"


class InputError(WingspanError):
    """A tensor, a file or a parameter handed to the program does not fit it."""

    topic = "input"


class Fault(WingspanError):
    """A step that the rules forbid: index out of bounds, overflow, an ordered level out of order, …"""

    topic = "fault"


class InternalError(WingspanError):
    """A state that none of the rules foresees. It is a defect of wingspan: please report the program."""

    topic = "internal"
