"""Witnesses: the least two iterations of a set of pairs, the tasks that run them, and what they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from wingspan.dependence.directions import DIRECTIONS, common
from wingspan.dependence.findings import Iteration, Witness
from wingspan.dependence.sets import Numbers, Pairs, Side, smallest
from wingspan.dependence.sites import Loop, Site, Use

MOST = 8
"""Chunks of a static loop, from the first on, whose ends are looked at."""


def directions(found: isl.Set, pairs: Pairs) -> dict[str, str]:
    """For each loop around both accesses, how the iterations of the pairs in a set compare."""
    told: dict[str, str] = {}
    for k in range(common(pairs.x.at, pairs.y.at)):
        ways = [d for d in DIRECTIONS if not found.intersect(pairs.make([f"x{k} {d} y{k}"])).is_empty()]
        told[pairs.x.loops[k].index] = ways[0] if len(ways) == 1 else "*"
    return told


def witness(found: isl.Set, pairs: Pairs, upto: Numbers, p: int | None, extents: Sequence[int] = ()) -> Witness | None:
    """The least pair in a set, in all ranges, inside of all axes and on two threads of loop p as far as there is one.

    `extents` are those of the tensor's axes, leaf-most first; a negative one is not known.
    """
    if found.is_empty():
        return None
    complete = found.intersect(pairs.within(pairs.all))
    guarded = pairs.make(pairs.guards())
    wanted = [complete, guarded, pairs.make(_inside(pairs, extents)), *([_apart(pairs, p)] if p is not None else [])]
    for want in wanted:
        closer = found.intersect(want)
        found = found if closer.is_empty() else closer
    values = smallest(found)
    n, known = len(pairs.x.loops), upto if complete.is_empty() else pairs.all
    x, y = values[:n], values[n:]
    first, second = _iteration(pairs.x.loops, x[: known[0]]), _iteration(pairs.y.loops, y[: known[1]])
    if p is not None and first.task == second.task:
        second = _elsewhere(second, pairs.y.loops, p)
    certain = pairs.x.known and pairs.y.known and found.is_subset(guarded)
    return Witness(first, second, _element(pairs, x, y, known), certain)


def _inside(pairs: Pairs, extents: Sequence[int]) -> Iterator[str]:
    """Both accesses are inside of all axes whose extents are known."""
    for side in (pairs.x, pairs.y):
        if isinstance(side.at, Site):
            for name, extent in zip(side.at.subscripts, extents, strict=True):
                yield f"{side.letter}{side.at.loop(name)} >= 1"
                if extent >= 0:
                    yield f"{side.letter}{side.at.loop(name)} <= {extent}"


def _apart(pairs: Pairs, p: int) -> isl.Set:
    """The pairs whose iterations of loop p are in two chunks."""
    loop, x, y = pairs.x.loops[p], f"x{p}", f"y{p}"
    assert loop.device is not None and loop.schedule is not None
    start, stop = loop.constants
    if start is None or stop is None:
        return pairs.make([f"{x} != {y}"])
    if loop.schedule.kind == "dynamic":
        c = loop.schedule.step
        return pairs.make([f"floor(({x} - {start}) / {c}) != floor(({y} - {start}) / {c})"])
    n, size = loop.device.nthreads, max(stop - start + 1, 0)
    ends = list(dict.fromkeys(start + q * size // n for q in range(1, n)))[:MOST]
    cases = [f"({one} < {end} and {end} <= {other})" for end in ends for one, other in ((x, y), (y, x))]
    return pairs.make([f"({' or '.join(cases)})"])


def _iteration(loops: Sequence[Loop], values: Sequence[int]) -> Iteration:
    """An iteration and a task that may run it."""
    told = list(zip(loops, values, strict=False))
    path = ".".join(str(_thread(loop, value)) for loop, value in told if loop.parallel)
    return Iteration(path, tuple((loop.index, value) for loop, value in told))


def _thread(loop: Loop, value: int) -> int:
    """The thread that a static schedule gives an iteration to; one that a dynamic one may."""
    assert loop.device is not None and loop.schedule is not None
    n, (start, stop) = loop.device.nthreads, loop.constants
    if start is None or stop is None:
        return (value - 1) % n + 1
    if loop.schedule.kind == "dynamic":
        return (value - start) // loop.schedule.step % n + 1
    size = stop - start + 1
    return next((q for q in range(1, n + 1) if value - start < q * size // n), n)


def _elsewhere(iteration: Iteration, loops: Sequence[Loop], p: int) -> Iteration:
    """The iteration on another thread of loop p, which may get it too: only a static loop with known ends is fixed."""
    loop = loops[p]
    assert loop.device is not None and loop.schedule is not None
    fixed = loop.schedule.kind == "static" and None not in loop.constants
    if fixed or loop.device.nthreads < 2:
        return iteration
    threads = iteration.task.split(".")
    at = sum(each.parallel for each in loops[:p])
    threads[at] = str(int(threads[at]) % loop.device.nthreads + 1)
    return Iteration(".".join(threads), iteration.indices)


def _element(pairs: Pairs, x: Sequence[int], y: Sequence[int], known: Numbers) -> str:
    """What two iterations both touch: as much of the subscripts, from the root on, as is known and they agree in."""
    one, other = pairs.x.at, pairs.y.at
    if isinstance(one, Use) or isinstance(other, Use):
        return one.tensor if isinstance(one, Site) else one.name
    subscripts: list[str] = []
    agree = True
    for a, b in zip(one.position(1), other.position(1), strict=True):
        loaded = _loaded(pairs.x, a) or _loaded(pairs.y, b)
        agree = agree and (loaded or (a < known[0] and b < known[1] and x[a] == y[b]))
        subscripts.append(("?" if loaded else str(x[a])) if agree else ":")
    return f"{one.tensor}[{', '.join(reversed(subscripts))}]" if subscripts else one.tensor


def _loaded(side: Side, k: int) -> bool:
    """Whether loop k stands for a subscript of which nothing is known."""
    return side.loops[k].start == side.loops[k].stop and None in side.range(k)
