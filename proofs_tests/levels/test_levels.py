"""The levels: what they store is what was written, and their cells keep the invariants of their docstrings."""

from __future__ import annotations

import importlib
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.levels.visits import enter, opened
from proofs_tests.towers import COUNTS, ByHand, broken, elements_of, frozen, same, thread, tower
from wingspan.buffers import procedures
from wingspan.buffers.frames import Cell
from wingspan.lang.algebra import exact
from wingspan.levels import REGISTRY
from wingspan.tensors.tensor import Tensor
from wingspan.testing.choosing import drawn_by
from wingspan.testing.formats import (
    BOUNDED,
    LEAVES,
    MODIFIERS,
    STORAGE,
    VALUES,
    arrays,
    fit_to_format,
    formats,
    rank_of,
    tensors,
    worth,
    wrap_in_modifiers,
)

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))
SPARSE = ["SparseList", "SparseByteMap", "SparseDict"]


# --------------------------------------------------------------------------------------------------------- round trips


@derandomized
@given(tensors())
def test_what_is_written_is_read_back(made):
    """NumPy → any tower of rank 0 to 3 → NumPy is the identity, in value and kind."""
    form, array = made
    assert same(Tensor.from_numpy(form, array, devices=COUNTS), array)


@derandomized
@given(tensors())
def test_a_frozen_tensor_keeps_its_invariants(made):
    """P23: as each level's docstring states them, on the cells of any tower of levels and modifiers."""
    form, array = made
    h = frozen(form, array)
    assert broken(h) == []
    assert same(h.tensor(), array)


@derandomized
@given(tensors(storage=[*SPARSE, *BOUNDED], least=1))
def test_only_what_differs_from_fill_is_stored(made):
    """A tower without Dense levels stores exactly the elements that a dense source has beside its fill value."""
    form, array = made
    tensor = Tensor.from_numpy(form, array, devices=COUNTS)
    assert dict(tensor.entries()) == elements_of(array, tensor.fill)


@derandomized
@given(tensors())
def test_the_levels_touch_no_other_buffers(made):
    """Every cell belongs to a buffer that the level at its depth lists."""
    form, array = made
    h = frozen(form, array)
    h.elements()
    for cell in h.cells.values:
        assert cell.buffer in [b.name for b in h.tower.buffers(cell.depth)]


# ---------------------------------------------------------------------------------------------------- freeze and thaw


@derandomized
@given(tensors())
def test_thawing_and_freezing_changes_no_cell(made):
    """P26, P8: thaw and freeze, and tasks between, undo each other to the cell; but a Merge has two levels."""
    form, array = made
    assume("Merge" not in form)
    h = frozen(form, array)
    before = dict(h.cells.values)
    h.whole("thaw", "checkout", "commit", "freeze")
    assert h.cells.values == before


@st.composite
def roots(draw) -> tuple[str, np.ndarray, int]:
    """A format whose root may be visited twice, an array, and where to break off."""
    form, fill = draw(formats(rank=draw(st.integers(0, 2))))
    around = [modifier for modifier in MODIFIERS if "Merge" not in modifier]
    root = wrap_in_modifiers(
        drawn_by(draw), draw(st.sampled_from(["Dense({})", "SparseByteMap({})", "SparseDict({})"])), around
    )
    form = form if "Merge" not in form else f"{draw(st.sampled_from(LEAVES))}({fill})"
    array = draw(arrays(rank_of(form) + 1, fill))
    return root.format(form), array, draw(st.integers(0, array.shape[-1]))


@derandomized
@given(roots())
def test_a_thawed_tensor_takes_more(made):
    """P26: elements of later fibers of a thawed tensor join those that it has. (Of Merge see test_coalesce.)"""
    form, array, first = made
    fill = tower(form).fill
    later = array.copy()
    later[..., :first] = fill
    early = array.copy()
    early[..., first:] = fill
    h = frozen(form, early).whole("thaw", "checkout")
    h.update_all(elements_of(later, fill)).whole("commit", "freeze")
    assert same(h.tensor(), array) and broken(h) == []


@derandomized
@given(formats(), st.data(), st.booleans(), st.booleans())
def test_declaring_again_starts_afresh(made, data, thawed, finished):
    """P26: whatever the memory held, frozen or not, and whatever the fill values were then and are now."""
    form, fill = made
    array = data.draw(arrays(rank_of(form), fill))
    again = data.draw(arrays(rank_of(form), fill, shape=array.shape))
    z = exact(data.draw(st.just(worth(fill)) | VALUES[fill])) if "Pattern" not in form else False
    h = ByHand(tower(form, *array.shape), z=z)
    h.cells.values = dict(frozen(form, array).cells.values)
    if thawed:
        h.whole("thaw", "freeze")
    if not finished:
        h.whole("declare", "checkout").update_all(elements_of(array, z))
    h.whole("declare", "checkout").update_all(elements_of(again, z)).whole("commit", "freeze")
    assert same(h.tensor(), again) and broken(h) == []
    if "Dense" not in form and array.ndim:
        assert h.elements() == elements_of(again, z)


# --------------------------------------------------------------------------------------------- byte map and dictionary


UNORDERED = pytest.mark.parametrize("name", ["SparseByteMap", "SparseDict"])


@UNORDERED
def test_it_is_written_in_any_order_and_again(name):
    h = ByHand(tower(f"Dense({name}(Element(0)))", 3, 2)).whole("declare")
    for at in ((3, 2), (1, 2), (2, 1), (1, 2)):
        h.update_all({at: 5}, op="+")
    h.whole("freeze")
    assert h.elements() == {(2, 1): 5, (1, 2): 10, (3, 2): 5} and broken(h) == []


@UNORDERED
def test_it_may_be_visited_while_a_visit_goes_on(name):
    """`w[i] += 1; for j … w[j] += 2`: the inner visit neither loses the outer update nor lists the index twice."""
    h = ByHand(tower(f"{name}(Element(0))", 3)).whole("declare")
    q, outer = enter(h, opened(h), 2)
    h.run(procedures.increment(h.tower, "+"), position=q, value=1)
    h.update_all({(1,): 2, (2,): 2}, op="+")
    h.run(procedures.leave(h.tower, 2, True), **outer, index=2)
    h.whole("freeze")
    assert h.elements() == {(1,): 2, (2,): 3} and broken(h) == []


@UNORDERED
def test_it_stores_what_was_entered_in_vain_and_written_later(name):
    h = ByHand(tower(f"{name}(Element(0))", 3)).whole("declare")
    enter(h, opened(h), 2)
    h.update_all({(2,): 5}, op="+").whole("freeze")
    assert h.elements() == {(2,): 5} and broken(h) == []


@UNORDERED
def test_it_forgets_what_was_entered_and_not_written(name):
    """Such an index is not stored, and the next phase does not see it."""
    h = ByHand(tower(f"{name}(Element(7))", 3)).whole("declare")
    enter(h, opened(h), 3)
    h.update_all({(2,): 1})
    h.whole("freeze")
    assert h.elements() == {(2,): 1} and broken(h) == []
    h.z = 9
    h.whole("declare")
    enter(h, opened(h), 3)
    h.whole("declare").update_all({(3,): 1}, op="+").whole("freeze")
    assert h.elements() == {(3,): 10} and broken(h) == []
    h.whole("declare")
    enter(h, opened(h), 2)
    h.whole("freeze")
    assert h.elements() == {} and broken(h) == []


# ------------------------------------------------------------------------------------------------------------- reading


@derandomized
@given(st.sampled_from([*STORAGE, *BOUNDED]), arrays(1, "0", 9), st.data())
def test_seeking_skips_exactly_what_lies_before(name, array, data):
    """Reading from an index on gives the entries from there on, each found at its index."""
    array = fit_to_format(f"{name}(Element(0))", array, "0")
    h = frozen(f"{name}(Element(0))", array)
    begin = data.draw(st.integers(1, len(array) + 1))
    stored = {i: v for (i,), v in h.elements().items()}
    assert {i: v for i, v in stored.items() if v} == {i: v for i, v in enumerate(array.tolist(), 1) if v}
    cursor = h.run(procedures.unfurl(h.tower, 2), position=1, start=begin).result()
    found = {}
    for i in range(begin, len(array) + 1):
        if name != "Dense":
            following = h.run(procedures.index(h.tower, 2), **cursor).result()["index"]
            assert following == next((k for k in range(i, len(array) + 1) if k in stored), 0)
        q = h.run(procedures.child(h.tower, 2), **cursor, index=i).result()["position"]
        if q:
            found[i] = h.run(procedures.unwrap(h.tower), position=q).result()["value"]
        cursor = h.run(procedures.next_(h.tower, 2), **cursor, index=i).result()
    assert found == {i: v for i, v in stored.items() if i >= begin}


@pytest.mark.parametrize("name", [*STORAGE[1:], *BOUNDED])
def test_seeking_ends_at_the_first_entry_from_there_on(name):
    """From every start, whichever of four elements are stored."""
    for array in product((0, 7), repeat=4):
        h = frozen(f"{name}(Element(0))", fit_to_format(f"{name}(Element(0))", np.array(array), "0"))
        stored = {i for (i,) in h.elements()}
        for begin in range(1, 6):
            cursor = h.run(procedures.unfurl(h.tower, 2), position=1, start=begin).result()
            following = h.run(procedures.index(h.tower, 2), **cursor).result()["index"]
            assert following == next((k for k in range(begin, 5) if k in stored), 0)


def test_an_unclaimed_position_reads_as_fill():
    h = ByHand(tower("Shard(dev, Element(5))"), task=thread("dev", 2)).whole("declare")
    assert h.run(procedures.unwrap(h.tower), position=1).result() == {"value": 5}
    h.run(procedures.increment(h.tower, "+"), position=1, value=2)
    assert h.run(procedures.unwrap(h.tower), position=1).result() == {"value": 7}


# -------------------------------------------------------------------------------------------------------------- leaves


@pytest.mark.parametrize(
    ("leaf", "op", "accesses"),
    [
        ("Element", "+", ["load", "store"]),
        ("Element", "=", ["store"]),
        ("Atomic", "+", ["atomic"]),
        ("Atomic", "=", ["atomic"]),
    ],
)
def test_how_many_accesses_an_update_takes(leaf, op, accesses):
    """Between an Element's load and its store another task may come; an Atomic leaves no room."""
    h = ByHand(tower(f"{leaf}(3)")).whole("declare")
    h.log.clear()
    h.run(procedures.increment(h.tower, op), position=1, value=4)
    assert h.log == [(kind, "val", 1) for kind in accesses]
    assert h.elements() == {(): 7 if op == "+" else 4}


# ------------------------------------------------------------------------------------------------------------ registry


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_docstring_lists_the_buffers(name):
    """Name, cell, length and meaning of each buffer, in order."""
    level = REGISTRY[name]
    text = importlib.import_module(level.__module__).__doc__ or ""
    rows = re.findall(r"^\| (\S+) +\| (\S+) +\| (.+?) +\| (.+?) +\|$", text, re.MULTILINE)
    assert rows[1:] == [(b.name, b.cell, b.length, b.meaning) for b in level.buffers] or rows == []
    assert bool(rows) == bool(level.buffers)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dense(Element(0))", "node sibling cousin"),
        ("Element(0)", "sibling cousin"),
        ("Atomic(0)", "node sibling cousin"),
        ("SparseList(Element(0))", ""),
        ("SparseByteMap(Element(0))", ""),
        ("SparseDict(Element(0))", ""),
        ("SparsePoint(Element(0))", "cousin"),
        ("SparseInterval(Element(0))", "cousin"),
        ("SparseBand(Element(0))", ""),
        ("SparseBlockList(Element(0))", ""),
        ("SparseRunList(Element(0))", ""),
        ("RunList(Element(0))", ""),
        ("SparseCOO(2, Element(0))", ""),
        ("Shard(dev, Element(0))", "cousin"),
        ("Isolate(Element(0))", "cousin"),
        ("Mutex(Element(0))", "node sibling"),
        ("Merge(dev, Element(0))", "node sibling cousin"),
    ],
)
def test_stability_is_that_of_the_figure(name, expected):
    assert tower(name, 1).levels[0].stability() == set(expected.split())


def test_a_hash_is_a_dictionary():
    """SparseHash, the name in earlier releases of Finch.jl, is another one of SparseDict, and tensors are equal."""
    assert tower("Dense(SparseHash(Element(0)))", 2, 3) == tower("Dense(SparseDict(Element(0)))", 2, 3)
    assert str(tower("SparseHash(Element(0))", 2)) == "SparseDict(Element(0))"


def test_towers_of_different_kinds_differ():
    """Python holds 0, 0.0 and False equal; leaves of integers, doubles and booleans are not."""
    towers = [tower(f"Dense(Element({fill}))", 2) for fill in ("0", "0.0", "false", "0", "1")]
    assert len(set(towers)) == 4 and towers[0] == towers[3]
    assert [t.kind for t in towers] == ["int", "float", "bool", "int", "int"]


def test_a_cell_is_named_by_tensor_buffer_and_instance():
    assert str(Cell("C", 2, "idx", (("dev", 1), ("far", 3)), 4)) == "C.idx⟨dev 1 far 3⟩[4]"
