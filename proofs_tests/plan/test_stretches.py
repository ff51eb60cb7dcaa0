"""The cost of loops over runs and blocks, that the lowering changes nothing, and the races that are found in them.

Costs are the accesses to buffers of a plan under the controlled scheduler, its tasks running one after the other.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from proofs_tests.agreeing import engines_for
from proofs_tests.effort import EFFORT, due, few, many
from proofs_tests.exploring import explore_graph
from proofs_tests.native.test_native_machine import findings
from proofs_tests.places import EXAMPLES
from proofs_tests.plan.test_looplets import touches
from proofs_tests.stretched import KERNELS, Kernel, bound
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.compiled.build import compiler
from wingspan.elaborate import Elaborated
from wingspan.explorer.machine import Stretch
from wingspan.lang import ir
from wingspan.lang.operators import muladd
from wingspan.plan.ir import AtomicUpdate, Compute, walk
from wingspan.plan.pipeline import lower
from wingspan.testing import campaign, compare
from wingspan.testing.choosing import by_seed
from wingspan.testing.templates import write_picture, write_race

# --------------------------------------------------------------------------------------------------------------- costs


def cost(kernel: Kernel, n: int, r: int) -> int:
    """The number of accesses of the tasks that go through the columns."""
    found, end = touches(api.native(bound(kernel, n, r)))
    assert not isinstance(end, Fault)
    return sum(task != "" for task, _ in found)


@pytest.mark.parametrize("kernel", few(list(KERNELS.values()), 4), ids=KERNELS)
def test_a_kernel_costs_its_stretches(kernel: Kernel) -> None:
    """However long they are; and what there is more of, costs more."""
    few, _ = kernel.rows
    for n in kernel.rows:
        assert cost(kernel, n, 5) <= kernel.each * kernel.work(5) + kernel.column * kernel.columns(n)
    assert cost(kernel, few, 20) - cost(kernel, few, 5) >= kernel.work(20) - kernel.work(5)
    assert cost(kernel, few, 20) <= kernel.each * kernel.work(20) + kernel.column * kernel.columns(few)


@pytest.mark.parametrize("kernel", few(list(KERNELS.values()), 4), ids=KERNELS)
def test_a_kernel_is_safe_and_all_engines_agree(kernel: Kernel) -> None:
    assert api.check(api.parse(kernel.text)).verdict == "safe"
    for machine in ("semantics", "native"):
        found = api.explore(bound(kernel, 6, 1), machine=machine).verdict
        assert found.complete and found.verdict == "safe" and len(found.results) == 1
    some = [bound(kernel, n, r) for n, r in ((6, 1), (12, 2), (30, 4))]
    engines = engines_for(some, "reference", "semantics", "native", "native-controlled")
    for each in some:
        assert compare(each, engines).difference is None


def test_what_is_written_is_runs_that_are_as_long_as_can_be() -> None:
    """Also where the runs of both summands end, and their sum goes on; a histogram counts all pixels."""
    A, B = np.array([1, 1, 2, 2, 0, 0]), np.array([2, 2, 1, 1, 3, 0])
    for level, runs in (("SparseRunList", ["[1:5]: 3"]), ("RunList", ["[1:5]: 3", "6: 0"])):
        text = f"A = Tensor({level}(Element(0)))\nB = Tensor({level}(Element(0)))\nC = Tensor({level}(Element(0)))\n"
        run = api.run(
            api.parse(f"{text}C .= 0\nfor i = _\nC[i] += A[i] + B[i]\nend\nreturn C"), inputs={"A": A, "B": B}
        )
        assert [line[3:] for line in str(run.tensors["C"]).splitlines()[1:]] == runs
    image_ = np.repeat([4, 200, 4], [30, 5, 65])
    inputs = dict.fromkeys("RGB", image_)
    done = api.run(EXAMPLES / "histogram.ws", inputs=inputs, params={"nt": 2, "sch": "static_schedule()", "n": 256})
    assert dict(done.tensors["h"].entries()) == {(5, 5, 5): 95, (201, 201, 201): 5}


# ----------------------------------------------------------------------------------------------------------- repetition

LARGEST, LEAST = 2**63 - 1, -(2**63)
STARTS = (0, 1, -1, LARGEST, LEAST, 5 - 2**63, 2**62)
STEPS = (0, 1, -1, 2**62, -(2**62), LARGEST, LEAST)
SUMS = list(product(STARTS, STEPS, (1, 2, 3), "+-"))[:: 1 if EFFORT >= 1 else 5]


def summed(x: int, v: int, n: int, op: str, leaf: str) -> Elaborated:
    text = f"""
        A = Tensor(RunList(Element(0)))
        x = Tensor({leaf}(0))
        x .= {x}
        for i = _
            x[] {op}= A[i]
        end
        return x
    """
    return api.bind(api.parse(text), inputs={"A": np.full(n, v)})


@pytest.mark.parametrize("leaf", few(["Element", "Atomic"], 1))
def test_many_updates_at_once_fault_where_single_ones_do(leaf: str) -> None:
    """With the same message, on all engines; n·v may be out of range though x + n·v is not."""
    cases = [summed(*case, leaf) for case in SUMS]
    engines = engines_for(cases, "semantics", "native", "native-controlled")
    faults = 0
    for case in cases:
        done = compare(case, engines)
        assert done.difference is None and len({ending.fault for ending in done.endings}) == 1, done.endings
        faults += done.endings[0].fault is not None
    assert 0.2 < faults / len(SUMS) < 0.8
    repeated = [
        s for s in walk(lower(cases[-1]).body) if isinstance(s, AtomicUpdate) or getattr(s, "op", "") == "muladd"
    ]
    assert list(map(type, repeated)) == [Compute if leaf == "Element" else AtomicUpdate]


IN_TURN = {
    "sums that overflow on the way": ("Element(0)", "+=", "0", "[2^62, -2^62]", 0),
    "differences that overflow on the way": ("Element(0)", "-=", "0", "[2^62, -2^62]", 0),
    "products that overflow on the way": ("Element(1)", "*=", "1", "[2^40, 0]", 0),
    "bytes that do not fit on the way": ("Element(0, u8)", "+=", "0", "[200, -200]", 0),
    "a function whose updates have an order": ("Element(0)", "<<g>>=", "1", "[1, 3]", 41),
    "sums that wrap": ("Element(0)", "+%=", "0", "[2^62, 1]", -(2**63) + 2),
    "doubles whose product is too small on the way": ("Element(1.0)", "*=", "1.0", "[2.0^-600, 2.0^600]", 1),
    "doubles whose sum is infinite on the way": ("Element(0.0)", "+=", "0.0", "[2.0^1023, -2.0^1023]", 0),
    "the greatest": ("Element(0)", "<<max>>=", "0", "[4, 3]", 4),
}
"""Two values by which an element is updated in turn, twice over: a leaf, ⊕, what it holds before, and after."""


def in_turn(leaf: str, sign: str, before: str, values: str, statements: str) -> Elaborated:
    v = [eval(value.replace("^", "**")) for value in values.strip("[]").split(",")]
    body = f"for j = _\n n[] {sign} A[i] * B[j]\n end"
    if statements == "two statements":
        body = f"n[] {sign} A[i] * {v[0]}\n n[] {sign} A[i] * {v[1]}"
    text = f"""
        function g(x, y) = 2 * x + y
        A = Tensor(RunList(Element(0)), [1, 1])
        B = Tensor(Dense(Element({"0.0" if "." in values else 0})), {v})
        n = Tensor({leaf})
        n .= {before}
        for i = _
            {body}
        end
        return n
    """
    return api.bind(api.parse(text))


@pytest.mark.parametrize("statements", few(["a loop", "two statements"], 1))
def test_updates_in_turn_are_not_repeated_one_by_one(statements: str) -> None:
    cases = [in_turn(leaf, sign, before, values, statements) for leaf, sign, before, values, _ in IN_TURN.values()]
    engines = engines_for(cases, "reference", "semantics", "native")
    for name, case, (*_, after) in zip(IN_TURN, cases, IN_TURN.values(), strict=True):
        ends = compare(case, engines).endings
        assert [end.arrays["n"].item() for end in ends] == [after] * len(engines), name


@pytest.mark.parametrize("leaf", few(["Element", "Atomic"], 1))
def test_many_doubles_are_added_with_one_rounding(leaf: str) -> None:
    """On all engines, to the nearest double, also where n times the double is infinite."""
    head = f"A = Tensor(RunList(Element(0.0)))\nx = Tensor({leaf}(0.0))\n"
    head += "x .= {!r}\nfor i = _\nx[] += A[i]\nend\nreturn x"
    sums = ((0.1, 0.1, 3), (1.7e308, -1e308, 3), (1.0, 1e-17, 7), (-1.7e308, 1.7e308, 2))
    cases = [api.bind(api.parse(head.format(x)), inputs={"A": np.full(n, v)}) for x, v, n in sums]
    engines = engines_for(cases, "native", "native-controlled")
    for case, (x, v, n) in zip(cases, sums, strict=True):
        wanted = float(Fraction(x) + n * Fraction(v))
        assert [each.arrays["x"].item() for each in compare(case, engines).endings] == [wanted] * len(engines)
        assert muladd(x, float(n), v) == wanted


def test_bodies_that_may_not_be_run_once_are_run_for_each_index() -> None:
    """Of these programs, none has a statement that is repeated; the first one has."""
    head = "A = Tensor(RunList(Element(0)), [2, 2, 2])\nC = Tensor(SparseList(Element(0)), 2)\n"
    head += "x = Tensor(Element(0))\ny = 0\n"
    for body, repeats in (
        ("x[] += A[i]", True),
        ("x[] += A[i] + i", False),
        ("y = y + A[i]\nx[] += y", False),
        ("for k = 1:2\nC[k] += A[i]\nend", False),
        ("for k = parallel(1:2)\nx[] += A[i]\nend", False),
    ):
        case = api.bind(api.parse(f"{head}C .= 0\nx .= 0\nfor i = _\n{body}\nend\nreturn C, x"))
        assert any(getattr(s, "op", "") == "muladd" for s in walk(lower(case).body)) == repeats, body
        assert "parallel" in body or compare(case, list(map(api.engine, ("semantics", "native")))).difference is None


# ------------------------------------------------------------------------------------------------------ random programs


@pytest.mark.parametrize("part", few(range(2), 1))
def test_programs_over_images_agree_on_all_engines(part: int) -> None:
    """Hundreds of them; most have bodies that are run once for a run."""
    engines = ["native", "native-controlled", *(["compiled"] if compiler() else [])]
    drawn = st.integers(0, 2**62).map(lambda seed: write_picture(by_seed(seed)))
    done = campaign(
        ["reference", "semantics"], engines, programs=drawn, examples=many(320), threads=(1,),
        schedules=("static_schedule()",), first_seed=part,
    )  # fmt: skip
    assert done.cases > due(240) and done.faults < done.cases / 4


def test_most_programs_over_images_are_about_runs() -> None:
    seen: Counter[str] = Counter()
    choose, number = by_seed(0), max(25, many(100))
    for text in (write_picture(choose) for _ in range(number)):
        made = lower(api.bind(api.parse(text)))
        seen["runs"] += "RunList(" in text
        seen["at once"] += any(s.origin.ends for s in walk(made.body) if hasattr(s, "origin"))
    assert seen["runs"] > 0.8 * number and seen["at once"] > 0.3 * number, seen


PARTS = 32
EACH = max(12, many(100))
"""Racy programs in a part."""


@pytest.mark.parametrize("part", few(range(PARTS), 1))
def test_racy_programs_over_images_race_alike_on_both_machines(part: int) -> None:
    """The same verdict and the same races, in 3,200 programs; outcomes may differ if there is a race.

    They may be fewer; and if the body that is run once makes several updates, one may see them in another order.
    If both tasks write one list of runs, which no level allows, the rules compare children index by index that the plan
    never makes: then races of the leaf are only alike in that there are some. Programs with many states do not count.
    """
    seen: Counter[str] = Counter()
    choose, texts = by_seed(part), set[str]()
    while seen["explored"] < EACH:
        text = write_race(choose)
        if text not in texts:
            texts.add(text)
            seen.update(raced_alike(text))
    assert min(seen["race found"], seen["safe"]) >= EACH // 10 and seen["fewer states"] >= EACH // 25, seen
    assert seen["large"] < EACH, seen


def raced_alike(text: str) -> list[str]:
    """The findings of the machines, which must agree. The plan is explored first, as a state of it takes less time."""
    case = api.bind(api.parse(text))
    plan = explore_graph(api.native(case), max_states=300)
    rules = explore_graph(api.semantics(case), max_states=1000) if plan.complete else plan
    if not rules.complete:
        return ["large"]
    made = {T for T, tower in case.towers.items() if T not in case.inputs and any(x.stretch for x in tower.levels)}

    def alike(race: Any) -> Any:
        return (race[:5] if race[1] > 1 else race[:2]) if race[0] in made else race

    by_rules, by_plan = findings(rules), findings(plan)
    assert by_rules["verdict"] == by_plan["verdict"], text
    assert set(map(alike, by_rules["races"])) == set(map(alike, by_plan["races"])), text
    assert by_rules["races"] or by_plan["outcomes"] == by_rules["outcomes"], text
    assert made or several(case.body) or by_plan["outcomes"] <= by_rules["outcomes"], text
    fewer = plan.states < rules.states
    found = {"explored": True, rules.verdict: True, "race found": by_rules["races"], "fewer states": fewer}
    return [name for name, is_so in found.items() if is_so]


def several(body: ir.Statement) -> bool:
    """Whether the loops that tasks run make more than one update in an iteration."""
    (parallel,) = (s for s in body.walk() if isinstance(s, ir.For) and isinstance(s.range, ir.Parallel))
    parts = [type(s) for s in parallel.body.walk()]
    return parts.count(ir.Assign) > 1 or parts.count(ir.For) > 1


def test_updates_of_two_elements_may_be_seen_in_another_order() -> None:
    """In a program that races: task 2 adds to x[1] twice, and then to x[2] twice."""
    text = """
        A = Tensor(RunList(Element(0)), [2, 2])
        x = Tensor(Dense(Element(0)), 2)
        x .= 0
        for t = parallel(1:2, cpu(2))
            for i = 1:t
                for k = 1:2
                    x[k] += A[i]
                end
            end
        end
        return x
    """
    case = api.bind(api.parse(text))
    rules, plan = (findings(explore_graph(machine)) for machine in (api.semantics(case), api.native(case)))
    (other,) = plan["outcomes"] - rules["outcomes"]
    assert str(other.values()) == "{'x': [2, 2]}" and rules["verdict"] == plan["verdict"] == "race"
    assert rules["races"] == plan["races"]


def test_a_fiber_of_which_another_element_is_updated_is_entered_at_each_index() -> None:
    """Outside of runs nothing is left of the first update, but the second one has the same fiber."""
    text = """
        A = Tensor(SparseRunList(Element(0)), [0, 0, 3, 3, 0])
        x = Tensor({form}(Element(0)), 5)
        x .= 0
        y = 2
        for i = 1:5
            x[i] -= A[i]
            x[1] -= y
        end
        return x
    """
    for form in ("Dense", "SparseDict", "SparseByteMap"):
        bound = api.bind(api.parse(text.format(form=form)))
        found = compare(bound, [api.engine(name) for name in ("reference", "semantics", "native", "native-controlled")])
        assert found.difference is None, found.difference


def test_a_report_tells_the_range_that_an_access_stands_for() -> None:
    text = """
        dev = cpu(:t, 2)
        A = Tensor(RunList(Element(0)), [3, 3, 3, 1])
        x = Tensor(Element(0))
        x .= 0
        for t = parallel(1:2, dev)
            for i = 1:4
                x[] += A[i]
            end
        end
        return x
    """
    (race,) = api.explore(api.parse(text), machine="native").verdict.races
    told = {dict(side.indices)["i"] for side in (race.first, race.second)}
    assert told <= {4, Stretch(1, 3)} and Stretch(1, 3) in told and str(Stretch(1, 3)) == "1:3"


def agree(*texts: str) -> list[int]:
    """The only element of the output of each program, in which the rules, the machine and C agree."""
    cases = [api.bind(api.parse(text)) for text in texts]
    engines = engines_for(cases, "semantics", "reference", "native", "native-controlled")
    every = [compare(case, engines) for case in cases]
    assert [done.difference for done in every] == [None] * len(cases)
    return [done.endings[0].arrays[case.outputs[0]].item() for case, done in zip(cases, every, strict=True)]


def test_a_range_that_ends_in_a_gap_ends() -> None:
    """Or in a run, or with it: what is to be done at every index is done at each."""
    text = "A = Tensor(SparseRunList(Element(0)), [0, 7, 7, 0, 0, 7])\ns = Tensor(Element(0))\ns .= 0\n"
    text += "for i = 1:{}\ns[] += A[i] + 1\nend\nreturn s"
    assert agree(*map(text.format, (1, 4, 5, 6))) == [1, 4 + 14, 5 + 14, 6 + 21]


def test_products_over_a_run_have_a_factor_for_each_index() -> None:
    """Sums and products in one program; the product of a run of zeros and ones is one of them."""
    head = "A = Tensor(RunList(Element(0)), [3, 3, 3, 1, 1])\nx = Tensor({0}(1))\nx .= 1\n"
    assert agree(*(f"{head.format(leaf)}for i = _\nx[] *= A[i]\nend\nreturn x" for leaf in ("Element", "Atomic"))) == [
        27,
        27,
    ]


def test_a_workspace_of_a_run_is_filled_once() -> None:
    """And what is read of it is added for each index."""
    head = "A = Tensor(RunList(Element(0)), [2, 2, 2])\nx = Tensor(Element(0))\nw = Tensor(Element(0))\nx .= 0\n"
    assert agree(f"{head}for i = _\nw .= 5\nw[] += A[i]\nx[] += w[]\nend\nreturn x") == [21]


def test_children_of_blocks_need_no_question() -> None:
    """In the loop over the indices of a block or a band, the child is a sum."""
    for level in ("SparseBlockList", "SparseBand"):
        head = f"A = Tensor({level}(Element(0)), [0, 2, 3, 0])\nx = Tensor(Element(0))\nx .= 0\n"
        made = api.plan(api.parse(f"{head}for i = _\nx[] += A[i] * i\nend\nreturn x"))
        inner = made[made.rindex("while i <= ") :].partition("i = i + 1")[0]
        assert "val = A.val[position]" in inner and "select" not in inner and "if " not in inner


def test_runs_that_a_race_has_spoiled_may_have_no_child() -> None:
    """Two tasks append to one list of runs, and what is left there is read: as by the rules, in every outcome."""
    text = """
        C = Tensor(Dense(RunList(Element(5))), 3, 2)
        s = Tensor(Element(0))
        C .= 5
        s .= 0
        for t = parallel(1:2, cpu(2))
            for i = 2:t + 1
                C[i, t] += 1
            end
        end
        for k = 1:2
            for i = 1:3
                s[] += C[i, k] + 1
            end
        end
        return s
    """
    case = api.bind(api.parse(text))
    rules, plan = (explore_graph(machine) for machine in (api.semantics(case), api.native(case)))
    assert {r.outcome for r in plan.results} <= {r.outcome for r in rules.results} and plan.verdict == rules.verdict
