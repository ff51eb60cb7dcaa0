"""Indices off their axis: values that ranges ensure, `coalesce` without ~, and updates that do not happen there."""

from __future__ import annotations

import numpy as np
import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.elaborating import VECTOR, mistake, shown
from proofs_tests.plan.test_shifts import agreed
from wingspan import Fault, InputError, api

HEAD = f"""
A = Tensor(SparseList(Element(0)), [1, 0, 3])
B = {VECTOR}, [4, 5])
y = {VECTOR}, 5)
y .= 0
"""

# ------------------------------------------------------------------------------------------- values that ranges ensure

ALWAYS = {
    "for i = _\ny[i] = coalesce(A[~i], B[~(i - 3)])\nend": [1, 0, 3, 4, 5],
    "for i = parallel(_)\ny[i] = coalesce(A[~i], B[~(i - 3)])\nend": [1, 0, 3, 4, 5],
    "for i = 1:5\ny[i] = coalesce(B[~(i - 3)], A[~i] + 1)\nend": [2, 1, 4, 4, 5],
    "for i = 1:2\ny[i] = A[~(i + 1)]\nend": [0, 3, 0, 0, 0],
    "for i = 2:3\nfor j = 1:i-1\ny[i] += A[~(i - j)]\nend\nend": [0, 1, 1, 0, 0],
    "for i = 1:5\nif i <= 3\ny[i] = 2 * A[~i]\nend\nend": [2, 0, 6, 0, 0],
    "for i = 1:5\nif i % 2 == 0 && i > 3\ny[i] = B[~(i ÷ 2)]\nend\nend": [0, 0, 0, 5, 0],
    "for i = 1:5\ny[i] = ifelse(i > 3, B[~(i - 3)], A[~i])\nend": [1, 0, 3, 4, 5],
    "for i = 4:5\nif A[~(i - 3)] > 0\ny[i] = 7\nend\nend": [0, 0, 0, 7, 0],
    "for i = 1:2\nx = B[~i]\ny[x] += 1\nend": [0, 0, 0, 1, 1],
    "for i = 3:2\ny[i] = A[~(i + 9)]\nend": [0, 0, 0, 0, 0],
}
"""Programs in which no value is missing, and what they give."""


def gives(text: str, y: list[int], head: str = HEAD) -> bool:
    """Whether all engines compute y, and the printed program is the same one."""
    program = api.parse(f"{head}{text}\nreturn y")
    return agreed(api.bind(program))["y"].tolist() == y and api.parse(str(program)).tree == program.tree


@pytest.mark.parametrize("text", ALWAYS)
def test_what_ranges_make_sure_of_needs_no_other_value(text: str) -> None:
    assert gives(text, ALWAYS[text])


MAYBE = (
    "for i = 1:6\ny[1] += coalesce(A[~i], B[~(i - 3)])\nend",
    "for i = 0:5\ny[1] += coalesce(A[~i], B[~(i - 3)])\nend",
    "for i = 1:5\ny[i] = coalesce(A[~i], B[~(i - 4)])\nend",
    "for i = 1:3\nfor j = 1:i\ny[i] += A[~(i - j)]\nend\nend",
    "for i = 1:5\nif i <= 4\ny[i] = 2 * A[~i]\nend\nend",
    "for i = 1:5\ny[i] = ifelse(i > 2, B[~(i - 3)], A[~i])\nend",
    "for i = 1:2\nx = B[i]\ny[i] = A[~x]\nend",
    "for i = 1:2\ny[i] = A[~(i * i)]\nend",
    "for i = 1:3\ny[i] = ifelse(A[i] > 0, A[~i], A[~(i + 1)])\nend",
)
"""Programs with one value that is missing somewhere, or of which that is not plain to see."""


@pytest.mark.parametrize("text", MAYBE)
def test_what_ranges_do_not_make_sure_of_is_a_mistake(text: str) -> None:
    found = mistake(f"{HEAD}{text}\nreturn y")
    assert "missing" in found.message and "coalesce(" in found.fix


def test_large_ranges_cost_no_more_than_small_ones() -> None:
    """The ends of axes decide, not the iterations."""
    text = f"""
A = {VECTOR}, 1000000000)
B = {VECTOR}, 1000000000)
y = Tensor(SparseList(Element(0)), 2000000000)
A .= 0
B .= 0
y .= 0
for i = _
    y[i] = coalesce(A[~i], B[~(i - LENGTH)])
end
"""
    assert "ifelse(i <= 1000000000" in shown(text.replace("LENGTH", "1000000000"))
    assert "may be missing" in mistake(text.replace("LENGTH", "1000000001")).message


# --------------------------------------------------------------------------------------------------- coalesce without ~

WITHOUT = {
    "for i = 1:3\nfor j = 1:3\ny[i] += coalesce(A[j - i + 1], 10)\nend\nend": [4, 11, 21, 0, 0],
    "for i = 1:5\ny[i] = coalesce(A[i], B[i - 3])\nend": [1, 0, 3, 4, 5],
    "for i = 1:5\ny[i] = coalesce(A[i], B[2 * i], 9)\nend": [1, 0, 3, 9, 9],
    "for i = 1:2\ny[i] = coalesce(A[B[i]], 9)\nend": [9, 9, 0, 0, 0],
    "y[1] = coalesce(A[4], 9)": [9, 0, 0, 0, 0],
    "for i = 1:3\ny[i] = coalesce(A[i])\nend": [1, 0, 3, 0, 0],
    "y[2] = coalesce(7)": [0, 7, 0, 0, 0],
    "y[2] = coalesce(7, A[1], missing)": [0, 7, 0, 0, 0],
    "for i = _\ny[i] = coalesce(i, 3)\nend": [1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("text", WITHOUT)
def test_an_access_before_another_value_may_leave_its_axes(text: str) -> None:
    """As if ~ stood there: nothing else of it could be missing. One value, or one that is never missing, is itself."""
    assert gives(text, WITHOUT[text])


def test_an_index_over_a_whole_axis_stays_bare() -> None:
    """So A gives the loop its range; a computed subscript gives none, and stays within its axis elsewhere."""
    text = f"{HEAD}for i = _\ny[1] += coalesce(A[i], 0)\nend\nreturn y"
    assert "for i = 1:3" in shown(text) and agreed(api.bind(api.parse(text)))["y"].tolist() == [4, 0, 0, 0, 0]
    with pytest.raises(Fault, match="A has the indices 1:3 on axis 1, got 4"):
        api.run(api.parse(f"{HEAD}for i = 1:3\ny[i] = coalesce(2 * A[i + 1], 0)\nend"), engine="reference")


# ------------------------------------------------------------------------------------------------------------- updates

UPDATES = {
    "for i = _\ny[~(i + 3)] += A[i]\nend": [0, 0, 0, 1, 0],
    "for i = _\ny[~(i - 1)] += A[i]\nend": [0, 3, 0, 0, 0],
    "for i = parallel(_)\ny[~(2 * i)] += 1 + A[i]\nend": [0, 2, 0, 1, 0],
    "for i = 0:9\ny[~i] = 9 ÷ i\nend": [9, 4, 3, 2, 1],
    "for i = 1:3\ny[~A[i]] += 1\nend": [1, 0, 1, 0, 0],
    "for i = -7:0\ny[~i] += 1\nend": [0, 0, 0, 0, 0],
    "y[~6] += 1\ny[~5] += 2": [0, 0, 0, 0, 2],
    "for i = 1:5\ny[~(i + 1)] += coalesce(A[~i], 7)\nend": [0, 1, 0, 3, 7],
}


@pytest.mark.parametrize("form", ["Dense(Element(0))", "SparseDict(Element(0))"])
@pytest.mark.parametrize("text", UPDATES)
def test_an_update_beyond_an_axis_does_not_happen(text: str, form: str) -> None:
    """As in Finch.jl. Its value is not computed there: 9 ÷ 0 is no fault."""
    if "parallel" in text and "Dict" in form:
        form = "Mutex(SparseDict(Element(0)))"
    assert gives(text, UPDATES[text], HEAD.replace(VECTOR + ", 5)", f"Tensor({form}, 5)"))


def test_an_axis_that_updates_may_leave_gets_no_extent_from_them() -> None:
    """Nor does it give a loop its range."""
    found = mistake(f"x = {VECTOR}, [1, 2])\nz = {VECTOR})\nz .= 0\nfor i = _\nz[~i] += x[i]\nend")
    assert found.message == "the extent of axis 1 of z cannot be inferred from the loops"
    assert "for i = 1:2" in shown(f"x = {VECTOR}, [1, 2])\nz = {VECTOR}, 1)\nz .= 0\nfor i = _\nz[~i] += x[i]\nend")


def test_two_axes_are_left_one_by_one() -> None:
    text = """
Y = Tensor(Dense(SparseList(Element(0))), 2, 2)
Y .= 0
for j = 0:3
    for i = 0:3
        Y[~i, ~j] += 10 * i + j
    end
end
return Y
"""
    assert agreed(api.bind(api.parse(text)))["Y"].tolist() == [[11, 12], [21, 22]]


def test_tasks_that_update_beyond_an_axis_are_judged_by_what_they_update() -> None:
    """All iterations but one leave the axis, so no two update one element; with the next element two may."""
    text = f"d = cpu(:d, 2)\ny = {VECTOR}, 1)\ny .= 0\nfor i = parallel(1:4, d)\ny[~(i ÷ 4)] += 1\nend\nreturn y"
    assert api.check(api.parse(text)).verdict == "safe"
    assert api.explore(api.parse(text)).verdict.verdict == "safe"
    racy = text.replace("i ÷ 4", "i ÷ 2")
    assert api.check(api.parse(racy)).verdict == "unsafe"
    assert api.explore(api.parse(racy)).verdict.verdict == "race"


def test_no_expression_of_arrays_updates_beyond_its_axes() -> None:
    """The result of an einsum has room for all that is updated, and begins at 1."""
    with pytest.raises(InputError, match=r"C has indices from 1 on axis 1, and ~\(i - 1\) can be 0"):
        api.einsum("C[~(i - 1)] += A[i]", A=np.ones(3))


@needs_compiler
def test_compiled_c_agrees() -> None:
    """On values that ranges make sure of, `coalesce` without ~, updates beyond an axis, and sums beside differences."""
    text = f"""{HEAD}
z = {VECTOR}, 2)
z .= 0
for i = parallel(_)
    y[i] = coalesce(A[~i], B[~(i - 3)])
end
for i = 1:5
    z[~(i - 1)] += coalesce(A[i], 9)
    z[~(i - 1)] -= i
end
return y, z
"""
    run = api.run(api.parse(text), engine="compiled")
    assert run.tensors["y"].to_numpy().tolist() == [1, 0, 3, 4, 5]
    assert run.tensors["z"].to_numpy().tolist() == [-2, 0]
