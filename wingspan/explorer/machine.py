"""What exploration asks of a machine: tasks, their next operations with footprints, and states that compare.

The strategies know nothing else. The paper's semantics is one machine; anything that offers these methods
is another. Steps and touches are never changed; dataclasses that forbid it would take three times as long to build.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from wingspan.errors import Fault, Span

Effect = Literal["read", "look", "write", "atomic", "acquire", "release"]
"""All but reads and writes are atomic: two of them on one cell may be ordered, but do not race. A look is an atomic
read; the others read and write in one.
"""

PLAIN = ("read", "write")
READING = ("read", "look")


@dataclass(slots=True, unsafe_hash=True)
class Touch:
    """One cell that a step touches: what it does there, and where in a tensor the cell is (if it is in one)."""

    cell: Hashable
    effect: Effect
    tensor: str
    level: int | None = None
    level_name: str = ""
    buffer: str = ""
    position: int | None = None
    index: int | None = None
    value: Any = None
    """What was read or is written, for people; it takes no part in conflicts."""

    @property
    def spot(self) -> tuple[int | None, str, str, int | None, int | None]:
        """Where in its tensor the cell was touched."""
        return self.level, self.level_name, self.buffer, self.position, self.index

    def conflicts(self, other: Touch) -> bool:
        """Same cell, and at least one of the two does more than read it."""
        return self.cell == other.cell and not (self.effect in READING and other.effect in READING)

    def races(self, other: Touch) -> bool:
        """A conflict of which at least one side is not atomic."""
        return self.conflicts(other) and (self.effect in PLAIN or other.effect in PLAIN)


class Stretch(NamedTuple):
    """Several indices of a loop that a step is made for at once.

    >>> str(Stretch(1, 3))
    '1:3'
    """

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}:{self.last}"


Indices = tuple[tuple[str, int | Stretch], ...]
"""Loop indices by name, outermost first."""

S = TypeVar("S")


@dataclass(slots=True, unsafe_hash=True)
class Step(Generic[S]):
    """One step of one task.

    `visible` says whether another task could observe the step (or be observed by it); the others commute with all
    that the other tasks can do, and a strategy may take them eagerly. A step that faults is visible: it ends the run.
    """

    task: str
    rule: str
    footprint: tuple[Touch, ...]
    visible: bool
    next: S | Fault
    span: Span | None = None
    indices: Indices = ()
    """The loop indices in force, for reports."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A task that cannot step: what it waits for and which task holds it (None: no task will ever give it)."""

    task: str
    waits_for: str
    holder: str | None
    span: Span | None = None
    lock: Hashable = None
    """the cell that it would acquire"""


class Machine(Protocol[S]):
    """Programs are finite: every sequence of steps ends.

    A step changes its own task, and tasks below it, which it may begin and take on to where their next step is visible
    or not. It never takes on a task above its own: when all children of a task have ended, that task goes on by a step
    of its own. Strategies learn from these steps what comes after a join (docs/parts.md has all that is assumed).
    """

    name: str
    """`semantics`, `native`, …: printed with every verdict."""

    def initial(self) -> S:
        """The state before the first step."""
        ...

    def tasks(self, state: S) -> Sequence[str]:
        """The paths of the tasks that have not finished and are not waiting for children, in a fixed order.

        Empty exactly when the run is over. A path is "" for the root task, "1", "2", …, "1.2" for spawned ones.
        """
        ...

    def step(self, state: S, task: str) -> Step[S] | Blocked:
        """What `task` does next in `state`; states are immutable."""
        ...

    def fingerprint(self, state: S) -> Hashable:
        """Equal exactly for states with the same future."""
        ...

    def outcome(self, state: S) -> Hashable:
        """What a finished run computed; runs that computed the same compare equal."""
        ...


@dataclass(frozen=True, slots=True)
class Nameless:
    """What a task has of its own in a state, without its name, and the tasks that it has spawned, by their thread ids.

    Where two siblings have equal ones, exchanging their names changes nothing but the names in what comes next.
    """

    own: Hashable
    below: tuple[Nameless, ...] = ()


@runtime_checkable
class Symmetric(Machine[S], Protocol[S]):
    """A machine that can leave the names of tasks out of its states."""

    told_apart: str
    """why it leaves no names out, if it does not: that is so in all states"""

    def nameless(self, state: S) -> tuple[Hashable, Nameless]:
        """What all tasks share, without what tells of one of them; and the root task, with all of that.

        Both are equal exactly for states that are the same but for the names of siblings.
        """
        ...
