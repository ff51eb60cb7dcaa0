"""Vectors of words of bits, as threads merge them, are listed in one pass, and only if the words are in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wingspan.buffers.stored import Stored
from wingspan.tensors.cells import Cells
from wingspan.tensors.frozen import Frozen, collect
from wingspan.tensors.gather import members
from wingspan.tensors.tensor import Tensor

FORMS = [
    "SparseByteMap(Element(0.0))",
    "SparseByteMap(Atomic(false))",
    "Merge(dev, SparseByteMap(Element(0)))",
    "Mutex(SparseByteMap(Element(0.0)))",
    "Isolate(Merge(dev, SparseByteMap(Element(0))))",
    "Shard(dev, SparseByteMap(Element(0)))",
]


def frozen(form: str, array: np.ndarray) -> Frozen:
    """The arrays of a tensor."""
    made = Tensor.from_numpy(form, array, devices={"dev": 2})
    return collect(made.tower, made.data.values) if isinstance(made.data, Cells) else made.data


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4097])
@pytest.mark.parametrize("density", [0, 0.02, 1])
def test_the_elements_are_those_of_the_array(form: str, n: int, density: float) -> None:
    """None, few and all, where the last word is full and where it is not, and where there are two words of summary."""
    random = np.random.default_rng(n)
    array = random.integers(1, 5, n) * (random.random(n) < density)
    array = array.astype(bool) if "false" in form else array
    data = frozen(form, array)
    found = members(data)
    if form.startswith(("Isolate", "Shard")) and data.tower.levels[0].discipline and not array.any() and found is None:
        return  # no instance has been made
    assert found is not None
    rows, values = found
    assert np.array_equal(rows, np.flatnonzero(array)) and np.array_equal(values, array[rows])
    assert values.dtype == data.tower.dtype and rows.dtype == np.int32


def changed(name: str, cells: Any) -> Frozen:
    """A vector of 70 elements, of which 1, 65 and 70 are stored, with one buffer replaced."""
    array = np.zeros(70)
    array[[0, 64, 69]] = 1.0, 2.0, 3.0
    data = frozen("SparseByteMap(Element(0.0))", array)
    depth = 1 if name == "val" else 0
    return Frozen(data.tower, {**data.arrays, (depth, name, ()): Stored(np.array(cells))})


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("tbl", [1, 33 | 1 << 6]),  # index 71 of 70
        ("tbl", [1, 33 | -(1 << 63)]),
        ("tbl", [1, 0]),  # the summary says that the second word is not 0
        ("tbl", [1]),
        ("top", [1]),
        ("top", []),
        ("val", np.ones(69)),
    ],
)
def test_words_that_are_not_in_order_are_left_to_the_operations(name: str, cells: Any) -> None:
    """Bits beyond the extent, a summary that is not true, elements that are not there."""
    assert members(changed(name, np.array(cells, dtype=None if name == "val" else np.int64))) is None


def test_cells_after_those_in_use_do_not_matter() -> None:
    """As in the memory of a run."""
    found = members(changed("val", np.ones(200)))
    assert found is not None and found[0].tolist() == [0, 64, 69]
