"""What the levels ask for beside the absence of races: gates, claims, order, turns, locks, and operators.

Algorithm 1 looks at one run of one parallel loop. These conditions concern a tensor's whole life, and serial programs
too: the rules end in a fault, in a deadlock or with another result where they do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wingspan.dependence.accesses import binder
from wingspan.dependence.alike import twos
from wingspan.dependence.directions import common
from wingspan.dependence.findings import Topic
from wingspan.dependence.reuse import reused_below, unwritten
from wingspan.dependence.sets import Numbers, Pairs, apart, differ, not_before, pairs_of, same
from wingspan.dependence.sites import Loop, Site
from wingspan.lang import ir
from wingspan.lang.algebra import algebra_of, any_order, exact, is_identity, merging, repeatable
from wingspan.lang.printer import show
from wingspan.levels import Tower
from wingspan.levels.base import Gated
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.shard import Shard


@dataclass(frozen=True)
class Breach:
    """A condition that does not hold: between which updates, at which depth, and for which pairs of iterations."""

    topic: Topic
    one: Site
    other: Site
    depth: int
    reason: str
    loop: Loop | None = None
    pairs: Pairs | None = None
    upto: Numbers = (0, 0)
    constraints: tuple[str, ...] = ()


def breaches(sites: Iterable[Site], tower: Tower, counted: bool = True) -> Iterator[Breach]:
    """All conditions of one tensor's life that do not hold, by its updates in the order of the text.

    `counted`: the numbers of threads are known.
    """
    sites = tuple(sites)
    for check in (gates, shared_gates, claims, overlaps, shared_children, merges):
        yield from check(sites, tower)
    yield from order(sites, tower, counted)


def _gated(tower: Tower) -> Iterator[tuple[int, Gated]]:
    for depth, level in enumerate(tower.levels):
        if isinstance(level, Gated):
            yield depth, level


def place(site: Site, tower: Tower, number: int, within: int | None = None) -> tuple[int, ...]:
    """Which loops decide on the fiber's place in memory: of those over its position, not the ones over indices that
    have one child. `within`: on its place within one child of the level at this depth.
    """
    numbers = range(number + 1, tower.rank + 2)
    top = tower.rank + 2 if within is None else tower.numbers[within]
    loops = zip(reversed(numbers), site.position(number), strict=True)
    return tuple(loop for n, loop in loops if n < top and not tower.levels[tower.depths[n]].shared_child)


# ------------------------------------------------------------------------------------------------------------- devices


def gates(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """Gated levels "must be unfurled by the parallel loop over their device" (section 4.3)."""
    for site in sites:
        for depth, level in _gated(tower):
            task = _task(site, binder(site, tower, depth))
            on = None if task is None else task.device
            if on != level.device:
                who = "outside of all parallel loops" if on is None else f"by a task of {on}"
                reason = f"{level_name(tower, depth)} is entered {who}, and only tasks of {level.device} may"
                yield Breach("gate", site, site, depth, reason, task)
            elif task in site.loops[: site.life.depth]:
                reason = f"{site.tensor} is declared by a task of {on}, which has checked out nothing of it"
                yield Breach("gate", site, site, depth, reason, task)


def _task(site: Site, k: int) -> Loop | None:
    """The parallel loop whose tasks run the body of loop k."""
    return next((loop for loop in reversed(site.loops[: k + 1]) if loop.parallel), None)


def shared_gates(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """Threads of a nested device have the same numbers under each of its parents, and so the same shard or copy.

    Something around it must part the parents. The checkout alone touches the shard, whatever the loops inside do.
    """
    for one, other in twos(sites) if any(_gated(tower)) else ():
        for depth, level in _gated(tower):
            for p in range(one.life.depth, common(one, other)):
                outer = one.loops[p]
                a, b = _inner(one, level, p), _inner(other, level, p)
                if not outer.spawns or a is None or b is None or _parted(one, other, tower, depth, p):
                    continue
                pairs = pairs_of(one, other, p)
                if pairs.some((a, b), differ(p)):
                    reason = (
                        f"thread t of {level.device} under one task of {outer.device} "
                        f"and thread t under another have one {level.name}"
                    )
                    yield Breach("gate", one, other, depth, reason, outer, pairs, (a, b), (differ(p),))


def _inner(site: Site, level: Gated, p: int) -> int | None:
    """Which loop inside of loop p runs on the level's device."""
    return next((k for k in range(p + 1, len(site.loops)) if site.loops[k].device == level.device), None)


def _parted(one: Site, other: Site, tower: Tower, depth: int, p: int) -> bool:
    """Whether a modifier further out gives each of p's tasks an instance of its own."""
    for d, level in enumerate(tower.levels[:depth]):
        if not isinstance(level, Gated | Isolate) or min(binder(one, tower, d), binder(other, tower, d)) < p:
            continue
        if level.device == one.loops[p].device:
            return True
        if isinstance(level, Isolate):
            j = tower.numbers[d]
            at = same(place(one, tower, j), place(other, tower, j))
            upto = (max([0, *(k + 1 for k in one.position(j))]), max([0, *(k + 1 for k in other.position(j))]))
            if not pairs_of(one, other, p).some(upto, differ(p), at):
                return True
    return False


# -------------------------------------------------------------------------------------------------------------- claims


def claims(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """A position of a Shard belongs to one thread from its first update until the tensor is declared again."""
    for depth, level in _gated(tower):
        outer = (isinstance(other, Gated) and other.device == level.device for other in tower.levels[:depth])
        if isinstance(level, Shard) and level.on.nthreads > 1 and not any(outer):
            for site in sites:
                if site.life.z is None:
                    reason = f"{site.tensor} comes with data, and all its fibers are thread 1's of {level.device}"
                    yield Breach("claim", site, site, depth, reason)
            for one, other in twos(sites):
                found = _two_threads(one, other, tower, depth) or _at_a_place_used_again(one, other, tower, depth)
                if found is not None:
                    where = f"one position of {level_name(tower, depth)}"
                    reason = f"two threads of {level.device} may reach {where} before {one.tensor} is declared again"
                    yield Breach("claim", one, other, depth, reason, *found)


Threads = tuple[Loop, Pairs, Numbers, tuple[str, ...]]
"""A loop whose threads meet, and in which pairs of iterations, as in `Breach`."""


def _at_a_place_used_again(one: Site, other: Site, tower: Tower, depth: int) -> Threads | None:
    """When two threads may reach one position at the level at `depth` because the first one wrote nothing there."""
    above, number = reused_below(tower, depth), tower.numbers[depth]
    if above is None:
        return None
    at = same(*(place(site, tower, number, above) for site in (one, other)))
    left = f"({unwritten(one, tower, above, 'x')} or {unwritten(other, tower, above, 'y')})"
    return _two_threads(one, other, tower, depth, at=(at, left, *isolated(one, other, tower, above)))


def _two_threads(
    one: Site, other: Site, tower: Tower, depth: int, element: bool = False, at: tuple[str, ...] = ()
) -> Threads | None:
    """When two threads of the device of the level at `depth` may reach one position there, or update one `element`.

    `at`: when it is one position, if not where it is one place. A static loop deals equal ranges in the same way each
    time; whatever else comes back to a position may come from another thread. A closed gate has been reported already.
    """
    level = tower.levels[depth]
    assert isinstance(level, Gated)
    a, b = (_inner(site, level, -1) for site in (one, other))
    i, j = binder(one, tower, depth), binder(other, tower, depth)
    if level.on.nthreads < 2 or a is None or b is None or a > i or b > j:
        return None
    pairs = pairs_of(one, other, one.life.depth)
    number = 1 if element else tower.numbers[depth]
    upto, conditions = (pairs.all, pairs.guards()) if element else (pairs.upto(i, j), ())
    at = at or (same(place(one, tower, number), place(other, tower, number)),)
    told = (*at, *_other_thread(one, other, a, b), *conditions)
    return (one.loops[a], pairs, upto, told) if pairs.some(upto, *told) else None


def _other_thread(one: Site, other: Site, a: int, b: int) -> tuple[str, ...]:
    """When two iterations of the device's loops, number a and b, may be dealt to different threads."""
    first, second = one.loops[a], other.loops[b]
    alike = dealt_alike(first, one) and dealt_alike(second, other)
    if alike and (first.start, first.stop) == (second.start, second.stop):
        return (f"x{a} != y{b}",)
    if first is second:
        return (apart(range(a + 1), range(a + 1)),)
    return ()


def dealt_alike(loop: Loop, site: Site) -> bool:
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


def order(sites: tuple[Site, ...], tower: Tower, counted: bool) -> Iterator[Breach]:
    """Fibers of a `once` level are appended in ascending order, each once, one after the other.

    What tasks may do at the same time is Algorithm 1's matter; here each thread's own visits are compared, in the order
    of the loops.
    """
    for depth, level in enumerate(tower.levels):
        if level.once:
            yield from _appended_to(sites, tower, depth)
            for one, other in twos(sites):
                found = _open_together(one, other, tower, depth) or _out_of_order(one, other, tower, depth, counted)
                if found is not None:
                    yield found


def _appended_to(sites: tuple[Site, ...], tower: Tower, depth: int) -> Iterator[Breach]:
    """An input may hold later fibers than those that are to be appended."""
    for site in sites:
        if site.life.z is None:
            reason = (
                f"{site.tensor} comes with data, and fibers of {level_name(tower, depth)} come after those that it has"
            )
            yield Breach("order", site, site, depth, reason)


def opened(site: Site, number: int) -> int:
    """How many loops distinguish the visits of fibers; a dynamic chunk is a visit of its own."""
    k = site.unfurls(number)
    schedule = site.loops[k].schedule
    return k + (schedule is not None and schedule.kind == "dynamic")


def _open_together(one: Site, other: Site, tower: Tower, depth: int) -> Breach | None:
    j = tower.numbers[depth]
    a, b = one.unfurls(j), other.unfurls(j)
    inside = common(one, other) > min(a, b)
    if not inside or (a == b and one.subscripts[j - 2 :] == other.subscripts[j - 2 :]):
        return None
    at = isolated(one, other, tower, depth)
    pairs = pairs_of(one, other, min(a, b))
    if not pairs.some((a, b), *at):
        return None
    reason = f"two fibers of {level_name(tower, depth)} are updated at the same time, and it can only append to one"
    return Breach("order", one, other, depth, reason, None, pairs, (a, b), at)


def _out_of_order(one: Site, other: Site, tower: Tower, depth: int, counted: bool) -> Breach | None:
    j = tower.numbers[depth]
    a, b = opened(one, j), opened(other, j)
    alike = one.subscripts[j - 2 :] == other.subscripts[j - 2 :] and common(one, other) > one.unfurls(j)
    if one is not other and alike:
        return None
    start = max(renewed(one, tower, depth), renewed(other, tower, depth))
    if start > common(one, other):
        return None
    at, pairs = isolated(one, other, tower, depth), pairs_of(one, other, start)
    visited = one.unfurls(j) + 1, other.unfurls(j) + 1  # a loop without iterations visits nothing (ForEmpty)
    alone = [counted and never_one_thread(loop) for loop in one.loops]
    places = place(one, tower, j), place(other, tower, j)
    for loop, told in _disorders(one, other, places, range(start, min(common(one, other), a, b)), alone):
        if pairs.some(visited, *told, *at):
            back = f"; loop {loop.index} goes back" if loop and loop.node.span else ""
            reason = f"{level_name(tower, depth)} takes its fibers in ascending order, each once{back}"
            return Breach("order", one, other, depth, reason, None, pairs, visited, (*told, *at))
    return None


def renewed(site: Site, tower: Tower, depth: int) -> int:
    """How many loops visits agree on that meet: a Merge begins anew with whatever around it is thawed again.

    That is an isolated fiber when it is entered, or what a gated level checks out when its loop starts its threads.
    """
    start = site.life.depth
    merge = max((d for d in range(depth) if isinstance(tower.levels[d], Merge)), default=0)
    for d, level in enumerate(tower.levels[:merge]):
        if isinstance(level, Gated):
            start = max(start, _inner(site, level, -1) or 0)
        elif isinstance(level, Isolate):
            late = d in tower.use_modifiers(tower.numbers[d])
            start = max(start, binder(site, tower, d) + (not late))
    return start


def _disorders(
    one: Site, other: Site, places: tuple[tuple[int, ...], tuple[int, ...]], loops: range, alone: Sequence[bool]
) -> Iterator[tuple[Loop | None, tuple[str, ...]]]:
    """When one visit comes first, as these loops and the text have it, but its place does not; and in which loop.

    In loops that are `alone`, two iterations are never on one thread.
    """
    p, q = places
    for k in loops:
        if not alone[k]:
            agree = same(range(k), range(k))
            yield one.loops[k], (agree, f"x{k} < y{k}", not_before(p, q))
            yield one.loops[k], (agree, f"y{k} < x{k}", _swapped(not_before(q, p)))
    if one is not other:
        yield None, (same(range(loops.stop), range(loops.stop)), not_before(p, q))


def _swapped(text: str) -> str:
    """A constraint with the two sides exchanged."""
    return text.replace("x", "·").replace("y", "x").replace("·", "y")


def never_one_thread(loop: Loop) -> bool:
    """Whether no thread gets two iterations: a static loop with no more iterations than threads."""
    if loop.schedule is None or loop.schedule.kind != "static" or loop.device is None:
        return False
    start, stop = loop.constants
    return start is not None and stop is not None and stop - start < loop.device.nthreads


def isolated(one: Site, other: Site, tower: Tower, depth: int, within: int | None = None) -> tuple[str, ...]:
    """Only visits within one isolated fiber are to be compared. `within` is that of `place`."""
    for d in reversed(range(depth)):
        if isinstance(tower.levels[d], Isolate):
            j = tower.numbers[d]
            return (same(place(one, tower, j, within), place(other, tower, j, within)),)
    return ()


# ------------------------------------------------------------------------------------------------------------ overlaps


def overlaps(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """A fiber in an Isolate is not entered again before it has been left."""
    for depth, level in enumerate(tower.levels):
        if not isinstance(level, Isolate):
            continue
        j = tower.numbers[depth]
        late = depth in tower.use_modifiers(j)
        for one, other in twos(sites):
            a, b = binder(one, tower, depth), binder(other, tower, depth)
            outer = min(a, b)
            alike = a == b and one.subscripts[j - 1 :] == other.subscripts[j - 1 :]
            if outer >= common(one, other) or alike:
                continue
            pairs = pairs_of(one, other, outer if late else outer + 1)
            upto, at = pairs.upto(a, b), same(place(one, tower, j), place(other, tower, j))
            if pairs.some(upto, at):
                reason = f"a fiber of {level_name(tower, depth)} is entered again while it is open"
                yield Breach("overlap", one, other, depth, reason, None, pairs, upto, (at,))


def shared_children(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """Where indices of a fiber have one child, no second one is entered before the first has been left.

    Nor the same index, if that makes the child anew: a run compares what is entered with what it has.
    """
    for depth, level in enumerate(tower.levels):
        if not level.shared_child:
            continue
        j = tower.numbers[depth]
        for one, other in twos(sites):
            a, b = one.unfurls(j), other.unfurls(j)
            outer = min(a, b) + 1
            if a == b or common(one, other) < outer:
                continue
            pairs, upto = pairs_of(one, other, outer), (a + 1, b + 1)
            another = () if level.stretch == "run" else (apart(one.position(j - 1), other.position(j - 1)),)
            told = (same(place(one, tower, j), place(other, tower, j)), *another)
            if pairs.some(upto, *told):
                where = level_name(tower, depth)
                what = "is entered again while it is open" if level.stretch == "run" else "has two indices open"
                reason = f"a fiber of {where} {what}, and its indices have one child"
                yield Breach("overlap", one, other, depth, reason, None, pairs, upto, told)


# ----------------------------------------------------------------------------------------------------------- operators


def merges(sites: tuple[Site, ...], tower: Tower) -> Iterator[Breach]:
    """Copies under a Merge start as fill: ⊕ must leave values unchanged by it, or take in equal values once.

    They are joined by ⊕, which must be associative for that, and commutative where two threads update one element.

    By =, copies are merged in the order of the threads, and of each copy the elements that its thread has set. That is
    the serial order if no two threads set one element in one phase; phases are merged one after the other. A run may be
    joined with one of equal elements that were not set, or that were where others were not.
    """
    for depth, level in enumerate(tower.levels):
        if not isinstance(level, Merge):
            continue
        for one, other in twos(sites):
            if one.op == "=" == other.op:
                found = _two_threads(one, other, tower, depth, element=True) if one.phase == other.phase else None
                if found is not None:
                    reason = f"two threads set elements of {one.tensor}, and copies are not merged in that order"
                    yield Breach("merge", one, other, depth, reason, *found)
                elif one is other and any(below.stretch == "run" for below in tower.levels[depth:]):
                    reason = f"runs do not tell which elements of {one.tensor} a thread has set, and copies are merged"
                    yield Breach("merge", one, other, depth, reason, _task(one, len(one.loops)))
            elif one is other and (why := _unmergeable(one, tower)) is not None:
                yield Breach("merge", one, other, depth, why, _task(one, len(one.loops)))
            elif not any_order(one.op) and one.phase == other.phase:
                found = _two_threads(one, other, tower, depth, element=True)
                if found is not None:
                    reason = f"two threads update an element of {one.tensor}, and the order matters to {one.op}"
                    yield Breach("merge", one, other, depth, reason, *found)


def _unmergeable(site: Site, tower: Tower) -> str | None:
    """Why copies do not give what their updates would give one after the other, even if one thread has made all."""
    if not algebra_of(merging(site.op)).associative:
        return f"copies of {site.tensor} are merged by {site.op}, which is not declared associative"
    z = _start(site, tower)
    once = site.life.z is not None and set(site.life.operators) == {site.op}
    if is_identity(z, site.op) or (once and any_order(site.op) and repeatable(site.op)):
        return None
    return f"copies of {site.tensor} start from {show(z)}, and {site.op} does not leave it out of the result"


def _start(site: Site, tower: Tower) -> ir.Expression:
    """What copies start from: the value that a tensor is declared with as a cell holds it, which f32 may round."""
    z = site.life.z
    if z is None:
        return ir.Literal(tower.fill)
    return ir.Literal(tower.width.rounded(exact(z.value))) if isinstance(z, ir.Literal) else z


def level_name(tower: Tower, depth: int) -> str:
    """A level as reasons name it."""
    return f"level {tower.numbers[depth]} {tower.levels[depth].name}"
