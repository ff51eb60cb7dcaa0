"""Devices and schedules, and variants of a program with other ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from wingspan.api import Program
from wingspan.api.small import SCHEDULES, STATIC
from wingspan.lang import ir

THREADS = (1, 2, 3, 4)


def schedules() -> st.SearchStrategy[str]:
    """Draws schedules as programs write them; chunks may be longer than the loop."""
    return st.sampled_from((STATIC, STATIC)) | st.integers(1, 3).map("dynamic_schedule({})".format)


def devices(name: str = "", most: int = 4) -> st.SearchStrategy[str]:
    """Draws devices as programs write them, `cpu(:d, 3)`, with 1 to `most` threads."""
    return st.integers(1, most).map(lambda n: f"cpu({name}, {n})" if name else f"cpu({n})")


def with_devices(program: Program, threads: ir.Expression, schedule: ir.ScheduleCall | ir.Variable) -> Program:
    """The program with that number of threads on every device, and that schedule for every parallel loop."""

    def change(node: Any) -> Any:
        match node:
            case ir.Cpu():
                return replace(node, nthreads=threads)
            case ir.Parallel():
                return replace(node, schedule=schedule)
        return node

    return replace(program, tree=program.tree.map(change))


def leave_open(program: Program) -> Program:
    """The program with both left open. The verdict of the level dependence test holds for all choices."""
    return with_devices(program, ir.Variable("nthreads"), ir.Variable("schedule"))


def variants(
    program: Program, threads: Sequence[int] = THREADS, schedules: Sequence[str] = SCHEDULES
) -> Iterator[tuple[str, Program]]:
    """The program with each number of threads and each schedule, and a label; unchanged if it is serial."""
    if not any(isinstance(node, ir.Parallel) for node in program.tree.walk()):
        yield "as written", program
        return
    for n in threads:
        for text in schedules if n > 1 else schedules[:1]:
            call = parse_schedule(text)
            yield f"threads = {n}, {text}", with_devices(program, ir.Literal(n), call)


def parse_schedule(schedule: str) -> ir.ScheduleCall:
    """A schedule from its text."""
    kind, _, step = schedule.rstrip(")").partition("_schedule(")
    return ir.ScheduleCall(kind, ir.Literal(int(step)) if step else None)
