"""Programs as written: their text, where it comes from, and what files in it are relative to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wingspan.errors import InputError, Source, Span
from wingspan.lang import ir, parser
from wingspan.lang.printer import show
from wingspan.paths import named
from wingspan.reading import reading

LONGEST = 2**20
"""Bytes of a program. To parse it takes some hundred times as much memory."""


@dataclass(frozen=True)
class Program:
    """A program as written, the name it goes by in messages, and the folder that its files are relative to."""

    tree: ir.Program
    name: str
    folder: Path = Path()

    def __str__(self) -> str:
        return show(self.tree)


def parse(text: str, name: str = "<program>") -> Program:
    """A program from its text. ParseError if it is none."""
    return Program(parser.parse(text, name), name)


def load(path: str | os.PathLike[str]) -> Program:
    """A program from a `.ws` file. InputError if the file cannot be read, ParseError if it is no program."""
    path = named(path)
    fix = "write the path of a program"
    contents = bytearray()
    with reading(path, fix=fix) as file:
        while len(contents) <= LONGEST and (step := file.read()):
            contents += step
    if len(contents) > LONGEST:
        raise InputError(f"{path}: longer than {LONGEST} bytes, too long for a program", fix=fix)
    try:
        text = contents.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text", _place(path, error), fix="save the program as UTF-8") from None
    return Program(parser.parse(text, str(path)), str(path), path.parent)


def _place(path: Path, error: UnicodeDecodeError) -> Span:
    """Where the byte stands that cannot be read."""
    before = error.object[: error.start].decode("utf-8")
    lines = f"{before}�".splitlines()
    line, column = len(lines), len(lines[-1])
    return Span(Source(str(path), error.object.decode("utf-8", "replace")), line, column, line, column + 1)
