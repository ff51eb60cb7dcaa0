"""The rules in the order in which they are printed: a chapter for each module that has some."""

from __future__ import annotations

from wingspan.base.docstrings import docstring
from wingspan.semantics.rules import administrative, parallel, scoping, serial, tensor
from wingspan.semantics.rules.registry import ALL, Rule


def chapters() -> list[tuple[str, list[Rule]]]:
    """Each chapter's heading, and its rules."""
    found = []
    for module in (serial, tensor, parallel, scoping, administrative):
        heading, _, _ = docstring(module).partition("\n")
        found.append((heading, [rule for rule in ALL.values() if rule.apply.__module__ == module.__name__]))
    return found
