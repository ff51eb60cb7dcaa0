"""From a bound program to the plan that machines run and printers print: the lowering, then the passes in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import reduce

from wingspan.base.dataclass import dataclass
from wingspan.base.docstrings import docstring
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import Plan, walk
from wingspan.plan.lowering.lower import draft
from wingspan.plan.passes.common_runs import common_runs
from wingspan.plan.passes.copy_propagation import copy_propagation
from wingspan.plan.passes.dead_code import dead_code
from wingspan.plan.passes.dead_stores import dead_stores
from wingspan.plan.passes.hoist import hoist
from wingspan.plan.passes.hoist_bounds_checks import hoist_bounds_checks
from wingspan.plan.passes.lazy_bitmap_summary import lazy_bitmap_summary
from wingspan.plan.passes.loop_invariant_loads import loop_invariant_loads
from wingspan.plan.passes.loop_rotation import loop_rotation
from wingspan.plan.passes.prefetch import prefetch
from wingspan.plan.passes.scalar_replacement import scalar_replacement
from wingspan.plan.passes.scan_bitmap import scan_bitmap
from wingspan.plan.passes.small_workspaces import small_workspaces
from wingspan.plan.passes.tile import tile
from wingspan.plan.passes.union import union

Pass = Callable[[Plan], Plan]

PASSES: tuple[Pass, ...] = (loop_rotation, copy_propagation, hoist, dead_code, loop_invariant_loads)
"""The passes over every plan; each preserves its behaviour."""

FOR_C: tuple[Pass, ...] = (
    dead_stores,
    tile,
    prefetch,
    small_workspaces,
    lazy_bitmap_summary,
    scan_bitmap,
    scalar_replacement,
    hoist_bounds_checks,
    union,
    common_runs,
)
"""Further passes before a plan is printed as C. They trust that tasks do not race."""


def lower(bound: Elaborated, dealt: bool = True) -> Plan:
    """The plan of a bound program. InputError if a tensor is too large, or for what a plan cannot say.

    `dealt`: whether the operations of levels deal independent iterations to tasks of their own.
    """
    return reduce(lambda made, change: change(made), PASSES, draft(bound, dealt))


def for_c(made: Plan) -> Plan:
    """The plan that is printed as C."""
    return reduce(lambda made, change: change(made), FOR_C, made)


@dataclass(frozen=True)
class Stage:
    """A plan as the lowering, or a pass, leaves it: what that is called, and what it does in a sentence."""

    name: str
    about: str
    plan: Plan

    @property
    def statements(self) -> int:
        """The number of statements."""
        return sum(1 for _ in walk(self.plan.body))


def stages(bound: Elaborated, dealt: bool = True) -> Iterator[Stage]:
    """The plan of a bound program, first as it is lowered, and then after each pass, those for C last; see `lower`."""
    yield Stage("draft", "the plan as the program is lowered", made := draft(bound, dealt))
    for change in (*PASSES, *FOR_C):
        made = change(made)
        yield Stage(change.__name__, summary(change), made)


def summary(change: Pass) -> str:
    """The first line of a pass's module docstring."""
    return docstring(sys.modules[change.__module__]).partition("\n")[0].rstrip(".")
