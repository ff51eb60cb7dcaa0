"""The parser, which Lark makes of the grammar.

Layout (`layout.py`) finds statements and blocks, the grammar (`grammar.lark`, as `tables.py` has it) their shape, the
builder (`builder.py`) makes the tree and checks what a grammar cannot; `mistakes.py` puts what the grammar refuses into
words.
"""

from __future__ import annotations

from collections.abc import Sequence

from lark import Lark
from lark.exceptions import UnexpectedInput

from wingspan.base.errors import ParseError, Source, Span
from wingspan.base.once import Once
from wingspan.lang import ir
from wingspan.lang.builder import Builder
from wingspan.lang.layout import Ended, Indented, Layout, LayoutError, closed_by_end
from wingspan.lang.mistakes import explain
from wingspan.lang.tables import make_parser


def parse(text: str, name: str, functions: Sequence[ir.Function]) -> ir.Program:
    """As `parser.parse`."""
    # Whatever Python counts as the end of a line is one: messages and tokens then agree on line numbers.
    source = Source(name, "\n".join(text.removeprefix("\ufeff").splitlines()))
    by_end = closed_by_end(source)
    try:
        tree = grammar(by_end).parse(source.text)
    except LayoutError as error:
        token = error.token
        line, column = token.line or 1, token.column or 1
        span = Span(source, line, column, line, column + max(1, len(token.strip())))
        mistake = ParseError(error.message, span, fix=error.fix)
    except UnexpectedInput as error:
        mistake = explain(source, error)
    else:
        if not tree.children:
            raise ParseError("the program is empty", Span(source, 1, 1, 1, 1), fix="write a statement, such as x = 1")
        return Builder(source, functions).program(tree)
    # Not raised above: as its context, Dask would pickle Lark's error, which cannot be.
    raise mistake


@Once
def grammar(by_end: bool) -> Lark:
    """The parser, for blocks closed by `end` or by indentation. It keeps nothing of the texts it parses."""
    return make_parser(Layout(Ended if by_end else Indented))
