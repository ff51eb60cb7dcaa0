"""Pictures for slides: they are well formed, and show what the text says. Rules, derivations, lanes, state graphs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.places import EXAMPLES, ROOT
from proofs_tests.views.runs import programs_run, report_on, runs
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import formula, schema
from wingspan.trace import Session, Trace
from wingspan.views import inference, lanes, svg
from wingspan.views.view import ReplayReport

usual = settings(derandomize=True, deadline=None, max_examples=many(60))
a_few = settings(derandomize=True, deadline=None, max_examples=many(15))

DEPENDENT = str(EXAMPLES / "dependent.ws")
LOST = "1*3,2,1"
SVG = "{http://www.w3.org/2000/svg}"

# --------------------------------------------------------------------------------------------------------------- rules


def texts(picture: str) -> list[str]:
    """The texts of an SVG picture."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def balanced(latex: str) -> bool:
    """Whether LaTeX's groups and environments are closed in order, and all is ASCII or an accented letter."""
    opened: list[str] = []
    for found in re.finditer(r"\\(begin|end)\{(\w+)\}|\\.|([{}])|\\([\[\]])", latex, re.DOTALL):
        if found[1] == "begin":
            opened.append(found[2])
        elif found[1] == "end":
            if not opened or opened.pop() != found[2]:
                return False
        elif found[3] == "{":
            opened.append("{")
        elif found[3] == "}" and (not opened or opened.pop() != "{"):
            return False
    return not opened and not re.search(r"[^\x00-\xff]", latex)


def test_every_rule_is_drawn_in_80_columns(command) -> None:
    done = command("rules")
    assert done.status == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert {name for name in done.out.splitlines() if name in ALL} == set(ALL)
    for rule in ALL.values():
        for premise in (each for case in schema(rule).cases for each in case.premises):
            assert premise in done.out, (rule.name, premise)


def test_a_rule_is_found_by_its_name_however_it_is_written(command) -> None:
    assert command("rules", "assign").out == command("rules", "Assign").out
    wrong = command("rules", "Asign")
    assert (wrong.status, wrong.err) == (2, "error[input]: there is no rule Asign\n  fix  did you mean Assign?\n")


@pytest.mark.parametrize("name", ALL)
def test_the_picture_of_a_rule_has_its_premises_its_conclusion_and_its_name(name: str) -> None:
    shown = texts(inference.rules_svg([ALL[name]]))
    words = Counter(" ".join(shown).split())
    for case in schema(ALL[name]).cases:
        for part in (*case.premises, *case.below, name):
            assert not Counter(part.replace("_", "").split()) - words, part  # subscripts are small instead


@pytest.mark.parametrize("name", ALL)
def test_the_line_of_a_rule_is_as_long_as_its_longest_formula(name: str) -> None:
    """The widths are those that the formulas are stretched to, whatever font a reader has."""
    for group in ElementTree.fromstring(inference.rules_svg([ALL[name]])).iter(f"{SVG}g"):
        (bar,) = group.iter(f"{SVG}line")
        rows = [each for each in group.iter(f"{SVG}text") if "textLength" in each.attrib]
        begins = [float(row.attrib["x"]) for row in rows]
        ends = [x + float(row.attrib["textLength"]) for x, row in zip(begins, rows, strict=True)]
        longest = max(end - begin for begin, end in zip(begins, ends, strict=True))
        left, right = float(bar.attrib["x1"]), float(bar.attrib["x2"])
        assert left < min(begins) and max(ends) < right
        assert right - left < longest + 2 * svg.CHAR


def test_formulas_are_proportional_with_italic_letters_and_subscripts() -> None:
    assert svg.formula_width("ill") < svg.formula_width("mow") / 2
    assert svg.formula_width("i_chunk") < svg.formula_width("ichunk")
    drawn = ElementTree.fromstring(svg.formula(0, 0, "skip, σ[i_chunk ↦ a]"))
    styled = [(each.text, "font-style" in each.attrib, each.get("dy")) for each in drawn.iter("tspan")]
    assert styled == [
        ("σ", True, None), ("i", True, None), ("chunk", False, "4"), (" ", False, "-4"), ("a", True, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_a_rule_in_latex_is_closed_and_named(name: str) -> None:
    latex = inference.rules_latex([ALL[name]])
    assert balanced(latex) and rf"\textsc{{{name}}}" in latex
    mathpartir = inference.rules_mathpartir([ALL[name]])
    assert balanced(mathpartir)
    assert mathpartir.count(rf"\inferrule*[right={name}]{{") == len(schema(ALL[name]).cases)
    for premise in schema(ALL[name]).cases[0].premises:
        assert formula(premise) in mathpartir


# --------------------------------------------------------------------------------------------------------- derivations


@pytest.mark.parametrize(
    ("file", "interleaving", "names"),
    [
        ("dependent.ws", LOST, ["Assign", "context", "ParLeft"]),
        ("dependent.ws", "1*3,2", ["Assign", "context", "ParRight"]),
        ("quiz_check_then_act.ws", "1,2,2", ["ReadGlobal", "context", "ParRight"]),
    ],
)
def test_a_step_is_derived_by_its_rule_and_those_of_the_tasks_around_it(command, file, interleaving, names) -> None:
    done = command("replay", str(EXAMPLES / file), "--interleaving", interleaving, "--derivation")
    assert re.findall(r"─ (\w+)$", done.out, re.MULTILINE) == names
    assert max(map(len, done.out.splitlines())) <= 80
    session = Session(Trace(EXAMPLES / file))
    session.go(interleaving)
    step = session.moves[-1].step
    for part in (step.conclusion, *(each.instance for each in step.premises)):
        assert "".join(part.split()) in "".join(done.out.split())
    for form in ("svg", "tikz"):
        drawn = command(
            "replay", str(EXAMPLES / file), "--interleaving", interleaving, "--derivation", "--format", form
        )
        if form == "svg":
            assert [each for each in texts(drawn.out) if each in names] == names
        else:
            assert balanced(drawn.out) and re.findall(r"textsc\{(\w+)\}", drawn.out) == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--interleaving", "1", "--derivation", "--machine", "native"], "--derivation is for"),
        (["--interleaving", "1", "--derivation", "--json"], "--derivation is for"),
        (["--interleaving", "-", "--derivation"], "has no last step"),
        (["--interleaving", "3", "--derivation"], "names task 3, which cannot step"),
    ],
)
def test_what_has_no_derivation_says_why(command, words, said) -> None:
    done = command("replay", DEPENDENT, *words)
    assert done.status == 2 and said in " ".join(done.err.split())


# --------------------------------------------------------------------------------------------------------------- lanes


def check_lanes(report: ReplayReport) -> None:
    """Both pictures have the visible steps, in the lanes of their tasks, and lanes are alive while their tasks step."""
    drawn = lanes.lanes(report)
    steps = [row for row in drawn.rows if row.kind == "step"]
    assert [drawn.tasks[row.lane] for row in steps] == [action.task for action in report.visible]
    does = [action.does or action.rule for action in report.visible]
    assert [row.text for row in steps] == does
    assert sum(row.racing for row in steps) == (2 if report.racing else 0)
    for lane, (first, last) in enumerate(drawn.alive):
        assert all(first <= at <= last for at, row in enumerate(drawn.rows) if row.lane == lane)
    picture = lanes.as_svg(drawn)
    assert not Counter(" ".join(does).split()) - Counter(" ".join(texts(picture)).split())
    box = [float(n) for n in ElementTree.fromstring(picture).attrib["viewBox"].split()]
    for line in ElementTree.fromstring(picture).iter(f"{SVG}line"):
        assert 0 <= float(line.attrib["x2"]) <= box[2] and 0 <= float(line.attrib["y2"]) <= box[3]
    assert balanced(lanes.as_tikz(drawn))


@given(runs())
@usual
def test_lanes_have_every_visible_step(report: ReplayReport) -> None:
    check_lanes(report)


@given(programs_run())
@a_few
def test_those_of_programs_too(report: ReplayReport) -> None:
    check_lanes(report)


def test_lanes_say_how_the_run_ended() -> None:
    ends = {
        "dependent.ws": "result: c = [1, 0, 1, 0, 1]",
        "quiz_deadlock_one_lock.ws": "deadlock: ",
        "quiz_nested_devices.ws": " faults: ",
    }
    for file, said in ends.items():
        drawn = lanes.lanes(report_on(EXAMPLES / file, "semantics", LOST))
        assert any(said in line for line in drawn.end)
        assert drawn.bad == (not said.startswith("result"))


def test_lanes_say_which_update_is_lost() -> None:
    drawn = lanes.lanes(report_on(EXAMPLES / "dependent.ws", "semantics", LOST))
    assert "step 6 overwrites step 5 with a value computed from step 4's read" in drawn.end


def test_lanes_mark_the_old_read_the_lost_write_and_the_one_that_overwrites_it() -> None:
    """A red line goes from the read to the write of what was computed from it, in the lane of their task."""
    drawn = lanes.lanes(report_on(EXAMPLES / "dependent.ws", "semantics", LOST))
    assert {row.number: row.lost for row in drawn.rows if row.lost} == {
        "4": "old value, used in step 6",
        "5": "lost in step 6",
        "6": "loses step 5",
    }
    assert [[drawn.rows[at].number for at in pair] for pair in drawn.stale] == [["4", "6"]]
    picture = lanes.as_svg(drawn)
    (line,) = (each for each in ElementTree.fromstring(picture).iter(f"{SVG}line") if each.get("stroke") == svg.RED)
    (second,) = (each for each in ElementTree.fromstring(picture).iter(f"{SVG}text") if each.text == "task 2")
    assert line.attrib["x1"] == line.attrib["x2"] == second.attrib["x"]
    assert any(text.endswith("  lost in step 6") for text in texts(picture))
    assert "lost in step 6" in lanes.as_tikz(drawn)


def test_lanes_of_a_run_that_loses_nothing_mark_nothing() -> None:
    drawn = lanes.lanes(report_on(EXAMPLES / "dependent.ws", "semantics", "1*4"))
    assert not drawn.stale and not any(row.lost for row in drawn.rows)


def test_the_command_prints_them(command) -> None:
    for form, begins in (("svg", "<svg "), ("tikz", "% needs tikz")):
        done = command("replay", DEPENDENT, "--interleaving", LOST, "--format", form)
        assert done.status == 0 and done.out.startswith(begins)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_compiles_it(command, tmp_path: Path) -> None:
    parts = [command("rules", "--format", form).out for form in ("latex", "mathpartir")]
    for more in (["--derivation"], []):
        parts.append(command("replay", DEPENDENT, "--interleaving", LOST, "--format", "tikz", *more).out)
    body = "\n\n".join(parts)
    head = r"\documentclass{article}\usepackage{amsmath,tikz,mathpartir}\begin{document}"
    (tmp_path / "all.tex").write_text(f"{head}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


# -------------------------------------------------------------------------------------------------------------- graphs


@pytest.fixture
def drawing(monkeypatch, tmp_path: Path):
    """Puts a `dot` on the path that prints its arguments and what it reads, or fails with a status."""

    def install(status: int = 0) -> None:
        file = tmp_path / "bin" / "dot"
        file.parent.mkdir()
        file.write_text(f'#!/bin/sh\necho "$@"\ncat\necho "too wide" >&2\nexit {status}\n')
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}:/usr/bin:/bin")

    return install


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_graphviz_is_given_the_graph(command, drawing, tmp_path: Path, suffix: str) -> None:
    drawing()
    command("explore", DEPENDENT, "--graph", str(tmp_path / "g.dot"))
    command("explore", DEPENDENT, "--graph", str(tmp_path / f"g.{suffix}"))
    assert (tmp_path / f"g.{suffix}").read_text() == f"-T{suffix}\n{(tmp_path / 'g.dot').read_text()}"


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not here")
@pytest.mark.parametrize(("suffix", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")])
def test_graphviz_draws_pictures_of_each_kind(command, tmp_path: Path, suffix: str, begins: bytes) -> None:
    file = tmp_path / f"g.{suffix}"
    assert command("explore", DEPENDENT, "--graph", str(file), "--memory").status == 1
    data = file.read_bytes()
    assert data.startswith(begins) and len(data) > 5_000


def test_without_graphviz_one_message_says_so_before_the_search(command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command("explore", DEPENDENT, "--graph", str(tmp_path / "g.svg"))
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "error[input]: a picture of a graph needs Graphviz, whose command `dot` is not there\n"
        "  fix  install Graphviz (https://graphviz.org/download), or name a .dot file\n"
    )


def test_if_graphviz_fails_its_reason_is_told(command, drawing, tmp_path: Path) -> None:
    drawing(status=1)
    done = command("explore", DEPENDENT, "--graph", str(tmp_path / "g.svg"))
    assert done.status == 2 and "Graphviz cannot draw this graph: too wide" in done.err


@pytest.mark.parametrize("machine", ["semantics", "native"])
def test_states_show_their_memory_if_asked(command, tmp_path: Path, machine: str) -> None:
    """The numbers on the way to a lost update; inputs, which do not change, are left out."""
    file = tmp_path / "g.dot"
    quiz = str(EXAMPLES / "quiz_node_race.ws")
    command("explore", quiz, "--machine", machine, "--graph", str(file), "--memory")
    shown = re.findall(r'label="\d+\\n(s\.val  \d+)', file.read_text())
    assert set(shown) == {f"s.val  {n}" for n in (0, 10, 20, 30)} and "v.val  " not in file.read_text()
    command("explore", quiz, "--graph", str(file), "--force")
    assert "s.val  " not in file.read_text()
    assert command("explore", quiz, "--memory").status == 2


PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "text"), re.findall(r"`wingspan ([^`]+)`\s+(?:prints|is)\n\n```text\n(.*?)```", PAGE, re.DOTALL)
)
def test_the_page_shows_what_is_printed(line: str, text: str, command, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    assert command(*shlex.split(line)).out.endswith(text)


def test_the_page_has_what_is_printed() -> None:
    assert PAGE.count("```text") == 3
