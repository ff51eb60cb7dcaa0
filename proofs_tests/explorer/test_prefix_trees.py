"""Parts of the tree of runs, searched one after the other: each trace is in one part only, and none is lost."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.explorer.test_dpor import searched
from proofs_tests.explorer.test_strategies import findings
from proofs_tests.explorer.tiny import programs
from proofs_tests.several import FORK, counted
from wingspan.explorer import Machine, Search, Verdict, checkpoint, dpor, search
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.findings import SearchStatistics, verdict
from wingspan.explorer.prefix_tree import ChoicePoint, ExplorationPrefix, PrefixTree
from wingspan.explorer.states import States
from wingspan.testing.litmus import Litmus, Store, lastzero, lockinc, ninc


def in_parts(machine: Machine[Any], several: int, most: int, seed: int) -> Verdict:
    """The verdict by searches that take turns, each of up to so many runs.

    Which of them goes on, for how long, whether a part is split, and whether all is written down and read again, is
    left to chance.
    """
    there, covered, parts = States(machine), SearchStatistics("dpor"), PrefixTree()
    searching: list[ExplorationPrefix] = []
    rng = random.Random(seed)

    def turn() -> None:
        while len(parts.waiting) < several and rng.random() < 0.9 and parts.split():
            pass
        while parts.waiting and len(searching) < several and rng.random() < 0.7:
            searching.append(parts.pop())
        if searching:
            search = Dpor(there)
            search.resume(searching.pop(rng.randrange(len(searching))))
            done = search.run(rng.randint(1, most))
            parts.put_back(search.prefix(), done)
            covered.executions += search.executions
            covered.ends.update(search.ends)

    def walk() -> None:
        nonlocal parts
        while parts.waiting or searching:
            turn()
            if rng.random() < 0.1:
                kept = json.dumps([parts.current(place) for place in (*parts.waiting, *searching)])
                parts = PrefixTree(map(ExplorationPrefix.from_json, json.loads(kept)))
                searching.clear()
        assert all(below is None for below in parts.tree.values())

    there.search(walk)
    return verdict(there, covered, None, False)


@settings(max_examples=many(400), derandomize=True, deadline=None)
@given(programs(), st.integers(1, 5), st.integers(1, 20), st.integers(0, 2**32))
def test_parts_have_each_trace_once(machine: Litmus, several: int, most: int, seed: int) -> None:
    """In whatever order they are searched, and wherever they are split, down to a run each; and the same findings."""
    one, parts = searched(machine)[0], in_parts(machine, several, most, seed)
    assert findings(parts) == findings(one)
    assert counted(parts) == counted(one)


@pytest.mark.parametrize("machine", [lastzero(6), ninc(4), lockinc(5)], ids=lambda machine: "")
@pytest.mark.parametrize("seed", few(range(5), 2))
def test_what_wakes_late_is_not_lost(machine: Litmus, seed: int) -> None:
    """Programs with many traces, so that parts come of parts; in the first one runs end asleep."""
    parts = in_parts(machine, 3, 5, seed)
    assert counted(parts) == counted(searched(machine)[0])


@FORK
@pytest.mark.parametrize("machine", few([ninc(3), lastzero(3)], 1), ids=lambda machine: "")
def test_the_last_part_of_a_search_is_not_all_of_it(machine: Litmus, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process that takes it up goes after what it wishes for on the way there, too."""
    monkeypatch.setattr(search, "RERUN", -1)
    for seed in range(max(2, many(10))):
        executions, kept = divided(machine, random.Random(seed))
        assert kept
        for states, told in kept:
            assert resumed(machine, states, told) == executions == searched(machine)[1].executions


def divided(machine: Litmus, rng: random.Random) -> tuple[int, list[tuple[dict[str, bytes], dict[str, Any]]]]:
    """The number of executions, by parts of a run each.

    And states and search as they are kept, whenever it has one part, which is not all of it.
    """
    there, parts, covered = States(machine), PrefixTree(), SearchStatistics("dpor")
    kept: list[tuple[dict[str, bytes], dict[str, Any]]] = []

    def walk() -> None:
        while parts.waiting:
            if len(parts.waiting) == 1 and parts.waiting[0].shared:
                told = dpor.save_position(covered, list(map(parts.current, parts.waiting)))
                kept.append((there.keep(), json.loads(json.dumps(told))))
            parts.split()
            rng.shuffle(parts.waiting)
            one = Dpor(there)
            one.resume(parts.pop())
            done = one.run(1)
            parts.put_back(one.prefix(), done)
            covered.executions += one.executions
            covered.ends.update(one.ends)

    there.search(walk)
    return covered.executions, kept


def resumed(machine: Litmus, kept: dict[str, bytes], told: dict[str, Any]) -> int:
    """The final number of executions of a search that one process resumes."""
    again, found = States(machine), SearchStatistics("dpor")

    def walk() -> None:
        nonlocal found
        again.reenter(kept["parents"], kept["by"])
        traces, _ = Search().restore_traces(again, told)
        traces.finish(checkpoint.Checkpoint(None, ""))
        found = traces.coverage()

    again.search(walk)
    return found.executions


def test_a_wish_is_granted_once() -> None:
    """Of two parts that wish for the same on their way, which they share: also if it has been explored by then."""
    parts = PrefixTree()
    parts.put_back(parts.pop()._replace(own=(ChoicePoint((), "1", (("2", "1"),)),), begun=True), False)
    assert parts.split() and not parts.split()
    one, two = parts.pop(), parts.pop()
    assert (one.shared, one.sequences) == ((ChoicePoint((), "2", earlier=("1",)),), (("1",),))
    assert (two.shared, two.sequences) == ((ChoicePoint((), "1", later=("2",)),), ())
    for place, new in ((one, ["3"]), (two, [])):
        (fork,) = place.shared
        parts.put_back(place._replace(shared=(fork._replace(sequences=(("3", "4"),)),)), True)
        assert [part.shared[-1].task for part in parts.waiting] == new
        for _ in new:
            parts.put_back(parts.pop(), True)
    assert parts.tree == {"1": None, "2": None, "3": None}


def test_a_wish_for_a_task_that_waits_by_now_takes_nothing_along() -> None:
    """While one search wishes for t b a r r another one wishes for a, so that a waits below t and b.

    The order in which two parts begin is told; all of p is searched after one run of s.
    """
    code = {"r": "xyz", "c": "x", "b": "w", "q": "y", "a": "z", "t": "k", "p": "ywzx", "s": "k", "g": "k"}
    number = {name: str(n) for n, name in enumerate(code, start=1)}
    machine = Litmus(*[tuple(Store(cell, n) for cell in cells) for n, cells in enumerate(code.values(), start=1)])

    def part(fork: ChoicePoint, *wishes: str) -> ExplorationPrefix:
        return ExplorationPrefix((fork,), sequences=tuple(tuple(number[name] for name in wish) for wish in wishes))

    p, s = number["p"], number["s"]
    parts = PrefixTree(
        [part(ChoicePoint((), p, later=(s,)), "tqpppba", "tbarr"), part(ChoicePoint((), s, earlier=(p,)), "ag")]
    )
    there, executions = States(machine), 0

    def go_on(place: ExplorationPrefix, most: int = -1) -> None:
        nonlocal executions
        search = Dpor(there)
        search.resume(place)
        done = search.run(most)
        parts.put_back(search.prefix(), done)
        executions += search.executions

    def walk() -> None:
        second, first = parts.pop(), parts.pop()
        go_on(second, 1)
        go_on(first)
        while parts.waiting:
            go_on(parts.pop())

    there.search(walk)
    assert executions == searched(machine)[1].executions == 1620
