"""The canonical form of a text, with its comments and blank lines.

The printer knows no comments. They are put back where the printed program has the lines of the written one; a program
with comments that it would break elsewhere is left alone.
"""

from __future__ import annotations

import re

from wingspan.base.errors import InputError
from wingspan.editing.edits import normalize_text
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.program import Program, parse

LINE = re.compile(r'((?:[^"#]|"[^"]*")*)(.*)')
"""The code and the comment of a line."""
STATEMENTS = ir.Define | ir.Set | ir.Assign | ir.Declare | ir.For
"""The statements that begin a line; the spans of loops are those of their headers."""


def format_text(text: str, name: str = "program.ws") -> str:
    """The text in its canonical form.

    Raises:
        ParseError: the text is not a program.
        InputError: a comment would be lost.
    """
    program = parse(text + "\n", name)
    lines = _logical_lines(program, text)
    printed = show(program.tree).splitlines()
    for groups in ([[line] for line in printed], _with_ends(printed)):
        if len(groups) == sum(bool(code) for code, _ in lines):
            found = _with_comments(lines, groups)
            if _has_same_lines(program, found):
                return found
    if any(comment for _, comment in lines):
        message = "the canonical form has other lines than this program, and its comments would be lost"
        raise InputError(message, fix="write one statement a line, and remove comments inside of statements")
    return "\n".join(printed) + "\n"


def _logical_lines(program: Program, text: str) -> list[tuple[str, str]]:
    """The code and the comment of each line; lines that a statement goes on in belong to its first one."""
    matches = map(LINE.fullmatch, normalize_text(text).rstrip().split("\n"))
    lines = [(found[1].strip(), found[2].rstrip()) for found in matches if found]
    within: set[int] = set()
    for node in program.tree.walk():
        if isinstance(node, STATEMENTS) and node.span is not None:
            within.update(range(node.span.line, node.span.end_line))
    made: list[tuple[str, str]] = []
    for k, (code, comment) in enumerate(lines):
        if k in within and made:
            made[-1] = f"{made[-1][0]} {code}", "  ".join(filter(None, (made[-1][1], comment)))
        else:
            made.append((code, comment))
    return made


def _with_ends(printed: list[str]) -> list[list[str]]:
    """The printed lines of each line of a program whose blocks are indented: each `end` goes with the line before."""
    groups: list[list[str]] = []
    for line in printed:
        if line.strip() == "end" and groups:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _with_comments(lines: list[tuple[str, str]], groups: list[list[str]]) -> str:
    """The printed lines in place of the code; a comment that is alone in a line is indented as the next code."""
    rest = groups.copy()
    made: list[str] = []
    for code, comment in reversed(lines):
        if code:
            first, *ends = rest.pop()
            made += [*reversed(ends), f"{first}  {comment}" if comment else first]
        else:
            following = made[-1] if made else ""
            indent = following[: len(following) - len(following.lstrip())]
            made.append(f"{indent}{comment}".rstrip())
    return "\n".join(reversed(made)) + "\n"


def _has_same_lines(program: Program, text: str) -> bool:
    """Whether a text is the same program, with the same statements together in lines."""
    again = parse(text, program.name)
    pairs = zip(_first_lines(program), _first_lines(again), strict=False)
    lines = set(pairs)
    one_to_one = len({a for a, _ in lines}) == len({b for _, b in lines}) == len(lines)
    return again.tree == program.tree and one_to_one


def _first_lines(program: Program) -> list[int]:
    return [node.span.line for node in program.tree.walk() if isinstance(node, STATEMENTS) and node.span is not None]
