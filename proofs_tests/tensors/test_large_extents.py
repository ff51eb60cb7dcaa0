"""Tensors of extents beyond 2³¹ in levels that number only what they store: everything takes them, indices stay exact.

Three elements among 2⁶⁴, as traffic between addresses has them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.effort import few
from wingspan import Tensor, api
from wingspan.base.errors import InputError, WingspanError
from wingspan.choices.operands import expected_occupied
from wingspan.compiled.build import compiler
from wingspan.levels import resolve
from wingspan.levels.base import Tower
from wingspan.plan import layout
from wingspan.plan.ir import Const
from wingspan.tensors.formats import parse_format

N = 2**32
ROWS, COLUMNS = [1, 2**31 + 4, N - 1], [N - 1, 2**31 + 5, 1]
LISTS = "SparseList(SparseList(Element(0)))"
FORMATS = [
    LISTS,
    "SparseDict(SparseDict(Element(0)))",
    "SparseCOO(2, Element(0))",
    "SparseDict(SparseList(Element(0)))",
    "SparseList(SparseDict(Element(0)))",
    *(f"SparseList({level}(Element(0)))" for level in ("SparseBlockList", "SparseBand", "SparseRunList")),
    *(f"SparseList({level}(Element(0)))" for level in ("SparsePoint", "SparseInterval")),
    "SparseList(Mutex(SparseDict(Element(0))))",
]
ENGINES = ["native", *(["compiled"] if compiler() else [])]

Entries = list[tuple[int, ...]]


def traffic() -> Any:
    """A matrix of 2³² by 2³² with three elements, in SciPy's COO."""
    return scipy.sparse.coo_array((np.array([1, 2, 3]), (np.array(ROWS), np.array(COLUMNS))), shape=(N, N))


def entries(tensor: Any) -> Entries:
    """Subscripts, from 0, and values, in order."""
    at, values = (tensor.coords, tensor.data) if scipy.sparse.issparse(tensor) else tensor.coordinates()
    return sorted(zip(*(axis.tolist() for axis in at), values.tolist(), strict=True))


def times(factor: int) -> Entries:
    return sorted(zip(ROWS, COLUMNS, (factor, 2 * factor, 3 * factor), strict=True))


def doubled(form: str, source: str = LISTS) -> str:
    return f"""
        A = Tensor({source})
        B = Tensor({form}, {N}, {N})
        B .= 0
        for j = _; for i = _; B[i, j] += 2 * A[i, j]; end; end
        return B
    """


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", few(list(FORMATS), 5))
def test_indices_beyond_31_bits_come_out_as_they_went_in(form: str, engine: str) -> None:
    bound = api.bind(api.parse(doubled(form)), inputs={"A": traffic()})
    assert entries(api.run(bound, engine=engine)["B"]) == times(2)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_takes_and_gives_a_scipy_array(form: str) -> None:
    held = Tensor.from_scipy(form, traffic())
    assert entries(held) == entries(held.to_scipy()) == times(1)
    assert held.to_scipy().shape == (N, N) and held.nnz == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_one_kernel_serves_small_and_large_extents(engine: str) -> None:
    text = doubled("SparseDict(SparseDict(Element(0)))").replace(f", {N}, {N}", "")
    kernel = wingspan.compile(api.parse(text), engine=engine)
    assert entries(kernel(A=scipy.sparse.coo_array(np.eye(2, dtype=int)))) == [(0, 0, 2), (1, 1, 2)]
    assert entries(kernel(A=traffic())) == times(2)


EINSUMS: dict[str, tuple[str, Callable[[], Entries]]] = {
    "a sum": ("C[i, j] = A[i, j] + B[i, j]", lambda: times(2)),
    "an elementwise product": ("C[i, j] += A[i, j] * B[i, j]", lambda: [(*at, v * v) for *at, v in times(1)]),
    "a product": ("C[i, j] += A[i, k] * B[k, j]", lambda: [(1, 1, 3), (N - 1, N - 1, 3)]),
    "a sum of rows": ("C[i] += A[i, j] + 0 * B[i, j]", lambda: [(i, v) for i, _, v in times(1)]),
}


@pytest.mark.parametrize("name", EINSUMS)
def test_einsums_choose_formats_that_hold_the_result(name: str) -> None:
    """With elements at few of many indices, no level has all of them, however small the fraction is."""
    text, wanted = EINSUMS[name]
    found = wingspan.einsum(text, A=traffic(), B=Tensor.from_scipy(LISTS, traffic()), threads=1)
    assert entries(found.to_scipy().tocoo()) == wanted()


def test_few_elements_among_very_many_places_are_counted() -> None:
    """The fraction of the places that have one is below the precision of doubles beside 1."""
    assert expected_occupied(2.0**64, 3.0) == pytest.approx(3.0) and expected_occupied(4.0, 1e9) == 4.0


@pytest.mark.parametrize("suffix", ["npz", "mtx", "tns", "h5"])
def test_files_keep_every_index(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"traffic.{suffix}"
    Tensor.from_scipy(LISTS, traffic()).save(path)
    assert entries(Tensor.from_file(LISTS, path)) == times(1)


@pytest.mark.parametrize("machine", ["native", "semantics"])
def test_programs_over_such_tensors_are_explored(machine: str) -> None:
    """Results are compared by what is not fill, and with no sequential result, as that one would be dense."""
    text = f"""
        d = cpu(:d, 2)
        A = Tensor({LISTS})
        B = Tensor(SparseDict(SparseDict(Element(0))), {N}, {N})
        B .= 0
        for k = parallel(1:2, d)
            for j = {N}:{N}; for i = 2:2; B[i, j] += k; end; end
        end
        s = Tensor(Element(0))
        s .= 0
        for j = 2:2; for i = 2:2; s[] += A[i, j]; end; end
        return B, s
    """
    found = wingspan.explore(api.parse(text), inputs={"A": traffic()}, machine=machine)
    assert found.verdict.verdict == "race" and found.verdict.complete
    values = [result.outcome.values() for result in found.verdict.results]
    assert {"B": {f"2, {N}": 3}, "s": 0} in values and {"B": {f"2, {N}": 1}, "s": 0} in values
    assert f"B[2, {N}] = 3" in str(found) and "too large for the reference" in str(found)
    assert "sequential result is a fault" not in str(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["SparseList(Dense(Dense(Element(0))))", "Dense(SparseList(Dense(Element(0))))"])
def test_what_is_numbered_stored_or_not_is_refused_if_it_is_too_much(form: str, engine: str) -> None:
    text = f"A = Tensor({form})\ns = Tensor(Element(0))\ns .= 0\nfor k = _; for j = _; for i = _\ns[] += A[i, j, k]\n"
    text += "end; end; end\nreturn s"
    empty = scipy.sparse.coo_array((N, N, 4) if form.startswith("S") else (N, 4, N), dtype=int)
    with pytest.raises(WingspanError, match="positions") as caught:
        api.run(api.bind(api.parse(text), inputs={"A": empty}), engine=engine)
    assert caught.value.fix


def test_a_dense_array_of_them_is_refused_before_it_is_made() -> None:
    held = Tensor.from_scipy(LISTS, traffic())
    for make in (held.to_numpy, held.to_exact, held.stored, lambda: np.asarray(held)):
        with pytest.raises(InputError, match=f"a dense array of {N}×{N} elements takes"):
            make()


@pytest.mark.parametrize(
    ("form", "fibers", "fits"), [
        (LISTS, [1, N, layout.MOST], True),
        ("SparseList(SparseDict(Element(0)))", [1, 2**30, 2**62], True),
        ("SparseList(Dense(Element(0)))", [1, 2**30, 2**62], True),
        ("SparseCOO(2, Element(0))", [1, layout.MOST, layout.MOST], True),
        ("Dense(SparseDict(Element(0)))", [], False),
        ("Dense(Dense(Element(0)))", [], False),
    ],
)  # fmt: skip
def test_a_level_has_as_many_fibers_as_those_below_can_number(form: str, fibers: list[int], fits: bool) -> None:
    """A dictionary has a key for each index of each fiber, so it has 2⁶² ÷ 2³² fibers at most; a list has none."""
    tower = Tower.of(resolve(parse_format(form), {}), (N, N))
    if not fits:
        with pytest.raises(InputError, match="A would have more positions"):
            layout.positions("A", tower)
        return
    assert layout.positions("A", tower) == fibers
    made = layout.layout("A", tower, (Const(N), Const(N)), 0)
    assert {buffer.width for group in made.groups for buffer in group.buffers if buffer.cell == "index"} <= {"i64"}
