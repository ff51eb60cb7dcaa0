"""A workspace is forgotten as it is read where nobody reads it again, and nowhere else."""

from __future__ import annotations

import pytest

from wingspan import api
from wingspan.plan.ir import Store, walk
from wingspan.plan.pipeline import lower
from wingspan.results.comparison import difference, run_to_end

COPY = "for i = _\n    C[i, j] += w[i]\nend"
CASES = {
    "read once": (COPY, 1),
    "read twice, the last time": (f"{COPY}\nfor i = _\n    C[i, j] += w[i]\nend", 1),
    "read with others that have every index": ("for i = _\n    C[i, j] = w[i] + d[i]\nend", 1),
    "read from the middle, which seeks": ("for i = 2:3\n    C[i, j] = w[i]\nend", 0),
    "read where another one has an element, which seeks": ("for i = _\n    C[i, j] = w[i] * A[i, j]\nend", 0),
    "read at two places of a loop": ("for i = _\n    C[i, j] = w[i] * w[i]\nend", 0),
    "read again and again": (f"for k = 1:2\n{COPY}\nend", 0),
    "written again": (f"{COPY}\nfor i = 1:1\n    w[i] += 1\nend", 0),
    "read here, and in a scope after it": (
        f"{COPY}\nif d[2] > 1\n    for i = _\n        C[i, j] += w[i]\n    end\nend",
        0,
    ),
}


def program(reading: str) -> api.Program:
    """Columns of A are added up in w, which is read so."""
    return api.parse(f"""
A = Tensor(Dense(SparseList(Element(0))), [1 0 2; 0 3 0; 4 0 5; 0 0 6])
d = Tensor(Dense(Element(0)), [1, 2, 3, 4])
w = Tensor(SparseByteMap(Element(0)))
C = Tensor(Dense(Dense(Element(0))), 4, 3)
C .= 0
for j = _
    w .= 0
    for k = 1:3
        for i = _
            w[i] += A[i, k] * j
        end
    end
    {reading}
end
return C
""")


def drains(p: api.Program) -> int:
    """At how many places the plan forgets an element of w where a loop goes on from it."""
    stores = (s for s in walk(lower(api.bind(p)).body) if isinstance(s, Store))
    return sum((s.ref.buffer.tensor, s.ref.buffer.name, s.origin.operation) == ("w", "val", "Leave") for s in stores)


@pytest.mark.parametrize(("reading", "expected"), CASES.values(), ids=CASES)
def test_what_is_read_last_is_forgotten(reading: str, expected: int) -> None:
    p = program(reading)
    assert drains(p) == expected
    agree(p)


@pytest.mark.parametrize(
    "reading", ["for i = _\nC[i, 1] += w[i]\nend", "for j = _\nfor i = _\nC[i, j] += w[i]\nend\nend"]
)
def test_neither_results_nor_what_an_outer_block_declares_is_forgotten(reading: str) -> None:
    """A tensor that the outermost block declares is a result."""
    p = api.parse(f"""
w = Tensor(SparseByteMap(Element(0)), 4)
C = Tensor(Dense(Dense(Element(0))), 4, 3)
C .= 0
w .= 0
for i = 2:3
    w[i] += i
end
{reading}
return C
""")
    assert drains(p) == 0
    agree(p)


def agree(p: api.Program) -> None:
    bound = api.bind(p)
    reference, native = (run_to_end(bound, api.engine(name)) for name in ("reference", "native"))
    assert difference(reference, native, bound.outputs) is None
