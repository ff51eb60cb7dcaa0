"""A shard: each position belongs to the thread that wrote there first."""

from __future__ import annotations

import pytest
from hypothesis import settings

from proofs_tests.effort import many
from proofs_tests.levels.visits import opened
from proofs_tests.towers import ByHand, broken, thread, tower
from wingspan.base.errors import Fault
from wingspan.buffers import procedures
from wingspan.lang.devices import ROOT
from wingspan.testing.formats import BOUNDED, STORAGE

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))


def test_a_position_belongs_to_the_thread_that_wrote_there_first():
    h = ByHand(tower("Dense(Shard(dev, Element(0)))", 3), task=thread("dev", 1)).whole("declare")
    h.update_all({(2,): 5})
    h.task = thread("dev", 2)
    h.update_all({(1,): 6})
    with pytest.raises(Fault, match="level 1 Shard: position 2 belongs to thread 1, and thread 2 reaches it"):
        h.update_all({(2,): 7})
    assert h.elements() == {(1,): 6, (2,): 5}
    assert [h.cell(1, "owner", p) for p in (1, 2, 3)] == [2, 1, 0]


@pytest.mark.parametrize("task", [ROOT, thread("far", 1), thread("far", 1, thread("dev", 1))])
def test_only_tasks_of_the_device_itself_update_a_shard(task):
    h = ByHand(tower("Dense(Shard(dev, Element(0)))", 3), task=task).whole("declare")
    with pytest.raises(Fault, match="position 2 is updated outside of a task of the device"):
        h.update_all({(2,): 5})


@pytest.mark.parametrize("below", [*STORAGE, *BOUNDED])
def test_each_thread_has_a_level_of_its_own(below):
    """Two threads append to it in any order, phase after phase; each freezes and thaws its own."""
    form = f"Dense(Shard(dev, {below}(Element(0))))"
    h = ByHand(tower(form, 2, 4)).whole("declare")
    written = {}
    for column, number in ((3, 2), (1, 1), (4, 1), (2, 2)):
        h.task = thread("dev", number)
        h.whole("checkout").update_all({(2, column): 10 * column}).whole("commit")
        written[2, column] = 10 * column
    h.whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == written and broken(h) == []


@pytest.mark.parametrize("below", [*STORAGE, *BOUNDED])
def test_shards_are_declared_anew(below):
    """The next phase finds nothing of what the threads claimed and wrote in the last one."""
    h = ByHand(tower(f"Dense(Shard(dev, {below}(Element(3))))", 2, 4))
    for value, columns in ((10, (3, 1)), (20, (4, 2))):
        h.whole("declare")
        for number, column in enumerate(columns, 1):
            h.task = thread("dev", number)
            h.whole("checkout").update_all({(2, column): value}).whole("commit")
        h.whole("freeze")
        assert {at: v for at, v in h.elements().items() if v != 3} == {(2, column): value for column in columns}
        assert broken(h) == []


def test_shards_of_nested_devices():
    """The figure of nested parallelism: every thread of the inner device has a level in each of the outer one's."""
    h = ByHand(tower("Dense(Shard(dev, Dense(Shard(far, SparseList(Element(0))))))", 2, 3, 2)).whole("declare")
    for j in (1, 2):
        h.task = outer = thread("dev", j)
        h.whole("checkout")
        entered = h.run(procedures.enter(h.tower, 4), **opened(h), index=j)
        q, instance = entered.result()["position"], entered.final_instance()
        assert instance == (("dev", j),)
        for i in (3, 1):
            h.task = thread("far", i, outer)
            h.run(procedures.transfer(h.tower, 3, "checkout"), instance)
            h._below(3, q, instance, [((1, i, j), 10 * i + j)])
            h.run(procedures.transfer(h.tower, 3, "commit"), instance)
        h.task = outer
        h.whole("commit")
    h.whole("freeze")
    assert h.elements() == {(1, i, j): 10 * i + j for i in (1, 3) for j in (1, 2)} and broken(h) == []
