"""Accesses under a condition on an index: their axes may have other extents than the loop over `_` that they stand in.

Costs are numbers of accesses to buffers, counted on the plan under the controlled scheduler.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.elaborating import VECTOR, mistake, shown
from proofs_tests.plan.test_looplets import counts
from proofs_tests.plan.test_shifts import FORMATS, agreed, vector
from wingspan import api
from wingspan.base.errors import Fault, InputError

HEAD = f"a = {VECTOR}, [1, 2, 3]); b = {VECTOR}, [1, 2, 3, 4, 5]); C = {VECTOR}, 5); d = {VECTOR}); C .= 0\n"

RANGES = {
    "if i <= 3; C[i] += a[i] + b[i]; end": 5,
    "C[i] += 7; if i <= 3; C[i] += a[i]; end": 5,
    "if i <= 3; C[i] += a[i]; end": 5,
    "if i <= 3; d[i] += a[i]; end": 3,
    "d[i] += 1; if i <= 3; d[i] += a[i]; end": 3,
    "d[i] = ifelse(i <= 3, a[i], 0) + b[i]": 5,
    "d[i] = ifelse(i > 3, 0, a[i]) + b[i]": 5,
    "d[i] += a[i]; if b[1] > i; d[i] += b[i]; end": 3,
    "if b[i] > 2 && 3 >= i; if a[i] > 0; d[i] += b[6 - i]; end; end": 5,
    "for j = _; if i <= j; d[j] += a[i] * b[j]; end; end": 3,
}
"""The body of a loop over i, and the last index of its range."""


@pytest.mark.parametrize("body", RANGES)
def test_what_is_accessed_whatever_the_index_is_rules_over_its_range(body):
    """Else what is updated under conditions, else what is read under some; but nothing that the loop extends."""
    assert f"for i = 1:{RANGES[body]}" in shown(f"{HEAD}{'d .= 0; ' * ('d[' in body)}for i = _; {body}; end")


OTHERS = {
    "if b[i] > 2; d[i] += a[i]; end": "i runs over axis 1 of b, which has extent 5, and over axis 1 of a, which has 3",
    "x = i <= 3; if x; d[i] = a[i] + b[i]; end": (
        "i runs over axis 1 of a, which has extent 3, and over axis 1 of b, which has 5"
    ),
    "if i <= 3; d[i] += a[i] * b[i]; end": (
        "i runs over axis 1 of a, which has extent 3, and over axis 1 of b, which has 5"
    ),
    "for j = _; if j <= 3; d[j] += a[j] + a[i] * b[i]; end; end": (
        "i runs over axis 1 of a, which has extent 3, and over axis 1 of b, which has 5"
    ),
    "d[i] = (i <= 3) * a[i] + b[i]": "i runs over axis 1 of a, which has extent 3, and over axis 1 of b, which has 5",
}


@pytest.mark.parametrize("body", OTHERS)
def test_a_condition_that_does_not_speak_of_the_index_protects_nothing(body):
    """Nor does one that all of the axes stand under, as then nothing else rules; nor a factor."""
    found = mistake(f"{HEAD}{'d .= 0; ' * ('d[' in body)}for i = _; {body}; end")
    assert found.message == OTHERS[body]
    both = body.startswith("if i <= 3")
    free = "give the range: for i = 1:3, or access a under a condition on i"
    assert found.fix == ("give the range: for i = 1:5" if both else free)


GUARDED = """
A = Tensor({form})
C = Tensor({form}, {n})
C .= 0
for i = _
    if i <= {bound}
        C[i] += {factor}A[i]
    end
end
return C
"""


LENGTHS = [(0, 0), (0, 2), (1, 0), (4, 1), (6, 3), (3, 6)]


@pytest.mark.parametrize(
    ("n", "length", "form"), few([(*lengths, form) for lengths, form in product(LENGTHS, FORMATS)], 13)
)
def test_all_engines_read_the_axis_as_far_as_the_condition_says(form, n, length):
    """Also kernels, whose plan is for all extents; one of any length then."""
    x = vector(length, form)
    text = GUARDED.format(form=form, n=n, bound=min(n, length), factor="")
    expected = np.zeros(n, int)
    expected[: min(n, length)] = x[:n]
    if "Interval" in form or "Point" in form:  # a C of that format is written at once, and its fill value is not stored
        text = text.replace("C[i] +=", "C[i] =")
    assert (agreed(api.bind(api.parse(text), inputs={"A": x}))["C"] == expected).all()
    kernel = api.compile(api.parse(text), engine="native")
    assert (kernel(A=x).to_numpy() == expected).all()


def test_an_index_outside_of_the_axis_is_a_fault_where_the_condition_lets_it_through():
    text = GUARDED.format(form="SparseList(Element(0))", n=5, bound=4, factor="")
    for engine in ("semantics", "reference", "native", "native-controlled"):
        with pytest.raises(Fault, match=r"A has the indices 1:3 on axis 1, got 4"):
            api.run(api.parse(text), inputs={"A": np.array([0, 1, 0])}, engine=engine)


def test_the_loop_steps_through_what_is_stored_and_not_through_its_range():
    def cost(n: int) -> tuple[int, int, int]:
        text = GUARDED.format(form="SparseList(Element(0))", n=n, bound=40, factor="2 * ")
        text = text.replace("SparseList", "Dense").replace("Dense", "SparseList", 1)
        x = np.zeros(40, int)
        x[[3, 17, 30]] = 5
        found = counts(api.bind(api.parse(text), inputs={"A": x}))
        return found["A.val"], found["A.idx"], found["C.val"] - n  # C is declared first

    assert cost(50) == cost(5000) == (3, cost(50)[1], 2 * 3)


def test_extents_that_are_left_open_need_not_agree():
    """The plan of a kernel is for all of them, whichever is larger; where all rule they must agree."""
    text = "d = Tensor(Dense(Element(0.0)))\nd .= 0\nfor i = _; d[i] = {}; end\nreturn d"
    kernel = api.compile(api.parse(text.format("b[i] + ifelse(i <= 2, a[i], 0.5)")), engine="native")
    assert "all extents" in repr(kernel)
    for length in (2, 3, 9):
        assert kernel(a=np.ones(length), b=np.arange(4.0)).to_numpy().tolist() == [1, 2, 2.5, 3.5]
    with pytest.raises(Fault, match="a has the indices 1:1 on axis 1, got 2"):
        kernel(a=np.ones(1), b=np.arange(4.0))
    strict = api.compile(api.parse(text.format("ifelse(i <= 2, a[i] * b[i], 0.5)")), engine="native")
    with pytest.raises(InputError, match="one loop runs over both"):
        strict(a=np.ones(3), b=np.ones(4))
