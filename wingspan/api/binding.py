"""Binds a program to its inputs and parameters, so that an engine can run it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wingspan.base.errors import Diagnostic, InputError, ProgramError, WingspanError
from wingspan.elaborate import Elaborated, elaborate
from wingspan.lang import ir
from wingspan.program import Program as Program
from wingspan.program import load as load
from wingspan.program import parse as parse

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
    small: int | str | None = None,
    symbolic: bool = False,
) -> Elaborated:
    """Bind the inputs and parameters of a program, so that an engine can run it.

    Args:
        program: a program, or the path of its file. A program that is bound already is returned as it is.
        inputs: the data of each open input by its name: a NumPy or SciPy array of the rank that the program's
            subscripts have, a `Tensor`, or the path of a file. Arrays are copied, so they may change later; to save the
            copy, pass a `Tensor` that borrows them.
        params: the value of each parameter by its name: a number, or text as after `-p` on the command line.
        threads: the number of threads of every device, in place of the numbers that the program gives.
        small: draw what is not given, as `--small` does: `N`, inputs of extents up to N, for N threads, or `N:SEED`.
        symbolic: leave open what is not given (`symbols` of the result). No engine runs such a program; `check` judges
            it for all values.

    Returns:
        The program with explicit phases, concordant loops, and an extent for each axis.

    Raises:
        ProgramError: the program has no meaning, such as a name without a value.
        InputError: an input, a parameter or a file does not fit.
    """
    if isinstance(program, Elaborated):
        if program.symbols and not symbolic:
            message = f"the program is bound symbolically, and leaves {', '.join(program.symbols)} open"
            raise InputError(message, fix="bind it with its inputs and parameters")
        return program
    program = program if isinstance(program, Program) else load(program)
    given: dict[str, Any] = {"inputs": inputs or {}, "params": params or {}, "threads": threads}
    if small is not None:
        from wingspan.api.small import draw, read_scope

        given = draw(program, *read_scope(small), inputs=inputs, params=params).binding(**given)
    try:
        return elaborate(program.tree, program.folder, **given, symbolic=symbolic)
    except (ProgramError, InputError) as error:
        if not symbolic:
            _say_what_is_open(error, program, given)
        raise


def _say_what_is_open(error: WingspanError, program: Program, given: Mapping[str, Any]) -> None:
    """Put before the mistakes what the program leaves open, if it is several things, and nothing else is wrong."""
    with suppress(ProgramError, InputError):
        symbols = elaborate(program.tree, program.folder, **given, symbolic=True).symbols
        names = [name for name in symbols if name.isidentifier()]
        if len(names) > 1:
            message = f"the program leaves {', '.join(names)} open"
            fix = "give each of them, or draw tiny ones: --small, or small=2 in Python"
            error.diagnostics = (Diagnostic("error", "input", message, notes=(("fix", fix),)), *error.diagnostics)


def files_of(program: Runnable, inputs: Mapping[str, Any] | None = None) -> list[Path]:
    """The named files that a program and its inputs are read from. No verb overwrites them."""
    found = []
    tensors = [Path(data) for data in (inputs or {}).values() if isinstance(data, str | os.PathLike)]
    if not isinstance(program, Program | Elaborated):
        found.append(Path(program))
        program = load(program)
    if isinstance(program, Program):
        tensors += [program.folder / node.path for node in program.tree.walk() if isinstance(node, ir.File)]
    if tensors:
        from wingspan.tensors.files import split_member

        found += [split_member(path)[0] for path in tensors]
    return found
