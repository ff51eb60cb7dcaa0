"""The trace document: everything that a page, a notebook or a lesson shows of a small program, as plain data.

Its type is `json_types.Document`, which its JSON Schema is made from. Members are added without a new version; VERSION
changes when one is removed or means something else.

Repeated parts (lines of configurations, cells, steps, stores, fibertrees) are in tables, and referred to by their
index, from 0. So a document of some hundred states stays small.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wingspan import api
from wingspan.api.binding import Runnable
from wingspan.api.properties import observable
from wingspan.base.errors import Span
from wingspan.explorer.incident import FaultReport, Incident, explain_blocked
from wingspan.explorer.interleaving import by_path, format_interleaving, parse_interleaving
from wingspan.explorer.machine import READING, CellAccess
from wingspan.explorer.properties import PropertyReport
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import Race, Result
from wingspan.lang.printer import copy, term
from wingspan.results.listing import chance, listing, share
from wingspan.results.outcome import Outcome, differing
from wingspan.results.words import describe_accesses
from wingspan.semantics.config import ProgramState
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.notation import configuration
from wingspan.semantics.reads import NONE, PendingRead, PendingReads
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import latex, schema
from wingspan.trace.graph import Trace, TraceEdge, TraceNode
from wingspan.trace.memory import environment, show_contents
from wingspan.trace.session import right_values
from wingspan.trace.trees import Tree

if TYPE_CHECKING:
    from wingspan.trace import json_types as types

VERSION: Final = 1

MOST, STEPS = 1_000, 50_000
"""The default numbers of states in a document, and of steps between them."""
OTHERS = 3
"""The most views beyond the first of each state, for each state; further paths share the first view of their state."""
MOMENTS = 300
"""The most moments before invisible steps in a document. Those before state 0 come first, then the nearest."""
SEARCHED = 10_000
"""The number of states that are searched for results and findings."""


def document(
    program: Runnable, max_states: int = MOST, ways: Sequence[str] = (), watches: Sequence[str] = (), **binding: Any
) -> types.Document:
    """The trace document of a program: its states, steps and results as plain data. docs/trace.md describes it.

    Results and findings are those of a search of `SEARCHED` states, or of `max_states` if those are more. Steps that
    may change what is watched are visible.

    Args:
        program: a program, or the path of its file.
        max_states: the number of states that it has, at most.
        ways: interleavings whose states it has, too.
        watches: expressions whose values it has in each state.
        binding: `inputs`, `params` and `threads`, as for `wingspan.api.bind`.

    Raises:
        ProgramError, InputError: the program, an input or a parameter does not fit.
    """
    bound = api.bind(program, **binding)
    seen = observable(bound, watches)
    found = api.explore(bound, strategy="graph", max_states=max(max_states, SEARCHED), watch=seen)
    return document_of(found, max_states, ways, watches)


def document_of(
    exploration: api.Exploration,
    max_states: int = MOST,
    ways: Sequence[str] = (),
    watches: Sequence[str] = (),
    tick: Callable[[], None] = lambda: None,
) -> types.Document:
    """The trace document of a program that was explored under the rules.

    If the program has more states than `max_states`, the document has those on the paths to all results and findings,
    and those nearest to these, with STEPS steps between them; its member `complete` is then false.

    Args:
        found: what `wingspan.explore` returned.
        max_states: the number of states, at most.
        ways: interleavings; the states on their paths are included, too.
        watches: expressions whose values it has in each state. Steps that may change these are visible if they were in
            the exploration, that is, if its argument `watch` had them.
        tick: called before each step and each state; what it raises ends the computation.
    """
    return _Document(exploration, max_states, ways, watches, tick).to_dict()


class _Table:
    """Values that repeat, each once."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        """The index of the row with this key. A new key adds a row."""
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(make())
        return self._numbers[key]


class _Document:
    def __init__(
        self,
        exploration: api.Exploration,
        max_states: int,
        ways: Sequence[str],
        watches: Sequence[str],
        tick: Callable[[], None],
    ) -> None:
        verdict = exploration.verdict
        watches = tuple(dict.fromkeys((*(asked.text for asked in verdict.properties), *watches)))
        trace = Trace(exploration.program, watches, observing=exploration.watched, tick=tick)
        self.trace, self.verdict, self.expected = trace, verdict, exploration.expected
        self.lines, self.cells, self.steps, self.reads, self.stores, self.trees, self.moments = (
            _Table() for _ in range(7)
        )
        self.outcomes = {result.outcome: number for number, result in enumerate(verdict.results)}
        self.differing = differing(outcome for outcome in self.outcomes if isinstance(outcome, Outcome))
        incidents: list[Race | Incident | PropertyReport] = [*verdict.races, *verdict.faults, *verdict.deadlocks]
        incidents += (each for each in verdict.properties if each.interleaving is not None)
        found_on = (each.interleaving or "-" for each in (*verdict.results, *incidents))
        for interleaving in (*found_on, *ways):
            list(trace.walk(parse_interleaving(interleaving)))
        known = tuple(trace.nodes)
        _, self.complete = trace.ahead(*known, most=max_states, steps=STEPS)
        self.nodes = trace.nodes[: max(len(known), max_states)]
        self.findings = [self._finding(each) for each in incidents]

    def to_dict(self) -> types.Document:
        """The document."""
        bound, verdict = self.trace.program, self.verdict
        before = self._moments(self.trace.machine.initial(), self.trace.begin)
        edges = [edge for node in self.nodes for edge in self.trace.edges(node)]
        places = {(edge.source.number, edge.step.task): number for number, edge in enumerate(edges)}
        states = [self._state(node, places) for node in self.nodes]
        shown = [self._edge(edge, places) for edge in edges]
        source = self.trace.source
        begin = [self._step(step) for step in self.trace.begin]
        return {
            "format": "wingspan-trace",
            "version": VERSION,
            "program": {"name": source.name, "text": source.text.splitlines()},
            "tensors": [self._tensor(name) for name in bound.towers],
            "watches": list(self.trace.watches.texts),
            "rules": [_rule(name) for name in ALL],
            "tasks": sorted({step["task"] for step in self.steps.rows}, key=by_path),
            "begin": begin,
            "before": before,
            "states": states,
            "edges": shown,
            "views": self._views(places, shown),
            "complete": self.complete,
            "verdict": verdict.verdict,
            "interleavings": None if verdict.interleavings is None else str(verdict.interleavings),
            "results": [self._result(result) for result in verdict.results],
            "findings": self.findings,
            "lines": self.lines.rows,
            "cells": self.cells.rows,
            "steps": self.steps.rows,
            "reads": self.reads.rows,
            "stores": self.stores.rows,
            "trees": self.trees.rows,
            "moments": self.moments.rows,
        }

    # -------------------------------------------------------------------------------------------------------- states

    def _state(self, node: TraceNode, places: dict[tuple[int, str], int]) -> types.State:
        outcome = self.trace.outcome(node)
        return {
            **self._contents(node.state),
            "enabled": [places[node.number, task] for task in node.steps],
            "races": [[places[node.number, one], places[node.number, other]] for one, other in node.races],
            "waiting": [
                {"task": each.task or "0", "at": _span(each.span), "text": explain_blocked(each)}
                for each in node.waiting
            ],
            "reads": [
                {
                    "task": read.task or "0",
                    "cell": self._cell(read.cell),
                    "value": term(read.value),
                    "over": None if read.over is None else read.over or "0",
                }
                for read in node.reads.by_task
            ],
            "result": None if outcome is None else self.outcomes.get(outcome),
            "end": {"kind": node.end, "text": self.trace.ending(node)} if node.end else None,
        }

    def _contents(self, state: ProgramState) -> types.Contents:
        self.trace.tick()
        lines, redexes = configuration(state, self.trace.program.towers)
        return {
            "cells": [
                [self._cell(cell), show_contents(value)] for cell, value in sorted(state.heap.items(), key=_cell_key)
            ],
            "trees": [self._tree(tree) for tree in self.trace.trees(state, self._cell).values()],
            "stores": [self._store(task, names) for task, names in environment(state)],
            "watched": self.trace.watches.values(state),
            "configuration": {
                "lines": [self.lines.number(line, partial(str, line)) for line in lines],
                "redexes": [
                    {"task": at.task or "0", "span": [at.line, at.column, at.end_line, at.end_column]} for at in redexes
                ],
            },
        }

    def _moments(self, state: ProgramState, steps: Sequence[DerivedStep]) -> list[int]:
        """The moments before these steps, or before the first of them; the first step is taken in this state."""
        found = []
        for step in steps:
            if len(self.moments.rows) >= MOMENTS:
                break
            spans = ((task, state.focus_on(task).focus.span) for task in self.trace.machine.tasks(state))
            standing: list[types.Standing] = [{"task": task or "0", "at": _span(at)} for task, at in spans]
            moment: types.Moment = {**self._contents(state), "standing": standing}
            found.append(self.moments.number(json.dumps(moment), partial(dict, moment)))
            assert isinstance(step.next, ProgramState)
            state = step.next
        return found

    def _views(self, places: dict[tuple[int, str], int], edges: Sequence[types.Edge]) -> list[types.View]:
        """The first view of each state, in order; then those of other paths on which tasks have read something else."""
        first: dict[int, types.View] = {}
        others: list[types.View] = []
        numbers: dict[Hashable, int] = {}
        queue: deque[tuple[types.View, TraceNode, PendingReads, tuple[int, ...]]] = deque()

        def enter(node: TraceNode, reads: PendingReads, path: tuple[int, ...]) -> int:
            """The view of a state after these steps."""
            key = (
                node.number,
                frozenset(
                    (read.task, read.cell, path[read.number - 1], None if read.over is None else path[read.since - 1])
                    for read in reads.all
                ),
            )
            if key not in numbers and (node.number not in first or len(others) < OTHERS * len(self.nodes)):
                view: types.View = {"state": node.number, "reads": list(map(self._read, reads.by_task)), "next": {}}
                if node.number not in first:
                    numbers[key], first[node.number] = node.number, view
                else:
                    numbers[key] = len(self.nodes) + len(others)
                    others.append(view)
                queue.append((view, node, reads, path))
            return numbers.get(key, node.number)

        enter(self.nodes[0], NONE, ())
        while queue:
            view, node, reads, path = queue.popleft()
            for number, task in enumerate(node.steps):
                edge, shown = self.trace.edge(node, task), edges[places[node.number, task]]
                after, lost = reads.after_step(edge.step)
                taken = (*path, shown["step"])
                onward = None if edge.target is None or shown["target"] is None else enter(edge.target, after, taken)
                if onward != shown["target"] or lost is not None:
                    view["next"][str(number)] = [onward, None if lost is None else _refer(lost.text, taken)]
        return [*(first[node.number] for node in self.nodes), *others]

    def _read(self, read: PendingRead) -> int:
        shown: types.ShownRead = {
            "task": read.task or "0",
            "cell": self._cell(read.cell),
            "text": read.text,
            "old": read.over is not None,
        }
        return self.reads.number(json.dumps(shown), lambda: shown)

    def _cell(self, cell: Hashable) -> int:
        return self.cells.number(cell, lambda: self._describe_cell(cell))

    def _describe_cell(self, cell: Any) -> types.Cell:
        """A cell of a tensor, or a variable that tasks share."""
        if not hasattr(cell, "depth"):
            return {"name": str(cell)}
        tower = self.trace.program.towers[cell.tensor]
        return {
            "name": str(cell),
            "tensor": cell.tensor,
            "level": tower.numbers[cell.depth],
            "level_name": tower.levels[cell.depth].name,
            "buffer": cell.buffer,
            "copy": copy(cell.instance),
            "offset": cell.offset,
        }

    def _tree(self, tree: Tree | None) -> int | None:
        return None if tree is None else self.trees.number(json.dumps(tree), lambda: tree)

    def _store(self, task: str, names: dict[str, str]) -> int:
        return self.stores.number((task, *names.items()), lambda: {"task": task or "0", "names": names})

    # --------------------------------------------------------------------------------------------------------- steps

    def _edge(self, edge: TraceEdge, places: dict[tuple[int, str], int]) -> types.Edge:
        source, task = edge.source, edge.step.task
        kept = edge.target is not None and edge.target.number < len(self.nodes)
        lost = edge.lost
        made: types.Edge = {
            "source": source.number,
            "target": edge.target.number if edge.target is not None and kept else None,
            "step": self._step(edge.step),
            "then": [self._step(step) for step in edge.then],
            "before": self._moments(edge.step.next, edge.then) if isinstance(edge.step.next, ProgramState) else [],
            "fault": edge.fault,
            "raced": [places[source.number, other] for other in source.racing(task)],
            "lost": None
            if lost is None
            else {"cell": self._cell(lost.cell), "writer": lost.writer or "0", "value": term(lost.value)},
        }
        (key,) = (key for key, each in source.keys.items() if each == task)
        if key != (task or "0"):
            made["key"] = key
        return made

    def _step(self, step: DerivedStep) -> int:
        made: types.Step = {
            "task": step.task or "0",
            "rule": step.rule,
            "at": _span(step.span),
            "indices": {name: str(index) for name, index in step.indices},
            "text": describe_accesses(step.footprint),
            "place": self.trace.place(step),
            "values": right_values(step),
            "accesses": [self._access(touch) for touch in step.footprint],
            "done": step.done,
            "letters": step.letters,
            "premises": [[each.schema, each.instance, each.shown] for each in step.premises],
            "conclusion": step.conclusion,
        }
        return self.steps.number(json.dumps(made), lambda: made)

    def _access(self, touch: CellAccess) -> types.Access:
        return {
            "operation": OPERATIONS[touch.effect],
            "writes": touch.effect not in READING,
            "cell": self._cell(touch.cell),
            "value": None if touch.effect in ("acquire", "release") else term(touch.value),
        }

    # ------------------------------------------------------------------------------------------------- what was found

    def _tensor(self, name: str) -> types.Tensor:
        tower = self.trace.program.towers[name]
        levels: list[types.Level] = [
            {"number": n, "name": level.name} for n, level in zip(tower.numbers, tower.levels, strict=True)
        ]
        return {"name": name, "format": str(tower), "shape": list(tower.shape), "levels": levels}

    def _result(self, result: Result) -> types.Result:
        values = json.loads(json.dumps(result.outcome.values(), default=str))
        assert isinstance(result.outcome, Outcome)
        serial = None if self.expected is None else result.outcome == self.expected
        how = {True: "the sequential result", False: "not the sequential result", None: ""}[serial]
        return {
            "values": values,
            "texts": {name: json.dumps(held) for name, held in values.items()},
            "text": listing(result.outcome, self.differing or None),
            "how": how,
            "about": ", ".join(filter(None, (how, self._frequency(result)))),
            "interleaving": result.interleaving,
            "interleavings": None if result.interleavings is None else str(result.interleavings),
            "probability": result.probability,
            "serial": serial,
        }

    def _frequency(self, result: Result) -> str:
        """The part of all interleavings that end so, and the probability of it under random choices."""
        total, parts = self.verdict.interleavings, []
        if total is not None and result.interleavings is not None:
            parts.append(f"{share(result.interleavings, total)} of {total} interleavings")
        if result.probability is not None:
            parts.append(f"chance {chance(result.probability)}")
        return ", ".join(parts)

    def _finding(self, finding: Race | Incident | PropertyReport) -> types.Finding:
        interleaving = finding.interleaving or "-"
        tasks = parse_interleaving(interleaving)
        states = [0, *(edge.target.number for edge in self.trace.walk(tasks) if edge.target is not None)]
        match finding:
            case Race():
                kind, text, before = "race", _race(finding), self.trace.approach(finding)
            case FaultReport():
                kind, text, before = "fault", finding.message, tasks[:-1]
            case PropertyReport():
                kind, text, before = "property", f"{finding.kind} {finding.text}: {finding.answer}", tasks
            case _:
                kind, text, before = "deadlock", finding.message, tasks
        return {
            "kind": kind,
            "text": text,
            "interleaving": interleaving,
            "before": format_interleaving(before),
            "states": states,
        }


def _rule(name: str) -> types.Rule:
    rule = ALL[name]
    drawn = schema(rule)
    return {
        "name": name,
        "figure": rule.figure,
        "unicode": drawn.drawing,
        "latex": [latex(case) for case in drawn.cases],
        "note": drawn.note,
    }


def _refer(text: str, path: Sequence[int]) -> list[str | int]:
    """A text in pieces, the steps of a path that it numbers by their places in `steps`."""
    pieces = re.split(r"(\d+)", text)
    return [path[int(piece) - 1] if place % 2 else piece for place, piece in enumerate(pieces)]


def _race(race: Race) -> str:
    first, second = race.first, race.second
    accesses = (f"task {side.task or '0'} ({side.operation})" for side in (first, second))
    return f"{' and '.join(accesses)} race on {race.cell}"


def _span(span: Span | None) -> list[int] | None:
    return None if span is None else [span.line, span.column, span.end_line, span.end_column]


def _cell_key(item: tuple[Any, Any]) -> Any:
    cell, _ = item
    return cell.tensor, cell.depth, cell.instance, cell.buffer, cell.offset
