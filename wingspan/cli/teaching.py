"""Verbs that teach: the rules, a quiz, and what messages mean."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

import click

from wingspan import api
from wingspan.base.errors import InputError
from wingspan.cli.group import main
from wingspan.cli.package_data import read_shipped
from wingspan.console import input_lines, show
from wingspan.semantics.rules import ALL, Rule
from wingspan.semantics.rules.chapters import chapters
from wingspan.views import inference, terminal, topics
from wingspan.views import quiz as asking
from wingspan.views.view import Invocation, exploration_report

DRAWN: dict[str, Callable[[Sequence[Rule]], str]] = {
    "text": inference.rules_text,
    "latex": inference.rules_latex,
    "mathpartir": inference.rules_mathpartir,
    "svg": inference.rules_svg,
}
"""The forms that rules are drawn in."""


@main.command()
@click.argument("names", metavar="[RULE]...", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(list(DRAWN)), default="text", show_default=True, help="Output format."
)
def rules(names: tuple[str, ...], form: str) -> None:
    """Draw all rules, or those named.

    LaTeX needs amsmath, or also mathpartir: put it into a file and \\input that. SVG is one picture.
    """
    show(DRAWN[form]([_rule(name) for name in names] or [rule for _, chapter in chapters() for rule in chapter]))


def _rule(name: str) -> Rule:
    return ALL[_resolve_name("rule", name, ALL)]


def _resolve_name(kind: str, name: str, names: Iterable[str]) -> str:
    """The name as it is written, whatever its case; an InputError if it is not among the names."""
    by_folded_name = {known.casefold(): known for known in names}
    if name.casefold() not in by_folded_name:
        close = difflib.get_close_matches(name.casefold(), by_folded_name, n=1)
        fix = f"did you mean {by_folded_name[close[0]]}?" if close else f"use {', '.join(by_folded_name.values())}"
        raise InputError(f"there is no {kind} {name}", fix=fix)
    return by_folded_name[name.casefold()]


@main.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--sheet", is_flag=True, help="Print only the questions, for a handout.")
@click.option("--key", is_flag=True, help="Print the answers to that handout.")
def quiz(names: tuple[str, ...], sheet: bool, key: bool) -> None:
    """Ask what can go wrong in small programs, and explain.

    Each question is answered on standard input, by a verdict or by a word that the fix brings in; an empty line passes,
    q stops.
    """
    if sheet and key:
        raise click.UsageError("--sheet and --key exclude each other.")
    every = {each.name: each for each in asking.quizzes(read_shipped("examples/quiz.md"))}
    some = [every[_resolve_name("quiz", name.removeprefix("quiz_"), every)] for name in names] or [*every.values()]
    if sheet:
        show(asking.sheet(some))
    elif key:
        show(asking.key([(each, _report(each)) for each in some]))
    else:
        _ask(some)


def _ask(quizzes: Sequence[asking.Quiz]) -> None:
    """Ask one after the other, as long as there are answers."""
    right, lines = 0, input_lines()
    for number, each in enumerate(quizzes, start=1):
        choice = f"which verdict, or which word fixes it? {', '.join(asking.VERDICTS)}"
        show(f"{asking.question(each, number, len(quizzes))}\n\n{choice}")
        line = next(lines, "")
        guess = line.strip().casefold()
        if not line or guess == "q":
            return
        is_right = guess == each.verdict or guess in each.words_of_fix
        right += is_right
        said = f"{'right' if is_right else 'no' if guess else 'passed'}: {each.verdict}"
        show(f"\n{said}\n\n{asking.answer(each, _report(each))}\n", colours=True)
    show(f"{right} of {len(quizzes)} right")


def _report(each: asking.Quiz) -> str:
    """The findings of exploring a quiz program. They must be those that its answer states."""
    name = f"quiz_{each.name}.ws"
    found = api.explore(api.parse(each.program, name))
    assert found.verdict.verdict == each.verdict, f"{name} is {found.verdict.verdict}"
    return terminal.explore(exploration_report(found, Invocation(name)))


@main.command("help")
@click.argument("names", metavar="[TOPIC]...", nargs=-1)
@click.pass_context
def explain(context: click.Context, names: tuple[str, ...]) -> None:
    """Explain a message error[TOPIC], or a verb.

    Without a TOPIC, list the topics.
    """
    chapters = topics.topics(read_shipped("docs/errors.md"))
    every = {topic: topics.entry(topic, text) for entries in chapters.values() for topic, text in entries.items()}
    for name in names:
        if name not in every and (verb := main.get_command(context, name)) is not None:
            every[name] = verb.get_help(click.Context(verb, context.parent, name))
    show("\n\n".join(every[_resolve_name("topic", name, every)] for name in names) or topics.summaries(chapters))
