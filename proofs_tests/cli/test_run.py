"""`wingspan run`: which engine it takes, what it prints of tensors, and what it writes can be read again."""

from __future__ import annotations

import re

import numpy as np
import pytest

from proofs_tests.cli.typed import RACY, RULES, SAFE
from wingspan import api
from wingspan.compiled.build import compiler
from wingspan.views import progress

LARGE = """
C = Tensor(Dense(SparseList(Element(0))), 20, 20)
C .= 0
for j = 2:20; for i = 1:20; C[i, j] = i; end; end
return C
"""


def test_run_prints_small_tensors_and_describes_large_ones(wingspan, written):
    made = wingspan("run", RACY, *RULES, "--json").json
    assert sorted(made) == ["engine", "reason", "schema", "seconds", "tensors", "variables"] and made["seconds"] >= 0
    assert made["tensors"] == {"c": {"shape": [5], "format": "Dense(Element(0))", "nnz": 5, "values": [1, 0, 2, 0, 1]}}
    large = wingspan("run", written(LARGE), "--json").json["tensors"]["C"]
    assert (large["shape"], large["values"], large["nnz"]) == ([20, 20], None, 380)


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


def test_a_long_drawing_is_cut_and_says_so(wingspan, written):
    lines = wingspan("run", written(LARGE)).out.splitlines()
    assert len(lines) == 41 and re.fullmatch(r"… \d+ more lines", lines[-1])


def test_engines_agree_on_a_safe_program(wingspan):
    results = [wingspan("run", SAFE, "--engine", engine, "--json").json for engine in ("semantics", "reference")]
    assert results[0]["tensors"] == results[1]["tensors"]


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
