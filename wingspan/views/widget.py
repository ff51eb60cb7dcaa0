"""The page as a widget of a notebook: made from the very JavaScript of the page, and steered from Python.

Needs anywidget. `wingspan.step` makes one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import anywidget
import traitlets

from wingspan.base.errors import InputError
from wingspan.explorer.interleaving import format_interleaving, parse_interleaving
from wingspan.views.page import pack, script, style
from wingspan.views.values import count


class StepWidget(anywidget.AnyWidget):
    """A walk through the states of a program, in the browser and here alike.

    `interleaving` are the steps so far, as `replay` takes them; `state` is the number of the state that they lead to,
    from 0, in `trace["states"]`, or None after a fault or where the trace document ends. Both can be set: an
    interleaving up to a step that cannot be taken, which is an InputError, and a state by a shortest way to it.
    """

    _esm = script("widget")
    _css = style()
    packed = traitlets.Bytes().tag(sync=True)
    interleaving = traitlets.Unicode("-").tag(sync=True)
    state = traitlets.Int(0, allow_none=True)

    def __init__(self, trace: Mapping[str, Any], interleaving: str = "-") -> None:
        self.trace = trace
        super().__init__(packed=pack(trace))
        self.interleaving = interleaving

    def __repr__(self) -> str:
        name, states = self.trace["program"]["name"] or "program", count(len(self.trace["states"]), "state")
        return f"<StepWidget {name}: {states}, at {self.interleaving}>"

    @traitlets.validate("interleaving")
    def _able(self, proposal: dict[str, Any]) -> str:
        tasks = parse_interleaving(proposal["value"])
        _after(self.trace, tasks)
        return format_interleaving(tasks)

    @traitlets.observe("interleaving")
    def _follow_interleaving(self, change: dict[str, Any]) -> None:
        self.state = _after(self.trace, parse_interleaving(change["new"]))

    @traitlets.validate("state")
    def _check_state(self, proposal: dict[str, Any]) -> int:
        number: int = proposal["value"]
        if not 0 <= number < len(self.trace["states"]):
            raise self._no_state(number)
        return number

    @traitlets.observe("state")
    def _follow_state(self, change: dict[str, Any]) -> None:
        number, after = change["new"], _after(self.trace, parse_interleaving(self.interleaving))
        if number is None and after is not None:  # None is not validated
            self.state = after
            raise self._no_state(number)
        if number != after:
            self.interleaving = format_interleaving(_way(self.trace, number))

    def _no_state(self, number: int | None) -> InputError:
        return InputError(f"there is no state {number}: states are 0 to {len(self.trace['states']) - 1}")


def _after(trace: Mapping[str, Any], tasks: Iterable[str]) -> int | None:
    """The state after steps of these tasks; None after a fault, or if it is not in the document."""
    here: int | None = 0
    for number, task in enumerate(tasks, start=1):
        enabled = [] if here is None else trace["states"][here]["enabled"]
        able = {trace["steps"][edge["step"]]["task"]: edge["target"] for edge in (trace["edges"][k] for k in enabled)}
        if (task or "0") not in able:
            names = ", ".join(able) or "none"
            raise InputError(f"step {number} names task {task or '0'}, which cannot step; tasks that can: {names}")
        here = able[task or "0"]
    return here


def _way(trace: Mapping[str, Any], number: int) -> tuple[str, ...]:
    """The tasks that step on a shortest way from the first state to another."""
    ways: dict[int, tuple[str, ...]] = {0: ()}
    queue = deque(ways)
    while number not in ways:
        here = queue.popleft()
        for edge in (trace["edges"][k] for k in trace["states"][here]["enabled"]):
            if edge["target"] is not None and edge["target"] not in ways:
                ways[edge["target"]] = (*ways[here], trace["steps"][edge["step"]]["task"])
                queue.append(edge["target"])
    return ways[number]
