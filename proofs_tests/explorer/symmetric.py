"""The findings of a search under symmetry, beside those without."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

import pytest

from proofs_tests.explorer.walking import cost
from proofs_tests.exploring import explore_graph
from wingspan.explorer import Machine, Verdict, replay
from wingspan.explorer.incident import Deadlock, FaultReport


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
    """Replay the interleavings of a verdict: each ends as the verdict says."""
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
