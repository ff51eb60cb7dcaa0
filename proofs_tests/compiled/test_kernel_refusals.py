"""Inputs, options and programs that do not fit a kernel are refused clearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.kernels import NT, SMALL
from proofs_tests.places import EXAMPLES
from wingspan import Fault, InputError, ProgramError, Tensor, Unsafe, WingspanError, api
from wingspan.api.calls import KEPT

pytestmark = needs_compiler


SPADD = EXAMPLES / "spadd.ws"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"A": np.ones((2, 2))}, r"needs B"),
        ({"A": np.ones((2, 2)), "B": np.ones((2, 2)), "X": 1}, r"takes no input X"),
        (
            {"A": np.ones((2, 2)), "B": np.ones((2, 3))},
            r"axis 2 of B has extent 3, and axis 2 of A has 2: one loop",
        ),
        ({"A": np.ones((2, 2)), "B": np.ones(2)}, r"B has 2 axes, the input 1"),
        ({"A": np.ones((2, 2)), "B": [["x", "y"]]}, r"B: the input has <U1 elements"),
        ({"A": np.ones((2, 2)), "B": np.full((2, 2), 1j)}, r"B: the input has complex128 elements"),
    ],
)
def test_inputs_that_do_not_fit_are_one_clear_error(given: dict[str, Any], message: str) -> None:
    kernel = wingspan.compile(SPADD, params=NT, engine="native")
    with pytest.raises(InputError, match=message):
        kernel(**given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"params": {}}, r"nt and sch have no value"),
        ({"params": {**NT, "x": 1}}, r"the program has no parameter x"),
        ({"params": NT, "engine": "semantics"}, r"there is no engine semantics for kernels"),
        ({"params": NT, "inputs": {"Q": "int"}}, r"has no open input Q"),
        ({"params": NT, "inputs": {"C": "int"}}, r"has no open input C"),
        ({"params": NT, "inputs": {"A": "Dense(Nonsense)"}}, r"Dense takes one format"),
        ({"params": NT, "inputs": {"A": np.array(["a"])}}, r"A: <U1 elements"),
        ({"params": NT, "inputs": {"A": [[1, 2], [3]]}}, r"A: the example is no array"),
    ],
)
def test_options_that_do_not_fit_are_one_clear_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WingspanError, match=message):
        wingspan.compile(SPADD, **options)


def test_a_program_that_is_not_safe_is_refused() -> None:
    with pytest.raises(Unsafe):
        wingspan.compile(api.parse(SMALL % "Element(0)"))


def test_formats_kinds_and_examples_say_what_the_inputs_are_like() -> None:
    dense = wingspan.compile(SPADD, params=NT, inputs={"A": "Dense(Dense(Element(0.0)))"}, engine="native")
    assert dense.inputs == {"A": "Dense(Dense(Element(0.0)))", "B": "Dense(SparseList(Element(0.0)))"}
    example = Tensor.from_numpy("Dense(SparseByteMap(Element(0.0)))", np.ones((2, 3)))
    by_example = wingspan.compile(SPADD, params=NT, inputs={"A": example, "B": np.ones((2, 2), int)}, engine="native")
    assert by_example.inputs == {"A": "Dense(SparseByteMap(Element(0.0)))", "B": "Dense(SparseList(Element(0)))"}
    for kernel in (dense, by_example):
        assert np.array_equal(kernel(A=np.eye(3), B=np.ones((3, 3), int)).to_numpy(), np.eye(3) + 1)


def test_without_a_compiler_the_register_machine_runs_it_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match="there is no C compiler: the register machine runs this"):
        kernel = wingspan.compile(SPADD, params=NT)
    assert kernel.engine == "native" and "native, for all extents" in repr(kernel)
    assert np.array_equal(kernel(A=np.eye(3), B=np.eye(3)).to_numpy(), 2 * np.eye(3))
    with pytest.raises(InputError, match="there is no C"):
        _ = kernel.source


def test_what_depends_on_extents_gets_a_plan_for_each() -> None:
    """The extent of C is that of a subscript of v's index, at most."""
    text = "v = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = 1:3\n    C[2 * i] += v[i]\nend\nreturn C"), engine="native")
    for n in (3, 3, 4, 3):
        assert kernel(v=np.arange(1, n + 1)).to_numpy().tolist() == [0, 1, 0, 2, 0, 3]


@pytest.mark.parametrize("engine", ["compiled", "native"])
@pytest.mark.parametrize("form", ["Dense(Element(0))", "SparseList(Element(0))"])
def test_a_loop_may_pass_the_end_of_an_open_axis(form: str, engine: str) -> None:
    """It ends there in the fault that it ends in under the rules; a longer axis and an equal one are read."""
    text = f"v = Tensor({form})\nc = Tensor(Dense(Element(0)), 5)\nc .= 0\n"
    text += "for i = 1:5\n    c[i] += v[i]\nend\nreturn c"
    kernel = wingspan.compile(api.parse(text), engine=engine)
    assert "for all extents" in repr(kernel)
    for n in (5, 7):
        assert kernel(v=np.arange(1, n + 1)).to_numpy().tolist() == [1, 2, 3, 4, 5]
    for n in (0, 3):
        told = []
        for run in (lambda v: kernel(v=v), lambda v: api.run(api.parse(text), inputs={"v": v}, engine="semantics")):
            with pytest.raises(Fault) as raised:
                run(np.arange(1, n + 1))
            told.append(raised.value.message)
        assert told[0] == told[1] == f"v has the indices 1:{n} on axis 1, got {n + 1}"


def test_extents_that_no_input_has_are_found_call_by_call() -> None:
    """Also if they are many: what is made for some of them is forgotten."""
    text = "v = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    C[2 * i] += v[i]\nend\nreturn C"), engine="native")
    assert "for the extents of each call" in repr(kernel)
    with pytest.raises(InputError, match="the plan depends on the extents"):
        _ = kernel.plan
    for n in (1, 3, *range(few_extents := 70), 3):
        assert kernel(v=np.ones(n, int)).to_numpy().tolist() == [0, 1] * n
    assert len(kernel._calls) <= KEPT < few_extents


def test_formats_may_name_devices() -> None:
    sharded = {"A": "Dense(Shard(dev, SparseList(Element(0.0))))"}
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, inputs=sharded, engine="native")
    assert np.array_equal(kernel(A=np.eye(3), B=np.eye(3)).to_numpy(), 2 * np.eye(3))


def test_rounding_up_makes_nothing_too_large() -> None:
    """Positions are numbered up to 2⁶²: so many there are for these extents, and more for the next powers of two."""
    text = "A = Tensor(Dense(Dense(SparseList(Element(0.0)))))\ns = Scalar(0.0)\ns .= 0.0\n"
    loops = "for k = _\n    for j = _\n        for i = _\n            s[] += A[i, j, k]\n"
    kernel = wingspan.compile(api.parse(text + loops + "        end\n    end\nend\nreturn s"), engine="native")
    assert float(np.asarray(kernel(A=np.ones((3, 1, 1))))) == 3.0
    n = 2**20 + 1
    assert kernel._sizes({name: n for name, _ in kernel.plan.parameters})


@pytest.mark.parametrize("e", ["A[i] & 3", "A[i] +% -3"])
def test_an_input_has_the_kind_that_is_given_before_the_program_is_judged(e):
    """By default it would hold doubles, which operators of integers do not take."""
    text = f"C = Tensor(Dense(Element(0)))\nC .= 0\nfor i = _\nC[i] = {e}\nend\nreturn C"
    kernel = api.compile(api.parse(text), inputs={"A": "int"}, engine="native")
    assert kernel(A=np.array([5, 2])).to_numpy().tolist() == ([1, 2] if "&" in e else [2, -1])
    with pytest.raises(ProgramError, match=r"an integer is needed here, and A\[i\] is a double"):
        api.compile(api.parse(text), engine="native")
