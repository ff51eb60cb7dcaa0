"""The columns of a matrix as an array of SciPy: those of one thread as they are, those of several threads copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Stored, narrow
from wingspan.lang.ir import Instance
from wingspan.levels.base import Modifier, Tower
from wingspan.tensors._checks import ordered
from wingspan.tensors._gather import PIECES, Claimed, count_members, list_members
from wingspan.tensors.frozen import Frozen, hand_out
from wingspan.tensors.parallel import map_parallel, processors
from wingspan.tensors.scipy_arrays import csc_array

PART = 1 << 19
"""Entries that are worth a thread."""


class Lists(NamedTuple):
    """SparseLists of one instance: their pointers, indices and elements."""

    ptr: Stored
    idx: Stored
    val: Stored


Places: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""Columns, and for each which of an instance's lists it is."""


ListArrays: TypeAlias = "Callable[[int, int], tuple[np.ndarray | None, np.ndarray]]"
"""The first indices and elements, so many, of a list by its number: the memory itself. None for indices from 1 on."""


class ColumnLayout(NamedTuple):
    """The place of the columns of a matrix: in SparseLists around the leaf at a depth."""

    depth: int
    claimant: Modifier | None
    """the modifier around these, in which each thread has its own; None if there is one for all"""
    claims: tuple[str, str] | None
    """the buffers of the claimant that say which list has a column"""


@lru_cache(maxsize=64)
def _layout(tower: Tower) -> ColumnLayout | None:
    """The layout of a matrix that has all columns, in one SparseList or one for each thread; None if it is another."""
    layouts = [level.layout for level in tower.levels]
    if tower.rank != 2 or layouts[:1] + layouts[-2:] != ["all", "pointers", "values"]:
        return None
    match tower.levels[1:-2]:
        case ():
            return ColumnLayout(1, None, None)
        case (Modifier() as claimant,):
            names: list[str] = []

            def note(name: str) -> Stored:
                names.append(name)
                return Stored.of()

            claimant.claims(note)
            return ColumnLayout(2, claimant, (names[0], names[1])) if len(names) == 2 else None
    return None


def claimed_columns(frozen: Frozen) -> scipy.sparse.csc_array | None:
    """The columns of a matrix that has all of them, each in the SparseLists of the thread that has claimed it, or all
    in the only ones. None if it is none such, or not in order.
    """
    tower, arrays = frozen.tower, frozen.arrays
    if (matrix := getattr(arrays, "matrix", None)) is not None:  # it is in order for certain
        return matrix()
    layout = _layout(tower)
    if layout is None:
        return None
    depth, claimant, names = layout
    claims: tuple[Stored, Stored] | None = None
    paths: Sequence[Instance] = [()]
    if (
        find := getattr(arrays, "claimed_columns", None)
    ) is not None:  # the memory of a run, which need not be looked through
        found = find(depth, None if claimant is None else claimant.key, names, tower.shape[1], tower.dtype)
        if found is not None:
            made, list_arrays = found
            return _as_matrix(made, list_arrays, tower)
    if claimant is not None:
        claims = claimant.claims(lambda name: arrays.get((1, name, ())) or Stored.of())
        if claims is None:
            return None
        threads = max([path[0][1] for level, _, path in arrays if level == depth and path], default=0)
        paths = [((claimant.key, t),) for t in range(1, threads + 1)]
    return _join([lists_of(frozen, depth, path) for path in paths], claims, tower)


def lists_of(frozen: Frozen, depth: int, path: Instance) -> Lists:
    """The SparseLists of an instance around the leaf."""
    ptr, idx = (frozen.arrays.get((depth, name, path)) or Stored.of() for name in ("ptr", "idx"))
    val = frozen.arrays.get((depth + 1, "val", path)) or Stored(np.zeros(0, frozen.tower.dtype))
    return Lists(ptr, idx, val)


def side_by_side(lists: Sequence[Lists], places: Iterable[Places], tower: Tower) -> scipy.sparse.csc_array | None:
    """The columns of a matrix in order; None if they are not in order."""
    child, owner = np.zeros((2, tower.shape[1]), dtype=np.int64)
    for number, (columns, positions) in enumerate(places, start=1):
        child[columns], owner[columns] = positions + 1, number
    return _join(lists, (Stored(child), Stored(owner)), tower)


def _join(lists: Sequence[Lists], claims: tuple[Stored, Stored] | None, tower: Tower) -> scipy.sparse.csc_array | None:
    """The columns, of which each is the fiber, counted from 1, of one of the lists; or fiber j of the only one. None if
    they are not in order.
    """
    shape, dtype = tower.shape, tower.dtype
    buffers = [*(claims or ()), *(each for part in lists for each in part)]
    if len(lists) > PIECES or any([each.at is not None for each in buffers]):
        return None
    child, owner = (None, None) if claims is None else (each.logical(_numbers(each)[0].dtype) for each in claims)
    parts = [(*_numbers(p), *_numbers(i), v.values.view("b")) for p, i, v in lists]

    def arrays(number: int, entries: int) -> tuple[np.ndarray | None, np.ndarray]:
        _, idx, val = lists[number - 1]
        return idx.values[:entries] if idx.shift == 1 else None, val.values[:entries].view(dtype)

    return _as_matrix(Claimed(child, owner, parts, shape[1], dtype.itemsize), arrays, tower)


def members(frozen: Frozen) -> tuple[np.ndarray, np.ndarray] | None:
    """The indices, from 0, and the values of a vector that has words of bits around the leaf, all in one instance. None
    if it is none such, or not in order.
    """
    tower, arrays = frozen.tower, frozen.arrays
    if not _is_bitmap(tower):
        return None
    depth, position = 0, np.zeros(1, dtype=np.int64)
    instance: Instance = ()

    def find(name: str) -> Stored:
        return arrays.get((depth, name, instance)) or Stored.of()

    for level in tower.levels[:-2]:
        assert isinstance(level, Modifier)
        inside = list(level.unpack(find, position))
        if len(inside) != 1 or inside[0].positions.tolist() != [0]:
            return None
        key, depth = inside[0].key, depth + 1
        instance = instance if key is None else (*instance, (level.key, key))
    words, summary = find("tbl"), find("top")
    val = arrays.get((depth + 1, "val", instance)) or Stored.of()
    if any([each.at is not None or each.shift for each in (words, summary, val)]):
        return None
    (extent,) = tower.shape
    count = count_members(words.values, summary.values, extent)
    if count < 0:
        return None
    rows: np.ndarray = np.empty(count, narrow(extent))
    list_members(words.values, rows)
    if count and rows[-1] >= len(val.values):
        return None
    return rows, val.values[rows].astype(tower.dtype, copy=False)


@lru_cache(maxsize=64)
def _is_bitmap(tower: Tower) -> bool:
    """Whether a tensor is a vector that has words of bits around the leaf, below modifiers alone."""
    return tower.rank == 1 and [level.layout for level in tower.levels[-2:]] == ["words", "values"] and tower.packs


def _as_matrix(made: Claimed, arrays: ListArrays, tower: Tower) -> scipy.sparse.csc_array | None:
    """The columns of lists in order; None if they are not in order.

    Nothing but pointers is made if one list has all columns in order, and its indices count from 0.
    """
    shape, dtype = tower.shape, tower.dtype
    ptr: np.ndarray = np.empty(shape[1] + 1, narrow(max(shape)))
    number = made.place(ptr)
    if number == Claimed.TOO_LARGE:
        ptr = np.empty(len(ptr), np.int64)
        number = made.place(ptr)
    if number < 0:
        return None
    entries = int(ptr[-1])
    if not entries:
        return scipy.sparse.csc_array(shape, dtype=dtype)
    indices, whole = arrays(number, entries) if number else (None, None)
    if indices is not None and whole is not None and indices.dtype == ptr.dtype:
        in_order = ordered(ptr, 0, indices, 0, entries, shape[1], shape[0])
        return csc_array(hand_out(whole), hand_out(indices), ptr, shape) if in_order else None
    copied: np.ndarray = np.empty(entries if whole is None else 0, dtype)
    rows: np.ndarray = np.empty(entries, ptr.dtype)
    bounds = [0, shape[1]]
    if (threads := min(processors(), entries // PART)) > 1:
        bounds[1:1] = np.searchsorted(ptr, entries // threads * np.arange(1, threads)).tolist()

    def copy(part: tuple[int, int]) -> bool:
        return made.copy(ptr, *part, shape[0], rows, copied.view("b"))

    if not all(list(map_parallel(copy, pairwise(bounds))) if threads > 1 else [copy((0, shape[1]))]):
        return None
    return csc_array(hand_out(copied if whole is None else whole), rows, ptr, shape)


def _numbers(stored: Stored) -> tuple[np.ndarray, int]:
    """The cells of a buffer as integers of 32 or 64 bits, and what they count from."""
    fits = stored.values.dtype in (np.int32, np.int64)
    return stored.values if fits else stored.values.astype(np.int64), 1 - stored.shift
