"""The measurements in docs/exploring.md and docs/parts.md are those in bench/results."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import exploring
from proofs_tests.generated import part


@pytest.mark.parametrize(("page", "name"), exploring.TABLES)
def test_a_table_is_made_of_the_measurements(page: Path, name: str) -> None:
    """`python bench/exploring.py` writes them."""
    assert part(page, name) == exploring.TABLES[page, name]()


def test_the_last_run_that_has_what_is_required_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "RESULTS", tmp_path)
    (tmp_path / "x.jsonl").write_text('{"records": [{"n": 1}]}\n{"records": [{"n": 2}]}\n{"records": []}\n')
    assert exploring.newest("x") == [{"n": 2}]
    assert exploring.newest("x", lambda some: {"n": 1} in some) == [{"n": 1}]
