"""Levels with one entry or one run: points and intervals."""

from __future__ import annotations

import pytest
from hypothesis import settings

from proofs_tests.effort import many
from proofs_tests.levels.visits import RUNS, enter, opened
from proofs_tests.towers import ByHand, broken, tower
from wingspan.base.errors import Fault, ProgramError
from wingspan.buffers import procedures

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))


# -------------------------------------------------------------------------------------------------------------- points


def test_a_point_takes_one_index_and_others_only_in_vain():
    """A second index may be entered; what is written there, also by a visit within a visit, is a fault."""
    h = ByHand(tower("Dense(SparsePoint(Element(0)))", 3, 2)).whole("declare")
    h.update_all({(2, 1): 5, (3, 2): 7}, op="+")
    enter(h, opened(h, 1, 2), 1)
    h.update_all({(2, 1): 1}).whole("freeze")
    assert h.elements() == {(2, 1): 6, (3, 2): 7} and broken(h) == []
    h.whole("thaw")
    with pytest.raises(Fault, match="T, level 2 SparsePoint: a fiber has one index, but 1 comes after 2"):
        h.update_all({(1, 1): 1})


def test_a_visit_of_a_point_within_a_visit_is_a_fault_unless_the_index_is_the_same():
    for index, fine in ((2, True), (1, False)):
        h = ByHand(tower("SparsePoint(Element(0))", 3)).whole("declare")
        q, outer = enter(h, opened(h), 2)
        h.run(procedures.increment(h.tower, "+"), position=q, value=1)
        h.update_all({(index,): 2}, op="+")
        if not fine:
            with pytest.raises(Fault, match="a fiber has one index, but 2 comes after 1"):
                h.run(procedures.leave(h.tower, 2, True), **outer, index=2)
            continue
        h.run(procedures.leave(h.tower, 2, True), **outer, index=2)
        h.whole("freeze")
        assert h.elements() == {(2,): 3} and broken(h) == []


# ------------------------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ([(2, 5)], None),
        ([(2, 5), (3, 5), (4, 5)], None),
        ([(2, 5), (4, 5)], "a fiber has one run, but 4 comes after 2"),
        ([(2, 5), (1, 5)], "a fiber has one run, but 1 comes after 2"),
        ([(2, 5), (2, 5)], "a fiber has one run, but 2 comes after 2"),
        ([(2, 5), (3, 6)], "a fiber has one run of equal children, but that of 3 differs"),
    ],
)
def test_an_interval_is_one_run(written, fault):
    """Each index by a visit of its own; also after one index alone, which Finch.jl overwrites."""
    h = ByHand(tower("Dense(SparseInterval(Dense(Element(0))))", 1, 4, 1), op="+").whole("declare")
    for i, v in written[:-1]:
        h.update_all({(1, i, 1): v})
    if fault is None:
        h.update_all({(1, i, 1): v for i, v in written[-1:]}).whole("freeze")
        assert h.elements() == {(1, i, 1): v for i, v in written} and broken(h) == []
        return
    with pytest.raises(Fault, match=f"T, level 3 SparseInterval: {fault}"):
        h.update_all({(1, i, 1): v for i, v in written[-1:]})


def test_a_visit_of_an_interval_within_a_visit_is_a_fault():
    """The inner one has written the child that the outer one meant to write."""
    h = ByHand(tower("SparseInterval(Element(0))", 3)).whole("declare")
    q, outer = enter(h, opened(h), 2)
    h.run(procedures.increment(h.tower, "+"), position=q, value=1)
    h.update_all({(2,): 2}, op="+")
    with pytest.raises(Fault, match="the fiber ends at 2, and not at 0, as a visit within this one has written it"):
        h.run(procedures.leave(h.tower, 2, True), **outer, index=2)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("below", ["SparseDict(Element(0))", "SparsePoint(Element(0))", "Isolate(Element(0))"])
def test_runs_are_refused_around_what_cannot_be_compared(name, below):
    for form in (f"{name}({below})", f"{name}(Dense({below}))", f"Dense(Mutex({name}(Mutex({below}))))"):
        wrapped = below.partition("(")[0]
        with pytest.raises(ProgramError, match=f"{name} cannot wrap {wrapped}, whose fibers it cannot compare"):
            tower(form)


@pytest.mark.parametrize("below", ["SparseList(Element(0))", "Dense(Mutex(SparseList(Element(0))))"])
def test_an_interval_is_refused_around_fibers_that_vary_in_size(below):
    """It compares children as they are written, and lists can be compared only when they are frozen."""
    with pytest.raises(ProgramError, match="SparseInterval compares fibers while they are written") as refused:
        tower(f"SparseInterval({below})")
    assert "SparseRunList" in str(refused.value.fix) and tower(f"SparseRunList({below})")
