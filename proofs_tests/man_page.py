"""The manual page, docs/wingspan.1, made from the help of the verbs. `python -m proofs_tests.man_page` writes it.

`make docs` does so. Wheels install it as share/man/man1/wingspan.1.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from proofs_tests.places import ROOT
from proofs_tests.synopsis import verbs
from wingspan import __version__
from wingspan.cli import main as group

PAGE = ROOT / "docs" / "wingspan.1"


def page() -> str:
    """The page, in the language of man."""
    return "\n".join((*_head(), *_verbs(), *_tail())) + "\n"


def _head() -> Iterator[str]:
    yield f'.TH WINGSPAN 1 "" "wingspan {__version__}" "User commands"'
    yield from (".SH NAME", rf"wingspan \- {roff(group.get_short_help_str(200))}")
    yield from (".SH SYNOPSIS", ".B wingspan", r"[\fIOPTIONS\fR] \fIVERB\fR [\fIARGUMENTS\fR]...")
    yield ".SH OPTIONS"
    yield from _options(_root(), group)
    yield ".SH VERBS"


def _root() -> click.Context:
    return click.Context(group, info_name="wingspan", **group.context_settings)


def _verbs() -> Iterator[str]:
    for name, context, verb in verbs():
        usage = " ".join(verb.collect_usage_pieces(context))
        yield from (f".SS wingspan {roff(name)}", rf".B wingspan {roff(name)}", roff(usage), ".PP")
        yield from _paragraphs(verb.help or "")
        yield from _options(context, verb)


def _tail() -> Iterator[str]:
    yield ".SH MESSAGES AND EXIT STATUS"
    yield from _paragraphs(group.epilog or "")


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that begins with a backspace keeps its lines, as click prints it."""
    for part in inspect.cleandoc(text).split("\n\n"):
        kept = part.startswith("\b\n")
        lines = [roff(line) for line in part.removeprefix("\b\n").splitlines()]
        yield from (".nf", *lines, ".fi") if kept else lines
        yield ".PP"


def _options(context: click.Context, command: click.Command) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            yield from (".TP", rf"\fB{roff(record[0])}\fR", roff(record[1]))


def roff(text: str) -> str:
    """The text, without meaning to man."""
    plain = re.sub(r"\s+", " ", text) if "\n" in text else text
    return re.sub(r"^(?=[.'])", r"\\&", plain.replace("\\", r"\e").replace("-", r"\-"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
