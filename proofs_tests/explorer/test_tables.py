"""Tables of local steps change nothing: the search that asks the machine for each step is the oracle."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from bench.local_steps import product
from proofs_tests.effort import due, few, many
from proofs_tests.explorer.plain import Plain
from proofs_tests.explorer.test_litmus import SIZES, litmus
from proofs_tests.explorer.test_visibility import PROGRAMS
from proofs_tests.program_templates import regions
from wingspan import api
from wingspan.base.errors import Fault, InternalError
from wingspan.explorer import Search, bounds, explore
from wingspan.explorer._space import Space
from wingspan.explorer.bounds import Bounds
from wingspan.explorer.local import ABSENT, DROPPED, CellLog, Tree, offers_local_steps
from wingspan.explorer.machine import Blocked, CellAccess, Machine, Step
from wingspan.explorer.states import States, Status
from wingspan.semantics.machine import Semantics
from wingspan.testing.choosing import by_seed
from wingspan.testing.litmus import PROGRAMS as KNOWN
from wingspan.testing.litmus import Litmus, Load, Program, Spawn, Store, increment
from wingspan.testing.templates import write_meeting, write_race

QUIZ = sorted(Path(__file__).parents[2].glob("examples/quiz_*.ws"))
MOST = 400
"""The states of which the search without tables sees a graph."""

THREADS = 1, 2, 3

FLOATS = """
    C = Tensor(Dense(Element(0.0)), 1)
    C .= 0.0
    for i = parallel(1:2)
        C[1] = ifelse(i == 1, 0.0, 1.0)
    end
"""


def walked(machine: Machine[Any]) -> States[Any]:
    """All states of a machine, or the first of them."""
    states: States[Any] = States(machine, max_states=MOST)
    states.search(lambda: states.flood())
    return states


def walked_by(threads: int, machine: Machine[Any], least: int = 1, **options: Any) -> States[Any]:
    """The same by threads, which take all steps but those that the tables lack, if at least so many edges wait."""
    states: States[Any] = States(machine, **{"max_states": MOST, **options})
    states.threads = threads
    states.search(lambda: flood_in_batches(states, least))
    return states


def flood_in_batches(states: States[Any], least: int = 1) -> None:
    assert states.walker is not None
    states.walker.least = least
    states.flood()


def graph(states: States[Any]) -> dict[str, Any]:
    """The graph node by node, and all that the search has found."""
    nodes = range(states.nodes)
    return {
        "states": [states.state(node) for node in nodes],
        "moves": [[(states.paths[task], target) for task, _, target in states.moves(node)] for node in nodes],
        "ways": [states.way(node) for node in nodes],
        "steps": states.steps,
        "stopped": states.stopped_by,
        "resumed": [[states.paths[task] for task in tasks] for tasks in states.resumptions],
        "finished": states.finished,
        "faults": states.faults,
        "deadlocks": states.deadlocks,
        "races": states.races,
        "chances": None if states.stopped_by else states.tally(set(states.ends())),
    }


def require_same(text: str, threads: int | None = None) -> None:
    """The graphs of a program with tables and without, on both machines."""
    bound = api.bind(api.parse(dedent(text)), threads=threads)
    for name in api.MACHINES:
        require_same_graphs(api.machine_of(bound, name))


def require_same_graphs(machine: Machine[Any]) -> States[Any]:
    """The graphs of a machine with tables, by threads too, and without."""
    tabled, plain = walked(machine), walked(Plain(machine))
    assert (tabled.walker is None, plain.walker is None) == (False, True)
    assert graph(tabled) == graph(plain)
    for count in THREADS:
        several = walked_by(count, machine)
        assert graph(several) == graph(plain)
        assert (several.shape(), several.keep()) == (tabled.shape(), tabled.keep())
    return plain


@pytest.mark.parametrize("name", few(list(PROGRAMS), 6))
def test_programs_about_visibility_have_the_same_graph(name: str) -> None:
    require_same(PROGRAMS[name])


@pytest.mark.parametrize("file", few(QUIZ, 6), ids=lambda file: file.stem)
def test_the_quiz_has_the_same_graph(file: Path) -> None:
    require_same(file.read_text())


def random_program(seed: int) -> str:
    """The program of a number: two tasks at one tensor of any format; several and nested regions; loops over runs."""
    match seed % 3:
        case 0:
            return write_meeting(by_seed(seed))
        case 1:
            return regions(seed)
        case _:
            return write_race(by_seed(seed))


def test_random_programs_have_the_same_graph() -> None:
    """A script continues this: bench/tables.py."""
    for seed in range(many(640)):
        require_same(random_program(seed))


@pytest.mark.parametrize(("name", "size"), few([(name, size) for name in SIZES for size in SIZES[name]], 6))
def test_known_litmus_programs_have_the_same_graph(name: str, size: tuple[int, ...]) -> None:
    require_same_graphs(KNOWN[name].program(*size))


def test_random_litmus_programs_have_the_same_graph() -> None:
    """Tasks that run tasks, and whose ends end those above them; locks, faults, jumps."""
    seen: Counter[str] = Counter()
    for seed in range(0, 2 * many(2_000), 2):
        states = require_same_graphs(litmus(seed))
        seen["several"] += states.nodes > 1
        seen["regions"] += any("." in path for path in states.paths)
        seen.update(name for name in ("finished", "faults", "deadlocks", "races") if getattr(states, name))
    assert all(seen[name] >= due(200) for name in ("several", "regions", "finished", "faults", "deadlocks", "races")), (
        seen
    )


def test_tasks_that_end_with_those_below_end_those_above() -> None:
    """The last of them joins three regions, at whose ends nothing is left to do; so does one without a step."""
    inner: Program = (Spawn(((Spawn(((Store("x", 1),), ())),), ())),)
    after: Program = (Store("x", 3),)
    for tasks in ((inner,), (inner, (Store("x", 2),)), ((Spawn(((), ())),),), ((), ())):
        states = require_same_graphs(Litmus(*tasks, after=after))
        assert set(states.finished) == {(("x", 3),)}


def test_a_program_that_has_ended_at_its_start_has_one_state() -> None:
    require_same("A = Tensor(Dense(Element(0)), [1, 2])\nreturn A")


def test_a_machine_whose_steps_are_changed_has_no_tables() -> None:
    """Otherwise a class that overrides `step`, to look at each, would not be asked; or one that merges more states."""

    class Watched(Semantics):
        def step(self, state: Any, task: str) -> Step[Any] | Blocked:
            return super().step(state, task)

    class Merged(Semantics):
        def fingerprint(self, state: Any) -> int:
            return 0

    class Doubled(Watched):
        def local_step(self, local: Any, cells: CellLog) -> Step[Tree] | Blocked:
            return super().local_step(local, cells)

    bound = api.bind(api.parse(FLOATS))
    parts = bound.body, bound.towers, bound.inputs, bound.outputs
    kinds = Semantics, Watched, Merged, Doubled
    assert [offers_local_steps(kind(*parts)) for kind in kinds] == [True, False, False, True]
    machine = Semantics(*parts)
    vars(machine)["step"] = machine.step
    assert not offers_local_steps(machine)


@pytest.mark.parametrize("strategy", ["auto", "graph", "dpor", "bounded", "random", "pct"])
@pytest.mark.parametrize("machine", api.MACHINES)
def test_every_strategy_gives_the_same_verdict(strategy: str, machine: str) -> None:
    program = api.machine_of(api.bind(api.parse(dedent(FLOATS.replace("1:2", "1:3"))), threads=3), machine)
    search = Search(strategy, runs=20, exact=True)
    tabled, plain = (replace(explore(each, search), seconds=0.0, told_apart="") for each in (program, Plain(program)))
    assert tabled == plain


def test_a_machine_is_asked_for_few_steps() -> None:
    """Once for each local step and what it reads, however many states there are."""
    text = "C = Scalar(0)\nC[] = 0\nfor i = parallel(1:6)\n    C[] += 1\nend"
    states = States(api.semantics(api.bind(api.parse(text), threads=6)))
    states.search(lambda: states.flood())
    assert states.walker is not None and states.walker.asked < 300 < 10_000 < states.steps


# ---------------------------------------------------------------------------------------------------- several threads


def increments(tasks: int) -> Machine[Any]:
    text = f"c = Scalar(0)\nc[] = 0\nfor i = parallel(1:{tasks})\n    c[] += 1\nend\nreturn c"
    return api.machine_of(api.bind(api.parse(text), threads=tasks), "native")


def found_by(states: States[Any]) -> dict[str, Any]:
    """All that a search has found, without its states."""
    found = states.finished, states.faults, states.deadlocks, states.races, states.steps, states.stopped_by
    return {"kept": states.keep(), "shape": states.shape(), "found": found, "expanded": states.expanded}


def one_by_one(machine: Machine[Any], **options: Any) -> States[Any]:
    """The states that a search finds that follows one edge after the other."""
    states: States[Any] = States(machine, **options)
    states.search(lambda: Space.flood(states))
    return states


@pytest.mark.parametrize("threads", THREADS)
def test_threads_find_what_one_edge_after_the_other_finds(threads: int) -> None:
    """In batches of thousands of edges, of which several lead to one new state."""
    machine = increments(6)
    several, one = walked_by(threads, machine, max_states=None), one_by_one(machine)
    assert several.nodes > 10_000
    assert found_by(several) == found_by(one)


@pytest.mark.parametrize("most", [1, 2, 3, 250, 256, 257, 1000, 1800])
def test_a_bound_stops_threads_where_it_stops_one(most: int) -> None:
    """And they go on from there."""
    machine = increments(5)
    several, one = walked_by(2, machine, max_states=most), one_by_one(machine, max_states=most)
    assert (several.nodes, several.stopped_by) == (most, "max-states")
    assert found_by(several) == found_by(one)
    several.max_states = None
    several.search(lambda: flood_in_batches(several))
    assert found_by(several) == found_by(one_by_one(machine))


@pytest.mark.parametrize("threads", THREADS)
def test_ctrl_c_stops_threads_where_it_stops_one(threads: int) -> None:
    """It comes when progress is reported; the search can be resumed."""

    def interrupt(now: Status) -> None:
        if now.explored == 512:
            os.kill(os.getpid(), signal.SIGINT)

    machine = increments(5)
    several, one = (
        walked_by(threads, machine, max_states=None, progress=interrupt),
        one_by_one(machine, progress=interrupt),
    )
    assert (several.stopped_by, several.nodes < 1_000) == ("interrupt", True)
    assert found_by(several) == found_by(one)
    for states in (several, one):
        states.progress = None
        states.search(states.flood)
    assert found_by(several) == found_by(one) == found_by(one_by_one(machine))


@pytest.mark.parametrize("threads", THREADS)
def test_threads_stop_at_the_finding_at_which_one_stops(threads: int) -> None:
    def first(walk: Callable[[States[Any]], object]) -> States[Any]:
        states: States[Any] = States(increments(4))
        states.first, states.threads = True, threads
        states.search(lambda: walk(states))
        return states

    several, one = first(flood_in_batches), first(lambda states: Space.flood(states))
    assert (several.stopped_by, several.nodes < 20) == ("first", True)
    assert found_by(several) == found_by(one)


@pytest.mark.parametrize("threads", THREADS)
def test_memory_stops_threads_where_it_stops_one(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is exceeded from the 512th state on, and measured at each tick; with more memory, the search goes on."""
    machine, resident = increments(5), 0
    monkeypatch.setattr(bounds, "LOOK", 0.0)
    monkeypatch.setattr(bounds, "resident_bytes", lambda: resident)

    def allocate(now: Status) -> None:
        nonlocal resident
        resident = 1 << 41 if now.explored >= 512 else 0

    options: dict[str, Any] = {"progress": allocate, "max_states": None}
    several = walked_by(threads, machine, bounds=Bounds(memory=1 << 40), **options)
    resident = 0
    one = one_by_one(machine, bounds=Bounds(memory=1 << 40), **options)
    assert (several.stopped_by, 512 <= several.nodes < 1_000) == ("max-memory", True)
    assert found_by(several) == found_by(one)
    resident, several.progress = 0, None
    several.search(lambda: flood_in_batches(several))
    assert found_by(several) == found_by(one_by_one(machine))


RUNNING = Path("/proc/self/task")


@pytest.mark.skipif(not RUNNING.exists(), reason="the system does not list the threads of a process")
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_jobs_are_threads_for_graph(jobs: int) -> None:
    """The verdict is that of one thread, and no process is forked."""
    before, during = set(os.listdir(RUNNING)), set()
    verdict = explore(
        increments(5), Search("graph", jobs=jobs), progress=lambda now: during.update(os.listdir(RUNNING))
    )
    one = explore(increments(5), Search("graph"))
    assert len(during - before) == jobs - 1
    assert replace(verdict, seconds=0.0) == replace(one, seconds=0.0)
    assert verdict.processes == 1


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("least", [3, 4, 8])
def test_a_state_is_added_once_if_the_tables_lack_one_of_two_edges_to_it(threads: int, least: int) -> None:
    """Each time task 2 peeks at a cell, it has a value that it never had there; task 1 only writes.

    So threads know where a step of task 1 leads, but not yet where one of task 2 does, although it is the same state.
    """
    counting = [("write", "c", value) for value in range(1, 9)]
    peeking = [operation for _ in range(8) for operation in (("write", "d", 1), ("peek", "c"))]
    machine = Turns(counting, peeking, given={"c": 0, "d": 0})
    several, one = walked_by(threads, machine, least), one_by_one(machine)
    assert one.nodes == walked(Plain(machine)).nodes
    assert found_by(several) == found_by(one)


@pytest.mark.parametrize("program", ["increments", *api.MACHINES])
def test_states_nodes_and_edges_take_few_bytes(program: str) -> None:
    """The tables of steps are small, and shared by all states; the lists of next steps, by those that have the same."""
    machine = increments(7) if program == "increments" else api.machine_of(product(6), program)
    states = walked_by(2, machine, max_states=None)
    assert states.walker is not None
    assert states.nodes > 90_000
    assert (states.walker.size_in_bytes() + states.size_in_bytes()) / states.nodes < 64


# ------------------------------------------------------------------------------------------------- a machine of others


class Cell0:
    """The region of all cells called x."""

    def includes(self, cell: Any) -> bool:
        return str(cell).startswith("x")


class Turns:
    """Two tasks below the root run through lists of operations: (read, cell), (write, cell, value), (drop,), and, which
    are invisible, (peek, cell), whose value changes nothing.
    """

    name = "turns"

    def __init__(self, *programs: Sequence[tuple[Any, ...]], given: Mapping[str, Any] | None = None) -> None:
        self.programs, self.given = programs, dict(given or {})

    def local_initial(self) -> tuple[Tree, Mapping[Any, Any]]:
        below = tuple(Tree((q, 0, ()), ended=not program) for q, program in enumerate(self.programs, start=1))
        return Tree("root", below), self.given

    def local_step(self, local: Any, cells: CellLog) -> Step[Tree] | Blocked:
        if local[0] == "joined":
            return Step("", "end", (), False, Tree(("over", *local[1:]), ended=True))
        q, at, seen = local
        what, *operands = self.programs[q - 1][at]
        touches: tuple[CellAccess, ...] = ()
        if what == "read":
            seen = (*seen, repr(cells.get(operands[0], "nothing")))
            touches = (CellAccess(operands[0], "read", ""),)
        elif what == "write":
            cells.set(*operands)
            touches = (CellAccess(operands[0], "write", ""),)
        elif what == "peek":
            cells.get(operands[0])
        elif what == "fail":
            return Step(str(q), what, (), True, Fault(str(seen)))
        else:
            cells.drop(Cell0())
            touches = (CellAccess("x", "write", ""),)
        after = Tree((q, at + 1, seen), ended=at + 1 == len(self.programs[q - 1]))
        return Step(str(q), what, touches, what != "peek", after)

    def local_join(self, local: Any, ended: Sequence[Any]) -> Tree:
        return Tree(("joined", *(seen for _, _, seen in ended)))

    def global_state(self, tree: Tree, cells: Mapping[Any, Any]) -> Any:
        return tree, tuple(sorted(cells.items()))

    def initial(self) -> Any:
        return self.global_state(*self.local_initial())

    def tasks(self, state: Any) -> Sequence[str]:
        tree, _ = state
        running = [str(child.local[0]) for child in tree.below if not child.ended]
        return running or ([] if tree.ended else [""])

    def step(self, state: Any, task: str) -> Step[Any] | Blocked:
        tree, cells = state
        if not task:
            joined = self.local_join(tree.local, [child.local for child in tree.below]) if tree.below else tree
            local: Any = joined.local
            return Step("", "end", (), False, (Tree(("over", *local[1:]), ended=True), cells))
        log = CellLog(dict(cells))
        step = self.local_step(tree.below[int(task) - 1].local, log)
        assert isinstance(step, Step)
        if isinstance(step.next, Fault):
            return Step(task, step.rule, step.footprint, True, step.next)
        after = dict(cells)
        for cell, value in log.changes:
            if value is DROPPED:
                after = {each: old for each, old in after.items() if not cell.includes(each)}
            else:
                after[cell] = value
        below = tuple(step.next if str(child.local[0]) == task else child for child in tree.below)
        whole = self.global_state(tree._replace(below=below), after)
        return Step(task, step.rule, step.footprint, step.visible, whole)

    def fingerprint(self, state: Any) -> Any:
        return repr(state)  # 0, 0.0, -0.0 and False are different values

    def outcome(self, state: Any) -> Any:
        return repr(state)


KINDS = [0, 0.0, -0.0, False, True, 1, 1.0, "0", None]


@pytest.mark.parametrize("value", KINDS, ids=repr)
@pytest.mark.parametrize("other", few(KINDS, 4), ids=repr)
def test_values_of_several_kinds_stay_apart(value: Any, other: Any) -> None:
    machine = Turns([("write", "x", value), ("read", "x")], [("write", "x", other), ("read", "x"), ("read", "y")])
    assert_same_outcomes(machine)


def test_cells_that_are_dropped_are_absent_for_all_later_reads() -> None:
    """Also those that are written for the first time after somebody else has dropped all of them."""
    assert_same_outcomes(
        Turns([("drop",), ("read", "x1"), ("read", "x2")], [("write", "x1", 1), ("write", "x2", 2)], given={"x1": 5})
    )


def test_what_an_earlier_state_did_not_know_is_as_at_the_start_there() -> None:
    """A cell that is written late in the search has its first value in the states before."""
    late = [("read", "a"), ("read", "b"), ("write", "c", 1)]
    assert_same_outcomes(Turns(late, [("read", "c"), ("write", "a", 7)], given={"a": 3, "c": 4}))


def assert_same_outcomes(machine: Turns) -> None:
    tabled, plain = walked(machine), walked(Plain(machine))
    assert tabled.walker is not None and plain.walker is None
    assert (tabled.nodes, tabled.edges, tabled.steps) == (plain.nodes, plain.edges, plain.steps)
    assert list(tabled.finished) == list(plain.finished)


def test_a_task_that_repeats_invisible_steps_without_end_is_a_defect_of_the_machine() -> None:
    class Endless(Turns):
        def local_step(self, local: Any, cells: CellLog) -> Step[Tree] | Blocked:
            if local[0] == 2:
                return Step("2", "again", (), False, Tree(local))
            return super().local_step(local, cells)

    machine = Endless([("write", "z1", 1), ("write", "z2", 1)], [("read", "y")])
    with pytest.raises(InternalError, match="task 2 repeats invisible steps without end"):
        walked(machine)


def test_a_step_that_reads_other_cells_than_before_is_a_defect_of_the_machine() -> None:
    class Fickle(Turns):
        asked = 0

        def local_step(self, local: Any, cells: CellLog) -> Step[Tree] | Blocked:
            if local[0] == 2 and local[1] == 0:
                self.asked += 1
                cells.get(f"z{self.asked}")
            return super().local_step(local, cells)

    machine = Fickle([("write", "z1", 1), ("write", "z2", 1)], [("read", "y"), ("read", "y")])
    with pytest.raises(InternalError, match="reads other cells than it did"):
        walked(machine)


class Failing(Litmus):
    """Three tasks that increment one cell; one local step or join that it is asked for fails, the first time."""

    left: int

    def __init__(self, left: int) -> None:
        super().__init__(*[increment("x")] * 3, after=(Load("x"),))
        self.left, self.plain = left, Litmus(*self.programs[1:], after=self.programs[0])

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError("this step fails")

    def step(self, state: Any, task: str) -> Step[Any] | Blocked:
        return self.plain.step(state, task)

    def local_step(self, local: Any, cells: CellLog) -> Step[Tree] | Blocked:
        self._count()
        return super().local_step(local, cells)

    def local_join(self, local: Any, ended: Sequence[Any]) -> Tree:
        self._count()
        return super().local_join(local, ended)


def test_a_search_goes_on_where_the_machine_failed() -> None:
    """Each failure is raised as it is, deep in a walk or not, and leaves nothing half done."""
    machine = Failing(0)
    expected = graph(walked(machine))
    asked = -machine.left
    for number in range(1, asked + 1):
        states: States[Any] = States(Failing(number))
        with pytest.raises(OSError, match="this step fails"):
            states.search(states.flood)
        states.search(states.flood)
        assert graph(states) == expected, number


def test_a_log_has_what_a_step_reads_before_it_writes() -> None:
    log = CellLog({"a": 1, "x1": 2, "x2": 3})
    assert (log.get("a"), log.get("b", 0)) == (1, 0)
    log.set("b", 5).drop(Cell0()).set("x1", 7)
    assert (log.get("b"), log.get("x1"), log.get("x2", "gone")) == (5, 7, "gone")
    assert log.reads == {"a": 1, "b": ABSENT}
    assert [value for _, value in log.changes] == [5, DROPPED, 7]
