"""Subscripts that shift an index: `i + k` and `i - k`, where k has one value as the loop over i runs.

The loop over i then enters a *view* of the fiber that is read: the view has at i what the fiber has at i + k. A
subscript counts as a shift only if the ranges of the loops around it show that the sum cannot overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wingspan.lang import algebra, ir

Interval = tuple[int, int]

LARGE = 2**62
"""Larger than all that is computed of indices, so that a sum of two such numbers has 64 bits."""
MOST = 2**31
"""Larger than any extent that is left open."""

Ranges = Mapping[str, ir.Range]
"""The ranges of the loops around a place, by index."""


def shift_of(e: ir.Expression, loops: Sequence[str], ranges: Ranges) -> ir.Plus | None:
    """A subscript as the index of the innermost of the loops that it depends on, plus what has one value there."""
    inside = [node.name for node in e.walk() if isinstance(node, ir.Index)]
    if not inside or interval(e, ranges) is None:
        return None
    index = max(inside, key=loops.index)
    by = _without(e, index)
    return None if by is None else ir.Plus(index, algebra.simplify_expression(by), span=e.span)


def _without(e: ir.Expression, index: str) -> ir.Expression | None:
    """The term added to an index; None if the expression does anything else with it."""
    match e:
        case ir.Index(name=name) if name == index:
            return ir.Literal(0)
        case ir.Call(op="+" | "-" as op, args=(x, y)):
            first, second = (any(node == ir.Index(index) for node in part.walk()) for part in (x, y))
            if first and not second:
                rest = _without(x, index)
                return None if rest is None else ir.Call(op, (rest, y))
            if second and not first and op == "+":
                rest = _without(y, index)
                return None if rest is None else ir.Call(op, (x, rest))
    return None


def interval(e: ir.Expression, ranges: Ranges) -> Interval | None:
    """The least and the greatest integer that an expression over indices can be; None if that is not plain to see."""
    found: Interval | None = None
    match e:
        case ir.Literal(value=value, kind="int"):
            found = (int(value), int(value))
        case ir.Variable(name=name) if " " in name:  # an extent that is left open
            found = (0, MOST)
        case ir.Index(name=name) if name in ranges:
            ends = interval(ranges[name].start, ranges), interval(ranges[name].stop, ranges)
            found = _combine(lambda a, b: (a[0], max(a[0], b[1])), *ends)
        case ir.Call(op="+", args=(x, y)):
            found = _combine(lambda a, b: (a[0] + b[0], a[1] + b[1]), interval(x, ranges), interval(y, ranges))
        case ir.Call(op="-", args=(x, y)):
            found = _combine(lambda a, b: (a[0] - b[1], a[1] - b[0]), interval(x, ranges), interval(y, ranges))
        case ir.Call(op="*", args=(x, y)):
            found = _combine(_product, interval(x, ranges), interval(y, ranges))
        case ir.Call(op="÷", args=(x, ir.Literal(value=int(by)))) if by > 0:
            found = _combine(lambda a, b: (a[0] // by, b[1] // by), *[interval(x, ranges)] * 2)
    return found if found and found[0] > -LARGE and found[1] < LARGE else None


def _combine(
    combine: Callable[[Interval, Interval], Interval], a: Interval | None, b: Interval | None
) -> Interval | None:
    return None if a is None or b is None else combine(a, b)


def _product(a: Interval, b: Interval) -> Interval:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


def always(e: ir.Expression, extent: ir.Expression, ranges: Ranges) -> bool:
    """Whether a subscript lies in its axis, whatever happens."""
    whole = isinstance(e, ir.Index) and ranges[e.name] == ir.Range(ir.Literal(1), extent)
    return whole or not conditions(e, extent, ranges)


def conditions(e: ir.Expression, extent: ir.Expression, ranges: Ranges) -> list[ir.Expression]:
    """The conditions on an index under which the subscript, this index or one shifted, lies in its axis."""
    i, by = (ir.Index(e.index), e.by) if isinstance(e, ir.Plus) else (e, ir.Literal(0))
    least, most = (algebra.simplify_expression(ir.Call("-", (end, by))) for end in (ir.Literal(1), extent))
    found, low, high = interval(i, ranges), interval(least, ranges), interval(most, ranges)
    made: list[ir.Expression] = []
    if not (found and low and low[1] <= found[0]):
        made.append(ir.Call(">=", (i, least)))
    if not (found and high and found[1] <= high[0]):
        made.append(ir.Call("<=", (i, most)))
    return made
