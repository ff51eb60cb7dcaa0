"""All interleavings of a program, and one of them step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from hashlib import sha256
from typing import Any, Unpack

from wingspan import explorer
from wingspan.api.binding import Runnable, bind, files_of
from wingspan.api.machines import TooLarge, expected_of, machine_of
from wingspan.api.properties import observed_by, observed_names, properties_of
from wingspan.base.activity import Change, activity, ignore
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Reportable, Shown
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.writing import check_output
from wingspan.elaborate import Elaborated
from wingspan.explorer import Search, interleaving
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.machine import Machine
from wingspan.explorer.properties import Property
from wingspan.explorer.search import SearchOptions
from wingspan.explorer.states import Progress as Exploring
from wingspan.explorer.states import Status
from wingspan.explorer.verdict import UNCOMPARED, FindingReport, Verdict
from wingspan.reference import Undecided
from wingspan.results.outcome import Outcome

FAR = 20_000
"""Races and results are numbered among so many states."""


@dataclass(frozen=True, repr=False)
class Exploration(Shown, Reportable):
    """The verdict of exploring a program, and the program.

    Attributes:
        verdict: the findings, and how far the search went.
        program: the program as it was explored.
    """

    verdict: Verdict
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""
    watched: tuple[str, ...] = ()
    """properties of states, and what is watched: steps that may change what they read are visible"""

    @property
    def findings(self) -> dict[str, str]:
        """The interleavings of all that went wrong, the worst first, by what reports call it: `fault 1`, `race 2`.

        A result is among them if it is not the sequential result, or if there is none and it is not the most frequent.
        If properties say which results are right, none is; properties that are violated, or reached, are.
        """
        properties = [each for each in self.verdict.properties if each.interleaving is not None]
        results = [] if any(each.kind == "ends" for each in self.verdict.properties) else self.verdict.frequent
        right = self.expected if self.expected is not None or not results else results[0].outcome
        kinds: dict[str, Sequence[Any]] = {
            "fault": self.verdict.faults,
            "deadlock": self.verdict.deadlocks,
            "property": properties,
            "result": results,
            "race": self.verdict.races,
        }
        return {
            f"{kind} {number}": each.interleaving
            for kind, found in kinds.items()
            for number, each in enumerate(found, start=1)
            if kind != "result" or each.outcome != right
        }

    def interleaving(self, *, race: int | None = None, result: int | None = None) -> str:
        """The interleaving of a race or a result, by its number from 1 in reports; else of the first finding.

        If nothing went wrong, that is the one of the result. InputError if there is no such race or result.
        """
        if race is None and result is None:
            return next(iter([*self.findings.values(), *(each.interleaving for each in self.verdict.results)]), "-")
        what, number, found = (
            ("race", race, self.verdict.races) if race is not None else ("result", result, self.verdict.frequent)
        )
        assert number is not None
        if not 0 < number <= len(found):
            many = f"{len(found)} {what}{'' if len(found) == 1 else 's'} in all"
            raise InputError(f"there is no {what} {number}: {many}", fix="see what `explore` lists")
        return found[number - 1].interleaving


@dataclass(frozen=True)
class Sighting:
    """One finding of a search, while the search continues."""

    finding: FindingReport
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


def explore(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    machine: str = "semantics",
    progress: Exploring | None = None,
    found: Callable[[Sighting], None] | None = None,
    began: float | None = None,
    always: str | Sequence[str] = (),
    ends: str | Sequence[str] = (),
    reach: str | Sequence[str] = (),
    watch: str | Sequence[str] = (),
    **search: Unpack[SearchOptions],
) -> Exploration:
    """Run a program in every interleaving of its tasks, and report what can happen.

    Source: the small-step rules of the paper, section 4; docs/exploring.md describes the strategies.

    Args:
        program, inputs, params, threads, small: as for `wingspan.api.bind`.
        machine: what is interleaved: `semantics`, the steps of the rules; or `native`, the accesses of the compiled
            plan.
        progress: called now and then with the state of the search.
        found: called with each race, fault, deadlock, wrong result, and property that is violated or reached, as soon
            as it is found.
        began: the `time.monotonic()` from which `max_seconds` count; by default now.
        always, ends, reach: properties, as expressions such as `"all(C[i] >= 0)"`: what must hold in every state; of
            every result, instead of being the sequential one; and in some state.
        watch: expressions about the program; steps that may change what they read are visible, as for `replay`.
        search: the strategy and its bounds: the fields of `wingspan.explorer.Search`, such as `strategy="dpor"`,
            `max_states=10_000` or `first=True`.

    Returns:
        The verdict, with the program. Nothing is proved unless `verdict.complete`.

    Raises:
        ProgramError, InputError: the program, an input, a parameter or a bound does not fit; a tensor is too large; a
            checkpoint does not match.
    """
    asked = _search_of(search)
    if asked.checkpoint is not None:
        check_output(asked.checkpoint, files_of(program, inputs))
    bounds = asked.bounds(began)
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    properties = properties_of(bound, {"always": _texts(always), "ends": _texts(ends), "reach": _texts(reach)}, machine)
    watches = _texts(watch)
    observed = observed_names(properties) | observed_by(bound, watches, machine)
    explored: Machine[Any] = machine_of(bound, machine, observed)
    about = _digest(bound, machine, properties, watches) if asked.checkpoint or asked.resume else ""
    expected: Outcome | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    try:
        expected = expected_of(bound, bounds.tick)
    except Stopped as stopped:  # then there is nothing left for the search either
        left_out = ((UNCOMPARED, stopped.bound),)
    except Undecided:
        left_out = ((UNCOMPARED, "whether a zero is stored"),)
    except TooLarge:
        left_out = ((UNCOMPARED, "a tensor is too large for the reference"),)

    def report(finding: FindingReport) -> None:
        if found is not None:
            found(Sighting(finding, bound, expected))

    with activity("exploring", forks=asked.jobs > 1) as change:
        verdict = explorer.explore(
            explored,
            asked,
            expected=expected,
            about=about,
            progress=progress or (None if change is ignore else partial(_say_status, change)),
            found=report,
            bounds=bounds,
            properties=properties,
        )
    return Exploration(
        replace(verdict, left_out=(*left_out, *verdict.left_out)),
        bound,
        expected,
        (*_texts(always), *_texts(reach), *watches),
    )


def _say_status(change: Change, status: Status) -> None:
    change(f"exploring: {status.explored} {status.unit}s, {status.planned} planned")


def _texts(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else tuple(given)


def _search_of(options: SearchOptions) -> Search:
    """The search with these options. InputError if there is no such option, or a file has no name that can be used."""
    known = {field.name for field in fields(Search)}
    for name in options:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"use {', '.join(sorted(known))}"
            raise InputError(f"a search has no option {name}", fix=fix)
    given: dict[str, Any] = {**options}
    given |= {
        name: require_readable_name(given[name]) for name in ("checkpoint", "resume") if given.get(name) is not None
    }
    return Search(**given)


def _digest(bound: Elaborated, machine: str, properties: Sequence[Property], watches: Sequence[str]) -> str:
    """Distinguish searches: by the program as it is run, its formats, its inputs, the machine and the properties."""
    inputs = {name: sorted(tensor.cells.values.items(), key=repr) for name, tensor in bound.inputs.items()}
    towers = {name: (str(tower), tower.shape) for name, tower in bound.towers.items()}
    asked = [*((each.kind, each.text) for each in properties), *watches]
    return sha256(repr((machine, bound.body, towers, inputs, *asked)).encode()).hexdigest()


def replay(
    program: Runnable,
    text: str | None = None,
    *,
    race: int | None = None,
    result: int | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    machine: str = "semantics",
    watch: str | Sequence[str] = (),
) -> interleaving.Replay[Any]:
    """Run a program along one interleaving, step by step.

    Args:
        program, inputs, params, threads, small: as for `wingspan.api.bind`.
        text: the interleaving as a verdict prints it: the tasks that step, as in `1*3,2,1`. When it is used up, or
            names a task that cannot step, the first task that can step continues. By default that of a `race` or a
            `result`, or else of the first finding.
        race, result: the number of a race or of a result, from 1, of exploring at most `FAR` states.
        machine: the machine that the verdict is of, `semantics` or `native`.
        watch: the properties of states that the verdict answers: steps that may change what they read are visible.

    Returns:
        All steps, how the run ended, and where it left the interleaving, if it did (`mismatch`).

    Raises:
        InputError: the text is not an interleaving, or there is no such race or result.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    if text is None:
        found = explore(bound, machine=machine, max_states=FAR, watch=watch)
        text = found.interleaving(race=race, result=result)
    observed = observed_by(bound, _texts(watch), machine)
    followed: interleaving.Replay[Any] = interleaving.replay(machine_of(bound, machine, observed), text)
    followed.program = bound
    return followed
