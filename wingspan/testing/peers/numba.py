"""Einsums as loops over dense arrays, compiled by Numba, https://numba.pydata.org: a fast reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from wingspan.elaborate import Elaborated
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.testing.peers.library import library

WORDS = {"&&": "and", "||": "or"}
INFIX = {"+", "-", "*", "==", "!=", "<", "<=", ">", ">=", "&&", "||"}


class Numba:
    """The engine: the loops of the program in their order, one after the other. Every element is evaluated."""

    name = "numba"
    unchecked = True

    def __init__(self) -> None:
        self._numba = library("numba", "numba")
        self._compiled = lru_cache(maxsize=100)(self._compile)

    def _compile(self, text: str) -> Callable[..., None]:
        made: dict[str, Any] = {}
        exec(text, made)
        return self._numba.njit(made["kernel"])  # type: ignore[no-any-return]

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The output of an einsum."""
        einsum = program.einsum()
        tower = program.towers[einsum.output]
        names = sorted({access.fiber.tensor for access in einsum.accesses})
        output = np.full(tower.shape, double(einsum.init.value), tower.dtype)
        kernel = self._compiled(source(einsum, names))
        kernel(output, *(np.ascontiguousarray(inputs[name]) for name in names), *einsum.extents.values())
        return {einsum.output: output}


def source(einsum: Einsum, names: list[str]) -> str:
    """The loops as Python.

    >>> C, A = (ir.Access(ir.Fiber(name, 2), (ir.Index("i"),)) for name in "CA")
    >>> print(source(Einsum("C", ("i",), "+", A, ir.Literal(0), ("i",), {"i": 3}), ["A"]))
    def kernel(out, in_A, n_i):
        for i in range(n_i):
            out[i] = out[i] + in_A[i]
    """
    given = [*(f"in_{name}" for name in names), *(f"n_{index}" for index in einsum.extents)]
    lines = [f"def kernel({', '.join(['out', *given])}):"]
    for depth, index in enumerate(einsum.loops, 1):
        lines.append(f"{'    ' * depth}for {index} in range(n_{index}):")
    element = _element("out", einsum.axes)
    value = _text(einsum.expression)
    value = value if einsum.op == "=" else _call(einsum.op, element, value)
    return "\n".join([*lines, f"{'    ' * (len(einsum.loops) + 1)}{element} = {value}"])


def _text(expression: ir.Expression) -> str:
    match expression:
        case ir.Literal(value=value):
            return repr(double(value))
        case ir.Index(name=name):
            return f"({name} + 1)"
        case ir.Access(fiber=fiber, subscripts=subscripts):
            return _element(f"in_{fiber.tensor}", tuple(i.name for i in subscripts if isinstance(i, ir.Index)))
        case ir.Call(op=op, args=args):
            return f"({_call(op, *map(_text, args))})"
    raise NotImplementedError(f"{type(expression).__name__} in an einsum")


def _call(op: ir.Operator, *args: str) -> str:
    if op in ("min", "max", "abs"):
        return f"{op}({', '.join(args)})"
    if op == "!":
        return f"not {args[0]}"
    if op not in INFIX:
        raise NotImplementedError(f"the operator {op}")
    assert isinstance(op, str)
    return f" {WORDS.get(op, op)} ".join(args) if len(args) == 2 else f"{op}{args[0]}"


def _element(name: str, subscripts: tuple[str, ...]) -> str:
    return f"{name}[{', '.join(subscripts) or '()'}]"
