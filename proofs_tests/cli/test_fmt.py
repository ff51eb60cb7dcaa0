"""`wingspan fmt`, and the help of verbs."""

from __future__ import annotations

import io

import pytest

from proofs_tests.cli.typed import EXAMPLES
from wingspan.lang.parser import parse


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws")), ids=lambda path: path.stem)
def test_fmt_keeps_the_program_and_is_settled(wingspan, written, path):
    done = wingspan("fmt", str(path))
    assert (done.status, done.err) == (0, "")
    assert parse(done.out, "again") == parse(path.read_text(), "once")
    assert wingspan("fmt", written(done.out)).out == done.out
    assert done.out.count("#") == path.read_text().count("#") > 0
    assert wingspan("fmt", str(path), "--json").json["program"] == done.out.removesuffix("\n")


def test_fmt_keeps_comments_of_files_and_of_standard_input(wingspan, written, monkeypatch):
    text, canonical = "# a\nfor i=1:3 # b\n c[i]+=1\n # c", "# a\nfor i = 1:3  # b\n    c[i] += 1\n    # c\nend\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert wingspan("fmt", written(text)).out == wingspan("fmt", "-").out == canonical


@pytest.mark.parametrize("verb", [[], ["explore"], ["replay"], ["run"], ["fmt"]], ids=lambda verb: "".join(verb))
def test_help_is_there(wingspan, verb):
    done = wingspan(*verb, "--help")
    assert (done.status, done.err) == (0, "") and "Usage: wingspan" in done.out
