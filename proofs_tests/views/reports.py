"""Reports on searches and replays, made up by hand, and a terminal to print them on."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from typing import Any

from wingspan import api
from wingspan.base.errors import Span
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.machine import Blocked, CellAccess, Effect
from wingspan.explorer.verdict import AccessReport, Race, Result, Verdict
from wingspan.results.outcome import Outcome
from wingspan.views.view import Action, ExploreReport, Invocation, ReplayReport, exploration_report

TEXT = """\
c = Tensor(Dense(Element(0)), 3)
x = 0
c .= 0
for i = parallel(1:3)
    c[1] += i
    x = x + i
    c[1] += i
end
return c
"""
PROGRAM = api.bind(api.parse(TEXT, "demo.ws"))
TREE = PROGRAM.plain
(SOURCE,) = {node.span.source for node in TREE.walk() if node.span}
RACED = Span(SOURCE, 5, 5, 5, 14)


def outcome(*values: int | Fraction) -> Outcome:
    return Outcome((("c", (len(values),), values),))


RIGHT = outcome(6, 0, 0)


def result(values: Outcome, n: int | None, interleaving: str = "1*2,2*2", **more: Any) -> Result:
    return Result(values, n, interleaving, **more)


def access(task: str, operation: str, span: Span | None = RACED, index: int | None = None) -> AccessReport:
    return AccessReport(task, "Assign", operation, 1, index, span, (("i", int(task[-1])), ("s1", 1)))


OVERFLOW = FaultReport("overflow", "2", "Call", RACED, (("i", 3), ("s1", 1)), "1,2")
STUCK = Deadlock((Blocked("", "lock a", ""),), "-")


def race(**changes) -> Race:
    first, second = access("1", "read"), access("2", "write")
    return replace(Race("c", 1, "Element", "val", "node", "c.val[1]", first, second, "1,2"), **changes)


def report(*results: Result, expected: Outcome | None = RIGHT, **changes: Any) -> ExploreReport:
    """A report on a complete search that found these results, all interleavings counted, with some of it changed."""
    total = sum(found.interleavings or 0 for found in results)
    made = Verdict("safe", True, None, "graph", "semantics", 3, total, 20, 30, 0.5, results, (), (), ())
    return exploration_report(api.Exploration(replace(made, **changes), PROGRAM, expected), Invocation("demo.ws"))


def cut_short(*results: Result, **changes) -> ExploreReport:
    """The same of a search that was stopped."""
    verdict: dict[str, Any] = {
        "verdict": "incomplete",
        "complete": False,
        "stopped_by": "max-states",
        "interleavings": None,
    }
    return report(*results, **(verdict | changes))


def action(task: str, effect: Effect | None = None, value: object = 0) -> Action:
    touches = () if effect is None else (CellAccess("c.val[1]", effect, "c", 1, "Element", "val", 1, None, value),)
    return Action(task, "Assign", RACED, touches, effect is not None)


def told(*actions: Action, given: int = 0, **changes: Any) -> ReplayReport:
    """A run in which each task stands at every visible step, and that ends well."""
    everywhere: dict[str, Span | None] = {action.task: RACED for action in actions}
    places = (everywhere,) * sum(action.visible for action in actions)
    return replace(
        ReplayReport(Invocation("demo.ws"), "…", given, None, actions, (*places, {}), "finished", None, RIGHT, TREE),
        **changes,
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
