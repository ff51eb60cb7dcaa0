"""Counterexamples are made as small as they can be by single edits, and stay counterexamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.lang import ir
from wingspan.results.tally import Disagreement
from wingspan.testing import campaign
from wingspan.testing.cases import Case, accepted, safe_programs
from wingspan.testing.reduction import drop_definitions, reduce_case, reduce_extents, simplify_statements

LARGE = """
dev = cpu(:d, 2)
dev2 = cpu(:e, 3)
A = Tensor(Dense(SparseList(Element(0))))
B = Tensor(Dense(Element(0)))
C = Tensor(Dense(Mutex(Element(0))), 3)
D = Tensor(Merge(dev, Element(0)))
C .= 0
D .= 0
for i = parallel(1:3, dev, dynamic_schedule(2))
    if B[i] > 0
        C[i] += min(B[i], 2) * 3
    end
    D[] += B[i]
end
return C, D
"""


def case(text: str = LARGE, **inputs: Any) -> Case:
    given = {"A": np.ones((3, 3), np.int64), "B": np.array([1, 2, 3])} if text == LARGE else {}
    return Case(api.parse(text), given | inputs)


def has(kind: type, **fields: Any) -> Callable[[Case], bool]:
    """Whether the program has such a node, and can run."""

    def differs(one: Case) -> bool:
        try:
            one.bind()
        except WingspanError:  # as where an edit has dropped the value of a variable
            return False
        nodes = one.program.tree.walk()
        return any(isinstance(n, kind) and all(getattr(n, k) == v for k, v in fields.items()) for n in nodes)

    return differs


def test_nothing_is_left_that_the_difference_does_not_need() -> None:
    """No device, tensor, parameter, statement, modifier, returned name, and nothing parallel."""
    made = reduce_case(case(), has(ir.Call, op="min"))
    assert str(made.program).splitlines() == [
        "C = Tensor(Dense(Element(0)), 1)",
        "C .= 0",
        "C[1] += min(1, 2)",
        "return C",
    ]
    assert made.inputs == {}


def test_a_modifier_that_the_difference_needs_stays_and_no_other() -> None:
    made = str(reduce_case(case(), has(ir.Format, name="Merge")).program)
    assert "Merge(dev, Element(0))" in made and "Mutex" not in made and "dev2" not in made


@pytest.mark.parametrize("least", [1, 2, 3])
def test_extents_are_the_smallest_with_the_difference(least: int) -> None:
    made = reduce_case(case(), lambda one: len(one.inputs.get("B", ())) >= least and bool(one.bind()))
    assert made.inputs["B"].tolist() == [0] * least


def test_the_extents_of_literal_data_are_reduced() -> None:
    text = "A = Tensor(Dense(Dense(Element(0))), [1 2 3; 4 5 6])\nC = Tensor(Dense(Element(0)), 2)\nC .= 0\n"
    text += "for j = 1:3, i = 1:2\nC[i] += A[i, j]\nend\nreturn C"
    made = str(reduce_case(case(text), has(ir.Access)).program)
    assert made.splitlines() == ["A = Tensor(Dense(Dense(Element(0))), [1;])"] + [
        line for line in made.splitlines()[1:] if "2" not in line and "3" not in line
    ]


@pytest.mark.parametrize("layout", [np.asfortranarray, scipy.sparse.csr_array])
def test_elements_are_fill_values_or_ones_where_that_suffices(layout: Any) -> None:
    """In a plain array."""
    text = "A = Tensor(Dense(SparseList(Element(0))))\nS = Scalar(0)\nS .= 0\nfor j = _, i = _\nS[] += A[i, j]\nend"
    given = layout(np.array([[3, 7], [0, 9]]))
    made = reduce_case(
        Case(api.parse(f"{text}\nreturn S"), {"A": given}), lambda one: "A" in one.inputs and one.inputs["A"].max() > 8
    )
    assert isinstance(made.inputs["A"], np.ndarray) and made.inputs["A"].tolist() == [[9]]


def test_a_safe_program_stays_safe() -> None:
    """Without its modifier this one would race, and engines would differ that are right."""
    text = "C = Tensor(Mutex(Dense(Element(0))), 2)\nC .= 0\nfor i = parallel(1:2)\nC[1] += i\nend\nreturn C"
    assert accepted(text)
    seen: list[str] = []

    def differs(one: Case) -> bool:
        seen.append(str(one.program))
        return "parallel(1:2" in seen[-1] and "C[1]" in seen[-1]

    made = str(reduce_case(case(text), differs).program)
    assert all(map(accepted, seen)) and "Mutex" in made and "C[1] += i" in made


def test_an_unsafe_program_loses_only_what_it_does_not_use() -> None:
    text = "d = cpu(:d, 2)\nC = Tensor(Dense(Element(0)), 2)\nC .= 0\nfor i = parallel(1:2)\nC[1] += i\nend\nreturn C"
    assert not accepted(text)
    made = str(reduce_case(case(text), lambda one: bool(one.bind())).program)
    assert [line.strip() for line in made.splitlines()] == text.replace("2", "1").splitlines()[1:]


def test_edits_are_tried_a_bounded_number_of_times() -> None:
    tried: list[Case] = []

    def differs(one: Case) -> bool:
        tried.append(one)
        return False

    assert repr(reduce_case(case(), differs, tries=7)) == repr(case()) and 0 < len(tried) <= 7


class Planted:
    """The reference, with results that are one too large for programs with `max`."""

    name = "planted"

    def run(self, program: Any, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        wrong = any(isinstance(node, ir.Call) and node.op == "max" for node in program.plain.walk())
        made = api.run(program, engine="reference").tensors
        if wrong and any(isinstance(node, ir.Parallel) for node in program.plain.walk()):
            raise ValueError("another defect")  # which no smaller case may turn into
        return {name: tensor.to_numpy() + wrong for name, tensor in made.items()}


def test_a_campaign_shows_a_minimal_program() -> None:
    """Of the same kind: without a parallel loop, so that the engine gives a result that is wrong."""
    text = "dev = cpu(:d, 2)\ndev2 = cpu(:e, 1)\nA = Tensor(Dense(SparseList(Element(0))), [1 2; 3 4])\n"
    text += "C = Tensor(Dense(Mutex(Element(0))), 2)\nC .= 0\nfor i = 1:2\nC[i] += max(A[i, 1], 1) + 7\nend\nreturn C"
    shown = [
        "C[1]: semantics has 1, planted (as written) has 2",
        "",
        "C = Tensor(Dense(Element(0)), 1)",
        "C .= 0",
        "C[1] += max(1, 1)",
        "return C",
    ]
    with pytest.raises(Disagreement) as found:
        campaign(["semantics"], [Planted()], programs=st.just(text), examples=1)
    assert str(found.value).splitlines() == shown
    tally = campaign(["semantics"], [Planted()], programs=st.just(text), examples=1, collect=True)
    (bucket,) = tally.buckets.values()
    assert (bucket.cases, tally.cases) == (1, 1) and bucket.smallest.splitlines() == shown


@pytest.mark.many
def test_what_is_reduced_still_differs() -> None:
    """Of random programs, by a part that is in them; a few times as many edits are tried as the program has parts."""
    met = 0

    @settings(deadline=None, derandomize=True, max_examples=many(128), phases=[Phase.generate])
    @given(safe_programs())
    def look(text: str) -> None:
        nonlocal met
        for differs in (has(ir.For), has(ir.Parallel)):
            one = case(text)
            if differs(one):
                made = reduce_case(one, differs, tries=20)
                assert differs(made) and accepted(str(made.program))
                assert len(str(made.program)) < len(text)
                met += 1

    look()
    assert met > 0


def test_edits_of_every_example_are_programs_or_left_out() -> None:
    """No edit of any statement raises anything."""
    for path in sorted(Path("examples").glob("quiz_*.ws"))[:: 1 if many(4) > 1 else 4]:
        program = api.load(path)
        for edit in (drop_definitions, simplify_statements, reduce_extents):
            assert all(str(smaller.program) for smaller in edit(Case(program)))
