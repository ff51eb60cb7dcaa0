"""From a bound program to the plan that machines run and printers print: the lowering, then the passes in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import reduce

from wingspan.base.docstrings import docstring
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import Plan, walk
from wingspan.plan.lowering.lower import draft
from wingspan.plan.passes.cells import kept
from wingspan.plan.passes.coincide import coincide
from wingspan.plan.passes.copies import unsummarized
from wingspan.plan.passes.few import few
from wingspan.plan.passes.forward import forward
from wingspan.plan.passes.hoist import hoist
from wingspan.plan.passes.invariant import invariant
from wingspan.plan.passes.meet import meet
from wingspan.plan.passes.prefetch import prefetch
from wingspan.plan.passes.room import room
from wingspan.plan.passes.rotate import rotate
from wingspan.plan.passes.stores import needed
from wingspan.plan.passes.tidy import tidy
from wingspan.plan.passes.tile import tile
from wingspan.plan.passes.unite import unite
from wingspan.plan.passes.unpack import unpack

Pass = Callable[[Plan], Plan]

PASSES: tuple[Pass, ...] = (rotate, forward, hoist, tidy, invariant)
"""What is made of every plan; each keeps what it does."""

FOR_C: tuple[Pass, ...] = (needed, tile, prefetch, few, unsummarized, unpack, kept, room, meet, unite, coincide)
"""What is made of it besides before it is printed as C, which trusts that tasks do not race."""


def lower(bound: Elaborated, dealt: bool = True) -> Plan:
    """The plan of a bound program. InputError if a tensor is too large, or for what a plan cannot say.

    `dealt`: whether the operations of levels deal independent iterations to tasks of their own.
    """
    return reduce(lambda made, change: change(made), PASSES, draft(bound, dealt))


def depends_on(bound: Elaborated) -> Hashable:
    """All of a program that its plan depends on. Equal programs may stand in different places, so the spans, too."""
    spans = tuple(node.span for node in bound.body.walk())
    tensors = tuple(bound.towers.items()), tuple(bound.extents.items()), tuple(bound.inputs), bound.symbols
    return bound.body, spans, tensors, bound.outputs


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
        """How many statements it has."""
        return sum(1 for _ in walk(self.plan.body))


def stages(bound: Elaborated, dealt: bool = True) -> Iterator[Stage]:
    """The plan of a bound program, first as it is lowered, and then after each pass, those for C last; see `lower`."""
    yield Stage("draft", "the plan as the program is lowered", made := draft(bound, dealt))
    for change in (*PASSES, *FOR_C):
        made = change(made)
        yield Stage(change.__name__, summary(change), made)


def summary(change: Pass) -> str:
    """What a pass does: the line that its module begins with."""
    return docstring(sys.modules[change.__module__]).partition("\n")[0].rstrip(".")
