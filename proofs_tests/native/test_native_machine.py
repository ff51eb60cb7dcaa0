"""The plan under a controlled scheduler goes wrong in the ways, and only in the ways, that the rules predict.

The oracle is the semantics, which shares with the plan no more than the levels and the elaborated program. Plans
written by hand say what the machine does with single statements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from proofs_tests import places
from proofs_tests.effort import few
from proofs_tests.explorer.test_visibility import PROGRAMS
from proofs_tests.exploring import explore_graph
from proofs_tests.semantics import test_listings as listings
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.explorer import AccessReport, Blocked, FaultReport, Race, RunFault, Step, Verdict, replay
from wingspan.explorer.incident import Deadlock
from wingspan.explorer.races import place
from wingspan.lang.devices import SERIAL, Device
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native, State
from wingspan.plan.ir import (
    Acquire,
    Atomic,
    Buffer,
    Check,
    Child,
    Claim,
    Compute,
    Const,
    Drop,
    Expr,
    Fresh,
    Group,
    Load,
    Op,
    Origin,
    Par,
    Place,
    Plan,
    Ref,
    Reg,
    Release,
    Set,
    Sort,
    Stmt,
    Store,
    While,
)

EXAMPLES = places.EXAMPLES
SMALL = ("dependent", "dependent_atomic", "independent")


def findings(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says, apart from counts and examples; of a race where in the program and by which rules, too."""
    assert verdict.complete
    return {
        "verdict": verdict.verdict,
        "outcomes": {result.outcome for result in verdict.results},
        "races": {
            (race.tensor, race.level, race.level_name, race.buffer, race.kind, frozenset(map(site, sides(race))))
            for race in verdict.races
        },
        "faults": {(fault.message, site(fault)) for fault in verdict.faults},
        "deadlocks": {deadlock.message for deadlock in verdict.deadlocks},
    }


def sides(race: Race) -> tuple[AccessReport, AccessReport]:
    """The two accesses."""
    return race.first, race.second


def site(found: AccessReport | FaultReport) -> Hashable:
    """By which rule, and where in the program."""
    return found.rule, place(found.span)


def assert_alike(bound: Elaborated) -> Verdict:
    """Both machines find the same; what the native one found."""
    found = explore_graph(api.native(bound))
    assert findings(found) == findings(explore_graph(api.semantics(bound)))
    return found


def assert_replayed(bound: Elaborated, found: Verdict) -> None:
    """Each interleaving of the verdict leads to what it is printed for."""
    machine = api.native(bound)
    for race in found.races:
        run = replay(machine, race.interleaving, finish=False)
        taken = [step for step in run if step.visible]
        nexts = [step for step in run.choices.values() if isinstance(step, Step)]
        pairs = [*zip(taken[-2:-1], taken[-1:], strict=True), *((taken[-1], step) for step in nexts)]
        assert any(conflict(one, other, race.cell) for one, other in pairs)
    for result in found.results:
        run = replay(machine, result.interleaving, finish=False)
        list(run)
        assert (run.end, machine.outcome(run.state)) == ("finished", result.outcome)
    incidents: list[FaultReport | Deadlock] = [*found.faults, *found.deadlocks]
    for incident in incidents:
        run = replay(machine, incident.interleaving, finish=False)
        list(run)
        assert run.incident is not None and run.incident.message == incident.message


def conflict(one: Step[State], other: Step[State], cell: str) -> bool:
    """Whether two steps of different tasks race on a cell."""
    return one.task != other.task and any(
        x.races(y) and str(x.cell) == cell for x in one.footprint for y in other.footprint
    )


# ----------------------------------------------------------------------------------------------- against the semantics


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("quiz_*.ws")), ids=lambda path: path.stem)
def test_the_quiz_goes_wrong_in_the_same_ways(path: Path) -> None:
    """Every program that is broken on purpose: same verdict, outcomes, races, faults and deadlocks, all replayable."""
    bound = api.bind(path)
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("name", SMALL)
def test_the_small_examples_behave_alike(name: str) -> None:
    """Those examples that need neither data nor parameters."""
    bound = api.bind(EXAMPLES / f"{name}.ws")
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kind_of_level_behaves_alike(name: str) -> None:
    """Programs on each of the levels, with nested tasks, private copies, locks and variables."""
    bound = api.bind(api.parse(dedent(PROGRAMS[name])))
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("use", ["x = C[r[1], r[1]]", "d[1] += C[r[1], r[1]]", "if C[r[1], r[1]] == 0\nd[1] += 1\nend"])
@pytest.mark.parametrize("format", ["SparseByteMap", "SparseList", "SparseDict", "Dense"])
def test_nothing_is_out_of_bounds_of_a_fiber_that_is_not_there(format: str, use: str) -> None:
    """An access to one is its fill value; where there is one, as in dense formats, it is a fault."""
    text = f"""
    r = Tensor(Dense(Element(0)), [2])
    C = Tensor({format}(Dense(Element(0))), 1, 2)
    d = Tensor(Dense(Element(0)), 1)
    C .= 0
    d .= 0
    {use}
    return d
    """
    assert assert_alike(api.bind(api.parse(text))).verdict == ("fault" if format == "Dense" else "safe")


@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)"])
@pytest.mark.parametrize("name", listings.PRODUCTS[:-1])
def test_the_listings_are_safe_as_plans(name: str, schedule: str) -> None:
    """All interleavings of two tasks on 2×2 matrices: the product, and no race."""
    A, B = listings.matrices(2, 2, 2, seed=2)
    bound = api.bind(listings.program(name, schedule), **listings.binding(name, schedule, 2, A, B))
    found = explore_graph(api.native(bound))
    assert (found.complete, found.verdict) == (True, "safe")
    assert found.results[0].outcome.values()["C"] == (A @ B).tolist()


KERNELS: dict[str, dict[str, list[Any]]] = {
    "hadamard": {"A": [[1, 0], [2, 3]], "B": [[0, 4], [5, 6]]},
    "spadd": {"A": [[1, 0], [2, 3]], "B": [[0, 4], [5, 6]]},
    "spmspv": {"A": [[1, 2], [0, 3]], "x": [4, 5]},
    "mttkrp_dense": {"B": [[[1, 2], [3, 4]]], "C": [[1, 2], [3, 4]], "D": [[5, 6], [7, 8]]},
    "mttkrp_sparse": {"BT": [[[1], [0]], [[3], [4]]], "C": [[1, 2], [3, 0]], "D": [[5, 6], [0, 8]]},
}
"""Inputs of the other kernels."""


@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_are_safe_as_plans(name: str, schedule: str) -> None:
    """All interleavings of two tasks: no race, and what the reference computes, in doubles."""
    inputs = {tensor: np.array(values, dtype=float) for tensor, values in KERNELS[name].items()}
    found = api.explore(EXAMPLES / f"{name}.ws", machine="native", inputs=inputs, params={"nt": 2, "sch": schedule})
    assert (found.verdict.complete, found.verdict.verdict) == (True, "safe")
    assert [result.outcome for result in found.verdict.results] == [found.expected]


def test_a_list_that_a_race_has_put_out_of_order_is_read_as_by_the_rules() -> None:
    """Its indices may be 3 and then 2: where only one task has written a list, the plan does not ask for that."""
    text = """
        T = Tensor(SparseList(Element(0)), 3)
        C = Tensor(Dense(Element(0)), 3)
        T .= 0
        for k = parallel(1:2)
            for i = 1:3
                if (k == 1) == (i == 3)
                    T[i] += i
                end
            end
        end
        C .= 0
        for i = 1:3
            C[i] += T[i]
        end
        return C
    """
    rules, plan = (api.explore(api.parse(dedent(text)), machine=machine).verdict for machine in ("semantics", "native"))
    assert rules.complete and plan.complete
    assert [result.outcome for result in plan.results] == [result.outcome for result in rules.results]
    assert len(rules.results) == 10


class Everything(Native):
    """The machine with nothing taken for granted: every access is one that others may observe."""

    def step(self, state: State, task: str) -> Step[State] | Blocked:
        step = super().step(state, task)
        return replace(step, visible=True) if isinstance(step, Step) else step


@pytest.mark.parametrize("name", few(list(PROGRAMS), 9))
def test_what_is_taken_for_private_is(name: str) -> None:
    """With every access interleaved the findings are the same."""
    bound = api.bind(api.parse(dedent(PROGRAMS[name])))
    machine = api.native(bound)
    assert findings(explore_graph(Everything(machine.code, bound))) == findings(explore_graph(machine))


# --------------------------------------------------------------------------------------------------- plans by hand

DEV = Device("d", 2, SERIAL)
INNER = Device("e", 2, DEV)
BOUND = api.bind(api.parse("c = Tensor(Dense(Element(0)), 4)\nc .= 0\nc[1] += 1\nreturn c"))
VAL = Buffer("c", 1, "val", "value", "int", "i64", 0, 0, 1, "Element", 4)
ROOT, TASK, X, Y = Reg("c", "instance"), Reg("task"), Reg("x"), Reg("y")
C = Ref(VAL, ROOT)


def origin(operation: str, **indices: Expr) -> Origin:
    """Where a statement comes from."""
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
    update = Atomic(C, ONE, "+", TASK, Place(ONE), O)
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
    flag, none = Reg("flag", "bool"), Reg("none", "bool")
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
        assert isinstance(step, Step) and isinstance(step.next, State)
        state = step.next
    assert made.tasks(state) == ["1", "2.1", "2.2"]
    assert results(made).keys() == {"{'c': [1, 2, 1, 2]}"}


def test_a_claim_deals_each_chunk_once() -> None:
    """Two tasks take 1, 2 and 3 from a counter; each looks once more, and finds nothing. No race."""
    counter = Buffer("i_chunk", -1, "variable", "value", "int", "i64", 0, 1)
    shared, more = Ref(counter, Reg("i_chunk", "instance")), Op("<=", (X, Const(3)))
    take = Claim(X, shared, Const(3), Const(1), O)
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


LOCK = Buffer("c", 0, "lock", "lock", "int", "i64", 1, 0, 2, "Mutex", 1)


def test_a_task_waits_for_a_lock() -> None:
    """In the words of the rules, until the holder gives it back; one that holds it itself waits for ever."""
    lock = Ref(LOCK, ROOT)
    take, give = Acquire(lock, ONE, Place(ONE), O), Release(lock, ONE, Place(ONE), O)
    made = machine(par(take, load(X, ONE), ADD, store(ONE, Y), give))
    first = made.step(made.initial(), "1")
    assert isinstance(first, Step) and isinstance(first.next, State)
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
    reg = Reg("r", "float" if op == "/" else "int")
    compute = Compute(reg, op, tuple(map(Const, args)), replace(O, prefix="freeze(c): "))
    (fault,) = explore_graph(machine(compute)).faults
    assert (fault.message, fault.interleaving) == (f"freeze(c): {message}", "0")


def test_an_atomic_update_that_overflows_is_a_fault() -> None:
    """In the words of the language, after the plan's prefix."""
    update = Atomic(C, ONE, "*", Const(2**62), Place(ONE), replace(O, prefix="freeze(c): "))
    (fault,) = explore_graph(machine(store(ONE, Const(2)), update)).faults
    assert fault.message == "freeze(c): overflow: 9223372036854775808 does not fit a 64-bit integer"


KEYED = Group(1, "c", (replace(VAL, group=1),), parent=0, tag="d", keys=3)


def test_a_thread_is_alone_in_its_own_instance() -> None:
    """What lies under a key that names the task is observed by nobody else; under no task's key it is."""
    own = Reg("own", "instance")
    write = Store(Ref(KEYED.buffers[0], own), ONE, TASK, Place(ONE), O)

    def stored(key: Expr) -> Verdict:
        return explore_graph(machine(par(Child(own, 1, ROOT, key, O), write), groups=(KEYED,)))

    assert (stored(TASK).verdict, stored(TASK).interleavings) == ("safe", 1)
    assert stored(Const(0)).verdict == "race"
    (race,) = stored(Const(0)).races
    assert race.cell == "c.val⟨d 0⟩[1]"


def test_each_task_has_a_private_copy_of_its_own() -> None:
    """Nobody observes what a task does there, and it reads what it wrote."""
    own = Reg("own", "instance")
    ref = Ref(replace(VAL, group=1), own)
    fresh, write = Fresh(own, 1, O), Store(ref, ONE, TASK, Place(ONE), O)
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
    used = Ref(Buffer("c", 0, "used", "count", "int", "i64", 0, 0, 2, "Shard", 2, own=True), ROOT)

    def stored(cell: Expr) -> int | None:
        body = (par(Store(used, cell, ONE, Place(), O)),)
        made = Plan((Group(0, "c", (used.buffer,)),), (("c", ROOT),), body, (), ())
        return explore_graph(Native(assemble(made), bound)).interleavings

    assert (stored(TASK), stored(Const(3))) == (1, 2)


def test_a_private_copy_is_forgotten() -> None:
    """A task's own instance is zero again once it is dropped, and tells no states apart."""
    own = Reg("own", "instance")
    ref = Ref(replace(VAL, group=1), own)
    copy = Group(1, "c", (ref.buffer,))
    body = (Fresh(own, 1, O), Store(ref, ONE, TASK, Place(ONE), O), Drop(own, O), store(Const(2), Const(2)))
    made = machine(par(*body), groups=(copy,))
    found = explore_graph(made)
    assert [result.outcome.values() for result in found.results] == [{"c": [0, 2, 0, 0]}]
    final = replay(made, "1,2")
    list(final)
    assert [str(cell) for cell in final.state.heap] == ["c.val[2]"]


# ------------------------------------------------------------------------------------------------- on the command line


def test_the_command_explores_and_replays_plans(command) -> None:
    """`--machine native` finds the race of the example, and prints the command that shows it on that machine."""
    told = command("explore", str(EXAMPLES / "dependent.ws"), "--machine", "native")
    assert told.status == 1
    assert "machine native" in told.out
    (line,) = re.findall(r"^ +see +(wingspan replay .*)$", told.out, re.MULTILINE)[:1]
    assert "--machine native" in line
    shown = command(*line.replace("'", "").split()[1:])
    assert "conflict: both touch" in shown.out
    assert len(shown.out.splitlines()) < len(
        command(*line.replace("'", "").replace("native", "semantics").split()[1:]).out.splitlines()
    )
    verdict = json.loads(command("explore", str(EXAMPLES / "dependent.ws"), "--machine", "native", "--json").out)
    assert (verdict["machine"], verdict["verdict"]) == ("native", "race")
