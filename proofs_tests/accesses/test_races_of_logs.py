"""The races of a log by happens-before, and what is no log."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.accesses.logs import saved
from proofs_tests.accesses.test_explored_logs import cells
from wingspan.accesses import MOST, parse_log, read_log
from wingspan.base.errors import InputError
from wingspan.base.reading import STEP
from wingspan.happens_before import races


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", []),
        ("1 read c[1]\n2 read c[1]", []),
        ("1 read c[1]\n2 write c[1]", ["c[1]"]),
        ("2 write c[1]\n1 write c[1]", ["c[1]"]),
        ("1 write c[1]\n2 write c[2]", []),
        ("1 atomic c[1]\n2 atomic c[1]\n1 look c[1]", []),
        ("1 atomic c[1]\n2 read c[1]", ["c[1]"]),
        ("1 acquire l\n1 write c[1]\n1 release l\n2 acquire l\n2 write c[1]\n2 release l", []),
        ("1 acquire l\n1 write c[1]\n1 release l\n2 acquire m\n2 write c[1]\n2 release m", ["c[1]"]),
        ("1 acquire l\n1 release l\n1 write c[1]\n2 acquire l\n2 write c[1]\n2 release l", ["c[1]"]),
        ("1 write c[1]\n0 read c[1]\n2 write c[1]", []),
        ("1 write c[1]\n0 join\n2 write c[1]", []),
        ("1.1 write c[1]\n1.2 write c[1]\n1 write c[1]", ["c[1]"]),
        ("1.1 write c[1]\n2 write c[1]", ["c[1]"]),
        ("1 write c[1]\n1.1 write c[1]\n1 write c[1]", []),
        ("1 write x # a comment\n\n# another\n11 write x", ["x"]),
        ("1 write x\n1 signal flag\n2 wait flag\n2 read x\n3 wait flag\n3 read x", []),
        ("1 write x\n1 signal flag\n2 wait flag\n2 read x\n3 wait gate\n3 read x", ["x"]),
        ("1 signal flag\n1 write x\n2 wait flag\n2 read x", ["x"]),
        ("2 wait flag\n1 write x\n1 signal flag\n2 read x", ["x"]),
        ("1 write a\n1 signal b\n2 write c\n2 signal b\n1 wait b\n2 wait b\n1 read c\n2 read a", []),
        ("1 write a\n1 signal b\n2 write c\n2 signal b\n1 wait b\n1 read c\n2 read a\n2 wait b", ["a"]),
        ("1 write x\n1 signal b[1]\n2 wait b[2]\n2 read x", ["x"]),
    ],
)
def test_the_races_of_a_log(log: str, expected: list[str]) -> None:
    assert [race.cell for race in races(parse_log(log))] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[1, 2]", "C[1,2]"),
        ("C[1, 2]", "C[ 01 ,\t+2 ]"),
        ("C[1]", "C [1]"),
        ("C[-1]", "C[-01]"),
        ("C[0]", "C[-0]"),
        ("S", "S[ ]"),
        ("C.val⟨dev 1⟩[1]", "C.val⟨ dev  1 ⟩[ 1]"),
    ],
)
def test_all_spellings_of_a_cell_are_one_cell(one: str, other: str) -> None:
    assert cells(races(parse_log(f"1 write {one}\n2 write {other}"))) == {one}
    assert parse_log(f"1 acquire {one}\n1 release {other}")


def test_a_cell_has_a_name_and_whole_subscripts() -> None:
    texts = [
        "C[1",
        "C]1[",
        "C[1,]",
        "C[,1]",
        "C[1 2]",
        "C[i]",
        "C[1.0]",
        "[1]",
        "C[1].next",
        "C[1][2]",
        "C D",
        "C[1_0]",
    ]
    for text in texts:
        with pytest.raises(InputError, match="is not a cell"):
            parse_log(f"1 write {text}")


@pytest.mark.parametrize("other", ["C[2]", "C.val[3]", "C", "C[1, 2, 1]", "C.val[1, 2]"])
def test_elements_have_names_of_one_form(other: str) -> None:
    """One element by two names would be two cells, and its races would be missed."""
    with pytest.raises(InputError, match=r"is named otherwise than C\[1, 2\] in line 1"):
        parse_log(f"1 write C[1, 2]\n2 write {other}")
    assert parse_log(f"1 write C[1, 2]\n2 acquire {other}\n2 write D.val[1]\n2 write C.ptr[1]")


def test_each_spoiled_line_is_one_error() -> None:
    text = "1 read\n1 read c[1]\nx read c[1]\n1 reads c[1]\n1 acquire l\n2 acquire l\n"
    text += "2 release l\n1 release l\n1 release l"
    with pytest.raises(InputError) as error:
        parse_log(text, "kernel.log")
    told = [(d.span and d.span.line, d.message) for d in error.value.diagnostics]
    assert told == [
        (1, "this is not an access"),
        (3, "x is not a task"),
        (4, "there is no operation reads"),
        (6, "task 1 holds l"),
        (7, "task 2 does not hold l"),
        (9, "task 1 does not hold l"),
    ]
    assert "kernel.log:3:1" in error.value.diagnostics[1].render()


def test_a_log_is_read_from_text_and_from_an_array(tmp_path: Path) -> None:
    lines = "1 read c[3]\n2 write C[1, 2]"
    (tmp_path / "a.log").write_text(lines)
    np.save(tmp_path / "a.npy", np.array([line.split(maxsplit=2) for line in lines.splitlines()]))
    both = [[(a.task, a.operation, a.cell) for a in read_log(tmp_path / name)] for name in ("a.log", "a.npy")]
    assert both[0] == both[1] == [("1", "read", "c[3]"), ("2", "write", "C[1, 2]")]
    assert read_log(tmp_path / "a.npy")[1].span.line == 2


PLACES = [
    ("1 write c[3] at kernel.c:12", "c[3]", "kernel.c:12"),
    ("1 write C [ 1,2 ]   at  my dir/at 7.c:1  # a comment", "C[1, 2]", "my dir/at 7.c:1"),
    ("1 write at at at.c:3", "at", "at.c:3"),
    ("1 write at", "at", ""),
    ("1 write c⟨x at 1⟩[1] at C:\\k.c:3:4", "c⟨x at 1⟩[1]", "C:\\k.c:3:4"),
    ("0 join at kernel.c:9", "", "kernel.c:9"),
    ("0 join", "", ""),
]


@pytest.mark.parametrize(("line", "cell", "place"), PLACES)
def test_a_line_may_name_its_statement(line: str, cell: str, place: str) -> None:
    """Twice, since lines that are known are looked up."""
    log = parse_log(f"{line}\n{line}")
    assert [(access.cell, access.place, access.span.line) for access in log] == [(cell, place, n) for n in (1, 2)]


@pytest.mark.parametrize("place", ["at", "at kernel.c", "at kernel.c:0", "at kernel.c:-1", "at kernel.c:x", "at :3"])
def test_a_place_has_a_file_and_a_line(place: str) -> None:
    with pytest.raises(InputError, match="is not a cell") as error:
        parse_log(f"1 write c[3] {place}")
    assert "at kernel.c:12" in str(error.value.fix)


def test_the_places_of_an_array_are_its_fourth_column(tmp_path: Path) -> None:
    rows = [["1", "write", "c", "k.c:3"], ["0", "join", "", "k.c:4"], ["2", "write", "c", ""]]
    np.save(tmp_path / "a.npy", np.array(rows))
    assert [access.place for access in read_log(tmp_path / "a.npy")] == ["k.c:3", "k.c:4", ""]


def test_a_byte_order_mark_is_no_part_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "marked.log").write_bytes("1 write c\n2 write c\n".encode("utf-8-sig"))
    assert cells(races(read_log(tmp_path / "marked.log"))) == {"c"}


def test_a_log_is_read_to_its_end(tmp_path: Path) -> None:
    """Files are read in steps, and the only race is in the last one."""
    (tmp_path / "long.log").write_text("1 read c[1]\n" * (STEP // 12 + 1) + "2 write c[1]\n")
    assert cells(races(read_log(tmp_path / "long.log"))) == {"c[1]"}


BAD = {
    "none.log": (None, "no such file"),
    "none.npy": (None, "no such file"),
    "empty.log": (b"# nothing\n\n", "a log without accesses"),
    "binary.log": (bytes(range(256)), "line 2 is not UTF-8 text"),
    "wide.log": ("1 read c[1]\n".encode("utf-16"), "UTF-16 text, not UTF-8 text\n  fix  save it as UTF-8"),
    "packed.log": (gzip.compress(b"1 read c[1]\n"), "packed by gzip, not UTF-8 text\n  fix  unpack it"),
    "empty.npy": (b"", "not an array that NumPy saved"),
    "cut.npy": (saved([["1", "read", "c[1]"]])[:-1], "not an array that NumPy saved"),
    "objects.npy": (saved(np.array([["1", "read", 7]], object)), "not an array that NumPy saved"),
    "two.npy": (saved([["1", "read", "c"]]) * 2, "more follows the last element"),
    "numbers.npy": (saved(np.eye(3)), "not an array of strings with three or four columns"),
    "narrow.npy": (saved([["1", "join"]]), "not an array of strings with three or four columns"),
    "place.npy": (saved([["1", "write", "c", "k.c#:3"]]), "the place in row 1 is 'k.c#:3', and"),
    "no place.npy": (saved([["1", "write", "c", "kernel.c"]]), "c at kernel.c is not a cell"),
    "lines.npy": (
        saved([["1", "read", "c"], ["1", "read", "c\n2 write c"]]),
        r"the cell in row 2 is 'c\n2 write c', and a log has lines",
    ),
    "end.npy": (saved([["1\r", "read", "c"]]), r"the task in row 1 is '1\r', and"),
    "comment.npy": (saved([["1", "read#", "c"]]), "the operation in row 1 is 'read#', and"),
    "no rows.npy": (saved(np.empty((0, 3), "U1")), "a log without accesses"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_log_is_one_error(name: str, command: Any, tmp_path: Path) -> None:
    """Never the verdict that nothing races."""
    contents, why = BAD[name]
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    done = command("judge", str(tmp_path / name))
    assert (done.status, done.out) == (2, "") and why in done.err and done.err.count("error[input]") == 1
    assert "fix" in done.err


def test_reading_stops_at_the_first_mistakes() -> None:
    with pytest.raises(InputError) as error:
        parse_log("no log\n" * 1000)
    assert [d.span and d.span.line for d in error.value.diagnostics] == [*range(1, MOST + 1)]
