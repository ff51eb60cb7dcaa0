"""The requirements of levels beside Algorithm 1: the order of visits, numbers of children, and owners of copies."""

from __future__ import annotations

import pytest

from proofs_tests.dependence.programs import program, report, topics, verdicts
from proofs_tests.exploring import verdict


def test_a_claim_lasts_for_the_life() -> None:
    """T7: dynamic chunks of two runs may go to different threads; static ones of one range go to the same."""
    form, update = "Dense(Shard(d, SparseByteMap(Element(0))))", "T[i, j] += 1"
    static = program(form, "k; j on d; i", update)
    dynamic = static.replace("1:2, d)", "1:2, d, dynamic_schedule(1))")
    assert verdicts(static) == ("safe", "safe", "safe", "safe")
    assert verdicts(dynamic) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(dynamic) == ["claim"]


def test_ranges_that_change_deal_positions_anew() -> None:
    """T7: j = 2 is thread 2's in the first run, and thread 1's in the second, whose range is 2:3."""
    text = program("Dense(Shard(d, Dense(Element(0))))", "k; j=k:k + 1 on d; i", "T[i, j] += 1", shape="2, 3")
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")


def test_a_serial_loop_may_visit_an_ordered_fiber_twice() -> None:
    """T8: the fault has nothing to do with tasks, and the program is refused all the same."""
    again = program("SparseList(Element(0))", "k; i", "T[i] += 1", shape="2")
    assert verdicts(again) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(again) == ["order"]
    backwards = program("Dense(SparseList(Element(0)))", "j; i", "T[i, 3 - j] += 1")
    assert verdicts(backwards)[1:] == ("unsafe", "unsafe", "fault")
    once = program("Dense(SparseList(Element(0)))", "j; i", "T[i, j] += 1")
    assert verdicts(once) == ("safe", "safe", "safe", "safe")


def test_a_thread_with_two_chunks_comes_to_its_copy_twice() -> None:
    """T8: a dynamic chunk unfurls the root of the thread's copy again."""
    static = program("Merge(d, SparseList(Element(0)))", "i on d", "T[i] += 1", shape="2")
    dynamic = static.replace("1:2, d)", "1:2, d, dynamic_schedule(1))")
    assert verdicts(static) == ("safe", "safe", "safe", "safe")
    assert verdicts(dynamic) == ("safe", "unsafe", "unsafe", "fault")


DICT, SHARD = "SparseDict(SparseList(Element(0)))", "Dense(Shard(d, SparseList(Element(0))))"
WITHIN = "SparseDict(Dense(SparseList(Element(0))))"


@pytest.mark.parametrize(("form", "loops", "updates"), [
    (DICT, "j=2:2", ("T[1, 1] += 1", "T[1, j] += 1")),
    (SHARD, "j=3:4 on d", ("T[1, j - 2] += 1", "T[1, j] += 1")),
    (DICT.replace("SparseL", "Mutex(SparseL") + ")", "j=2:2", ("T[1, 1] += 1", "T[1, j] += 1")),
    (f"Dense(Isolate({WITHIN}))", "l=1:1; j=2:2", ("T[1, 1, 1, l] += 1", "T[1, 1, j, l] += 1")),
])  # fmt: skip
def test_a_fiber_is_numbered_before_the_iteration_visits_a_smaller_one(
    form: str, loops: str, updates: tuple[str, ...]
) -> None:
    """T19: the bare access is entered when the iteration begins, and gets number 1; it is visited last."""
    shape = "1, 1, 2, 1" if "Isolate" in form else "1, 4"
    text = program(form, loops, *updates, shape=shape)
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["order"]
    numbered = text.replace("SparseDict", "Dense").replace("Shard(d, SparseList(Element(0)))", "SparseList(Element(0))")
    if "on d" not in loops:
        assert verdicts(numbered) == ("safe",) * 4
    alone = program(form, loops, updates[1], shape=shape)
    assert verdicts(alone) == ("safe",) * 4


def test_a_fiber_is_numbered_where_nothing_in_it_is_visited() -> None:
    """T19: the first loop enters child 2 of the dictionary, which gets number 1, and no fiber below."""
    nest = "for j = {}\nfor k = {}\nfor i = 1:1\nT[i, k, j] += 1\nend\nend\nend"
    text = f"T = Tensor({WITHIN}, 1, 1, 2)\nT .= 0\n{nest.format('2:2', '1:0')}\n{nest.format('1:2', '1:1')}"
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["order"]
    assert verdicts(text.replace("for j = 2:2", "for j = 1:1")) == ("safe",) * 4


@pytest.mark.parametrize("bounds", ["3 - k:3", "k:3"])
def test_tasks_number_the_children_of_one_dictionary(bounds: str) -> None:
    """T19: each has copies of the lists below. If one begins with child 2, that has a smaller number than child 1."""
    text = program("Mutex(SparseDict(Merge(d, SparseList(Element(0)))))", "k on d; j={}; i=1:1", "T[i, j] += 1",
                   shape="1, 3")  # fmt: skip
    assert verdicts(text.format(bounds))[1:] == ("unsafe", "unsafe", "fault")
    assert topics(text.format(bounds)) == ["order"]
    assert verdicts(text.format("1:3"))[1:] == ("safe",) * 3
    assert verdicts(text.format("k:k"))[1:] == ("safe",) * 3


def test_a_condition_may_keep_a_task_from_numbering_a_child() -> None:
    """T19: both tasks run the loop over all children, and the first task leaves out the first child."""
    text = program("Mutex(SparseDict(Merge(d, SparseList(Element(0)))))", "k on d; j", "if k + j > {}\nfor s = j:j",
                   "for i = 1:1", "T[i, s] += 1", "end", "end", "end", shape="1, 2")  # fmt: skip
    assert verdicts(text.format("2"))[1:] == ("unsafe", "unsafe", "fault")
    assert verdict(text.format("0")) == "safe"


def test_an_update_that_reads_may_be_left_out_and_number_no_child() -> None:
    """T19: A has no element for task 1 and child 1, so the rules leave out the update before it enters the child."""
    form, loops = "Mutex(SparseDict(Merge(d, SparseList(Element(0)))))", "k on d; j; i=1:1"
    data = "A = Tensor(Dense(SparseList(Element(0))), [0 5; 5 5])\nT .= 0"
    text = program(form, loops, "T[i, j] += {}", shape="1, 2").replace("T .= 0", data)
    assert verdicts(text.format("A[j, k]"))[1:] == ("unsafe", "unsafe", "fault")
    assert verdicts(text.format("k"))[1:] == ("safe",) * 3


def test_a_child_that_two_turns_enter_is_numbered_in_the_first() -> None:
    """T19: task 1 enters its child, then task 2, and then task 1 visits the next list below its child."""
    turns = program(f"Mutex({WITHIN})", "p on d; k; j=p:p; i=1:1", "T[i, k, j] += 1", shape="1, 2, 2")
    assert verdicts(turns)[1:] == ("unsafe", "unsafe", "fault")
    assert "order" in topics(turns)
    one = program(f"Mutex({WITHIN})", "p on d; j=p:p; k; i=1:1", "T[i, k, j] += 1", shape="1, 2, 2")
    assert verdicts(one)[2:] == ("safe", "safe")
    later = one.replace("for k = 1:2", "for k = 1:1")
    later += "\nfor j = 2:2\nfor k = 2:2\nfor i = 1:1\nT[i, k, j] += 1\nend\nend\nend"
    assert verdicts(later)[1:] == ("unsafe", "unsafe", "fault")


def test_a_thread_numbers_the_children_of_its_own_dictionary() -> None:
    """T19: a thread with one iteration has one child; with dynamic chunks it may have child 2 first, and then both."""
    form = "Merge(d, SparseDict(Merge(d, SparseList(Element(0)))))"
    static = program(form, "j; i on d", "T[j, i] += 1")
    assert verdicts(static)[1:] == ("safe", "safe", "safe")
    dynamic = static.replace("1:2, d)", "1:2, d, dynamic_schedule(1))")
    assert verdicts(dynamic)[1:] == ("unsafe", "unsafe", "fault")
    assert topics(dynamic) == ["order"]


@pytest.mark.parametrize(("p", "c"), [
    ("1:1, d, dynamic_schedule(1)", "j"),
    ("1:2, d", "max(j, j + p + j - 3 - 3*(k - 1), 3 - p - 3*(k - 1))"),
])  # fmt: skip
def test_another_thread_numbers_children_of_its_own_copy(p: str, c: str) -> None:
    """T19: at k = 1, thread 2 enters child 1 and then thread 1 child 2, which thread 1 visits second at k = 2."""
    form = "Merge(d, SparseDict(SparseList(Element(0))))"
    text = program(form, "k; j; p on d; c=low:j; i=1:k-1", "T[i, c] += 1", shape="1, 2")
    text = text.replace("parallel(1:2, d)", f"parallel({p})").replace("low", c)
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["order"]
    assert verdicts(text.replace(p, "1:2, d").replace(c, "j")) == ("safe",) * 4


def test_numbers_last_where_copies_begin_anew() -> None:
    """T19: the isolated dictionary keeps its numbers when it is loaded again; the copies below it are empty then."""
    text = program("Isolate(SparseDict(Merge(d, SparseList(Element(0)))))", "r; k=1:1 on d; j=3 - r:2; i=1:1",
                   "T[i, j] += 1", shape="1, 2")  # fmt: skip
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["order"]
    assert verdicts(text.replace("3 - r:2", "1:2")) == ("safe",) * 4
    assert verdicts(text.replace("3 - r:2", "3 - r:3 - r")) == ("safe",) * 4


@pytest.mark.parametrize("form", ["Merge(d, Merge(d, SparseList({})))", "Dense(Isolate(Merge(d, SparseList({}))))"])
def test_a_copy_that_is_thawed_again_begins_anew(form: str) -> None:
    """T8: what holds the inner Merge is checked out, or loaded, in every iteration of k, and its copies are empty."""
    update = "T[i, j] += 1" if "Dense" in form else "T[j] += 1"
    loops = "k; j on d; i=1:1" if "Dense" in form else "k; j on d"
    text = program(form.format("Element(0)"), loops, update, shape="2, 2" if "Dense" in form else "2")
    assert verdicts(text)[1:] == ("safe", "safe", "safe")
    plain = text.replace("Merge(d, Merge(d, SparseList(Element(0))))", "Merge(d, SparseList(Element(0)))")
    plain = plain.replace("Isolate(Merge(d, SparseList(Element(0))))", "Merge(d, SparseList(Element(0)))")
    assert verdicts(plain)[1:] == ("unsafe", "unsafe", "fault")


def test_only_tasks_of_the_device_may_update() -> None:
    """T9: the root of T is unfurled outside of all parallel loops."""
    text = program("Shard(d, Dense(Atomic(0)))", "i; k on d", "T[i] += 1", shape="2")
    assert verdicts(text)[1:] == ("unsafe", "unsafe", "fault")
    assert "gate" in topics(text)


def test_threads_of_a_nested_device_share_a_shard_under_two_parents() -> None:
    """T9: thread 1 of e is there twice, under task 1 and under task 2 of d; a Shard of d around it parts them."""
    loops, update = "j on d; i on e", "T[i, j] += 1"
    shared = program("Dense(Dense(Shard(e, Element(0))))", loops, update).replace("cpu(:e, 2)", "cpu(:e, 1)")
    parted = program("Dense(Shard(d, Dense(Shard(e, Element(0)))))", loops, update)
    assert verdicts(shared)[1:] == ("unsafe", "unsafe", "race")
    assert "gate" in topics(shared)
    assert verdicts(parted) == ("safe", "safe", "safe", "safe")


def test_the_checkout_alone_touches_a_shared_shard() -> None:
    """T9: task 2 of d spawns threads of e that have nothing to do, and they thaw what task 1's are updating."""
    text = program("Dense(Dense(Shard(e, SparseList(Element(0)))))", "j on d; i=1:2 - j on e; k", "T[k, i, j] += 1",
                   shape="2, 2, 2")  # fmt: skip
    assert report(text).verdict == report(text, "exact").verdict == "unsafe"
    assert "gate" in topics(text)


def test_a_level_is_entered_also_where_nothing_is_updated_below() -> None:
    """T10: in the first iteration k has no value, but the child of j is made before that is known."""
    text = program("SparseDict(Dense(Atomic(0)))", "j on d; k=1:j - 1; i", "T[i, j] += 1")
    assert verdicts(text)[1:] == ("unsafe", "unsafe", "race")


def test_an_isolated_fiber_is_not_entered_twice() -> None:
    """T11: the second update comes to the fiber while the first one's loop has it open."""
    text = program("Dense(Isolate(Dense(Element(0))))", "j; i", "T[i, j] += 1", "T[j, i] += 1")
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["overlap"]
