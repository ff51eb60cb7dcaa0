"""Every fault and every deadlock says what, where, in which task, by which rule and how it comes to that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from proofs_tests.exploring import explore_graph
from wingspan import api, cli
from wingspan.api import exploring
from wingspan.base.errors import ProgramError
from wingspan.explorer import Blocked, Deadlock, FaultReport, RunFault, parse_interleaving, replay
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.semantics.machine import Semantics


class Told(NamedTuple):
    """The message of a fault, and its place, line:column."""

    message: str
    rule: str
    task: str
    place: str


def machine(text: str, change: Callable[[Any], Any] = lambda node: node) -> Semantics:
    """The program under the rules, its nodes changed after all static checks."""
    bound = api.bind(api.parse(dedent(text)))
    return Semantics(bound.body.map(change), bound.towers, bound.inputs, bound.outputs)


def told(fault: FaultReport) -> Told:
    assert fault.span is not None
    place = f"{fault.span.line}:{fault.span.column}"
    return Told(fault.message, fault.rule, fault.task, place)


def faults(checked: Semantics) -> set[Told]:
    """The faults that a complete search finds; each replays to itself, and a run ends in a replayable one if any."""
    verdict = explore_graph(checked)
    assert verdict.complete
    for fault in verdict.faults:
        assert ended(checked, fault.interleaving) == fault
        assert parse_interleaving(fault.interleaving)[-1] == fault.task
    try:
        checked.run()
    except RunFault as error:
        assert ended(checked, error.incident.interleaving) == error.incident
        assert error.incident.message in {fault.message for fault in verdict.faults}
        assert error.render().startswith(f"error[fault]: {error.incident.message}\n")
    else:
        assert verdict.results
    return set(map(told, verdict.faults))


def ended(checked: Semantics, interleaving: str) -> FaultReport | Deadlock | None:
    """The incident at the end of a replay that takes exactly these steps."""
    followed = replay(checked, interleaving, finish=False)
    list(followed)
    return followed.incident


# ---------------------------------------------------------------------------------------- what only a run can find out

FOUND = {
    "index out of bounds, updating": ("""
        c = Tensor(Dense(Element(0)), 2)
        c .= 0
        for i = parallel(1:2)
            c[i + 1] += 1
        end
    """, Told("c has the indices 1:2 on axis 1, got 3", "Assign", "2", "5:5")),
    "index out of bounds, reading": ("""
        c = Tensor(Dense(Element(0)), [1, 2])
        x = 0
        x = c[x]
    """, Told("c has the indices 1:2 on axis 1, got 0", "Access", "", "4:5")),
    "division by zero": ("""
        y = Tensor(Dense(Element(0)), 2)
        y .= 0
        for i = parallel(_)
            y[i] = 1 ÷ (i - 1)
        end
    """, Told("division by zero", "Call", "1", "5:12")),
    "overflow": ("""
        y = Tensor(Dense(Element(0)), 2)
        y .= 9223372036854775807
        for i = parallel(2:2)
            y[i] += 1
        end
    """, Told("overflow: 9223372036854775808 does not fit a 64-bit integer", "Assign", "2", "5:5")),
    "a value of another kind": ("""
        y = Tensor(Dense(Element(0)), 1)
        y .= 0
        x = 1
        y[1] = x / 2
    """, Told("0.5 is not a 64-bit integer", "Assign", "", "5:1")),
    "a condition that is a number": ("""
        x = true
        x = 1
        if x
            y = 1
        end
    """, Told("a condition is true or false, not 1", "IfTrue", "", "4:1")),
    "a range that ends between integers": ("""
        x = 3
        x = 3 / 2
        for i = 1:x
            y = i
        end
    """, Told("an integer is needed here, got 1.5", "Unfurl", "", "4:1")),
    "a gated level entered by the root task": ("""
        d = cpu(:d, 2)
        c = Tensor(Dense(Shard(d, Element(0))), 2)
        c .= 0
        for i = _
            c[i] += 1
        end
    """, Told("c, level 1 Shard: position 1 is updated outside of a task of the device d", "Child", "", "6:5")),
    "a merged level entered by the root task": ("""
        d = cpu(:d, 2)
        c = Tensor(Merge(d, Dense(Element(0))), 2)
        c .= 0
        for i = _
            c[i] += 1
        end
    """, Told("c, level 2 Merge: position 1 is updated outside of a task of the device d", "Unfurl", "", "6:5")),
    "a gated level entered by a task of another device": ("""
        d = cpu(:d, 2)
        e = cpu(:e, 2)
        c = Tensor(Dense(Shard(d, Element(0))), 1)
        c .= 0
        for i = parallel(_, e)
            c[i] += 1
        end
    """, Told("c, level 1 Shard: position 1 is updated outside of a task of the device d", "Child", "2", "7:5")),
    "gated levels in the wrong nesting order": ("""
        d = cpu(:d, 1)
        e = cpu(:e, 1)
        c = Tensor(Dense(Shard(e, Dense(Shard(d, Element(0))))), 1, 1)
        c .= 0
        for j = parallel(_, d)
            for i = parallel(_, e)
                c[i, j] += 1
            end
        end
    """, Told("c, level 2 Shard: position 1 is updated outside of a task of the device e", "Child", "1", "8:9")),
    "a second claim of a shard": ("""
        d = cpu(:d, 2)
        c = Tensor(Dense(Shard(d, Element(0))), 2)
        c .= 0
        for i = parallel(1:2, d)
            c[i] += 1
        end
        for i = parallel(1:2, d)
            c[3 - i] += 1
        end
    """, Told("c, level 1 Shard: position 1 belongs to thread 1, and thread 2 reaches it",
              "Child", "2", "9:5")),
    "an ordered level appended out of order": ("""
        c = Tensor(SparseList(Element(0)), 3)
        c .= 0
        for i = 1:3
            c[4 - i] += 1
        end
    """, Told("c, level 2 SparseList: fibers are appended in ascending order, each once, but 1 comes after 1",
              "Unfurl", "", "5:5")),
    "an ordered level visited twice": ("""
        c = Tensor(Dense(SparseList(Element(0))), 1, 2)
        c .= 0
        for k = 1:2
            for j = 2:2
                for i = _
                    c[i, j] += 1
                end
            end
        end
    """, Told("c, level 2 SparseList: fibers are appended in ascending order, each once, but 2 comes after 2",
              "Unfurl", "", "7:13")),
    "an ordered level visited while a visit goes on": ("""
        c = Tensor(SparseList(Element(0)), 2)
        c .= 0
        for i = _
            c[i] += 1
            for j = _
                c[j] += 1
            end
        end
    """, Told("c, level 2 SparseList: fiber 1 is visited while a visit of fiber 1 goes on", "Unfurl", "", "7:9")),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_a_fault_is_told_in_full_and_replays(what: str) -> None:
    """Message, rule, task and place, for a minimal program of each kind."""
    text, expected = FOUND[what]
    assert expected in faults(machine(text))


# ------------------------------------------------------------- what is refused before the run, and by the rules as well


def without(kind: type[Any]) -> Callable[[Any], Any]:
    """Leaves out all statements of a kind."""
    return lambda node: ir.SKIP if isinstance(node, kind) else node


def twice(kind: type[Any]) -> Callable[[Any], Any]:
    """Does all statements of a kind twice."""
    return lambda node: ir.Block((node, node)) if isinstance(node, kind) else node


def with_operator(op: str, line: int) -> Callable[[Any], Any]:
    """Updates by another operator on a line."""

    def change(node: Any) -> Any:
        here = isinstance(node, ir.Assign) and node.span is not None and node.span.line == line
        return replace(node, op=op) if here else node

    return change


def elsewhere(node: Any) -> Any:
    """Runs parallel loops on a device that is spawned from another one."""
    if not isinstance(node, ir.Parallel):
        return node
    return ir.Parallel(node.range, Device("far", 2, Device("there", 1)), node.schedule, span=node.span)


class Refused(NamedTuple):
    """A program that is refused and why, its place; and another one whose changed term breaks the same rule."""

    text: str
    message: str
    place: str
    accepted: str
    change: Callable[[Any], Any]
    fault: Told


C = "c = Tensor(Dense(Element(0)), 2)\n"
H = "c = Tensor(SparseDict(Element(0)), 2)\n"
Y = "y = Tensor(Isolate(Element(0)))\n"

REFUSED = {
    "read while it is updated": Refused(
        H + "c .= 0\nc[1] = c[2]", "c is read and updated in one statement of the scope that declares it", "3:8",
        H + "c .= 0\nc[1] += 1\nx = c[2]", without(ir.Freeze),
        Told("c is read while it is in update mode", "Unfurl", "", "4:5"),
    ),
    "an element read while it is updated": Refused(
        Y + "y .= 0\ny[] = y[]", "y is read and updated in one statement of the scope that declares it", "3:7",
        Y + "y .= 0\ny[] += 1\nx = y[]", without(ir.Freeze),
        Told("y is read while it is in update mode", "Access", "", "4:5"),
    ),
    "updated where it is not declared": Refused(
        C + "for i = 1:2\nc[i] += 1\nc .= 0\nend", "c is used where it is not declared", "3:1",
        C + "c .= 0\nc[1] += 1", without(ir.Declare),
        Told("c is updated while it is in undeclared mode", "Unfurl", "", "3:1"),
    ),
    "an element updated while it is read": Refused(
        Y + "y .= 0\nfor i = 1:2\nx = y[]\ny[] += 1\nend",
        "y is read and updated in one statement of the scope that declares it", "4:5",
        Y + "y .= 0\nfreeze(y)\nx = y[]\ny[] += 1", without(ir.Thaw),
        Told("y is updated while it is in read mode", "Assign", "", "5:1"),
    ),
    "frozen twice": Refused(
        C + "c .= 0\nfreeze(c)\nfreeze(c)", "freeze(c): it is in read mode already", "4:1",
        C + "c .= 0\nfreeze(c)", twice(ir.Freeze),
        Told("freeze(c) while it is in read mode", "Freeze", "", "3:1"),
    ),
    "thawed twice": Refused(
        C + "c .= 0\nfreeze(c)\nthaw(c)\nthaw(c)", "thaw(c): it is in update mode already", "5:1",
        C + "c .= 0\nfreeze(c)\nthaw(c)", twice(ir.Thaw),
        Told("thaw(c) while it is in update mode", "Thaw", "", "4:1"),
    ),
    "frozen in an inner scope": Refused(
        C + "c .= 0\nif true\nfreeze(c)\nend", "freeze(c): c is declared in another scope", "4:1",
        C + "c .= 0\nc[1] += 1\nfreeze(c)",
        lambda node: ir.If(ir.Literal(True), node) if isinstance(node, ir.Freeze) else node,
        Told("freeze(c) outside of the scope that declares c", "Freeze", "", "4:1"),
    ),
    "declared while it is declared": Refused(
        C + "c .= 0\nc .= 0", "c is declared while it is declared already", "3:1",
        C + "c .= 0", twice(ir.Declare),
        Told("c is declared while it is in update mode", "Declare", "", "2:1"),
    ),
    "two operators in one phase": Refused(
        C + "c .= 0\nfor i = 1:1\nc[i] += 1\nc[i] *= 2\nend",
        "c is updated by + and by * in one statement of the scope that declares it", "5:1",
        C + "c .= 0\nfor i = parallel(_)\nc[i] += 1\nend", with_operator("*", 4),
        Told("c is updated with * in a phase of +", "Assign", "1", "4:1"),
    ),
    "a device that is spawned from another one": Refused(
        "d = cpu(:d, 2)\nfor i = parallel(1:2, d)\nfor j = parallel(1:2, d)\nx = j\nend\nend",
        "a loop on d stands inside another one on it", "3:23",
        "for i = parallel(1:2)\nx = i\nend", elsewhere,
        Told("far is spawned from there, and this loop runs on serial", "ParallelFor", "", "1:1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_before_the_run_the_rules_refuse_too(what: str) -> None:
    """The static check comes first; a term that it never saw meets the rule's own premise."""
    row = REFUSED[what]
    with pytest.raises(ProgramError) as refused:
        api.bind(api.parse(row.text))
    span = refused.value.span
    assert span is not None
    assert (refused.value.message, f"{span.line}:{span.column}") == (row.message, row.place)
    assert row.fault in faults(machine(row.accepted, row.change))


# ------------------------------------------------------------------------------------------------------------ deadlocks


class Waits(NamedTuple):
    """A task that waits, for what, who holds it, and the place."""

    task: str
    waits_for: str
    holder: str | None
    place: str


DEADLOCKS = {
    "two tasks take two fibers in opposite order": ("""
        c = Tensor(Dense(Mutex(Dense(Element(0)))), 1, 2)
        c .= 0
        for j = parallel(1:2)
            for i = _
                c[i, j] += 1
                c[i, 3 - j] += 1
            end
        end
    """, "1*3,2*3", (
        Waits("1", "the lock of fiber 2 of c, level 2", "2", "7:9"),
        Waits("2", "the lock of fiber 1 of c, level 2", "1", "7:9"),
    ), "task 1 waits for the lock of fiber 2 of c, level 2, held by task 2; "
       "task 2 waits for the lock of fiber 1 of c, level 2, held by task 1"),
    "a task takes a lock that it holds": ("""
        c = Tensor(Mutex(Dense(Element(0))), 2)
        c .= 0
        for i = _
            c[i] += 1
            for j = _
                c[j] += 1
            end
        end
    """, "-", (Waits("", "the lock of fiber 1 of c, level 2", "", "7:9"),),
    "task 0 waits for the lock of fiber 1 of c, level 2, which it holds itself"),
    "the root holds the lock that its tasks wait for": ("""
        c = Tensor(Mutex(Dense(Element(0))), 2)
        c .= 0
        for i = _
            c[i] += 1
            for j = parallel(_)
                c[j] += 1
            end
        end
    """, "-", (
        Waits("1", "the lock of fiber 1 of c, level 2", "", "7:9"),
        Waits("2", "the lock of fiber 1 of c, level 2", "", "7:9"),
    ), "task 1 waits for the lock of fiber 1 of c, level 2, held by task 0, which waits for its tasks to end; "
       "task 2 waits for the lock of fiber 1 of c, level 2, held by task 0, which waits for its tasks to end"),
    "a task holds the lock that its own task waits for": ("""
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        c = Tensor(Dense(Mutex(Dense(Element(0)))), 2, 2)
        c .= 0
        for j = parallel(2:2, d)
            for i = _
                c[i, j] += 1
                for k = parallel(1:1, e)
                    c[k, j] += 1
                end
            end
        end
    """, "2*3", (Waits("2.1", "the lock of fiber 2 of c, level 2", "2", "10:13"),),
    "task 2.1 waits for the lock of fiber 2 of c, level 2, held by task 2, which waits for its tasks to end"),
}  # fmt: skip


@pytest.mark.parametrize("what", DEADLOCKS)
def test_a_deadlock_is_told_in_full_and_replays(what: str) -> None:
    """The report names the waiting tasks, the locks, their holders and the shortest way there; a run says the same."""
    text, shortest, waiting, message = DEADLOCKS[what]
    checked = machine(text)
    verdict = explore_graph(checked)
    assert (verdict.verdict, verdict.complete) == ("deadlock", True)
    (deadlock,) = verdict.deadlocks
    assert (tuple(map(wait, deadlock.waiting)), deadlock.message, deadlock.interleaving) == (waiting, message, shortest)
    assert ended(checked, deadlock.interleaving) == deadlock
    if not verdict.results:
        with pytest.raises(RunFault) as stopped:
            checked.run()
        assert stopped.value.incident == deadlock
        assert stopped.value.render().startswith(f"error[deadlock]: {message}\n")


def wait(blocked: Blocked) -> Waits:
    assert blocked.span is not None
    return Waits(blocked.task, blocked.waits_for, blocked.holder, f"{blocked.span.line}:{blocked.span.column}")


# ------------------------------------------------------------------------------------------------------ our own defects


@pytest.mark.parametrize(
    "words",
    [["explore"], ["run", "--engine", "semantics"], ["replay", "--interleaving", "-"]],
    ids=lambda words: words[0],
)
def test_a_stuck_configuration_is_reported_as_our_defect(
    words: list[str], written: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An access that no loop unfurls: no rule is meant to apply, so it is no fault of the program's."""
    bound = api.bind(api.parse("c = Tensor(Dense(Element(0)), [1, 2])\nx = 1"))
    access = ir.Access(ir.Fiber("c", 2), (ir.Literal(1),))
    path = written("x = 1")
    for module in (api, exploring):
        monkeypatch.setattr(module, "bind", lambda *_, **__: replace(bound, body=ir.Set("x", access)))
    with pytest.raises(SystemExit) as end:
        cli.main([*words, path])
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (4, "")
    assert err.startswith("error[internal]: no rule applies to `c[1]` (tried: Access, AccessUpdated)\n")
    assert "this is a defect of wingspan: please report it" in err and "Traceback" not in err
