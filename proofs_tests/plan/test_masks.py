"""Comparisons of a loop's index: ranges are split where they begin or cease to hold, and nothing else changes.

Costs are numbers of accesses to buffers, counted on the plan under the controlled scheduler.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from typing import Any

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.plan.test_looplets import counts
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.elaborate import Elaborated
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")
DENSE, LISTS, MAPS = "Dense(Dense(Element(0)))", "Dense(SparseList(Element(0)))", "Dense(SparseByteMap(Element(0)))"
FORMATS = (DENSE, LISTS, MAPS, "Dense(SparseDict(Element(0)))")
OPERATORS = ("<", "<=", "==", "!=", ">=", ">")
CONDITIONS = (
    *(f"i {op} j" for op in OPERATORS),
    *(f"j {op} i" for op in OPERATORS),
    *(f"i {op} {at}" for op, at in product(("<", "==", ">="), (-1, 0, 1, 3, 9))),
    "i <= j + 1 && j - 1 <= i",
    "i == j || i == 2",
    "!(i < j)",
    "i == j && i == j + 1",
    "i <= j && A[i, j] > 1",
    "i != j && i != 2 && i != 4",
)
UPDATE = """
A = Tensor({form}{data})
y = Tensor({result}, {rows})
y .= 0
for j = _
    for i = _
        if {condition}
            y[i{second}] += A[i, j]
        end
    end
end
return y
"""


def given(rows: int, columns: int) -> np.ndarray:
    """Numbers, of which some are zero."""
    return np.random.default_rng(rows * 8 + columns).integers(-2, 4, (rows, columns))


def update(condition: str, form: str = DENSE, shape: tuple[int, int] = (4, 4), result: str = "") -> Elaborated:
    """The sum of the elements of a row for which a condition holds, or if there is such a `result`, these elements."""
    rows = f"{shape[0]}, {shape[1]}" if result else f"{shape[0]}"
    text = UPDATE.format(
        form=form, data="", result=result or "Dense(Element(0))", rows=rows, condition=condition,
        second=", j" if result else "",
    )  # fmt: skip
    return api.bind(api.parse(text), inputs={"A": given(*shape)})


def agreed(bound: Elaborated) -> None:
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None, found.difference


@pytest.mark.parametrize(("condition", "form"), few(list(product(CONDITIONS, FORMATS)), 40))
def test_what_is_computed_is_what_the_rules_compute(condition: str, form: str) -> None:
    agreed(update(condition, form))


@pytest.mark.parametrize(
    ("condition", "shape"),
    few(
        list(product(
            ["i <= j", "i == j", "i > j", "i == j + 1 || i == 7"], [(0, 3), (1, 1), (1, 5), (5, 1), (3, 0), (2, 7)]
        )),
        9,
    ),
)  # fmt: skip
def test_ranges_may_be_empty_and_end_before_the_bound(condition: str, shape: tuple[int, int]) -> None:
    for form in FORMATS:
        agreed(update(condition, form, shape))


@pytest.mark.parametrize(("condition", "result"), few(list(product(["i <= j", "i == j", "i != j"], FORMATS)), 7))
def test_results_of_any_format_are_what_the_rules_make(condition: str, result: str) -> None:
    """Loops visit an update that stores nothing and yet does something, as in a list."""
    for form in (DENSE, LISTS):
        agreed(update(condition, form, result=result))


STORED = ["SparseList", "SparseByteMap", "SparseDict", "SparseRunList", "RunList", "Dense", "Mutex(SparseList"]
FALSE = (
    "C[i, j] |= i <= j", "C[i, j] = 2 * j > i", "C[i, j] |= j < i; C[i, j] |= A[i, j] > 1",
    "C[i, j] |= A[i, j] > 0 && i <= j", "C[i, j] |= ifelse(A[i, j] > 0, i == j, false)",
    "if i <= j; C[i, j] |= i == 2; end", "C[i, j] |= ifelse(i <= j, A[i, j] > 0, false)",
)  # fmt: skip


@pytest.mark.parametrize(("body", "level"), list(product(FALSE, STORED)))
def test_what_is_false_beyond_a_bound_is_stored_as_the_rules_store_it(body: str, level: str) -> None:
    """A mask in a condition decides whether there is an update; as a value it is stored, whatever it is."""
    text = f"""
        A = Tensor(Dense(SparseList(Element(0))))
        C = Tensor(Dense({level}(Element(false){")" * level.count("(")})), 4, 3)
        C .= false
        for j = _; for i = _; {body}; end; end
        return C
    """
    bound = api.bind(api.parse(text), inputs={"A": given(4, 3)})
    rules, plan = (str(api.run(bound, engine=engine)["C"]) for engine in ("semantics", "native"))
    assert plan == rules


NAMED = {
    "diagmask[i, j]": np.eye(5, 6),
    "uptrimask[i, j]": np.triu(np.ones((5, 6))),
    "lotrimask[i, j]": np.tril(np.ones((5, 6))),
    "!lotrimask[i, j + 1]": np.triu(np.ones((5, 6))),
    "!lotrimask[i, j]": np.triu(np.ones((5, 6)), 1),
    "bandmask[i, j - 1, j + 1]": np.triu(np.tril(np.ones((5, 6)), 1), -1),
    "chunkmask(2)[i, j]": np.kron(np.eye(6), np.ones((2, 1)))[:5, :6],
    "splitmask(5, 2)[i, j]": np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], *[[0] * 5] * 4]).T,
}
"""Masks by name, and where they are true of a matrix of 5 by 6."""


@pytest.mark.parametrize("form", [DENSE, LISTS])
@pytest.mark.parametrize("name", NAMED)
def test_masks_by_name_are_true_where_they_say(name: str, form: str) -> None:
    """And no other element is read: bounds that are products, or parts of them, split ranges too."""
    text = UPDATE.format(form=form, data="", result="Dense(Element(0))", rows=5, condition=name, second="")
    A = np.arange(1, 31).reshape(5, 6)
    bound = api.bind(api.parse(text), inputs={"A": A})
    found = api.engine("reference").run(bound, {})
    assert found["y"].tolist() == (A * NAMED[name]).sum(axis=1).tolist()
    agreed(bound)
    assert counts(bound)["A.val"] == np.count_nonzero(NAMED[name])


def test_a_bound_that_may_not_fit_a_register_splits_nothing() -> None:
    """The product fails where an iteration computes it, and not before the first one."""
    large = 2**62
    for columns, fails in (1, False), (2, True):
        text = f"A = Tensor({DENSE})\ns = Tensor(Element(0))\ns .= 0\n" + (
            f"for j = _; for i = _; if i <= {large} * j ÷ {large}; s[] += A[i, j]; end; end; end\nreturn s"
        )
        bound = api.bind(api.parse(text), inputs={"A": given(3, columns)})
        agreed(bound)
        with pytest.raises(Fault) if fails else nullcontext():
            api.run(bound, engine="native")


OTHERS = {
    "the bound is the index of an inner loop": "for i = _; for j = _; if j <= i; s[] += A[i, j]; end; end; end",
    "the bound changes in the loop": """
        k = 1
        for j = _
            for i = _
                if i <= k; k = k + 1; s[] += A[i, j]; end
            end
        end""",
    "what is compared is no index": """
        for j = _
            for i = _
                x = A[i, j]
                if x <= j; s[] += x; end
            end
        end""",
    "a comparison is a value": """
        t = Tensor(Element(false))
        t .= false
        for j = _; for i = _; t[] <<||>>= i == j && A[i, j] > 2; end; end
        if t[]; s[] += 7; end""",
    "a workspace is read in part": """
        w = Tensor(SparseByteMap(Element(0)), 4)
        for j = _
            w .= 0
            for i = _; w[i] += A[i, j]; end
            for i = _
                if i < j; s[] += i * w[i]; end
            end
        end""",
    "two lists are compared": """
        B = Tensor(Dense(SparseList(Element(0))), [1 2 0 1; 0 0 1 0; 3 1 0 0; 1 1 1 1])
        for j = _
            for i = _
                if i >= j; s[] += A[i, j] * B[i, j] + A[i, 1]; end
            end
        end""",
    "an iteration beyond the bound would fail": """
        for j = 1:4
            for i = 1:9
                if i <= j; s[] += A[i, j]; end
            end
        end""",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_compute_what_the_rules_compute(name: str) -> None:
    for form in (LISTS, MAPS, DENSE):
        text = f"A = Tensor({form})\ns = Tensor(Element(0))\ns .= 0\n{OTHERS[name]}\nreturn s"
        agreed(api.bind(api.parse(text), inputs={"A": given(4, 4)}))


def test_a_fault_that_a_condition_guards_against_stays_away_and_others_come() -> None:
    """As by the rules, where the condition holds for no index beyond the axis, or for one."""
    for limit, fails in ((4, False), (5, True)):
        text = f"A = Tensor({DENSE})\ns = Tensor(Element(0))\ns .= 0\n" + (
            f"for j = 1:4; for i = 1:9; if i <= {limit}; s[] += A[i, j]; end; end; end\nreturn s"
        )
        bound = api.bind(api.parse(text), inputs={"A": given(4, 4)})
        agreed(bound)
        with pytest.raises(Fault) if fails else nullcontext():
            api.run(bound, engine="native")


# --------------------------------------------------------------------------------------------------------------- costs


def touched(condition: str, n: int, form: str = DENSE) -> Any:
    """The number of reads of elements of a matrix without zeros."""
    text = UPDATE.format(form=form, data="", result="Dense(Element(0))", rows=n, condition=condition, second="")
    return counts(api.bind(api.parse(text), inputs={"A": np.ones((n, n), int)}))["A.val"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_triangle_costs_its_elements(form: str) -> None:
    n = 16
    assert touched("i <= j", n, form) == touched("j <= i", n, form) == n * (n + 1) // 2
    assert touched("i == j", n, form) == n
    assert touched("i <= j + 1 && i >= j - 1", n, form) == 3 * n - 2
    assert touched("i < 1", n, form) == 0


@pytest.mark.parametrize("form", ["SparseList", "SparseDict"])
def test_what_is_left_out_of_a_list_is_not_gone_through(form: str) -> None:
    """From a long column, what lies on one side of the diagonal is left, or reached by a search."""
    n = 1000
    text = f"A = Tensor(Dense({form}(Element(0))))\ns = Tensor(Element(0))\ns .= 0\n" + (
        "for j = 1:2; for i = _; if {}; s[] += A[i, j]; end; end; end\nreturn s"
    )
    for condition, most in (("i <= j", 20), (f"i >= j + {n - 3}", 80)):
        found = counts(api.bind(api.parse(text.format(condition)), inputs={"A": np.ones((n, 2), int)}))
        assert found["A.idx"] <= most, found


RUNS = """
A = Tensor(Dense(RunList(Element(0))))
T = Tensor(Dense(Element(0)), [5, 7, 4])
C = Tensor({form})
s = Tensor(Element(0))
C .= 0
s .= 0
for j = _
    for i = _
        {body}
    end
end
return C, s
"""


def over_runs(body: str, form: str, n: int) -> Elaborated:
    """A program over three columns of n elements in two runs each."""
    A = np.repeat([[2], [1]], [n // 2 + 1, n // 2 - 1], axis=0).repeat(3, axis=1)
    return api.bind(api.parse(RUNS.format(form=form, body=body)), inputs={"A": A})


@pytest.mark.parametrize(
    "form",
    few(
        [*(f"Dense({run}(Element(0)))" for run in ("RunList", "SparseRunList")), "Dense(Mutex(RunList(Element(0))))"], 1
    ),
)
@pytest.mark.parametrize(
    "condition", few([
        "i == j", "i <= j", "!(i < 3)", "3 <= i && i < 8", "i < 3 || i > 8", "i != 6", "bandmask[i, j - 1, j + 1]",
        "chunkmask(3)[i, j]", "splitmask(12, 3)[i, j]", "i <= j && A[i, j] > 1",
    ], 3),
)  # fmt: skip
def test_runs_that_are_written_under_a_mask_cost_runs(condition: str, form: str) -> None:
    """The rules enter the list at each index, a plan once for each part of a run on one side of a bound: ten times as
    many indices cost no more, but where a bound falls into another run.
    """
    body = f"if {condition}; C[i, j] = A[i, j] + 1; end"
    agreed(over_runs(body, form, 10))
    agreed(over_runs(f"{body[:-4]} else; s[] += i * A[i, j]; end", form, 10))
    for each in (body, f"C[i, j] = ifelse({condition}, A[i, j] + 1, 7)"):
        few, many = (counts(over_runs(each, form, n)).total() for n in (20, 200))
        assert many < 1.2 * few


def test_a_sum_of_what_is_looked_up_costs_runs() -> None:
    """A subscript that is an element makes a loop of one iteration, which updates nothing in turn."""
    body = "s[] += T[A[i, j] + 1]; if i == 1; C[i, j] = 1; end"
    agreed(over_runs(body, "Dense(Dense(Element(0)))", 10))
    one, other = (counts(over_runs(body, "Dense(Dense(Element(0)))", n))["T.val"] for n in (20, 200))
    assert one == other
