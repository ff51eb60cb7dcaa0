"""The command `wingspan`: its exit status, what goes to which stream, and that what it prints can be used again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import BashComplete

from proofs_tests.places import ROOT
from wingspan import api, cli
from wingspan.cli import exploring, running
from wingspan.compiled.build import compiler
from wingspan.console import STATUS
from wingspan.errors import InputError, InternalError
from wingspan.explorer.verdict import VERDICTS
from wingspan.lang.parser import parse
from wingspan.plan.pipeline import FOR_C, PASSES
from wingspan.program import load
from wingspan.views import progress

EXAMPLES = ROOT / "examples"
RACY = str(EXAMPLES / "dependent.ws")
SAFE = str(EXAMPLES / "dependent_atomic.ws")
RULES = ("--engine", "semantics")
KARATE = str(EXAMPLES / "karate.ws")

ORDER = "c = Tensor(Dense(Atomic(0)), 1)\nc .= 0\nfor i = parallel(1:2)\n    c[1] = i\nend\nreturn c\n"
FAULTY = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(1:2)\n    c[i + 1] += 1\nend\nreturn c\n"
STUCK = """\
a = Tensor(Mutex(Dense(Element(0))), 1)
a .= 0
for i = _
    a[i] += 1
    for j = parallel(_)
        a[j] += 1
    end
end
"""
PARAMETERS = """\
dev = cpu(:t, nt)
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:n, dev, sch)
    c[1] += A[1]
end
return c
"""


@pytest.fixture
def wingspan(command):
    """As one types it."""
    return command


def process(*words: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    command = [sys.executable, "-m", "wingspan", *words]
    return subprocess.run(command, env=environment, encoding="utf-8", errors="replace", timeout=60, **streams)


def pasted(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a printed command in a shell, where `wingspan` is this one."""
    assert command.startswith("wingspan ")
    line = shlex.join([sys.executable, "-m"]) + f" {command}"
    return subprocess.run(
        line, shell=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, encoding="utf-8", timeout=60
    )


def commands(text: str) -> list[str]:
    """The commands that a report says to run."""
    return re.findall(r"^ +see +(.*)$", text, re.MULTILINE)


# --------------------------------------------------------------------------------------------------------- exit status


@pytest.mark.parametrize(
    ("program", "options", "verdict", "status"),
    [
        (Path(SAFE).read_text(), [], "safe", 0),
        (Path(RACY).read_text(), [], "race", 1),
        (ORDER, [], "order-dependent", 1),
        (FAULTY, [], "fault", 1),
        (STUCK, [], "deadlock", 1),
        (Path(SAFE).read_text(), ["--max-states", "2"], "incomplete", 3),
        (Path(SAFE).read_text(), ["--max-seconds", "0"], "incomplete", 3),
    ],
)
def test_the_exit_status_tells_the_verdict(wingspan, written, program, options, verdict, status):
    file = written(program)
    done = wingspan("explore", file, *options)
    assert (done.status, done.err) == (status, "")
    assert done.out.startswith(f"{verdict}  {file}: ")
    assert wingspan("explore", file, *options, "--json").json["verdict"] == verdict


def test_every_verdict_has_an_exit_status_and_only_safe_has_0():
    assert set(STATUS) == {*VERDICTS, "incomplete"}
    assert [verdict for verdict, status in STATUS.items() if status == 0] == ["safe"]
    assert [verdict for verdict, status in STATUS.items() if status == 3] == ["incomplete"]


def test_a_finding_counts_more_than_a_search_cut_short(wingspan):
    done = wingspan("explore", RACY, "--max-states", "10")
    assert done.status == 1 and "stopped by --max-states" in done.out


def test_a_fault_met_while_running_is_an_error(wingspan, written):
    file = written(FAULTY)
    for engine in ("semantics", "reference"):
        done = wingspan("run", file, "--engine", engine)
        assert (done.status, done.out) == (1, "")
        assert re.match(r"error\[fault\]: .*\n  .*program\.ws:4:", done.err)


@pytest.mark.parametrize("text", [FAULTY, STUCK])
def test_explore_run_and_replay_end_in_the_same_words(wingspan, written, text):
    """Each with a command, and the commands lead to the same end; the search finds a shortest way."""
    file = written(text)
    explored, ran = wingspan("explore", file).out.split("\n\n")[1], wingspan("run", file, *RULES)
    assert (ran.status, ran.out) == (1, "")
    replayed = [wingspan(*shlex.split(see)[1:]) for see in (*commands(explored), *commands(ran.err))]
    assert len(replayed) == 2
    for told in (ran.err, *(done.out for done in replayed)):
        assert without_command(told[told.index("error[") :]) == without_command(explored)


def without_command(text: str) -> str:
    return re.split(r"^ +see ", text, flags=re.MULTILINE)[0]


def test_a_replay_ends_well_or_in_the_fault_that_it_leads_to(wingspan, written):
    done = wingspan("replay", RACY, "--interleaving", "-")
    assert (done.status, done.err) == (0, "") and "\nfinished  after " in done.out
    file = written(FAULTY)
    (see,) = commands(wingspan("explore", file).out)
    done = wingspan(*shlex.split(see)[1:])
    assert (done.status, done.err) == (1, "") and "\nerror[fault]: " in done.out


# ------------------------------------------------------------------------------------------------------------ nonsense


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with files that are no programs, and one that is."""
    monkeypatch.chdir(tmp_path)
    Path("empty.ws").write_text("")
    Path("latin.ws").write_bytes(b"c = 1 # caf\xe9\n")
    Path("broken.ws").write_text("for i = \n    y[i] += x[i\nend\n")
    Path("binary.ws").write_bytes(bytes(range(256)))
    Path("good.ws").write_text(PARAMETERS)
    Path("racy.ws").write_text(Path(RACY).read_text())
    Path("folder.ws").mkdir()
    np.save("A.npy", np.array([1, 2]))
    np.save("text.npy", np.array(["a"]))
    return tmp_path


GOOD = ["good.ws", "-p", "nt=2", "-p", "n=2", "-p", "sch=static_schedule()", "-i", "A=A.npy"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore", "none.ws"], "none.ws: no such file"),
        (["explore", ""], "error[input]"),
        (["explore", "empty.ws"], "the program is empty"),
        (["run", "folder.ws"], "folder.ws: a directory, not a file"),
        (["explore", "latin.ws"], "latin.ws: not UTF-8 text"),
        (["run", "binary.ws"], "binary.ws: not UTF-8 text"),
        (["replay", "broken.ws", "--interleaving", "1"], "error[syntax]"),
        (["fmt", "broken.ws"], "error[syntax]"),
        (["fmt", "none.ws"], "none.ws: no such file"),
        (["explore"], "Missing argument 'FILE'"),
        (["explore", "racy.ws", "more.ws"], "unexpected extra argument"),
        (["proof", "racy.ws"], "No such command 'proof'"),
        (["prove", "racy.ws"], "unexpected extra argument"),
        (
            ["explore", "racy.ws", "--strategy", "guess"],
            "'guess' is not one of 'auto', 'graph', 'dpor', 'random'",
        ),
        (["run", "racy.ws", "--engine", "steam"], "'steam' is not one of 'auto', 'semantics', 'reference'"),
        (
            ["run", "racy.ws", "--engine", "reference", "--max-memory", "1G"],
            "--max-memory and --reserve are for --engine native or compiled",
        ),
        (["run", "racy.ws", "--engine", "native", "--max-memory", "many"], "'many' is not a size like 512M or 2G"),
        (["run", "racy.ws", "--engine", "native", "--reserve", "1"], "a reservation limit of 1 bytes"),
        (["stress", "racy.ws", "--plain", "--yields"], "--plain and --yields exclude each other"),
        (["diff", "racy.ws", "--engines", ","], "',' is not a list of names like semantics,native"),
        (["diff", "racy.ws", "--tolerance", "nan"], "'nan' is not a number"),
        (["explore", "racy.ws", "--max-states", "0"], "--max-states"),
        (["explore", "racy.ws", "--jobs", "0"], "--jobs"),
        *(
            (["explore", "racy.ws", "--strategy", one, "--jobs", "2"], "--jobs is for --strategy auto or graph or dpor")
            for one in ("random", "pct", "bounded")
        ),
        *(
            (["explore", "racy.ws", "--strategy", one, "--scheduler", "nowhere"], "no Dask scheduler at nowhere")
            for one in ("graph", "dpor")
        ),
        (["explore", "racy.ws", "--strategy", "dpor", "--symmetry"], "--symmetry is for --strategy auto or graph"),
        (["explore", "racy.ws", "--graph", "racy.ws"], "racy.ws: not a file that graphs are written to"),
        (["explore", "racy.ws", "--graph", "good.ws/a.dot"], "good.ws/a.dot: Not a directory"),
        (["explore", "racy.ws", "--graph", "a.dot", "--jobs", "2"], "the graph is of the states of one process"),
        (["explore", "racy.ws", "--max-states", "many"], "'many' is not a valid integer"),
        (["explore", "racy.ws", "--max-seconds", "-1"], "--max-seconds"),
        (["explore", "racy.ws", "--max-seconds", "nan"], "--max-seconds"),
        (["explore", "racy.ws", "--threads", "0"], "--threads"),
        (["explore", "racy.ws", "--threads", "1.5"], "--threads"),
        (["run", "racy.ws", "-p", "nt"], "'nt' is not of the form NAME=VALUE, as in -p nt=4"),
        (["run", "racy.ws", "-p", "nt="], "'nt=' is not of the form NAME=VALUE, as in -p nt=4"),
        (["run", "racy.ws", "-p", "=4"], "'=4' is not of the form NAME=VALUE"),
        (["run", "racy.ws", "-p", "4=nt"], "'4=nt' is not of the form NAME=VALUE"),
        (["run", "racy.ws", "-i", "A"], "'A' is not of the form NAME=PATH, as in -i A=matrix.mtx"),
        (["run", "racy.ws", "-o", "c.npy"], "'c.npy' is not of the form NAME=PATH, as in -o A=matrix.mtx"),
        (["run", *GOOD, "-p", "nt=3"], "nt is given twice"),
        (["run", *GOOD, "-p", "nt=2"], "nt is given twice"),
        (["run", *GOOD, "-i", "A=B.npy"], "A is given twice"),
        (["run", *GOOD, "-p", "other=1"], "other"),
        (["run", *GOOD[:-2]], "A"),
        (["run", *GOOD[:-2], "-i", "A=none.npy"], "none.npy: no such file"),
        (["run", *GOOD[:-2], "-i", "A=text.npy"], "text.npy"),
        (["run", *GOOD[:-2], "-i", "A=racy.ws"], "racy.ws: not a file that tensors are read from"),
        (["run", "good.ws", *GOOD[3:], "-p", "nt=x"], "error["),
        (["run", *GOOD, "-o", "d=d.npy"], "no tensor d"),
        (["run", *GOOD, "-o", "c=c.txt"], "c.txt"),
        (["run", *GOOD, "-o", "c=racy.ws/c.npy"], "racy.ws/c.npy: Not a directory"),
        (["run", *GOOD, "-o", "c=text.npy"], "text.npy is there already"),
        (["replay", "racy.ws", "--race", "9"], "there is no race 9"),
        (["replay", "racy.ws", "--interleaving", ""], "which is not a task path"),
        (["replay", "racy.ws", "--interleaving", "1,,2"], "entry 2"),
        (["replay", "racy.ws", "--interleaving", "1*0"], "'1*0', which is not a task path"),
        (["replay", "racy.ws", "--interleaving", "1", "--format", "gif"], "'gif' is not one of"),
        (["replay", "racy.ws", "--interleaving", "1*99999999999999999"], "longer than"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_nonsense_is_told_on_stderr(wingspan, files, words, said):
    """Exit status 2, nothing on standard output, or the error as JSON, and no traceback."""
    plain, asked = wingspan(*words), wingspan(*words, "--json")
    for done in (plain, asked):
        assert done.status == 2 and said in done.err and "Traceback" not in done.err
    assert plain.out == ""
    mistake = asked.json["error"]
    assert all(line in plain.err for line in mistake["message"].splitlines())
    if mistake["topic"] == "usage":
        assert mistake["line"] is None
    else:
        at = f"{mistake['file']}:{mistake['line']}:{mistake['column']}"
        assert f"error[{mistake['topic']}]" in plain.err and (mistake["line"] is None or at in plain.err)
        assert mistake["fix"] is None or mistake["fix"] in plain.err


def test_a_bad_output_is_found_before_the_run(wingspan, files, monkeypatch):
    monkeypatch.setattr(api, "run", lambda *a, **k: pytest.fail("it ran"))
    for output in ("d=d.npy", "c=c.txt", "c=racy.ws/c.npy", "c=text.npy"):
        assert wingspan("run", *GOOD, "-o", output).status == 2


def test_a_place_where_a_search_cannot_be_kept_is_found_before_it(wingspan, files, monkeypatch):
    monkeypatch.setattr(api, "explore", lambda *a, **k: pytest.fail("it ran"))
    for place, said in (("good.ws/search", "Not a directory"), (".", "Is a directory")):
        done = wingspan("explore", "racy.ws", "--checkpoint", place)
        assert (done.status, done.out) == (2, "") and said in done.err


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["run", *GOOD, "--engine", "reference", "-o", "c=new/c.npy"], "new/c.npy"),
        (["explore", "racy.ws", "--graph", "new/a.dot"], "new/a.dot"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_folders_are_made_and_files_are_replaced_only_by_force(wingspan, files, words, file):
    first = wingspan(*words)
    made = Path(file).read_bytes()
    Path(file).write_bytes(b"mine")
    again = wingspan(*words)
    assert (again.status, again.out) == (2, "") and f"{file} is there already" in again.err and "--force" in again.err
    assert Path(file).read_bytes() == b"mine"
    assert wingspan(*words, "--force").status == first.status and Path(file).read_bytes() == made


# ------------------------------------------------------------------------------------------------------- printed again


def steps_of(command: str) -> list[dict]:
    done = pasted(f"{command} --json")
    assert done.stderr == ""
    return [step for step in json.loads(done.stdout)["steps"] if step["visible"]]


def test_the_command_of_a_race_ends_with_the_two_racing_steps(written):
    """The file has a name that a shell would take apart."""
    file = written(Path(RACY).read_text(), "it's a *.ws")
    done = process("explore", file, "--json").stdout
    (race,) = json.loads(done)["races"]
    see, *_ = commands(process("explore", file).stdout)
    see = see.removeprefix("python -m ")
    length = sum(int(times or 1) for times in re.findall(r"\d(?:\*(\d+))?", race["interleaving"]))
    first, second = steps_of(see)[length - 2 : length]
    for step, side in ((first, race["first"]), (second, race["second"])):
        (touch,) = step["touches"]
        assert (step["task"], step["rule"], step["line"]) == (side["task"], side["rule"], side["line"])
        assert (touch["cell"], touch["operation"]) == (race["cell"], side["operation"])
    assert first["task"] != second["task"]
    assert f"── steps {length - 1} and {length} conflict: both touch {race['cell']}" in pasted(see).stdout


def test_the_command_repeats_parameters_inputs_and_threads(wingspan, files):
    """Without them the program could not run; with 3 threads the third one races too."""
    explored = wingspan("explore", *GOOD, "-p", "extra=1", "--threads", "3")
    assert explored.status == 2  # no such parameter: nothing is dropped silently
    words = ["good.ws", "-p", "nt=2", "-p", "n=3", "-p", "sch=dynamic_schedule(1)", "-i", "A=A.npy", "--threads", "3"]
    found = commands(wingspan("explore", *words).out)
    assert found
    for command in found:
        assert shlex.split(command)[2:-2] == words
        done = pasted(command)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_the_command_of_a_result_ends_with_that_result(wingspan):
    text = wingspan("explore", RACY).out
    rows = re.findall(r"%.*?(c = \[.*?\])  differs.*\n +see +(.*)", text)
    assert rows
    for values, command in rows:
        assert pasted(command).stdout.endswith(f"  result  {values}\n")


def test_the_commands_name_the_program_as_it_was_started():
    assert all(line.startswith("python -m wingspan replay ") for line in commands(process("explore", RACY).stdout))


def test_threads_change_the_number_of_tasks(wingspan):
    assert wingspan("explore", SAFE, "--threads", "1", "--json").json["interleavings"] == 1
    assert wingspan("explore", SAFE, "--json").json["interleavings"] > 1


def test_symmetry_is_told_with_the_states(wingspan, files):
    """How far it went is told in states up to names; levels of threads are named where there is none."""
    (files / "turns.ws").write_text(TURNS, encoding="utf-8")
    full, fewer = wingspan("explore", "turns.ws", "--json").json, wingspan("explore", "turns.ws", "--symmetry").out
    told = re.search(r"complete: (\d+) states up to names of tasks, .*strategy graph, as symmetry is asked for", fewer)
    assert told is not None and 2 * int(told[1]) < full["states"]
    (files / "shards.ws").write_text(TURNS.replace("Element(0)", "Shard(t, Element(0))"), encoding="utf-8")
    apart = wingspan("explore", "shards.ws", "--symmetry").out
    assert re.search(r"symmetry +none: a level Shard of S belongs to threads by their ids\n", apart)
    assert "up to names" not in apart


TURNS = """
t = cpu(:t, 3)
S = Tensor(Element(0))
S .= 0
for i = parallel(1:3, t, dynamic_schedule(1))
    S[] += i
end
return S
"""

# ---------------------------------------------------------------------------------------------------------------- JSON


def test_explore_prints_these_keys_and_types(wingspan):
    made = wingspan("explore", RACY, "--json").json
    types = {
        "schema": int, "verdict": str, "complete": bool, "stopped_by": type(None),
        "strategy": str, "reason": str, "remark": str,
        "machine": str, "processes": int, "symmetry": bool, "told_apart": str, "left_out": list,
        "executions": int, "interleavings": int, "states": int, "steps": int, "seconds": float,
        "outcomes": int, "results": list, "races": list, "faults": list, "deadlocks": list,
    }  # fmt: skip
    assert {name: type(value) for name, value in made.items()} == types
    assert sum(result["interleavings"] for result in made["results"]) == made["interleavings"]
    assert made["outcomes"] == len(made["results"])
    shares = [result["interleavings"] for result in made["results"]]
    assert shares == sorted(shares, reverse=True)


def test_a_search_cut_short_counts_no_interleavings(wingspan):
    made = wingspan("explore", SAFE, "--max-states", "2", "--json").json
    assert (made["complete"], made["stopped_by"], made["interleavings"]) == (False, "max-states", None)


def test_replay_prints_every_step_and_the_values(wingspan):
    made = wingspan("replay", RACY, "--interleaving", "1*3,2", "--json").json
    assert sorted(made) == ["end", "incident", "message", "mismatch", "schema", "steps", "values"]
    assert [made[key] for key in ("mismatch", "end", "message", "incident")] == [None, "finished", None, None]
    assert made["values"] == {"c": [1, 0, 1, 0, 1]}
    keys = ["column", "indices", "line", "lost", "rule", "task", "touches", "visible"]
    assert all(sorted(step) == keys for step in made["steps"])
    assert [step["indices"]["i"] for step in made["steps"] if step["visible"]] == [1, 1, 2, 3, 2, 3, 4, 4]
    assert {step["task"] for step in made["steps"]} == {"0", "1", "2"}
    touch = next(step for step in made["steps"] if step["visible"])["touches"][0]
    assert touch == {
        "tensor": "c", "level": 1, "level_name": "Element", "buffer": "val", "cell": "c.val[1]",
        "operation": "read", "position": 1, "index": None, "value": 0,
    }  # fmt: skip


def test_the_text_of_a_replay_has_one_line_for_each_step_if_all_are_asked_for(wingspan):
    words = ["replay", RACY, "--interleaving", "1*3,2"]
    lines = wingspan(*words, "--all").out.splitlines()[2:]
    steps = [line for line in lines[: lines.index("")] if "──" not in line]
    made = wingspan(*words, "--json").json["steps"]
    assert len(steps) == len(made)
    for line, step in zip(steps, made, strict=True):
        assert step["rule"] in line and all(touch["cell"] in line for touch in step["touches"])
        assert line.split()[0].isdigit() == step["visible"]


@pytest.mark.parametrize(("interleaving", "status"), [("1*3,2", 0), ("-", 0), ("3", 3), ("1*99", 3), ("1*4,0,2*4", 3)])
def test_the_status_of_a_replay_says_whether_it_matched(wingspan, interleaving, status):
    """In every form; where it did not match, text and JSON say so, and so do the pictures."""
    words = ["replay", RACY, "--interleaving", interleaving]
    mismatch = wingspan(*words, "--json").json["mismatch"]
    assert (mismatch is not None) == (status == 3)
    for form in ("text", "json", "mermaid", "dot", "itf"):
        done = wingspan(*words, "--format", form)
        assert (done.status, done.err) == (status, ""), form
        assert ("mismatch" in done.out.replace('"mismatch": null', "")) == (status == 3), form
    assert wingspan(*words, "--json").out == wingspan(*words, "--format", "json").out


def test_a_replay_that_faults_before_its_interleaving_is_used_up_is_bad_and_says_both(wingspan, written):
    for text, end in ((FAULTY, "fault"), (STUCK, "deadlock")):
        done = wingspan("replay", written(text), "--interleaving", "2*7")
        assert done.status == 1
        assert f"error[{end}]" in done.out
        assert f"but the run has ended in a {end}; tasks that can step: none" in done.out


def test_forms_and_switches_of_a_replay_that_do_not_go_together(wingspan):
    words = ["replay", RACY, "--interleaving", "-"]
    for more in (["--json", "--format", "dot"], ["--json", "--all"], ["--format", "itf", "--all"]):
        done = wingspan(*words, *more)
        assert done.status == 2 and (done.json["error"]["topic"] == "usage" if "--json" in more else done.out == "")


def test_run_prints_small_tensors_and_describes_large_ones(wingspan):
    made = wingspan("run", RACY, *RULES, "--json").json
    assert sorted(made) == ["engine", "reason", "schema", "seconds", "tensors", "variables"] and made["seconds"] >= 0
    assert made["tensors"] == {"c": {"shape": [5], "format": "Dense(Element(0))", "nnz": 5, "values": [1, 0, 2, 0, 1]}}
    karate = wingspan("run", KARATE, "--engine", "reference", "--json").json["tensors"]["C"]
    assert (karate["shape"], karate["values"]) == ([34, 34], None)
    assert karate["nnz"] > 34


def test_run_chooses_an_engine_and_says_which(wingspan, written, monkeypatch):
    """C where there is much to do, the register machine otherwise, and never the rules: what is not safe is refused."""
    few, many = (written(f"x = 0\nfor i = 1:{n}\n    x = i\nend\n", f"{n}.ws") for n in (10, 100_000))
    done = wingspan("run", few)
    assert (done.out, done.err) == ("x = 10\n", "note: engine native, as compiling C would take longer than this\n")
    made = wingspan("run", many, "--json").json
    assert (made["engine"], made["variables"]) == ("compiled" if compiler() else "native", {"x": 100_000})
    assert made["reason"] == ("a loop has 100 000 iterations" if compiler() else "there is no C compiler")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert wingspan("run", many).err == "note: engine native, as there is no C compiler\n"
    mixed = written("y = true\ny = 3\n", "mixed.ws")
    assert "fix  use two variables, or run it under the rules: --engine semantics" in wingspan("run", mixed).err
    assert wingspan("run", mixed, "--engine", "native").err.endswith("fix  use two variables\n")
    refused = wingspan("run", RACY)
    assert refused.status == 2 and "--engine semantics runs it under the rules" in refused.err
    assert wingspan("run", RACY, "--unsafe").err == "note: engine native, as C is not compiled of what may be unsafe\n"


def test_the_bound_of_256_elements_is_exact(wingspan, written):
    for n, listed in ((16, True), (17, False)):
        text = f"c = Tensor(Dense(Dense(Element(0))), {n}, 16)\nc .= 0\nreturn c\n"
        values = wingspan("run", written(text), "--json").json["tensors"]["c"]["values"]
        assert (values is not None) == listed
        assert not listed or np.shape(values) == (16, 16)


def test_matrices_are_printed_row_by_row(wingspan, written):
    file = written("A = Tensor(Dense(SparseList(Element(0.5))), [1.0 2.5; 3.0 0.5])\nreturn A\n")
    assert wingspan("run", file, "--json").json["tensors"]["A"]["values"] == [[1.0, 2.5], [3.0, 0.5]]
    assert "A = [1.0 2.5; 3.0 0.5]" in wingspan("explore", file).out


def test_variables_are_results_too(wingspan, written):
    file = written("x = 1 + 2\ny = x / 4\n")
    assert wingspan("run", file).out == "x = 3\ny = 0.75\n"
    assert wingspan("run", file, "--json").json["variables"] == {"x": 3, "y": 0.75}


def keys(value: object) -> Iterator[str]:
    """The keys of the objects in a value, without those that name tensors and variables."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from keys(
                list(below.values()) if key in ("values", "tensors", "variables", "indices") and below else below
            )
    elif isinstance(value, list):
        for below in value:
            yield from keys(below)


def test_every_key_is_documented(wingspan, written):
    """docs/json.md names each key that some verb prints."""
    lines = (ROOT / "docs" / "json.md").read_text().splitlines()
    named = {name for line in lines for name in re.findall(r"`(?:[a-z_.[\]]+\.)?([a-z_]+)`", line)}
    replayed = ["replay", RACY, "--interleaving", "-"]
    bad = [["explore", written(text, name)] for name, text in (("faulty.ws", FAULTY), ("stuck.ws", STUCK))]
    for words in (["explore", RACY], *bad, replayed, ["run", KARATE], ["fmt", RACY]):
        assert set(keys(wingspan(*words, "--json").json)) <= named


# ---------------------------------------------------------------------------------------------------------- run, fmt


@pytest.mark.parametrize("suffix", ["npy", "npz", "mtx"])
def test_what_is_written_can_be_read_again(wingspan, written, tmp_path, suffix):
    matrix = "A = Tensor(Dense(SparseList(Element(0.0))), [0.0 2.5; 3.0 0.0])\nreturn A\n"
    out = str(tmp_path / f"A.{suffix}")
    assert wingspan("run", written(matrix), "-o", f"A={out}").status == 0
    again = written(f'A = Tensor(Dense(SparseList(Element(0.0))), "{out}")\nreturn A\n', "again.ws")
    assert wingspan("run", again, "--json").json["tensors"]["A"]["values"] == [[0.0, 2.5], [3.0, 0.0]]


def test_run_draws_the_tensor(wingspan):
    drawn = str(api.run(SAFE, engine="semantics").tensors["c"])
    assert wingspan("run", SAFE).out == f"c = {drawn}\n"


def test_a_long_drawing_is_cut_and_says_so(wingspan):
    lines = wingspan("run", KARATE, "--engine", "reference").out.splitlines()
    assert len(lines) == 41 and re.fullmatch(r"… \d+ more lines", lines[-1])


def test_engines_agree_on_a_safe_program(wingspan):
    results = [wingspan("run", SAFE, "--engine", engine, "--json").json for engine in ("semantics", "reference")]
    assert results[0]["tensors"] == results[1]["tensors"]


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


# -------------------------------------------------------------------------------------------- streams and interruptions


def test_streams_are_kept_apart():
    """The result on standard output, errors on standard error, and no escape sequences in either."""
    good, bad = process("explore", RACY), process("explore", "none.ws")
    assert good.stderr == "" and good.stdout.startswith("race  ")
    assert bad.stdout == "" and bad.stderr.startswith("error[input]: none.ws")
    assert "\x1b" not in good.stdout + bad.stderr


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process("replay", RACY, "--interleaving", "-", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        done = process("explore", SAFE, stdout=full)
    assert (done.returncode, done.stderr) == (2, "error[input]: standard output: No space left on device\n")


def test_a_closed_output_is_an_error():
    command = shlex.join([sys.executable, "-m", "wingspan", "explore", SAFE])
    done = subprocess.run(f"{command} >&-", shell=True, capture_output=True, encoding="utf-8", cwd=ROOT, timeout=60)
    assert (done.returncode, done.stderr) == (2, "error[input]: standard output is closed\n")


def test_a_stream_without_unicode_loses_only_characters():
    """Lines of drawings have signs of their own there; what has none is a question mark."""
    done = process("explore", RACY, env={"PYTHONIOENCODING": "ascii"})
    plain = process("explore", RACY, env={"PYTHONIOENCODING": "utf-8"})
    assert (done.returncode, done.stderr) == (1, "")
    timeless = [re.sub(r"in [\d.]+ s", "", text) for text in (done.stdout, plain.stdout)]
    assert len(timeless[0]) == len(timeless[1])
    assert all(a == b for a, b in zip(*timeless, strict=True) if b.isascii())


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


def test_doubles_that_are_not_finite_are_text_in_json(wingspan, tmp_path):
    """An engine that rounds computes them from finite ones; JSON has no numbers for them."""
    path = tmp_path / "beyond.ws"
    path.write_text(
        "a = Tensor(Dense(Element(0.0)), [1e300])\nc = Scalar(0.0)\nd = Scalar(0.0)\nc .= 0\nd .= 0\n"
        "c[] = a[1] * a[1] - a[1] * a[1]\nd[] = a[1] * a[1]\nreturn c, d"
    )
    found = wingspan("run", str(path), "--engine", "native", "--json").json
    assert {name: tensor["values"] for name, tensor in found["tensors"].items()} == {"c": "NaN", "d": "Inf"}
    raced = wingspan("stress", str(path), "--runs", "3", "--json").json
    assert len([end for end in raced["observed"] if end["runs"]]) == 1


# ------------------------------------------------------------------------------------------ completion, and the version


def completed(incomplete: str, *words: str) -> list[tuple[str, str]]:
    """What Tab makes of a word behind others: its kind (`file`: the shell looks for files) and its text."""
    shell = BashComplete(cli.main, {}, "wingspan", "_WINGSPAN_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(list(words), incomplete)]


@pytest.mark.parametrize("words", [
    ("check",), ("fmt",), ("explore", "p.ws", "--checkpoint"), ("explore", "p.ws", "--resume"),
    ("explore", "p.ws", "--graph"), ("emit-c", "p.ws", "-o"),
])  # fmt: skip
def test_tab_completes_files(words):
    assert completed("ex", *words) == [("file", "ex")]


@pytest.mark.parametrize("option", ["-i", "-o"])
def test_tab_completes_the_path_behind_a_name(tmp_path, monkeypatch, option):
    """Files of tensors and folders; the only folder is entered, and what is hidden is asked for by its point."""
    for path in ("deep/deeper/a.mtx", "deep/deeper/b.npy", "deep/deeper/c.txt", "other.npz", ".hidden.npy", "empty/"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).mkdir() if path.endswith("/") else (tmp_path / path).touch()
    monkeypatch.chdir(tmp_path)
    for start, expected in {
        "A=": ["A=deep/", "A=empty/", "A=other.npz"],
        "A=d": ["A=deep/deeper/a.mtx", "A=deep/deeper/b.npy"],
        "A=deep/deeper/b": ["A=deep/deeper/b.npy"],
        "A=e": ["A=empty/"],
        "A=.": ["A=.hidden.npy"],
        f"A={tmp_path}/o": [f"A={tmp_path}/other.npz"],
        "A=nowhere/x": [],
        "A": [],
    }.items():
        assert [value for _, value in completed(start, "run", "p.ws", option)] == expected, start


def test_the_version_is_that_of_the_package(wingspan):
    assert wingspan("--version").out == f"wingspan {version('wingspan')}\n"


@pytest.mark.parametrize(("engine", "slow"), [("semantics", True), ("native-controlled", True), ("native", False)])
def test_a_long_run_of_one_access_at_a_time_says_what_is_faster(command, written, monkeypatch, engine, slow):
    """Once, on standard error: during a run of many steps, and before one on large inputs."""
    monkeypatch.setattr(progress, "MANY", 1024)
    steps = written("c = Tensor(Element(0))\nc .= 0\nfor i = 1:3000; c[] += i; end\nreturn c\n")
    done = command("run", steps, "--engine", engine)
    assert done.out == "c = Element(0): 4501500\n"
    said = "note: 1 024 steps so far, one for each access to memory; --engine native takes seconds for many millions\n"
    assert done.err == (said if slow else "")
    data = written(f"A = Tensor(Dense(Element(0)), [{', '.join('1' * 1024)}])\nx = A[1]\n")
    told = command("run", data, "--engine", engine).err.startswith("note: the inputs store 1 024 elements")
    assert told == (engine == "native-controlled")


def test_a_long_run_under_the_rules_says_before_it_starts_how_many_steps_it_takes(command, written, monkeypatch):
    """Once, on standard error, and not of a run that is short, however much its inputs store."""
    monkeypatch.setattr(progress, "MANY", 1024)
    steps = written("c = Tensor(Element(0))\nc .= 0\nfor i = 1:12000; c[] += i; end\nreturn c\n")
    done = command("run", steps, "--engine", "semantics")
    assert done.out == "c = Element(0): 72006000\n"
    assert done.err == "note: about 200 000 steps of the rules, 4 seconds or so; engine native takes seconds at most\n"
    short = written(f"A = Tensor(Dense(Element(0)), [{', '.join('1' * 1024)}])\nx = A[1]\n")
    assert command("run", short, "--engine", "semantics").err == ""


# ---------------------------------------------------------------------------------------------------------------- plans


def test_the_passes_over_a_plan_are_told(wingspan) -> None:
    """In their order, each with what it does; the plan that is printed is the one before those for C."""
    program = str(ROOT / "examples" / "karate.ws")
    names = ["draft", *(change.__name__ for change in (*PASSES, *FOR_C))]
    status, out, _ = wingspan("plan", program, "--passes")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == names
    told = json.loads(wingspan("plan", program, "--passes", "--json")[1])["passes"]
    assert [stage["name"] for stage in told] == names and all(stage["about"] and stage["statements"] for stage in told)
    last = PASSES[-1].__name__
    before, after = (wingspan("plan", program, "--after", name)[1] for name in ("draft", last))
    assert after == wingspan("plan", program)[1] != before
    assert json.loads(wingspan("plan", program, "--after", last, "--json")[1]) == {
        "schema": 1, "plan": after.removesuffix("\n"),
    }  # fmt: skip


def test_a_pass_that_there_is_not_is_told(wingspan) -> None:
    status, out, said = wingspan("plan", str(ROOT / "examples" / "karate.ws"), "--after", "sorted")
    assert (status, out) == (2, "") and "there is no pass sorted" in said and "use draft, rotate, " in said


def test_all_mistakes_of_a_program_are_told_as_json(wingspan, written):
    file = written("c = Tensor(Dense(Element(0)), 2)\nd .= 0\ne .= 0\n")
    done = wingspan("explore", file, "--json")
    told = [done.json["error"], *done.json["others"]]
    assert len(told) > 1 and [m["line"] for m in told] == sorted(m["line"] for m in told)
    assert all(
        f"error[{m['topic']}]: {m['message']}\n  {m['file']}:{m['line']}:{m['column']}" in done.err for m in told
    )


def test_what_makes_a_run_unsafe_and_how_it_ends_is_told_as_json(wingspan, written):
    racy = wingspan("run", RACY, "--engine", "native", "--json")
    assert racy.status == 2 and racy.json["error"]["topic"] == "unsafe" and racy.json["error"]["line"] == 6
    fault = wingspan("run", written("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nc[1] += 1 / 0\n"), "--json")
    assert fault.status == 1 and fault.json["error"]["line"] == 3


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


def test_the_first_output_shows_the_lost_update_step_by_step(wingspan):
    """As `replay` numbers and words its steps; and 40 rows of 80 columns hold all of it."""
    lines = wingspan("explore", str(EXAMPLES / "dependent.ws")).out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("run "))
    told = re.fullmatch(r"run (\S+) ends with c = \[1, 0, 1, 0, 1\]", lines[start])
    assert told is not None
    replayed = wingspan("replay", str(EXAMPLES / "dependent.ws"), "--interleaving", told[1]).out.splitlines()
    shown = lines[start + 1 : lines.index("", start)]
    lost = next(line for line in replayed if "overwrites" in line)
    assert shown[-1] == lost
    touches = [line.partition("Assign  ")[2].partition("  ")[0] for line in replayed if "Assign  " in line]
    assert [number for number, line in enumerate(shown[:-1]) if touches[number] in line] == list(range(len(touches)))
    assert sum(max(1, -(-len(line) // 80)) for line in lines) <= 40
    assert all(len(line) <= 80 for line in shown)
