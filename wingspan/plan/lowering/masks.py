"""Comparisons of a loop's index with what the loop does not change: where they hold is a part of its range.

    for i = 1:n                            for i = 1:min(n, j)
        if i <= j                              y[i] += A[i, j] * x[j]
            y[i] += A[i, j] * x[j]   →     end
        end
    end

Below the bound, at it and above it, each comparison is a literal, and algebra does the rest: a triangle costs half of a
square. What a comparison is with has a value whatever the loop does, and computing it cannot fail: the index of a loop
around this one, a literal, a sum or a product of these, or what one of them is divided by a literal.

Where something is done although a comparison is false, the rules do it on either side: see `effects`. Then algebra does
not get to see the literals, as long as the program is lowered: ifelse(true, false, true) is false, and no identity. A
comparison that an update which does something has as a value, and not in a condition, stays: by the rules it stores
what it is, false too. So does one in an assertion, which reports its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Literal, TypeGuard, TypeVar

from wingspan.lang import algebra, ir
from wingspan.lang.kinds import KINDS
from wingspan.lang.operators import COMPARISONS, OPERATORS, mirror

_Node = TypeVar("_Node", bound=ir.Node)

Side = Literal["<", "=", ">"]
"""The position of an index: below a bound, at it, or above it."""
SIDES: tuple[Side, ...] = ("<", "=", ">")


def bound(body: ir.Node, index: str, around: Collection[str], storing: Collection[str]) -> ir.Expression | None:
    """The first bound that a statement compares an index with; `around` are the indices of the loops around it, and
    `storing` the tensors in which an update that changes nothing does something.
    """
    return next(_bounds(body, index, around, storing), None)


def beside(body: ir.Statement, index: str, e: ir.Expression, side: Side, storing: Collection[str]) -> ir.Statement:
    """A statement where an index lies on this side of a bound. What comparisons are then is hidden from algebra."""

    def decide(value: bool, node: ir.Node) -> ir.Expression:
        return ir.Choice(ir.Literal(True), ir.Literal(value), ir.Literal(not value), span=node.span)

    def change(node: ir.Node, value: bool) -> ir.Node:
        match node:
            case ir.Call() if value:
                pass
            case ir.Call(op=str(op), args=args) if op in COMPARISONS and args == (ir.Index(index), e):
                return decide(side in OPERATORS[op].sides, node)
            case ir.Call(op=str(op), args=args) if op in COMPARISONS and args == (e, ir.Index(index)):
                return decide(side in OPERATORS[mirror(op)].sides, node)
        made: ir.Node = node.map_children(lambda child: change(child, _is_value(child, node, storing, value)))
        return made

    return change(body, False)  # type: ignore[return-value]


def reveal_comparisons(s: _Node) -> _Node:
    """A statement or an expression in which algebra sees what comparisons are."""
    made: _Node = s.map(lambda node: node.then if _is_hidden(node) else node)
    return made


def least(s: ir.Statement, acts: Callable[[ir.For], bool]) -> ir.Statement:
    """The least remainder of a statement with revealed comparisons, whatever else turns out to be fill: no
    update and no condition that depends on a comparison and on more. Nor are loops around a comparison whose ends have
    an effect (`acts`): once all else is gone, algebra leaves out a loop only if the comparison is gone, too.
    """
    match s:
        case ir.Block(statements=statements):
            return ir.seq(*(least(each, acts) for each in statements))
        case ir.If(condition=condition, body=body):
            if not _hides(condition):
                return replace(s, body=least(body, acts))
            test = algebra.simplify_expression(reveal_comparisons(condition))
            return least(body, acts) if algebra.is_literal(test, True) else ir.SKIP
        case ir.For(body=body):
            return ir.SKIP if _hides(body) and acts(s) else replace(s, body=least(body, acts))
        case ir.Assign(value=value) if _hides(value):
            return ir.SKIP
    return s


def _hides(node: ir.Node) -> bool:
    return any(map(_is_hidden, node.walk()))


def _is_hidden(node: ir.Node) -> TypeGuard[ir.Choice]:
    return isinstance(node, ir.Choice) and node.condition == ir.Literal(True) and isinstance(node.then, ir.Literal)


def _is_value(child: ir.Node, node: ir.Node, storing: Collection[str], value: bool) -> bool:
    """Whether a part of a node is a value of an update that always does something, or one that a failing assertion
    reports; `value`: whether the node is.
    """
    if isinstance(node, ir.Choice) and child is node.condition:
        return False
    if isinstance(node, ir.Assert):
        return True
    return value or (isinstance(node, ir.Assign) and node.access.fiber.tensor in storing)


def _bounds(
    node: ir.Node, index: str, around: Collection[str], storing: Collection[str], value: bool = False
) -> Iterator[ir.Expression]:
    if isinstance(node, ir.Call) and node.op in COMPARISONS and not value:
        for one, other in permutations(node.args):
            if one == ir.Index(index) and _steady(other, around):
                yield other
    for child in node.children():
        yield from _bounds(child, index, around, storing, _is_value(child, node, storing, value))


def _steady(e: ir.Expression, around: Collection[str]) -> bool:
    """Whether an expression has a value that neither the loop changes nor computing it can fail."""
    match e:
        case ir.Literal(kind=kind):
            return KINDS[kind].is_integer
        case ir.Index(name=name):
            return name in around
        case ir.Call(op="+" | "-" | "*", args=(x, y)):
            return _steady(x, around) and _steady(y, around)
        case ir.Call(op="÷", args=(x, ir.Literal(value=int(by)))):
            return by > 0 and _steady(x, around)
    return False
