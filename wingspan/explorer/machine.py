"""The protocol between exploration and a machine: tasks, their next operations with access sets, comparable states.

The strategies know nothing else. The paper's semantics is one machine; anything that offers these methods
is another. Steps and touches are never changed; dataclasses that forbid it would take three times as long to build.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, Span

Effect = Literal["read", "look", "write", "atomic", "acquire", "release"]
"""All but reads and writes are atomic: two of them on one cell may be ordered, but do not race. A look is an atomic
read; the others read and write in one.
"""

PLAIN = ("read", "write")
READING = ("read", "look")


@dataclass(slots=True, unsafe_hash=True)
class CellAccess:
    """An access of a step to one cell: what it does there, and where in a tensor the cell is (if it is in one)."""

    cell: Hashable
    effect: Effect
    tensor: str
    level: int | None = None
    level_name: str = ""
    buffer: str = ""
    position: int | None = None
    index: int | None = None
    value: Any = None
    """The value read or written, for display; conflicts ignore it."""

    @property
    def spot(self) -> tuple[int | None, str, str, int | None, int | None]:
        """The place of the access in its tensor."""
        return self.level, self.level_name, self.buffer, self.position, self.index

    def conflicts(self, other: CellAccess) -> bool:
        """Same cell, and at least one of the two is not a read."""
        return self.cell == other.cell and not (self.effect in READING and other.effect in READING)

    def races(self, other: CellAccess) -> bool:
        """A conflict with at least one side that is not atomic."""
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

    `visible` is True if another task could observe the step (or be observed by it). Invisible steps commute with
    everything that other tasks can do, so a strategy may take them eagerly. A step that faults is visible: it ends the
    run.
    """

    task: str
    rule: str
    footprint: tuple[CellAccess, ...]
    visible: bool
    next: S | Fault
    span: Span | None = None
    indices: Indices = ()
    """The current loop indices, for reports."""
    observed: bool = False
    """Whether it may change what a property reads. Then it is visible, and its order with other such steps matters."""


@dataclass(slots=True, unsafe_hash=True)
class Blocked:
    """A task that cannot step: what it waits for and which task holds it (None: no task will ever release it)."""

    task: str
    waits_for: str
    holder: str | None
    span: Span | None = None
    lock: Hashable = None
    """the cell that it would acquire"""


class Machine(Protocol[S]):
    """Programs are finite: every sequence of steps ends.

    A step advances its own task, and tasks below it, which it may start and advance to their next step, visible or not.
    It never advances a task above its own: when all children of a task have ended, that task continues with a step of
    its own. Strategies learn from these steps what comes after a join (docs/parts.md lists all assumptions).
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
        """The next step of `task` in `state`; states are immutable."""
        ...

    def fingerprint(self, state: S) -> Hashable:
        """Equal exactly for states with the same future."""
        ...

    def outcome(self, state: S) -> Hashable:
        """The result of a finished run; runs with the same result compare equal."""
        ...


@dataclass(slots=True, unsafe_hash=True)
class AnonymousState:
    """A task's own part of a state, without its name, and the tasks that it has spawned, by their thread ids.

    If two siblings have equal ones, exchanging their names changes nothing but the names in what comes next.
    """

    own: Hashable
    below: tuple[AnonymousState, ...] = ()


@runtime_checkable
class Symmetric(Machine[S], Protocol[S]):
    """A machine that can remove the names of tasks from its states."""

    asymmetry: str
    """the reason that it removes no names, if it does not; this holds for all states"""

    def anonymize(self, state: S) -> tuple[Hashable, AnonymousState]:
        """The state without anything that identifies a task; and the root task, with all of its own part.

        Both are equal exactly for states that differ only in the names of siblings.
        """
        ...
