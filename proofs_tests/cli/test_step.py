"""`wingspan step`: options, the plain form on standard input and output, files that it saves, nonsense."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES, ROOT
from proofs_tests.trace.walks import SMALL
from wingspan.trace import VERSION
from wingspan.views.stepper import KEYS
from wingspan.views.stepper_plain import PANES

DEPENDENT = str(EXAMPLES / "dependent.ws")


@pytest.fixture
def stepped(command, monkeypatch):
    """Runs the plain stepper with these lines on standard input."""

    def run(*words: str, lines: str = ""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), "utf-8"))
        return command("step", *words)

    return run


HELP = "h is help, q quits\n"


def said(text: str) -> str:
    """The output of the plain stepper after its first screen."""
    return text.partition(HELP)[2]


def test_plain_tells_the_whole_once_and_then_what_each_command_changes(stepped) -> None:
    """As a screen reader would read it: nothing is said twice."""
    done = stepped(DEPENDENT, "--plain", "--interleaving", "1*3,2", lines="1\n2\nb\nq\n1\n")
    assert (done.status, done.err) == (0, "")
    for pane in ("program\n", "steps so far: 1*3,2\nstep 1, ", "memory\n", "rule Assign, task 2, line 6, i = 3\n"):
        assert done.out.count(pane) == 1 and pane not in said(done.out)
    assert said(done.out) == (
        "step 5, task 1: Assign writes c.val[3] = 1, line 6, i = 2\n"
        "c.val  1 0 [1] 0 0\n"
        "c.val[3]: task 2 has read 0, old since task 1 wrote\n"
        "next (6 of 32 states seen, 1 result ahead)\n"
        "2: Assign writes c.val[3] = 1\n"
        "step 6, task 2: Assign writes c.val[3] = 1, line 6, i = 3\n"
        "LOST: step 6 overwrites step 5 with a value computed from step 4's read\n"
        "c.val  1 0 [1] 0 0\n"
        "next (7 of 32 states seen, 1 result ahead)\n"
        "2: Assign reads c.val[5] = 0\n"
        "back, after\n"
        "step 5, task 1: Assign writes c.val[3] = 1, line 6, i = 2\n"
        "next (7 of 32 states seen, 1 result ahead)\n"
        "2: Assign writes c.val[3] = 1\n"
    )


def test_a_letter_repeats_a_pane(stepped) -> None:
    """The same that was said at the start, and all of them for `a`."""
    first = stepped(DEPENDENT, "--plain", "--interleaving", "1*3,2,1", lines="q\n").out.partition("\nnext")[0]
    panes = [
        said(stepped(DEPENDENT, "--plain", "--interleaving", "1*3,2,1", lines=f"{key}\n").out).removesuffix("\n")
        for key in "ptmua"
    ]
    assert "\n".join(panes[:4]) == panes[4] == first
    assert "6      c[i - i % 2 + 1] += 1  (task 2)" in panes[0] and "…" not in panes[0]
    assert "c.val[3]: task 2 has read 0, old since task 1 wrote" in panes[2]
    assert "premise: ⟨mode(fiber(c,1,3)), task 1, σ⟩ → update(+)" in panes[3]


def test_runs_ahead_say_each_step_and_ways_back_say_where_they_lead(stepped) -> None:
    out = said(stepped(DEPENDENT, "--plain", lines="x\nb\nb\nb\n").out)
    assert re.findall(r"^step (\d)", out, re.MULTILINE) == ["1", "2", "3", "2", "1"]
    assert "RACE with task 2" in out and "back at the first state" in out
    out = said(stepped(DEPENDENT, "--plain", lines="?\n1\nb\n?\ni\n1\n1\nn\nb\ni\n").out)
    assert "back at the first state\nnext" in out and "steps are shown again" in out
    assert re.findall("^invisible steps .*$", out, re.MULTILINE) == [
        "invisible steps one by one", "invisible steps together with the visible one before them",
    ]  # fmt: skip
    assert "back, after\nstep 2, task 1: Assign writes c.val[1] = 1" in out


def test_without_a_terminal_it_says_so(stepped) -> None:
    done = stepped(DEPENDENT)
    assert (done.status, done.out) == (2, "")
    assert "the stepper needs a terminal" in done.err and "--plain" in done.err


def test_it_starts_in_the_middle(stepped) -> None:
    """After an interleaving; where a race of `explore` is about to happen; at a result of it."""
    assert "reads c.val[3] = 0" in stepped(DEPENDENT, "--plain", "--interleaving", "1*3").out
    racing = stepped(DEPENDENT, "--plain", "--race", "1").out
    assert len(re.findall(r"^\d: Assign .*, RACE with task [12]$", racing, re.MULTILINE)) == 2
    assert "finished: c = [1, 0, 1, 0, 1]" in stepped(DEPENDENT, "--plain", "--result", "2").out
    assert "finished: c = [1, 0, 2, 0, 1]" in stepped(DEPENDENT, "--plain", "--result", "1").out


@pytest.mark.parametrize("name", few(SMALL, 3))
def test_every_race_and_result_of_an_example_can_be_started_at(stepped, command, name) -> None:
    """As many as `explore` prints, and no more."""
    file = str(EXAMPLES / name)
    found = command("explore", file, "--json").json
    for what, option, mark in (("races", "--race", "RACE with task "), ("results", "--result", "finished: ")):
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
    assert "step 1, task 1: Assign reads c.val[1] = 0" in said(done.out)


def test_predictions_hide_the_step_and_keep_score(stepped) -> None:
    done = stepped(DEPENDENT, "--plain", lines="?\n1\nAssign 0\n1\nCall 5\n?\n")
    hidden, _, answered = said(done.out).partition("right: Assign reads c.val[1] = 0")
    assert "1: hidden\n2: hidden\ntask 1 steps: which rule" in hidden
    assert "RACE" not in hidden and "Assign reads" not in hidden
    assert "step 1, task 1: Assign reads c.val[1] = 0" in answered
    assert "no: Assign writes c.val[1] = 1" in answered
    assert "predicted 2 of 4" in answered


def test_help_and_the_configuration_are_printed(stepped) -> None:
    out = stepped(DEPENDENT, "--plain", lines="1\nc\nh\n").out
    assert "⟨«1: increment(fiber(c,1,1), +, 1) @1" in out
    assert "q: quit" in out


def test_an_interleaving_and_a_picture_are_saved(stepped, tmp_path: Path) -> None:
    """The interleaving leads back to the same place; nothing that the program uses is written over."""
    text, svg = tmp_path / "way.txt", tmp_path / "way.svg"
    done = stepped(DEPENDENT, "--plain", lines=f"1\n2\n1\ns {text}\ns {svg}\nq\n")
    assert text.read_text() == "1,2,1\n" and f"{text} is written" in done.out
    assert svg.read_text().startswith("<svg") and "so&#160;far" in svg.read_text()
    assert "font-face" not in svg.read_text() and "url(http" not in svg.read_text()  # nothing is loaded
    again = stepped(DEPENDENT, "--plain", "--interleaving", text.read_text().strip())
    assert again.out.partition("\nnext")[0] in stepped(DEPENDENT, "--plain", lines="1\n2\n1\na\n").out
    assert f"! {text} is there already" in stepped(DEPENDENT, "--plain", lines=f"1\ns {text}\n").out
    assert text.read_text() == "1,2,1\n"
    assert "is written" in stepped(DEPENDENT, "--plain", "--force", lines=f"1\ns {text}\n").out
    assert text.read_text() == "1\n"
    program = tmp_path / "program.txt"
    program.write_text("x = 1\n")
    assert "! " in stepped(str(program), "--plain", lines=f"s {program}\n").out
    assert program.read_text() == "x = 1\n"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=pytest.mark.deep if path.name == "karate.ws" else ())
        for path in sorted(EXAMPLES.glob("*.ws"))
    ],
)
def test_every_example_steps_to_its_end(stepped, name) -> None:
    """To a result and to a race, step by step. Examples with inputs say which is missing; karate.ws begins.

    Lines are words in 80 columns: no frame, no lane, no mark whose meaning is its place.
    """
    lines = "q\n" if name == "karate.ws" else "r\na\nb\nx\nb\ni\nt\nu\nh\n"
    done = stepped(str(EXAMPLES / name), "--plain", lines=lines)
    assert not re.search("[─│◀▲▶·╭╰]", done.out)
    assert max(map(len, done.out.splitlines()), default=0) <= 80
    if name in SMALL:
        assert re.search("finished: |! no other result lies ahead", done.out)
    elif name == "karate.ws":
        assert "\nnext (" in done.out
    else:
        assert done.status == 2 and "error[input]" in done.err


def test_json_is_the_trace_document(stepped) -> None:
    found = stepped(str(EXAMPLES / "sum.ws"), "--json").json
    assert (found["format"], found["version"], len(found["states"])) == ("wingspan-trace", VERSION, 13)


def test_the_page_shows_what_is_printed(stepped, monkeypatch) -> None:
    """The end of a plain session in docs/stepper.md, and every key of both forms."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "stepper.md").read_text(encoding="utf-8")
    ((line, text),) = re.findall(r"`echo (.*?)` ends with\n\n```text\n(.*?)```", page, re.DOTALL)
    typed, _, command_line = line.partition(" | wingspan step ")
    done = stepped(*shlex.split(command_line), lines=f"{typed}\n")
    assert done.out.endswith(HELP + text) and text.startswith("step ")
    assert all(f"`{key}`" in page for key in (*KEYS, *PANES, "c", "s", "q"))


def test_a_program_from_standard_input_leaves_no_room_for_steps(stepped) -> None:
    done = stepped("-", "--plain", lines="x = 1\n")
    assert done.status == 2 and "read from standard input, and so are the steps" in done.err
