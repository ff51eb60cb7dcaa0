"""The synopsis in docs/command-line.md, from the options of the verbs. `python -m proofs_tests.synopsis` writes it.

`make docs` does so. The manual page and docs/verbs.md are made from the same options, with their help.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import click

from proofs_tests.generated import rewrite
from proofs_tests.places import ROOT
from wingspan.cli import main as group

PAGE = ROOT / "docs" / "command-line.md"
COMMON = ("-p", "-i", "--threads", "--small", "--load")
"""The options of all verbs on a program, which the synopsis calls PROGRAM OPTIONS."""
WIDTH = 110


def verbs() -> Iterator[tuple[str, click.Context, click.Command]]:
    """All verbs by name, each with a context to ask it for its help."""
    root = click.Context(group, info_name="wingspan", **group.context_settings)
    for name in group.list_commands(root):
        verb = group.get_command(root, name)
        assert verb is not None
        yield name, click.Context(verb, root, name), verb


def options(context: click.Context, verb: click.Command) -> list[click.Option]:
    """The options of a verb, but for --help."""
    return [each for each in verb.get_params(context) if isinstance(each, click.Option) and "--help" not in each.opts]


def usage(option: click.Option) -> str:
    """An option in brackets, with its value; an ellipsis if it may be repeated."""
    value = "|".join(option.type.choices) if isinstance(option.type, click.Choice) else option.metavar
    return f"[{option.opts[0]}{'' if option.is_flag else f' {value}'}]{'…' if option.multiple else ''}"


def synopsis() -> str:
    """A paragraph for each verb, and one for the options that those on a program have in common."""
    lines, shared = [], {}
    for name, context, verb in verbs():
        own = {each.opts[0]: each for each in options(context, verb)}
        words = [word for word in verb.collect_usage_pieces(context) if word != "[OPTIONS]"]
        if own.keys() >= set(COMMON):
            shared = {each: own.pop(each) for each in COMMON}
            words.append("[PROGRAM OPTIONS]")
        lines += _wrapped(f"wingspan {name}", [*words, *map(usage, own.values())])
    return "\n".join(["```text", *lines, "", *_wrapped("PROGRAM OPTIONS:", [*map(usage, shared.values())]), "```"])


def _wrapped(begin: str, words: list[str]) -> list[str]:
    """The lines of a paragraph. A word is not broken at its blanks."""
    text = " ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(
        f"{begin} {text}", WIDTH, subsequent_indent=" " * 18, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


if __name__ == "__main__":
    rewrite(PAGE, {"synopsis": synopsis()})
