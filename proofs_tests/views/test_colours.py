"""Colours add nothing to a text, and are only on terminals."""

from __future__ import annotations

import io
import re

import pytest

from proofs_tests.views.reports import RIGHT, Terminal, race, report, result
from wingspan.views import terminal
from wingspan.views.paint import paint, spinner


@pytest.fixture
def colourful(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "20")


SAMPLE = terminal.explore(report(result(RIGHT, 3), verdict="race", races=(race(),)))


def test_colours_add_nothing_and_wrap_nothing(colourful):
    """On a terminal 20 columns wide, the text without its colours is the text."""
    coloured = paint(SAMPLE, Terminal())
    assert coloured.count("\x1b[") > 10
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == SAMPLE


def test_there_are_no_colours_elsewhere(colourful, monkeypatch):
    assert paint(SAMPLE, io.StringIO()) == SAMPLE
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint(SAMPLE, Terminal()) == SAMPLE


def test_text_that_looks_like_markup_is_left_alone(colourful):
    text = "error[fault]: [bold]a[1][/bold] :smile:\tb"
    assert re.sub(r"\x1b\[[0-9;]*m", "", paint(text.replace("\t", " "), Terminal())) == text.replace("\t", " ")


def test_the_spinner_is_silent_off_a_terminal():
    stream = io.StringIO()
    with spinner(str, stream) as progress:
        assert progress is None
    assert stream.getvalue() == ""
