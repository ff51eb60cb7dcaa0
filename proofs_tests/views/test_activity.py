"""Activities that take seconds are shown on a terminal, in one line, which is never in the way of output."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from wingspan.base import activity
from wingspan.results.tally import Disagreement
from wingspan.testing import campaign
from wingspan.views.paint import show_activity, spinner

ERASE = "\x1b[2K"
"""Erases a line of a terminal."""


class Terminal(io.StringIO):
    """A terminal that says when a text has been written to it."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self.awaited, self.written = awaited, Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        if self.awaited in self.getvalue():
            self.written.set()
        return done


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal("the second file")


def test_an_activity_is_shown_and_its_line_is_taken_away(terminal: Terminal) -> None:
    with redirect_stderr(terminal), show_activity("compiling", patience=0) as change:
        change("compiling the second file")
        assert terminal.written.wait(60)
        before = len(terminal.getvalue())
    assert ERASE in terminal.getvalue()[before:]


def test_an_activity_that_ends_soon_is_not_shown(terminal: Terminal) -> None:
    with redirect_stderr(terminal), show_activity("compiling", patience=3600) as change:
        change("compiling the second file")
    assert terminal.getvalue() == ""


def test_nothing_is_shown_off_a_terminal_or_in_a_thread(terminal: Terminal) -> None:
    def show() -> None:
        with show_activity("compiling", patience=0) as change:
            change("compiling the second file")

    with redirect_stderr(terminal):
        thread = Thread(target=show)
        thread.start()
        thread.join()
    assert terminal.getvalue() == ""
    with redirect_stderr(io.StringIO()) as stream:
        show()
    assert stream.getvalue() == ""
    with redirect_stderr(None):
        show()


def test_one_line_is_shown_at_a_time(terminal: Terminal) -> None:
    """Neither two activities, nor one below the progress of a command."""
    with redirect_stderr(terminal):
        with show_activity("the second file", patience=0):
            assert terminal.written.wait(60)
            with show_activity("inner", patience=0) as change:
                change("inner again")
        with spinner(str, terminal), show_activity("inner", patience=0):
            pass
    assert "inner" not in terminal.getvalue()


def test_what_is_printed_into_a_file_stays_there(terminal: Terminal) -> None:
    file = io.StringIO()
    with redirect_stderr(terminal), redirect_stdout(file), show_activity("the second file", patience=0):
        assert terminal.written.wait(60)
        print("a result")
    assert file.getvalue() == "a result\n" and "a result" not in terminal.getvalue()


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words for all activities."""
    seen: list[str] = []

    @contextmanager
    def show(first: str) -> Iterator[activity.Change]:
        seen.append(first)
        yield seen.append

    monkeypatch.setattr(activity, "_show", [show])
    return seen


class Broken:
    name = "broken"

    def run(self, program: Any, inputs: Any) -> Any:
        raise ValueError("no luck")


def test_a_campaign_says_how_far_it_is(words: list[str]) -> None:
    """Through the search for a smaller case."""
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nc[1] = 3\nreturn c"
    with pytest.raises(Disagreement):
        campaign(["semantics"], [Broken()], programs=st.just(text), examples=1)
    assert words[:2] == ["campaign: drawing programs 1 to 1", "campaign: program 1 of 1 in this batch"]
    assert "campaign: a difference, 1 simpler programs tried" in words
    assert words[-1].startswith("campaign: a difference, ") and words[-1].endswith(" smaller cases tried")


@needs_compiler
def test_compiling_and_choosing_are_activities(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from wingspan.compiled import build

    assert build.compile_library(build.compiler(), build.PROBE)
    wingspan.einsum("y[j] += A[j, i] * x[i] * 3", A=[[1, 2], [3, 4]], x=[1, 2])
    assert words[0] == "compiling C" and "einsum: choosing loops and formats" in words
