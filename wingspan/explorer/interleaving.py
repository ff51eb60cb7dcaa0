"""An interleaving is the list of tasks that took the visible steps, written `1,2*2,1.3`; `replay` follows one.

`*n` repeats, `0` is the root task, `-` is the empty interleaving.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import Fault, InputError, Span
from wingspan.explorer.incident import Deadlock, FaultReport, Incident, explain_blocked
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.settle import settle

S = TypeVar("S")

End = Literal["finished", "fault", "deadlock", "stopped"]

ENTRY = re.compile(r"(?P<task>0|[1-9][0-9]*(?:\.[1-9][0-9]*)*)(?:\*(?P<times>[1-9][0-9]{0,17}))?")
LONGEST = 10_000_000
"""More steps than this are considered a typing error, before they fill the memory."""


class Trail:
    """The interleaving of a run in progress. It grows when another task steps, not with every step."""

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


def by_path(task: str) -> list[int]:
    """The sort key of tasks: 0, 1, 1.1, 1.2, 2, 10."""
    return [int(part) for part in task.split(".")]


def parse_interleaving(text: str) -> list[str]:
    """The tasks that a text names; spaces are ignored.

    >>> parse_interleaving("0, 2*2, 1.3")
    ['', '2', '2', '1.3']
    """
    if text.strip() == "-":
        return []
    length, named = 0, []
    for number, entry in enumerate(text.split(","), start=1):
        found = ENTRY.fullmatch(entry.strip())
        if found is None:
            raise InputError(
                f"interleaving {_short(text)}: entry {number} is {_short(entry.strip())}, which is not a task path",
                fix="write task paths with commas between, `*n` to repeat, `-` for no step at all: 1,2*2,1.3",
            )
        times = int(found["times"] or 1)
        length += times
        if length > LONGEST:
            message = f"interleaving {_short(text)}: entry {number} makes it longer than {LONGEST} steps"
            raise InputError(message, fix="name fewer steps; the run goes on by itself")
        named.append(("" if found["task"] == "0" else found["task"], times))
    return [task for task, times in named for _ in range(times)]


def _short(text: str) -> str:
    """The text in quotes, or its start if it is long."""
    return repr(text) if len(text) <= 200 else f"{text[:200]!r}…"


@dataclass(frozen=True)
class Mismatch:
    """The step at which a run stopped following an interleaving, and the reason; then it takes the default order."""

    step: int
    """the number of the step in the interleaving, from 1"""
    task: str
    """the task named there"""
    reason: str
    """the reason that the task cannot step: it waits for something, or it or the run has ended"""
    able: tuple[tuple[str, str], ...]
    """the tasks that could step there, each with the rule"""
    span: Span | None
    """the place of the waiting task"""
    followed: str
    left: str
    """the rest of the interleaving, from this step on"""

    @property
    def message(self) -> str:
        """Position and reason in a sentence."""
        can = ", ".join(f"{task or '0'} ({rule})" for task, rule in self.able) or "none"
        return f"step {self.step} names task {self.task or '0'}, but {self.reason}; tasks that can step: {can}"


def _begin(machine: Machine[S], interleaving: Sequence[str], finish: bool, program: Any) -> Replay[S]:
    begun = Replay(machine, interleaving, finish)
    begun.program = program
    return begun


class Replay(Shown, Generic[S]):
    """One run that follows a given interleaving as far as it matches; iterate over `steps`, then read `end`.

    `steps` yields every step, including the invisible ones. `state` and `choices` (what each task can do next) are the
    current ones; `end` is None during the run. `incident` describes a fault or a deadlock,
    `mismatch` is None unless the interleaving names a task that cannot step.
    """

    def __init__(self, machine: Machine[S], interleaving: Sequence[str] | str, finish: bool) -> None:
        self.machine = machine
        self.interleaving = parse_interleaving(interleaving) if isinstance(interleaving, str) else list(interleaving)
        self.finish = finish
        self.program: Any = None
        """the machine's program, for those who draw the run"""
        self.tick: Callable[[], None] = lambda: None
        """called before each step that is looked for; what it raises ends the run"""
        self.state: S = machine.initial()
        self.choices: dict[str, Step[S] | Blocked] = {}
        self.end: End | None = None
        self.incident: Incident | None = None
        self.mismatch: Mismatch | None = None
        self.steps: Iterator[Step[S]] = self._run()
        self._begun: set[str] = set()

    def __iter__(self) -> Iterator[Step[S]]:
        return self.steps

    def __reduce__(self) -> tuple[Callable[..., Replay[S]], tuple[Any, ...]]:
        """A copy is at the start of the run."""
        return _begin, (self.machine, self.interleaving, self.finish, self.program)

    @property
    def followed(self) -> int:
        """The number of steps of the interleaving that the run has followed, or will follow if they match."""
        return len(self.interleaving) if self.mismatch is None else self.mismatch.step - 1

    def _run(self) -> Iterator[Step[S]]:
        number = 0
        trail = Trail()
        last: str | None = None
        while True:
            settled = settle(self.machine, self.state, last, self.tick)
            self.state, self.choices = settled.state, settled.choices
            self._begun.update(self.choices, (step.task for step in settled.taken))
            yield from settled.taken
            step = self._choose(number)
            if step is None:
                self._finish(number, str(trail))
                return
            number += 1
            trail.add(step.task)
            if isinstance(step.next, Fault):
                self.end, self.incident = "fault", FaultReport.from_step(step, step.next, str(trail))
                self._miss(number, (), "the run has ended in a fault")
                yield step
                return
            self.state, last = step.next, step.task
            yield step

    def _choose(self, number: int) -> Step[S] | None:
        """The next step after `number` ones: by the interleaving, else of the first task; None if the run ends here."""
        enabled = [choice for choice in self.choices.values() if isinstance(choice, Step)]
        if not enabled:
            return None
        if number < self.followed:
            task = self.interleaving[number]
            named = self.choices.get(task)
            if isinstance(named, Step):
                return named
            self._miss(number, enabled, self._explain_disabled(task))
        return enabled[0] if self.finish else None

    def _finish(self, number: int, trail: str) -> None:
        """The run ends after `number` visible steps."""
        waiting = tuple(choice for choice in self.choices.values() if isinstance(choice, Blocked))
        if len(waiting) < len(self.choices):
            self.end = "stopped"
        elif waiting:
            self.end, self.incident = "deadlock", Deadlock(waiting, trail)
            self._miss(number, (), "the run has ended in a deadlock")
        else:
            self.end = "finished"
            self._miss(number, (), "the run has finished")

    def _miss(self, number: int, enabled: Sequence[Step[S]], reason: str) -> None:
        """Record that the interleaving's step after `number` steps does not happen, if it names one there."""
        if number >= self.followed:
            return
        task = self.interleaving[number]
        named = self.choices.get(task)
        self.mismatch = Mismatch(
            step=number + 1,
            task=task,
            reason=reason,
            able=tuple((step.task, step.rule) for step in enabled),
            span=named.span if isinstance(named, Blocked) else None,
            followed=format_interleaving(self.interleaving[:number]),
            left=format_interleaving(self.interleaving[number:]),
        )

    def _explain_disabled(self, task: str) -> str:
        """Explain that a task cannot step while others can."""
        blocked = self.choices.get(task)
        if isinstance(blocked, Blocked):
            return explain_blocked(blocked)
        name = f"task {task or '0'}"
        if any(not task or other.startswith(f"{task}.") for other in self.choices):
            return f"{name} waits for its tasks to end"
        return f"{name} has ended" if task in self._begun else f"{name} has not begun, or there is none"


def replay(machine: Machine[S], interleaving: Sequence[str] | str, *, finish: bool = True) -> Replay[S]:
    """Follow an interleaving; when it is used up, continue with the first task that can step (`finish`) or stop there.

    The same happens if it names a task that cannot step; `mismatch` then gives the place and the reason. A fault or a
    deadlock ends the run even if some of the interleaving is left.
    """
    return Replay(machine, interleaving, finish)
