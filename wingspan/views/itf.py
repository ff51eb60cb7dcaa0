"""A replay in Apalache's Informal Trace Format, for the tools that browse such traces or test against them.

https://apalache-mc.org/docs/adr/015adr-trace.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wingspan.base.errors import Span
from wingspan.explorer.interleaving import by_path
from wingspan.explorer.machine import CellAccess
from wingspan.lang.printer import value
from wingspan.views.view import ReplayReport


def replay(report: ReplayReport) -> dict[str, Any]:
    """A state before the first visible step, and one after each and the invisible steps that follow it."""
    states = [{"#meta": {"index": index}, **state} for index, state in enumerate(_states(report))]
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": report.invocation.name,
            "description": report.invocation.replay(report.interleaving),
            "status": report.end,
            "message": report.incident.message if report.incident else None,
            "mismatch": report.mismatch.message if report.mismatch else None,
        },
        "vars": ["cells", "task", "rule", "at"],
        "states": states,
    }


def _states(report: ReplayReport) -> Iterator[dict[str, Any]]:
    """States: the accessed cells, the task that stepped with its rule, and the place of each task."""
    cells: dict[str, Any] = {}
    task = rule = ""
    places = iter(report.places)
    for action in report.actions:
        if action.visible:
            yield _state(cells, task, rule, next(places))
            task, rule = action.task, action.rule
        cells |= {str(touch.cell): _value(touch) for touch in action.touches}
    yield _state(cells, task, rule, next(places))


def _state(cells: dict[str, Any], task: str, rule: str, places: Mapping[str, Span | None]) -> dict[str, Any]:
    at = {task: f"{span.line}:{span.column}" if span else "" for task, span in places.items()}
    return {
        "cells": {"#map": [[cell, held] for cell, held in cells.items()]},
        "task": task,
        "rule": rule,
        "at": {"#map": [[task, at[task]] for task in sorted(at, key=by_path)]},
    }


def _value(touch: CellAccess) -> Any:
    """The value of a cell after an access. The format has only integers as numbers; a lock holds the task, or ""."""
    match touch.effect, touch.value:
        case "acquire", holder:
            return holder or "0"
        case "release", _:
            return ""
        case _, bool() as held:
            return held
        case _, int() as held:
            return {"#bigint": str(held)}
    return value(touch.value)
