"""Kernels to call on inputs of any extents, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

import wingspan
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.results.comparison import difference, run_to_end
from wingspan.testing.cases import Case

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
        """The results of a call, by name."""
        found = self.kernel(**self.given)
        if isinstance(found, tuple):
            return found._asdict()  # type: ignore[attr-defined, no-any-return]
        (name,) = self.kernel.program.tree.returns or program.outputs
        return {name: found}


def agrees(kernel: wingspan.Kernel, program: Any, given: Mapping[str, Any], **binding: Any) -> None:
    """A call gives what the reference does, which is bound to the very arrays; also if it knows no patterns."""
    bound = api.bind(program, inputs=given, **binding)
    plain = copy(kernel)
    plain._entries = None
    vars(plain).pop("_lender", None)
    engines = [REFERENCE, Called(kernel, given), *([Called(plain, given)] if kernel.same_pattern else [])]
    first, *others = (run_to_end(bound, engine) for engine in engines)
    outputs = [name for name in bound.outputs if name in (kernel.program.tree.returns or bound.outputs)]
    for other in others:
        found = difference(first, other, outputs)
        assert found is None, (found, given)


SHAPES: dict[str, Callable[[int, int, int], dict[str, tuple[int, ...]]]] = {
    "spgemm_gustavson": lambda m, k, n: {"A": (m, k), "B": (k, n)},
    "spmspv": lambda m, k, n: {"A": (m, n), "x": (n,)},
    "spadd": lambda m, k, n: {"A": (m, n), "B": (m, n)},
    "spgemm_outer": lambda m, k, n: {"A": (m, k), "BT": (n, k)},
    "mttkrp_sparse": lambda m, k, n: {"BT": (m, k, n), "C": (m, 3), "D": (k, 3)},
    "mttkrp_rows": lambda m, k, n: {"BT": (m, k, n), "CT": (3, k), "DT": (3, m)},
    "mttkrp_sparse_rows": lambda m, k, n: {"BT": (m, k, n), "CT": (17, k), "DT": (17, m)},
}
"""The shapes of the inputs of each kernel, for three extents."""
NAMES = list(SHAPES)


def left_open(case: Case) -> api.Program:
    """The program of a case with the extents of its inputs left open: they come with the inputs."""

    def change(node: Any) -> Any:
        match node:
            case ir.Define(name=name, value=ir.TensorCall() as call) if name in case.inputs:
                return replace(node, value=replace(call, extents=()))
        return node

    return replace(case.program, tree=case.program.tree.map(change))


SMALL = """
A = Tensor(Dense(SparseList(Element(0))))
x = Tensor(Dense(Element(0)))
y = Tensor(Dense(%s))
y .= 0
for j = parallel(_, cpu(2))
    for i = _
        y[i] += A[i, j] * x[j]
    end
end
return y
"""
