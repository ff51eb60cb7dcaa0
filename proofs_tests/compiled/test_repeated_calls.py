"""Calls of a kernel with tensors of calls before: they are recognized, and nothing else is taken for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from wingspan import InputError, Tensor
from wingspan.elaborate.inputs import fit_input

CSC = "Dense(SparseList(Element(0.0)))"
TEXT = """
C = Tensor(Dense(SparseList(Element(0.0))))
C .= 0
for j = _
    for i = _
        C[i, j] = A[i, j] - B[i, j]
    end
end
return C
"""


def difference() -> wingspan.Kernel:
    """A kernel whose inputs cannot be exchanged, which runs over stored elements if patterns are equal."""
    return wingspan.compile(wingspan.parse(TEXT), engine="native")


def dense(made: Tensor) -> list[list[float]]:
    return made.to_numpy().tolist()  # type: ignore[no-any-return]


def given() -> tuple[dict[str, np.ndarray], dict[str, Tensor]]:
    """Arrays and their tensors; x and y have one pattern, z has another."""
    arrays = {"x": np.array([[1.0, 0, 2], [0, 3, 0]]), "y": np.array([[5.0, 0, 1], [0, 7, 0]])}
    arrays["z"] = np.array([[0.0, 4, 2], [9, 0, 0]])
    return arrays, {name: Tensor.from_numpy(CSC, array) for name, array in arrays.items()}


@pytest.mark.parametrize("second", ["y", "z"])
def test_the_same_tensors_are_checked_once(second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one pattern and with two; the results of all calls are equal, and not the same memory."""
    checked: list[str] = []

    def record_and_fit(name: str, *args: Any) -> Tensor:
        checked.append(name)
        return fit_input(name, *args)

    monkeypatch.setattr("wingspan.api.compiling.fit_input", record_and_fit)
    arrays, tensors = given()
    kernel = difference()
    made = [kernel(A=tensors["x"], B=tensors[second]) for _ in range(3)]
    assert checked == ["A", "B"]
    assert [dense(each) for each in made] == [(arrays["x"] - arrays[second]).tolist()] * 3
    kernel(A=tensors[second], B=tensors["x"])
    kernel(A=tensors["x"], B=tensors[second])
    assert checked == ["A", "B"] * 2


def test_no_other_tensor_is_taken_for_one() -> None:
    """Neither one in the place of another, in whatever order they are named, nor one where another lay."""
    arrays, tensors = given()
    kernel = difference()
    calls = [("x", "y"), ("y", "x"), ("x", "x"), ("x", "z"), ("z", "x"), ("x", "y"), ("z", "y")]
    for a, b in calls:
        assert dense(kernel(A=tensors[a], B=tensors[b])) == (arrays[a] - arrays[b]).tolist(), (a, b)
        assert dense(kernel(B=tensors[a], A=tensors[b])) == (arrays[b] - arrays[a]).tolist(), (a, b)
    for k in range(20):  # a tensor may lie where one lay that is gone
        fresh = Tensor.from_numpy(CSC, k * arrays["z"])
        assert dense(kernel(A=fresh, B=tensors["y"])) == (k * arrays["z"] - arrays["y"]).tolist()
        del fresh


def test_inputs_that_are_missing_or_too_many_are_an_error_after_a_good_call() -> None:
    _, tensors = given()
    kernel = difference()
    kernel(A=tensors["x"], B=tensors["y"])
    with pytest.raises(InputError, match="needs B"):
        kernel(A=tensors["x"])
    with pytest.raises(InputError, match="takes no input C"):
        kernel(A=tensors["x"], B=tensors["y"], C=tensors["z"])
    with pytest.raises(InputError, match="needs B"):
        kernel(A=tensors["x"], C=tensors["y"])
    with pytest.raises(InputError):
        kernel(A=tensors["x"], B=None)


def test_arrays_that_can_be_written_are_checked_at_each_call() -> None:
    """Of a tensor that borrows them: a call after they have been spoiled is an error."""
    arrays, tensors = given()
    matrix = scipy.sparse.csc_array(arrays["z"])
    lent = Tensor.from_scipy(CSC, matrix, borrow=True)
    kernel = difference()
    for _ in range(2):
        assert dense(kernel(A=lent, B=tensors["x"])) == (arrays["z"] - arrays["x"]).tolist()
    matrix.data[:] = 1.0
    assert dense(kernel(A=lent, B=tensors["x"])) == ((arrays["z"] != 0) - arrays["x"]).tolist()
    matrix.indices[:] = 7
    with pytest.raises(InputError, match="out of bounds"):
        kernel(A=lent, B=tensors["x"])
