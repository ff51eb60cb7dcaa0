"""Lazy arrays: they compute what NumPy does, reductions of the reference, and whole expressions at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.effort import few, many
from wingspan import InputError, LazyTensor, Tensor, compute, lazy
from wingspan.api import namespace
from wingspan.api.arrays import OPERATORS
from wingspan.base.errors import ProgramError
from wingspan.tensors.tensor import Coordinates
from wingspan.testing import ArrayEngine, campaign, einsums


def random(*shape: int) -> Any:
    """An array of which two thirds are zeros."""
    generator = np.random.default_rng(5)
    return generator.integers(1, 9, shape) / 2 * (generator.random(shape) < 0.3)


A, X, B, C = random(6, 8), np.arange(8.0), random(2, 3, 4), random(2, 4, 5)
N = np.arange(12).reshape(3, 4) - 5
Z = np.array([[0.0, -0.5, 2.5], [np.inf, -np.inf, np.nan], [-2.0, 3.0, -7.75]])

EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a @ x": lambda a, xp: a(A) @ a(X),
    "a @ a.T": lambda a, xp: a(A) @ a(A).T,
    "x @ a.T": lambda a, xp: xp.matmul(a(X), a(A).T),
    "x @ x": lambda a, xp: a(X) @ a(X),
    "stacks of matrices": lambda a, xp: a(B) @ a(C),
    "a stack and a matrix": lambda a, xp: a(B) @ a(C[1]),
    "a stack of one": lambda a, xp: a(B) @ a(C[:1]),
    "tensordot over all": lambda a, xp: xp.tensordot(a(A), a(A), axes=((0, 1), (0, 1))),
    "tensordot over one": lambda a, xp: xp.tensordot(a(B), a(C), axes=((0, 2), (0, 1))),
    "an outer product": lambda a, xp: xp.tensordot(a(X), a(A), axes=0),
    "numbers": lambda a, xp: 2 - a(A) * 3 + 1 / (a(A) + 1),
    "rows that sum to 1": lambda a, xp: a(A) / (1 + xp.sum(a(A), axis=1, keepdims=True)),
    "a reduction in an expression": lambda a, xp: xp.max(a(A) @ a(X)) + a(A),
    "a reduction of a reduction": lambda a, xp: xp.sum(xp.sum(a(B), axis=1), axis=0),
    "two reductions of one": lambda a, xp: xp.max(xp.sum(a(B), axis=1), axis=0),
    "a column of counts": lambda a, xp: xp.sum(a(A) > 1, axis=1, keepdims=True),
    "any and all": lambda a, xp: xp.any(a(A) > 3, axis=0) & xp.all(a(A) < 4, axis=0),
    "all numbers": lambda a, xp: xp.all(a(A)),
    "a product over axes": lambda a, xp: xp.prod(a(B) + 1, axis=(0, -1)),
    "least": lambda a, xp: xp.min(a(A), axis=-2),
    "broadcasting both": lambda a, xp: a(A)[:, None] + a(X) if a is np.asarray else xp.expand_dims(a(A), axis=1) + a(X),
    "broadcasting one": lambda a, xp: a(A[:1]) * a(A) + a(A[:, :1]),
    "the same axes crossed": lambda a, xp: a(A[:, :6]) + a(A[:, :6]).T,
    "one array crossed": lambda a, xp: (lambda y: y + y.T * y)(a(A[:, :6])),
    "where": lambda a, xp: xp.where(a(A) > 1, a(A), 0),
    "a sum of choices": lambda a, xp: xp.sum(xp.where(a(A) > 1, a(A), 7), axis=1),
    "a choice that is mostly 7": lambda a, xp: xp.where(a(A) > 1, a(A), 7),
    "minimum": lambda a, xp: xp.minimum(a(A), xp.maximum(a(A[::-1]), 1.5)),
    "powers": lambda a, xp: -(a(A) ** 3) + xp.square(a(A)),
    "integers": lambda a, xp: a(N) // 3 + a(N) % 3 - (a(N) << 2) * (a(N) >> 1),
    "bits": lambda a, xp: (a(N) & 6) | (~a(N) ^ 5),
    "truth": lambda a, xp: xp.logical_not((a(A) > 1) ^ (a(A) == 2)) != (abs(a(A)) >= 1),
    "an axis of one index": lambda a, xp: xp.squeeze(a(A[:1]), axis=0) + a(A),
    "booleans beside numbers": lambda a, xp: (a(N > 0) == 1) ^ (a(N < 0) != 0.0) ^ (a(N) == (a(N) > 0)),
    "booleans that are counted over an axis of one": lambda a, xp: xp.sum(xp.expand_dims(a(A) > 1, axis=0), axis=0),
    "an axis that is an integer of NumPy": lambda a, xp: xp.sum(a(A), axis=np.int64(-1)),
    "what is no number": lambda a, xp: xp.isnan(a(Z)) ^ (xp.isinf(a(Z)) & (a(Z) > 0)) ^ xp.isfinite(a(Z)),
    "integers are finite": lambda a, xp: xp.isfinite(a(N)) & ~xp.isnan(a(N)) & ~xp.isinf(a(N)),
    "signs": lambda a, xp: xp.sign(a(Z)) + xp.sign(a(N[:, :1])),
    "clipped below": lambda a, xp: xp.clip(a(N), -2, None) * xp.clip(a(N), None, 3),
    "clipped by arrays": lambda a, xp: xp.clip(a(A), xp.min(a(A), axis=0), 2.0),
    "rounded down": lambda a, xp: xp.floor(a(Z)),
    "rounded up": lambda a, xp: xp.ceil(a(Z)),
    "rounded towards zero": lambda a, xp: xp.trunc(a(Z)),
    "rounded integers": lambda a, xp: xp.floor(a(N)) + xp.ceil(a(N)) + xp.trunc(a(N)),
    "one through": lambda a, xp: xp.reciprocal(a(A) + 1),
    "a vector of dot products": lambda a, xp: xp.vecdot(a(A), a(X)),
    "dot products over the first axis": lambda a, xp: xp.vecdot(a(A), a(A), axis=0),
    "mean": lambda a, xp: xp.mean(a(A), axis=1, keepdims=True) + xp.mean(a(N)),
    "variance": lambda a, xp: xp.var(a(A), axis=0) + xp.var(a(A), correction=1),
    "how many are not zero": lambda a, xp: xp.count_nonzero(a(A), axis=1) + xp.count_nonzero(a(A) > 2),
    "booleans as integers": lambda a, xp: xp.astype(a(A) > 2, xp.int64) + xp.astype(a(N[:1, :1]) > 0, xp.int64),
    "integers as doubles": lambda a, xp: xp.astype(a(N), xp.float64) / 2,
    "numbers as booleans": lambda a, xp: xp.astype(a(N), xp.bool) & xp.astype(a(N) > 0, xp.bool),
    "new arrays": lambda a, xp: xp.zeros((3, 4)) + xp.ones(4, dtype=xp.int64) + a(N) + xp.full((3, 1), 7),
    "arrays of no axes": lambda a, xp: xp.ones(()) + xp.zeros((), dtype=xp.int64) * a(N),
    "alike": lambda a, xp: xp.zeros_like(a(A)) + xp.ones_like(a(A)) * xp.full_like(a(A), 2),
    "alike in another type": lambda a, xp: xp.zeros_like(a(N), dtype=xp.float64) + xp.full_like(a(N) > 0, 3),
    "broadcast": lambda a, xp: xp.broadcast_to(a(X), (6, 8)) + xp.broadcast_to(a(A[:, :1]), (2, 6, 8)),
    "broadcast booleans and one number": lambda a, xp: xp.broadcast_to(a(A) > 1, (1, 6, 8)) & (xp.broadcast_to(
        xp.sum(a(A)), (6, 8)) > 0),
    "constants": lambda a, xp: a(A) * xp.pi + xp.e - xp.where(a(A) > 1, xp.inf, -xp.inf),
    "a power of zero": lambda a, xp: a(A) ** 0 + a(N[:1, :1]) ** 0,
    "a power of zero of what is no number": lambda a, xp: a(Z) ** 0,
    "either": lambda a, xp: xp.logical_xor(a(A) > 1, a(A) < 3),
    "axes in another order": lambda a, xp: xp.permute_dims(a(B), (2, 0, 1)) * 2,
}  # fmt: skip


@pytest.mark.parametrize(("form", "what"), few(list(product(["dense", "sparse"], EXPRESSIONS)), len(EXPRESSIONS)))
def test_an_expression_is_what_numpy_makes_of_it(form: str, what: str) -> None:
    """The same calls of functions with the same names; shape and type, too."""
    names = {array.tobytes(): form for array in (A, X)}

    def given(array: np.ndarray) -> LazyTensor:
        sparse = form == "sparse" and array.ndim == 2 and array.tobytes() in names
        return lazy(scipy.sparse.csr_array(array) if sparse else array)

    wanted = np.asarray(EXPRESSIONS[what](np.asarray, np))
    asked = EXPRESSIONS[what](given, namespace)
    assert (asked.shape, asked.dtype) == (wanted.shape, wanted.dtype)
    made = compute(asked)
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(np.asarray(asked), wanted)


KINDS = {"bool": np.array([True, True, False]), "int": np.array([3, 1, 2]), "float": np.array([0.5, 1.0, 2.0])}
OTHERS = {"bool": np.array([True, True, True]), "int": np.array([1, 2, 2]), "float": np.array([1.0, 0.5, 2.0])}
"""By kind: arrays, and others that may divide them."""
UNARY = ("negative", "positive", "abs", "square", "logical_not", "bitwise_invert", "sign", "floor", "ceil", "trunc",
         "sum", "prod", "min", "max", "any", "all", "count_nonzero", "mean", "var",
         "isnan", "isinf", "isfinite")  # fmt: skip
BINARY = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "minimum", "maximum", "equal", "less",
          "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
          "bitwise_left_shift", "bitwise_right_shift", "matmul", "vecdot")  # fmt: skip
CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    **{name: (lambda xp, *x, name=name: getattr(xp, name)(*x), 1) for name in UNARY},
    **{name: (lambda xp, *x, name=name: getattr(xp, name)(*x), 2) for name in BINARY},
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, axes=1), 2),
    "where": (lambda xp, x, y: xp.where(x, x, y), 2),
    "multiply by true": (lambda xp, x: xp.multiply(x, True), 1),
    "x ** 2": (lambda xp, x: x**2, 1),
    "x ** 0": (lambda xp, x: x**0, 1),
    "-x": (lambda xp, x: -x, 1),
    "+x": (lambda xp, x: +x, 1),
}


@pytest.mark.parametrize("what", few(list(CALLS), 25))
def test_a_function_takes_and_gives_the_kinds_that_numpys_does(what: str) -> None:
    """Of booleans, integers, doubles, and any two of these. Where NumPy has integers of 8 bits, they have 64 here.

    A kind that NumPy refuses is one error. The value is compared where there are booleans.
    """
    call, operands = CALLS[what]
    for kinds in product(KINDS, repeat=operands):
        given = [KINDS[kinds[0]], *(OTHERS[kind] for kind in kinds[1:])]
        try:
            wanted = np.asarray(call(np, *given))
        except TypeError:
            with pytest.raises((InputError, ProgramError)):
                compute(call(namespace, *map(lazy, given)))
            continue
        asked = call(namespace, *map(lazy, given))
        assert asked.dtype == (np.int64 if wanted.dtype == np.int8 else wanted.dtype), kinds
        if "bool" in kinds:
            np.testing.assert_array_equal(np.asarray(asked), wanted)


def test_the_least_of_no_booleans_is_true() -> None:
    """It is what the least of none and of any is the least of."""
    none = lazy(np.zeros(0, dtype=bool))
    assert (compute(none.min()).to_numpy().item(), compute(none.max()).to_numpy().item()) == (True, False)


def test_random_einsums_through_the_array_api_are_the_reference() -> None:
    """The functions of the namespace as an engine: axes broadcast, and are permuted, reduced and contracted."""

    def make(stored: Coordinates) -> LazyTensor:
        at, values, fill, shape = stored
        if not shape:
            return lazy(values[0])
        coo = scipy.sparse.coo_array((values, tuple(at)), shape=shape)
        form = f"Element({str(fill).lower()})"
        for axis in range(len(shape)):
            form = f"{'Dense' if axis == len(shape) - 1 else 'SparseList'}({form})"
        return lazy(Tensor.from_scipy(form, coo))

    engine = ArrayEngine(
        "lazy", make, namespace, lambda array: compute(array) if isinstance(array, LazyTensor) else array
    )
    done = campaign(["reference"], [engine], programs=einsums(), examples=many(100), first_seed=2)
    assert done.cases >= many(100), done


def test_a_tree_of_operators_is_one_einsum() -> None:
    """A reduction at its root is part of it; one inside is computed once, whoever reads it."""
    a, x = lazy(scipy.sparse.csr_array(A), "A"), lazy(X, "x")
    y = (a * 2 + a.T.T) @ x
    assert repr(y) == "<LazyTensor float64 6: C[i] += (A[i, j] * 2 + A[i, j]) * x[j]>"
    z = y - y.max()
    assert repr(z) == "<LazyTensor float64 6: C[i] = x[i] - x2[]>"
    compute(z)
    assert y._value is not None
    assert compute(y) is compute(y)


def test_a_chain_may_have_more_operators_than_one_program() -> None:
    """Its parts are computed first, each once, whoever reads it: a sum with itself does not double what is computed."""
    chain, wanted, doubled = lazy(N), N, lazy(X[:3])
    for k in range(200):
        chain, wanted = (k - chain, k - wanted) if k % 3 else (chain + k, wanted + k)
    for _ in range(70):
        doubled = doubled + doubled
    np.testing.assert_array_equal(np.asarray(chain), wanted)
    np.testing.assert_array_equal(np.asarray(doubled), X[:3] * 2.0**70)


def test_operators_below_the_limit_are_one_program() -> None:
    """Operators of both operands count, and a reduction of the last ones is part of the program."""
    a = b = lazy(X)
    for _ in range(OPERATORS // 2 - 1):
        a, b = a + 1, b * 2
    fused, split = (a + b).sum(), (a + b + 1).sum()
    assert "+= " in repr(fused) and repr(fused).count(" + 1") == repr(fused).count(" * 2") == OPERATORS // 2 - 1
    assert repr(split + 0) == repr(fused + 0) == "<LazyTensor float64 a number: C[] = x[] + 0>"
    assert repr(a + b + 1 + 1) == "<LazyTensor float64 8: C[i] = x[i] + 1>"


@pytest.mark.parametrize("exponent", [np.int64(2), np.uint8(2), 2])
def test_an_exponent_is_any_integer(exponent: Any) -> None:
    np.testing.assert_array_equal(np.asarray(lazy(N) ** exponent), N**2)


def test_the_transpose_of_a_computed_array_is_computed_anew() -> None:
    a = lazy(scipy.sparse.csr_array(A)) + 1
    np.testing.assert_allclose(np.asarray(a), A + 1)
    np.testing.assert_allclose(np.asarray(a.T), (A + 1).T)


def test_who_writes_to_an_array_changes_no_value_that_is_kept() -> None:
    sums = lazy(A).sum(axis=0)
    np.asarray(sums)[:] = 7
    np.testing.assert_allclose(np.asarray(sums), A.sum(axis=0))
    np.testing.assert_allclose(np.asarray(sums + 1), A.sum(axis=0) + 1)
    with pytest.raises(ValueError, match="are copied"):
        np.array(sums, copy=False)


def test_a_result_has_the_format_that_is_asked_for() -> None:
    a = lazy(scipy.sparse.csr_array(A), "A")
    made = compute(a @ a.T, format="SparseList(SparseList(Element(0.0)))")
    assert str(made.stored.tower) == "SparseList(SparseList(Element(0.0)))"
    assert made.check().verdict == "safe"
    np.testing.assert_allclose(made.to_scipy().toarray(), A @ A.T)


def test_expressions_that_differ_a_little_keep_apart() -> None:
    """Expressions of one shape are printed once: values, kinds, names and the order of the operands count."""
    W, V = np.array([[1.0, -2.0], [-0.5, 4.0]]), np.array([[3.0, 0.25], [7.0, -1.0]])
    for z in (1, 1.0, 2, 2.0):
        expected, found = np.where(N > 0, N, z), compute(namespace.where(lazy(N) > 0, lazy(N), z)).to_numpy()
        assert np.array_equal(found, expected) and found.dtype == expected.dtype
    pairs: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x - y, lambda x, y: y - x, lambda x, y: x - y.T, lambda x, y: x.T - y, lambda x, y: x - x.T,
        lambda x, y: (x - y).T, lambda x, y: x @ y, lambda x, y: y @ x, lambda x, y: x @ x,
        lambda x, y: x - y - x, lambda x, y: x - y - y, lambda x, y: x.sum(axis=1), lambda x, y: x.sum(),
    ]  # fmt: skip
    for f in pairs:
        assert np.array_equal(compute(f(lazy(W), lazy(V))).to_numpy(), f(W, V))
    for name in "PQ":
        assert str(lazy(W, name) - lazy(V)).count(f"{name}[i, j]") == 1


def test_names_are_the_users_where_they_can_be() -> None:
    """Also those of arguments of einsum, and those that others have, or indices."""
    a, b, i = lazy(X, "format"), lazy(X, "format"), lazy(X, "i")
    assert repr(a + b * i) == "<LazyTensor float64 8: C[i] = format[i] + format2[i] * i2[i]>"
    np.testing.assert_allclose(np.asarray(a + b * i), X + X * X)


def test_arrays_of_numpy_leave_operators_to_lazy_ones() -> None:
    a = lazy(A)
    for made, wanted in ((X + a, X + A), (X[0] * a, X[0] * A), (A.T @ a, A.T @ A), (np.float64(2) - a, 2 - A)):
        assert isinstance(made, LazyTensor)
        np.testing.assert_allclose(np.asarray(made), wanted)
    assert a.__array_namespace__() is namespace
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(a == a)
    assert (float(a.sum()), int(a.sum()), int(lazy(-2.5))) == (A.sum(), int(A.sum()), -2)
    with pytest.raises(TypeError, match="only a tensor without axes is a number"):
        int(a)


def test_functions_of_numpy_reduce_lazy_arrays() -> None:
    """NumPy calls the methods, with an `out` that is None."""
    a = lazy(A)
    for reduction in (np.sum, np.prod, np.min, np.max, np.any, np.all):
        made = reduction(a, axis=1)
        assert isinstance(made, LazyTensor)
        np.testing.assert_allclose(np.asarray(made), reduction(A, axis=1))
    with pytest.raises(InputError, match="not written to another one"):
        np.sum(a, out=np.zeros(()))


def test_the_program_of_a_lazy_array_is_the_one_that_computes_it() -> None:
    a = lazy(A) @ lazy(X)
    assert a.program is compute(a).program and a.check().verdict == "safe"


def test_the_namespace_shows_functions_of_the_standard_and_nothing_else() -> None:
    """All of the standard's names are in that of NumPy, which helpers of the module are not."""
    assert dir(namespace) == sorted(namespace.__all__) and {*dir(namespace)} <= {*dir(np)}
    assert all(hasattr(namespace, name) for name in dir(namespace))


@pytest.mark.parametrize("name", ["add", "divide", "minimum", "less", "logical_and", "bitwise_left_shift"])
def test_operators_as_functions_have_the_parameters_of_the_standard(name: str) -> None:
    """Two arrays by position, which tools read off the signature."""
    parameters = inspect.signature(getattr(namespace, name)).parameters
    assert [*parameters] == ["x1", "x2"] and {p.kind.name for p in parameters.values()} == {"POSITIONAL_ONLY"}
    with pytest.raises(TypeError, match="positional"):
        getattr(namespace, name)(A, A, A)


def test_no_zero_has_a_sign_and_nan_stays() -> None:
    """As the standard says, of -0.0, too."""
    signs = np.asarray(namespace.sign(lazy(np.array([-0.0, 0.0, -2.0, np.inf, np.nan]))))
    np.testing.assert_array_equal(signs, [0, 0, -1, 1, np.nan])
    assert not np.signbit(signs[0])


def test_the_exclusive_or_of_numbers_is_no_inequality() -> None:
    """Numbers that are not 0 are true, as in NumPy, so two of these are alike."""
    xor = namespace.logical_xor(lazy(N), lazy(2 * N))
    assert not np.asarray(xor).any() and np.logical_xor(N, 2 * N).tolist() == np.asarray(xor).tolist()


ERRORS: dict[str, Callable[[], Any]] = {
    "the shapes (6, 8) and (6,) do not fit each other": lambda: lazy(A) + lazy(X[:6]),
    "the shapes (6, 8) and (6, 8) do not fit each other": lambda: lazy(A) @ lazy(A),
    "axis 2 of an array with 2": lambda: lazy(A).sum(axis=2),
    "axis 1 is given twice": lambda: lazy(A).sum(axis=(1, -1)),
    "axis -3 of an array with 2": lambda: lazy(A).sum(axis=-3),
    "an array with axes (8,) is no matrix": lambda: lazy(X).mT,
    "ndarray is no lazy array": lambda: compute(A),
    "1 axis of an array with 2": lambda: namespace.permute_dims(lazy(A), (1,)),
    "axis 1 has extent 8, not 1": lambda: namespace.squeeze(lazy(A), axis=1),
    "a matrix product of a number": lambda: lazy(A) @ 2,
    "the exponent np.float64(2.0)": lambda: lazy(A) ** np.float64(2),
    "the exponent np.True_": lambda: lazy(A) ** np.True_,
    "9223372036854775808 does not fit a 64-bit integer": lambda: lazy(N) + 2**63,
    "18446744073709551615 does not fit a 64-bit integer": lambda: np.uint64(2**64 - 1) - lazy(N),
    f"{-(10**400)} does not fit a 64-bit integer": lambda: lazy(A) < -(10**400),
    "there is nothing to divide by: 6 - 6 elements": lambda: namespace.var(lazy(A), axis=0, correction=6),
    "there is no mean over axes of (0, 8) that are empty": lambda: namespace.mean(lazy(A[:0]), axis=0),
    "the language makes no integers of doubles": lambda: namespace.astype(lazy(A), namespace.int64),
    "complex128 is no type of lazy arrays": lambda: namespace.zeros(3, dtype="complex128"),
    "(4, -1) is no shape": lambda: namespace.zeros((4, -1)),
    "1.5 is no shape": lambda: namespace.ones(1.5),  # type: ignore[arg-type]
    "(4294967296, 0, 4294967296) is no shape": lambda: namespace.broadcast_to(1, (2**32, 0, 2**32)),
    "the shape (8,) is not broadcast to (6, 1)": lambda: namespace.broadcast_to(lazy(X), (6, 1)),
    "the shapes (8,) and (6,) do not fit each other": lambda: namespace.broadcast_to(lazy(X), 6),
    "the exponent <LazyTensor float64 6×8: C[i, j] = x[i, j]>": lambda: 2 ** lazy(A),
    "the exponent -1": lambda: lazy(A) ** -1,
    "the exponent 0.5": lambda: lazy(A) ** 0.5,
    "axes (0,) of (6, 8) and (0,) of (8,) differ": lambda: namespace.tensordot(lazy(A), lazy(X), axes=((0,), (0,))),
    "'for' is no name": lambda: lazy(A, "for"),
    "'A[i] + B' is no name": lambda: lazy(A, "A[i] + B"),
    "A: a tensor does not hold complex128 elements": lambda: lazy(A * 1j, "A"),
}


@pytest.mark.parametrize("message", ERRORS)
def test_a_mistake_is_one_message(message: str) -> None:
    with pytest.raises(InputError) as caught:
        ERRORS[message]()
    assert message in caught.value.message and caught.value.fix


def test_the_package_exports_the_front() -> None:
    assert {"einsum", "lazy", "compute", "LazyTensor", "Computed"} <= {*wingspan.__all__}


@pytest.mark.parametrize("name", ["isfinite", "isinf", "ceil", "floor", "trunc", "sign"])
def test_functions_of_integers_and_doubles_are_those_of_numpy(name: str) -> None:
    for x in (np.array([-(2**63), 0, 5]), np.array([np.inf, -np.inf, np.nan, 1.5, -2.5, 0.0])):
        np.testing.assert_array_equal(np.asarray(getattr(namespace, name)(lazy(x))), getattr(np, name)(x))


@pytest.mark.parametrize(
    "refused, message",
    [
        (lambda x: namespace.vecdot(x, lazy(np.ones((2, 1)))), r"axis -1 of \(3,\) and \(2, 1\) differs"),
        (lambda x: namespace.full_like(x, np.nan), "nan is no int64"),
        (lambda x: namespace.full((2,), 2**70, dtype=np.int64), "is no int64"),
        (lambda x: namespace.sum(x, axis=(0, 0)), "axis 0 is given twice"),
        (lambda x: namespace.var(x, correction=3), "nothing to divide by: 3 - 3 elements"),
        (lambda x: namespace.sign(x > 0), "booleans have no sign"),
    ],
)
def test_what_the_namespace_refuses_is_one_error(refused: Callable[[LazyTensor], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        refused(lazy(np.array([1, 2, 3])))


def test_one_value_everywhere_takes_no_memory() -> None:
    """Extents whose elements no machine has room for, multiplied by an array that stores three of them."""
    n = 10**9
    at, values = (np.array([0, 5, n - 1]), np.array([3, 3, n - 1])), np.array([1.0, 2.0, 3.0])
    A = lazy(scipy.sparse.coo_array((values, at), shape=(n, n)))
    everywhere = {
        "zeros": (namespace.zeros((n, n)), 0), "ones": (namespace.ones((n, n)), 1),
        "full": (namespace.full((n, n), 2.5), 2.5), "broadcast": (namespace.broadcast_to(np.float64(3), (n, n)), 3),
        "alike": (namespace.full_like(A, -1), -1),
    }  # fmt: skip
    for name, (array, value) in everywhere.items():
        assert array.shape == (n, n) and float((A * array).sum()) == 6 * value, name
        assert compute(A * array).to_coo().values.tolist() == [value, 2 * value, 3 * value], name


def test_a_value_that_is_everywhere_is_data() -> None:
    """A zero of `zeros` is one that is stored: times Inf it is NaN, as for NumPy, and as for an array of zeros."""
    for zero in (namespace.zeros(2), namespace.broadcast_to(0.0, 2), namespace.full(2, -0.0)):
        assert np.isnan(np.asarray(zero * lazy(np.array([np.inf, np.nan])))).all()


def test_numpy_functions_behind_operators_take_lazy_arrays() -> None:
    """And no others; `x += y` binds x to a new array, and nothing is written to an array."""
    x: Any = lazy(np.array([1, 2]))
    before = x
    x += np.array([3, 4])
    assert np.asarray(x).tolist() == np.asarray(np.add(before, [3, 4])).tolist() == [4, 6]
    assert np.asarray(before).tolist() == [1, 2]
    for refused in (
        lambda: np.add(x, 1, out=np.zeros(2, int)),
        lambda: np.add(np.ones(2, int), x, out=before),
        lambda: np.add(x, 1, where=False),
        lambda: np.add.reduce(x),
        lambda: np.sqrt(x),
        lambda: divmod(x, 2),
    ):
        with pytest.raises(TypeError):
            refused()
