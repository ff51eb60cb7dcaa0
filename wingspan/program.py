"""Programs as written: their text, its origin, and the folder of the files that it names."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from wingspan.base import notes
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import InputError, Source, Span
from wingspan.base.libraries import np
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import STEP, no_text, reading
from wingspan.lang import algebra, ir, parser, tree_cache
from wingspan.lang.functions import misfit
from wingspan.lang.printer import show

LONGEST = 2**20
"""The largest size of a program, in bytes. Parsing takes some hundred times as much memory."""
FIX = "write the path of a program"
WRITTEN = re.compile(r"[\n;=]")
"""Occurs in programs, and hardly in paths."""


@dataclass(frozen=True, repr=False)
class Program(Shown):
    """A program as written.

    Attributes:
        tree: its syntax tree.
        name: what messages call it.
        folder: the folder that paths of files in it are relative to.
    """

    tree: ir.Program
    name: str
    folder: Path = Path()

    def __str__(self) -> str:
        return show(self.tree)

    @property
    def notes(self) -> tuple[str, ...]:
        """Parts of the text that have no effect, each kind with the place of its first use."""
        return tuple(map(notes.format_note, self.tree.notes))


@dataclass(frozen=True, repr=False)
class Function:
    """A function for programs: give it to `parse`.

    Attributes:
        declared: the function as programs hold it.
    """

    declared: ir.Function

    def __str__(self) -> str:
        return show(self.declared)

    def __repr__(self) -> str:
        return f"<Function {str(self).removeprefix('function ')}>"

    def __call__(self, *args: Any) -> ir.Value:
        """Call it with numbers or booleans, exactly: a double is a fraction.

        Raises:
            InputError: there are more or fewer arguments, or one is neither a number nor a boolean.
            Fault: it is not defined for these arguments.
        """
        if len(args) != len(self.declared.parameters):
            raise InputError(misfit(self.declared, len(args)), fix=str(self))
        given = [a.item() if isinstance(a, np.generic) else a for a in args]
        for a in given:
            if not isinstance(a, bool | int | float | Fraction):
                message = f"{self.declared} takes numbers and booleans, and this is a {type(a).__name__}"
                raise InputError(message, fix="give one: arrays are for programs and einsum")
        return algebra.apply(self.declared, *map(algebra.exact, given))


def parse(text: str, name: str = "<program>", functions: Sequence[Function] = ()) -> Program:
    """Read a program from its text.

    Args:
        text: the program.
        name: what messages call it.
        functions: made by `function`; the program uses them as if it declared them in its first lines.

    Raises:
        InputError: one of the functions is not made by `function`; or the text is the path of a program.
        ParseError: the text is not a program. It has all independent mistakes, with their places.
    """
    _require_text(text)
    return Program(parser.parse(text, name, [f.declared for f in require_functions(functions)]), name)


def _require_text(text: Any) -> None:
    """InputError if this is no text, or the path of a program."""
    if isinstance(text, os.PathLike) or (
        isinstance(text, str) and text.endswith(".ws") and not re.search(r"[\n;=#]", text)
    ):
        raise InputError("this is the path of a program, not its text", fix="read it by wingspan.load(path)")
    if not isinstance(text, str):
        raise InputError(f"a program is text, and this is a {type(text).__name__}", fix="give its text, as a str")


def require_functions(functions: Sequence[Function]) -> tuple[Function, ...]:
    """The functions that are passed to a program. InputError if they are none."""
    try:
        given = tuple(functions)
    except TypeError:
        raise InputError("functions are given in a list", fix="functions=[f]") from None
    for f in given:
        if not isinstance(f, Function):
            fix = 'make it by wingspan.function("f(x, y) = x + y")'
            raise InputError(f"functions are what wingspan.function makes, and this is a {type(f).__name__}", fix=fix)
    return given


def load(path: str | os.PathLike[str]) -> Program:
    """Read a program from a file.

    Args:
        path: a `.ws` file: UTF-8 text of at most 1 MiB.

    Raises:
        InputError: the file cannot be read, is too long, or is not UTF-8.
        ParseError: its text is not a program.
    """
    if isinstance(path, str) and WRITTEN.search(path) and not (path.endswith(".ws") or os.path.exists(path)):
        fix = "give it on standard input: wingspan VERB -; in Python, read it by wingspan.parse(text)"
        raise InputError("this is the text of a program, not the path of one", fix=fix)
    path = require_readable_name(path)
    return _parse_file(read_text(path), str(path), path.parent)


def read_text(path: Path) -> str:
    """The text of a program's file. Errors as those of `load`, but for what the text says."""
    with reading(path, fix=FIX) as file:
        contents = _contents(file)
    return _decode(contents, str(path))


def from_stdin() -> Program:
    """A program from standard input, whose files are relative to the current folder. Errors as those of `load`."""
    if sys.stdin is None:
        raise InputError("standard input is closed", fix=FIX)
    return _parse_file(_decode(_contents(sys.stdin.buffer), "<stdin>"), "<stdin>", Path())


def _contents(file: BinaryIO) -> bytearray:
    """The contents of an open file; longer files are cut, so that they are rejected."""
    contents = bytearray()
    while len(contents) <= LONGEST and (step := file.read(STEP)):
        contents += step
    return contents


def _decode(contents: bytearray, name: str) -> str:
    if len(contents) > LONGEST:
        raise InputError(f"{name}: longer than {LONGEST} bytes, too long for a program", fix=FIX)
    if kind := no_text(contents):
        raise InputError(f"{name}: {kind[0]}, not UTF-8 text", fix=kind[1])
    try:
        return contents.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text", _invalid_byte_span(name, error), fix="save the program as UTF-8"
        ) from None


def _parse_file(text: str, name: str, folder: Path) -> Program:
    program = Program(tree_cache.parse(text, name), name, folder)
    for note in program.tree.notes:
        notes.report(note)
    return program


def _invalid_byte_span(path: str, error: UnicodeDecodeError) -> Span:
    """The place of the byte that cannot be decoded."""
    before = error.object[: error.start].decode("utf-8")
    lines = f"{before}�".splitlines()
    line, column = len(lines), len(lines[-1])
    return Span(Source(path, error.object.decode("utf-8", "replace")), line, column, line, column + 1)
