"""The plan and the C of a text's program, line by line, each with the line of the text that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wingspan import api
from wingspan.compiled.emit_c import emit_c
from wingspan.editing.exploration import bind_small
from wingspan.native.prepared import code_of
from wingspan.plan.show import show

if TYPE_CHECKING:
    from wingspan.editing.json_types import Compilation, CompiledLine

MARK = re.compile(r"\s*(?:#|//) (\d+) │ ")
"""The comment above what comes of a line, with its number."""


def compile_text(
    text: str, name: str = "program.ws", folder: Path = Path(), inputs: Mapping[str, Any] | None = None, seed: int = 0
) -> Compilation:
    """Compile a text's program; what it leaves open is drawn as for `explore`.

    The C trusts that tasks do not race: of a program that the test does not accept there is the plan alone, and the
    reason. WingspanError if the text is no program that has a plan.
    """
    bound = bind_small(text, name, folder, inputs, seed).program
    plan = code_of(bound).plan
    try:
        api.guard(bound)
    except api.Unsafe as error:
        return {"plan": list(_lines(show(plan))), "c": [], "refusal": error.message}
    return {"plan": list(_lines(show(plan))), "c": list(_lines(emit_c(plan, Path(name).stem))), "refusal": ""}


def _lines(text: str) -> Iterator[CompiledLine]:
    """The lines with the numbers of the lines that they come from; 0 above the first mark, and outside of functions."""
    origin = 0
    for line in text.splitlines():
        if found := MARK.match(line):
            origin = int(found[1])
        elif line.startswith("}"):
            origin = 0
        yield {"text": line, "line": origin}
