"""Words of the command that make no sense are refused by one message, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests.cli.typed import GOOD
from wingspan import api


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
        (["explore", "racy.ws", "--strategy", "graph", "--scheduler", "nowhere"], "no Dask scheduler at nowhere"),
        pytest.param(
            ["explore", "racy.ws", "--strategy", "dpor", "--scheduler", "nowhere"],
            "no Dask scheduler at nowhere",
            marks=pytest.mark.deep,
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
