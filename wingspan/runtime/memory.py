"""Conversion of tensors to and from a plan's buffers, without copying where these hold arrays in their given form."""

from __future__ import annotations

from collections.abc import Mapping

from wingspan.base.libraries import np
from wingspan.buffers.stored import Stored
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.tensors.frozen import Frozen, Key, collect
from wingspan.tensors.tensor import Tensor, require_order


def buffers(name: str, tensor: Tensor) -> Mapping[Key, Stored]:
    """The contents of an input's buffers, by depth, name and instance; missing ones are empty.

    The arrays are the tensor's own, must not be written, and keep their width. InputError if they break the invariants
    of its levels: nothing may run on such an input.
    """
    require_order(name, tensor)
    return arrays_of(tensor)


def arrays_of(tensor: Tensor) -> Mapping[Key, Stored]:
    """The same of a tensor whose arrays are known to be in order."""
    frozen = tensor.data if isinstance(tensor.data, Frozen) else collect(tensor.tower, tensor.data.values)
    return frozen.arrays


def result(tower: Tower, arrays: Mapping[Key, np.ndarray | Stored], fill: Value) -> Tensor:
    """The tensor whose buffers, in read mode, hold these arrays, with cell 1 first; it keeps them unchanged.

    They must live on, and not be changed. Cells beyond an array, and buffers without one, hold zero. A hashed buffer
    is a `Stored.from_cells`. Arrays should end where the cells in use end: SciPy copies a view of less than half of an
    array. `fill` is the fill value of the tensor's last declaration.
    """
    stored = {key: array if isinstance(array, Stored) else Stored(array) for key, array in arrays.items()}
    return Tensor(tower, Frozen(tower, stored), fill)
