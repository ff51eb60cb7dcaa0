"""The parser that Lark makes of the grammar, from tables that are kept for the next process.

Computing them takes longer than checking a small program. They are kept under a digest of all that they depend on, so
a changed grammar is never parsed by old ones (`disk_cache`).
"""

from __future__ import annotations

from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lark import PostLex
from lark.lexer import TerminalDef

from wingspan.base import disk_cache
from wingspan.lang.keywords import GRAMMAR
from wingspan.lang.lexer import Lexer

OPTIONS: dict[str, Any] = {"start": "program", "parser": "lalr", "lexer": "contextual", "propagate_positions": True}
"""The options of the parser, for Lark."""
PLUGINS = {"ContextualLexer": Lexer}
SUFFIX = ".tables"

Tables = tuple[dict[str, Any], dict[int, Any]]
"""A parser as those that Lark generates hold it: builtin types only, and the objects that it repeats, by number."""


def make_parser(layout: PostLex) -> Lark:
    """A parser of the grammar, with what stands between its lexer and its rules."""
    key = digest_of(layout)
    tables: Tables | None = disk_cache.read(key, SUFFIX)
    if tables is None:
        made = Lark(GRAMMAR, postlex=layout, _plugins=PLUGINS, **OPTIONS)
        data, objects = made.memo_serialize([TerminalDef, Rule])
        data["options"] |= {"postlex": None, "_plugins": {}}
        disk_cache.write(key, SUFFIX, (data, objects))
        return made
    return Lark._load_from_dict(*tables, postlex=layout, _plugins=PLUGINS)  # type: ignore[no-any-return, no-untyped-call]


def digest_of(layout: PostLex) -> str:
    """A digest of all that the tables depend on."""
    return disk_cache.digest_of(GRAMMAR, OPTIONS, layout.always_accept, lark.__version__)
