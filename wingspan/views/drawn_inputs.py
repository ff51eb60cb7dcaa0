"""The inputs and parameters drawn for a program that leaves some open."""

from __future__ import annotations

from textwrap import wrap

from wingspan.views.view import Invocation

WIDTH = 80


def drawn(invocation: Invocation, verb: str) -> str:
    """The arrays and values, and the command that draws them again."""
    assert invocation.drawn is not None
    threads = invocation.binding["threads"]
    values = [f"{name} = {text}" for name, text in invocation.drawn.params.items()]
    lines = [f"drawn by --small {invocation.drawn}, for {threads} thread{'s' * (threads != 1)} on every device:"]
    for name, array in invocation.drawn.inputs.items():
        extents = "×".join(map(str, array.shape)) or "a number"
        lines += wrap(
            f"{name} = {array.tolist()}  ({extents})", WIDTH - 2, initial_indent="  ", subsequent_indent="      "
        )
    lines += wrap(", ".join(values), WIDTH - 2, initial_indent="  ", subsequent_indent="      ")
    nothing = not invocation.drawn.inputs and not values
    return "\n".join(
        [*lines, *(["  nothing: the program leaves nothing open"] if nothing else []), f"  {invocation.command(verb)}"]
    )
