"""Indices of a fiber of SparsePoint or SparseInterval have one child: two of them are not updated at the same time."""

from __future__ import annotations

import pytest

from wingspan import api

NESTED = """
d = cpu(:d, 2)
T = Tensor({level}(Element(0)), 3)
T .= 0
for j = 1:1
    for k = {k}
        {body}
    end
end
"""
IN_TASKS = "for i = parallel(1:2, d); if i == 1; T[j] += 1; end; if i == 2; T[k] += 1; end; end"
LEVELS = ("SparsePoint", "SparseInterval")


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize("body", [IN_TASKS, "T[j] += 1; T[k] += 1"], ids=["in tasks", "serial"])
@pytest.mark.parametrize("level", LEVELS)
def test_two_indices_of_one_child_are_refused(level, body, test):
    """Two tasks race for the child; in one task an entry is lost: the second index hides that the first was written."""
    program = api.parse(NESTED.format(level=level, k="j+1:j+1", body=body))
    assert [found.topic for found in api.check(program, test=test, budget=0).findings] == ["overlap"]
    assert api.explore(program).verdict.verdict in ("race", "wrong")


def test_one_index_of_a_point_twice_is_accepted():
    """The second access is to the same element."""
    program = api.parse(NESTED.format(level="SparsePoint", k="j:j", body="T[j] += 1; T[k] += 1"))
    assert api.check(program, budget=0).verdict == "safe"
    assert api.explore(program).verdict.verdict == "safe"


ENTERED_AGAIN = {
    "serial": """
        T = Tensor(SparseInterval(Element(0)), 2)
        T .= 0
        for j = 1:2
            T[j] += 1
            for k = j:j
                if j == 0; T[k] += 1; end
            end
        end
    """,
    "in tasks": """
        d = cpu(:d, 2)
        T = Tensor(Dense(SparseInterval(Atomic(0))), 2, 2)
        T .= 0
        for s = 1:1
            for j = 1:2
                for i = parallel(1:2, d)
                    T[j, s] += 1
                    for k = j:j
                        if i == 2; T[k, i] += 1; end
                    end
                end
            end
        end
    """,
}


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize("place", ENTERED_AGAIN)
def test_a_run_that_is_entered_again_is_refused(place, test):
    """To enter an index makes its child anew: what the visit around has added is lost, or another task is adding it."""
    program = api.parse(ENTERED_AGAIN[place])
    assert [found.topic for found in api.check(program, test=test, budget=0).findings] == ["overlap"]
    verdict = api.explore(program).verdict
    assert verdict.verdict == "fault" and bool(verdict.races) == (place == "in tasks")


def test_an_axis_of_one_index_has_room_for_one_child():
    """To enter the index again does not touch the child of the next fiber, which another task may be updating."""
    program = api.parse("""
        d = cpu(:d, 2)
        T = Tensor(Dense(SparseInterval(Atomic(0))), 1, 2)
        T .= 0
        for i = 1:1
            T[i, 1] += 1
        end
        for j = parallel(1:2, d)
            for i = 1:1
                if j == 2; T[i, j] += 1; end
            end
        end
    """)
    assert api.check(program, budget=0).verdict == "safe"
    assert api.explore(program).verdict.verdict == "safe"


APPENDED_AGAIN = """
d = cpu(:d, 2)
T = Tensor({form}, 2, 2)
T .= 0
for i = {range}
    for y = 1:2
        if i == 1; T[y, i] += 1; end
    end
end
"""


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize(
    ("form", "range"),
    [
        ("SparsePoint(RunList(Atomic(0)))", "1:2"),
        ("SparsePoint(Isolate(RunList(Atomic(0))))", "1:2"),
        ("SparsePoint(SparseList(Element(0)))", "parallel(1:2, cpu(:e, 1))"),
        ("Merge(d, SparsePoint(RunList(Atomic(0))))", "parallel(1:2, d, dynamic_schedule(1))"),
        ("Merge(d, SparsePoint(Mutex(SparseList(Element(0)))))", "parallel(1:2, d, dynamic_schedule(1))"),
    ],
)
def test_a_list_below_a_point_is_one_for_all_of_its_indices(form, range, test):
    """Each index opens it, and it is appended to only once, whether anything is written there or not."""
    program = api.parse(APPENDED_AGAIN.format(form=form, range=range))
    assert [found.topic for found in api.check(program, test=test, budget=0).findings] == ["order"]
    assert api.explore(program).verdict.verdict == "fault"


def test_a_list_below_one_index_of_a_point_is_appended_to():
    program = api.parse(APPENDED_AGAIN.format(form="SparsePoint(SparseList(Element(0)))", range="1:1"))
    assert api.check(program, budget=0).verdict == "safe"
    assert api.explore(program).verdict.verdict == "safe"


@pytest.mark.parametrize("test", ["repaired", "exact"])
def test_children_that_an_index_of_a_point_has_numbered_are_those_of_the_next(test):
    """The first index enters child 2 and visits nothing; the second one then visits 1 and 2, numbered 2 and 1."""
    program = api.parse("""
        T = Tensor(SparsePoint(SparseDict(SparseList(Element(0)))), 2, 2, 2)
        T .= 0
        for i = 1:2
            for k = 3-i:2
                for y = 1:i-1
                    T[y, k, i] += 1
                end
            end
        end
    """)
    assert [found.topic for found in api.check(program, test=test, budget=0).findings] == ["order"]
    assert api.explore(program).verdict.verdict == "fault"
