"""Kinds of values before a program runs: what can never be of use is a mistake, and a boolean counts as 1 or 0."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from proofs_tests.agreeing import engines_for
from proofs_tests.elaborating import VECTOR, Mistake, elaborated, mistake
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")
HEAD = f"""
c = {VECTOR}, 3)
d = Tensor(Dense(Element(0.0)), 3)
b = Tensor(Dense(Element(false)), 3)
A = {VECTOR}, [4, 5, 6])
B = Tensor(Dense(Element(false)), [true, false, true])
c .= 0
d .= 0
b .= false
for i = 1:3
"""

MISTAKES = {
    "if A[i]; c[i] = 1; end": Mistake(
        "10:4", "a condition is true or false, and A[i] is an integer", "write A[i] != 0"
    ),
    "x = i - 1; if x; c[i] = 1; end": Mistake(
        "10:15", "a condition is true or false, and x is an integer", "write x != 0"
    ),
    "x = i / 2; y = x; c[y] = 1": Mistake("10:21", "an integer is needed here, and y is a double", "give an integer"),
    "c[i / 2] = 1": Mistake("10:3", "an integer is needed here, and i / 2 is a double", "÷ divides integers"),
    "for j = 1:i / 2; c[i] = 1; end": Mistake(
        "10:11", "an integer is needed here, and i / 2 is a double", "÷ divides integers"
    ),
    "b[i] = i": Mistake("10:8", "b holds booleans, and i is an integer", "write i != 0"),
    "b[i] |= A[i] + 1": Mistake("10:9", "b holds booleans, and A[i] + 1 is an integer", "write (A[i] + 1) != 0"),
    "c[i] <<||>>= B[i]": Mistake(
        "10:1", "<<||>>= needs booleans, and c holds integers", "use Element(false), or <<|>>= for bits"
    ),
    "d[i] <<&&>>= B[i]": Mistake("10:1", "<<&&>>= needs booleans, and d holds doubles", "use Element(false)"),
    "b[i] = B[i] && i": Mistake("10:16", "&& needs booleans, and i is an integer", "write i != 0"),
    "b[i] = !(i + 0.5)": Mistake("10:10", "! needs booleans, and i + 0.5 is a double", "write (i + 0.5) != 0"),
    "x = ifelse(i > 1, B[i], 2)": Mistake(
        "10:25", "ifelse takes a boolean, B[i], or an integer, 2", "give two numbers, or two booleans"
    ),
    "c[i] = 1.5": Mistake("10:8", "c holds 64-bit integers, and 1.5 is none", "give an integer, or use Element(0.0)"),
    "c[i] -= 1 / 2": Mistake(
        "10:9", "c holds 64-bit integers, and 0.5 is none", "give an integer, or use Element(0.0)"
    ),
    "c[i] = NaN": Mistake("10:8", "c holds 64-bit integers, and NaN is none", "give an integer, or use Element(0.0)"),
    "c[i] += 1e19": Mistake(
        "10:9", "c holds 64-bit integers, and 1e+19 is none", "give an integer, or use Element(0.0)"
    ),
    "c[i] = isqrt(2.5)": Mistake("10:14", "an integer is needed here, and 2.5 is a double", "give an integer"),
    "x = d[i]; c[i] = isqrt(x)": Mistake("10:24", "an integer is needed here, and x is a double", "give an integer"),
    "b[i] += B[i]": Mistake("10:1", "+= needs numbers, and b holds booleans", "use Element(0)"),
    "b[i] <<max>>= B[i]": Mistake("10:1", "<<max>>= needs numbers, and b holds booleans", "use Element(0)"),
    "c[i] = ifelse(i, 1, 2)": Mistake("10:15", "a condition is true or false, and i is an integer", "write i != 0"),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_what_no_value_can_be_is_a_mistake_before_the_program_runs(text: str) -> None:
    assert mistake(f"{HEAD}{text}\nend") == MISTAKES[text]


DECLARED = {
    ("0", "1.5"): Mistake("2:6", "C holds 64-bit integers, and 1.5 is none", "give an integer, or use Element(0.0)"),
    ("0", "-Inf"): Mistake("2:6", "C holds 64-bit integers, and -Inf is none", "give an integer, or use Element(0.0)"),
    ("false", "1"): Mistake("2:6", "C holds booleans, and 1 is an integer", "write true"),
    ("false", "0.0"): Mistake("2:6", "C holds booleans, and 0.0 is a double", "write false"),
}  # fmt: skip


@pytest.mark.parametrize(("leaf", "value"), DECLARED)
def test_what_no_element_can_be_a_tensor_is_not_declared_with(leaf: str, value: str) -> None:
    assert mistake(f"C = Tensor(Dense(Element({leaf})), 2)\nC .= {value}") == DECLARED[leaf, value]


def results(texts: Sequence[str]) -> list[Mapping[str, np.ndarray]]:
    """The results of programs, each the same in every engine."""
    cases = list(map(elaborated, texts))
    engines = engines_for(cases, *ENGINES)
    every = [compare(bound, engines) for bound in cases]
    assert [found.difference for found in every] == [None] * len(cases)
    return [found.endings[0].arrays for found in every]


SETTABLE = [("0", "true", 1), ("0", "false", 0), ("0", "2.0", 2), ("0.0", "true", 1.0), ("0.0", "Inf", float("inf"))]


def test_a_tensor_is_declared_with_what_its_elements_can_be_set_to() -> None:
    """In every engine: booleans count as 1 or 0, and doubles that are integers are these."""
    text = "C = Tensor(Dense(Element({0})), 2)\ns = Tensor(Element({0}))\nC .= {1}\ns .= 0\ns[] = {1}\nreturn C, s"
    made = results([text.format(*each) for each in SETTABLE])
    for (*_, held), found in zip(SETTABLE, made, strict=True):
        assert found["C"].tolist() == [held, held] == 2 * [found["s"].item()]


@pytest.mark.parametrize(("statement", "end"), [
    ("if i == 2; c[i] += A[i - 1] / 2; end", [0, 2, 0]), ("c[i] += A[i] / 2", "2.5"), ("x = 2.5; c[i] = x", "2.5"),
    ("c[i] *= 1.5", "1.5"), ("c[i] <<max>>= -Inf", "-Inf"),
])  # fmt: skip
def test_what_may_be_of_use_is_left_to_the_run(statement: str, end: list[int] | str) -> None:
    """A double may be an integer: the run goes on with it, or says that it is none."""
    bound = elaborated(f"{HEAD}{statement}\nend")
    if isinstance(end, list):
        assert api.run(bound, engine="semantics").tensors["c"].to_numpy().tolist() == end
    else:
        with pytest.raises(Fault, match=rf"^error\[fault\]: {re.escape(end)} is not a 64-bit integer"):
            api.run(bound, engine="semantics")


BESIDE = [
    ("x = Tensor(Dense(Element(0.0)), [0.5, 1.5, 2.5])", "coalesce(x[~(2 * i)], i)", [1.5, 2.0, 3.0]),
    ("x = Tensor(SparseList(Element(0.0)), [0.5, 1.5, 2.5])", "coalesce(x[~(i + 1)], A[i] + 1)", [1.5, 2.5, 7.0]),
    ("x = Tensor(Dense(Element(0.0)), [0.5, 1.5, 2.5])", "coalesce(x[~A[i]], A[i] - 2)", [2.0, 3.0, 4.0]),
    ("x = Tensor(Dense(Element(0)), [7, 8])", "coalesce(x[~i], d[i] + 0.5)", [7.0, 8.0, 0.5]),
    ("x = Tensor(SparseList(Element(0)), [7, 8])", "coalesce(x[~i], 0.5)", [7.0, 8.0, 0.5]),
    ("x = Tensor(Dense(Element(0.0)), [0.5, 1.5])", "coalesce(x[~i], x[~(i + 1)] + A[i], 2 * i)", [0.5, 1.5, 6.0]),
]


def test_an_integer_beside_a_double_becomes_one_in_coalesce() -> None:
    """In every engine, whichever of the two is what is read."""
    before = HEAD.replace("c .= 0", "{}\ny = Tensor(Dense(Element(0.0)), 3)\ny .= 0\nc .= 0")
    found = results([f"{before.format(head)}v = {value}; y[i] = v\nend" for head, value, _ in BESIDE])
    assert [made["y"].tolist() for made in found] == [expected for *_, expected in BESIDE]


def test_it_is_one_even_where_nothing_would_evaluate_it() -> None:
    assert mistake(f"{HEAD}if false; if i; c[i] = 1; end; end\nend").message.startswith("a condition is true or false")


@pytest.mark.parametrize(("text", "tensor", "expected"), [
    ("c[i] += A[i] * (i >= 2)", "c", [0, 5, 6]),
    ("c[i] += (i > 1) + (i > 2) - -B[i]", "c", [1, 1, 3]),
    ("c[i] = B[i]", "c", [1, 0, 1]),
    ("d[i] += B[i]", "d", [1.0, 0.0, 1.0]),
    ("d[i] = max(B[i], 0.5)", "d", [1.0, 0.5, 1.0]),
    ("x = B[i]; c[i] = 2 * x", "c", [2, 0, 2]),
    ("c[i] = A[1 + B[i] * (i - 1)]", "c", [4, 4, 6]),
    ("c[i] = abs(0 - B[i]) + (B[i] < true)", "c", [1, 1, 1]),
    ("b[i] = B[i] == (i == 3)", "b", [False, True, True]),
    ("d[i] = ifelse(i == 2, 1, 0.5)", "d", [0.5, 1.0, 0.5]),
    ("x = ifelse(i == 2, A[i], 0.5); d[i] = x / 2", "d", [0.25, 2.5, 0.25]),
    ("x = 0.5; for j = 1:i; x = ifelse(j < 3, 2 * x, A[j]); end; d[i] = x", "d", [1.0, 2.0, 6.0]),
])  # fmt: skip
def test_a_boolean_counts_as_1_or_0_where_a_number_is_needed(text: str, tensor: str, expected: list[float]) -> None:
    bound = elaborated(f"{HEAD}{text}\nend")
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None, found.difference
    made = api.run(bound, engine="semantics").tensors[tensor].to_numpy()
    assert made.tolist() == expected
    assert all(type(x) is type(y) for x, y in zip(made.tolist(), expected, strict=True))


def test_a_boolean_equals_the_number_that_it_counts_as() -> None:
    """In every engine, for elements that are not stored, computed booleans, doubles, variables and functions, too."""
    sums = "(S[i] == (i > 2)) + 10 * (S[i] == 1) + 100 * (A[i] - 5 == B[i]) + 1000 * (x != 1.0)"
    sums += " + 10000 * same(S[i], 0) + 100000 * (choose(0)(S[i], i > 1) == 1)"
    first = "function same(x, y) = x == y\nS = Tensor(SparseList(Element(false)), [true, false, true])\n"
    (made,) = results([f"{first}{HEAD}x = i > 2\nc[i] += {sums}\nend"])
    assert made["c"].tolist() == [101010, 111101, 100111]


def test_a_variable_of_several_kinds_equals_nothing_of_another_kind() -> None:
    """As in arithmetic, the run decides, and the rules and the reference fault where a boolean meets a number."""
    text = "x = true\nif n > 0\nx = 1\nend\ny = x == 1\nz = 1 == x + 0"
    for engine in ("semantics", "reference"):
        assert api.run(api.parse(text), params={"n": 1}, engine=engine).variables["z"] is True
        with pytest.raises(Fault, match="== needs two numbers or two booleans, got true and 1"):
            api.run(api.parse(text.removesuffix("\nz = 1 == x + 0")), params={"n": 0}, engine=engine)


def test_a_variable_of_several_kinds_is_left_to_the_run() -> None:
    text = "x = true\nif n > 0\nx = 1\nend\ny = 0\nif x\ny = 1\nend"
    assert api.run(api.parse(text), params={"n": 0}, engine="semantics").variables["y"] == 1
    with pytest.raises(Fault, match="a condition is true or false, not 1"):
        api.run(api.parse(text), params={"n": 1}, engine="semantics")


def test_a_parameter_that_is_left_open_may_be_anything() -> None:
    bound = api.bind(api.parse("x = 0\nif p\nx = q + 1\nend"), symbolic=True)
    assert set(bound.symbols) == {"p", "q"}
