"""Loops that may end early: they only update short-circuit scalars, by operators that keep a value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from wingspan import api
from wingspan.base.errors import ProgramError
from wingspan.lang import algebra, ir
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

HEAD = """
    function either(p, q; associative, commutative, identity = 0, annihilator = 1) = p + q - p * q
    function apart(p, q; commutative) = abs(p - q)
    A = Tensor(SparseList(Element(0)), [0, 2, 3])
    B = Tensor(Dense(SparseList(Element(0))), [0 2 1; 1 0 2])
    y = Tensor(Dense(Element(0)), 3)
    found = ShortCircuitScalar(false)
    every = ShortCircuitScalar(true)
    n = ShortCircuitScalar(0)
    x = ShortCircuitScalar(0.0)
    plain = Scalar(false)
    w = Scalar(0)
    found .= false
    every .= true
    n .= 1
    x .= 0.5
    plain .= false
    y .= 0
    z = 0
"""


def early(body: str) -> dict[str, dict[str, object]]:
    """The loops that may end early, by their indices: the scalars, and what each holds then."""
    text = f"{HEAD}\n{body}"
    loops = [node for node in api.bind(api.parse(text)).body.walk() if isinstance(node, ir.For)]
    return {
        loop.index: {a.tensor: ("not", a.value.value) if a.others else a.value.value for a in loop.absorbed}
        for loop in loops
        if loop.absorbed
    }


OPERATORS = {
    "found[] |= i > 2": {"found": True},
    "every[] &= i > 2": {"every": False},
    "n[] *= A[i]": {"n": 0},
    "n[] *%= A[i]": {"n": 0},
    "n[] <<min>>= A[i]": {"n": -(2**63)},
    "n[] <<max>>= A[i]": {"n": 2**63 - 1},
    "n[] <<choose(3)>>= A[i]": {"n": ("not", 3)},
    "n[] <<either>>= A[i]": {"n": 1},
    "x[] <<either>>= A[i]": {"x": Fraction(1)},
    "x[] <<choose(0)>>= A[i]": {"x": ("not", Fraction(0))},
}


@pytest.mark.parametrize("update", OPERATORS)
def test_a_loop_ends_where_the_operator_keeps_what_the_scalar_holds(update) -> None:
    assert early(f"for i = 1:3\n{update}\nend") == {"i": OPERATORS[update]}


@pytest.mark.parametrize(
    "update",
    [
        *("n[] += A[i]", "n[] -= A[i]", "n[] = A[i]", "n[] <<apart>>= A[i]"),
        *("x[] *= A[i]", "x[] <<min>>= A[i]", "x[] <<max>>= A[i]"),
    ],
)
def test_no_loop_ends_early_where_an_operator_keeps_nothing(update) -> None:
    """Neither by an operator of which nothing is declared, nor where Inf or NaN could change what it keeps."""
    assert early(f"for i = _\n{update}\nend") == {}


@pytest.mark.parametrize("op", ["*", "min", "max"])
def test_no_double_is_kept_whatever_comes(op) -> None:
    """NaN changes all that could be."""
    for held in (Fraction(0), math.inf, -math.inf):
        after = algebra.apply(op, held, ir.NAN)
        assert after != after
    assert algebra.absorbing("x", op, "float") is None


BODIES = {
    "two scalars": ("found[] |= A[i] > 1\nn[] *= A[i]", {"i": {"found": True, "n": 0}}),
    "a condition": ("if A[i] > 1\nfound[] |= true\nend", {"i": {"found": True}}),
    "a variable of the iteration": ("r = A[i]\nr = r + 1\nfound[] |= r > 1", {"i": {"found": True}}),
    "a tensor of the iteration": (
        "w .= 0\nfor j = 1:2\nw[] += A[j]\nend\nfound[] |= w[] > A[i]",
        {"i": {"found": True}},
    ),
    "an inner loop": ("for j = 1:i\nfound[] |= A[j] > i\nend", {"i": {"found": True}, "j": {"found": True}}),
    "an inner loop alone": ("y[i] += 1\nfor j = 1:i\nfound[] |= A[j] > i\nend", {"j": {"found": True}}),
    "a scalar of the outer iteration": (
        "found .= false\nfor j = 1:i\nfound[] |= A[j] > i\nend\nif found[]\ny[i] += 1\nend",
        {"j": {"found": True}},
    ),
    "another tensor": ("found[] |= A[i] > 1\ny[i] += 1", {}),
    "another scalar": ("found[] |= A[i] > 1\nplain[] |= A[i] > 1", {}),
    "a variable from outside": ("found[] |= A[i] > 1\nz = z + 1", {}),
    "a variable from outside of a condition": ("if A[i] > 1\nz = i\nend\nfound[] |= A[i] > 1", {}),
    "nothing to update": ("r = A[i]", {}),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_loop_ends_early_only_if_nothing_else_would_be_missed(body) -> None:
    text, expected = BODIES[body]
    head = HEAD.replace("    found .= false\n", "") if "found .=" in text else HEAD
    loops = api.bind(api.parse(f"{head}\nfor i = 1:3\n{text}\nend")).body.walk()
    made = {
        s.index: {a.tensor: a.value.value for a in s.absorbed} for s in loops if isinstance(s, ir.For) and s.absorbed
    }
    assert made == expected


def test_a_parallel_loop_does_not_end_early_but_loops_of_its_tasks_do() -> None:
    text = HEAD.replace("    found .= false\n", "")
    body = "for j = parallel(_)\nfound .= false\nfor i = _\nfound[] |= B[i, j] > 1\nend\ny[j] += found[]\nend"
    loops = [s for s in api.bind(api.parse(f"{text}\n{body}")).body.walk() if isinstance(s, ir.For)]
    assert [(s.index, len(s.absorbed)) for s in loops] == [("j", 0), ("i", 1)]


def test_tasks_do_not_share_a_short_circuit_scalar() -> None:
    with pytest.raises(ProgramError) as caught:
        early("for j = parallel(_)\nfor i = _\nfound[] |= B[i, j] > 1\nend\nend")
    assert caught.value.message == (
        "found is a ShortCircuitScalar, and tasks of a parallel loop around this would update it"
    )
    assert caught.value.span is not None and caught.value.span.line == HEAD.count("\n") + 4
    assert caught.value.fix is not None and "inside of the parallel loop" in caught.value.fix


def test_the_definition_is_printed_as_it_is_written() -> None:
    text = "found = ShortCircuitScalar(false)\nn = Scalar(-1.5)"
    tree = parse(text)
    assert show(tree) == text
    defined = [s.value for s in tree.body.statements if isinstance(s, ir.Define)]
    assert defined == [ir.ScalarCall(ir.Literal(False), True), ir.ScalarCall(ir.Literal(-1.5))]
