"""docs/theory.md: its tables are the data's, the data are what was kept, and the tests judge as counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import soundness, theory
from bench.parts import kept_parts
from proofs_tests import theory_page
from proofs_tests.effort import few
from proofs_tests.generated import csv_of, part, rewrite, rows_of, table, write_rows
from proofs_tests.soundness import SOUND
from wingspan import api

FAILURES = rows_of(theory_page.FAILURES)


@pytest.mark.parametrize("name", theory_page.TABLES)
def test_a_table_of_the_page_is_made_of_the_data(name: str) -> None:
    """`python -m proofs_tests.theory_page` writes them."""
    assert part(theory_page.PAGE, name) == theory_page.TABLES[name]()


def test_the_counts_of_small_scopes_are_those_of_the_parts_that_are_kept() -> None:
    """Of the set `full` only the counts are kept."""
    parts = kept_parts(theory.RESULTS)
    totals = {scope.name: theory.total(parts, scope) for scope in theory.LEVELS}
    programs = {scope.name: scope.programs for scope in theory.LEVELS}
    for path, rows in (
        (theory_page.SCOPES, theory_page.scope_rows("levels", totals, programs)),
        (theory_page.FAILURES, theory_page.failure_rows("levels", totals)),
    ):
        assert csv_of([row for row in rows_of(path) if row["scopes"] == "levels"]) == csv_of(rows)
    assert all(row["judged"] == row["programs"] for row in rows_of(theory_page.SCOPES))


def test_the_counts_of_random_programs_are_those_of_the_batches_that_are_kept() -> None:
    totals = soundness.totals(kept_parts(soundness.RESULTS), 1_500)
    assert theory_page.SHAPES.read_bytes() == csv_of(theory_page.shape_rows(totals))
    assert theory_page.REASONS.read_bytes() == csv_of(theory_page.reason_rows(totals))


def test_no_sound_test_accepts_a_program_that_is_bad() -> None:
    """`printed` does: the columns are the right ones."""
    for path, column in (
        (theory_page.SCOPES, "accepted-bad"),
        (theory_page.SCOPES, "explored: accepted-bad"),
        (theory_page.SHAPES, "accepted bad"),
    ):
        accepting = {row["test"] for row in rows_of(path) if int(row[column])}
        assert accepting == {"printed"} and accepting.isdisjoint(SOUND)


@pytest.mark.parametrize("row", few(FAILURES, 9), ids=lambda row: f"{row['test']}-{row['class']}-{row['scopes']}")
def test_the_smallest_program_of_a_failure_is_judged_as_counted(row: dict[str, str]) -> None:
    """By the test that fails; what `printed` accepts in vain is rejected by `repaired`."""
    program = api.parse(row["smallest program"])
    accepted = api.check(program, test=row["test"], budget=0).verdict == "safe"  # type: ignore[arg-type]
    assert accepted == (row["outcome"] == "accepted-bad")
    assert not accepted or api.check(program, budget=0).verdict != "safe"


PAGE = "before\n<!-- one: make it -->\n\nold\n\n<!-- end of one -->\nafter <!-- two: no -->\n"


def test_a_part_of_a_page_is_replaced_alone(tmp_path: Path) -> None:
    """The new text is taken literally."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    rewrite(page, {"one": r"new \1 \g<2>"})
    assert page.read_text() == PAGE.replace("old", r"new \1 \g<2>") and part(page, "one") == r"new \1 \g<2>"
    with pytest.raises(ValueError, match=r"page\.md has 0 parts two"):
        rewrite(page, {"two": "x"})
    page.write_text(PAGE + PAGE)
    with pytest.raises(ValueError, match=r"page\.md has 2 parts one"):
        part(page, "one")


def test_rows_of_other_scopes_stay(tmp_path: Path) -> None:
    path = tmp_path / "new" / "counts.csv"
    write_rows(path, [{"scope": "a", "n": 1}, {"scope": "b", "n": 2}])
    write_rows(path, [{"scope": "b", "n": 'three, "3"\n'}], scope="b")
    assert rows_of(path) == [{"scope": "a", "n": "1"}, {"scope": "b", "n": 'three, "3"\n'}]


def test_a_table_has_commas_in_numbers_only() -> None:
    assert table(["n", "m"], [[12345, "12345"]]) == "| n | m |\n|---|---|\n| 12,345 | 12345 |"
