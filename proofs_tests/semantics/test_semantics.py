"""The results and faults of the rules, one claim each: the readings that docs/reading-notes.md settles."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs_tests.exploring import explored, outcomes, serial, steps, values, verdict
from wingspan import api
from wingspan.base.errors import Fault, InternalError
from wingspan.explorer import Step
from wingspan.lang import ir
from wingspan.lang.devices import ROOT
from wingspan.lang.printer import show
from wingspan.semantics.config import EMPTY, Config, plug, refocus
from wingspan.semantics.machine import Semantics

# ------------------------------------------------------------------------------------------ one step at a time


def test_an_increment_is_a_load_and_a_store() -> None:
    """`+=` on Element takes two steps that another task can see, on Atomic one; overwriting takes one on both."""
    text = "c = Tensor(Dense({leaf}(0)), 1)\nc .= 0\nfor i = parallel(1:1, cpu(1))\nc[1] {op} 1\nend"
    seen = {
        (leaf, op): [step.footprint[0].effect for step in steps(text.format(leaf=leaf, op=op)) if step.visible]
        for leaf in ("Element", "Atomic")
        for op in ("+=", "=")
    }
    assert seen == {
        ("Element", "+="): ["read", "write"],
        ("Element", "="): ["write"],
        ("Atomic", "+="): ["atomic"],
        ("Atomic", "="): ["atomic"],
    }


def test_every_step_touches_at_most_one_cell() -> None:
    """A rule whose level does more takes several steps under its own name; only a byte map sorts its list in one."""
    text = """
        d = cpu(:d, 2)
        A = Tensor(Dense(SparseList(Element(0))), [1 0; 2 3])
        C = Tensor(Dense(Shard(d, SparseList(Element(0)))))
        C .= 0
        for j = parallel(_, d)
            for i = _
                C[i, j] = A[i, j]
            end
        end
    """
    taken = steps(text)
    assert max(len(step.footprint) for step in taken) == 1
    assert {"Unfurl", "Child", "Access", "Assign", "Leave", "Finish", "Commit"} <= {
        step.rule for step in taken if step.footprint
    }


def test_a_dictionary_sorts_in_one_step() -> None:
    text = "w = Tensor(SparseDict(Element(0)), 3)\nw .= 0\nfor i = 1:3\nw[4 - i] += i\nend"
    wide = [step for step in steps(text) if len(step.footprint) > 1]
    assert [(step.rule, {touch.buffer for touch in step.footprint}) for step in wide] == [("Freeze", {"srt"})]
    assert [touch.effect for touch in wide[0].footprint] == ["read"] * 3 + ["write"] * 3


def test_accesses_carry_their_place() -> None:
    """Each access of a level says for which level, position and index it is made, and where that was written."""
    text = "A = Tensor(Dense(SparseList(Element(0))), [0 7; 5 6])\ny = Tensor(Element(0))\ny .= 0\ny[] = A[2, 2]"
    loads = [(step.rule, t) for step in steps(text) for t in step.footprint if t.tensor == "A"]
    assert [(rule, t.level, t.level_name, t.buffer, t.position, t.index, t.value) for rule, t in loads] == [
        ("Unfurl", 2, "SparseList", "ptr", 2, None, 2),
        ("Unfurl", 2, "SparseList", "ptr", 2, None, 4),
        ("Unfurl", 2, "SparseList", "idx", 2, None, 1),
        ("Unfurl", 2, "SparseList", "idx", 2, 2, 1),
        ("Unfurl", 2, "SparseList", "idx", 2, 2, 2),
        ("Unfurl", 2, "SparseList", "idx", 2, 2, 2),
        ("Access", 1, "Element", "val", 3, None, 6),
    ]
    assert all(step.span is not None for step in steps(text) if step.footprint)


def test_a_loaded_subscript_is_read_once() -> None:
    """The two ends of the single-iteration range around `c[x]` are one expression, evaluated once."""
    text = "c = Tensor(Dense(Atomic(0)), 3)\nc .= 0\nx = 1\nfor i = parallel(1:2)\nc[x] += 1\nx = 1\nend"
    assert Counter(step.rule for step in steps(text) if step.visible)["ReadGlobal"] == 2


def test_configurations_print_as_programs() -> None:
    """At any moment the focused configuration plugs back into a term that shows."""
    bound = api.bind(api.parse("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(_)\nc[i] += 1\nend"))
    machine = api.semantics(bound)
    state = machine.initial()
    texts = []
    while tasks := machine.tasks(state):
        step = machine.step(state, tasks[-1])
        assert isinstance(step, Step) and not isinstance(step.next, Fault)
        state = step.next
        texts.append(show(plug(state.root)))
    assert any("‖" in text for text in texts)
    assert any("spawn(worker(i, 1:2, static_schedule()" in text for text in texts)
    assert any("checkout(c, 2, update" in text for text in texts)
    assert texts[-1].startswith("⟨skip, root task")


def test_a_stuck_configuration_is_our_defect_and_says_so() -> None:
    """An access that no loop has unfurled is not the program's fault: elaboration should have made it concordant."""
    bound = api.bind(api.parse("A = Tensor(Dense(Element(0)), [1, 2])\nx = A[1]"))
    access = ir.Access(ir.Fiber("A", 2), (ir.Literal(1),))
    machine = Semantics(ir.Set("x", access), bound.towers, bound.inputs, ())
    with pytest.raises(InternalError, match=r"no rule applies to `A\[1\]`"):
        machine.step(machine.initial(), "")


def test_the_context_is_found_again() -> None:
    """Refocusing and plugging back are inverse."""
    body = ir.Block((ir.Set("x", ir.Call("+", (ir.Variable("y"), ir.Literal(1)))), ir.SKIP))
    C = refocus(Config(body, ROOT, EMPTY))
    assert C.s == ir.Variable("y")
    assert plug(C) == ir.Context(body, ROOT, EMPTY)


# ---------------------------------------------------------------------------------------------- scopes and lifecycles


def test_a_workspace_is_each_tasks_own() -> None:
    """A tensor that a parallel loop's body declares is copied for each task, so nothing of it is shared."""
    text = """
        w = Tensor(SparseByteMap(Element(0)), 2)
        y = Tensor(Dense(Element(0)), 2)
        y .= 0
        for j = parallel(1:2)
            w .= 0
            w[j] += j
            w[j] += j
            for i = _
                y[j] += w[i]
            end
        end
    """
    found = explored(text).verdict
    assert found.verdict == "safe"
    assert found.interleavings == 6
    assert serial(text) == {"y": [2, 4]}


def test_a_dropped_workspace_tells_no_states_apart() -> None:
    """The assignment of chunks to tasks leaves nothing behind: all interleavings end in one state."""
    text = """
        w = Tensor(SparseByteMap(Element(0)), 3)
        y = Tensor(Dense(Element(0)), 3)
        y .= 0
        for j = parallel(_, cpu(2), dynamic_schedule(1))
            w .= 0
            w[j] += j
            y[j] += w[j]
        end
    """
    found = explored(text).verdict
    assert (found.verdict, found.executions) == ("safe", 1)


def test_a_workspace_starts_anew_in_every_iteration() -> None:
    text = """
        w = Tensor(Dense(Element(0)), 2)
        y = Tensor(Dense(Element(0)), 3)
        y .= 0
        for j = _
            w .= 0
            w[1] += j
            y[j] = 10
            freeze(w)
            for i = 1:2
                x = w[i]
            end
        end
    """
    assert serial(text) == {"y": [10, 10, 10]}


def test_thaw_keeps_what_is_there() -> None:
    text = "C = Tensor(SparseList(Element(0)), [4, 0, 0])\nfor i = 3:3\nC[i] += 5\nend"
    with pytest.raises(Fault, match="1 comes after 1"):
        values(text)
    text = "C = Tensor(Dense(SparseList(Element(0))), [4 0; 0 0])\nfor j = 2:2\nfor i = 1:2\nC[i, j] += i\nend\nend"
    assert serial(text) == {"C": [[4, 1], [0, 2]]}


def test_ordered_levels_refuse_what_they_cannot_append() -> None:
    """An update out of order, or a second visit, is a fault that names the level."""
    text = "C = Tensor(SparseList(Element(0)), 3)\nC .= 0\nfor i = 1:3\nC[4 - i] += 1\nend"
    with pytest.raises(
        Fault, match="C, level 2 SparseList: fibers are appended in ascending order, each once"
    ) as error:
        values(text)
    assert error.value.span is not None and error.value.span.line == 4


@pytest.mark.parametrize("access", ["C[1]", "C[i]"])
def test_ordered_levels_refuse_overlapping_visits(access: str) -> None:
    """While a fiber is appended to, a second visit would append at the same place: a fault, not a wrong result."""
    text = f"C = Tensor(SparseList(Element(0)), 2)\nC .= 0\nfor i = 2:2\nC[i] = 1\nfor k = 1:1\n{access} = 5\nend\nend"
    if access == "C[i]":
        assert serial(text) == {"C": [0, 5]}
    else:
        with pytest.raises(Fault, match="fiber 1 is visited while a visit of fiber 1 goes on"):
            values(text)


def test_an_index_out_of_bounds_faults_only_where_it_is_used() -> None:
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = 1:4\nif i <= 2\nc[i] += i\nend\nend"
    assert serial(text) == {"c": [1, 2]}


def test_a_task_without_iterations_touches_nothing() -> None:
    """Three tasks and one iteration: two of them unfurl nothing, so they cannot race on the list."""
    text = "C = Tensor(SparseList(Element(0)), 1)\nC .= 0\nfor j = parallel(_, cpu(3))\nC[j] += 1\nend"
    assert verdict(text) == "safe"


def test_an_if_scope_ends() -> None:
    text = "x = 1\nif x == 1\ny = 5\nx = y\nend\nif x == 1\nx = 7\nend"
    assert serial(text) == {"x": 5}


# --------------------------------------------------------------------------------------------------------- schedules


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "schedule", ["static_schedule()", "dynamic_schedule(1)", "dynamic_schedule(2)", "dynamic_schedule(9)"]
)
@pytest.mark.parametrize("stop", [0, 1, 4])
def test_every_iteration_is_done_once(schedule: str, threads: int, stop: int) -> None:
    """Chunks partition the range, for any number of threads, chunk size and extent."""
    text = (
        f"y = Tensor(Dense(Element(0)), 4)\ny .= 0\n"
        f"for i = parallel(1:{stop}, cpu({threads}), {schedule})\ny[i] += 1\nend"
    )
    assert values(text)["y"] == [1] * stop + [0] * (4 - stop)


def test_static_chunks_are_those_of_the_paper() -> None:
    """Thread q of n gets a + ⌊(q-1)(b-a+1)/n⌋ to a + ⌊q(b-a+1)/n⌋ - 1."""
    text = "y = Tensor(Dense(Element(0)), 9)\ny .= 0\nfor i = parallel(3:9, cpu(3))\ny[i] = 1\nend"
    owners: dict[str, list[object]] = {}
    for step in steps(text):
        if step.visible:
            owners.setdefault(step.task, []).append(dict(step.indices)["i"])
    assert owners == {"1": [3, 4], "2": [5, 6], "3": [7, 8, 9]}


def test_dynamic_claims_are_single_steps() -> None:
    """Two tasks, two chunks of one iteration: a claim, and at the end a look, are one atomic step each."""
    text = "y = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = parallel(_, cpu(2), dynamic_schedule(1))\ny[i] = 1\nend"
    effects = [
        step.footprint[0].effect for step in steps(text) if step.visible and step.footprint[0].tensor == "i_chunk"
    ]
    assert effects == ["atomic", "atomic", "look", "look"]
    assert outcomes(text).keys() == {"{'y': [1, 1]}"}


# ------------------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize(("text", "message"), [
    ("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = 1:3\nc[i] += 1\nend", "c has the indices 1:2 on axis 1, got 3"),
    ("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nx = 0\nc[x] += 1", "c has the indices 1:2 on axis 1, got 0"),
    ("x = 1 ÷ 0", "division by zero"),
    ("x = 9223372036854775807 + 1", "overflow: 9223372036854775808 does not fit a 64-bit integer"),
    ("c = Tensor(Dense(Element(0)), 1)\nc .= 0\nx = 1\nc[1] += x / 2", "0.5 is not a 64-bit integer"),
    ("c = Tensor(Dense(Element(false)), 1)\nc .= false\nx = true\nx = 1\nc[1] = x", "1 is not a boolean"),
    ("x = true\nx = 1\nif x\nx = 1\nend", "a condition is true or false, not 1"),
    ("x = 1\nx = 1.5\nfor i = 1:x\nx = i\nend", "an integer is needed here, got 1.5"),
    ("d = cpu(:d, 2)\nc = Tensor(Dense(Shard(d, Element(0))), 1)\nc .= 0\nfor i = _\nc[i] += 1\nend",
     "c, level 1 Shard: position 1 is updated outside of a task of the device d"),
])  # fmt: skip
def test_faults_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(Fault) as error:
        values(text)
    assert error.value.message == message
    assert error.value.span is not None


def test_a_fault_in_one_interleaving_is_found_and_replayed() -> None:
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nx = 1\nfor i = parallel(1:2)\nx = x + 1\nc[x] += 1\nend"
    found = explored(text).verdict
    assert found.verdict == "fault"
    (fault,) = found.faults
    assert fault.message == "c has the indices 1:2 on axis 1, got 3"
    replay = api.replay(api.parse(text), fault.interleaving)
    list(replay.steps)
    assert replay.end == "fault" and replay.incident == fault


# ------------------------------------------------------------------------------------------------------- exact values


def test_doubles_are_exact() -> None:
    """0.1 + 0.2 - 0.3 in any order is one number: results never differ merely by rounding."""
    text = (
        "c = Tensor(Dense(Atomic(0.0)), 1)\nv = Tensor(Dense(Element(0.0)), [0.1, 0.2, -0.3])\nc .= 0\n"
        "for i = parallel(_, cpu(3))\nc[1] += v[i]\nend"
    )
    assert verdict(text.replace("_", "1:3")) == "safe"


def test_floor_division_and_remainder() -> None:
    assert serial("a = -7 ÷ 2\nb = -7 % 2\nc = 7 % -2\nd = isqrt(17)\ne = abs(-3)") == {
        "a": -4, "b": 1, "c": -1, "d": 4, "e": 3,
    }  # fmt: skip


# ---------------------------------------------------------------------- what states and reports keep apart


@pytest.mark.parametrize(("one", "other"), [("1", "true"), ("true", "1"), ("1", "1.0"), ("1.0", "1")])
def test_values_of_different_types_keep_states_apart(one: str, other: str) -> None:
    """1, 1.0 and true are equal to Python, and not to programs: the runs that end with each stay apart."""
    text = f"""
        x = 0
        c = Tensor(Dense(Atomic(0)), 2)
        c .= 0
        for i = parallel(1:2)
            if i == 1
                x = {one}
            end
            if i == 2
                x = {other}
            end
        end
        for i = parallel(1:2)
            c[i] += 1
        end
    """
    found = explored(text).verdict
    assert [dict(result.outcome.variables)["x"][0] for result in found.results] != ["int"]
    assert len(found.results) == 2
    assert [result.interleavings for result in found.results] == [2, 2]


def test_reports_name_indices_and_not_variables() -> None:
    """A variable that shares its name with the index of a loop elsewhere is none of a task's indices."""
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = 1:2\nc[i] += 1\nend\ni = 5\n"
    text += "for k = parallel(1:2)\nc[1] += i\nend"
    (race,) = explored(text).verdict.races
    assert dict(race.first.indices).keys() == {"k", "s1"}
