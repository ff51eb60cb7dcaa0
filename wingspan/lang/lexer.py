"""The lexer: Lark's, which knows what the parser accepts next, with terminals that are tried one by one.

For each state of the parser, Lark compiles an alternation of all that the state accepts. A program of ten lines meets
24 states, and their alternations took ten times as long as parsing it. Here each terminal is compiled once, when it is
first tried.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from lark import TextSlice
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef


class SequentialScanner:
    """A scanner for Lark: the first of the terminals that matches."""

    def __init__(self, terminals: list[TerminalDef]) -> None:
        self.terminals = [(terminal.name, terminal.pattern.to_regexp()) for terminal in terminals]
        self.allowed_types = {terminal.name for terminal in terminals}

    def match(self, text: TextSlice[str], pos: int) -> tuple[str, str] | None:
        """The text that matches at a position, and the name of its terminal."""
        for name, regexp in self.terminals:
            if found := _compile_terminal(regexp).match(text.text, pos, text.end):
                return found.group(), name
        return None


@cache
def _compile_terminal(regexp: str) -> re.Pattern[str]:
    return re.compile(regexp)


class StateLexer(BasicLexer):
    """The lexer of some states of the parser. `terminals` is in Lark's order of precedence."""

    def _build_scanner(self) -> Any:
        self.callback = dict(self.user_callbacks)
        return SequentialScanner(self.terminals)  # type: ignore[arg-type]


class Lexer(ContextualLexer):
    """The lexer of a parser: one of each state's own."""

    BasicLexer = StateLexer
