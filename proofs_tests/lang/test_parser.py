"""The parser: the paper's listings as printed, both layouts, every construct, and a message for every other text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.strategies import programs
from wingspan.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.layout import LIMIT
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

INDEPENDENT = """\
for i=parallel(_)
    c[i] += 1
end
"""

DEPENDENT = """\
for i=parallel(_)
    c[i - i % 2] += 1
end
"""

NESTED_INNER = """\
dev1 = cpu(:d1, 4)
dev2 = cpu(:d2, 4)
C = Tensor(Dense(Shard(dev1, Dense(Shard(dev2, Element(0.0))))))
A = Tensor(Dense(Dense(Element(0.0))))
B = Tensor(Dense(Dense(Element(0.0))))

C .= 0
for j=parallel(_, dev1, static_schedule())
    for i=parallel(_, dev2, static_schedule())
        for k=_
            C[i, j] += A[i, k] * B[k, j]
        end
    end
end
"""

INNER = """\
dev=cpu(:t,nt)
C=Tensor(Dense(Shard(
  dev,SparseList(Element(0.0)))))
C.=0
for j=parallel(_,dev,sch)
  for i=_
    for k=_
      C[i,j]+=AT[k,i]*B[k,j]
"""

OUTER = """\
dev=cpu(:t,nt)
C=Tensor(Merge(dev,SparseDict(
  SparseDict(Element(0.0)))))
C.=0
for k=parallel(_,dev,sch)
  for j=_
    for i=_
      C[i,j]+=A[i,k]*BT[j,k]
"""

GUSTAVSON = """\
dev=cpu(:t,nt)
C=Tensor(Dense(Shard(dev,
  SparseList(Element(0.0)))))
w=Tensor(SparseByteMap(Element(0.0)))
C.=0
for j=parallel(_,dev,sch)
  w.=0
  for k=_
    for i=_
      w[i]+=A[i,k]*B[k,j]
  for i=_
    C[i,j] =w[i]
"""

NESTED = """\
dev1=cpu(:t,isqrt(nt))
dev2=cpu(:q,isqrt(nt))
C=Tensor(Dense(Shard(dev1,
  SparseList(Element(0.0)))))
w=Tensor(Merge(dev2,
  SparseByteMap(Element(0.0))))
C.=0
for j=parallel(_,dev,sch)
  w.=0
  for k=parallel(_,dev2)
    for i=_
      w[i]+=A[i,k]*B[k,j]
  for i=_
    C[i,j]=w[i]
return C
"""

LISTINGS = (INDEPENDENT, DEPENDENT, NESTED_INNER, INNER, OUTER, GUSTAVSON, NESTED)

V, X, L = ir.Variable, ir.Index, ir.Literal


def at(tensor: str, *indices: str) -> ir.Access:
    return ir.Access(ir.Fiber(tensor, len(indices) + 1), tuple(map(X, indices)))


def fmt(name: str, *args: ir.Format | ir.Variable | ir.Literal) -> ir.Format:
    return ir.Format(name, args)


def one(text: str) -> ir.Statement:
    """The only statement of a program."""
    (statement,) = parse(text).body.statements
    return statement


def value(text: str) -> ir.Expression:
    """The expression that `text` says."""
    statement = one(f"x = {text}")
    assert isinstance(statement, ir.Set)
    return statement.value


def definition(text: str) -> ir.Definable:
    statement = one(f"D = {text}")
    assert isinstance(statement, ir.Define)
    return statement.value


def refused(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(text)
    return caught.value


# ------------------------------------------------------------------------------------------------- the paper's listings


def test_independent_kernel() -> None:
    domain = ir.Parallel(ir.Whole(), ir.Cpu("", L(2)), ir.ScheduleCall("static"))
    loop = ir.For("i", domain, ir.Assign(at("c", "i"), "+", L(1)))
    assert parse(INDEPENDENT) == ir.Program(ir.Block((loop,)))


def test_dependent_kernel_subtracts_the_remainder() -> None:
    loop = one(DEPENDENT)
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Assign)
    remainder = ir.Call("%", (X("i"), L(2)))
    assert loop.body.access == ir.Access(ir.Fiber("c", 2), (ir.Call("-", (X("i"), remainder)),))


def test_nested_inner_product() -> None:
    *definitions, declare, loop = parse(NESTED_INNER).body.statements
    assert [d.name for d in definitions if isinstance(d, ir.Define)] == ["dev1", "dev2", "C", "A", "B"]
    assert declare == ir.Declare("C", L(0))
    static = ir.ScheduleCall("static")
    product = ir.Call("*", (at("A", "i", "k"), at("B", "k", "j")))
    inner = ir.For("k", ir.Whole(), ir.Assign(at("C", "i", "j"), "+", product))
    middle = ir.For("i", ir.Parallel(ir.Whole(), V("dev2"), static), inner)
    assert loop == ir.For("j", ir.Parallel(ir.Whole(), V("dev1"), static), middle)


def test_inner_product_has_sharded_columns() -> None:
    dev, c, declare, loop = parse(INNER).body.statements
    assert dev == ir.Define("dev", ir.Cpu("t", V("nt")))
    leaf = fmt("SparseList", fmt("Element", L(0.0)))
    assert c == ir.Define("C", ir.TensorCall(fmt("Dense", fmt("Shard", V("dev"), leaf))))
    assert declare == ir.Declare("C", L(0))
    product = ir.Call("*", (at("AT", "k", "i"), at("B", "k", "j")))
    inner = ir.For("k", ir.Whole(), ir.Assign(at("C", "i", "j"), "+", product))
    assert loop == ir.For("j", ir.Parallel(ir.Whole(), V("dev"), V("sch")), ir.For("i", ir.Whole(), inner))


def test_outer_product_merges_the_whole_output() -> None:
    _, c, _, loop = parse(OUTER).body.statements
    tree = fmt("SparseDict", fmt("SparseDict", fmt("Element", L(0.0))))
    assert c == ir.Define("C", ir.TensorCall(fmt("Merge", V("dev"), tree)))
    assert isinstance(loop, ir.For) and loop.index == "k"


def test_gustavson_closes_two_blocks_by_one_unindent() -> None:
    loop = parse(GUSTAVSON).body.statements[-1]
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Block)
    declare, scatter, gather = loop.body.statements
    assert declare == ir.Declare("w", L(0))
    product = ir.Call("*", (at("A", "i", "k"), at("B", "k", "j")))
    update = ir.Assign(at("w", "i"), "+", product)
    assert scatter == ir.For("k", ir.Whole(), ir.For("i", ir.Whole(), update))
    assert gather == ir.For("i", ir.Whole(), ir.Assign(at("C", "i", "j"), "=", at("w", "i")))


def test_nested_gustavson_returns_its_output() -> None:
    program = parse(NESTED)
    assert program.returns == ("C",)
    assert program.body.statements[1] == ir.Define("dev2", ir.Cpu("q", ir.Call("isqrt", (V("nt"),))))
    loop = program.body.statements[-1]
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Block)
    scatter = loop.body.statements[1]
    assert isinstance(scatter, ir.For)
    assert scatter.range == ir.Parallel(ir.Whole(), V("dev2"), ir.ScheduleCall("static"))


# ------------------------------------------------------------------------------------------------------------- layout


@settings(max_examples=many(80), deadline=None, derandomize=True)
@given(programs)
def test_both_layouts_say_the_same(program: ir.Program) -> None:
    """Dropping every `end` of the canonical text leaves a program closed by indentation, with the same tree."""
    kept = [line for line in show(program).split("\n") if line.strip() != "end"]
    assert parse("\n".join(kept)) == program


@settings(max_examples=many(80), deadline=None, derandomize=True)
@given(programs)
def test_with_end_indentation_and_line_ends_are_free(program: ir.Program) -> None:
    """One line, its statements separated by `;`, is the same program as the canonical text."""
    lines = [line.strip() for line in show(program).split("\n")]
    assert parse("; ".join(lines) if "end" in lines else "\n".join(lines)) == program


@pytest.mark.parametrize(
    "text",
    [
        "for i = 1:3; c[i] += 1; end",
        "for i = 1:3; c[i] += 1 end",
        "for i = 1:3\nc[i] += 1\nend",
        "\n\n   for i = 1:3 # header\n\n\tc[i] += 1 # body\n    # nothing\n  end\n;;",
        "for i = 1:3\n  c[i] += 1",
        "  for i = 1:3\n\n      # deeper\n    c[\ni\n] += 1\n# out\n",
        "\ufefffor i = 1:3\r\n  c[i] += 1\r\n",
        "for i = 1:3\n    c[i] += (1 # end\n)",
    ],
)
def test_ways_to_lay_out_one_loop(text: str) -> None:
    assert one(text) == ir.For("i", ir.Range(L(1), L(3)), ir.Assign(at("c", "i"), "+", L(1)))


def test_an_empty_block_is_skip() -> None:
    assert one("if true; end") == ir.If(L(True), ir.SKIP)
    assert one("if true\n  skip") == ir.If(L(True), ir.SKIP)


# -------------------------------------------------------------------------------------------------------- constructs


@pytest.mark.parametrize(
    ("sign", "op"),
    [
        ("=", "="), ("+=", "+"), ("-=", "-"), ("*=", "*"), ("<<min>>=", "min"), ("<<max>>=", "max"), ("<<+>>=", "+"),
        ("<<*>>=", "*"), ("<<&&>>=", "&&"), ("<<||>>=", "||"), ("&=", "&&"), ("|=", "||"),
    ],
)  # fmt: skip
def test_reductions(sign: str, op: str) -> None:
    assert one(f"s[] {sign} x") == ir.Assign(ir.Access(ir.Fiber("s", 1), ()), op, V("x"))


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a || b && c", "a || (b && c)"),
        ("a && b < c", "a && (b < c)"),
        ("a < b + c", "a < (b + c)"),
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b ÷ c % d", "((a / b) ÷ c) % d"),
        ("-a * b", "(-a) * b"),
        ("!a && b", "(!a) && b"),
        ("a - -b", "a - (-b)"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert value(text) == value(grouped)


def test_a_minus_on_a_number_is_its_sign() -> None:
    assert value("-3") == L(-3)
    assert value("-(3)") == ir.Call("-", (L(3),))
    assert value("2 - 3") == ir.Call("-", (L(2), L(3)))
    assert value("2 -3") == value("2 - 3")


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("0.0", 0.0), ("false", False), ("true", True), ("1e3", 1000.0), ("2.5e-1", 0.25), ("007", 7),
     ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))],
)  # fmt: skip
def test_literals_keep_their_kind(text: str, number: int | float | bool) -> None:
    assert value(text) == L(number)


def test_names_may_begin_as_reserved_words_do() -> None:
    assert value("fortune + endless + min1 + _x + größe") == value("(((fortune + endless) + min1) + _x) + größe")
    assert value("endless") == V("endless")


def test_a_name_is_an_index_only_inside_its_loop() -> None:
    before, loop, after = parse("x = i\nfor i = 1:i; x = i; end\nx = i").body.statements
    assert before == after == ir.Set("x", V("i"))
    assert loop == ir.For("i", ir.Range(L(1), V("i")), ir.Set("x", X("i")))


def test_ranges() -> None:
    def over(text: str) -> ir.RangeLike:
        loop = one(f"for i = {text}; skip; end")
        assert isinstance(loop, ir.For)
        return loop.range

    ends = ir.Range(L(2), ir.Call("+", (V("n"), L(1))))
    assert over("2:n + 1") == ends
    assert over("parallel(2:n+1)") == ir.Parallel(ends, ir.Cpu("", L(2)), ir.ScheduleCall("static"))
    assert over("parallel(_, cpu(:t, 3))") == ir.Parallel(ir.Whole(), ir.Cpu("t", L(3)), ir.ScheduleCall("static"))
    dynamic = ir.ScheduleCall("dynamic", L(4))
    assert over("parallel(_, cpu(3), dynamic_schedule(4))") == ir.Parallel(ir.Whole(), ir.Cpu("", L(3)), dynamic)


def test_definitions() -> None:
    dense = fmt("Dense", fmt("Element", L(-1)))
    assert definition("cpu(:q, 2, dev)") == ir.Cpu("q", L(2), V("dev"))
    assert definition("dynamic_schedule(n)") == ir.ScheduleCall("dynamic", V("n"))
    assert definition("Scalar(-1.5)") == ir.ScalarCall(L(-1.5))
    assert definition("Tensor(Pattern())") == ir.TensorCall(fmt("Pattern"))
    assert definition("Tensor(Dense(Element(-1)), n, 2 * n)") == ir.TensorCall(dense, (V("n"), value("2 * n")))
    assert definition('Tensor(Dense(Element(-1)), "a # b.mtx")') == ir.TensorCall(dense, (), ir.File("a # b.mtx"))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[1, 2, -3]", ir.Data(1, ((L(1), L(2), L(-3)),))),
        ("[]", ir.Data(1, ((),))),
        ("[7]", ir.Data(1, ((L(7),),))),
        ("[7;]", ir.Data(2, ((L(7),),))),
        ("[1 -2]", ir.Data(2, ((L(1), L(-2)),))),
        ("[1 2; 3 4]", ir.Data(2, ((L(1), L(2)), (L(3), L(4))))),
        ("[\n  1 2 # first ]\n  3 4\n]", ir.Data(2, ((L(1), L(2)), (L(3), L(4))))),
        ("[1, 2.5]", ir.Data(1, ((L(1.0), L(2.5)),))),
        ("[true; false]", ir.Data(2, ((L(True),), (L(False),)))),
    ],
)
def test_data(text: str, data: ir.Data) -> None:
    assert definition(f"Tensor(Element(0), {text})") == ir.TensorCall(fmt("Element", L(0)), (), data)


def test_spans() -> None:
    text = "for i = 1:3 # header\n    if x < 2; C[i, j] += -4; end\nend"
    loop = one(text)
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.If) and isinstance(loop.body.body, ir.Assign)
    update = loop.body.body
    test, access = loop.body.condition, update.access
    parts: list[ir.Node] = [loop, loop.range, loop.body, test, update, access, *access.subscripts, update.value]
    assert [part.span.text for part in parts if part.span] == [
        "for i = 1:3", "1:3", "if x < 2", "x < 2", "C[i, j] += -4", "C[i, j]", "i", "j", "-4",
    ]  # fmt: skip
    assert update.span is not None and (update.span.line, update.span.column) == (2, 15)


def test_every_node_with_a_place_has_its_span() -> None:
    """Every node but blocks, the implied skip and the defaults of `parallel`, in all listings."""
    for listing in LISTINGS:
        missing = {
            type(node).__name__
            for node in parse(listing).body.walk()
            if node.span is None and node not in (ir.DEFAULT_DEVICE, ir.DEFAULT_SCHEDULE, ir.DEFAULT_DEVICE.nthreads)
        }
        assert missing <= {"Block"}, missing


# ------------------------------------------------------------------------------------------------------------- errors


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
        ("for i in 1:3\n  skip", "a loop binds its index by `=`", 1, 7),
        ("for i += 1:3\n  skip", "a loop binds its index by `=`", 1, 7),
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
        ("for j = _, i = _; skip; end", "a loop has one index", 1, 10),
        ("for j = parallel(_, cpu(2)), i = _; skip; end", "a loop has one index", 1, 28),
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
        ("for i = n\n  skip", "a range has two ends", 1, 10),
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
        "x = " + "(" * 10_000 + "1" + ")" * 10_000,
        "x = " + "(" * 10_000,
        "x = " + "!" * 10_000 + "y",
        "x = " + "-" * 10_000 + "1",
        "x = " + "1 + " * 10_000 + "1",
        "x = " + "A[" * 10_000 + "1" + "]" * 10_000,
        "C = Tensor(" + "Dense(" * 10_000 + "Element(0)" + ")" * 10_001,
        "".join(f"for i{n} = 1:2;" for n in range(10_000)) + "end;" * 10_000,
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
