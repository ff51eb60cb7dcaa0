"""Conditions of the levels beside the absence of races: gates, claims, order, turns, locks, and operators.

Algorithm 1 looks at one run of one parallel loop. These conditions concern a tensor's whole life, and serial programs
too: the rules end in a fault, in a deadlock or with another result where they do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wingspan.base.dataclass import dataclass
from wingspan.dependence import relations
from wingspan.dependence.accesses import binding_loop
from wingspan.dependence.directions import common_loops
from wingspan.dependence.findings import Topic
from wingspan.dependence.relations import TRUE, Relation, agree, compares, differs, not_before, unequal_indices
from wingspan.dependence.representatives import unordered_pairs
from wingspan.dependence.reuse import may_stay_unwritten, reusing_ancestor
from wingspan.dependence.sets import Depths, Pairs, pairs_of
from wingspan.dependence.sites import EnclosingLoop, UpdateSite
from wingspan.lang import ir
from wingspan.lang.algebra import algebra_of, any_order, exact, is_identity, merging, repeatable
from wingspan.lang.printer import show
from wingspan.levels import Tower
from wingspan.levels.base import Discipline, Gated


@dataclass(frozen=True)
class Violation:
    """A condition that does not hold: between which updates, at which depth, and for which pairs of iterations."""

    topic: Topic
    one: UpdateSite
    other: UpdateSite
    depth: int
    reason: str
    loop: EnclosingLoop | None = None
    pairs: Pairs | None = None
    upto: Depths = (0, 0)
    condition: Relation = TRUE


def violations(sites: Iterable[UpdateSite], tower: Tower, counted: bool = True) -> Iterator[Violation]:
    """All conditions of one tensor's life that do not hold, by its updates in the order of the text.

    `counted`: the numbers of threads are known.
    """
    sites = tuple(sites)
    for check in (gates, shared_gates, claims, overlaps, shared_children, merges):
        yield from check(sites, tower)
    yield from order(sites, tower, counted)


def _gated_levels(tower: Tower) -> Iterator[tuple[int, Gated]]:
    for depth, level in enumerate(tower.levels):
        if isinstance(level, Gated):
            yield depth, level


def position_loops(site: UpdateSite, tower: Tower, number: int, within: int | None = None) -> tuple[int, ...]:
    """The loops that decide on a fiber's place in memory: those over its position, but for indices with one child.

    `within`: on its place within one child of the level at this depth.
    """
    numbers = range(number + 1, tower.rank + 2)
    top = tower.rank + 2 if within is None else tower.numbers[within]
    loops = zip(reversed(numbers), site.position(number), strict=True)
    return tuple(loop for n, loop in loops if n < top and not tower.levels[tower.depths[n]].shared_child)


# ------------------------------------------------------------------------------------------------------------- devices


def gates(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """Gated levels "must be unfurled by the parallel loop over their device" (section 4.3)."""
    for site in sites:
        for depth, level in _gated_levels(tower):
            task = _task_loop(site, binding_loop(site, tower, depth))
            on = None if task is None else task.device
            if on != level.device:
                who = "outside of all parallel loops" if on is None else f"by a task of {on}"
                reason = f"{level_name(tower, depth)} is entered {who}, and only tasks of {level.device} may"
                yield Violation("gate", site, site, depth, reason, task)
            elif task in site.loops[: site.life.depth]:
                reason = f"{site.tensor} is declared by a task of {on}, which has checked out nothing of it"
                yield Violation("gate", site, site, depth, reason, task)


def _task_loop(site: UpdateSite, k: int) -> EnclosingLoop | None:
    """The parallel loop whose tasks run the body of loop k."""
    return next((loop for loop in reversed(site.loops[: k + 1]) if loop.parallel), None)


def shared_gates(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """Threads of a nested device have the same numbers under each of its parents, and so the same shard or copy.

    Something around it must part the parents. The checkout alone touches the shard, whatever the loops inside do.
    """
    for one, other in unordered_pairs(sites) if any(_gated_levels(tower)) else ():
        for depth, level in _gated_levels(tower):
            for p in range(one.life.depth, common_loops(one, other)):
                outer = one.loops[p]
                a, b = _device_loop(one, level, p), _device_loop(other, level, p)
                if not outer.spawns or a is None or b is None or _has_separate_instances(one, other, tower, depth, p):
                    continue
                pairs = pairs_of(one, other, p)
                if pairs.is_feasible((a, b), differs(p)):
                    reason = (
                        f"thread t of {level.device} under one task of {outer.device} "
                        f"and thread t under another have one {level.name}"
                    )
                    yield Violation("gate", one, other, depth, reason, outer, pairs, (a, b), differs(p))


def _device_loop(site: UpdateSite, level: Gated, p: int) -> int | None:
    """The loop inside of loop p that runs on the level's device."""
    return next((k for k in range(p + 1, len(site.loops)) if site.loops[k].device == level.device), None)


def _has_separate_instances(one: UpdateSite, other: UpdateSite, tower: Tower, depth: int, p: int) -> bool:
    """Whether a modifier further out gives each of p's tasks an instance of its own."""
    for d, level in enumerate(tower.levels[:depth]):
        separates = isinstance(level, Gated) or level.discipline is Discipline.INSTANCE
        if not separates or min(binding_loop(one, tower, d), binding_loop(other, tower, d)) < p:
            continue
        if level.device == one.loops[p].device:
            return True
        if level.discipline is Discipline.INSTANCE:
            j = tower.numbers[d]
            at = in_one_place(one, other, tower, j)
            upto = (max([0, *(k + 1 for k in one.position(j))]), max([0, *(k + 1 for k in other.position(j))]))
            if not pairs_of(one, other, p).is_feasible(upto, differs(p) & at):
                return True
    return False


# -------------------------------------------------------------------------------------------------------------- claims


def claims(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """A position of a Shard belongs to one thread from its first update until the tensor is declared again."""
    for depth, level in _gated_levels(tower):
        outer = (isinstance(other, Gated) and other.device == level.device for other in tower.levels[:depth])
        if level.discipline is Discipline.CLAIM and level.on.nthreads > 1 and not any(outer):
            for site in sites:
                if site.life.z is None:
                    reason = f"{site.tensor} comes with data, and all its fibers are thread 1's of {level.device}"
                    yield Violation("claim", site, site, depth, reason)
            for one, other in unordered_pairs(sites):
                found = _meeting_threads(one, other, tower, depth) or _threads_meeting_in_reused_child(
                    one, other, tower, depth
                )
                if found is not None:
                    where = f"one position of {level_name(tower, depth)}"
                    reason = f"two threads of {level.device} may reach {where} before {one.tensor} is declared again"
                    yield Violation("claim", one, other, depth, reason, *found)


Threads = tuple[EnclosingLoop, Pairs, Depths, Relation]
"""A loop whose threads meet, and in which pairs of iterations, as in `Violation`."""


def _threads_meeting_in_reused_child(one: UpdateSite, other: UpdateSite, tower: Tower, depth: int) -> Threads | None:
    """Find two threads that may reach one position of a level because the first one wrote nothing there."""
    above, number = reusing_ancestor(tower, depth), tower.numbers[depth]
    if above is None:
        return None
    left = may_stay_unwritten(one, tower, above, "x") | may_stay_unwritten(other, tower, above, "y")
    at = in_one_place(one, other, tower, number, above) & left & in_one_isolated_fiber(one, other, tower, above)
    return _meeting_threads(one, other, tower, depth, at=at)


def _meeting_threads(
    one: UpdateSite, other: UpdateSite, tower: Tower, depth: int, element: bool = False, at: Relation | None = None
) -> Threads | None:
    """Find two threads of a level's device that may reach one of its positions, or update one `element`.

    `at`: when it is one position, if not where it is one place. A static loop deals equal ranges in the same way each
    time; whatever else comes back to a position may come from another thread. A closed gate has been reported already.
    """
    level = tower.levels[depth]
    assert isinstance(level, Gated)
    a, b = (_device_loop(site, level, -1) for site in (one, other))
    i, j = binding_loop(one, tower, depth), binding_loop(other, tower, depth)
    if level.on.nthreads < 2 or a is None or b is None or a > i or b > j:
        return None
    pairs = pairs_of(one, other, one.life.depth)
    number = 1 if element else tower.numbers[depth]
    upto, guards = (pairs.depths, pairs.guards) if element else (pairs.down_to(i, j), TRUE)
    at = in_one_place(one, other, tower, number) if at is None else at
    condition = at & on_other_threads(one, other, a, b) & guards
    return (one.loops[a], pairs, upto, condition) if pairs.is_feasible(upto, condition) else None


def on_other_threads(one: UpdateSite, other: UpdateSite, a: int, b: int) -> Relation:
    """Condition: two iterations of the device's loops, number a and b, may be dealt to different threads (T7).

    Static loops over equal ranges deal one index to one thread. One run of one loop deals one iteration to one thread.
    """
    first, second = one.loops[a], other.loops[b]
    alike = has_fixed_schedule(first, one) and has_fixed_schedule(second, other)
    if alike and (first.start, first.stop) == (second.start, second.stop):
        return unequal_indices([a], [b])
    if first is second:
        return unequal_indices(range(a + 1), range(a + 1))
    return TRUE


def has_fixed_schedule(loop: EnclosingLoop, site: UpdateSite) -> bool:
    """Whether a loop deals its iterations in the same way whenever it runs while the tensor lives."""
    if loop.schedule is None or loop.schedule.kind != "static":
        return False
    inner = {each.index for each in site.loops[site.life.depth :]}
    for bound in (loop.start, loop.stop):
        if bound is None:
            return False
        for node in bound.walk():
            if isinstance(node, ir.Index) and node.name in inner:
                return False
            if isinstance(node, ir.Variable) and site.symbols.get(node.name, 0) > site.life.depth:
                return False
    return True


# --------------------------------------------------------------------------------------------------------------- order


def order(sites: tuple[UpdateSite, ...], tower: Tower, counted: bool) -> Iterator[Violation]:
    """Fibers of a `once` level are appended in ascending order, each once, one after the other.

    What tasks may do at the same time is Algorithm 1's matter; here each thread's own visits are compared, in the order
    of the loops.
    """
    for depth, level in enumerate(tower.levels):
        if level.once:
            yield from _appends_to_inputs(sites, tower, depth)
            for one, other in unordered_pairs(sites):
                found = _simultaneous_fibers(one, other, tower, depth) or _visits_out_of_order(
                    one, other, tower, depth, counted
                )
                if found is not None:
                    yield found


def _appends_to_inputs(sites: tuple[UpdateSite, ...], tower: Tower, depth: int) -> Iterator[Violation]:
    """An input may hold later fibers than those that are to be appended."""
    for site in sites:
        if site.life.z is None:
            reason = (
                f"{site.tensor} comes with data, and fibers of {level_name(tower, depth)} come after those that it has"
            )
            yield Violation("order", site, site, depth, reason)


def visit_depth(site: UpdateSite, number: int) -> int:
    """The number of loops that distinguish visits of fibers; a dynamic chunk is a visit of its own."""
    k = site.unfurls(number)
    schedule = site.loops[k].schedule
    return k + (schedule is not None and schedule.kind == "dynamic")


def _simultaneous_fibers(one: UpdateSite, other: UpdateSite, tower: Tower, depth: int) -> Violation | None:
    j = tower.numbers[depth]
    a, b = one.unfurls(j), other.unfurls(j)
    inside = common_loops(one, other) > min(a, b)
    if not inside or (a == b and one.subscripts[j - 2 :] == other.subscripts[j - 2 :]):
        return None
    at = in_one_isolated_fiber(one, other, tower, depth)
    pairs = pairs_of(one, other, min(a, b))
    if not pairs.is_feasible((a, b), at):
        return None
    reason = f"two fibers of {level_name(tower, depth)} are updated at the same time, and it can only append to one"
    return Violation("order", one, other, depth, reason, None, pairs, (a, b), at)


def _visits_out_of_order(
    one: UpdateSite, other: UpdateSite, tower: Tower, depth: int, counted: bool
) -> Violation | None:
    j = tower.numbers[depth]
    a, b = visit_depth(one, j), visit_depth(other, j)
    alike = one.subscripts[j - 2 :] == other.subscripts[j - 2 :] and common_loops(one, other) > one.unfurls(j)
    if one is not other and alike:
        return None
    start = max(common_prefix(one, tower, depth), common_prefix(other, tower, depth))
    if start > common_loops(one, other):
        return None
    at, pairs = in_one_isolated_fiber(one, other, tower, depth), pairs_of(one, other, start)
    visited = one.unfurls(j) + 1, other.unfurls(j) + 1  # a loop without iterations visits nothing (ForEmpty)
    alone = [counted and has_thread_per_iteration(loop) for loop in one.loops]
    places = position_loops(one, tower, j), position_loops(other, tower, j)
    for loop, disorder in _disorders(one, other, places, range(start, min(common_loops(one, other), a, b)), alone):
        if pairs.is_feasible(visited, disorder & at):
            back = f"; loop {loop.index} goes back" if loop and loop.node.span else ""
            reason = f"{level_name(tower, depth)} takes its fibers in ascending order, each once{back}"
            return Violation("order", one, other, depth, reason, None, pairs, visited, disorder & at)
    return None


def common_prefix(site: UpdateSite, tower: Tower, depth: int) -> int:
    """The number of loops that visits of one copy agree on: a Merge begins anew when the level around it is thawed.

    That is an isolated fiber when it is entered, or what a gated level checks out when its loop starts its threads.
    """
    start = site.life.depth
    merge = max((d for d in range(depth) if tower.levels[d].discipline is Discipline.COPY), default=0)
    for d, level in enumerate(tower.levels[:merge]):
        if isinstance(level, Gated):
            start = max(start, _device_loop(site, level, -1) or 0)
        elif level.discipline is Discipline.INSTANCE:
            late = d in tower.use_modifiers(tower.numbers[d])
            start = max(start, binding_loop(site, tower, d) + (not late))
    return start


def _disorders(
    one: UpdateSite,
    other: UpdateSite,
    places: tuple[tuple[int, ...], tuple[int, ...]],
    loops: range,
    alone: Sequence[bool],
) -> Iterator[tuple[EnclosingLoop | None, Relation]]:
    """Conditions: one visit comes first, in the order of a loop or of the text, but its place does not (T8).

    In loops that are `alone`, two iterations are never on one thread.
    """
    p, q = places
    for k in loops:
        if not alone[k]:
            yield one.loops[k], agree(range(k)) & compares(k, "<") & not_before(p, q)
            yield one.loops[k], agree(range(k)) & compares(k, ">") & not_before(q, p, "yx")
    if one is not other:
        yield None, agree(range(loops.stop)) & not_before(p, q)


def has_thread_per_iteration(loop: EnclosingLoop) -> bool:
    """Whether no thread gets two iterations: a static loop with no more iterations than threads."""
    if loop.schedule is None or loop.schedule.kind != "static" or loop.device is None:
        return False
    start, stop = loop.constants
    return start is not None and stop is not None and stop - start < loop.device.nthreads


def in_one_place(one: UpdateSite, other: UpdateSite, tower: Tower, number: int, within: int | None = None) -> Relation:
    """Condition: both reach one place in memory at the level with this number. `within` is that of `position_loops`."""
    return relations.equal_indices(
        position_loops(one, tower, number, within), position_loops(other, tower, number, within)
    )


def in_one_isolated_fiber(
    one: UpdateSite, other: UpdateSite, tower: Tower, depth: int, within: int | None = None
) -> Relation:
    """Condition: both are within one fiber of the innermost Isolate above (T8). `within`: as in `position_loops`."""
    for d in reversed(range(depth)):
        if tower.levels[d].discipline is Discipline.INSTANCE:
            return in_one_place(one, other, tower, tower.numbers[d], within)
    return TRUE


# ------------------------------------------------------------------------------------------------------------ overlaps


def overlaps(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """A fiber in an Isolate is not entered again before it has been left."""
    for depth, level in enumerate(tower.levels):
        if level.discipline is not Discipline.INSTANCE:
            continue
        j = tower.numbers[depth]
        late = depth in tower.use_modifiers(j)
        for one, other in unordered_pairs(sites):
            a, b = binding_loop(one, tower, depth), binding_loop(other, tower, depth)
            outer = min(a, b)
            alike = a == b and one.subscripts[j - 1 :] == other.subscripts[j - 1 :]
            if outer >= common_loops(one, other) or alike:
                continue
            pairs = pairs_of(one, other, outer if late else outer + 1)
            upto, at = pairs.down_to(a, b), in_one_place(one, other, tower, j)
            if pairs.is_feasible(upto, at):
                reason = f"a fiber of {level_name(tower, depth)} is entered again while it is open"
                yield Violation("overlap", one, other, depth, reason, None, pairs, upto, at)


def shared_children(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """If indices of a fiber have one child, no second one is entered before the first has been left.

    Nor the same index, if that makes the child anew: a run compares what is entered with what it has.
    """
    for depth, level in enumerate(tower.levels):
        if not level.shared_child:
            continue
        j = tower.numbers[depth]
        for one, other in unordered_pairs(sites):
            a, b = one.unfurls(j), other.unfurls(j)
            outer = min(a, b) + 1
            if a == b or common_loops(one, other) < outer:
                continue
            pairs, upto = pairs_of(one, other, outer), (a + 1, b + 1)
            another = TRUE if level.stretch == "run" else unequal_indices(one.position(j - 1), other.position(j - 1))
            condition = in_one_place(one, other, tower, j) & another
            if pairs.is_feasible(upto, condition):
                where = level_name(tower, depth)
                what = "is entered again while it is open" if level.stretch == "run" else "has two indices open"
                reason = f"a fiber of {where} {what}, and its indices have one child"
                yield Violation("overlap", one, other, depth, reason, None, pairs, upto, condition)


# ----------------------------------------------------------------------------------------------------------- operators


def merges(sites: tuple[UpdateSite, ...], tower: Tower) -> Iterator[Violation]:
    """Copies under a Merge start as fill: ⊕ must leave values unchanged by it, or take in equal values once.

    They are joined by ⊕, which must be associative for that, and commutative where two threads update one element.

    By =, copies are merged in the order of the threads, and of each copy the elements that its thread has set. That is
    the serial order if no two threads set one element in one phase; phases are merged one after the other. A run may be
    joined with one of equal elements that were not set, or that were where others were not.
    """
    for depth, level in enumerate(tower.levels):
        if level.discipline is not Discipline.COPY:
            continue
        for one, other in unordered_pairs(sites):
            if one.op == "=" == other.op:
                found = _meeting_threads(one, other, tower, depth, element=True) if one.phase == other.phase else None
                if found is not None:
                    reason = f"two threads set elements of {one.tensor}, and copies are not merged in that order"
                    yield Violation("merge", one, other, depth, reason, *found)
                elif one is other and any(below.stretch == "run" for below in tower.levels[depth:]):
                    reason = f"runs do not tell which elements of {one.tensor} a thread has set, and copies are merged"
                    yield Violation("merge", one, other, depth, reason, _task_loop(one, len(one.loops)))
            elif one is other and (why := _why_not_mergeable(one, tower)) is not None:
                yield Violation("merge", one, other, depth, why, _task_loop(one, len(one.loops)))
            elif not any_order(one.op) and one.phase == other.phase:
                found = _meeting_threads(one, other, tower, depth, element=True)
                if found is not None:
                    reason = f"two threads update an element of {one.tensor}, and the order matters to {one.op}"
                    yield Violation("merge", one, other, depth, reason, *found)


def _why_not_mergeable(site: UpdateSite, tower: Tower) -> str | None:
    """The reason why merged copies differ from updates one after the other, even if one thread has made all."""
    if not algebra_of(merging(site.op)).associative:
        return f"copies of {site.tensor} are merged by {site.op}, which is not declared associative"
    z = _initial_value(site, tower)
    once = site.life.z is not None and set(site.life.operators) == {site.op}
    if is_identity(z, site.op) or (once and any_order(site.op) and repeatable(site.op)):
        return None
    return f"copies of {site.tensor} start from {show(z)}, and {site.op} does not leave it out of the result"


def _initial_value(site: UpdateSite, tower: Tower) -> ir.Expression:
    """The value that copies start from: the declared one as a cell holds it, which f32 may round."""
    z = site.life.z
    if z is None:
        return ir.Literal(tower.fill)
    return ir.Literal(tower.width.round_to_width(exact(z.value))) if isinstance(z, ir.Literal) else z


def level_name(tower: Tower, depth: int) -> str:
    """A level as reasons name it."""
    return f"level {tower.numbers[depth]} {tower.levels[depth].name}"
