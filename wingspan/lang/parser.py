"""From text to tree: `parse(text, name)` gives an `ir.Program` or raises `errors.ParseError`, whatever the text."""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.lang import ir


def parse(text: str, name: str = "<program>", functions: Sequence[ir.Function] = ()) -> ir.Program:
    """The program that `text` says; `name` is what messages call it. It begins with the declarations of `functions`.

    >>> parse("for i = 1:3; c[i] += 1; end").body.statements[0].index
    'i'
    """
    from wingspan.lang import lark_parser  # Lark takes longer to load than a small program to explore

    return lark_parser.parse(text, name, functions)
