"""Procedures as Python functions on a dictionary of cells: for tensors at rest, when nothing observes the accesses.

The structured statements become Python text, statement by statement. `frames` runs them the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wingspan.base.errors import Fault, InternalError
from wingspan.buffers import ops
from wingspan.buffers.frames import Cell
from wingspan.buffers.linear import LinearCode, fitting, function, place_of, python_of
from wingspan.buffers.ops import Const, Expr, Keys, Ref, Stmt
from wingspan.lang.ir import Instance

Run = Callable[..., tuple[tuple[Any, ...], Instance]]
"""Cells, tensor, instance and the inputs of the procedure in their order → its results in their order, and instance."""


def eager(code: LinearCode) -> Run:
    """The whole of a procedure as one function, which is kept in the code."""
    known: Run | None = code.__dict__.get("_eager")
    if known is None:
        known = code.__dict__["_eager"] = _Writer(code).function()
    return known


def _raise_violation(message: str, **values: Any) -> None:
    raise Fault(message.format(**values))


class _Writer:
    """Writes the text of one function, indented line by line."""

    def __init__(self, code: LinearCode) -> None:
        self.code = code
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.constants: dict[str, Any] = {"Cell": Cell, "violated": _raise_violation, "fitting": fitting}
        self.inputs = [self.register(name) for name in code.procedure.inputs]

    def function(self) -> Run:
        procedure = self.code.procedure
        self.block(procedure.body, 1)
        results = "".join(f"{self.text(value)}, " for _, value in procedure.results)
        instance = self.instance(procedure.keys)
        head = f"def run(cells, tensor, instance, {', '.join(self.inputs)}):"
        unset = [name for name in self.names.values() if name not in self.inputs]
        begin = [f"    {name} = None" for name in unset]
        text = "\n".join([head, *begin, *self.lines, f"    return ({results}), {instance}"])
        return function(text, tuple(self.constants.items()))

    def register(self, name: str) -> str:
        return self.names.setdefault(name, f"r{len(self.names)}")

    def text(self, value: Expr) -> str:
        return python_of(value, self.register, self.constants)

    def instance(self, keys: Keys) -> str:
        if not keys:
            return "instance"
        return f"(*instance, {', '.join(f'({tag!r}, {self.text(key)})' for tag, key in keys)})"

    def cell(self, ref: Ref, index: str) -> str:
        return f"Cell(tensor, {ref.depth}, {ref.buffer!r}, {self.instance(ref.keys)}, {index})"

    def block(self, body: tuple[Stmt, ...], depth: int) -> None:
        for statement in body:
            self.statement(statement, depth)
        if not body:
            self.lines.append("    " * depth + "pass")

    def statement(self, s: Stmt, depth: int) -> None:
        def put(line: str) -> None:
            self.lines.append("    " * depth + line)

        match s:
            case ops.SetReg(reg=reg, value=value):
                put(f"{self.register(reg)} = {self.text(value)}")
            case ops.Load(reg=reg, ref=ref, index=index) | ops.AtomicLoad(reg=reg, ref=ref, index=index):
                put(f"{self.register(reg)} = cells.get({self.cell(ref, self.text(index))}, 0)")
            case ops.Store(ref=ref, index=index, value=value):
                put(f"cells[{self.cell(ref, self.text(index))}] = {self.text(value)}")
            case ops.AtomicUpdate(ref=ref, index=index, op=op, value=value, width=width):
                made = f"apply({self.text(Const(op))}, cells.get(cell, 0), {self.text(value)})"
                place = place_of(self.code.tower, ref.depth)
                self.constants[f"width_{width}"] = width
                put(f"cell = {self.cell(ref, self.text(index))}")
                put(f"cells[cell] = fitting({made}, width_{width}, {place!r}, tensor)")
            case ops.Acquire():
                put("pass")  # there are no other tasks
            case ops.Release(ref=ref, index=index):
                put(f"cells[{self.cell(ref, self.text(index))}] = 0")
            case ops.Sort(ref=ref, count=count):
                put(f"area = [{self.cell(ref, 'k')} for k in range(1, {self.text(count)} + 1)]")
                put("cells.update(zip(area, sorted(cells.get(cell, 0) for cell in area)))")
            case ops.Check():
                self.check(s, put)
            case ops.When(condition=condition, then=then, otherwise=otherwise):
                put(f"if {self.text(condition)}:")
                self.block(then, depth + 1)
                put("else:")
                self.block(otherwise, depth + 1)
            case ops.While(test=test, condition=condition, body=body):
                put("while True:")
                self.block(test, depth + 1)
                put(f"    if not {self.text(condition)}: break")
                self.block(body, depth + 1)
            case ops.Each():
                for each in s.in_order():
                    self.statement(each, depth)
            case _:
                raise InternalError(f"not a statement: {s}")

    def check(self, s: ops.Check, put: Callable[[str], None]) -> None:
        place = place_of(self.code.tower, s.depth)
        values = "".join(f", {name}={self.text(value)}" for name, value in s.values)
        put(f"if not {self.text(s.condition)}: violated({place + s.message!r}, tensor=tensor{values})")
