"""In notebooks: `step` is the page of a program as a widget, and `%load_ext wingspan` gives the command line."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from wingspan import api, cli
from wingspan.api.binding import Runnable
from wingspan.base.errors import InputError
from wingspan.trace.document import MOST, document
from wingspan.views.view import CELL

if TYPE_CHECKING:
    from wingspan.views.widget import StepWidget


def step(
    program: Runnable,
    interleaving: str = "-",
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    max_states: int = MOST,
    watches: Sequence[str] = (),
) -> StepWidget:
    """A widget to step through a program in a notebook, which begins after an interleaving.

    It is the page of `explore --html`. Its `interleaving` and its `state` can be read and set:

        w = wingspan.step(program)
        w.interleaving = "1*3,2"

    `watches` are expressions to evaluate in each state, such as `c[3] == 2`.
    Of a program with more than `max_states` states it has those near to results and findings, as the page. InputError
    if anywidget is not installed.
    """
    try:
        from wingspan.views.widget import StepWidget
    except ModuleNotFoundError as error:
        if error.name != "anywidget":
            raise
        fix = "install it: pip install 'wingspan[jupyter]'; `wingspan step FILE --html OUT` writes the same as a page"
        raise InputError("wingspan.step needs anywidget, which is not installed", fix=fix) from None
    bound = api.bind(program, inputs=inputs, params=params, threads=threads, small=small)
    return StepWidget(document(bound, max_states, [interleaving], watches), interleaving)


def load_ipython_extension(shell: Any) -> None:
    """Define the magic `wingspan`, for `%load_ext wingspan`."""
    shell.register_magic_function(wingspan, "line_cell", "wingspan")


def wingspan(line: str, cell: str | None = None) -> None:
    """A command as on the command line: `%wingspan explore two.ws`.

    With a cell, that is the program: `%%wingspan explore -p nt=2`.
    """
    words = shlex.split(line)
    given, out, err = sys.stdin, io.StringIO(), io.StringIO()
    if cell is not None:
        words.insert(1, "-")
        sys.stdin = io.TextIOWrapper(io.BytesIO(cell.encode()), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):  # what takes seconds is shown in an output of its own
            cli.main(words, prog_name="%wingspan" if cell is None else CELL)
    except SystemExit:
        pass  # the status: what was printed says it
    finally:
        sys.stdin = given
        sys.stderr.write(err.getvalue())
        sys.stdout.write(out.getvalue())
