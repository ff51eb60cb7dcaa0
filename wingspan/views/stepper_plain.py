"""The stepper on standard input and output, for screen readers, recordings and pipes.

At the start it prints all panes, and after a command only what that changed; a letter repeats a pane. Lines are words,
without frames and lanes; words say what marks show elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

from wingspan.base.errors import InputError, printable
from wingspan.results.words import describe_accesses
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import schema
from wingspan.trace.session import Session, TaskChoice
from wingspan.views import stepper
from wingspan.views.stepper import (
    KEYS,
    WRITTEN,
    Taken,
    assess,
    ending,
    history,
    mark_redexes,
    picture,
    standing,
    status,
)

WIDTH = 80

HELP = """\
1, 2, …: the step of this task
n: the next step, if there is only one
b: back
x: to the nearest race ahead
r: to a new result ahead
i: invisible steps one by one, or together with the visible one before them
?: predict each step before it is shown
p: the program, and where tasks stand
t: the steps so far
m: memory; what the last step wrote is in brackets
u: the rule of the last step
a: all of these
c: the configuration; what task 1 reduces next is between «1: and »
s FILE: save, as .txt, .svg or .html
h: this help
q: quit"""


def run(session: Session, commands: Iterable[str], show: Callable[[str], None], save: Callable[..., str]) -> None:
    """Show the session, and what each command changes, until `q` or their end. `save` writes a file."""
    _print_lines(show, [*_all(session), *following(session), "", "h is help, q quits"])
    for line in commands:
        command = line.strip()
        if command == "q":
            return
        try:
            _print_lines(show, _obey(session, command, save))
        except InputError as error:
            _print_lines(show, [f"! {error.message}"])


def _print_lines(show: Callable[[str], None], lines: Iterable[str]) -> None:
    show("\n".join(lines))


def _obey(session: Session, command: str, save: Callable[..., str]) -> Iterable[str]:
    """Do what a line says; what there is to say then."""
    if command == "h":
        return [HELP]
    if command == "c":
        return mark_redexes(session)
    if command == "s" or command.startswith("s "):
        return [save(command[1:].strip(), lambda: picture(session))]
    if session.asked is None and command in PANES:
        return PANES[command](session)
    before, output = history(session), []
    if command in KEYS:
        KEYS[command][1](session)
    elif session.asked is not None:
        output = [assess(session.answer(command))]
    else:
        session.choose(command)
    if command == "i":
        output = [f"invisible steps {'together with the visible one before them' if session.folded else 'one by one'}"]
    elif command == "?":
        output = ["choose a task, and predict its step" if session.predicting else "steps are shown again"]
    elif session.asked is None:
        output += _since(session, before)
    return [*output, *following(session)]


def _since(session: Session, before: Sequence[Taken]) -> Iterator[str]:
    """The steps since then and their effects on memory; or the state that going back has reached."""
    now = history(session)
    if len(now) <= len(before):
        yield "back, after" if now else "back at the first state"
        yield from (line for step in now[-1:] for line in _step_lines(session, step))
        return
    for step in now[len(before) :]:
        yield from _step_lines(session, step)
    yield from stepper.watched_values(session, WIDTH)
    yield from (line for line in stepper.memory(session, WIDTH) if re.search(WRITTEN, line))
    yield from stepper.readers(session, WIDTH)


# --------------------------------------------------------------------------------------------------------------- panes


def program(session: Session) -> Iterator[str]:
    """The lines of the program, and after each the tasks that stand there."""
    yield "program"
    source, places = session.trace.source, standing(session)
    for number in range(1, len(source.text.splitlines()) + 1):
        here = f"  (task {', task '.join(places[number])})" if number in places else ""
        yield from _lines(f"{number}  {printable(source.line(number))}{here}")


def so_far(session: Session) -> Iterator[str]:
    """A line for each step."""
    yield f"steps so far: {session.interleaving}" if session.moves else "no step so far"
    for step in history(session):
        yield from _step_lines(session, step)


def memory(session: Session) -> Iterator[str]:
    """The memory as the terminal shows it."""
    yield "memory"
    yield from (line.removeprefix("▲ ") for line in stepper.memory(session, WIDTH))


def rule(session: Session) -> Iterator[str]:
    """The rule of the last step: its premises and its conclusion, filled in, and as it is drawn."""
    step = session.last
    if step is None:
        yield "no rule yet"
        return
    yield from _lines(f"rule {step.rule}, task {step.task or '0'}{_at(session, step)}")
    if step.conclusion:
        for premise in step.premises:
            yield from _lines(f"premise{'' if premise.shown else ', not yet shown'}: {premise.instance}")
        yield from _lines(f"conclusion: {step.conclusion}")
        yield from _lines(", ".join(f"{name} = {text}" for name, text in step.letters.items()))
        yield "as drawn"
        for drawn in step.case.premises:
            yield from _lines(f"premise: {drawn}")
        yield from _lines(f"conclusion: {step.case.conclusion}")
        yield from _lines(schema(ALL[step.rule]).note)


def _all(session: Session) -> Iterator[str]:
    for pane in (program, so_far, memory, rule):
        yield from pane(session)


PANES: dict[str, Callable[[Session], Iterator[str]]] = {
    "p": program,
    "t": so_far,
    "m": memory,
    "u": rule,
    "a": _all,
}
"""The commands that repeat what stands there."""


def following(session: Session) -> Iterator[str]:
    """The possible next steps, a line for each task; or the end of the run."""
    if session.asked is not None:
        yield from stepper.following(session, WIDTH)
        return
    yield f"next ({status(session)})"
    for choice in session.choices:
        yield from _lines(f"{choice.key}: {_choice(session, choice)}")
    yield from ending(session, WIDTH)


def _choice(session: Session, choice: TaskChoice) -> str:
    task = "" if choice.key == (choice.task or "0") else f"task {choice.task or '0'} "
    if session.predicting and not session.left:
        return f"{task}hidden"
    races = f", RACE with task {', '.join(choice.racing)}" if choice.racing else ""
    return f"{task}{_does(choice.step)}{races}"


def _step_lines(session: Session, taken: Taken) -> Iterator[str]:
    number, step, lost = taken
    name = f"step {number}, " if number else ""
    yield from _lines(f"{name}task {step.task or '0'}: {_does(step)}{_at(session, step)}")
    if lost is not None:
        yield from _lines(f"LOST: step {number} {lost.text}")


def _does(step: DerivedStep) -> str:
    return f"{step.rule} {describe_accesses(step.footprint)}".rstrip()


def _at(session: Session, step: DerivedStep) -> str:
    place = session.trace.place(step)
    return place and f", {place}"


def _lines(text: str) -> list[str]:
    return wrap(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
