"""An interleaving is the list of tasks that took the visible steps, written `1,2*2,1.3`; `replay` follows one.

`*n` repeats, `0` is the root task, `-` is the empty interleaving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Generic, Literal, TypeVar

from wingspan.errors import Fault, InputError
from wingspan.explorer.deadlock import explain
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.settle import settle

S = TypeVar("S")

End = Literal["finished", "fault", "deadlock", "stopped"]

ENTRY = re.compile(r"(?P<task>0|[1-9][0-9]*(?:\.[1-9][0-9]*)*)(?:\*(?P<times>[1-9][0-9]{0,17}))?")
LONGEST = 10_000_000
"""More steps than this are taken for a slip of the pen, before they fill the memory."""


def format_interleaving(tasks: Sequence[str]) -> str:
    """The tasks as text.

    >>> format_interleaving(["1", "2", "2", "1.3"]), format_interleaving([""]), format_interleaving([])
    ('1,2*2,1.3', '0', '-')
    """
    runs = ((task or "0", sum(1 for _ in run)) for task, run in groupby(tasks))
    return ",".join(task if times == 1 else f"{task}*{times}" for task, times in runs) or "-"


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
    of the moment; `end` is None while the run is under way.
    """

    def __init__(self, machine: Machine[S], interleaving: Sequence[str] | str, finish: bool) -> None:
        self.machine = machine
        self.interleaving = parse_interleaving(interleaving) if isinstance(interleaving, str) else list(interleaving)
        self.finish = finish
        self.state: S = machine.initial()
        self.choices: dict[str, Step[S] | Blocked] = {}
        self.end: End | None = None
        self.fault: Fault | None = None
        self.steps: Iterator[Step[S]] = self._run()

    def __iter__(self) -> Iterator[Step[S]]:
        return self.steps

    def _run(self) -> Iterator[Step[S]]:
        wanted = iter(enumerate(self.interleaving, start=1))
        last: str | None = None
        while True:
            settled = settle(self.machine, self.state, last)
            self.state, self.choices = settled.state, settled.choices
            yield from settled.taken
            enabled = [choice for choice in self.choices.values() if isinstance(choice, Step)]
            if self.choices and not enabled:
                self.end = "deadlock"
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
            if isinstance(step.next, Fault):
                self.end, self.fault = "fault", step.next
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
