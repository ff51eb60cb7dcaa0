"""What tasks have read and not yet used, and the updates that are lost when they write it back.

A task has read a cell from its step that reads it to the one that writes for the same statement. If another task
writes the cell between the two, what that one wrote is overwritten with a value computed without it: a lost update.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from wingspan.errors import Span
from wingspan.explorer.machine import Indices
from wingspan.semantics.derived import Derived

WRITING = ("write", "atomic")


@dataclass(frozen=True)
class Read:
    """A task has read a cell for the statement at a span; `over` is the task that has written the cell since."""

    task: str
    cell: Hashable
    value: Any
    span: Span | None
    indices: Indices
    over: str | None = None


@dataclass(frozen=True)
class Lost:
    """A step overwrites what a task wrote with a value computed from an older one, which it had read."""

    cell: Hashable
    writer: str
    value: Any


@dataclass(frozen=True)
class Reads:
    """The reads in force."""

    all: tuple[Read, ...] = ()

    def of(self, cell: Hashable) -> list[Read]:
        """Those of one cell."""
        return [read for read in self.all if read.cell == cell]

    def after(self, step: Derived) -> tuple[Reads, Lost | None]:
        """Those in force after a visible step, and the update that it overwrites."""
        left = [read for read in self.all if read.task != step.task or read.indices == step.indices]
        lost = None
        for touch in step.footprint:
            mine = [read for read in left if read.cell == touch.cell and read.task == step.task]
            if touch.effect == "write":
                used = [read for read in mine if _for(read, step)]
                lost = next((Lost(each.cell, each.over, each.value) for each in used if each.over is not None), lost)
            left = [read for read in left if read not in mine]
            if touch.effect in WRITING:
                left = [replace(read, over=step.task) if read.cell == touch.cell else read for read in left]
            elif touch.effect == "read":
                left.append(Read(step.task, touch.cell, touch.value, step.span, step.indices))
        if step.done and any(touch.effect in WRITING for touch in step.footprint):
            left = [read for read in left if not _for(read, step)]
        return Reads(tuple(left)), lost


NONE = Reads()


def _for(read: Read, step: Derived) -> bool:
    """Whether a step is of the task and the statement that a read was made for."""
    if read.task != step.task or read.span is None or step.span is None:
        return False
    here, there = step.span, read.span
    begins = (here.line, here.column) <= (there.line, there.column)
    return begins and (there.end_line, there.end_column) <= (here.end_line, here.end_column)
