"""Distinguishable tasks, which may not be exchanged, and the parts of a state that go with their names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import immutables
import pytest

from proofs_tests.explorer.test_symmetry_of_programs import CHUNKS
from wingspan import api
from wingspan.base.errors import InternalError
from wingspan.buffers.frames import Cell
from wingspan.buffers.heap import Heap, anonymize, split_by_task
from wingspan.explorer import Step
from wingspan.explorer.machine import AnonymousState, Symmetric
from wingspan.explorer.symmetry import canonical_form, distinguish_task, names
from wingspan.lang.ir import Instance
from wingspan.levels.base import FIBER
from wingspan.native import machine as native
from wingspan.plan.ir import Par


def test_levels_of_threads_tell_tasks_apart() -> None:
    """A shard and a copy belong to threads by their ids. The verdict says so, and is that without symmetry."""
    for level in ("Shard(t, Element(0))", "Merge(t, Element(0))"):
        text = f"""
        t = cpu(:t, 2)
        S = Tensor({level})
        S .= 0
        for i = parallel(1:2, t, dynamic_schedule(1))
            S[] += i
        end
        return S
        """
        for machine in api.MACHINES:
            full, fewer = (
                api.explore(api.parse(text), machine=machine, strategy="graph", symmetry=symmetry).verdict
                for symmetry in (False, True)
            )
            assert fewer.told_apart == f"a level {level.partition('(')[0]} of S belongs to threads by their ids"
            assert (fewer.states, fewer.symmetry, full.told_apart) == (full.states, False, "")


def test_a_device_called_like_the_key_of_a_fiber_tells_tasks_apart() -> None:
    text = "S = Tensor(Element(0))\nS .= 0\nfor i = parallel(1:2, cpu(:fiber, 2))\nS[] += i\nend\nreturn S"
    for name in api.MACHINES:
        machine = api.machine_of(api.bind(api.parse(text)), name)
        assert isinstance(machine, Symmetric) and "a device is called fiber" in machine.asymmetry


@pytest.mark.parametrize(("schedule", "alike"), [("static_schedule()", False), ("dynamic_schedule(1)", True)])
def test_who_gets_its_iterations_by_its_id_is_told_apart(schedule: str, alike: bool) -> None:
    """A worker before it has its range: that of a static loop will ask for the thread id."""
    text = f"x = 0\nfor i = parallel(1:2, cpu(:t, 2), {schedule})\nx = 1\nend"
    machine = api.semantics(api.bind(api.parse(text)))
    state: Any = machine.initial()
    while len(machine.tasks(state)) < 2:
        step = machine.step(state, machine.tasks(state)[0])
        assert isinstance(step, Step)
        state = step.next
    one, other = machine.anonymize(state)[1].below
    assert (one == other) == alike


def test_names_go_with_what_tasks_have() -> None:
    """A task is matched with one that has the same, also below it; of equal ones the first with the first."""
    here = AnonymousState(
        0, (AnonymousState("a", (AnonymousState("b"), AnonymousState("c"))), AnonymousState("d"), AnonymousState("d"))
    )
    there = AnonymousState(
        0, (AnonymousState("d"), AnonymousState("a", (AnonymousState("c"), AnonymousState("b"))), AnonymousState("d"))
    )
    assert names(here, there) == {"": "", "1": "2", "1.1": "2.2", "1.2": "2.1", "2": "1", "3": "3"}
    assert names(distinguish_task(here, "2"), distinguish_task(there, "3"))["2"] == "3"
    assert (
        canonical_form(None, here)
        == canonical_form(None, there)
        != canonical_form(None, AnonymousState(0, here.below[:2]))
    )
    with pytest.raises(InternalError, match="no task is what task 1 is"):
        names(
            here,
            AnonymousState(
                0, (there.below[0], AnonymousState("a", (AnonymousState("c"), AnonymousState("c"))), there.below[2])
            ),
        )


def test_which_instance_a_task_is_in_tells_states_apart() -> None:
    """On the native machine: its own copy by what it is, and an isolated fiber by which one it is."""
    machine = api.machine_of(api.bind(api.parse(CHUNKS)), "native")
    assert isinstance(machine, native.Native)
    heap: Heap = immutables.Map()

    def told(*instances: Instance) -> tuple[Hashable, AnonymousState]:
        par = next(k for k, s in enumerate(machine.code.statements) if isinstance(s, Par))
        tasks = tuple(native.Running(0, b"", (instance,)) for instance in instances)
        return machine.anonymize(native.NativeState(heap, native.Running(par, b"", (), tasks)))

    mine, yours = told((("t", 1),))[1].below, told((), (("t", 2),))[1].below[1:]
    assert mine == yours
    assert told((("t", 1), (FIBER, 1))) != told((("t", 1), (FIBER, 2))) != told(((FIBER, 2),))


def test_locks_and_copies_in_the_heap_go_with_their_tasks() -> None:
    """A lock is held, and by whom; what lies in a copy below an isolated fiber is the copy's."""
    shared, copied = Cell("C", 0, "lock", (), 1), Cell("w", 1, "val", (("t", 2), (FIBER, 1)), 3)
    heap: Heap = immutables.Map({shared: "1.2", copied: 7, shared._replace(offset=2): 0})
    left, own = split_by_task(heap)
    assert dict(left) == {shared: True, shared._replace(offset=2): 0}
    assert own == {"1.2": {(0, shared)}, "2": {(copied._replace(instance=((FIBER, 1),)), 7)}}
    assert anonymize(copied.instance, (("t", 2), ("u", 1))) == (("", 1), (FIBER, 1))
