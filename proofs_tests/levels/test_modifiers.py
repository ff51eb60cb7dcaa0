"""The effects of modifiers and their moments: docs/reading-notes.md, Levels, as small programs explored."""

from __future__ import annotations

from textwrap import dedent

import pytest

from proofs_tests.effort import few
from proofs_tests.exploring import explored, outcomes, races, steps, verdict
from wingspan import api


def visits(form: str, times: int = 2) -> str:
    """Tasks that update the same fiber of a matrix, each at both of its indices."""
    return f"""
        C = Tensor(Dense({form}), 2, 1)
        C .= 0
        for k = parallel(1:{times}, cpu({times}))
            for j = 1:1
                for i = 1:2
                    C[i, j] += k
                end
            end
        end
    """


# --------------------------------------------------------------------------------------------------------------- mutex


@pytest.mark.parametrize("below", ["Dense(Element(0))", "SparseDict(Element(0))", "SparseByteMap(Element(0))"])
def test_a_mutex_protects_what_it_wraps(below):
    """Node and sibling dependences: two tasks in one fiber; without the Mutex they race."""
    assert outcomes(visits(f"Mutex({below})")) == {"{'C': [[3], [3]]}": 2}
    assert verdict(visits(below)) == "race"


def test_a_mutex_comes_before_what_it_wraps():
    """Mutex(Isolate(…)) loads the fiber under the lock; Isolate(Mutex(…)) loads it before, and two tasks may do so."""
    assert verdict(visits("Mutex(Isolate(SparseDict(Element(0))))")) == "safe"
    found = explored(visits("Isolate(Mutex(Dense(Element(0))))")).verdict
    assert "C, level 2 Isolate: fiber 1 is visited while a visit of it goes on" in [f.message for f in found.faults]
    assert ("Isolate", "node") in {(race.level_name, race.kind) for race in found.races}


def test_a_mutex_does_not_protect_cousins():
    """A lock for each column does not order tasks in different columns, which share the dictionary below."""
    found = explored("""
        C = Tensor(Dense(Mutex(SparseDict(Atomic(0)))), 1, 2)
        C .= 0
        for j = parallel(1:2)
            for i = 1:1
                C[i, j] += 1
            end
        end
    """).verdict
    assert ("SparseDict", "fill", "cousin") in {(race.level_name, race.buffer, race.kind) for race in found.races}


def test_an_element_is_locked_for_one_increment():
    """Inside of the loop that binds its position: so the tasks of an inner parallel loop take turns."""
    text = """
        y = Tensor(Dense(Mutex(Element(0))), 1)
        y .= 0
        for i = 1:1
            for k = parallel(1:2)
                y[i] += k
            end
        end
    """
    assert outcomes(text) == {"{'y': [3]}": 2}
    held = [touch.value for step in steps(text) for touch in step.footprint if touch.buffer == "lock"]
    assert held == ["1", 0, "2", 0]


def test_reading_takes_no_lock():
    text = """
        c = Tensor(Mutex(Dense(Mutex(Element(0)))), [4])
        d = Tensor(Dense(Element(0)), 2)
        d .= 0
        for k = parallel(1:2)
            for i = 1:1
                d[k] += c[i]
            end
        end
    """
    assert verdict(text) == "safe"
    assert not any(touch.buffer == "lock" for step in steps(text) for touch in step.footprint)


# ------------------------------------------------------------------------------------------------------------- isolate


@pytest.mark.parametrize("below", ["SparseList", "SparseDict", "SparseByteMap", "Dense"])
def test_isolated_columns_do_not_meet(below):
    """Cousins: two tasks update columns of their own; all but Dense need the Isolate."""
    columns = """
        C = Tensor(Dense({}), 2, 2)
        C .= 0
        for j = parallel(1:2)
            for i = 1:2
                C[i, j] += j
            end
        end
    """
    assert verdict(columns.format(f"Isolate({below}(Element(0)))")) == "safe"
    alone = {"Dense": "safe", "SparseList": "fault"}.get(below, "race")
    assert verdict(columns.format(f"{below}(Element(0))")) == alone


@pytest.mark.parametrize("form", ["Isolate(Dense({}))", "Dense(Isolate({}))", "Isolate(SparseDict(Isolate({})))"])
def test_a_second_visit_of_an_isolated_fiber_goes_on(form):
    """With what the first visit stored, also after thaw; an ordered level would be visited twice all the same."""
    text = """
        C = Tensor({}, 2, 2)
        C .= 0
        for k = 1:2
            for j = 1:2
                for i = 1:2
                    C[i, j] += k
                end
            end
        end
        x = C[1, 1]
        C[1, 1] += 1
    """
    for below in ("SparseDict(Element(0))", "Dense(Element(0))"):
        assert outcomes(text.format(form.format(below))) == {"{'C': [[4, 3], [3, 3]], 'x': 3}": 1}


def test_a_second_visit_of_an_isolated_fiber_appends_to_it():
    """The list below was frozen at the end of the first visit; the second one comes to a later fiber of it."""
    text = """
        C = Tensor(Isolate(Dense(SparseList(Element(0)))), 1, 2)
        C .= 0
        for k = 1:2
            for j = k:k
                for i = 1:1
                    C[i, j] += k
                end
            end
        end
    """
    assert outcomes(text) == {"{'C': [[1, 2]]}": 1}


def test_an_isolated_level_is_shared_by_the_tasks_that_it_is_loaded_outside_of():
    """Section 4.3: it "cannot protect against parallelism from devices which are spawned after" it is loaded."""
    text = """
        C = Tensor(Dense(Isolate(SparseDict(Element(0)))), 2, 1)
        C .= 0
        for j = 1:1
            for i = parallel(1:2)
                C[i, j] += i
            end
        end
    """
    assert ("C", 2, "SparseDict", "sibling") in races(text)


def test_what_is_done_to_a_whole_level_meets_all_of_it():
    """A level with a single fiber has no cousins; declaring or freezing it is a node dependence with any access."""
    kinds = races("""
        c = Tensor(Isolate(Mutex(SparseByteMap(Element(0)))), 1)
        c .= 0
        for i = parallel(1:2)
            c[1] += i
        end
    """)
    assert {kind for _, _, _, kind in kinds} == {"node"}


def test_columns_in_isolated_levels_may_be_open_at_once():
    """Ordered levels, loaded with their fiber, under a lock or not; one level for both columns would refuse."""
    text = """
        C = Tensor(Dense({}), 1, 2)
        C .= 0
        for j = 1:1
            for i = 1:1
                C[i, j] += 1
                C[i, j + 1] += 2
            end
        end
    """
    for form in ("Isolate(SparseList(Element(0)))", "Mutex(Isolate(SparseList(Element(0))))"):
        assert outcomes(text.format(form)) == {"{'C': [[1, 2]]}": 1}


def test_locks_in_isolated_levels_are_told_apart():
    """Two columns, each with a lock in its own level, locked in opposite order."""
    found = explored("""
        C = Tensor(Dense(Isolate(Mutex(Dense(Element(0))))), 1, 2)
        C .= 0
        for j = 1:1
            for m = 2:2
                for k = parallel(1:2)
                    if k == 1
                        for i = 1:1
                            C[i, j] += 1
                            for l = 1:1
                                C[l, m] += 1
                            end
                        end
                    end
                    if k == 2
                        for i = 1:1
                            C[i, m] += 1
                            for l = 1:1
                                C[l, j] += 1
                            end
                        end
                    end
                end
            end
        end
    """).verdict
    (deadlock,) = found.deadlocks
    assert "task 1 waits for the lock of fiber 1 of C, level 2 in fiber 2, held by task 2" in deadlock.message
    assert "task 2 waits for the lock of fiber 1 of C, level 2 in fiber 1, held by task 1" in deadlock.message


@pytest.mark.parametrize(
    "form",
    ["Isolate(Dense(Merge(d2, SparseDict(Element(0)))))", "Shard(d1, Dense(Shard(d2, SparseList(Element(0)))))"],
)
def test_every_instance_that_a_region_reaches_is_checked_out(form):
    """The inner region mentions a fiber of the instance that is entered, and the root, in a branch that never runs."""
    text = f"""
        d1 = cpu(:d1, 1)
        d2 = cpu(:d2, 2)
        C = Tensor(Dense({form}), 1, 2, 2)
        C .= 0
        for k = parallel(1:2, d1)
            for j = parallel(1:2, d2)
                for i = 1:1
                    C[i, j, k] += 1
                    if i > 5
                        C[i, j, 3 - k] += 1
                    end
                end
            end
        end
    """
    assert verdict(text) == "safe"


# --------------------------------------------------------------------------------------------------------------- merge


def merged(form: str, fill: str, update: str) -> str:
    """Two tasks that update the same two elements of a vector."""
    return f"""
        dev = cpu(:d, 2)
        c = Tensor(Merge(dev, {form}(Element({fill}))), 2)
        c .= {fill}
        for k = parallel(1:2, dev)
            for i = 1:2
                c[i] {update}
            end
        end
    """


@pytest.mark.parametrize("form", few(["Dense", "SparseDict", "SparseByteMap"], 2))
@pytest.mark.parametrize(
    ("fill", "update", "expected"),
    [
        ("0", "+= k", "safe"),
        ("0", "-= k", "safe"),
        ("1", "*= k + 1", "safe"),
        ("5", "<<min>>= k", "safe"),
        ("-5", "<<max>>= k", "safe"),
        ("false", "|= k == 1", "safe"),
        ("5", "+= k", "wrong"),
        ("5", "-= k", "wrong"),
        ("2", "*= k + 1", "wrong"),
    ],
)
def test_merging_is_right_where_the_fill_value_is_neutral(form, fill, update, expected):
    """x ⊕ fill = x, or ⊕ takes the fill value once and for all (min, max, and, or)."""
    assert verdict(merged(form, fill, update)) == expected


SET = """
    dev = cpu(:d, 2)
    c = Tensor({form}, 2)
    c .= {fill}
    for i = parallel(_, dev)
        c[i] = {value}
    end
"""
COPIED = [
    f"Merge(dev, {form}({leaf}({{fill}})))"
    for form in ("Dense", "SparseList", "SparseDict", "SparseByteMap")
    for leaf in ("Element", "Atomic")
]
COPIED += ["Dense(Merge(dev, Element({fill})))", "Dense(Merge(dev, Mutex(Atomic({fill}))))"]


def set_by_threads(form: str, fill: int = 0, value: str = "10 * i") -> str:
    return SET.format(form=form.format(fill=fill), fill=fill, value=value)


def safe_ends(text: str) -> list[str]:
    """The outcomes of a program that is safe."""
    found = explored(text).verdict
    assert found.verdict == "safe"
    return [str(result.outcome.values()) for result in found.results]


@pytest.mark.parametrize("form", few(COPIED, 6))
@pytest.mark.parametrize("fill", few([0, 7], 1))
def test_a_copy_replaces_only_what_its_thread_has_set(form, fill):
    """Finch.jl's own test of coalescing: two threads set an element each, and both are there."""
    assert safe_ends(set_by_threads(form, fill)) == ["{'c': [10, 20]}"]
    assert api.diff(api.parse(set_by_threads(form, fill))).difference is None  # which runs accepted programs only


@pytest.mark.parametrize("form", few(COPIED, 6))
def test_an_element_may_be_set_to_the_fill_value(form):
    """Both elements hold something else from the first phase; thread 1 sets the first to 0 in the second one."""
    second = "    for i = parallel(1:1, dev)\n        c[i] = 0 * i\n    end\n"
    text = set_by_threads(form) + "    x = c[2]\n" + second
    assert safe_ends(text) == ["{'c': [0, 20], 'x': 20}"]


@pytest.mark.parametrize("form", few(COPIED, 6))
def test_what_was_set_in_an_earlier_phase_is_not_set_again(form):
    """Thread 2 sets the first element in the first phase, thread 1 in the second one."""
    text = set_by_threads(form).replace("c[i]", "c[3 - i]").replace("_,", "1:2,")
    text += "    x = c[1]\n    for i = parallel(1:2, dev)\n        c[i] = i\n    end\n"
    assert safe_ends(text) == ["{'c': [1, 2], 'x': 20}"]


def test_tasks_that_share_a_copy_set_an_atomic_element_without_a_race():
    """The last of them decides, as it does without the Merge; the flag is one more atomic step."""
    text = """
        dev = cpu(:d, 2)
        far = cpu(:e, 2, dev)
        c = Tensor(Merge(dev, Dense(Dense(Atomic(0)))), 1, 2)
        c .= 0
        for j = parallel(1:1, dev)
            for k = parallel(1:2, far)
                for i = 1:1
                    c[i, j] = k
                end
            end
        end
    """
    found = explored(text).verdict
    assert found.verdict == "order-dependent" and not found.races
    assert api.check(api.bind(api.parse(dedent(text)))).verdict == "order-dependent"


@pytest.mark.parametrize(("op", "flagged"), [("=", True), ("+=", False), ("<<max>>=", False)])
def test_only_phases_that_overwrite_touch_the_flags(op, flagged):
    """The other operators pay nothing for what = needs."""
    text = set_by_threads("Merge(dev, Dense(Element({fill})))").replace(" = 10", f" {op} 10")
    plan = api.plan(api.parse(text))
    assert ("c.written: u8" in plan, "c.written⟨" in plan) == (True, flagged)


@pytest.mark.parametrize("form", ["Dense", "SparseDict", "SparseByteMap"])
def test_what_was_merged_stays_after_thaw(form):
    """The copies start anew, and the next phase may have another operator."""
    text = """
        dev = cpu(:d, 2)
        c = Tensor(Merge(dev, {}(Element(0))), 3)
        c .= 0
        for k = parallel(1:2, dev)
            for i = 1:2
                c[i] += k
            end
        end
        x = c[2]
        for k = parallel(1:2, dev)
            for i = 2:3
                c[i] <<max>>= k * i
            end
        end
        y = c[2]
        for k = parallel(1:2, dev)
            for i = 3:3
                c[i] -= k
            end
        end
    """
    assert safe_ends(text.format(form)) == ["{'c': [3, 4, 3], 'x': 3, 'y': 4}"]


def test_a_fault_while_merging_names_the_tensor():
    found = explored(merged("Dense", "0", "+= 9223372036854775807")).verdict
    assert [fault.message.partition(":")[0] for fault in found.faults] == ["freeze(c)"]


# ---------------------------------------------------------------------------------------------------------- dictionary


def test_a_lookup_races_with_making_a_child():
    """Index 1 is there already; making index 2 may move the table in which task 1 looks it up."""
    text = """
        c = Tensor(SparseDict(Element(0)), 2)
        c .= 0
        c[1] += 1
        for i = parallel(1:2)
            c[i] += 1
        end
    """
    assert ("c", 2, "SparseDict", "sibling") in races(text)
    assert verdict(text.replace("c[1] += 1", "c[1] += 1\n        c[2] += 1")) == "safe"
