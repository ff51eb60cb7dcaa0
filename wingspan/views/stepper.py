"""A stepping session as text, in panes: the terminal shows them side by side, the plain form one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from io import StringIO
from textwrap import wrap
from typing import NamedTuple

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import printable
from wingspan.explorer.incident import explain_blocked
from wingspan.explorer.machine import READING
from wingspan.results.words import describe_accesses
from wingspan.semantics.contents import has_positions
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.notation import TextRange, configuration
from wingspan.semantics.reads import LostUpdate
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import schema
from wingspan.trace.memory import BufferContents, buffers, environment, show_contents
from wingspan.trace.session import Guess, Session, TaskChoice
from wingspan.trace.trees import Tree
from wingspan.views.colours import console
from wingspan.views.inference import stack
from wingspan.views.steps import lanes
from wingspan.views.values import count

FILLER = "…"
WRITTEN = r"(?<= )\[[^\[\] ]+\](?= |$)"
"""The cells that the last step wrote, in lines of memory."""

KEYS: dict[str, tuple[str, Callable[[Session], None]]] = {
    "b": ("back", Session.back),
    "x": ("race", Session.to_race),
    "r": ("result", Session.to_result),
    "i": ("invisible", Session.fold),
    "n": ("next", Session.forward),
    "?": ("predict", Session.predict),
}
"""The actions of both forms of the stepper, by key; they also have c for the configuration, s to save, q to quit."""


def cut(text: str, width: int) -> str:
    """A text that is at most so wide.

    >>> cut("writes c.val[3]", 9), cut("reads", 9)
    ('writes c…', 'reads')
    """
    return text if len(text) <= width else f"{text[: width - 1]}{FILLER}"


# ------------------------------------------------------------------------------------------------------------- program


def program(session: Session, width: int) -> list[str]:
    """The lines of the program, and at the end of each the tasks that stand there."""
    source, tasks = session.trace.source, standing(session)
    size = len(source.text.splitlines())
    digits = len(str(size))
    drawn = []
    for number in range(1, size + 1):
        text = printable(source.line(number))
        here = " ".join(f"◀{task}" for task in tasks.get(number, ()))
        line = cut(f"{number:>{digits}}  {text}", width - len(here) - bool(here))
        drawn.append(f"{line}{here:>{width - len(line)}}" if here else line)
    return drawn


def standing(session: Session) -> dict[int, list[str]]:
    """The lines at which tasks stand, from 1, with these tasks."""
    state = session.state
    found: defaultdict[int, list[str]] = defaultdict(list)
    for task in session.trace.machine.tasks(state):
        span = state.focus_on(task).focus.span
        if span is not None:
            found[span.line].append(task or "0")
    return dict(found)


# -------------------------------------------------------------------------------------------------------------- so far


class Taken(NamedTuple):
    """A step so far: its number, 0 if it is invisible, and the update that it overwrites."""

    number: int
    step: DerivedStep
    lost: LostUpdate | None


def history(session: Session) -> list[Taken]:
    """The steps so far; invisible ones only if they are taken one by one."""
    found, number = [], 0
    for step, move in session.steps:
        number += move is not None
        if move is not None or not session.folded:
            found.append(Taken(number if move is not None else 0, step, move.lost if move is not None else None))
    return found


def so_far(session: Session, width: int) -> list[str]:
    """A line for each step, in the lane of its task; invisible ones only if they are taken one by one."""
    steps = history(session)
    digits = len(str(len(session.moves)))
    drawn = []
    for (number, step, lost), lane in zip(steps, lanes([each.step.task or "0" for each in steps]), strict=True):
        drawn.append(cut(f"{number or '·':>{digits}}  {lane}  {does(step)}".rstrip(), width))
        if lost is not None:
            drawn += wrap(lost.text, width, initial_indent="   LOST ", subsequent_indent="   ")
    return drawn or ["nothing yet"]


def does(step: DerivedStep) -> str:
    """A step in one line: its accesses, or its rule."""
    return describe_accesses(step.footprint) or step.rule


# -------------------------------------------------------------------------------------------------------------- memory


def memory(session: Session, width: int) -> list[str]:
    """A line for each fiber of a sparse tensor's last level, and one for each buffer, what the last step wrote in
    brackets; who has read what; variables and indices.

    Inputs, which no step changes, come last.
    """
    state, tensors = session.state, session.trace.program.towers
    changed = {touch.cell for step in session.recent for touch in step.footprint if touch.effect not in READING}
    rows = [*_trees(session, changed), *(_buffer(session, buffer, changed) for buffer in buffers(state.heap, tensors))]
    rows.sort(key=lambda row: row.tensor)
    wide = max((len(row.title) for row in rows), default=0)
    inputs = session.trace.program.inputs
    drawn = watched_values(session, width)
    drawn += [line for row in rows if row.tensor not in inputs for line in row.lines(wide, width)]
    drawn += readers(session, width, "▲ ")
    for task, names in environment(state):
        inside = ", ".join(f"{name} ↦ {bound}" for name, bound in names.items() if name not in tensors)
        if inside:
            drawn.append(cut(f"σ{task or '0'} {{{inside}}}", width))
    drawn += [line for row in rows if row.tensor in inputs for line in row.lines(wide, width)]
    return drawn or ["no cells yet"]


def watched_values(session: Session, width: int) -> list[str]:
    """The expressions that are watched, with their values."""
    watches = session.trace.watches
    pairs = zip(watches.texts, watches.values(session.state), strict=True)
    return [line for text, value in pairs for line in wrap(f"{text}: {value}", width, subsequent_indent="  ")]


def readers(session: Session, width: int, mark: str = "") -> list[str]:
    """The values that tasks have read and not used yet."""
    return [line for read in session.reads.by_task for line in wrap(mark + read.text, width, subsequent_indent="  ")]


@dataclass(frozen=True)
class _Cells:
    """Cells of a tensor in a line, as texts, and the first of them that the last step wrote."""

    tensor: str
    title: str
    texts: list[str]
    at: int = 0

    def lines(self, wide: int, width: int) -> list[str]:
        """The line, with a title so wide; where the cells are too many, those around the first that was written."""
        room = width - wide - 2
        first = 0
        while first < self.at and len(_row(self.texts, first, self.at + 2)) > room:
            first += 1
        last = len(self.texts)
        while last > self.at + 1 and len(_row(self.texts, first, last)) > room:
            last -= 1
        return [cut(f"{self.title:<{wide}}  {_row(self.texts, first, last)}", width)]


@dataclass(frozen=True)
class _Unreadable:
    """The part of a tensor that cannot be read."""

    tensor: str
    text: str
    title = ""

    def lines(self, wide: int, width: int) -> list[str]:
        """As many as it takes."""
        return wrap(f"{self.tensor} is not readable: {self.text}", width, subsequent_indent="  ")


def _write_line(texts: list[tuple[str, str, bool]]) -> tuple[list[str], int]:
    """Texts in two parts, the second in brackets where it was written; and the first place where it was."""
    made = [f"{before}[{text}]" if changed else f"{before}{text}" for before, text, changed in texts]
    return made, next((k for k, (_, _, changed) in enumerate(texts) if changed), 0)


def _buffer(session: Session, buffer: BufferContents, changed: set[Hashable]) -> _Cells:
    heap = session.state.heap
    return _Cells(
        buffer.tensor,
        buffer.title,
        *_write_line([("", show_contents(heap[cell]), cell in changed) for cell in buffer.cells.values()]),
    )


def _trees(session: Session, changed: set[Hashable]) -> Iterator[_Cells | _Unreadable]:
    """The tensors whose buffers alone do not show what they hold."""
    towers = session.trace.program.towers
    for tensor, tree in session.trace.trees(session.state).items():
        if tree is not None and not has_positions(towers[tensor]):
            if "unreadable" in tree:
                yield _Unreadable(tensor, tree["unreadable"])
            yield from _fibers(tensor, tree, (), changed)


def _fibers(tensor: str, tree: Tree, outer: tuple[str, ...], changed: set[Hashable]) -> Iterator[_Cells]:
    """A line for each fiber of the last level; those that are left out or cannot be read have none."""
    if tree["level"] > 2:
        for child in tree["children"]:
            if "fiber" in child:
                yield from _fibers(tensor, child["fiber"], (_index(child), *outer), changed)
        return
    title = f"{tensor}[:, {', '.join(outer)}]" if outer else tensor
    elements = [
        (f"{_index(each)}: ", each["value"] or "empty", each.get("cell") in changed) for each in tree["children"]
    ]
    if tree["level"] == 1:
        elements = [("", tree["value"], tree.get("cell") in changed)]
    texts, at = _write_line(elements)
    yield _Cells(tensor, title, [*(texts or ["empty"]), *([FILLER] if tree.get("more") else [])], at)


def _index(child: Tree) -> str:
    """The index that leads to a child, or the first and the last one of a run."""
    return f"{child['first']}" if child["first"] == child["last"] else f"{child['first']}:{child['last']}"


def _row(cells: list[str], first: int, last: int) -> str:
    """Some of the cells; … stands for others."""
    inside = " ".join(cells[first:last])
    return f"{FILLER} " * (first > 0) + inside + f" {FILLER}" * (last < len(cells))


# ---------------------------------------------------------------------------------------------------------------- next


def following(session: Session, width: int) -> list[str]:
    """The possible next steps, a line for each task, with RACE where two conflict; or the end of the run."""
    if session.asked is not None:
        task = session.asked or "0"
        return wrap(f"task {task} steps: which rule, and which value does it read or write? As in `Assign 0`.", width)
    return [*(cut(_choice(session, choice), width) for choice in session.choices), *ending(session, width)]


def ending(session: Session, width: int) -> list[str]:
    """The locks that tasks wait for, and the end of the run, if it ended."""
    drawn = []
    if session.node is not None and not session.left:
        for blocked in session.node.waiting:
            drawn += wrap(explain_blocked(blocked), width, initial_indent="· ", subsequent_indent="  ")
    return [*drawn, *(wrap(f"{session.end}: {session.ending}", width) if session.end else ())]


def _choice(session: Session, choice: TaskChoice) -> str:
    name = "" if choice.key == (choice.task or "0") else f"task {choice.task or '0'}  "
    if session.predicting and not session.left:
        return f"{choice.key}  {name}?"
    race = "RACE  " if choice.racing else ""
    return f"{choice.key}  {name}{race}{choice.step.rule}  {describe_accesses(choice.step.footprint)}".rstrip()


def status(session: Session) -> str:
    """The part of the program that has been seen, and the score of the predictions."""
    ahead = session.ahead
    states = f"{ahead.seen} of {'' if ahead.complete else 'more than '}{count(ahead.states, 'state')} seen"
    results = f", {count(ahead.results, 'result')} ahead" if ahead.complete else ""
    score = f", predicted {session.right} of {session.guesses}" if session.guesses else ""
    return f"{states}{results}{score}"


# ---------------------------------------------------------------------------------------------------------------- rule


def rule(session: Session, width: int) -> list[str]:
    """The rule of the last step, filled in; what its letters stand for; and as it is drawn."""
    step = session.last
    if step is None:
        return ["no step yet"]
    drawn = [cut(f"{step.rule}  task {step.task or '0'}  {session.trace.place(step)}".rstrip(), width)]
    if not list(step.premises) and not step.conclusion:
        return [*drawn, *wrap(f"fault: {session.ending}", width)]
    case = step.case
    drawn += stack(
        [f"{each.instance}{'' if each.shown else '  (not yet)'}" for each in step.premises], [step.conclusion], width
    )
    drawn += ["", *wrap(",  ".join(f"{name} = {text}" for name, text in step.letters.items()), width)]
    drawn += ["as drawn:", *stack(case.premises, [case.conclusion], width)]
    note = schema(ALL[step.rule]).note
    return [*drawn, *([""] if note else []), *wrap(note, width)]


# ------------------------------------------------------------------------------------------------------- configuration


def locate_redexes(session: Session) -> tuple[list[str], list[TextRange]]:
    """The configuration, and where the redex of each task stands that can step."""
    return configuration(session.state, session.trace.program.towers)


def mark_redexes(session: Session) -> list[str]:
    """The configuration with each redex between `«1:` and `»`, where task 1 reduces it."""
    lines, found = locate_redexes(session)
    marks = [(at.end_line, at.end_column, "»") for at in found]
    marks += [(at.line, at.column, f"«{at.task or '0'}: ") for at in found]
    for line, column, text in sorted(marks, reverse=True):
        lines[line] = f"{lines[line][:column]}{text}{lines[line][column:]}"
    return lines


def screen(session: Session, width: int) -> Iterator[str]:
    """All panes, one after the other, under headings."""
    panes = (("program", program), ("so far", so_far), ("memory", memory), ("rule", rule), ("next", following))
    for title, pane in panes:
        if pane is rule and session.asked is not None:
            continue
        name = f"{title}: {status(session)}" if pane is following else title
        yield from (cut(f"── {name} ".ljust(width, "─"), width), *pane(session, width))


def assess(guess: Guess) -> str:
    """The assessment of a prediction."""
    right = {(True, True): "right", (True, False): "the rule is right", (False, True): "the value is right"}
    return f"{right.get((guess.rule, guess.value), 'no')}: {guess.step.rule} {does(guess.step)}"


def picture(session: Session, width: int = 100) -> str:
    """All panes as SVG."""
    page = console(StringIO(), width=width, record=True, color_system=None)
    page.print("\n".join(screen(session, width)), markup=False)
    name = session.trace.source.name
    return page.export_svg(title=f"{name}: {session.interleaving}", unique_id="wingspan")
