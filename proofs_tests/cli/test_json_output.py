"""The output of verbs with `--json`: its keys and their types, all of them documented."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proofs_tests.cli.typed import FAULTY, KARATE, RACY, STUCK
from proofs_tests.places import ROOT


def test_explore_prints_these_keys_and_types(wingspan):
    made = wingspan("explore", RACY, "--json").json
    types = {
        "schema": int, "verdict": str, "complete": bool, "stopped_by": type(None),
        "strategy": str, "reason": str, "remark": str,
        "machine": str, "processes": int, "symmetry": bool, "told_apart": str, "left_out": list,
        "executions": int, "interleavings": int, "states": int, "steps": int, "seconds": float,
        "outcomes": int, "results": list, "races": list, "faults": list, "deadlocks": list, "properties": list,
    }  # fmt: skip
    assert {name: type(value) for name, value in made.items()} == types
    assert sum(result["interleavings"] for result in made["results"]) == made["interleavings"]
    assert made["outcomes"] == len(made["results"])
    shares = [result["interleavings"] for result in made["results"]]
    assert shares == sorted(shares, reverse=True)


def keys(value: object) -> Iterator[str]:
    """The keys of the objects in a value, without those that name tensors and variables."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from keys(
                list(below.values()) if key in ("values", "tensors", "variables", "indices") and below else below
            )
    elif isinstance(value, list):
        for below in value:
            yield from keys(below)


def test_every_key_is_documented(wingspan, written):
    """docs/json.md names each key that some verb prints."""
    lines = (ROOT / "docs" / "json.md").read_text().splitlines()
    named = {name for line in lines for name in re.findall(r"`(?:[a-z_.[\]]+\.)?([a-z_]+)`", line)}
    replayed = ["replay", RACY, "--interleaving", "-"]
    bad = [["explore", written(text, name)] for name, text in (("faulty.ws", FAULTY), ("stuck.ws", STUCK))]
    for words in (["explore", RACY], *bad, replayed, ["run", KARATE], ["fmt", RACY]):
        assert set(keys(wingspan(*words, "--json").json)) <= named


def test_doubles_that_are_not_finite_are_text_in_json(wingspan, tmp_path):
    """An engine that rounds computes them from finite ones; JSON has no numbers for them."""
    path = tmp_path / "beyond.ws"
    path.write_text(
        "a = Tensor(Dense(Element(0.0)), [1e300])\nc = Scalar(0.0)\nd = Scalar(0.0)\nc .= 0\nd .= 0\n"
        "c[] = a[1] * a[1] - a[1] * a[1]\nd[] = a[1] * a[1]\nreturn c, d"
    )
    found = wingspan("run", str(path), "--engine", "native", "--json").json
    assert {name: tensor["values"] for name, tensor in found["tensors"].items()} == {"c": "NaN", "d": "Inf"}
    raced = wingspan("stress", str(path), "--runs", "3", "--json").json
    assert len([end for end in raced["observed"] if end["runs"]]) == 1


def test_all_mistakes_of_a_program_are_told_as_json(wingspan, written):
    file = written("c = Tensor(Dense(Element(0)), 2)\nd .= 0\ne .= 0\n")
    done = wingspan("explore", file, "--json")
    told = [done.json["error"], *done.json["others"]]
    assert len(told) > 1 and [m["line"] for m in told] == sorted(m["line"] for m in told)
    assert all(
        f"error[{m['topic']}]: {m['message']}\n  {m['file']}:{m['line']}:{m['column']}" in done.err for m in told
    )


def test_what_makes_a_run_unsafe_and_how_it_ends_is_told_as_json(wingspan, written):
    racy = wingspan("run", RACY, "--engine", "native", "--json")
    assert racy.status == 2 and racy.json["error"]["topic"] == "unsafe" and racy.json["error"]["line"] == 6
    fault = wingspan("run", written("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nc[1] += 1 / 0\n"), "--json")
    assert fault.status == 1 and fault.json["error"]["line"] == 3
