"""Parts and shapes of lazy arrays are those of NumPy's: indices, slices, masks, reshape, sums of beginnings, argmin."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from wingspan import InputError, LazyTensor, Tensor, compute, lazy
from wingspan.api import namespace as xp
from wingspan.tensors.foreign import with_fill

KINDS: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64}
FORMS = ("dense", "sparse", "filled", "computed")


def give(array: np.ndarray, form: str) -> LazyTensor:
    """A lazy array: of NumPy, one that stores what is not 0, or not 1, or an expression that is not computed yet."""
    if form == "dense" or not array.ndim:
        return lazy(array)
    if form == "computed":
        return xp.where(lazy(array) == lazy(array), lazy(array), lazy(array))
    fill = array.dtype.type(0 if form == "sparse" else 1)
    at = np.nonzero(array != fill)
    leaf = f"Element({str(fill.item()).lower()})"
    levels = ["SparseList"] * (array.ndim - 1)
    text = f"Dense({''.join(f'{level}(' for level in levels)}{leaf}{')' * array.ndim}"
    stored = scipy.sparse.coo_array((array[at], at), shape=array.shape)
    return lazy(Tensor.from_scipy(text, with_fill(stored, fill.item())))


def require_same(found: LazyTensor, expected: np.ndarray) -> None:
    """The same shape, type and elements, before and after it is computed."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.array_equal(np.asarray(found), expected, equal_nan=expected.dtype == np.float64)


@st.composite
def arrays(draw: st.DrawFn, most: int = 3) -> np.ndarray:
    """An array of any kind, with at most three axes of extents 0 to 4, and with values that come again."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 4]), min_size=1, max_size=most)))
    values = draw(st.lists(st.sampled_from([0, 0, 1, 2, -1]), min_size=int(np.prod(shape)), max_size=64))
    return np.array(values[: int(np.prod(shape))]).astype(KINDS[draw(st.sampled_from(sorted(KINDS)))]).reshape(shape)


@st.composite
def axis_indices(draw: st.DrawFn, n: int, shape: tuple[int, ...]) -> Any:
    """An index of an axis of extent n: an integer, a slice, a mask, or integers, of this shape where they broadcast."""
    kind = draw(st.sampled_from(["slice", "slice", "integer", "integers", "mask"]))
    if kind == "slice" or n == 0:
        end = st.none() | st.integers(-n - 2, n + 2)
        return slice(draw(end), draw(end), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))
    if kind == "integer":
        return draw(st.integers(-n, n - 1))
    if kind == "mask":
        mask = np.zeros(n, dtype=bool)
        mask[draw(st.integers(0, n - 1))] = True
        return mask
    count = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count)), np.int64).reshape(shape)


@st.composite
def indexed(draw: st.DrawFn) -> tuple[np.ndarray, tuple[Any, ...]]:
    """An array and an index of it, with any of its parts left out, and with new axes."""
    array = draw(arrays())
    shape = draw(st.sampled_from([(2,), (1,), (3, 1), (2, 2), (0,)]))
    key = [draw(axis_indices(n, shape)) for n in array.shape[: draw(st.integers(0, array.ndim))]]
    for extra in draw(st.lists(st.sampled_from([None, None, ...]), max_size=2)):
        if not (extra is ... and any(part is ... for part in key)):
            key.insert(draw(st.integers(0, len(key))), extra)
    return array, tuple(key)


@settings(max_examples=many(1500), deadline=None)
@given(indexed(), st.sampled_from(FORMS))
def test_an_index_selects_what_it_does_of_numpys_arrays(drawn: tuple[np.ndarray, tuple[Any, ...]], form: str) -> None:
    """In any mixture of integers, slices, masks, arrays of integers, None and an ellipsis; what NumPy refuses, too."""
    array, key = drawn
    try:
        expected = np.asarray(array[key])
    except IndexError:
        with pytest.raises((IndexError, InputError)):
            give(array, form)[key]
        return
    require_same(give(array, form)[key], expected)


@settings(max_examples=many(500), deadline=None)
@given(arrays(), st.data(), st.sampled_from(FORMS))
def test_axes_are_split_and_joined_as_numpy_does(array: np.ndarray, data: st.DataObject, form: str) -> None:
    """By a shape that joins some neighbours; and back, which splits them."""
    shape: list[int] = []
    for k, n in enumerate(array.shape):
        if k and data.draw(st.booleans()):
            shape[-1] *= n
        else:
            shape += [1] * data.draw(st.integers(0, 1)) + [n]
    made = xp.reshape(give(array, form), tuple(shape))
    require_same(made, array.reshape(shape))
    require_same(xp.reshape(made, array.shape), array)
    require_same(
        xp.reshape(give(array, form), (-1,)) if array.size else made, array.reshape(-1 if array.size else shape)
    )


@settings(max_examples=many(500), deadline=None)
@given(arrays(), st.data(), st.sampled_from(FORMS))
def test_beginnings_are_reduced_as_numpy_does(array: np.ndarray, data: st.DataObject, form: str) -> None:
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    for name in ("cumulative_sum", "cumulative_prod"):
        for initial in (False, True):
            expected = getattr(np, name)(array, axis=axis, include_initial=initial)
            require_same(getattr(xp, name)(give(array, form), axis=axis, include_initial=initial), expected)


NAN = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan], [2.0, 2.0, -np.inf]])


@settings(max_examples=many(500), deadline=None)
@given(arrays() | st.sampled_from([NAN, NAN[:, 1:2]]), st.data(), st.sampled_from(FORMS[:3]), st.booleans())
def test_the_place_of_the_first_best_is_numpys(
    array: np.ndarray, data: st.DataObject, form: str, keepdims: bool
) -> None:
    """Of several equal ones, and of NaN, which is best; of none it is an error."""
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    for name in ("argmin", "argmax"):
        try:
            expected = np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims))
        except ValueError:
            with pytest.raises(InputError, match="is empty, so no element is best"):
                getattr(xp, name)(give(array, form), axis=axis, keepdims=keepdims)
            continue
        require_same(getattr(xp, name)(give(array, form), axis=axis, keepdims=keepdims), expected)


M = np.arange(24.0).reshape(4, 6) % 5
EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "differences": lambda a, xp: a(M)[1:] - a(M)[:-1],
    "a stencil": lambda a, xp: a(M)[:-2, 1:-1] + a(M)[2:, 1:-1] + a(M)[1:-1, :-2] + a(M)[1:-1, 2:],
    "rows of a product": lambda a, xp: (a(M) @ a(M).T)[::2, -1],
    "a slice of sums": lambda a, xp: xp.sum(a(M), axis=1)[1:3],
    "a product that is joined": lambda a, xp: xp.reshape(a(M) @ a(M).T, (16,)) * 2,
    "a slice of a slice": lambda a, xp: a(M)[::-1, 1:][1:, ::2][:, ::-1],
    "an element of a reshaped array": lambda a, xp: xp.reshape(a(M), (2, 2, 6))[1, 0, 3] + 1,
    "a mask of sums": lambda a, xp: xp.sum(a(M), axis=0)[np.asarray(a(M)[0] > 1)],
    "some rows, some of them twice": lambda a, xp: a(M)[np.array([2, 0, 2])] @ a(M).T,
    "flipped": lambda a, xp: xp.flip(a(M), axis=1) - xp.flip(a(M)),
    "taken": lambda a, xp: xp.take(a(M), np.array([5, -1, 0]), axis=1),
    "moved": lambda a, xp: xp.moveaxis(xp.reshape(a(M), (2, 2, 6)), 0, -1) * 2,
    "two axes moved": lambda a, xp: xp.moveaxis(a(M)[:2, None, :3], (2, 0), (0, 1)) * 2,
    "transposed": lambda a, xp: np.transpose(a(M)) + a(M).transpose((1, 0)) + a(M).transpose(1, 0) + a(M).transpose(),
    "broadcast to each other": lambda a, xp: xp.broadcast_arrays(a(M)[0], a(M)[:, :1])[1],
    "sums of beginnings of a product": lambda a, xp: xp.cumulative_sum(a(M) @ a(M).T, axis=0)[1:, 1],
    "the best of what is computed": lambda a, xp: xp.argmax(a(M) - a(M)[:, ::-1], axis=1),
}  # fmt: skip


@pytest.mark.parametrize(("form", "what"), few(list(product(["dense", "sparse"], EXPRESSIONS)), len(EXPRESSIONS)))
def test_parts_are_operands_as_any_other(form: str, what: str) -> None:
    expected = np.asarray(EXPRESSIONS[what](np.asarray, np))
    require_same(EXPRESSIONS[what](lambda array: give(array, form), xp), expected)


def test_integers_and_slices_are_subscripts_of_one_program() -> None:
    a = lazy(M, "A")
    assert repr(a[1:] - a[:-1]) == "<LazyTensor float64 3×6: C[i, j] = A[i + 1, j] - A[i, j]>"
    assert repr((a @ a.T)[::-2, 0]) == "<LazyTensor float64 2: C[i] += A[6 - 2 * i, j] * A[1, j]>"
    assert repr(a.reshape(4, 2, 3)) == "<LazyTensor float64 4×2×3: C[i, j, k] = A[i, 3 * j + k - 3]>"


def test_large_sparse_arrays_are_indexed_by_what_they_store() -> None:
    """None of these arrays has room in memory if it is dense."""
    n = 10**6
    at = np.array([0, 5, 999_999, 5]), np.array([3, 3, 999_998, 7])
    a = lazy(scipy.sparse.coo_array((np.array([1.0, 2.0, 3.0, 4.0]), at), shape=(n, n)))
    assert np.asarray(a[5, 1:9]).tolist() == [0, 0, 2, 0, 0, 0, 4, 0]
    assert sorted(compute(a[[5, 0, 5]]).to_coo().values.tolist()) == [1, 2, 2, 4, 4]
    assert (a.reshape(-1).shape, float(a.reshape(-1)[5 * n + 7])) == ((n * n,), 4)


def test_arrays_without_axes_are_numbers() -> None:
    """Their elements are Python's numbers, of which one may be an index; arrays have lengths, and are iterated over."""
    a = lazy(np.arange(3))
    assert (bool(a[0]), bool(a[1]), range(5)[a[2]], len(a), [int(each) for each in a]) == (False, True, 2, 3, [0, 1, 2])
    for wrong in (lambda: bool(a), lambda: len(a[0]), lambda: range(5)[a], lambda: range(5)[a[0] + 0.5]):
        with pytest.raises(TypeError):
            wrong()


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "the index 4 of axis 0, which has extent 4": (lambda a: a[4], "use -4 to 3"),
    "the index -7 of axis 1, which has extent 6": (lambda a: a[:, [0, -7]], "use -6 to 5"),
    "the index 0 of axis 0, which has extent 0": (lambda a: a[:0][0], "there is nothing to select"),
    "3 subscripts of an array with 2 axes": (lambda a: a[0, 0, 0], "write one for each axis"),
    "two ellipses of an array with 2 axes": (lambda a: a[..., ...], "write one for each axis"),
    "a mask has extent 3 where the array has 4, on axis 0": (
        lambda a: a[np.ones(3, bool)], "give a mask of the array's shape"),
    "1.5 selects no elements": (lambda a: a[1.5], "use integers, slices, ..., None, or arrays of booleans"),
    "'x' selects no elements": (lambda a: a["x"], "use integers, slices, ..., None, or arrays of booleans"),
    "slice(None, None, 0) is no slice of an axis: slice step cannot be zero": (
        lambda a: a[::0], "use integers, and a step that is not 0"),
    "the axes (4, 6) are neither split nor joined to (6, 4)": (
        lambda a: a.reshape(6, 4), "join them first: reshape to 24, then to (6, 4)"),
    "an array with axes (4, 6) cannot have the axes (5, -1)": (
        lambda a: a.reshape(5, -1), "use axes whose product is 24; one may be -1"),
    "(1.5,) is no shape": (lambda a: a.reshape((1.5,)), "use whole numbers, of which one may be -1"),
    "the elements of a lazy array are copied": (lambda a: xp.reshape(a, 24, copy=False), "leave copy= away"),
    "an array with 2 axes has no one axis to go along": (lambda a: xp.cumulative_sum(a), "give axis=…"),
    "an array with axes (4, 6) has no one axis to take from": (lambda a: xp.take(a, [0]), "give axis=…"),
    "axes (0, 1) cannot be moved to (0,)": (lambda a: xp.moveaxis(a, (0, 1), 0), "give as many places as axes"),
    "lazy arrays have no sort: no loop of the language takes elements in the order of their values": (
        lambda a: xp.sort(a), "compute it, and go on with NumPy: numpy.sort(numpy.asarray(x))"),
    "lazy arrays have no sqrt: the rules and the reference compute exact rationals, and its values are seldom any": (
        lambda a: np.sqrt(a), "compute it, and go on with NumPy: numpy.sqrt(numpy.asarray(x))"),
    "lazy arrays have no exp: the rules and the reference compute exact rationals, and its values are seldom any": (
        lambda a: xp.exp(a), "compute it, and go on with NumPy: numpy.exp(numpy.asarray(x))"),
    "lazy arrays have no divmod": (
        lambda a: divmod(a, 2), "compute it, and go on with NumPy: numpy.divmod(numpy.asarray(x))"),
    "there is no device 'cuda'": (lambda a: xp.zeros(3, device="cuda"), "use 'cpu', or leave device= away"),
    "'float' is no kind of types": (
        lambda a: xp.isdtype(a.dtype, "float"), f"use one of {', '.join(xp.KINDS)}"),
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_a_part_that_there_is_not_is_one_message(message: str) -> None:
    call, fix = ERRORS[message]
    with pytest.raises(InputError) as caught:
        call(lazy(M))
    assert (caught.value.message, caught.value.fix) == (message, fix)


def test_a_function_that_is_missing_is_no_attribute() -> None:
    """So libraries find out by `hasattr`; names that NumPy lacks are Python's own error."""
    assert not hasattr(xp, "sort") and not hasattr(xp, "int8")
    with pytest.raises(AttributeError, match="has no nothing_of_the_kind"):
        xp.nothing_of_the_kind  # noqa: B018


def test_types_are_promoted_as_the_standard_says() -> None:
    a = lazy(np.array([1, 2]))
    assert (
        xp.result_type(a, xp.bool) == xp.int64 and xp.result_type(a, 1.5) == xp.result_type(a, xp.float64) == xp.float64
    )
    assert xp.can_cast(xp.bool, xp.float64) and xp.can_cast(a, xp.int64) and not xp.can_cast(xp.float64, a.dtype)
    assert (
        xp.isdtype(xp.int64, "integral")
        and xp.isdtype(xp.bool, ("numeric", xp.bool))
        and not xp.isdtype(xp.bool, "numeric")
    )
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="real floating") == {"float64": xp.float64} and [*info.dtypes()] == [
        "bool",
        "int64",
        "float64",
    ]
    assert info.default_dtypes()["indexing"] == a[:1].argmax().dtype == xp.iinfo(a).dtype
