"""Highlights programs: a lexer of Pygments, under the name `wingspan`, for sites, notebooks and editors that use it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from wingspan.views.highlighting import TOKENS

TYPES = {
    "comment": Comment.Single,
    "string": String,
    "symbol": String.Symbol,
    "constant": Keyword.Constant,
    "builtin": Name.Builtin,
    "keyword": Keyword,
    "number": Number,
    "format": Name.Class,
    "function": Name.Function,
    "name": Name,
    "operator": Operator,
    "punctuation": Punctuation,
}


class WingspanLexer(RegexLexer):  # type: ignore[misc]
    """Splits a program into comments, words, names, numbers and signs; any text can be split."""

    name = "wingspan"
    aliases = ("wingspan", "ws")
    filenames = ("*.ws",)

    tokens: ClassVar = {"root": [(r"\s+", Whitespace), *((kind.pattern, TYPES[kind.name]) for kind in TOKENS)]}
