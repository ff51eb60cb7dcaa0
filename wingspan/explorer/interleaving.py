"""An interleaving is the list of tasks that took the visible steps, written `1,2*2,1.3`; `replay` follows one.

`*n` repeats, `0` is the root task, `-` is the empty interleaving.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Literal, TypeVar

from wingspan.errors import Fault, InputError
from wingspan.explorer.incident import Deadlock, FaultReport, Incident, explain
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.settle import settle

S = TypeVar("S")

End = Literal["finished", "fault", "deadlock", "stopped"]

ENTRY = re.compile(r"(?P<task>0|[1-9][0-9]*(?:\.[1-9][0-9]*)*)(?:\*(?P<times>[1-9][0-9]{0,17}))?")
LONGEST = 10_000_000
"""More steps than this are taken for a slip of the pen, before they fill the memory."""


class Trail:
    """The interleaving of a run that is under way. It grows when another task steps, not with every step."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, int]] = []

    def add(self, task: str) -> None:
        """The task has taken a visible step."""
        if self._runs and self._runs[-1][0] == task:
            self._runs[-1] = task, self._runs[-1][1] + 1
        else:
            self._runs.append((task, 1))

    def __str__(self) -> str:
        runs = ((task or "0", times) for task, times in self._runs)
        return ",".join(task if times == 1 else f"{task}*{times}" for task, times in runs) or "-"


def format_interleaving(tasks: Iterable[str]) -> str:
    """The tasks as text.

    >>> format_interleaving(["1", "2", "2", "1.3"]), format_interleaving([""]), format_interleaving([])
    ('1,2*2,1.3', '0', '-')
    """
    trail = Trail()
    for task in tasks:
        trail.add(task)
    return str(trail)


def parse_interleaving(text: str) -> list[str]:
    """The tasks that a text names; spaces are free.

    >>> parse_interleaving("0, 2*2, 1.3")
    ['', '2', '2', '1.3']
    """
    if text.strip() == "-":
        return []
    tasks: list[str] = []
    for number, entry in enumerate(text.split(","), start=1):
        found = ENTRY.fullmatch(entry.strip())
        if found is None:
            raise InputError(
                f"interleaving {text!r}: entry {number} is {entry.strip()!r}, which is not a task path",
                fix="write task paths with commas between, `*n` to repeat, `-` for no step at all: 1,2*2,1.3",
            )
        times = int(found["times"] or 1)
        if len(tasks) + times > LONGEST:
            raise InputError(f"interleaving {text!r}: entry {number} makes it longer than {LONGEST} steps")
        tasks += ["" if found["task"] == "0" else found["task"]] * times
    return tasks


class Replay(Generic[S]):
    """One run that follows a given interleaving; iterate over `steps`, then read `end`.

    `steps` yields every step, the invisible ones too. `state` and `choices` (what each task can do next) are those
    of the moment; `end` is None while the run is under way. `incident` is what a fault or a deadlock is about.
    """

    def __init__(self, machine: Machine[S], interleaving: Sequence[str] | str, finish: bool) -> None:
        self.machine = machine
        self.interleaving = parse_interleaving(interleaving) if isinstance(interleaving, str) else list(interleaving)
        self.finish = finish
        self.state: S = machine.initial()
        self.choices: dict[str, Step[S] | Blocked] = {}
        self.end: End | None = None
        self.incident: Incident | None = None
        self.steps: Iterator[Step[S]] = self._run()

    def __iter__(self) -> Iterator[Step[S]]:
        return self.steps

    def _run(self) -> Iterator[Step[S]]:
        wanted = iter(enumerate(self.interleaving, start=1))
        trail = Trail()
        last: str | None = None
        while True:
            settled = settle(self.machine, self.state, last)
            self.state, self.choices = settled.state, settled.choices
            yield from settled.taken
            enabled = [choice for choice in self.choices.values() if isinstance(choice, Step)]
            if self.choices and not enabled:
                waiting = tuple(choice for choice in self.choices.values() if isinstance(choice, Blocked))
                self.end, self.incident = "deadlock", Deadlock(waiting, str(trail))
                return
            number, task = next(wanted, (0, None))
            if task is None:
                if not enabled or not self.finish:
                    self.end = "stopped" if enabled else "finished"
                    return
                task = enabled[0].task
            step = self.choices.get(task)
            if not isinstance(step, Step):
                raise self._impossible(number, task, enabled)
            trail.add(task)
            if isinstance(step.next, Fault):
                self.end, self.incident = "fault", FaultReport.of(step, step.next, str(trail))
                yield step
                return
            self.state, last = step.next, task
            yield step

    def _impossible(self, number: int, task: str, enabled: list[Step[S]]) -> InputError:
        """The mistake of naming `task` as entry `number` when it cannot step."""
        blocked = self.choices.get(task)
        if isinstance(blocked, Blocked):
            why = explain(blocked)
        elif not self.choices:
            why = "the run is over"
        else:
            why = f"task {task or '0'} has no step to take here"
        can = ", ".join(f"{step.task or '0'} ({step.rule})" for step in enabled) or "none"
        return InputError(
            f"interleaving {format_interleaving(self.interleaving)}: step {number} names task {task or '0'}, "
            f"but {why}; tasks that can step: {can}",
            blocked.span if isinstance(blocked, Blocked) else None,
        )


def replay(machine: Machine[S], interleaving: Sequence[str] | str, *, finish: bool = True) -> Replay[S]:
    """Follow an interleaving; when it is used up, go on with the first task that can step (`finish`) or stop there.

    A fault or a deadlock ends the run also when some of the interleaving is left. `InputError` is raised on the way
    when it names a task that cannot step.
    """
    return Replay(machine, interleaving, finish)
