"""Libraries of sparse arrays as engines: evaluates an einsum by functions with the names of the array API.

See https://data-apis.org/array-api/latest for what the functions mean. Loops become axes: each access is transposed to
the order of the loops, gets an axis of extent 1 for each loop that it lacks, and functions broadcast from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.elaborate import Elaborated
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.algebra import apply, double
from wingspan.lang.operators import BITS, OPERATORS
from wingspan.tensors.tensor import Coordinates, Tensor

FUNCTIONS = {symbol: op.array for symbol, op in OPERATORS.items() if op.array}
REDUCTIONS = {"+": "sum", "-": "sum", "*": "prod", "min": "min", "max": "max", "&&": "all", "||": "any"}
COMBINED = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum,
    "&&": np.logical_and, "||": np.logical_or,
}  # fmt: skip
"""The functions that combine a reduced value with the initial value."""


@dataclass
class ArrayEngine:
    """A library of arrays, as an engine. It runs programs that are one einsum; any other program is an InputError.

    `functions` maps names of the array API (`add`, `multiply`, `sum`, `permute_dims`, `expand_dims`, …) to functions of
    the library. A module that implements the array API will do. The engine skips programs that need a missing
    function, or one that raises NotImplementedError. A product of two accesses uses `tensordot`, if available;
    everything else uses broadcasting.
    """

    name: str
    make: Callable[[Coordinates], Any]
    """makes an array of the library from the stored elements of a tensor"""
    functions: Any
    dense: Callable[[Any], Any]
    """makes an object for `numpy.asarray` from an array of the library, or from the number of a full reduction"""
    duplicates: bool = False
    """whether `make` gets each element as two parts at equal subscripts, whose sum is the element"""
    unchecked: bool = True
    """as for every engine: integers wrap"""
    nonfinite: bool = False

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The output of an einsum."""
        einsum, tensors = program.einsum(), dict(program.inputs)
        if isinstance(einsum.op, ir.Function):
            raise NotImplementedError(f"updates by {einsum.op}")
        tower = program.towers[einsum.output]
        reduced = Evaluation(self, einsum, tensors).reduce()
        init = np.full(tower.shape, double(einsum.init.value))
        result = reduced if einsum.op == "=" else COMBINED[einsum.op](init, reduced)
        wanted, found = tower.dtype, result.dtype
        if not np.can_cast(found, wanted, "same_kind") or wanted not in (np.int64, np.float64, np.bool_):
            raise InputError(f"{self.name} keeps no {found} in the elements of {einsum.output}, which are {wanted}")
        return {einsum.output: np.broadcast_to(result, tower.shape).astype(wanted)}

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the library."""
        found = getattr(self.functions, name, None)
        if found is None:
            raise NotImplementedError(f"there is no function {name}")
        return found  # type: ignore[no-any-return]

    def array(self, tensor: Tensor) -> Any:
        """A tensor as an array of the library."""
        stored = tensor.to_coo()
        return self.make(split(stored) if self.duplicates else stored)


def split(stored: Coordinates) -> Coordinates:
    """The same elements, every second one in two parts, the second halves at the end. As it is if the fill is not 0.

    For an engine that stores coordinates itself: a `Tensor` has each element once, whatever it was made from.
    """
    if stored.values.dtype == np.bool_ or stored.fill != 0:
        return stored
    at, values = stored.subscripts, stored.values
    halves = values[::2] // 2
    rest = values.copy()
    rest[::2] -= halves
    return stored._replace(subscripts=np.hstack([at, at[:, ::2]]), values=np.concatenate([rest, halves]))


@dataclass(frozen=True)
class Axes:
    """An array of the library and the loops that its axes stand for, in the order of the loops."""

    array: Any
    loops: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """One einsum, being evaluated."""

    engine: ArrayEngine
    einsum: Einsum
    tensors: Mapping[str, Tensor]

    def reduce(self) -> np.ndarray:
        """The expression, reduced over the loops that the output has no axis for; extent 1 where it has no loop."""
        einsum = self.einsum
        if einsum.op in BITS:
            raise NotImplementedError(f"{einsum.op} of arrays")
        lost = [index for index in einsum.loops if index not in einsum.axes]
        assert isinstance(einsum.op, str)
        if einsum.op in ("min", "max") and not all(einsum.extents[index] for index in lost):
            return np.full((1,) * len(einsum.axes), double(einsum.init.value))
        value = self.contract()
        if value is None:
            value = self.value(einsum.expression)
            missing = set(lost) - set(value.loops if isinstance(value, Axes) else ())
            if missing:
                raise InputError(f"{self.engine.name} has no axis for {min(missing)}, which only counts iterations")
        if not isinstance(value, Axes):
            return np.full((1,) * len(einsum.axes), value)
        gone = tuple(k for k, index in enumerate(value.loops) if index in lost)
        array = self.call(REDUCTIONS[einsum.op], value.array, axis=gone) if gone else value.array
        kept = tuple(index for index in value.loops if index in einsum.axes)
        order = tuple(index for index in einsum.axes if index in kept)
        made = np.asarray(self.engine.dense(self.transpose(Axes(array, kept), order)))
        return made.reshape([einsum.extents[index] if index in kept else 1 for index in einsum.axes])

    def contract(self) -> Axes | None:
        """A sum of products of two accesses by `tensordot`, if there is one, and if no axis of both is kept."""
        match self.einsum:
            case Einsum(op="+", expression=ir.Call(op="*", args=(ir.Access() as one, ir.Access() as other))):
                left, right = self.access(one), self.access(other)
            case _:
                return None
        shared = [index for index in left.loops if index in right.loops]
        unshared = {*left.loops, *right.loops} - {*shared, *self.einsum.axes}
        if not shared or unshared or {*shared} & {*self.einsum.axes}:
            return None
        if getattr(self.engine.functions, "tensordot", None) is None:
            return None
        over = tuple(tuple(side.loops.index(index) for index in shared) for side in (left, right))
        array = self.call("tensordot", left.array, right.array, axes=over)
        return Axes(array, tuple(index for index in (*left.loops, *right.loops) if index not in shared))

    def value(self, expression: ir.Expression) -> Any:
        """An array, or a number."""
        match expression:
            case ir.Literal(value=value):
                return double(value)
            case ir.Index(name=name):
                return Axes(self.engine.make(_counting(self.einsum.extents[name])), (name,))
            case ir.Access():
                return self.access(expression)
            case ir.Call(op=str() as op, args=args):
                return self.apply(op, [self.value(each) for each in args])
        raise NotImplementedError(f"{type(expression).__name__} in an einsum")

    def access(self, access: ir.Access) -> Axes:
        """A tensor with its axes in the order of the loops."""
        names = tuple(index.name for index in access.subscripts if isinstance(index, ir.Index))
        if len(set(names)) < len(names):
            raise NotImplementedError("a diagonal")
        order = tuple(index for index in self.einsum.loops if index in names)
        array = self.engine.array(self.tensors[access.fiber.tensor])
        return Axes(self.transpose(Axes(array, names), order), order)

    def transpose(self, value: Axes, order: tuple[str, ...]) -> Any:
        if value.loops == order:
            return value.array
        return self.call("permute_dims", value.array, axes=tuple(map(value.loops.index, order)))

    def apply(self, op: str, args: Sequence[Any]) -> Any:
        """A function of arrays and numbers."""
        arrays = [each for each in args if isinstance(each, Axes)]
        if not arrays:
            return double(apply(op, *args))
        if op not in FUNCTIONS:
            raise NotImplementedError(f"{op} of arrays")
        name = "negative" if op == "-" and len(args) == 1 else FUNCTIONS[op]
        loops = tuple(index for index in self.einsum.loops if any(index in each.loops for each in arrays))
        given = [self.expand(each, loops) if isinstance(each, Axes) else each for each in args]
        return Axes(self.call(name, *given), loops)

    def expand(self, value: Axes, loops: tuple[str, ...]) -> Any:
        """The array with an axis for each of the loops, of extent 1 where it has none."""
        array = value.array
        for axis, index in enumerate(loops):
            if index not in value.loops:
                array = self.call("expand_dims", array, axis=axis)
        return array

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.engine.function(name)(*args, **options)


def _counting(extent: int) -> Coordinates:
    numbers = np.arange(extent, dtype=np.int64)
    return Coordinates(numbers[None], numbers + 1, 0, (extent,))
