"""Index notation of TACO, http://tensor-compiler.org, run by its command line tool in a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from signal import strsignal
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from wingspan.elaborate import Elaborated
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.levels import Tower
from wingspan.tensors.tensor import Coordinates
from wingspan.testing.peers.library import tool, zero_filled

SECONDS = 60.0
"""Seconds that one program may take. TACO runs a C compiler."""

LETTERS = {"Dense": "d", "SparseCOO": "u", "Inner": "c", "Innermost": "q"}
"""TACO's letters for levels; SparseCOO has one level for each axis. All other levels become compressed ones, `s`."""

DIGITS = 6
"""The digits that TACO writes of each element of the output."""


class Taco:
    """The engine: sums of products with fill value 0, in doubles. Their digits are few: compare with a tolerance."""

    name = "taco"
    unchecked = True

    def __init__(self, command: Sequence[str] = ("taco",), dense: bool = False) -> None:
        """`command` starts TACO's tool; its arguments are added. InputError if there is no such program.

        If `dense`, outputs are stored densely, whatever the program says: TACO has open issues about sparse ones.
        """
        self.dense = dense
        self.command = tool(command, "build https://github.com/tensor-compiler/taco, and add its tool to PATH")

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The output of an einsum. RuntimeError with the complaint of TACO, or of the C compiler, if it fails."""
        einsum = program.einsum()
        tower = program.towers[einsum.output]
        arguments = tool_arguments(einsum, program.towers, self.dense)
        texts = {name: tensor_file(program.inputs[name].to_coo()) for name in _names(einsum)}
        with TemporaryDirectory() as folder:
            for name, text in texts.items():
                Path(folder, f"{name}.ttx").write_text(text, encoding="ascii")
            ended = subprocess.run(
                [*self.command, *arguments], capture_output=True, text=True, errors="replace", timeout=SECONDS,
                check=False, cwd=folder, env={**os.environ, "TMPDIR": folder, "LC_ALL": "C"},
            )  # fmt: skip
            if ended.returncode:
                raise _failure(ended.returncode, ended.stderr)
            reduced = elements(Path(folder, f"{einsum.output}.tns").read_text(encoding="ascii"), tower.shape)
        if tower.kind == "int" and (reduced != np.rint(reduced)).any():
            raise RuntimeError("the output has fractions")
        if tower.kind == "int" and (abs(reduced) >= 10**DIGITS).any():
            raise NotImplementedError(f"integers of more than {DIGITS} digits in the output")
        init = 0 if einsum.op == "=" else double(einsum.init.value)
        return {einsum.output: init + reduced.astype(tower.dtype)}


def tool_arguments(einsum: Einsum, towers: Mapping[str, Tower], dense: bool = False) -> list[str]:
    """The arguments of TACO's tool, for input files `NAME.ttx` and an output file `NAME.tns`.

    Tensors are stored in the order of the loops, as TACO does not transpose them. NotImplementedError if TACO has no
    notation for the einsum.
    """
    if einsum.op not in ("=", "+", "-"):
        raise NotImplementedError(f"the reduction {einsum.op}")
    if towers[einsum.output].kind == "bool":
        raise NotImplementedError("an output of booleans")
    if not all(einsum.extents.values()):
        raise NotImplementedError("an axis of extent 0")
    output = ir.Access(ir.Fiber(einsum.output, len(einsum.axes) + 1), tuple(map(ir.Index, einsum.axes)))
    summed = {index: extent for index, extent in einsum.extents.items() if index not in einsum.axes}
    products = [node for node in einsum.expression.walk() if isinstance(node, ir.Call) and node.op == "*"]
    if summed and any(map(_has_sum, products)):
        raise NotImplementedError("a sum of products of sums")
    value = ("-" if einsum.op == "-" else "") + _value(einsum.expression, summed)
    formats: dict[str, str] = {}
    for access in (output, *einsum.accesses):
        name = access.fiber.tensor
        levels = "d" * len(einsum.axes) if dense and access is output else _levels(towers[name])
        form = f"{levels}:{_order(access, einsum.loops)}"
        if formats.setdefault(name, form) != form:
            raise NotImplementedError("a tensor with its axes in two orders")
    files = [*(f"-i={name}:{name}.ttx" for name in _names(einsum)), f"-o={einsum.output}:{einsum.output}.tns"]
    return [f"{_access(output)} = {value}", *(f"-f={T}:{form}" for T, form in formats.items() if form != ":"), *files]


def tensor_file(stored: Coordinates) -> str:
    """A tensor in the format of Matrix Market, of any number of axes.

    TACO takes the last extent for the number of elements if that is 0, so an empty tensor stores a zero.
    """
    at, values, _, shape = zero_filled(stored)
    if not shape:
        raise NotImplementedError("an input without axes")
    numbers = values.tolist()
    if any(isinstance(number, int) and float(number) != number for number in numbers):
        raise NotImplementedError("integers that doubles do not represent")
    rows = [*zip(*(at + 1).tolist(), map(float, numbers), strict=True)] or [(*[1] * len(shape), 0.0)]
    head = ["%%MatrixMarket tensor coordinate real general", f"{' '.join(map(str, shape))} {len(rows)}"]
    return "\n".join([*head, *(" ".join(map(repr, row)) for row in rows), ""])


def elements(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The dense array of a file with the subscripts and the value of an element in each line.

    RuntimeError if it has an element twice, as no level that TACO writes here may, or one outside of the axes.
    """
    array = np.zeros(shape)
    seen = set()
    for line in text.splitlines():
        *at, value = line.split()
        subscripts = tuple(int(index) - 1 for index in at)
        if subscripts in seen:
            raise RuntimeError("the output has an element twice")
        if not all(index in range(extent) for index, extent in zip(subscripts, shape, strict=True)):
            raise RuntimeError("the output has an element outside of its axes")
        seen.add(subscripts)
        array[subscripts] = float(value)
    return array


def _names(einsum: Einsum) -> list[str]:
    return sorted({access.fiber.tensor for access in einsum.accesses})


def _failure(status: int, complaint: str) -> Exception:
    """The first error of the C compiler on TACO's output, or TACO's own message before its list of options."""
    wrong = [line.partition(" error: ")[2] for line in complaint.splitlines() if " error: " in line]
    if wrong:
        return RuntimeError(f"the C that it prints is wrong: {wrong[0]}")
    said = " ".join(complaint.rpartition("what():")[2].partition("\n\n")[0].split())
    if "Not supported yet" in said:
        return NotImplementedError(said)
    ended = f"signal {-status}, {strsignal(-status)}" if status < 0 else f"status {status}"
    return RuntimeError(said or f"the tool ends with {ended}")


def _levels(tower: Tower) -> str:
    return "".join(LETTERS.get(type(level).__name__, "s") for level in tower.storage)


def _order(access: ir.Access, loops: Sequence[str]) -> str:
    """The axes of a tensor, numbered from 0, in the order of the loops."""
    indices = [index.name for index in access.subscripts if isinstance(index, ir.Index)]
    if len(set(indices)) < len(indices):
        raise NotImplementedError("a diagonal")
    return ",".join(str(indices.index(index)) for index in loops if index in indices)


def _value(expression: ir.Expression, summed: Mapping[str, int]) -> str:
    """An expression in TACO's notation, given the extents of the indices that are summed in it.

    TACO sums over the smallest part with all uses of an index, as http://tensor-compiler.org/docs/computations says.
    What is outside of that part is multiplied by the extent.
    """
    match expression:
        case ir.Call(op="+" | "-" as op, args=(one, other)):
            inside = _indices(one) & _indices(other)
            summed = {index: extent for index, extent in summed.items() if index not in inside}
            return f"({_value(one, summed)} {op} {_value(other, summed)})"
        case ir.Call(op="-", args=(one,)):
            return f"-{_value(one, summed)}"
        case ir.Call(op="*", args=args):
            text = " * ".join(_value(each, {}) for each in args)
        case ir.Literal(value=value) if isfinite(value):
            text = np.format_float_positional(float(value), trim="-")
        case ir.Access():
            text = _access(expression)
        case _:
            what = f"the operator {expression.op}" if isinstance(expression, ir.Call) else type(expression).__name__
            raise NotImplementedError(what)
    times = prod(extent for index, extent in summed.items() if index not in _indices(expression))
    return text if times == 1 else f"{text} * {times}"


def _indices(expression: ir.Expression) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, ir.Index)}


def _has_sum(expression: ir.Expression) -> bool:
    calls = (node for node in expression.walk() if isinstance(node, ir.Call))
    return any(call.op in ("+", "-") and len(call.args) > 1 for call in calls)


def _access(access: ir.Access) -> str:
    indices = [index.name for index in access.subscripts if isinstance(index, ir.Index)]
    for name in (access.fiber.tensor, *indices):
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise NotImplementedError(f"the name {name}")
    return f"{access.fiber.tensor}({','.join(indices)})" if indices else access.fiber.tensor
