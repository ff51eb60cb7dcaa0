"""Makes a program parallel: the placements that the level dependence test accepts, ranked by estimate or measured."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from wingspan.api.binding import Progress, bind
from wingspan.api.machines import compiled, compiled_c
from wingspan.base.budget import BUDGET, Budget
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import InputError
from wingspan.choices.placements import Placement, RejectedLoops, choices
from wingspan.compiled import build
from wingspan.dependence import Test
from wingspan.dependence.changes import headers
from wingspan.lang.devices import thread_counts
from wingspan.program import Program, load
from wingspan.tensors.parallel import processors

TESTS: tuple[Test, ...] = ("repaired", "exact")
"""The tests whose verdicts can be relied on."""

TOP = 5
"""The number of placements to measure by default, besides the serial program."""

SLOW = 10
"""A placement that takes so many times as long as the fastest by estimate is not run, one that does so is run twice."""

FEWEST, MOST, ENOUGH = 5, 500, 3.0
"""Others run at least so often more, and until all have run for so many seconds together, but at most so often."""


@dataclass(frozen=True)
class Candidate:
    """A placement, beside the serial program."""

    placement: Placement
    expected: float
    """the estimated speed-up over the serial program"""
    seconds: tuple[float, ...] = ()
    """the seconds of each run, if it was measured"""

    @property
    def program(self) -> Program:
        """The program as text and tree; `check` accepts it."""
        return self.placement.program

    @property
    def least(self) -> float | None:
        """The time of the fastest run: what else the machine does makes runs longer, never shorter."""
        return min(self.seconds, default=None)


@dataclass(frozen=True, repr=False)
class Parallelized(Shown):
    """The parallel candidates for a program, and the loops that were rejected.

    Attributes:
        candidates: programs that the test accepts, best first; the serial one is among them.
        rejected: the loops that are parallel in none of them, each with what the test finds.
        threads: the number of threads of the device, or of all nested ones together.
        devices: the threads of nested devices, outermost first, or of the one device.
        params: the parameters that were given, and that the programs have: they are safe for these values.
        test: the test that accepts all candidates.
        engine: what measured candidates ran on, or empty.
        complete: False if there were more placements than are tried.
        budget: the steps that the search could take.
        assumed: inputs, parameters and extents that are open, for which estimates rest on assumptions.
    """

    candidates: tuple[Candidate, ...]
    rejected: tuple[RejectedLoops, ...]
    threads: int
    devices: tuple[int, ...]
    params: Mapping[str, Any]
    test: Test
    engine: str
    complete: bool
    assumed: tuple[str, ...]
    budget: Budget

    @property
    def program(self) -> Program:
        """The best one."""
        return self.candidates[0].program

    @property
    def serial(self) -> Candidate:
        """The program without parallel loops."""
        return next(one for one in self.candidates if not one.placement.loops)


def parallelize(
    program: Program | str | os.PathLike[str],
    *,
    measure: bool = False,
    top: int = TOP,
    test: Test = "repaired",
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | Sequence[int] | None = None,
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Parallelized:
    """Find every placement of `parallel` and modifiers with which a program is safe, and rank them.

    Parallel loops and modifiers that the program has are left out first. What is then tried is described in
    `wingspan.choices.placements`; estimates are described in `wingspan.choices.estimate`.

    Args:
        program: a program, or the path of its file.
        measure: run the best placements by estimate, and the serial program, on the inputs, and rank them by their
            fastest runs. Placements that are not run come after those.
        top: how many are measured.
        test: `repaired`, whose verdict `run` and `compile` ask for, too; or `exact`, which accepts more.
        inputs, params: as for `wingspan.api.bind`. The programs are safe for all inputs, and for these parameters.
        threads: the number of threads of the device; by default that of the processors. Several are those of nested
            devices, outermost first: then as many loops inside of each other are tried as well, one on each device.
        budget: how many steps of work the search may take, about fifteen microseconds each.
        progress: called with the number of programs tried, and 0.

    Raises:
        ProgramError: the program has no meaning, or no loop.
        InputError: an input or a parameter does not fit, or what is to be measured lacks one; or there are more nested
            devices than loops inside of each other.
    """
    if test not in TESTS:
        raise InputError(f"{test} is no test to rely on", fix=f"use {' or '.join(TESTS)}")
    steps = Budget(budget)
    if top < 1:
        raise InputError(f"{top} placements cannot be measured", fix="use 1 or more")
    devices = thread_counts(processors() if threads is None else threads)
    written = program if isinstance(program, Program) else load(program)
    if not headers(written.tree):
        raise InputError(f"{written.name} has no loop", fix="write one: only loops run in parallel")
    deepest = max(len(loop.around) for loop in headers(written.tree)) + 1
    if len(devices) > max(deepest, 1):
        fix = f"give {deepest} devices at most" if deepest > 1 else "give one device"
        message = f"{written.name} has no {len(devices)} loops inside of each other for {len(devices)} nested devices"
        raise InputError(message, fix=f"{fix}, or write more loops around each other")
    found = choices(written, devices, inputs=inputs, params=params, test=test, budget=steps, progress=progress)
    alone = found.serial.estimate.time
    ranked = [Candidate(each, alone / each.estimate.time if alone else 1.0) for each in found.placements]
    engine = ""
    if measure:
        engine, ranked = _rank_by_measurement(ranked, top, inputs or {}, found.params)
    return Parallelized(
        tuple(ranked), found.rejected, prod(devices), devices, found.params, test, engine, found.complete,
        found.assumed, steps,
    )  # fmt: skip


def _rank_by_measurement(
    ranked: Sequence[Candidate], top: int, inputs: Mapping[str, Any], params: Mapping[str, Any]
) -> tuple[str, list[Candidate]]:
    """The engine, and the candidates ranked by what was measured. All run in turn, so that what disturbs is shared."""
    enough = max(one.expected for one in ranked) / SLOW
    hopeful = [one for one in ranked[:top] if one.expected >= enough]
    chosen = [one for one in ranked if one in hopeful or not one.placement.loops]
    c = bool(build.compiler())
    bound = [bind(one.program, inputs=inputs, params=params) for one in chosen]
    runs = [compiled_c(each) if c else compiled(each) for each in bound]
    times = [[_run(made), _run(made)] for made in runs]
    fastest, began = min(map(min, times)), time.perf_counter()
    for number in range(MOST):
        if number >= FEWEST and time.perf_counter() - began > ENOUGH:
            break
        for made, some in zip(runs, times, strict=True):
            if min(some[:2]) < SLOW * fastest:
                some.append(_run(made))
    measured = [replace(one, seconds=tuple(some)) for one, some in zip(chosen, times, strict=True)]
    rest = [one for one in ranked if one not in chosen]
    return "compiled" if c else "native", [*sorted(measured, key=lambda one: min(one.seconds)), *rest]


def _run(made: Any) -> float:
    """The seconds of one run."""
    start = time.perf_counter()
    made.run()
    return time.perf_counter() - start
