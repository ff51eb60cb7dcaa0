"""Each condition of the level dependence test on the smallest program that needs it, with what the explorer says."""

from __future__ import annotations

import pytest

from proofs_tests.dependence.programs import program, report, topics, verdicts
from wingspan import api
from wingspan.dependence import check

# ------------------------------------------------------------------------------------------- Algorithm 1, repaired


def test_the_level_that_the_loop_itself_unfurls_is_not_skipped() -> None:
    """T1: the loop's index stands in f_{j-1}, which says which loop unfurls level j, and not in f_j."""
    text = program("SparseList(Element(0))", "i on d", "T[i] += 1", shape="2")
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    (finding,) = report(text).findings
    assert (finding.level, set(finding.required), set(finding.stability)) == (2, {"sibling"}, set())


def test_a_level_above_the_loop_is_skipped_by_scope() -> None:
    """T1: the tasks do not touch a level that a loop around theirs unfurls, even if their index is in no subscript."""
    text = program("SparseList(Atomic(0))", "i; k on d", "T[i] += 1", shape="2")
    assert verdicts(text) == ("unsafe", "safe", "safe", "safe")


def test_a_level_outside_of_a_loop_that_never_runs_has_an_example() -> None:
    """T1: `printed` looks at levels that a loop further out unfurls; no thread of the inner loop is known there."""
    text = program("SparseDict(Dense(Element(0)))", "i; k=2:1 on d", "T[1, i] += 1")
    dynamic = text.replace("2:1, d", "2:1, d, dynamic_schedule(1)")
    (finding,) = report(dynamic, "printed").findings
    assert finding.level == 3
    assert finding.witness is not None
    assert finding.witness.first.indices == finding.witness.second.indices == (("i", 1),)


def test_a_leaf_has_no_index() -> None:
    """T2: at j = 1 two updates of one position are a node dependence."""
    text = program("Element(0)", "k on d", "T[] += 1", shape="").replace(", )", ")")
    assert verdicts(text) == ("unsafe", "unsafe", "unsafe", "race")


def test_cousins_need_two_positions() -> None:
    """T3: at the root there is one position, so a Mutex around it is enough."""
    text = program("Mutex(SparseByteMap(Element(0)))", "k on d; i", "T[i] += 1", shape="2")
    assert verdicts(text) == ("unsafe", "safe", "safe", "safe")


@pytest.mark.parametrize(("form", "found"), [
    ("Isolate(Dense(Atomic(0)))", "fault"), ("Shard(d, Dense(Atomic(0)))", "fault"),
])  # fmt: skip
def test_one_position_of_an_isolate_or_a_shard_is_not_for_two_tasks(form: str, found: str) -> None:
    """T4: what Dense supports inside, the modifier around it does not."""
    text = program(form, "k on d; i", "T[i] += 1", shape="2")
    assert verdicts(text) == ("safe", "unsafe", "unsafe", found)


def test_a_mutex_around_an_isolate_is_enough() -> None:
    """T4: modifiers count from the inside to the outside; the other way round the fiber is loaded without the lock."""
    inner = program("Mutex(Isolate(Dense(Element(0))))", "k on d; i", "T[i] += 1", shape="2")
    outer = program("Isolate(Mutex(Dense(Element(0))))", "k on d; i", "T[i] += 1", shape="2")
    assert verdicts(inner)[1:] == ("safe", "safe", "safe")
    assert verdicts(outer)[1:] == ("unsafe", "unsafe", "fault")


def test_taking_turns_does_not_help_who_can_only_append() -> None:
    """T5: a Mutex lets tasks into an ordered fiber one after the other, and the second is refused."""
    text = program("Mutex(SparseList(Element(0)))", "k on d; i", "T[i] += 1", shape="2")
    assert verdicts(text) == ("unsafe", "unsafe", "unsafe", "fault")
    deeper = program("Mutex(Dense(SparseList(Element(0))))", "j on d; i", "T[i, j] += 1")
    assert verdicts(deeper)[1:] == ("unsafe", "unsafe", "fault")


def test_taking_turns_does_not_help_where_any_order_faults() -> None:
    """T5: in turns tasks write one index of a point, and no second one; different points they write at once.

    The figure, and so the printed test, has ∅ for a point.
    """
    form = "Mutex(SparsePoint(Element(0)))"
    assert verdicts(program(form, "k on d", "T[1] += 1", shape="2")) == ("unsafe", "safe", "safe", "safe")
    assert verdicts(program(form, "k on d", "T[k] += 1", shape="2")) == ("safe", "unsafe", "unsafe", "fault")
    assert verdicts(program("SparsePoint(Atomic(0))", "k on d", "T[1] += 1", shape="2"))[1:] == (
        *["unsafe"] * 2,
        "race",
    )
    bare = program("Dense(SparsePoint(Element(0)))", "k on d", "T[1, k] += 1")
    assert verdicts(bare)[1:] == ("safe", "safe", "safe")


def test_in_turns_tasks_meet_in_one_isolated_fiber() -> None:
    """T5: Isolate parts positions of its own level; with a Mutex around it, two tasks append to fibers of one list."""
    text = program("Dense(Mutex(Isolate(Dense(SparseList(Atomic(0))))))", "k on d", "T[1, k, 1] += 1", shape="2, 2, 2")
    assert verdicts(text)[1:] == ("unsafe", "unsafe", "fault")


def test_a_modifier_that_an_outer_loop_makes_take_effect_does_not_count() -> None:
    """T6: all tasks of the inner loop are in one isolated fiber."""
    text = program("Dense(Isolate(SparseByteMap(Element(0))))", "j; i on d", "T[i, j] += 1")
    assert verdicts(text)[1:] == ("unsafe", "unsafe", "race")


# ---------------------------------------------------------------------------------------------- locks, operators, names


def test_locks_taken_in_a_circle() -> None:
    """T12: A then B in one iteration, B then A in another."""
    text = """
        A = Tensor(Mutex(Dense(Element(0))), 2)
        B = Tensor(Mutex(Dense(Element(0))), 2)
        A .= 0
        B .= 0
        for k = parallel(1:2)
            if k == 1
                for i = 1:1
                    A[i] += 1
                    for s = 1:1
                        B[s] += 1
                    end
                end
            end
            if k == 2
                for i = 1:1
                    B[i] += 1
                    for s = 1:1
                        A[s] += 1
                    end
                end
            end
        end
    """
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "deadlock")
    assert set(topics(text)) == {"deadlock"}


def test_a_circle_of_locks_is_one_of_tasks_that_run_together() -> None:
    """T12: both orders in serial loops are no deadlock, and do not hide one further down."""
    text = """
        A = Tensor(Mutex(Dense(Element(0))), 1)
        B = Tensor(Mutex(Dense(Element(0))), 1)
        A .= 0
        B .= 0
        for i = 1:1
            A[i] += 1
            for j = 1:1
                B[j] += 1
            end
        end
        for k = {}
            if k == 1
                for j = 1:1
                    B[j] += 1
                    for i = 1:1
                        A[i] += 1
                    end
                end
            end
            if k == 2
                for i = 1:1
                    A[i] += 1
                    for j = 1:1
                        B[j] += 1
                    end
                end
            end
        end
    """
    assert verdicts(text.format("1:2"))[1:] == ("safe", "safe", "safe")
    assert verdicts(text.format("parallel(1:2)"))[1:] == ("unsafe", "unsafe", "deadlock")


def test_locks_that_all_tasks_take_in_one_order_are_safe() -> None:
    """T12: A before B everywhere, and the outer Mutex of a tensor before the inner one."""
    text = """
        A = Tensor(Mutex(Dense(Mutex(Element(0)))), 2)
        B = Tensor(Mutex(Dense(Element(0))), 2)
        A .= 0
        B .= 0
        for k = parallel(1:2)
            for i = 1:1
                A[i] += 1
                B[i] += 1
            end
        end
    """
    assert verdicts(text)[1:] == ("safe", "safe", "safe")


def test_the_last_writer_wins() -> None:
    """T13: no race over an Atomic, but two results; one and the same literal is no choice."""
    text = program("Dense(Atomic(0))", "k on d", "T[1] = k", shape="2")
    assert verdicts(text) == ("safe", "order-dependent", "order-dependent", "order-dependent")
    assert verdicts(text.replace("= k", "= 7").replace("for k = 7", "for k =")) == ("safe",) * 4


@pytest.mark.parametrize(("z", "op", "judged", "found"), [
    ("0", "+=", "safe", "safe"),
    ("5", "+=", "order-dependent", "wrong"),
    ("0", "*=", "order-dependent", "safe"),
    ("1", "*=", "safe", "safe"),
    ("0", "-=", "safe", "safe"),
    ("5", "=", "safe", "safe"),
])  # fmt: skip
def test_merging_needs_a_neutral_fill_value(z: str, op: str, judged: str, found: str) -> None:
    """T13: copies start from the fill value, which ⊕ must leave out when it folds them; = takes what was set."""
    text = program(f"Merge(d, Dense(Element({z})))", "i on d", f"T[i] {op} 2", shape="2").replace("T .= 0", f"T .= {z}")
    assert verdicts(text) == ("safe", judged, judged, found)


SETS = "Merge(d, SparseByteMap(Dense(Element(0))))", "Merge(d, Dense(Dense(Atomic(3))))"


@pytest.mark.parametrize("form", SETS)
def test_copies_may_be_merged_by_overwriting(form: str) -> None:
    """T13: right if in each phase an element is set by one thread."""
    text = program(form, "k; j on d; i", "T[i, j] = k + j")
    assert verdicts(text)[1:] == ("safe", "safe", "safe")
    dynamic = text.replace("1:2, d)", "1:2, d, dynamic_schedule(1))")
    assert verdicts(dynamic)[1:] == ("order-dependent", "order-dependent", "order-dependent")


@pytest.mark.parametrize("form", SETS)
def test_another_phase_may_set_what_other_threads_have_set(form: str) -> None:
    """T13: what was merged before comes first, so only within one phase does the order of the threads count."""
    text = program(form, "k=1:1; j on d; i=1:1", "T[i, j] = j")
    second = "for j = parallel(1:2, d)\nfor i = 1:1\nT[i, 3 - j] = 7 * j\nend\nend"
    assert verdicts(f"{text}\n{second}")[1:] == ("order-dependent", "order-dependent", "wrong")
    assert verdicts(f"{text}\nfreeze(T)\n{second}")[1:] == ("safe", "safe", "safe")


@pytest.mark.parametrize(("level", "judged", "found"), [
    ("RunList(Element(0))", "order-dependent", "wrong"),
    ("SparseRunList(Element(0))", "order-dependent", "safe"),
    ("SparseBand(Element(0))", "safe", "safe"),
    ("SparseBlockList(Element(0))", "safe", "safe"),
])  # fmt: skip
def test_runs_forget_which_elements_were_set(level: str, judged: str, found: str) -> None:
    """T13: what was set to the fill value is one run with a gap beside it, which leaves what was there before."""
    update = "if i >= r\nT[i, j] = 10 - 5 * r\nend"
    text = program(f"Isolate(Merge(d, Dense({level})))", "r; j=1:1 on d; i", update, shape="2, 1")
    assert verdicts(text)[1:] == (judged, judged, found)


def test_conditions_may_keep_threads_from_setting_one_element() -> None:
    """T13: what is asked is who sets the element, not who comes to its position."""
    text = program("Merge(d, Dense(Element(0)))", "k; j on d; i=1:1", "if j == 2\nT[i] = j\nend", shape="2")
    assert verdicts(text)[1:] == ("safe", "safe", "safe")
    any_thread = text.replace("j == 2", "j > 0").replace("1:2, d)", "1:2, d, dynamic_schedule(1))")
    assert verdicts(any_thread)[1:] == ("order-dependent",) * 3


@pytest.mark.parametrize(("form", "update", "shape"), [
    ("Isolate(Merge(d, SparseByteMap(Dense(Element(0)))))", "T[r, k] = 5", "2, 1"),
    ("Dense(Shard(d, Merge(d, SparseByteMap(Dense(Element(0))))))", "T[r, 1, k] = 5", "2, 1, 1"),
])  # fmt: skip
def test_copies_that_are_merged_several_times_a_phase(form: str, update: str, shape: str) -> None:
    """T13: what is around them is stored and loaded again, and what was merged before stays where nothing is set."""
    text = program(form, "r; k=1:1 on d", update, shape=shape)
    assert verdicts(text) == ("safe",) * 4


@pytest.mark.parametrize("op", ["min", "max"])
def test_the_smallest_of_copies_may_start_anywhere(op: str) -> None:
    """T13: what all copies start from counts once or several times; but not if an earlier phase made something else."""
    text = program("Merge(d, Dense(Element(1)))", "k on d; i", f"T[i] <<{op}>>= k", shape="2").replace(
        "T .= 0", "T .= 1"
    )
    assert verdicts(text)[1:] == ("safe", "safe", "safe")
    later = text.replace("T .= 1", "T .= 1\nfor j = parallel(1:2, d)\nT[j] += 3\nend\nfreeze(T)")
    assert report(later).verdict == "order-dependent"


def test_variables_that_tasks_share() -> None:
    """T14: a race of names, which Algorithm 1 does not look at; a variable of the body is each iteration's own."""
    shared = "x = 0\nfor i = parallel(1:2)\nx = x + 1\nend"
    assert verdicts(shared) == ("unsafe", "unsafe", "unsafe", "race")
    assert topics(shared) == ["variable", "variable"]
    own = "T = Tensor(Dense(Element(0)), 3)\nT .= 0\nfor i = parallel(1:2)\nx = i\nx = x + 1\nT[x] += 1\nend"
    assert verdicts(own) == ("safe",) * 4
    one = "x = 0\nfor i = parallel(1:2)\nif i == 2\nx = 1\nend\nend"
    assert verdicts(one) == ("safe",) * 4


NESTED = """
d = cpu(:d, 2)
e = cpu(:e, 2, d)
C = Tensor(Dense(Dense(Element(0))), 2, 2)
w = Tensor(Dense(Element(0)), 2)
C .= 0
for i = parallel(1:2, d)
    w .= 0
    x = 0
    for j = parallel(1:2, e)
        w[j] += j
        if j == 2
            x = 1
        end
    end
    for j = 1:2
        C[j, i] += w[j] + x
    end
end
"""


def test_what_a_task_declares_its_tasks_share_and_no_other_ones() -> None:
    """A workspace and a variable of the outer body, which tasks of the inner loop set: outer tasks have one each."""
    assert verdicts(NESTED) == ("safe",) * 4
    assert verdicts(NESTED.replace("w[j] += j", "w[1] += j"))[1:] == ("unsafe", "unsafe", "race")
    assert verdicts(NESTED.replace("if j == 2", "if j < 3"))[1:] == ("unsafe", "unsafe", "race")


def test_one_thread_races_with_nobody() -> None:
    """T15: a verdict is on the program with its devices."""
    text = program("Dense(Element(0))", "k on d", "T[1] += 1", shape="2")
    assert verdicts(text)[1:] == ("unsafe", "unsafe", "race")
    assert verdicts(text.replace("cpu(:d, 2)", "cpu(:d, 1)")) == ("safe",) * 4


def test_open_numbers_of_threads() -> None:
    """T15: two threads have a copy each for two iterations; one thread would append to its copy twice."""
    text = program("Merge(d, SparseList(Element(0)))", "k on d; i", "T[i] += 1", shape="2")
    assert verdicts(text) == ("safe", "safe", "safe", "safe")
    assert verdicts(text.replace("cpu(:d, 2)", "cpu(:d, 1)")) == ("safe", "unsafe", "unsafe", "fault")
    opened = api.parse(text.replace("cpu(:d, 2)", "cpu(:d, nt)"))
    assert check(api.bind(opened, symbolic=True)).verdict == "unsafe"


def test_exact_knows_what_a_lock_leaves() -> None:
    """The repaired test adds up kinds of dependences; the exact one knows that all tasks have one position locked."""
    text = program("Mutex(Dense(SparseByteMap(Element(0))))", "j on d; i", "T[i, j] += 1")
    assert verdicts(text)[1:] == ("unsafe", "safe", "safe")


def test_exact_knows_that_children_may_be_numbered_as_they_come() -> None:
    """The first task with the lock makes child 1 of the dictionary, and appends to fiber 1."""
    text = program("Mutex({}(SparseList(Element(0))))", "j on d; i", "T[i, j] += 1")
    assert verdicts(text.format("SparseDict"))[1:] == ("unsafe", "safe", "safe")
    assert verdicts(text.format("SparseByteMap"))[1:] == ("unsafe", "unsafe", "fault")


def test_a_witness_is_two_iterations_that_meet() -> None:
    """The least pair, the tasks that run it, and what it shares."""
    text = program("Dense(Dense(Element(0)))", "k on d; j; i", "T[i, j] += k")
    (finding,) = report(text).findings
    assert finding.witness is not None
    assert (finding.witness.first.task, finding.witness.second.task) == ("1", "2")
    assert dict(finding.witness.first.indices) == {"k": 1, "j": 1, "i": 1}
    assert dict(finding.witness.second.indices) == {"k": 2, "j": 1, "i": 1}
    assert finding.witness.element == "T[1, 1]"
    assert finding.direction == {"k": "*", "j": "=", "i": "="}
    assert finding.missing == {"node"}


def test_a_position_is_loaded_also_where_nothing_below_it_is_updated() -> None:
    """T10: in the first iteration i has no value, but both tasks load the fiber of j."""
    text = program("Dense(Isolate(Dense(Atomic(0))))", "k on d; j; i=1:k - 1", "T[i, j] += 1")
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")


def test_a_lock_that_the_spawning_task_holds_does_not_count() -> None:
    """T6: the Mutex is locked around the parallel loop, and its tasks update one element."""
    text = program("Dense(Mutex(Dense(Element(0))))", "j=1:1; i=1:1; k on d", "T[i, j] += 1")
    assert verdicts(text) == ("unsafe", "unsafe", "unsafe", "race")


def test_copies_for_another_device_help_nobody() -> None:
    """T9: the gate is closed, and the level dependence is told as well."""
    text = program("Merge(e, SparseByteMap(Element(0)))", "i on d", "T[i] += 1", shape="2")
    assert set(topics(text)) == {"gate", "level-dependence"}


def test_an_input_in_shards_is_the_first_threads() -> None:
    """T7: data that is loaded is thread 1's, and thread 2 reaches it."""
    text = "d = cpu(:d, 2)\nT = Tensor(Shard(d, Dense(Element(0))), [1, 2])\nfor k = parallel(2:2, d)\nT[k] += 1\nend"
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["claim"]


def test_a_workspace_is_gated_by_a_device_further_in() -> None:
    """T9: a task of d that declares T has checked out nothing of it, and what it writes is never frozen."""
    text = """
        d = cpu(:d, 2)
        T = Tensor(Merge(d, SparseDict(Element(0))), 2)
        c = Tensor(Dense(Element(0)), 2)
        c .= 0
        for k = parallel(1:2, d)
            T .= 0
            for i = 1:2
                T[i] += k
            end
            for i = 1:1
                c[k] += T[i]
            end
        end
    """
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "wrong")
    assert set(topics(text)) == {"gate"}


def test_inputs_are_not_appended_to() -> None:
    """T8: column 2 of the input has an entry, and column 1 comes after it."""
    text = "T = Tensor(Dense(SparseList(Element(0))), [0 1; 0 1])\nfor j = 1:1\nfor i = 1:2\nT[i, j] += 1\nend\nend"
    assert verdicts(text) == ("safe", "unsafe", "unsafe", "fault")
    assert topics(text) == ["order"]


def test_what_an_outer_loop_carries_is_no_concern_of_an_inner_one() -> None:
    """Two iterations meet in one element only if they differ on j."""
    text = program("Dense(Element(0))", "j; i on d", "T[i + j - 1] += 1", shape="3")
    assert verdicts(text) == ("safe", "safe", "safe", "safe")


def test_two_locks_of_one_mutex_are_taken_in_ascending_order() -> None:
    """T12: task 1 locks column 1 and then 2, task 2 the other way round."""
    circle = program("Dense(Mutex(Dense(Element(0))))", "k on d; i=1:1", "T[i, k] += 1", "T[i, 3 - k] += 1")
    assert verdicts(circle) == ("safe", "unsafe", "unsafe", "deadlock")
    upwards = circle.replace("3 - k", "k + 1").replace("2, 2)", "2, 3)")
    assert verdicts(upwards) == ("safe",) * 4
