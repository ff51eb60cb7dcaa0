"""Advice: what it says to change is all that changes, costs what is stated, and repairs every interleaving."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import count
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests import places
from proofs_tests.effort import due, few, many
from proofs_tests.exploring import verdict
from wingspan import api
from wingspan.base.errors import ProgramError, WingspanError
from wingspan.dependence import Advice, Report, advice, check
from wingspan.dependence.advice import MOST, TRIES, advise
from wingspan.lang import ir
from wingspan.levels import REGISTRY
from wingspan.testing.templates import meetings

EXAMPLES = places.EXAMPLES
PROGRAMS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.ws")) if "quiz" in path.stem
} | {
    "dependent": (EXAMPLES / "dependent.ws").read_text(encoding="utf-8"),
    "outer product": """
        dev = cpu(:t, 2)
        A = Tensor(Dense(Dense(Element(0))), [1 2])
        BT = Tensor(Dense(Dense(Element(0))), [1 1])
        C = Tensor(SparseDict(SparseDict(Element(0))))
        C .= 0
        for k = parallel(_, dev)
            for j = _
                for i = _
                    C[i, j] += A[i, k] * BT[j, k]
        return C
    """,
    "two tensors": """
        C = Tensor(Dense(SparseByteMap(Element(0))), 1, 2)
        d = Tensor(Dense(Element(0)), 1)
        C .= 0
        d .= 0
        for j = parallel(1:2)
            C[1, j] += 1
            d[1] += 1
        return C, d
    """,
    "wrong order": """
        C = Tensor(Dense(Isolate(Mutex(SparseByteMap(Element(5))))), 1, 2)
        C .= 5
        for j = parallel(1:3)
            C[1, j % 2 + 1] += 1
        return C
    """,
    "inner loop": """
        C = Tensor(Dense(Isolate(SparseByteMap(Element(0)))), 2, 2)
        C .= 0
        for j = _
            for i = parallel(_)
                C[i, j] += i
        return C
    """,
    "revisited": """
        c = Tensor(SparseList(Element(0)), 3)
        c .= 0
        for j = 1:2
            for i = 1:3
                c[i] += j
        return c
    """,
    "revisited coordinates": """
        C = Tensor(SparseCOO(2, Element(0)), 2, 2)
        C .= 0
        for k = 1:2
            for j = 1:2
                for i = 1:2
                    C[i, j] += k
        return C
    """,
    "coordinates in tasks": """
        d = cpu(:d, 2)
        C = Tensor(SparseCOO(2, Element(0)), 2, 2)
        C .= 0
        for j = parallel(1:2, d)
            for i = 1:2
                C[i, j] += 1
        return C
    """,
    "scalar": "s = Scalar(0)\ns .= 0\nfor i = parallel(1:2)\ns[] += i\nend\nreturn s",
    "idle device": """
        d = cpu(:d, 2)
        c = Tensor(Dense(Shard(d, Element(0))), 2)
        c .= 0
        for i = _
            c[i] += i
        return c
    """,
    "serial": """
        A = Tensor(Dense(Dense(Element(0))), [1 2; 3 4])
        y = Tensor(Dense(Element(0)))
        y .= 0
        for j = _
            for i = _
                y[j] += A[i, j]
        return y
    """,
}


def checked(tree: ir.Program) -> Report:
    """The report of the repaired test."""
    return check(api.bind(api.Program(tree, "t.ws")))


@cache
def advised(text: str) -> tuple[Advice, ...]:
    """The advice for a program."""
    found = api.check(api.parse(dedent(text)))
    assert found.advice_complete
    return found.advice


def told(name: str) -> list[tuple[int, list[str]]]:
    """Costs and lines of the advice for one of the programs."""
    return [(a.cost, a.change.splitlines()) for a in advised(PROGRAMS[name])]


# ------------------------------------------------------------------------------------------------- what is advised


@pytest.mark.parametrize("text", few(list(PROGRAMS.values()), 5), ids=PROGRAMS.keys())
def test_each_advice_repairs_the_program(text: str) -> None:
    """The text is a program, the test accepts it, and every interleaving gives the sequential result.

    Costs ascend, and what is new in the text is what the change says.
    """
    found = advised(text)
    assert len(found) <= MOST
    assert [a.cost for a in found] == sorted(a.cost for a in found)
    assert len({a.program for a in found}) == len(found)
    written = Counter(line.strip() for line in str(api.parse(dedent(text))).splitlines())
    for a in found:
        program = api.parse(a.program)
        assert str(program) == a.program
        assert checked(program.tree).verdict == "safe"
        assert verdict(a.program) == "safe"
        new = Counter(line.strip() for line in a.program.splitlines()) - written
        assert new == Counter(a.change.splitlines())


def test_each_advice_for_random_programs_explores_as_safe() -> None:
    """Of two tasks that meet in a tensor of any format, as far as the changed programs can be explored quickly."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(15), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(meetings(), st.data())
    def explore(text: str, data: st.DataObject) -> None:
        try:
            found = advised(text)
        except WingspanError:
            return
        seen["advised"] += bool(found)
        if found:
            a = data.draw(st.sampled_from(found))
            explored = api.explore(api.parse(a.program), max_states=300).verdict
            seen[explored.verdict] += 1
            assert explored.verdict in ("safe", "incomplete"), a.program

    explore()
    assert seen["safe"] >= due(5), seen


@pytest.mark.parametrize(
    ("name", "cost", "lines"),
    [
        ("dependent", 2, ["c = Tensor(Dense(Atomic(0)), 5)"]),
        ("quiz_cousin_race", 3, ["C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 1, 2)"]),
        (
            "quiz_append_out_of_order", 3,
            [
                "dev = cpu(:dev, 2)", "C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 1, 2)",
                "for j = parallel(_, dev)",
            ],
        ),
        ("outer product", 5, ["C = Tensor(Merge(dev, SparseDict(SparseDict(Element(0)))))"]),
        ("quiz_lock_taken_outside", 1, ["for j = parallel(_)", "for i = _"]),
        ("quiz_check_then_act", 20, ["for i = 1:2"]),
        ("quiz_last_writer_wins", 20, ["for i = _"]),
        ("quiz_merge_overwrite", 0, ["c = Tensor(Dense(Element(0)), 2)"]),
        ("quiz_isolate_around_mutex", 0, ["c = Tensor(Dense(Element(0)), 2)"]),
        ("quiz_nested_devices", 0, ["C = Tensor(Dense(Dense(Element(0))), 1, 2)"]),
        ("scalar", 2, ["s = Tensor(Atomic(0))"]),
        ("serial", 0, ["dev = cpu(:dev, 2)", "for j = parallel(_, dev)"]),
        ("revisited", 6, ["c = Tensor(SparseDict(Element(0)), 3)"]),
        ("revisited coordinates", 12, ["C = Tensor(SparseDict(SparseDict(Element(0))), 2, 2)"]),
        ("coordinates in tasks", 5, ["C = Tensor(Merge(d, SparseCOO(2, Element(0))), 2, 2)"]),
    ],
)  # fmt: skip
def test_the_best_remedy(name: str, cost: int, lines: list[str]) -> None:
    assert told(name)[0] == (cost, lines)


@pytest.mark.parametrize(
    ("name", "cost", "lines"),
    [
        ("quiz_shard_second_loop", 1, ["for j = parallel(_, dev)"]),
        ("quiz_mutex_cousins", 4, ["C = Tensor(Dense(Isolate(SparseByteMap(Element(0)))), 1, 2)"]),
        ("quiz_cousin_race", 6, ["for j = _", "for i = parallel(_, dev)"]),
        ("quiz_merge_fill", 20, ["c = Tensor(Dense(Element(5)), 1)", "for i = 1:2"]),
        ("inner loop", 1, ["for j = parallel(_)", "for i = _"]),
        ("quiz_lock_taken_outside", 4, ["C = Tensor(Dense(Mutex(SparseByteMap(Element(0)))), 2, 1)"]),
        pytest.param(
            "wrong order", 8, ["C = Tensor(Dense(Mutex(Isolate(SparseByteMap(Element(5))))), 1, 2)"],
            marks=pytest.mark.deep,  # takes seconds
        ),
        ("dependent", 5, ["c = Tensor(Dense(Mutex(Element(0))), 5)"]),
        ("scalar", 5, ["s = Tensor(Mutex(Element(0)))"]),
        ("idle device", 1, ["for i = parallel(_, d)"]),
        (
            "two tensors", 6,
            ["C = Tensor(Dense(Isolate(SparseByteMap(Element(0)))), 1, 2)", "d = Tensor(Dense(Atomic(0)), 1)"],
        ),
    ],
)  # fmt: skip
def test_other_remedies(name: str, cost: int, lines: list[str]) -> None:
    """A schedule, another modifier, another order, another loop, a serial loop without what it gated, two changes."""
    assert (cost, lines) in told(name)


def test_no_advice_contains_another() -> None:
    """A fix with an Element is not repeated with an Atomic."""
    assert told("quiz_sibling_race") == [
        (5, ["dev = cpu(:dev, 2)", "c = Tensor(Merge(dev, SparseByteMap(Element(0))), 2)", "for i = parallel(_, dev)"]),
        (8, ["c = Tensor(Mutex(SparseByteMap(Element(0))), 2)"]),
        (20, ["for i = _"]),
    ]


# --------------------------------------------------------------------------------------------------- further loops


def test_further_loops_of_a_safe_program() -> None:
    """Inside of a parallel loop a further one runs on a device of its own, and costs the loops around it; a loop that
    carries a dependence is not advised.
    """
    text = """
        dev = cpu(:dev2, 2)
        A = Tensor(Dense(Dense(Element(0))), [1 2; 3 4])
        y = Tensor(Dense(Element(0)))
        Z = Tensor(Dense(Dense(Element(0))))
        y .= 0
        Z .= 0
        for j = parallel(_, dev)
            for i = _
                Z[i, j] += A[i, j]
            for k = _
                y[j] += A[k, j]
        return y, Z
    """
    (only,) = advised(text)
    assert (only.cost, only.change) == (1, "dev3 = cpu(:dev3, 2)\nfor i = parallel(_, dev3)")


def test_outer_loops_come_first() -> None:
    """Their order in the text does not matter."""
    text = """
        A = Tensor(Dense(Dense(Element(0))), [1 2; 3 4])
        y = Tensor(Dense(Element(0)), 2)
        Z = Tensor(Dense(Dense(Element(0))))
        y .= 0
        Z .= 0
        for j = _
            for i = _
                Z[i, j] += A[i, j]
        for k = _
            y[k] += k
        return y, Z
    """
    found = [(a.cost, a.change.splitlines()[1]) for a in advised(text)]
    assert found == [(0, "for j = parallel(_, dev)"), (0, "for k = parallel(_, dev)"), (1, "for i = parallel(_, dev)")]


# ----------------------------------------------------------------------------------------------------- names of devices

RACE = """
    c = Tensor(Dense(Element(0)), 1)
    c .= 0
    for i = parallel(1:2, cpu(:dev, 3))
        c[1] += 1
    for dev2 = parallel(1:2, cpu(:dev, 3))
        c[1] += dev2
    return c
"""


def test_a_device_gets_a_name_that_is_free_wherever_it_stands() -> None:
    """Its identity and its threads stay, for both loops on it."""
    merges = [a.change.splitlines() for a in advised(RACE) if "Merge" in a.change]
    assert merges[0] == [
        "dev3 = cpu(:dev, 3)", "c = Tensor(Merge(dev3, Dense(Element(0))), 1)",
        "for i = parallel(1:2, dev3)", "for dev2 = parallel(1:2, dev3)",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------------- the search


NESTED = """
    C = Tensor(Dense(SparseByteMap(Element(0))), 1, 2)
    C .= 0
    for j = parallel(1:2, cpu(2), dynamic_schedule(1))
        for i = parallel(1:2)
            C[1, j] += 1
    return C
"""


def searched(text: str, answer: Callable[[ir.Program], Report]) -> tuple[tuple[Advice, ...], int]:
    """The advice by what is answered for each changed program, and how many were asked for, none twice."""
    tree = api.parse(dedent(text)).tree
    seen = {tree}

    def recheck(changed: ir.Program) -> Report:
        assert changed not in seen
        seen.add(changed)
        return answer(changed)

    return advise(tree, checked(tree), recheck), len(seen) - 1


def test_changes_are_built_upon_each_other() -> None:
    """Of nested loops the outer one needs a shard, and the inner one a lock inside of it."""
    first = advised(NESTED)[0]
    assert (first.cost, first.change.splitlines()) == (
        7,
        [
            "dev = cpu(:dev, 2)", "C = Tensor(Dense(Shard(dev, Mutex(SparseByteMap(Element(0))))), 1, 2)",
            "for j = parallel(1:2, dev, dynamic_schedule(1))",
        ],
    )  # fmt: skip


def test_a_dearer_remedy_hides_no_cheaper_one_that_contains_it() -> None:
    """The inner loop serial repairs the program; so does, for less, the outer one parallel instead, with an Atomic."""
    text = """
        C = Tensor(Dense(Isolate(SparseByteMap(Element(0)))), 2, 2)
        d = Tensor(Dense(Element(0)), 1)
        C .= 0
        d .= 0
        for j = _
            for i = parallel(_)
                C[i, j] += i
                d[1] += 1
        return C, d
    """
    found = [(a.cost, a.change.splitlines()) for a in advised(text)]
    assert found[0] == (3, ["d = Tensor(Dense(Atomic(0)), 1)", "for j = parallel(_)", "for i = _"])


def test_nothing_is_advised_that_was_not_accepted() -> None:
    """A refusal, a meaningless program, a result that depends on the order: none is advised."""
    refused = checked(api.parse(dedent(NESTED)).tree)
    assert refused.verdict == "unsafe"

    def meaningless(changed: ir.Program) -> Report:
        raise ProgramError("it means nothing")

    for answer in (meaningless, lambda _: refused, lambda _: Report("order-dependent", "repaired", ())):
        found, asked = searched(NESTED, answer)
        assert found == ()
        assert 10 < asked <= TRIES


def test_the_cheapest_are_advised() -> None:
    """If everything is accepted: single changes, and no more is tested than is advised or contains it."""
    found, asked = searched(NESTED, lambda _: Report("safe", "repaired", ()))
    assert [a.cost for a in found] == [1, 2, 3, 3, 3]
    assert asked == MOST


def test_the_search_is_bounded() -> None:
    """Also if every change repairs a little, and none enough."""
    problems = checked(api.parse(dedent(NESTED)).tree).findings
    answers = count()

    def better(changed: ir.Program) -> Report:
        return Report("unsafe", "repaired", problems[: 1 if next(answers) > TRIES // 2 else 2])

    assert len(problems) > 2
    assert searched(NESTED, better) == ((), TRIES)


@pytest.mark.parametrize(
    ("name", "most"), [("outer product", 40), ("quiz_check_then_act", 1), ("quiz_last_writer_wins", 1)]
)
def test_no_change_is_tried_that_cannot_help_or_would_be_dearer(name: str, most: int) -> None:
    """No further change where one is cheaper, no format for a variable or for the last of several writers."""
    found, asked = searched(PROGRAMS[name], checked)
    assert found
    assert asked <= most


def test_the_tables_state_the_costs() -> None:
    """Each row of the docstring's tables gives the number that is used."""
    rows = re.findall(r"^(\S[^\n]*?) {2,}[+]?(\d+)  \S", advice.__doc__ or "", re.MULTILINE)
    assert {name: int(cost) for name, cost in rows} == {
        **{name: REGISTRY[name].cost.remedy for name in ("Atomic", "Shard", "Isolate", "Mutex", "Merge")},
        "… around the leaf": advice.AROUND_LEAF,
        "Merge below the root": advice.COPIES_BELOW_ROOT,
        "Mutex around the root": advice.LOCK_AROUND_ROOT,
        "SparseDict, now needed": REGISTRY["SparseDict"].cost.remedy,
        "static instead of dynamic": advice.STATIC,
        "an outer loop instead": advice.OUTER,
        "an inner loop instead": advice.INNER,
        "serial": advice.SERIAL,
    }


def test_a_parameter_that_is_an_extent_is_no_obstacle() -> None:
    """Changed programs are tested without it, as their extents are known."""
    text = "c = Tensor(Dense(Element(0)), n)\nc .= 0\nfor i = parallel(1:2)\nc[1] += i\nend\nreturn c"
    report = api.check(api.parse(text), params={"n": 3})
    assert report.advice and report.advice[0].change == "c = Tensor(Dense(Atomic(0)), n)"
