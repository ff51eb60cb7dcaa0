"""Unions of two lists, which C goes through in blocks of their entries.

A `Union` has a body for an index that both lists have, and others for one that only one has. ::

    while q < end and k < stop:                 if (end - q) + (stop - k) >= 8:
        at = min(i, j)                              unite x.idx[q] up to end, y.idx[k] up to stop:
        if i == at:                                     at = the next index of either
            if j == at:                                 u = x.val[q], or 0.0 if there is none
                z.val[n] = x.val[q] + y.val[k]          v = y.val[k], or 0.0 if there is none
                …                                       z.val[n] = u + v
            else:                               →       …
                z.val[n] = x.val[q]             while q < end and k < stop:
                …                                   …
        else:                                   while q < end:
            z.val[n] = y.val[k]                     …
            …                                   while k < stop:
    while q < end:                                  …
        …
    while k < stop:
        …

Where the lowering knows values that stand for elements that are not there (`lowering.missing`), the body for both does
all, if it has no branches and loads elements alone. Which of the two lists is next, processors guess, and where
patterns differ they guess wrong half of the time: that was more than half of the time of such a sum.

`UnionBlocks` takes both lists to their ends, or leaves them as they are, so that the loops after it do all: C has code
for it where the processor has AVX-512 (`compiled/union.h`), and other machines go entry by entry. With
it, -0.0 + 0.0 is 0.0, as it is by the rules. Elements are loaded some entries ahead, and so from frozen tensors only,
which neither the body nor another task writes. Lists with fewer than eight entries together are faster in loops.

It gained a factor of 1.2 to 2.4 in sums of matrices whose patterns differ, and nothing of two meshes and a stiffness
matrix, where processors guess right.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from wingspan.plan.ir import Compute, Const, If, Load, Op, Plan, Set, Stmt, Store
from wingspan.plan.kernels import Union, UnionBlocks
from wingspan.plan.uses import defs, how_often_read, reads_in, rename, rewrite_outwards

LEAST = Const(8)
"""Fewer entries than this are taken one by one."""


def union(made: Plan) -> Plan:
    """The plan that leaves it to C to go through what either of two lists has."""
    return replace(made, body=rewrite_outwards(made.body, partial(_unite, how_often_read(made))))


def _unite(count: Counter[str], s: Stmt) -> tuple[Stmt, ...]:
    if not isinstance(s, Union):
        return (s,)
    x, y = s.lists
    entries = Op("+", (Op("-", (x.end, x.at)), Op("-", (y.end, y.at))))
    blocks = _blocks(s, count)
    return (*((If(Op(">=", (entries, LEAST)), (*s.room, blocks)),) if blocks else ()), *s.expand())


def _blocks(s: Union, count: Counter[str]) -> UnionBlocks | None:
    """The statement for blocks of entries, with new registers for those of the body that nothing else reads."""
    loads = [each for each in s.both if isinstance(each, Load)]
    others = tuple(each for each in s.both if not isinstance(each, Load))
    cursors = [each.at for each in s.lists]
    if s.fills is None or not all(isinstance(each, Set | Compute | Store) for each in others):
        return None
    for each in loads:
        plain = each.ref.frozen and each.ref.buffer.width in ("f64", "i64") and not each.ref.buffer.hashed
        if not plain or each.index not in cursors:
            return None
    within = reads_in((s,))
    own = {reg for each in s.both for reg in defs(each) if count[reg.name] == within[reg.name]}
    new = {reg: replace(reg, name=f"{reg.name}.united") for reg in (*own, s.at)}
    new |= {head.index: new[s.at] for head in s.heads}
    fills = dict(zip(cursors, s.fills, strict=True))
    entries = tuple((rename(each, new), fills[each.index]) for each in loads)  # type: ignore[index]
    return UnionBlocks(s.lists, new[s.at], entries, rename(others, new), s.origin)
