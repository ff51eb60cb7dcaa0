"""Engines of others: einsums, coordinates, and what a campaign says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from proofs_tests.effort import few, many
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.elaborate import Elaborated
from wingspan.tensors.tensor import Tensor
from wingspan.testing import campaign, einsums
from wingspan.testing import tensors as drawn_tensors
from wingspan.testing.peers.numba import source


class Loops:
    """The expression of `program.einsum()`, run as Python loops over dense arrays."""

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
    assert done.cases >= many(160) and not any("more than one einsum" in why for why in done.skipped), done


class Counting(Loops):
    """It counts the results that would differ from their product with 0."""

    shown = 0

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        found = super().run(program, inputs)
        self.shown += any(array.any() for array in found.values())
        return found


@pytest.mark.parametrize("first_seed", few(list(range(4)), 1))
def test_ten_einsums_with_an_input_each_show_that_results_are_lost(first_seed: int) -> None:
    """More than one of three, since most outputs have an element other than the fill value."""
    counting = Counting()
    done = campaign([counting], programs=einsums(), examples=10, inputs=1, first_seed=first_seed, max_states=0)
    assert 3 * counting.shown > done.cases > 4, done


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
