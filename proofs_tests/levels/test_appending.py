"""Levels to which indices are appended in ascending order."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import settings

from proofs_tests.effort import many
from proofs_tests.levels.visits import ONCE, enter, opened
from proofs_tests.towers import ByHand, broken, thread, tower
from wingspan.base.errors import Fault
from wingspan.buffers import procedures
from wingspan.testing.formats import legal

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))


@pytest.mark.parametrize("name", ONCE)
def test_indices_are_appended_in_ascending_order(name):
    """An index that was left before cannot be entered again, nor one before it, be it after the first one."""
    h = ByHand(tower(f"{name}(Element(0))", 6)).whole("declare")
    cursor = opened(h)
    last = 0
    for index, fine in ((2, True), (2, False), (1, False), (5, True), (4, False)):
        if not fine:
            with pytest.raises(Fault, match=rf"T, level 2 {name}: indices are .* but {index} comes after {last}"):
                h.run(procedures.enter(h.tower, 2), **cursor, index=index)
            continue
        cursor = h.run(procedures.enter(h.tower, 2), **cursor, index=index).result()
        h.run(procedures.increment(h.tower, "="), position=cursor.pop("position"), value=7)
        cursor = h.run(procedures.leave(h.tower, 2, True), **cursor, index=index).result()
        last = index
    h.run(procedures.close(h.tower, 2), **cursor)
    h.whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(2,): 7, (5,): 7} and broken(h) == []


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize(("order", "fine"), [([1, 2], True), ([2, 1], False), ([1, 1], False)])
def test_fibers_are_appended_in_ascending_order_each_once(name, order, fine):
    """Also below a level that visits a fiber again, which overwrites its pointer in Finch.jl."""
    h = ByHand(tower(f"Dense({name}(Element(0)))", 2, 2)).whole("declare")
    h.update_all({(1, order[0]): 5})
    if fine:
        h.update_all({(1, order[1]): 6})
        assert {at: v for at, v in h.whole("freeze").elements().items() if v} == {(1, 1): 5, (1, 2): 6}
    else:
        with pytest.raises(Fault, match=rf"fibers are .* but {order[1]} comes after {order[0]}"):
            h.update_all({(1, order[1]): 6})


@pytest.mark.parametrize(("above", "name"), [x for x in product(ONCE, ONCE) if legal("{}({}(Element(0)))".format(*x))])
def test_a_visit_that_writes_nothing_does_not_count(above, name):
    """An entry is dropped unless something below it was written, and the fiber may be visited again.

    Runs that cover all indices have one for those before the third.
    """
    h = ByHand(tower(f"{above}({name}(Element(0)))", 3, 3)).whole("declare")
    outer = h.run(procedures.enter(h.tower, 3), **opened(h), index=1).result()
    q = outer.pop("position")
    h.run(procedures.close(h.tower, 2), **opened(h, q, 2))
    outer = h.run(procedures.enter(h.tower, 3), **outer, index=3).result()
    assert outer.pop("position") == q + (above == "RunList")
    h.run(procedures.close(h.tower, 3), **outer)
    h.update_all({(2, 2): 7}).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v} == {(2, 2): 7} and broken(h) == []


@pytest.mark.parametrize("name", ONCE)
def test_skipped_and_empty_fibers_are_all_fill(name):
    """Before the first one, between, after the last one, and visited in vain; then fibers after all of them."""
    h = ByHand(tower(f"Dense({name}(Element(3)))", 4, 7)).whole("declare")
    h.update_all({(2, 2): 5})
    h.run(procedures.close(h.tower, 2), **opened(h, 3, 2))
    h.update_all({(1, 5): 6, (4, 5): 6}).whole("freeze", "thaw")
    h.update_all({(4, 7): 3}).whole("freeze")
    assert {at: v for at, v in h.elements().items() if v != 3} == {(2, 2): 5, (1, 5): 6, (4, 5): 6}
    assert {column for _, column in h.elements()} == {2, 5, 7} and broken(h) == []


def test_a_band_forgets_what_was_entered_in_vain_before_it_began():
    """The child of its first index is a new one, though one was made there: who writes nothing claims nothing."""
    h = ByHand(tower("SparseBand(Shard(dev, Element(0)))", 4), task=thread("dev", 1)).whole("declare")
    _, cursor = enter(h, opened(h), 1)
    h.task = thread("dev", 2)
    del cursor["1.key"]
    entered = h.run(procedures.enter(h.tower, 2), **cursor, index=3)
    cursor = entered.result()
    h.run(procedures.increment(h.tower, "+"), entered.final_instance(), position=cursor.pop("position"), value=5)
    h.run(procedures.close(h.tower, 2), **h.run(procedures.leave(h.tower, 2, True), **cursor, index=3).result())
    h.whole("freeze")
    assert h.elements() == {(3,): 5} and broken(h) == []
