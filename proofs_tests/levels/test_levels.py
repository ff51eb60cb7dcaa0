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
from proofs_tests.towers import COUNTS, ByHand, broken, elements_of, frozen, same, thread, tower
from wingspan.buffers import procedures
from wingspan.buffers.frames import Cell
from wingspan.errors import Fault, ProgramError
from wingspan.lang.algebra import exact
from wingspan.lang.devices import ROOT
from wingspan.levels import REGISTRY
from wingspan.tensors.tensor import Tensor
from wingspan.testing.formats import (
    BOUNDED,
    LEAVES,
    MODIFIERS,
    STORAGE,
    VALUES,
    arrays,
    fitted,
    formats,
    legal,
    rank_of,
    tensors,
    worth,
    wrapped,
)

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))
SPARSE = ["SparseList", "SparseByteMap", "SparseDict"]
ONCE = [name for name in STORAGE if REGISTRY[name].once]
RUNS = [name for name in (*STORAGE, *BOUNDED) if REGISTRY[name].stretch == "run"]


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
    root = wrapped(draw, draw(st.sampled_from(["Dense({})", "SparseByteMap({})", "SparseDict({})"])), around)
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


# ---------------------------------------------------------------------------------------------------- ordered levels


def opened(h: ByHand, position: int = 1, number: int | None = None):
    number = number or h.tower.rank + 1
    return h.run(procedures.open_(h.tower, number), position=position, start=1).result()


@pytest.mark.parametrize("name", ONCE)
def test_indices_are_appended_in_ascending_order(name):
    """An index that was left before cannot be entered again, nor one before it, be it after the first one."""
    h = ByHand(tower(f"{name}(Element(0))", 6)).whole("declare")
    cursor = opened(h)
    last = 0
    for index, fine in ((2, True), (2, False), (1, False), (5, True), (4, False)):
        if not fine:
            with pytest.raises(Fault, match=rf"T, level 2 {name}: indices are .* but {index} comes after {last}"):
                h.run(procedures.enter(h.tower, 2), **cursor, index=index)
            continue
        cursor = h.run(procedures.enter(h.tower, 2), **cursor, index=index).result()
        h.run(procedures.increment(h.tower, "="), position=cursor.pop("position"), value=7)
        cursor = h.run(procedures.leave(h.tower, 2, True), **cursor, index=index).result()
        last = index
    h.run(procedures.close(h.tower, 2), **cursor)
    h.whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(2,): 7, (5,): 7} and broken(h) == []


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize(("order", "fine"), [([1, 2], True), ([2, 1], False), ([1, 1], False)])
def test_fibers_are_appended_in_ascending_order_each_once(name, order, fine):
    """Also below a level that visits a fiber again, which overwrites its pointer in Finch.jl."""
    h = ByHand(tower(f"Dense({name}(Element(0)))", 2, 2)).whole("declare")
    h.update_all({(1, order[0]): 5})
    if fine:
        h.update_all({(1, order[1]): 6})
    else:
        with pytest.raises(Fault, match=rf"fibers are .* but {order[1]} comes after {order[0]}"):
            h.update_all({(1, order[1]): 6})


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("above", [name for name in ONCE if legal(f"{name}(SparseList(Element(0)))")])
def test_a_visit_that_writes_nothing_does_not_count(above, name):
    """An entry is dropped unless something below it was written, and the fiber may be visited again."""
    h = ByHand(tower(f"{above}({name}(Element(0)))", 3, 3)).whole("declare")
    outer = h.run(procedures.enter(h.tower, 3), **opened(h), index=1).result()
    q = outer.pop("position")
    h.run(procedures.close(h.tower, 2), **opened(h, q, 2))
    outer = h.run(procedures.enter(h.tower, 3), **outer, index=3).result()
    assert outer.pop("position") == q
    h.run(procedures.close(h.tower, 3), **outer)
    h.update_all({(2, 2): 7}).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(2, 2): 7} and broken(h) == []


@pytest.mark.parametrize("name", ONCE)
def test_skipped_and_empty_fibers_are_all_fill(name):
    """Before the first one, between, after the last one, and visited in vain; then fibers after all of them."""
    h = ByHand(tower(f"Dense({name}(Element(3)))", 4, 7)).whole("declare")
    h.update_all({(2, 2): 5})
    h.run(procedures.close(h.tower, 2), **opened(h, 3, 2))
    h.update_all({(1, 5): 6, (4, 5): 6}).whole("freeze", "thaw")
    h.update_all({(4, 7): 3}).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v != 3} == {(2, 2): 5, (1, 5): 6, (4, 5): 6}
    assert {column for _, column in h.elements()} == {2, 5, 7} and broken(h) == []


def test_a_band_forgets_what_was_entered_in_vain_before_it_began():
    """The child of its first index is a new one, though one was made there: who writes nothing claims nothing."""
    h = ByHand(tower("SparseBand(Shard(dev, Element(0)))", 4), task=thread("dev", 1)).whole("declare")
    _, cursor = enter(h, opened(h), 1)
    h.task = thread("dev", 2)
    del cursor["1.key"]
    entered = h.run(procedures.enter(h.tower, 2), **cursor, index=3)
    cursor = entered.result()
    h.run(procedures.increment(h.tower, "+"), entered.bound(), position=cursor.pop("position"), value=5)
    h.run(procedures.close(h.tower, 2), **h.run(procedures.leave(h.tower, 2, True), **cursor, index=3).result())
    h.whole("freeze")
    assert h.elements() == {(3,): 5} and broken(h) == []


# --------------------------------------------------------------------------------------------- byte map and dictionary

UNORDERED = pytest.mark.parametrize("name", ["SparseByteMap", "SparseDict"])


def enter(h: ByHand, cursor, index):
    found = h.run(procedures.enter(h.tower, 2), **cursor, index=index).result()
    return found.pop("position"), found


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


# -------------------------------------------------------------------------------------------------------------- points


def test_a_point_takes_one_index_and_others_only_in_vain():
    """A second index may be entered; what is written there, also by a visit within a visit, is a fault."""
    h = ByHand(tower("Dense(SparsePoint(Element(0)))", 3, 2)).whole("declare")
    h.update_all({(2, 1): 5, (3, 2): 7}, op="+")
    enter(h, opened(h, 1, 2), 1)
    h.update_all({(2, 1): 1}).whole("freeze")
    assert h.elements() == {(2, 1): 6, (3, 2): 7} and broken(h) == []
    h.whole("thaw")
    with pytest.raises(Fault, match="T, level 2 SparsePoint: a fiber has one index, but 1 comes after 2"):
        h.update_all({(1, 1): 1})


def test_a_visit_of_a_point_within_a_visit_is_a_fault_unless_the_index_is_the_same():
    for index, fine in ((2, True), (1, False)):
        h = ByHand(tower("SparsePoint(Element(0))", 3)).whole("declare")
        q, outer = enter(h, opened(h), 2)
        h.run(procedures.increment(h.tower, "+"), position=q, value=1)
        h.update_all({(index,): 2}, op="+")
        if not fine:
            with pytest.raises(Fault, match="a fiber has one index, but 2 comes after 1"):
                h.run(procedures.leave(h.tower, 2, True), **outer, index=2)
            continue
        h.run(procedures.leave(h.tower, 2, True), **outer, index=2)
        h.whole("freeze")
        assert h.elements() == {(2,): 3} and broken(h) == []


# ------------------------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ([(2, 5)], None),
        ([(2, 5), (3, 5), (4, 5)], None),
        ([(2, 5), (4, 5)], "a fiber has one run, but 4 comes after 2"),
        ([(2, 5), (1, 5)], "a fiber has one run, but 1 comes after 2"),
        ([(2, 5), (2, 5)], "a fiber has one run, but 2 comes after 2"),
        ([(2, 5), (3, 6)], "a fiber has one run of equal children, but that of 3 differs"),
    ],
)
def test_an_interval_is_one_run(written, fault):
    """Each index by a visit of its own; also after one index alone, which Finch.jl overwrites."""
    h = ByHand(tower("Dense(SparseInterval(Dense(Element(0))))", 1, 4, 1), op="+").whole("declare")
    for i, v in written[:-1]:
        h.update_all({(1, i, 1): v})
    if fault is None:
        h.update_all({(1, i, 1): v for i, v in written[-1:]}).whole("freeze")
        assert h.elements() == {(1, i, 1): v for i, v in written} and broken(h) == []
        return
    with pytest.raises(Fault, match=f"T, level 3 SparseInterval: {fault}"):
        h.update_all({(1, i, 1): v for i, v in written[-1:]})


def test_a_visit_of_an_interval_within_a_visit_is_a_fault():
    """The inner one has written the child that the outer one meant to write."""
    h = ByHand(tower("SparseInterval(Element(0))", 3)).whole("declare")
    q, outer = enter(h, opened(h), 2)
    h.run(procedures.increment(h.tower, "+"), position=q, value=1)
    h.update_all({(2,): 2}, op="+")
    with pytest.raises(Fault, match="the fiber ends at 2, and not at 0, as a visit within this one has written it"):
        h.run(procedures.leave(h.tower, 2, True), **outer, index=2)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("below", ["SparseList(Element(0))", "SparsePoint(Element(0))", "Isolate(Element(0))"])
def test_runs_are_refused_around_what_cannot_be_compared(name, below):
    for form in (f"{name}({below})", f"{name}(Dense({below}))", f"Dense(Mutex({name}(Mutex({below}))))"):
        wrapped = below.partition("(")[0]
        with pytest.raises(ProgramError, match=f"{name} cannot wrap {wrapped}, whose fibers it cannot compare"):
            tower(form)


# --------------------------------------------------------------------------------------------------------------- shard


def test_a_position_belongs_to_the_thread_that_wrote_there_first():
    h = ByHand(tower("Dense(Shard(dev, Element(0)))", 3), task=thread("dev", 1)).whole("declare")
    h.update_all({(2,): 5})
    h.task = thread("dev", 2)
    h.update_all({(1,): 6})
    with pytest.raises(Fault, match="level 1 Shard: position 2 belongs to thread 1, and thread 2 reaches it"):
        h.update_all({(2,): 7})
    assert h.elements() == {(1,): 6, (2,): 5}
    assert [h.cell(1, "owner", p) for p in (1, 2, 3)] == [2, 1, 0]


@pytest.mark.parametrize("task", [ROOT, thread("far", 1), thread("far", 1, thread("dev", 1))])
def test_only_tasks_of_the_device_itself_update_a_shard(task):
    h = ByHand(tower("Dense(Shard(dev, Element(0)))", 3), task=task).whole("declare")
    with pytest.raises(Fault, match="position 2 is updated outside of a task of the device"):
        h.update_all({(2,): 5})


@pytest.mark.parametrize("below", [*STORAGE, *BOUNDED])
def test_each_thread_has_a_level_of_its_own(below):
    """Two threads append to it in any order, phase after phase; each freezes and thaws its own."""
    form = f"Dense(Shard(dev, {below}(Element(0))))"
    h = ByHand(tower(form, 2, 4)).whole("declare")
    written = {}
    for column, number in ((3, 2), (1, 1), (4, 1), (2, 2)):
        h.task = thread("dev", number)
        h.whole("checkout").update_all({(2, column): 10 * column}).whole("commit")
        written[2, column] = 10 * column
    h.whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == written and broken(h) == []


@pytest.mark.parametrize("below", [*STORAGE, *BOUNDED])
def test_shards_are_declared_anew(below):
    """The next phase finds nothing of what the threads claimed and wrote in the last one."""
    h = ByHand(tower(f"Dense(Shard(dev, {below}(Element(3))))", 2, 4))
    for value, columns in ((10, (3, 1)), (20, (4, 2))):
        h.whole("declare")
        for number, column in enumerate(columns, 1):
            h.task = thread("dev", number)
            h.whole("checkout").update_all({(2, column): value}).whole("commit")
        h.whole("freeze")
        assert {at: v for at, v in h.elements().items() if v != 3} == {(2, column): value for column in columns}
        assert broken(h) == []


def test_shards_of_nested_devices():
    """The figure of nested parallelism: every thread of the inner device has a level in each of the outer one's."""
    h = ByHand(tower("Dense(Shard(dev, Dense(Shard(far, SparseList(Element(0))))))", 2, 3, 2)).whole("declare")
    for j in (1, 2):
        h.task = outer = thread("dev", j)
        h.whole("checkout")
        entered = h.run(procedures.enter(h.tower, 4), **opened(h), index=j)
        q, instance = entered.result()["position"], entered.bound()
        assert instance == (("dev", j),)
        for i in (3, 1):
            h.task = thread("far", i, outer)
            h.run(procedures.transfer(h.tower, 3, "checkout"), instance)
            h._below(3, q, instance, [((1, i, j), 10 * i + j)])
            h.run(procedures.transfer(h.tower, 3, "commit"), instance)
        h.task = outer
        h.whole("commit")
    h.whole("freeze")
    assert h.elements() == {(1, i, j): 10 * i + j for i in (1, 3) for j in (1, 2)} and broken(h) == []


# ------------------------------------------------------------------------------------------------------------- reading


@derandomized
@given(st.sampled_from([*STORAGE, *BOUNDED]), arrays(1, "0", 9), st.data())
def test_seeking_skips_exactly_what_lies_before(name, array, data):
    """Reading from an index on gives the entries from there on, each found at its index."""
    array = fitted(f"{name}(Element(0))", array, "0")
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
        h = frozen(f"{name}(Element(0))", fitted(f"{name}(Element(0))", np.array(array), "0"))
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
