"""Tensors into and out of the buffers that a plan runs on, without copying where these hold arrays as they came."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wingspan.buffers.stored import Stored
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.tensors.frozen import Frozen, Key, collect
from wingspan.tensors.tensor import Tensor, require_order


def buffers(name: str, tensor: Tensor) -> Mapping[Key, Stored]:
    """What the buffers of an input hold, by depth, name and instance; those that are missing are empty.

    The arrays are the tensor's own, not to be written, as wide as they came. InputError if they break the invariants
    of its levels: nothing may run on such an input.
    """
    require_order(name, tensor)
    return arrays_of(tensor)


def arrays_of(tensor: Tensor) -> Mapping[Key, Stored]:
    """The same of a tensor whose arrays are known to be in order."""
    frozen = tensor.data if isinstance(tensor.data, Frozen) else collect(tensor.tower, tensor.data.values)
    return frozen.arrays


def result(tower: Tower, arrays: Mapping[Key, np.ndarray | Stored], fill: Value) -> Tensor:
    """The tensor whose buffers, in read mode, hold these arrays, with cell 1 first; it keeps them as they are.

    They must live on, and stay as they are. Cells beyond an array, and buffers without one, hold zero. A hashed buffer
    is a `Stored.scattered`. Arrays best end where what is in use ends: SciPy copies a view of less than half of an
    array. `fill` is the fill value that the tensor was declared with last.
    """
    stored = {key: array if isinstance(array, Stored) else Stored(array) for key, array in arrays.items()}
    return Tensor(tower, Frozen(tower, stored), fill)
