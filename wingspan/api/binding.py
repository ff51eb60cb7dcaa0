"""A program with its inputs and parameters, ready for an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wingspan.elaborate import Elaborated, elaborate
from wingspan.errors import InputError
from wingspan.lang import ir
from wingspan.program import Program as Program
from wingspan.program import load as load
from wingspan.program import parse as parse
from wingspan.tensors.files import parted

Progress = Callable[[int, int], None]
"""Called now and then with how much is done, and how much is left, if that is known."""

Runnable = Program | Elaborated | str | os.PathLike[str]
"""A program, one that is bound already, or the path of its file."""


def bind(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    symbolic: bool = False,
) -> Elaborated:
    """The program with its inputs and parameters bound, ready for an engine.

    `inputs` are NumPy or SciPy arrays, `Tensor`s, or paths of files. Arrays may change later, since what the program
    would share with them is copied; to do without the copy, make a `Tensor` that borrows them. `params` are numbers, or
    text as on the command line; `threads` replaces the number of threads of every device. ProgramError or InputError if
    something does not fit. A program that is bound already stays as it is.

    If `symbolic`, what is not given is left open (`symbols`), and no engine takes the program: it is to be judged for
    all values.
    """
    if isinstance(program, Elaborated):
        if program.symbols and not symbolic:
            message = f"the program is bound symbolically, and leaves {', '.join(program.symbols)} open"
            raise InputError(message, fix="bind it with its inputs and parameters")
        return program
    program = program if isinstance(program, Program) else load(program)
    return elaborate(program.tree, program.folder, inputs or {}, params or {}, threads, symbolic)


def files_of(program: Runnable, inputs: Mapping[str, Any] | None = None) -> list[Path]:
    """The files that a program and its inputs are read from, as far as they are named; no verb writes over them."""
    found = [parted(Path(data))[0] for data in (inputs or {}).values() if isinstance(data, str | os.PathLike)]
    if not isinstance(program, Program | Elaborated):
        found.append(Path(program))
        program = load(program)
    if isinstance(program, Program):
        found += [parted(program.folder / node.path)[0] for node in program.tree.walk() if isinstance(node, ir.File)]
    return found
