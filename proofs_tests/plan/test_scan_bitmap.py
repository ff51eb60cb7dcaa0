"""Indices of a bitmap as a list: what is done with each is done as before, in the same order, and no more."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest

from proofs_tests.plan.test_small_workspaces import program as product
from wingspan import api
from wingspan.levels.element import Element
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Const, If, Op, Plan, While, walk
from wingspan.plan.kernels import BitmapLoop, ScanBitmap
from wingspan.plan.passes.scan_bitmap import scan_bitmap
from wingspan.plan.passes.small_workspaces import small_workspaces
from wingspan.plan.pipeline import lower
from wingspan.results.comparison import run_to_end

LOOPS = {
    "appended": ("C[i, j] = w[i]", True),
    "added to a dense vector": ("y[i] += w[i]", True),
    "added to one element": ("y[1] += w[i]", False),
    "tested": ("if w[i] > 4.0\n C[i, j] = w[i]\n end", False),
    "added under a lock": ("z[i] += w[i]", False),
}
"""The use of an element, and whether each round accesses cells of its own."""
OTHERS = {
    "a loop in it": "for k = _\n y[k] += w[i]\n end",
    "two bitmaps": "y[i] += w[i] * v[i]",
}
TEXT = """
A = Tensor(Dense(SparseList(Element(0.0))), [1 0 2; 0 3 4; 5 0 6])
v = Tensor(SparseByteMap(Element(0.0)), [0, 1, 2])
C = Tensor(Dense(SparseList(Element(0.0))))
y = Tensor(Dense(Element(0.0)), 3)
z = Tensor(Dense(Mutex(Element(0.0))), 3)
w = Tensor(SparseByteMap(Element(0.0)))
C .= 0.0
y .= 0.0
z .= 0.0
for j = _
    w .= 0.0
    for k = _
        for i = _
            w[i] += A[i, k] * A[k, j]
        end
    end
    for i = _
        BODY
    end
end
return y
"""


def program(body: str) -> api.Program:
    """Columns of A·A are summed in w, which is read so; what is not used is left out."""
    unused = [name for name in "vCz" if f"{name}[" not in body]
    lines = [line for line in TEXT.splitlines() if line.split(" ")[0] not in unused]
    returned = "return C, y" if "C" not in unused else "return z" if "z" not in unused else "return y"
    return api.parse("\n".join(lines).replace("return y", returned).replace("BODY", dedent(body)))


def loops(plan: Plan) -> list[While]:
    """The loops over lists."""
    found = (s for s in walk(plan.body) if isinstance(s, While))
    return [s for s in found if any(getattr(getattr(x, "ref", None), "buffer", None) in lists(plan) for x in s.body)]


def lists(plan: Plan) -> list[object]:
    return [b for g in plan.groups for b in g.buffers if b.name == "list"]


@pytest.mark.parametrize(("body", "apart"), LOOPS.values(), ids=LOOPS)
def test_loops_over_a_bitmap_have_lists(body: str, apart: bool) -> None:
    """The plan computes the same; C marks loops whose rounds access different cells."""
    p = program(body)
    bound = api.bind(p)
    plan = scan_bitmap(lower(bound))
    assert sum(isinstance(s, ScanBitmap) for s in walk(plan.body)) == 1
    assert [s.apart for s in loops(plan)] == [apart]
    engine = NativeEngine(assemble(plan))
    given = [engine.inputs.from_tensor(name, tensor) for name, tensor in bound.inputs.items()]
    found = engine.run(given).tensors(bound.towers)
    expected = run_to_end(bound, api.engine("reference")).arrays
    assert all(np.array_equal(found[name].to_numpy(), expected[name].astype(float)) for name in bound.outputs)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_other_loops_stay(body: str) -> None:
    plan = lower(api.bind(program(body)))
    assert scan_bitmap(plan) == plan


@pytest.mark.parametrize(
    ("reading", "count"),
    [
        ("y[i] += w[i]", 1),
        ("y[i] += w[i] * v[i]", 0),  # two cursors
        ("y[i] += w[i] + d[i]", 0),  # every index
        ("y[i + 1] += w[i]", 1),
    ],
)
def test_the_lowering_says_which_loops_go_through_a_bitmap(reading: str, count: int) -> None:
    """Loops that do nothing without an element of it, to its end, with no other cursor to meet."""
    text = f"""
w = Tensor(SparseByteMap(Element(0.0)), [0, 1, 2])
d = Tensor(Dense(Element(0.0)), [0, 1, 2])
v = Tensor(SparseByteMap(Element(0.0)), [1, 0, 2])
y = Tensor(Dense(Element(0.0)), 4)
y .= 0.0
for i = 1:3
    {reading}
end
return y
"""
    unused = [name for name in "dv" if f"{name}[" not in text]
    text = "\n".join(line for line in text.splitlines() if line.split(" ")[0] not in unused)
    made = lower(api.bind(api.parse(text)))
    assert sum(isinstance(s, BitmapLoop) for s in walk(made.body)) == count


def test_a_level_derived_from_a_bitmap_may_go_through_it_otherwise() -> None:
    class OwnByteMap(SparseByteMap):
        pass

    leaf = Element(0.0)
    assert SparseByteMap(leaf).word_cursor is not None and OwnByteMap(leaf).word_cursor is None


def test_a_bitmap_that_expects_little_stays_as_it_is() -> None:
    """A plan that knows how many terms come compares them with the words, of which there is one here."""
    plan = scan_bitmap(small_workspaces(lower(api.bind(api.parse(product())))))
    (guard,) = (s for s in walk(plan.body) if isinstance(s, If) and any(isinstance(x, ScanBitmap) for x in s.then))
    assert isinstance(guard.condition, Op) and guard.condition.op == ">=" and guard.condition.args[1] == Const(1)
    assert "few bound" in str(guard.condition.args[0])


def test_lists_have_room_for_a_fiber_and_a_word() -> None:
    """C stores up to 64 numbers for a word, from where its first one belongs."""
    for symbolic in (False, True):
        plan = scan_bitmap(lower(api.bind(api.parse(product()), symbolic=symbolic)))
        (room,) = (b.cells for g in plan.groups for b in g.buffers if b.name == "list")
        assert room == Const(128)
