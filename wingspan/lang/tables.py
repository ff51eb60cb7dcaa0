"""The parser that Lark makes of the grammar, from tables that are kept for the next process.

Computing them takes longer than checking a small program. A file of tables lies in a folder of the user's alone. Its
name, which it holds, too, is a digest of all that the tables depend on, so a changed grammar is never parsed by old
ones. It begins with a digest of the rest: a file that was spoiled, or cut off, is written anew. If the folder cannot be
used, each process computes the tables.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lark import PostLex
from lark.lexer import TerminalDef

from wingspan.base.caches import DIGITS, cache_path, is_private, make_private
from wingspan.base.errors import InputError
from wingspan.lang.keywords import GRAMMAR
from wingspan.lang.lexer import Lexer

OPTIONS: dict[str, Any] = {"start": "program", "parser": "lalr", "lexer": "contextual", "propagate_positions": True}
"""The options of the parser, for Lark."""
PLUGINS = {"ContextualLexer": Lexer}
SUFFIX = ".tables"
DIGEST = 32
"""The length of the digest at the beginning of a file, in bytes."""

Tables = tuple[dict[str, Any], dict[int, Any]]
"""A parser as those that Lark generates hold it: builtin types only, and the objects that it repeats, by number."""


def make_parser(layout: PostLex) -> Lark:
    """A parser of the grammar, with what stands between its lexer and its rules."""
    key = digest_of(layout)
    path = _path(key)
    tables = _read(path, key) if path else None
    if tables is None:
        made = Lark(GRAMMAR, postlex=layout, _plugins=PLUGINS, **OPTIONS)
        if path:
            _write(path, key, made)
        return made
    return Lark._load_from_dict(*tables, postlex=layout, _plugins=PLUGINS)  # type: ignore[no-any-return, no-untyped-call]


def digest_of(layout: PostLex) -> str:
    """A digest of all that the tables depend on."""
    parts = (GRAMMAR, OPTIONS, layout.always_accept, lark.__version__, sys.version)
    return sha256(repr(parts).encode()).hexdigest()[:DIGITS]


def _path(key: str) -> Path | None:
    """The file of the tables, which may not be there; None if the folder cannot be used."""
    with suppress(OSError):
        folder = cache_path()
        if is_private(make_private(folder)):
            return folder / f"{key}{SUFFIX}"
    return None


def _read(path: Path, key: str) -> Tables | None:
    """The tables in a file; None if it is not there as it was written."""
    with suppress(OSError, EOFError, TypeError, ValueError):
        data = path.read_bytes()
        if sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            named, parser, objects = marshal.loads(data[DIGEST:])
            return (parser, objects) if named == key else None
    return None


def _write(path: Path, key: str, parser: Lark) -> None:
    """Keep the tables of a parser, if that can be done."""
    from wingspan.base.writing import write_atomically  # not for whoever reads them

    data, objects = parser.memo_serialize([TerminalDef, Rule])
    data["options"] |= {"postlex": None, "_plugins": {}}
    made = marshal.dumps((key, data, objects))
    with suppress(InputError):
        write_atomically(path, sha256(made).digest() + made)
