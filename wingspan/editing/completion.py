"""The words that can be written at a place of a text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wingspan.editing.edits import normalize_text
from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.operators import OPERATORS
from wingspan.levels import REGISTRY
from wingspan.levels.base import Gated, Leaf, Level, Modifier, Storage

if TYPE_CHECKING:
    from wingspan.editing.json_types import Completion

NAME = re.compile(r"[^\W\d]\w*")


def about(level: type[Level]) -> str:
    """A format in one sentence."""
    text = (sys.modules[level.__module__].__doc__ or level.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split()).removeprefix(f"{level.__name__}: ")


def call(level: type[Level]) -> str:
    """A format as it begins where it is written.

    >>> [call(REGISTRY[name]) for name in ("Dense", "Shard", "SparseCOO", "Element", "Pattern")]
    ['Dense(', 'Shard(dev, ', 'SparseCOO(2, ', 'Element(0.0)', 'Pattern()']
    """
    if issubclass(level, Leaf):
        return f"{level.__name__}()" if level.implied else f"{level.__name__}(0.0)"
    if issubclass(level, Gated):
        return f"{level.__name__}(dev, "
    return f"{level.__name__}(2, " if issubclass(level, Storage) and level.several_axes else f"{level.__name__}("


def complete(text: str, line: int, column: int) -> list[Completion]:
    """The words that begin as the one before a place does, those that fit there first.

    Inside of `Tensor(…)` formats come first. The text need not be a program.
    """
    lines = normalize_text(text).split("\n")
    before = lines[line - 1][: column - 1] if 1 <= line <= len(lines) else ""
    begin = re.search(r"\w*$", before)
    word = begin[0].casefold() if begin else ""
    in_format = re.search(r"(Tensor|[A-Z]\w*)\s*\([^)\]]*$", before) is not None
    every = [*formats(), *_words()] if in_format else [*_words(), *formats()]
    known = {each["word"] for each in every}
    text_names = dict.fromkeys(NAME.findall(re.sub(r"#.*|\"[^\"\n]*\"", "", "\n".join(lines))))
    names: list[Completion] = [
        {"word": name, "kind": "name", "detail": "", "insert": name}
        for name in text_names
        if name not in known and name.casefold() != word
    ]
    ordered = [*every, *names] if in_format else [*names, *every]
    return [each for each in ordered if each["word"].casefold().startswith(word)]


def formats() -> Iterator[Completion]:
    """All formats, with those that are registered."""
    for name, level in REGISTRY.items():
        kind = "modifier" if issubclass(level, Modifier) else "leaf" if issubclass(level, Leaf) else "level"
        yield {"word": name, "kind": "format", "detail": f"{kind}: {about(level)}", "insert": call(level)}


def _words() -> Iterator[Completion]:
    functions = {op.word: op for op in OPERATORS.values() if op.word}
    for word in sorted({*KEYWORDS, "Tensor"}):
        if word in functions:
            yield {"word": word, "kind": "function", "detail": functions[word].arguments, "insert": f"{word}("}
        else:
            yield {"word": word, "kind": "keyword", "detail": "", "insert": word}
