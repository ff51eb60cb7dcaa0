"""The tables of docs/levels.md are what the levels do."""

from __future__ import annotations

from proofs_tests import levels_page
from wingspan.levels import REGISTRY


def test_the_tables_are_what_the_levels_do() -> None:
    """Every format with buffers of its own has a row in each; `python -m proofs_tests.levels_page` writes them."""
    _, _, rest = levels_page.PAGE.read_text(encoding="utf-8").partition(levels_page.BEGIN)
    written, _, _ = rest.partition(levels_page.END)
    assert written.strip() == "\n".join(levels_page.tables()).strip()
    named = {name for name, level in REGISTRY.items() if not level.modifier and level.__name__ == name}
    assert set(levels_page.LEVELS) == named
