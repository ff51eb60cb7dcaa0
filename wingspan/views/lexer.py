"""Highlights programs: a lexer of Pygments, under the name `wingspan`, for sites, notebooks and editors that use it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.operators import WORDS

CONSTANTS = frozenset({"true", "false", "missing", "Inf", "NaN"})


class WingspanLexer(RegexLexer):  # type: ignore[misc]
    """Splits a program into comments, words, names, numbers and signs; any text can be split."""

    name = "wingspan"
    aliases = ("wingspan", "ws")
    filenames = ("*.ws",)

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"#.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r":[A-Za-z_]\w*", String.Symbol),
            (words(sorted(CONSTANTS), suffix=r"(?!\w)"), Keyword.Constant),
            (words(sorted(WORDS), suffix=r"(?!\w)"), Name.Builtin),
            (words(sorted(KEYWORDS - CONSTANTS - set(WORDS)), suffix=r"(?!\w)"), Keyword),
            (r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?", Number),
            (r"[A-Z]\w*(?=\()", Name.Class),
            (r"[^\W\d]\w*(?=\()", Name.Function),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%^&|~<>=!?.:÷⊻≤≥≠∧∨]+", Operator),
            (r"[()\[\]{},;]", Punctuation),
        ]
    }
