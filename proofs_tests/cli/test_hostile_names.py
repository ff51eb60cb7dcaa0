"""Names and texts from outside do nothing where they are printed: not in C, and not on a terminal."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from proofs_tests.printed_c import PrintedC
from wingspan import api, console
from wingspan.base.errors import Fault, InputError, visible
from wingspan.cli import main
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.compiled.emit_c import emit_c
from wingspan.compiled.registers import MACRO, RESERVED, Names
from wingspan.plan.pipeline import lower
from wingspan.testing import compare

EVIL = "__attribute__((constructor)) static void evil(void) { __builtin_abort(); }"
NASTY = st.text(
    st.sampled_from([*"\"\\?/*%{}<>#'a1 \t\r\n\x00\x1b\x7f\x85\u2028\u202eé", "\udcff", "\ud800"]), max_size=12
)
"""Characters that end strings, comments or lines, or that are none."""
KEPT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//.*')
"""The places of names in C: strings, and comments to the end of a line."""
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, or cannot be printed."""


def program(name: str, comment: str) -> api.Program:
    """A program with a comment in each of its lines; its second statement is a fault."""
    return api.parse(f"x = 9223372036854775807 # {comment}\ny = x + x # {comment}", name)


def printed(name: str, comment: str, main: str = "program") -> str:
    return emit_c(lower(api.bind(program(name, comment))), main, main=True)


def skeleton(text: str) -> list[str]:
    """The lines of a C file without what is in strings and in comments."""
    return [KEPT.sub("", line) for line in text.split("\n")]


@settings(max_examples=many(1600))
@given(NASTY, NASTY.filter(lambda text: not set(text) & set("\r\n\x85\u2028")), NASTY)
def test_no_text_gets_out_of_its_string_or_comment(name, comment, main):
    text = printed(name, comment, main)
    assert skeleton(text) == skeleton(printed("p.ws", "", "p"))
    assert not any(line.rstrip().endswith(("\\", "??/")) for line in text.split("\n")), "a line goes on in the next"
    assert not RAW.search(text)
    text.encode()


@needs_compiler
def test_a_library_printed_from_hostile_names_does_only_what_its_program_does():
    """The compiler finds nothing to warn of, nothing else runs when it is loaded, and its message is one line."""
    name = f'a\n{EVIL} // b\\\n{EVIL} */ {EVIL} ??/\n{EVIL} "%s%n \x1b[31m \udcff'
    text = f"y = 1\nx = 9223372036854775807 # ??/\ny = x + x # {EVIL} \\ \\"
    engine = PrintedC(("-O1", "-Wall", "-Wextra", "-trigraphs"))
    with pytest.raises(Fault) as fault:
        engine.run(api.bind(api.parse(text, name)), {})
    sum_ = "+ is not defined for 9223372036854775807 and 9223372036854775807"
    assert fault.value.message == f"{visible(name)}:3:5: {sum_}"


NAMES = """
k f t x frame results told region region_shared region_shared_cells root root_A root_A_val root_A_val_cells groups sites
main ws_run WS_TRY int int64_t uint64_t double bool linux errno stdin NAN EOF NULL INFINITY INT64_MIN SIGINT PRId64
L_tmpnam si_pid sa_handler M_PI fabs nullptr constexpr thread first last A1_q position val
"""
"""Identifiers of C, of its headers, or of a printed file."""


@needs_compiler
def test_names_that_mean_something_in_c_are_names_like_others():
    """As indices of a loop, whose values tasks get, as variables and as the names of tensors."""
    loops = "\n".join(
        f"for {name} = 1:2\n    {name}_2 = {name} + 1\n    for ii = parallel(1:3, dev)\n"
        f"        A[{at}, {name}, ii] += {name} * {at} + {name}_2 * ii\n    end\nend"
        for at, name in enumerate(NAMES.split(), start=1)
    )
    form = f"Tensor(Dense(Dense(Dense(Element(0)))), {len(NAMES.split())}, 2, 3)"
    bound = api.bind(api.parse(f"dev = cpu(:dev, 2)\nA = {form}\nA .= 0\n{loops}"))
    compared = compare(bound, [api.engine("reference"), PrintedC(("-O0", "-Wall", "-Wextra"))])
    assert compared.difference is None, compared.difference


@needs_compiler
def test_no_variable_is_called_like_a_macro_of_the_headers(tmp_path):
    (tmp_path / "p.c").write_text('#include "session.h"\n#include "intersection.h"\n')
    command = [*(compiler() or ["cc"]), "-std=gnu11", *INCLUDES, "-dM", "-E", str(tmp_path / "p.c")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    macros = set(re.findall(r"^#define (\w+)(?!\()\b", text, re.MULTILINE))
    assert len(macros) > 300
    names = Names()
    assert not {names.new(macro) for macro in sorted(macros)} & macros


def test_what_is_kept_from_variables_is_no_more_than_needed():
    """So that short names and mixed ones stay as they are written."""
    assert not [name for name in ("A", "BT", "C1", "root A", "A1.q", "sum", "val.2") if MACRO.fullmatch(name)]
    assert {"for", "frame", "values"} <= RESERVED


# ------------------------------------------------------------------------------------------------------------- terminal

CONTROLLING = {
    "a\nb": "control characters", "a\x1b[31mb": "control characters", "a\x9bb": "control characters",
    "a\u202eb": "control characters", "a\u2028b": "control characters", "a\udcffb": "not UTF-8",
}  # fmt: skip
VERBS = ("check", "explore", "replay --interleaving 1", "run", "diff", "stress", "plan", "emit-c", "fmt")
OPTIONS = (
    "run {program} -i A={name}.npy", "run {program} -o c={name}.npy", "run {program} -o c={name}",
    "explore {program} --graph {name}.dot",
    "explore {program} --checkpoint {name}", "explore {program} --resume {name}", "emit-c {program} -o {name}",
)  # fmt: skip
SHORT = "A = Tensor(Dense(Element(0)))\nc = Tensor(Element(0))\nc .= 0\nfor i = _\n    c[] += A[i]\nend\nreturn c\n"


@pytest.mark.parametrize(("name", "why"), CONTROLLING.items())
@pytest.mark.parametrize("verb", [*(f"{verb} {{name}}.ws" for verb in VERBS), *OPTIONS])
def test_a_path_that_cannot_be_printed_is_one_error(command, written, tmp_path, monkeypatch, verb, name, why):
    monkeypatch.chdir(tmp_path)
    written(
        SHORT.replace("Tensor(Dense(Element(0)))", "Tensor(Dense(Element(0)), [1, 2])") if "-i" not in verb else SHORT
    )
    Path(f"{name}.ws").write_text(SHORT)
    done = command(*(word.format(name=name, program="program.ws") for word in verb.split()))
    assert done.status == 2 and done.out == ""
    assert re.fullmatch(rf"error\[input\]: \S*: the name .*{why}\n(.|\n)*  fix  rename it\n", done.err)
    assert done.err.count("error[") == 1 and not RAW.search(done.err)
    assert sorted(os.listdir(tmp_path)) == sorted([f"{name}.ws", "program.ws"])


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\x9bb", "a\u202eb"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_path_in_a_program_is_refused_by_every_verb(command, written, verb, name):
    path = written(f'A = Tensor(Dense(Element(0)), "{name}.npy")\nx = A[1]\n')
    done = command(*verb.split(), path)
    assert done.status == 2 and done.err.count("error[") == 1 and "the name has control characters" in done.err
    assert not RAW.search(done.err)


OSC = "\x1b]0;title\x07"
"""Gives a terminal's window a title; click itself leaves out only what begins as colours do."""


@pytest.mark.parametrize(
    "words", [f"check p.ws {OSC}", f"--{OSC}", OSC, f"check p.ws --{OSC}", f"run p.ws -p {OSC}=3", f"run {OSC}.ws",
    f"run p.ws -p a={OSC}", f"diff p.ws --engines a{OSC}", f"explore p.ws --strategy {OSC}", f"race p.ws --runs {OSC}",
    f"replay p.ws --interleaving {OSC}", f"run p.ws -i {OSC}", f"run p.ws --max-memory {OSC}"],
)  # fmt: skip
def test_a_misuse_of_the_command_line_is_reported_without_its_escapes(command, written, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    written("x = 1\n", "p.ws")
    done = command(*words.split(" "))
    assert done.status == 2 and re.search(r"^(Error: |error\[)", done.err, re.MULTILINE)
    assert not RAW.search(done.out + done.err)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "line", [f"x = 1 # {OSC} \x9b2J \u202e\n", f"c[] += 1 # {OSC}\n", f"x = {OSC}\n", "x = \u202e1\n", '"\x1b\n']
)
def test_no_escape_in_a_program_reaches_the_terminal(command, written, tmp_path, verb, line):
    text = f"c = Tensor(Element(0))\nc .= 0\n{line}"
    done = command(*verb.split(), written(text), *(["-o", str(tmp_path)] if verb == "emit-c" else []))
    assert not RAW.search(done.out + done.err)


def test_nothing_is_printed_that_a_terminal_obeys(capsys):
    console.show(f"a {OSC}\nb")
    console.show(f"a {OSC}\nb", colours=True)
    with pytest.raises(SystemExit), click.Context(main, obj=console.CommandContext(0.0, form="text")):
        console.fail(InputError("a"), 2, f"a {OSC}\nb")
    done, shown = capsys.readouterr(), "a \\x1b]0;title\\x07\nb\n"
    assert (done.out, done.err) == (2 * shown, shown)
    assert InputError(f"a {OSC}").render() == "error[input]: a \\x1b]0;title\\x07"
