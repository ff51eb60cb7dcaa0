"""Output streams, programs from standard input, interruptions, and output that fails."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs_tests.cli.typed import EXAMPLES, KARATE, RACY, RULES, SAFE, process
from proofs_tests.effort import few
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.base.errors import InputError, InternalError
from wingspan.cli import exploring, running
from wingspan.program import load


def test_streams_are_kept_apart(wingspan):
    """The result on standard output, errors on standard error, and no escape sequences in either."""
    good, bad = wingspan("explore", RACY), wingspan("explore", "none.ws")
    assert good.err == "" and good.out.startswith("race  ")
    assert bad.out == "" and bad.err.startswith("error[input]: none.ws")
    assert "\x1b" not in good.out + bad.err


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process("help", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        done = process("help", stdout=full)
    assert (done.returncode, done.stderr) == (2, "error[input]: standard output: No space left on device\n")


def test_a_closed_output_is_an_error():
    command = shlex.join([sys.executable, "-m", "wingspan", "help"])
    done = subprocess.run(f"{command} >&-", shell=True, capture_output=True, encoding="utf-8", cwd=ROOT, timeout=60)
    assert (done.returncode, done.stderr) == (2, "error[input]: standard output is closed\n")


SUM = str(EXAMPLES / "sum.ws")
PRINTING = [
    ("--help",), ("-h",), ("--version",), ("run", "--help"), ("help",), ("help", "run"), ("rules", "Assign"),
    ("cache",), ("schema",), ("quiz", "--sheet"), ("fmt", RACY), ("check", RACY), ("check", RACY, "--json"),
    ("explore", RACY), ("replay", RACY, "--interleaving", "-"), ("plan", SAFE), ("emit-c", SAFE), ("run", SAFE),
    ("diff", SAFE), ("stress", SAFE, "--runs", "2"), ("parallelize", SAFE),
    ("show", str(EXAMPLES / "data" / "karate.mtx")),
    ("step", RACY, "--plain"), ("step", SUM, "--json"), ("check", RACY, "--format", "sarif"),
    ("check", "none.ws", "--json"),
]  # fmt: skip
"""Each verb, and each way of printing, in short."""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_whatever_is_printed_a_full_disk_is_one_error(command, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        done = command(*words)
    said = "none.ws: no such file" if "none.ws" in words else "standard output: No space left on device"
    assert done.status == 2 and done.err.startswith(f"error[input]: {said}\n"), done.err


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_whatever_is_printed_a_reader_that_goes_away_is_no_error(command, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        done = command(*words)
    assert (done.status, done.err) == (141, "")


@pytest.mark.parametrize("words", [("check", "-"), ("step", RACY, "--plain"), ("step", RACY), ("quiz",)])
def test_a_closed_input_is_one_error(command, monkeypatch, words):
    monkeypatch.setattr(sys, "stdin", None)
    done = command(*words)
    said = "the stepper needs a terminal" if words == ("step", RACY) else "standard input is closed"
    assert done.status == 2 and done.err.startswith(f"error[input]: {said}\n")


@pytest.mark.parametrize("words", [("step", RACY, "--plain"), ("quiz",)])
def test_bytes_that_are_no_text_are_a_wrong_answer(command, monkeypatch, words):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\377\nq\n"), "utf-8"))
    done = command(*words)
    assert done.status == 0 and ("! " if words[0] == "step" else "no: ") in done.out and done.err == ""


@pytest.mark.parametrize("words", few([(("nonsense",),), (("run",),), (("check", "none.ws"),)], 1))
def test_where_errors_cannot_be_printed_the_exit_status_says_it_alone(words):
    """Not standard output, which click takes if standard error is closed."""
    line = shlex.join([sys.executable, "-m", "wingspan", *words])
    for stream in ("2>&-", "2>/dev/full"):
        done = subprocess.run(f"{line} {stream}", shell=True, stdout=subprocess.PIPE, cwd=ROOT, timeout=60)
        assert (done.returncode, done.stdout) == (2, b"")


OPTIMIZED = """
import contextlib, io, sys
from wingspan.cli import main
for words in {verbs}:
    with contextlib.suppress(SystemExit):
        main(words, prog_name="wingspan")
"""


@pytest.mark.parametrize(
    "verbs",
    [
        [["rules"]],
        pytest.param(
            [["rules"], ["run", "--help"], ["help", "check"], ["plan", "--passes", SAFE], ["check", SAFE]],
            marks=pytest.mark.deep,
        ),
    ],
    ids=len,
)
def test_nothing_is_missing_without_assertions_and_docstrings(wingspan, verbs):
    """Drawings of rules, help texts and what passes do are docstrings, which -OO drops."""
    plain = "".join(wingspan(*words).out for words in verbs)
    command = [sys.executable, "-OO", "-c", OPTIMIZED.format(verbs=verbs)]
    optimized = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert plain.count("\n") > 100
    assert (optimized.stdout, optimized.stderr) == (plain, "")


def interrupting(render: object, stream: object):
    """A spinner that is a Ctrl-C at the first progress."""

    @contextlib.contextmanager
    def pressed() -> Iterator:
        def progress(*told: object) -> None:
            raise KeyboardInterrupt

        yield progress

    return pressed()


def test_ctrl_c_ends_a_search_with_what_it_has(wingspan, written, monkeypatch):
    monkeypatch.setattr(exploring, "spinner", interrupting)
    file = written("c = Tensor(Dense(Element(0)), 8)\nc .= 0\nfor i = parallel(_)\n    c[i] += 1\nend\nreturn c\n")
    done = wingspan("explore", file, "--threads", "4")
    assert (done.status, done.err) == (3, "")
    assert done.out.startswith("incomplete  ") and "stopped by Ctrl-C" in done.out


def test_ctrl_c_ends_a_run_without_a_result(wingspan, monkeypatch):
    monkeypatch.setattr(running, "spinner", interrupting)
    assert wingspan("run", KARATE, *RULES) == (130, "", "interrupted\n")


@pytest.mark.parametrize("error", [ZeroDivisionError("division by zero"), InternalError("no rule applies to `skip`")])
def test_a_defect_is_owned_up_to(wingspan, monkeypatch, error):
    def broken(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(api, "explore", broken)
    done = wingspan("explore", SAFE)
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith("error[internal]: ") and str(error) in done.err
    assert "this is a defect of wingspan: please report it" in done.err and "Traceback" not in done.err


VERBS = ["check", "explore", "replay --interleaving 1", "run --engine semantics", "diff --unsafe", "plan", "fmt"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_program_may_come_from_standard_input(wingspan, monkeypatch, verb):
    """It goes by another name, and is piped again into the commands that a report shows."""
    word, *options = verb.split()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(RACY).read_bytes())))
    piped, read = wingspan(word, "-", *options), wingspan(word, RACY, *options)
    assert (piped.status, piped.err) == (read.status, read.err)

    def timeless(text: str) -> str:
        return re.sub(r"in [0-9.]+ s", "", text)

    commands = re.sub(rf"(wingspan \w+) {re.escape(RACY)}", r"\1 -", timeless(read.out))
    assert timeless(piped.out) == commands.replace(RACY, "<stdin>")


@pytest.mark.parametrize(
    ("stdin", "said"),
    [(None, "standard input is closed"), (b"", "the program is empty"), (b"c = \xff", "<stdin>: not UTF-8 text")],
)
def test_what_is_no_program_on_standard_input_is_refused(wingspan, monkeypatch, stdin, said):
    monkeypatch.setattr("sys.stdin", stdin if stdin is None else io.TextIOWrapper(io.BytesIO(stdin)))
    done = wingspan("explore", "-")
    assert (done.status, done.out) == (2, "") and said in done.err


@pytest.mark.parametrize("text", ["c = Tensor(Element(0))\nc .= 0\nreturn c", "x = 1; y = x", "for i = 1:3"])
def test_a_text_in_place_of_a_path_is_recognised(wingspan, text):
    with pytest.raises(InputError, match="the text of a program") as told:
        api.explore(text)
    assert "wingspan.parse" in str(told.value.fix)
    done = wingspan("explore", text)
    assert (done.status, done.out) == (2, "") and "standard input: wingspan VERB -" in done.err


def test_a_file_whose_name_looks_like_a_program_is_a_file(tmp_path):
    odd = tmp_path / "nt=4; x"
    odd.write_text("x = 1")
    assert str(load(str(odd))) == "x = 1"
    with pytest.raises(InputError, match="no such file"):
        load("nt=4.ws")
