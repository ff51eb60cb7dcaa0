"""Small plans, written by hand, under the controlled scheduler: what is a step, and what others see of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.exploring import explore_graph
from proofs_tests.native.test_native_machine import EXAMPLES, assert_alike
from wingspan import api
from wingspan.explorer import Blocked, RunFault, Step, Verdict, replay
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import BOOL, FLOAT, INSTANCE, INT
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native, NativeState
from wingspan.plan.ir import (
    Acquire,
    AllocateInstance,
    AtomicUpdate,
    Check,
    Child,
    Compute,
    Const,
    Expr,
    FetchChunk,
    Group,
    Load,
    Op,
    Origin,
    Par,
    Place,
    Plan,
    PlanBuffer,
    Ref,
    Reg,
    Release,
    ReleaseInstance,
    Set,
    Sort,
    Stmt,
    Store,
    While,
)

DEV = Device("d", 2, SERIAL)
INNER = Device("e", 2, DEV)
BOUND = api.bind(api.parse("c = Tensor(Dense(Element(0)), 4)\nc .= 0\nc[1] += 1\nreturn c"))
VAL = PlanBuffer("c", 1, "val", "value", INT, "i64", 0, 0, 1, "Element", 4)
ROOT, TASK, X, Y = Reg("c", INSTANCE), Reg("task"), Reg("x"), Reg("y")
C = Ref(VAL, ROOT)


def origin(operation: str, **indices: Expr) -> Origin:
    """The origin of a statement."""
    return Origin(None, operation, tuple(indices.items()))


O = origin("Assign", i=TASK)


def load(reg: Reg, index: Expr) -> Load:
    """reg = c[index]"""
    return Load(reg, C, index, Place(index), O)


def store(index: Expr, value: Expr) -> Store:
    """c[index] = value"""
    return Store(C, index, value, Place(index), O)


def machine(*body: Stmt, variables: tuple[Reg, ...] = (), groups: tuple[Group, ...] = ()) -> Native:
    """The machine of a plan on the tensor c."""
    named = tuple((reg.name, reg) for reg in variables)
    made = Plan(
        groups=(Group(0, "c", (VAL,)), *groups),
        roots=(("c", ROOT),),
        body=body,
        inputs=(),
        outputs=("c",),
        variables=named,
        fills=(("c", Const(0)),),
    )
    return Native(assemble(made), BOUND)


def results(machine: Native) -> dict[str, int | None]:
    """Each outcome, and how many interleavings lead to it."""
    found = explore_graph(machine)
    assert found.complete
    return {str(result.outcome.values()): result.interleavings for result in found.results}


def par(*body: Stmt, device: Device = DEV, task: Reg = TASK, joined: tuple[Reg, ...] = ()) -> Par:
    """Two tasks."""
    return Par(device, task, body, joined, O)


ADD = Compute(Y, "+", (X, TASK), O)
ONE = Const(1)


def test_a_load_and_a_store_are_two_steps() -> None:
    """Two tasks that add 1 and 2 to a cell: 6 interleavings, of which 4 lose an update."""
    found = results(machine(par(load(X, ONE), ADD, store(ONE, Y))))
    assert found == {"{'c': [3, 0, 0, 0]}": 2, "{'c': [2, 0, 0, 0]}": 2, "{'c': [1, 0, 0, 0]}": 2}


def test_an_atomic_update_is_one_step() -> None:
    """It is ordered with another one, and does not race with it."""
    update = AtomicUpdate(C, ONE, "+", TASK, Place(ONE), O)
    found = explore_graph(machine(par(update)))
    assert (found.verdict, found.interleavings) == ("safe", 2)


def test_footprints_say_what_is_touched_and_for_what() -> None:
    """Tensor, level, buffer, position and value, the operation and the indices in force."""
    made = machine(par(store(Op("+", (TASK, ONE)), Const(7))))
    step = made.step(made.initial(), "2")
    assert isinstance(step, Step)
    (touch,) = step.footprint
    assert (step.rule, step.indices, str(touch.cell)) == ("Assign", (("i", 2),), "c.val[3]")
    assert (touch.effect, touch.tensor, touch.level, touch.level_name) == ("write", "c", 1, "Element")
    assert (touch.buffer, touch.position, touch.index, touch.value) == ("val", 3, None, 7)


def test_the_root_task_is_observed_by_nobody() -> None:
    """Before, between and after parallel regions there is nothing to choose."""
    assert results(machine(store(ONE, Const(5)), load(X, ONE), variables=(X,))) == {"{'c': [5, 0, 0, 0], 'x': 5}": 1}


def test_states_that_differ_in_what_is_dead_are_one() -> None:
    """A task that has read a value and uses it no more is in the same state whatever it was."""
    made = machine(par(load(X, ONE), Set(Y, X, O), store(ONE, Const(4))))
    assert len(results(made)) == 1
    assert explore_graph(made).states == 9  # three rests of each task


def test_private_loops_take_no_step() -> None:
    """A loop without accesses is over before the next one."""
    count = While((), Op("<", (X, Const(1000))), (Set(X, Op("+", (X, ONE)), O),))
    assert results(machine(count, variables=(X,))) == {"{'c': [0, 0, 0, 0], 'x': 1000}": 1}
    assert explore_graph(machine(count)).steps == 0


def test_flags_of_tasks_are_joined_and_all_else_is_lost() -> None:
    """A truth value is true afterwards if one of the tasks ends with it true; other registers are as before."""
    flag, none = Reg("flag", BOOL), Reg("none", BOOL)
    body = (store(TASK, TASK), Set(flag, Op("==", (TASK, Const(2))), O), Set(X, Const(9), O))
    made = machine(Set(X, Const(3), O), par(*body, joined=(flag, none)), variables=(X, flag, none))
    assert results(made) == {"{'c': [1, 2, 0, 0], 'flag': True, 'none': False, 'x': 3}": 2}


@pytest.mark.parametrize("count", [1, 2])
def test_there_are_as_many_tasks_as_are_asked_for(count: int) -> None:
    """As on threads: iterations that are few are dealt to fewer tasks than the device has threads."""
    asked = Par(DEV, TASK, (store(TASK, TASK),), (), O, X)
    written = [1, 2][:count] + [0] * (4 - count)
    assert results(machine(Set(X, Const(count), O), asked)) == {f"{{'c': {written}}}": count}


def test_tasks_spawn_tasks() -> None:
    """Two by two tasks have paths, and a task goes on when its own have finished."""
    inner = Reg("inner")
    cell = Op("+", (Op("*", (Const(2), Op("-", (TASK, ONE)))), inner))
    made = machine(par(par(store(cell, inner), device=INNER, task=inner), load(X, TASK)))
    state = made.initial()
    assert made.tasks(state) == ["1.1", "1.2", "2.1", "2.2"]
    for task in ("1.1", "1.2"):
        step = made.step(state, task)
        assert isinstance(step, Step) and isinstance(step.next, NativeState)
        state = step.next
    assert made.tasks(state) == ["1", "2.1", "2.2"]
    assert results(made).keys() == {"{'c': [1, 2, 1, 2]}"}


def test_a_claim_deals_each_chunk_once() -> None:
    """Two tasks take 1, 2 and 3 from a counter; each looks once more, and finds nothing. No race."""
    counter = PlanBuffer("i_chunk", -1, "variable", "value", INT, "i64", 0, 1)
    shared, more = Ref(counter, Reg("i_chunk", INSTANCE)), Op("<=", (X, Const(3)))
    take = FetchChunk(X, shared, Const(3), Const(1), O)
    begin = Store(shared, ONE, ONE, Place(), O)
    made = machine(begin, par(While((take,), more, (store(X, X),))), groups=(Group(1, "i_chunk", (counter,)),))
    found = explore_graph(made)
    assert found.verdict == "safe"
    assert found.results[0].outcome.values() == {"c": [1, 2, 3, 0]}
    end = replay(made, found.results[0].interleaving)
    list(end)
    assert {cell.offset: value for cell, value in end.state.heap.items() if cell.tensor == "i_chunk"} == {1: 4}


def test_sorting_is_one_step() -> None:
    """The cells 1 to count, ascending."""
    body = [store(Const(k), Const(v)) for k, v in ((1, 4), (2, 2), (3, 3), (4, 1))]
    made = machine(*body, Sort(C, Const(3), Place(), O))
    assert results(made) == {"{'c': [2, 3, 4, 1]}": 1}
    assert explore_graph(made).steps == 5


LOCK = PlanBuffer("c", 0, "lock", "lock", INT, "i64", 1, 0, 2, "Mutex", 1)


def test_a_task_waits_for_a_lock() -> None:
    """In the words of the rules, until the holder gives it back; one that holds it itself waits for ever."""
    lock = Ref(LOCK, ROOT)
    take, give = Acquire(lock, ONE, Place(ONE), O), Release(lock, ONE, Place(ONE), O)
    made = machine(par(take, load(X, ONE), ADD, store(ONE, Y), give))
    first = made.step(made.initial(), "1")
    assert isinstance(first, Step) and isinstance(first.next, NativeState)
    cell = first.footprint[0].cell
    assert made.step(first.next, "2") == Blocked("2", "the lock of fiber 1 of c, level 2", "1", lock=cell)
    assert results(made) == {"{'c': [3, 0, 0, 0]}": 2}
    assert explore_graph(made).verdict == "safe"
    found = explore_graph(machine(take, take))
    assert [deadlock.message for deadlock in found.deadlocks] == [
        "task 0 waits for the lock of fiber 1 of c, level 2, which it holds itself"
    ]


def test_a_fault_is_a_step_of_its_own() -> None:
    """It ends the run, and others may step between it and the access before it."""
    check = Check(Op("<", (X, Const(1))), "{x} is not below 1", (("x", X),), O)
    found = explore_graph(machine(par(load(X, ONE), check, store(ONE, TASK))))
    assert {fault.message for fault in found.faults} == {"1 is not below 1", "2 is not below 1"}
    lines = {fault.interleaving for fault in found.faults}
    assert lines == {"1*2,2*2", "2*2,1*2"}


@pytest.mark.parametrize(
    ("op", "args", "message"),
    [
        ("+", (2**63 - 1, 1), "overflow: 9223372036854775808 does not fit a 64-bit integer"),
        ("neg", (-(2**63),), "overflow: 9223372036854775808 does not fit a 64-bit integer"),
        ("÷", (1, 0), "division by zero"),
        ("/", (1.0, 0.0), "division by zero"),
        ("isqrt", (-1,), "isqrt needs an integer of at least 0, got -1"),
        ("int", (1.5,), "1.5 is not a 64-bit integer"),
    ],
)
def test_a_failing_operator_faults_in_the_words_of_the_language(op: str, args: tuple[Any, ...], message: str) -> None:
    """Likewise a message of the plan, after its prefix."""
    reg = Reg("r", FLOAT if op == "/" else INT)
    compute = Compute(reg, op, tuple(map(Const, args)), replace(O, prefix="freeze(c): "))
    (fault,) = explore_graph(machine(compute)).faults
    assert (fault.message, fault.interleaving) == (f"freeze(c): {message}", "0")


def test_an_atomic_update_that_overflows_is_a_fault() -> None:
    """In the words of the language, after the plan's prefix."""
    update = AtomicUpdate(C, ONE, "*", Const(2**62), Place(ONE), replace(O, prefix="freeze(c): "))
    (fault,) = explore_graph(machine(store(ONE, Const(2)), update)).faults
    assert fault.message == "freeze(c): overflow: 9223372036854775808 does not fit a 64-bit integer"


KEYED = Group(1, "c", (replace(VAL, group=1),), parent=0, tag="d", keys=3)


def test_a_thread_is_alone_in_its_own_instance() -> None:
    """Cells under a key that names the task are observed by nobody else; under another key they are."""
    own = Reg("own", INSTANCE)
    write = Store(Ref(KEYED.buffers[0], own), ONE, TASK, Place(ONE), O)

    def stored(key: Expr) -> Verdict:
        return explore_graph(machine(par(Child(own, 1, ROOT, key, O), write), groups=(KEYED,)))

    assert (stored(TASK).verdict, stored(TASK).interleavings) == ("safe", 1)
    assert stored(Const(0)).verdict == "race"
    (race,) = stored(Const(0)).races
    assert race.cell == "c.val⟨d 0⟩[1]"


def test_each_task_has_a_private_copy_of_its_own() -> None:
    """Nobody observes what a task does there, and it reads what it wrote."""
    own = Reg("own", INSTANCE)
    ref = Ref(replace(VAL, group=1), own)
    fresh, write = AllocateInstance(own, 1, O), Store(ref, ONE, TASK, Place(ONE), O)
    made = machine(par(fresh, write, Load(X, ref, ONE, Place(ONE), O), store(TASK, X)), groups=(KEYED,))
    assert results(made) == {"{'c': [1, 2, 0, 0]}": 2}


def test_doubles_are_added_atomically() -> None:
    """With the exact outcome of the rules, where doubles represent all values."""
    text = "c = Tensor(Dense(Atomic(0.5)), 1)\nc .= 0.5\nfor i = parallel(1:2)\n    c[1] += i * 0.25\nend\nreturn c"
    assert assert_alike(api.bind(api.parse(text))).results[0].outcome.values() == {"c": [1.25]}


def test_a_variable_is_told_by_its_name() -> None:
    """Not by the buffer that holds it."""
    found = explore_graph(api.native(api.bind(EXAMPLES / "quiz_variable_race.ws")))
    assert {race.cell for race in found.races} == {"r"}


def test_a_run_that_faults_says_how() -> None:
    """One run, the first task first; its interleaving leads to the fault."""
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(1:2)\n    c[i + 1] += 1\nend\nreturn c"
    bound = api.bind(api.parse(text))
    with pytest.raises(RunFault) as fault:
        api.native(bound).run()
    again = replay(api.native(bound), fault.value.incident.interleaving, finish=False)
    assert all(step.visible for step in list(again)[-1:])
    assert again.incident == fault.value.incident


def test_what_nobody_writes_is_read_unobserved() -> None:
    """A tensor in read mode."""
    look = Load(X, replace(C, frozen=True), ONE, Place(ONE), O)
    assert explore_graph(machine(par(look))).interleavings == 1
    assert explore_graph(machine(par(load(X, ONE)))).interleavings == 2


def test_a_thread_is_alone_in_its_own_cell() -> None:
    """A cell of a buffer whose cells belong to a thread each, and its neighbour's, which two may come to."""
    bound = api.bind(api.parse("d = cpu(:d, 2)\nc = Tensor(Shard(d, Dense(Element(0))), 4)\nc .= 0"))
    used = Ref(PlanBuffer("c", 0, "used", "count", INT, "i64", 0, 0, 2, "Shard", 2, own=True), ROOT)

    def stored(cell: Expr) -> int | None:
        body = (par(Store(used, cell, ONE, Place(), O)),)
        made = Plan((Group(0, "c", (used.buffer,)),), (("c", ROOT),), body, (), ())
        return explore_graph(Native(assemble(made), bound)).interleavings

    assert (stored(TASK), stored(Const(3))) == (1, 2)


def test_a_private_copy_is_forgotten() -> None:
    """A task's own instance is zero again once it is dropped, and distinguishes no states."""
    own = Reg("own", INSTANCE)
    ref = Ref(replace(VAL, group=1), own)
    copy = Group(1, "c", (ref.buffer,))
    body = (
        AllocateInstance(own, 1, O),
        Store(ref, ONE, TASK, Place(ONE), O),
        ReleaseInstance(own, O),
        store(Const(2), Const(2)),
    )
    made = machine(par(*body), groups=(copy,))
    found = explore_graph(made)
    assert [result.outcome.values() for result in found.results] == [{"c": [0, 2, 0, 0]}]
    final = replay(made, "1,2")
    list(final)
    assert [str(cell) for cell in final.state.heap] == ["c.val[2]"]
