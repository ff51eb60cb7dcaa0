"""Expressions that are evaluated in each state, as `c[3] == 2`: what one wants to see beside memory.

The reference evaluates them, over what the fibertrees of the state hold and the names of the root task.
"""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.base.errors import Fault, InputError, Mistakes, WingspanError, abridge
from wingspan.elaborate import Elaborated
from wingspan.elaborate.kinds import settle_kinds
from wingspan.elaborate.missing import may_be_missing, settle_missing
from wingspan.lang import ir
from wingspan.lang.numbers import axes, subscripts
from wingspan.lang.parser import parse
from wingspan.reference import evaluate, show
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.semantics.memory import stores
from wingspan.trace.trees import contents

NAME = "it"


class Watches:
    """The expressions of a program. InputError if one of them is none, or is about a tensor that the program lacks."""

    def __init__(self, texts: Sequence[str], program: Elaborated, machine: Semantics) -> None:
        self.texts = tuple(texts)
        self._program, self._machine = program, machine
        self._expressions = [_parse_expression(text, program) for text in texts]

    def values(self, state: ProgramState) -> list[str]:
        """The value of each expression in a state; if it has none, the reason."""
        return [self._value(expression, state) for expression in self._expressions]

    def _value(self, expression: ir.Expression, state: ProgramState) -> str:
        named = {node.fiber.tensor for node in expression.walk() if isinstance(node, ir.Access)}
        towers = {name: self._program.towers[name] for name in named}
        known: dict[str, ir.Value] = {}
        for store in stores(state.root):
            for name, bound in store.items():
                value = bound.value if isinstance(bound, ir.Literal) else bound
                if isinstance(name, str) and isinstance(value, ir.Value):
                    known.setdefault(name, value)
        body = ir.Block((*(ir.Set(name, ir.Literal(value)) for name, value in known.items()), ir.Set(NAME, expression)))
        try:
            found = evaluate(
                settle_kinds(body, towers, Mistakes())[
                    0
                ],  # booleans count as numbers; what is wrong, the reference says
                {name: contents(state, self._machine, name) for name in named},
                {name: tower.shape for name, tower in towers.items()},
                {name: tower.kind for name, tower in towers.items()},
            )
        except (Fault, InputError) as error:
            return error.message
        return show(found.variables[NAME])


def _parse_expression(text: str, program: Elaborated) -> ir.Expression:
    fix = "write one expression, such as c[3] + 1"
    mistakes = Mistakes()
    try:
        body, doubts = settle_missing(parse(f"{NAME} = ({text})", text).body, mistakes)
        for _, doubtful in doubts.values():
            mistakes.note(may_be_missing(doubtful))
        mistakes.raise_all()
    except WingspanError as error:
        raise InputError(f"cannot watch {abridge(text)}: {error.message}", fix=fix) from None
    match body:
        case ir.Block((ir.Set(name=name, value=expression),)) if name == NAME:
            pass
        case _:
            raise InputError(f"cannot watch {abridge(text)}: it is no expression", fix=fix)
    for access in expression.walk():
        if isinstance(access, ir.Access):
            name, written = access.fiber.tensor, len(access.subscripts)
            tower = program.towers.get(name)
            if tower is None:
                fix = f"use {', '.join(program.towers)}" if program.towers else "the program has no tensor"
                raise InputError(f"cannot watch {abridge(text)}: there is no tensor {name}", fix=fix)
            if tower.rank != written:
                message = f"cannot watch {abridge(text)}: {name} has {axes(tower.rank)} but {subscripts(written)}"
                raise InputError(message, fix="write a subscript for each axis")
    return expression
