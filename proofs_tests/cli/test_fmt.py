"""`wingspan fmt`, and the help of verbs."""

from __future__ import annotations

import pytest

from proofs_tests.cli.typed import EXAMPLES
from wingspan.lang.parser import parse


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws")), ids=lambda path: path.stem)
def test_fmt_keeps_the_program_and_is_settled(wingspan, written, path):
    done = wingspan("fmt", str(path))
    assert (done.status, done.err) == (0, "")
    assert parse(done.out, "again") == parse(path.read_text(), "once")
    assert wingspan("fmt", written(done.out)).out == done.out
    assert wingspan("fmt", str(path), "--json").json["program"] == done.out.removesuffix("\n")


def test_help_says_that_comments_are_lost(wingspan):
    assert "Comments are lost" in wingspan("fmt", "--help").out


@pytest.mark.parametrize("verb", [[], ["explore"], ["replay"], ["run"], ["fmt"]], ids=lambda verb: "".join(verb))
def test_help_is_there(wingspan, verb):
    done = wingspan(*verb, "--help")
    assert (done.status, done.err) == (0, "") and "Usage: wingspan" in done.out
