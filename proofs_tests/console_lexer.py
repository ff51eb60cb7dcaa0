"""Highlights blocks ```console of pages: commands, verdicts, messages, and the lines of programs in these."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, using
from pygments.token import Comment, Generic, Keyword, Text

from wingspan.views.lexer import WingspanLexer

GOOD = ("safe", "holds", "reached", "equal", "proved", "pass")
BAD = ("race", "unsafe", "fault", "deadlock", "wrong", "order-dependent", "violated", "undefined", "unreached")


class ConsoleLexer(RegexLexer):  # type: ignore[misc]
    """Splits commands and their output; whatever it does not know is plain output."""

    name = "wingspan-console"

    tokens: ClassVar = {
        "root": [
            (r"(\$ )(.*\n)", bygroups(Generic.Prompt, Text)),
            (rf"({'|'.join(GOOD)})(?=  )", Generic.Inserted),
            (rf"({'|'.join(BAD)})(?=  )", Generic.Error),
            (r"(error)(\[[\w-]+\])(:.*\n)", bygroups(Generic.Error, Generic.Error, Generic.Strong)),
            (r"( *\d+ │)([^│\n]*\n)", bygroups(Comment, using(WingspanLexer))),
            (r"( *│ +)([\^─]+)(.*\n)", bygroups(Comment, Generic.Error, Generic.Emph)),
            (r"( +)(fix|see|kind|result|first|second)(?=  )", bygroups(Text, Keyword)),
            (r".*\n", Text),
        ]
    }
