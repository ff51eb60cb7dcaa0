"""Programs in the spellings of Finch.jl, chosen at random: texts that must mean what the printed program means."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

from wingspan.lang import ir
from wingspan.lang.mistakes import PROTOCOLS
from wingspan.lang.operators import OPERATORS
from wingspan.lang.printer import as_subscript, show
from wingspan.lang.spellings import MODES

INDENT = "  "
GROUPS = (("begin", "end"), ("(", ")"), *((f"@finch mode = {mode} begin", "end") for mode in MODES), ("@finch (", ")"))


class Respelling:
    """Writes a program; `choose` picks one of some spellings."""

    def __init__(self, program: ir.Program, choose: Callable[[tuple[str, ...]], str]) -> None:
        self.program, self.choose = program, choose

    def text(self) -> str:
        lines = self.block(self.program.body.statements, outermost=True)
        names = ", ".join(self.program.returns)
        ending = [self.choose((f"return {names}", f"return ({names})"))] if names else []
        return "\n".join([*lines, *ending, self.choose(("", "begin end"))][: None if not ending else -1])

    # ---------------------------------------------------------------------------------------------- statements

    def block(self, statements: tuple[ir.Statement, ...], outermost: bool = False) -> list[str]:
        """The lines of statements, some of them in groups; from one on they may stand in a `let`."""
        lines: list[str] = []
        for k, s in enumerate(statements):
            rest = statements[k:]
            if not outermost and isinstance(s, ir.Set) and self.is_local(s, rest) and self.choose(("", "let")):
                header = f"let {s.name} = {self.expression(s.value)}"
                return [*lines, header, *indent(self.block(rest[1:])), "end"]
            made = self.statement(s)
            if not isinstance(s, ir.Define) and self.choose(("", "", "", "group")):
                opened, closed = GROUPS[int(self.choose(tuple(map(str, range(len(GROUPS))))))]
                made = [opened, *indent(made), closed]
            lines += made
        return lines

    def is_local(self, s: ir.Set, rest: tuple[ir.Statement, ...]) -> bool:
        """Whether the variable occurs nowhere but in these statements, and not in its own value."""

        def count(text: str) -> int:
            return len(re.findall(rf"(?<!\w){s.name}(?!\w)", text))

        everywhere = count(show(self.program))
        return not count(show(s.value)) and everywhere == count(show(ir.Program(ir.Block(rest))))

    def statement(self, s: ir.Statement) -> list[str]:
        match s:
            case ir.For():
                bindings = [self.binding(s)]
                body = s.body
                while isinstance(body, ir.For) and self.choose(("", "one")):
                    bindings.append(self.binding(body))
                    body = body.body
                header = f"for {self.choose((', ', ',')).join(bindings)}"
                return [header, *indent(self.body(body)), "end"]
            case ir.If(condition, body):
                return [f"if {self.expression(condition)}", *indent(self.body(body)), "end"]
            case ir.Assign(access, op, value):
                sign = OPERATORS[op].update if isinstance(op, str) else f"<<{op}>>="
                signs = ("=", ":=", "<<overwrite>>=") if op == "=" else (sign, sign.replace("<<", "<< "))
                return [f"{self.expression(access)} {self.choose(signs)} {self.value(value)}"]
            case ir.Set(name, value):
                return [f"{name} = {self.value(value)}"]
            case ir.Define(name, value):
                return [f"{name} = {self.definition(value)}"]
        return show(s).split("\n")

    def body(self, s: ir.Statement) -> list[str]:
        if isinstance(s, ir.Skip):
            return [*self.choose(("", "skip")).split()]
        return self.block(s.statements if isinstance(s, ir.Block) else (s,))

    def binding(self, loop: ir.For) -> str:
        return f"{loop.index} {self.choose(('=', 'in', '∈'))} {self.range(loop.range)}"

    def range(self, r: ir.RangeLike) -> str:
        match r:
            case ir.Whole():
                return self.choose(("_", ":"))
            case ir.Range(a, b):
                first, last = self.expression(a), self.expression(b)
                return self.choose((f"{first}:{last}", f"extent({first}, {last})"))
            case ir.Parallel(inner, device, schedule):
                parts = [self.range(inner), self.definition(device), self.definition(schedule)]
                return f"parallel({', '.join(parts)})"
        raise AssertionError(r)

    # --------------------------------------------------------------------------------------------- expressions

    def value(self, e: ir.Expression) -> str:
        if isinstance(e, ir.Call) and e.op == "pair" and self.choose(("", "arrow")):
            return " => ".join(map(self.expression, e.args))
        return self.expression(e)

    def expression(self, e: ir.Expression) -> str:
        """The expression, with each access in some spelling."""
        return show(e.map(lambda node: ir.Variable(self.access(node)) if isinstance(node, ir.Access) else node))

    def access(self, a: ir.Access) -> str:
        subscripts = [self.subscript(as_subscript(e)) for e in a.subscripts]
        tensor = a.fiber.tensor
        leaving = [isinstance(e, ir.Permissive) for e in a.subscripts]
        if any(leaving) and self.choose(("", "permissive")):
            subscripts = [as_subscript(e.subscript) if isinstance(e, ir.Permissive) else show(e) for e in a.subscripts]
            tensor = f"{self.choose(('', 'Finch.'))}permissive({tensor}, {', '.join(str(e).lower() for e in leaving)})"
        elif len(subscripts) > 1 and self.choose(("", "swizzle")):
            # The axes go round: axis k of the view is axis k + 1 of the tensor, and the last one is the first.
            axes = [*range(2, len(subscripts) + 1), 1]
            tensor = f"swizzle({tensor}, {', '.join(map(str, axes))})"
            subscripts = [*subscripts[1:], subscripts[0]]
        return f"{tensor}[{', '.join(subscripts)}]"

    def subscript(self, text: str) -> str:
        return self.choose((text, text, *(f"{protocol}({text})" for protocol in PROTOCOLS)))

    def definition(self, d: object) -> str:
        match d:
            case ir.Cpu(name, ir.Literal(2), None):
                return self.choose((f"cpu(:{name}, 2)", f"cpu(:{name})") if name else ("cpu(2)", "cpu()"))
            case ir.ScheduleCall("static"):
                return self.choose(("static_schedule()", "static_schedule(:dynamic)"))
            case ir.ScheduleCall("dynamic", size):
                text = show(size) if size else ""
                spellings = (
                    f"dynamic_schedule({text})",
                    f"greedy_schedule({text})",
                    f"julia_schedule({text}, :greedy)",
                )
                return self.choose(spellings)
            case ir.TensorCall(layout, (), ir.Data(2, rows)):
                lists = ", ".join(f"[{', '.join(map(show, row))}]" for row in rows)
                return f"Tensor({show(layout)}, [{lists}])"
            case ir.Node():
                return show(d)
        raise AssertionError(d)


def indent(lines: list[str]) -> list[str]:
    return [INDENT + line for line in lines]


@st.composite
def respelled(draw: st.DrawFn, programs: st.SearchStrategy[ir.Program]) -> tuple[ir.Program, str]:
    """A program and a text for it."""
    program = draw(programs)
    return program, Respelling(program, lambda spellings: draw(st.sampled_from(spellings))).text()
