"""`missing`, `ismissing` and `coalesce`, elaborated away: no value of a running program is missing.

Each expression e has a condition P(e), under which it has a value::

    P(missing)           = false
    P(A[~x])             = P(x) and x lies in the axis
    P(f(a, b))           = P(a) and P(b)             also of operators, subscripts and functions
    P(ifelse(c, a, b))   = P(c) and (P(a) if c else P(b))
    P(coalesce(a, b))    = P(a) or P(b)
    P(ismissing(a))      = true, as for all others

    coalesce(a, b)   →   ifelse(P(a), a, b)
    ismissing(a)     →   !P(a)

Only two forms are left for `concordize`, where axes and ranges are known: `ismissing(A[~x])`, and `coalesce(A[~x], e)`,
which goes on as a view of A where that serves. Ours, as ~ is; the paper has neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wingspan.base.errors import Mistakes, ProgramError, Span
from wingspan.lang import algebra, ir
from wingspan.lang.data import NOT_STORED
from wingspan.lang.printer import alternatives, commas, show

LARGEST = 10_000
"""The most nodes of an expression: conditions in conditions on what may be missing double it."""

TRUE, FALSE = ir.Literal(True), ir.Literal(False)
FORMS = ir.Missing | ir.IsMissing | ir.Coalesce | ir.Permissive

Present = tuple[ir.Expression, ir.Expression]
"""P(e), and e where that holds."""


Doubts = Mapping[Span | None, Present]
"""Expressions that may be missing, as they are written, with P(e); by the places of what is left of them."""


def settle_missing(body: ir.Statement, mistakes: Mistakes) -> tuple[ir.Statement, Doubts]:
    """The program without missing values, and what may still be missing where a value is needed: `require_values`
    decides when ranges and extents are known. It is a mistake if nothing ever has a value.
    """
    doubts: dict[Span | None, Present] = {}

    def settle(node: ir.Node) -> Any:
        if isinstance(node, ir.Assign):  # an update happens where its own access is not missing
            subscripts = tuple(e.map_children(settle) if isinstance(e, ir.Permissive) else settle(e)
                               for e in node.access.subscripts)  # fmt: skip
            return replace(node, access=replace(node.access, subscripts=subscripts), value=settle(node.value))
        if not isinstance(node, ir.Expression):
            return node.map_children(settle)
        if not any(isinstance(part, FORMS) for part in node.walk()):
            return node
        there, made = _present(node)
        if _size(made, {}) > LARGEST:
            message = "too much decides here whether values are missing"
            mistakes.note(ProgramError(message, node.span, fix="bind the inner conditions before: x = …"))
            return node
        if _is(there, False) or (made.span is None and not _is(there, True)):
            mistakes.note(may_be_missing(node, _is(there, False)))
        elif not _is(there, True):
            doubts[made.span] = there, node
        return made

    return settle(body), doubts


def _present(e: ir.Expression) -> Present:
    """P(e) and e. Each part of e is visited once."""
    match e:
        case ir.Missing():
            return FALSE, e
        case ir.IsMissing(operand=operand):
            there, _ = _present(operand)
            return TRUE, replace(_not(there), span=e.span)
        case ir.Coalesce(first=first, otherwise=otherwise):
            return _present_first(e, _present(first), _present(otherwise))
        case ir.Choice(condition=condition, then=then, otherwise=otherwise):
            there, test = _present(condition)
            (p, x), (q, y) = _present(then), _present(otherwise)
            made = y if _is(p, False) else x if _is(q, False) else replace(e, condition=test, then=x, otherwise=y)
            return _choice(there, _choice(test, p, q), FALSE), made
    there = TRUE
    parts: dict[int, ir.Expression] = {}
    for child in e.children():
        if isinstance(child, ir.Expression):
            p, parts[id(child)] = _present(child)
            there = _and(there, p)
    made = e.map_children(lambda child: parts.get(id(child), child))
    if isinstance(made, ir.Access) and any(isinstance(s, ir.Permissive) for s in made.subscripts):
        return _choice(there, _not(ir.IsMissing(made, span=e.span)), FALSE), made
    return there, made


def _present_first(e: ir.Coalesce, first: Present, second: Present) -> Present:
    """The first value that is there."""
    (p, x), (q, y) = first, second
    if _is(p, False):
        return second
    if _is(p, True) or _is(q, False):
        return first
    bare = isinstance(x, ir.Access) and p == _not(ir.IsMissing(x))
    made = replace(e, first=x, otherwise=y) if bare else ir.Choice(p, x, y, span=e.span)
    return _choice(p, TRUE, q), made


def may_be_missing(e: ir.Expression, always: bool = False) -> ProgramError:
    """The mistake of what is missing where a value is needed."""
    if always:
        return ProgramError(f"{show(e)} is missing, and a value is needed here", e.span, fix=NOT_STORED)
    bare = isinstance(e, ir.Access) and any(isinstance(s, ir.Permissive) for s in e.subscripts)
    where = "is missing where ~ leaves the axis" if bare else "may be missing"
    values = (*alternatives(e), ir.Literal(0))
    return ProgramError(f"{show(e)} {where}", e.span, fix=f"say what to take then: coalesce({commas(values)})")


def _is(e: ir.Expression, value: bool) -> bool:
    return algebra.is_literal(e, value)


def _not(p: ir.Expression) -> ir.Expression:
    match p:
        case ir.Literal(value=value):
            return FALSE if value else TRUE
        case ir.Call(op="!", args=(inner,)):
            return inner
    return ir.Call("!", (p,))


def _and(p: ir.Expression, q: ir.Expression) -> ir.Expression:
    """Both of two conditions, each of which may be evaluated whatever the other one is."""
    if _is(p, True) or _is(q, False):
        return q
    return p if _is(q, True) or _is(p, False) else ir.Call("&&", (p, q))


def _choice(test: ir.Expression, p: ir.Expression, q: ir.Expression) -> ir.Expression:
    """p where a condition holds, else q; the other one is not evaluated."""
    if isinstance(test, ir.Literal):
        return p if test.value else q
    match p, q:
        case ir.Literal(value=then), ir.Literal(value=otherwise):
            return TRUE if then and otherwise else test if then else _not(test) if otherwise else FALSE
    return ir.Choice(test, p, q)


def _size(e: ir.Node, known: dict[int, int]) -> int:
    """The number of nodes of a tree, parts of which may be shared."""
    if id(e) not in known:
        known[id(e)] = 1 + sum(_size(child, known) for child in e.children())
    return known[id(e)]
