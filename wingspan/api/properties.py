"""Properties that an exploration is asked about: expressions, and how they are evaluated in states and of results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from wingspan.api.watching import StateExpression
from wingspan.base.errors import Fault, InputError
from wingspan.base.libraries import np
from wingspan.elaborate import Elaborated
from wingspan.explorer.properties import Kind, Property
from wingspan.lang import ir
from wingspan.lang.algebra import element
from wingspan.reference import show
from wingspan.results.outcome import Entries, Outcome, to_lists, to_plain_number
from wingspan.semantics.config import ProgramState
from wingspan.semantics.contents import has_positions, is_under_way, resting_tensor, root_handle, root_variables
from wingspan.tensors.cells import Cells
from wingspan.tensors.tensor import Tensor

Reading: TypeAlias = "tuple[dict[str, np.ndarray], dict[str, ir.Value]]"
"""The elements of tensors, and the values of variables."""

CONDITION = "write a condition, such as c[3] >= 0"


class ReadableProperty:
    """A property whose expression is evaluated over what `read` finds. `key`: equal where it finds the same."""

    def __init__(
        self, kind: Kind, expression: StateExpression, read: Callable[[Any], Reading], key: Callable[[Any], Hashable]
    ) -> None:
        self.kind, self.text, self.expression, self._read, self._key = kind, expression.text, expression, read, key
        self._known: dict[Hashable, bool | None] = {}

    def holds(self, at: Any) -> bool | None:
        """Whether it holds there: not if it faults. None if something that it reads cannot be read there."""
        key = self._key(at)
        if key not in self._known:
            self._known[key] = self._evaluate(at)
        return self._known[key]

    def _evaluate(self, at: Any) -> bool | None:
        try:
            elements, variables = self._read(at)
        except Fault:
            return None
        if not self.expression.names <= elements.keys() | variables.keys():
            return None
        try:
            value = self.expression.value(elements, variables)
        except Fault:
            return False
        if not isinstance(value, bool):
            raise InputError(f"{self.text} is {show(value)}, which neither holds nor does not", fix=CONDITION)
        return value

    def values(self, at: Any) -> Mapping[str, Any]:
        """The values that it reads there, by name, as nested lists and numbers; and its `fault`, if it has one."""
        elements, variables = self._read(at)
        fault = {}
        try:
            self.expression.value(elements, variables)
        except Fault as error:
            fault = {"fault": error.message}
        arrays = {name: to_lists(np.vectorize(to_plain_number, otypes=[object])(a)) for name, a in elements.items()}
        numbers = {n: to_plain_number(v) for n, v in sorted(variables.items()) if n in self.expression.names}
        return arrays | numbers | fault


def properties_of(program: Elaborated, asked: Mapping[Kind, Sequence[str]], machine: str) -> list[Property]:
    """The properties of an exploration, by their texts. InputError if one of them cannot be evaluated."""
    made: list[Property] = []
    for kind, texts in asked.items():
        for text in texts:
            expression = StateExpression(text, program, "ask about")
            if kind != "ends" and machine == "native":
                _require_in_cells(expression, program)
            known = _names_at_end(program) if kind == "ends" else _names_of_root(program)
            unknown = sorted(expression.names - known)
            if unknown:
                what = "no result has it" if kind == "ends" else "the root task has no variable of this name"
                fix = f"use {', '.join(sorted(known))}" if known else "the program has no name that can be read"
                raise InputError(f"cannot ask about {text}: {unknown[0]}: {what}", fix=fix)
            if kind == "ends":
                made.append(_of_results(expression, program))
            else:
                of_states = _of_plan_states if machine == "native" else _of_states
                made.append(of_states(kind, expression, program))
    return made


def observed_names(properties: Sequence[Property]) -> frozenset[str]:
    """The names whose changes the machine has to observe."""
    named = (p.expression.names for p in properties if isinstance(p, ReadableProperty) and p.kind != "ends")
    return frozenset().union(*named)


def observed_by(program: Elaborated, texts: Sequence[str], machine: str = "semantics") -> frozenset[str]:
    """The names whose changes properties of states observe. InputError if one of them cannot be evaluated."""
    return observed_names(properties_of(program, {"always": texts}, machine))


def observable(program: Elaborated, texts: Sequence[str]) -> tuple[str, ...]:
    """The expressions that have values in states: all that they read are tensors, and names of the root task.

    InputError if one of the texts is no expression about the program.
    """
    known = _names_of_root(program)
    return tuple(text for text in texts if StateExpression(text, program).names <= known)


def _names_at_end(program: Elaborated) -> set[str]:
    outermost = program.body.statements if isinstance(program.body, ir.Block) else (program.body,)
    return {*program.outputs, *program.inputs, *(s.name for s in outermost if isinstance(s, ir.Set))}


def _names_of_root(program: Elaborated) -> set[str]:
    """The tensors, and the variables and indices that are bound outside of all parallel loops."""

    def names(s: ir.Node) -> set[str]:
        found = {s.name} if isinstance(s, ir.Set) else {s.index} if isinstance(s, ir.For) else set()
        if isinstance(s, ir.For) and isinstance(s.range, ir.Parallel):
            return set()
        return found.union(*map(names, s.children()))

    return names(program.body) | program.towers.keys()


def _of_states(kind: Kind, expression: StateExpression, program: Elaborated) -> ReadableProperty:
    def read(state: ProgramState) -> Reading:
        elements = {}
        for name in sorted(expression.tensors):
            if is_under_way(ir.Declare, state, name):
                raise Fault(f"{name} is being declared here")
            elements[name] = resting_tensor(state, name, program.towers[name]).to_exact()
        return elements, root_variables(state)

    def key(state: ProgramState) -> Hashable:
        tensors = expression.tensors
        cells = frozenset((cell, value) for cell, value in state.heap.items() if cell.tensor in tensors)
        variables = root_variables(state)
        s = state.root.s if isinstance(state.root.s, ir.Declare | ir.Freeze | ir.Thaw) else None
        return (
            cells,
            tuple(root_handle(state, name) for name in sorted(tensors)),
            tuple((type(variables[name]), variables[name]) for name in sorted(expression.names & variables.keys())),
            s,
        )

    return ReadableProperty(kind, expression, read, key)


def _require_in_cells(expression: StateExpression, program: Elaborated) -> None:
    """InputError unless all that an expression reads is in cells of a plan's states, wherever the plan is."""
    outermost = program.body.statements if isinstance(program.body, ir.Block) else (program.body,)
    declared = {s.tensor for s in outermost if isinstance(s, ir.Declare) and has_positions(program.towers[s.tensor])}
    for name in sorted(expression.names - declared - program.inputs.keys()):
        what = "keeps variables in registers" if name not in program.towers else f"says not where {name} can be read"
        message = f"cannot ask about {expression.text}: a plan {what}"
        raise InputError(message, fix="leave out --machine native, or ask about results: --ends")


def _of_plan_states(kind: Kind, expression: StateExpression, program: Elaborated) -> ReadableProperty:
    given = {name: program.inputs[name].to_exact() for name in expression.tensors & program.inputs.keys()}
    others = expression.tensors - given.keys()

    def key(state: Any) -> Hashable:
        return frozenset((cell, value) for cell, value in state.heap.items() if cell.tensor in others)

    def read(state: Any) -> Reading:
        elements = dict(given)
        for name in sorted(others):
            tower = program.towers[name]
            cells = {
                cell._replace(tensor=""): 0 if isinstance(value, str) else element(value, tower.kind)
                for cell, value in state.heap.items()
                if cell.tensor == name
            }
            if sum(cell.buffer == "val" and not cell.instance for cell in cells) < prod(tower.shape):
                raise Fault(f"{name} is not declared here")
            elements[name] = Tensor(tower, Cells(cells), 0).to_exact()
        return elements, {}

    return ReadableProperty(kind, expression, read, key)


def _of_results(expression: StateExpression, program: Elaborated) -> ReadableProperty:
    given = {name: program.inputs[name].to_exact() for name in expression.tensors & program.inputs.keys()}

    def read(outcome: Outcome) -> Reading:
        elements = dict(given)
        for name, shape, values in outcome.tensors:
            if name in expression.tensors:
                elements[name] = _array(shape, values)
        return elements, {name: value for name, (_, value) in outcome.variables}

    return ReadableProperty("ends", expression, read, lambda outcome: outcome)


def _array(shape: tuple[int, ...], values: Sequence[ir.Value] | Entries) -> np.ndarray:
    made = np.empty(shape, dtype=object)
    if isinstance(values, Entries):
        made.fill(values.fill)
        for at, value in values.elements:
            made[tuple(i - 1 for i in at)] = value
    else:
        made.flat[:] = list(values)
    return made
