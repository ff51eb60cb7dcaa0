"""Accesses that happens-before leaves unordered can be adjacent: the log itself is explored."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from proofs_tests.effort import many
from wingspan.accesses import LogAccess, parse_log
from wingspan.explorer import Search, explore
from wingspan.explorer.machine import Blocked, CellAccess, Step
from wingspan.happens_before import races


class Replayed:
    """A machine whose tasks do what a log says, in any order that locks, signals, and the tasks above and below, allow.

    A wait needs all signals of its cell before it in the log.
    """

    name = "log"

    def __init__(self, log: Sequence[LogAccess]) -> None:
        self.log = log
        self.of = {task: [k for k, access in enumerate(log) if access.task == task] for task in {a.task for a in log}}

    def initial(self) -> frozenset[int]:
        return frozenset()

    def tasks(self, state: frozenset[int]) -> Sequence[str]:
        return sorted(task for task, own in self.of.items() if self._next(state, own) is not None)

    def _next(self, state: frozenset[int], own: list[int]) -> int | None:
        """The next entry of a task, unless it waits for others' earlier entries in the log."""
        number = next((k for k in own if k not in state), None)
        if number is None:
            return None
        task = self.log[number].task
        for k in range(number):
            other = self.log[k].task
            related = other != task and (not task or not other or (other + ".").startswith(task + ".")
                                         or (task + ".").startswith(other + "."))  # fmt: skip
            earlier = self.log[k]
            awaited = (earlier.operation, earlier.cell) == ("signal", self.log[number].cell)
            if (related or (awaited and self.log[number].operation == "wait")) and k not in state:
                return None
        return number

    def step(self, state: frozenset[int], task: str) -> Any:
        number = self._next(state, self.of[task])
        assert number is not None
        access = self.log[number]
        if access.operation == "acquire" and (holder := self._holder(state, access.cell)) is not None:
            return Blocked(task, access.cell, holder, None, access.cell)
        ordering = access.operation in ("join", "signal", "wait")
        touches = () if ordering else (CellAccess(access.cell, access.operation, access.tensor),)  # type: ignore[arg-type]
        return Step(task, access.operation, touches, True, state | {number}, access.span)

    def _holder(self, state: frozenset[int], lock: str) -> str | None:
        held = {}
        for k in sorted(state):
            if self.log[k].cell == lock and self.log[k].operation in ("acquire", "release"):
                held[self.log[k].task] = self.log[k].operation == "acquire"
        return next((task for task, holds in held.items() if holds), None)

    def fingerprint(self, state: frozenset[int]) -> frozenset[int]:
        return state

    def outcome(self, state: frozenset[int]) -> int:
        return 0


def random_log(seed: int, locks: bool, events: bool) -> str:
    """Two or three tasks, of which one may be nested, and the root task at times; locks are taken and given back."""
    chosen = Random(seed)
    lines, held = [], dict[str, str]()
    tasks = chosen.choice([["1", "2"], ["1", "2", "1.1"], ["0", "1", "2"]])
    for _ in range(chosen.randint(2, 11 if events else 9)):
        task = chosen.choice(tasks)
        lock = chosen.choice("lm")
        if locks and held.get(lock) == task:
            held.pop(lock)
            lines.append(f"{task} release {lock}")
        elif locks and lock not in held and chosen.randrange(3) == 0:
            held[lock] = task
            lines.append(f"{task} acquire {lock}")
        elif events and chosen.randrange(4) == 0:
            lines.append(f"{task} {chosen.choice(['signal', 'wait'])} {chosen.choice('ef')}")
        elif chosen.randrange(12) == 0:
            lines.append(f"{task} join")
        else:
            lines.append(f"{task} {chosen.choice(['read', 'write', 'look', 'atomic'])} {chosen.choice('ab')}")
    return "\n".join(lines + [f"{task} release {lock}" for lock, task in held.items()])


def cells(found: Any) -> set[str]:
    return {race.cell for race in found}


@pytest.mark.many
@pytest.mark.parametrize(("locks", "events"), [(False, False), (True, False), (False, True), (True, True)])
def test_what_is_in_no_order_can_come_next_to_each_other(locks: bool, events: bool) -> None:
    """A race of the log is one of some other order of the log; without locks, the other way round as well."""
    met = 0
    for seed in range(many(3000)):
        text = random_log(seed, locks, events)
        log = parse_log(text)
        predicted = cells(race for race in explore(Replayed(list(log)), Search("graph")).races if race.cell in "ab")
        found = cells(races(log))
        assert found <= predicted if locks else found == predicted, text
        met += bool(found)
    assert many(3000) / 8 < met < many(3000)
