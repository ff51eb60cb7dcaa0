"""Fill values that a loop replaces one and all are not written before it; all others are."""

from __future__ import annotations

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from wingspan import api
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Const, Plan, Store, While, walk
from wingspan.plan.passes.dead_stores import dead_stores
from wingspan.plan.pipeline import for_c, lower

HEAD = """
dev = cpu(:t, 2)
A = Tensor(Dense(Element(0.0)), [1, 2, 3])
C = Tensor(Dense(Element(0.0)), 3)
D = Tensor(Dense(Element(0.0)), 3)
C .= 5.0
D .= 0.0
"""
CASES = {
    "one loop": ("for i = _\n C[i] = A[i]\n end", True),
    "tasks that take chunks": ("for i = parallel(_, dev, dynamic_schedule(2))\n C[i] = A[i] * 2\n end", True),
    "a loop that stores twice": ("for i = _\n C[i] = A[i]\n D[i] = A[i]\n end", True),
    "an update": ("for i = _\n C[i] += A[i]\n end", False),
    "tasks that update": ("for i = parallel(_, dev, dynamic_schedule(2))\n C[i] += A[i]\n end", False),
    "not all": ("for i = 2:3\n C[i] = A[i]\n end", False),
    "not to the last": ("for i = parallel(1:2, dev, dynamic_schedule(2))\n C[i] = A[i]\n end", False),
    "if it is large": ("for i = _\n if A[i] > 1.5\n C[i] = A[i]\n end\n end", False),
    "to one cell": ("for i = _\n C[1] = A[i]\n end", False),
    "after others": ("for i = 1:1\n C[3] += 1.0\n end\n for i = _\n D[i] = A[i]\n end", False),
}


def fills(plan: Plan) -> int:
    """The number of loops that store the fill value of C."""
    loops = (s for s in walk(plan.body) if isinstance(s, While))
    stores = (s for loop in loops for s in loop.body if isinstance(s, Store))
    return sum(s.ref.buffer.tensor == "C" and s.value == Const(5.0) for s in stores)


@pytest.mark.parametrize(("body", "spared"), CASES.values(), ids=CASES)
def test_fill_values_that_nobody_sees_are_not_written(body: str, spared: bool) -> None:
    """The results are the same, also where memory is used again."""
    bound = api.bind(api.parse(f"{HEAD}{body}\nreturn C, D"))
    plan = lower(bound)
    assert fills(plan) == 1 and fills(dead_stores(plan)) == (0 if spared else 1)
    results = []
    for each in (plan, for_c(plan)):
        engine = NativeEngine(assemble(each))
        given = [engine.inputs.from_tensor(name, tensor) for name, tensor in bound.inputs.items()]
        found = engine.run(given).tensors(bound.towers)
        results.append([found[name].to_numpy().tolist() for name in ("C", "D")])
    assert results[0] == results[1]


@needs_compiler
@pytest.mark.parametrize("threads", [1, 3])
def test_memory_that_is_used_again_shows_no_earlier_results(threads: int) -> None:
    """Kernels whose fill values are not written, with fewer indices than before, and with none."""
    text = "dev = cpu(:t, 1)\nC = Tensor(Dense(Element(0.0)))\nC .= 0.0\n"
    text += "for i = parallel(_, dev, dynamic_schedule(3))\n C[i] = A[i] + A[i]\nend\nreturn C\n"
    kernel = wingspan.compile(wingspan.parse(text), inputs={"A": "Dense(Element(0.0))"}, threads=threads)
    for n in (100, 7, 0, 1, 3, 4, 100):
        A = np.arange(n, dtype=float) + n
        assert np.array_equal(np.asarray(kernel(A=A)), A + A)
