"""A plan without the stores whose cells are stored again before anybody looks, which only safe programs can spare.

A store goes if a later one of the same block is to the same cell. So does a loop that fills a buffer, if the next one
to access that buffer stores to each of its cells: one task's, or those of all tasks, whose chunks are all there is. ::

    q = 1
    while q <= n:                               q = 1
        C.val[q] = 0.0                          next[1] = 1
        q = q + 1                               parallel:
    next[1] = 1                                     claim first = next[1], up to n by step
    parallel:                                       (i from first to first + step - 1, or n)
        claim first = next[1], up to n by step  →       …
        (i from first to first + step - 1, or n)        C.val[i] = …
            …
            C.val[i] = …

No value is kept. Between the two stores there is no load from the buffer and no lock, and a loop that fills it again
accesses it in no other way. Another task that looked at the cell meanwhile would race with the second store, so in a
safe program none does.

A run that stops in between, as where a sum does not fit its cell, has no results. It took a quarter off sums of large
matrices with one pattern.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Compute, Const, Expr, If, Load, Op, Plan, Ref, Reg, Set, Stmt, Store, While, walk
from wingspan.plan.uses import defs, how_often_read, reads, refs, registers, sets_in, with_blocks

ONE = Const(1)


def dead_stores(made: Plan) -> Plan:
    """The plan without stores that a later one of the same block makes good, where only loads from other buffers,
    and what tasks keep to themselves, come between; nor loops of them that the next loop makes good.
    """
    return replace(made, body=_block(made.body, how_often_read(made)))


def _block(body: tuple[Stmt, ...], count: Counter[str]) -> tuple[Stmt, ...]:
    def is_spared(k: int, s: Stmt) -> bool:
        return (isinstance(s, Store) and _again(s, body[k + 1 :])) or (
            isinstance(s, While) and _filled_again(s, body[k + 1 :], count)
        )

    kept = (s for k, s in enumerate(body) if not is_spared(k, s))
    return tuple(with_blocks(s, lambda block: _block(block, count)) for s in kept)


def _again(first: Store, later: tuple[Stmt, ...]) -> bool:
    """Whether the statements store to the cell before one that may read it, or change which cell it is."""
    place = {first.ref.instance, *registers(first.index)}
    for s in later:
        match s:
            case Store(ref=ref, index=index) if (ref, index) == (first.ref, first.index):
                return True
            case Load(ref=ref) if ref.buffer == first.ref.buffer:
                return False
            case Set() | Load() | Store() | Compute() | Check():
                if place & set(defs(s)):
                    return False
            case _:
                return False
    return False


# --------------------------------------------------------------------------------------------------------------- loops


def _filled_again(loop: While, later: tuple[Stmt, ...], count: Counter[str]) -> bool:
    """Whether a loop fills a buffer up to some cell, and one of the next statements stores to all of these."""
    match loop:
        case While(
            test=(),
            condition=Op(op="<=", args=(Reg() as q, end)),
            body=(Store(ref=ref, index=index, value=value), Set(reg=moved, value=onward)),
        ) if index == moved == q and onward == op("+", q, ONE) and q not in registers(value):
            within = Counter(name for s in walk((loop,)) for name in reads(s))
        case _:
            return False
    if within[q.name] < count[q.name]:
        return False
    known: dict[object, Expr] = {}
    for s in later:
        if any(other.buffer == ref.buffer for each in walk((s,)) for other in refs(each)):
            match s:
                case While(test=(), condition=Op(op="<=", args=(Reg() as i, stop)), body=body):
                    return (known.get(i), stop) == (ONE, end) and _sets_each(body, i, ref)
                case plan.Par(body=(While() as chunks,)):
                    return _in_chunks(chunks, end, ref, known)
            return False
        changed = sets_in((s,)).keys()
        if changed & {ref.instance, *registers(end)}:
            return False
        stored = {other for each in walk((s,)) for other in refs(each)}
        known = {key: e for key, e in known.items() if key not in changed | stored}
        match s:
            case Set(reg=reg, value=e):
                known[reg] = e
            case Store(ref=cell, index=at, value=e) if at == ONE:
                known[cell] = e
    return False


def _in_chunks(loop: While, end: Expr, ref: Ref, known: dict[object, Expr]) -> bool:
    """Whether tasks take chunks of all indices up to the end, from 1 on, and store to the cell of each."""
    match loop:
        case While(
            test=(plan.FetchChunk(reg=first, ref=counter, stop=stop, step=step),),
            condition=condition,
            body=(
                Set(reg=last, value=value),
                If(condition=some, then=(Set(reg=i, value=begin), While(test=(), condition=more, body=body))),
            ),
        ):
            taken = op("+", first, op("min", op("-", step, ONE), op("-", end, first)))
            bounds = condition, some, more, value
            wanted = Op("<=", (first, end)), Op("<=", (first, last)), Op("<=", (i, last)), taken
            whole = (stop, begin, known.get(counter)) == (end, first, ONE) and bounds == wanted
            return whole and last not in sets_in(body) and _sets_each(body, i, ref)
    return False


def _sets_each(body: tuple[Stmt, ...], i: Reg, ref: Ref) -> bool:
    """Whether each round stores to the cell of its index, accesses that buffer in no other way, and goes on by one."""
    *work, moved = body
    stores = [s for s in work if isinstance(s, Store) and (s.ref, s.index) == (ref, i)]
    accesses = [s for s in walk(tuple(work)) for other in refs(s) if other.buffer == ref.buffer]
    changed = sets_in(body[:-1]).keys()
    onward = isinstance(moved, Set) and moved.reg == i and moved.value == op("+", i, ONE)
    return onward and len(stores) == len(accesses) == 1 and not changed & {i, ref.instance}
