"""Results as JSON objects, whose types are in `json_types.py`: the one place that makes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from wingspan.accesses import LogAccess
from wingspan.api import Exploration, Judged, Kernel, Parallelized, Program, Run
from wingspan.api.sweeping import Sweep
from wingspan.base import documents
from wingspan.base.errors import Span
from wingspan.dependence import Finding, Iteration, Report, SafetyProof, Witness
from wingspan.explorer.incident import Deadlock, FaultReport, Incident
from wingspan.explorer.interleaving import Mismatch, Replay
from wingspan.explorer.machine import Blocked, CellAccess
from wingspan.explorer.properties import PropertyReport
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import AccessReport, Race, Result, Verdict
from wingspan.plan.pipeline import Stage
from wingspan.results.comparison import Comparison, Difference
from wingspan.results.histogram import Histogram
from wingspan.results.outcome import Outcome
from wingspan.semantics.reads import LostUpdate
from wingspan.tensors.tensor import Tensor
from wingspan.views import python_reports as reports
from wingspan.views.values import in_order
from wingspan.views.view import Action, CheckReport, ReplayReport, number

if TYPE_CHECKING:
    from wingspan.base import json_types as shared
    from wingspan.views import json_types as types

MOST_VALUES = 256
"""A run lists the elements of tensors that have no more."""


def to_dict(result: Any) -> dict[str, Any]:
    """A result as a whole object of JSON, as `to_dict` gives it."""
    return documents.with_schema(_document(result))


@singledispatch
def _document(result: Any) -> Mapping[str, Any]:
    raise TypeError(f"there is no JSON of a {type(result).__name__}")


@_document.register(Verdict)
def explore(verdict: Verdict) -> types.Explore:
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
        "faults": [_fault(fault) for fault in verdict.faults],
        "deadlocks": [_deadlock(deadlock) for deadlock in verdict.deadlocks],
        "properties": [_property(asked) for asked in verdict.properties],
    }


@_document.register(Exploration)
def _(exploration: Exploration) -> types.Explore:
    return explore(exploration.verdict)


def _property(asked: PropertyReport) -> types.Property:
    return {
        "kind": asked.kind,
        "text": asked.text,
        "answer": asked.answer,
        "states": asked.states,
        "interleavings": asked.interleavings,
        "probability": asked.probability,
        "interleaving": asked.interleaving,
        "values": dict(asked.values),
    }


def _result(result: Result) -> types.Result:
    return {
        "values": result.outcome.values(),
        "interleavings": result.interleavings,
        "executions": result.executions,
        "probability": result.probability,
        "interleaving": result.interleaving,
    }


def _race(race: Race) -> types.Race:
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


def _access(access: AccessReport) -> types.Access:
    return {
        "task": access.task or "0",
        **_place(access.span),
        "rule": access.rule,
        "operation": access.operation,
        "position": access.position,
        "index": access.index,
    }


def _place(span: Span | None) -> shared.Place:
    return {"line": span.line if span else None, "column": span.column if span else None}


def _incident(incident: Incident) -> types.Fault | types.Deadlock:
    return _fault(incident) if isinstance(incident, FaultReport) else _deadlock(incident)


def _fault(fault: FaultReport) -> types.Fault:
    return {
        "topic": fault.topic,
        "message": fault.message,
        "task": fault.task or "0",
        "rule": fault.rule,
        **_place(fault.span),
        "interleaving": fault.interleaving,
    }


def _deadlock(deadlock: Deadlock) -> types.Deadlock:
    return {
        "message": deadlock.message,
        "waiting": [_waiting(blocked) for blocked in deadlock.waiting],
        **_place(deadlock.span),
        "interleaving": deadlock.interleaving,
    }


def _waiting(blocked: Blocked) -> types.Waiting:
    holder = None if blocked.holder is None else blocked.holder or "0"
    return {
        "task": blocked.task or "0",
        "waits_for": blocked.waits_for,
        "holder": holder,
        **_place(blocked.span),
    }


def replay(report: ReplayReport) -> types.Replay:
    """A run, step by step."""
    return {
        "steps": [_action(action) for action in report.actions],
        "mismatch": _mismatch(report.mismatch) if report.mismatch else None,
        "end": report.end,
        "message": report.incident.message if report.incident else None,
        "incident": _incident(report.incident) if report.incident else None,
        "values": report.outcome.values() if report.outcome else None,
    }


@_document.register(Replay)
def _(run: Replay) -> types.Replay:  # type: ignore[type-arg]
    report = reports.replay(run)
    if report is None:
        raise TypeError("there is no JSON of a run of a machine that runs no program")
    return replay(report)


def _mismatch(mismatch: Mismatch) -> types.Mismatch:
    return {
        "step": mismatch.step,
        "task": mismatch.task or "0",
        "reason": mismatch.reason,
        "able": [{"task": task or "0", "rule": rule} for task, rule in mismatch.able],
        **_place(mismatch.span),
        "followed": mismatch.followed,
        "left": mismatch.left,
    }


def _action(action: Action) -> types.Action:
    return {
        "task": action.task,
        "rule": action.rule,
        **_place(action.span),
        "indices": dict(action.indices),
        "touches": [_touch(touch) for touch in action.touches],
        "visible": action.visible,
        "lost": None if action.lost is None else _lost_update(action.lost),
    }


def _lost_update(lost: LostUpdate) -> types.Lost:
    return {
        "cell": str(lost.cell),
        "writer": lost.writer or "0",
        "written": lost.written,
        "read": lost.read,
        "value": number(lost.value),
    }


def _touch(touch: CellAccess) -> types.Touch:
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


def check(check_report: CheckReport) -> types.Check:
    """The report of the level dependence test."""
    report = check_report.report
    return {
        "verdict": report.verdict,
        "test": report.test,
        "findings": [_finding(found, check_report) for found in report.findings],
        "advice": [{"change": one.change, "cost": one.cost, "program": one.program} for one in report.advice],
        "advice_complete": report.advice_complete,
        "proofs": [_proof(proof) for proof in report.proofs],
        "partial": [{"tensor": one.tensor, "level": one.level, "level_name": one.level_name} for one in report.partial],
        "symbols": list(report.symbols),
        "alike": report.alike,
    }


@_document.register(Report)
def _(report: Report) -> types.Check:
    return check(reports.check(report))


def _finding(finding: Finding, check_report: CheckReport) -> types.Finding:
    other = _place(finding.other)
    return {
        "topic": finding.topic,
        "loop": _text(finding.loop.span) if finding.loop else None,
        "device": check_report.device(finding.loop) if finding.loop else None,
        "tensor": finding.tensor,
        "access": _text(finding.access),
        "other": _text(finding.other),
        "level": finding.level,
        "level_name": finding.level_name,
        "required": in_order(finding.required),
        "stability": in_order(finding.stability),
        "missing": in_order(finding.missing),
        "direction": check_report.written_facts(finding.direction),
        **_place(finding.access),
        "other_line": other["line"],
        "other_column": other["column"],
        "reads": list(finding.reads),
        "reason": finding.reason,
        "witness": _witness(finding.witness, check_report) if finding.witness else None,
    }


def _witness(witness: Witness, check_report: CheckReport) -> types.Witness:
    first, second = (_iteration(at, check_report) for at in (witness.first, witness.second))
    return {"first": first, "second": second, "element": witness.element, "certain": witness.certain}


def _iteration(at: Iteration, report: CheckReport) -> types.Iteration:
    return {"task": at.task or "0", "indices": report.written_facts(dict(at.indices))}


def _proof(proof: SafetyProof) -> types.Proof:
    return {
        "loop": _text(proof.loop.span),
        "tensor": proof.tensor,
        "access": _text(proof.access),
        "other": _text(proof.other),
        "reason": proof.reason,
    }


def _text(span: Span | None) -> str | None:
    return span.text if span else None


@_document.register(Run)
def run(run: Run) -> types.Run:
    """The results of a run."""
    small = {name: t.to_exact() for name, t in run.tensors.items() if math.prod(t.shape) <= MOST_VALUES}
    values = Outcome.from_arrays(small, run.variables).values()
    return {
        "tensors": {name: tensor(held, values.get(name)) for name, held in run.tensors.items()},
        "variables": {name: values[name] for name in sorted(run.variables)},
        "engine": run.engine,
        "reason": run.reason,
        "seconds": run.seconds,
    }


def tensor(held: Tensor, values: Any) -> types.Tensor:
    """A tensor, with its elements if they are few."""
    return {**_tensor(held), "values": values}


@_document.register(Tensor)
def _(held: Tensor) -> types.Tensor:
    few = math.prod(held.shape) <= MOST_VALUES
    return tensor(held, Outcome.from_arrays({"": held.to_exact()}, {}).values()[""] if few else None)


def _tensor(held: Tensor) -> types.Stored:
    return {"shape": list(held.shape), "format": str(held.tower), "nnz": held.nnz}


@_document.register(Comparison)
def diff(comparison: Comparison) -> types.Diff:
    """The comparison of engines."""
    return {
        "agree": comparison.difference is None,
        "runs": [
            {
                "engine": end.engine,
                "fault": end.fault,
                "defect": end.defect,
                "output": end.output,
                "seconds": end.seconds,
            }
            for end in comparison.endings
        ],
        "left_out": dict(comparison.left_out),
        "difference": None if comparison.difference is None else _difference(comparison.difference),
        "explored": None
        if comparison.explored is None
        else {"states": dict(comparison.explored.states), "stopped_by": comparison.explored.stopped_by},
    }


def _difference(difference: Difference) -> types.Difference:
    return {
        "place": difference.place,
        "first": {"engine": difference.first, "has": difference.first_has},
        "second": {"engine": difference.second, "has": difference.second_has},
    }


@_document.register(Judged)
def judge(judged: Judged) -> types.Judge:
    """The races of a log, beside what is predicted."""
    return {
        "accesses": judged.accesses,
        "tasks": judged.tasks,
        "races": [
            {
                "cell": one.race.cell,
                "first": _log_access(one.race.first),
                "second": _log_access(one.race.second),
                "cells": list(one.cells),
                "predicted": one.predicted,
                "outside": one.outside,
            }
            for one in judged.races
        ],
        "unseen": list(judged.unseen),
        "complete": None if judged.verdict is None else judged.verdict.complete,
        "examined": judged.examined,
        "stopped_by": judged.stopped_by,
        "beyond": [{"cell": one.cell, "line": one.line, "extents": one.extents} for one in judged.beyond],
    }


def _log_access(access: LogAccess) -> types.LogAccess:
    file, _, number = access.place.rpartition(":")
    source: types.SourceLine | None = {"file": file, "line": int(number)} if access.place else None
    return {
        "task": access.task or "0",
        "line": access.span.line,
        "operation": access.operation_in_words,
        "source": source,
    }


@_document.register(Parallelized)
def parallelize(parallelized: Parallelized) -> types.Parallelize:
    """The programs that are safe, best first, and the loops that are parallel in none of them."""
    return {
        "threads": parallelized.threads,
        "devices": list(parallelized.devices),
        "params": dict(parallelized.params),
        "test": parallelized.test,
        "complete": parallelized.complete,
        "engine": parallelized.engine or None,
        "open": list(parallelized.assumed),
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
            for one in parallelized.candidates
        ],
        "rejected": [
            {"loops": list(one.loops), "schedule": one.schedule, "reasons": list(one.reasons)}
            for one in parallelized.rejected
        ],
    }


@_document.register(Histogram)
def stress(histogram: Histogram) -> types.Stress:
    """The counts of the ends of runs."""
    return {
        "runs": histogram.runs,
        "engine": histogram.engine,
        "mode": histogram.mode,
        "machine": histogram.verdict.machine,
        "complete": histogram.verdict.complete,
        "surprises": len(histogram.surprises),
        "observed": [
            {
                "values": one.end.values() if isinstance(one.end, Outcome) else None,
                "fault": None if isinstance(one.end, Outcome) else one.end,
                "runs": one.runs,
                "predicted": one.predicted,
            }
            for one in histogram.observed
        ],
        "seconds": histogram.seconds,
    }


@_document.register(Sweep)
def sweep(sweep: Sweep) -> types.Sweep:
    """The results of a verb for each choice of parameters, each by its own schema."""
    points: list[types.Point] = [
        {
            "params": {name: str(value) for name, value in point.params.items()},
            "fault": point.fault,
            "result": None if point.result is None else to_dict(point.result),
        }
        for point in sweep.points
    ]
    return {"verb": sweep.verb, "points": points}


@_document.register(Program)
def fmt(program: Program) -> types.Fmt:
    """A program in its canonical form."""
    return {"program": str(program)}


@_document.register(Kernel)
def _(kernel: Kernel) -> types.Kernel:
    return {
        "program": kernel.program.name,
        "inputs": kernel.inputs,
        "returns": list(kernel.returns),
        "params": {name: str(value) for name, value in kernel.params.items()},
        "engine": kernel.engine,
    }


# ------------------------------------------------------------------------------------------- verbs with small results


def plan(text: str) -> types.Plan:
    """A plan."""
    return {"plan": text}


def passes(stages: Sequence[Stage]) -> types.Passes:
    """The passes over a plan."""
    return {"passes": [{"name": one.name, "about": one.about, "statements": one.statements} for one in stages]}


def convert(file: str, held: Tensor) -> types.Convert:
    """The tensor that was written to a file."""
    return {"file": file, **_tensor(held)}


def show(held: Tensor) -> types.Show:
    """A tensor in a file."""
    return {
        **_tensor(held),
        "levels": [{"level": one["level"], "name": one["name"], "buffers": one["buffers"]} for one in held.sizes()],
    }
