"""Definitions from the grammar's parse tree: devices, schedules, tensors with their formats and data, and functions."""

from __future__ import annotations

import re

from lark import Token, Tree

from wingspan.base.paths import require_readable_name
from wingspan.lang import functions, ir
from wingspan.lang.data import matrix
from wingspan.lang.mistakes import BUILT_IN, INSTEAD, NOT_COMPUTED, WRITTEN
from wingspan.lang.reader import Branch, Reader

DEFINITIONS = ("cpu", "schedule", "tensor", "scalar")
PLACEMENTS = (":static", ":dynamic", ":greedy")
"""The ways in which Julia may start the tasks of a parallel loop."""


class Definitions(Reader):
    """Reads what a program defines."""

    def definition(self, tree: Branch) -> ir.Definable:
        match tree.data:
            case "cpu":
                return self.cpu(tree)
            case "schedule":
                return self.schedule_call(tree)
            case "scalar":
                word, init = tree.children
                short = str(self.token(word)) == "ShortCircuitScalar"
                return ir.ScalarCall(self.literal(self.tree(init)), short, span=self.span(tree))
        return self.tensor(tree)

    def device(self, tree: Branch) -> ir.Variable | ir.Cpu:
        return self.variable(tree) if tree.data == "name" else self.cpu(tree)

    def cpu(self, tree: Branch) -> ir.Cpu:
        symbol, count, parent = (*tree.children, None, None)[:3]
        above = None if parent is None else self.variable(self.tree(parent))
        name = "" if symbol is None else str(self.token(symbol))[1:]
        threads = ir.DEFAULT_DEVICE.nthreads if count is None else self.expression(self.tree(count))
        return ir.Cpu(name, threads, above, span=self.span(tree))

    def schedule(self, tree: Branch) -> ir.Variable | ir.ScheduleCall:
        return self.variable(tree) if tree.data == "name" else self.schedule_call(tree)

    def schedule_call(self, tree: Branch) -> ir.ScheduleCall:
        """A schedule. Those that Finch.jl calls greedy, and Julia's own, are dynamic ones."""
        word, *given = tree.children
        kind = "static" if word == "static_schedule" else "dynamic"
        size: ir.Expression | None = None if kind == "static" else ir.Literal(1)
        for each in given:
            if isinstance(each, Tree):
                size = self.expression(each)
            elif each is not None:
                self.placement(self.token(each))
        return ir.ScheduleCall(kind, size, span=self.span(tree))

    def placement(self, token: Token) -> None:
        """`:dynamic` in a schedule, which says how Julia starts the tasks."""
        if token not in PLACEMENTS:
            self.fail(f"{token} is nothing that a schedule takes", token, "leave it out")
        self.note(f"`{token}` has no effect: it is for the scheduler of Julia", token)

    def tensor(self, tree: Branch) -> ir.TensorCall:
        first, *rest = map(self.tree, tree.children)
        layout = self.format(first)
        given = [t for t in rest if t.data in ("matrix", "file")]
        if given and len(rest) > 1:
            self.fail("data stand alone after the format", given[0], "the extents are those of the data")
        if not given:
            return ir.TensorCall(layout, tuple(map(self.expression, rest)), span=self.span(tree))
        token = self.token(given[0].children[0])
        data: ir.Data | ir.File
        if given[0].data == "file":
            require_readable_name(token[1:-1], self.span(token))
            data = ir.File(token[1:-1], span=self.span(token))
        else:
            data = matrix(self.source, token, token.start_pos or 0, self.number)
        return ir.TensorCall(layout, (), data, span=self.span(tree))

    def format(self, tree: Branch) -> ir.Format:
        word, axes, *rest = tree.children
        name = self.name(self.token(word))
        if not name[0].isupper():
            fix = f"write {name[0].upper()}{name[1:]}"
            self.fail(f"{name} is not a format: their names begin with a capital", self.token(word), fix)
        if axes is not None and name != "SparseCOO":
            self.fail(f"{name} takes no number of axes", self.token(word), f"write {name}(…)")
        given = [self.argument(self.tree(argument)) for argument in (axes, *rest) if argument is not None]
        if len(given) == 2 and isinstance(given[0], ir.Literal) and isinstance(width := given[1], ir.Variable):
            return ir.Format(name, (given[0], ir.StorageWidth(width.name, span=width.span)), span=self.span(tree))
        return ir.Format(name, tuple(given), span=self.span(tree))

    def argument(self, tree: Branch) -> ir.Format | ir.Variable | ir.Literal | ir.Cpu:
        match tree.data:
            case "format":
                return self.format(tree)
            case "name":
                return self.variable(tree)
            case "cpu":
                return self.cpu(tree)
        return self.literal(tree)

    # ------------------------------------------------------------------------------------------------ functions

    def function(self, tree: Branch) -> ir.Define:
        """The declaration of a function."""
        word, head, sign, value = tree.children
        name = self.name(self.token(word))
        if self.blocks:
            self.fail("a function is declared at the top level only", tree, "move it before the outermost block")
        if sign != "=":
            self.fail("a function is declared by `=`", self.token(sign), f"function {name}(x, y) = x + y")
        parameters = tuple(self.name(each) for each in self.tree(head).children if isinstance(each, Token))
        properties: dict[str, bool | ir.Literal] = {}
        for each in self.tree(head).children:
            if isinstance(each, Tree):
                said, what = self.property(each)
                if said in properties:
                    self.fail(f"{said} is declared twice of {name}", each, "leave one of the two out")
                properties[said] = what
        itself = (
            call for call in self.tree(value).iter_subtrees() if call.data == "applied" and call.children[0] == name
        )
        if name not in self.functions and (call := next(itself, None)) is not None:
            self.fail(f"{name} calls itself, and a function is one expression", call, "write a loop in the program")
        body, span = self.expression(self.tree(value)), self.span(tree)
        self.functions[name] = made = functions.function(name, parameters, properties, body, span)
        return ir.Define(name, made, span=span)

    def property(self, tree: Branch) -> tuple[str, bool | ir.Literal]:
        """A declared property of a function."""
        word, sign, value = (*tree.children, None, None)[:3]
        name = self.name(self.token(word))
        if name not in functions.PROPERTIES:
            self.fail(
                f"{name} is nothing to declare of a function", tree, f"there are {', '.join(functions.PROPERTIES)}"
            )
        if (value is not None) != (name in functions.VALUES) or sign not in (None, "="):
            fix = f"{name} = 0" if name in functions.VALUES else name
            self.fail(f"{name} {'needs a' if name in functions.VALUES else 'takes no'} value", tree, fix)
        made = True if value is None else self.literal(self.tree(value))
        if isinstance(made, ir.Literal) and made.kind == "pair":
            self.fail("functions are of numbers and booleans", self.tree(value), f"{name} = 0")
        return name, made

    def declared_function(self, name: str, at: Token, number: int) -> ir.Function:
        """A function that is declared before, used with so many arguments."""
        if name in self.functions:
            return self.functions[name]
        if name in INSTEAD:
            message, fix = INSTEAD[name]
            self.fail(message, at, fix)
        if name[0].isupper():
            self.fail(f"a format such as {name}(…) stands inside Tensor(…)", at, f"C = Tensor({name}(…))")
        if name in NOT_COMPUTED:
            fix = f"apply it to the arrays before; there are {BUILT_IN}, and functions that a program declares of them"
            self.fail(f"the language has no function {name}", at, fix)
        parameters = [*"xyz", *(f"x{k}" for k in range(4, number + 1))][:number]
        fix = f"declare it first: function {name}({', '.join(parameters)}) = {WRITTEN.get(name, '…')}"
        self.fail(f"no function {name} is declared before this", at, fix)

    def chooser(self, text: str, at: Token) -> ir.Function:
        """choose(z) in `<<choose(z)>>=`."""
        if text in ("true", "false"):
            return functions.choose(ir.Literal(text == "true"))
        if not re.fullmatch(r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Inf|NaN)", text):
            self.fail("choose(z) takes one number or boolean", at, "<<choose(0)>>=")
        return functions.choose(ir.Literal(self.number(text, self.span(at))))
