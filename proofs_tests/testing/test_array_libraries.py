"""Libraries of arrays as engines, and what a campaign says of them."""

from __future__ import annotations

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
from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.results.comparison import Ending, difference
from wingspan.tensors.tensor import Coordinates, Tensor
from wingspan.testing import SPECIAL, ArrayEngine, Case, campaign, einsums, split
from wingspan.testing.cases import groups


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
    done = campaign(["semantics"], [library()], programs=einsums(), examples=many(160), special=special, max_states=0)
    assert done.cases >= many(160) and not any("cannot run" in why for why in done.skipped), done


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


DEFECTS: list[tuple[st.SearchStrategy[str], dict[str, Any], str]] = [
    (VECTORS, {"sum": lambda array, axis: np.sum(array, axis=axis) * 0}, "wrong elements, += +"),
    (MAXIMA, {"multiply": lambda one, other: 1 / 0}, "ZeroDivisionError: division by zero"),
    (VECTORS, {"tensordot": lambda one, other, axes: np.tensordot(one, other, axes) + 1}, "wrong elements, += *"),
    (MAXIMA, {"max": lambda array, axis: np.max(array, axis=axis) + 1}, "wrong elements, max= *"),
    (VECTORS, {"permute_dims": lambda array, axes: array}, ""),
]


@pytest.mark.parametrize(("programs", "changed", "symptom"), few(DEFECTS, 3))
def test_a_defect_of_a_library_is_in_a_bucket(programs: Any, changed: dict[str, Any], symptom: str) -> None:
    """The campaign goes on, and each bucket has the smallest case."""
    asked: dict[str, Any] = {"programs": programs, "examples": 8, "inputs": 4, "collect": True, "max_states": 0}
    done = campaign(["semantics"], [library(**changed)], **asked)
    found = {name: bucket for name, bucket in done.buckets.items() if name.startswith(f"arrays: {symptom}")}
    assert found and done.cases > 8, done
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
    """The inputs of 120 cases of one program."""
    found: list[dict[str, Any]] = []
    cases = groups(st.just(VECTOR.format("+= A[i, j] * x[j]")), 1, special)

    @settings(
        deadline=None, derandomize=True, max_examples=120, phases=[Phase.generate],
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
    done = campaign(["semantics"], [engine], programs=VECTORS_OF_FLOATS, examples=12, inputs=4, max_states=0)
    assert (engine.met > 0) == nonfinite
    assert (done.skipped["strict: an input has Inf or NaN, and the engine is not `nonfinite`"] > 0) != nonfinite


def test_a_campaign_warns_where_no_oracle_shows_that_a_fault_is_missing() -> None:
    with pytest.warns(UserWarning, match="no oracle here detects faults"):
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
