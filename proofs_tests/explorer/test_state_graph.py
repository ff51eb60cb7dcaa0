"""The graph of states that a search has come to is that of the machine, and is drawn as it is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.cli.typed import process
from proofs_tests.effort import many
from proofs_tests.explorer.tiny import programs
from proofs_tests.explorer.walking import racing
from proofs_tests.places import ROOT
from proofs_tests.views.runs import Named
from proofs_tests.views.runs import programs as hostile
from proofs_tests.views.test_dot import QUOTED
from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.explorer import Blocked, Machine, Search, StateGraph, Step, Verdict, explore
from wingspan.explorer import states as states_module
from wingspan.explorer.settle import settle
from wingspan.testing.litmus import Litmus, Load, Lock, Store, ninc
from wingspan.views import dot
from wingspan.views.view import ExploreReport, Invocation, exploration_report

EXAMPLES = ROOT / "examples"
EMPTY = api.bind(api.parse("x = 0"))

usual = settings(derandomize=True, deadline=None, max_examples=many(150))
few = settings(derandomize=True, deadline=None, max_examples=many(40))


def drawn(machine: Machine[Any], strategy: str = "graph", **options: Any) -> Verdict:
    return explore(machine, Search(strategy, graph=True, **options))


def graph_of(verdict: Verdict) -> StateGraph:
    assert verdict.graph is not None
    return verdict.graph


# ---------------------------------------------------------------------------------------------- that of the machine


def assert_that_of(machine: Machine[Any], graph: StateGraph) -> int:
    """Go along the graph and the machine side by side; how many steps the search has not taken.

    States and numbers must be one to one, each state must have exactly the steps, races, locks and results that the
    machine says, and all of them must be reachable from the first.
    """
    initial = settle(machine, machine.initial()).state
    states, numbers, left = {0: initial}, {machine.fingerprint(initial): 0}, 0
    following = [0]
    while following:
        number = following.pop()
        state, node = states[number], graph.nodes[number]
        choices = [machine.step(state, task) for task in machine.tasks(state)]
        steps = {choice.task: choice for choice in choices if isinstance(choice, Step)}
        assert node.waiting == tuple(choice for choice in choices if isinstance(choice, Blocked))
        assert node.outcome == (None if choices else machine.outcome(state))
        assert {frozenset(pair) for pair in node.races} == {
            frozenset((one.task, other.task))
            for one, other in combinations(steps.values(), 2)
            if any(racing(x, y) for x in one.footprint for y in other.footprint)
        }
        edges = [edge for edge in graph.edges if edge.source == number]
        assert sorted(edge.task for edge in edges) == sorted(steps)
        for edge in edges:
            step = steps[edge.task]
            assert (edge.rule, edge.touches, edge.span) == (step.rule, step.footprint, step.span)
            assert edge.fault == (step.next.message if isinstance(step.next, Fault) else None)
            if edge.target is None:
                left += edge.fault is None
                continue
            after = settle(machine, step.next, edge.task).state
            mark = machine.fingerprint(after)
            if edge.target not in states:
                states[edge.target] = after
                following.append(edge.target)
                assert numbers.setdefault(mark, edge.target) == edge.target
            assert numbers[mark] == edge.target
    assert sorted(states) == list(range(len(graph.nodes)))
    return left


@given(programs())
@usual
def test_the_graph_is_that_of_the_machine(machine: Litmus) -> None:
    verdict = drawn(machine)
    assert assert_that_of(machine, graph_of(verdict)) == 0
    assert len(graph_of(verdict).nodes) == verdict.states


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize(
    "name", ["dependent", "dependent_atomic", "quiz_check_then_act", "quiz_deadlock_one_lock", "quiz_overflow"]
)
def test_that_of_a_program_is_too(name: str, machine: str) -> None:
    found = api.explore(EXAMPLES / f"{name}.ws", machine=machine, strategy="graph", graph=True)
    assert assert_that_of(api.machine_of(found.program, machine), graph_of(found.verdict)) == 0


@pytest.mark.parametrize("strategy", ["auto", "dpor", "bounded", "random", "pct"])
@given(machine=programs())
@few
def test_other_strategies_have_the_part_that_they_have_come_to(strategy: str, machine: Litmus) -> None:
    verdict = drawn(machine, strategy, runs=3)
    left = assert_that_of(machine, graph_of(verdict))
    assert len(graph_of(verdict).nodes) == verdict.states
    assert left == 0 or strategy != "auto"


def test_dpor_leaves_out_steps_that_graph_takes() -> None:
    machine = Litmus((Store("x", 1), Load("y")), (Store("z", 1), Load("x")))
    assert assert_that_of(machine, graph_of(drawn(machine, "dpor"))) > 0


def test_steps_for_shortest_interleavings_are_in_the_graph() -> None:
    machine = ninc(3)
    plain, exact = drawn(machine, "dpor"), drawn(machine, "dpor", exact=True)
    assert assert_that_of(machine, graph_of(exact)) < assert_that_of(machine, graph_of(plain))


def test_a_search_cut_short_has_the_states_so_far() -> None:
    verdict = drawn(ninc(3), max_states=20)
    assert (verdict.stopped_by, len(graph_of(verdict).nodes)) == ("max-states", 20)
    assert assert_that_of(ninc(3), graph_of(verdict)) > 0
    assert graph_of(drawn(ninc(3), max_seconds=0)) == StateGraph((), ())


def test_only_a_search_that_is_asked_has_a_graph() -> None:
    assert explore(ninc(2)).graph is None


@pytest.mark.parametrize("options", [{"strategy": "graph"}, {"strategy": "dpor"}, {"strategy": "dpor", "exact": True}])
def test_a_graph_has_no_more_states_than_can_be_drawn(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search ends when it finds one more, and not if it finds as many."""
    states = drawn(ninc(3), **options).states
    monkeypatch.setattr(states_module, "MOST_DRAWN", states)
    assert len(graph_of(drawn(ninc(3), **options)).nodes) == states
    monkeypatch.setattr(states_module, "MOST_DRAWN", states - 1)
    with pytest.raises(InputError, match=f"more than {states - 1} states, too many for a graph"):
        drawn(ninc(3), **options)
    assert explore(ninc(3), Search(**options)).states == states
    assert not drawn(ninc(3), "graph", max_states=states - 1).complete


@pytest.mark.parametrize("help", [{"jobs": 2}, {"scheduler": "localhost"}])
def test_several_processes_have_no_graph(help: Any) -> None:
    with pytest.raises(InputError, match="of the states of one process"):
        drawn(ninc(2), "dpor", **help)


# --------------------------------------------------------------------------------------------------------------- drawn

HEAD = re.compile(rf"digraph states {{| {{2}}label={QUOTED} labelloc=t .*| {{2}}(?:node|edge) \[.*\]|}}")
NODE = re.compile(rf" {{2}}(?P<id>[nuf]\d+) \[label=(?P<label>{QUOTED})(?P<style>[^\[\]]*)\]")
EDGE = re.compile(rf" {{2}}(?P<from>n\d+) -> (?P<to>[nuf]\d+) \[label=(?P<label>{QUOTED})(?P<style>[^\[\]]*)\]")
START = ["  start [shape=point]", "  start -> n0"]
RED, SHADED = "d55e00", "fillcolor"


def report_on(verdict: Verdict, expected: Any = None) -> ExploreReport:
    return exploration_report(api.Exploration(verdict, EMPTY, expected), Invocation("litmus.ws"))


def text_of(label: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], label[1:-1])


def assert_drawn(report: ExploreReport) -> str:
    """Each state and step is drawn once, as what it is, and nothing else is; the text of the legend."""
    graph = graph_of(report.verdict)
    lines = dot.explore(report).split("\n")
    nodes = {m["id"]: m for line in lines if (m := NODE.fullmatch(line))}
    arrows = [m for line in lines if (m := EDGE.fullmatch(line))]
    head = [line for line in lines if HEAD.fullmatch(line)]
    start = [line for line in lines if line in START]
    assert len(nodes) + len(arrows) + len(head) + len(start) == len(lines)
    assert start == (START if graph.nodes else [])

    left = {edge.source for edge in graph.edges if edge.target is None and edge.fault is None}
    faults = {f"f{k}": edge.fault for k, edge in enumerate(graph.edges) if edge.fault is not None}
    assert nodes.keys() == {*(f"n{k}" for k in range(len(graph.nodes))), *(f"u{k}" for k in left), *faults}
    for name, fault in faults.items():
        assert flat(text_of(nodes[name]["label"])) == flat(f"fault: {fault}") and "octagon" in nodes[name]["style"]
    for number, node in enumerate(graph.nodes):
        label, style = text_of(nodes[f"n{number}"]["label"]), nodes[f"n{number}"]["style"]
        dead = bool(node.waiting) and all(edge.source != number for edge in graph.edges)
        assert label.split("\n")[0] == str(number)
        assert ("\nresult: " in label, "peripheries=2" in style) == ((node.outcome is not None,) * 2)
        assert ("\ndeadlock\n" in label, "octagon" in style) == (dead, dead)
        assert label.count(" race") == len(node.races) and (SHADED in style) == bool(node.races)
        for blocked in node.waiting:
            assert flat(f"{blocked.task or '0'} waits for {blocked.waits_for}") in flat(label)

    def end(number: int) -> str:
        edge = graph.edges[number]
        return (
            f"f{number}" if edge.fault is not None else f"u{edge.source}" if edge.target is None else f"n{edge.target}"
        )

    assert [(m["from"], m["to"]) for m in arrows] == [(f"n{e.source}", end(k)) for k, e in enumerate(graph.edges)]
    for arrow, edge in zip(arrows, graph.edges, strict=True):
        label = text_of(arrow["label"])
        assert label.startswith(f"{edge.task or '0'}  {edge.rule}\n")
        assert all(str(touch.cell) in label for touch in edge.touches)
        assert (RED in arrow["style"]) == any(edge.task in pair for pair in graph.nodes[edge.source].races)
    return text_of(head[1].removeprefix("  label=").partition(" labelloc=")[0])


def flat(text: str) -> str:
    return " ".join(text.split())


@st.composite
def machines(draw: st.DrawFn) -> Named:
    """Machines whose cells have names that mean something to Graphviz."""
    return Named(*draw(st.lists(hostile(1, 3), min_size=2, max_size=2)), after=draw(hostile(0, 1)))


@given(machines(), st.sampled_from(["graph", "dpor"]), st.none() | st.integers(1, 20))
@usual
def test_all_states_and_steps_are_drawn_and_the_legend_says_how_far_the_search_went(
    machine: Named, strategy: str, bound: int | None
) -> None:
    verdict = drawn(machine, strategy, max_states=bound)
    graph = graph_of(verdict)
    first, second, *keys = assert_drawn(report_on(verdict)).split("\n")
    left = sum(edge.target is None and edge.fault is None for edge in graph.edges)
    assert first == f"{verdict.verdict}  litmus.ws"
    assert second.startswith("complete: " if verdict.complete else "stopped by --max-states, so there may be more")
    assert f"strategy {strategy}" in second
    told = [key for key in keys if key.startswith("...: ")]
    assert bool(told) == bool(left)
    assert all(key.startswith(f"...: {left} step") and key.endswith(", nor needed") == verdict.complete for key in told)
    assert any(key.startswith("shaded") for key in keys) == any(node.races for node in graph.nodes)
    assert not any("not shown" in key for key in keys)


def test_states_that_only_other_processes_came_to_are_told() -> None:
    """As after a search by several that was taken up."""
    verdict = drawn(Named((Store("x", 1),), (Store("x", 2),)))
    more = replace(verdict, states=verdict.states + 7)
    assert "not shown: 7 states that other processes reached" in assert_drawn(report_on(more)).split("\n")


def test_states_up_to_names_are_told() -> None:
    """And a graph under symmetry is drawn: a step leads to a state in which tasks have other names."""
    machine = Named(*[(Load("x"), Store("x", 1, relative=True))] * 3)
    full, fewer = (drawn(machine, symmetry=symmetry) for symmetry in (False, True))
    assert len(graph_of(fewer).nodes) < len(graph_of(full).nodes)
    told = [
        any("names of tasks are one" in key for key in assert_drawn(report_on(v)).split("\n")) for v in (full, fewer)
    ]
    assert told == [False, True]


def test_a_graph_without_states_is_one() -> None:
    assert "stopped by --max-seconds" in assert_drawn(report_on(drawn(Named((Lock("m"),)), max_seconds=0)))


def test_results_are_compared_with_the_sequential_result() -> None:
    found = api.explore(EXAMPLES / "dependent.ws", graph=True)
    lines = [
        line
        for line in dot.explore(exploration_report(found, Invocation("dependent.ws"))).split("\n")
        if "result: " in line
    ]
    assert len(lines) == 2
    for line in lines:
        serial = "c = [1, 0, 2, 0, 1]\\nthe sequential result" in line
        assert (RED in line) != serial and ("c = [1, 0, 1, 0, 1]\\nnot the sequential result" in line) != serial


def test_results_without_a_sequential_result_are_not_coloured() -> None:
    text = dot.explore(report_on(drawn(Named((Store("x", 1),)))))
    assert "peripheries=2]" in text and "serial" not in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not here")
@pytest.mark.parametrize("name", ["dependent", "quiz_deadlock_one_lock", "quiz_overflow"])
def test_graphviz_takes_it(name: str) -> None:
    found = api.explore(EXAMPLES / f"{name}.ws", strategy="dpor", graph=True)
    text = dot.explore(exploration_report(found, Invocation('a "b"\\N.ws')))
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "") and "<svg" in done.stdout


# ------------------------------------------------------------------------------------------------------------- written


def test_the_command_writes_the_graph_beside_what_it_prints(command: Any, tmp_path: Path) -> None:
    """In place of what is there; whatever the verdict, and with --json, too."""
    file, program = tmp_path / "states.dot", str(EXAMPLES / "dependent.ws")
    file.write_text("before")
    done = command("explore", program, "--graph", str(file), "--force", "--machine", "native", "--json")
    assert (done.status, done.err, done.json["verdict"]) == (1, "", "race")
    found = api.explore(program, machine="native", graph=True)
    assert file.read_text(encoding="utf-8") == dot.explore(exploration_report(found, Invocation(program))) + "\n"
    assert list(tmp_path.iterdir()) == [file]
    assert command("explore", program, "--graph", str(file), "--force", "--max-states", "4").status == 3
    assert "stopped by --max-states" in file.read_text(encoding="utf-8")


def test_the_text_does_not_depend_on_how_python_hashes(tmp_path: Path) -> None:
    """By these seeds the names of the two tasks hash in different orders."""
    texts = set()
    for seed in ("1", "3"):
        file = tmp_path / f"{seed}.gv"
        process("explore", str(EXAMPLES / "quiz_check_then_act.ws"), "--graph", str(file), env={"PYTHONHASHSEED": seed})
        texts.add(file.read_text(encoding="utf-8"))
    assert len(texts) == 1


BAD = [
    ("states.jpg", "states.jpg: not a file that graphs are written to"),
    ("states", "states: not a file that graphs are written to"),
    ("file/states.dot", "file/states.dot: Not a directory"),
    ("folder.dot", "folder.dot: Is a directory"),
    ("/proc/states.dot", "/proc/states.dot: "),
]


@pytest.mark.parametrize(("path", "said"), BAD, ids=[path for path, _ in BAD])
def test_a_bad_place_is_found_before_the_search(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.dot").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr(api, "explore", lambda *a, **k: pytest.fail("it searched"))
    done = command("explore", str(EXAMPLES / "dependent.ws"), "--graph", path)
    assert (done.status, done.out) == (2, "") and said in done.err
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder.dot"]


def test_too_many_states_are_told_on_the_command_line(command: Any, tmp_path: Path) -> None:
    program, file = tmp_path / "program.ws", tmp_path / "states.dot"
    program.write_text("c = Tensor(Dense(Element(0)), 1)\nc .= 0\nfor i = parallel(1:5)\n    c[1] += i\nend\n")
    words = ["explore", str(program), "--threads", "5", "--max-states", "1001"]
    assert command(*words).out.startswith("race ")
    done = command(*words, "--graph", str(file))
    assert (done.status, done.out) == (2, "")
    assert "more than 1000 states, too many for a graph" in done.err and not file.exists()


def test_the_page_shows_what_is_written(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    ((line, text),) = re.findall(
        r"`(wingspan explore examples/[^`]* --graph [^`]*)` writes\n\n```dot\n(.*?)```", page, re.DOTALL
    )
    monkeypatch.chdir(ROOT)
    *words, file = shlex.split(line)[1:]
    command(*words, str(tmp_path / file))
    assert (tmp_path / file).read_text(encoding="utf-8") == text
