"""Zeros with a sign: what runs on doubles keeps it, as NumPy does; what computes exactly has one zero."""

from __future__ import annotations

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from wingspan import api
from wingspan.api import namespace

NAMES = ("copied", "negated", "size", "floored", "ceiled", "rest", "product", "half", "chosen", "least", "most")
VALUES = ("A[i]", "-A[i]", "abs(A[i])", "A[i] ÷ 1", "-(-A[i] ÷ 1)", "A[i] % 1", "A[i] * (-2)", "A[i] / 2")
CHOSEN = ("ifelse(A[i] == 0, A[i], 1.0)", "min(A[i], 0.0, -1.0 * A[i])", "max(A[i], 0.0)")
A = np.array([-0.0, 0.0, -0.5, 0.5, -3.0, 2.0])
COMPILED = pytest.param("compiled", marks=needs_compiler)


def results(engine: str, form: str = "Dense(Element(1.0))", array: np.ndarray = A) -> dict[str, np.ndarray]:
    """The values of all expressions, for each element."""
    tensors = "\n".join(f"{name} = Tensor({form})\n{name} .= 1.0" for name in NAMES)
    updates = "\n".join(f"{name}[i] = {e}" for name, e in zip(NAMES, (*VALUES, *CHOSEN), strict=True))
    text = f"A = Tensor({form})\n{tensors}\nfor i = _\n{updates}\nend\nreturn {', '.join(NAMES)}"
    run = api.run(api.parse(text), inputs={"A": array}, engine=engine)
    return {name: run.tensors[name].to_numpy() for name in NAMES}


WANTED = {
    "copied": A, "negated": -A, "size": abs(A), "floored": np.floor(A), "ceiled": np.ceil(A), "rest": A % 1,
    "product": A * -2, "half": A / 2, "chosen": np.where(A == 0, A, 1),
    "least": np.where(A == 0, A, -abs(A)), "most": np.where(A > 0, A, np.where(A == 0, A, 0.0)),
}  # fmt: skip
"""By NumPy; `min` and `max` keep the first of equal numbers."""


def bits(array: np.ndarray) -> list[str]:
    """With signs, which == does not see."""
    return [repr(x) for x in array.tolist()]


@pytest.mark.parametrize("engine", ["native", COMPILED])
@pytest.mark.parametrize("form", ["Dense(Element(1.0))", "SparseList(Element(1.0))", "Dense(Element(1.0, f32))"])
def test_zeros_have_the_signs_of_ieee_754(engine: str, form: str) -> None:
    """floor(-0.0) is -0.0, and an array keeps its zeros as they are, whatever stores them."""
    found = results(engine, form, A.astype(np.float32) if "f32" in form else A)
    for name, wanted in WANTED.items():
        assert bits(found[name]) == bits(wanted), name


@pytest.mark.parametrize("engine", ["semantics", "reference", "native-controlled"])
def test_exact_engines_have_one_zero_and_the_same_numbers(engine: str) -> None:
    for name, found in results(engine).items():
        assert np.array_equal(found, WANTED[name]) and "-0.0" not in bits(found), name


@pytest.mark.parametrize("function", ["floor", "ceil", "trunc", "negative", "abs"])
def test_functions_of_lazy_arrays_give_the_signs_that_the_standard_gives(function: str) -> None:
    """The array API standard: the floor of -0 is -0, and so is -0.5 rounded up, or towards zero."""
    made = wingspan.compute(getattr(namespace, function)(wingspan.lazy(A)))
    assert bits(made.to_numpy()) == bits(getattr(np, function)(A))


@pytest.mark.parametrize("engine", ["native", COMPILED])
def test_quotients_and_remainders_of_all_signs_are_those_of_python(engine: str) -> None:
    """Also by a negative divisor, by Inf, and of what is less than the divisor."""
    X = np.array([x for x in (-0.0, 0.0, 2.0, -2.0, 0.25, -0.25) for _ in range(6)])
    Y = np.array([1.0, -1.0, 2.0, -2.0, np.inf, -np.inf] * 6)
    text = "X = Tensor(Dense(Element(0.5)))\nY = Tensor(Dense(Element(0.5)))\nq = Tensor(Dense(Element(0.5)))\n"
    text += (
        "r = Tensor(Dense(Element(0.5)))\nq .= 0.5\nr .= 0.5\nfor i = _\nq[i] = X[i] ÷ Y[i]\nr[i] = X[i] % Y[i]\nend\n"
    )
    run = api.run(api.parse(text + "return q, r"), inputs={"X": X, "Y": Y}, engine=engine)
    for k, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
        assert bits(np.array([run.tensors["q"].to_numpy()[k], run.tensors["r"].to_numpy()[k]])) == [
            repr(x // y),
            repr(x % y),
        ], (x, y)
