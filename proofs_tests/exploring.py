"""Programs given as text, explored, for the tests of the semantics."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from wingspan import api
from wingspan.api import Exploration
from wingspan.explorer.machine import Step
from wingspan.semantics.config import State


def explored(text: str, **options: Any) -> Exploration:
    """The exploration of a program, which must be complete: a truncated search proves nothing."""
    found = api.explore(api.parse(dedent(text)), **options)
    assert found.verdict.complete, found.verdict.stopped_by
    return found


def verdict(text: str, **options: Any) -> str:
    """What the exploration of a program ends with."""
    return explored(text, **options).verdict.verdict


def outcomes(text: str, **options: Any) -> dict[str, int | None]:
    """The values of every outcome as text, with the number of interleavings that lead to it."""
    return {str(result.outcome.values()): result.interleavings for result in explored(text, **options).verdict.results}


def races(text: str, **options: Any) -> set[tuple[str, int | None, str, str]]:
    """(tensor, level number, level name, kind) of every race."""
    return {(r.tensor, r.level, r.level_name, r.kind) for r in explored(text, **options).verdict.races}


def steps(text: str, interleaving: str = "-", **options: Any) -> list[Step[State]]:
    """Every step of one run."""
    return list(api.replay(api.parse(dedent(text)), interleaving, **options).steps)


def values(text: str, **options: Any) -> dict[str, Any]:
    """What one run computes under the rules."""
    run = api.run(api.parse(dedent(text)), **options)
    return {name: tensor.to_numpy().tolist() for name, tensor in run.tensors.items()} | dict(run.variables)


def serial(text: str, **options: Any) -> dict[str, Any]:
    """The values by the rules, which must be those of the reference."""
    found = values(text, **options)
    assert found == values(text, engine="reference", **options)
    return found
