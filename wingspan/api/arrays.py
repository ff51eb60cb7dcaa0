"""Lazy arrays: expressions over index axes, computed as a whole by `einsum`.

An axis of a lazy array is the name of an index, and its value an expression of the language. An operator joins
expressions, with the indices of the first one in place of those of the others; a reduction drops indices. So a tree of
operators with one reduction at its root is one einsum. Whatever uses a reduction reads its value, computed once, and so
does an operator whose operands have too many operators for one program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property, reduce
from itertools import chain, count
from math import prod
from operator import mul
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsIndex

from numpy.lib.mixins import NDArrayOperatorsMixin

from wingspan import api
from wingspan.api import operators
from wingspan.api.calls import keep_recent
from wingspan.api.expressions import Computed, evaluate
from wingspan.api.names import AUTO
from wingspan.api.shapes import broadcast, normalize_axes
from wingspan.base.budget import BUDGET
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, ParseError
from wingspan.base.libraries import np
from wingspan.choices.operands import Input, plain_traits
from wingspan.elaborate.kinds import kinds_of
from wingspan.lang import algebra, ir
from wingspan.lang.affine import Affine, substitute
from wingspan.lang.functions import size
from wingspan.lang.numbers import axes as number_of_axes
from wingspan.lang.printer import show
from wingspan.lang.widths import USUAL
from wingspan.program import Program, parse

if TYPE_CHECKING:
    from wingspan.dependence import Report

_numbers = count(1)

POWERS = 8
"""The largest exponent: a power is a product."""
OPERATORS = 60
"""The most operators of one program: its text nests less deep than `layout.LIMIT`, and x + x + … stays small."""

Axis = int | Sequence[int] | None
"""The axes that are reduced; None for all."""

OF_BOOLEANS = {"+": "||", "*": "&&", "min": "&&", "max": "||"}
"""Operators that NumPy has for booleans, too, as those of the language."""
UNSIGNED = "booleans have no sign, and no difference"
"""The reason that NumPy has no `-` of booleans."""

INDICES = "ijklmnpqr"
"""The names of the first indices of an expression."""


@dataclass(frozen=True, eq=False)
class ExpressionLeaf:
    """The source behind a name in the expression of a lazy array."""

    source: Any
    """the user's array, or a lazy array that is a reduction"""
    kind: str
    """of its elements: int, float or bool"""
    name: str | None = None
    """the user's name for it"""
    change: Callable[[Computed], Any] | None = None
    """from the value of a lazy array to the array that is read"""


@dataclass(eq=False, repr=False)
class LazyTensor(NDArrayOperatorsMixin):
    """An array that is computed when it is needed, by `wingspan.compute` or `numpy.asarray`. `wingspan.lazy` makes it.

    It has the operators of NumPy's arrays, and methods and functions (`__array_namespace__`) of the array API standard,
    https://data-apis.org/array-api/latest, with their meaning. Integers have 64 bits, and overflow is a fault; `/` and
    `%` by zero are faults, too. What a sparse array does not store annihilates, as a literal 0: 0 · Inf is 0 there.
    """

    _expression: ir.Expression
    _axes: tuple[str | None, ...]
    """the index of each axis; None if it has extent 1, and the expression does not depend on it"""
    _extents: Mapping[str, int]
    """of all indices"""
    _leaves: Mapping[str, ExpressionLeaf]
    _op: str = "="
    """⊕ of the reduction over the indices that no axis has; `=` if there are none"""
    _joined: tuple[Affine, ...] | None = None
    """the axes, if they are several indices each"""
    _value: Computed | None = field(default=None)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple([1 if index is None else self._extents[index] for index in self._axes])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._axes)

    @property
    def device(self) -> str:
        """The device of its elements."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: None = None) -> LazyTensor:
        """The same array. InputError if the device is another one."""
        if device != "cpu" or stream is not None:
            raise InputError(f"there is no device {device!r}", fix="use 'cpu'")
        return self

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements: int64, float64 or bool."""
        return np.dtype(USUAL[self._kind].dtype)

    @cached_property
    def _kind(self) -> str:
        if isinstance(self._expression, ir.Access) and self._op == "=":
            return self._leaves[self._expression.fiber.tensor].kind
        kinds = kinds_of(self._expression, self._leaves)
        if kinds == {"bool"} and self._op in ("=", "&&", "||"):
            return "bool"
        return "float" if "float" in kinds else "int"

    def __repr__(self) -> str:
        extents = "×".join(map(str, self.shape)) or "a number"
        return f"<LazyTensor {self.dtype} {extents}: {_expression_text(self)[0]}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A copy of the elements for NumPy: `np.asarray`. ValueError if there must be none."""
        if copy is False:
            raise ValueError("the elements of a lazy array are copied: the value that is kept stays as it is")
        return np.array(compute(self), dtype=dtype)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The functions of the array API that there are for lazy arrays."""
        return api.namespace

    def __getitem__(self, key: Any) -> LazyTensor:
        """Elements by integers, slices, `...`, `None`, and arrays of integers or booleans, as of NumPy's arrays.

        Arrays of lazy integers or booleans are computed at once: the shape depends on them. Raises IndexOutOfBounds.
        """
        return api.indexing.select(self, key)

    def __len__(self) -> int:
        """The extent of the first axis. TypeError if there are no axes."""
        if not self.ndim:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[LazyTensor]:
        """The arrays at each index of the first axis."""
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        """The element of an array without axes. TypeError if it has some."""
        if self.ndim:
            raise TypeError("a lazy array with axes is neither true nor false: use any() or all()")
        return bool(compute(self).to_numpy())

    def __index__(self) -> int:
        """The integer of an array without axes. TypeError if it has some, or another type."""
        if self.ndim or self._kind != "int":
            raise TypeError("only an integer without axes is an index")
        return int(self)

    def __float__(self) -> float:
        """The element of an array without axes. TypeError if it has some."""
        return float(compute(self))

    def __int__(self) -> int:
        """The same, towards zero."""
        return int(compute(self))

    @property
    def program(self) -> Program:
        """The program that computes it, which is chosen as `compute` runs it."""
        return compute(self).program

    def check(self) -> Report:
        """The proof that the program is safe: the verdict of `wingspan.check`, for all inputs."""
        return compute(self).check()

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *arrays: Any, out: tuple[Any, ...] | None = None, **options: Any
    ) -> Any:
        """Apply an operator. `x += y` binds x to a new array; no array is written to."""
        if method != "__call__" or options or not (out is None or out[0] is arrays[0] is self):
            return NotImplemented
        if function in operators.OPERATORS:
            return elementwise(operators.OPERATORS[function], *arrays)
        if function is np.matmul:
            return matmul(*arrays)
        if function is np.power:
            return _power(self, arrays[1])
        if function is np.positive:
            return +self
        raise operators.missing_function(function.__name__)

    def __pos__(self) -> LazyTensor:
        if self._kind == "bool":
            raise InputError(UNSIGNED, fix="use astype(x, int64)")
        return self

    # ------------------------------------------------------------------------------------------------------------ axes

    @property
    def T(self) -> LazyTensor:
        """The array with its axes in the opposite order."""
        return permute_dims(self, range(self.ndim)[::-1])

    @property
    def mT(self) -> LazyTensor:
        """The array with its last two axes exchanged. InputError if it has fewer."""
        if self.ndim < 2:
            raise InputError(f"an array with axes {self.shape} is no matrix", fix="use .T, or add axes by expand_dims")
        return permute_dims(self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def transpose(self, *axes: Any) -> LazyTensor:
        """The array with its axes in another order, given as one argument or several; by default the opposite one."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], SupportsIndex) else axes
        return permute_dims(self, given or range(self.ndim)[::-1])

    def reshape(self, *shape: Any, copy: bool | None = None) -> LazyTensor:
        """The array with axes split or joined, as by `xp.reshape`; the shape is one argument or several."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], SupportsIndex) else shape
        return api.indexing.reshape(self, given, copy)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> LazyTensor:
        """The index, from 0, of the least element: the first of several, and the first NaN if there is one."""
        return api.indexing.first_best("min", self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> LazyTensor:
        """The index, from 0, of the greatest element: the first of several, and the first NaN if there is one."""
        return api.indexing.first_best("max", self, axis, keepdims)

    def sum(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """The sum over some axes, or all."""
        return reduce_axes("+", self, axis, keepdims, out)

    def prod(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """The product."""
        return reduce_axes("*", self, axis, keepdims, out)

    def min(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """The least element; of none, Inf, the largest integer or true."""
        return reduce_axes("&&" if self._kind == "bool" else "min", self, axis, keepdims, out)

    def max(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """The greatest element; of none, -Inf, the smallest integer or false."""
        return reduce_axes("||" if self._kind == "bool" else "max", self, axis, keepdims, out)

    def any(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """Whether an element is true, or a number that is not 0."""
        return reduce_axes("||", truth(self), axis, keepdims, out)

    def all(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> LazyTensor:
        """Whether all elements are."""
        return reduce_axes("&&", truth(self), axis, keepdims, out)


# -------------------------------------------------------------------------------------------------- to and from arrays


def lazy(array: Any, name: str | None = None) -> LazyTensor:
    """An array as part of expressions that `compute` evaluates.

    Args:
        array: a number, or what `einsum` takes as an input. It must not change until the expression is computed.
        name: what the program calls it, if nothing else has that name; by default x, x2 and so on.

    Raises:
        InputError: it is no tensor, or the name is none of a tensor. SciPy's arrays are checked when they are read.
    """
    if isinstance(array, LazyTensor):
        return array
    if name is not None:
        _require_name(name)
    traits = plain_traits(array)
    if traits is None:
        operand = Input(name or "x", array, len(np.shape(array)))
        traits = operand.shape, operand.kind
    shape, kind = traits
    extents = {f"i{next(_numbers)}": n for n in shape}
    return _read(ExpressionLeaf(array, kind, name), tuple(extents), extents)


def _require_name(name: str) -> None:
    """InputError if programs cannot call a tensor by a name."""
    try:
        usable = name.isidentifier() and bool(parse(f"{name}[] += 0"))
    except ParseError:
        usable = False
    if not usable:
        raise InputError(f"{name!r} is no name", fix="use letters, digits and _, and no word of the language")


def _read(leaf: ExpressionLeaf, axes: tuple[str | None, ...], extents: Mapping[str, int]) -> LazyTensor:
    """The array behind a leaf, with these axes."""
    name, real = f"x{next(_numbers)}", [index for index in axes if index is not None]
    access = ir.Access(ir.Fiber(name, len(real) + 1), tuple(map(ir.Index, real)))
    return LazyTensor(access, axes, {index: extents[index] for index in real}, {name: leaf})


def compute(
    array: LazyTensor,
    *,
    format: str | None = None,
    threads: int | None = None,
    engine: str = AUTO,
    budget: int = BUDGET,
) -> Computed:
    """The value of a lazy array, and the program that computes it. Without a format, it is computed once and kept.

    Args:
        array: the lazy array.
        format, threads, engine, budget: as for `einsum`. Reductions that are needed first have formats of its choice,
            and the same budget each.

    Raises:
        InputError: the format does not fit, or there is no such engine or budget.
        Fault: the run met one, such as an overflow.
    """
    if not isinstance(array, LazyTensor):
        raise InputError(f"{type(array).__name__} is no lazy array", fix="wrap it: wingspan.lazy(…)")
    if array._value is not None and format is None:
        return array._value
    for part in _dependencies(array):
        compute(part, threads=threads, engine=engine, budget=budget)
    text, names, extents = _expression_text(array)
    inputs = {names[x]: _leaf_array(leaf) for x, leaf in array._leaves.items()}
    value = evaluate(text, inputs, format, None, threads, engine, budget, extents=extents)
    if array._joined is None:
        axes = iter(value.axes)
        value = replace(value, axes=tuple(None if index is None else next(axes) for index in array._axes))
    if format is None:
        array._value = value
    return value


def _dependencies(array: LazyTensor) -> list[LazyTensor]:
    """The lazy arrays whose values are read, each after those that it needs itself, but for those that are known."""
    found: dict[int, LazyTensor] = {}
    waiting = [(array, False)]
    while waiting:
        top, ready = waiting.pop()
        if ready:
            found[id(top)] = top
        elif id(top) not in found:
            sources = [leaf.source for leaf in top._leaves.values() if isinstance(leaf.source, LazyTensor)]
            waiting += [(top, True), *((source, False) for source in sources if source._value is None)]
    return list(found.values())[:-1]


def _leaf_array(leaf: ExpressionLeaf) -> Any:
    """The array behind a leaf: the user's input, or a reduction with its reduced axes removed."""
    if not isinstance(leaf.source, LazyTensor):
        return leaf.source
    value = compute(leaf.source)
    if leaf.change:
        return leaf.change(value)
    return replace(value, axes=tuple(axis for axis in value.axes if axis is not None))


def _expression_text(array: LazyTensor) -> tuple[str, dict[str, str], dict[str, int]]:
    """The expression as text, what it calls its leaves, and the extents of its indices. Expressions of one shape are
    printed once.
    """
    leaves = {name: k for k, name in enumerate(array._leaves)}
    numbers = {index: k for k, index in enumerate(index for index in array._axes if index is not None)}
    axes, wanted = len(numbers), tuple([leaf.name for leaf in array._leaves.values()])
    joined = tuple([_canonical(axis.expression(), numbers, leaves) for axis in array._joined or ()])
    key = array._op, axes, array._joined and joined, wanted, _canonical(array._expression, numbers, leaves)
    text, names, letters = _texts.get(key) or keep_recent(_texts, key, _print_expression(array, list(numbers)))
    extents = {letter: array._extents[index] for index, letter in zip(numbers, letters, strict=True)}
    return text, dict(zip(leaves, names, strict=True)), extents


_texts: dict[Hashable, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
"""Texts of expressions that were printed, and what these call their leaves and indices, by all that they depend on."""


def _canonical(e: Any, indices: dict[str, int], leaves: Mapping[str, int]) -> Hashable:
    """A part of an expression, with numbers for its indices, in the order of their first use, and for its leaves."""
    match e:
        case ir.Index(name=name):
            return indices.setdefault(name, len(indices))
        case ir.Access(fiber=ir.Fiber(tensor=name), subscripts=subscripts):
            return leaves[name], *[_canonical(each, indices, leaves) for each in subscripts]
        case ir.Literal():
            return repr(e)  # 0.0 and -0.0 are equal, and so are 1 and 1.0
        case ir.Node():
            return type(e), *[_canonical(getattr(e, name), indices, leaves) for name in e.names]
        case tuple():
            return tuple([_canonical(each, indices, leaves) for each in e])
    return repr(e)


def _print_expression(array: LazyTensor, order: Sequence[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The expression as text, and what it calls its leaves, in order, and its indices, in this one."""
    taken = {"C", *INDICES}
    names: dict[str, str] = {}
    for leaf, known in array._leaves.items():
        wanted = known.name or "x"
        names[leaf] = next(name for k in count(1) if (name := wanted if k == 1 else f"{wanted}{k}") not in taken)
        taken.add(names[leaf])
    axes = [index for index in array._axes if index is not None]
    read = (node.name for node in array._expression.walk() if isinstance(node, ir.Index))
    letters = chain(INDICES, (f"i{k}" for k in count(1)))
    indices = dict(zip(dict.fromkeys((*axes, *read)), letters, strict=False))
    joined = array._joined
    written = tuple(map(ir.Index, axes)) if joined is None else tuple(each.expression() for each in joined)
    output = _rename(ir.Access(ir.Fiber("C", len(written) + 1), written), indices, {})
    text = show(ir.Assign(output, array._op, _rename(array._expression, indices, names)))
    return text, tuple(names.values()), tuple([indices[index] for index in order])


def _rename(e: Any, indices: Mapping[str, str], names: Mapping[str, str]) -> Any:
    """An expression with other names of its indices and leaves."""

    def change(node: Any) -> Any:
        match node:
            case ir.Index(name=name):
                return ir.Index(indices.get(name, name))
            case ir.Fiber(tensor=name):
                return replace(node, tensor=names.get(name, name))
        return node

    return e.map(change)


# ----------------------------------------------------------------------------------------------- expressions of arrays


def elementwise(op: str, *arrays: Any) -> LazyTensor:
    """An operator applied to the elements of arrays and numbers, which broadcast. Sums and products of booleans are
    booleans. InputError if shapes differ, or if booleans have no such operator.
    """
    terms = [_term(array) for array in arrays]
    if all(term._kind == "bool" for term in terms):
        if op == "abs":
            return terms[0]
        if op == "-":
            raise InputError(UNSIGNED, fix="use logical_not, logical_xor, or astype(x, int64)")
        op = OF_BOOLEANS.get(op, op)
    return _elementwise(lambda *args: ir.Call(op, args), terms)


def logical(op: str, *arrays: Any) -> LazyTensor:
    """An operator on booleans applied to arrays, of which numbers that are not 0 are true."""
    return elementwise(op, *(truth(array) for array in arrays))


def truth(array: Any) -> LazyTensor:
    """Whether elements are true, or numbers that are not 0."""
    term = _term(array)
    return term if term._kind == "bool" else term != 0


def where(condition: Any, x: Any, y: Any) -> LazyTensor:
    """The elements of x where a condition is true, or not 0, else those of y, all of which broadcast. Booleans beside
    numbers are 1 and 0.
    """
    terms = [_term(x), _term(y)]
    if any(term._kind != "bool" for term in terms):
        terms = [_number(term) for term in terms]
    return _elementwise(lambda *args: ir.Choice(*args), (truth(condition), *terms))


def _power(array: LazyTensor, exponent: Any) -> LazyTensor:
    """A product of so many arrays, all of them this one; ones if there are none."""
    whole = isinstance(exponent, SupportsIndex) and not isinstance(exponent, bool | np.ndarray | LazyTensor)
    if not whole or exponent.__index__() not in range(POWERS + 1):
        raise InputError(f"the exponent {exponent!r}", fix=f"use an integer from 0 to {POWERS}")
    base = _number(array)
    one = 1.0 if base._kind == "float" else 1
    return reduce(mul, [base] * exponent.__index__()) if exponent else full_like(base, one)


def _number(array: LazyTensor) -> LazyTensor:
    """The array, as numbers if it has booleans."""
    return array + 0 if array._kind == "bool" else array


def full_like(array: LazyTensor, value: bool | int | float) -> LazyTensor:
    """One value, in the shape of an array."""
    return where(array == array, value, value)


def _elementwise(make: Callable[..., ir.Expression], arrays: Sequence[Any]) -> LazyTensor:
    terms = [_term(array) for array in arrays]
    sizes = [size(term._expression) for term in terms]
    if sum(sizes) >= OPERATORS:
        terms = [_value_of(term) if n else term for term, n in zip(terms, sizes, strict=True)]
    terms = _with_own_indices(terms)
    shape = broadcast([term.shape for term in terms])
    terms = [_without_units(term, shape) for term in terms]
    axes: list[str | None] = []
    renamed: dict[str, str] = {}
    for k in range(-len(shape), 0):
        here = [i for term in terms if term.ndim >= -k and (i := term._axes[k]) is not None]
        axes.append(here[0] if here else None)
        renamed |= {index: here[0] for index in here}
    renamed = {index: name for index, name in renamed.items() if index != name}
    expressions = [
        _rename(term._expression, renamed, {}) if renamed.keys() & term._extents.keys() else term._expression
        for term in terms
    ]
    extents = {index: n for term in terms for index, n in term._extents.items() if index not in renamed}
    leaves = {name: leaf for term in terms for name, leaf in term._leaves.items()}
    return LazyTensor(make(*expressions), tuple(axes), extents, leaves)


def _term(array: Any) -> LazyTensor:
    """An array as an expression of its elements; of a reduction, it reads the value."""
    if isinstance(array, np.generic):
        array = array.item()
    if isinstance(array, int) and array not in algebra.INT64:
        raise InputError(f"{array} does not fit a 64-bit integer", fix="use a double, such as 1e30")
    if isinstance(array, bool | int | float):
        return LazyTensor(ir.Literal(array), (), {}, {})
    made = lazy(array)
    return made if made._op == "=" else _value_of(made)


def _value_of(array: LazyTensor) -> LazyTensor:
    """The value of an array, which is computed before what reads it."""
    return _fresh(_read(ExpressionLeaf(array, array._kind), array._axes, array._extents))


def defer(array: LazyTensor, shape: Sequence[int], kind: str, change: Callable[[Computed], Any]) -> LazyTensor:
    """An array of a shape and kind that is made of the value of another one, once, before what reads it is computed."""
    extents = {f"i{next(_numbers)}": n for n in shape}
    return _read(ExpressionLeaf(array, kind, change=cache(change)), tuple(extents), extents)


def join_axes(array: LazyTensor, axes: Sequence[Sequence[int]]) -> LazyTensor:
    """The value of an array of which some axes, which follow each other, are one, in row-major order."""
    array = array if array._op != "=" or array._value is None else _fresh(array)
    made: list[Affine] = []
    for group in axes:
        factors, by = {}, 1
        for k in reversed(group):
            if (index := array._axes[k]) is not None:
                factors[index], by = by, by * array.shape[k]
        made.append(Affine(dict(reversed(factors.items())), 1 - sum(factors.values())))
    hidden = replace(array, _joined=tuple(made), _value=None)
    extents = {f"i{next(_numbers)}": prod(array.shape[k] for k in group) for group in axes}
    return _read(ExpressionLeaf(hidden, array._kind, change=_as_stored), tuple(extents), extents)


def _as_stored(value: Computed) -> Computed:
    return value


def with_index(array: LazyTensor, axis: int, other: Affine, extents: Mapping[str, int]) -> LazyTensor:
    """The array with an affine expression of some new indices in place of that of an axis."""
    index = array._axes[axis]
    assert index is not None
    left = {name: n for name, n in array._extents.items() if name != index}
    axes = (*array._axes[:axis], *extents, *array._axes[axis + 1 :])
    e = substitute(array._expression, index, other)
    return replace(array, _expression=e, _axes=axes, _extents={**left, **extents}, _value=None)


def _fresh(array: LazyTensor) -> LazyTensor:
    """The same array with indices that no other one has."""
    new = {index: f"i{next(_numbers)}" for index in array._extents}
    axes = tuple(None if index is None else new[index] for index in array._axes)
    extents = {new[index]: n for index, n in array._extents.items()}
    return replace(array, _expression=_rename(array._expression, new, {}), _axes=axes, _extents=extents, _value=None)


def _with_own_indices(terms: Sequence[LazyTensor]) -> list[LazyTensor]:
    """Arrays that have no index in common."""
    made: list[LazyTensor] = []
    taken: set[str] = set()
    for term in terms:
        made.append(_fresh(term) if taken & term._extents.keys() else term)
        taken |= made[-1]._extents.keys()
    return made


def _without_units(array: LazyTensor, shape: tuple[int, ...]) -> LazyTensor:
    """The array, reduced over those axes of extent 1 that are broadcast to more: it has one value for all of them."""
    own = array.shape
    units = [k for k in range(-len(own), 0) if own[k] == 1 != shape[k] and array._axes[k] is not None]
    return _fresh(_term(squeeze(array, units, keepdims=True))) if units else array


def squeeze(array: LazyTensor, axes: int | Sequence[int], keepdims: bool = False) -> LazyTensor:
    """The array without some axes of extent 1, or with axes that it does not depend on in their place."""
    if long := [k for k in normalize_axes(axes, array.ndim) if array.shape[k] != 1]:
        raise InputError(f"axis {long[0]} has extent {array.shape[long[0]]}, not 1", fix="reduce it, as by sum")
    return reduce_axes("||" if array._kind == "bool" else "+", array, axes, keepdims)


def reduce_axes(op: str, array: LazyTensor, axis: Axis, keepdims: bool, out: None = None) -> LazyTensor:
    """An array reduced over some axes. A reduction by the same operator goes on over more of them.

    NumPy's functions give an `out`, which is None as long as their callers ask for none.
    """
    if out is not None:
        raise InputError("a lazy array is not written to another one", fix="leave out= away")
    numbers = range(array.ndim) if axis is None else normalize_axes(axis, array.ndim)
    if not any(array._axes[k] is not None for k in numbers):
        term = array if op in ("&&", "||") else _number(array)  # as over other axes
    else:
        term = replace(array if array._op in ("=", op) else _term(array), _op=op, _value=None)
    axes = (None if k in numbers else index for k, index in enumerate(term._axes) if keepdims or k not in numbers)
    return replace(term, _axes=tuple(axes), _value=None)


def permute_dims(array: LazyTensor, axes: Sequence[int]) -> LazyTensor:
    """The array with its axes in another order."""
    numbers = normalize_axes(axes, array.ndim)
    if len(numbers) != array.ndim:
        raise InputError(f"{number_of_axes(len(numbers))} of an array with {array.ndim}", fix="give each axis once")
    return replace(array, _axes=tuple(array._axes[k] for k in numbers), _value=None)


def expand_dims(array: LazyTensor, axis: int) -> LazyTensor:
    """The array with one more axis, of extent 1, at a place."""
    (at,) = normalize_axes([axis], array.ndim + 1)
    return replace(array, _axes=(*array._axes[:at], None, *array._axes[at:]), _value=None)


def tensordot(x: Any, y: Any, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> LazyTensor:
    """The sum of products over pairs of axes, or over the last of x and the first of y."""
    x, y = _term(x), _fresh(_term(y))
    pairs = (range(-axes, 0), range(axes)) if isinstance(axes, int) else axes
    left, right = normalize_axes(pairs[0], x.ndim), normalize_axes(pairs[1], y.ndim)
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise InputError(f"axes {left} of {x.shape} and {right} of {y.shape} differ", fix="sum over equal extents")
    free = [k for k in range(y.ndim) if k not in right]
    y = permute_dims(y, (*right, *free))
    for _ in range(x.ndim - len(left)):
        y = expand_dims(y, len(left))
    x = permute_dims(x, (*left, *(k for k in range(x.ndim) if k not in left)))
    for _ in free:
        x = expand_dims(x, x.ndim)
    return sum_of_products(x, y, range(len(left)))


def matmul(x: Any, y: Any) -> LazyTensor:
    """The product of matrices, or of a vector; all axes before the last two broadcast."""
    x, y = _term(x), _term(y)
    if not (x.ndim and y.ndim):
        raise InputError("a matrix product of a number", fix="use *")
    if x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        raise InputError(f"the shapes {x.shape} and {y.shape} do not fit each other", fix="sum over equal extents")
    rows = x.ndim > 1
    x = expand_dims(x, -1) if y.ndim > 1 else x
    y = expand_dims(y, -3) if rows and y.ndim > 1 else y
    return sum_of_products(x, y, -2 if y.ndim > 1 else -1)


def sum_of_products(x: LazyTensor, y: LazyTensor, axis: Axis) -> LazyTensor:
    """The sum of products over some axes; of booleans, whether both are true somewhere."""
    return reduce_axes("||" if x._kind == y._kind == "bool" else "+", x * y, axis, False)
