"""Functions in plans: argument by argument, as often as runs repeat them, and in one step where that is promised."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from proofs_tests.agreeing import engines_for
from proofs_tests.exploring import explored, outcomes
from wingspan import api
from wingspan.plan.ir import Swap, While, walk
from wingspan.plan.pipeline import lower
from wingspan.plan.show import show
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")
F = "function f(x, y; associative, commutative, identity = 0) = x + y + x * y\n"


def faults(texts: Sequence[str]) -> list[list[str | None]]:
    """The faults of all engines, C among them, which must end each of the programs in the same way."""
    cases = [api.bind(api.parse(text)) for text in texts]
    engines = engines_for(cases, *ENGINES)
    every = [compare(case, engines) for case in cases]
    assert all(done.difference is None and len(done.endings) == len(engines) for done in every), every
    return [[ending.fault for ending in done.endings] for done in every]


def updates(leaf: str, data: str, op: str = "f", declared: str = F, init: str = "0", value: str = "A[i]") -> str:
    """Two tasks that update one element."""
    return f"""{declared}
A = Tensor(Dense(Element(0)), {data})
C = Tensor({leaf})
C .= {init}
for i = parallel(_, cpu(:t, 2))
    C[] <<{op}>>= {value}
end
return C"""


OTHER = "function other(p, q; associative, commutative, identity = false) = p != q\n"
ATOMIC = (
    (updates("Atomic(0)", "[1, 2, 3]"), None),
    (updates("Atomic(0.5)", "[1, 2, 3]", init="0.5"), None),
    (updates("Atomic(0, u8)", "[1, 2, 3]"), None),
    (updates("Atomic(0, i16)", "[1, 2, -3]"), None),
    (updates("Atomic(0.0, f32)", "[1, 2, 3]", init="0.0"), None),
    (updates("Atomic(false)", "[1, 2, 3]", "other", OTHER, "false", "A[i] > 1"), None),
    (updates("Atomic(0, u8)", "[15, 15, 3]"), "does not fit u8"),
    (updates("Atomic(0)", "[4000000000, 4000000000, 3]"), "64-bit integer"),
)
"""Programs, and what their faults say."""


def test_an_atomic_element_is_updated_by_a_function_in_every_engine() -> None:
    """Also where its cells are narrow, or booleans; the faults are the same."""
    for (text, fault), found in zip(ATOMIC, faults([text for text, _ in ATOMIC]), strict=True):
        assert all(each is None if fault is None else fault in str(each) for each in found), (text, found)


def test_no_interleaving_loses_an_update_by_a_function() -> None:
    """The plan reads the element, computes aside, and begins anew if another task was faster: 3 tasks, all orders."""
    text = updates("Atomic(0)", "[1, 2, 3]").replace("cpu(:t, 2)", "cpu(:t, 3)")
    swaps = [s for s in walk(lower(api.bind(api.parse(text))).body) if isinstance(s, Swap)]
    assert len(swaps) == 2
    found = explored(text, machine="native").verdict
    assert (found.verdict, len(found.results)) == ("safe", 1)
    assert outcomes(text, machine="native") == outcomes(text, machine="native", strategy="graph")
    assert "23" in str(found.results[0].outcome.values())


def test_a_function_that_does_not_commute_has_every_order_in_the_plan_as_under_the_rules() -> None:
    text = updates("Atomic(0)", "[1, 2]", "twice", "function twice(x, y) = 2 * x - y\n")
    assert {*outcomes(text, machine="native")} == {*outcomes(text)}
    assert len(outcomes(text)) == 2


@pytest.mark.parametrize("machine", ["semantics", "native"])
def test_an_argument_is_evaluated_once(machine: str) -> None:
    """x + x of one read is even, whenever another task writes x; written out, it reads twice."""
    text = """
    function double(x) = x + x
    d = Tensor(Dense(Element(0)), 1)
    d .= 0
    y = 0
    for i = parallel(1:2, cpu(:t, 2))
        if i == 1
            y = 1
        end
        if i == 2
            d[1] += double(y)
        end
    end
    return d
    """
    written_out = text.replace("double(y)", "y + y")
    assert {*outcomes(text, machine=machine)} == {"{'d': [0], 'y': 1}", "{'d': [2], 'y': 1}"}
    assert "{'d': [1], 'y': 1}" in outcomes(written_out, machine=machine)


RUNS = """{declared}
A = Tensor(RunList(Element(0)), [2, 2, 2, 2, 3])
C = Tensor({leaf})
C .= 1
for i = _
    C[] <<{op}>>= A[i]
end
return C"""


def test_a_run_repeats_an_update_by_a_function_as_often_as_it_has_indices() -> None:
    """Unless two updates have the effect of one, which takes an associative and idempotent function."""
    texts = {
        RUNS.format(declared=declared, op=op, leaf=leaf): repeated
        for leaf in ("Element(0)", "Atomic(0)")
        for op, declared, repeated in (
            ("f", F, True),
            ("unlike", "function unlike(x, y; commutative, idempotent) = ifelse(x == y, x, x + y)", True),
            ("larger", "function larger(x, y; associative, commutative, idempotent) = max(x, y)", False),
        )
    }
    assert not any(map(any, faults(list(texts))))
    for text, repeated in texts.items():
        made = lower(api.bind(api.parse(text)))
        repeats = [s for s in walk(made.body) if isinstance(s, While) and "done" in str(s.condition)]
        assert bool(repeats) == repeated, text


def test_a_plan_shows_the_step_that_updates_by_a_function() -> None:
    text = show(lower(api.bind(api.parse(updates("Atomic(0)", "[1, 2]")))))
    assert "swap found = C.val[1], 0 there if it is 0" in text
    assert "swap found = C.val[1], sum.2 there if it is found" in text
