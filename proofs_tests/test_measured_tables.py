"""The measurements in tables of pages are those in bench/results."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import pages, parallelize
from proofs_tests.generated import part


@pytest.mark.parametrize(("page", "name"), pages.TABLES)
def test_a_table_is_made_of_the_measurements(page: Path, name: str) -> None:
    """`python bench/pages.py` writes them."""
    assert part(page, name) == pages.TABLES[page, name]()


def test_the_table_of_placements_is_made_of_the_measurements() -> None:
    """`python bench/parallelize.py` writes it."""
    assert part(parallelize.PAGE, "listings") == parallelize.table().strip()


def test_the_last_run_that_has_what_is_required_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    (tmp_path / "x.jsonl").write_text('{"records": [{"n": 1}]}\n{"records": [{"n": 2}]}\n{"records": []}\n')
    assert pages.newest("x") == [{"n": 2}]
    assert pages.newest("x", lambda some: {"n": 1} in some) == [{"n": 1}]
