"""Results as JSON objects, whose types are in `json_types.py`: the one place that makes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wingspan.accesses import LogAccess
from wingspan.api import Candidate, Exploration, Judged, Kernel, Parallelized, Point, Program, Run, Sighted, Sweep
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
from wingspan.results.histogram import Histogram, Observed
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

D = TypeVar("D")


def to_dict(result: Any) -> dict[str, Any]:
    """A result as a whole object of JSON, as `to_dict` gives it."""
    return documents.with_schema(_document(result))


@singledispatch
def _document(result: Any) -> Mapping[str, Any]:
    raise TypeError(f"there is no JSON of a {type(result).__name__}")


def members(record: Any, *names: str, **others: Any) -> D:  # type: ignore[type-var]  # the type of what returns it
    """An object with the attributes of a record that have these names in JSON, too, and with other members."""
    return {**{name: getattr(record, name) for name in names}, **others}  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------ explore and replay


@_document.register(Verdict)
def explore(verdict: Verdict) -> types.Explore:
    """The verdict of a search."""
    return members(
        verdict,
        *("verdict", "complete", "stopped_by", "strategy", "reason", "remark", "machine", "processes", "symmetry"),
        *("told_apart", "executions", "interleavings", "states", "steps", "seconds"),
        left_out=[{"what": what, "bound": bound} for what, bound in verdict.left_out],
        outcomes=len(verdict.results),
        results=[_result(result) for result in verdict.frequent],
        races=[_race(race) for race in verdict.races],
        faults=[_fault(fault) for fault in verdict.faults],
        deadlocks=[_deadlock(deadlock) for deadlock in verdict.deadlocks],
        properties=[_property(asked) for asked in verdict.properties],
    )


_document.register(Exploration, lambda exploration: explore(exploration.verdict))


def _property(asked: PropertyReport) -> types.Property:
    names = "kind", "text", "answer", "states", "interleavings", "probability", "interleaving"
    return members(asked, *names, values=dict(asked.values))


def _result(result: Result) -> types.Result:
    names = "interleavings", "executions", "probability", "interleaving"
    return members(result, *names, values=result.outcome.values())


def _race(race: Race) -> types.Race:
    names = "tensor", "level", "level_name", "kind", "cell", "interleaving"
    return members(race, *names, first=_access(race.first), second=_access(race.second))


def _access(access: AccessReport) -> types.Access:
    place = _place(access.span)
    return members(access, "rule", "operation", "position", "index", task=access.task or "0", **place)


def _place(span: Span | None) -> shared.Place:
    return {"line": span.line if span else None, "column": span.column if span else None}


def _incident(incident: Incident) -> types.Fault | types.Deadlock:
    return _fault(incident) if isinstance(incident, FaultReport) else _deadlock(incident)


def _fault(fault: FaultReport) -> types.Fault:
    names = "topic", "message", "rule", "interleaving"
    return members(fault, *names, task=fault.task or "0", **_place(fault.span))


def _deadlock(deadlock: Deadlock) -> types.Deadlock:
    waiting = [_waiting(blocked) for blocked in deadlock.waiting]
    return members(deadlock, "message", "interleaving", waiting=waiting, **_place(deadlock.span))


def _waiting(blocked: Blocked) -> types.Waiting:
    holder = None if blocked.holder is None else blocked.holder or "0"
    return {"task": blocked.task or "0", "waits_for": blocked.waits_for, "holder": holder, **_place(blocked.span)}


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
    able: list[types.Able] = [{"task": task or "0", "rule": rule} for task, rule in mismatch.able]
    names = "step", "reason", "followed", "left"
    return members(mismatch, *names, task=mismatch.task or "0", able=able, **_place(mismatch.span))


def _action(action: Action) -> types.Action:
    return members(
        action,
        *("task", "rule", "visible"),
        **_place(action.span),
        indices=dict(action.indices),
        touches=[_touch(touch) for touch in action.touches],
        lost=None if action.lost is None else _lost_update(action.lost),
    )


def _lost_update(lost: LostUpdate) -> types.Lost:
    value = number(lost.value)
    return members(lost, "written", "read", cell=str(lost.cell), writer=lost.writer or "0", value=value)


def _touch(touch: CellAccess) -> types.Touch:
    names = "tensor", "level", "level_name", "buffer", "position", "index"
    operation, value = OPERATIONS[touch.effect], number(touch.value)
    return members(touch, *names, cell=str(touch.cell), operation=operation, value=value)


# ------------------------------------------------------------------------------------------------------------- check


def check(check_report: CheckReport) -> types.Check:
    """The report of the level dependence test."""
    report = check_report.report
    return members(
        report,
        *("verdict", "test"),
        findings=[_finding(found, check_report) for found in report.findings],
        advice=[members(one, "change", "cost", "program") for one in report.advice],
        advice_complete=report.advice_complete,
        proofs=[_proof(proof) for proof in report.proofs],
        partial=[members(one, "tensor", "level", "level_name") for one in report.partial],
        symbols=list(report.symbols),
        alike=report.alike,
    )


_document.register(Report, lambda report: check(reports.check(report)))


def _finding(finding: Finding, check_report: CheckReport) -> types.Finding:
    other = _place(finding.other)
    return members(
        finding,
        *("topic", "tensor", "level", "level_name", "reason"),
        loop=_text(finding.loop.span) if finding.loop else None,
        device=check_report.device(finding.loop) if finding.loop else None,
        access=_text(finding.access),
        other=_text(finding.other),
        required=in_order(finding.required),
        stability=in_order(finding.stability),
        missing=in_order(finding.missing),
        direction=check_report.written_facts(finding.direction),
        **_place(finding.access),
        other_line=other["line"],
        other_column=other["column"],
        reads=list(finding.reads),
        witness=_witness(finding.witness, check_report) if finding.witness else None,
    )


def _witness(witness: Witness, check_report: CheckReport) -> types.Witness:
    first, second = (_iteration(at, check_report) for at in (witness.first, witness.second))
    return {"first": first, "second": second, "element": witness.element, "certain": witness.certain}


def _iteration(at: Iteration, report: CheckReport) -> types.Iteration:
    return {"task": at.task or "0", "indices": report.written_facts(dict(at.indices))}


def _proof(proof: SafetyProof) -> types.Proof:
    loop, access, other = map(_text, (proof.loop.span, proof.access, proof.other))
    return members(proof, "tensor", "reason", loop=loop, access=access, other=other)


def _text(span: Span | None) -> str | None:
    return span.text if span else None


# ----------------------------------------------------------------------------------------------- runs and comparisons


@_document.register(Run)
def run(run: Run) -> types.Run:
    """The results of a run."""
    small = {name: t.to_exact() for name, t in run.tensors.items() if math.prod(t.shape) <= MOST_VALUES}
    values = Outcome.from_arrays(small, run.variables).values()
    return members(
        run,
        *("engine", "reason", "seconds"),
        tensors={name: tensor(held, values.get(name)) for name, held in run.tensors.items()},
        variables={name: values[name] for name in sorted(run.variables)},
    )


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
    explored = comparison.explored
    return {
        "agree": comparison.difference is None,
        "runs": [members(end, "engine", "fault", "defect", "output", "seconds") for end in comparison.endings],
        "left_out": dict(comparison.left_out),
        "difference": None if comparison.difference is None else _difference(comparison.difference),
        "explored": None if explored is None else members(explored, "stopped_by", states=dict(explored.states)),
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
    return members(
        judged,
        *("accesses", "tasks", "examined", "stopped_by"),
        races=[_log_race(one) for one in judged.races],
        unseen=list(judged.unseen),
        complete=None if judged.verdict is None else judged.verdict.complete,
        beyond=[members(one, "cell", "line", "extents") for one in judged.beyond],
    )


def _log_race(one: Sighted) -> types.LogRace:
    first, second = _log_access(one.race.first), _log_access(one.race.second)
    return members(one, "predicted", "outside", cell=one.race.cell, first=first, second=second, cells=list(one.cells))


def _log_access(access: LogAccess) -> types.LogAccess:
    file, _, number = access.place.rpartition(":")
    source: types.SourceLine | None = {"file": file, "line": int(number)} if access.place else None
    operation = access.operation_in_words
    return {"task": access.task or "0", "line": access.span.line, "operation": operation, "source": source}


@_document.register(Parallelized)
def parallelize(parallelized: Parallelized) -> types.Parallelize:
    """The programs that are safe, best first, and the loops that are parallel in none of them."""
    return members(
        parallelized,
        *("threads", "test", "complete"),
        devices=list(parallelized.devices),
        params=dict(parallelized.params),
        engine=parallelized.engine or None,
        open=list(parallelized.assumed),
        candidates=[_candidate(one) for one in parallelized.candidates],
        rejected=[
            {"loops": list(one.loops), "schedule": one.schedule, "reasons": list(one.reasons)}
            for one in parallelized.rejected
        ],
    )


def _candidate(one: Candidate) -> types.Candidate:
    placement = one.placement
    return {
        "loops": list(placement.loops),
        "schedule": placement.schedule,
        "formats": list(placement.formats),
        "work": placement.estimate.work,
        "time": placement.estimate.time,
        "expected": one.expected,
        "seconds": list(one.seconds),
        "program": str(one.program),
    }


@_document.register(Histogram)
def stress(histogram: Histogram) -> types.Stress:
    """The counts of the ends of runs."""
    return members(
        histogram,
        *("runs", "engine", "mode", "seconds"),
        machine=histogram.verdict.machine,
        complete=histogram.verdict.complete,
        surprises=len(histogram.surprises),
        observed=[_observed_end(one) for one in histogram.observed],
    )


def _observed_end(one: Observed) -> types.Observed:
    values, fault = (one.end.values(), None) if isinstance(one.end, Outcome) else (None, one.end)
    return members(one, "runs", "predicted", values=values, fault=fault)


@_document.register(Sweep)
def sweep(sweep: Sweep) -> types.Sweep:
    """The results of a verb for each choice of parameters, each by its own schema."""
    return {"verb": sweep.verb, "points": [_point(point) for point in sweep.points]}


def _point(point: Point) -> types.Point:
    params = {name: str(value) for name, value in point.params.items()}
    return {"params": params, "fault": point.fault, "result": None if point.result is None else to_dict(point.result)}


@_document.register(Program)
def fmt(program: Program) -> types.Fmt:
    """A program in its canonical form."""
    return {"program": str(program)}


@_document.register(Kernel)
def _(kernel: Kernel) -> types.Kernel:
    params = {name: str(value) for name, value in kernel.params.items()}
    name, returns = kernel.program.name, list(kernel.returns)
    return {"program": name, "inputs": kernel.inputs, "returns": returns, "params": params, "engine": kernel.engine}


# ------------------------------------------------------------------------------------------- verbs with small results


def plan(text: str) -> types.Plan:
    """A plan."""
    return {"plan": text}


def passes(stages: Sequence[Stage]) -> types.Passes:
    """The passes over a plan."""
    return {"passes": [members(one, "name", "about", "statements") for one in stages]}


def convert(file: str, held: Tensor) -> types.Convert:
    """The tensor that was written to a file."""
    return {"file": file, **_tensor(held)}


def show(held: Tensor) -> types.Show:
    """A tensor in a file."""
    return {**_tensor(held), "levels": cast("list[types.LevelSize]", held.sizes())}
