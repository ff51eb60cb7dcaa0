"""Functions that programs declare, and `choose(z)`, which is one that every program has.

    function f(x, y; associative, commutative, identity = 0) = x + y + x * y

A function is an expression over its parameters. It is called, `f(A[i], 2)`, and with two parameters tensors are updated
by it, `C[i] <<f>>= A[i]`. What is declared of it is believed: see `elaborate.functions` for what is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wingspan.base.errors import ParseError, Span
from wingspan.lang import algebra, ir
from wingspan.lang.operators import PAIRING, PARTS

TRUE_OR_NOT = ("associative", "commutative", "idempotent")
VALUES = ("identity", "annihilator")
PROPERTIES = (*TRUE_OR_NOT, *VALUES)

LARGEST = 1000
"""The most operators of a function, counting those of each function that it calls at every call."""


def function(
    name: str, parameters: tuple[str, ...], properties: Mapping[str, Any], body: ir.Expression, span: Span | None
) -> ir.Function:
    """A declared function. ParseError if it is more than an expression over its parameters."""
    if name in (*PARTS, *PAIRING):
        raise ParseError(f"{name} is built in: it is for pairs", span, fix="choose another name")
    if len(set(parameters)) < len(parameters):
        raise ParseError(f"two parameters of {name} have one name", span, fix="give each a name of its own")
    if properties and len(parameters) != 2:
        what = ", ".join(properties)
        message = f"{what}: this is said of functions of two parameters, and {name} has {len(parameters)}"
        raise ParseError(message, span, fix="leave it out")
    for node in body.walk():
        if isinstance(node, ir.Access):
            message = f"{name} computes with its parameters alone, and reads {node.fiber.tensor} here"
            raise ParseError(message, node.span, fix=f"make the element a parameter of {name}")
        if isinstance(node, ir.Missing | ir.IsMissing | ir.Coalesce):
            message = f"{name} is computed where no argument is missing, and is not missing itself"
            raise ParseError(message, node.span, fix=f"write it around the call: coalesce({name}(…), 0)")
        if isinstance(node, ir.Variable) and node.name not in parameters:
            fix = f"make it one: {name}({', '.join((*parameters, node.name))})"
            raise ParseError(f"{node.name} is no parameter of {name}", node.span, fix=fix)
    if size(body) > LARGEST:
        message = f"{name} has more than {LARGEST} operators, with those of the functions that it calls"
        raise ParseError(message, span, fix="bind parts of it to variables in the program")
    return ir.Function(name, parameters, body.map(_exact), ir.Algebra(**properties), span=span)


def _exact(node: ir.Node) -> ir.Node:
    return replace(node, value=algebra.exact(node.value)) if isinstance(node, ir.Literal) else node


def size(e: ir.Expression) -> int:
    """The number of operators in an expression, with those in the functions that it calls."""
    calls = [node for node in e.walk() if isinstance(node, ir.Call | ir.Choice)]
    return sum(size(c.op.body) if isinstance(c, ir.Call) and isinstance(c.op, ir.Function) else 1 for c in calls)


def used_functions(tree: ir.Node) -> dict[str, ir.Function]:
    """The functions that a program must declare for what a tree calls or updates by, each after those that it calls."""
    found: dict[str, ir.Function] = {}
    for node in tree.walk():
        if isinstance(node, ir.Call | ir.Assign) and isinstance(f := node.op, ir.Function) and f.name not in found:
            found |= used_functions(f.body) | (
                {f.name: f} if f.name.isidentifier() else {}
            )  # choose(z) is not declared
    return found


def misfit(f: ir.Function, number: int) -> str:
    """The message about a call with another number of arguments."""
    wanted = "one argument" if len(f.parameters) == 1 else f"{len(f.parameters)} arguments"
    return f"{f} takes {wanted}, not {number}"


def choose(z: ir.Literal) -> ir.Function:
    """choose(z)(x, y): x, or y if x is z. As an update it keeps the first value that is not z, as in Finch.jl.

    >>> keeps = choose(ir.Literal(0))
    >>> algebra.apply(keeps, 0, 3), algebra.apply(keeps, 2, 3)
    (3, 2)
    """
    x, y = ir.Variable("x", span=z.span), ir.Variable("y", span=z.span)
    value = algebra.exact(z.value)
    same = ir.Call("!=", (x, x)) if value != value else ir.Call("==", (x, ir.Literal(value)))  # NaN equals nothing
    body = ir.Choice(same, y, x, span=z.span)
    known = ir.Algebra(associative=True, idempotent=True, identity=ir.Literal(value), first=True)
    return ir.Function(f"choose({algebra.literal(value)})", ("x", "y"), body, known)
