"""Parts of pages that scripts write, and the data files in docs/data, from which they take the numbers.

A part stands between two marks, of which the first names the command that writes it:

    <!-- NAME: COMMAND -->
    <!-- end of NAME -->
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from proofs_tests.places import ROOT
from wingspan.base.writing import write_atomically

DATA = ROOT / "docs" / "data"
Row = Mapping[str, object]


def _marks(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {re.escape(name)}: [^\n]* -->\n)(.*?)(<!-- end of {re.escape(name)} -->)", re.DOTALL)


def part(page: Path, name: str) -> str:
    """The text between the marks of a name. ValueError if the page has no such marks, or has them twice."""
    found = _marks(name).findall(page.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(f"{page.name} has {len(found)} parts {name}")
    return str(found[0][1]).strip("\n")


def rewrite(page: Path, parts: Mapping[str, str]) -> None:
    """Replace the parts of a page, all of them or none."""
    text = page.read_text(encoding="utf-8")
    for name, new in parts.items():
        part(page, name)
        text = _marks(name).sub(lambda found, new=new: f"{found[1]}\n{new.strip()}\n\n{found[3]}", text)  # type: ignore[misc]
    write_atomically(page, text.encode())


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown. Integers get commas."""
    lines = [heads, ["---"] * len(heads), *([_cell(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|")


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def csv_of(rows: Sequence[Row]) -> bytes:
    """Rows with the same columns as CSV. Empty cells are numbers that were not measured."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[Row], **same: str) -> None:
    """Write a CSV file. Rows that are there stay, unless they have these values in these columns."""
    before = rows_of(path) if same and path.exists() else []
    kept = [row for row in before if any(row[column] != value for column, value in same.items())]
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, csv_of([*kept, *rows]))
