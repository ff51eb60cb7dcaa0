"""Operators that wrap, modulo 2⁶⁴: how they read, what they compute in every engine, and what they cannot take."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from proofs_tests.agreeing import engines_for
from proofs_tests.elaborating import VECTOR, mistake
from proofs_tests.lang.test_bits import ENGINES, INT, value
from proofs_tests.plan.test_looplets import counts
from wingspan import Tensor, api
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.lang.algebra import apply, simplify_expression
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.testing import compare

LOW, TOP = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a +% b *% c", "a +% (b *% c)"),
        ("a + b -% c", "(a + b) -% c"),
        ("a *% b << c", "a *% (b << c)"),
        ("a*%b%c", "(a *% b) % c"),
        ("a -%b", "a -% b"),
        ("a+%-1", "a +% (-1)"),
        ("a +% b == c", "(a +% b) == c"),
        ("a *% (b +% c)", "a *% (b +% c)"),
    ],
)
def test_they_bind_as_tightly_as_those_that_fault(text: str, grouped: str) -> None:
    assert value(text) == value(grouped) == value(show(value(text)))


@pytest.mark.parametrize("sign", ["+%=", "-%=", "*%="])
def test_they_are_reductions_too(sign: str) -> None:
    text = f"C[i] {sign} 2"
    tree = parse(f"for i = 1:2\n{text}\nend")
    assert text in show(tree) and parse(show(tree)) == tree


@given(INT, INT)
def test_what_is_computed_differs_by_a_multiple_of_a_power_of_two(x: int, y: int) -> None:
    for op, expected in (("+%", x + y), ("-%", x - y), ("*%", x * y)):
        made = apply(op, x, y)
        assert LOW <= made <= TOP and (made - expected) % 2**64 == 0


@pytest.mark.parametrize("text", ["x +% 0", "0 +% x", "x -% 0", "x *% 1", "1 *% x", "0 *% x", "x *% 0"])
def test_identities_are_worked_out(text: str) -> None:
    """And the element that is neutral on one side only stays on the other one."""
    assert show(simplify_expression(value(text))) == ("0" if "*% 0" in text or "0 *%" in text else "x")
    assert show(simplify_expression(value("0 -% x"))) == "0 -% x"


PROGRAM = """
dev = cpu(:t, {threads})
A = Tensor({form})
C = Tensor(Dense(Element(0)), 6)
s = Tensor({leaf})
C .= 0
s .= {z}
for i = parallel(1:6, dev)
    C[i] +%= (A[i] +% i) *% A[i] -% {big}
    s[] {sign} A[i] -% i
end
return C, s
"""
DATA = np.array([TOP, 3, 3, 3, LOW, 0])


SHARED = [
    ("Element(Z)", 1, "SparseList(Element(0))"), ("Atomic(Z)", 3, "RunList(Element(0))"),
    ("Merge(dev, Element(Z))", 2, "Dense(Element(0))"), ("Merge(dev, Element(Z))", 9, "RunList(Element(0))"),
]  # fmt: skip
"""The leaf that tasks update, their number, and the format that they read."""


def wrapping(leaf: str, threads: int, form: str, sign: str) -> Elaborated:
    z = int(sign == "*%=")
    text = PROGRAM.format(leaf=leaf.replace("Z", str(z)), threads=threads, form=form, sign=sign, z=z, big=TOP - 4)
    return api.bind(api.parse(text), inputs={"A": DATA})


def test_all_engines_wrap() -> None:
    """Tasks share an atomic element, or their copies are merged."""
    pairs = list(enumerate(DATA.tolist(), start=1))
    terms = [a - i for i, a in pairs]
    totals = {"+%=": sum(terms), "-%=": -sum(terms), "*%=": prod(terms)}
    cases = [(sign, wrapping(*shared, sign)) for sign in totals for shared in SHARED]
    engines = engines_for([bound for _, bound in cases], *ENGINES)
    for sign, bound in cases:
        assert api.check(bound).verdict == "safe"
        found = compare(bound, engines)
        assert found.difference is None, str(bound.plain)
        expected = [*((a + i) * a - (TOP - 4) for i, a in pairs), totals[sign]]
        made = [*found.endings[0].arrays["C"].tolist(), int(found.endings[0].arrays["s"])]
        assert all(LOW <= x <= TOP and (x - y) % 2**64 == 0 for x, y in zip(made, expected, strict=True)), sign


@pytest.mark.parametrize("width", ["", ", u8", ", i8"])
@pytest.mark.parametrize(("sign", "v"), [("+%=", 1), ("-%=", -1), ("+%=", 2**60), ("-%=", 2**62), ("+%=", LOW)])
@pytest.mark.parametrize("leaf", ["Element", "Atomic"])
def test_a_run_adds_what_its_indices_add_one_after_the_other(leaf: str, sign: str, v: int, width: str) -> None:
    """Also where a narrow cell cannot hold a sum on the way to one that it can."""
    head = f"A = Tensor(RunList(Element(0)))\ns = Tensor({leaf}(0{width}))\ns .= 0\n"
    text = f"{head}for i = _\ns[] {sign} A[i]\nend\nreturn s"
    bound = api.bind(api.parse(text), inputs={"A": np.full(16, v)})
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None
    assert bool(found.endings[0].fault) == (abs(v) > 1 and bool(width))


def test_a_run_is_added_at_once() -> None:
    def cost(n: int) -> object:
        text = "A = Tensor(RunList(Element(0)))\ns = Tensor(Element(0))\ns .= 0\nfor i = _\ns[] +%= A[i]\nend\nreturn s"
        return counts(api.bind(api.parse(text), inputs={"A": np.full(n, 2**62)}))

    assert cost(8) == cost(800)


def test_an_element_that_is_not_stored_is_not_multiplied() -> None:
    def cost(n: int) -> int:
        x = np.zeros(n, int)
        x[[1, 5]] = 7
        text = "s = Tensor(Element(0))\ns .= 0\nfor i = _\ns[] +%= A[i] *% B[i]\nend\nreturn s"
        head = "A = Tensor(SparseList(Element(0)))\nB = Tensor(Dense(Element(0)))\n"
        return counts(api.bind(api.parse(head + text), inputs={"A": x, "B": np.arange(n)}))["B.val"]

    assert cost(8) == cost(80) == 2


HEAD = f"c = {VECTOR}, 2); d = Tensor(Dense(Element(0.0)), 2); b = Tensor(Dense(Element(false)), 2)\n"
WRONG = {
    "x = 6 +% 0.5": "an integer is needed here, and 0.5 is a double",
    "d .= 0.0; d[1] +%= 2": "+%= wraps integers, and d holds doubles",
    "b .= false; b[1] *%= true": "*%= wraps integers, and b holds booleans",
    "c .= 0; c[1] -%= 0.5": "an integer is needed here, and 0.5 is a double",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_integer_is_a_mistake(text: str) -> None:
    assert mistake(HEAD + text).message == WRONG[text]


def test_what_only_the_run_shows_to_be_a_double_is_a_fault_unless_it_is_an_integer() -> None:
    """An operand must be an integer; what updates an element becomes one first, as with other operators."""
    given = "y = 2.5\nif n < 0\ny = 7\nend\nif n > 9\ny = 2.0\nend\n"
    update = f"c = Tensor(Element(0))\nc .= 0\n{given}c[] +%= y\nreturn c"
    for engine in ENGINES:
        with pytest.raises(Fault, match=r"\+% needs integers, got 2.5"):
            api.run(api.parse(f"{given}x = y +% 1"), params={"n": 1}, engine=engine)
        with pytest.raises(Fault, match=r"2.5 is not a 64-bit integer"):
            api.run(api.parse(update), params={"n": 1}, engine=engine)
        assert api.run(api.parse(update), params={"n": 10}, engine=engine).tensors["c"].to_numpy() == 2


def test_two_tasks_that_update_an_element_at_once_lose_one_of_the_updates() -> None:
    program = api.parse("s = Tensor(Element(0))\ns .= 0\nfor i = parallel(1:2)\ns[] +%= i\nend\nreturn s")
    assert api.check(program).verdict == "unsafe"
    assert api.explore(program).verdict.verdict == "race"


def test_an_update_is_advised_in_place_of_an_assignment_that_reads_the_element() -> None:
    """If reading the element is an error, since its position is found at run time."""
    text = "s = Tensor(SparseDict(Element(0)), 1)\ns .= 0\nfor i = parallel(1:4)\ns[1] = {}\nend\nreturn s"
    for e, update in (("s[1] +% i", "s[1] +%= i"), ("i *% s[1]", "s[1] *%= i"), ("s[1] -% i", "s[1] -%= i")):
        assert mistake(text.format(e)).fix == f"write {update}"


def test_integers_beyond_the_largest_are_brought_in_as_those_they_are_modulo_a_power_of_two() -> None:
    large = np.array([1, 2**63, 2**64 - 1], np.uint64)
    with pytest.raises(InputError, match="18446744073709551615 does not fit") as refused:
        Tensor.from_numpy("Dense(Element(0))", large)
    assert "view(numpy.int64)" in str(refused.value.fix)
    head = "A = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    program = api.parse(f"{head}for i = _\nC[i] = A[i] *% 3 +% 1\nend\nreturn C")
    made = api.run(program, inputs={"A": large.view(np.int64)})
    assert (made.tensors["C"].to_numpy().view(np.uint64) == large * np.uint64(3) + np.uint64(1)).all()


UNSIGNED: dict[str, Any] = {
    "(x ⊻ -9223372036854775808) < (y ⊻ -9223372036854775808)": lambda x, y: x % 2**64 < y % 2**64,
    "x >> k & 9223372036854775807 >> (k - 1)": lambda x, y: x % 2**64 >> 5,
    "(x -% y) % 4294967296": lambda x, y: (x - y) % 2**32,
    "x *% y % 256": lambda x, y: x * y % 2**8,
}


@pytest.mark.parametrize("e", UNSIGNED)
@settings(max_examples=25)
@given(x=INT, y=INT)
def test_what_the_page_writes_for_unsigned_integers_is_what_they_compute(e: str, x: int, y: int) -> None:
    text = f"x = {x}\ny = {y}\nk = 5\nz = {e}"
    for engine in ("semantics", "reference"):
        assert api.run(api.parse(text), engine=engine).variables["z"] == UNSIGNED[e](x, y)
