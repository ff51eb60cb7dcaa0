"""docs/performance.md and its data files are made of the measurements in bench/results."""

from __future__ import annotations

import pytest

from bench import performance
from proofs_tests.generated import DATA, csv_of, part


@pytest.mark.parametrize("name", performance.TABLES)
def test_a_table_of_the_page_is_made_of_the_measurements(name: str) -> None:
    """`python bench/performance.py` writes them."""
    assert part(performance.PAGE, name) == performance.TABLES[name]()


@pytest.mark.parametrize("name", performance.FILES)
def test_a_data_file_has_the_measurements(name: str) -> None:
    assert (DATA / f"{name}.csv").read_bytes() == csv_of(performance.FILES[name]())


def test_the_last_of_several_measurements_counts(tmp_path, monkeypatch) -> None:
    """Of those with the same keys."""
    monkeypatch.setattr(performance, "RESULTS", tmp_path)
    (tmp_path / "x.jsonl").write_text('{"k": 1, "v": 2}\n{"k": 3, "v": 4}\n{"k": 1, "v": 5}\n')
    assert performance.newest("x", "k") == {(1,): {"k": 1, "v": 5}, (3,): {"k": 3, "v": 4}}


def test_numbers_are_compared_as_numbers_and_shown_as_they_are_written() -> None:
    assert performance.extent(["10.80", "9.1", "", "2"]) == "2 to 10.80"
    assert performance.extent([]) == "–"
