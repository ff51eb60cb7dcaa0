"""Compiled C asks for the cells that it may write, no sooner than it is known that it will."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few

pytestmark = needs_compiler

N = 100_000
TEXT = """
dev = cpu(:t, 1)
y = Tensor(Merge(dev, SparseByteMap(Element(0.0))))
y .= {fill}
for j = parallel(_, dev, dynamic_schedule(64))
    for i = _
        y[i] += A[i, j]
    end
end
return y
"""


@pytest.mark.parametrize(("fill", "vectors"), few([("0.0", 1), ("1.0", 2)], 1))
def test_a_level_that_nothing_is_merged_into_takes_no_memory(fill: str, vectors: int) -> None:
    """One thread's copy is the result as it is. The level beside it is written if it has to hold a fill value, only.

    A vector of doubles, with a flag of one byte for each; each buffer has room for up to a quarter more.
    """
    kernel = wingspan.compile(wingspan.parse(TEXT.format(fill=fill)))
    A = scipy.sparse.csc_array(([2.0, 3.0], ([4, N - 1], [0, 2])), shape=(N, 3))
    for _ in range(2):
        wingspan.release()
        made = kernel(A=A).to_numpy()
        expected = np.full(N, float(fill))
        expected[[4, N - 1]] += 2.0, 3.0
        assert np.array_equal(made, expected)
        del made
    assert 8 * vectors <= wingspan.release() / N <= 12 * vectors
