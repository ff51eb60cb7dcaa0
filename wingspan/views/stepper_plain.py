"""The stepper on standard input and output: a screen of text for each command, for screen readers and recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wingspan.errors import InputError
from wingspan.trace.session import Session
from wingspan.views.stepper import KEYS, judged, marked, picture, screen

WIDTH = 80

HELP = """\
1, 2, …  the step of this task          n  the next step, if there is only one
b        back                           i  invisible steps: one by one, or not
x        to the nearest race ahead      ?  predict each step before it is shown
r        to a new result ahead          c  the configuration, what is reduced next between « and »
h        this help                      s FILE  save: .txt, .svg, .html
q        quit"""


def run(session: Session, commands: Iterable[str], show: Callable[[str], None], save: Callable[..., str]) -> None:
    """Show the session, and again after each command, until `q` or their end. `save` writes a file."""
    show("\n".join((*screen(session, WIDTH), "", "h is help, q quits")))
    for line in commands:
        command = line.strip()
        if command == "q":
            return
        try:
            show(_obey(session, command, save))
        except InputError as error:
            show(f"! {error.message}")


def _obey(session: Session, command: str, save: Callable[..., str]) -> str:
    """Do what a line says; what there is to see then."""
    if command == "h":
        return HELP
    if command == "c":
        return "\n".join(marked(session))
    if command == "s" or command.startswith("s "):
        return save(command[1:].strip(), lambda: picture(session))
    told = []
    if command in KEYS:
        KEYS[command][1](session)
    elif session.asked is not None:
        told = [judged(session.answer(command))]
    else:
        session.choose(command)
    return "\n".join((*told, *screen(session, WIDTH)))
