"""Verbs for lectures."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

import click

from wingspan.cli.group import main
from wingspan.console import show
from wingspan.errors import InputError
from wingspan.semantics.rules import ALL, Rule
from wingspan.semantics.rules.chapters import chapters
from wingspan.views import inference

DRAWN: dict[str, Callable[[Sequence[Rule]], str]] = {
    "text": inference.rules_text,
    "latex": inference.rules_latex,
    "svg": inference.rules_svg,
}
"""The forms that rules are drawn in."""


@main.command()
@click.argument("names", metavar="[RULE]...", nargs=-1)
@click.option("--format", "form", type=click.Choice(list(DRAWN)), default="text", show_default=True, help="As what.")
def rules(names: tuple[str, ...], form: str) -> None:
    """Draw the rules with these names, or all.

    LaTeX needs amsmath: put it into a file and \\input that. SVG is one picture.
    """
    show(DRAWN[form]([_rule(name) for name in names] or [rule for _, chapter in chapters() for rule in chapter]))


def _rule(name: str) -> Rule:
    found = {known.casefold(): rule for known, rule in ALL.items()}
    if name.casefold() not in found:
        close = difflib.get_close_matches(name.casefold(), found, n=1)
        fix = f"did you mean {found[close[0]].name}?" if close else f"use {', '.join(ALL)}"
        raise InputError(f"there is no rule {name}", fix=fix)
    return found[name.casefold()]
