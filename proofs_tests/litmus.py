"""A tiny machine over cells and locks, to test the strategies apart from any semantics of tensors."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from wingspan.errors import Fault, Source, Span
from wingspan.explorer.machine import Blocked, Effect, Step, Touch


@dataclass(frozen=True)
class Load:
    """register = cell"""

    cell: str


@dataclass(frozen=True)
class Store:
    """cell = value, or register + value"""

    cell: str
    value: int = 0
    relative: bool = False


@dataclass(frozen=True)
class Add:
    """cell += value, in one atomic step; the register gets the old value"""

    cell: str
    value: int = 1


@dataclass(frozen=True)
class Claim:
    """cell += 1 in one atomic step if the cell has this value; otherwise no more than a read of it"""

    cell: str
    value: int


@dataclass(frozen=True)
class Private:
    """register += value; no other task sees it"""

    value: int = 1


@dataclass(frozen=True)
class SkipIf:
    """jump over the next instruction if the register has this value; no other task sees it"""

    value: int


@dataclass(frozen=True)
class Assert:
    """fault unless the register has this value, without a place of its own; no other task sees it pass"""

    value: int


@dataclass(frozen=True)
class Check:
    """fault unless the cell has this value"""

    cell: str
    value: int


@dataclass(frozen=True)
class Lock:
    name: str


@dataclass(frozen=True)
class Unlock:
    """give the lock back; a fault unless this task holds it"""

    name: str


Instruction = Load | Store | Add | Claim | Private | SkipIf | Assert | Check | Lock | Unlock
Program = tuple[Instruction, ...]


class State(NamedTuple):
    memory: tuple[tuple[str, int], ...]
    locks: tuple[tuple[str, str], ...]
    threads: tuple[tuple[int, int], ...]
    """program counter and register of the root and of every task"""


def updated(pairs: tuple[tuple[str, int], ...], key: str, value: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted({**dict(pairs), key: value}.items()))


class Litmus:
    """Tasks 1, 2, … side by side; when all have ended the root runs `after`. Cells start at 0."""

    name = "litmus"

    def __init__(self, *tasks: Program, after: Program = ()) -> None:
        self.paths = ("", *(str(n) for n in range(1, len(tasks) + 1)))
        self.programs: tuple[Program, ...] = (after, *tasks)
        text = "\n".join(" ; ".join(map(repr, program)) for program in self.programs)
        source = Source("litmus", text)
        self.spans = [
            [Span(source, row, column, row, column + 1) for column in range(1, len(program) + 1)]
            for row, program in enumerate(self.programs, start=1)
        ]

    def initial(self) -> State:
        return State((), (), ((0, 0),) * len(self.programs))

    def tasks(self, state: State) -> tuple[str, ...]:
        rows = zip(self.paths, state.threads, self.programs, strict=True)
        left = [path for path, (pc, _), code in rows if pc < len(code)]
        return tuple(left[1:] if len(left) > 1 and left[0] == "" else left)

    def fingerprint(self, state: State) -> Hashable:
        return state

    def outcome(self, state: State) -> Hashable:
        return tuple(pair for pair in state.memory if pair[1])

    def step(self, state: State, task: str) -> Step[State] | Blocked:
        me = self.paths.index(task)
        pc, register = state.threads[me]
        instruction = self.programs[me][pc]
        span = self.spans[me][pc]

        def to(
            register: int = register,
            memory: tuple[tuple[str, int], ...] = state.memory,
            locks: tuple[tuple[str, str], ...] = state.locks,
            jump: int = 1,
        ) -> State:
            threads = (*state.threads[:me], (pc + jump, register), *state.threads[me + 1 :])
            return State(memory, locks, threads)

        def step(after: State | Fault, effect: Effect | None = None, cell: str = "") -> Step[State]:
            footprint = () if effect is None else (Touch(cell, effect, cell),)
            visible = effect is not None or isinstance(after, Fault)
            return Step(task, type(instruction).__name__, footprint, visible, after, span)

        match instruction:
            case Load(cell):
                return step(to(dict(state.memory).get(cell, 0)), "read", cell)
            case Store(cell, value, relative):
                return step(to(memory=updated(state.memory, cell, value + register * relative)), "write", cell)
            case Add(cell, value):
                old = dict(state.memory).get(cell, 0)
                return step(to(old, updated(state.memory, cell, old + value)), "atomic", cell)
            case Claim(cell, value):
                if dict(state.memory).get(cell, 0) != value:
                    return step(to(), "read", cell)
                return step(to(memory=updated(state.memory, cell, value + 1)), "atomic", cell)
            case Private(value):
                return step(to(register + value))
            case SkipIf(value):
                jump = 2 if register == value and pc + 1 < len(self.programs[me]) else 1
                return step(to(jump=jump))
            case Assert(value):
                return step(to() if register == value else Fault(f"the register is not {value}"))
            case Check(cell, value):
                passed = dict(state.memory).get(cell, 0) == value
                return step(to() if passed else Fault(f"{cell} is not {value}", span), "read", cell)
            case Lock(name):
                holder = dict(state.locks).get(name)
                if holder is not None:
                    return Blocked(task, f"lock {name}", holder, span, f"lock {name}")
                taken = tuple(sorted((*state.locks, (name, task))))
                return step(to(locks=taken), "acquire", f"lock {name}")
            case Unlock(name):
                if (name, task) not in state.locks:
                    return step(Fault(f"lock {name} is not held", span), "look", f"lock {name}")
                left = tuple(pair for pair in state.locks if pair != (name, task))
                return step(to(locks=left), "release", f"lock {name}")


def ninc(n: int) -> Litmus:
    """n tasks increment one cell by load and store."""
    return Litmus(*[(Load("x"), Private(), Store("x", relative=True))] * n)


def lockinc(n: int) -> Litmus:
    """The same under a lock."""
    return Litmus(*[(Lock("m"), Load("x"), Store("x", 1, relative=True), Unlock("m"))] * n)
