"""Whole expressions: every program that could be chosen computes the reference's result, and the chosen one is safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from proofs_tests.effort import many
from wingspan import api
from wingspan.api.expressions import einsum
from wingspan.choices.nests import nests
from wingspan.choices.reading import read
from wingspan.elaborate import Elaborated
from wingspan.errors import InputError
from wingspan.lang.algebra import double
from wingspan.testing import campaign, einsums


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
        found, operands = read(api.parse(text).tree, given, init)
        for nest in nests(found, operands):
            written, inputs = nest.program()
            kernel = api.compile(api.parse(written), engine="native")
            stored = kernel.call({name: operand.tensor(order) for name, (operand, order) in inputs.items()})
            yield stored.to_numpy().transpose([nest.axes[::-1].index(index) for index in found.axes])


def test_the_chosen_program_computes_the_reference() -> None:
    """Random einsums, on inputs in random formats, among them empty ones, with Inf and NaN, and other fill values."""
    done = campaign(["reference"], [Chosen()], programs=einsums(), examples=many(60), first_seed=3)
    assert done.cases > many(60), done


def test_every_order_of_the_loops_computes_the_reference() -> None:
    done = campaign(["reference"], [Every()], programs=einsums(), examples=many(20), first_seed=11)
    assert done.cases > many(20), done
