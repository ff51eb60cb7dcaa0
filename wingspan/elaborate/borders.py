"""What is read outside of an axis: `coalesce(A[~(i + 1)], z)` with z as an element of A.

So the expression has one type, wherever its access is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wingspan.elaborate.inputs import subject
from wingspan.errors import Fault, Mistakes, ProgramError
from wingspan.lang import algebra, ir
from wingspan.levels import Tower
from wingspan.tensors.tensor import Tensor


def settle_borders(body: ir.Statement, towers: Mapping[str, Tower], mistakes: Mistakes) -> ir.Statement:
    """The program with each number that stands for missing elements as one of them; it is a mistake if it is none."""

    def settled(node: ir.Node) -> ir.Node:
        if not (isinstance(node, ir.Coalesce) and isinstance(node.first, ir.Access)):
            return node
        z = algebra.simplify_expression(node.otherwise, typed=True)
        T = node.first.fiber.tensor
        if T not in towers or not isinstance(z, ir.Literal):
            return node
        kind = towers[T].kind
        try:
            value = algebra.convert(algebra.exact(z.value), kind)
        except Fault:
            holds = f"{T} holds {MANY[kind]}, and outside of its axes it is {algebra.show(z.value)}"
            mistakes.note(ProgramError(holds, z.span, fix=f"give {EXAMPLES[kind]}"), *subject(node.first))
            return node
        return replace(node, otherwise=ir.Literal(value, span=z.span))

    changed: ir.Statement = body.map(settled)
    return changed


def fills_of(body: ir.Statement, towers: Mapping[str, Tower], tensors: Mapping[str, Tensor]) -> dict[str, ir.Literal]:
    """The fill values of tensors, where they are known: of inputs, and of what is declared with one value only."""
    found: dict[str, ir.Literal | None] = {T: ir.Literal(tensor.fill) for T, tensor in tensors.items()}
    for s in body.walk():
        if isinstance(s, ir.Declare):
            fill = _declared(s.init, towers[s.tensor])
            found[s.tensor] = fill if found.get(s.tensor, fill) == fill else None
    return {T: fill for T, fill in found.items() if fill is not None}


def _declared(init: ir.Expression, tower: Tower) -> ir.Literal | None:
    """The fill value of a tensor that is declared with this; None if it is left open, or none at all."""
    if not isinstance(init, ir.Literal):
        return None
    try:
        return ir.Literal(tower.width.rounded(algebra.convert(algebra.exact(init.value), tower.kind)))
    except Fault:
        return None


MANY = {"int": "integers", "float": "doubles", "bool": "booleans", "pair": "pairs"}
EXAMPLES = {"int": "an integer: 0", "float": "a number: 0.0", "bool": "a boolean: false", "pair": "a pair: (Inf, 0)"}
