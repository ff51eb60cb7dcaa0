"""`wingspan step`: options, the plain form on standard input and output, files that it saves, nonsense."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from proofs_tests.places import EXAMPLES, ROOT
from proofs_tests.trace.walks import SMALL
from wingspan.trace import VERSION
from wingspan.views.stepper import KEYS

DEPENDENT = str(EXAMPLES / "dependent.ws")


@pytest.fixture
def stepped(command, monkeypatch):
    """Runs the plain stepper with these lines on standard input."""

    def run(*words: str, lines: str = ""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), "utf-8"))
        return command("step", *words)

    return run


def last_screen(text: str) -> str:
    """The last screen of an output."""
    return text.rpartition("── program")[2]


def test_plain_prints_a_screen_for_each_command(stepped) -> None:
    done = stepped(DEPENDENT, "--plain", lines="1\n1\nb\nq\n1\n")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("── program") == 4
    assert "1  1  reads c.val[1] = 0" in last_screen(done.out)
    assert "writes c.val[1] = 1" not in last_screen(done.out).partition("── next")[0]


def test_plain_needs_no_textual(stepped, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "textual"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "wingspan.views.stepper_app", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert "1  1  reads c.val[1] = 0" in stepped(DEPENDENT, "--plain", lines="1\n").out
    done = stepped(DEPENDENT)
    assert done.status == 2
    assert done.err == (
        "error[input]: the stepper needs Textual, which is not installed\n"
        "  fix  install it: pip install 'wingspan[step]'; or use --plain, which needs nothing\n"
    )


def test_without_a_terminal_it_says_so(stepped) -> None:
    done = stepped(DEPENDENT)
    assert (done.status, done.out) == (2, "")
    assert "the stepper needs a terminal" in done.err and "--plain" in done.err


def test_it_starts_in_the_middle(stepped) -> None:
    """After an interleaving; where a race of `explore` is about to happen; at a result of it."""
    assert "reads c.val[3] = 0" in stepped(DEPENDENT, "--plain", "--interleaving", "1*3").out
    racing = stepped(DEPENDENT, "--plain", "--race", "1").out
    assert len(re.findall(r"^\d  RACE  Assign", racing, re.MULTILINE)) == 2
    assert "finished: c = [1, 0, 1, 0, 1]" in stepped(DEPENDENT, "--plain", "--result", "2").out
    assert "finished: c = [1, 0, 2, 0, 1]" in stepped(DEPENDENT, "--plain", "--result", "1").out


@pytest.mark.parametrize("name", SMALL)
def test_every_race_and_result_of_an_example_can_be_started_at(stepped, command, name) -> None:
    """As many as `explore` prints, and no more."""
    file = str(EXAMPLES / name)
    found = command("explore", file, "--json").json
    for what, option, mark in (("races", "--race", "  RACE  "), ("results", "--result", "finished: ")):
        for number in (1, len(found[what])):
            if found[what]:
                assert mark in stepped(file, "--plain", option, str(number)).out
        assert (
            f"there is no {option[2:]} {len(found[what]) + 1}"
            in stepped(file, "--plain", option, str(len(found[what]) + 1)).err
        )


def test_options_that_do_not_go_together_are_refused(stepped) -> None:
    for words in (["--race", "1", "--result", "1"], ["--interleaving", "-", "--race", "1"], ["--race", "0"]):
        assert stepped(DEPENDENT, "--plain", *words).status == 2
    done = stepped(DEPENDENT, "--plain", "--interleaving", "1,9")
    assert done.status == 2 and "step 2 names task 9" in done.err
    assert stepped(DEPENDENT, "--plain", "--interleaving", "x").status == 2


@pytest.mark.parametrize("line", ["", "99", "-1", "help", "1 2", "s", "s a.png", "s \x1b[0m.txt", "n", "☃", "1" * 5000])
def test_nonsense_changes_nothing_and_says_what_can_be_done(stepped, line) -> None:
    """A line that begins with ! for each, and the walk goes on."""
    done = stepped(DEPENDENT, "--plain", lines=f"{line}\n1\nq\n")
    assert done.status == 0
    assert len(re.findall("^! ", done.out, re.MULTILINE)) == 1
    assert "\x1b" not in done.out
    assert "1  1  reads c.val[1] = 0" in last_screen(done.out)


def test_predictions_hide_the_step_and_keep_score(stepped) -> None:
    done = stepped(DEPENDENT, "--plain", lines="?\n1\nAssign 0\n1\nCall 5\n?\n")
    _, _, hidden, asked, answered, *_ = done.out.split("── program")
    assert "1  ?" in hidden and "RACE" not in hidden
    assert "task 1 steps: which rule" in asked and "── rule" not in asked
    assert "⟨mode(fiber(c,1,1)), task 1, σ⟩ → update(+)" in answered
    assert "right: Assign reads c.val[1] = 0" in done.out
    assert "no: Assign writes c.val[1] = 1" in done.out
    assert "predicted 2 of 4" in last_screen(done.out)


def test_help_and_the_configuration_are_printed(stepped) -> None:
    out = stepped(DEPENDENT, "--plain", lines="1\nc\nh\n").out
    assert "⟨«1: increment(fiber(c,1,1), +, 1) @1" in out
    assert "q        quit" in out


def test_an_interleaving_and_a_picture_are_saved(stepped, tmp_path: Path) -> None:
    """The interleaving leads back to the same place; nothing that the program uses is written over."""
    text, svg = tmp_path / "way.txt", tmp_path / "way.svg"
    done = stepped(DEPENDENT, "--plain", lines=f"1\n2\n1\ns {text}\ns {svg}\nq\n")
    assert text.read_text() == "1,2,1\n" and f"{text} is written" in done.out
    assert svg.read_text().startswith("<svg") and "so&#160;far" in svg.read_text()
    assert "font-face" not in svg.read_text() and "url(http" not in svg.read_text()  # nothing is loaded
    again = stepped(DEPENDENT, "--plain", "--interleaving", text.read_text().strip())
    assert last_screen(again.out).partition("── next")[0] == last_screen(done.out).partition("── next")[0]
    assert f"! {text} is there already" in stepped(DEPENDENT, "--plain", lines=f"1\ns {text}\n").out
    assert text.read_text() == "1,2,1\n"
    assert "is written" in stepped(DEPENDENT, "--plain", "--force", lines=f"1\ns {text}\n").out
    assert text.read_text() == "1\n"
    program = tmp_path / "program.txt"
    program.write_text("x = 1\n")
    assert "! " in stepped(str(program), "--plain", lines=f"s {program}\n").out
    assert program.read_text() == "x = 1\n"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws")), ids=lambda path: path.name)
def test_every_example_steps_to_its_end(stepped, path) -> None:
    """Those that take inputs say which is missing; karate.ws, which is long, begins."""
    done = stepped(str(path), "--plain", lines="r\n" if path.name != "karate.ws" else "q\n")
    if path.name in SMALL:
        assert re.search("finished: |! no other result lies ahead", done.out)
    elif path.name == "karate.ws":
        assert "── next" in done.out
    else:
        assert done.status == 2 and "error[input]" in done.err


def test_json_is_the_trace_document(stepped) -> None:
    done = stepped(DEPENDENT, "--json")
    found = json.loads(done.out)
    assert (found["format"], found["version"], len(found["states"])) == ("wingspan-trace", VERSION, 32)


def test_the_page_shows_what_is_printed(stepped, monkeypatch) -> None:
    """The last screen of docs/stepper.md, and every key of both forms."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "stepper.md").read_text(encoding="utf-8")
    ((line, text),) = re.findall(r"`echo (.*?)` ends with\n\n```text\n(.*?)```", page, re.DOTALL)
    typed, _, command_line = line.partition(" | wingspan step ")
    done = stepped(*shlex.split(command_line), lines=f"{typed}\n")
    assert done.out.endswith(text) and text.startswith("── program")
    assert all(f"`{key}`" in page for key in (*KEYS, "c", "s", "q"))


def test_a_program_from_standard_input_leaves_no_room_for_steps(stepped) -> None:
    done = stepped("-", "--plain", lines="x = 1\n")
    assert done.status == 2 and "read from standard input, and so are the steps" in done.err
