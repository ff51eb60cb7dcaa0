"""Arrays with the attributes that are read of those of pydata/sparse.

The library compiles itself when it is loaded, which takes a second and 85 MB. Tests of its own arrays are deep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse


@dataclass
class Stored:
    """The parts that arrays of both formats have."""

    data: np.ndarray
    shape: tuple[int, ...]
    fill_value: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def nodes(self) -> dict[str, Any]:
        """The arrays of a file that has it."""
        return {"format": self.format, **vars(self)}  # type: ignore[attr-defined]


@dataclass
class Coordinates(Stored):
    """Like `sparse.COO`."""

    coords: np.ndarray
    format = "coo"


@dataclass
class Compressed(Stored):
    """Like `sparse.GCXS`."""

    indices: np.ndarray
    indptr: np.ndarray
    compressed_axes: tuple[int, ...]
    format = "gcxs"

    def tocoo(self) -> Coordinates:
        """With one axis, its indices are all that there is."""
        return Coordinates(self.data, self.shape, self.fill_value, self.indices[None])


def coordinates(array: np.ndarray, fill: Any = 0) -> Coordinates:
    """The elements of an array that differ from a fill value."""
    places = np.nonzero(array != fill)
    return Coordinates(array[places], array.shape, array.dtype.type(fill), np.array(places))


def compressed(array: np.ndarray, *axes: int) -> Compressed:
    """The elements of an array that are not zero, by its axes in ascending order, of which some are compressed."""
    others = [axis for axis in range(array.ndim) if axis not in axes]
    rows = int(np.prod([array.shape[axis] for axis in axes]))
    made = scipy.sparse.csr_array(array.transpose(*axes, *others).reshape(rows, -1))
    return Compressed(made.data, array.shape, array.dtype.type(0), made.indices, made.indptr, axes)
