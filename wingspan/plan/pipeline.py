"""From a bound program to the plan that machines run and printers print: the lowering, then the passes in order."""

from __future__ import annotations

from collections.abc import Callable

from wingspan.elaborate import Elaborated
from wingspan.plan.ir import Plan
from wingspan.plan.lowering.lower import draft
from wingspan.plan.passes.forward import forward
from wingspan.plan.passes.hoist import hoist
from wingspan.plan.passes.rotate import rotate
from wingspan.plan.passes.tidy import tidy

Pass = Callable[[Plan], Plan]

PASSES: tuple[Pass, ...] = (rotate, forward, hoist, tidy)
"""What is made of every plan; each keeps what it does. `compiled` has passes of its own, which only C needs."""


def lower(bound: Elaborated, dealt: bool = True) -> Plan:
    """The plan of a bound program. InputError if a tensor is too large, or for what a plan cannot say.

    `dealt`: whether the operations of levels deal independent iterations to tasks of their own.
    """
    made = draft(bound, dealt)
    for change in PASSES:
        made = change(made)
    return made
