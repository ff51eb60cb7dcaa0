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

UNCOMPARED = "the sequential result: no result was compared with it"


@dataclass(frozen=True, repr=False)
class Exploration(Shown):
    """What exploring a program has found, and the program.

    Attributes:
        verdict: the findings, and how far the search went.
        program: the program as it was explored.
    """

    verdict: Verdict
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


@dataclass(frozen=True)
class Sighting:
    """One finding of a search, while the search continues."""

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
    """Run a program in every interleaving of its tasks, and report what can happen.

    Source: the small-step rules of the paper, section 4; docs/exploring.md describes the strategies.

    Args:
        program, inputs, params, threads: as for `wingspan.api.bind`.
        machine: what is interleaved: `semantics`, the steps of the rules; or `native`, the accesses of the compiled
            plan.
        progress: called now and then with the state of the search.
        found: called with each race, fault, deadlock and wrong result as soon as it is found.
        began: the `time.monotonic()` from which `max_seconds` count; by default now.
        search: the strategy and its bounds: the fields of `wingspan.explorer.Search`, such as `strategy="dpor"`,
            `max_states=10_000` or `first=True`.

    Returns:
        The verdict, with the program. Nothing is proved unless `verdict.complete`.

    Raises:
        ProgramError, InputError: the program, an input, a parameter or a bound does not fit; a tensor is too large; a
            checkpoint does not match.
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
    """Run a program along one interleaving, step by step.

    Args:
        program, inputs, params, threads: as for `wingspan.api.bind`.
        text: the interleaving as a verdict prints it: the tasks that step, as in `1*3,2,1`. When it is used up, or
            names a task that cannot step, the first task that can step continues.
        machine: the machine that the verdict is of, `semantics` or `native`.

    Returns:
        All steps, how the run ended, and where it left the interleaving, if it did (`mismatch`).

    Raises:
        InputError: the text is not an interleaving.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    followed: interleaving.Replay[Any] = interleaving.replay(machine_of(bound, machine), text)
    followed.program = bound
    return followed
