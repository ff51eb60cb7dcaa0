"""The rules run the procedures of a visit in the order of `procedures.VISIT`, which the proof relies on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

import pytest

from proofs_tests.towers import tower
from wingspan import api
from wingspan.buffers import procedures
from wingspan.explorer.machine import Blocked
from wingspan.semantics.config import ProgramState
from wingspan.semantics.memory import RuleMemory

PROGRAM = """
d = cpu(:d, 2)
T = Tensor({form}, 2, 2, 2)
T .= 0
for i = {outer}
    for j = 1:2
        for k = 1:2
            T[k, j, i] += 1
        end
    end
end
"""
FORMS = {
    "SparseList(SparseList(SparseDict(Element(0))))": "1:2",
    "SparseDict(Mutex(SparseByteMap(SparseInterval(Atomic(0)))))": "1:2",
    "Dense(Isolate(SparseDict(SparseRunList(Element(0)))))": "parallel(1:2, d)",
    "SparseDict(Shard(d, SparseBlockList(RunList(Element(0)))))": "parallel(1:2, d)",
    "Merge(d, SparseDict(SparseDict(SparseBand(Mutex(Element(0))))))": "parallel(1:2, d)",
}
"""Formats in which all levels have something to do when a child is left, and the range of the outermost loop."""


def test_the_table_names_its_procedures() -> None:
    made = tower("SparseList(Element(0))", 2)
    assert [getattr(procedures.VISIT, each.name)(*given).name for each, given in zip(
        fields(procedures.VISIT), [(made, 2), (made, 2), (made, 2, True), (made, 2)], strict=True
    )] == [each.name for each in fields(procedures.VISIT)]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_rules_keep_the_order(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each task: enter and leave lie within open and close, what is below lies within enter and leave."""
    bodies, begun = defaultdict(list), set()
    start = RuleMemory.start

    def seen(self, C, code, tensor, instance, **inputs):
        if code.name in ("open", "enter", "leave", "close", "increment"):
            begun.add((C.t.path, code))
        return start(self, C, code, tensor, instance, **inputs)

    monkeypatch.setattr(RuleMemory, "start", seen)
    machine = api.semantics(api.bind(api.parse(PROGRAM.format(form=form, outer=FORMS[form]))))
    state = machine.initial()
    while tasks := machine.tasks(state):
        for task in tasks:
            begun.clear()
            step = machine.step(state, task)
            if not isinstance(step, Blocked):
                break
        assert not isinstance(step, Blocked) and isinstance(step.next, ProgramState)
        state = step.next
        for path, code in begun:
            bodies[path].append(code.name)
    assert sum(map(len, bodies.values())) > 20
    for names in bodies.values():
        within: list[str] = []
        for name in names:
            match name, within:
                case "open", [] | [*_, "enter"]:
                    within.append("open")
                case "enter", [*_, "open"]:
                    within.append("enter")
                case "increment", [*_, "enter"]:
                    pass
                case ("leave", [*_, "enter"]) | ("close", [*_, "open"]):
                    within.pop()
                case _:
                    pytest.fail(f"{form}: {name} within {within}")
        assert within == ["open"] * form.startswith("Dense")  # which has nothing to do when it is closed
