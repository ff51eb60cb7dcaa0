"""Reads of tasks whose values are not yet used, and the updates that are lost when they are written back.

A task has read a cell from its step that reads it to the one that writes for the same statement. If another task
writes the cell between the two, what that one wrote is overwritten with a value computed without it: a lost update.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.explorer.interleaving import by_path
from wingspan.explorer.machine import Indices, Step
from wingspan.lang.printer import term
from wingspan.semantics.derived import DerivedStep

WRITING = ("write", "atomic")


@dataclass(frozen=True)
class PendingRead:
    """A task has read a cell for the statement at a span, in the visible step with this number.

    `over` is the task that has written the cell since, in step `since`.
    """

    task: str
    cell: Hashable
    value: Any
    span: Span | None
    indices: Indices
    number: int
    over: str | None = None
    since: int = 0

    @property
    def text(self) -> str:
        """The read in words, as in `c.val[3]: task 1 has read 0, old since task 2 wrote`."""
        old = "" if self.over is None else f", old since task {self.over or '0'} wrote"
        return f"{self.cell}: task {self.task or '0'} has read {term(self.value)}{old}"


@dataclass(frozen=True)
class LostUpdate:
    """A step overwrites what a task wrote with a value computed from an older one, which it had read.

    `written` and `read` are the numbers of the steps that did so.
    """

    cell: Hashable
    writer: str
    value: Any
    written: int
    read: int

    @property
    def text(self) -> str:
        """The step in words, as in `overwrites step 5 with a value computed from step 4's read`."""
        return f"overwrites step {self.written} with a value computed from step {self.read}'s read"


@dataclass(frozen=True)
class PendingReads:
    """The reads in force after so many visible steps."""

    all: tuple[PendingRead, ...] = ()
    steps: int = 0

    @property
    def by_task(self) -> list[PendingRead]:
        """The reads by task and cell."""
        return sorted(self.all, key=lambda read: (by_path(read.task or "0"), str(read.cell)))

    def after_step(self, step: Step[Any]) -> tuple[PendingReads, LostUpdate | None]:
        """The reads in force after a visible step, and the update that it overwrites.

        A machine that does not say when a statement ends keeps its reads until the task goes on to other indices.
        """
        number = self.steps + 1
        left = [read for read in self.all if read.task != step.task or read.indices == step.indices]
        lost = None
        for touch in step.footprint:
            mine = [read for read in left if read.cell == touch.cell and read.task == step.task]
            if touch.effect == "write":
                used = [read for read in mine if _is_for(read, step)]
                lost = next((_lost_update(each) for each in used if each.over is not None), lost)
            left = [read for read in left if read not in mine]
            if touch.effect in WRITING:
                left = [
                    _overwritten_read(read, step.task, number) if read.cell == touch.cell else read for read in left
                ]
            elif touch.effect == "read":
                left.append(PendingRead(step.task, touch.cell, touch.value, step.span, step.indices, number))
        done = isinstance(step, DerivedStep) and step.done
        if done and any(touch.effect in WRITING for touch in step.footprint):
            left = [read for read in left if not _is_for(read, step)]
        return PendingReads(tuple(left), number), lost


NONE = PendingReads()


def _overwritten_read(read: PendingRead, task: str, number: int) -> PendingRead:
    """A read of a cell that a task then wrote, in the step with this number."""
    return replace(read, over=task, since=number)


def _lost_update(read: PendingRead) -> LostUpdate:
    """The update that is lost when the value of an old read is used."""
    assert read.over is not None
    return LostUpdate(read.cell, read.over, read.value, read.since, read.number)


def _is_for(read: PendingRead, step: Step[Any]) -> bool:
    """Whether a step is of the task and the statement that a read was made for."""
    if read.task != step.task or read.span is None or step.span is None:
        return False
    here, there = step.span, read.span
    begins = (here.line, here.column) <= (there.line, there.column)
    return begins and (there.end_line, there.end_column) <= (here.end_line, here.end_column)
