"""Runs the level dependence test on a program: with advice, or as a guard before engines that rely on its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from wingspan import dependence
from wingspan.api.binding import Progress, Runnable, bind
from wingspan.base.activity import activity
from wingspan.base.budget import BUDGET, Budget
from wingspan.base.errors import InputError, ProgramError
from wingspan.dependence import TESTS, Report, Test
from wingspan.dependence.advice import advise
from wingspan.dependence.retest import Retest
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.program import Program, load

RACELESS = ("safe", "order-dependent")
"""The verdicts of the level dependence test on programs whose tasks do not race."""


class Unsafe(ProgramError):
    """A program is not run because the level dependence test does not accept it.

    Attributes:
        report: the findings, as `check` returns them, without advice.
    """

    topic = "unsafe"

    def __init__(self, report: Report) -> None:
        first, *more = report.findings
        others = f", and {len(more)} more" if more else ""
        super().__init__(
            f"the level dependence test finds the program {report.verdict}: {first.reason}{others}", first.access,
            fix="see `check` for a fix, or pass unsafe=True to run it anyway",
        )  # fmt: skip
        self.report = report

    def __reduce__(self) -> tuple[type[Unsafe], tuple[Report]]:
        """Pickle it with its report, for other processes."""
        return type(self), (self.report,)


def check(
    program: Runnable,
    *,
    test: Test = "repaired",
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    budget: int = BUDGET,
    progress: Progress | None = None,
    on_verdict: Callable[[Report], None] | None = None,
) -> Report:
    """Run the level dependence test on a program, without running the program, and suggest how to make it safe.

    Accepted programs are safe, except for value-dependent faults (overflow, index out of range, division by zero, wrong
    type, failed assertion), which may occur in some interleavings only, or a format running out of room (`partial`
    has such levels). The verdict holds for all values of the tensors, and for all inputs and parameters that
    are not given. Source: Algorithm 1 of the paper, section 3.2; docs/theory.md says what was repaired.

    Args:
        program: a program, or the path of its file. A program that is bound already gets no advice, since there is no
            text to change.
        test: `repaired`; `printed`, the algorithm as the paper prints it, which accepts some programs that race; or
            `exact`, which accepts more safe programs.
        inputs, params, threads: as for `wingspan.api.bind`. What is not given stays open.
        budget: how many steps of work the search for changes may take, about fifteen microseconds each. The verdict
            does not depend on it; with 0 there is no search.
        progress: called with the number of changes tried, and 0.
        on_verdict: called with the verdict and the findings before changes are searched for.

    Returns:
        The verdict, the findings, and changes with which the test accepts the program, cheapest first. Ctrl-C and the
        budget end the search for changes (`advice_complete`).

    Raises:
        ProgramError: the program has no meaning; or the test cannot compare so many accesses (topic `limit`).
        InputError: an input or a parameter does not fit, or there is no such test or budget.
    """
    if test not in TESTS:
        raise InputError(f"there is no test {test}", fix=f"use one of {', '.join(TESTS)}")
    steps = Budget(budget)
    if isinstance(program, Elaborated):
        return dependence.check(program, test)
    written = program if isinstance(program, Program) else load(program)
    bound = bind(written, inputs=inputs, params=params, threads=threads, symbolic=True)
    with activity("checking"):
        found = replace(dependence.check(bound, test), program=written.tree, budget=steps)
    tried = count()
    again = Retest(written.tree, written.folder, bound, params or {}, threads if threads != 1 else None, test, steps)

    def recheck(tree: ir.Program) -> Report:
        number = next(tried)
        change(f"checking: {number} changes tried")
        if progress is not None:
            progress(number, 0)
        return again.report(again.bind(tree))

    try:
        if on_verdict is not None:
            on_verdict(found)
        with activity("checking: looking for changes") as change:
            advice = advise(written.tree, found, recheck, steps)
    except KeyboardInterrupt:
        return replace(found, advice_ended="interrupted")
    return replace(found, advice=advice, advice_ended="budget" if steps.exceeded else None)


def guard(bound: Elaborated, allowed: Sequence[str] = ("safe",)) -> None:
    """`Unsafe`, unless the level dependence test has one of the allowed verdicts on the program."""
    if dependence.Analysis(bound.body, bound.symbols).verdict(bound.towers) not in allowed:
        raise Unsafe(dependence.check(bound))
