"""Runs that two lists have in common, as C goes through them side by side.

A loop over what either of two lists of runs has goes on through the runs that both have in `CommonRuns`, which may take
any number of these, and leaves the others to the loop: so it goes where C has no code for what is done. C compares the
ends of 16 runs at once, where the processor has AVX-512 (`compiled/common_runs.h`), computes their elements side by
side, and stops before a run whose element equals that of the run before it and is adjacent, and before a run at which
something fails. Most runs of two images begin and end together. Elements of 16 runs are loaded before any is stored,
and so from frozen tensors only, which neither the body nor another task writes.

It made the sums of two planes of screenshots 2.6 to 2.9 times as fast (docs/performance.md).
"""

from __future__ import annotations

from dataclasses import replace

from wingspan.plan.ir import Check, Compute, Load, Plan, Set, Stmt, Store
from wingspan.plan.kernels import CommonRuns
from wingspan.plan.passes.hoist_bounds_checks import full_capacity
from wingspan.plan.uses import rewrite

WIDTHS = ("u8", "i8", "i32", "i64", "f64")
"""The widths of elements that C compares at once."""


def common_runs(made: Plan) -> Plan:
    """The plan without such runs where C cannot compute elements side by side."""
    return replace(made, body=rewrite(made.body, _in_lanes))


def _in_lanes(s: Stmt) -> tuple[CommonRuns, ...] | None:
    """The statement without indices, which lanes do not have, if it only loads elements, computes one and stores it."""
    if not isinstance(s, CommonRuns):
        return None
    body = tuple(each for each in s.body if not (isinstance(each, Set) and each.value == s.lists[0].index))
    *computing, last = body
    cursors = [x.at for x in s.lists]
    loads = [each for each in computing if isinstance(each, Load)]
    for each in loads:
        if not each.ref.frozen or each.index not in cursors or each.ref.buffer.width not in WIDTHS:
            return ()
    if not loads or not all(isinstance(each, Load | Set | Check | Compute) for each in computing):
        return ()
    into = s.into.element.buffer
    has_room = isinstance(last, Store) and (last.sure or full_capacity(into) is not None)
    return (replace(s, body=body),) if has_room and into.width in WIDTHS and not into.hashed else ()
