"""Plans and their C, which one process leaves for the next beside the compiled libraries."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from wingspan.base import disk_cache
from wingspan.base.once import without_collection
from wingspan.compiled.sites import Site
from wingspan.elaborate import Elaborated
from wingspan.plan.identity import digest_of
from wingspan.plan.ir import Group, Plan

SUFFIX = ".plan"
"""The suffix of the files with plans."""


class PrintedPlan(NamedTuple):
    """A plan and its C: the text, the places where a run may fail, and the groups, those that only C has last."""

    plan: Plan
    source: str
    sites: Sequence[Site]
    groups: Sequence[Group]


def printed_plan(bound: Elaborated) -> PrintedPlan:
    """The plan of a bound program whose tasks do not race, printed by another process, or else now.

    Errors: as `lower`.
    """
    key = digest_of(bound)
    if key is not None and (left := disk_cache.read(key, SUFFIX)) is not None:
        with without_collection():  # of a thousand objects, none of which can go
            return PrintedPlan(*pickle.loads(left))
    made = _print(bound)
    if key is not None:
        with suppress(RecursionError):  # of a plan whose loops nest deep
            disk_cache.write(key, SUFFIX, pickle.dumps(tuple(made)))
    return made


def _print(bound: Elaborated) -> PrintedPlan:
    from wingspan.compiled.emit_c import together  # not for plans that are there already
    from wingspan.plan.pipeline import lower

    plan = lower(bound)
    source, [(sites, groups)] = together([plan])
    return PrintedPlan(plan, source, sites, groups)
