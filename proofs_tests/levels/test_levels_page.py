"""The tables of docs/levels.md are what the levels do; `python -m proofs_tests.levels_page` writes them."""

from __future__ import annotations

import pytest

from proofs_tests import levels_page
from proofs_tests.effort import few
from proofs_tests.generated import part
from wingspan.levels import REGISTRY


def written() -> list[str]:
    """The lines of the page that the script writes."""
    return part(levels_page.PAGE, "modifiers").splitlines()


def test_every_format_with_buffers_of_its_own_has_a_row_in_each_table() -> None:
    named = {name for name, level in REGISTRY.items() if not level.modifier and level.__name__ == name}
    assert set(levels_page.LEVELS) == named
    rows = [line.split("`")[1] for line in written() if line.startswith("| `")]
    assert rows == [*levels_page.LEVELS] * len(levels_page.TABLES)


@pytest.mark.parametrize("level", few(list(levels_page.LEVELS), 2))
def test_the_rows_of_a_level_are_what_it_does(level: str) -> None:
    rows = [line for line in written() if line.startswith(f"| `{level}` |")]
    assert rows == [levels_page.row(level, takes) for takes in levels_page.TABLES.values()]


@pytest.mark.deep
def test_the_tables_are_what_the_script_writes() -> None:
    assert written() == "\n".join(levels_page.tables()).strip().splitlines()
