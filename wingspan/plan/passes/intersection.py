"""Loops over what two lists have in common, which C finds by comparing blocks of their indices.

Such a loop looks at the next index of both; where they differ, it moves on whichever is behind. ::

    while q < end and k < stop:                         loop:
        at = max(i, j)                                      meet x.idx[q] up to end, y.idx[k] up to stop:
        if i == at and j == at:                                 if q < end: i = x.idx[q]
            …                                                   if k < stop: j = y.idx[k]
            q = q + 1                                           while q < end and k < stop and i != j:
            if q < end: i = x.idx[q]            →                   at = max(i, j)
            k = k + 1                                               (move on)
            if k < stop: j = y.idx[k]                       break unless q < end and k < stop
        else:                                               at = x.idx[q]
            (move on)                                       i = at
                                                            j = at
                                                            …
                                                            q = q + 1
                                                            k = k + 1

It is the same, since what moves on does nothing else and passes no index that both have: `Intersection` says so. The
cursors are in lists, as the branch for equal indices moves each by one, and loads the next index, of 32 bits, from a
buffer that nobody writes. So C needs neither the indices nor the loops of what moves on: its own code is in
`compiled/meet.h`.

It gained a factor of 1.8 to 5.8 in A ∘ B of matrices whose patterns differ, and of 1.4 in products by inner products.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wingspan.plan.ir import If, Op, Place, Plan, Set, Stmt, While, walk
from wingspan.plan.kernels import Intersection
from wingspan.plan.passes.cursors import onward
from wingspan.plan.uses import defs, how_often_read, reads, with_blocks


def intersection(made: Plan) -> Plan:
    """The plan whose loops over two lists leave it to C to find what these have in common."""
    return replace(made, body=_block(made.body, how_often_read(made)))


def _block(body: tuple[Stmt, ...], count: Counter[str]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        found = _over_pairs(s, count) if isinstance(s, While) else s
        out.append(with_blocks(found, lambda block: _block(block, count)))
    return tuple(out)


def _over_pairs(loop: While, count: Counter[str]) -> While:
    """A loop over the pairs of two lists, if it is one; else the loop itself."""
    match loop:
        case While(
            test=(),
            condition=Op(op="and", args=(more, others)),
            body=(
                Set(reg=at, value=Op(op="max", args=(i, j)), origin=origin),
                If(condition=same, then=then, otherwise=(Intersection(plain=plain),)),
            ),
        ) if len(then) >= 4:
            inner, x, y = then[:-4], onward(then[-4:-2], more), onward(then[-2:], others)
        case _:
            return loop
    equal = Op("and", (Op("==", (i, at)), Op("==", (j, at))))
    if x is None or y is None or (x.index, y.index, same) != (i, j, equal):
        return loop
    within = Counter(name for s in walk((loop,)) for name in reads(s))
    read_later = any(within[step.index.name] != count[step.index.name] for step in (x, y))
    if read_later or {*x.needs(), *y.needs()} & {reg for s in walk(inner) for reg in defs(s)}:
        return loop
    differ = Op("and", (loop.condition, Op("!=", (i, j))))
    apart = (x.ahead, y.ahead, While((), differ, (loop.body[0], *plain)))
    pair = (replace(x.load, reg=at, place=Place()), Set(x.index, at, origin), Set(y.index, at, origin))
    return While((Intersection(apart, (x.list, y.list)),), loop.condition, (*pair, *inner, x.advance, y.advance))
