"""Assignments that read the element which they set, and could update it instead: `c[i] = c[i] + 1` as `c[i] += 1`."""

from __future__ import annotations

from dataclasses import replace

from wingspan.lang import ir
from wingspan.lang.algebra import MERGING, algebra_of, any_order


def as_update(s: ir.Assign) -> ir.Assign | None:
    """`A ⊕= e` in place of `A = A ⊕ e`; None if the value is no such expression, or e reads A too."""
    if s.op != "=" or not isinstance(s.value, ir.Call):
        return None
    op = s.value.op
    if not isinstance(op, ir.Function) and op not in ir.REDUCTIONS:
        return None
    operands = _operands(s.value, op) if algebra_of(op).associative else [*s.value.args]
    found = [k for k, e in enumerate(operands) if e == s.access]
    moves = op not in MERGING and any_order(op)
    if len(operands) < 2 or not found or not (moves or found[0] == 0):
        return None
    first, *others = [e for k, e in enumerate(operands) if k != found[0]]
    value = first
    for e in others:
        value = ir.Call(op, (value, e))
    reads = {access.fiber.tensor for access, _ in ir.accesses(value)}
    return None if s.access.fiber.tensor in reads else replace(s, op=op, value=value)


def _operands(e: ir.Expression, op: ir.Operator) -> list[ir.Expression]:
    """What an expression combines by an associative operator, from left to right."""
    if isinstance(e, ir.Call) and e.op == op and len(e.args) > 1:
        return [operand for arg in e.args for operand in _operands(arg, op)]
    return [e]


def with_updates(body: ir.Statement, tensor: str) -> ir.Statement:
    """The program with every such assignment to a tensor replaced; itself if there is none."""

    def change(node: ir.Node) -> ir.Node:
        mine = isinstance(node, ir.Assign) and node.access.fiber.tensor == tensor
        return (as_update(node) if mine else None) or node  # type: ignore[arg-type]

    changed: ir.Statement = body.map(change)
    return changed
