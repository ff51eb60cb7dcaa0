"""The command line in notebooks: `%load_ext wingspan`, then `%wingspan` and `%%wingspan`."""

from __future__ import annotations

import io
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from wingspan import cli


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext wingspan` does: the magic `wingspan` is there."""
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
        with redirect_stdout(out), redirect_stderr(err):  # no terminals, so no spinner
            cli.main(words, prog_name="wingspan")
    except SystemExit:
        pass  # the status: what was printed says it
    finally:
        sys.stdin = given
        sys.stderr.write(err.getvalue())
        sys.stdout.write(out.getvalue())
