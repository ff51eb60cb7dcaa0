"""Checkpoints that were written on purpose, with the right digest: refused, or taken up to the true verdict.

Each is taken up in a child process with a bound, so that a crash or an endless loop is seen.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.crafted import Document, bounded, contents, document, edited
from proofs_tests.effort import due, few, many
from proofs_tests.explorer.plain import PlainSymmetric
from proofs_tests.several import FORK
from wingspan.base.errors import InputError
from wingspan.explorer import Machine, Search, Verdict, checkpoint, explore, jobs, search
from wingspan.testing.litmus import Litmus, Load, Private, Spawn, Store, lockinc, ninc

SECONDS = many(60)
"""Of the processor, for all edits of a file: some hundred times what they take."""

EDITS = many(20)
"""Of each file, whether checked or not. `WINGSPAN_EFFORT=25` makes 10,000 in all."""

NESTED = Litmus(
    (Load("x"), Spawn(((Store("x", 1),), (Store("y", 2), Load("z")))), Private(), Store("x", relative=True)),
    (Store("x", 3), Load("y")),
)

FILES: dict[str, tuple[Machine[Any], Search]] = {
    "graph": (ninc(3), Search("graph", max_states=30)),
    "complete": (PlainSymmetric(ninc(3)), Search("graph")),
    "symmetry": (ninc(3), Search("graph", symmetry=True, max_states=12)),
    "dpor": (ninc(3), Search("dpor", max_states=60)),
    "more dpor": (PlainSymmetric(ninc(3)), Search("dpor", max_states=70)),
    "nested": (NESTED, Search("dpor", max_states=30)),
    "nested complete": (NESTED, Search("dpor")),
    "nested graph": (PlainSymmetric(NESTED), Search("graph")),
    "locks": (lockinc(3), Search("dpor", max_states=12)),
    "parts": (ninc(3), Search("dpor", jobs=2, max_states=50)),
}


def facts(verdict: Verdict) -> dict[str, Any]:
    """All of a verdict but the time it took, and why its strategy was picked, which nothing depends on."""
    return {name: value for name, value in vars(verdict).items() if name not in ("seconds", "reason", "processes")}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Machine[Any], Path, Document]]:
    """Keeps one of the searches, and gives its document, a new one each time."""
    file, bytes_of = tmp_path_factory.mktemp("kept") / "search", dict[str, bytes]()

    def write(name: str) -> tuple[Machine[Any], Path, Document]:
        machine, kept = FILES[name]
        if name not in bytes_of:
            with pytest.MonkeyPatch.context() as small_parts:
                small_parts.setattr(jobs, "SHORT", 0.0)
                small_parts.setattr(jobs, "LONG", 0.0)
                explore(machine, replace(kept, checkpoint=file))
            bytes_of[name] = file.read_bytes()
        found = document(bytes_of[name])
        assert contents(found) == bytes_of[name]
        return machine, file, found

    return write


@cache
def truths(name: str) -> dict[tuple[str, bool], dict[str, Any]]:
    """The facts of whole searches, by strategy and symmetry."""
    return {
        (strategy, symmetry): facts(explore(FILES[name][0], Search(strategy, symmetry=symmetry)))
        for strategy, symmetry in (("graph", False), ("graph", True), ("dpor", False))
    }


@FORK
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("name", few(list(FILES), 4))
def test_a_crafted_file_is_refused_or_leads_to_the_truth(
    written: Any, monkeypatch: pytest.MonkeyPatch, name: str, trusting: bool
) -> None:
    """If `trusting`, nothing of the file is checked by doing it again; the verdict says then what it relies on."""
    machine, file, before = written(name)
    if trusting:
        monkeypatch.setattr(search, "RERUN", -1)
        monkeypatch.setattr(checkpoint, "CHECKED", 0)
    rng = random.Random(f"{name} {trusting}")
    edits = [edited(before, rng) for _ in range(EDITS)]
    expected = truths(name)

    def taken_up(made: Document) -> Callable[[], str]:
        def run() -> str:
            file.write_bytes(contents(made))
            try:
                found = explore(machine, Search(resume=file))
            except InputError as error:
                assert "\n" not in error.message and error.fix
                return "refused"
            if facts(found) == expected[found.strategy, found.symmetry]:
                return "true"
            return "believed" if trusting and "as the checkpoint says" in found.remark else f"false: {facts(found)}"

        return run

    said, status = bounded(map(taken_up, edits), SECONDS)
    wrong = len(said) if status else next((n for n, each in enumerate(said) if each.startswith("false")), None)
    if wrong is not None:
        differs = {key: part for key, part in edits[wrong].items() if part != before.get(key)}
        pytest.fail(f"status {status}, {said[wrong : wrong + 1]}: {before['head']} {differs}")
    assert min(map(said.count, ("refused", "true"))) >= due(1) or trusting


def edit(way: str, value: Any) -> Callable[[Document], None]:
    """Puts a value somewhere in the document: keys and numbers with dots between them."""

    def do(made: Document) -> None:
        *keys, last = (int(key) if key.isdigit() else key for key in way.split("."))
        inside: Any = made
        for key in keys:
            inside = inside[key]
        inside[last] = value

    return do


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def open_edge(made: Document) -> int:
    """One that has not been followed."""
    return int(made["targets"].index(-1))


def ends_at(node: int) -> Callable[[Document], None]:
    """All runs end there."""
    return lambda made: edit("head.search.ends", [[node, made["head"]["search"]["executions"]]])(made)


ALL_DONE = [[], [], ["1", "2", "3"], [], True]
PLAUSIBLE = {
    "nobody goes on": ("nested", edit("head.resumptions", [])),
    "one goes on who does not exist": ("nested", edit("head.resumptions", [[], [99]])),
    "one goes on who does not wait": ("nested", edit("head.resumptions", [[], [2]])),
    "a run comes back": ("complete", lambda made: edit(f"targets.{made['targets'].index(40)}", 1)(made)),
    "runs come back": ("more dpor", edit("targets.95", 33)),
    "the last one goes on": ("dpor", edit("resumed.0", -1)),
    "one goes on after no step": (
        "dpor", lambda made: [edit("head.resumptions", [[], [0]])(made), edit(f"resumed.{open_edge(made)}", 1)(made)]
    ),
    "an edge leads to no node": ("complete", edit("targets.3", 10**6)),
    "an edge faults": ("complete", edit("targets.0", -2)),
    "a node is found from a later one": ("complete", edit("parents.3", 9)),
    "a node is found from nowhere": ("complete", edit("parents.3", -7)),
    "a node is found by nobody": ("complete", edit("by.3", 10**6)),
    "nodes are missing": ("complete", lambda made: [made[part].pop() for part in ("parents", "by")]),
    "edges are missing": ("complete", lambda made: [made[part].pop() for part in ("targets", "resumed")]),
    "all is done": ("dpor", edit("head.search.parts", [ALL_DONE])),
    "nothing is left to do": ("dpor", edit("head.search.parts", [])),
    "it has begun and has done nothing": ("dpor", edit("head.search.parts", [[[], [], [], [], True]])),
    "it has done and not begun": ("dpor", edit("head.search.parts", [[[], [], ["1"], [], False]])),
    "a wish for nobody": ("dpor", edit("head.search.parts", [[[], [], [], [["9"]], False]])),
    "a wish for who sleeps": ("dpor", edit("head.search.parts", [[[], [], ["1"], [["1"]], True]])),
    "a wish without end": ("dpor", edit("head.search.parts", [[[], [], [], [["1"] * 50_000], False]])),
    "one path in another": ("dpor", edit("head.search.parts", [[[], [], [], [[".".join("1" * 200_000)]], False]])),
    "parts twice": ("parts", lambda made: made["head"]["search"]["parts"].append(made["head"]["search"]["parts"][0])),
    "a part below another": (
        "parts", edit("head.search.parts", [[[[[], "1", [], [], []]], [], [], [], False], [[], [], [], [], False]])
    ),
    "runs end in the middle": ("dpor", ends_at(0)),
    "runs end nowhere": ("dpor", ends_at(10**6)),
    "more runs end than are made": ("dpor", edit("head.search.executions", 0)),
    "a number is below zero": ("dpor", edit("head.search.executions", -5)),
    "a number is huge": ("dpor", edit("head.search.executions", 10**4000)),
    "a number is none": ("dpor", edit("head.search.executions", float("nan"))),
    "a number is a truth": ("dpor", edit("head.search.elsewhere", True)),
    "there are fewer steps": ("complete", edit("head.steps", 1)),
    "the head is a list": ("dpor", edit("head", [])),
    "the head is a number": ("dpor", edit("head", 7)),
    "deep nesting": ("dpor", edit("head.search.parts", deep(900))),
    "symmetry of traces": ("dpor", edit("head.symmetry", True)),
    "another strategy": ("dpor", edit("head.strategy", "random")),
    "traces by graph": ("dpor", edit("head.strategy", "graph")),
    "an endless reason": ("dpor", edit("head.reason", "safe\x1b[2J")),
    "sizes": ("dpor", edit("head.sizes.by", 0)),
    "something more": ("dpor", edit("head.more", 1)),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(written: Any) -> dict[str, str]:
    """The end of each search, `status N` if the process that takes it up ends. One process takes up all that it can."""

    def take_up(what: str) -> str:
        name, craft = PLAUSIBLE[what]
        machine, file, made = written(name)
        craft(made)
        made["sizes are wrong"] = what == "sizes"
        file.write_bytes(contents(made))
        try:
            found = explore(machine, Search(resume=file))
        except InputError as error:
            return json.dumps([error.message.removeprefix(str(file)), error.fix])
        return f"taken up: {facts(found)}"

    for name, _ in PLAUSIBLE.values():
        written(name)
    said: list[str] = []
    with pytest.MonkeyPatch.context() as trusting:
        trusting.setattr(search, "RERUN", -1)
        trusting.setattr(checkpoint, "CHECKED", 0)
        while len(said) < len(PLAUSIBLE):
            more, status = bounded([partial(take_up, what) for what in [*PLAUSIBLE][len(said) :]], 10)
            said += [*more, f"status {status}"] if status else more
    return dict(zip(PLAUSIBLE, said, strict=True))


@FORK
@pytest.mark.parametrize("what", PLAUSIBLE)
def test_what_cannot_be_is_refused(answers: dict[str, str], what: str) -> None:
    """Also where nothing of the file is checked by doing it again."""
    said = answers[what]
    assert not said.startswith("status")
    if what in BELIEVED:
        assert "as the checkpoint says, and were not repeated" in said
        return
    assert not said.startswith("taken up"), said
    message, fix = json.loads(said)
    assert message in ("the checkpoint does not fit: the program takes other steps", " is damaged")
    assert fix == "search anew"


BELIEVED = {"all is done", "nothing is left to do"}
"""Claims that the numbers cannot refute."""


@FORK
@pytest.mark.parametrize("who", few([[99], [2, 0], [0, 1], [3], [-1]], 2))
def test_nobody_goes_on_who_does_not_wait(written: Any, monkeypatch: pytest.MonkeyPatch, who: list[int]) -> None:
    """Only those above a task wait for it, the next one first. Tried after each step that leads to a known state."""
    machine, file, before = written("nested graph")
    monkeypatch.setattr(checkpoint, "CHECKED", 0)
    before["head"]["resumptions"].append(who)

    def refused(edge: int) -> Callable[[], str]:
        def run() -> str:
            made = {**before, "resumed": list(before["resumed"])}
            made["resumed"][edge] = len(before["head"]["resumptions"]) - 1
            file.write_bytes(contents(made))
            with pytest.raises(InputError):
                explore(machine, Search(resume=file))
            return "refused"

        return run

    edges = [edge for edge, target in enumerate(before["targets"]) if target >= 0]
    assert bounded(map(refused, edges), 20) == (["refused"] * len(edges), 0)
    assert len(edges) > 40


@pytest.mark.deep
def test_a_child_that_does_not_end_is_seen() -> None:
    """Of what is tried here nothing else could be."""

    def forever() -> str:
        while True:
            time.process_time()

    assert bounded([lambda: "one", forever], 1) == (["one"], -24)


def test_a_long_search_says_what_it_relies_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And ends with the totals of a search that was never stopped."""
    file, machine = tmp_path / "search", ninc(4)
    monkeypatch.setattr(search, "RERUN", 10)
    monkeypatch.setattr(checkpoint, "CHECKED", 100)
    for strategy, remark in (
        ("graph", r"\d+ steps are as the checkpoint says, and were not repeated"),
        ("dpor", r"\d+ executions and \d+ steps are as the checkpoint says, and were not repeated"),
    ):
        explore(machine, Search(strategy, max_states=650, checkpoint=file))
        found, whole = explore(machine, Search(resume=file)), explore(machine, Search(strategy))
        assert {**facts(found), "remark": ""} == facts(whole)
        assert re.fullmatch(remark, found.remark)


def test_one_edge_of_few_that_lies_is_found(tmp_path: Path) -> None:
    """Each that leads to a known state and was not the way to it, one after the other, to every other state."""
    file, machine = tmp_path / "search", Litmus((Store("x", 1), Private(1), Load("y")), (Store("y", 1), Load("x")))
    explore(machine, Search("graph", checkpoint=file))
    before = document(file.read_bytes())
    tried = 0
    for edge, target in enumerate(before["targets"]):
        for other in range(len(before["parents"])):
            if target >= 0 and other != target:
                before["targets"][edge] = other
                file.write_bytes(contents(before))
                with pytest.raises(InputError, match="does not fit"):
                    explore(machine, Search(resume=file))
                tried += 1
        before["targets"][edge] = target
    assert tried > 50
