"""Reports on results in Python, which no command line has asked for; the commands in them are calls."""

from __future__ import annotations

from typing import Any

from wingspan.api import Exploration
from wingspan.dependence import Report
from wingspan.explorer.interleaving import Replay, format_interleaving
from wingspan.lang import ir
from wingspan.views.view import CheckReport, ExploreReport, Invocation, ReplayReport, exploration_report, replay_report

NOTHING = ir.Program(ir.Block(()), ())


class _InPython(Invocation):
    """Wording of the calls that show more of a result about `program`."""

    def command(self, verb: str, *options: str) -> str:
        given = "".join(f", {text!r}" for text in options[1:2])
        watched = f", watch={self.watched!r}" if self.watched and verb == "replay" else ""
        return f"wingspan.{verb}(program{given}{watched})"


def _invocation(program: ir.Node, machine: str = "semantics", watched: tuple[str, ...] = ()) -> Invocation:
    return _InPython(program.source_name, machine=machine, watched=watched)


def exploration(exploration: Exploration) -> ExploreReport:
    """The report on an exploration."""
    program, machine = exploration.program.plain, exploration.verdict.machine
    return exploration_report(exploration, _invocation(program, machine, exploration.watched))


def check(report: Report) -> CheckReport:
    """The report on what the level dependence test says."""
    program = report.program or NOTHING
    return CheckReport(_invocation(program), report, program)


def replay(run: Replay[Any]) -> ReplayReport | None:
    """The report on a run, from its beginning, however far it has been followed; None of what is no program of ours."""
    if run.program is None:
        return None
    again = Replay(run.machine, run.interleaving, run.finish)
    name = format_interleaving(run.interleaving)
    return replay_report(again, name, run.program.plain, _invocation(run.program.plain, run.machine.name))
