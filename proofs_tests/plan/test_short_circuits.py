"""Loops over short-circuit scalars: engines leave out the same iterations, and what is left out costs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.agreeing import engines_for
from proofs_tests.effort import due, few, many
from proofs_tests.plan.test_looplets import counts, entries
from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.explorer.machine import Blocked
from wingspan.plan import ir as plan
from wingspan.plan.pipeline import for_c, lower
from wingspan.plan.uses import defs, registers
from wingspan.testing import Options, compare, programs
from wingspan.testing.formats import fit_to_format

READ = (
    *("RunList", "SparseRunList", "SparseBlockList", "SparseBand", "SparseInterval", "SparsePoint"),
    *("SparseList", "SparseDict", "SparseByteMap", "Dense"),
)
BODIES = (
    "found[] |= A[i] > 1", "every[] &= A[i] <= B[i]", "first[] <<choose(0)>>= A[i] * B[i]",
    "first[] <<choose(0)>>= A[i] + B[i]", "if A[i] > 1\nfound[] |= B[i] > 1\nend",
    "found[] |= A[i] == 2\nfirst[] <<choose(0)>>= B[i]", "n[] *= A[i]", "n[] *%= A[i] + B[i] - 1",
    "low[] <<min>>= ifelse(A[i] > 2, -9223372036854775807 - 1, A[i])",
    "if i >= 3\nfound[] |= A[i] > 1\nend", "if i == 3\nfound[] |= A[i] > 1\nend\nif i > 4\nevery[] &= A[i] < 2\nend",
    "for j = _\nfound[] |= A[i] + B[j] > 4\nend", "for j = 1:i\nn[] *= A[j] + B[i]\nend",
    "found[] |= coalesce(A[~(i + 1)], 0) > A[i]", "found[] |= A[i + 1] > 2",
    "first[] <<choose(0)>>= coalesce(A[~(i - 1)], 0) * coalesce(A[~(i + 1)], 0)",
    "x = A[i]\nif x > 1\nx = B[i]\nfound[] |= x > 1\nend",
    "w .= 0\nfor j = 1:2\nw[] += A[i] * j\nend\nfound[] |= w[] > 5",
    "first[] <<choose(0)>>= 10 ÷ (A[i] - 1)", "found[] |= 6 ÷ A[i] > 2", "n[] *= A[i] * 4611686018427387904",
    "chance[] <<either>>= A[i] / 2", "chance[] <<either>>= A[i] * B[i]", "grows[] <<grown>>= A[i] - 1",
    "found[] |= A[i] > 2\nn[] *= B[i] + 1",
)  # fmt: skip
"""Some of them fault in some iterations: by a division, an overflow, or an index out of bounds."""
SCALARS = {
    "found": ("false", "false"), "every": ("true", "true"), "first": ("0", "0"), "n": ("0", "1"), "low": ("0", "3"),
    "chance": ("0.0", "0.0"), "grows": ("0", "2"),
}  # fmt: skip
"""The fill value and the declared value of each."""
FUNCTIONS = """\
function either(p, q; associative, commutative, identity = 0, annihilator = 1) = p + q - p * q
function grown(x, y; associative, commutative, identity = 0, annihilator = -1) = x + y + x * y"""


@st.composite
def searches(draw: st.DrawFn) -> str:
    """Draws programs with one loop, perhaps run twice, over one or two vectors of any level."""

    def pick(items: Sequence[Any]) -> Any:
        return items[draw(st.integers(0, len(items) - 1))]

    n = pick((1, 2, 4, 7, 9))
    body = "\n".join(pick(BODIES) for _ in range(pick((1, 1, 2))))
    used = [name for name in SCALARS if f"{name}[" in body]
    lines = [FUNCTIONS, "w = Scalar(0)"]
    for name in "AB":
        runs = [value for _ in range(n) for value in [pick((0, 0, 1, 2, 3))] * pick((1, 1, 2, 3))][:n]
        form = f"{pick(READ)}(Element(0))"
        lines.append(f"{name} = Tensor({form}, {fit_to_format(form, np.array(runs), '0').tolist()})")
    lines += [f"{name} = ShortCircuitScalar({SCALARS[name][0]})" for name in used]
    lines += [f"{name} .= {SCALARS[name][1]}" for name in used]
    loop = [f"for i = {pick((f'1:{n}', f'1:{n}', f'2:{n}', f'1:{n - 1}'))}", body, "end"]
    loop = ["for k = 1:2", *loop, "end"] if pick((False, False, True)) else loop
    return "\n".join([*lines, *loop, f"return {', '.join(used)}"])


def result(text: str, engine: str) -> dict[str, object] | None:
    """The final values of the scalars; None if the run ends with a fault."""
    try:
        run = api.run(api.parse(text), engine=engine)
    except Fault:
        return None
    return {name: tensor.to_numpy().item() for name, tensor in run.tensors.items()}


def test_engines_agree_and_find_what_is_found_without_leaving_iterations_out() -> None:
    """Also whether there is a fault, which may be in an iteration that is left out."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(800), deadline=None, database=None)
    @given(searches())
    def check(text: str) -> None:
        found = result(text, "reference")
        assert result(text, "semantics") == found
        assert result(text, "native") == found
        without = result(text.replace("ShortCircuitScalar", "Scalar"), "reference")
        assert without is None or without == found
        seen[f"{'fault' if found is None else 'found'}, {'fault' if without is None else 'found'}"] += 1

    check()
    assert seen["fault, fault"] >= due(20) and seen["found, fault"] >= due(5), seen


def everywhere(*texts: str) -> list[dict[str, object] | None]:
    """The final values of the scalars of each program, on which all engines agree; None if all end with a fault."""
    cases = [api.bind(api.parse(text)) for text in texts]
    engines = engines_for(cases, "reference", "semantics", "native")
    made = []
    for case in cases:
        ends = compare(case, engines).endings
        values = [None if end.fault else {name: x.item() for name, x in end.arrays.items()} for end in ends]
        assert all(each == values[0] for each in values), values
        made.append(values[0])
    return made


def test_printed_c_finds_the_same() -> None:
    texts = []
    for body in BODIES[:16:3]:
        used = [name for name in SCALARS if f"{name}[" in body]
        head = [FUNCTIONS, "A = Tensor(SparseList(Element(0)), [0, 2, 0, 0, 3, 1, 0])"]
        head += ["B = Tensor(SparseRunList(Element(0)), [0, 2, 2, 0, 0, 3, 3])"]
        head += [f"{name} = ShortCircuitScalar({SCALARS[name][0]})\n{name} .= {SCALARS[name][1]}" for name in used]
        texts.append("\n".join([*head, "for i = 1:7", body, "end", f"return {', '.join(used)}"]))
    assert all(everywhere(*texts))


def run(machine: Any) -> tuple[Counter[str], object]:
    """The rules or operations that a run takes, how often each; and its outcome, or what it ends with."""
    state, seen = machine.initial(), Counter[str]()
    while tasks := machine.tasks(state):
        step = machine.step(state, tasks[0])
        if isinstance(step, Blocked):
            return seen, Blocked
        seen[step.rule] += 1
        if isinstance(step.next, Fault):
            return seen, Fault
        state = step.next
    return seen, machine.outcome(state)


def test_plans_of_random_programs_end_loops_where_the_rules_do() -> None:
    """With tasks around the loops, and scalars of their own in each."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(800), deadline=None, database=None)
    @given(programs(Options(depth=2, statements=2, extent=3, spawning=2, searches=1)))
    def check(text: str) -> None:
        try:
            bound = api.bind(api.parse(text))
            (steps, by_rules), (_, by_plan) = run(api.semantics(bound)), run(api.native(bound))
        except InputError:
            return
        assert by_plan == by_rules
        seen["early"] += steps["ShortCircuit"] > 0

    check()
    assert seen["early"] >= due(100), seen


def test_a_loop_over_two_scalars_ends_when_both_are_settled() -> None:
    """One is at the first element, the other at the third, and the other way round; the fourth would fault."""
    text = """
        A = Tensor(Dense(Element(0)), [3, 3, 1, 0])
        found = ShortCircuitScalar(false)
        first = ShortCircuitScalar(0)
        found .= false
        first .= 0
        for i = _
            found[] |= A[i] == 3
            first[] <<choose(0)>>= 6 ÷ A[i] - 2
        end
        return found, first
    """
    other = text.replace("A[i] == 3", "A[i] == 1").replace("6 ÷ A[i] - 2", "6 ÷ A[i] - 1")
    assert everywhere(text, other) == [{"found": True, "first": 4}, {"found": True, "first": 1}]


def test_a_loop_ends_between_two_updates_of_a_run() -> None:
    """The function keeps 0, and has no value there if it is called once more."""
    text = """
        function times(x, y; annihilator = 0) = x * y ÷ ifelse(x == 0, 0, 1)
        A = Tensor(RunList(Element(5)), [1, 1, 0, 0, 0])
        n = ShortCircuitScalar(1)
        n .= 1
        for i = _
            n[] <<times>>= A[i]
        end
        return n
    """
    assert everywhere(text, text.replace("ShortCircuitScalar", "Scalar")) == [{"n": 0}, None]


def test_no_iteration_is_begun_if_nothing_can_change() -> None:
    """Neither the first of a loop, nor the only one."""
    text = "found = ShortCircuitScalar(true)\nfound .= true\nfor i = {}\nfound[] |= 1 ÷ 0 > i\nend\nreturn found"
    assert everywhere(*map(text.format, ("1:3", "2:2"))) == [{"found": True}] * 2


ANY = """
    found = ShortCircuitScalar(false)
    found .= false
    for i = _
        found[] |= {e}
    end
    return found
"""


def test_what_is_stored_is_not_visited_if_a_gap_before_it_ends_the_loop() -> None:
    """A loop over fibers runs over the gap first, and then visits the entry, which would fault."""
    text = "A = Tensor({}(Element(0)), [0, 0, -1, 0])\n" + ANY.format(e="6 ÷ (A[i] + 1) > 5")
    forms = ("SparseList", "SparseBlockList", "SparseRunList")
    assert everywhere(*map(text.format, forms)) == [{"found": True}] * 3


LONG = 10**6
"""Entries."""


@pytest.mark.parametrize("e", ["A[i] > 0", "A[i] * B[i] > 0", "A[i] + B[i] > 0", "A[i] > 0 || B[i] > 5"])
def test_what_comes_after_the_third_entry_is_not_looked_at(e) -> None:
    """However many there are: the costs are the same to the access."""
    text = f"A = Tensor(SparseList(Element(0.0)))\nB = Tensor(SparseList(Element(0.0)))\n{ANY.format(e=e)}"
    costs = []
    for more in (10, 1000):
        A = -entries(range(5, 5 * more + 10, 5))
        A.data[2] = 1
        costs.append(counts(api.bind(api.parse(text), inputs={"A": A, "B": abs(A)})))
    assert costs[0] == costs[1]
    assert costs[0]["A.val"] == 3


@pytest.mark.parametrize("form", ["Dense", "SparseList"])
@pytest.mark.parametrize("engine", ["native", "compiled"])
def test_any_of_a_million_is_known_at_the_third(engine, form) -> None:
    """All others are such that they would fault."""
    A = np.zeros(LONG, dtype=np.int64)
    A[:3] = [7, 7, 1]
    program = api.parse(f"A = Tensor({form}(Element(2)))\n" + ANY.format(e="6 ÷ A[i] > 2"))
    assert api.run(program, inputs={"A": A}, engine=engine).tensors["found"].to_numpy().item() is True


def early(made: plan.Plan) -> list[bool]:
    """Of each loop of a plan that goes round without what it may end by, whether its condition asks for that."""
    every = Counter(reg for s in plan.walk(made.body) for reg in defs(s) if ".over" in reg.name)
    found = []
    for s in plan.walk(made.body):
        if isinstance(s, plan.While):
            inside = Counter(reg for each in plan.walk((s,)) for reg in defs(each) if reg in every)
            asked = {*registers(s.condition)}
            found += [reg in asked for reg, count in inside.items() if count < every[reg]]
    return found


FORMS = [("SparseList", "SparseList"), ("SparseRunList", "SparseBlockList"), ("Dense", "Dense")]


@pytest.mark.parametrize(("body", "forms"), few(list(product(BODIES, FORMS)), 30))
def test_every_loop_of_a_plan_asks_whether_it_is_over(body, forms) -> None:
    """Also one that would do nothing in the rounds that are left; in what is made of it for C, too."""
    used = [name for name in SCALARS if f"{name}[" in body]
    head = [FUNCTIONS, "w = Scalar(0)"]
    head += [f"{T} = Tensor({form}(Element(0)), [0, 2, 0, 1, 1])" for T, form in zip("AB", forms, strict=True)]
    head += [f"{name} = ShortCircuitScalar({SCALARS[name][0]})\n{name} .= {SCALARS[name][1]}" for name in used]
    bound = api.bind(api.parse("\n".join([*head, "for i = 1:4", body, "end"])))
    made = lower(bound)
    for each in (made, for_c(made)):
        asked = early(each)
        assert asked and all(asked)
