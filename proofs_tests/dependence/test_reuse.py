"""An index of an ordered level at which nothing is written has the child of the next one, with what was begun there."""

from __future__ import annotations

import pytest

from wingspan import api
from wingspan.dependence import Test

NUMBERED = """
d = cpu(:d, 2)
T = Tensor({form}, 1, 2, 2)
T .= 0
for j = 1:2
    for k = {k}
        for i = {i}
            {update}
        end
    end
end
"""
ADD = "T[i, k, j] += 1"
IF_LAST = f"if j == 2; {ADD}; end"
FLAT = [f"{level}(SparseDict(SparseList(Element(0))))" for level in ("SparseList", "SparseBand", "SparseBlockList")]

CLAIMED = """
d = cpu(:d, 2)
e = cpu(:e, {threads})
T = Tensor({form}, 1, 3, 1, 2)
T .= 0
for j = 1:2
    for k = {k}
        for l = parallel({l}, {device})
            for i = 1:1
                {update}
            end
        end
    end
end
"""
IN_SHARD = "if j == 2; T[i, l, k, j] += 1; end"


def judged(text: str, test: Test) -> tuple[list[str], str]:
    """The topics of what a test finds, and what the explorer finds."""
    program = api.parse(text)
    found = api.check(program, test=test, budget=0).findings
    return [each.topic for each in found], api.explore(program).verdict.verdict


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize(
    "form",
    [
        *FLAT,
        "SparseList(SparseDict(Isolate(SparseDict(SparseList(Element(0))))))",
        "SparseCOO(2, SparseDict(SparseList(Element(0))))",
        "SparseList(SparsePoint(SparseDict(SparseList(Element(0)))))",
    ],
)
def test_numbers_of_children_below_a_child_that_is_used_again(form, test):
    """j = 1 enters child 2 of the dictionary and writes nothing; j = 2 then visits 1 and 2, numbered 2 and 1."""
    text = NUMBERED.format(form=form, k="3-j:2", i="1:1", update=IF_LAST)
    if form not in FLAT:
        text = text.replace("1, 2, 2", "1, 2, 1, 2").replace("k, j]", "k, m, j]")
        text = text.replace("for k =", "for m = 1:1; for k =") + "end\n"
    assert judged(text, test) == (["order"], "fault")


@pytest.mark.parametrize(
    ("form", "k", "i", "update"),
    [
        ("SparseList(SparseDict(SparseList(Element(0))))", "3-j:2", "1:1", ADD),
        ("SparseList(SparseDict(SparseList(Element(0))))", "1:2", "1:j-1", ADD),
        ("SparseList(SparseDict(SparseList(Element(0))))", "j:2", "1:j-1", ADD),
        ("SparseList(Isolate(SparseDict(SparseList(Element(0)))))", "3-j:2", "1:1", IF_LAST),
        ("SparseList(Dense(SparseList(Element(0))))", "3-j:2", "1:1", IF_LAST),
        ("SparseDict(SparseDict(SparseList(Element(0))))", "3-j:2", "1:1", IF_LAST),
    ],
)
def test_what_keeps_the_order_below_a_child_that_is_used_again(form, k, i, update):
    """A child that is surely written is not used again; one entered in order, or begun anew, may be."""
    assert judged(NUMBERED.format(form=form, k=k, i=i, update=update), "repaired") == ([], "safe")


@pytest.mark.parametrize(
    ("i", "update"), [("1:j-1", ADD), ("1:1", IF_LAST), ("1:1", "T[i, k, j] += A[i, j]"), ("1:A[1, j]", ADD)]
)
def test_what_may_leave_a_child_unwritten(i, update):
    """A loop without iterations, a condition, and an element that is not stored; no test knows the data."""
    text = NUMBERED.format(form=FLAT[0], k="3-j:2", i=i, update=update)
    assert judged(f"A = Tensor(Dense(SparseList(Element(0))), [0 1]){text}", "repaired") == (["order"], "fault")


@pytest.mark.parametrize("test", ["repaired", "exact"])
@pytest.mark.parametrize(
    ("form", "k", "device"),
    [
        ("SparseList(SparseDict(Dense(Shard(d, Dense(Element(0))))))", "1:1", "d"),
        ("SparseList(Dense(Merge(d, Dense(Shard(e, Dense(Element(0)))))))", "parallel(1:1, d)", "e"),
    ],
)
def test_claims_below_a_child_that_is_used_again(form, k, device, test):
    """j = 1 gives l = 2 to thread 2, which claims its position, and j = 2 gives it to thread 1."""
    made = CLAIMED.format(form=form, k=k, device=device, l="j:j+1", threads=2, update=IN_SHARD)
    assert judged(made, test) == (["claim"], "fault")


@pytest.mark.parametrize(
    ("form", "l", "update"),
    [
        ("SparseList(SparseDict(Dense(Shard(d, Dense(Element(0))))))", "1:2", IN_SHARD),
        ("SparseList(SparseDict(Dense(Shard(d, Dense(Element(0))))))", "j:j+1", "T[i, l, k, j] += 1"),
        ("SparseList(Dense(Dense(Shard(d, Dense(Element(0))))))", "j:j+1", IN_SHARD),
    ],
)
def test_claims_that_nobody_else_meets(form, l, update):
    """Loops that deal alike, a child that is surely written, and a shard that is assembled again with the child."""
    made = CLAIMED.format(form=form, k="1:1", device="d", l=l, threads=1, update=update)
    assert judged(made, "repaired") == ([], "safe")


def test_fibers_that_a_shard_has_numbered_below_a_child_that_is_used_again():
    """The claims of j = 1 number the fibers of the one thread, and the list below takes them in another order."""
    text = CLAIMED.replace(":d, 2", ":d, 1").format(
        form="SparseList(SparseDict(Dense(Shard(d, SparseList(Element(0))))))",
        k="1:1", l="3-j:2", device="d", threads=1, update=IN_SHARD,
    )  # fmt: skip
    assert judged(text, "repaired") == (["order"], "fault")


def test_a_set_of_indices_may_stay_empty():
    """By false, a Pattern is not written: the next index has its child again."""
    form, update = "SparseList(SparseDict(SparseList(Pattern())))", "T[i, k, j] |= j > 1"
    text = NUMBERED.format(form=form, k="3-j:2", i="1:1", update=update)
    assert judged(text.replace("T .= 0", "T .= false"), "repaired") == (["order"], "fault")


def test_children_entered_in_order_at_another_index_are_no_excuse():
    """(l, j) = (1, 1) enters and writes child 1, (1, 2) enters child 2 and writes nothing, (2, 1) visits both."""
    text = """
        T = Tensor(Dense(SparseList(SparseDict(SparseList(Element(0))))), 2, 2, 2, 2)
        T .= 0
        for l = 1:2
            for j = 1:2
                for k = max(1, j-l+1):min(2, j+l-1)
                    for i = 1:l-j+1
                        T[i, k, j, l] += 1
                    end
                end
            end
        end
    """
    assert judged(text, "repaired") == (["order"], "fault")
