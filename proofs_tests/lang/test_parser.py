"""The parser: the paper's listings as printed, both layouts, every construct, and a message for every other text."""

from __future__ import annotations

import pytest

from proofs_tests.lang.test_listings import LISTINGS
from proofs_tests.lang.trees import L, V, X, definition, fmt, one, value
from wingspan.lang import ir
from wingspan.lang.parser import parse


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
