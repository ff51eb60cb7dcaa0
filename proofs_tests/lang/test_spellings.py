"""The spellings of Finch.jl: each is read as its normal form, and what has no effect is noted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import wingspan
from proofs_tests.effort import many
from proofs_tests.lang.respelling import respelled
from proofs_tests.lang.trees import refused
from proofs_tests.strategies import programs
from wingspan import api
from wingspan.lang import ir
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

WALK = "`walk` has no effect: formats and expressions decide how levels are stepped through"


@pytest.mark.parametrize(
    ("spelled", "normal"),
    [
        ("for i in 1:3; c[i] += 1; end", "for i = 1:3; c[i] += 1; end"),
        ("for i ∈ 1:3; c[i] += 1; end", "for i = 1:3; c[i] += 1; end"),
        ("for i in _\n  c[i] += 1", "for i = _; c[i] += 1; end"),
        ("for i=:, j=:; c[i, j] += 1; end", "for i = _; for j = _; c[i, j] += 1; end; end"),
        ("for i in 1:3, j = i:4, k in _\n  c[i, j, k] += 1", 
         "for i = 1:3; for j = i:4; for k = _; c[i, j, k] += 1; end; end; end"),
        ("for i in _,\n    j in _\n\n  c[i, j] += 1\nend", "for i = _; for j = _; c[i, j] += 1; end; end"),
        ("for i = extent(2, n + 1); c[i] += 1; end", "for i = 2:n + 1; c[i] += 1; end"),
        ("for i = parallel(:, cpu()); skip; end", "for i = parallel(_, cpu(2)); skip; end"),
        ("for i = parallel(extent(1, 3)); skip; end", "for i = parallel(1:3); skip; end"),
        ("@finch c[1] = 2", "c[1] = 2"),
        ("Finch.@finch_code mode=:fast for i in _; c[i] = 1 end", "for i = _; c[i] = 1; end"),
        ("@finch mode = :debug algebra = MyAlgebra() (c .= 0; c[1] += 1)", "c .= 0; c[1] += 1"),
        ("@finch begin\n  c .= 0\n  c[1] += 1\n  return c\nend", "c .= 0; c[1] += 1; return c"),
        ("@finch (c .= 0;\nfor i in _\n  c[i] += 1\nend; return (c))", "c .= 0; for i = _; c[i] += 1; end; return c"),
        ("(\n  c[1] = 1;\n  (c[2] = 2;)\n)", "c[1] = 1; c[2] = 2"),
        ("for i in _; (c[i] = 1; d[i] = 2) end", "for i = _; c[i] = 1; d[i] = 2; end"),
        ("begin end", ""),
        ("for i in _; begin end; end", "for i = _; skip; end"),
        ("return (c, d)", "return c, d"),
        ("c[1] := 2", "c[1] = 2"),
        ("c[1] <<overwrite>>= 2", "c[1] = 2"),
        ("p[] <<maxby>>= a[1] => 3", "p[] <<maxby>>= (a[1], 3)"),
        ("p[] << minby >>= 2.5 => 3", "p[] <<minby>>= (2.5, 3)"),
        ("x = a[walk(1), gallop(n + 1)] + a[follow(~(n + 1)), 2]", "x = a[1, n + 1] + a[~(n + 1), 2]"),
        ("c[extrude(1)] += a[laminate(b[walk(1)])]", "c[1] += a[b[1]]"),
        ("x = swizzle(A, 2, 1)[1, 2]", "x = A[2, 1]"),
        ("x = swizzle(A, 2, 3, 1)[1, 2, 3]", "x = A[3, 1, 2]"),
        ("swizzle(A, 2, 1)[walk(1), 2] += 1", "A[2, 1] += 1"),
        ("x = permissive(A, true, false)[1, 2]", "x = A[~1, 2]"),
        ("x = Finch.permissive(a, true)[~n]", "x = a[~n]"),
        ("x = offset(A, 1, -n)[walk(1), 2]", "x = A[1 + 1, 2 + -n]"),
        ("x = Finch.offset(A, -2, 0)[1, ~2]", "x = A[1 - 2, ~2]"),
        ("for i in _; c[i] = a[(2:4)(i)]; end", "for i = 1:3; c[i] = a[i + 1]; end"),
        ("for i in _; c[i] = a[(1:3)(i)] + a[(3:5)(i)]; end", "for i = 1:3; c[i] = a[i] + a[i + 2]; end"),
        ("for j in parallel(_), i in _; c[i, j] = a[walk(i), (4:3)(j)]; end",
         "for j = parallel(1:0); for i = _; c[i, j] = a[i, j + 3]; end; end"),
        ("x = something(a[1], nothing, b[1], 0)", "x = coalesce(a[1], b[1], 0)"),
        ("Finch.@finch_program_instance begin\n  c[1] = 1\nend", "c[1] = 1"),
        ("@finch_program c[1] = 1", "c[1] = 1"),
        ("@finch MyAlgebra() (c .= 0; c[1] += 1)", "c .= 0; c[1] += 1"),
        ("for i in _; c[i] = Int((i * i) % 5 + 1); end", "for i = _; c[i] = i * i % 5 + 1; end"),
        ("x = a +\n  b *\n  # a comment\n  c", "x = a + b * c"),
        ("c[1] +=\n  2", "c[1] += 2"),
        ("if a &&\n   b\n  c[1] = 2", "if a && b; c[1] = 2; end"),
        ("d = cpu(:t)", "d = cpu(:t, 2)"),
        ("d = cpu()", "d = cpu(2)"),
        ("h = static_schedule(:static)", "h = static_schedule()"),
        ("h = greedy_schedule(4)", "h = dynamic_schedule(4)"),
        ("h = greedy_schedule()", "h = dynamic_schedule(1)"),
        ("h = julia_schedule(4, :dynamic)", "h = dynamic_schedule(4)"),
        ("A = Tensor(Dense(Dense(Element(0))), [[1, 2], [3, 4]])", "A = Tensor(Dense(Dense(Element(0))), [1 2; 3 4])"),
        ("A = Tensor(Dense(Dense(Element(0))), [ # [\n [1, 2.5], # ]\n [3, 4]])",
         "A = Tensor(Dense(Dense(Element(0))), [1 2.5; 3 4])"),
        ("A = Tensor(Dense(Dense(Element(0))), [[7]])", "A = Tensor(Dense(Dense(Element(0))), [7;])"),
    ],
)  # fmt: skip
def test_a_spelling_is_read_as_its_normal_form(spelled: str, normal: str) -> None:
    assert parse(spelled) == (parse(normal) if normal else ir.Program(ir.Block(())))
    assert parse(show(parse(spelled)) or "skip") == parse(normal or "skip")


@settings(max_examples=many(300), deadline=None, derandomize=True)
@given(respelled(programs))
def test_random_spellings_of_a_program_are_read_alike(made: tuple[ir.Program, str]) -> None:
    program, text = made
    assert parse(text) == program


# ------------------------------------------------------------------------------------------------------------- let


def test_a_let_that_ends_a_block_is_its_assignments() -> None:
    text = "for i in _; c[i] += 1; let x = a[i], y = x + 1; c[i] += x; d[i] += y; end; end"
    assert show(parse(text)) == (
        "for i = _\n    c[i] += 1\n    x = a[i]\n    y = x + 1\n    c[i] += x\n    d[i] += y\nend"
    )


def test_a_let_among_statements_is_a_scope() -> None:
    assert parse("for i = _; let x = 1; let y = x; c[i] = y; end; end; end") == parse(
        "for i = _; x = 1; y = x; c[i] = y; end"
    )
    nested = "for i = _; let x = a[i]; c[i] += x; end; c[i] += 1; end"
    assert parse(nested) == parse("for i = _; if true; x = a[i]; c[i] += x; end; c[i] += 1; end")
    assert parse("let x = 1\n  c[1] = x") == parse("if true; x = 1; c[1] = x; end")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        # Another variable, in a scope around the `let` or after it.
        ("x = 1\nlet x = 2\n  c[1] = x", "x = 1; if true; x2 = 2; c[1] = x2; end"),
        ("let x = 2\n  c[1] = x\nx = 1", "if true; x2 = 2; c[1] = x2; end; x = 1"),
        # A parameter, which its own value reads.
        ("let x = x + 1\n  c[1] = x", "if true; x2 = x + 1; c[1] = x2; end"),
        # Another `let`.
        ("let x = 1; let x = x + 1; c[1] = x; end; c[2] = x; end",
         "if true; x = 1; if true; x2 = x + 1; c[1] = x2; end; c[2] = x; end"),
        ("let x = 1, x = x + 1; c[1] = x; end", "if true; x = 1; x2 = x + 1; c[1] = x2; end"),
        # An index, inside of the loop, and of a loop inside.
        ("for i in 1:2; let i = i + 1; c[i] = i; end; end", "for i = 1:2; i2 = i + 1; c[i2] = i2; end"),
        ("let i = 3; for i in 1:2; c[i] = i; end; d[1] = i; end",
         "if true; i = 3; for i = 1:2; c[i] = i; end; d[1] = i; end"),
        # A name that an obvious new name would meet.
        ("x2 = 5\nx = 1\nlet x = 2\n  c[1] = x", "x2 = 5; x = 1; if true; x3 = 2; c[1] = x3; end"),
        # An assignment of the variable itself.
        ("x = 1\nlet x = 2\n  x = x + 1\n  c[1] = x", "x = 1; if true; x2 = 2; x2 = x2 + 1; c[1] = x2; end"),
        # Two that do not meet keep the name.
        ("for i in _; let x = a[i]; c[i] = x; end; end\nfor i in _; let x = a[i]; d[i] = x; end; end",
         "for i = _; x = a[i]; c[i] = x; end; for i = _; x = a[i]; d[i] = x; end"),
    ],
)  # fmt: skip
def test_the_variables_of_a_let_are_no_others(text: str, normal: str) -> None:
    renamed = parse(text)
    assert renamed.body == parse(normal).body


def test_values_are_those_of_the_innermost_let() -> None:
    program = api.parse("""
    c = Tensor(Dense(Element(0)), 4)
    c .= 0
    x = 10
    let x = x + 1
        c[1] = x
        let x = 2 * x, y = x
            for y in 3:3
                c[y] = x
            end
            c[2] = x + y
        end
        c[3] = 3 * x
    end
    c[4] = x
    return c
    """)
    run = api.run(program)
    assert run.tensors["c"].to_numpy().tolist() == [11, 44, 33, 10]
    assert set(run.variables) == {"x"}


# ----------------------------------------------------------------------------------------------------------- notes


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("x = a[walk(1)]", ["<program>:1:7: " + WALK]),
        ("@finch mode = :safe c[1] = 1", ["<program>:1:8: `mode` has no effect: all programs are checked alike"]),
        ("@finch A() (c[1] = 1)",
         ["<program>:1:8: `algebra` has no effect: what holds of a function is declared with it"]),
        ("@finch algebra = A() c[1] = 1",
         ["<program>:1:8: `algebra` has no effect: what holds of a function is declared with it"]),
        ("h = static_schedule(:greedy)", ["<program>:1:21: `:greedy` has no effect: it is for the scheduler of Julia"]),
        ("x = Int(3)", ["<program>:1:5: `Int` has no effect: this is an integer"]),
        ("x = a[walk(1)]\ny = a[walk(2)]", ["<program>:1:7: " + WALK]),
        ("for i in _, j in :; c[i, j] := swizzle(a, 2, 1)[i, j]; end", []),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_noted_where_it_first_stands(text: str, notes: list[str]) -> None:
    assert list(api.parse(text).notes) == notes


@pytest.mark.parametrize("verb", [("fmt",), ("check",), ("run", "--json")])
def test_commands_print_notes_beside_their_results(command, written, verb: tuple[str, ...]) -> None:
    path = written("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i in _\n    c[walk(i)] += 1\n")
    status, output, errors = command(*verb, path)
    assert status == 0
    assert errors.splitlines()[0].startswith(f"note: {path}:4:7: `walk` has no effect: ")
    assert "has no effect" not in output


# ------------------------------------------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("x = walk(1)", "walk stands around a whole subscript", 1, 5),
        ("x = a[walk(1) + 1]", "walk stands around a whole subscript", 1, 7),
        ("x = a[walk(1, 2)]", "walk takes one subscript", 1, 7),
        ("x = swizzle(A, 2, 1)", "swizzle(A, …) stands before its subscripts", 1, 5),
        ("x = swizzle(A, 2, 2)[1, 2]", "swizzle names each axis of the tensor once", 1, 5),
        ("x = swizzle(A, 2, 1)[1]", "this view has 2 axes, and here 1 subscripts", 1, 22),
        ("x = swizzle(A[1], 1)[1]", "swizzle takes a tensor and the numbers of its axes", 1, 5),
        ("x = permissive(A, 1)[1]", "permissive takes a tensor and true or false for each axis", 1, 5),
        ("x = offset(A, 1)[1, 2]", "this view has 1 axes, and here 2 subscripts", 1, 18),
        ("x = permissive(A, true)", "permissive(A, …) stands before its subscripts", 1, 5),
        ("x = f(A)[1]", "an access is of a tensor by its name", 1, 5),
        ("x = a[(2:4)(1)]", "a window has two numbers, and an index over `_`", 1, 7),
        ("for i in 1:3; x = a[(2:4)(i)]; end", "a window has two numbers, and an index over `_`", 1, 21),
        ("for i in _; x = a[(2:n)(i)]; end", "a window has two numbers, and an index over `_`", 1, 19),
        ("for i in _; x = a[(2:4)(i) + 1]; end", "a window is a whole subscript", 1, 19),
        ("for i in _; x = a[(2:4)(i)] + a[(1:2)(i)]; end", "i runs through a window of 3 and of 2", 1, 33),
        ("x = a[(2:4)]", "a window stands before an index", 1, 12),
        ("x = a[$(p)(1)]", "`$` inserts what Julia computes", 1, 7),
        ("x = Finch.offset(a, 1)", "offset(A, …) stands before its subscripts", 1, 23),
        ("x = Finch.default(a)", "of Finch's module there are views alone", 1, 10),
        ("x = something(a[1], nothing)", "something takes what may be nothing, and a last value", 1, 5),
        ("push!(a, 1)", "no function changes its arguments", 1, 5),
        ("x = Int(a[1])", "there are no conversions such as Int(…)", 1, 5),
        ("x = UInt8(3)", "there are no conversions such as UInt8(…)", 1, 5),
        ("@finch mode = :quick c[1] = 1", "there is no mode :quick", 1, 8),
        ("@finch mode = fast c[1] = 1", "this option is not written like that", 1, 20),
        ("@finch MyAlgebra(1) (c .= 0)", "this option is not written like that", 1, 21),
        ("@finch_kernel function f(x); x .= 0; end", "a program is no function", 1, 1),
        ("@time c[1] = 1", "there is no such macro", 1, 1),
        ("@finch", "the line ends too early", 1, 7),
        ("x := 1", "`:=` updates an element of a tensor, and x is a bare name", 1, 3),
        ("let x += 1; end", "`let` binds variables by `=`", 1, 7),
        ("let x; end", "`let` binds a variable", 1, 6),
        ("let i = 1\nskip", "this `let` has no body", 1, 1),
        ("begin\n  x = 1\nend\nend", "this `end` closes nothing", 4, 1),
        ("(for i = 1:3; c[i] = 1)\nend", "this `for` is never closed", 1, 2),
        ("(c[1] = 1; end)", "this `end` closes nothing", 1, 12),
        ("for i = extent(3); skip; end", "extent takes the two ends of a range", 1, 9),
        ("for i in n, j in _; skip; end", "a range has two ends", 1, 10),
        ("for i in _, i in _; skip; end", "i is already the index of an enclosing loop", 1, 13),
        ("h = julia_schedule(a, b)", "this schedule takes its chunk size", 1, 23),
        ("h = greedy_schedule(2, :soon)", ":soon is nothing that a schedule takes", 1, 24),
        ("A = Tensor(Dense(Dense(Element(0))), [[1, 2], [3]])",
         "this row has 1 elements, the first has 2", 1, 48),
        ("A = Tensor(Dense(Dense(Element(0))), [[1, 2] [3, 4]])",
         "rows in brackets are separated by single commas", 1, 38),
        ("A = Tensor(Dense(Dense(Element(0))), [[1 2], [3 4]])",
         "the elements of such a row are separated by commas", 1, 39),
        ("A = Tensor(Dense(Dense(Element(0))), [[], []])", "a matrix needs an element", 1, 38),
        ("A = Tensor(Dense(Dense(Element(0))), [[[1]]])", "data are a vector or a matrix", 1, 38),
        ("x = a +\n\ny = 2", "the line ends too early", 1, 8),
        ("c[1] =\nfor i = 1:2\nskip\nend", "the line ends too early", 1, 7),
    ],
)  # fmt: skip
def test_near_misses_say_what_and_where(text: str, message: str, line: int, column: int) -> None:
    error = refused(text)
    assert error.span is not None
    assert (error.message, error.span.line, error.span.column) == (message, line, column)


def test_a_function_of_the_program_is_no_protocol() -> None:
    program = parse("function walk(x) = x + 1\nx = a[walk(1)]")
    assert program.notes == ()
    assert show(program).endswith("x = a[walk(1)]")


@pytest.mark.parametrize("text", ["(" * 90 + "c[1] = 1" + ")" * 90, "begin " * 5_000 + "c[1] = 1" + " end" * 5_000])
def test_groups_may_nest(text: str) -> None:
    assert parse(text) == parse("c[1] = 1")


def test_indices_count_as_blocks() -> None:
    header = ", ".join(f"i{n} in _" for n in range(150))
    assert refused(f"for {header}; skip; end").message == "this is nested more than 100 deep"


@pytest.mark.parametrize(
    ("spelled", "normal", "array"),
    [
        ("SparseCOO{1}(Element(0))", "SparseList(Element(0))", [0, 3, 0]),
        ("Dense(SparseCOO(1, Element(0)))", "Dense(SparseList(Element(0)))", [[0, 3], [1, 0]]),
    ],
)
def test_coordinates_of_one_axis_are_a_list(spelled: str, normal: str, array: list[object]) -> None:
    tensor, expected = (wingspan.Tensor.from_numpy(text, np.array(array)) for text in (spelled, normal))
    assert str(tensor) == str(expected)
    assert tensor.sizes() == expected.sizes()
