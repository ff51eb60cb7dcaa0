"""A plan has the rules' effects that no value depends on: the machines find the same races, faults and deadlocks.

Effects that nobody can observe are left out of a plan.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from proofs_tests.effort import due, few, many
from proofs_tests.exploring import explore_graph
from proofs_tests.native.test_native_machine import findings
from proofs_tests.plan.test_looplets import counts
from proofs_tests.program_templates import write_mask
from wingspan import api
from wingspan.testing.choosing import by_seed

HEAD = """
d = cpu(:d, 2)
A = Tensor(SparseList(Element(0)), [0, 2])
B = Tensor(SparseList(Element(0)), [1, 2])
T = Tensor({form})
T .= {zero}
x = 0
{body}
return T
"""


def over(form: str, body: str, zero: str = "0") -> str:
    return HEAD.format(form=form, body=body, zero=zero)


HUGE = 2**63 - 1
BELOW = "for k = 1:2; for i = parallel(1:2, d{}); if k >= 3; T[i] += 1; end; end; end"
DYNAMIC = ", dynamic_schedule(1)"
INNER = f"for k = 1:2; for i = parallel(1:2, d{DYNAMIC}); for j = 1:2; if k >= 3; T[j, i] += 1; end; end; end; end"
OUTER = f"for k = 1:2; for j = 1:2; for i = parallel(1:k, d{DYNAMIC}); if j == k && A[j] > 0; T[i, j] += 1"
CLEARED = """
w = Tensor(Dense(Element(0)), 2)
for k = {range}
    w .= 0
    for j = 1:2; w[j] += A[k] * B[j]; end
    {body}
end"""

PROGRAMS = {
    "tasks append to a list": ("race", over("SparseList(Element(0)), 2", BELOW.format(""))),
    "tasks make children in a dictionary": ("race", over("SparseDict(Element(0)), 2", BELOW.format(""))),
    "tasks append coordinates": ("race", over("SparseCOO(2, Element(0)), 2, 2", INNER)),
    "tasks claim elements": ("fault", over("Dense(Shard(d, Element(0))), 2", BELOW.format(DYNAMIC))),
    "tasks claim fibers": ("fault", over("Dense(Shard(d, Dense(Element(0)))), 2, 2", INNER)),
    "nobody may take a copy outside of the device": (
        "fault",
        over("Merge(d, Dense(Element(0))), 2", "for k = 1:2; for i = 1:2; if k >= 3; T[i] += 1; end; end; end"),
    ),
    "nobody may claim before tasks begin": (
        "fault", over("Dense(Shard(d, Dense(Element(0)))), 2, 2", f"{OUTER}{'; end' * 4}"),
    ),
    "the other side of || is fill": (
        "fault",
        over("Dense(Shard(d, Element(0))), 2",
             f"for k = parallel(1:2, d{DYNAMIC}); for i = 1:2; if i != k || A[i] > 3; T[i] += 1; end; end; end"),
    ),
    "one of two terms is missing": (
        "race",
        over("SparseDict(Element(0)), 2",
             "for k = 1:2; for i = parallel(1:2, d); if k >= 2; T[i] += A[k] + B[k]; end; end; end"),
    ),
    "a serial loop comes back to a list": (
        "fault", over("SparseList(Element(0)), 2", "for k = 1:2; for i = 1:2; if k <= 1; T[i] += 1; end; end; end"),
    ),
    "a task waits for its own lock": (
        "deadlock",
        over("Mutex(Dense(Element(0))), 2",
             "for k = 1:2; for i = 1:2; for j = 1:2; if k >= 3; T[i] += 1; T[j] += 1; end; end; end; end"),
    ),
    "an update by false is a write": (
        "race", over("Element(false)", "for k = parallel(1:2, d); for i = 1:2; T[] |= i >= 3; end; end", "false"),
    ),
    "a sum on the other side of && overflows": (
        "fault", over("Element(0)", f"for k = 1:2; if k >= 3 && {HUGE} + k > 0; T[] += 1; end; end"),
    ),
    "an element on the other side of && does not exist": (
        "fault", over("Element(0)", "for k = 1:3; if k >= 5 && A[k] > 0; T[] += 1; end; end"),
    ),
    "a task reads a variable on the other side of &&": (
        "race",
        over("Element(0)", "for k = parallel(1:2, d); for i = 1:2; if i >= 3 && x > 0; T[] += 1; end; end\n"
             "if k == 1; x = k; end; end"),
    ),
    "the end of a range overflows": (
        "fault", over("Element(0)", f"for k = 1:2; for i = 1:{HUGE} + k; if k >= 3; T[] += 1; end; end; end"),
    ),
    "the end of a range overflows beside what is missing": (
        "fault",
        over("Element(0)", f"for k = 1:2; for i = 1:{HUGE} + k; if k >= 1; T[] += A[k]; end; end; end"),
    ),
    "a task reads a variable at the end of a range": (
        "race",
        over("Element(0)", "for k = parallel(1:2, d); if k == 1; x = k; end\n"
             "for i = 1:2; for j = 1:x; if i >= 3; T[] += 1; end; end; end; end"),
    ),
    "tasks add zeros from a workspace that is clear": (
        "race",
        over("Dense(Element(0)), 2", CLEARED.format(range="parallel(1:2, d)", body="for j = 1:2; T[j] += w[j]; end")),
    ),
    "tasks claim what a workspace that is clear is added to": (
        "fault",
        over("Dense(Shard(d, Dense(Element(0)))), 2, 2", CLEARED.format(
             range="1:2", body=f"for i = parallel(1:2, d{DYNAMIC}); for j = 1:2; T[j, i] += w[j]; end; end")),
    ),
    "tasks claim under a condition on a workspace that is clear": (
        "fault",
        over("Dense(Shard(d, Element(0))), 2", CLEARED.format(
             range="1:2", body=f"for i = parallel(1:2, d{DYNAMIC}); if w[i] > 9; T[i] += 1; end; end")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_done_for_nothing_is_seen_on_both_machines(name: str) -> None:
    """A condition is false, or an update changes nothing; there is a race, a fault or a deadlock all the same."""
    wanted, text = PROGRAMS[name]
    assert ended_alike(text, 30_000, 100_000)["verdict"] == wanted


def ended_alike(text: str, plan_states: int, rule_states: int) -> dict[str, object]:
    """The findings of both machines; none if there are more states. Outcomes may differ if there is a race."""
    case = api.bind(api.parse(text))
    plan = explore_graph(api.native(case), max_states=plan_states)
    rules = explore_graph(api.semantics(case), max_states=rule_states) if plan.complete else plan
    if not rules.complete:
        return {}
    by_rules, by_plan = findings(rules), findings(plan)
    for what in ("verdict", "races", "faults", "deadlocks"):
        assert by_plan[what] == by_rules[what], f"{what}\n{text}"
    assert by_rules["races"] or by_plan["outcomes"] == by_rules["outcomes"], text
    return by_rules


def test_random_programs_with_conditions_end_alike_on_both_machines() -> None:
    """The programs race, fault, wait for locks and are safe. Those with many states do not count."""
    seen: Counter[str] = Counter()
    choose = by_seed(0)
    for _ in range(many(320)):
        found = ended_alike(write_mask(choose), 150, 600)
        seen[str(found.get("verdict", "large"))] += 1
    assert seen["race"] >= due(15) and seen["fault"] + seen["deadlock"] >= due(50) and seen["safe"] >= due(100), seen


# ------------------------------------------------------------------------------------------ where nothing is at stake

TRIANGLES = {
    "a workspace of a task": """
        y = Tensor(Dense(Element(0)), {n})
        w = Tensor({form}, {n})
        y .= 0
        for j = parallel(1:{n}, d)
            w .= 0
            for k = 1:{n}; for i = 1:{n}; if k <= j; w[i] += A[i, k]; end; end; end
            for i = 1:{n}; y[j] += w[i]; end
        end""",
    "a copy of each thread": """
        y = Tensor(Merge(d, {form}), {n})
        y .= 0
        for j = parallel(1:{n}, d); for k = 1:{n}; for i = 1:{n}; if k <= j; y[i] += A[i, k]; end; end; end; end""",
    "a part of each thread": """
        y = Tensor(Dense(Shard(d, {form})), {n}, {n})
        y .= 0
        for j = parallel(1:{n}, d); for k = 1:{n}; for i = 1:{n}; if k <= j; y[i, j] += A[i, k]; end; end; end; end""",
    "a serial program": """
        y = Tensor({form}, {n})
        y .= 0
        for j = 1:{n}; for k = 1:{n}; for i = 1:{n}; if k <= j; y[i] += A[i, k]; end; end; end; end""",
    "tasks that would do nothing": """
        y = Tensor(Dense(Element(0)), {n})
        y .= 0
        for j = 1:{n}; for k = 1:{n}; for i = parallel(1:{n}, d); if k <= j; y[i] += A[i, k]; end; end; end; end""",
}


@pytest.mark.parametrize(("name", "level"), few(list(product(TRIANGLES, ["Dense", "SparseDict", "SparseByteMap"])), 7))
def test_a_loop_in_which_nothing_can_be_noticed_is_left_out(name: str, level: str) -> None:
    """Of the columns those up to j are gone through for each j. Where a condition never holds, no child is entered."""

    def cost(condition: str) -> Counter[str]:
        text = TRIANGLES[name].format(n=6, form=f"{level}(Element(0))").replace("k <= j", condition)
        text = f"d = cpu(:d, 2)\nA = Tensor(Dense(Dense(Element(0))))\n{text}\nreturn y"
        return counts(api.bind(api.parse(text), inputs={"A": np.ones((6, 6), int)}))

    nothing, half, everything = cost("k < 1"), cost("k <= j"), cost("k <= 6")
    assert nothing["A.val"] == 0 and half["A.val"] == 6 * 21 and everything["A.val"] == 6 * 36
    assert nothing.total() < everything.total() / 4
