"""Under symmetry a search finds what it finds without, in fewer states, and counts the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.explorer.symmetric import assert_the_same
from proofs_tests.explorer.test_litmus import Draw
from proofs_tests.explorer.tiny import blocks
from proofs_tests.explorer.walking import cost
from proofs_tests.exploring import explore_graph
from proofs_tests.several import FORK
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.explorer import Search, explore
from wingspan.explorer.states import States
from wingspan.explorer.symmetry import canonical_form
from wingspan.testing.litmus import (
    Add,
    Jump,
    Litmus,
    LitmusState,
    Load,
    Lock,
    Program,
    Spawn,
    Store,
    Take,
    Unlock,
    chunk,
    lockinc,
    ninc,
)

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


def renamed(machine: Litmus, state: LitmusState, order: tuple[int, ...]) -> LitmusState:
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
    assert len({canonical_form(*machine.anonymize(state)) for state in all_of_them}) == len(orbits)
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
    """In an equivalent state, either task could continue; one of them costs a preemption more."""
    assert assert_the_same(Litmus(task, task)) is not None


def test_who_waits_in_a_deadlock_is_told_by_the_names_of_its_interleaving() -> None:
    """In whatever state that counts as the same it was found."""
    nested = Spawn(((Store("x", 1), Store("x", 2)), (Take("x", 2), Lock("m"))))
    task: Program = (Store("x", 1, relative=True), nested, Store("x", 1, relative=True))
    assert assert_the_same(Litmus(task, task)) is not None


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
            if name in ("anonymize", "asymmetry"):
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
