"""Witnesses: the least two iterations of a set of pairs, the tasks that run them, and what they share."""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.base.libraries import isl
from wingspan.dependence.directions import DIRECTIONS, common_loops
from wingspan.dependence.findings import Iteration, Witness
from wingspan.dependence.relations import Relation, TermComparison, all_of, any_of, compares, differs, index
from wingspan.dependence.sets import AccessIteration, Depths, Pairs, smallest
from wingspan.dependence.sites import EnclosingLoop, UpdateSite, VariableUse
from wingspan.lang import ir

MOST = 8
"""Chunks of a static loop, from the first on, whose ends are looked at."""


def directions(found: isl.Set, pairs: Pairs) -> dict[str, str]:
    """For each loop around both accesses, how the iterations of the pairs in a set compare."""
    vector: dict[str, str] = {}
    for k in range(common_loops(pairs.x.at, pairs.y.at)):
        each = {d: found.intersect(pairs.solutions(compares(k, op))) for d, op in DIRECTIONS.items()}
        ways = [d for d, some in each.items() if not some.is_empty()]
        vector[pairs.x.loops[k].index] = ways[0] if len(ways) == 1 else "*"
    return vector


def witness(found: isl.Set, pairs: Pairs, upto: Depths, p: int | None, extents: Sequence[int] = ()) -> Witness | None:
    """The least pair in a set, in all ranges, inside of all axes and on two threads of loop p as far as there is one.

    `extents` are those of the tensor's axes, leaf-most first; a negative one is not known.
    """
    if found.is_empty():
        return None
    complete = found.intersect(pairs.within(pairs.depths))
    guarded = pairs.solutions(pairs.guards)
    wanted = [_in_extents(pairs, extents), *([_in_two_chunks(pairs, p)] if p is not None else [])]
    for want in (complete, guarded, *map(pairs.solutions, wanted)):
        closer = found.intersect(want)
        found = found if closer.is_empty() else closer
    values = smallest(found)
    n, known = len(pairs.x.loops), upto if complete.is_empty() else pairs.depths
    x, y = values[:n], values[n:]
    first, second = _iteration(pairs.x.loops, x[: known[0]]), _iteration(pairs.y.loops, y[: known[1]])
    if p is not None and p < known[1] and first.task == second.task:
        second = _on_other_thread(second, pairs.y.loops, p)
    certain = pairs.x.is_exact and pairs.y.is_exact and found.is_subset(guarded)
    return Witness(first, second, _element(pairs, x, y, known), certain)


def _in_extents(pairs: Pairs, extents: Sequence[int]) -> Relation:
    """Condition: both accesses are inside of all axes whose extents are known."""
    limits: list[Relation] = []
    for side in (pairs.x, pairs.y):
        if isinstance(side.at, UpdateSite):
            for name, extent in zip(side.at.subscripts, extents, strict=True):
                subscript = side.index(side.at.loop(name))
                limits.append(TermComparison(subscript, ">=", ir.Literal(1)))
                if extent >= 0:
                    limits.append(TermComparison(subscript, "<=", ir.Literal(extent)))
    return all_of(limits)


def _in_two_chunks(pairs: Pairs, p: int) -> Relation:
    """Condition: the iterations of loop p are in two chunks, as far as its bounds and its threads are known."""
    loop, x, y = pairs.x.loops[p], index("x", p), index("y", p)
    assert loop.device is not None and loop.schedule is not None
    start, stop = loop.constants
    if start is None or stop is None:
        return differs(p)
    if loop.schedule.kind == "dynamic":
        offset, size = ir.Literal(start), ir.Literal(loop.schedule.step)
        a, b = (ir.Call("÷", (ir.Call("-", (i, offset)), size)) for i in (x, y))
        return TermComparison(a, "!=", b)
    n, number = loop.device.nthreads, max(stop - start + 1, 0)
    ends = [ir.Literal(end) for end in dict.fromkeys(start + q * number // n for q in range(1, n))][:MOST]
    return any_of(
        TermComparison(i, "<", end) & TermComparison(end, "<=", j) for end in ends for i, j in ((x, y), (y, x))
    )


def _iteration(loops: Sequence[EnclosingLoop], values: Sequence[int]) -> Iteration:
    """An iteration and a task that may run it."""
    iterations = list(zip(loops, values, strict=False))
    path = ".".join(str(_thread(loop, value)) for loop, value in iterations if loop.parallel)
    return Iteration(path, tuple((loop.index, value) for loop, value in iterations))


def _thread(loop: EnclosingLoop, value: int) -> int:
    """The thread that a static schedule gives an iteration to; one that a dynamic one may."""
    assert loop.device is not None and loop.schedule is not None
    n, (start, stop) = loop.device.nthreads, loop.constants
    if start is None or stop is None:
        return (value - 1) % n + 1
    if loop.schedule.kind == "dynamic":
        return (value - start) // loop.schedule.step % n + 1
    size = stop - start + 1
    return next((q for q in range(1, n + 1) if value - start < q * size // n), n)


def _on_other_thread(iteration: Iteration, loops: Sequence[EnclosingLoop], p: int) -> Iteration:
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


def _element(pairs: Pairs, x: Sequence[int], y: Sequence[int], known: Depths) -> str:
    """The element or fiber that two iterations both touch: the subscripts, from the root on, that agree."""
    one, other = pairs.x.at, pairs.y.at
    if isinstance(one, VariableUse) or isinstance(other, VariableUse):
        return one.tensor if isinstance(one, UpdateSite) else one.name
    subscripts: list[str] = []
    agree = True
    for a, b in zip(one.position(1), other.position(1), strict=True):
        loaded = _is_unknown(pairs.x, a) or _is_unknown(pairs.y, b)
        agree = agree and (loaded or (a < known[0] and b < known[1] and x[a] == y[b]))
        subscripts.append(("?" if loaded else str(x[a])) if agree else ":")
    return f"{one.tensor}[{', '.join(reversed(subscripts))}]" if subscripts else one.tensor


def _is_unknown(side: AccessIteration, k: int) -> bool:
    """Whether loop k stands for a subscript of which nothing is known."""
    return side.loops[k].start == side.loops[k].stop and None in side.bounds(k)
