"""Programs that race, the places, and the kinds of races: the paper's examples, the level formats, and variables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from typing import get_args

import pytest

from proofs_tests.effort import few
from proofs_tests.exploring import explore_by, explored, outcomes, races, verdict
from wingspan import api
from wingspan.explorer._space import EFFECTS, Space
from wingspan.explorer.machine import Blocked, CellAccess, Effect, Step
from wingspan.levels import REGISTRY, Tower
from wingspan.levels.base import EVERY
from wingspan.testing.formats import BOUNDED, STORING, legal
from wingspan.testing.litmus import Jump, Litmus, LitmusState, Private, Store

DEPENDENT = """
    c = Tensor(Dense({leaf}(0)), 5)
    c .= 0
    for i = parallel(1:4)
        c[i - i % 2 + 1] += 1
    end
"""


def merges(first: list[str], second: list[str]) -> list[list[str]]:
    """All ways to interleave two sequences."""
    total = len(first) + len(second)
    found = []
    for places in combinations(range(total), len(first)):
        one, two = iter(first), iter(second)
        found.append([next(one) if k in places else next(two) for k in range(total)])
    return found


# -------------------------------------------------------------------------------------------------- the paper's figure


@pytest.mark.parametrize(("one", "other"), list(product(get_args(Effect), repeat=2)))
def test_which_operations_conflict_and_race(one: Effect, other: Effect) -> None:
    """Two that only read do not; two that are atomic conflict. Steps and the numbers of a search say the same.

    On two cells none does.
    """
    x, y, apart = CellAccess("c", one, "c"), CellAccess("c", other, "c"), CellAccess("d", other, "d")
    space = Space()
    acts = [space.new_act([0], [EFFECTS.index(effect)]) for effect in (one, other)]
    elsewhere = space.new_act([1], [EFFECTS.index(other)])
    reading = {one, other} <= {"read", "look"}
    assert x.conflicts(y) == space.conflict(*acts) == (not reading)
    assert x.races(y) == space.race(*acts) == (not reading and bool({one, other} & {"read", "write"}))
    assert not (x.conflicts(apart) or space.conflict(acts[0], elsewhere))
    assert not (x.races(apart) or space.race(acts[0], elsewhere))


def test_dependent_kernel_loses_an_update() -> None:
    """The right kernel of the independence figure: exactly the interleavings of two load-stores lose an update."""
    found = explored(DEPENDENT.format(leaf="Element")).verdict
    assert found.verdict == "race"
    orders = merges(["a", "b", "load1", "store1"], ["load2", "store2", "d", "e"])
    lost = sum(o.index("load1") < o.index("store2") and o.index("load2") < o.index("store1") for o in orders)
    assert found.interleavings == len(orders) == 70
    assert outcomes(DEPENDENT.format(leaf="Element")) == {
        "{'c': [1, 0, 2, 0, 1]}": 70 - lost,
        "{'c': [1, 0, 1, 0, 1]}": lost,
    }


def test_dependent_kernel_race_report() -> None:
    """The race is a node race on the leaf, between iterations 2 and 3, at the cell they share."""
    found = explored(DEPENDENT.format(leaf="Element")).verdict
    (race,) = found.races
    assert (race.tensor, race.level, race.level_name, race.kind, race.cell) == ("c", 1, "Element", "node", "c.val[3]")
    assert {dict(side.indices)["i"] for side in (race.first, race.second)} == {2, 3}
    assert {race.first.task, race.second.task} == {"1", "2"}
    assert race.first.span is not None and race.first.span.text == "c[i - i % 2 + 1] += 1"


def test_one_word_makes_it_safe() -> None:
    """Element → Atomic, and nothing else."""
    assert verdict(DEPENDENT.format(leaf="Atomic")) == "safe"
    assert races(DEPENDENT.format(leaf="Atomic")) == set()


def test_independent_kernel_is_safe() -> None:
    """The left kernel of the independence figure, whatever the schedule."""
    for schedule in ("static_schedule()", "dynamic_schedule(1)", "dynamic_schedule(3)"):
        text = f"c = Tensor(Dense(Element(0)), 4)\nc .= 0\nfor i = parallel(_, cpu(2), {schedule})\nc[i] += 1\nend"
        assert verdict(text) == "safe"


# ---------------------------------------------------------------------------------------------- level formats (figure)

AROUND = {
    "": "",
    "Mutex(": "node sibling",
    "Isolate(": "cousin",
    "Shard(d, ": "cousin",
    "Merge(d, ": "node sibling cousin",
}
"""The dependences that each modifier adds to S by the figure."""
LEVELS = [
    around + level
    for around in AROUND
    for level in (*STORING, *BOUNDED)
    if level == "SparseCOO" or legal(f"{around}{level}(Atomic(0))" + ")" * around.count("("))
]
ONCE = [f"Mutex({level}" for level in STORING if REGISTRY[level].once]
ACCESS = {"node": "1, 1", "sibling": "k, 1", "cousin": "1, k"}
REFUTED = {
    *product(("Shard(d, Dense", "Isolate(Dense", "Mutex(SparseInterval", *ONCE), ("node", "sibling")),
    *product(("Mutex(SparsePoint", "Merge(d, SparsePoint"), ("sibling",)),
}
"""Promises of the figure that the rules refute, of two tasks in one fiber.

Shard and Isolate inherit node and sibling from Dense, yet two tasks claim the fiber, or load it; the tasks that take
turns in a Mutex cannot both append to one fiber of a list, nor write an interval in any order; and whoever writes two
indices of a point, it does not hold them.
"""


def two_task_witness(level: str, kind: str) -> str:
    """Two tasks that touch the level in one kind of dependence, over a leaf that supports everything.

    Of the two levels of a SparseCOO it is the outer one; they agree in the index of the inner one.
    """
    pair = level.endswith("SparseCOO")
    form = f"Dense({level}({'2, ' if pair else ''}Atomic(0))" + ")" * level.count("(") + ")"
    return f"""
        d = cpu(:d, 2)
        T = Tensor({form}, 2, 2{", 2" if pair else ""})
        T .= 0
        for k = parallel(1:2, d)
            T[{"1, " if pair else ""}{ACCESS[kind]}] += 1
        end
    """


def stability(level: str) -> frozenset[str]:
    """S of level 2 in the witness by the paper's figure: that of the wrapped level, and what the modifier adds."""
    around, name = next((a, level.removeprefix(a)) for a in reversed(AROUND) if level.startswith(a))
    return REGISTRY[name].stability(None) | set(AROUND[around].split())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(EVERY))
@pytest.mark.parametrize("level", few(LEVELS, 5))
def test_declared_stability_is_sound(level: str, kind: str) -> None:
    """P17, P18: if S contains the kind, no interleaving of the two-task witness goes wrong; otherwise some does."""
    promised = kind in stability(level)
    safe = verdict(two_task_witness(level, kind)) == "safe"
    assert safe == (promised and (level, kind) not in REFUTED)


@pytest.mark.parametrize(("leaf", "kind", "safe"), [
    ("Element", "node", False), ("Element", "cousin", True), ("Atomic", "node", True), ("Atomic", "cousin", True),
])  # fmt: skip
def test_stability_of_leaves(leaf: str, kind: str, safe: bool) -> None:
    """A leaf has no indices: equal positions are a node dependence, different ones a cousin dependence."""
    subscript = {"node": "1", "cousin": "k"}[kind]
    text = f"T = Tensor(Dense({leaf}(0)), 2)\nT .= 0\nfor k = parallel(1:2)\nT[{subscript}] += 1\nend"
    assert (verdict(text) == "safe") == safe == (kind in REGISTRY[leaf](0).stability())  # type: ignore[call-arg]


@pytest.mark.parametrize(("access", "level", "kind"), [
    ("T[1, k]", 2, "cousin"), ("T[k, 1]", 2, "sibling"), ("T[1, 1]", 2, "node"),
])  # fmt: skip
def test_kinds_of_races(access: str, level: int, kind: str) -> None:
    """Two tasks of one level race as the accesses are related: other fiber, other index, or the same of both."""
    text = f"T = Tensor(Dense(SparseByteMap(Atomic(0))), 2, 2)\nT .= 0\nfor k = parallel(1:2)\n{access} += 1\nend"
    assert (("T", level, "SparseByteMap", kind)) in races(text)
    assert {found[3] for found in races(text)} == {kind}


def test_one_place_can_race_in_two_ways() -> None:
    """Each task updates a row of its own: where two are in one column they are siblings, elsewhere cousins."""
    text = "T = Tensor(Dense(SparseByteMap(Atomic(0))), 2, 2)\nT .= 0\n"
    text += "for k = parallel(1:2)\nfor j = 1:2\nT[k, j] += 1\nend\nend"
    assert {kind for _, level, _, kind in races(text) if level == 2} == {"sibling", "cousin"}


class Placed(Litmus):
    """Its cells are in a level, each access at the position that the register has."""

    def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
        step = super().step(state, task)
        if isinstance(step, Blocked):
            return step
        _, position = state.threads[self.paths.index(task)]
        return replace(step, footprint=tuple(replace(t, level=1, position=position) for t in step.footprint))


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_one_place_and_one_cell_can_race_in_two_ways(strategy: str) -> None:
    """A task comes to a cell for position 0 and, at the same place, for position 1; another does for position 0."""
    machine = Placed((Store("x", 1), Private(1), Jump(-2, 1)), (Store("x", 2),))
    assert {race.kind for race in explore_by(strategy, machine).races} == {"node", "cousin"}


def test_appends_corrupt_a_shared_list() -> None:
    """Two columns of one SparseList appended at once: entries end up in the wrong column or under one another."""
    text = """
        C = Tensor(Dense(SparseList(Element(0))), 1, 2)
        C .= 0
        for j = parallel(_)
            for i = _
                C[i, j] += 1
            end
        end
    """
    assert {("C", 2, "SparseList", "cousin"), ("C", 1, "Element", "node")} <= races(text)
    assert {"{'C': [[1, 0]]}", "{'C': [[2, 0]]}", "{'C': [[1, 1]]}"} <= outcomes(text).keys()


def test_shards_keep_columns_apart() -> None:
    """The same with one word more: every interleaving gives the one right result."""
    text = """
        d = cpu(:d, 2)
        C = Tensor(Dense(Shard(d, SparseList(Element(0)))), 1, 2)
        C .= 0
        for j = parallel(_, d)
            for i = _
                C[i, j] += 1
            end
        end
    """
    found = explored(text).verdict
    assert (found.verdict, found.races, len(found.results)) == ("safe", (), 1)


def test_a_claim_can_race() -> None:
    """Two tasks at one position of a Shard read it unclaimed together: a race, before the second claim is a fault."""
    text = """
        d = cpu(:d, 2)
        c = Tensor(Shard(d, Dense(Atomic(0))), 2)
        c .= 0
        for k = parallel(1:2, d)
            for i = _
                c[i] += 1
            end
        end
    """
    found = explored(text).verdict
    assert found.verdict == "fault"
    assert {(race.level_name, race.buffer) for race in found.races} == {("Shard", "ptr"), ("Shard", "owner")}
    assert any("belongs to thread 1, and thread 2 reaches it" in fault.message for fault in found.faults)


def test_a_claim_lasts_for_the_phase() -> None:
    """Dynamic chunks of two regions in one phase may go to different threads: no race, but the claim is broken."""
    text = """
        d = cpu(:d, 2)
        C = Tensor(Dense(Shard(d, SparseByteMap(Element(0)))), 1, 2)
        C .= 0
        for k = 1:2
            for j = parallel(_, d, {schedule})
                for i = _
                    C[i, j] += 1
                end
            end
        end
    """
    dynamic = explored(text.format(schedule="dynamic_schedule(1)")).verdict
    assert (dynamic.verdict, dynamic.races) == ("fault", ())
    assert verdict(text.format(schedule="static_schedule()")) == "safe"


@pytest.mark.parametrize("below", ["Element(0)", "Atomic(0)"])
def test_a_position_is_claimed_on_arrival(below: str) -> None:
    """A task that reaches a position and writes nothing owns it. By the paper's "on the first write" it would not.

    Where it is kept away, or both tasks reach positions of their own, the other one's update is safe.
    """
    head = f"d = cpu(:d, 2)\nc = Tensor(Dense(Shard(d, {below})), 2)\nc .= 0\nfor k = parallel(1:2, d)\n"
    passing = f"{head}for j = 1:1\nif k == 2\nc[j] += 1\nend\nend\nend"
    found = explored(passing).verdict
    assert found.verdict == "fault"
    assert {fault.message for fault in found.faults} == {
        "c, level 1 Shard: position 1 belongs to thread 1, and thread 2 reaches it",
        "c, level 1 Shard: position 1 belongs to thread 2, and thread 1 reaches it",
    }
    assert api.check(api.parse(passing)).verdict == "unsafe"
    assert verdict(f"{head}if k == 2\nfor j = 1:1\nc[j] += 1\nend\nend\nend") == "safe"
    assert verdict(f"{head}for j = k:k\nif k == 2\nc[j] += 1\nend\nend\nend") == "safe"


# --------------------------------------------------------------------------------------------------- variables, results


def test_variables_race_like_cells() -> None:
    """x = x + 1 in three tasks: 1, 2 or 3, in 48, 36 and 6 of 90 interleavings."""
    text = "x = 0\nfor i = parallel(1:3, cpu(3))\nx = x + 1\nend"
    found = explored(text).verdict
    assert (found.verdict, found.interleavings) == ("race", 90)
    assert outcomes(text) == {"{'x': 1}": 48, "{'x': 2}": 36, "{'x': 3}": 6}
    assert {(race.tensor, race.level, race.kind) for race in found.races} == {("x", None, "")}
    assert Counter(race.second.rule for race in found.races) == {"ReadGlobal": 1, "WriteGlobal": 1}


def test_a_variable_of_the_loop_body_is_each_iterations_own() -> None:
    text = "y = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = parallel(_)\nx = i\nx = x + 1\ny[i] = x\nend"
    assert outcomes(text) == {"{'y': [2, 3]}": 1 + 1}
    assert verdict(text) == "safe"


def test_a_variable_of_a_task_is_shared_by_its_own_tasks_only() -> None:
    """Both tasks of d have an x, which their task of e changes."""
    text = """
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        for i = parallel(1:2, d)
            x = i
            for j = parallel(1:1, e)
                x = x + 1
            end
        end
    """
    assert verdict(text) == "safe"


@pytest.mark.parametrize(("before", "read"), [
    ("x = 5", "x"),
    ("x = 0\nfor k = 1:1\nx = 5\nend", "x"),
    ("x = Tensor(Dense(Element(0)), [5])", "x[1]"),
])  # fmt: skip
def test_reading_what_no_task_writes_is_no_event(before: str, read: str) -> None:
    """Only what another task could tell apart is interleaved."""
    text = f"{before}\ny = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = parallel(_)\ny[i] = {read}\nend"
    assert explored(text).verdict.interleavings == 2


@pytest.mark.parametrize(("leaf", "expected"), [("Atomic", "order-dependent"), ("Element", "race")])
def test_overwriting_depends_on_the_order(leaf: str, expected: str) -> None:
    """The last one wins: with atomic stores that is no race, but still two results."""
    text = f"c = Tensor(Dense({leaf}(0)), 1)\nc .= 0\nfor i = parallel(1:2)\nc[1] = i\nend"
    assert verdict(text) == expected
    assert outcomes(text) == {"{'c': [1]}": 1, "{'c': [2]}": 1}


def test_outcomes_count_by_value_not_by_memory() -> None:
    """The thread whose shard holds a column is no part of the result."""
    text = """
        d = cpu(:d, 2)
        C = Tensor(Dense(Shard(d, SparseList(Element(0)))), 1, 2)
        C .= 0
        for j = parallel(_, d, dynamic_schedule(1))
            for i = _
                C[i, j] += j
            end
        end
    """
    found = explored(text).verdict
    assert (found.verdict, len(found.results)) == ("safe", 1)
    assert found.executions > 1


def test_nested_devices_in_order_are_safe_and_out_of_order_fault() -> None:
    """The nested inner product's format: the loop over dev2 inside of that over dev1, and the reverse."""
    text = """
        dev1 = cpu(:d1, 2)
        dev2 = cpu(:d2, 2)
        C = Tensor(Dense(Shard({outer}, Dense(Shard({inner}, Element(0))))), 1, 2)
        C .= 0
        for j = parallel(_, dev1)
            for i = parallel(_, dev2)
                C[i, j] += i * j
            end
        end
    """
    assert verdict(text.format(outer="dev1", inner="dev2")) == "safe"
    swapped = explored(text.format(outer="dev2", inner="dev1")).verdict
    assert swapped.verdict == "fault"
    assert all("outside of a task of the device" in fault.message for fault in swapped.faults)


def test_equal_thread_ids_of_nested_devices_share_a_shard() -> None:
    """Threads of dev2 under different threads of dev1 have equal ids, and Shard(dev2) alone does not part them."""
    text = """
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        C = Tensor(Dense(Dense(Shard(e, Element(0)))), 1, 2)
        C .= 0
        for j = parallel(_, d)
            for i = parallel(_, e)
                C[i, j] += j
            end
        end
    """
    assert ("C", 1, "Shard", "cousin") in races(text)


# --------------------------------------------------------------------------------------------------------------- replay


@pytest.mark.parametrize("text", [
    DEPENDENT.format(leaf="Element"),
    two_task_witness("SparseList", "sibling"),
    two_task_witness("SparseByteMap", "cousin"),
    "x = 0\nfor i = parallel(1:3, cpu(3))\nx = x + 1\nend",
])  # fmt: skip
def test_every_race_replays_to_its_two_accesses(text: str) -> None:
    """The last two visible steps of a race's interleaving are its two accesses, back to back, on one cell."""
    found = explored(text)
    program = api.parse("\n".join(line.strip() for line in text.strip().splitlines()))
    assert found.verdict.races
    for race in found.verdict.races:
        replay = api.replay(program, race.interleaving)
        taken = [step for step in replay.steps if step.visible]
        named = sum(int(entry.partition("*")[2] or 1) for entry in race.interleaving.split(","))
        first, second = taken[named - 2], taken[named - 1]
        assert (first.task, second.task) == (race.first.task, race.second.task)
        assert any(a.races(b) and str(a.cell) == race.cell for a in first.footprint for b in second.footprint)


def test_every_result_replays_to_its_values() -> None:
    text = DEPENDENT.format(leaf="Element")
    program = api.parse("\n".join(line.strip() for line in text.strip().splitlines()))
    found = explored(text).verdict
    assert len(found.results) == 2
    for result in found.results:
        replay = api.replay(program, result.interleaving)
        list(replay.steps)
        assert replay.end == "finished"
        assert replay.machine.outcome(replay.state) == result.outcome


def test_a_cut_search_is_never_safe() -> None:
    program = api.parse("c = Tensor(Dense(Atomic(0)), 9)\nc .= 0\nfor i = parallel(_)\nc[i] += 1\nend")
    cut = api.explore(program, max_states=3).verdict
    assert (cut.verdict, cut.complete, cut.stopped_by, cut.interleavings) == ("incomplete", False, "max-states", None)


def test_towers_number_the_leaf_one() -> None:
    """Level numbers count from the leaf; a modifier has the number of the level that it wraps."""
    bound = api.bind(api.parse("d = cpu(:d, 2)\nC = Tensor(Dense(Shard(d, SparseList(Element(0)))), 1, 2)\nC .= 0"))
    tower: Tower = bound.towers["C"]
    assert [(level.name, number) for level, number in zip(tower.levels, tower.numbers, strict=True)] == [
        ("Dense", 3), ("Shard", 2), ("SparseList", 2), ("Element", 1),
    ]  # fmt: skip
