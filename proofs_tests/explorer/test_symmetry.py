"""Under symmetry a search finds what it finds without, in fewer states, and counts the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from typing import Any

import immutables
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, few, many
from proofs_tests.explorer.test_explored_programs import SMALL
from proofs_tests.explorer.test_litmus import Draw
from proofs_tests.explorer.tiny import blocks
from proofs_tests.explorer.walking import cost
from proofs_tests.exploring import explore_graph
from proofs_tests.several import FORK
from wingspan import api
from wingspan.buffers.frames import Cell
from wingspan.buffers.heap import Heap, dealt, unnamed
from wingspan.errors import Fault, InputError, InternalError, WingspanError
from wingspan.explorer import Machine, Search, Step, Verdict, explore, replay
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.machine import Nameless, Symmetric
from wingspan.explorer.races import races_of
from wingspan.explorer.states import States
from wingspan.explorer.symmetry import mark, names, pointed
from wingspan.lang.ir import Instance
from wingspan.levels.base import FIBER
from wingspan.native import machine as native
from wingspan.plan.ir import Par
from wingspan.testing.litmus import (
    Add,
    Jump,
    Litmus,
    Load,
    Lock,
    Program,
    Spawn,
    State,
    Store,
    Take,
    Unlock,
    chunk,
    lockinc,
    ninc,
)
from wingspan.testing.programs import meetings, programs


def counted(machine: Machine[Any], verdict: Verdict) -> dict[Hashable, Any]:
    """All that is found, by what does not depend on names: in how many interleavings, and the cost of the shortest."""

    def plain(text: str) -> str:
        return re.sub(r"task [0-9.]+", "task", text)

    found: dict[Hashable, Any] = {"verdict": verdict.verdict, "all": verdict.interleavings}
    for result in verdict.results:
        chance = pytest.approx(result.probability, abs=1e-12)
        found["result", result.outcome] = result.interleavings, chance, cost(machine, result.interleaving)
    for race in verdict.races:
        spans = frozenset((race.first.span, race.second.span))
        key = race.tensor, race.level, race.level_name, race.buffer, race.kind, spans
        found[key] = cost(machine, race.interleaving)
    for fault in verdict.faults:
        found["fault", plain(fault.message), fault.span] = cost(machine, fault.interleaving)
    for deadlock in verdict.deadlocks:
        waiting = frozenset(Counter((each.waits_for, each.span) for each in deadlock.waiting).items())
        least = found.get(waiting)
        here = cost(machine, deadlock.interleaving)
        found[waiting] = here if least is None else min(least, here)
    return found


def told(machine: Machine[Any], verdict: Verdict) -> None:
    """What a verdict says of its interleavings is so."""
    for result in verdict.results:
        run = replay(machine, result.interleaving, finish=False)
        assert all(run) and run.end == "finished" and machine.outcome(run.state) == result.outcome
    incidents: list[FaultReport | Deadlock] = [*verdict.faults, *verdict.deadlocks]
    for incident in incidents:
        run = replay(machine, incident.interleaving, finish=False)
        assert all(run) and run.mismatch is None and run.incident == incident
    for race in verdict.races:
        run = replay(machine, race.interleaving, finish=False)
        steps = [step for step in run if step.visible]
        assert run.mismatch is None
        sides = [(step.task, step.rule, step.span) for step in steps[-2:]]
        wanted = [(side.task, side.rule, side.span) for side in (race.first, race.second)]
        assert sides[-1] == wanted[0] or (sides[0] == wanted[0] and sides[1][0] == wanted[1][0])


def assert_the_same(machine: Machine[Any], most: int = 2_000) -> tuple[Verdict, Verdict] | None:
    """Under symmetry all is found that is found without, unless there are more states than are to be looked at."""
    full = explore_graph(machine, max_states=most)
    if not full.complete:
        return None
    fewer = explore_graph(machine, symmetry=True)
    assert counted(machine, fewer) == counted(machine, full)
    told(machine, fewer)
    return full, fewer


# --------------------------------------------------------------------------------------------------- tiny programs


def alike(seed: int) -> Litmus:
    """A random program of the kind of `test_litmus`, with several tasks that do the same."""
    draw = Draw(seed)
    count, kinds = draw.choice([(2, 1), (3, 1), (3, 2), (4, 1), (4, 2)])
    if draw.random() < 0.3 and count < 4:
        drawn = [draw.program(1) + draw.spawn() + draw.program(1) for _ in range(kinds)]
    else:
        drawn = [draw.program({2: 5, 3: 3, 4: 2}[count]) for _ in range(kinds)]
    after = draw.program(2) if draw.random() < 0.7 else draw.spawn() + draw.program(1)
    return Litmus(*[drawn[k % kinds] for k in range(count)], after=after)


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_tiny_programs_have_the_same_findings_and_counts(part: int) -> None:
    """On 400 random programs, most of which have fewer states under symmetry."""
    seen: Counter[str] = Counter()
    for seed in range(part, many(400), PARTS):
        compared = assert_the_same(alike(seed))
        if compared is not None:
            full, fewer = compared
            seen[full.verdict] += 1
            seen["fewer"] += fewer.states < full.states
    least = {"fewer": 70, "race": 20, "deadlock": 15, "fault": 10, "safe": 10}
    assert all(seen[name] >= due(number) for name, number in least.items()), seen


def renamed(machine: Litmus, state: State, order: tuple[int, ...]) -> State:
    """The state with the tasks 1, 2, … of the machine in another order."""
    places = dict(zip(range(1, len(machine.paths)), order, strict=True))
    threads = [state.threads[0], *(state.threads[k] for k in order)]
    back = {old: new for new, old in places.items()}
    return state._replace(threads=tuple(threads), holders=tuple(back.get(holder, holder) for holder in state.holders))


@settings(max_examples=many(60), derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(blocks(), blocks()).map(lambda two: (two[0] + two[1])[:3]), min_size=1, max_size=2), st.data()
)
def test_there_is_one_state_for_each_orbit(kinds: list[Program], data: st.DataObject) -> None:
    """Two states are one exactly if some order of the tasks that have one program makes them equal."""
    chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=3))
    machine = Litmus(*chosen)
    states = States(machine)
    states.search(states.flood)
    all_of_them = [states.state(node) for node in range(states.nodes)]
    orders = [
        order
        for order in permutations(range(1, len(chosen) + 1))
        if all(chosen[k] == chosen[other - 1] for k, other in enumerate(order))
    ]
    orbits = {frozenset(renamed(machine, state, order) for order in orders) for state in all_of_them}
    assert len({mark(*machine.nameless(state)) for state in all_of_them}) == len(orbits)
    assert explore_graph(machine, symmetry=True).states == len(orbits)


@pytest.mark.parametrize(
    ("machine", "full", "states"), [(ninc(4), 755, 63), (chunk(4, 4), 2257, 136), (lockinc(5), 1301, 21)]
)
def test_numbers_of_states(machine: Litmus, full: int, states: int) -> None:
    assert (explore_graph(machine).states, explore_graph(machine, symmetry=True).states) == (full, states)


def test_six_increments_have_539_states() -> None:
    """Of 118,509, as sorting the workers gives; and the interleavings are counted all the same: 12! / 2⁶."""
    verdict = explore_graph(ninc(6), symmetry=True)
    assert (verdict.states, verdict.interleavings, len(verdict.results)) == (539, 7_484_400, 6)


def test_a_task_that_has_ended_is_not_preempted() -> None:
    """Another has its path right after it; which of two tasks alike was the last makes no difference then."""
    first: Program = (Lock("n"), Store("x", 0, relative=True), Unlock("n"))
    other: Program = (Lock("m"), Lock("n"), Unlock("n"), Unlock("m"))
    machine = Litmus(first, first, after=(Spawn(((Lock("n"),), other)),))
    (deadlock,) = explore_graph(machine, symmetry=True).deadlocks
    assert cost(machine, deadlock.interleaving)[0] == 0


@pytest.mark.parametrize(
    "task",
    [
        (Load("x"), Store("x", 0, relative=True), Add("x"), Jump(2, 1), Store("y", 0, relative=True)),
        (Load("x"), Store("x", 2), Jump(3, 2), Take("x", 1), Store("x", 2, relative=True)),
    ],
)
def test_of_two_tasks_alike_the_one_that_stepped_goes_on(task: Program) -> None:
    """Where another state counts as the same, any of them could be who goes on; one costs a preemption more."""
    assert assert_the_same(Litmus(task, task)) is not None


def test_who_waits_in_a_deadlock_is_told_by_the_names_of_its_interleaving() -> None:
    """In whatever state that counts as the same it was found."""
    nested = Spawn(((Store("x", 1), Store("x", 2)), (Take("x", 2), Lock("m"))))
    task: Program = (Store("x", 1, relative=True), nested, Store("x", 1, relative=True))
    assert assert_the_same(Litmus(task, task)) is not None


# ------------------------------------------------------------------------------------------------- wingspan programs

ALIKE = replace(SMALL, modifiers=("Mutex", "Isolate"), spawning=1)


def test_random_programs_have_the_same_findings_and_counts() -> None:
    """On 100 programs whose tasks take their iterations in turns, on both machines."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(meetings(modifiers=("Mutex", "Isolate")), meetings(), programs(ALIKE)), st.sampled_from([2, 3]))
    def compare(text: str, threads: int) -> None:
        text = re.sub(r"(parallel\([^,()]+, \w+)\)", r"\1, dynamic_schedule(1))", text)
        try:
            bound = api.bind(api.parse(text), threads=None if "far" in text else threads)
            machines = [api.machine_of(bound, name) for name in api.MACHINES]
        except WingspanError:
            return
        for machine in machines:
            seen["told apart"] += bool(machine.told_apart)
            compared = None if machine.told_apart else assert_the_same(machine, most=400)
            if compared is not None:
                full, fewer = compared
                seen[full.verdict] += 1
                seen["fewer"] += fewer.states < full.states

    compare()
    least = {"fewer": 60, "safe": 60, "race": 8, "told apart": 10}
    assert all(seen[name] >= due(number) for name, number in least.items()), seen


NESTED = """
d = cpu(:d, 2)
e = cpu(2, d)
C = Tensor(Dense(Mutex(Dense(Element(0)))), 2, 1)
w = Tensor(Dense(Element(0)), 1)
C .= 0
for i = parallel(1:2, d, dynamic_schedule(1))
    w .= 0
    for j = parallel(1:2, e, dynamic_schedule(1))
        w[1] += 1
    end
    C[1, i] += w[1]
end
return C
"""

CHUNKS = """
C = Tensor(Dense(Element(0)), 3)
w = Tensor(SparseByteMap(Element(0)), 1)
C .= 0
for i = parallel(1:3, cpu(:t, 3), dynamic_schedule(1))
    w .= 0
    w[1] += i
    for j = 1:1
        C[i] = w[j]
    end
end
return C
"""

WAITING = """
C = Tensor(Mutex(Dense(Mutex(Element(0)))), 2)
C .= 0
for i = parallel(1:3, cpu(:t, 3), dynamic_schedule(1))
    C[1] += 1
end
return C
"""


@pytest.mark.parametrize(
    ("text", "factor", "machine"),
    few(
        [(*case, name) for name in ("native", "semantics") for case in ((NESTED, 3.5), (CHUNKS, 3.5), (WAITING, 4))], 1
    ),
)
def test_copies_locks_and_nested_tasks_have_no_names(text: str, factor: float, machine: str) -> None:
    """Three tasks have 3! orders; two that have two each 2³: what each has for itself goes with it."""
    compared = assert_the_same(api.machine_of(api.bind(api.parse(text)), machine), most=20_000)
    assert compared is not None
    full, fewer = compared
    assert full.states > factor * fewer.states


def nested(draw: Random) -> str:
    """A random program of tasks that run tasks: they share variables, at times tensors, that the outer ones have each.

    Values are few, so that what tasks have comes to be equal again.
    """
    formats = ("Dense(Element(0))", "Dense(Atomic(0))", "Dense(Mutex(Element(0)))", "Isolate(SparseList(Element(0)))")
    threads = draw.choice([(2, 2), (2, 2), (2, 1), (3, 1), (1, 3)])
    head = [f"d = cpu(:d, {threads[0]})", f"e = cpu({threads[1]}, d)", f"g = cpu(:g, {draw.choice([2, 3])})"]
    head += [f"{name} = Tensor({draw.choice(formats)}, {extent})" for name, extent in (("C", 2), ("w", 1))]

    def statement(names: list[str], index: str, tensors: list[str]) -> list[str]:
        name = draw.choice(names)
        match draw.choice(["set", "set", "set", "if", "update", "update"]):
            case "set":
                return [f"{name} = {draw.choice(['1', '5', index, f'{name} + 1', draw.choice(names)])}"]
            case "if":
                return [f"if {name} == {draw.choice('015')}", *statement(names, index, tensors), "end"]
        tensor = draw.choice(tensors)
        return [f"{tensor}[{draw.choice(['1', index]) if tensor == 'C' else 1}] += 1"]

    def region(device: str, index: str, names: list[str], tensors: list[str]) -> list[str]:
        body = []
        if draw.random() < 0.6:
            names = [*names, f"y{index}"]
            body.append(f"y{index} = {draw.choice('05')}")
        if device == "d":
            if draw.random() < 0.4:
                tensors = [*tensors, "w"]
                body.append("w .= 0")
            body += statement(names, index, tensors) if draw.random() < 0.5 else []
            body += region("e", "j", names, tensors)
        body += statement(names, index, tensors) if device != "d" or draw.random() < 0.5 else []
        ends = draw.choice(["1:2", "1:2", "1:2", "1:1", "2:1"])
        schedule = draw.choice([*["dynamic_schedule(1)"] * 4, "dynamic_schedule(2)", "static_schedule()"])
        return [f"for {index} = parallel({ends}, {device}, {schedule})", *body, "end"]

    lines = ["C .= 0", "v = 0", *region("d", "i", ["v"], ["C"])]
    if draw.random() < 0.25:
        lines += region("g", "i", ["v"], ["C"])
    return "\n".join((*head, *lines, "return C"))


def assert_alike(machine: Symmetric[Any], states: States[Any]) -> None:
    """States that count as one have the same next steps, up to names: to states that count as one, with equal races.

    This is what all else rests on, seen at each state that there is without symmetry.
    """
    marks = [mark(*machine.nameless(states.state(node))) for node in range(states.nodes)]
    known: dict[Hashable, Counter[Hashable]] = {}
    for node, each in enumerate(marks):
        seen: Counter[Hashable] = Counter(finding for finding, _ in states.at.get(node, ()) if finding[0] == "result")
        able: list[Step[Any]] = []
        for task, _, target in states.moves(node):
            choice = states.choice(node, states.paths[task])
            if not isinstance(choice, Step):
                seen["blocked", choice.span] += 1
                continue
            able.append(choice)
            after = choice.next.message if isinstance(choice.next, Fault) else marks[target]
            touches = tuple((touch.effect, touch.tensor, touch.spot) for touch in choice.footprint)
            seen[choice.rule, choice.span, choice.indices, touches, after] += 1
        for one, other in combinations(able, 2):
            seen.update(("race", key) for key, _, _ in races_of(one, other))
        assert known.setdefault(each, seen) == seen


@pytest.mark.parametrize("name", api.MACHINES)
def test_states_that_count_as_one_go_on_alike(name: str) -> None:
    """On the states of 70 random programs with tasks that run tasks, most of which have fewer under symmetry."""
    seen: Counter[str] = Counter()
    for seed in range(many(70)):
        machine = api.machine_of(api.bind(api.parse(nested(Random(seed)))), name)
        states: States[Any] = States(machine, max_states=150)
        states.search(states.flood)
        if states.stopped_by is None:
            assert isinstance(machine, Symmetric) and not machine.told_apart
            assert_alike(machine, states)
            fewer = explore_graph(machine, symmetry=True)
            assert counted(machine, fewer) == counted(machine, explore_graph(machine))
            told(machine, fewer)
            seen[fewer.verdict] += 1
            seen["fewer"] += fewer.states < states.nodes
    least = {"fewer": 30, "race": 5, "safe": 30}
    assert all(seen[kind] >= due(number) for kind, number in least.items()), seen


FORGETTING = """
d = cpu(:d, 2)
e = cpu(:e, 2, d)
v = 0
for i = parallel(1:2, d, dynamic_schedule(1))
    y = 5
    for j = parallel(1:2, e)
        if v == 1
            y = 5
        end
    end
    v = 1
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
def test_a_race_is_shown_whole_where_its_first_step_leads_to_other_names(machine: str) -> None:
    """The y of one outer task is called that of the other one there; both writes are to be in the interleaving."""
    assert assert_the_same(api.machine_of(api.bind(api.parse(FORGETTING)), machine)) is not None


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("file", few(sorted(Path("examples").glob("quiz_*.ws")), 5), ids=lambda path: path.stem)
def test_quiz_programs_have_the_same_findings_and_counts(file: Path, machine: str) -> None:
    assert assert_the_same(api.machine_of(api.bind(file), machine)) is not None


# -------------------------------------------------------------------------------------------------- names and no names


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
        assert isinstance(machine, Symmetric) and "a device is called fiber" in machine.told_apart


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
    one, other = machine.nameless(state)[1].below
    assert (one == other) == alike


def test_names_go_with_what_tasks_have() -> None:
    """Who has what the other has, and those below it; of equal ones the first is the first."""
    here = Nameless(0, (Nameless("a", (Nameless("b"), Nameless("c"))), Nameless("d"), Nameless("d")))
    there = Nameless(0, (Nameless("d"), Nameless("a", (Nameless("c"), Nameless("b"))), Nameless("d")))
    assert names(here, there) == {"": "", "1": "2", "1.1": "2.2", "1.2": "2.1", "2": "1", "3": "3"}
    assert names(pointed(here, "2"), pointed(there, "3"))["2"] == "3"
    assert mark(None, here) == mark(None, there) != mark(None, Nameless(0, here.below[:2]))
    with pytest.raises(InternalError, match="no task is what task 1 is"):
        names(here, Nameless(0, (there.below[0], Nameless("a", (Nameless("c"), Nameless("c"))), there.below[2])))


def test_which_instance_a_task_is_in_tells_states_apart() -> None:
    """On the native machine: its own copy by what it is, and an isolated fiber by which one it is."""
    machine = api.machine_of(api.bind(api.parse(CHUNKS)), "native")
    assert isinstance(machine, native.Native)
    heap: Heap = immutables.Map()

    def told(*instances: Instance) -> tuple[Hashable, Nameless]:
        par = next(k for k, s in enumerate(machine.code.statements) if isinstance(s, Par))
        tasks = tuple(native.Running(0, b"", (instance,)) for instance in instances)
        return machine.nameless(native.State(heap, native.Running(par, b"", (), tasks)))

    mine, yours = told((("t", 1),))[1].below, told((), (("t", 2),))[1].below[1:]
    assert mine == yours
    assert told((("t", 1), (FIBER, 1))) != told((("t", 1), (FIBER, 2))) != told(((FIBER, 2),))


def test_locks_and_copies_in_the_heap_go_with_their_tasks() -> None:
    """A lock is held, and by whom; what lies in a copy below an isolated fiber is the copy's."""
    shared, copied = Cell("C", 0, "lock", (), 1), Cell("w", 1, "val", (("t", 2), (FIBER, 1)), 3)
    heap: Heap = immutables.Map({shared: "1.2", copied: 7, shared._replace(offset=2): 0})
    left, own = dealt(heap)
    assert dict(left) == {shared: True, shared._replace(offset=2): 0}
    assert own == {"1.2": {(0, shared)}, "2": {(copied._replace(instance=((FIBER, 1),)), 7)}}
    assert unnamed(copied.instance, (("t", 2), ("u", 1))) == (("", 1), (FIBER, 1))


# ------------------------------------------------------------------------------------------------------------ searching


@pytest.mark.parametrize("strategy", ["dpor", "random", "pct", "bounded"])
def test_other_strategies_have_no_use_for_it(strategy: str) -> None:
    with pytest.raises(InputError, match=f"{strategy} has no use for symmetry"):
        explore(ninc(2), Search(strategy, symmetry=True))


def test_auto_takes_the_graph() -> None:
    verdict = explore(ninc(4), Search(symmetry=True))
    assert (verdict.strategy, verdict.states, verdict.reason) == ("graph", 63, "symmetry is asked for")


@FORK
def test_several_processes_take_part() -> None:
    one, two = (explore(ninc(5), Search(symmetry=True, jobs=jobs)) for jobs in (1, 2))
    assert replace(two, seconds=0) == replace(one, seconds=0, processes=2)


def test_a_search_goes_on_as_it_was(tmp_path: Path) -> None:
    """With the symmetry that it had; one without does not get it."""
    whole = explore(ninc(5), Search("graph", symmetry=True))
    kept = tmp_path / "kept"
    for states in (20, 100):
        options: dict[str, Any] = {"resume": kept} if kept.exists() else {"strategy": "graph", "symmetry": True}
        cut = explore(ninc(5), Search(max_states=states, checkpoint=kept, **options))
        assert (cut.states, cut.symmetry, cut.complete) == (states, True, False)
    ended = explore(ninc(5), Search(resume=kept))
    assert replace(ended, seconds=0, reason="") == replace(whole, seconds=0)
    explore(ninc(5), Search("graph", max_states=20, checkpoint=kept))
    with pytest.raises(InputError, match="is a search without symmetry"):
        explore(ninc(5), Search(resume=kept, symmetry=True))


def test_a_machine_that_knows_no_states_without_names_is_refused() -> None:
    class Plain:
        name = "plain"

        def __getattr__(self, name: str) -> Any:
            if name in ("nameless", "told_apart"):
                raise AttributeError
            return getattr(ninc(2), name)

    with pytest.raises(InputError, match="the machine plain has no states without names"):
        explore(Plain(), Search("graph", symmetry=True))


@pytest.mark.parametrize("exact", [False, True])
def test_a_search_whose_time_is_over_ends_with_what_there_is(exact: bool) -> None:
    verdict = explore(ninc(7), Search("graph", symmetry=True, max_seconds=0.02, exact=exact))
    assert (verdict.stopped_by, verdict.complete) == ("max-seconds", False)


def test_a_search_that_tells_tasks_apart_goes_on_by_the_same_options(tmp_path: Path) -> None:
    text = "t = cpu(:t, 2)\nS = Tensor(Shard(t, Element(0)))\nS .= 0\nfor i = parallel(1:2, t)\nS[] += i\nend\nreturn S"
    machine, kept = api.machine_of(api.bind(api.parse(text)), "native"), tmp_path / "kept"
    explore(machine, Search("graph", symmetry=True, max_states=2, checkpoint=kept))
    assert explore(machine, Search(symmetry=True, resume=kept)).complete
