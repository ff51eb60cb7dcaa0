"""Kernels with other numbers of threads and chunk sizes: one plan, one C text, and a verdict for each of them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.kernels import NAMES, NT, SHAPES, SMALL, agrees, left_open, quarters
from proofs_tests.effort import due, few, many
from proofs_tests.places import EXAMPLES
from wingspan import Fault, Limits, Unsafe, WingspanError, api
from wingspan.api import compiling
from wingspan.compiled import cache
from wingspan.testing.cases import Case, groups

pytestmark = needs_compiler

RANDOM = np.random.default_rng(5)
OTHERS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 3},
    {"threads": 40},
    {"params": {"nt": 5, "sch": "dynamic_schedule(1)"}},
    {"params": {"sch": "dynamic_schedule(9223372036854775807)"}},
]


def refuse(*_: Any) -> Any:
    raise AssertionError("this is made already")


@pytest.mark.parametrize(("name", "engine"), few(list(product(NAMES, ["compiled", "native"])), 2))
def test_one_plan_serves_all_numbers(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lowered or compiled for other ones, and what is computed stays the same."""
    path = EXAMPLES / f"{name}.ws"
    kernel = wingspan.compile(path, params=NT, engine=engine)
    given = {T: quarters(*shape) for T, shape in SHAPES[name](7, 8, 9).items()}
    agrees(kernel, path, given, params=NT)
    monkeypatch.setattr(compiling, "_new_engine", refuse)
    monkeypatch.setattr(cache, "library", refuse)
    for other in OTHERS:
        binding = {"params": {**NT, **other.get("params", {})}, "threads": other.get("threads")}
        agrees(kernel.using(**other), path, given, **binding)


def test_a_kernel_compiled_for_other_numbers_has_the_same_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So the cache has one library for all of them."""
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path))
    schedules = ["dynamic_schedule(2)", "dynamic_schedule(64)"]
    kernels = [
        wingspan.compile(EXAMPLES / "spadd.ws", params={"nt": nt, "sch": sch}, threads=threads)
        for nt, threads, sch in product((1, 2, 17), (None, 3), schedules)
    ]
    assert len({kernel.source for kernel in kernels}) == 1
    assert len(list(tmp_path.glob("*.so"))) == 1


def test_reserved_lengths_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lowered or compiled for another one, under which a result may be too long."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    given: dict[str, Any] = {name: scipy.sparse.eye_array(3000, format="csc") for name in "AB"}
    expected = kernel(**given).to_scipy()
    monkeypatch.setattr(compiling, "_new_engine", refuse)
    monkeypatch.setattr(cache, "library", refuse)
    found = kernel(**given, limits=Limits(reservation=2**20)).to_scipy()
    assert abs(found - expected).nnz == 0 and found.nnz == 3000
    with pytest.raises(Fault, match="outgrown the address space reserved for it"):
        kernel(**given, limits=Limits(reservation=2**13))


def test_each_number_of_threads_is_checked() -> None:
    """On one thread nothing races; on two the same program does, and is refused."""
    kernel = wingspan.compile(api.parse(SMALL % "Element(0)"), threads=1)
    given: dict[str, Any] = {"A": np.ones((3, 4), int), "x": np.arange(4)}
    with pytest.raises(Unsafe):
        kernel.using(threads=2)
    assert kernel.using(threads=1)(**given).to_numpy().tolist() == [6, 6, 6]


def test_what_else_a_parameter_says_gets_a_plan_of_its_own() -> None:
    """The number of threads is also a number here; the schedule is of the other kind; both are kept for later."""
    text = "v = Tensor(Dense(Element(0)))\nc = Tensor(Dense(Element(0)))\nc .= 0\n"
    text += "for i = parallel(_, cpu(nt), sch)\n    c[i] += v[i] * nt\nend\nreturn c"
    kernel = wingspan.compile(api.parse(text), params=NT, engine="native")
    plans = []
    asked: list[tuple[dict[str, Any], int]] = [
        ({"nt": 3}, 3),
        ({"sch": "static_schedule()"}, 2),
        ({}, 2),
        ({"nt": 3}, 3),
    ]
    for params, factor in asked:
        other = kernel.using(params=params)
        assert other(v=[1, 2, 3]).to_numpy().tolist() == [factor, 2 * factor, 3 * factor]
        plans.append(other.plan)
    assert plans[0] is plans[3] and plans[2] is kernel.plan and len({id(plan) for plan in plans}) == 3


def test_what_one_using_says_the_next_one_keeps() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, engine="native")
    other = kernel.using(threads=3).using(params={"sch": "dynamic_schedule(5)"})
    assert (other.threads, other.params) == (3, {"nt": 2, "sch": "dynamic_schedule(5)"})
    assert (kernel.threads, kernel.params) == (None, NT)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"threads": 0}, "a device has from 1 to 1000 threads, not 0"),
        ({"threads": 1001}, "a device has from 1 to 1000 threads, not 1001"),
        ({"params": {"nt": 0}}, "a number of threads is an integer of at least 1, not 0"),
        ({"params": {"n": 2}}, "the program has no parameter n"),
    ],
)
def test_numbers_that_do_not_fit_are_one_clear_error(other: dict[str, Any], message: str) -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, engine="native")
    with pytest.raises(WingspanError, match=message):
        kernel.using(**other)


def test_plans_for_the_extents_of_a_call_serve_all_numbers() -> None:
    text = "v = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    text += "for i = parallel(_, cpu(2), sch)\n    C[2 * i] += v[i]\nend\nreturn C"
    kernel = wingspan.compile(api.parse(text), params={"sch": "dynamic_schedule(1)"})
    assert "for the extents of each call" in repr(kernel)
    kernel(v=[1, 2, 3])
    made = kernel._engines.copy()
    for threads, sch in ((1, "dynamic_schedule(1)"), (7, "dynamic_schedule(1)"), (None, "dynamic_schedule(9)")):
        assert kernel.using(threads=threads, params={"sch": sch})(v=[1, 2, 3]).to_numpy().tolist() == [0, 1, 0, 2, 0, 3]
    assert kernel._engines == made


def test_inputs_with_one_pattern_are_run_with_the_numbers_asked_for() -> None:
    """Over what is stored a kernel of its own runs, which has the same parameters."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, engine="native")
    assert kernel.same_pattern is not None
    other = kernel.using(threads=5, params={"sch": "dynamic_schedule(9)"})
    within = other.same_pattern
    assert within is not None and within.plan is kernel.same_pattern.plan
    assert within._numbers == {"threads of t": 5, "chunk of entry": 9}


def test_what_one_of_many_tasks_writes_is_kept() -> None:
    """Whether a column is stored is known when its tasks have ended: at least one has written there, or none."""
    text = """
        A = Tensor(Dense(Dense(Element(0))))
        C = Tensor(SparseList(Dense(Atomic(0))))
        C .= 0
        for j = _
            for i = parallel(_, cpu(2))
                if A[i, j] > 0
                    C[i, j] += A[i, j]
                end
            end
        end
        return C
    """
    kernel = wingspan.compile(api.parse(text))
    A = np.zeros((40, 5), int)
    A[0, 1], A[39, 3], A[20, 4] = 1, 2, 3
    for threads in (1, 2, 7, 60):
        found = kernel.using(threads=threads)(A=A)
        assert np.array_equal(found.to_numpy(), A) and {j for (_, j), _ in found.entries()} == {2, 4, 5}


def test_memory_of_more_threads_and_of_fewer_is_used_again() -> None:
    """Copies of a Merge and columns of a Shard that an earlier call made on more threads are not seen."""
    text = """
        dev = cpu(:dev, 2)
        A = Tensor(Dense(SparseList(Element(0))))
        s = Tensor(Merge(dev, SparseDict(Element(0))))
        C = Tensor(Dense(Shard(dev, SparseList(Element(0)))))
        s .= 0
        C .= 0
        for j = parallel(_, dev, dynamic_schedule(1))
            for i = _
                s[i] += A[i, j]
                C[i, j] += A[i, j]
            end
        end
        return s, C
    """
    kernel = wingspan.compile(api.parse(text))
    for threads, n in ((7, 40), (1, 5), (3, 9000), (1, 9000), (12, 1), (2, 0)):
        A = RANDOM.integers(-3, 4, (n, 6))
        s, C = kernel.using(threads=threads)(A=A)
        assert np.array_equal(s.to_numpy(), A.sum(1)) and np.array_equal(C.to_numpy(), A), threads


@pytest.mark.parametrize(("engine", "examples"), few([("native", 320), ("compiled", 32)], 1))
def test_random_safe_programs_mean_the_same_with_any_numbers(engine: str, examples: int) -> None:
    """Programs that the test rejects for a number of threads are left out."""
    runs = 0

    @settings(max_examples=many(examples), derandomize=True, database=None, deadline=None)
    @given(groups(None, 2), st.lists(st.integers(1, 6), min_size=2, max_size=2))
    def check(group: list[Case], threads: list[int]) -> None:
        nonlocal runs
        program = left_open(group[0])
        try:
            kernel = wingspan.compile(program, engine=engine)
            others = [kernel.using(threads=n) for n in threads]
        except WingspanError:
            return
        for case, n, other in zip(group, threads, others, strict=False):
            agrees(other, program, case.inputs, threads=n)
            runs += 1

    check()
    assert runs >= due(examples // 2), runs
