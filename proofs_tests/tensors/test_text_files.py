"""Files of text: each number is read as Python reads it, or the line is refused."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.tensors.refusals import refused
from proofs_tests.tensors.spoiled import BANNER
from wingspan import Tensor
from wingspan.base import reading
from wingspan.tensors import files
from wingspan.tensors.files import read_file

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


def shortest(word: str, value: float) -> bool:
    """Whether a word is read back, is no integer, and is no longer than Python's."""
    return float(word) == value and not word.lstrip("-").isdigit() and len(word) <= len(repr(value))


@derandomized
@given(st.data())
def test_lines_of_numbers_are_read_as_python_reads_them(data):
    """Words of digits, points and exponents, in every form; one wrong word, and nothing is read."""
    from wingspan.tensors.files._text import columns, lines

    integer = st.integers(-(2**63), 2**63 - 1)
    real = st.floats(allow_nan=False) | st.sampled_from([2.0**53 + 2, 5e-324, 1e22, 1e23, 0.1, -0.0])
    row = data.draw(st.lists(st.sampled_from(["i", "d"]), min_size=1, max_size=4))
    rows = data.draw(st.lists(st.tuples(*(integer if kind == "i" else real for kind in row)), max_size=5))
    made = [
        np.array(column, dtype=np.float64 if kind == "d" else np.int64)
        for kind, column in zip(row, zip(*rows, strict=True) if rows else [[]] * len(row), strict=True)
    ]
    text = bytes(lines(made))
    words = [line.split() for line in text.decode().splitlines()]
    for word, value in zip(chain(*words), chain(*rows), strict=True):
        assert word == repr(value) if isinstance(value, int) else shortest(word, value)
    blank = st.sampled_from([" ", "\t", "  "])
    spread = "".join(data.draw(blank).join(["", *map(repr, each), "\r"]) + "\n\n" for each in rows).encode()
    for written in (text, spread):
        found = columns(written or b"\n", "".join(row))
        assert found is not None and [x.tobytes() for x in found] == [x.tobytes() for x in made]
    word = data.draw(
        st.sampled_from(["x", "1x", "1 1", "", "--1", "1e", ".", "0x1", "1_0", "+-1", "nan(1)", "9" * 2000])
    )
    assert columns(text + " ".join([word] * len(row)).encode() + b"\n", "".join(row)) is None or not word


@pytest.mark.parametrize(
    "word",
    [
        "0.1",
        "1e22",
        "1e23",
        "9007199254740993",
        "12345678901234567890e-30",
        "5e-324",
        "1e-400",
        "123456.789e-3",
        "0.000000000000000000000000000001",
        "-0",
        "+.5",
        "5.",
        "1E+5",
        "-inf",
        "+Infinity",
        "NaN",
        "00000000000000000000000000001.5",
        "1" * 400 + "e-400",
        "2.2250738585072011e-308",
        "2.4703282292062327208e-324",
        "2.4703282292062328e-324",
        "17976931348623157" + "0" * 292,
        "0." + "0" * 2000 + "1",
        "9007199254740993." + "0" * 1500 + "1",
    ],
)
def test_doubles_are_the_nearest_ones(word):
    from wingspan.tensors.files._text import columns

    found = columns(f"{word}\n".encode(), "d")
    assert found is not None and found[0].tobytes() == np.float64(float(word)).tobytes()


def test_doubles_of_seventeen_digits_are_the_nearest_ones():
    """Such as Python writes them: too many digits for one multiplication of doubles."""
    from wingspan.tensors.files._text import columns

    values = np.random.default_rng(1).random(2000) * 10.0 ** (np.arange(2000) % 9 - 4)
    found = columns("".join(f"{value!r}\n" for value in values.tolist()).encode(), "d")
    assert found is not None and np.array_equal(found[0], values)


@pytest.mark.parametrize("suffix", [".mtx", ".tns"])
def test_a_file_in_many_blocks_is_read_as_one(tmp_path, monkeypatch, suffix):
    """Integers, and doubles in later blocks; the first of two wrong lines is named, with its number in the file."""
    for module in (reading, files.text):
        monkeypatch.setattr(module, "STEP", 64)
    head = "%%MatrixMarket matrix coordinate real general\n40 300 300\n" if suffix == ".mtx" else "# 300 entries\n"
    body = [f"{k % 40 + 1} {k + 1} {k if k < 150 else k + 0.5}" for k in range(300)]
    path = tmp_path / f"t{suffix}"
    path.write_text(head + "\n".join(body))
    expected = [k if k < 150 else k + 0.5 for k in range(300)]
    made = read_file(path)
    assert made.shape == (40, 300) and made.data.tolist() == expected
    assert [axis.tolist() for axis in made.coords] == [[k % 40 for k in range(300)], [*range(300)]]
    for wrong in (160, 120, 280):
        body[wrong] = "1 0 1"
    path.write_text(head + "\n".join(body))
    refused(path, f"line {head.count(chr(10)) + 121}")
    path.write_text(head + "1 1 " + "0" * 200)
    refused(path, "a line is longer than 64 characters")


def test_a_file_is_read_where_no_thread_can_be_started(tmp_path, monkeypatch):
    """One thread does all then."""

    def failing(*arguments: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", failing)
    (tmp_path / "t.tns").write_text("2 1 7\n1 1 8\n")
    assert read_file(tmp_path / "t.tns").toarray().tolist() == [[8], [7]]


def test_frostt_tensors(tmp_path):
    """Extents are the largest subscripts; comments, blank lines and duplicates may stand anywhere."""
    (tmp_path / "t.tns").write_text("# a tensor\n\n2 1 3 1.5\n1 4 1 2\n # more\n2 1 3 1e0\n")
    tensor = Tensor.from_file("SparseList(SparseList(SparseList(Element(0.0))))", tmp_path / "t.tns")
    assert tensor.shape == (2, 4, 3) and dict(tensor.entries()) == {(1, 4, 1): 2, (2, 1, 3): 2.5}
    (tmp_path / "i.tns").write_text("9007199254740993\t3\n")
    assert read_file(tmp_path / "i.tns").shape == (2**53 + 1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no entries, and no comment such as `# extents 3 4 5`"),
        ("1 2 x\n", "line 1 is `1 2 x`, and should be 2 subscripts from 1 and a number"),
        ("1 2 3\n\n1 2\n", "line 3 is `1 2`"),
        ("1 2 3\n0 2 3\n", "line 2 is `0 2 3`"),
        ("1 2.5 3\n", "line 1 is `1 2.5 3`"),
        ("# one\n5\n", "line 2 is `5`, and should be 1 to 16 subscripts from 1 and a number\n"),
        ("1 " * 17 + "5\n", "1 5`, and should be 1 to 16 subscripts from 1 and a number"),
        ("# extents 2 2\n1 3 5\n", "its extents are said to be (2, 2), and its entries have subscripts up to (1, 3)"),
        ("# extents 2\n1 1 5\n", "its extents are said to be (2,)"),
        ("1 1 inf\n1 1 1e400\n", "line 2 is `1 1 1e400`, and should be 2 subscripts from 1 and a number"),
    ],
)
def test_a_frostt_file_out_of_order_is_refused(tmp_path, text, message):
    (tmp_path / "t.tns").write_text(text)
    refused(tmp_path / "t.tns", message)


@pytest.mark.parametrize(
    "text",
    [
        "1,2,4.5\n3,1,7\n",
        "1, 2, 4.5\r\n# words, more\r\n 3 ,1\t, 7 \r\n",
        "# extents 3 2\n1,2,4.5\n3,1,7",
        "2\n3 2\n1 2 4.5\n3 1 7\n",
        "# ParTI\n\n  2\r\n# words\r\n3 2\r\n1 2 4.5\r\n3 1 7\r\n",
        "; extended FROSTT format\n2 2\n3 2 \n1 2 4.5\n3 1 7\n",
    ],
)
def test_frostt_files_of_others_are_read(tmp_path, text):
    """With commas, or with lines for the rank and the extents: as ParTI and MLIR write them."""
    (tmp_path / "t.tns").write_text(text, newline="")
    assert read_file(tmp_path / "t.tns").toarray().tolist() == [[0, 4.5], [0, 0], [7, 0]]


def test_lines_that_could_be_entries_are_entries(tmp_path):
    """A rank with a number of entries, and extents: only a third line of another length tells them from a vector."""
    path = tmp_path / "t.tns"
    path.write_text("2 0\n3 4\n")
    assert read_file(path).todense().tolist() == [0, 0, 4]
    path.write_text("2 5\n3 4\n1 7\n")
    assert read_file(path).todense().tolist() == [7, 5, 4]
    path.write_text("2\n3 4\n")
    assert read_file(path).toarray().tolist() == [[0] * 4] * 3
    path.write_text("1\n3\n")
    assert read_file(path).todense().tolist() == [0] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3,5\n", "line 1 is `1 2 3,5`, and should be 2 subscripts from 1 and a number, separated by blanks"),
        ("1;2;3.5\n", "line 1 is `1;2;3.5`, and should be 1 to 16 subscripts from 1 and a number, separated by blanks"),
        (
            "1,2,3.5\n1,,2 3\n",
            "line 2 is `1,,2 3`, and should be 2 subscripts from 1 and a number, separated by blanks",
        ),
        ("1,2,3\n1 2 3\n", "line 2 is `1 2 3`"),
        ("2 3\n3 2\n1 2 4\n", "its first line announces 3 entries, and 1 follow"),
        ("2\n3 2\n\n1 3 4\n", "its extents are said to be (3, 2)"),
        ("2\n3 2\n1 2 4\n0 2 4\n", "line 4 is `0 2 4`"),
        ("17\n" + "2 " * 17, "line 1 is `17`, and should be 1 to 16 subscripts"),
        ("1 2 " + "3" * 100 + "é\n", f"line 1 is `1 2 {'3' * 75}…`, and"),
        ("1 2 é\n", "line 1 is `1 2 é`"),
    ],
)
def test_a_line_that_could_mean_two_things_is_refused(tmp_path, text, message):
    """A comma may be a decimal point; what is quoted is cut at 80 characters, visibly, and no letter is changed."""
    (tmp_path / "t.tns").write_text(text, encoding="utf-8")
    refused(tmp_path / "t.tns", message)


def test_a_banner_is_quoted_whole(tmp_path):
    banner = "%%MatrixMarket matrix coordinate réal general symmetric"
    (tmp_path / "t.mtx").write_text(f"{banner}\n1 1 0\n", encoding="utf-8")
    refused(tmp_path / "t.mtx", f"line 1 is `{banner}`, and should be `%%MatrixMarket matrix")
    (tmp_path / "t.mtx").write_bytes(b"%%MatrixMarket matrix coordinate r\xe9al general\n1 1 0\n")
    refused(tmp_path / "t.mtx", r"line 1 says `r\xe9al`, and should say")


@pytest.mark.parametrize(("suffix", "text"), [(".mtx", BANNER + "1 1 1\n1 1 2.5\n"), (".tns", "1 1 2.5\n")])
def test_text_of_another_encoding_is_read_where_it_does_not_matter_and_else_named(tmp_path, suffix, text):
    """A byte order mark is skipped, and comments may be in any encoding; UTF-16 and packed files are not guessed at."""
    path = tmp_path / f"t{suffix}"
    for data in (
        text.encode("utf-8-sig"),
        text.replace("\n", "\n% é\n".replace("%", "#%"[suffix == ".mtx"]), 1).encode("latin-1"),
    ):
        path.write_bytes(data)
        assert read_file(path).toarray().tolist() == [[2.5]]
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes("\ufeff".encode(encoding) + text.encode(encoding))
        refused(path, "it is UTF-16 text, not UTF-8 text\n  fix  save it as UTF-8")
    path.write_bytes(gzip.compress(text.encode()))
    refused(path, "it is packed by gzip, not UTF-8 text")
