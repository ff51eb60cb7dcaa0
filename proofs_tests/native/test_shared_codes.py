"""Codes that programs share: what may differ between programs with one code, and what may not."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from proofs_tests.towers import tower
from wingspan import api
from wingspan.base.once import Once
from wingspan.buffers import procedures
from wingspan.elaborate import Elaborated
from wingspan.native import prepared
from wingspan.native.prepared import code_of
from wingspan.plan.ir import Par, walk
from wingspan.plan.pipeline import lower

TEXT = """
dev = cpu(:t, 2)
A = Tensor(SparseList(Element(0.0)), [0.0, 2.5])
B = Tensor(Dense(Element(0.0)), [0.0, 1.5])
C = Tensor(Dense(Element(0.0)), 2)
C .= 0.0
for i = parallel(1:2, dev)
    C[i] += A[i] + 3 * B[i]
end
x = 7
return C
"""

CHANGES = {
    "literal": ("3 *", "4 *"),
    "kind of a literal": ("x = 7", "x = 7.0"),
    "fill value of an input": ("A = Tensor(SparseList(Element(0.0))", "A = Tensor(SparseList(Element(0.5))"),
    "kind of an input": ("B = Tensor(Dense(Element(0.0)), [0.0, 1.5])", "B = Tensor(Dense(Element(0)), [0, 2])"),
    "format": ("B = Tensor(Dense(", "B = Tensor(SparseList("),
    "extent": ("[0.0, 1.5]", "[0.0, 1.5, 2.0]"),
    "number of threads": ("cpu(:t, 2)", "cpu(:t, 3)"),
    "name of the device": ("cpu(:t, 2)", "cpu(:u, 2)"),
    "schedule": ("parallel(1:2, dev)", "parallel(1:2, dev, dynamic_schedule(1))"),
    "outputs": ("return C", "return C, A"),
    "order of the outputs": ("return C", "return A, C"),
}  # fmt: skip


def bound(text: str, **inputs: list[float]) -> Elaborated:
    return api.bind(api.parse(text), inputs=inputs)


def placeless(text: str) -> Elaborated:
    """The same without any spans, by which equal programs would be told apart already."""
    program = api.parse(text)
    return api.bind(replace(program, tree=program.tree.map(lambda node: replace(node, span=None))))


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("turned", [False, True])
def test_programs_that_differ_in_what_a_plan_depends_on_get_plans_of_their_own(old: str, new: str, turned: bool):
    """All of a plan is compared, whichever of the two comes first."""
    assert TEXT.count(old) == 1
    pair = [placeless(TEXT), placeless(TEXT.replace(old, new))]
    plans = [repr(lower(program, dealt=False)) for program in pair]
    assert plans[0] != plans[1]
    for k in (1, 0) if turned else (0, 1):
        assert repr(code_of(pair[k]).plan) == plans[k]


@pytest.mark.parametrize(("old", "new"), [("\ndev", "\n\ndev"), ("    C[i]", "     C[i]")])
def test_equal_programs_in_different_places_get_plans_of_their_own(old: str, new: str):
    """The spans of a plan are what its faults point to."""
    for program in bound(TEXT), bound(TEXT.replace(old, new)):
        assert repr(code_of(program).plan) == repr(lower(program, dealt=False))


def test_programs_that_differ_only_in_the_elements_of_inputs_share_a_plan_and_not_their_results():
    text = TEXT.replace(", [0.0, 2.5]", "").replace(", [0.0, 1.5]", "")
    given = [[0.0, 2.5], [0.0, 1.5]], [[1.0, 0.0], [0.5, 2.0]]
    programs = [bound(text, A=A, B=B) for A, B in given]
    assert code_of(programs[0]) is code_of(programs[1])
    results = [api.run(program, engine="native").tensors["C"].to_numpy().tolist() for program in programs]
    assert results == [[0.0, 7.0], [2.5, 6.0]]


def test_no_more_codes_are_kept_than_the_limit_says_and_the_last_ones_stay():
    codes = [code_of(bound(f"x = {k}")) for k in range(2, prepared.LIKE + 5)]
    assert len(prepared._like) == prepared.LIKE
    assert code_of(bound(f"x = {prepared.LIKE + 4}")) is codes[-1]
    assert code_of(bound("x = 2")) is not codes[0]


class Made:
    """Something that may be gone."""


def test_what_nobody_asks_for_is_forgotten_unless_somebody_has_it():
    """Of ten that are made, those that were asked for last, or all the time, and those that are in use stay."""
    fresh = Once(lambda name: Made(), 3)
    first, often = fresh("first"), weakref.ref(fresh("often"))
    made = []
    for k in range(10):
        made.append(weakref.ref(fresh(k)))
        assert fresh("often") is often()
    assert [ref() is not None for ref in made].count(True) <= 6
    assert made[0]() is None and made[-1]() is fresh(9)
    assert fresh("first") is first
    first_again = fresh("first")
    for k in range(10, 20):
        fresh(k)
    assert fresh("first") is first_again is first


def test_procedures_of_many_towers_do_not_pile_up():
    """Procedures of towers in use stay the same: states of a machine hold them."""
    towers = [tower("Dense(Element(0.0))", n) for n in range(2, 2 * procedures.KEPT + 20)]
    used = procedures.unfurl(towers[0], 2)
    made = [weakref.ref(procedures.unfurl(tower, 2)) for tower in towers]
    assert sum(ref() is not None for ref in made) <= 2 * procedures.KEPT + 1
    assert procedures.unfurl(towers[0], 2) is used is made[0]()


def test_threads_that_ask_at_the_same_time_get_one_code():
    programs = [bound(TEXT.replace("3 *", "77 *")) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(code_of, programs))
    assert all(code is codes[0] for code in codes)


@pytest.mark.parametrize(("extents", "deals"), [((2,), False), ((1023,), False), ((1024,), True), ((2, 600), True)])
def test_levels_deal_iterations_only_where_tensors_have_room_for_enough_entries(extents: tuple[int, ...], deals: bool):
    """Two threads have four copies: 4,096 entries, the grain, are in 1,024 places."""
    form = "Merge(dev, " + "Dense(" * len(extents) + "Element(0)" + ")" * len(extents) + ")"
    indices = "ij"[: len(extents)]
    text = f"dev = cpu(:t, 2)\nC = Tensor({form}, {', '.join(map(str, extents))})\nC .= 0\n"
    text += f"for k = parallel(1:2, dev)\nC[{', '.join('1' for _ in indices)}] += 1\nend\nreturn C"
    counted = [s for s in walk(code_of(bound(text)).plan.body) if isinstance(s, Par) and s.count is not None]
    assert bool(counted) == deals
