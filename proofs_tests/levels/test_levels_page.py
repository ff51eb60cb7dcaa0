"""The tables of docs/levels.md are what the levels do."""

from __future__ import annotations

from proofs_tests import levels_page
from proofs_tests.generated import part
from wingspan.levels import REGISTRY


def test_the_tables_are_what_the_levels_do() -> None:
    """Every format with buffers of its own has a row in each; `python -m proofs_tests.levels_page` writes them."""
    assert part(levels_page.PAGE, "modifiers") == "\n".join(levels_page.tables()).strip()
    named = {name for name, level in REGISTRY.items() if not level.modifier and level.__name__ == name}
    assert set(levels_page.LEVELS) == named
