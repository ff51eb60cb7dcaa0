"""Operators on the bits of integers: how they read, what they compute in every engine, and what they cannot take."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_tests.effort import few
from proofs_tests.elaborating import VECTOR, mistake
from proofs_tests.plan.test_looplets import counts
from wingspan import api
from wingspan.base.errors import Fault, ParseError
from wingspan.compiled import build
from wingspan.lang import ir
from wingspan.lang.algebra import apply
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.testing import compare

INT = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
ENGINES = ("semantics", "reference", "native", "native-controlled")


def value(text: str) -> Any:
    """The expression that a variable is bound to."""
    (statement,) = parse(f"x = {text}").body.statements
    assert isinstance(statement, ir.Set)
    return statement.value


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a | b & c", "a | (b & c)"),
        ("a ⊻ b + c | d", "((a ⊻ b) + c) | d"),
        ("a * b & c", "(a * b) & c"),
        ("a * b << c", "a * (b << c)"),
        ("a << b >> c", "(a << b) >> c"),
        ("a & b == c", "(a & b) == c"),
        ("~a & b", "(~a) & b"),
        ("~a << 1", "(~a) << 1"),
        ("a && b | c || d & e", "(a && (b | c)) || (d & e)"),
        ("xor(a, b)", "a ⊻ b"),
        ("a<<min(b, 1)", "a << min(b, 1)"),
    ],
)
def test_precedence_is_that_of_julia(text: str, grouped: str) -> None:
    assert value(text) == value(grouped) == value(show(value(text)))


@pytest.mark.parametrize("text", ["A[(~i)]", "A[(~i + 1)]", "A[i + ~j]", "coalesce(A[~i], 0)", "coalesce(A[~~i], 0)"])
def test_a_tilde_before_a_subscript_lets_it_leave_its_axis_and_is_an_operator_elsewhere(text: str) -> None:
    e = value(text)
    assert show(e) == text and value(show(e)) == e
    accesses = [node for node in e.walk() if isinstance(node, ir.Access)]
    assert [isinstance(s, ir.Permissive) for a in accesses for s in a.subscripts] == [text.startswith("coalesce")]


def test_a_tilde_that_begins_a_subscript_takes_all_of_it() -> None:
    with pytest.raises(ParseError, match="~ takes the whole subscript") as error:
        parse("x = coalesce(A[~i + 1], 0)")
    assert error.value.span is not None and error.value.span.column == 16
    with pytest.raises(ParseError, match="xor takes two arguments"):
        parse("x = xor(1)")


@given(INT, INT)
def test_bits_are_those_of_two_complements(x: int, y: int) -> None:
    """Bit by bit, with the sign repeated beyond the last one."""
    for k in (*range(64), 70):
        one, other = x >> k & 1, y >> k & 1
        for op, expected in (("&", one * other), ("|", max(one, other)), ("⊻", one != other)):
            assert int(apply(op, x, y)) >> k & 1 == expected
        assert int(apply("~", x)) >> k & 1 == 1 - one


@given(INT, st.integers(0, 70))
def test_shifts_multiply_and_divide_by_powers_of_two(x: int, k: int) -> None:
    """A shift to the left overflows where a product does, and one to the right is rounded down."""
    assert apply(">>", x, k) == x // 2**k
    if -(2**63) <= x * 2**k < 2**63:
        assert apply("<<", x, k) == x * 2**k
    else:
        with pytest.raises(Fault, match="overflow"):
            apply("<<", x, k)


PROGRAM = """
A = Tensor(Dense(Element(0)), 4)
B = Tensor(Dense(Element(false)), 4)
A .= 0
B .= false
x = {x}
k = {k}
for i = 1:4
    A[i] = {e}
    B[i] = {b}
end
return A, B
"""


@pytest.mark.parametrize(
    ("x", "k", "e"),
    [
        (-12, 3, "((x & i) | k) ⊻ ~i"),
        (-12, 3, "(x >> (4 - i)) + (x << i)"),
        (1, 60, "((x << k) >> 58) + (k << 1) + (-k >> 2)"),
        (2**62, 1, "x << k"),
        (-(2**62), 1, "(x << k) ⊻ (x >> (i * 70))"),
        (0, 2**62, "(x << k) | (x >> k)"),
        (-1, 2**62, "x >> k"),
        (5, 1, "(i > 2) & x"),
        (-(2**63), 63, "(-1 << k) ⊻ x"),
    ],
)
def test_all_engines_compute_what_python_does(x: int, k: int, e: str) -> None:
    """The value fits 64 bits; else all of them fault."""
    bound = api.bind(api.parse(PROGRAM.format(x=x, k=k, e=e, b="(i > 1) & ~(i == 3) ⊻ (x == i)")))
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None, found.difference
    large = k > 64 and not x  # Python would make a power of two of so many bits
    made = [eval(e.replace("⊻", "^"), {"x": x, "k": 0 if large else min(k, 64), "i": i}) for i in range(1, 5)]
    first = found.endings[0]
    assert bool(first.fault) == any(not -(2**63) <= one < 2**63 for one in made)
    if not first.fault:
        assert first.arrays["A"].tolist() == made
        assert first.arrays["B"].tolist() == [((i > 1) and i != 3) != (x == i) for i in range(1, 5)]


def test_what_is_no_integer_is_a_mistake_or_a_fault() -> None:
    assert mistake("x = 6 & 0.5").message == "an integer is needed here, and 0.5 is a double"
    for engine in ENGINES:
        for e, message in (("x & y", "& needs integers, got 2.5"), ("1 << n", "at least 0")):
            text = f"y = 2.5\nx = 1\nif n < 0\ny = 7\nend\nz = {e}"
            with pytest.raises(Fault, match=message):
                api.run(api.parse(text), params={"n": 1 if "&" in e else -1}, engine=engine)


def test_a_subscript_of_bits_may_be_the_same_for_two_tasks() -> None:
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(1:3)\nc[(i & 1) + 1] += 1\nend"
    program: Any = api.parse(text)
    assert api.check(program).verdict == "unsafe" and api.explore(program).verdict.verdict == "race"


UPDATES = {"&": (-1, operator.and_), "|": (0, operator.or_), "⊻": (0, operator.xor)}
SHARED = """
dev = cpu(:t, {threads})
A = Tensor({form})
B = Tensor(SparseList(Element(0)), [6, 0, 3, 0, 0, 12])
s = Tensor({leaf})
r = Tensor({leaf})
s .= {z}
r .= {z}
for i = parallel(1:6, dev)
    s[] <<{op}>>= A[i]
    r[] <<{op}>>= ~B[i] & A[i]
end
return s, r
"""


@pytest.mark.parametrize("op", few(list(UPDATES), 1))
@pytest.mark.parametrize(
    ("leaf", "threads", "form"),
    few([
        ("Element(Z)", 1, "SparseList(Element(0))"), ("Atomic(Z)", 3, "RunList(Element(0))"),
        ("Merge(dev, Element(Z))", 2, "Dense(Element(0))"), ("Merge(dev, Element(Z))", 9, "RunList(Element(0))"),
    ], 2),
)  # fmt: skip
def test_all_engines_update_bits(leaf: str, threads: int, form: str, op: str) -> None:
    """Tasks share an atomic element, or their copies are merged; the order does not matter."""
    z, combine = UPDATES[op]
    text = SHARED.format(leaf=leaf.replace("Z", str(z)), threads=threads, form=form, op=op, z=z)
    A, B = [-2, 7, 7, 7, 5, -(2**63)], [6, 0, 3, 0, 0, 12]
    bound = api.bind(api.parse(text), inputs={"A": A})
    assert api.check(bound).verdict == "safe"
    found = compare(bound, [api.engine(name) for name in (*ENGINES, *(["compiled"] if build.compiler() else []))])
    assert found.difference is None and not found.left_out
    made = found.endings[0].arrays
    both = [~b & a for a, b in zip(A, B, strict=True)]
    assert made["s"] == reduce(combine, A, z) and made["r"] == reduce(combine, both, z)


def test_updates_of_bits_read_as_written() -> None:
    text = "c[i] <<&>>= 1\nc[i] <<|>>= 2\nc[i] <<⊻>>= 3\nb[i] <<&&>>= x\nb[i] <<||>>= y"
    assert show(parse(text)) == text
    assert parse("c[i] << xor >>= 3\nb[i] &= x\nb[i] |= y") == parse("\n".join(text.split("\n")[2:]))


@pytest.mark.parametrize(("statement", "message", "fix"), [
    ("b[1] <<&>>= true", "<<&>>= needs integers, and b holds booleans", "write &="),
    ("b[1] <<xor>>= true", "<<⊻>>= needs integers, and b holds booleans", "use Element(0)"),
    ("d[1] <<|>>= 3", "<<|>>= needs integers, and d holds doubles", "use Element(0)"),
    ("d[1] +%= 3", "+%= wraps integers, and d holds doubles", "write +="),
    ("b[1] *%= 3", "*%= wraps integers, and b holds booleans", "use Element(0)"),
    ("c[1] &= 3", "<<&&>>= needs booleans, and c holds integers", "use Element(false), or <<&>>= for bits"),
    ("c[1] <<|>>= 0.5", "an integer is needed here, and 0.5 is a double", "give an integer"),
])  # fmt: skip
def test_bits_of_what_is_no_integer_are_a_mistake(statement: str, message: str, fix: str) -> None:
    head = f"c = {VECTOR}, 2); d = Tensor(Dense(Element(0.0)), 2); b = Tensor(Dense(Element(false)), 2)\n"
    found = mistake(f"{head}c .= 0; d .= 0; b .= false\n{statement}")
    assert (found.message, found.fix) == (message, fix)


def test_a_cell_that_does_not_hold_the_bits_is_a_fault_in_every_engine() -> None:
    text = "c = Tensor(Atomic(0, u8))\nc .= 7\nfor i = parallel(1:2)\nc[] <<|>>= 256\nend\nreturn c"
    for engine in ENGINES:
        with pytest.raises(Fault, match="does not fit u8"):
            api.run(api.parse(text), engine=engine)


def test_bits_of_an_element_that_is_not_stored_are_not_looked_for() -> None:
    def cost(n: int) -> int:
        x = np.zeros(n, int)
        x[[1, 5]] = 7
        text = "s = Tensor(Element(0))\ns .= 0\nfor i = _\ns[] <<xor>>= (A[i] & B[i]) *% 3\nend\nreturn s"
        head = "A = Tensor(SparseList(Element(0)))\nB = Tensor(Dense(Element(0)))\n"
        return counts(api.bind(api.parse(head + text), inputs={"A": x, "B": np.arange(n)}))["B.val"]

    assert cost(8) == cost(80) == 2
