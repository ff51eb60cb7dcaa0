"""Programs of Finch.jl, https://github.com/finch-tensor/Finch.jl, run by Julia in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from wingspan.elaborate import Elaborated
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.lang.operators import WRAPPING
from wingspan.testing.peers.library import tool

OTHERWISE = WRAPPING | {"÷", "%"}
"""Operators that Julia lacks or, as it rounds quotients towards 0, computes otherwise."""

SECONDS = 300.0
"""Seconds that one program may take. Julia compiles Finch.jl for about half a minute."""


class FinchJl:
    """The engine: einsums with fill value 0, in sparse levels where the loops visit an input in its order."""

    name = "finch.jl"
    unchecked = True

    def __init__(self, command: Sequence[str] = ("julia",)) -> None:
        """`command` runs the Julia program whose path is its last argument. InputError if there is none."""
        self.command = tool(command, "install Julia, and Finch in it: julia -e 'using Pkg; Pkg.add(\"Finch\")'")

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The output of an einsum. RuntimeError with what Julia wrote last, if it fails."""
        einsum = program.einsum()
        tower = program.towers[einsum.output]
        names = {access.fiber.tensor for access in einsum.accesses}
        if any(program.inputs[name].fill != 0 for name in names):
            raise NotImplementedError("a fill value other than 0")
        given = {name: inputs[name] for name in sorted(names)}
        with TemporaryDirectory() as folder:
            path = Path(folder, "program.jl")
            path.write_text(script(einsum, given, tower.dtype.kind), encoding="utf-8")
            ended = subprocess.run(
                [*self.command, str(path)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
                cwd=folder,
            )
        if ended.returncode:
            last = (ended.stderr.strip() or f"exit status {ended.returncode}").splitlines()
            raise RuntimeError(last[0])
        values = [_number(line) for line in ended.stdout.split()]
        return {einsum.output: np.array(values, tower.dtype).reshape(tower.shape, order="F")}


def script(einsum: Einsum, inputs: Mapping[str, np.ndarray], kind: str) -> str:
    """A Julia program that prints the elements of the output, in column-major order; `kind` is NumPy's letter."""
    _require_known(einsum)
    lines = ["using Finch"]
    for name, array in inputs.items():
        zero = _literal(array.dtype.type(0).item())
        sparse = all(_in_order(access, einsum) for access in einsum.accesses if access.fiber.tensor == name)
        levels = ["SparseList" if sparse and axis else "Dense" for axis in range(array.ndim)]
        elements = ", ".join(_literal(v) for v in array.reshape(-1, order="F").tolist())
        shape = ", ".join(map(str, array.shape))
        element = {"i": "Int64", "f": "Float64", "b": "Bool"}[array.dtype.kind]
        lines.append(f"{name} = Tensor({_format(levels, zero)}, reshape({element}[{elements}], {shape}))")
    init = einsum.init.value
    zero = _literal(float(init) if kind == "f" else init)
    sizes = "".join(f", {einsum.extents[index]}" for index in einsum.axes)
    lines.append(f"{einsum.output} = Tensor({_format(['Dense'] * len(einsum.axes), zero)}{sizes})")
    loops = ", ".join(f"{index} = 1:{einsum.extents[index]}" for index in einsum.loops)
    around = [f"    for {loops}", f"        {einsum}", "    end"] if loops else [f"    {einsum}"]
    lines += ["@finch begin", f"    {einsum.output} .= {zero}", *around, "end"]
    output = f"foreach(println, Array({einsum.output}))" if einsum.axes else f"println({einsum.output}[])"
    return "\n".join([*lines, output, ""])


def _require_known(einsum: Einsum) -> None:
    """NotImplementedError if an operator is none of Julia's, or a function that only the program declares."""
    for op in (einsum.op, *(node.op for node in einsum.expression.walk() if isinstance(node, ir.Call))):
        if op in OTHERWISE or (isinstance(op, ir.Function) and not op.name.startswith("choose(")):
            raise NotImplementedError(f"the operator {op}")


def _format(levels: Sequence[str], zero: str) -> str:
    form = f"Element({zero})"
    for level in reversed(levels):
        form = f"{level}({form})"
    return form


def _in_order(access: ir.Access, einsum: Einsum) -> bool:
    """Whether the loops visit the axes of an access outermost first."""
    places = [einsum.loops.index(e.name) for e in reversed(access.subscripts) if isinstance(e, ir.Index)]
    return places == sorted(set(places))


def _literal(value: Any) -> str:
    value = double(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _number(text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)
