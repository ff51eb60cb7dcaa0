"""Operands of a whole expression: inputs, in any order of axes that a program may need, and intermediate results."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import expm1, inf
from typing import Any, NamedTuple

from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.choices.transposed import Order, Transposed, as_format, transpose_matrix
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.lang.printer import show
from wingspan.lang.widths import BY_DTYPE, Width
from wingspan.lang.words import equal_or_nan
from wingspan.levels import Modifier, usual
from wingspan.tensors.foreign import Filled, RunArray, interpret, is_arrow, kind_of, zero
from wingspan.tensors.pairs import of_pairs
from wingspan.tensors.tensor import Tensor, require_array

MOVE = {True: 10.0, False: 2.0}
"""The cost of moving an element into another order of axes: of a sparse input, of a dense one."""

HYPERSPARSE = 8
"""Levels above others are SparseList if they have so many times more indices than elements, else they may be Dense."""


class Operand(ABC):
    """An operand of an expression: an input, or an intermediate result.

    Attributes:
        name: what the expression calls it.
        shape: the extents, in the order of the subscripts.
        fill: the value of the elements that are not stored.
        sparse: whether there may be such.
        stored: the number of the others, perhaps as it is expected.
        width: that of its elements.
        native: the order in which its elements lie in memory; None if they lie in none, or in any that is asked for.
    """

    name: str
    shape: tuple[int, ...]
    fill: ir.Value
    sparse: bool
    stored: float
    width: Width
    native: Order | None

    @property
    def kind(self) -> str:
        """The kind of its elements: int, float or bool."""
        return self.width.kind

    @abstractmethod
    def dense(self, order: Order) -> tuple[bool, ...]:
        """Whether each level, root first, has a child for every index."""

    @abstractmethod
    def moving(self, order: Order) -> float:
        """The work to bring its elements into an order."""

    def preparation_work(self, order: Order) -> float:
        """The work of the program to compute it in an order of axes; infinite if it cannot."""
        return 0.0

    @property
    def least_work(self) -> float:
        """The least of it."""
        return 0.0

    def can_begin(self, order: Order, depth: int) -> bool:
        """Whether the program may have it in an order of axes that begins with so many axes of this one."""
        return True

    def elements(self, order: Order) -> float:
        """The number of elements that it stores in an order of axes."""
        return self.stored

    def expected_fibers(self, order: Order) -> tuple[float, ...]:
        """The expected number of fibers at each level, and of elements at the end, if elements are at random places."""
        found, places, stored = [1.0], 1, self.elements(order)
        for dense, axis in zip(self.dense(order), order, strict=True):
            places *= self.shape[axis]
            most = found[-1] * self.shape[axis]
            found.append(most if dense else min(most, expected_occupied(places, stored)))
        return tuple(found)


class OperandLayout(NamedTuple):
    """An intermediate result in one order of its axes: as `Operand`, and the work of all that it takes."""

    dense: tuple[bool, ...]
    elements: float
    work: float


class Intermediate(Operand):
    """An intermediate result, in an order of axes that its readers choose."""

    native = None

    def __init__(
        self, name: str, shape: tuple[int, ...], fill: ir.Value, width: Width, layouts: Mapping[Order, OperandLayout]
    ) -> None:
        """Args: as the attributes; and the orders of axes in which it can be computed, at least one."""
        self.name, self.shape, self.fill, self.width, self._layouts = name, shape, fill, width, layouts
        best = min(layouts.values(), key=lambda layout: layout.work)
        self.stored, self._least = best.elements, best
        self.sparse = not all(all(layout.dense) for layout in layouts.values())
        self._beginnings = {order[:depth] for order in layouts for depth in range(len(order) + 1)}

    def dense(self, order: Order) -> tuple[bool, ...]:
        return self._layouts.get(order, self._least).dense

    def elements(self, order: Order) -> float:
        return self._layouts.get(order, self._least).elements

    def moving(self, order: Order) -> float:
        return 0.0

    def preparation_work(self, order: Order) -> float:
        return self._layouts[order].work if order in self._layouts else inf

    @property
    def least_work(self) -> float:
        return self._least.work

    def can_begin(self, order: Order, depth: int) -> bool:
        return order[:depth] in self._beginnings


class Input(Operand):
    """One input. Its tensors, one for each order of axes that a program reads, are made when they are needed."""

    def __init__(self, name: str, data: Any, rank: int) -> None:
        """Args: the name, what the user gives for it, and how many subscripts it has. InputError if it is no tensor."""
        self.name = name
        try:
            self._data, self.fill = _adopt(data, rank)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", error.span, fix=error.fix) from None
        self.shape = tuple(int(n) for n in self._data.shape)
        dense = isinstance(self._data, np.ndarray)
        self.stored = int(self._data.size if dense else self._data.nnz)
        self.sparse = not (all(_lookups(self._data.stored)) if isinstance(self._data, Transposed) else dense)
        self.width = BY_DTYPE[self._data.dtype.newbyteorder("=").name]
        self.native = _native(self._data)
        self._tensors: dict[Order, Tensor] = {}

    def moving(self, order: Order) -> float:
        return 0.0 if order == self.native or len(order) < 2 else MOVE[self.sparse] * self.stored

    @property
    def traits(self) -> tuple[Any, ...]:
        """All that choices depend on."""
        native = None if self.native is None else self.format(self.native)
        return self.name, self.shape, self.stored, self.sparse, self.native, native, self.width, repr(self.fill)

    @cached_property
    def _values(self) -> np.ndarray:
        """The stored elements."""
        if isinstance(self._data, Transposed):
            return np.asarray(self._data.stored.coordinates()[1])
        if isinstance(self._data, np.ndarray):
            return self._data
        data = self._data
        if data.format not in ("csr", "csc") or not data.has_canonical_format:
            data = scipy.sparse.coo_array(data)  # shares the arrays, and is not the user's own
            data.sum_duplicates()
        return np.asarray(data.data)

    @cached_property
    def largest(self) -> float:
        """No element is of a greater magnitude; infinite if one is NaN."""
        values = self._values
        ends = [float(end) for end in (values.min(), values.max())] if values.size else []
        largest = float(np.max(np.abs([float(self.fill), *ends])))
        return largest if largest == largest else inf

    @cached_property
    def least_magnitude(self) -> float:
        """No element but 0 is of a smaller magnitude; infinite if there is none."""
        values = self._values
        if values.dtype.kind != "f":
            return 1.0
        return min(abs(float(self.fill)) or inf, float(np.abs(values[values != 0]).min(initial=inf)))

    def dense(self, order: Order) -> tuple[bool, ...]:
        if isinstance(self._data, Transposed) and order == self.native:
            return _lookups(self._data.stored)
        if not self.sparse:
            return (True,) * len(order)
        return tuple(depth == 0 and self.shape[n] <= HYPERSPARSE * max(self.stored, 1) for depth, n in enumerate(order))

    def format(self, order: Order) -> str:
        """The format of the tensor with this order of axes."""
        if isinstance(self._data, Transposed) and order == self.native:
            return str(self._data.stored.tower)
        return format_of(self.dense(order), leaf(self.fill, self.width))

    def tensor(self, order: Order) -> Tensor:
        """The tensor whose axes are, root first, those of `order`: its last subscript is that of `order[0]`."""
        if order not in self._tensors:
            self._tensors[order] = self._make_tensor(order)
        return self._tensors[order]

    def _make_tensor(self, order: Order) -> Tensor:
        axes, form, data = order[::-1], self.format(order), self._data
        if isinstance(data, Transposed):
            if order == self.native:
                return data.stored
            return Transposed(data.stored, tuple(data.axes[axis] for axis in axes)).tensor(form)
        if isinstance(data, np.ndarray):
            return Tensor.from_numpy(as_format(form), data.transpose(axes), borrow=True)
        turned = transpose_matrix(data, axes)
        turned = turned.tocsc() if turned.format == "csr" else turned
        return Tensor.from_scipy(as_format(form), Filled(turned, self.fill), borrow=True)


def plain_traits(data: Any) -> tuple[tuple[int, ...], str] | None:
    """The extents and the kind of an array of NumPy or SciPy; None of others, which must be looked at."""
    sparse = getattr(data, "format", None) in ("csc", "csr", "coo") and scipy.sparse.issparse(data)
    width = _width_of(data.dtype) if sparse or type(data) is np.ndarray else None
    return None if width is None else (data.shape, width.kind)


@lru_cache(maxsize=64)
def _width_of(dtype: np.dtype[Any]) -> Width | None:
    """The width of elements; None for other ones. NumPy takes long to make the name of a type."""
    return BY_DTYPE.get(dtype.name) if dtype.isnative else None


def format_of(dense: Sequence[bool], form: str, sparse: str = usual.ASCENDING) -> str:
    """A format of Dense levels and others, root first, around a leaf."""
    for each in reversed(dense):
        form = f"{usual.ALL if each else sparse}({form})"
    return form


def leaf(fill: ir.Value, width: Width) -> str:
    """The leaf with a fill value, for elements of a width."""
    value = ir.Literal(float(fill) if width.kind == "float" else fill)
    return f"{usual.LEAF}({show(value)}{f', {width}' if width.narrow else ''})"


def expected_occupied(places: float, elements: float) -> float:
    """The expected number of places with an element, if each element is at a random place."""
    return -places * expm1(-elements / places) if places else 0.0


def _lookups(tensor: Tensor) -> tuple[bool, ...]:
    return tuple(level.lookup for level in tensor.tower.storage)


def _native(data: Any) -> Order | None:
    axes = tuple(range(len(data.shape)))
    if isinstance(data, Transposed):
        return data.order
    if len(axes) < 2:
        return axes
    if scipy.sparse.issparse(data):
        return {"csr": axes, "csc": axes[::-1]}.get(data.format)
    return axes if data.flags.c_contiguous else axes[::-1] if data.flags.f_contiguous else None


def _adopt(data: Any, rank: int) -> tuple[Any, ir.Value]:
    """The user's data as Transposed, a NumPy array or a SciPy sparse array, and the value of elements not stored."""
    if isinstance(data, str | os.PathLike):
        data = Tensor.from_file(None, data)
    elif is_arrow(data):
        data = _in_runs(data)
    if of_pairs(data) or (isinstance(data, Tensor) and data.tower.elements.is_packed):
        raise InputError("its elements are pairs", fix="give an array of integers, doubles or booleans")
    if isinstance(data, Tensor):
        data = Transposed(data, tuple(range(len(data.shape))))
    if isinstance(data, Transposed):
        return Transposed(_plain_tensor(data.stored), data.axes), double(data.fill)
    data = interpret(data, rank)
    given = require_array(data.array if isinstance(data, Filled) else data)
    if given.dtype == object:
        raise InputError("its elements are Python objects", fix="give an array of integers, doubles or booleans")
    if not scipy.sparse.issparse(given):
        return given, zero(given.dtype)
    kind = kind_of(Filled(given, data.fill))
    if kind is float and given.dtype.kind != "f":
        given = given.astype(np.float64)
    return given, kind(data.fill)


def _plain_tensor(tensor: Tensor) -> Tensor:
    """The tensor without modifiers and patterns, in a format with its own fill value."""
    tower, fill = tensor.tower, double(tensor.fill)
    modified = any(isinstance(level, Modifier) for level in tower.levels)
    if not (modified or tower.leaf.implied or not equal_or_nan(tensor.fill, tower.fill)):
        return tensor
    form = format_of(_lookups(tensor), leaf(fill, tower.width))
    return Transposed(tensor, tuple(range(tower.rank))).tensor(form)


def _in_runs(data: Any) -> Any:
    """An array of Arrow as a RunList if it is run-end encoded, else as a NumPy array."""
    runs = interpret(data, 1)
    if not isinstance(runs, RunArray):
        return runs
    element = leaf(zero(runs.values.dtype), BY_DTYPE[runs.values.dtype.name])
    return Tensor.from_arrow(format_of([False], element, usual.RUNS), data)
