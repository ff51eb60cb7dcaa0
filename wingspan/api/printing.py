"""The plan of a program as text, and as C."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wingspan.api.binding import Runnable, bind, files_of
from wingspan.api.checking import guard
from wingspan.base.paths import require_readable_name
from wingspan.compiled import files as c_files
from wingspan.native.prepared import code_of
from wingspan.plan.pipeline import Stage, stages
from wingspan.plan.show import show
from wingspan.program import load
from wingspan.runtime.memory import buffers


def plan(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
) -> str:
    """The plan of a program as text."""
    return show(code_of(bind(program, inputs=inputs, params=params, threads=threads, small=small)).plan)


def passes(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
) -> list[Stage]:
    """The plan of a program as it is lowered, and after each pass over it; the last ones are for C only."""
    return list(stages(bind(program, inputs=inputs, params=params, threads=threads, small=small)))


def emit_c(
    program: Runnable,
    folder: str | os.PathLike[str] = ".",
    *,
    main: bool = False,
    unsafe: bool = False,
    force: bool = False,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
) -> list[Path]:
    """Write the plan of a program as a C file, called like its source, and the headers that it needs; the paths.

    With a `main` it is a command, which reads the inputs, as they are now, from a file that is written, too. The C
    trusts that tasks do not race: a program that the level dependence test does not accept is `Unsafe`, unless that is
    asked for. InputError if the files cannot be written: then none of them is. A file that wingspan did not write is
    replaced only by `force`, the program and its inputs never.
    """
    folder, name, sources = require_readable_name(folder), "program", []
    if isinstance(program, str | os.PathLike):
        sources.append(require_readable_name(program))
        name, program = sources[0].stem, load(program)
    sources += files_of(program, inputs)
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    if not unsafe:
        guard(bound)
    given = {name: buffers(name, tensor) for name, tensor in bound.inputs.items()} if main else None
    return c_files.write(folder, c_files.contents(code_of(bound).plan, name, given), sources, force)
