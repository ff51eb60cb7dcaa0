"""Loops over the runs of two lists, which C goes through in blocks while both lists have the same runs.

A loop over what either of two lists has takes a stretch of indices in each round: up to where a run of one of them
begins or ends. ::

    loop:                                        loop:
        i = x's next index                           …
        j = y's next index                           if i == at:
        at = min(i, j)                                   if j == at:
        break unless at <= n                                 z.val[n] = x.val[q] + y.val[k]
        if i == at:                     →                    …
            if j == at:                                      coincide x.left[q] up to end, y.left[k] up to stop, to n:
                z.val[n] = x.val[q] + y.val[k]                   u = x.val[q]
                …                                                v = y.val[k]
            else:                                                z.val[n] = u + v
                …                                        else:
        else:                                                …
            …                                        else:
                                                         …

What a round does where both lists have a run is all that is done for runs that begin and end together, as in the planes
of an image, where most do. `CommonRuns` may take any number of these, and leaves the others to the loop: C compares the
ends of 16 runs at once, where the processor has AVX-512 (`compiled/common_runs.h`), and other machines go run by run.
It stops before a run whose element equals that of the run before it and is adjacent, and before a run
at which something fails.

It made the sums of two planes of screenshots 2.6 to 2.9 times as fast (docs/performance.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wingspan.plan.ir import (
    Check,
    Compute,
    Const,
    Expr,
    If,
    Load,
    Op,
    Plan,
    Reg,
    Set,
    Stmt,
    Store,
    While,
    walk,
)
from wingspan.plan.kernels import Appended, CommonRuns, Runs
from wingspan.plan.passes.hoist_bounds_checks import full_capacity
from wingspan.plan.uses import defs, registers, rename, uses, with_blocks

ONE = Const(1)
WIDTHS = {"u8": "==", "i8": "==", "i32": "==", "i64": "==", "f64": "alike"}
"""The widths of elements that C compares at once, and by which operator."""


def common_runs(made: Plan) -> Plan:
    """The plan that leaves it to C to go through runs that two lists have in common."""
    count = _count_uses(made.body) + Counter(reg for e in made.ends for reg in registers(e))
    return replace(made, body=_block(made.body, count))


def _count_uses(body: tuple[Stmt, ...]) -> Counter[Reg]:
    """Count the uses of each register in a block. Not in reports: those of rooms before the loop name its index."""
    return Counter(reg for s in walk(body) for e in uses(s) for reg in registers(e))


def _block(body: tuple[Stmt, ...], count: Counter[Reg]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, While) and (found := _match(s, count)):
            s = replace(s, body=_with(s.body, found))
        out.append(with_blocks(s, lambda block: _block(block, count)))
    return tuple(out)


def _with(body: tuple[Stmt, ...], found: CommonRuns) -> tuple[Stmt, ...]:
    """The body with the statement after what is done where both lists have a run."""
    stop, in_x = body
    assert isinstance(in_x, If) and isinstance(in_x.then[0], If)
    in_both = in_x.then[0]
    return stop, replace(in_x, then=(replace(in_both, then=(*in_both.then, found)),))


def _match(loop: While, count: Counter[Reg]) -> CommonRuns | None:
    """Match a union loop over two lists of runs; return its fast path for common runs, or None."""
    match loop:
        case While(
            test=(Set(reg=i), Set(reg=j), Set(reg=at, value=Op(op="min", args=(Reg() as first, Reg() as second)))),
            condition=Op(op="<=", args=(begin, last)),
            body=(
                Set(reg=stop),
                If(condition=in_x, then=(If(condition=in_y, then=both),)),
            ),
        ) if (first, second, begin, in_x, in_y) == (i, j, at, Op("==", (i, at)), Op("==", (j, at))) and len(both) > 6:
            *head, element, unlike, look, append, passed, on_x, on_y = both
        case _:
            return None
    x, y, into = _runs(on_x, stop), _runs(on_y, stop), _appended_list(append, at, stop)
    if x is None or y is None or into is None or passed != replace(passed, reg=into.index, value=stop):  # type: ignore[arg-type]
        return None
    first_run = _first_of(unlike, look, element, into.at)
    if first_run is None:
        return None
    return _coinciding((x, y), replace(into, first=first_run), tuple(head), element, loop, last, at, count)  # type: ignore[arg-type]


def _runs(move: Stmt, stop: Reg) -> Runs | None:
    """The list whose cursor a statement moves past an index, if it does that alone."""
    match move:
        case If(
            condition=Op(op="<", args=(here, Reg() as last)),
            then=(Set(reg=index, value=Op(op="+", args=(before, Const(value=1)))),),
            otherwise=(
                Set(reg=at, value=Op(op="+", args=(q, Const(value=1)))),
                If(
                    condition=Op(op="<", args=(r, end)),
                    then=(
                        Load(reg=left, ref=lefts, index=s),
                        Set(reg=index2, value=left2),
                        Load(reg=right, ref=rights, index=t),
                        Set(reg=last2, value=right2),
                    ),
                    otherwise=(),
                ),
            ),
        ) if (  # fmt: skip
            (here, before, q, r, s, t) == (stop, stop, at, at, at, at)
            and (index, left, right, last) == (index2, left2, right2, last2)
            and all(ref.frozen and ref.buffer.width == "i32" and not ref.buffer.hashed for ref in (lefts, rights))
        ):
            return Runs(lefts, rights, at, end, index, last)
    return None


def _appended_list(append: Stmt, begin: Reg, stop: Reg) -> Appended | None:
    """The list to which a statement appends the run from one index to another, unless it prolongs the last one."""
    match append:
        case If(
            condition=Op(op="and", args=(_, Op(op="==", args=(Op(op="+", args=(Reg() as index, Const(value=1))), at)))),
            then=(Store(ref=longer, value=further),),
            otherwise=(
                Store(ref=left, index=Reg() as n, value=first) as one,
                Store(ref=right, index=m, value=last) as other,
                Set(reg=counted, value=Op(op="+", args=(k, Const(value=1)))),
            ),
        ) if (at, further, first, last, m, counted, k, longer) == (begin, stop, begin, stop, n, n, n, right):
            if left.buffer.width == right.buffer.width == "i32" and _has_room(one) and _has_room(other):
                return Appended(left, right, n, n, index)
    return None


def _has_room(s: Store) -> bool:
    """Whether a statement stores without a question for room."""
    return not s.ref.buffer.hashed and (s.sure or full_capacity(s.ref.buffer) is not None)


def _first_of(unlike: Stmt, look: Stmt, element: Stmt, next_run: Reg) -> Expr | None:
    """The first run of a fiber, if statements find out by it whether the elements of two runs are equal."""
    match unlike, look, element:
        case (
            Set(reg=equal, value=Const(value=False)),
            If(
                condition=Op(op="<", args=(first, n)),
                then=(
                    Set(reg=p, value=Op(op="-", args=(m, Const(value=1)))),
                    Load(reg=before, ref=one, index=at), Load(reg=here, ref=other, index=k),
                    Set(reg=found, value=Op(op=op, args=(b, h))),
                ),
                otherwise=(),
            ),
            Store(ref=ref, index=cell),
        ) if (n, m, k, cell) == (next_run,) * 4 and (at, equal, b, h) == (p, found, before, here):  # fmt: skip
            if one == other == ref and WIDTHS.get(ref.buffer.width) == op and _has_room(element):
                return first
    return None


def _coinciding(
    lists: tuple[Runs, Runs],
    into: Appended,
    head: tuple[Stmt, ...],
    element: Store,
    loop: While,
    last: Expr,
    at: Reg,
    count: Counter[Reg],
) -> CommonRuns | None:
    """The statement, if what is done for a run depends on the elements alone; it has registers of its own."""
    own = {reg for s in head for reg in defs(s)}
    within = _count_uses((loop,))
    if any(count[reg] > within[reg] for reg in own):
        return None
    loads = tuple(s for s in head if isinstance(s, Load))
    cursors = [x.at for x in lists]
    body = tuple(s for s in head if not isinstance(s, Load) and not (isinstance(s, Set) and s.value == at))
    if not all(isinstance(s, Set | Check | Compute) for s in body):
        return None
    if not all(s.ref.frozen and s.index in cursors and s.ref.buffer.width in WIDTHS for s in loads):
        return None
    moving = {reg for s in walk((loop,)) for reg in defs(s)}
    steady = {reg for e in (into.first, last, *(x.end for x in lists)) for reg in registers(e)}
    used = {*_count_uses(body), *registers(element.value)} - {reg for s in (*loads, *body) for reg in defs(s)}
    if (steady | used) & moving or not loads:
        return None
    new: dict[Reg, Expr] = {reg: replace(reg, name=f"{reg.name}.coinciding") for reg in own}
    loads, body = rename((loads, (*body, element)), new)
    return CommonRuns(lists, into, loads, body, WIDTHS[element.ref.buffer.width], last, element.origin)
