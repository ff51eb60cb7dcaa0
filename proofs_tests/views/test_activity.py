"""Activities that take seconds are shown on a terminal, in one line, which is never in the way of output."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import strategies as st
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import wingspan
from proofs_tests.compiled import needs_compiler
from wingspan.base import activity
from wingspan.results.tally import Disagreement
from wingspan.testing import campaign
from wingspan.views.paint import show_activity, spinner

LONG = """
c = Tensor(Dense(Element(0)), 1)
c .= 0
for i = parallel(1:6, cpu(:t, 3))
    c[1] += 1
end
return c
"""
"""More than a thousand traces."""
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


class Cells(CapturingDisplayPublisher):
    """The outputs of a notebook's cell; says when a text has been shown."""

    awaited = "the second file"

    def __init__(self) -> None:
        super().__init__()
        self.shown = Event()

    def publish(self, data: Any, *args: Any, **options: Any) -> None:
        super().publish(data, *args, **options)
        if self.awaited in data.get("text/plain", ""):
            self.shown.set()

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The identity of each output, and its text."""
        return [(each["transient"]["display_id"], each["data"]["text/plain"]) for each in self.outputs]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """This process runs the cells of a notebook."""
    cells = Cells()
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.setattr(shell, "display_pub", cells)
    yield cells
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("forks", [False, True])
def test_notebooks_show_an_activity_in_one_output_that_is_emptied(notebook: Cells, forks: bool) -> None:
    with redirect_stderr(io.StringIO()) as stream, show_activity("compiling", forks, patience=0) as change:
        change("compiling the second file")
        assert notebook.shown.wait(60)
    assert len({identity for identity, _ in notebook.texts}) == 1
    assert notebook.texts[-1][1] == "" and stream.getvalue() == ""


def test_notebooks_show_nothing_of_what_ends_soon(notebook: Cells) -> None:
    with show_activity("compiling", patience=3600) as change, show_activity("inner", True, 0) as inner:
        change("compiling the second file")
        inner("inner")
    assert notebook.outputs == []


def test_commands_in_notebooks_show_their_progress(notebook: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that stand above the line of a terminal are among the errors of the cell."""
    monkeypatch.setattr("wingspan.views.paint.PATIENCE_IN_PYTHON", 0.0)
    with redirect_stderr(io.StringIO()) as stream, spinner("the {} file".format, stream) as line:
        assert line is not None
        line("second")
        line.above("a race")
    assert [text for _, text in notebook.texts] == ["the second file, 0 s", ""]
    assert stream.getvalue() == "a race\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_exploring_says_how_far_it_is_with_several_processes_too(words: list[str], jobs: int) -> None:
    wingspan.explore(wingspan.parse(LONG), strategy="dpor", jobs=jobs)
    assert words[0] == "exploring" and any(re.fullmatch(r"exploring: \d+ traces, \d+ planned", each) for each in words)


def test_a_check_says_how_many_changes_it_has_tried(words: list[str]) -> None:
    wingspan.check(wingspan.parse(LONG))
    assert words[:3] == ["checking", "checking: looking for changes", "checking: 0 changes tried"]


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words for all activities."""
    seen: list[str] = []

    @contextmanager
    def show(first: str, forks: bool) -> Iterator[activity.Change]:
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
