"""`wingspan replay`: the steps that it prints, and how it ends."""

from __future__ import annotations

import pytest

from proofs_tests.cli.typed import FAULTY, RACY, STUCK


def test_replay_prints_every_step_and_the_values(wingspan):
    made = wingspan("replay", RACY, "--interleaving", "1*3,2", "--json").json
    assert sorted(made) == ["end", "incident", "message", "mismatch", "schema", "steps", "values"]
    assert [made[key] for key in ("mismatch", "end", "message", "incident")] == [None, "finished", None, None]
    assert made["values"] == {"c": [1, 0, 1, 0, 1]}
    keys = ["column", "indices", "line", "lost", "rule", "task", "touches", "visible"]
    assert all(sorted(step) == keys for step in made["steps"])
    assert [step["indices"]["i"] for step in made["steps"] if step["visible"]] == [1, 1, 2, 3, 2, 3, 4, 4]
    assert {step["task"] for step in made["steps"]} == {"0", "1", "2"}
    touch = next(step for step in made["steps"] if step["visible"])["touches"][0]
    assert touch == {
        "tensor": "c", "level": 1, "level_name": "Element", "buffer": "val", "cell": "c.val[1]",
        "operation": "read", "position": 1, "index": None, "value": 0,
    }  # fmt: skip


def test_the_text_of_a_replay_has_one_line_for_each_step_if_all_are_asked_for(wingspan):
    words = ["replay", RACY, "--interleaving", "1*3,2"]
    lines = wingspan(*words, "--all").out.splitlines()[2:]
    steps = [line for line in lines[: lines.index("")] if "──" not in line]
    made = wingspan(*words, "--json").json["steps"]
    assert len(steps) == len(made)
    for line, step in zip(steps, made, strict=True):
        assert step["rule"] in line and all(touch["cell"] in line for touch in step["touches"])
        assert line.split()[0].isdigit() == step["visible"]


@pytest.mark.parametrize(("interleaving", "status"), [("1*3,2", 0), ("-", 0), ("3", 3), ("1*99", 3), ("1*4,0,2*4", 3)])
def test_the_status_of_a_replay_says_whether_it_matched(wingspan, interleaving, status):
    """In every form; where it did not match, text and JSON say so, and so do the pictures."""
    words = ["replay", RACY, "--interleaving", interleaving]
    mismatch = wingspan(*words, "--json").json["mismatch"]
    assert (mismatch is not None) == (status == 3)
    for form in ("text", "json", "mermaid", "dot", "itf"):
        done = wingspan(*words, "--format", form)
        assert (done.status, done.err) == (status, ""), form
        assert ("mismatch" in done.out.replace('"mismatch": null', "")) == (status == 3), form
    assert wingspan(*words, "--json").out == wingspan(*words, "--format", "json").out


def test_a_replay_that_faults_before_its_interleaving_is_used_up_is_bad_and_says_both(wingspan, written):
    for text, end in ((FAULTY, "fault"), (STUCK, "deadlock")):
        done = wingspan("replay", written(text), "--interleaving", "2*7")
        assert done.status == 1
        assert f"error[{end}]" in done.out
        assert f"but the run has ended in a {end}; tasks that can step: none" in done.out


def test_forms_and_switches_of_a_replay_that_do_not_go_together(wingspan):
    words = ["replay", RACY, "--interleaving", "-"]
    for more in (["--json", "--format", "dot"], ["--json", "--all"], ["--format", "itf", "--all"]):
        done = wingspan(*words, *more)
        assert done.status == 2 and (done.json["error"]["topic"] == "usage" if "--json" in more else done.out == "")
