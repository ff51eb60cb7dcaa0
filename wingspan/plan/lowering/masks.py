"""Comparisons of a loop's index with what the loop does not change: where they hold is a part of its range.

    for i = 1:n                            for i = 1:min(n, j)
        if i <= j                              y[i] += A[i, j] * x[j]
            y[i] += A[i, j] * x[j]   →     end
        end
    end

Below the bound, at it and above it, each comparison is a literal, and algebra does the rest: a triangle costs half of a
square. What a comparison is with has a value whatever the loop does, and computing it cannot fail: the index of a loop
around this one, a literal, a sum or a product of these, or what one of them is divided by a literal.

Where an update that stores nothing does something, as in a list of runs, the rules go there on either side. Then the
parts have the literals, and are not simplified. A comparison that such an update has as a value, and not in a
condition, stays: by the rules it stores what it is, false too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import permutations
from typing import Literal

from wingspan.lang import ir

Side = Literal["<", "==", ">"]
"""Where an index lies: below a bound, at it, or above it."""
SIDES: tuple[Side, ...] = ("<", "==", ">")

HOLDS: dict[str, frozenset[Side]] = {
    "<": frozenset({"<"}), "<=": frozenset({"<", "=="}), "==": frozenset({"=="}),
    ">": frozenset({">"}), ">=": frozenset({">", "=="}), "!=": frozenset({"<", ">"}),
}  # fmt: skip
"""Where each comparison holds."""

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def bound(body: ir.Node, index: str, around: Collection[str], storing: Collection[str]) -> ir.Expression | None:
    """The first bound that a statement compares an index with; `around` are the indices of the loops around it, and
    `storing` the tensors in which an update that changes nothing does something.
    """
    return next(_bounds(body, index, around, storing), None)


def beside(body: ir.Statement, index: str, e: ir.Expression, side: Side, storing: Collection[str]) -> ir.Statement:
    """A statement where an index lies on this side of a bound."""

    def change(node: ir.Node, value: bool) -> ir.Node:
        match node:
            case ir.Call() if value:
                pass
            case ir.Call(op=op, args=(ir.Index(name=name), other)) if op in HOLDS and name == index and other == e:
                return ir.Literal(side in HOLDS[op], span=node.span)
            case ir.Call(op=op, args=(other, ir.Index(name=name))) if op in HOLDS and name == index and other == e:
                return ir.Literal(side in HOLDS[FLIPPED[op]], span=node.span)
        made: ir.Node = node.map_children(lambda child: change(child, _is_value(child, node, storing, value)))
        return made

    return change(body, False)  # type: ignore[return-value]


def _is_value(child: ir.Node, node: ir.Node, storing: Collection[str], value: bool) -> bool:
    """Whether a part of a node is a value of an update that always does something; `value`: whether the node is."""
    if isinstance(node, ir.Choice) and child is node.condition:
        return False
    return value or (isinstance(node, ir.Assign) and node.access.fiber.tensor in storing)


def _bounds(
    node: ir.Node, index: str, around: Collection[str], storing: Collection[str], value: bool = False
) -> Iterator[ir.Expression]:
    if isinstance(node, ir.Call) and node.op in HOLDS and not value:
        for one, other in permutations(node.args):
            if one == ir.Index(index) and _steady(other, around):
                yield other
    for child in node.children():
        yield from _bounds(child, index, around, storing, _is_value(child, node, storing, value))


def _steady(e: ir.Expression, around: Collection[str]) -> bool:
    """Whether an expression has a value that neither the loop changes nor computing it can fail."""
    match e:
        case ir.Literal(kind=kind):
            return kind == "int"
        case ir.Index(name=name):
            return name in around
        case ir.Call(op="+" | "-" | "*", args=(x, y)):
            return _steady(x, around) and _steady(y, around)
        case ir.Call(op="÷", args=(x, ir.Literal(value=int(by)))):
            return by > 0 and _steady(x, around)
    return False
