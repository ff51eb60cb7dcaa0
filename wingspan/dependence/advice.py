"""Changes that make a program safe, cheapest first; for a safe one, further loops that could be parallel.

A change is tried on the program as written, and advised only after the test has accepted the changed program. One
change alters the format of one tensor (a modifier added, left out, moved or replaced by another, Element → Atomic, an
ordered level → SparseDict) or one loop (serial, dealt statically, another loop parallel instead). Further changes are
built upon those that fixed something and broke nothing, where they can be cheaper than what fewer changes do. If that
finds no remedy for the whole program, its tensors and variables are fixed one after the other. The search is bounded
(`CHANGES`, `TRIES`): that nothing is advised does not mean that there is no remedy.

What a change costs stands for work at run time, in units that only rank. A changed format costs the sum of what now
stands in it, so leaving out what was useless costs nothing:

==========================  ====  ======================================================================================
Atomic                         2  each update is an atomic instruction, and nobody waits
Shard                          3  each visit of a fiber looks up who owns it; nothing is copied, nobody waits
Isolate                        4  each visit of a fiber loads it and stores it again, and each fiber has its own buffers
Mutex                          4  each visit of a fiber takes a lock, and tasks that meet in the fiber take turns
Merge                          5  each thread fills a copy, and all copies are read again when they are brought together
… around the leaf             +1  what other levels pay for a fiber, the leaf pays for an element
Merge below the root          +1  copies are brought together position by position
Mutex around the root          8  there is but one fiber, so all tasks take turns
SparseDict, now needed         6  every visit of an element looks it up in a hash table, and its indices are sorted
==========================  ====  ======================================================================================

And a changed loop:

==========================  ====  ======================================================================================
static instead of dynamic      1  threads that are done early wait for the others
an outer loop instead          1  threads start less often, but each has larger parts
an inner loop instead          6  threads start and end in every iteration of the loop that was parallel
serial                        20  there is no parallelism left in it, and so all else is preferred
==========================  ====  ======================================================================================

A further parallel loop of a safe program costs the number of loops around it: the deeper, the more often threads start.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from math import inf

from wingspan.base.budget import Budget
from wingspan.base.errors import WingspanError
from wingspan.dependence.changes import (
    Header,
    Layers,
    extends,
    formats,
    header_text,
    headers,
    is_modifier,
    single_changes,
    with_device,
    with_ranges,
)
from wingspan.dependence.findings import Advice, Report
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.levels import REGISTRY, Discipline

MOST = 5
"""The number of remedies that are advised."""

CHANGES = 3
"""The number of changes that a remedy consists of at most."""

TRIES = 100
"""The number of changed programs that are tested at most; if tensors are fixed one by one, for each of them."""

AROUND_LEAF, COPIES_BELOW_ROOT, LOCK_AROUND_ROOT = 1, 1, 8
STATIC, OUTER, INNER, SERIAL = 1, 1, 6, 20

PricedChange = tuple[int, ir.Program]
"""The cost of a change, and the changed program."""


def advise(
    tree: ir.Program, report: Report, recheck: Callable[[ir.Program], Report], budget: Budget | None = None
) -> tuple[Advice, ...]:
    """The cheapest remedies for what the report found in the program; if it is safe, what else could run parallel.

    `tree` is the program as written; `recheck` binds and tests a changed one, and takes the steps of that from the
    budget. The text of an advice has no comments.
    """

    known: dict[ir.Program, Report | None] = {}
    budget = budget or Budget()

    def test(changed: ir.Program) -> Report | None:
        """The report on a changed program; None if it means nothing, or the budget is spent."""
        if changed not in known:
            if not budget.spend():
                return None
            try:
                known[changed] = recheck(changed)
            except WingspanError:
                known[changed] = None
        return known[changed]

    if report.verdict == "safe":
        found = _more_parallel_loops(tree, test)
    else:
        few = len({f.tensor for f in report.findings}) <= CHANGES
        found = (_remedies(tree, report, test) if few else []) or _remedy_by_tensor(tree, report, test)
    return tuple(Advice(_change_text(tree, changed), cost, show(changed)) for cost, changed in found)


def _more_parallel_loops(tree: ir.Program, test: Callable[[ir.Program], Report | None]) -> list[PricedChange]:
    """The program with one more parallel loop, outer ones first."""
    found: list[PricedChange] = []
    for loop in sorted(headers(tree), key=lambda loop: len(loop.around)):
        if loop.serial and len(found) < MOST:
            device, defined = with_device(tree, ir.DEFAULT_DEVICE)
            changed = with_ranges(defined, {loop.number: ir.Parallel(loop.serial, device, ir.DEFAULT_SCHEDULE)})
            after = test(changed)
            if after is not None and after.verdict == "safe":
                found.append((len(loop.around), changed))
    return found


def _remedies(tree: ir.Program, report: Report, test: Callable[[ir.Program], Report | None]) -> list[PricedChange]:
    """Single changes by their cost; then what is built upon them, if cheaper than all remedies of fewer changes."""
    found: list[PricedChange] = []
    seen, order = {tree}, count()
    queue: list[tuple[int, int, int, ir.Program, Report]] = []

    def propose(changes: int, base: ir.Program, known: Report) -> None:
        for changed in single_changes(base, known):
            if changed not in seen:
                seen.add(changed)
                heapq.heappush(queue, (changes, _cost(tree, changed), next(order), changed, known))

    propose(1, tree, report)
    tries, rounds, limit = 0, 1, inf
    while queue and tries < TRIES:
        changes, cost, _, changed, before = heapq.heappop(queue)
        if changes > rounds and found:
            rounds, limit = changes, found[0][0]
        too_dear = cost >= limit or (len(found) == MOST and cost >= found[-1][0])
        if too_dear or any(less <= cost and _includes(changed, other, tree) for less, other in found):
            continue
        tries += 1
        after = test(changed)
        if after is not None and after.verdict == "safe":
            found = sorted([*found, (cost, changed)], key=lambda remedy: remedy[0])[:MOST]
        elif after is not None and changes < CHANGES and after.problems < before.problems:
            propose(changes + 1, changed, after)
    return found


def _remedy_by_tensor(
    tree: ir.Program, report: Report, test: Callable[[ir.Program], Report | None]
) -> list[PricedChange]:
    """One remedy for all tensors and variables: for each in turn the cheapest that fixes it and breaks nothing."""
    current, known, names = tree, report, dict.fromkeys(f.tensor for f in report.findings)
    for name in names if len(names) > 1 else ():

        def remedied_report(changed: ir.Program, name: str = name, before: Report = known) -> Report | None:
            after = test(changed)
            return after.about(name) if after is not None and after.problems <= before.problems else None

        mine = known.about(name)
        found = _remedies(current, mine, remedied_report) if mine.findings else [(0, current)]
        after = test(found[0][1]) if found else None
        if after is None:
            return []
        current, known = found[0][1], after
    return [(_cost(tree, current), current)] if known.verdict == "safe" else []


def _change_text(tree: ir.Program, changed: ir.Program) -> str:
    """The definitions and the headers of loops that are new, as text."""
    written = {show(s) for s in tree.body.statements if isinstance(s, ir.Define)}
    definitions = [show(s) for s in changed.body.statements if isinstance(s, ir.Define)]
    loops = [
        header_text(new, headers(changed))
        for old, new in zip(headers(tree), headers(changed), strict=True)
        if new.node.range != old.node.range
    ]
    return "\n".join([text for text in definitions if text not in written] + loops)


def _includes(large: ir.Program, small: ir.Program, tree: ir.Program) -> bool:
    """Whether one changed program has all the changes of another one, and more."""
    was, more = formats(tree), formats(large)
    return all(
        layers == was[T] or (more[T] != was[T] and extends(more[T], layers)) for T, layers in formats(small).items()
    ) and all(
        b.node.range in (a.node.range, c.node.range)
        for a, b, c in zip(headers(tree), headers(small), headers(large), strict=True)
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- cost


def _cost(tree: ir.Program, changed: ir.Program) -> int:
    """The cost of a changed program, by the tables above."""
    was = formats(tree)
    now = {T: layers for T, layers in formats(changed).items() if layers != was[T]}
    levels = sum(_format_cost(layers) + _storage_cost(layers) - _storage_cost(was[T]) for T, layers in now.items())
    loops = list(zip(headers(tree), headers(changed), strict=True))
    ended = {old.number for old, new in loops if old.parallel and new.serial}
    begun = [new for old, new in loops if old.serial and new.parallel]
    static = sum(_schedule(old) != _schedule(new) for old, new in loops if old.parallel and new.parallel)
    instead = sum(INNER if ended.intersection(loop.around) else OUTER for loop in begun)
    return levels + STATIC * static + instead + SERIAL * max(0, len(ended) - len(begun))


def _storage_cost(layers: Layers) -> int:
    """The cost of the storage levels of a format."""
    return sum(REGISTRY[layer.name].cost.remedy for layer in layers[:-1] if not is_modifier(layer))


def _schedule(loop: Header) -> object:
    return loop.parallel and loop.parallel.schedule


def _format_cost(layers: Layers) -> int:
    """The cost of a format."""
    total = 0
    for k, layer in enumerate(layers):
        around_root = all(map(is_modifier, layers[: k + 1]))
        around_leaf = is_modifier(layer) and all(map(is_modifier, layers[k:-1]))
        level = REGISTRY[layer.name]
        if level.discipline is Discipline.LOCK and around_root and not around_leaf:
            total += LOCK_AROUND_ROOT
        else:
            below = level.discipline is Discipline.COPY and not around_root
            own = level.cost.remedy if level.modifier or level.leaf else 0
            total += own + AROUND_LEAF * around_leaf + COPIES_BELOW_ROOT * below
    return total
