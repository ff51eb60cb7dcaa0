"""All interleavings of a program, and one of them step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from wingspan import explorer
from wingspan.api.binding import Runnable, bind, files_of
from wingspan.api.machines import expected_of, machine_of
from wingspan.elaborate import Elaborated
from wingspan.explorer import Deadlock, FaultReport, Race, Result, Search, interleaving
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.machine import Machine
from wingspan.explorer.states import Progress as Exploring
from wingspan.explorer.verdict import Verdict
from wingspan.outcome import Outcome
from wingspan.paths import named
from wingspan.reference import Undecided
from wingspan.shown import Shown
from wingspan.written import check_output

UNCOMPARED = "the serial result: no result was compared with it"


@dataclass(frozen=True, repr=False)
class Exploration(Shown):
    """The verdict on a program, with the program as it was explored."""

    verdict: Verdict
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


@dataclass(frozen=True)
class Sighting:
    """One thing that a search has found, while it goes on."""

    finding: Race | FaultReport | Deadlock | Result
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


def explore(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    machine: str = "semantics",
    progress: Exploring | None = None,
    found: Callable[[Sighting], None] | None = None,
    began: float | None = None,
    **search: Any,
) -> Exploration:
    """Explore the interleavings of the program: under the paper's rules, or of its compiled plan (`native`).

    `search` are the fields of `explorer.Search`: the `strategy` and its bounds. `found` is called with each race,
    fault, deadlock and wrong result when it is found. `max_seconds` begin now, or when `time.monotonic()` was `began`.
    """
    search |= {option: named(search[option]) for option in ("checkpoint", "resume") if search.get(option) is not None}
    if search.get("checkpoint") is not None:
        check_output(search["checkpoint"], files_of(program, inputs))
    asked = Search(**search)
    bounds = asked.bounds(began)
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    explored: Machine[Any] = machine_of(bound, machine)
    about = _digest(bound, machine) if asked.checkpoint or asked.resume else ""
    expected: Outcome | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    try:
        expected = expected_of(bound, bounds.tick)
    except Stopped as stopped:  # then there is nothing left for the search either
        left_out = ((UNCOMPARED, stopped.bound),)
    except Undecided:
        left_out = ((UNCOMPARED, "whether a zero is stored"),)

    def seen(finding: Race | FaultReport | Deadlock | Result) -> None:
        if found is not None:
            found(Sighting(finding, bound, expected))

    verdict = explorer.explore(
        explored, asked, expected=expected, about=about, progress=progress, found=seen, bounds=bounds
    )
    return Exploration(replace(verdict, left_out=(*left_out, *verdict.left_out)), bound, expected)


def _digest(bound: Elaborated, machine: str) -> str:
    """What tells searches apart: the program as it is run, its formats, its inputs and the machine."""
    inputs = {name: sorted(tensor.cells.values.items(), key=repr) for name, tensor in bound.inputs.items()}
    towers = {name: (str(tower), tower.shape) for name, tower in bound.towers.items()}
    return sha256(repr((machine, bound.body, towers, inputs)).encode()).hexdigest()


def replay(
    program: Runnable,
    text: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    machine: str = "semantics",
) -> interleaving.Replay[Any]:
    """Run the program along one interleaving, written as in a verdict on that machine; every step is shown."""
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    followed: interleaving.Replay[Any] = interleaving.replay(machine_of(bound, machine), text)
    followed.program = bound
    return followed
