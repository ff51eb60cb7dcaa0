"""A replay as Mermaid is well formed, and says what the run did and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.views.runs import EXAMPLES, Named, followed, programs_run, report_on, runs
from wingspan.explorer import Deadlock, FaultReport
from wingspan.testing.litmus import Store
from wingspan.views import dot, mermaid
from wingspan.views.view import ReplayReport

usual = settings(derandomize=True, deadline=None, max_examples=many(60))
few = settings(derandomize=True, deadline=None, max_examples=many(15))

TEXT = r"(?:[^#;:\"<>{}%\\\n]|#\d+;|<br/>)+"
"""The text that Mermaid takes literally, besides characters by number."""
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
    """All is declared, opened and closed, and every touch of every visible step is drawn once, in order."""
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
