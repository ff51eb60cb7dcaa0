"""A machine with the protocol of exploration and no more, so that a search asks it for each step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from wingspan.explorer.machine import AnonymousState, Blocked, Machine, Step, Symmetric
from wingspan.testing.litmus import Litmus, LitmusState


class Plain:
    """Hides the local steps of a machine."""

    def __init__(self, machine: Machine[Any]) -> None:
        self.machine, self.name = machine, machine.name

    def initial(self) -> Any:
        return self.machine.initial()

    def tasks(self, state: Any) -> Sequence[str]:
        return self.machine.tasks(state)

    def step(self, state: Any, task: str) -> Step[Any] | Blocked:
        return self.machine.step(state, task)

    def fingerprint(self, state: Any) -> Hashable:
        return self.machine.fingerprint(state)

    def outcome(self, state: Any) -> Hashable:
        return self.machine.outcome(state)


class PlainSymmetric(Plain):
    """The same of a machine that can remove the names of tasks from its states."""

    machine: Symmetric[Any]

    @property
    def asymmetry(self) -> str:
        return self.machine.asymmetry

    def anonymize(self, state: Any) -> tuple[Hashable, AnonymousState]:
        return self.machine.anonymize(state)


class PlainLitmus(Litmus):
    """A litmus program that is asked for each step, as it overrides `step`."""

    def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
        return super().step(state, task)
