"""`--small`: what is left open is drawn within a scope, the same by the same seed, and every example explores so."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES
from wingspan import PAIR, api, testing
from wingspan.api.small import draw, read_scope
from wingspan.base.errors import InputError
from wingspan.testing import kernels

OPEN = ("floyd_warshall", "gauss_seidel", "hadamard", "histogram", "inner_nested", "jacobi", "mttkrp_dense",
        "mttkrp_rows", "mttkrp_sparse", "mttkrp_sparse_rows", "prefix_sum", "spadd", "spgemm_gustavson",
        "spgemm_inner", "spgemm_nested", "spgemm_outer", "spmspv", "stencil", "stencil_2d",
        "structured_add")  # fmt: skip
SPADD = str(EXAMPLES / "spadd.ws")


@pytest.mark.parametrize("name", few(OPEN, 8))
def test_every_example_with_something_open_explores_as_it_is(command, name: str) -> None:
    """Completely, in some seconds, as safe, and with inputs that store something; the command says which."""
    done = command("explore", str(EXAMPLES / f"{name}.ws"), "--small", "--json")
    assert done.status == 0 and done.json["verdict"] == "safe" and done.json["complete"]
    drawn = draw(api.load(EXAMPLES / f"{name}.ws"))
    for tensor, array in drawn.inputs.items():
        assert array.any() and max(array.shape) <= 2
        assert f"  {tensor} = " in done.err
    assert max(map(len, done.err.replace(str(EXAMPLES), "examples").splitlines())) <= 80


def test_these_are_all_examples_that_leave_something_open() -> None:
    files = {path.stem: api.bind(path, symbolic=True) for path in sorted(EXAMPLES.glob("*.ws"))}
    assert tuple(name for name, bound in files.items() if bound.symbols) == OPEN


@settings(max_examples=max(12, many(100)))
@given(st.data())
def test_kernels_get_inputs_that_fit_and_the_same_again(data) -> None:
    program = api.parse(data.draw(kernels()))
    scope, seed = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 3))
    try:
        drawn = draw(program, scope, seed)
    except InputError:
        return
    again = draw(program, scope, seed)
    assert drawn.inputs.keys() == again.inputs.keys() == set(api.bind(program, symbolic=True).open)
    assert all(np.array_equal(array, again.inputs[name]) for name, array in drawn.inputs.items())
    assert all(max(array.shape, default=1) <= scope for array in drawn.inputs.values())
    bound = api.bind(program, inputs=drawn.inputs, params=drawn.params, threads=scope)
    api.run(bound, engine="reference")


def test_other_seeds_and_scopes_draw_other_inputs() -> None:
    program = api.load(SPADD)
    drawn = {str(draw(program, scope, seed).inputs) for scope in (1, 2) for seed in range(8)}
    assert len(drawn) > 8


def test_what_is_given_is_not_drawn(command) -> None:
    done = command("explore", SPADD, "--small", "-p", "nt=1", "-p", "sch=static_schedule()", "--threads", "1")
    assert "for 1 thread on every device" in done.err and "nt" not in done.err.partition("\n")[2].partition("wing")[0]
    assert "the only interleaving gives the sequential result" in done.out


def test_the_commands_that_are_printed_draw_the_same_again(command, written) -> None:
    """The commands of the drawing, and of findings; spadd without its Shard races."""
    text = (
        (EXAMPLES / "spadd.ws").read_text().replace("Shard(dev, SparseList(Element(0.0)))", "SparseList(Element(0.0))")
    )
    found = command("explore", written(text), "--small", "2:1")
    assert found.status == 1
    (again,) = re.findall(r"^  wingspan (.*)$", found.err, re.MULTILINE)
    assert command(*shlex.split(again)).err == found.err
    see = re.search(r"^ +see +wingspan (replay .*--small 2:1.*)$", found.out, re.MULTILINE)
    assert see is not None
    replayed = command(*shlex.split(see[1]))
    assert (
        replayed.err == found.err.replace("wingspan explore", "wingspan replay")
        and "replay  " in replayed.out
        and "mismatch" not in replayed.out
    )


LEAST = """dev = cpu(:t, 2)
A = Tensor({})
m = Scalar((Inf, 0))
m .= (Inf, 0)
for i = parallel(_, dev)
    m[] <<minby>>= A[i]
end
return m
"""


@pytest.mark.parametrize("form", ["SparseList(Element((Inf, 0)))", "Dense(Element((0.0, 0)))"])
def test_pairs_are_drawn_too(command, written, form: str) -> None:
    """One at least is stored; the command that is printed takes what was drawn."""
    drawn = draw(api.parse(LEAST.format(form))).inputs["A"]
    assert drawn.dtype == PAIR and {0.0, 0.5, 1.0} & {*drawn["first"].tolist()} and {*drawn["second"].tolist()} & {1, 2}
    found = command("explore", written(LEAST.format(form)), "--small")
    assert found.status == 1 and f"A = {drawn.tolist()}" in found.err and "1 race" in found.out


@pytest.mark.parametrize(
    "form", few(["SparseList(Element((Inf, 0)))", "Dense(Element((0.0, 0)))", "SparsePoint(Element((Inf, 0)))"], 1)
)
def test_campaigns_draw_pairs_too(form: str) -> None:
    text = LEAST.format(form).replace("parallel(_, dev)", "_")
    tally = testing.campaign(["reference"], ["semantics", "native"], examples=2, programs=st.just(text))
    assert tally.cases > 1 and tally.runs == 3 * tally.cases


def test_campaigns_draw_what_fits_an_infinite_fill_value() -> None:
    text = LEAST.format("SparseInterval(Element(Inf))").replace("parallel(_, dev)", "_").replace("(Inf, 0)", "Inf")
    text = text.replace("minby", "min")
    assert testing.campaign(["reference"], ["semantics"], examples=2, programs=st.just(text)).cases > 1


@pytest.mark.parametrize("verb", ["explore", "diff", "check"])
def test_the_command_that_draws_again_is_that_of_the_verb(command, verb: str) -> None:
    done = command(verb, SPADD, "--small", "2:1")
    again = next(line for line in done.err.splitlines() if SPADD in line)
    assert again.split()[-4:] == [verb, SPADD, "--small", "2:1"]


def test_a_program_that_leaves_nothing_open_says_so(command) -> None:
    done = command("explore", str(EXAMPLES / "dependent_atomic.ws"), "--small")
    assert done.status == 0 and "nothing: the program leaves nothing open" in done.err


@pytest.mark.parametrize("scope", ["0", "x", "2:", "2:-1", "100", "1.5"])
def test_a_bad_scope_says_what_is_one(command, scope: str) -> None:
    done = command("explore", SPADD, f"--small={scope}")
    assert done.status == 2 and "is not a scope from 1 to 99" in done.err


def test_if_nothing_fits_it_says_why() -> None:
    text = "c = Tensor(Dense(Element(0)), 1)\nc .= 0\nx = 1\nx = A[1]\nfor i = 1:x\n    c[i] += 1\nend\n"
    program = api.parse(text)
    with pytest.raises(InputError, match="no inputs within the scope 2 fit this program: an integer is needed"):
        draw(program)


@pytest.mark.parametrize("small", [2, "2", "2:3", 1])
def test_in_python_small_draws_the_same(small: int | str) -> None:
    """Values that are given besides are kept."""
    params = {"nt": 3}
    scope, seed = read_scope(small)
    drawn = draw(api.load(SPADD), scope, seed, params=params)
    bound = api.bind(SPADD, small=small, params=params)
    assert drawn.inputs.keys() == bound.inputs.keys() == {"A", "B"}
    assert all(np.array_equal(drawn.inputs[name], tensor.to_numpy()) for name, tensor in bound.inputs.items())
    assert {device.nthreads for device in bound.devices.values()} == {scope}


def test_every_verb_that_runs_a_program_takes_small() -> None:
    assert api.explore(SPADD, small=2).verdict.verdict == "safe"
    assert api.run(SPADD, small=2, engine="reference").tensors["C"].to_numpy().any()
    assert api.diff(SPADD, small=2, engines=["semantics", "reference"]).difference is None
    assert api.replay(SPADD, "-", small=2).program.inputs.keys() == {"A", "B"}
    assert "C" in api.plan(SPADD, small=2)


@pytest.mark.parametrize("small", [0, -1, 1.5, True, "2:", ""])
def test_a_bad_scope_in_python_says_what_is_one(small: Any) -> None:
    with pytest.raises(InputError, match="is not a scope from 1 to 99"):
        api.explore(SPADD, small=small)
