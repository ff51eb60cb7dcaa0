"""A text that is no program gives one message: what is wrong, where, and what to write instead."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.lang.trees import refused, value
from proofs_tests.strategies import programs
from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.layout import LIMIT
from wingspan.lang.parser import parse
from wingspan.lang.printer import show


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "the program is empty", 1, 1),
        ("  # only this\n;\n", "the program is empty", 1, 1),
        ("x = 1\nx += 1", "`+=` updates an element of a tensor, and x is a bare name", 2, 3),
        ("for i = 1:3; i = 2; end", "i is the index of an enclosing loop", 1, 14),
        ("for i = 1:3; i .= 2; end", "i is the index of an enclosing loop", 1, 14),
        ("for i = 1:3; x = i[1]; end", "i is the index of an enclosing loop", 1, 18),
        ("for i = 1:3\n  for i = 1:2\n    skip", "i is already the index of an enclosing loop", 2, 7),
        ("for i += 1:3\n  skip", "a loop binds its index by `=` or `in`", 1, 7),
        ("for i of 1:3\n  skip", "a loop binds its index by `=` or `in`", 1, 7),
        ("for i = 1:3 do; skip; end", "a loop's header has no `do`", 1, 13),
        ("if x:\n  skip", "a header does not end in `:`", 1, 5),
        ("if x; dev = cpu(2); end", "a definition stands at the top level only", 1, 7),
        ("return C\nx = 1", "`return` must be the last statement of the program", 1, 1),
        ("if x; return C; end", "`return` must be the last statement of the program", 1, 7),
        ("return", "`return` names the tensors to give back", 1, 7),
        ("x = foo(1)", "no function foo is declared before this", 1, 5),
        ("x = min(1)", "min takes two or more arguments", 1, 5),
        ("x = abs(1, 2)", "abs takes one argument", 1, 5),
        ("C = Dense(Element(0))", "a format such as Dense(…) stands inside Tensor(…)", 1, 5),
        ("C = Tensor(Dense{2}(Element(0)))", "Dense takes no number of axes", 1, 12),
        ("C = Tensor(dense(Element(0)))", "dense is not a format: their names begin with a capital", 1, 12),
        ("C[i] = cpu(2)", "an element of a tensor cannot be a device, a schedule or a tensor", 1, 8),
        ("C = Tensor(Element(0), 3, [1, 2])", "data stand alone after the format", 1, 27),
        ("C = Tensor(Element(0), [1 2; 3])", "this row has 1 elements, the first has 2", 1, 30),
        ("C = Tensor(Element(0), [1,\n true])", "numbers and booleans do not mix", 2, 2),
        ("C = Tensor(Element(0), [1 - 2])", "`-` is not an element", 1, 27),
        ("C = Tensor(Element(0), [1, , 2])", "an element is missing before this comma", 1, 28),
        ("C = Tensor(Element(0), [1, 2,])", "the elements of a vector are separated by single commas", 1, 24),
        ("C = Tensor(Element(0), [1, 2 3])", "the elements of a vector are separated by single commas", 1, 24),
        ("C = Tensor(Element(0), [1, 2; 3])", "a vector has commas, a matrix has none", 1, 24),
        ("C = Tensor(Element(0), [;])", "a matrix needs an element", 1, 24),
        ("sch = dynamic_schedule()", "a dynamic schedule needs its chunk size", 1, 24),
        ("sch = static_schedule(2)", "a static schedule takes no arguments", 1, 23),
        ("x = 9223372036854775808", "this integer does not fit 64 bits", 1, 5),
        ("x = -9223372036854775809", "this integer does not fit 64 bits", 1, 5),
        ("x = " + "9" * 5000, "this integer does not fit 64 bits", 1, 5),
        ("x = 1e999", "this number is larger than every double", 1, 5),
        ("x = 0.", "digits must follow the point", 1, 6),
        ("x = .5", "a digit must stand before the point", 1, 5),
        ("x = 2y", "a number and a name stand together", 1, 6),
        ("x = y ^ 2", "there is no power operator", 1, 7),
        ("c[1] **= 2", "this is no reduction", 1, 6),
        ("x = y // 2", "`//` is not an operator", 1, 8),
        ("x = y ? 1 : 2", "`?` is not an operator", 1, 7),
        ("while true", "there is no `while`", 1, 7),
        ("for i = paralel(_, cpu(2)); skip; end", "there is no loop over paralel(…)", 1, 17),
        ("for j = _, i; skip; end", "after this comma, a loop binds another index", 1, 13),
        ("for j = _, ; skip; end", "after this comma, a loop binds another index", 1, 12),
        ("x = y ** 2", "there is no power operator", 1, 8),
        ("x = y and z", "`and` and `or` are not operators", 1, 7),
        ("x = not y", "`not` is not an operator", 1, 9),
        ("A[i] /= 2", "this is no reduction", 1, 6),
        ("A[i] <<isqrt>>= 2", "this is no reduction", 1, 6),
        ("x = end", "`end` cannot stand here: it is a reserved word", 1, 5),
        ("max = 3", "`max` cannot stand here: it is a reserved word", 1, 1),
        ("x = _", "`_` cannot stand here", 1, 5),
        ("x", "a name alone is no statement", 1, 2),
        ("x = ", "the line ends too early", 1, 4),
        ("x = 1 +\ny = 2", "the line ends too early", 1, 8),
        ("x = 1 y = 2", "`y` cannot stand here", 1, 7),
        ("x == 3", "an expression alone is no statement", 1, 3),
        ("A[i] + 1", "an expression alone is no statement", 1, 6),
        ("for i = n\n  skip", "a range has two ends", 1, 9),
        ("for i = parallel(i = 1:4)\n  skip", "the index stands before `parallel` already", 1, 20),
        ("C = Tensor(Dense, 3)", "a tensor begins with its format", 1, 17),
        ("C = Tensor(Dense(\n+ 3))", "`+` cannot stand here", 2, 1),
        ("3 = x", "no statement begins with `3`", 1, 1),
        ("x = [1, 2]", "brackets cannot stand here", 1, 5),
        ('x = "a', "this text is never closed", 1, 5),
        ("x = 1\0", "the character U+0000 cannot stand here", 1, 6),
        ("x = 1\u00a0+ 2", "the character U+00A0 NO-BREAK SPACE cannot stand here", 1, 6),
        ("x² = 1", "x² is not a name", 1, 1),
        ("x = y[1\nz = 2\n", "this bracket is never closed", 1, 6),
        ("x = 1)", "this bracket closes nothing", 1, 6),
        ("x = y[(1]", "this bracket closes another kind of bracket", 1, 9),
        ("# one\rx = 1\u2028y = (", "this bracket is never closed", 3, 5),
        ("end", "this `end` closes nothing", 1, 1),
        ("for i = 1:2\nfor j = 1:2\nskip\nend", "this `for` is never closed", 1, 1),
        ("for i = 1:2\n\tskip", "a tab stands in the indentation", 2, 2),
        ("for i = 1:2\nskip", "this `for` has no body", 1, 1),
        ("x = 1\nif x", "this `if` has no body", 2, 1),
        ("for i = 1:2; skip", "a `for` on one line must be closed", 1, 12),
        ("x = 1\n  y = 2", "this line is indented, but no block begins before it", 2, 3),
        ("for i = 1:2\n    skip\n  y = 2", "this line's indentation matches no open block", 3, 3),
    ],
)  # fmt: skip
def test_mistakes_say_what_and_where(text: str, message: str, line: int, column: int) -> None:
    error = refused(text)
    assert error.span is not None
    assert (error.message, error.span.line, error.span.column) == (message, line, column)


def test_a_message_shows_the_line_and_a_remedy() -> None:
    assert refused("x = 1\nx += 1").render() == (
        "error[syntax]: `+=` updates an element of a tensor, and x is a bare name\n"
        "  <program>:2:3\n"
        "    2 │ x += 1\n"
        "      │   ^^\n"
        "  fix  write x = x + e, or x[] += e if x is a tensor"
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 3_000 + "1" + ")" * 3_000,
        "x = " + "(" * 3_000,
        "x = " + "!" * 3_000 + "y",
        "x = " + "-" * 3_000 + "1",
        "x = " + "1 + " * 3_000 + "1",
        "x = " + "A[" * 3_000 + "1" + "]" * 3_000,
        "C = Tensor(" + "Dense(" * 3_000 + "Element(0)" + ")" * 3_001,
        "".join(f"for i{n} = 1:2;" for n in range(3_000)) + "end;" * 3_000,
        "\n".join(" " * n + f"for i{n} = 1:2" for n in range(1_000)) + "\n" + " " * 1_000 + "skip",
    ],
    ids=("parentheses", "open", "not", "minus", "sum", "subscripts", "format", "loops", "indented"),
)
def test_deep_nesting_is_one_error(text: str) -> None:
    error = refused(text)
    assert error.message == f"this is nested more than {LIMIT} deep"
    assert len(error.diagnostics) == 1


def test_nesting_up_to_the_limit_is_accepted() -> None:
    deep = "!" * (LIMIT - 1)
    assert len(list(value(deep + "y").walk())) == LIMIT
    assert refused("x = !" + deep + "y").message == f"this is nested more than {LIMIT} deep"


words = st.sampled_from(
    [
        "for",
        "if",
        "end",
        "return",
        "parallel",
        "true",
        "min",
        "isqrt",
        "skip",
        "freeze",
        "Tensor",
        "Scalar",
        "cpu",
        "static_schedule",
        "dynamic_schedule",
        "diagmask",
        "chunkmask",
        "Dense",
        "Element",
        "A",
        "i",
        "x",
        "_",
        "=",
        ".=",
        "+=",
        "<<min>>=",
        ":",
        ":t",
        ",",
        ";",
        "(",
        ")",
        "[",
        "]",
        "+",
        "-",
        "*",
        "÷",
        "&&",
        "!",
        "<",
        "==",
        "1",
        "2.5",
        "#",
        '"',
        "\n",
        "\n\t",
    ]
) | st.just("\n  ")
soup = st.lists(words, max_size=25).map(" ".join)


@pytest.mark.parametrize(("text", "fix"), [
    ("x = diagmask[1]", "diagmask[i, j]"),
    ("x = diagmask(2)[1, 2]", "diagmask[i, j]"),
    ("x = bandmask[1, 2]", "bandmask[i, j, k]"),
    ("x = chunkmask[1, 2]", "chunkmask(b)[i, j]"),
    ("x = splitmask(4)[1, 2]", "splitmask(n, P)[i, j]"),
])  # fmt: skip
def test_a_mask_takes_what_it_takes(text: str, fix: str) -> None:
    assert refused(text).fix == fix


@settings(max_examples=many(200), deadline=None, derandomize=True)
@given(st.text(max_size=60) | soup)
def test_any_text_is_a_program_or_a_parse_error(text: str) -> None:
    """No other exception, and what is accepted reads back from its canonical text."""
    try:
        program = parse(text)
    except ParseError as error:
        assert error.span is not None
        assert error.render().startswith("error[syntax]: ")
    else:
        assert parse(show(program)) == program


@settings(max_examples=many(80), deadline=None, derandomize=True)
@given(programs, st.data())
def test_a_damaged_program_is_a_program_or_a_parse_error(program: ir.Program, data: st.DataObject) -> None:
    """Cutting a piece out of a program's text gives a program or a parse error inside of the text."""
    text = show(program)
    start = data.draw(st.integers(0, len(text)))
    damaged = text[:start] + text[data.draw(st.integers(start, len(text))) :]
    try:
        again = parse(damaged)
    except ParseError as error:
        assert error.span is not None
        assert 1 <= error.span.line <= damaged.count("\n") + 1
    else:
        assert parse(show(again)) == again
