"""Memory between runs: it is given back on request, and it counts against the limit of whatever runs meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few
from proofs_tests.native.test_native_robust import resident
from proofs_tests.places import EXAMPLES
from wingspan import Limits, api
from wingspan.runtime import _memory

pytestmark = needs_compiler

COPY = "v = Tensor(Dense(Element(0.0)))\ny = Tensor(Dense(Element(0.0)))\ny .= 0.0\n"
COPY += "for i = _\n    y[i] += v[i]\nend\nreturn y"
MB = 1 << 20
N = 4 * MB
"""Elements of a result, in doubles 32 MB."""


@pytest.fixture(autouse=True)
def nothing_is_spare() -> Iterator[None]:
    gc.collect()
    wingspan.release()
    yield
    wingspan.release()


def copies(engine: str = "compiled") -> wingspan.Kernel:
    return wingspan.compile(api.parse(COPY), engine=engine)


@pytest.mark.parametrize("engine", few(["compiled", "native"], 1))
def test_the_system_gets_back_what_is_spare_and_no_result(engine: str) -> None:
    kernel, v = copies(engine), np.ones(N)
    looked_at = kernel(v=v)
    del looked_at
    looked_at = np.asarray(kernel(v=2 * v))
    kernel(v=v)
    held = resident()
    released = wingspan.release()
    assert 32 * MB <= released <= 48 * MB
    assert held - resident() >= 30 * MB
    assert wingspan.release() == 0
    assert looked_at.min() == looked_at.max() == 2
    assert kernel(v=v).to_numpy().sum() == N


def test_memory_is_kept_for_the_next_call_and_as_long_as_the_kernel() -> None:
    kernel, v = copies(), np.ones(N)
    lies = {kernel(v=v).to_numpy().__array_interface__["data"][0] for _ in range(3)}
    assert len(lies) == 1
    del kernel
    assert wingspan.release() == 0


@pytest.mark.parametrize("threads", few([1, 2], 1))
def test_spare_memory_counts_and_is_given_back_where_it_is_in_the_way(threads: int) -> None:
    """Of another kernel, by whichever thread needs more: 8 MB of columns, within a limit of 40."""
    large = copies()
    params: dict[str, Any] = {"nt": threads, "sch": "static_schedule()"}
    small = wingspan.compile(EXAMPLES / "spadd.ws", params=params)
    rng = np.random.default_rng(1)
    A, B = (scipy.sparse.random_array((1000, 1000), density=0.3, format="csc", rng=rng) for _ in "AB")
    for memory, spared in ((200 * MB, True), (40 * MB, False)):
        large(v=np.ones(N))
        found = small(A=A, B=B, limits=replace(Limits(), memory=memory))
        assert abs(found.to_scipy() - (A + B)).max() == 0
        del found
        assert (wingspan.release() >= 32 * MB) == spared


def test_spare_memory_that_a_smaller_limit_does_not_allow_is_not_used() -> None:
    kernel = copies()
    kernel(v=np.ones(N))
    assert kernel(v=np.ones(10), limits=replace(Limits(), memory=MB)).to_numpy().sum() == 10
    assert wingspan.release() < MB


def test_spare_memory_keeps_no_input() -> None:
    kernel, v = copies(), np.ones(1000)
    kernel(v=v)
    gone = weakref.ref(v)
    del v
    gc.collect()
    assert gone() is None


def test_ctrl_c_while_memory_is_given_back_is_not_lost() -> None:
    """It arrives in the middle of a run that needs more room, and is raised as soon as anybody looks for it."""
    large, small = copies(), copies("native")
    large(v=np.ones(N))

    def interrupted() -> int:
        raise KeyboardInterrupt

    _memory.reclaim_by(interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            small(v=np.ones(N), limits=Limits(memory=60 * MB))
            for _ in range(10):
                pass
    finally:
        _memory.reclaim_by(wingspan.release)


@pytest.mark.parametrize("engine", few(["compiled", "native"], 1))
@pytest.mark.parametrize("n", [64 * MB, 128 * MB])
def test_large_buffers_do_not_displace_each_other_in_a_cache(engine: str, n: int) -> None:
    text = f"C = Tensor(SparseRunList(Element(0)), {n})\nC .= 0\nfor i = 3:4\n    C[i] = 7\nend\nreturn C"
    data = wingspan.compile(api.parse(text), engine=engine)().data
    left, right, val = (
        data.arrays[0 if name != "val" else 1, name, ()].values.ctypes.data for name in ("left", "right", "val")
    )
    apart = [abs(a - b) % 2**28 for a, b in ((left, right), (left, val), (right, val))]
    assert all(64 <= distance <= 2**28 - 64 for distance in apart)
