"""Reports on terminals: no wider than these, carets below what they mark, ASCII where need be."""

from __future__ import annotations

import io
import re
from contextvars import copy_context
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_tests.cli.typed import RACY, explored
from wingspan.base.errors import WIDTH, Mark, Source, Span, excerpt, width
from wingspan.views import terminal_width

CUT = re.compile(r" +(\d*) │ (…?)(.*)")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def written(length: int, seed: int) -> str:
    return "".join(Random(seed).choices("ab×界", k=length))


LINES = st.builds(written, st.integers(1, 300), st.integers(0, 1_000))
"""Mostly long ones, which are cut: texts that Hypothesis draws letter by letter are short."""


@given(LINES, st.data())
def test_carets_stand_below_what_they_mark_however_narrow_it_is(line: str, data: st.DataObject) -> None:
    """Whether or not the line is cut, and whatever remark stands beside or below them; nothing is wider than that."""
    start = data.draw(st.integers(1, len(line)))
    stop = data.draw(st.integers(start + 1, len(line) + 1))
    remark = " ".join(data.draw(st.lists(st.text("xy", min_size=1, max_size=20), max_size=8)))
    most = data.draw(st.integers(40, 100))
    mark = Mark(Span(Source("p.ws", line), 1, start, 1, stop), remark, primary=True)

    def drawn() -> list[str]:
        WIDTH.set(most)
        return excerpt([mark])

    shown, *below = copy_context().run(drawn)
    source, carets = CUT.fullmatch(shown), CUT.fullmatch(below[0])
    assert source is not None and carets is not None
    text, stroke = source[2] + source[3], carets[3]
    at = stroke.index("^")
    count = stroke.count("^")
    marked = "".join(c for k, c in enumerate(text) if at <= width(text[:k]) < at + count)
    assert marked and line[start - 1 : stop - 1].startswith(marked.removesuffix("…") or marked)
    assert " ".join(below).replace("│", "").replace("^", "").split() == remark.split()
    assert all(width(each) <= max(most, at + count) + 8 for each in below)


WORDS = st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=40)


@given(WORDS, st.sampled_from(["", "  why  ", "  "]))
def test_prose_is_broken_at_blanks_and_nothing_is_lost(words: list[str], key: str) -> None:
    line = key + " ".join(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "60")
        lines = terminal_width.fit(line, Terminal()).split("\n")
        assert terminal_width.fit(line, io.StringIO()) == line
    assert all(width(each) <= 60 for each in lines)
    assert " ".join(lines).split() == line.split()
    assert all(each.startswith(" " * len(key)) and each[len(key)] != " " for each in lines[1:])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "line",
    [
        "  see  wingspan replay examples/dependent.ws --interleaving '1*3,2' --threads 2 --machine native",
        "  fix  result = Tensor(Dense(Merge(dev, Element(0))), 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5)",
        "    4 │     c[i - i % 2 + 1] += 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10",
        "│  ├─ 1: 0.30000000000000004 and a remark that is much longer than it should be",
        "  3  │ 1 │  Assign  reads c.val[3] = 0   6:5 c[i - i % 2 + 1] += 1 (i = 2), and more",
    ],
)
def test_what_is_copied_or_drawn_is_not_broken(line: str) -> None:
    assert terminal_width.fit(line, Terminal()) == line


def test_a_report_in_ascii_has_the_same_columns(command) -> None:
    """On a stream of ASCII as on one of UTF-8; the characters that reports are drawn with have others for them."""
    lines, done = command("explore", RACY).out.splitlines(), explored()
    plain_lines = done.stdout.replace("python -m ", "").splitlines()
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.isascii()
    assert len(lines) == len(plain_lines) and any("│" in line for line in lines)
    for line, plain in zip(lines, plain_lines, strict=True):
        if not line.startswith("  complete") and " s (" not in line:
            assert len(line) == len(plain)
        assert "?" not in plain
        assert all(a == b or not a.isascii() for a, b in zip(line, plain, strict=False) if " s (" not in line)


@pytest.mark.parametrize("char", [*terminal_width.PLAIN])
def test_each_replacement_takes_the_same_columns(char: str) -> None:
    assert terminal_width.PLAIN[char].isascii() and width(terminal_width.PLAIN[char]) == width(char) == 1
