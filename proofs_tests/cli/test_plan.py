"""`wingspan plan`: the passes over a plan."""

from __future__ import annotations

import json

from proofs_tests.places import ROOT
from wingspan.plan.pipeline import FOR_C, PASSES


def test_the_passes_over_a_plan_are_told(wingspan) -> None:
    """In their order, each with what it does; the plan that is printed is the one before those for C."""
    program = str(ROOT / "examples" / "dependent_atomic.ws")
    names = ["draft", *(change.__name__ for change in (*PASSES, *FOR_C))]
    status, out, _ = wingspan("plan", program, "--passes")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == names
    told = json.loads(wingspan("plan", program, "--passes", "--json")[1])["passes"]
    assert [stage["name"] for stage in told] == names and all(stage["about"] and stage["statements"] for stage in told)
    last = PASSES[-1].__name__
    before, after = (wingspan("plan", program, "--after", name)[1] for name in ("draft", last))
    assert after == wingspan("plan", program)[1] != before
    assert json.loads(wingspan("plan", program, "--after", last, "--json")[1]) == {
        "schema": 1, "plan": after.removesuffix("\n"),
    }  # fmt: skip


def test_a_pass_that_there_is_not_is_told(wingspan) -> None:
    status, out, said = wingspan("plan", str(ROOT / "examples" / "karate.ws"), "--after", "sorted")
    assert (status, out) == (2, "") and "there is no pass sorted" in said and "use draft, loop_rotation, " in said
