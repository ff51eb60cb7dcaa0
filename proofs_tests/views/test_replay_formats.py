"""A replay as Mermaid, as DOT and as an ITF trace is well formed, and says what the run did and no more."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.explorer import Deadlock, FaultReport, format_interleaving, replay
from wingspan.lang.printer import value
from wingspan.outcome import Outcome
from wingspan.testing.litmus import Add, Check, Litmus, Load, Lock, Private, Program, State, Store, Unlock
from wingspan.views import dot, itf, mermaid
from wingspan.views.order import Point, edges, points
from wingspan.views.view import Invocation, ReplayReport, replayed

EXAMPLES = ROOT / "examples"
EMPTY = api.bind(api.parse("x = 0")).plain

# ----------------------------------------------------------------------------------------------------- runs to print


class Named(Litmus):
    """The litmus machine with outcomes of the kind that reports tell of."""

    def outcome(self, state: State) -> Outcome:
        return Outcome(())


CELLS = ('a;b "#35;" <br/>', "end\n%% x: {y}")
"""Names that mean something to Mermaid or Graphviz."""


BLOCKS: list[Program] = [
    *((access,) for cell in CELLS for access in (Load(cell), Store(cell, 1), Add(cell), Check(cell, 0))),
    *((Lock("m"), access, Unlock("m")) for access in (Load(CELLS[0]), Store(CELLS[1], 1))),
    (Lock("m"), Lock("n"), Unlock("n"), Unlock("m")),
    (Lock("n"), Private(), Lock("m"), Unlock("m"), Unlock("n")),
]


def programs(least: int, most: int) -> st.SearchStrategy[Program]:
    parts = st.lists(st.sampled_from(BLOCKS), min_size=least, max_size=most)
    return parts.map(lambda drawn: tuple(step for part in drawn for step in part))


@st.composite
def runs(draw: st.DrawFn) -> ReplayReport:
    """Replays of random machines, some of which fault, lock up, or stop matching."""
    machine = Named(*draw(st.lists(programs(2, 4), min_size=2, max_size=3)), after=draw(programs(0, 1)))
    tasks = draw(st.lists(st.sampled_from(["1", "2", "3"] * 4 + [""]), max_size=12))
    match draw(st.sampled_from(["as it is", "fitting", "racing", "racing"])):
        case "fitting":
            tasks = fitting(machine, tasks)
        case "racing":
            tasks = fitting(machine, tasks)
            starts = (tasks[:n] for n in range(len(tasks), -1, -1))
            more = ([*start, *pair] for start in starts for pair in permutations(machine.paths[1:], 2))
            tasks = next((longer for longer in more if followed(machine, longer).racing), tasks)
    return followed(machine, tasks)


def followed(machine: Litmus, tasks: Sequence[str]) -> ReplayReport:
    text = format_interleaving(tasks)
    return replayed(replay(machine, text), text, EMPTY, Invocation("litmus.ws"))


def fitting(machine: Litmus, tasks: Sequence[str]) -> list[str]:
    """The interleaving without what does not match."""
    kept: list[str] = []
    for task in tasks:
        run = replay(machine, [*kept, task], finish=False)
        list(run)
        kept += [task] if run.mismatch is None else []
    return kept


def report_on(written: api.Program | Path, machine: str, interleaving: str) -> ReplayReport:
    bound = api.bind(written)
    followed = api.replay(bound, interleaving, machine=machine)
    return replayed(followed, interleaving, bound.plain, Invocation("program.ws", machine=machine))


quizzes = sorted(EXAMPLES.glob("quiz_*.ws"))


@st.composite
def programs_run(draw: st.DrawFn) -> ReplayReport:
    """Replays of the programs that are broken on purpose."""
    tasks = draw(st.lists(st.sampled_from(["1", "2", "1.1", "2.1", "0"]), min_size=1, max_size=8))
    return report_on(draw(st.sampled_from(quizzes)), draw(st.sampled_from(api.MACHINES)), ",".join(tasks))


usual = settings(derandomize=True, deadline=None, max_examples=many(60))
few = settings(derandomize=True, deadline=None, max_examples=many(15))


# ------------------------------------------------------------------------------------- what comes before what, in runs

LOOPS = """\
a = Tensor(Dense(Element(0)), 2)
c = Tensor(Dense(Element(0)), 2)
a .= 0
for i = parallel(1:2)
    a[i] += i
end
c .= 0
for i = parallel(1:2)
    c[i] += a[1]
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
def test_tasks_of_two_loops_in_a_row_are_forked_and_joined_twice(machine: str) -> None:
    run = points(report_on(api.parse(LOOPS), machine, "2*2"))
    kinds = [(point.kind, point.task, point.tasks) for point in run if point.kind != "step"]
    assert kinds == [("fork", "0", ("1", "2")), ("join", "0", ("1", "2"))] * 2


NESTED = """\
outer = cpu(:o, 2)
inner = cpu(:i, 2)
c = Tensor(Dense(Element(0)), 2)
c .= 0
for j = parallel(1:3, outer)
    for i = parallel(1:2, inner)
        c[i] += j
    end
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("interleaving", ["-", "1.1,2.1,1.2,2.2*3,1.1,2.1", "2.2,2.1,1.2"])
def test_nested_tasks_are_joined_before_those_that_started_them(machine: str, interleaving: str) -> None:
    """Task 2 has two iterations of the outer loop, and forks in each."""
    run = list(points(report_on(api.parse(NESTED), machine, interleaving)))
    under_way: list[str] = []
    for point in run:
        if point.kind == "fork":
            assert point.task == "0" or point.task in under_way
            under_way += point.tasks
        elif point.kind == "join":
            under_way = [task for task in under_way if task not in point.tasks]
            assert not any(task.startswith(f"{child}.") for task in under_way for child in point.tasks)
        else:
            assert point.task in under_way
    assert not under_way
    forks = [(point.task, point.tasks) for point in run if point.kind == "fork"]
    assert sorted(forks) == [("0", ("1", "2")), ("1", ("1.1", "1.2")), *[("2", ("2.1", "2.2"))] * 2]


@given(runs())
@usual
def test_steps_are_ordered_exactly_by_task_conflicts_and_joins(report: ReplayReport) -> None:
    """The closure of the edges is that of the definition, and no edge for a conflict follows from the others."""
    run = list(points(report))
    before = closure(len(run), {(edge.first, edge.second) for edge in edges(run)})
    steps = [number for number, point in enumerate(run) if point.kind == "step"]
    wanted = closure(len(run), {(a, b) for a, b in combinations(steps, 2) if ordered(run[a], run[b])})
    assert {pair for pair in before if set(pair) <= set(steps)} == wanted
    for edge in edges(run):
        if edge.cells:
            others = {(e.first, e.second) for e in edges(run)} - {(edge.first, edge.second)}
            assert (edge.first, edge.second) not in closure(len(run), others)


def ordered(a: Point, b: Point) -> bool:
    """Whether a step comes before a later one by definition: one task, the root after all, or a conflict."""
    assert a.action and b.action
    conflict = any(x.conflicts(y) for x in a.action.touches for y in b.action.touches)
    return conflict or a.task == b.task or b.task == "0"


def closure(size: int, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Warshall 1962; the pairs go upwards."""
    reach = [[(a, b) in pairs for b in range(size)] for a in range(size)]
    for k in range(size):
        for a in range(k):
            if reach[a][k]:
                reach[a] = [x or y for x, y in zip(reach[a], reach[k], strict=True)]
    return {(a, b) for a in range(size) for b in range(size) if reach[a][b]}


# ------------------------------------------------------------------------------------------------------------- Mermaid

TEXT = r"(?:[^#;:\"<>{}%\\\n]|#\d+;|<br/>)+"
"""What Mermaid takes as it is, besides characters by number."""
STATEMENTS = {
    "participant": rf"  participant (?P<id>[tc]\d+) as (?P<name>{TEXT})",
    "open": r"box (?:Tasks|Shared cells)|rect rgba\(213, 94, 0, 0\.2\)",
    "close": r"end",
    "spawn": r"(?P<from>t\d+)->>\+(?P<to>t\d+): spawns",
    "ends": r"(?P<to>t\d+)-->>-(?P<from>t\d+): ends",
    "arrow": rf"(?P<from>[tc]\d+)(?:->>|-->>)(?P<to>[tc]\d+): (?P<number>\d+) (?P<text>{TEXT})",
    "note": rf"Note over (?P<from>t\d+)(?:,(?P<to>t\d+))?: (?:(?P<number>\d+) (?!and ))?(?P<text>{TEXT})",
    "deactivate": r"deactivate (?P<to>t\d+)",
}


def parsed(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The statements of a diagram; each must be one of the forms above."""
    first, *lines = text.split("\n")
    assert first == "sequenceDiagram"
    for line in lines:
        matches = {kind: re.fullmatch(f"  (?:{form})", line) for kind, form in STATEMENTS.items()}
        found = [(kind, match.groupdict()) for kind, match in matches.items() if match]
        assert len(found) == 1, (line, found)
        yield found[0]


def plain(text: str) -> str:
    """A text without Mermaid's characters by number."""
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text.replace("<br/>", " "))


def assert_diagram(report: ReplayReport) -> None:
    """All is declared, opened and closed, and every touch of every visible step is told once, in order."""
    names: dict[str, str] = {}
    depth, active = 0, set()
    told: list[tuple[int, str, str]] = []
    for kind, part in parsed(mermaid.replay(report)):
        if kind == "participant":
            names[part["id"]] = plain(part["name"])
            continue
        assert {part[end] for end in ("from", "to") if part.get(end)} <= names.keys()
        depth += (kind == "open") - (kind == "close")
        assert 0 <= depth <= 1
        if kind == "spawn":
            assert part["to"] not in active
            active.add(part["to"])
        elif kind in ("ends", "deactivate"):
            active.remove(part["to"])
        elif part.get("number"):
            task, cell = sorted((part["from"], part.get("to") or ""), key=lambda name: not name.startswith("t"))
            told.append((int(part["number"]), names[task], f"{plain(part['text'])} {names.get(cell, '')}"))
    assert (depth, active) == (0, set())
    touches = [(n, a.task, t) for n, a in enumerate(report.visible, 1) for t in a.touches or (None,)]
    assert [(n, who) for n, who, _ in told] == [(n, f"task {task}") for n, task, _ in touches]
    for (_, _, text), (_, _, touch) in zip(told, touches, strict=True):
        assert touch is None or str(touch.cell) in text


@given(runs())
@usual
def test_a_diagram_is_well_formed_and_tells_every_visible_step(report: ReplayReport) -> None:
    assert_diagram(report)


@given(programs_run())
@few
def test_the_diagram_of_a_program_is_too(report: ReplayReport) -> None:
    assert_diagram(report)


@given(runs())
@usual
def test_a_diagram_says_how_the_run_ended_and_what_raced(report: ReplayReport) -> None:
    notes = [" ".join(plain(part["text"]).split()) for kind, part in parsed(mermaid.replay(report)) if kind == "note"]
    said = {word: sum(note.startswith(f"{word}: ") for note in notes) for word in ("fault", "deadlock", "mismatch")}
    waiting = len(report.incident.waiting) if isinstance(report.incident, Deadlock) else 0
    assert said == {
        "fault": isinstance(report.incident, FaultReport),
        "deadlock": waiting,
        "mismatch": report.mismatch is not None,
    }
    pair = f"{report.followed - 1} and {report.followed} race on "
    assert any(note.startswith(pair) for note in notes) == (report.racing is not None)
    assert ("rect" in mermaid.replay(report)) == (report.racing is not None)


def test_a_deadlock_has_a_note_for_each_task_that_waits() -> None:
    report = report_on(EXAMPLES / "quiz_deadlock_two_locks.ws", "semantics", "1*3,2*3,1")
    notes = [plain(part["text"]) for kind, part in parsed(mermaid.replay(report)) if kind == "note"]
    assert [note.partition(" ")[0] for note in notes[-3:]] == ["deadlock:", "deadlock:", "mismatch:"]
    assert dot.replay(report).count("shape=octagon") == 2


def test_too_many_cells_have_no_lifelines_but_that_of_the_race() -> None:
    program = tuple(Store(f"x{k}") for k in range(9))
    for text, cells in (("1,1", []), ("1,2", ["x0"])):
        made = followed(Named(program, program), text.split(","))
        names = [part["name"] for kind, part in parsed(mermaid.replay(made)) if kind == "participant"]
        assert names == ["task 0", "task 1", "task 2", *cells]


# ----------------------------------------------------------------------------------------------------------------- DOT

QUOTED = r'"(?:[^"\\\n]|\\.)*"'
NODE = re.compile(rf" {{4}}(?P<id>[ne]\d+) \[label=(?P<label>{QUOTED})(?P<style>[^\[\]]*)\]")
EDGE = re.compile(
    rf" {{2}}(?P<from>n\d+) -> (?P<to>[ne]\d+)(?: \[(?:label=(?P<label>{QUOTED}) )?(?P<style>[^\[\]]*)\])?"
)
OTHER = re.compile(
    rf"digraph run {{| {{2}}label={QUOTED} labelloc=t .*| {{2}}(?:node|edge) \[.*\]| {{2}}subgraph cluster_\d+ {{"
    rf"| {{4}}label={QUOTED} color=gray| {{2}}}}|}}"
)


def assert_graph(report: ReplayReport) -> None:
    """Every visible step is a node, every edge of the order is drawn, and exactly the racing pair is red."""
    lines = dot.replay(report).split("\n")
    nodes = {m["id"]: m for line in lines if (m := NODE.fullmatch(line))}
    drawn = [m for line in lines if (m := EDGE.fullmatch(line))]
    others = [line for line in lines if OTHER.fullmatch(line)]
    assert len(nodes) + len(drawn) + len(others) == len(lines)
    run = list(points(report))
    numbered = {f"n{k}": point for k, point in enumerate(run)}
    assert numbered.keys() == {name for name in nodes if name[0] == "n"}
    for name, point in numbered.items():
        label = nodes[name]["label"].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        assert point.action is None or label.startswith(f'"{point.number}  ')
        assert all(str(touch.cell) in label for touch in (point.action.touches if point.action else ()))
    inner = {(m["from"], m["to"]) for m in drawn if m["to"][0] == "n"}
    assert inner == {(f"n{edge.first}", f"n{edge.second}") for edge in edges(run)}
    red = {numbered[name].number for name in numbered if "d55e00" in nodes[name]["style"]}
    assert red == ({report.followed - 1, report.followed} if report.racing else set())
    between = [m for m in drawn if m["to"][0] == "n" and "d55e00" in (m["style"] or "")]
    assert len(between) == (report.racing is not None)


@given(runs())
@usual
def test_a_graph_is_well_formed_and_has_every_visible_step(report: ReplayReport) -> None:
    assert_graph(report)


@given(programs_run())
@few
def test_the_graph_of_a_program_is_too(report: ReplayReport) -> None:
    assert_graph(report)


# ----------------------------------------------------------------------------------------------------------------- ITF


def assert_expression(held: Any) -> None:
    """One of the forms that the format has, by its own page."""
    match held:
        case str() | bool():
            pass
        case {"#bigint": str() as digits} if len(held) == 1:
            assert re.fullmatch(r"-?[0-9]+", digits)
        case {"#map": list() as pairs} if len(held) == 1:
            assert len({json.dumps(key) for key, _ in pairs}) == len(pairs)
            for pair in pairs:
                assert isinstance(pair, list)
                for part in pair:
                    assert_expression(part)
        case _:
            raise AssertionError(held)


@given(st.one_of(runs(), programs_run()))
@few
def test_a_trace_keeps_to_the_format(report: ReplayReport) -> None:
    """As JSON of standard, without numbers but those about the trace; every variable is in every state."""
    made = json.loads(json.dumps(itf.replay(report), allow_nan=False))
    assert list(made) == ["#meta", "vars", "states"]
    assert len(made["states"]) == len(report.visible) + 1
    for index, state in enumerate(made["states"]):
        assert state.pop("#meta") == {"index": index}
        assert sorted(state) == sorted(made["vars"])
        for held in state.values():
            assert_expression(held)


@given(st.sampled_from(quizzes), st.lists(st.sampled_from(["1", "2"]), max_size=6))
@few
def test_a_trace_has_what_the_heap_holds(path: Path, tasks: list[str]) -> None:
    """State k is where a run of the first k visible steps alone comes to, but for the memory of copies given back."""
    text = ",".join(tasks) or "-"
    report = report_on(path, "semantics", text)
    states = itf.replay(report)["states"]
    machine = api.semantics(api.bind(path))
    taken = ["" if action.task == "0" else action.task for action in report.visible]
    for k, state in enumerate(states):
        run = replay(machine, taken[:k], finish=False)
        list(run)
        if run.end == "fault":
            continue
        heap = {str(cell): held for cell, held in run.state.heap.items()}
        for cell, held in state["cells"]["#map"]:
            if cell in heap and ".lock" not in cell:
                assert held == expression(heap[cell]), (k, cell)
        at = {task or "0": choice.span for task, choice in run.choices.items()}
        assert dict(state["at"]["#map"]) == {task: f"{s.line}:{s.column}" if s else "" for task, s in at.items()}
        assert (state["task"], state["rule"]) == (
            (report.visible[k - 1].task, report.visible[k - 1].rule) if k else ("", "")
        )


def expression(held: Any) -> Any:
    if isinstance(held, bool):
        return held
    return {"#bigint": str(held)} if isinstance(held, int) else value(held)


# ----------------------------------------------------------------------------------------------- what the page promises

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"`(wingspan replay examples/[^`]*)` prints\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("line", "text"), SHOWN, ids=[line.split()[-1] for line, _ in SHOWN])
def test_the_page_shows_what_is_printed(line: str, text: str, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert command(*shlex.split(line)[1:]).out == text


def test_the_page_shows_forms_of_all_kinds_and_a_state_of_a_trace(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(SHOWN) == 3
    monkeypatch.chdir(ROOT)
    ((index, line, state),) = re.findall(r"State (\d) of `wingspan ([^`]*)` is\n\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert command(*shlex.split(line)).json["states"][int(index)] == json.loads(state)


def keys(held: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Where something is in a JSON object, as the page writes it, and what is there."""
    if isinstance(held, dict):
        for key, below in held.items():
            yield f"{prefix}{key}", below
            if key not in ("indices", "values", "incident"):
                yield from keys(below, f"{prefix}{key}.")
    elif isinstance(held, list):
        for below in held:
            yield from keys(below, f"{prefix.removesuffix('.')}[].")


TYPES = {"integer": int, "text": str, "boolean": bool, "list": list, "object": dict, "null": type(None), "any": object}


def test_the_page_lists_exactly_the_keys_of_a_replay_and_their_types(command: Any) -> None:
    """Of replays that finish, fault, lock up and do not match; every type that it names comes about."""
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    table = page[page.index("## `replay`") :].split("\n\n")[2]
    listed: dict[str, set[str]] = {}
    for row in table.splitlines()[2:]:
        names, types, _ = row.strip("| ").split(" | ")
        found = re.findall(r"`([^`]*)`", names)
        kinds = types.split(", ") if ", " in types else [types] * len(found)
        listed |= {name: set(kind.split(" or ")) for name, kind in zip(found, kinds, strict=True)}
    seen: dict[str, set[str]] = {}
    for name, interleaving in (
        ("dependent", "1*9"), ("quiz_overflow", "-"), ("quiz_deadlock_two_locks", "1*3,2*3"), ("dependent", "1*3,2"),
        ("quiz_deadlock_two_locks", "1,2,1*5"), ("quiz_variable_race", "-"), ("quiz_lock_taken_outside", "-"),
        ("quiz_mutex_cousins", "1,2"),
    ):  # fmt: skip
        made = command("replay", str(EXAMPLES / f"{name}.ws"), "--interleaving", interleaving, "--format", "json").json
        for key, held in keys(made):
            seen.setdefault(key, set()).update(kind for kind, type_ in TYPES.items() if type(held) is type_)
    assert seen.keys() == listed.keys()
    for key, wanted in listed.items():
        assert wanted == {"any"} or seen[key] == wanted, key
