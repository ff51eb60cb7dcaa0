"""The iterations of a task are those of the rules, in loops of any length, anywhere in the integers of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.testing.left_open import LeftOpen

STATIC, DYNAMIC = "static_schedule()", "dynamic_schedule({})"
ENGINES = ["native", "left open"]
"""The plan on threads: with numbers of threads and chunk sizes as constants, and as parameters."""


def run(bound: Elaborated, engine: str) -> Mapping[str, Any]:
    return LeftOpen().run(bound, {}) if engine == "left open" else api.run(bound, engine=engine).tensors


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", [STATIC, DYNAMIC.format(2**59), DYNAMIC.format(2**63 - 1)])
def test_shares_of_very_long_loops_fit_64_bits(schedule: str, engine: str) -> None:
    """The iterations times the number of a thread do not."""
    text = f"""
        x = Tensor(SparseList(Element(0)))
        s = Tensor(Atomic(0))
        s .= 0
        for i = parallel(_, cpu(8), {schedule})
            s[] += x[i]
        end
        return s
    """
    n = 2**61
    x = scipy.sparse.coo_array(([1, 2, 4, 8], ([0, 5, n // 2, n - 1],)), shape=(n,))
    made = run(api.bind(api.parse(dedent(text)), inputs={"x": x}), engine)
    assert int(np.asarray(made["s"])) == 15


@pytest.mark.parametrize("schedule", [STATIC, DYNAMIC.format(1), DYNAMIC.format(5), DYNAMIC.format(2**63 - 1)])
@pytest.mark.parametrize("engine", ["native-controlled", *ENGINES])
def test_loops_at_the_end_of_64_bits_are_dealt(engine: str, schedule: str) -> None:
    """The successor of a chunk's end is no integer of 64 bits there."""
    text = f"""
        s = Tensor(Atomic(0))
        s .= 0
        for i = parallel({2**63 - 8}:{2**63 - 2}, cpu(3), {schedule})
            s[] += 1
        end
        return s
    """
    assert int(np.asarray(run(api.bind(api.parse(dedent(text))), engine)["s"])) == 7


SHARED = """
dev = cpu(:t, {threads})
C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 1, {last})
C .= 0
for j = parallel({first}:{last}, dev)
    C[1, j] += 1
end
return C
"""


SIZES = [(1, 3), (2, 3), (3, 3), (7, 3), (64, 7), (5, 1), (6, 1000)]


@pytest.mark.parametrize(
    ("engine", "first", "size", "threads"),
    few([(engine, first, *sizes) for engine, first, sizes in product(ENGINES, (4, 1), SIZES)], 14),
)
def test_static_shares_are_those_of_the_rule(first: int, size: int, threads: int, engine: str) -> None:
    """Of iterations a to b thread q has those from a + (q - 1)·size ÷ n to a + q·size ÷ n - 1, as the rule draws it."""
    last = first + size - 1
    made = run(api.bind(api.parse(SHARED.format(first=first, last=last, threads=threads))), engine)["C"]
    (owner,) = (stored.values for (_, name, _), stored in made.data.arrays.items() if name == "owner")
    shares = [range(first + (q - 1) * size // threads, first + q * size // threads) for q in range(1, threads + 1)]
    assert owner[first - 1 : last].tolist() == [q for q, share in enumerate(shares, start=1) for _ in share]
