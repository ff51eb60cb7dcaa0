"""Other forms of updates: `c[i] = c[i] + 1` as `c[i] += 1`, and `c[i] -= 1` beside it as `c[i] += -1`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from wingspan.lang import algebra, ir
from wingspan.lang.algebra import algebra_of, any_order, merging, takes_away
from wingspan.lang.operators import REDUCTIONS


def as_update(s: ir.Assign) -> ir.Assign | None:
    """`A ⊕= e` in place of `A = A ⊕ e`; None if the value is no such expression, or e reads A too."""
    if s.op != "=" or not isinstance(s.value, ir.Call):
        return None
    op = s.value.op
    if not isinstance(op, ir.Function) and op not in REDUCTIONS:
        return None
    operands = _operands(s.value, op) if algebra_of(op).associative else [*s.value.args]
    found = [k for k, e in enumerate(operands) if e == s.access]
    moves = not takes_away(op) and any_order(op)
    if len(operands) < 2 or not found or not (moves or found[0] == 0):
        return None
    first, *others = [e for k, e in enumerate(operands) if k != found[0]]
    value = first
    for e in others:
        value = ir.Call(op, (value, e))
    reads = {access.fiber.tensor for access, _ in ir.accesses(value)}
    return None if s.access.fiber.tensor in reads else replace(s, op=op, value=value)


def _operands(e: ir.Expression, op: ir.Operator) -> list[ir.Expression]:
    """The operands that an expression combines by an associative operator, from left to right."""
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


def operators_of(s: ir.Statement) -> dict[str, set[ir.Operator]]:
    """The operators by which a statement updates each tensor."""
    found: dict[str, set[ir.Operator]] = {}
    for node in s.walk():
        if isinstance(node, ir.Assign):
            found.setdefault(node.access.fiber.tensor, set()).add(node.op)
    return found


def join_sums(body: ir.Statement, own: Iterable[str] = ()) -> ir.Statement:
    """The program in which a statement that both adds to a tensor and takes away from it adds what is taken, negated.

    So one phase has both. A statement is one of the scope that declares the tensor; `own` are declared before.
    """
    known, out = set(own), []
    for s in body.statements if isinstance(body, ir.Block) else (body,):
        if isinstance(s, ir.Declare):
            known.add(s.tensor)
        mixed = {T for T, ops in operators_of(s).items() if T in known and _mix(ops)}
        if mixed:
            s = s.map(partial(_normalize_difference, mixed))
        out.append(replace(s, body=join_sums(s.body)) if isinstance(s, ir.For | ir.If) else s)
    return ir.seq(*out)


def _mix(ops: set[ir.Operator]) -> bool:
    """Whether one of these takes away what another one adds."""
    return any(takes_away(op) and merging(op) in ops for op in ops)


def _normalize_difference(tensors: set[str], s: ir.Node) -> ir.Node:
    """`A += -e` in place of `A -= e`, if A is one of the tensors; anything else unchanged."""
    if not (isinstance(s, ir.Assign) and takes_away(s.op) and s.access.fiber.tensor in tensors):
        return s
    args = (s.value,) if s.op == "-" else (ir.Literal(0), s.value)
    negated = algebra.simplify_expression(ir.Call(s.op, args, span=s.value.span), typed=True)
    return replace(s, op=merging(s.op), value=negated)
