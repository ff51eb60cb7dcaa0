"""Kernels: one plan for all extents gives what the reference gives, and what does not fit is refused clearly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import wingspan
from proofs_tests.effort import due, many
from proofs_tests.places import EXAMPLES
from wingspan import WingspanError, api
from wingspan.comparison import difference, ending
from wingspan.compiled import build
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.testing.cases import Case, groups

pytestmark = pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")

NT = {"nt": 2, "sch": "dynamic_schedule(2)"}
REFERENCE = api.engine("reference")
RANDOM = np.random.default_rng(3)


def quarters(*shape: int) -> Any:
    """An array of quarters, two thirds of them zeros: their sums of products are exact."""
    return RANDOM.integers(-6, 7, shape) / 4 * (RANDOM.integers(0, 3, shape) == 0)


class Called:
    """A kernel as an engine to compare with others."""

    name = "kernel"

    def __init__(self, kernel: wingspan.Kernel, given: Mapping[str, Any]) -> None:
        self.kernel, self.given = kernel, given

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """What a call gives, by name."""
        found = self.kernel(**self.given)
        names = self.kernel._results
        return dict(zip(names, [found] if len(names) == 1 else found, strict=True))


def agrees(kernel: wingspan.Kernel, program: Any, given: Mapping[str, Any], **binding: Any) -> None:
    """A call gives what the reference does, which is bound to the very arrays."""
    bound = api.bind(program, inputs=given, **binding)
    ends = [ending(bound, engine) for engine in (REFERENCE, Called(kernel, given))]
    outputs = [name for name in bound.outputs if name in kernel._results]
    found = difference(ends[0], ends[1], outputs)
    assert found is None, (found, given)


# ------------------------------------------------------------------------------------------------------- all extents


@pytest.mark.parametrize("engine", ["compiled", "native"])
@pytest.mark.parametrize("name", ["spgemm_gustavson", "spgemm_outer", "spadd", "spmspv", "mttkrp_sparse"])
def test_one_plan_serves_all_extents(name: str, engine: str) -> None:
    """0, 1, lengths about those of vector registers, and more than the threads have chunks; with one C text."""
    path = EXAMPLES / f"{name}.ws"
    kernel = wingspan.compile(path, params=NT, engine=engine)
    source, plan = kernel.source if engine == "compiled" else "", kernel.plan
    shapes = {
        "spgemm_gustavson": lambda m, k, n: {"A": (m, k), "B": (k, n)},
        "spgemm_outer": lambda m, k, n: {"A": (m, k), "BT": (n, k)},
        "spadd": lambda m, k, n: {"A": (m, n), "B": (m, n)},
        "spmspv": lambda m, k, n: {"A": (m, n), "x": (n,)},
        "mttkrp_sparse": lambda m, k, n: {"BT": (m, k, n), "C": (m, 3), "D": (k, 3)},
    }[name]
    for m, k, n in [(0, 0, 0), (1, 1, 1), (1, 0, 3), (3, 4, 0), (7, 8, 9), (16, 17, 15), (2, 40, 33)]:
        agrees(kernel, path, {T: quarters(*shape) for T, shape in shapes(m, k, n).items()}, params=NT)
    assert kernel.plan is plan and (engine == "native" or kernel.source == source)


def test_full_and_empty_fibers_and_stored_zeros_are_no_exception() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    full, empty = np.full((9, 8), 0.25), np.zeros((9, 8))
    stored = scipy.sparse.csc_array((np.zeros(3), ([0, 4, 8], [1, 1, 7])), shape=(9, 8))
    for A in (full, empty, stored):
        for B in (full, empty, stored):
            agrees(kernel, EXAMPLES / "spadd.ws", {"A": A, "B": B}, params=NT)


def left_open(case: Case) -> api.Program:
    """The program of a case with the extents of its inputs left open: they come with the inputs."""

    def change(node: Any) -> Any:
        match node:
            case ir.Define(name=name, value=ir.TensorCall() as call) if name in case.inputs:
                return replace(node, value=replace(call, extents=()))
        return node

    return replace(case.program, tree=case.program.tree.map(change))


@pytest.mark.parametrize(("engine", "examples"), [("native", 320), ("compiled", 32)])
def test_random_safe_programs_mean_the_same_with_their_extents_left_open(engine: str, examples: int) -> None:
    """Programs whose test accepts them for the extents that they are written with only are refused, and left out."""
    runs, kinds = 0, Counter[bool]()

    @settings(max_examples=many(examples), derandomize=True, database=None, deadline=None)
    @given(groups(None, 3))
    def check(group: list[Case]) -> None:
        program = left_open(group[0])
        try:
            kernel = wingspan.compile(program, engine=engine)
        except WingspanError:
            return
        for case in group:
            agrees(kernel, program, case.inputs)
        nonlocal runs
        runs += len(group)
        kinds[kernel._any is not None] += 1

    check()
    print(runs, kinds)
    assert runs >= due(examples) and kinds[True] >= due(examples // 4), (runs, kinds)
