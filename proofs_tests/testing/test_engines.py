"""Engines of others: einsums, coordinates, libraries of arrays, and what a campaign says of them."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.comparison import Ending, difference
from wingspan.elaborate import Elaborated
from wingspan.errors import Fault, InputError
from wingspan.tensors.tensor import Coordinates, Tensor
from wingspan.testing import SPECIAL, ArrayEngine, Case, campaign, einsums, peers, split
from wingspan.testing import tensors as drawn_tensors
from wingspan.testing.cases import groups
from wingspan.testing.peers import Finch, FinchJl, Gcxs, GraphBLAS, Jax, Numba, SciPy, Sparse
from wingspan.testing.peers.finch_jl import script
from wingspan.testing.peers.numba import source

# ------------------------------------------------------------------------------------------------------------- einsums


class Loops:
    """What `program.einsum()` says, run as Python loops over dense arrays."""

    name = "loops"
    unchecked = True

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        einsum = program.einsum()
        names = sorted({access.fiber.tensor for access in einsum.accesses})
        made: dict[str, Any] = {}
        exec(source(einsum, names), made)
        tower = program.towers[einsum.output]
        out = np.full(tower.shape, float(einsum.init.value)).astype(tower.dtype)
        made["kernel"](out, *(inputs[name] for name in names), *einsum.extents.values())
        return {einsum.output: out}


def test_an_einsum_is_all_that_there_is_to_know_of_a_program() -> None:
    done = campaign(["semantics"], [Loops()], programs=einsums(), examples=many(160), first_seed=5)
    assert done.cases > many(160) and not any("more than one einsum" in why for why in done.skipped), done


class Nothing(Loops):
    """Every result times 0."""

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        return {name: 0 * array for name, array in super().run(program, inputs).items()}


@pytest.mark.parametrize("first_seed", range(4))
def test_ten_einsums_with_an_input_each_show_that_results_are_lost(first_seed: int) -> None:
    """More than one of three, since most outputs have an element other than the fill value."""
    asked: dict[str, Any] = {"programs": einsums(), "examples": 10, "inputs": 1, "first_seed": first_seed}
    done = campaign(["semantics"], [Nothing()], collect=True, **asked)
    assert 3 * sum(bucket.cases for bucket in done.buckets.values()) > done.cases > 4, done


BEFORE = "C = Tensor(Dense(Dense(Element(0))), 2, 2)\nA = Tensor(SparseCOO(2, Element(0)), [1 2; 3 4])\nC .= 0\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "there is more than loops around one update"),
        (
            "for i = _; for j = _; C[i, j] += A[i, j]; end; end; x = 1",
            "it does not consist of a declaration and one update inside of loops",
        ),
        ("for i = 1:1; for j = _; C[i, j] += A[i, j]; end; end", "i runs over 1 of 2 indices of C"),
        ("for i = 2:2; for j = _; C[i, j] += A[i, j]; end; end", "the loop over i is not over a whole axis"),
        ("for i = _; for j = _; C[i, j] = A[i, j] * A[j, 1]; end; end", "the subscript 1 is not an index alone"),
        ("for i = _; for j = _; for k = _; C[i, j] = A[i, k]; end; end; end", "it overwrites elements of C"),
        ("for i = _; for j = _; C[i, i] += A[i, j]; end; end", "it updates a diagonal of C only"),
        ("for i = _; for j = _; C[i, j] += coalesce(A[i + 1, ~(j + 1)], 0); end; end", "it reads coalesce("),
        ("for i = _; for j = _; if A[i, j] > 1; C[i, j] += 1; end; end; end", "more than loops around one update"),
        ("for i = _; for j = _; C[i, j] += A[i, j]; C[i, j] += 1; end; end", "more than loops around one update"),
    ],
)
def test_a_program_that_is_more_than_an_einsum_says_what_is_more(text: str, why: str) -> None:
    """In one message."""
    with pytest.raises(InputError) as error:
        api.bind(api.parse(BEFORE + text)).einsum()
    assert why in error.value.message and len(error.value.diagnostics) == 1


def test_a_parallel_loop_is_a_loop_and_a_diagonal_may_be_read() -> None:
    text = "for i = parallel(_, cpu(2), dynamic_schedule(1))\nfor j = _; C[j, i] -= A[i, i] * j; end\nend"
    einsum = api.bind(api.parse(BEFORE.replace("C .= 0", "C .= -1") + text)).einsum()
    assert str(einsum) == "C[j, i] -= A[i, i] * j"
    assert (einsum.axes, einsum.loops, einsum.extents) == (("j", "i"), ("i", "j"), {"i": 2, "j": 2})
    assert (einsum.op, einsum.init.value) == ("-", -1)


@settings(deadline=None, derandomize=True, max_examples=many(400), suppress_health_check=list(HealthCheck))
@given(drawn_tensors(modified=False))
def test_coordinates_are_what_a_tensor_stores(drawn: tuple[str, np.ndarray]) -> None:
    """Of any rank, fill value and width; they are nobody else's."""
    form, array = drawn
    tensor = Tensor.from_numpy(form, array)
    coo = tensor.to_coo()
    assert coo.subscripts.shape == (array.ndim, tensor.nnz) and coo.subscripts.dtype == np.int64
    made = np.full(coo.shape, coo.fill, coo.values.dtype)
    made[tuple(coo.subscripts)] = coo.values if array.ndim else coo.values[0]
    assert made.dtype == tensor.to_numpy().dtype and np.array_equal(made, tensor.to_numpy())
    stored = np.zeros(coo.shape, bool)
    stored[tuple(coo.subscripts)] = True
    assert np.array_equal(stored, tensor.stored())
    columns = list(zip(*coo.subscripts[::-1].tolist(), strict=True)) if array.ndim else []
    assert columns == sorted(set(columns))
    coo.values[...] = coo.values[::-1].copy() if len(set(coo.values.tolist())) > 1 else ~coo.values.astype(bool)
    assert np.array_equal(made, tensor.to_numpy())


# -------------------------------------------------------------------------------------------------- libraries of arrays


def dense(stored: Coordinates) -> np.ndarray:
    """A NumPy array; elements at equal subscripts are added."""
    array = np.full(stored.shape, stored.fill, stored.values.dtype)
    array[tuple(stored.subscripts)] = 0
    np.add.at(array, tuple(stored.subscripts), stored.values)
    return array


ARRAYS = SimpleNamespace(
    add=np.add, subtract=np.subtract, multiply=np.multiply, minimum=np.minimum, maximum=np.maximum, sum=np.sum,
    min=np.min, max=np.max, expand_dims=np.expand_dims, permute_dims=np.transpose, tensordot=np.tensordot,
)  # fmt: skip


def library(**changed: Any) -> ArrayEngine:
    """NumPy as such a library, with other functions in place of some."""
    functions = SimpleNamespace(**{**vars(ARRAYS), **changed})
    return ArrayEngine("arrays", dense, functions, np.asarray, duplicates=True)


@pytest.mark.parametrize("special", [(), SPECIAL])
def test_a_library_of_arrays_runs_all_einsums(special: tuple[str, ...]) -> None:
    """With special inputs, too, and with elements in two parts. Only what wraps is no difference."""
    done = campaign(["semantics"], [library()], programs=einsums(), examples=many(160), special=special)
    assert done.cases > many(160) and not any("cannot run" in why for why in done.skipped), done


VECTOR = """
A = Tensor(Dense(SparseList(Element(0))))
x = Tensor(Dense(Element(0)))
y = Tensor(Dense(Element(0)))
y .= 0
for j = _
    for i = _
        y[i] {}
    end
end
return y
"""
VECTORS = st.sampled_from([VECTOR.format(update) for update in ("+= A[i, j] * x[j]", "+= A[i, j] + x[j]")])
MAXIMA = st.just(VECTOR.format("<<max>>= A[i, j] * x[j]"))


@pytest.mark.parametrize(
    ("programs", "changed", "symptom"),
    [
        (VECTORS, {"sum": lambda array, axis: np.sum(array, axis=axis) * 0}, "wrong elements, += +"),
        (VECTORS, {"permute_dims": lambda array, axes: array}, ""),
        (VECTORS, {"tensordot": lambda one, other, axes: np.tensordot(one, other, axes) + 1}, "wrong elements, += *"),
        (MAXIMA, {"multiply": lambda one, other: 1 / 0}, "ZeroDivisionError: division by zero"),
        (MAXIMA, {"max": lambda array, axis: np.max(array, axis=axis) + 1}, "wrong elements, max= *"),
    ],
)
def test_a_defect_of_a_library_is_in_a_bucket(programs: Any, changed: dict[str, Any], symptom: str) -> None:
    """The campaign goes on, and each bucket has the smallest case."""
    done = campaign(["semantics"], [library(**changed)], programs=programs, examples=12, inputs=4, collect=True)
    found = {name: bucket for name, bucket in done.buckets.items() if name.startswith(f"arrays: {symptom}")}
    assert found and done.cases > 12, done
    assert max(bucket.cases for bucket in found.values()) > 1
    assert sum(bucket.cases for bucket in done.buckets.values()) <= done.cases
    for name, bucket in found.items():
        assert "arrays (" in bucket.smallest and "return y" in bucket.smallest
        assert f"differ: {name}" in str(done) or f"differs: {name}" in str(done)


def test_what_a_library_lacks_is_skipped_and_counted() -> None:
    engine = library(maximum=None, tensordot=None)
    texts = st.sampled_from([VECTOR.format(f"+= {value}") for value in ("A[i, j] * x[j]", "max(A[i, j], x[j])")])
    done = campaign(["semantics"], [engine], programs=texts, examples=8, inputs=2)
    assert done.skipped["arrays: arrays cannot run this: there is no function maximum"] > 0 and done.cases > 0, done
    assert "skipped" in str(done)


def given_inputs(special: Sequence[str]) -> list[dict[str, Any]]:
    """The inputs of two hundred cases of one program."""
    found: list[dict[str, Any]] = []
    cases = groups(st.just(VECTOR.format("+= A[i, j] * x[j]")), 1, special)

    @settings(
        deadline=None, derandomize=True, max_examples=200, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases)
    def look(group: list[Case]) -> None:
        found.append(dict(group[0].inputs))

    look()
    return found


def dense_of(array: Any) -> np.ndarray:
    return np.asarray(array.toarray() if scipy.sparse.issparse(array) else array)


def test_zeros_are_stored_on_request() -> None:
    """Every second one, and the tensor that an engine gets stores them, too."""
    zeros = 0
    for inputs in given_inputs(["zeros"]):
        for array in inputs.values():
            form = "Dense(SparseList(Element(0)))" if array.ndim == 2 else "SparseList(Element(0))"
            stored = Tensor.from_scipy(form, array).to_coo().values
            assert np.count_nonzero(stored == 0) == np.count_nonzero(dense_of(array).reshape(-1)[::2] == 0)
            zeros += int(np.count_nonzero(stored == 0))
    assert zeros > 50


def test_axes_are_empty_and_integers_large_on_request() -> None:
    def shares(special: Sequence[str]) -> tuple[float, float]:
        every = [[dense_of(array) for array in inputs.values()] for inputs in given_inputs(special)]
        empty = sum(any(0 in array.shape for array in arrays) for arrays in every)
        large = sum(any((abs(array) >= 2**31).any() for array in arrays) for arrays in every)
        return empty / len(every), large / len(every)

    plain, empty, large = shares([]), shares(["empty"]), shares(["large"])
    assert empty[0] > plain[0] + 0.1 and large[1] > 0.1 and plain[1] == empty[1] == 0, (plain, empty, large)


@given(st.lists(st.integers(-9, 9)))
def test_two_parts_make_an_element(values: list[int]) -> None:
    stored = Coordinates(np.arange(len(values))[None], np.array(values, np.int64), 0, (len(values),))
    parts = split(stored)
    assert len(parts.values) == len(values) + (len(values) + 1) // 2
    assert dense(parts).tolist() == values


VECTORS_OF_FLOATS = st.just(VECTOR.format("+= A[i, j] * x[j]").replace("Element(0)", "Element(0.0)"))


class Strict:
    """An engine that does not wish to see Inf or NaN, unless it is `nonfinite`."""

    name = "strict"

    def __init__(self, nonfinite: bool) -> None:
        self.nonfinite, self.met = nonfinite, 0

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        self.met += not all(np.isfinite(array).all() for array in inputs.values())
        return {name: t.to_numpy() for name, t in api.run(program, engine="semantics").tensors.items()}


@pytest.mark.parametrize("nonfinite", [False, True])
def test_only_engines_that_ask_for_it_see_inf_and_nan(nonfinite: bool) -> None:
    engine = Strict(nonfinite)
    done = campaign(["semantics"], [engine], programs=VECTORS_OF_FLOATS, examples=40, inputs=4)
    assert (engine.met > 0) == nonfinite
    assert (done.skipped["strict: an input has Inf or NaN, and the engine is not `nonfinite`"] > 0) != nonfinite


def test_a_campaign_warns_where_no_oracle_shows_that_a_fault_is_missing() -> None:
    with pytest.warns(UserWarning, match="every oracle is eager"):
        campaign(["reference"], [Strict(True)], programs=einsums(), examples=1)
    campaign(["reference", "semantics"], [Strict(True)], programs=einsums(), examples=1)
    campaign(["reference"], [library()], programs=einsums(), examples=1)
    campaign(["reference"], ["native"], programs=einsums(), examples=1)


def test_a_special_input_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InputError, match="there are no special inputs huge"):
        campaign(["semantics"], special=["huge"])


@pytest.mark.parametrize(("eager", "unchecked", "differs"), [(0, 0, True), (1, 0, False), (0, 1, False), (1, 1, False)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_fault_excuses_an_engine_that_wraps(eager: int, unchecked: int, differs: bool, turned: bool) -> None:
    """And an eager one, whose fault it is; whichever comes first."""
    array = {"C": np.array([1])}
    fault = Ending("one", {}, 0.0, fault="overflow", eager=bool(eager))
    result = Ending("other", array, 0.0, unchecked=bool(unchecked))
    pair = (result, fault) if turned else (fault, result)
    assert (difference(*pair, ["C"]) is not None) == differs
    wrong = Ending("other", {"C": np.array([2])}, 0.0, unchecked=True, eager=True)
    assert difference(Ending("one", array, 0.0), wrong, ["C"]) is not None


@dataclass
class Ends:
    """Always ends in one way: with this element, or with a fault."""

    name: str
    has: int | None
    eager: bool = False
    unchecked: bool = False

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        if self.has is None:
            raise Fault("overflow")
        return {"C": np.array(self.has)}


@pytest.mark.parametrize(
    ("first", "second", "third", "differ"),
    [
        (Ends("a", None, eager=True), Ends("b", 1), Ends("c", 2), "bc"),
        (Ends("a", None, eager=True), Ends("b", 1), Ends("c", 1), ""),
        (Ends("a", None, eager=True), Ends("b", None), Ends("c", 2), "bc"),
        (Ends("a", 1, unchecked=True), Ends("b", None), Ends("c", 1), "bc"),
        (Ends("a", 1, unchecked=True), Ends("b", None), Ends("c", None), ""),
    ],
)
def test_what_is_excused_beside_the_first_engine_is_compared_with_the_others(first, second, third, differ) -> None:
    program = api.bind(api.parse("C = Tensor(Element(0))\nC .= 0\nC[] += 1"))
    found = api.diff(program, engines=[first, second, third]).difference
    assert (found is None and differ == "") or (found is not None and found.first + found.second == differ)


class Faulting:
    name = "faulting"
    unchecked = True

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        raise NotImplementedError if inputs else Fault("overflow")


def test_what_is_not_implemented_cannot_be_run() -> None:
    text = "C = Tensor(Element(0))\nC .= 0\nC[] += A[1]"
    with pytest.raises(InputError, match="faulting cannot run this: not implemented"):
        api.diff(api.parse(text), engines=["semantics", Faulting()], inputs={"A": np.array([1.0])})


# -------------------------------------------------------------------------------------------------------- ready engines

MODULES = {Finch: "finchlite", Gcxs: "sparse", GraphBLAS: "graphblas", Jax: "jax", Numba: "numba", Sparse: "sparse"}


def test_every_ready_engine_has_a_name() -> None:
    """By an entry point; those that are arrays or loops of one library call themselves the same."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["wingspan.engines"]
    assert sorted(points.values()) == sorted(f"wingspan.testing.peers:{name}" for name in peers.__all__)
    named = [api.engine(points[name]).name for name in ("scipy", "sparse", "sparse-gcxs")]
    assert named == ["scipy", "sparse", "sparse-gcxs"]


@pytest.mark.parametrize("kind", MODULES)
def test_an_engine_whose_library_is_missing_names_the_extra(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[kind], None)
    with pytest.raises(InputError, match="this engine needs the package") as error:
        kind()
    assert error.value.fix == "pip install 'wingspan[engines]'"


@pytest.mark.parametrize("kind", few([SciPy, Sparse, Gcxs], 1))
def test_libraries_that_are_there_agree(kind: Any) -> None:
    """A few cases each, so that what engines call fits what the libraries offer."""
    done = campaign(["semantics"], [kind()], programs=einsums(), examples=many(160), inputs=4)
    assert done.cases > many(160) / 2, done


PRODUCT = """
A = Tensor(Dense(SparseList(Element(0.0))))
B = Tensor(Dense(Element(0.0)))
C = Tensor(Dense(Element(0.0)))
C .= 1
for j = _
    for i = _
        C[i] <<max>>= A[i, j] * B[j]
    end
end
return C
"""

JULIA = """using Finch
A = Tensor(Dense(SparseList(Element(0.0))), reshape(Float64[1.0, 0.0, 2.5, 0.0], 2, 2))
B = Tensor(Dense(Element(0.0)), reshape(Float64[2.0, -1.0], 2))
C = Tensor(Dense(Element(1.0)), 2)
@finch begin
    C .= 1.0
    for j = 1:2, i = 1:2
        C[i] <<max>>= A[i, j] * B[j]
    end
end
foreach(println, Array(C))
"""


def test_finch_jl_gets_a_program_and_its_output_is_read(tmp_path: Any) -> None:
    """By a stand-in for Julia, which keeps the program and prints a result."""
    bound = api.bind(api.parse(PRODUCT), inputs={"A": np.array([[1.0, 2.5], [0.0, 0.0]]), "B": np.array([2.0, -1.0])})
    given = {name: tensor.to_numpy() for name, tensor in bound.inputs.items()}
    assert script(bound.einsum(), given, "f") == JULIA
    julia = tmp_path / "julia.py"
    julia.write_text(f"import sys\nassert open(sys.argv[1]).read() == {JULIA!r}\nprint(2.0, 1.0, sep='\\n')\n")
    engine = FinchJl([sys.executable, str(julia)])
    assert api.diff(bound, engines=["semantics", engine]).difference is None
    julia.write_text("import sys\nsys.exit('LoadError: no Finch')\n")
    found = api.diff(bound, engines=["semantics", engine]).difference
    assert found is not None and found.second_has == "a defect: RuntimeError: LoadError: no Finch"
    with pytest.raises(InputError, match="this engine needs no-such-julia"):
        FinchJl(["no-such-julia"])


@pytest.mark.parametrize("update", ["<<f>>= A[i]", "+= f(A[i], 2)", "+%= A[i]", "+= A[i] *% 2", "+= A[i] ÷ 2"])
def test_finch_jl_is_not_given_operators_that_it_lacks(update: str) -> None:
    text = f"""
    function f(x, y) = x - y
    A = Tensor(Dense(Element(0)))
    C = Tensor(Element(0))
    C .= 0
    for i = _; C[] {update}; end
    """
    einsum = api.bind(api.parse(text), inputs={"A": np.array([1, 2])}).einsum()
    with pytest.raises(NotImplementedError, match="the operator"):
        script(einsum, {"A": np.array([1, 2])}, "i")


def test_finch_jl_is_given_its_own_choose() -> None:
    text = "A = Tensor(Dense(Element(0)))\nC = Tensor(Element(0))\nC .= 0\nfor i = _; C[] <<choose(0)>>= A[i]; end"
    einsum = api.bind(api.parse(text), inputs={"A": np.array([1, 2])}).einsum()
    assert "C[] <<choose(0)>>= A[i]" in script(einsum, {"A": np.array([1, 2])}, "i")
