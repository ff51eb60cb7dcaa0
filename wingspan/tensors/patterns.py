"""Patterns: at which subscripts tensors store elements, where these lie in one array (`frozen.Columns`).

Tensors that share a pattern may share its arrays; whether two do is seen at once, or found out once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Stored
from wingspan.lang.ir import Value
from wingspan.lang.widths import Width
from wingspan.levels import usual
from wingspan.levels.base import Tower
from wingspan.tensors._checks import equal_bytes
from wingspan.tensors.frozen import BorrowedArrays, Columns, DeferredArrays, Frozen, Key, hand_out, is_immutable
from wingspan.tensors.scipy_arrays import csc_array
from wingspan.tensors.tensor import Tensor

FEW = 64
"""Numbers that are compared first: where patterns differ, these mostly do."""

VALUES: Key = (1, "val", ())
"""The elements of a vector in a Dense level."""

_compared: WeakKeyDictionary[Tensor, WeakKeyDictionary[Tensor, bool]] = WeakKeyDictionary()
"""Whether two tensors have one pattern, if nobody can write it."""

_vectors: WeakKeyDictionary[Tensor, Tensor] = WeakKeyDictionary()
"""The elements of tensors that nobody can write."""


_patterns: WeakKeyDictionary[Tensor, Mapping[Key, Stored]] = WeakKeyDictionary()
"""The arrays of tensors that nobody can write, without the elements."""


def same_pattern(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors that are in order store elements at the same subscripts, in levels with one SparseList, the
    last.

    Arrays that both share are not compared, and what nobody can write is compared once.
    """
    if (borrowed := _borrowed_lists(x)) is not None and (others := _borrowed_lists(y)) is not None:
        same = x.shape == y.shape and len(borrowed[1]) == len(others[1])
        return same and all(_same_bytes(a, b) for a, b in zip(borrowed, others, strict=True))
    known = _compared.get(x)
    if known is not None and (found := known.get(y)) is not None:
        return found
    if (
        x.shape != y.shape
        or (a := _sparse_arrays(x)) is None
        or (b := _sparse_arrays(y)) is None
        or len(a[0]) != len(b[0])
    ):
        return False
    found = _equal(a[1:], b[1:])
    if all(is_immutable(each.values) for each in (*a[1:], *b[1:])):
        _compared.setdefault(x, WeakKeyDictionary())[y] = found
    return found


def entries(x: Tensor) -> Tensor:
    """The vector of the elements that a tensor in order stores, one array with it."""
    if (known := _vectors.get(x)) is not None:
        return known
    if _borrowed_lists(x) is not None:
        assert isinstance(x.data, Frozen) and isinstance(x.data.arrays, BorrowedArrays)
        values = x.data.arrays.arrays[0]
        tower = _vector(x.tower.fill, x.tower.width, len(values))
        return Tensor(tower, Frozen(tower, BorrowedArrays(tower, values)), x.fill)
    stored = _sparse_arrays(x)
    assert stored is not None
    tower = _vector(x.tower.fill, x.tower.width, len(stored[0]))
    made = Tensor(tower, Frozen(tower, {VALUES: Stored(stored[0])}), x.fill)
    if isinstance(x.data, Frozen) and x.data.is_immutable:
        _vectors[x] = made
    return made


def with_entries(x: Tensor, tower: Tower, vector: Mapping[Key, Stored], fill: Value) -> Tensor:
    """The tensor that stores the elements of a vector, given by its arrays, where x stores its own; it shares what
    nobody can write.
    """
    assert isinstance(x.data, Frozen)
    lists = _borrowed_lists(x)
    pattern = None if lists is None else _copied_lists(x.tower, *lists)
    if pattern is None and (pattern := _patterns.get(x)) is None:
        shared = {key: stored for key, stored in x.data.arrays.items() if key[0] != len(tower.levels) - 1}
        pattern = {key: _narrow_values(stored) for key, stored in shared.items()}
        if pattern == shared:
            _patterns[x] = pattern
    return Tensor(tower, Frozen(tower, _JoinedBuffers(tower, pattern, vector)), fill)


def with_lists(tower: Tower, ptr: np.ndarray, idx: np.ndarray, vector: Mapping[Key, Stored], fill: Value) -> Tensor:
    """The matrix with these pointers and indices, which are in order, and its own from now on; it stores the elements
    of a vector, given by its arrays.
    """
    return Tensor(tower, Frozen(tower, _ListsWithVector(tower, ptr, idx, vector)), fill)


class _ListsWithVector(DeferredArrays):
    """Pointers and indices of a tensor with the elements of a vector: see `lease.Arrays`."""

    is_borrowed = False

    def __init__(self, tower: Tower, ptr: np.ndarray, idx: np.ndarray, vector: Mapping[Key, Stored]) -> None:
        self.tower, self._ptr, self._idx, self._vector = tower, ptr, idx, vector

    @cached_property
    def _elements(self) -> np.ndarray:
        """The elements."""
        found = self._vector.get(VALUES) if len(self._idx) else None
        return np.zeros(0, self.tower.dtype) if found is None else found.values

    @cached_property
    def _all(self) -> Mapping[Key, Stored]:
        return Columns(self.tower).frozen(self._elements, self._ptr, self._idx).arrays

    def matrix(self) -> scipy.sparse.csc_array:
        """The matrix."""
        values = self._elements[: len(self._idx)].view(self.tower.dtype)
        return csc_array(hand_out(values), hand_out(self._idx), hand_out(self._ptr), self.tower.shape)


class _JoinedBuffers(DeferredArrays):
    """A pattern with the elements of a vector, which are looked up when somebody asks: see `lease.Arrays`."""

    def __init__(self, tower: Tower, pattern: Mapping[Key, Stored], vector: Mapping[Key, Stored]) -> None:
        self._tower, self._pattern, self._vector = tower, pattern, vector

    @cached_property
    def _all(self) -> Mapping[Key, Stored]:
        values = self._vector.get(VALUES) or Stored(np.zeros(0, self._tower.dtype))
        return {**self._pattern, (len(self._tower.levels) - 1, "val", ()): values}


@lru_cache(maxsize=64, typed=True)
def _vector(fill: Value, width: Width, n: int) -> Tower:
    return Tower.of(usual.vector(fill, width), (n,))


def _sparse_arrays(x: Tensor) -> tuple[np.ndarray, Stored, Stored] | None:
    """The elements, and the pointers and indices of the last level; None if that is no SparseList around them."""
    if not isinstance(x.data, Frozen) or x.data.columns is None or not x.data.columns.sparse:
        return None
    return x.data.columns.sparse_arrays(x.data)


def _borrowed_lists(x: Tensor) -> Sequence[np.ndarray] | None:
    """The pointers and indices of a tensor that is read where the caller has it; None if it is another, or has none."""
    arrays = x.data.arrays if isinstance(x.data, Frozen) else None
    return arrays.arrays[1:] or None if isinstance(arrays, BorrowedArrays) else None


def _copied_lists(tower: Tower, ptr: np.ndarray, idx: np.ndarray) -> Mapping[Key, Stored]:
    """The arrays of a tensor with these pointers and indices, of its own, without the elements."""
    found = Columns(tower).frozen(np.zeros(0, tower.dtype), ptr.copy(), idx.copy()).arrays
    return {key: stored for key, stored in found.items() if key[0] != len(tower.levels) - 1}


def _same_bytes(x: np.ndarray, y: np.ndarray) -> bool:
    return equal_bytes(x, y) if x.dtype == y.dtype else np.array_equal(x, y)


def _equal(a: tuple[Stored, ...], b: tuple[Stored, ...]) -> bool:
    return all(_same(one, other) for one, other in zip(a, b, strict=True))


def _same(x: Stored, y: Stored) -> bool:
    """Whether two arrays of numbers are equal. Which memory they lie in is looked at first, then a few of them."""
    if x.shift == y.shift and (x.values is y.values or _memory(x.values) == _memory(y.values)):
        return True
    few, others = Stored(x.values[:FEW], x.shift), Stored(y.values[:FEW], y.shift)
    return np.array_equal(few.minus_1(), others.minus_1()) and np.array_equal(x.minus_1(), y.minus_1())


def _memory(array: np.ndarray) -> object:
    return array.__array_interface__["data"], array.shape, array.strides, array.dtype


def _narrow_values(stored: Stored) -> Stored:
    return stored if is_immutable(stored.values) else Stored(stored.values.copy(), stored.shift)
