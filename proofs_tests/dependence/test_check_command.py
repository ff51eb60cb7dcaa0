"""The command `wingspan check`: its exit status, what goes to which stream, and that its advice is safe."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import wingspan
from proofs_tests.cli.typed import PARAMETERS
from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES, ROOT
from wingspan import api
from wingspan.api import checking
from wingspan.base.errors import InputError
from wingspan.dependence.advice import advise
from wingspan.dependence.findings import ORDER, TESTS
from wingspan.views.check import check
from wingspan.views.view import CheckReport, Invocation

RACY = str(EXAMPLES / "dependent.ws")
ATOMIC = str(EXAMPLES / "dependent_atomic.ws")
SHARED_FIBER = "c = Tensor(SparseByteMap(Atomic(0)), 2)\nc .= 0\nfor i = parallel(_)\n    c[i] += 1\nend\nreturn c\n"
LAST = "m = Tensor(Dense(Atomic(0)), 1)\nm .= 0\nfor i = parallel(1:2)\n    m[1] = i\nend\nreturn m\n"
SERIAL = "c = Tensor(SparseList(Element(0)), 2)\nc .= 0\nfor i = _\n    c[i] += 1\nend\nreturn c\n"
BOUND = ["-p", "nt=2", "-p", "n=3", "-p", "sch=dynamic_schedule(1)"]


@pytest.mark.parametrize(
    ("program", "verdict", "status"),
    [
        (Path(ATOMIC).read_text(), "safe", 0),
        (SERIAL, "safe", 0),
        (Path(RACY).read_text(), "unsafe", 1),
        (SHARED_FIBER, "unsafe", 1),
        (LAST, "order-dependent", 1),
        ("x = 1\n", "safe", 0),
    ],
)
def test_the_exit_status_tells_the_verdict(command, written, program, verdict, status):
    file = written(program)
    done = command("check", file)
    assert (done.status, done.err) == (status, "")
    assert done.out.startswith(f"{verdict}  {file}: ")
    as_data = command("check", file, "--json")
    assert (as_data.status, as_data.json["verdict"]) == (status, verdict)


def test_the_tests_can_be_chosen_and_differ(command, written):
    """The printed algorithm skips the very level whose index is the parallel loop."""
    file = written(SHARED_FIBER)
    verdicts = {test: command("check", file, "--test", test, "--json").json["verdict"] for test in TESTS}
    assert verdicts == {"printed": "safe", "repaired": "unsafe", "exact": "unsafe"}
    assert command("check", file, "--json").json["test"] == "repaired"


@pytest.mark.parametrize("program", [Path(RACY).read_text(), SHARED_FIBER, LAST])
def test_each_fix_makes_the_program_safe(command, written, program):
    """In the order of the costs, and to the test as well as to every interleaving."""
    advice = command("check", written(program), "--json").json["advice"]
    assert advice and [one["cost"] for one in advice] == sorted(one["cost"] for one in advice)
    for one in advice:
        file = written(one["program"], "fixed.ws")
        assert command("check", file).status == 0, one
        assert command("explore", file).status == 0, one


@pytest.mark.parametrize(
    "name", ["spgemm_gustavson", "spgemm_inner", "spgemm_outer", "spmspv", "spadd", "hadamard", "mttkrp_sparse"]
)
def test_the_paper_s_kernels_are_safe_for_all_inputs(command, name):
    """Nothing is given, neither matrices nor the number of threads or the schedule; explore could not start."""
    done = command("check", str(EXAMPLES / f"{name}.ws"))
    assert (done.status, done.err) == (0, "")
    assert re.search(r"\n  open  .*\bnt, sch\b.*; the verdict holds for all that they can be\n$", done.out)
    assert command("explore", str(EXAMPLES / f"{name}.ws")).status == 2


def test_an_open_extent_can_make_the_difference(command, written):
    """Two iterations of i meet in one element unless there is only one."""
    file = written("c = Tensor(Dense(Element(0)), 1)\nc .= 0\nfor i = parallel(1:n)\n    c[1] += 1\nend\nreturn c\n")
    assert command("check", file).status == 1
    assert command("check", file, "-p", "n=2").status == 1
    assert command("check", file, "-p", "n=1").status == 0


def test_the_printed_command_finds_what_the_message_says(command):
    text = command("check", RACY).out
    sees = re.findall(r"^  see  wingspan (.*)$", text, re.MULTILINE)
    assert sees
    for see in sees:
        assert command(*shlex.split(see)).status == 1


def test_the_printed_command_repeats_parameters_inputs_and_threads(command, tmp_path, written):
    matrix = tmp_path / "it's A.npy"
    np.save(matrix, np.array([1, 2]))
    words = [written(PARAMETERS), *BOUND, "-i", f"A={matrix}"]
    done = command("check", *words, "--threads", "3")
    assert done.status == 1
    (see,) = set(re.findall(r"^  see  wingspan (.*)$", done.out, re.MULTILINE))
    assert shlex.split(see) == ["explore", *words, "--threads", "3"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with files that are no programs, and two that are."""
    monkeypatch.chdir(tmp_path)
    Path("empty.ws").write_text("")
    Path("binary.ws").write_bytes(bytes(range(256)))
    Path("broken.ws").write_text("for i = \n    y[i] += x[i\nend\n")
    Path("good.ws").write_text(PARAMETERS)
    Path("racy.ws").write_text(Path(RACY).read_text())
    Path("folder.ws").mkdir()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.ws"], "none.ws: no such file"),
        ([""], "error[input]"),
        (["empty.ws"], "the program is empty"),
        (["folder.ws"], "folder.ws: a directory, not a file"),
        (["binary.ws"], "binary.ws: not UTF-8 text"),
        (["broken.ws"], "error[syntax]"),
        ([], "Missing argument 'FILE'"),
        (["racy.ws", "more.ws"], "unexpected extra argument"),
        (["racy.ws", "--test", "guess"], "'guess' is not one of 'printed', 'repaired', 'exact'"),
        (["racy.ws", "--test", ""], "'' is not one of"),
        (["racy.ws", "--threads", "0"], "--threads"),
        (["racy.ws", "--threads", "many"], "--threads"),
        (["racy.ws", "--engine", "reference"], "No such option"),
        (["racy.ws", "-p", "nt"], "'nt' is not of the form NAME=VALUE"),
        (["racy.ws", "-p", "other=1"], "other"),
        (["racy.ws", "-i", "B=none.npy"], "B"),
        (["good.ws", "-p", "nt=2", "-p", "nt=3"], "nt is given twice"),
        (["good.ws", "-p", "nt=x", "-p", "n=2", "-p", "sch=static_schedule()"], "error["),
        (["good.ws", "-p", "nt=2", "-p", "n=2", "-p", "sch=4"], "sch"),
        (["good.ws", "-p", "nt=2", "-p", "sch=static_schedule()", "-i", "A=none.npy"], "none.npy: no such file"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_nonsense_is_told_on_stderr(command, files, words, said):
    """Exit status 2, nothing on standard output, or the error as JSON, and no traceback."""
    plain, asked = command("check", *words), command("check", *words, "--json")
    for done in (plain, asked):
        assert done.status == 2 and said in done.err and "Traceback" not in done.err
    assert plain.out == "" and asked.json["error"]["message"].splitlines()[0] in plain.err


PRODUCT = """
d = cpu(:d, 3)
A = Tensor(Dense(Element(0)), [0, 4611686018427387904, 4])
T = Tensor(Dense(Atomic(1)), 1)
T .= 1
for i = parallel(1:3, d)
    T[1] *= A[i]
end
"""
WORDING = (
    "accepted programs are safe, except for value-dependent faults (overflow, index out of range, division by zero, "
    "wrong type, failed assertion), which may occur in some interleavings only"
)


@pytest.mark.parametrize("test", ["repaired", "exact"])
def test_value_dependent_faults_may_occur_in_some_interleavings_only(command, written, test):
    """T18: all products are 0 if the 0 comes first; otherwise 2^62 * 4 may overflow on the way. The verdict says so."""
    done = command("check", written(PRODUCT), "--test", test)
    assert done.status == 0
    assert done.out.startswith("safe ")
    assert f"{test}: {WORDING}" in done.out
    found = api.explore(api.parse(PRODUCT)).verdict
    assert (found.complete, found.verdict, found.races) == (True, "fault", ())
    assert {fault.message.partition(":")[0] for fault in found.faults} == {"overflow"}
    assert found.interleavings is not None
    finished = sum(result.interleavings or 0 for result in found.results)
    assert 0 < finished < found.interleavings
    assert [result.outcome.values() for result in found.results] == [{"T": [0]}]


POINT = """
d = cpu(:d, 2)
P = Tensor(Dense({}), 2, 2)
P .= 0
for j = parallel(_, d)
    for i = _
        P[i, j] = 2 + i
    end
end
"""
HELD = f"{WORDING}, or {{}} running out of room"


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize("name", ["SparsePoint", "SparseInterval"])
def test_what_a_level_cannot_hold_is_named(command, written, name, test):
    """T18: a program that faults in every interleaving is accepted, and the verdict says what it does not look for."""
    text = POINT.format(f"Shard(d, {name}(Element(0)))")
    done = command("check", written(text), "--test", test)
    assert done.status == 0 and f"{test}: {HELD.format(f'level 2 {name} of P')}\n" in done.out
    made = command("check", written(text), "--test", test, "--json").json
    assert made["partial"] == [{"tensor": "P", "level": 2, "level_name": name}]
    found = api.explore(api.parse(text)).verdict
    assert (found.complete, found.verdict, found.results) == (True, "fault", ())


def test_a_level_that_is_only_read_is_not_named(command, written):
    """Nor are levels that hold every index."""
    text = POINT.format("Shard(d, SparseList(Element(0)))").replace("2 + i", "Q[i]")
    file = written(f"Q = Tensor(SparsePoint(Element(0)), [0, 7])\n{text}")
    done = command("check", file)
    assert done.status == 0 and f"{WORDING}\n" in done.out
    assert command("check", file, "--json").json["partial"] == []


LEFT_OUT = "dependence.md#what-a-verdict-leaves-out"


@pytest.mark.parametrize("place", ["page", "help", "api"])
def test_what_a_verdict_leaves_out_is_said_in_the_words_of_check(place, command):
    """T18."""
    said = {
        "page": lambda: (ROOT / "docs" / "dependence.md").read_text("utf-8"),
        "help": lambda: command("check", "--help").out,
        "api": lambda: api.check.__doc__ or "",
    }
    assert HELD.format("a format").lower() in " ".join(said[place]().split()).lower()


@pytest.mark.parametrize(
    "page", ["README.md", "docs/command-line.md", "docs/theory.md", "docs/levels.md", "examples/quiz.md"]
)
def test_other_pages_link_to_what_a_verdict_leaves_out(page):
    """Other pages do not repeat it."""
    text = (ROOT / page).read_text("utf-8")
    assert LEFT_OUT in text and "wrong type" not in text


QUIZZES = sorted(path for path in EXAMPLES.glob("quiz_*.ws") if path.stem != "quiz_overflow")
"""All but the one that is about values."""


@pytest.mark.parametrize("path", few(QUIZZES, 6), ids=lambda path: path.stem)
def test_no_broken_program_of_the_quiz_is_called_safe(command, path):
    """Each goes wrong in some interleaving; the message points into the program and the advice is accepted."""
    done = command("check", str(path))
    assert (done.status, done.err) == (1, "")
    made = command("check", str(path), "--json").json
    lines = path.read_text().splitlines()
    for found in made["findings"]:
        if found["access"]:
            assert lines[found["line"] - 1][found["column"] - 1 :].startswith(found["access"])
        assert found["missing"] == [kind for kind in found["required"] if kind not in found["stability"]]
        assert (found["topic"] in ORDER) or made["verdict"] == "unsafe"
    for one in made["advice"]:
        assert wingspan.check(wingspan.parse(one["program"])).verdict == "safe"


@pytest.mark.parametrize("path", [ATOMIC, str(EXAMPLES / "karate.ws"), str(EXAMPLES / "independent.ws")])
def test_what_the_paper_calls_safe_is_accepted(command, path):
    """Gustavson's algorithm on a real matrix among it, which no search could explore."""
    done = command("check", path)
    assert (done.status, done.err) == (0, "")


# -------------------------------------------------------------------------------------------------------------- Python


def test_python_and_the_command_line_say_the_same(command):
    report = wingspan.check(RACY)
    made = command("check", RACY, "--json").json
    assert isinstance(report, wingspan.Report)
    assert report.to_dict() == made


def test_a_bound_program_is_checked_without_advice():
    program = api.load(RACY)
    report, bare = wingspan.check(program), wingspan.check(api.bind(program))
    assert (report.verdict, len(report.findings)) == (bare.verdict, len(bare.findings))
    assert report.advice and not bare.advice


def test_each_program_that_is_tried_is_counted():
    """A search for advice can take a while; the first program is the one to check."""
    counted: list[int] = []
    wingspan.check(RACY, progress=lambda done, left: counted.append(done))
    assert counted == list(range(len(counted))) and len(counted) > 1


def test_an_unknown_test_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="there is no test guess") as refused:
        wingspan.check("none.ws", test="guess")  # type: ignore[arg-type]
    assert refused.value.fix == "use one of printed, repaired, exact"


def test_ctrl_c_ends_the_search_for_advice_only(command, monkeypatch):
    """Earlier findings are reported."""

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "advise", interrupted)
    found = api.check(RACY)
    assert (found.verdict, len(found.findings), found.advice, found.advice_complete) == ("unsafe", 1, (), False)
    done = command("check", RACY)
    assert done.status == 1
    assert "advice: none; the search was interrupted" in done.out


def test_a_further_loop_is_safe_with_more_threads_too():
    """With one thread each, loops over devices of their own are safe; which is no reason to advise them."""
    text = "c = Tensor(SparseByteMap(Element(0)), 2)\nc .= 0\nfor k = parallel(1:2)\nfor i = _\nc[i] += 1\nend\nend"
    found = api.check(api.parse(text), threads=1)
    assert (found.verdict, found.advice) == ("safe", ())


# ------------------------------------------------------------------------------------------- the budget of the advice


def test_the_verdict_is_printed_before_advice_is_searched_for(command, capsys, monkeypatch):
    """With its findings, all of the text but what the search adds; the whole text is that of the report."""
    before = []

    def searched(*given):
        before.append(capsys.readouterr().out)
        return advise(*given)

    monkeypatch.setattr(checking, "advise", searched)
    done = command("check", RACY)
    (first,) = before
    assert first.startswith("unsafe  ") and "error[level-dependence]: " in first and "advice" not in first
    assert done.out.startswith("  fix  ") and "\n\nadvice: the test accepts" in done.out
    report = api.check(RACY)
    assert first + done.out == f"{check(CheckReport(Invocation(RACY), report, api.load(RACY).tree))}\n"


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_other_forms_are_one_document(form, command, capsys, monkeypatch):
    """Nothing is printed before the search for advice ends."""
    before = []

    def searched(*given):
        before.append(capsys.readouterr().out)
        return advise(*given)

    monkeypatch.setattr(checking, "advise", searched)
    assert json.loads(command("check", RACY, "--format", form).out) and before == [""]


@pytest.mark.parametrize(("program", "status"), [(RACY, 1), (str(EXAMPLES / "mttkrp_rows.ws"), 0)])
def test_advice_that_is_cut_short_says_what_to_do_for_more(program, status, command):
    """In one line, and with the same verdict, findings and status; the budget that it names is enough here."""
    done = command("check", program, "--budget", "0")
    assert done.status == status
    line = "the search was cut short after 0 steps: --budget 100000 searches further"
    assert done.out.count("cut short") == done.out.count(line) == 1
    whole = command("check", program, "--budget", "100000")
    assert "cut short" not in whole.out and whole.status == status
    assert whole.out.split("\n\n")[0] == done.out.split("\n\n")[0]
    data = json.loads(command("check", program, "--budget", "0", "--json").out)
    assert (data["advice"], data["advice_complete"]) == ([], False)


def test_advice_within_a_budget_is_the_same_each_time():
    """Partial advice is kept: it is a prefix of the whole, or lacks some."""
    whole = api.check(RACY)
    assert whole.advice_complete
    for steps in (0, 100, 300, 1000):
        cut = [api.check(RACY, budget=steps) for _ in range(2)]
        assert cut[0].advice == cut[1].advice and set(cut[0].advice) <= set(whole.advice)
        assert cut[0].verdict == whole.verdict and cut[0].findings == whole.findings
    assert 0 < len(api.check(RACY, budget=300).advice) < len(whole.advice)


def test_a_negative_budget_is_a_usage_error(command):
    assert command("check", RACY, "--budget", "-1").status == 2


LARGE = """\
dev = cpu(:dev, 4)
A = Tensor(Dense(SparseList(SparseList(Element(0.0)))), 8, 8, 8)
B = Tensor(SparseDict(SparseDict(SparseDict(Element(0.0)))), 8, 8, 8)
C = Tensor(SparseList(SparseList(Element(0.0))), 8, 8)
D = Tensor(SparseDict(SparseDict(Element(0.0))), 8, 8)
E = Tensor(SparseByteMap(SparseList(Element(0.0))), 8, 8)
B .= 0
C .= 0
D .= 0
E .= 0
for i = parallel(_, dev, dynamic_schedule(1))
    for j = _
        for k = _
            B[k, i, j] += A[k, j, i]
            C[j, i] += A[k, j, i]
            D[k, j] += A[k, j, i]
            E[j, k] += A[k, j, i]
            D[j, k] += A[k, j, i]
"""


def test_a_large_program_spends_its_budget_on_advice(written):
    """It is searched for without end in sight: the tests of changed programs are what is counted."""
    tried = []
    found = api.check(api.load(written(LARGE)), budget=5000, progress=lambda done, left: tried.append(done))
    assert found.verdict == "unsafe" and not found.advice_complete
    assert 0 < len(tried) < 5000 / 2 / 100 + 1  # each has more than a hundred nodes, of two steps
