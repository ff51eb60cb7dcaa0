"""Formats that a user adds: every reader goes by their text, or refuses what it does not know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few
from proofs_tests.printed_c import PrintedC
from wingspan import ProgramError, Tensor, api
from wingspan.base.errors import InternalError
from wingspan.levels import REGISTRY, Identity, UpdateOrder
from wingspan.levels.base import Buffer, Leaf, Modifier, Storage
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.sparse_dict import SparseDict
from wingspan.program import parse
from wingspan.runtime.memory import result

AT_REST = """
    def declare():
        pass
    def freeze(P):
        pass
    def thaw(P):
        pass
"""


@dataclass(frozen=True)
class Halves(Leaf):
    """An element is the sum of two cells; no buffer is called `val`."""

    buffers = (Buffer("left", "value", "positions", "a summand"), Buffer("right", "value", "positions", "the other"))
    operations = f"""{AT_REST}
    def assemble(p):
        left[p] = z
        right[p] = z - z
    def unwrap(p):
        return left[p] + right[p]
    def increment(p, v):
        if overwrites:
            left[p] = v - 1
            right[p] = v - v + 1
        else:
            right[p] = combine(left[p] + right[p], v) - left[p]
    """


@dataclass(frozen=True)
class Opposite(Element):
    """Derived from Element, with the negative of each value in its `val`."""

    operations = f"""{AT_REST}
    def assemble(p):
        val[p] = z - z - z
    def unwrap(p):
        old = val[p]
        return old - old - old
    def increment(p, v):
        if overwrites:
            val[p] = v - v - v
        else:
            old = val[p]
            new = combine(old - old - old, v)
            val[p] = new - new - new
    """


@dataclass(frozen=True)
class Constant(Leaf):
    """Stores nothing at all: every element is the fill value."""

    operations = f"""{AT_REST}
    def assemble(p):
        pass
    def unwrap(p):
        return z
    def increment(p, v):
        pass
    """


@dataclass(frozen=True)
class Backwards(Dense):
    """Derived from Dense, with the children of each fiber in descending order of the indices."""

    operations = Dense.operations.replace("(c.p - 1) * n + i", "c.p * n + 1 - i")


@dataclass(frozen=True)
class Point(Storage):
    """A fiber has one entry at most."""

    cursor = ("i",)
    assembles = True
    buffers = (Buffer("idx", "index", "positions", "the index of the entry of fiber p, 0 if it has none"),)
    operations = """
    def declare():
        child.declare()
    def assemble(p):
        idx[p] = 0
        child.assemble(p)
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def unfurl(c):
        c.i = idx[c.p]
    def seek(c, i):
        if c.i < i:
            c.i = 0
    def index(c):
        return c.i
    def child(c, i):
        return c.p if c.i == i else 0
    def next(c, i):
        if c.i == i:
            c.i = 0
    def open(c):
        c.i = 0
    def enter(c, i):
        at = idx[c.p]
        check(at == 0 or at == i, "the fiber has the index {at}, and not {i} too")
        return c.p
    def exit(c, i):
        idx[c.p] = i
    def close(c):
        pass
    """


@dataclass(frozen=True)
class Counted(Modifier):
    """Counts the visits, in a cell that all tasks share: no two may take effect at once."""

    buffers = (Buffer("visits", "count", "1", "how many there were"),)
    operations = """
    def declare():
        child.declare()
    def assemble(p):
        child.assemble(p)
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def bind(p):
        visits[1] = visits[1] + 1
        return p
    def bind_read(p):
        return p
    """


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for level in (Halves, Opposite, Constant, Backwards, Point, Counted):
        monkeypatch.setitem(REGISTRY, level.__name__, level)


DATA = {"0": np.array([[0, 5], [3, 0]]), "0.0": np.array([[0.0, 0.5], [-3.0, 0.0]])}
"""Arrays that a fiber with one entry can hold, by the fill value."""

COPY = """
A = Tensor({form}, 2, 2)
C = Tensor({form}, 2, 2)
C .= {fill}
for j = 1:2
    for i = 1:2
        if i != j
            C[i, j] = A[i, j]
        end
    end
end
return C
"""
TOWERS = (
    "Dense(Dense({}))", "Dense(SparseList({}))", "Backwards(SparseDict({}))", "SparseList(Backwards({}))",
    "SparseByteMap(Point({}))", "Isolate(Dense(Point({})))",
)  # fmt: skip
LEAVES = ("Halves(0)", "Halves(0.0)", "Opposite(0)", "Constant(0)", "Element(0.0)")
FORMS = [tower.format(leaf) for tower in TOWERS for leaf in LEAVES]


def fill_of(form: str) -> str:
    return "0.0" if "0.0" in form else "0"


def expected(form: str) -> np.ndarray:
    """The elements of a tensor in this format that was made of DATA."""
    return DATA[fill_of(form)] * ("Constant" not in form)


def agrees(tensor: Tensor, array: np.ndarray) -> bool:
    """Whether all ways of reading a tensor say that it holds the array."""
    found = {at: value for at, value in tensor.entries() if value}
    wanted = {(int(i) + 1, int(j) + 1): array[i, j] for i, j in np.argwhere(array)}
    same = np.array_equal(tensor.to_numpy(), array) and np.array_equal(tensor.to_scipy().toarray(), array)
    return same and bool((tensor.to_exact() == array).all()) and found == wanted


@pytest.mark.parametrize("form", few(FORMS, 5))
def test_levels_of_a_users_own_are_read_by_their_own_operations(form: str) -> None:
    """From an array, and from every engine: as arrays, as entries, and as an input of the next run."""
    array = expected(form)
    made = Tensor.from_numpy(form, DATA[fill_of(form)])
    assert agrees(made, array)
    program = parse(COPY.format(form=form, fill=fill_of(form)))
    for engine in api.ENGINES:
        copied = api.run(program, engine=engine, inputs={"A": made}).tensors["C"]
        assert agrees(copied, array), engine
        again = api.run(program, engine="native", inputs={"A": copied}).tensors["C"]
        assert agrees(again, array) and str(again).splitlines()[1:] == str(copied).splitlines()[1:]


def test_a_level_derived_from_one_of_the_package_is_not_taken_for_it() -> None:
    """Its buffers may have the same names and another meaning."""
    mine = Tensor.from_numpy("Dense(Opposite(0))", [4, 0, 7])
    cells = {cell.offset: value for cell, value in mine.cells.values.items() if cell.buffer == "val"}
    assert cells == {1: -4, 2: 0, 3: -7}
    read = result(mine.tower, {(1, "val", ()): np.array([-4, 0, -7])}, 0)
    assert read.to_numpy().tolist() == [4, 0, 7] and [value for _, value in read.entries()] == [4, 0, 7]


@needs_compiler
@pytest.mark.parametrize("form", ["Dense(Backwards(Halves(0)))", "Dense(SparseList(Constant(0)))"])
def test_a_printed_program_takes_inputs_with_levels_of_a_users_own(form: str) -> None:
    """Also of a leaf that has no buffers."""
    bound = api.bind(parse(COPY.format(form=form, fill=0)), inputs={"A": DATA["0"]})
    made = PrintedC().run(bound, {})["C"]
    assert agrees(made, expected(form))


@dataclass(frozen=True)
class Numbered(Element):
    """Stores a number for whatever it is given."""

    operations = Element.operations.replace("val[p] = fit(v)", "val[p] = 1")


def test_a_number_stored_for_a_truth_value_is_a_defect_of_the_level(monkeypatch) -> None:
    """Of a double it is the number that it says, in every engine."""
    monkeypatch.setitem(REGISTRY, "Numbered", Numbered)
    text = "c = Tensor(Numbered({}))\nc .= {}\nc[] = {}"
    for engine in api.ENGINES[2:]:
        assert api.run(parse(text.format(0.0, 0.0, 7.5)), engine=engine).tensors["c"].to_numpy() == 1.0
        with pytest.raises(InternalError, match=r"Numbered\(false\): increment puts an int in the place of a bool"):
            api.run(parse(text.format("false", "false", "true")), engine=engine)


@dataclass(frozen=True)
class First(Point):
    """A Point whose buffer has the name of one that levels have for coalesce."""

    buffers = (Buffer("first", "index", "positions", "the index of the entry"),)
    operations = f"""{Point.operations.replace("idx", "first").rstrip()}
    def coalesce(local, global_, task, m, P):
        pass
    """


def test_a_buffer_is_not_taken_for_one_of_coalesce_by_its_name(monkeypatch) -> None:
    """It is handed back with the others; where the two would meet, the level is refused."""
    monkeypatch.setitem(REGISTRY, "First", First)
    program = parse(COPY.format(form="Dense(First(Element(0)))", fill=0))
    assert agrees(api.run(program, engine="native", inputs={"A": DATA["0"]}).tensors["C"], DATA["0"])
    lines = "d = cpu(:d, 2)", "c = Tensor(Merge(d, First(Element(0))), 2)", "c .= 0", "for i = parallel(1:1, d)"
    merged = parse("\n".join([*lines, "c[i] += 1", "end"]))
    for engine in ("semantics", "native"):
        with pytest.raises(InternalError, match="First: coalesce has a buffer first of its own"):
            api.run(merged, engine=engine)


RACE = """
c = Tensor(Dense({leaf}(0)), 1)
c .= 0
for i = parallel(1:2)
    c[1] += i
end
"""


def test_a_leaf_of_a_users_own_is_explored_and_judged_by_what_it_says() -> None:
    """It supports nothing unless it says so, and tasks that meet in it lose updates."""
    program = parse(RACE.format(leaf="Halves"))
    verdict = api.explore(program).verdict
    assert verdict.verdict == "race" and {race.level_name for race in verdict.races} == {"Halves"}
    assert {result.outcome.values()["c"][0] for result in verdict.results} >= {1, 2, 3}
    assert api.check(program, budget=0).verdict == "unsafe"


@pytest.mark.parametrize("test", ["printed", "repaired", "exact"])
def test_a_modifier_that_the_test_does_not_know_is_refused(test) -> None:
    """Its own cells may be shared, as here, where different elements are updated and the tasks race."""
    program = parse("c = Tensor(Dense(Counted(Element(0))), 2)\nc .= 0\nfor i = parallel(1:2)\nc[i] += 1\nend")
    assert api.explore(program).verdict.verdict == "race"
    with pytest.raises(ProgramError, match="does not know what Counted does to the level"):
        api.check(program, test=test)
    with pytest.raises(ProgramError, match="does not know what Counted does to the level"):
        api.run(program, engine="native")


VISITS = {
    "turns at two indices": ("Mutex({}(Element(0))), 2", "k = parallel(1:2); i = k:k", "T[i]"),
    "turns at one index": ("Mutex({}(Element(0))), 2", "k = parallel(1:2); i = 1:1", "T[i]"),
    "turns below": ("Mutex({}(SparseList(Element(0)))), 2, 2", "k = parallel(1:2); j = k:k; i = 1:1", "T[i, j]"),
    "a second visit": ("Dense({}(Element(0))), 2, 2", "k = 1:2; j = 1:2; i = 1:1", "T[i, j]"),
}  # fmt: skip
"""Formats, loops and updates, which are safe if the level is a SparseDict."""


def accepted(**stated: object) -> set[str]:
    """The visits that `check` accepts if SparseDict stated this."""
    found = set()
    with wingspan.registered(type("Mine", (SparseDict,), stated)):
        for name, (form, loops, update) in VISITS.items():
            heads = [f"for {loop}" for loop in loops.split("; ")]
            lines = (f"T = Tensor({form.format('Mine')})", "T .= 0", *heads, f"{update} += 1", *["end"] * len(heads))
            found |= {name} if api.check(parse("\n".join(lines)), test="exact", budget=0).verdict == "safe" else set()
    return found


@pytest.mark.parametrize(
    ("trait", "stated", "lost"),
    [
        ({"order": UpdateOrder.APPEND}, {"once": True}, {*VISITS}),
        ({"order": UpdateOrder.ONE_INDEX}, {"turns": {"node"}}, {"turns at two indices", "turns below"}),
        (
            {"order": UpdateOrder.CONTIGUOUS},
            {"turns": frozenset()},
            {"turns at two indices", "turns at one index", "turns below"},
        ),
        ({"identity": Identity.APPENDED}, {"numbers_arrivals": False}, {"turns below"}),
    ],
    ids=["once", "turns, one index", "turns, none", "numbers_arrivals"],
)
def test_a_trait_and_the_attribute_that_follows_from_it_say_the_same(trait, stated, lost) -> None:
    """A class may state either; derived from one that states the trait, it may state the attribute."""
    assert accepted() == {*VISITS}
    assert accepted(**trait) == accepted(**stated) == {*VISITS} - lost
    assert accepted(**trait, **{name: getattr(SparseDict, name) for name in stated}) == {*VISITS}
