"""Results in Python: a line each as `repr`, the command line's text as `str`, and HTML that is safe to show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from IPython.core.formatters import DisplayFormatter

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan.views.renderer import html, preserve_colours

QUIZ = str(EXAMPLES / "quiz_node_race.ws")
PROGRAM = wingspan.load(QUIZ)
KERNEL = wingspan.parse("s = Tensor(Dense(Element(0.0)))\ns .= 0.0\nfor j = _\nfor i = _\ns[j] += A[i, j]\nend\nend")
MATRIX = np.array([[0, 5], [3, 0]])
RESULTS: dict[str, Callable[[], Any]] = {
    "Program": lambda: PROGRAM,
    "Exploration": lambda: wingspan.explore(PROGRAM),
    "Verdict": lambda: wingspan.explore(PROGRAM).verdict,
    "Report": lambda: wingspan.check(PROGRAM),
    "Replay": lambda: wingspan.replay(PROGRAM, "1,2*2,1"),
    "Tensor": lambda: wingspan.Tensor.from_numpy("Dense(SparseList(Element(0)))", MATRIX),
    "Run": lambda: wingspan.run(PROGRAM, engine="semantics"),
    "Comparison": lambda: wingspan.diff(PROGRAM, engines=["semantics", "reference"], unsafe=True),
    "Histogram": lambda: wingspan.stress(PROGRAM, runs=20),
    "Kernel": lambda: wingspan.compile(KERNEL, inputs={"A": "float"}, engine="native"),
}


@cache
def result(kind: str) -> Any:
    """A result of this kind, made once."""
    return RESULTS[kind]()


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects them and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_has_a_line_a_text_and_a_page(kind: str) -> None:
    """IPython finds all three; the page has no script and loads nothing."""
    made = result(kind)
    assert re.fullmatch(rf"<{kind} .*>", repr(made)) and len(repr(made)) <= 100 and "\n" not in repr(made)
    data, _ = DisplayFormatter().format(made)
    assert data["text/plain"] == repr(made) and str(made).strip()
    tags = Tags(data["text/html"])
    assert not tags.open and not {"script", "img", "link", "iframe"} & tags.seen
    assert not {"src", "href", "onclick"} & tags.attributes


@pytest.mark.parametrize("name", ["quiz_node_race", "quiz_variable_race", "quiz_deadlock_one_lock", "dependent_atomic"])
def test_what_is_printed_is_what_the_command_line_prints(command, name: str) -> None:
    """But for commands, which are calls, and how long it took."""
    file = str(EXAMPLES / f"{name}.ws")
    program = wingspan.load(file)
    made = wingspan.explore(program)
    pairs = [(command("explore", file).out, str(made)), (command("check", file).out, str(wingspan.check(program)))]
    interleaving = made.verdict.results[-1].interleaving if made.verdict.results else "1"
    replayed = wingspan.replay(program, interleaving)
    pairs.append((command("replay", file, "--interleaving", interleaving).out, str(replayed)))
    for printed, shown in pairs:
        assert plain(printed) == plain(shown + "\n")


@pytest.mark.parametrize("verb", [wingspan.explore, wingspan.check])
def test_reports_name_calls_that_run(verb: Callable[[Any], Any]) -> None:
    calls = re.findall(r"see +(.*)", str(verb(PROGRAM)))
    assert calls and all(call.startswith("wingspan.") for call in calls)
    for call in calls:
        eval(call, {"wingspan": wingspan, "program": PROGRAM})


TWICE = """\
s = Tensor(Dense(Element(0)), 2)
s .= 0
for i = parallel(1:4, cpu(:t, nt))
    s[1] += i
end
x = 3 / 2
return s
"""


@pytest.mark.parametrize(
    ("verb", "options", "named"),
    [
        ("run", {"engine": "semantics"}, {}),
        ("diff", {"engines": ["semantics", "reference"], "unsafe": True}, {}),
        ("diff", {"engines": ["reference", "native-controlled"], "unsafe": True}, {"nt": 1}),
        ("stress", {"runs": 20}, {}),
        ("sweep", {}, {"nt": [1, 2]}),
    ],
)
def test_so_are_runs_comparisons_histograms_and_sweeps(command, written, monkeypatch, verb, options, named) -> None:
    """The very result that Python has is what the command is given to print: threads and clocks differ."""
    file, params = written(TWICE), named or {"nt": 2}
    program = wingspan.load(file)
    made = (
        wingspan.sweep(wingspan.explore, program, params=params)
        if verb == "sweep"
        else getattr(wingspan, verb)(program, params=params, **options)
    )
    monkeypatch.setattr(wingspan.api, verb, lambda *args, **told: made)
    values = ",".join(map(str, params["nt"])) if verb == "sweep" else str(params["nt"])
    printed = command("explore" if verb == "sweep" else verb, file, "-p", f"nt={values}").out
    assert printed.replace(file, "the program") == f"{made}\n" and len(printed.splitlines()) > (verb == "sweep")


@pytest.mark.parametrize("array", [MATRIX, np.zeros((0, 2), int), np.array(3.5), np.arange(40).reshape(2, 4, 5)])
def test_a_tensor_is_drawn_as_show_draws_it_above_the_sizes(command, tmp_path, array) -> None:
    file = str(tmp_path / "a.npy")
    np.save(file, array)
    levels = "Element(0.0)" if array.dtype == float else "Element(0)"
    for _ in range(array.ndim):
        levels = f"Dense({levels})"
    made = wingspan.Tensor.from_numpy(levels, array)
    drawn, _, sizes = command("show", file, "--format", levels).out.partition("\n\n")
    assert drawn == str(made).rstrip("\n") and sizes


def test_a_program_is_printed_as_fmt_prints_it_without_comments(command) -> None:
    printed = command("fmt", QUIZ).out.splitlines(keepends=True)
    assert "".join(line for line in printed if not line.startswith("#")) == f"{PROGRAM}\n"


def plain(text: str) -> str:
    return re.sub(r"(?m)^( +see +).*$|in [\d.]+ m?s ", r"\1", text)


def test_the_calls_that_are_printed_show_what_they_say() -> None:
    program = PROGRAM
    calls = re.findall(r"see +(wingspan\.replay\(.*\))$", str(result("Exploration")), re.MULTILINE)
    assert len(calls) == 3
    shown = [str(eval(call, {"wingspan": wingspan, "program": program})) for call in calls]
    assert "result  s = [10]" in shown[1] and "result  s = [20]" in shown[2]


def test_a_replay_is_shown_whole_however_far_it_has_been_followed() -> None:
    followed = wingspan.replay(PROGRAM, "1,2*2,1")
    before = str(followed)
    steps = iter(followed)
    next(steps)
    assert str(followed) == before == str(result("Replay")) and "writes s.val[1] = 20" in before
    assert len(list(steps)) == 74


def test_what_comes_from_programs_is_escaped() -> None:
    name = "<script>alert(1)</script>"
    racy = wingspan.parse("# <b>\nx = 0\nfor i = parallel(1:2)\nx = i < 2 && x > 0\nend", name)
    for each in (racy, wingspan.explore(racy), wingspan.check(racy), wingspan.replay(racy, "1,2")):
        page = html(each)
        assert "<script" not in page and "<b>" not in page.replace("<b style", "")
    assert "&lt;" in html(racy)
    assert Tags(preserve_colours("error[race]: <i>x</i>\n  fix  a & b")).text == "error[race]: <i>x</i>\n  fix  a & b\n"


def test_bars_are_as_long_as_shares() -> None:
    wide = [float(found) for found in re.findall(r"width:([\d.]+)px", html(result("Exploration")))]
    assert wide == [33.3] * 3
    assert html(result("Exploration")).count("the sequential result</td>") == 1


def test_matrices_are_grids_and_other_tensors_trees() -> None:
    page = html(result("Tensor"))
    assert re.findall(r"font-weight:bold\">(\d)", page) == ["5", "3"]
    assert "├─" not in page and "├─" in html(wingspan.Tensor.from_numpy("Dense(Element(0))", [1, 2]))
    empty = wingspan.Tensor.from_numpy("Dense(Dense(Element(0)))", np.zeros((0, 3), int))
    assert repr(empty) == "<Tensor Dense(Dense(Element(0))): 0×3, 0 stored>" and html(empty)


def test_what_an_expression_computes_is_a_grid_in_its_own_order_of_axes_with_its_program() -> None:
    made = wingspan.einsum("C[j, i] = A[i, j]", A=scipy.sparse.csc_array(np.array([[0.0, 5.0], [3.0, 0.0]])))
    page = made._repr_html_()
    assert re.findall(r"(?:bold|#767676)\">([\d.]+)<", page) == ["0.0", "3.0", "5.0", "0.0"]
    assert re.findall(r"bold\">([\d.]+)<", page) == ["3.0", "5.0"]
    assert "<details><summary>program</summary>" in page and "return" in page


def test_a_race_is_in_sight_and_the_report_of_a_safe_program_is_hidden() -> None:
    assert "<details open>" in html(result("Exploration"))
    assert "<details>" in html(wingspan.explore(wingspan.parse("x = 1")))


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    """The views take a while to import."""
    code = "import wingspan, sys; wingspan.parse('x = 1'); assert 'wingspan.views.renderer' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
