"""A workspace that a body clears is all fill until it is updated, so a loop around it need not visit every index."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs_tests.plan.test_looplets import assert_same, touches
from wingspan import api

LONG = 3000

SUMS = """
w = Tensor({form})
{more}
a = Tensor(Dense(Element({zero})), 2)
a .= 0
for k = 1:{n}
    w .= {fill}
    for j = 1:2
        w[j] += B[k] * D[j]
    end
    {use}
end
return a
"""


def program(use: str, form: str = "Dense(Element(0))", fill: str = "0", more: str = "", n: int = LONG) -> str:
    """Sums of a sparse vector B, an element at a time, in a workspace that is then used so."""
    B = [0] * n
    B[2] = B[n - 2] = 5
    zero = "0.0" if "0.0" in form else "0"
    given = f"B = Tensor(SparseList(Element({zero})), {B})\nD = Tensor(Dense(Element({zero})), [1, 2])"
    return given + SUMS.format(form=form, fill=fill, more=more, use=use, n=n, zero=zero)


ADD = "for j = 1:2\n a[j] += w[j] * D[j]\n end"
IDLE = {
    "a product": (ADD, "", "Dense(Element(0))"),
    "of doubles": ("for j = 1:2\n a[j] += w[j] * (D[j] + 1.0)\n end", "", "Dense(Element(0.0))"),
    "a sparse workspace": (ADD, "", "SparseByteMap(Element(0))"),
    "a condition": ("for j = 1:2\n if w[j] > 0\n a[j] += 1 \n end\n end", "", "Dense(Element(0))"),
    "through another workspace": (
        "v .= 0\n for j = 1:2\n v[j] += w[j]\n end\n for j = 1:2\n a[j] += v[j]\n end",
        "v = Tensor(Dense(Element(0)))",
        "Dense(Element(0))",
    ),
    "not at all": ("", "", "Dense(Element(0))"),
}


@pytest.mark.parametrize(("use", "more", "form"), IDLE.values(), ids=IDLE)
def test_a_workspace_inside_of_a_sparse_loop_leaves_it_sparse(use: str, more: str, form: str) -> None:
    """Of 3,000 indices two are visited; a visit is some tens of accesses."""
    found, _ = touches(api.native(api.bind(api.parse(program(use, form, more=more)))))
    assert len(found) < 200
    assert_same(api.bind(api.parse(program(use, form, more=more, n=6))), Counter(), False)


BUSY = {
    "another fill value": (ADD, "Dense(Element(0))", "1"),
    "a sum with another": ("for j = 1:2\n a[j] += w[j] + D[j]\n end", "Dense(Element(0))", "0"),
    "an overwrite": ("for j = 1:2\n a[j] = w[j]\n end", "Dense(Element(0))", "0"),
    "an update in a branch": ("if k == 2\n w[1] += 9\n end\n" + ADD, "Dense(Element(0))", "0"),
    "the largest": ("for j = 1:2\n a[j] += max(w[j], D[j])\n end", "Dense(Element(0))", "0"),
    "a variable": ("x = w[1] + 1\n a[1] += x", "Dense(Element(0))", "0"),
    "a workspace that is not cleared before": (
        "v .= 0\n v[2] += 4\n for j = 1:2\n a[j] += v[j]\n end",
        "Dense(Element(0))",
        "0",
    ),
}


@pytest.mark.parametrize(("use", "form", "fill"), BUSY.values(), ids=BUSY)
def test_what_a_cleared_workspace_does_not_make_idle_is_done(use: str, form: str, fill: str) -> None:
    text = program(use, form, fill, "v = Tensor(Dense(Element(0)), 2)" if "v" in use else "", n=6)
    assert_same(api.bind(api.parse(text)), Counter(), False)


@pytest.mark.parametrize("form", ["SparseDict(Element(0))", "SparseByteMap(Element(0))"])
def test_zeros_that_the_rules_store_are_stored(form: str) -> None:
    """A dense workspace has zeros to add, and a sparse result keeps them; a sparse workspace has none."""
    for inner in ("Dense(Element(0))", "SparseByteMap(Element(0))"):
        text = program(ADD, inner, n=6).replace("[0, 0, 5, 0, 5, 0]", "[0, 0, 0, 0, 0, 0]")
        bound = api.bind(api.parse(text.replace("a = Tensor(Dense(Element(0))", f"a = Tensor({form}")))
        assert_same(bound, Counter(), False)
        assert api.run(bound).tensors["a"].nnz == (2 if inner.startswith("Dense") else 0)


@pytest.mark.parametrize("form", ["SparseList(Element(0))", "SparseDict(Element(0))", "Dense(Element(0))"])
def test_a_scalar_is_read_whatever_it_holds(form: str) -> None:
    """Also where nothing was added to it: then a sparse result stores a zero."""
    text = f"""
        A = Tensor(SparseList(SparseList(Element(0))), [0 1 0; 0 2 0])
        w = Tensor(Element(0))
        C = Tensor({form}, 3)
        C .= 0
        for j = _
            w .= 0
            for i = _; w[] += A[i, j]; end
            C[j] = w[]
        end
        return C
    """
    bound = api.bind(api.parse(text))
    assert_same(bound, Counter(), False)
    assert api.run(bound, engine="native").tensors["C"].nnz == 3


def test_tasks_that_share_a_result_do_what_the_rules_let_them_do() -> None:
    """Under the controlled scheduler: the same outcomes, and as safe, where a task has nothing to add."""
    text = program(ADD.replace("a[j]", "a[j, k]"), n=3).replace("B = ", "B = ", 1)
    text = text.replace("for k = 1:3", "for k = parallel(1:3, cpu(2))")
    text = text.replace("a = Tensor(Dense(Element(0)), 2)", "a = Tensor(Dense(Dense(Element(0))), 2, 3)")
    by_rules, by_plan = (api.explore(api.parse(text), machine=name).verdict for name in ("semantics", "native"))
    assert by_rules.complete and by_plan.complete and by_rules.verdict == by_plan.verdict
    assert {r.outcome for r in by_rules.results} == {r.outcome for r in by_plan.results}
    assert by_plan.steps < by_rules.steps


FAULTS = {
    "a division by zero": "for j = 1:2\n a[j] += w[j] * (1 ÷ (D[j] - 1))\n end",
    "zero by zero": "for j = 1:2\n a[j] += w[j] ÷ (D[j] - 1)\n end",
    "an overflow": "for j = 1:2\n a[j] += w[j] * (D[j] + 9223372036854775807)\n end",
    "a subscript beyond the workspace": "for j = 1:3\n a[1] += w[j]\n end",
    "a subscript beyond a factor": "for j = 1:3\n a[1] += w[1] * D[j]\n end",
    "a subscript of the result": "for j = 1:2\n a[j + 1] += w[j]\n end",
    "a variable without a value": "for j = 1:2\n a[j] += w[j] * D[1 + j]\n end",
}


@pytest.mark.parametrize("use", FAULTS.values(), ids=FAULTS)
def test_a_fault_that_a_cleared_workspace_could_hide_is_told(use: str) -> None:
    """No index has an element, and the rules meet it at the first one."""
    text = program(use, n=6).replace("[0, 0, 5, 0, 5, 0]", "[0, 0, 0, 0, 0, 0]")
    seen: Counter[str] = Counter()
    assert_same(api.bind(api.parse(text)), seen, False)
    assert seen["faults"] == 1
