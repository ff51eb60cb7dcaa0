"""Planning takes polynomial work and has a budget: what it estimates, how far it gets, and what it says then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from wingspan import Tensor, api
from wingspan.api.expressions import einsum
from wingspan.base.budget import BUDGET, Budget
from wingspan.base.errors import InputError
from wingspan.choices.contractions import StepBudget, enumerate_contractions, is_reassociable
from wingspan.choices.decision_diagram import IdleDiagram
from wingspan.choices.elimination import elimination
from wingspan.choices.estimate import profitable_loops
from wingspan.choices.operands import Input
from wingspan.choices.placements import choices
from wingspan.choices.reading import fill_missing, read_einsum, update
from wingspan.dependence.changes import headers
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import algebra, ir

S = scipy.sparse.csr_array(np.diag([0.5, 2.0, 3.0]))
"""A sparse matrix."""
D = np.ones((3, 3))
ONE = Tensor.from_numpy("Dense(SparseList(Element(1.0)))", np.array([[1.0, 2.0], [1.0, 1.0]]))
"""A sparse matrix whose fill value is 1."""
FLAGS = S.astype(np.bool_)


def planned(text: str, budget: Budget | None = None, **inputs: Any) -> StepBudget:
    """The best way to compute an expression."""
    return enumerate_contractions(*read_einsum(api.parse(text).tree, inputs), budget=budget)[0]


def each(text: str, count: int, op: str) -> str:
    """A text for each of several numbers k, joined."""
    return f" {op} ".join(text.format(k=k, next=k + 1) for k in range(count))


# --------------------------------------------------------------------------------------------- where nothing is done


def sets_of(names: list[str]) -> Iterator[frozenset[str]]:
    """All sets of names."""
    return map(frozenset, chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))


def falls_away(what: Einsum, operands: dict[str, Input], missing: frozenset[str]) -> bool:
    """Whether the update does nothing where these inputs store nothing: the fill values put in all at once."""
    done = fill_missing(update(what, ir.Access(ir.Fiber("C", 1), ()), what.expression), operands, missing)
    start = algebra.exact(what.init.value)
    return isinstance(algebra.simplify(done, lambda a: algebra.is_literal(a.value, start)), ir.Skip)


QUESTIONS: dict[str, dict[str, Any]] = {
    "C[i, j] = A[i, j] + B[i, j] + E[i, j]": {"A": S, "B": S, "E": S},
    "C[i, j] = A[i, j] * B[i, j] * E[i, j] * 2": {"A": S, "B": S, "E": D},
    "C[i, j] += A[i, k] * B[k, j] + E[i, j] * i": {"A": S, "B": S, "E": S},
    "C[i, j] = (A[i, j] + B[i, j]) * (A[i, j] + E[i, j]) - B[i, j]": {"A": S, "B": S, "E": S},
    "C[i, j] = A[i, j] * B[i, j] + E[i, j] * A[i, j]": {"A": S, "B": S, "E": S},
    "C[i, j] = A[i, j] * (B[i, j] - 1)": {"A": S, "B": S},
    "C[i, j] = A[i, j] + 1": {"A": S},
    "C[i, j] *= A[i, j] * B[i, j]": {"A": ONE, "B": ONE},
    "C[i, j] = A[i, j] * B[i, j]": {"A": ONE, "B": ONE.to_numpy()},
    "C[i, j] = max(A[i, j], B[i, j], E[i, j])": {"A": S, "B": S, "E": S},
    "C[i, j] <<min>>= A[i, k] + B[k, j]": {"A": S, "B": S},
    "C[i, j] <<||>>= A[i, k] && (B[k, j] || E[k, j])": {"A": FLAGS, "B": FLAGS, "E": FLAGS},
    "C[i, j] <<&&>>= A[i, k] || B[k, j]": {"A": FLAGS, "B": FLAGS},
    "C[i, j] = ifelse(A[i, j] > 1, B[i, j], 0)": {"A": S, "B": S},
    "C[i, j] += ifelse(A[i, j] > 1, B[i, j], E[i, j])": {"A": S, "B": S, "E": S},
    "C[i, j] += 2 * ifelse(A[i, j] > 1, B[i, j], 0) + E[i, j]": {"A": S, "B": S, "E": S},
    "C[i, j] = A[i, j] / B[i, j]": {"A": S, "B": S},
    "function f(x, y) = x + 2 * y\nC[i, j] = f(A[i, j], B[i, j]) * E[i, j]": {"A": S, "B": S, "E": S},
    "function g(x, y; annihilator = 0) = x * y\nC[i, j] += g(A[i, j], g(B[i, j], E[i, j]))": {"A": S, "B": S, "E": S},
    "C[i, j] = A[i, j] - A[i, j]": {"A": S},
    "C[] += 3": {},
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_diagram_says_for_every_set_of_absent_inputs_what_filling_them_in_says(text: str) -> None:
    """And how likely something is done is the sum over all sets."""
    what, operands = read_einsum(api.parse(text).tree, QUESTIONS[text])
    diagram, names = IdleDiagram(what, operands, Budget()), sorted(operands)
    there = {name: (k + 1) / (len(names) + 1) for k, name in enumerate(names)}
    busy = 0.0
    for missing in sets_of([name for name in names if operands[name].sparse]):
        assert diagram.idle(missing) == falls_away(what, operands, missing), missing
        if not falls_away(what, operands, missing):
            sparse = (name for name in names if operands[name].sparse)
            busy += prod(1 - there[name] if name in missing else there[name] for name in sparse)
    assert diagram.busy(there) == pytest.approx(busy)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (f"C[i, j] = {each('A{k}[i, j]', 40, '+')}", 40),
        (f"C[i, j] = {each('A{k}[i, j]', 40, '*')}", 40),
        (f"C[i, j] = {each('A{k}[i, j] * A{next}[i, j]', 39, '+')}", 80),
        (f"C[i, j] = max({each('A{k}[i, j]', 40, ',')})", 40),
        (f"C[i, j] = ifelse({each('A{k}[i, j] > 1', 39, '&&')}, A39[i, j], 0)", 40),
    ],
    ids=["sum", "product", "sum of products", "max", "mask"],
)
def test_a_diagram_of_forty_inputs_has_as_many_nodes(text: str, most: int) -> None:
    """There are 2⁴⁰ sets of absent inputs."""
    what, operands = read_einsum(api.parse(text).tree, {f"A{k}": S for k in range(40)})
    assert 0 < len(IdleDiagram(what, operands, Budget()).nodes) - 2 <= most


def test_without_a_budget_something_is_taken_to_be_done() -> None:
    what, operands = read_einsum(api.parse("C[i, j] = A[i, j] * B[i, j]").tree, {"A": S, "B": S})
    budget = Budget(0)
    assert IdleDiagram(what, operands, budget).busy({"A": 0.5, "B": 0.5}) == 1 and budget.exceeded


# ---------------------------------------------------------------------------------------------------- many operands


def chained(count: int) -> tuple[str, dict[str, Any]]:
    """A product of matrices."""
    arrays = {f"A{k}": np.full((2 + k % 3, 2 + (k + 1) % 3), 1 + k % 2) for k in range(count)}
    return f"C[i0, i{count}] += {each('A{k}[i{k}, i{next}]', count, '*')}", arrays


def ring(count: int) -> tuple[str, dict[str, Any]]:
    """The trace of a product of matrices, some of which are sparse."""
    arrays = {f"A{k}": S.astype(np.int64) if k % 3 == 0 else np.eye(3, k=1, dtype=int) + 1 for k in range(count)}
    return f"C[] += {each('A{k}[i{k}, i{next}]', count, '*').replace(f'i{count}', 'i0')}", arrays


def star(count: int) -> tuple[str, dict[str, Any]]:
    """Factors that have one index in common."""
    return f"C[c] += {each('A{k}[c, i{k}]', count, '*')}", {f"A{k}": np.eye(2, dtype=int) for k in range(count)}


def clique(count: int) -> tuple[str, dict[str, Any]]:
    """A factor for any two of some indices."""
    pairs = list(combinations(range(count), 2))[:count]
    text = " * ".join(f"A{k}[i{a}, i{b}]" for k, (a, b) in enumerate(pairs))
    return f"C[] += {text}", {f"A{k}": np.array([[1, 1], [0, 1]]) for k in range(len(pairs))}


SHAPES = {"chain": chained, "ring": ring, "star": star, "clique": clique}


def reference(text: str, inputs: dict[str, Any]) -> np.ndarray:
    """The value by NumPy."""
    numbers: dict[str, int] = {}
    accesses = re.findall(r"(\w+)\[(.*?)\]", text)
    (_, output), *factors = [(name, [numbers.setdefault(i, len(numbers)) for i in re.findall(r"\w+", axes)])
                             for name, axes in accesses]  # fmt: skip
    dense = {name: each.toarray() if scipy.sparse.issparse(each) else each for name, each in inputs.items()}
    parts = chain.from_iterable((dense[name], axes) for name, axes in factors)
    return np.asarray(np.einsum(*parts, output, optimize="greedy"))


@pytest.mark.parametrize("shape", few(list(SHAPES), 2))
def test_products_of_eight_factors_compute_the_reference(shape: str) -> None:
    """By several nests: integers, so that the order of sums does not matter."""
    text, inputs = SHAPES[shape](8)
    made = einsum(text, engine="native", threads=1, **inputs)
    np.testing.assert_array_equal(np.asarray(made), reference(text, inputs))
    assert made.reason.count("; then loops") > 1 and "cut short" not in made.reason


@pytest.mark.parametrize("shape", few(list(SHAPES), 2))
def test_forty_factors_are_taken_apart_within_the_budget(shape: str) -> None:
    """No nest has more loops than a factor joined with its neighbours needs, but for the clique, which has none."""
    text, inputs = SHAPES[shape](40)
    budget = Budget()
    best = planned(text, budget, **inputs)
    assert budget.left > 0 and len(best.nests) > 1
    most = {"chain": 3, "ring": 4, "star": 2, "clique": 10}[shape]
    assert max(len(nest.einsum.loops) for nest in best.nests) <= most


@pytest.mark.parametrize("count", [2, 18, 40])
def test_sums_of_many_matrices_are_planned_as_one_nest_within_the_budget(count: int) -> None:
    text = f"C[i, j] = {each('A{k}[i, j]', count, '+')}"
    budget = Budget()
    best = planned(text, budget, **{f"A{k}": S if k % 4 else D for k in range(count)})
    assert not budget.exceeded and [nest.ordered.loops for nest in best.nests] == [("i", "j")]


def by_splits(extents: list[int]) -> int:
    """The least number of multiplications of a product of matrices: the textbook's dynamic programme."""
    least = {(k, k + 1): 0 for k in range(len(extents) - 1)}
    for width in range(2, len(extents)):
        for a in range(len(extents) - width):
            b = a + width
            least[a, b] = min(least[a, k] + least[k, b] + extents[a] * extents[k] * extents[b] for k in range(a + 1, b))
    return least[0, len(extents) - 1]


@pytest.mark.parametrize("extents", [[10, 100, 5, 50], [30, 35, 15, 5, 10, 20, 25], [7, 1, 9, 2, 8, 3, 7, 4, 6, 5, 5]])
def test_the_order_of_elimination_is_the_best_for_a_product_of_matrices(extents: list[int]) -> None:
    """As many multiplications as by the best parentheses: to eliminate an index is to multiply its two neighbours."""
    count = len(extents) - 1
    inputs = {f"A{k}": np.ones((extents[k], extents[k + 1])) for k in range(count)}
    what, operands = read_einsum(
        api.parse(f"C[i0, i{count}] += {each('A{k}[i{k}, i{next}]', count, '*')}").tree, inputs
    )
    factors = [ir.Access(ir.Fiber(f"A{k}", 3), (ir.Index(f"i{k}"), ir.Index(f"i{k + 1}"))) for k in range(count)]
    left, work = list(range(count + 1)), 0
    for index in elimination(what, operands, factors, Budget()):
        at = left.index(int(index[1:]))
        work += prod(extents[k] for k in left[at - 1 : at + 2])
        del left[at]
    assert work == by_splits(extents)


def test_a_larger_budget_finds_no_worse_plan() -> None:
    text, inputs = ring(5)
    work = [planned(text, Budget(steps), **inputs).work for steps in (0, 100, 1000, 10_000, BUDGET)]
    assert work == sorted(work, reverse=True) and work[0] > work[-1]


# ------------------------------------------------------------------------------------------------- what the user sees


def test_a_plan_that_was_cut_short_says_what_to_do_for_more() -> None:
    """It computes the same; the budget that is named is larger, and enough here."""
    text, inputs = ring(5)
    cut = einsum(text, engine="native", threads=1, budget=0, **inputs)
    assert cut.reason.endswith(f"; planning was cut short: budget={BUDGET} plans more than 0 steps")
    whole = einsum(text, engine="native", threads=1, budget=BUDGET, **inputs)
    assert "cut short" not in whole.reason
    assert float(cut) == float(whole) == float(reference(text, inputs))


def test_lazy_arrays_have_the_budget_too() -> None:
    x = api.lazy(S) @ api.lazy(S) @ api.lazy(S)
    assert "cut short" in api.compute(x, budget=0, engine="native").reason
    y = api.lazy(S) @ api.lazy(S) @ api.lazy(S)
    assert "cut short" not in api.compute(y, engine="native").reason


@pytest.mark.parametrize("budget", [-1, True, 1.5, "many"])
def test_a_budget_is_a_number_of_steps(budget: Any) -> None:
    calls = [
        lambda: einsum("s[] += A[i, j]", A=S, budget=budget),
        lambda: api.check(api.parse("x = 1"), budget=budget),
        lambda: api.parallelize(api.parse("for i = 1:3\n    x = i\nend"), budget=budget),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"a budget of .* steps") as refused:
            call()
        assert refused.value.fix == f"give an integer from 0, such as {BUDGET}"


ROWS = """
A = Tensor(Dense(SparseList(Element(0.0))), {n}, {n})
x = Tensor(Dense(Element(0.0)), {n})
y = Tensor(Dense(Element(0.0)), {n})
y .= 0
for i = _
    for j = _
        y[i] += A[j, i] * x[j]
    end
end
return y
"""


def test_parallelize_stops_at_its_budget_with_what_is_safe(command: Any, written: Any) -> None:
    """The serial program is always there; no loop is said to be parallel in none."""
    found = api.parallelize(api.parse(ROWS.format(n=1000)), budget=0, threads=2)
    assert [one.placement.loops for one in found.candidates] == [()]
    assert (found.rejected, found.complete) == ((), False)
    file = written(ROWS.format(n=1000))
    done = command("parallelize", file, "--threads", "2", "--budget", "0")
    assert done.out.count(f"the search was cut short after 0 steps: --budget {BUDGET} searches further") == 1
    assert "cut short" not in command("parallelize", file, "--threads", "2").out


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_a_loop_that_does_not_pay_is_never_faster_alone(n: int) -> None:
    """By estimate, with any modifiers; and whether a loop pays is not the same for all sizes."""
    program = api.parse(ROWS.format(n=n))
    every = choices(program, 2)
    outer, inner = headers(program.tree)
    pays = profitable_loops(api.bind(program, symbolic=True), 2)
    assert (outer.node.span in pays) == (n == 1000) and inner.node.span not in pays
    names = {f"for {loop.node.index} =" for loop in (outer, inner) if loop.node.span not in pays}
    idle = [one for one in every.placements if one.loops and one.loops[0][:7] in names]
    assert all(one.estimate.time > every.serial.estimate.time for one in idle)
    quick = choices(program, 2, quick=True)
    assert quick.placements[0] == every.placements[0]


def test_the_bound_on_integers_does_not_hold_for_doubles() -> None:
    """A product of twenty matrices of doubles has more than 2⁶² terms in each element, and is taken apart."""
    text = f"C[i0, i20] += {each('A{k}[i{k}, i{next}]', 20, '*')}"
    doubles: dict[str, Any] = {f"A{k}": np.full((12, 12), 1 / 12) for k in range(20)}
    made = einsum(text, engine="native", threads=1, **doubles)
    assert made.reason.count("; then loops") == 18
    np.testing.assert_allclose(made.to_numpy(), np.full((12, 12), 1 / 12))
    assert not is_reassociable(*read_einsum(api.parse(text).tree, {name: np.ones((12, 12), int) for name in doubles}))


def test_inputs_may_be_called_as_intermediate_results_might_be() -> None:
    """Names that no input can have stand for intermediate results while a plan is made."""
    inputs: dict[str, Any] = {"t0": np.array([[1, 2], [3, 4]]), "t1": np.array([[0, 1], [1, 1]]), "t": np.array([5, 7])}
    made = einsum("y[i] += t0[i, k] * t1[k, j] * t[j]", engine="native", threads=1, **inputs)
    np.testing.assert_array_equal(np.asarray(made), inputs["t0"] @ inputs["t1"] @ inputs["t"])
    assert "; then loops" in made.reason
