"""SparseCOO: several levels that share one list of entries, each with a coordinate of every entry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from proofs_tests.towers import tower
from wingspan import Tensor, api
from wingspan.base.errors import InputError
from wingspan.compiled.build import compiler
from wingspan.plan.ir import Const
from wingspan.plan.layout import layout, positions
from wingspan.tensors.frozen import Frozen

ENGINES = ("semantics", "native", *(["compiled"] if compiler() else []))
A = np.array([[0, 0, 0, 7], [4, 0, 0, 0], [5, 0, 6, 0]])
B = np.array([[0, 1, 0, 1], [0, 2, 0, 0], [0, 0, 3, 4]])


def made(text: str, engine: str, **inputs: np.ndarray) -> np.ndarray:
    """The array C that an engine computes."""
    result = api.run(api.parse(text), inputs=inputs, engine=engine).tensors["C"]
    result.validate()
    return result.to_numpy()


def test_each_level_has_a_coordinate_of_every_entry() -> None:
    """As SciPy's COO arrays, in order; and where the entries of each column end."""
    tensor = Tensor.from_scipy("SparseCOO(2, Element(0))", scipy.sparse.coo_array(A))
    assert isinstance(tensor.data, Frozen)
    cells = tensor.data.dictionary()
    outer, inner, upto = ([cells.get(at) for at in sorted(cells) if at[1:3] == key] for key in
                          ((0, "idx"), (1, "idx"), (1, "upto")))  # fmt: skip
    assert (outer, inner) == ([1, 1, 3, 4], [2, 3, 3, 1])
    assert upto == [3, 0, 4, 5]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3), (1, 1)])
def test_coo_arrays_in_order_are_taken_as_they_are(shape: tuple[int, ...]) -> None:
    """Others, and entries that are there twice, are brought in order; later changes of the arrays are not seen."""
    array = np.random.default_rng(1).integers(0, 3, shape)
    at = np.stack(np.nonzero(array.T)[::-1])
    entries: np.ndarray = np.arange(at.shape[1])
    form = f"SparseCOO({len(shape)}, Element(0))"
    expected = Tensor.from_numpy(form, array)
    for order, times in (entries, 1), (entries[::-1], 1), (np.tile(entries, 2), 2), (np.repeat(entries, 2), 2):
        coords = tuple(axis.copy() for axis in at[:, order])
        data = scipy.sparse.coo_array((array[coords], coords), shape=shape)
        tensor = Tensor.from_scipy(form, data)
        assert (tensor.to_numpy() == times * array).all()
        assert {cell: v for cell, v in tensor.cells.values.items() if cell.buffer != "val"} == {
            cell: v for cell, v in expected.cells.values.items() if cell.buffer != "val"
        }
        for axis in data.coords:
            axis[:] = 0
        assert (tensor.to_numpy() == times * array).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rank", few([3, 2, 4], 1))
def test_sums_of_sparse_arrays_are_read_and_written(rank: int, engine: str) -> None:
    """Two arrays with common and other entries, fibers that one of them lacks, and elements that are all stored."""
    rng = np.random.default_rng(rank)
    shape = (3, 4, 2, 2)[:rank]
    a, b = (rng.integers(0, 3, shape) * rng.integers(0, 2, shape) for _ in range(2))
    names = "ijkl"[:rank]
    loops = "".join(f"for {i} = _\n" for i in reversed(names))
    at, form = ", ".join(names), f"SparseCOO({rank}, Element(0))"
    text = f"A = Tensor({form})\nB = Tensor({form})\nC = Tensor({form}, {', '.join(map(str, shape))})\nC .= 0\n"
    text += f"{loops}C[{at}] += A[{at}] + B[{at}]\n" + "end\n" * rank + "return C"
    for left, right in ((a, b), (a, 0 * b), (0 * a, 0 * b), (a + 1, b)):
        assert (made(text, engine, A=left, B=right) == left + right).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_products_seek_in_them(engine: str) -> None:
    """Coiteration by *, in which the outer level skips whole fibers and the inner one entries."""
    form = "SparseCOO(2, Element(0))"
    text = f"A = Tensor({form})\nB = Tensor({form})\nC = Tensor({form}, 3, 4)\nC .= 0\n"
    text += "for j = _\nfor i = _\nC[i, j] += A[i, j] * B[i, j]\nend\nend\nreturn C"
    assert (made(text, engine, A=A, B=B) == A * B).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_are_cut_into_pieces(engine: str) -> None:
    """So many entries that several pieces of work unite them, of which some begin within a column."""
    n = 12 if engine == "semantics" else 400
    text = f"dev = cpu(:dev, 2)\nC = Tensor(Merge(dev, SparseCOO(2, Element(0))), {n}, {n // 2})\nA = Tensor(Dense("
    text += "SparseCOO(2, Element(0))))\nC .= 0\nfor k = parallel(_, dev)\nfor j = _\nfor i = _\n"
    text += "C[i, j] += A[i, j, k]\nend\nend\nend\nreturn C"
    a = np.random.default_rng(3).integers(0, 2, (n, n // 2, 2))
    assert (made(text, engine, A=a) == a.sum(axis=2)).all()


def test_inner_fibers_are_as_many_as_entries_may_be() -> None:
    """Each entry is a position of all inner levels; so widths and bounds are those of the whole list."""
    assert positions("T", tower("SparseCOO(3, Element(0))", 3, 4, 2)) == [1, 24, 24, 24]
    assert positions("T", tower("Dense(SparseCOO(2, Element(0)))", 3, 4, 2)) == [1, 2, 24, 24]
    large = layout("T", tower("SparseCOO(2, Element(0))", 2**16, 2**16), (Const(2**16), Const(2**16)), 0)
    assert {large.buffer(depth, name).width for depth, name in ((0, "ptr"), (1, "upto"), (0, "fill"))} == {"i64"}
    assert {large.buffer(depth, "idx").width for depth in (0, 1)} == {"i32"}
    assert large.buffer(0, "idx").bound == large.buffer(1, "idx").bound == 2**32


def test_an_inner_fiber_takes_one_visit() -> None:
    """Within one column, whose entries the first visit has appended."""
    text = "C = Tensor(SparseCOO(2, Element(0)), 2, 2)\nC .= 0\nfor j = _\nfor i = 1:1\nC[i, j] += 1\nend\n"
    text += "for i = 2:2\nC[i, j] += 1\nend\nend\nreturn C"
    message = "level 2 SparseCOO: a fiber is appended to by one visit, but 1 has entries up to 2 from another one"
    for machine in ("semantics", "native"):
        verdict = api.explore(api.parse(text), machine=machine).verdict
        assert verdict.verdict == "fault" and message in str(verdict)
    assert api.check(api.parse(text), budget=0).verdict == "unsafe"


def test_what_a_race_leaves_behind_is_read_to_its_end() -> None:
    """Two tasks append to one list; whatever they leave in it, no reader goes in circles."""
    text = (
        "C = Tensor(SparseCOO(2, Atomic(0)), 2, 2)\ns = Scalar(0)\nC .= 0\nfor k = parallel(1:2)\nC[k, k] += 1\nend\n"
    )
    text += "s .= 0\nfor j = _\nfor i = _\ns[] += C[i, j]\nend\nend\nreturn s"
    for machine in ("semantics", "native"):
        verdict = api.explore(api.parse(text), machine=machine).verdict
        assert verdict.verdict != "safe" and verdict.complete


@pytest.mark.parametrize(("depth", "buffer", "offset", "value", "message"), [
    (0, "idx", 1, 4, "level 3 SparseCOO, fiber 1, index 4: it is not less than the next one"),
    (0, "idx", 4, 9, "level 3 SparseCOO, fiber 1, index 9: it is out of bounds"),
    (0, "ptr", 2, 9, "level 3 SparseCOO: its pointers are not in order"),
    (1, "idx", 2, 2, "level 2 SparseCOO, fiber 1, index 2: it is not less than the next one"),
    (1, "upto", 1, 1, "level 2 SparseCOO, fiber 1: its last entry is 0, and the next fiber begins at 3"),
    (1, "upto", 1, 2, "level 2 SparseCOO, fiber 1: its last entry is 1, and the next fiber begins at 3"),
    (1, "upto", 4, 4, "level 2 SparseCOO, fiber 4: its last entry is 3, and the last of all is 4"),
    (1, "upto", 4, 9, "level 2 SparseCOO, fiber 4: its last entry is 8, and the last of all is 4"),
    (0, "fill", 1, 3, "level 3 SparseCOO, entry 4: it is the last one, and the level counts 3"),
    (0, "prev", 1, 0, "level 3 SparseCOO, fiber 1: it is the last one with entries, and the level notes 0"),
])  # fmt: skip
def test_a_spoiled_entry_is_named(depth: int, buffer: str, offset: int, value: int, message: str) -> None:
    tensor = Tensor.from_numpy("SparseCOO(2, Element(0))", A)
    assert isinstance(tensor.data, Frozen)
    stored = tensor.data.arrays[depth, buffer, ()]
    values = (stored.values + stored.shift).astype(np.int64)
    values[offset - 1] = value
    arrays = {**tensor.data.arrays, (depth, buffer, ()): type(stored)(values)}
    with pytest.raises(InputError, match=message):
        Tensor(tensor.tower, Frozen(tensor.tower, arrays), tensor.fill).validate()
