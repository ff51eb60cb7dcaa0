"""Updates by functions in parallel loops: what the test says of each declaration and modifier, and what comes of it."""

from __future__ import annotations

import pytest

from proofs_tests.dependence.programs import report, topics
from proofs_tests.effort import few
from proofs_tests.exploring import explored
from wingspan import api
from wingspan.testing import compare

DECLARED = {
    "f": "function f(x, y; associative, commutative, identity = 0) = x + y + x * y",
    "larger": "function larger(x, y; associative, commutative, idempotent) = max(x, y)",
    "keep": "function keep(x, y; associative, idempotent) = x + 0 * y",
    "twice": "function twice(x, y) = 2 * x - y",
    "undeclared": "function undeclared(x, y) = x + y",
    "joined": "function joined(x, y; commutative) = x * y + 1",
    "choose(0)": "",
}

SAID = {
    ("f", "Element"): ("unsafe", "race"), ("f", "Atomic"): ("safe", "safe"), ("f", "Mutex"): ("safe", "safe"),
    ("f", "Merge"): ("safe", "safe"), ("f", "Shard"): ("unsafe", "fault"), ("f", "Isolate"): ("unsafe", "fault"),
    ("larger", "Atomic"): ("safe", "safe"), ("larger", "Merge"): ("safe", "safe"),
    ("keep", "Element"): ("unsafe", "race"), ("keep", "Atomic"): ("order-dependent", "safe"),
    ("keep", "Merge"): ("order-dependent", "safe"),
    ("twice", "Atomic"): ("order-dependent", "order-dependent"),
    ("twice", "Mutex"): ("order-dependent", "order-dependent"), ("twice", "Merge"): ("order-dependent", "wrong"),
    ("joined", "Atomic"): ("order-dependent", "order-dependent"),
    ("joined", "Mutex"): ("order-dependent", "order-dependent"),
    ("undeclared", "Atomic"): ("order-dependent", "safe"), ("undeclared", "Merge"): ("order-dependent", "safe"),
    ("choose(0)", "Atomic"): ("order-dependent", "order-dependent"),
    ("choose(0)", "Mutex"): ("order-dependent", "order-dependent"),
    ("choose(0)", "Merge"): ("order-dependent", "safe"), ("choose(0)", "Isolate"): ("unsafe", "fault"),
}  # fmt: skip
"""The verdicts of `check` and `explore` on two tasks that update one element. `choose(0)` under Merge keeps the
value of the first thread, which is the sequential result of a static loop, but no test is that exact."""


def program(op: str, level: str, leaf: str = "Element(0)", init: str = "0") -> str:
    """Two tasks update one element by a function."""
    form = {"Element": leaf, "Atomic": "Atomic(0)", "Mutex": f"Mutex({leaf})", "Isolate": f"Isolate({leaf})"}.get(
        level, f"{level}(d, {leaf})"
    )
    return f"""
    {DECLARED[op]}
    d = cpu(:d, 2)
    A = Tensor(Dense(Element(0)), [2, 3])
    T = Tensor(Dense({form}), 2)
    T .= {init}
    for i = parallel(1:2, d)
        T[1] <<{op}>>= A[i]
    end
    return T
    """


@pytest.mark.parametrize(("op", "level"), SAID)
def test_what_is_declared_decides_whether_tasks_may_update_one_element(op: str, level: str) -> None:
    text = program(op, level)
    assert (report(text).verdict, explored(text).verdict.verdict) == SAID[op, level]


@pytest.mark.parametrize(("op", "level"), few([key for key, (_, ends) in SAID.items() if ends == "safe"], 3))
def test_functions_compute_the_same_in_every_engine(op: str, level: str) -> None:
    names = ("semantics", "reference", "native", "native-controlled", "compiled")
    engines = [api.engine(name) for name in names]
    done = compare(api.bind(api.parse(program(op, level))), engines)
    assert done.difference is None, done
    assert len(done.endings) == len(names)
    assert {ending.fault for ending in done.endings} == {None}


def test_a_function_that_is_not_declared_to_commute_is_named_as_the_reason() -> None:
    (found,) = report(program("twice", "Atomic")).findings
    assert found.topic == "order-dependence"
    assert found.reason == "tasks update one element of T by twice, and the order matters to it"


MERGED = {
    ("f", "0", "1"): None,
    ("f", "1", "1"): "copies of T start from 1, and f does not leave it out of the result",
    ("larger", "5", "1"): None,
    ("keep", "0", "1"): "copies of T start from 0, and keep does not leave it out of the result",
    ("twice", "0", "i"): "copies of T are merged by twice, which is not declared associative",
    ("choose(0)", "0", "i"): None,
    ("choose(0)", "0", "1"): "two threads update an element of T, and the order matters to choose(0)",
}


@pytest.mark.parametrize(("op", "init", "at"), MERGED)
def test_copies_are_merged_by_a_function_that_allows_it(op: str, init: str, at: str) -> None:
    """An associative one, which leaves out what copies start from, and commutes if two threads update an element."""
    text = program(op, "Merge", init=init).replace("T[1]", f"T[{at}]")
    reason = MERGED[op, init, at]
    found = report(text).findings
    assert [(f.topic, f.reason) for f in found if f.topic == "merge"] == ([] if reason is None else [("merge", reason)])
    if reason is None:
        assert topics(text) == []
        assert explored(text).verdict.verdict == "safe"


def test_copies_that_start_from_what_is_no_identity_are_wrong() -> None:
    """f(1, 2) = 5 and f(1, 3) = 7 make f(5, 7) = 47 of copies, and one after the other 5 and f(5, 3) = 23."""
    (outcome,) = explored(program("f", "Merge", init="1")).verdict.results
    assert explored(program("f", "Merge", init="1")).verdict.verdict == "wrong"
    assert "47" in str(outcome.outcome.values())


def test_copies_start_from_the_identity_as_their_cells_hold_it() -> None:
    """f32 rounds 2**24 + 1 to 2**24, which takes 1 from what it is merged with."""
    text = """
    function above(x, y; associative, commutative, identity = 16777217) = x + y - 16777217
    d = cpu(:d, 2)
    A = Tensor(Dense(Element(0.0)), [5.0, 7.0])
    T = Tensor(Dense(Merge(d, Element(0.0, f32))), 2)
    T .= 16777217
    for i = parallel(1:2, d)
        T[i] <<above>>= A[i]
    end
    return T
    """
    (found,) = report(text).findings
    assert found.reason == "copies of T start from 16777216.0, and above does not leave it out of the result"
    assert explored(text).verdict.verdict == "wrong"
    assert topics(text.replace(", f32", "")) == []
    assert explored(text.replace(", f32", "")).verdict.verdict == "safe"
