"""`Tensor.validate` accepts every tensor that is made here, and says of others which entry of which fiber is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, frozen
from wingspan import Tensor
from wingspan.buffers.stored import Stored
from wingspan.errors import InputError
from wingspan.tensors.frozen import Frozen, Key
from wingspan.testing.formats import tensors

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
    values[offset - 1] = value
    return Tensor(tensor.tower, Frozen(tensor.tower, {**tensor.data.arrays, key: Stored(values)}), tensor.fill)


@pytest.mark.parametrize(
    ("level", "buffer", "offset", "value", "message"),
    [
        ("SparseList", "idx", 2, 1, "the indices of a fiber do not ascend"),
        ("SparseRunList", "ptr", 2, 9, "level 2 SparseRunList: its pointers are not in order"),
        ("SparseRunList", "left", 1, 3, "level 2 SparseRunList, fiber 2, entry 1: it ends before it begins"),
        ("SparseRunList", "right", 1, 4, "level 2 SparseRunList, fiber 2, entry 2: it overlaps the one before it"),
        ("RunList", "right", 2, 2, "level 2 RunList, fiber 2, entry 2: it ends before it begins"),
        ("RunList", "right", 6, 3, "level 2 RunList, fiber 3, entry 6: it ends before it begins"),
        ("RunList", "right", 7, 5, "level 2 RunList, fiber 3, entry 7: it ends before it begins"),
        ("SparseBlockList", "idx", 1, 3, "level 2 SparseBlockList, fiber 2, entry 2: it touches the one before it"),
        ("SparseBlockList", "ofs", 2, 1, "level 2 SparseBlockList, fiber 2, entry 1: it ends before it begins"),
        ("SparseBand", "lo", 3, 6, "level 2 SparseBand, fiber 3, index 7: it is out of bounds"),
        ("SparseDict", "srt", 1, 5, "level 2 SparseDict, fiber 2, index -1: it is out of bounds"),
    ],
)
def test_a_spoiled_entry_is_named(level: str, buffer: str, offset: int, value: int, message: str) -> None:
    tensor = spoiled(Tensor.from_numpy(f"Dense({level}(Element(0)))", IMAGE), (1, buffer, ()), offset, value)
    with pytest.raises(InputError, match=message):
        tensor.validate()


def test_the_last_run_ends_with_the_axis() -> None:
    tensor = spoiled(Tensor.from_numpy("RunList(Element(0))", [4, 4, 0, 0]), (0, "right", ()), 2, 3)
    with pytest.raises(InputError, match="level 2 RunList, fiber 1, entry 2: it is the last one, and ends before 4"):
        tensor.validate()


def test_what_a_modifier_leads_to_is_looked_at_too() -> None:
    """An instance of a thread's own."""
    tensor = Tensor.from_numpy("Dense(Shard(dev, SparsePoint(Element(0))))", [[0, 5], [3, 0]], devices=COUNTS)
    with pytest.raises(InputError, match="level 2 SparsePoint, fiber 2, index 3: it is out of bounds"):
        spoiled(tensor, (2, "idx", (("dev", 1),)), 2, 3).validate()
