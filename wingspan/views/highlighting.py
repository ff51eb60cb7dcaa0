"""The tokens that a program's text is split into for colours: one table for Pygments, TextMate and the playground.

Run as a module, it prints the TextMate grammar.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.operators import WORDS

CONSTANTS = frozenset({"true", "false", "missing", "Inf", "NaN"})


@dataclass(frozen=True)
class TokenKind:
    """A kind of token, the regular expression of such tokens, and the name of the kind in TextMate grammars.

    The expression means the same to Python, to JavaScript and to Oniguruma.
    """

    name: str
    pattern: str
    scope: str


def _word(words: Iterable[str]) -> str:
    return rf"(?:{'|'.join(sorted(words))})(?!\w)"


TOKENS = (
    TokenKind("comment", r"#.*", "comment.line.number-sign"),
    TokenKind("string", r'"[^"\n]*"', "string.quoted.double"),
    TokenKind("symbol", r":[A-Za-z_]\w*", "constant.other.symbol"),
    TokenKind("constant", _word(CONSTANTS), "constant.language"),
    TokenKind("builtin", _word(WORDS), "support.function"),
    TokenKind("keyword", _word(KEYWORDS - CONSTANTS - set(WORDS)), "keyword.control"),
    TokenKind("number", r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?", "constant.numeric"),
    TokenKind("format", r"[A-Z]\w*(?=\()", "entity.name.type"),
    TokenKind("function", r"[^\W\d]\w*(?=\()", "entity.name.function"),
    TokenKind("name", r"[^\W\d]\w*", "variable.other"),
    TokenKind("operator", r"[-+*/%^&|~<>=!?.:÷⊻≤≥≠∧∨]+", "keyword.operator"),
    TokenKind("punctuation", r"[()\[\]{},;]", "punctuation"),
)
"""In this order: the first that matches at a place is meant."""


def textmate() -> dict[str, Any]:
    """The TextMate grammar, for editors such as VS Code."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "wingspan",
        "scopeName": "source.wingspan",
        "fileTypes": ["ws"],
        "patterns": [{"name": f"{kind.scope}.wingspan", "match": kind.pattern} for kind in TOKENS],
    }


if __name__ == "__main__":
    print(json.dumps(textmate(), indent=2, ensure_ascii=False))
