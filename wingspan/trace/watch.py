"""Expressions that are evaluated in each state, as `c[3] == 2`: what one wants to see beside memory.

They are about what the fibertrees of the state hold, and the names of the root task.
"""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.api.watching import StateExpression
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.reference import show
from wingspan.semantics.config import ProgramState
from wingspan.semantics.contents import root_variables
from wingspan.semantics.machine import Semantics
from wingspan.trace.trees import contents


class Watches:
    """The expressions of a program. InputError if one of them is none, or is about a tensor that the program lacks."""

    def __init__(self, texts: Sequence[str], program: Elaborated, machine: Semantics) -> None:
        self.texts = tuple(texts)
        self._machine = machine
        self._expressions = [StateExpression(text, program) for text in texts]

    def values(self, state: ProgramState) -> list[str]:
        """The value of each expression in a state; if it has none, the reason."""
        return [self._value(expression, state) for expression in self._expressions]

    def _value(self, expression: StateExpression, state: ProgramState) -> str:
        try:
            elements = {name: contents(state, self._machine, name) for name in expression.tensors}
            return show(expression.value(elements, root_variables(state)))
        except (Fault, InputError) as error:
            return error.message
