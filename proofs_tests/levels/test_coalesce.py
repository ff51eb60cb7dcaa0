"""P22: copies of a level are brought together as if their elements were folded by ⊕.

The oracle is plain Python on dictionaries: an element's value is its operator applied to what was written there, in any
order, which is what a fold of the copies must give where ⊕ is associative and commutative and x ⊕ fill = x. By = it is
what was written there last, if the tasks come in the order of the threads.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import ByHand, broken, member, tower
from wingspan.base.errors import Fault
from wingspan.buffers.frames import Cell
from wingspan.lang.algebra import exact
from wingspan.lang.devices import Device
from wingspan.levels import REGISTRY
from wingspan.testing.choosing import drawn_by
from wingspan.testing.formats import LEAVES, MERGED, MODIFIERS, fitting, random_format, rank_of, wrap_in_modifiers

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))

MEANS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max,
    "&&": lambda a, b: a and b, "||": lambda a, b: a or b, "=": lambda a, b: b,
}  # fmt: skip
PHASES = {"0": "+-", "1": "*", "0.0": "+-", "1.0": "*", "true": ["&&"], "false": ["||"], "9": ["min"], "-9": ["max"]}
"""The operators that a fill value is neutral to, among the values below; written so in formats."""
REENTERED = ("Dense({})", "SparseByteMap({})", "SparseDict({})")

Element = tuple[tuple[int, ...], Any]


def worth(fill: str) -> Any:
    """A fill value as a Python number."""
    return {"true": True, "false": False}[fill] if fill.isalpha() else float(fill) if "." in fill else int(fill)


def devices(threads: int) -> dict[str, Device]:
    """`dev` with so many threads, and `far`, nested or not, with one more."""
    return {"dev": Device("dev", threads), "far": Device("far", threads + 1)}


@dataclass(frozen=True)
class Updates:
    """A format with a Merge(dev, …) in it, and in each phase what the tasks write, in the order of their arrival."""

    around: str
    below: str
    shape: tuple[int, ...]
    fill: str
    phases: tuple[tuple[str, tuple[tuple[Element, ...], ...]], ...]

    def expected(self) -> dict[tuple[int, ...], Any]:
        """Every element that was written, by its value."""
        found: dict[tuple[int, ...], Any] = {}
        for op, tasks in self.phases:
            for elements in tasks:
                for at, value in elements:
                    found[at] = MEANS[op](found.get(at, worth(self.fill)), value)
        return {at: exact(value) for at, value in found.items()}

    def run(
        self,
        threads: int = 3,
        order: tuple[int, ...] = (1, 2, 3),
        idle: bool = False,
        by: type[ByHand] = ByHand,
    ) -> ByHand:
        """The tensor after all phases; the k-th task is thread order[k] of dev, and of far counted from the last.

        Invariants hold throughout. With `idle`, threads that write nothing come and go too.
        """
        h = by(tower(self.around.format(self.below), *self.shape, devices=devices(threads)))
        for k, (op, tasks) in enumerate(self.phases):
            h.op = op
            h.whole("thaw" if k else "declare")
            for q, elements in zip(order, tasks, strict=False):
                h.task = member(dev=q, far=threads + 2 - q)
                h.whole("checkout")
                if elements:
                    h.update_all(elements)
                h.whole("commit")
                if idle:
                    h.task = member(dev=threads, far=1)
                    h.whole("checkout", "commit")
            h.whole("freeze")
            assert broken(h) == []
        return h


@st.composite
def updates(
    draw: st.DrawFn, below: tuple[str, ...] = MODIFIERS, above: bool = True, overwriting: bool = False
) -> Updates:
    """Up to three phases of up to three tasks; levels above the Merge are such as several tasks visit."""
    fill = draw(st.sampled_from(sorted(PHASES)))
    rank = draw(st.integers(0, 2))
    choose = drawn_by(draw)
    form = random_format(choose, f"{choose.pick(LEAVES)}({fill})", rank, MERGED, below)
    if rank < 2 and draw(st.integers(0, 3)) == 0:
        form = wrap_in_modifiers(choose, f"SparseCOO({draw(st.integers(2, 3))}, {form})", below, 1)
    around = "Merge(dev, {})"
    if above and draw(st.booleans()):
        around = draw(st.sampled_from(REENTERED)).format(
            wrap_in_modifiers(choose, around, ("Mutex({})", "Isolate({})"))
        )
    around = wrap_in_modifiers(choose, around, ("Mutex({})", "Isolate({})"), 1) if above else around
    assume(not ("SparseDict" in around and "SparseList" in form))  # fibers come in the order of their arrival
    shape = tuple(draw(st.integers(0, 3)) for _ in range(rank_of(around.format(form))))
    return Updates(around, form, shape, fill, draw(phases(fill, shape, overwriting)))


@st.composite
def phases(draw: st.DrawFn, fill: str, shape: tuple[int, ...], overwriting: bool = False) -> Any:
    """For each phase an operator and the elements that each task writes, now and then one twice, and the fill value."""
    z = worth(fill)
    values = st.booleans() if isinstance(z, bool) else st.sampled_from([z, *map(type(z), (-2, -1, 0, 1, 3))])
    at = st.tuples(*(st.integers(1, n) for n in shape))
    elements = st.lists(st.tuples(at, values), max_size=4).map(tuple) if all(shape) else st.just(())
    tasks = st.lists(elements, min_size=1, max_size=3).map(tuple)
    operators = st.sampled_from([*PHASES[fill], *(["="] if overwriting else [])])
    return draw(st.lists(st.tuples(operators, tasks), min_size=1, max_size=3).map(tuple))


def dense(h: ByHand) -> list[Any]:
    """All the elements, stored or not."""
    values: list[Any] = h.tensor().to_exact().flatten().tolist()
    return values


# ----------------------------------------------------------------------------------------------------- what it computes


TWO_COLUMNS = Updates(
    "Merge(dev, {})", "Dense(Dense(Element(0)))", (2, 2), "0",
    (("+", ((((1, 1), 1), ((2, 2), 3)), (((2, 1), 5), ((2, 2), 7)))),),
)  # fmt: skip
TWO_PAGES = Updates(
    "Merge(dev, {})", "Dense(Dense(SparseList(Element(0))))", (2, 2, 2), "0",
    (("+", ((((1, 1, 1), 1), ((2, 2, 2), 3)), (((2, 1, 1), 5), ((2, 2, 2), 7)))),),
)  # fmt: skip
"""Fibers that are no leaves, of several groups."""


@derandomized
@given(updates(overwriting=True))
@example(TWO_COLUMNS)
@example(TWO_PAGES)
def test_copies_are_folded(case: Updates) -> None:
    """P22: in any tower, with what was there before thawing; - is folded by +; the merged level keeps invariants.

    By =, a copy replaces what its thread has set, be it by the fill value, and nothing else.
    """
    expected = np.full(case.shape, exact(worth(case.fill)), dtype=object)
    for at, value in case.expected().items():
        expected[tuple(i - 1 for i in at)] = value
    assert dense(case.run()) == expected.flatten().tolist()


class Expecting(ByHand):
    """Has each SparseByteMap expect more updates than it has words."""

    def load(self, cell: Cell, position: int | None, index: int | None) -> Any:
        return 10**9 if cell.buffer == "likely" else super().load(cell, position, index)


@derandomized
@given(updates().filter(lambda case: "SparseByteMap" in case.below))
def test_copies_that_are_flags_are_folded(case: Updates) -> None:
    assert case.run(by=Expecting).elements() == case.run().elements()


@derandomized
@given(updates(), st.permutations([1, 2, 3, 4]), st.integers(0, 3), st.booleans())
def test_neither_threads_nor_their_order_matter(case: Updates, order: list[int], more: int, idle: bool) -> None:
    """P22: whichever threads the tasks are, how many there are, which come first, and how many have nothing to do.

    `Sparse` levels store the same elements too: an empty copy is neutral.
    """
    one, other = case.run(), case.run(threads=4 + more, order=tuple(order), idle=idle)
    assert dense(one) == dense(other)
    assert one.elements() == other.elements()


@derandomized
@given(updates(above=False))
def test_one_copy_is_the_identity(case: Updates) -> None:
    """P22: one thread's copy, merged, stores what the level without a Merge stores."""
    phase = (case.phases[0][0], (case.phases[0][1][0],))
    merged, bare = replace(case, phases=(phase,)), replace(case, phases=(phase,), around="{}")
    assert merged.run(threads=1).elements() == bare.run(threads=1).elements()


@derandomized
@given(updates(), st.data())
def test_it_commutes_with_the_levels_below(case: Updates, data: st.DataObject) -> None:
    """P22: two towers that differ below the Merge give one result."""
    other = random_format(drawn_by(data.draw), f"Element({case.fill})", rank_of(case.below), MERGED, MODIFIERS)
    assert dense(case.run()) == dense(replace(case, below=other).run())


@pytest.mark.parametrize("form", ["RunList(Dense(Element(0)))", "SparseRunList(Dense(Mutex(Element(0))))"])
def test_columns_of_runs_are_folded(form: str) -> None:
    """Columns 1 and 2 become equal by the fold, and the one after them moves, with all of its elements."""
    first = (((1, 1), 1), ((1, 2), 3), ((2, 3), 7))
    second = (((1, 1), 2), ((1, 3), 5))
    h = Updates("Merge(dev, {})", form, (2, 3), "0", (("+", (first, second)),)).run()
    assert dense(h) == [3, 3, 5, 0, 0, 7]
    assert [(a, b) for a, b, _, _ in h.tensor()._reader().stretches(3, 1, ())] == [(1, 2), (3, 3)]


# ----------------------------------------------------------------------------------------- levels that hold one index


def points(*tasks: tuple[tuple[int, int], ...]) -> Updates:
    """Tasks that each add 1 at some (index, column) of a matrix of points."""
    phase = tuple(tuple((at, 1) for at in task) for task in tasks)
    return Updates("Merge(dev, {})", "Dense(SparsePoint(Element(0)))", (3, 3), "0", (("+", phase),))


def test_copies_of_a_point_have_one_index() -> None:
    """Columns that one task has, two, none; then two that disagree."""
    case = points(((2, 1), (3, 3)), (), ((2, 1), (1, 2)))
    assert case.run().elements() == {(2, 1): 2, (1, 2): 1, (3, 3): 1}
    with pytest.raises(Fault, match="one copy of a fiber has the index 2, and another one 3"):
        points(((2, 1),), ((3, 1),)).run()


# -------------------------------------------------------------------------------------------- what is stored, and order

SPARSE = tuple(name for name in MERGED if not REGISTRY[name].may_be_empty)


@st.composite
def sparse_updates(draw: st.DrawFn) -> Updates:
    """Sparse levels only below the Merge, one or two of them, any operator and fill value, - aside."""
    fill = draw(st.sampled_from(["0", "2", "-0.5", "true"]))
    ops = ["&&", "||", "="] if fill == "true" else ["+", "*", "min", "max", "="]
    form = f"Element({fill})"
    for _ in range(draw(st.integers(1, 2))):
        form = f"{draw(st.sampled_from([f'{name}(' for name in fitting(SPARSE, form)] + ['SparseCOO(2, ']))}{form})"
    shape = tuple(draw(st.integers(0, 3)) for _ in range(rank_of(form)))
    (_, tasks), *_ = draw(phases("true" if fill == "true" else "0", shape))
    return Updates("Merge(dev, {})", form, shape, fill, ((draw(st.sampled_from(ops)), tasks),))


@derandomized
@given(sparse_updates(), st.permutations([1, 2, 3]))
def test_elements_fold_in_the_order_of_the_threads(case: Updates, order: list[int]) -> None:
    """P22: exactly what some copy stores is stored; each is its copies' values by ⊕, by ascending thread number."""
    ((op, tasks),) = case.phases
    copies: dict[int, dict[tuple[int, ...], Any]] = {}
    for q, elements in zip(order, tasks, strict=False):
        for at, value in elements:
            copy = copies.setdefault(q, {})
            copy[at] = MEANS[op](copy.get(at, exact(worth(case.fill))), exact(value))
    expected: dict[tuple[int, ...], Any] = {}
    for q in sorted(copies):
        for at, value in copies[q].items():
            expected[at] = MEANS[op](expected[at], value) if at in expected else value
    assert case.run(order=tuple(order)).elements() == expected


@derandomized
@given(sparse_updates(), st.data())
def test_what_was_there_comes_first(case: Updates, data: st.DataObject) -> None:
    """P22: after thawing, the old elements stay, and are the first that a fold takes; the copies start anew."""
    early = case.phases[0][1][0]
    later = tuple((at, data.draw(st.sampled_from([value for _, value in early]))) for at, _ in early[1:])
    assert replace(case, phases=(("=", (early,)), ("=", (later,)))).run().elements() == {
        at: exact(value) for at, value in (dict(early) | dict(later)).items()
    }


def test_the_only_copy_is_the_merged_level_until_it_is_thawed() -> None:
    """Nothing is copied then; what is handed over is folded in by the next phase, whatever ⊕ that has."""
    h = ByHand(tower("Merge(dev, SparseByteMap(Element(0)))", 9, devices=devices(3)), task=member(dev=2))
    h.op = "+"
    h.whole("declare", "checkout").update_all({(2,): 5, (9,): 7}).whole("commit")
    h.log.clear()
    h.whole("freeze")
    assert h.cell(0, "now", 1) == 2 and not any(buffer in ("val", "tbl") for _, buffer, _ in h.log)
    assert h.elements() == {(2,): 5, (9,): 7} and broken(h) == []
    h.op = "="
    h.whole("thaw", "checkout").update_all({(2,): 1, (3,): 4}).whole("commit", "freeze")
    assert h.cell(0, "now", 1) == 4 and h.elements() == {(2,): 1, (3,): 4, (9,): 7} and broken(h) == []


def test_a_copy_without_all_fibers_is_folded() -> None:
    """A thread that has come to the first position only has not assembled the others, which hold the fill value."""
    h = ByHand(tower("Dense(Merge(dev, Dense(Element(7))))", 2, 3, devices=devices(2)), task=member(dev=1))
    h.op = "min"
    h.whole("declare", "checkout").update_all({(2, 1): 5}).whole("commit", "freeze")
    assert h.cell(1, "now", 1) == 0 and dense(h) == [7, 7, 7, 5, 7, 7] and broken(h) == []


def test_a_fiber_that_comes_after_thawing_holds_nothing_yet() -> None:
    """A new fiber of a thawed Merge has nothing to be folded in, whatever lies where the old level would have it."""
    h = ByHand(tower("SparseDict(Merge(dev, Dense(Element(7))))", 1, 3, devices=devices(2)), task=member(dev=1))
    h.op = "min"
    for written in ({(1, 3): 1, (1, 1): 1}, {}):
        h.whole("declare", "checkout").update_all(written).whole("commit", "freeze")
        h.whole("thaw", "checkout").update_all({(1, 2): 5}).whole("commit", "freeze")
        assert h.elements() == {**written, (1, 2): 5} and broken(h) == []


@pytest.mark.parametrize("form", [
    "Merge(dev, Dense(Merge(far, Dense(Element(0)))))", "Merge(dev, SparseDict(Shard(far, SparseDict(Element(0)))))",
    "Merge(dev, Isolate(SparseDict(Merge(far, SparseByteMap(Element(0))))))",
    "Merge(far, Merge(dev, Isolate(Dense(Isolate(SparseList(Element(0)))))))",
])  # fmt: skip
def test_copies_of_copies_are_folded(form: str) -> None:
    """P22: every thread of far has a copy in every copy; with as many threads as elements, none is lost or doubled."""
    h = ByHand(tower(form, 3, 4, devices=devices(3)), op="+").whole("declare")
    expected: dict[tuple[int, ...], int] = {}
    for dev, far in ((3, 4), (1, 1), (2, 3), (1, 2), (3, 1)):
        h.task = member(dev=dev, far=far)
        column = dev if "Shard" not in form else far
        mine = {(i, column): 10 * dev + far + i for i in (1, 3)}
        h.whole("checkout").update_all(mine).whole("commit")
        for at, value in mine.items():
            expected[at] = expected.get(at, 0) + value
    h.whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == expected and broken(h) == []
