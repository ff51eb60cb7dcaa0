"""Whole expressions: every program that could be chosen computes the reference's result, and the chosen one is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pyarrow
import pytest
import scipy.sparse

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few, many
from proofs_tests.tensors.pydata import compressed, coordinates
from wingspan import api, function
from wingspan.api.expressions import einsum
from wingspan.base.errors import InputError, ParseError, ProgramError
from wingspan.choices.contractions import enumerate_contractions
from wingspan.choices.nests import nests
from wingspan.choices.reading import read_einsum
from wingspan.compiled import background
from wingspan.elaborate import Elaborated
from wingspan.lang.algebra import double
from wingspan.tensors.tensor import Tensor
from wingspan.testing import SPECIAL, campaign, einsums


class Chosen:
    """The einsum of a program, computed by `einsum` from its inputs in their formats."""

    name = "chosen"
    nonfinite = True

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        found = program.einsum()
        given = {access.fiber.tensor: program.inputs[access.fiber.tensor] for access in found.accesses}
        results = [*self.results(str(found), double(found.init.value), given)]
        for other in results[1:]:
            np.testing.assert_array_equal(other, results[0])
        wanted = program.towers[found.output]
        if not np.can_cast(results[0].dtype, wanted.dtype, "same_kind"):
            raise InputError(f"its elements are {results[0].dtype}")
        return {found.output: results[0].astype(wanted.dtype)}

    def results(self, text: str, init: Any, given: Mapping[str, Any]) -> Iterator[np.ndarray]:
        """The result of the chosen program."""
        made = einsum(text, init=init, engine="native", **given)
        assert made.check().verdict == "safe"
        yield made.to_numpy()


class Every(Chosen):
    """The same by every program that could be chosen."""

    name = "every"

    def results(self, text: str, init: Any, given: Mapping[str, Any]) -> Iterator[np.ndarray]:
        found, operands = read_einsum(api.parse(text).tree, given, init)
        for way in enumerate_contractions(found, operands):
            written, inputs = way.program()
            kernel = api.compile(api.parse(written), engine="native")
            stored = kernel.call({name: operand.tensor(order) for name, (operand, order) in inputs.items()})
            levels = way.nests[-1].order[::-1]
            yield stored.to_numpy().transpose([levels.index(axis) for axis in range(len(levels))])


def test_the_chosen_program_computes_the_reference() -> None:
    """Random einsums, on inputs in random formats, some without elements or axes, some with Inf, NaN and other fill."""
    done = campaign(
        ["reference", "native"], [Chosen()], programs=einsums(), examples=many(100), first_seed=3, special=SPECIAL
    )
    assert done.cases >= many(100), done


def test_every_order_of_the_loops_computes_the_reference() -> None:
    done = campaign(["reference", "native"], [Every()], programs=einsums(), examples=many(30), first_seed=11)
    assert done.cases >= many(30), done


# ------------------------------------------------------------------------------------------------------ what is chosen


def random(shape: tuple[int, ...], form: str = "csr", density: float = 0.01) -> Any:
    """A sparse array with random elements, each at a random place."""
    generator = np.random.default_rng(7)
    count = int(np.prod(shape) * density)
    at = np.unravel_index(generator.choice(int(np.prod(shape)), count, replace=False), shape)
    return scipy.sparse.coo_array((generator.integers(1, 9, count) / 2, at), shape=shape).asformat(form)


A = random((300, 300))
GUSTAVSON = """\
AT = Tensor(Dense(SparseList(Element(0.0))))
BT = Tensor(Dense(SparseList(Element(0.0))))
CT = Tensor(Dense(SparseList(Element(0.0))))
w = Tensor(SparseByteMap(Element(0.0)))
CT .= 0.0
for i = _
    w .= 0.0
    for k = _
        for j = _
            w[j] += AT[k, i] * BT[j, k]
        end
    end
    for j = _
        CT[j, i] = w[j]
    end
end
return CT"""


def test_a_product_of_sparse_matrices_is_gustavsons() -> None:
    """By rows for CSR, by columns for CSC; nothing is moved, and the result is as the inputs are."""
    by_rows = einsum("C[i, j] += A[i, k] * B[k, j]", A=A, B=A, engine="native")
    assert str(by_rows.program) == GUSTAVSON
    assert by_rows.to_scipy().format == "csr"
    assert (by_rows.to_scipy() != A @ A).nnz == 0
    by_columns = einsum("C[i, j] += A[i, k] * B[k, j]", A=A.tocsc(), B=A.tocsc(), engine="native")
    assert "CT" not in str(by_columns.program) and "w[i] += A[i, k] * B[k, j]" in str(by_columns.program)
    assert by_columns.to_scipy().format == "csc"


X, D, T = np.arange(300.0), np.ones((300, 8)), random((30, 40, 20), "coo")
SPARSE_X = random((300,), "coo", 0.05)
ROWS, COLUMNS = "Dense(SparseList(Element(0.0)))", "Dense(Element(0.0))"


@pytest.mark.parametrize(
    ("text", "inputs", "loops", "form", "workspace"),
    [
        ("y[i] += A[i, k] * x[k]", {"A": A, "x": X}, "ik", "Dense(Element(0.0))", None),
        ("y[i] += A[i, k] * x[k]", {"A": A.tocsc(), "x": X}, "ki", "Dense(Element(0.0))", None),
        ("y[i] += A[i, k] * x[k]", {"A": A.tocsc(), "x": SPARSE_X}, "ki", "SparseByteMap(Element(0.0))", None),
        ("C[i, j] += A[k, i] * B[k, j]", {"A": A, "B": A}, "ikj", ROWS, "SparseByteMap(Element(0.0))"),
        ("C[i, j] += S[i, j] * U[i, k] * V[j, k]", {"S": A, "U": D, "V": D}, "ijk", ROWS, None),
        ("C[i, j] += A[i, k] * D[k, j]", {"A": A, "D": D}, "ikj", "Dense(Dense(Element(0.0)))", None),
        ("C[i, j] = A[i, j] + B[i, j]", {"A": A, "B": A}, "ij", ROWS, None),
        ("C[i, j] = A[i, j] * E[i, j]", {"A": A, "E": np.ones((300, 300))}, "ij", ROWS, None),
        ("C[i, j] = A[i, j] + E[i, j]", {"A": A, "E": np.ones((300, 300))}, "ij", "Dense(Dense(Element(0.0)))", None),
        ("C[i, j] = ifelse(A[i, j] > 2, A[i, j], 0)", {"A": A}, "ij", ROWS, None),
        ("M[i, r] += T[i, k, l] * U[k, r] * V[l, r]", {"T": T, "U": np.ones((40, 8)), "V": np.ones((20, 8))}, "ilkr",
         "Dense(Dense(Element(0.0)))", None),
    ],
)  # fmt: skip
def test_the_chosen_program_is_the_one_by_hand(
    text: str, inputs: Mapping[str, Any], loops: str, form: str, workspace: str | None
) -> None:
    """The order of the loops, the format of the result and of its workspace, as in examples/ where they have one."""
    best = nests(*read_einsum(api.parse(text).tree, inputs))[0]
    assert ("".join(best.ordered.loops), best.format, best.workspace) == (loops, form, workspace)


@needs_compiler
def test_large_work_is_compiled_and_runs_in_parallel() -> None:
    """As far as the level dependence test accepts it. Small work is not worth compiling it."""
    big = random((800, 800), density=0.2)
    einsum("y[i] += A[i, k] * x[k]", A=big, x=np.ones(800), threads=2)
    background.wait_for_all()
    made = einsum("y[i] += A[i, k] * x[k]", A=big, x=np.ones(800), threads=2)
    assert made.engine == "compiled" and "for i = parallel(_, dev" in str(made.program)
    assert made.check().verdict == "safe"
    np.testing.assert_allclose(made.to_numpy(), big.sum(1))
    assert einsum("C[i] += A[i, k]", A=A).engine == "native"


# ------------------------------------------------------------------------------------------------- formats and inputs

FORMATS = [
    "Dense(Dense(Element(0.0)))", "Dense(SparseList(Element(0.0)))", "SparseList(Dense(Element(0.0)))",
    "SparseCOO(2, Element(0.0))", "SparseDict(SparseByteMap(Element(0.0)))", "Dense(SparseBand(Element(0.0)))",
    "Dense(RunList(Element(0.0)))", "SparseList(SparseBlockList(Element(0.0)))",
]  # fmt: skip
TEXTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "C[i, j] += A[i, k] * B[j, k]": lambda a, b: a @ b.T,
    "C[j, i] = A[i, j] - B[j, i]": lambda a, b: a.T - b,
    "C[i, j] += i * A[j, i] * B[k, k]": lambda a, b: np.arange(1, 8)[:, None] * a.T * b.trace(),
    "C[i, j] <<max>>= max(A[i, j], B[j, k])": lambda a, b: np.maximum(a, b.max(1)),
}


@pytest.mark.parametrize(("text", "form"), few(list(product(TEXTS, FORMATS)), 11))
def test_the_result_has_the_format_that_is_asked_for(text: str, form: str) -> None:
    small, other = random((7, 7), "csr", 0.3), random((7, 7), "csc", 0.2)
    made = einsum(text, A=small, B=other, format=form, engine="native")
    assert str(made.stored.tower) == form and made.axes == (0, 1)
    np.testing.assert_allclose(made.to_numpy(), TEXTS[text](small.toarray(), other.toarray()))


def test_what_is_chosen_stores_no_zeros_that_the_expression_does_not_make() -> None:
    """Through a workspace of the whole result, whose levels are in another order than the loops."""
    made = einsum("C[i, j] += A[i, k] * B[k, j]", A=A, B=A, format=ROWS, engine="native")
    assert made.nnz == (A @ A).nnz


def test_inputs_are_what_other_libraries_have() -> None:
    """Each gives the same sum with the same array, and a fill value that is not zero counts."""
    small = random((12, 12), "csr", 0.2)
    dense = small.toarray()
    given = [small, small.tocsc(), small.tocoo(), small.tobsr((3, 3)), small.todia(), small.tolil(), dense,
             np.asfortranarray(dense), dense[:, ::-1][:, ::-1], Tensor.from_scipy(ROWS, small.tocsc()),
             einsum("C[j, i] = A[i, j]", A=small.T), dense.tolist(), coordinates(dense),
             compressed(dense, 0)]  # fmt: skip
    ends = [einsum("y[i] += i * A[i, j] * j", A=each, engine="native").to_numpy() for each in given]
    i, j = np.indices(dense.shape) + 1
    for end in ends:
        np.testing.assert_allclose(end, (i * dense * j).sum(1))
    runs = pyarrow.RunEndEncodedArray.from_arrays([2, 5], [1.5, 0.0])
    assert float(einsum("s[] += A[i] * i", A=runs)) == 4.5
    filled = Tensor.from_numpy("Dense(SparseList(Element(2.0)))", np.where(dense, dense, 2.0))
    made = einsum("C[j, i] = A[i, j] * 3", A=filled, engine="native")
    assert made.fill == 6 and made.nnz == filled.nnz
    np.testing.assert_allclose(made.to_numpy().T, np.where(dense, dense, 2.0) * 3)


def test_the_result_of_a_parallel_run_is_an_input_of_another_one() -> None:
    """Its format has modifiers and devices, which the next program does not name."""
    sharded = Tensor.from_scipy("Dense(Shard(d, SparseList(Element(0.0))))", A, devices={"d": 2})
    made = einsum("C[i, j] = A[j, i] + A[j, i]", A=sharded, engine="native")
    assert "Shard" not in str(made.program)
    assert (made.to_scipy() != 2 * A.T).nnz == 0


@pytest.mark.parametrize("extents", [(0, 0, 0), (0, 3, 2), (2, 0, 3), (3, 2, 0), (1, 1, 1)])
@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
def test_axes_may_be_empty_or_have_one_index(extents: tuple[int, int, int], form: str) -> None:
    m, n, k = extents
    a, b = np.ones((m, k)), 2 * np.ones((k, n))
    left, right = (x if form == "dense" else scipy.sparse.coo_array(x).asformat(form) for x in (a, b))
    assert (einsum("C[i, j] += A[i, k] * B[k, j]", A=left, B=right).to_numpy() == a @ b).all()
    least = einsum("C[i] <<min>>= A[i, k]", A=left).to_numpy()
    assert (least == np.min(a, axis=1, initial=np.inf)).all()


def test_the_kind_of_the_result_follows_from_the_expression() -> None:
    """64 bits; a comparison is a boolean, and a number where it is added; a quotient is a double."""
    ints = scipy.sparse.csr_array(np.array([[0, 2], [3, 0]], np.uint8))
    kinds = {"C[i, j] = A[i, j] > 2": "bool", "C[i] += A[i, j] > 2": "int64", "C[i] |= A[i, j] > 2": "bool",
             "C[i] <<min>>= A[i, j]": "int64", "C[i, j] = A[i, j] / 2": "float64", "C[i] += A[i, j] * 0.5": "float64",
             "C[] <<&&>>= A[i, i] == 0": "bool", "C[i] *= A[i, j] + 1": "int64"}  # fmt: skip
    made = {text: einsum(text, A=ints) for text in kinds}
    assert {text: str(each.dtype) for text, each in made.items()} == kinds
    assert made["C[i] <<min>>= A[i, j]"].to_numpy().tolist() == [0, 0]
    assert made["C[i] *= A[i, j] + 1"].to_numpy().tolist() == [3, 4]


def test_a_choice_is_for_inputs_like_these() -> None:
    """The same expression, then with doubles, another fill value and another order of axes."""
    text, ints = "C[j, i] = A[i, j] + 1", np.array([[1, 0], [2, 3]])
    filled = Tensor.from_numpy("Dense(SparseList(Element(2)))", ints)
    inputs: list[Any] = [
        ints,
        ints / 2,
        scipy.sparse.csr_array(ints),
        scipy.sparse.csc_array(ints / 2),
        filled,
        ints > 1,
    ]
    for given in inputs:
        wanted = np.asarray(given.todense() if scipy.sparse.issparse(given) else given).T + 1
        made = einsum(text, A=given)
        assert made.dtype == wanted.dtype and (made.to_numpy() == wanted).all()


def test_the_first_of_one_axis_is_the_same_of_every_format() -> None:
    """choose(0) takes values in the order of the one index that is reduced."""
    given = np.array([[0, 3, 1], [0, 0, 2], [0, 0, 0]])
    for made in (given, scipy.sparse.csr_array(given), scipy.sparse.csc_array(given)):
        assert einsum("C[i] <<choose(0)>>= A[i, k]", A=made).to_numpy().tolist() == [3, 2, 0]
        assert einsum("C[k] <<choose(0)>>= A[i, k]", A=made).to_numpy().tolist() == [0, 3, 1]


INITS: dict[str, tuple[str, Any, Any]] = {
    "elements cannot begin as 'x'": ("y[i] += a[i]", X, "x"),
    "elements cannot begin as [1]": ("y[i] += a[i]", X, [1]),
    "y holds numbers, and begins as true": ("y[i] += a[i]", X, np.True_),
    "y holds booleans, and begins as 0": ("y[i] <<||>>= a[i]", X > 0, 0),
}


@pytest.mark.parametrize("message", INITS)
def test_elements_cannot_begin_as_what_they_are_not(message: str) -> None:
    expression, a, init = INITS[message]
    with pytest.raises(InputError) as caught:
        einsum(expression, a=a, init=init)
    assert caught.value.message == message and caught.value.fix


def test_elements_begin_as_a_number_of_numpy() -> None:
    assert (np.asarray(einsum("y[i] += a[i]", a=X, init=np.float64(2.5))) == X + 2.5).all()


def test_elements_begin_as_init() -> None:
    """And an expression without indices is one element."""
    assert float(einsum("s[] += 2.5", init=1)) == 3.5
    made = einsum("C[i] += A[i, j]", A=random((3, 3), density=0.5), init=10)
    np.testing.assert_allclose(made.to_numpy(), 10 + random((3, 3), density=0.5).sum(1))


def test_a_result_that_begins_as_another_value_than_its_format_says_is_an_input() -> None:
    given = random((3, 3), density=0.5)
    made = einsum("C[i, j] += A[i, j]", A=given, init=10, format=ROWS)
    assert made.nnz == given.nnz and made.fill == 10
    doubled = einsum("D[i, j] = C[i, j] * 2", C=made)
    assert doubled.nnz == given.nnz and doubled.fill == 20
    np.testing.assert_allclose(doubled.to_numpy(), 2 * (10 + given.toarray()))


def test_the_axes_of_a_result_are_in_the_order_of_the_expression() -> None:
    """The order of its levels does not matter: as an array of NumPy, of SciPy, and as coordinates."""
    made = einsum("C[l, i, k] = T[i, k, l]", T=T, engine="native")
    wanted = T.transpose((2, 0, 1))
    assert made.shape == (20, 30, 40) and (made.to_numpy() == wanted.toarray()).all()
    assert (made.to_scipy() != wanted).nnz == 0
    coo = made.to_coo()
    assert coo.shape == (20, 30, 40) and (wanted.toarray()[tuple(coo.subscripts)] == coo.values).all()
    assert float(einsum("s[] += T[i, k, l]", T=T)) == T.sum()


# -------------------------------------------------------------------------------------------------------------- errors

SUM, MATRIX = "C[i] += A[i]", "Dense(Dense(Element(0.0)))"
ERRORS: dict[str, tuple[str, dict[str, Any]]] = {
    "an einsum is one update of a tensor": ("x = 3", {}),
    "B is not given": ("C[i] += A[i] * B[i]", {"A": X}),
    "the expression does not read B": (SUM, {"A": X, "B": X}),
    "A has 2 axes, and here 1 subscript": (SUM, {"A": A}),
    "axis 1 of B has extent 8, and axis 2 of A has 300: k runs over both": (
        "C[i] += A[i, k] * B[k]",
        {"A": A, "B": X[:8]},
    ),
    "no input has an axis j, which C has": ("C[i, j] += A[i]", {"A": X}),
    "C has no axis i, so its elements would be overwritten": ("C[] = A[i]", {"A": X}),
    "the order of the loops over i, k matters to choose(0), and einsum chooses it": (
        "c[] <<choose(0)>>= A[i, k]",
        {"A": A},
    ),
    "the subscript i * i is no sum of multiples of indices and a whole number": ("C[i] += A[i * i]", {"A": X}),
    "C has 1 axis, and Dense(Dense(Element(0.0))) has 2": (SUM, {"A": X, "format": MATRIX}),
    "there is no engine semantics for einsums": (SUM, {"A": X, "engine": "semantics"}),
    "A: a tensor does not hold complex128 elements": (SUM, {"A": X * 1j}),
}  # fmt: skip


def test_a_value_of_the_wrong_kind_is_named_as_the_expression_does() -> None:
    """And not as the program, in which the axes of B may lie in another order, under another name."""
    with pytest.raises(ProgramError) as caught:
        einsum("C[i] += ifelse(B[j, i], A[j, i], B[j, i])", A=np.ones((2, 2)), B=np.ones((2, 2), bool))
    error = caught.value
    assert error.message == "ifelse takes a double, A[j, i], or a boolean, B[j, i]"
    assert error.span is not None and (error.span.line, error.span.column) == (1, 34)


@pytest.mark.parametrize("message", ERRORS)
def test_a_mistake_is_one_message(message: str) -> None:
    text, options = ERRORS[message]
    with pytest.raises(InputError) as caught:
        einsum(text, **options)
    assert message in caught.value.message and caught.value.fix


@pytest.mark.parametrize(("text", "form", "fix"), [
    ("C[i] += A[i]", "Dense(Element(0))", "Element(0.0)"),
    ("C[i] <<max>>= A[i]", "Dense(Element(0, u8))", "Element(-Inf)"),
    ("C[i] <<||>>= A[i] > 1", "Dense(Element(0))", "Element(false)"),
    ("C[i] += A[i] > 1", "Dense(Element(false))", "Element(0)"),
])  # fmt: skip
def test_a_format_that_cannot_hold_the_elements_is_refused(text: str, form: str, fix: str) -> None:
    """Before anything runs, with a leaf that can."""
    with pytest.raises(InputError, match=r"C gets .*, and .* holds") as raised:
        einsum(text, A=np.array([0.5, 2.0]), format=form)
    assert raised.value.fix == f"give a format whose leaf is {fix}"


def test_booleans_may_be_stored_as_numbers() -> None:
    for leaf, expected in (("0", [0, 1]), ("0.0", [0.0, 1.0]), ("false", [False, True])):
        made = einsum("C[i] = A[i] > 1", A=np.array([0.5, 2.0]), format=f"Dense(Element({leaf}))").to_numpy()
        assert made.tolist() == expected and type(made.tolist()[0]) is type(expected[0])


def test_functions_are_called_and_updated_by() -> None:
    """From Python, or declared in lines before the update; the program declares those that it uses."""
    A, B = np.array([0.5, 0, 0.25, 0]), np.array([[1, 2, 0], [3, 0, 4]])
    f = function("f(x, y) = x + y - x * y", associative=True, commutative=True, identity=0)
    g, unused = function("g(x) = 2 * x + 1"), function("unused(x) = x")
    made = einsum("y[] <<f>>= A[i]", A=A, functions=[f], threads=2)
    assert float(made) == 0.625 and made.check().verdict == "safe"
    made = einsum("y[i] += g(B[i, j])", B=B, functions=[unused, g])
    assert made.to_numpy().tolist() == (2 * B + 1).sum(1).tolist()
    assert str(g) in str(made.program) and "unused" not in str(made.program)
    text = "function w(x) = 3 * x\nfunction h(x) = w(x) - 1\nC[j] <<max>>= h(B[i, j])"
    made = einsum(text, B=B)
    assert made.to_numpy().tolist() == (3 * B - 1).max(0).tolist()
    assert str(made.program).index("function w") < str(made.program).index("function h")


def test_a_tensor_and_a_function_have_two_names() -> None:
    """B with its axes in the order of the loops is BT, unless a function has this name."""
    B = np.array([[1, 2, 0], [3, 0, 4]])
    made = einsum("y[i] += BT(B[i, j])", B=B, functions=[function("BT(x) = 2 * x")])
    assert "BT2 = Tensor" in str(made.program)
    assert made.to_numpy().tolist() == (2 * B).sum(1).tolist()


def test_what_is_wrong_with_functions_is_one_error() -> None:
    f = function("f(x, y) = 2 * x - y")
    wrong: Any = (
        ("y[] <<f>>= A[i]", [], "no function f is declared before this"),
        ("y[] <<f>>= A[i]", [lambda x, y: x], "functions are what wingspan.function makes, and this is a function"),
        ("y[] <<f>>= A[i]", f, "functions are given in a list"),
        ("y[] <<f>>= A[i]", [f], "f has no identity to begin from"),
        ("y[] <<f>>= A[i] * A[j]", [f], "the order of the loops over i, j matters to f"),
    )
    for text, given, message in wrong:
        init = 0 if "j" in text else None
        with pytest.raises((InputError, ParseError)) as raised:
            einsum(text, A=np.ones(2), init=init, functions=given)
        assert raised.value.message.startswith(message) and raised.value.fix
