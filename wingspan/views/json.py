"""Results as JSON objects, the ones that `wingspan/base/schemas.json` describes: the one place that makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any

from wingspan.api import Exploration, Judged, Kernel, Parallelized, Program, Run
from wingspan.api.sweeping import Sweep
from wingspan.base import documents
from wingspan.base.errors import Span
from wingspan.dependence import Finding, Proof, Report, Witness
from wingspan.explorer.incident import FaultReport, Incident
from wingspan.explorer.interleaving import Mismatch, Replay
from wingspan.explorer.machine import Blocked, Touch
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import AccessReport, Race, Result, Verdict
from wingspan.plan.pipeline import Stage
from wingspan.results.comparison import Comparison
from wingspan.results.histogram import Histogram
from wingspan.results.outcome import Outcome
from wingspan.tensors.tensor import Tensor
from wingspan.trace.reads import Lost
from wingspan.views import made as reports
from wingspan.views.values import in_order
from wingspan.views.view import Action, CheckReport, ReplayReport, number

MOST_VALUES = 256
"""A run lists the elements of tensors that have no more."""


def to_dict(result: Any) -> dict[str, Any]:
    """A result as a whole object of JSON, as `to_dict` gives it."""
    return documents.numbered(_made(result))


@singledispatch
def _made(result: Any) -> dict[str, Any]:
    raise TypeError(f"there is no JSON of a {type(result).__name__}")


@_made.register
def explore(verdict: Verdict) -> dict[str, Any]:
    """The verdict of a search."""
    return {
        "verdict": verdict.verdict,
        "complete": verdict.complete,
        "stopped_by": verdict.stopped_by,
        "strategy": verdict.strategy,
        "reason": verdict.reason,
        "remark": verdict.remark,
        "machine": verdict.machine,
        "processes": verdict.processes,
        "symmetry": verdict.symmetry,
        "told_apart": verdict.told_apart,
        "left_out": [{"what": what, "bound": bound} for what, bound in verdict.left_out],
        "executions": verdict.executions,
        "interleavings": verdict.interleavings,
        "states": verdict.states,
        "steps": verdict.steps,
        "seconds": verdict.seconds,
        "outcomes": len(verdict.results),
        "results": [_result(result) for result in verdict.frequent],
        "races": [_race(race) for race in verdict.races],
        "faults": [_incident(fault) for fault in verdict.faults],
        "deadlocks": [_incident(deadlock) for deadlock in verdict.deadlocks],
    }


@_made.register
def _(made: Exploration) -> dict[str, Any]:
    return explore(made.verdict)


def _result(result: Result) -> dict[str, Any]:
    return {
        "values": result.outcome.values(),
        "interleavings": result.interleavings,
        "executions": result.executions,
        "probability": result.probability,
        "interleaving": result.interleaving,
    }


def _race(race: Race) -> dict[str, Any]:
    return {
        "tensor": race.tensor,
        "level": race.level,
        "level_name": race.level_name,
        "kind": race.kind,
        "cell": race.cell,
        "first": _access(race.first),
        "second": _access(race.second),
        "interleaving": race.interleaving,
    }


def _access(access: AccessReport) -> dict[str, Any]:
    return {
        "task": access.task or "0",
        **_place(access.span),
        "rule": access.rule,
        "operation": access.operation,
        "position": access.position,
        "index": access.index,
    }


def _place(span: Span | None) -> dict[str, int | None]:
    return {"line": span.line if span else None, "column": span.column if span else None}


def _incident(incident: Incident) -> dict[str, Any]:
    who = (
        {"task": incident.task or "0", "rule": incident.rule}
        if isinstance(incident, FaultReport)
        else {"waiting": [_waiting(blocked) for blocked in incident.waiting]}
    )
    return {"message": incident.message, **who, **_place(incident.span), "interleaving": incident.interleaving}


def _waiting(blocked: Blocked) -> dict[str, Any]:
    holder = None if blocked.holder is None else blocked.holder or "0"
    return {
        "task": blocked.task or "0",
        "waits_for": blocked.waits_for,
        "holder": holder,
        **_place(blocked.span),
    }


def replay(report: ReplayReport) -> dict[str, Any]:
    """A run, step by step."""
    return {
        "steps": [_action(action) for action in report.actions],
        "mismatch": _mismatch(report.mismatch) if report.mismatch else None,
        "end": report.end,
        "message": report.incident.message if report.incident else None,
        "incident": _incident(report.incident) if report.incident else None,
        "values": report.outcome.values() if report.outcome else None,
    }


@_made.register
def _(made: Replay) -> dict[str, Any]:  # type: ignore[type-arg]
    report = reports.replay(made)
    if report is None:
        raise TypeError("there is no JSON of a run of a machine that runs no program")
    return replay(report)


def _mismatch(found: Mismatch) -> dict[str, Any]:
    return {
        "step": found.step,
        "task": found.task or "0",
        "reason": found.reason,
        "able": [{"task": task or "0", "rule": rule} for task, rule in found.able],
        **_place(found.span),
        "followed": found.followed,
        "left": found.left,
    }


def _action(action: Action) -> dict[str, Any]:
    return {
        "task": action.task,
        "rule": action.rule,
        **_place(action.span),
        "indices": dict(action.indices),
        "touches": [_touch(touch) for touch in action.touches],
        "visible": action.visible,
        "lost": None if action.lost is None else _lost(action.lost),
    }


def _lost(lost: Lost) -> dict[str, Any]:
    return {
        "cell": str(lost.cell),
        "writer": lost.writer or "0",
        "written": lost.written,
        "read": lost.read,
        "value": number(lost.value),
    }


def _touch(touch: Touch) -> dict[str, Any]:
    return {
        "tensor": touch.tensor,
        "level": touch.level,
        "level_name": touch.level_name,
        "buffer": touch.buffer,
        "cell": str(touch.cell),
        "operation": OPERATIONS[touch.effect],
        "position": touch.position,
        "index": touch.index,
        "value": number(touch.value),
    }


def check(told: CheckReport) -> dict[str, Any]:
    """The report of the level dependence test."""
    report = told.report
    return {
        "verdict": report.verdict,
        "test": report.test,
        "findings": [_finding(found, told) for found in report.findings],
        "advice": [{"change": one.change, "cost": one.cost, "program": one.program} for one in report.advice],
        "advice_complete": report.advice_complete,
        "proofs": [_proof(proof) for proof in report.proofs],
        "partial": [asdict(each) for each in report.partial],
        "symbols": list(report.symbols),
        "alike": report.alike,
    }


@_made.register
def _(made: Report) -> dict[str, Any]:
    return check(reports.check(made))


def _finding(found: Finding, told: CheckReport) -> dict[str, Any]:
    other = _place(found.other)
    return {
        "topic": found.topic,
        "loop": _text(found.loop.span) if found.loop else None,
        "device": told.device(found.loop) if found.loop else None,
        "tensor": found.tensor,
        "access": _text(found.access),
        "other": _text(found.other),
        "level": found.level,
        "level_name": found.level_name,
        **{key: in_order(getattr(found, key)) for key in ("required", "stability", "missing")},
        "direction": told.written_facts(found.direction),
        **_place(found.access),
        "other_line": other["line"],
        "other_column": other["column"],
        "reason": found.reason,
        "witness": _witness(found.witness, told) if found.witness else None,
    }


def _witness(witness: Witness, told: CheckReport) -> dict[str, Any]:
    sides = {"first": witness.first, "second": witness.second}
    tasks = {
        side: {"task": at.task or "0", "indices": told.written_facts(dict(at.indices))} for side, at in sides.items()
    }
    return {**tasks, "element": witness.element, "certain": witness.certain}


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "loop": _text(proof.loop.span),
        "tensor": proof.tensor,
        "access": _text(proof.access),
        "other": _text(proof.other),
        "reason": proof.reason,
    }


def _text(span: Span | None) -> str | None:
    return span.text if span else None


@_made.register
def run(made: Run) -> dict[str, Any]:
    """The results of a run."""
    small = {name: t.to_exact() for name, t in made.tensors.items() if math.prod(t.shape) <= MOST_VALUES}
    values = Outcome.of(small, made.variables).values()
    return {
        "tensors": {name: tensor(held, values.get(name)) for name, held in made.tensors.items()},
        "variables": {name: values[name] for name in sorted(made.variables)},
        "engine": made.engine,
        "reason": made.reason,
        "seconds": made.seconds,
    }


def tensor(held: Tensor, values: Any) -> dict[str, Any]:
    """A tensor, with its elements if they are few."""
    return {**_tensor(held), "values": values}


@_made.register
def _(held: Tensor) -> dict[str, Any]:
    few = math.prod(held.shape) <= MOST_VALUES
    return tensor(held, Outcome.of({"": held.to_exact()}, {}).values()[""] if few else None)


def _tensor(held: Tensor) -> dict[str, Any]:
    return {"shape": list(held.shape), "format": str(held.tower), "nnz": held.nnz}


@_made.register
def diff(made: Comparison) -> dict[str, Any]:
    """The comparison of engines."""
    found = made.difference
    return {
        "agree": found is None,
        "runs": [
            {
                "engine": end.engine,
                "fault": end.fault,
                "defect": end.defect,
                "output": end.output,
                "seconds": end.seconds,
            }
            for end in made.endings
        ],
        "left_out": dict(made.left_out),
        "difference": None if found is None else {
            "place": found.place,
            "first": {"engine": found.first, "has": found.first_has},
            "second": {"engine": found.second, "has": found.second_has},
        },
    }  # fmt: skip


@_made.register
def judge(made: Judged) -> dict[str, Any]:
    """The races of a log, beside what is predicted."""
    return {
        "accesses": made.accesses,
        "tasks": made.tasks,
        "races": [
            {
                "cell": one.race.cell,
                "first": _access(one.race.first),
                "second": _access(one.race.second),
                "predicted": one.predicted,
                "outside": one.outside,
            }
            for one in made.races
        ],
        "unseen": list(made.unseen),
        "complete": made.verdict and made.verdict.complete,
        "examined": made.examined,
        "stopped_by": made.stopped_by,
        "beyond": [{"cell": one.cell, "line": one.line, "extents": one.extents} for one in made.beyond],
    }


@_made.register
def parallelize(made: Parallelized) -> dict[str, Any]:
    """The programs that are safe, best first, and the loops that are parallel in none of them."""
    return {
        "threads": made.threads,
        "devices": list(made.devices),
        "params": dict(made.params),
        "test": made.test,
        "complete": made.complete,
        "engine": made.engine or None,
        "open": list(made.assumed),
        "candidates": [
            {
                "loops": list(one.placement.loops),
                "schedule": one.placement.schedule,
                "formats": list(one.placement.formats),
                "work": one.placement.estimate.work,
                "time": one.placement.estimate.time,
                "expected": one.expected,
                "seconds": list(one.seconds),
                "program": str(one.program),
            }
            for one in made.candidates
        ],
        "rejected": [
            {"loops": list(one.loops), "schedule": one.schedule, "reasons": list(one.reasons)} for one in made.rejected
        ],
    }


@_made.register
def stress(made: Histogram) -> dict[str, Any]:
    """The counts of the ends of runs."""
    return {
        "runs": made.runs,
        "engine": made.engine,
        "mode": made.mode,
        "machine": made.verdict.machine,
        "complete": made.verdict.complete,
        "surprises": len(made.surprises),
        "observed": [
            {
                "values": one.end.values() if isinstance(one.end, Outcome) else None,
                "fault": None if isinstance(one.end, Outcome) else one.end,
                "runs": one.runs,
                "predicted": one.predicted,
            }
            for one in made.observed
        ],
        "seconds": made.seconds,
    }


@_made.register
def sweep(made: Sweep) -> dict[str, Any]:
    """The results of a verb for each choice of parameters, each by its own schema."""
    points = [
        {
            "params": {name: str(value) for name, value in point.params.items()},
            "fault": point.fault,
            "result": None if point.result is None else to_dict(point.result),
        }
        for point in made.points
    ]
    return {"verb": made.verb, "points": points}


@_made.register
def fmt(program: Program) -> dict[str, Any]:
    """A program in its canonical form."""
    return {"program": str(program)}


@_made.register
def _(made: Kernel) -> dict[str, Any]:
    return {
        "program": made.program.name,
        "inputs": made.inputs,
        "returns": list(made.returns),
        "params": {name: str(value) for name, value in made.params.items()},
        "engine": made.engine,
    }


# ------------------------------------------------------------------------------------------- verbs with small results


def plan(text: str) -> dict[str, Any]:
    """A plan."""
    return {"plan": text}


def passes(stages: Sequence[Stage]) -> dict[str, Any]:
    """The passes over a plan."""
    return {"passes": [{"name": one.name, "about": one.about, "statements": one.statements} for one in stages]}


def convert(file: str, held: Tensor) -> dict[str, Any]:
    """The tensor that was written to a file."""
    return {"file": file, **_tensor(held)}


def show(held: Tensor) -> dict[str, Any]:
    """A tensor in a file."""
    return {**_tensor(held), "levels": held.sizes()}
