"""Runs to print in the formats of replays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

from hypothesis import strategies as st

from proofs_tests.places import ROOT
from wingspan import api
from wingspan.explorer import format_interleaving, replay
from wingspan.results.outcome import Outcome
from wingspan.testing.litmus import Add, Check, Litmus, LitmusState, Load, Lock, Private, Program, Store, Unlock
from wingspan.views.view import Invocation, ReplayReport, replay_report

EXAMPLES = ROOT / "examples"
EMPTY = api.bind(api.parse("x = 0")).plain


class Named(Litmus):
    """The litmus machine with outcomes of the kind that reports show."""

    def outcome(self, state: LitmusState) -> Outcome:
        return Outcome(())


CELLS = ('a;b "#35;" <br/>', "end\n%% x: {y}")
"""Names that mean something to Mermaid or Graphviz."""

BLOCKS: list[Program] = [
    *((access,) for cell in CELLS for access in (Load(cell), Store(cell, 1), Add(cell), Check(cell, 0))),
    *((Lock("m"), access, Unlock("m")) for access in (Load(CELLS[0]), Store(CELLS[1], 1))),
    (Lock("m"), Lock("n"), Unlock("n"), Unlock("m")),
    (Lock("n"), Private(), Lock("m"), Unlock("m"), Unlock("n")),
]


def programs(least: int, most: int) -> st.SearchStrategy[Program]:
    parts = st.lists(st.sampled_from(BLOCKS), min_size=least, max_size=most)
    return parts.map(lambda drawn: tuple(step for part in drawn for step in part))


@st.composite
def runs(draw: st.DrawFn) -> ReplayReport:
    """Replays of random machines, some of which fault, lock up, or stop matching."""
    machine = Named(*draw(st.lists(programs(2, 4), min_size=2, max_size=3)), after=draw(programs(0, 1)))
    tasks = draw(st.lists(st.sampled_from(["1", "2", "3"] * 4 + [""]), max_size=12))
    match draw(st.sampled_from(["as it is", "fitting", "racing", "racing"])):
        case "fitting":
            tasks = fitting(machine, tasks)
        case "racing":
            tasks = fitting(machine, tasks)
            starts = (tasks[:n] for n in range(len(tasks), -1, -1))
            more = ([*start, *pair] for start in starts for pair in permutations(machine.paths[1:], 2))
            tasks = next((longer for longer in more if followed(machine, longer).racing), tasks)
    return followed(machine, tasks)


def followed(machine: Litmus, tasks: Sequence[str]) -> ReplayReport:
    text = format_interleaving(tasks)
    return replay_report(replay(machine, text), text, EMPTY, Invocation("litmus.ws"))


def fitting(machine: Litmus, tasks: Sequence[str]) -> list[str]:
    """The interleaving without what does not match."""
    kept: list[str] = []
    for task in tasks:
        run = replay(machine, [*kept, task], finish=False)
        list(run)
        kept += [task] if run.mismatch is None else []
    return kept


def report_on(written: api.Program | Path, machine: str, interleaving: str) -> ReplayReport:
    bound = api.bind(written)
    followed = api.replay(bound, interleaving, machine=machine)
    return replay_report(followed, interleaving, bound.plain, Invocation("program.ws", machine=machine))


quizzes = sorted(EXAMPLES.glob("quiz_*.ws"))


@st.composite
def programs_run(draw: st.DrawFn) -> ReplayReport:
    """Replays of the programs that are broken on purpose."""
    tasks = draw(st.lists(st.sampled_from(["1", "2", "1.1", "2.1", "0"]), min_size=1, max_size=8))
    return report_on(draw(st.sampled_from(quizzes)), draw(st.sampled_from(api.MACHINES)), ",".join(tasks))
