"""Defects, present or past, of the levels of Finch.jl and TACO: each is a claim about ours.

The numbers are those of issues of finch-tensor/Finch.jl, and of tensor-compiler/taco; the others stand in their source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.towers import ByHand, broken, member, tower
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.levels import REGISTRY
from wingspan.tensors.tensor import Tensor
from wingspan.testing import compare
from wingspan.testing.formats import STORAGE

ONCE = [name for name in STORAGE if REGISTRY[name].once]


def columns(name: str) -> ByHand:
    """Four columns of five elements in a level."""
    return ByHand(tower(f"Dense({name}(Element(0)))", 5, 4)).whole("declare")


def visited(h: ByHand, *visits: tuple[int, Sequence[int]]) -> ByHand:
    """Columns visited one after the other, indices in this order, each set to 7."""
    for column, indices in visits:
        h._below(2, column, (), [((i,), 7) for i in indices])
    return h


@pytest.mark.parametrize("name", ONCE)
def test_what_is_thawed_keeps_what_it_has_and_takes_later_fibers(name: str) -> None:
    """RunList, SparseBand and others cannot be thawed there."""
    h = visited(columns(name), (1, [2, 3])).whole("freeze", "thaw")
    visited(h, (3, [1])).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(2, 1): 7, (3, 1): 7, (1, 3): 7} and broken(h) == []


@pytest.mark.parametrize("name", ONCE)
def test_a_second_visit_of_a_fiber_is_a_fault(name: str) -> None:
    """There, VBL and COO overwrite the pointer of the fiber (#437, #644), and RunList takes it as it comes."""
    with pytest.raises(Fault, match="fibers are appended in ascending order, each once, but 2 comes after 2"):
        visited(columns(name), (2, [1]), (2, [4]))


@pytest.mark.parametrize("name", ONCE)
def test_an_index_that_comes_too_late_is_a_fault(name: str) -> None:
    """There, SparseBand compares with the first index only, and 3, 5, 4 ends the band at 4."""
    with pytest.raises(Fault, match="indices are appended in ascending order, but 4 comes after 5"):
        visited(columns(name), (1, [3, 5, 4]))


def test_a_second_run_of_an_interval_is_a_fault() -> None:
    """There, a run of one index is silently overwritten by the next."""
    with pytest.raises(Fault, match="a fiber has one run, but 4 comes after 2"):
        visited(columns("SparseInterval"), (1, [2, 4]))


@pytest.mark.parametrize("name", STORAGE)
def test_fibers_that_are_passed_by_are_empty(name: str) -> None:
    """#60: fibers 1 and 3 are not visited."""
    h = visited(columns(name), (2, [5]), (4, [1])).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(5, 2): 7, (1, 4): 7} and broken(h) == []


@pytest.mark.parametrize("name", ["RunList", "SparseRunList"])
def test_equal_neighbours_are_one_run(name: str) -> None:
    """#436, #803: runs that were written index by index."""
    h = visited(columns(name), (1, [2, 3, 4])).whole("freeze")
    ends = {"RunList": [1, 4, 5], "SparseRunList": [4]}[name]
    assert h.buffer(1, "right", len(ends)) == ends and h.cell(1, "fill", 1) == len(ends) and broken(h) == []


@pytest.mark.parametrize("name", [name for name in STORAGE if name != "Dense"])
def test_copies_are_merged_by_the_operator_of_the_phase(name: str) -> None:
    """There, coalescing adds whatever the operator is, and knows few levels (#805)."""
    h = ByHand(tower(f"Merge(dev, {name}(Element(0)))", 3), op="max").whole("declare")
    for t, value in ((1, 5), (2, 3)):
        h.task = member(dev=t)
        h.whole("checkout").update_all({(2,): value}).whole("commit")
    assert h.whole("freeze").tensor().to_numpy().tolist() == [0, 5, 0]


def test_a_body_is_run_once_for_a_run_only_where_that_is_the_same() -> None:
    """#250: a product is not, and what the body declares counts once for each time that it is declared."""
    text = """
        A = Tensor(RunList(Element(1)), [2, 2, 2, 3])
        w = Tensor(Element(0))
        p = Tensor(Element(1))
        s = Tensor(Element(0))
        p .= 1
        s .= 0
        for i = _
            w .= 0
            w[] += A[i]
            p[] *= A[i]
            s[] += w[]
        end
        return p, s
    """
    bound = api.bind(api.parse(text))
    found = compare(bound, [api.engine(name) for name in ("reference", "semantics", "native")])
    assert found.difference is None, found.difference
    tensors = api.run(bound, engine="native").tensors
    assert (tensors["p"].to_numpy().item(), tensors["s"].to_numpy().item()) == (24, 9)


def test_duplicates_are_summed_and_what_is_out_of_order_is_sorted() -> None:
    """taco #155."""
    matrix = scipy.sparse.coo_array(([1, 2, 4], ([2, 0, 2], [1, 1, 1])), shape=(3, 2))
    made = Tensor.from_scipy("Dense(SparseList(Element(0)))", matrix)
    assert list(made.entries()) == [((1, 2), 2), ((3, 2), 5)]
    assert np.array_equal(made.to_numpy(), matrix.toarray())
