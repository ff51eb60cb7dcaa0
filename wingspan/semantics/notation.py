"""Configurations as the paper writes them, whole, with the place of every task's redex."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.lang.printer import CLOSES, OPENS, show
from wingspan.levels import Tower
from wingspan.semantics.config import Config, ProgramState, plug

_MARK = re.compile(f"{OPENS}|{CLOSES}(?P<task>[^{CLOSES}]*){CLOSES}")


@dataclass(frozen=True)
class TextRange:
    """The range of a redex in a text: lines and columns from 0, its end excluded."""

    task: str
    line: int
    column: int
    end_line: int
    end_column: int


def configuration(state: ProgramState, towers: Mapping[str, Tower]) -> tuple[list[str], list[TextRange]]:
    """The lines of ⟨s, t, σ⟩ of the root task, and where the redex of each task stands that can step."""
    return _places(show(abbreviate_accesses(plug(_with_marks(state.root, set(state.tasks))), towers)))


def abbreviate_accesses(node: ir.Node, towers: Mapping[str, Tower]) -> ir.Node:
    """Abbreviate accesses to the roots of tensors as in the program, `c[i]`; write any other in full:
    `access(fiber(c,1,3))`. So equal terms read alike, wherever they stand.
    """

    def full(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Access) and node.fiber.level != towers[node.fiber.tensor].rank + 1:
            return ir.Call("access", (node.fiber, *node.subscripts))  # type: ignore[arg-type]
        return node

    spelled: ir.Node = node.map(full)
    return spelled


def _with_marks(C: Config, able: set[str]) -> Config:
    """The configuration with marks around the redexes of the tasks that can step."""
    s: Any = C.s
    joins = C.t.path in able
    if isinstance(s, ir.Par):
        s = ir.Par(tuple(plug(child) if joins else _with_marks(child, able) for child in s.contexts))
    return C.with_redex(ir.Redex(s, C.t.path) if joins else s)


def _places(text: str) -> tuple[list[str], list[TextRange]]:
    """The text without marks, and where they stood; the first where one redex is printed twice."""
    lines: list[str] = []
    opened: list[tuple[int, int]] = []
    places: dict[str, TextRange] = {}
    for number, marked in enumerate(text.split("\n")):
        line, last = "", 0
        for found in _MARK.finditer(marked):
            line += marked[last : found.start()]
            last = found.end()
            if found[0] == OPENS:
                opened.append((number, len(line)))
            else:
                task = found["task"]
                places.setdefault(task, TextRange(task, *opened.pop(), number, len(line)))
        lines.append(line + marked[last:])
    return lines, list(places.values())
