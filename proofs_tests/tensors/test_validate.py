"""`Tensor.validate` accepts every tensor that is made here, and says of others which entry of which fiber is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, ByHand, broken, frozen
from wingspan import Tensor
from wingspan.base.errors import InputError
from wingspan.buffers.stored import Stored
from wingspan.tensors.frozen import Frozen, Key
from wingspan.testing.formats import BOUNDED, STORAGE, arrays, fit_to_format, rank_of, tensors

IMAGE = np.array([[0, 4, 0], [0, 4, 0], [0, 0, 0], [0, 7, 7], [0, 7, 7], [0, 0, 0]])
"""Six rows; the second column has two stretches, with a gap between them, and the last one has one."""


@settings(derandomize=True, deadline=None, max_examples=many(120))
@given(tensors())
def test_what_is_made_here_is_in_order(made):
    """Packed or written entry by entry, of any format."""
    form, array = made
    Tensor.from_numpy(form, array, devices=COUNTS).validate()
    frozen(form, array).tensor().validate()


def spoiled(tensor: Tensor, key: Key, offset: int, value: int) -> Tensor:
    """The tensor with another number in one cell."""
    assert isinstance(tensor.data, Frozen)
    stored = tensor.data.arrays[key]
    values = (stored.values + stored.shift).astype(np.int64)
    values[list(stored.cells()).index(offset)] = value
    arrays = {**tensor.data.arrays, key: Stored(values, at=stored.at)}
    return Tensor(tensor.tower, Frozen(tensor.tower, arrays), tensor.fill)


@pytest.mark.parametrize(
    ("level", "buffer", "offset", "value", "message"),
    [
        ("SparseList", "idx", 2, 1, "the indices of a fiber do not ascend"),
        ("SparseList", "prev", 1, 2, "level 2 SparseList, fiber 3: it is the last one with entries, and the level no"),
        ("SparseBand", "fill", 1, 6, "level 2 SparseBand, entry 7: it is the last one, and the level counts 6"),
        ("SparseRunList", "ptr", 2, 9, "level 2 SparseRunList: its pointers are not in order"),
        ("SparseRunList", "left", 1, 3, "level 2 SparseRunList, fiber 2, entry 1: it ends before it begins"),
        ("SparseRunList", "right", 1, 4, "level 2 SparseRunList, fiber 2, entry 2: it overlaps the one before it"),
        ("RunList", "right", 2, 2, "level 2 RunList, fiber 2, entry 2: it ends before it begins"),
        ("RunList", "right", 6, 3, "level 2 RunList, fiber 3, entry 6: it ends before it begins"),
        ("RunList", "right", 7, 5, "level 2 RunList, fiber 3, entry 7: it ends before it begins"),
        ("SparseBlockList", "idx", 1, 3, "level 2 SparseBlockList, fiber 2, entry 2: it touches the one before it"),
        ("SparseBlockList", "ofs", 2, 1, "level 2 SparseBlockList, fiber 2, entry 1: it ends before it begins"),
        ("SparseBand", "lo", 3, 6, "level 2 SparseBand, fiber 3, index 7: it is out of bounds"),
        (
            "SparseByteMap",
            "top",
            1,
            2,
            "level 2 SparseByteMap, fiber 3, indices from 1 on: a word of them was written, and",
        ),
        (
            "SparseByteMap",
            "top",
            1,
            7,
            "level 2 SparseByteMap, fiber 1, indices from 1 on: a word of them is in the summary",
        ),
        (
            "SparseByteMap",
            "tbl",
            3,
            0,
            "level 2 SparseByteMap, fiber 3, indices from 1 on: a word of them is in the summary",
        ),
        ("SparseByteMap", "size", 1, 2, "level 2 SparseByteMap, fiber 3: the level counts 2"),
        ("SparseDict", "srt", 1, 5, "level 2 SparseDict, fiber 2, index 1: it was written, and is not listed"),
    ],
)
def test_a_spoiled_entry_is_named(level: str, buffer: str, offset: int, value: int, message: str) -> None:
    tensor = spoiled(Tensor.from_numpy(f"Dense({level}(Element(0)))", IMAGE), (1, buffer, ()), offset, value)
    with pytest.raises(InputError, match=message):
        tensor.validate()


LISTED = [f"{level}(Element(0))" for level in (*STORAGE, *BOUNDED) if level != "Dense"]
LISTED.append("SparseCOO(2, Element(0))")


def breaks(tensor: Tensor) -> bool:
    """Whether an invariant does not hold, by its cells; elements need not differ, nor be fill if nobody wrote them."""
    h = ByHand(tensor.tower)
    h.cells.values.update({cell._replace(tensor="T"): value for cell, value in tensor.cells.values.items()})
    try:
        return bool({*broken(h)} - {"neighbours differ", "leaves that are not written hold the fill value"})
    except (IndexError, ValueError):
        return True


@pytest.mark.parametrize("form", LISTED)
@settings(derandomize=True, deadline=None, max_examples=many(32))
@given(st.data())
def test_each_number_that_breaks_an_invariant_is_noticed(form: str, data: st.DataObject) -> None:
    """All numbers of all buffers, each changed by one or two. What breaks no invariant is not complained of."""
    form = f"Dense({form})"
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(rank_of(form)))
    tensor = Tensor.from_numpy(form, fit_to_format(form, data.draw(arrays(len(shape), "0", shape=shape)), "0"))
    assert isinstance(tensor.data, Frozen)
    numbers = {key: stored for key, stored in tensor.data.arrays.items() if not tensor.tower.levels[key[0]].leaf}
    for key, stored in numbers.items():
        for place, number in zip(stored.cells(), stored.values.tolist(), strict=True):
            for change in (-2, -1, 1, 2):
                other = spoiled(tensor, key, place, number + stored.shift + change)
                try:
                    other.validate()
                except InputError as error:
                    assert breaks(other), (key, place, str(error))
                else:
                    assert not breaks(other), (key, place, change)


@pytest.mark.parametrize(
    ("modifier", "buffer", "offset", "value", "message"),
    [
        ("Shard(dev, {})", "owner", 2, 3, "level 2 Shard, fiber 2: 1 is no fiber of thread 3"),
        ("Shard(dev, {})", "ptr", 2, 9, "level 2 Shard, fiber 2: 9 is no fiber of thread 1"),
        ("Shard(dev, {})", "used", 1, 1, "level 2 Shard, fiber 3: 2 is no fiber of thread 1"),
        ("Shard(dev, {})", "ptr", 3, 1, "level 2 Shard, fiber 3: 1 is also another one's fiber of thread 1"),
        ("Isolate({})", "state", 2, 2, "level 2 Isolate, fiber 2: a visit of it goes on"),
    ],
)
def test_a_spoiled_modifier_is_named(modifier: str, buffer: str, offset: int, value: int, message: str) -> None:
    form = f"Dense({modifier.format('SparseList(Element(0))')})"
    tensor = spoiled(Tensor.from_numpy(form, IMAGE, devices=COUNTS), (1, buffer, ()), offset, value)
    with pytest.raises(InputError, match=message):
        tensor.validate()


def test_the_last_run_ends_with_the_axis() -> None:
    tensor = spoiled(Tensor.from_numpy("RunList(Element(0))", [4, 4, 0, 0]), (0, "right", ()), 2, 3)
    with pytest.raises(InputError, match="level 2 RunList, fiber 1, entry 2: it is the last one, and ends before 4"):
        tensor.validate()


def test_summaries_that_are_not_made_are_noticed() -> None:
    """Of a vector of two words: notes on words that are not there, and flags that nobody has made words of."""
    tensor = Tensor.from_numpy("SparseByteMap(Element(0))", [0] * 66 + [5, 0, 0, 0])
    tensor.validate()
    assert isinstance(tensor.data, Frozen)
    for changes, message in (
        ({"top": Stored.of(3)}, "indices from 1 on: a word of them is in the summary, and was not written"),
        ({"top": Stored.of(0)}, "indices from 65 on: a word of them was written, and the summary leaves it out"),
        ({"tbl": Stored.of(0, 4, 1)}, "fiber 2, indices from 1 on: a word of them was written, but there is no such"),
        ({"flat": Stored.of(1)}, "the summaries of what was written are not made"),
        ({"flag": Stored.of(0, 1)}, "the summaries of what was written are not made"),
    ):
        changed: dict[Key, Stored] = {(0, buffer, ()): stored for buffer, stored in changes.items()}
        arrays = {**tensor.data.arrays, **changed}
        with pytest.raises(InputError, match=message):
            Tensor(tensor.tower, Frozen(tensor.tower, arrays), tensor.fill).validate()


def test_what_a_modifier_leads_to_is_looked_at_too() -> None:
    """An instance of a thread's own."""
    tensor = Tensor.from_numpy("Dense(Shard(dev, SparsePoint(Element(0))))", [[0, 5], [3, 0]], devices=COUNTS)
    with pytest.raises(InputError, match="level 2 SparsePoint, fiber 2, index 3: it is out of bounds"):
        spoiled(tensor, (2, "idx", (("dev", 1),)), 2, 3).validate()
