"""The arrays that formats with a restricted pattern can hold."""

from __future__ import annotations

from functools import lru_cache

from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.lang.ir import Value
from wingspan.levels import Level, Tower
from wingspan.tensors.frozen import exact_elements, round_to_width
from wingspan.tensors.tensor import hold, load


def refusal(tower: Tower, array: np.ndarray, written: np.ndarray) -> str | None:
    """The reason that a tensor cannot hold the written elements of an array of exact values; None if it can.

    What is set to false in a `Pattern` is not stored.
    """
    if not tower.rank:
        return None
    if tower.leaf.implied:
        written = written & array.astype(np.bool_)
    try:
        if tower.elements.is_packed:
            load(tower, zip(map(tuple, (np.argwhere(written) + 1).tolist()), array[written], strict=True))
        else:
            entries = round_to_width(array[written], tower.dtype), np.nonzero(written)
            hold(tower, scipy.sparse.coo_array(entries, shape=tower.shape))
    except InputError as error:
        return error.message
    return None


@lru_cache(maxsize=1 << 12)
def partial(levels: tuple[Level, ...]) -> tuple[int, ...]:
    """The axes, from 0, on which these levels cannot hold three indices, with neighbours that differ.

    The other axes have one index.
    """
    tower = Tower(levels, ())
    values = [exact_elements[tower.kind](v) for v in (1, 0, 1)]
    return tuple(axis for axis in range(tower.rank) if not _holds(levels, tower.rank, axis, values))


def _holds(levels: tuple[Level, ...], rank: int, axis: int, values: list[Value]) -> bool:
    """Whether levels can hold these elements along an axis, if the others have one index."""
    before, after = (1,) * axis, (1,) * (rank - axis - 1)
    tower = Tower(levels, (*before, len(values), *after))
    written = (((*before, i, *after), v) for i, v in enumerate(values, start=1) if v or not tower.leaf.implied)
    try:
        load(tower, written)
    except InputError:
        return False
    return True
