"""Compares runs of several engines, and runs on threads with what exploring predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wingspan import explorer
from wingspan.api.binding import Progress, Runnable, bind
from wingspan.api.checking import RACELESS, Unsafe, guard
from wingspan.api.exploring import explore
from wingspan.api.machines import compiled, compiled_c, is_undecided, machine_of
from wingspan.api.names import MACHINES, ON_THREADS
from wingspan.api.running import AT_ONCE
from wingspan.api.running import engine as engine_of
from wingspan.base.errors import InputError
from wingspan.compiled.engine import Compiled as CompiledC
from wingspan.elaborate import Elaborated
from wingspan.explorer import Search
from wingspan.isolation import isolate_engines
from wingspan.native.prepared import NativeProgram
from wingspan.results.comparison import Comparison, CrossExploration, Engine, compare
from wingspan.results.cross_exploration import compare_verdicts
from wingspan.results.histogram import Histogram, observe
from wingspan.results.outcome import Outcome
from wingspan.runtime.lease import Mode

MAX_STATES = 1_000
"""The number of states up to which a program is explored on each machine."""
MAX_INPUTS = 1_000
"""The number of stored elements up to which inputs are small enough to be in every state."""
MAX_SECONDS = 1.0
"""The time for each machine, where somebody waits."""
ROUNDING = 1e-9
"""The relative difference of doubles that never counts: the rules compute exactly, and plans round in each order."""


def diff(
    program: Runnable,
    *,
    engines: Sequence[str | Engine] | None = None,
    unsafe: bool = False,
    repeat: int = 1,
    tolerance: float = 0.0,
    isolate: float | None = None,
    max_states: int = MAX_STATES,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
) -> Comparison:
    """Run a program through several engines, and compare their results.

    If these are the same, all interleavings of a program that is small enough are explored by the rules and on the
    compiled plan. Then a difference is also an outcome, a race, a fault or a deadlock that only one of them has.

    Args:
        program, inputs, params, threads, small: as for `wingspan.api.bind`.
        engines: names of engines, or engines of your own (`wingspan.testing.Engine`). By default all of this package
            that can run the program, except `compiled`.
        unsafe: compare even if the level dependence test does not accept the program, which may then have several
            results.
        repeat: how often each engine runs.
        tolerance: the largest relative difference of two doubles that count as equal.
        isolate: run each engine in a process of its own, and give each run so many seconds. A run that crashes,
            exits or exceeds its time is then a difference.
        max_states: the number of states of each machine up to which the program is explored, for `MAX_SECONDS` at most;
            with 0 it is not.

    Returns:
        How each run ended, how far the program was explored, and the first difference, if any.

    Raises:
        Unsafe: the level dependence test does not accept the program.
        InputError: there is no such engine, or it cannot run the program.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    if not unsafe:
        guard(bound)
    made = [engine_of(one) if isinstance(one, str) else one for one in (AT_ONCE if engines is None else engines)]
    with isolate_engines(made, isolate) as some:
        found = compare(bound, some, repeat=repeat, tolerance=tolerance, lenient=engines is None)
    if found.difference is not None:
        return found
    explored = explore_both(bound, max_states, max_seconds=MAX_SECONDS, tolerance=tolerance)
    return found if explored is None else replace(found, difference=explored.difference, explored=explored)


def explore_both(
    bound: Elaborated, max_states: int = MAX_STATES, *, max_seconds: float | None = None, tolerance: float = 0.0
) -> CrossExploration | None:
    """Explore a bound program by the rules and on the compiled plan, and compare what they find, if both end.

    The bounds are those of each search. None if the program is too large to begin, or if the two may differ, as its
    results depend on which elements formats store.
    """
    if not max_states or sum(tensor.nnz for tensor in bound.inputs.values()) > MAX_INPUTS:
        return None
    search = Search("graph", max_states=max_states, max_seconds=max_seconds)
    try:
        rules, plan = (explorer.explore(machine_of(bound, name), search) for name in MACHINES)
    except InputError:
        return None
    found = compare_verdicts(rules, plan, bound.outputs, max(tolerance, ROUNDING))
    return None if found.difference is not None and is_undecided(bound) else found


def stress(
    program: Runnable,
    *,
    runs: int = 10_000,
    mode: Mode = "seq_cst",
    engine: str = "native",
    machine: str = "semantics",
    max_states: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    progress: Progress | None = None,
) -> Histogram:
    """Run a program on threads many times, and compare the outcomes with those that exploring predicts.

    In the modes `seq_cst` and `yields` every outcome is predicted, if the search was complete. In the mode `plain`
    accesses are not ordered, and anything may happen. A stress test can miss outcomes, and finds no races itself.

    Args:
        program, inputs, params, threads, small: as for `wingspan.api.bind`.
        runs: how often the program runs.
        mode: `seq_cst`, accesses in one order that all tasks agree on; `yields`, where tasks also let others go first
            now and then; or `plain`.
        engine: `native` (the register machine) or `compiled` (C).
        machine: what is explored: `semantics` (the rules) or `native` (the plan).
        max_states, max_seconds: bounds of the search.
        seed: of the choices of `yields`.
        progress: called with the number of runs done and left.

    Returns:
        The outcomes, with the number of runs that ended in each, and whether it was predicted.

    Raises:
        InputError: tasks of the program may wait for ever, or there is no C compiler.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    ready = _on_threads(bound, engine, mode)
    verdict = explore(bound, machine=machine, strategy="graph", max_states=max_states, max_seconds=max_seconds).verdict
    if verdict.deadlocks:
        raise InputError("tasks of the program may wait for ever", fix="see `wingspan explore`, and fix the program")

    def execute(number: int) -> Outcome:
        tensors, variables = ready.run(mode=mode, seed=seed + number)
        return Outcome.from_tensors(tensors, variables)

    return observe(execute, verdict, runs, engine, mode, progress)


def _on_threads(bound: Elaborated, engine: str, mode: Mode) -> NativeProgram | CompiledC:
    """The engine for a program whose tasks may race.

    If the level dependence test accepts the program, its C is what `run` compiles too: where no tasks race, nothing
    depends on how accesses are ordered. Only the C of a racy program lets other tasks go first.
    """
    match engine:
        case "native":
            return compiled(bound, racy=True)
        case "compiled":
            try:
                guard(bound, allowed=RACELESS)
            except Unsafe:
                return compiled_c(bound, racy=True)
            return compiled_c(bound, racy=mode == "yields")
    raise InputError(f"there is no engine {engine} that runs on threads", fix=f"use {' or '.join(ON_THREADS)}")
