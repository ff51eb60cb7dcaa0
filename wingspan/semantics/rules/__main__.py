"""Print docs/rules.md: every rule as its docstring draws it. `make docs` keeps the file."""

from __future__ import annotations

from wingspan.base.docstrings import docstring
from wingspan.semantics.rules.chapters import chapters
from wingspan.semantics.rules.registry import Rule

HEAD = """\
# The rules

Drawn from the docstrings of `wingspan/semantics/rules/`, by `make docs`. C → C′ is one step; →* is any number of them.
A step reduces the redex of one task and touches at most one cell (only a level's `sort` touches more): a rule whose
level does more takes several steps, each under the rule's name. No rule applies to a task whose next access takes a
lock that is held: it waits. What the printed rules leave open, and how it is settled, stands in
[reading-notes.md](reading-notes.md).
"""


def section(rule: Rule) -> str:
    """A rule under its name."""
    return f"### {rule.name}\n\n```text\n{docstring(rule.apply)}\n```\n"


def document() -> str:
    """The whole page, a chapter for each module of rules."""
    parts = [HEAD]
    for heading, rules in chapters():
        parts += [f"## {heading}\n", *map(section, rules)]
    return "\n".join(parts)


if __name__ == "__main__":
    print(document(), end="")
