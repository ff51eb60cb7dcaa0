"""docs/command-line.md: it has all verbs and options of `--help`, and no others."""

from __future__ import annotations

import re

import click

from proofs_tests.generated import part
from proofs_tests.synopsis import COMMON, PAGE, options, synopsis, usage, verbs
from wingspan.cli.group import MODULES

TEXT = PAGE.read_text(encoding="utf-8")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def first_cells(head: str) -> list[str]:
    """The first cell of each row of the table with this head."""
    rows = TEXT[TEXT.index(f"| {head} |") :].split("\n\n")[0].splitlines()[2:]
    return [row.removeprefix("| ").split(" | ")[0] for row in rows]


def every_option() -> set[str]:
    """All names of all options."""
    return {name for _, context, verb in verbs() for each in options(context, verb) for name in each.opts}


def test_the_synopsis_is_made_of_the_verbs() -> None:
    """`python -m proofs_tests.synopsis` writes it."""
    assert part(PAGE, "synopsis") == synopsis()


def test_the_synopsis_has_every_verb_with_its_options() -> None:
    paragraphs = re.findall(r"^wingspan .*(?:\n .*)*", synopsis(), re.MULTILINE)
    for (name, context, verb), paragraph in zip(verbs(), paragraphs, strict=True):
        shared = COMMON if "[PROGRAM OPTIONS]" in paragraph else ()
        assert paragraph.startswith(f"wingspan {name}")
        assert {*OPTION.findall(paragraph), *shared} >= {each.opts[0] for each in options(context, verb)}


def test_the_table_of_verbs_has_each_once() -> None:
    named = [re.match(r"`([\w-]+)", cell) for cell in first_cells("verb | does")]
    assert sorted(found[1] if found else "" for found in named) == sorted(MODULES)


def test_the_table_of_options_has_all_of_them_and_no_other() -> None:
    named = {name for cell in first_cells("option | means") for name in OPTION.findall(cell)}
    assert named == every_option() and len(named) > 50


def test_the_page_names_no_option_that_is_not_there() -> None:
    named = {name for name in OPTION.findall(TEXT) if name.startswith("--")}
    assert named - every_option() == {"--version"}


def test_an_option_is_shown_with_its_value() -> None:
    chosen = click.Option(["--a"], type=click.Choice(["b", "c"]))
    optional = click.Option(["--small"], metavar="[N]", multiple=True)
    assert [usage(each) for each in (chosen, optional, click.Option(["-x"], is_flag=True))] == [
        "[--a b|c]", "[--small [N]]…", "[-x]",
    ]  # fmt: skip
