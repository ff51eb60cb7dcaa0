"""One walk through the states of a program: steps chosen one by one, back, ahead to races and results, predictions.

Nothing here draws. The terminal stepper and its plain form show the same session, and other views can do so. An
impossible move is an InputError that says what is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.explorer.interleaving import format_interleaving, parse_interleaving
from wingspan.lang.printer import term
from wingspan.results.outcome import Outcome
from wingspan.semantics.config import ProgramState
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.reads import NONE, LostUpdate, PendingReads
from wingspan.trace.graph import Trace, TraceEdge, TraceNode

FAR, STEPS = 2_000, 20_000
"""The numbers of states, and of steps between them, that are searched for what lies ahead."""


@dataclass(frozen=True)
class TaskChoice:
    """The next step of a task, the key that chooses it, and the tasks whose next step races with it."""

    key: str
    task: str
    step: DerivedStep
    racing: tuple[str, ...]


@dataclass(frozen=True)
class Move:
    """A visible step that was taken; what tasks have read after it, and what it overwrites, on the way taken."""

    edge: TraceEdge
    reads: PendingReads
    lost: LostUpdate | None

    @property
    def step(self) -> DerivedStep:
        """The step itself."""
        return self.edge.step


@dataclass(frozen=True)
class Guess:
    """The right parts of a prediction, and the effect of the step."""

    rule: bool
    value: bool
    step: DerivedStep


@dataclass(frozen=True)
class Outlook:
    """The reachable part: the number of states, of those seen, and of results; `complete` if that is all."""

    states: int
    seen: int
    results: int
    complete: bool


class Session:
    """A walk. `folded`: invisible steps are taken with the visible one before them; if not, each on its own.

    Where no task has to be chosen at first, as in a serial program, it begins before the first of all steps, unfolded:
    nothing else of such a program could be watched.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.moves: list[Move] = []
        self.folded = len(trace.nodes[0].steps) > 1 or not trace.begin
        self.left = 0 if self.folded else len(trace.begin)
        """invisible steps after the last visible one that are still to be taken"""
        self.predicting = False
        self.asked: str | None = None
        """the task whose step is to be predicted before it is taken"""
        self.right = self.guesses = 0
        self.seen = {0}
        self._reached: set[Outcome] = set()

    # ------------------------------------------------------------------------------------------------- where it stands

    @property
    def node(self) -> TraceNode | None:
        """The state that the steps taken lead to, invisible ones included; None after a fault."""
        return self.moves[-1].edge.target if self.moves else self.trace.nodes[0]

    @property
    def invisible(self) -> tuple[DerivedStep, ...]:
        """The invisible steps after the last visible one, or before the first, those left to take included."""
        return self.moves[-1].edge.then if self.moves else self.trace.begin

    @property
    def state(self) -> ProgramState:
        """The current state; after a fault, the state before it."""
        taken = self.invisible[: len(self.invisible) - self.left]
        if not taken and not self.moves:
            return self.trace.machine.initial() if self.trace.begin else self.trace.nodes[0].state
        before = taken[-1] if taken else self.moves[-1].step
        return before.next if isinstance(before.next, ProgramState) else self.moves[-1].edge.source.state

    @property
    def recent(self) -> tuple[DerivedStep, ...]:
        """The steps that the last move showed: folded, a visible one with the invisible ones after it."""
        taken = self.invisible[: len(self.invisible) - self.left]
        visible = (self.moves[-1].step,) if self.moves else ()
        return (*visible, *taken) if self.folded or not taken else taken[-1:]

    @property
    def last(self) -> DerivedStep | None:
        """The last step that was shown: folded, the last visible one."""
        taken = self.invisible[: len(self.invisible) - self.left]
        if taken and not (self.folded and self.moves):
            return taken[-1]
        return self.moves[-1].step if self.moves else None

    @property
    def steps(self) -> Iterator[tuple[DerivedStep, Move | None]]:
        """All steps so far, visible ones with their move."""
        groups = [(None, self.trace.begin), *((move, move.edge.then) for move in self.moves)]
        for number, (move, invisible) in enumerate(groups, start=1):
            if move is not None:
                yield move.step, move
            left = self.left if number == len(groups) else 0
            yield from ((step, None) for step in invisible[: len(invisible) - left])

    @property
    def reads(self) -> PendingReads:
        """The reads of tasks for statements that they have not ended; after a fault, those before it."""
        moves = self.moves if self.node is not None else self.moves[:-1]
        return moves[-1].reads if moves else NONE

    @property
    def interleaving(self) -> str:
        """The visible steps so far, as `replay` takes them."""
        return format_interleaving(move.step.task for move in self.moves)

    @property
    def choices(self) -> list[TaskChoice]:
        """The next step of each task; while invisible steps are left, the next of these alone."""
        if self.left:
            step = self.invisible[-self.left]
            return [TaskChoice("n", step.task, step, ())]
        if self.node is None:
            return []
        node = self.node
        return [TaskChoice(key, task, node.steps[task], tuple(node.racing(task))) for key, task in node.keys.items()]

    @property
    def end(self) -> Literal["", "finished", "fault", "deadlock"]:
        """The end of the run, if it has ended."""
        return "" if self.left else "fault" if self.node is None else self.node.end

    @property
    def ending(self) -> str:
        """The result of the run, or the reason of its end; empty if it goes on."""
        if self.left:
            return ""
        return self.moves[-1].edge.fault or "" if self.node is None else self.trace.ending(self.node)

    @property
    def ahead(self) -> Outlook:
        """The part that is reachable from the current state, as far as it is searched."""
        all_states, complete = self.trace.ahead(self.trace.nodes[0], most=FAR, steps=STEPS)
        reached, _ = self.trace.ahead(self.node, most=FAR, steps=STEPS) if self.node is not None else ({}, True)
        here = self.node.number if self.node is not None and not self.left else -1
        outcomes = {self.trace.outcome(self.trace.nodes[number]) for number in reached if number != here} - {None}
        return Outlook(len(all_states), len(self.seen), len(outcomes), complete)

    # ----------------------------------------------------------------------------------------------------------- moves

    def choose(self, text: str) -> None:
        """The step of a task, by its key or its path. While predicting, ask for the prediction first."""
        found = [choice for choice in self.choices if text in (choice.key, choice.task or "0")]
        if not found:
            keys = ", ".join(choice.key for choice in self.choices)
            can = f"choose {keys}" if keys else "go back"
            raise InputError(f"{text} is no step that can be taken here: {can}")
        if self.left:
            self.left -= 1
            self._arrive()
        elif self.predicting and self.asked is None:
            self.asked = found[0].task
        else:
            self._take_step(found[0].task)

    def forward(self) -> None:
        """The next invisible step, or the only step that can be taken."""
        choices = self.choices
        if len(choices) != 1:
            many = ", ".join(choice.key for choice in choices)
            raise InputError(f"several tasks can step: choose {many}" if many else "the run has ended: go back")
        self.choose(choices[0].key)

    def back(self) -> None:
        """Undo the last step that was shown; or take back the choice that a prediction is asked for."""
        if self.asked is not None:
            self.asked = None
        elif not self.folded and self.left < len(self.invisible):
            self.left += 1
        elif self.moves:
            self.moves.pop()
            self.left = 0
        else:
            raise InputError("this is the first state")

    def fold(self) -> None:
        """Take invisible steps together with the visible one before them, or one by one."""
        self.folded = not self.folded
        if self.folded:
            self.left = 0
            self._arrive()

    def go(self, interleaving: str) -> None:
        """Follow an interleaving from the first state. InputError where it names a task that cannot step."""
        tasks = parse_interleaving(interleaving)
        edges = list(self.trace.walk(tasks))
        if len(edges) < len(tasks):
            node = edges[-1].target if edges else self.trace.nodes[0]
            able = ", ".join(task or "0" for task in node.steps) if node is not None else ""
            named = f"step {len(edges) + 1} names task {tasks[len(edges)] or '0'}"
            message = f"{named}, which cannot step; tasks that can: {able or 'none'}"
            fix = "`wingspan explore` prints interleavings of this program"
            if self.trace.machine.observed:
                fix = "steps that change what is watched count, too: name them, or watch nothing"
            raise InputError(message, fix=fix)
        self.moves = []
        self._follow(tasks)

    def to_race(self) -> None:
        """To the nearest state ahead in which steps race."""
        self._move_to(lambda node: bool(node.races), "no race")

    def to_result(self) -> None:
        """To the nearest end ahead with a result that this walk has not reached."""

        def new(node: TraceNode) -> bool:
            outcome = self.trace.outcome(node)
            return outcome is not None and outcome not in self._reached

        self._move_to(new, "no other result")

    def _move_to(self, wanted: Callable[[TraceNode], bool], goal: str) -> None:
        found, complete = self.trace.ahead(self.node, most=FAR, steps=STEPS) if self.node is not None else ({}, True)
        here = self.node.number if self.node is not None and not self.left else -1
        for number, tasks in found.items():
            if number != here and wanted(self.trace.nodes[number]):
                self._follow(tasks)
                return
        where = "ahead: go back" if complete else f"within the next {len(found)} states: step on"
        raise InputError(f"{goal} lies {where} first")

    def _follow(self, tasks: Iterable[str]) -> None:
        self.left, self.asked = 0, None
        self._arrive()
        for task in tasks:
            self._take_step(task, whole=True)

    def _take_step(self, task: str, whole: bool = False) -> None:
        """A visible step, and the invisible ones after it if they are folded or the `whole` is wanted."""
        assert self.node is not None
        reads, lost = self.reads.after_step(self.node.steps[task])
        edge = self.trace.edge(self.node, task)
        self.moves.append(Move(edge, reads, lost))
        self.left = 0 if self.folded or whole else len(edge.then)
        self._arrive()

    def _arrive(self) -> None:
        if self.node is not None and not self.left:
            self.seen.add(self.node.number)
            outcome = self.trace.outcome(self.node)
            self._reached |= {outcome} if outcome is not None else set()

    # ----------------------------------------------------------------------------------------------------- predictions

    def predict(self) -> None:
        """Switch predictions before each visible step on or off."""
        self.predicting, self.asked = not self.predicting, None

    def answer(self, text: str) -> Guess:
        """Take the step that was asked about. The text predicts its rule and a value that it reads or writes.

        A rule that has no access with a value needs none. A point for each part that is right, of two.
        """
        if self.asked is None:
            raise InputError("no step is asked about: choose a task")
        words = text.split()
        if not words:
            raise InputError("write the rule and the value, as in `Assign 0`")
        assert self.node is not None
        step = self.node.steps[self.asked]
        rule = words[0].casefold() == step.rule.casefold()
        value = " ".join(words[1:]) in right_values(step)
        self.right += rule + value
        self.guesses += 2
        self._take_step(self.asked)
        self.asked = None
        return Guess(rule, value, step)


def right_values(step: DerivedStep) -> list[str]:
    """The right predictions of a value: those that the step reads or writes, or the empty one if there are none."""
    return [term(touch.value) for touch in step.footprint if touch.effect not in ("acquire", "release")] or [""]
