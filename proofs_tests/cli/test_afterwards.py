"""Verbs print their verdict before they make anything else, and what cuts that short leaves the verdict as it is."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.base.signals import Terminated
from wingspan.console import STATUS
from wingspan.explorer.bounds import Stopped
from wingspan.trace import document_of
from wingspan.trace.graph import Trace
from wingspan.views import dot, graphviz, terminal
from wingspan.views import json as data

SUM = str(EXAMPLES / "sum.ws")
RACE = 1
"""The exit status of its verdict."""

CUTS: dict[str, tuple[BaseException, str]] = {
    "time": (Stopped("max-seconds"), "it takes more than --max-seconds leaves"),
    "memory": (Stopped("max-memory"), "it takes more than --max-memory leaves"),
    "no memory": (MemoryError(), "memory ran out"),
    "Ctrl-C": (KeyboardInterrupt(), "interrupted"),
    "SIGTERM": (Terminated(signal.SIGTERM), "ended by SIGTERM"),
}
OUTPUTS = {
    "--html": ("out.html", "wingspan.trace.document_of"),
    "--graph": ("out.dot", "wingspan.views.dot.explore"),
}
"""Options of `explore`, with a file and the function that makes what is in it."""


def raising(error: BaseException) -> Callable[..., Any]:
    def make(*given: Any, **options: Any) -> Any:
        raise error

    return make


def without_seconds(text: str) -> str:
    return text.partition("  search ")[0]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_what_cuts_a_file_short_leaves_the_verdict(command, tmp_path, monkeypatch, option, cut, json) -> None:
    """And the exit status, and the file that was there."""
    (name, maker), (error, why) = OUTPUTS[option], CUTS[cut]
    path = tmp_path / name
    path.write_text("before")
    words = ["explore", SUM, "--strategy", "graph", *["--json"] * json]
    plain = command(*words)
    monkeypatch.setattr(maker, raising(error))
    done = command(*words, option, str(path), "--force")
    assert done.status == plain.status == RACE
    if json:
        assert done.json | {"seconds": 0} == plain.json | {"seconds": 0}
    else:
        assert without_seconds(done.out) == without_seconds(plain.out)
    assert done.err == f"note: {path} is not written: {why}\n"
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_bound_of_time_cuts_the_run_to_the_first_finding_short(command, monkeypatch) -> None:
    """A thousand tasks take minutes to follow, step by step. The verdict is printed without it."""
    now, replay = [monotonic()], api.replay

    def replay_late(*given: Any, **options: Any) -> Any:
        now[0] += 10_000
        return replay(*given, **options)

    monkeypatch.setattr("wingspan.explorer.bounds.monotonic", lambda: now[0])
    plain = command("explore", SUM, "--max-seconds", "1000")
    monkeypatch.setattr(api, "replay", replay_late)
    done = command("explore", SUM, "--max-seconds", "1000")
    assert (done.status, plain.status, plain.err) == (RACE, RACE, "")
    assert done.err == "note: the run to the first finding is not shown: it takes more than --max-seconds leaves\n"
    assert len(done.out.splitlines()) < len(plain.out.splitlines()) and "wingspan replay" in done.out


def test_after_a_signal_no_further_file_is_made_and_a_bound_is_about_one_file(command, tmp_path, monkeypatch) -> None:
    html, graph = tmp_path / "a.html", tmp_path / "a.dot"
    words = ["explore", SUM, "--html", str(html), "--graph", str(graph)]
    monkeypatch.setattr("wingspan.views.dot.explore", raising(KeyboardInterrupt()))
    done = command(*words)
    assert done.status == RACE
    assert done.err == f"note: {graph} is not written: interrupted\nnote: {html} is not written: interrupted\n"
    assert not html.exists()
    monkeypatch.setattr("wingspan.views.dot.explore", raising(Stopped("max-seconds")))
    done = command(*words)
    assert done.err == f"note: {graph} is not written: it takes more than --max-seconds leaves\n"
    assert html.exists()


@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_a_signal_while_the_verdict_is_printed_takes_effect_after_it(command, tmp_path, monkeypatch, json) -> None:
    module = data if json else terminal
    usual = module.explore

    def interrupted(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return usual(*given)

    monkeypatch.setattr(module, "explore", interrupted)
    path = tmp_path / "a.html"
    done = command("explore", SUM, "--html", str(path), *["--json"] * json)
    assert done.status == RACE
    assert done.json["verdict"] == "race" if json else done.out.startswith("race  ")
    assert done.err == f"note: {path} is not written: interrupted\n"


@pytest.mark.parametrize("bound", [("--max-seconds", "0"), ("--max-memory", "1K")])
def test_no_page_is_made_where_nothing_is_left_of_a_bound(command, tmp_path, bound) -> None:
    path = tmp_path / "a.html"
    done = command("explore", SUM, "--html", str(path), *bound)
    assert done.status == STATUS[done.out.split()[0]]  # a search of a few states may end before it looks
    assert done.err == f"note: {path} is not written: it takes more than {bound[0]} leaves\n"
    assert not path.exists()


def test_a_page_asks_before_each_step_and_each_state_whether_it_may_go_on() -> None:
    found = api.explore(SUM, strategy="graph")
    asked: list[int] = []
    whole = document_of(found, tick=lambda: asked.append(1))
    assert whole == document_of(found)
    moments = len(whole["before"]) + sum(len(edge["before"]) for edge in whole["edges"])
    assert len(asked) == len(whole["edges"]) + len(whole["states"]) + moments
    for most in (0, 1, len(whole["edges"]), len(asked) - 1):
        left = iter(range(most))

        def tick(left: Any = left) -> None:
            if next(left, None) is None:
                raise Stopped("max-seconds")

        with pytest.raises(Stopped):
            document_of(found, tick=tick)
    with pytest.raises(Stopped):
        list(Trace(found.program, tick=raising(Stopped("max-memory"))).walk(["1"]))


def test_a_graph_asks_before_each_state_and_each_step_whether_it_may_go_on(command, tmp_path, monkeypatch) -> None:
    graph = api.explore(SUM, strategy="graph", graph=True).verdict.graph
    asked: list[int] = []
    monkeypatch.setattr("wingspan.explorer.bounds.Bounds.tick", lambda self: asked.append(1))
    usual = dot.explore

    def counted(*given: Any) -> Any:
        asked.clear()
        return usual(*given)

    monkeypatch.setattr(dot, "explore", counted)
    path = tmp_path / "a.dot"
    command("explore", SUM, "--strategy", "graph", "--graph", str(path))
    assert graph is not None and path.read_text().startswith("digraph states {")
    assert len(asked) == len(graph.nodes) + len(graph.edges)


def test_graphviz_is_ended_when_its_time_is_up(tmp_path, monkeypatch) -> None:
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Stopped) as stopped:
        graphviz.render("digraph {}", ".svg", 0.01)
    assert stopped.value.bound == "max-seconds"


@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_coverage_that_is_cut_short_is_left_out(command, monkeypatch, json) -> None:
    words = ["explore", SUM, "--coverage", *["--json"] * json]
    whole = command(*words)
    monkeypatch.setattr("wingspan.trace.coverage.coverage", raising(KeyboardInterrupt()))
    done = command(*words)
    assert done.status == whole.status == RACE
    assert done.err == "note: the coverage is not counted: interrupted\n"
    if json:
        assert done.json.keys() == whole.json.keys() - {"coverage"}
    else:
        assert without_seconds(done.out) == without_seconds(whole.out) and len(done.out) < len(whole.out)


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_file_that_cannot_be_written_is_an_error_after_the_verdict(command, tmp_path, monkeypatch, option) -> None:
    """With --json, standard output has the verdict alone: it is one object."""
    full = InputError("the disk: no room", fix="make room")
    monkeypatch.setattr("wingspan.cli.afterwards.write_atomically", raising(full))
    done = command("explore", SUM, option, str(tmp_path / OUTPUTS[option][0]), "--json")
    assert (done.status, done.json["verdict"]) == (2, "race")
    assert done.err == "error[input]: the disk: no room\n  fix  make room\n"


ROWS = """
A = Tensor(Dense(Element(0)), [1, 2, 3])
y = Tensor(Dense(Element(0)))
y .= 0
for i = _
    y[i] += A[i]
end
return y
"""


@pytest.mark.parametrize(
    ("verb", "maker", "status"),
    [
        (["run", "-o", "y={}"], "wingspan.tensors.tensor.Tensor.save", 130),
        (["parallelize", "--threads", "2", "-o", "{}"], "wingspan.cli.afterwards.write_atomically", 0),
    ],
    ids=["run", "parallelize"],
)
def test_results_are_printed_before_they_are_written(
    command, written, tmp_path, monkeypatch, verb, maker, status
) -> None:
    """If the file is missing then, the status of `run`, which has no verdict, says so."""
    path, file = tmp_path / "y.npy", written(ROWS, "rows.ws")
    words = [verb[0], file, *(word.format(path) for word in verb[1:])]
    whole = command(*words)
    assert whole.status == 0 and path.exists()
    monkeypatch.setattr(maker, raising(KeyboardInterrupt()))
    done = command(*words, "--force")
    assert (done.status, done.out.partition("seconds")[0]) == (status, whole.out.partition("seconds")[0])
    assert f"note: {Path(path)} is not written: interrupted\n" in done.err
