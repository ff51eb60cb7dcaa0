"""Plans with open numbers of threads and chunk sizes, as kernels have them: an engine, and a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wingspan.elaborate import Elaborated
from wingspan.elaborate.opening import open_program
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.native.machine import Native
from wingspan.plan.layout import bounds
from wingspan.plan.pipeline import lower


class LeftOpen:
    """The register machine on such plans, for `wingspan.testing.compare` and `campaign`."""

    name = "native-left-open"
    nonfinite = True

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """Run the plan with the numbers of the program."""
        general = open_program(program)
        engine = NativeEngine(assemble(lower(general)))
        given = [engine.inputs.from_tensor(name, tensor) for name, tensor in program.inputs.items()]
        found = engine.run(given, engine.setting(general.numbers, bounds(engine.plan, program.towers)))
        return {**found.tensors(program.towers), **found.variables}


def machine(bound: Elaborated) -> Native:
    """The machine that runs such a plan with the numbers of the program, one access of one task at a time."""
    general = open_program(bound)
    return Native(assemble(lower(general, dealt=False)).with_parameters(general.numbers), bound)
