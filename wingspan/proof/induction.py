"""The induction over the tower: which states two accepted accesses may reach, from the first level that both touch on.

A level condition is a condition for each pair of accesses by itself (docs/theorem.md), so it is enough to follow one
pair from the root to the leaf. The state of the induction is how the two meet (`steps.MeetingState`), whether their
subscripts agree so far, and the effect of the modifiers passed so far on the support of a level below. That is a map on
a finite set, `Support`; so finitely many states are reached by all towers, and the search through them is the proof.

Only modifiers that count are followed: those that take effect in the tasks, of their device or of none. Others are
outside of the parallel loop, or of a nested device, for which `shared_gates` asks that something has parted the tasks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Literal

from wingspan.base.dataclass import dataclass
from wingspan.buffers.staging import definitions
from wingspan.dependence.stability import (
    BaseSupport,
    ModifierEffect,
    add_as_printed,
    own_support,
    printed_support,
    protect,
)
from wingspan.levels import usual
from wingspan.levels.base import EVERY, Dependence, Leaf, Level, Modifier, Storage, Support
from wingspan.proof.footprints import Context, Subject
from wingspan.proof.steps import Conflict, LevelSteps, Meeting, MeetingState

TestRule = Literal["repaired", "printed"]

STARTS: dict[TestRule, BaseSupport] = {"repaired": own_support, "printed": printed_support}
STEPS: dict[TestRule, ModifierEffect] = {"repaired": protect, "printed": add_as_printed}

SupportMap = tuple[int, ...]
"""The effect of modifiers on each support, by its number."""


@dataclass(frozen=True)
class PathStep:
    """One level of a tower that a pair has passed, and the dependence there; a modifier has none."""

    subject: Subject
    kind: Dependence | None = None


@dataclass(frozen=True)
class InductionNode:
    """The place of a pair: before a level, or before a modifier around it."""

    state: MeetingState
    agree: Meeting
    """whether the subscripts of all levels above agree"""
    below: SupportMap
    """the support of levels further down than the next, under the modifiers above"""
    own: SupportMap
    """the support of the next level, under the modifiers above"""
    late: bool
    """whether modifiers take effect with their level from here on"""
    fixed: bool
    """whether a level of runs is above that compares what is below as it is written, so that sizes are fixed"""
    parts: bool | None = None
    """printed: whether the subscripts agree at all levels, or part further down"""
    meets: bool = False
    """whether a modifier that is entered with the index of its parent is entered twice at one position"""
    conflict: Conflict | None = None
    """a conflict of a modifier around the next level"""
    early: bool = False
    """whether it is one of a modifier that is entered even if the level is not"""
    visits: bool = True
    """whether both visit the next level, or modifiers around it, so that the test looks at the pair there"""


@dataclass(frozen=True)
class Countermodel:
    """A tower and how a pair meets in it, so that the test accepts the pair, and it conflicts."""

    path: tuple[PathStep, ...]
    apart: bool
    """whether the two reach different positions of the first level"""
    parts: bool
    """whether their subscripts are to part further down"""
    state: MeetingState
    conflict: Conflict

    def __str__(self) -> str:
        return f"{form(self)}: {self.conflict}, at {self.state}"


@dataclass
class SupportTable:
    """The supports that there are, and what each modifier makes of them."""

    levels: Sequence[Level]
    modifiers: Sequence[Modifier]
    start: BaseSupport
    step: ModifierEffect
    supports: list[Support] = field(default_factory=list)

    def __post_init__(self) -> None:
        waiting = [self.start(level) for level in self.levels]
        while waiting:
            support = waiting.pop()
            if support not in self.supports:
                self.supports.append(support)
                waiting += [self.step(support, m, own) for m, own in product(self.modifiers, (True, False))]

    def around(self, effects: SupportMap, modifier: Modifier, own: bool) -> SupportMap:
        """Compose the effects of modifiers with those of another one further in."""
        return tuple(effects[self.supports.index(self.step(s, modifier, own))] for s in self.supports)

    def support(self, effects: SupportMap, level: Level) -> Support:
        """The support of a level by itself, with the modifiers passed."""
        return self.supports[effects[self.supports.index(self.start(level))]]


class Induction:
    """All states that pairs reach which a test accepts, and the first countermodels."""

    def __init__(
        self,
        steps: LevelSteps,
        levels: Sequence[Level],
        modifiers: Sequence[Modifier],
        rule: TestRule = "repaired",
        step: ModifierEffect | None = None,
    ) -> None:
        self.steps, self.rule, self.levels, self.modifiers = steps, rule, levels, modifiers
        self.table = SupportTable(levels, modifiers, STARTS[rule], step or STEPS[rule])
        self._around: dict[tuple[SupportMap, str, bool], SupportMap] = {}
        self.predecessors: dict[InductionNode, tuple[InductionNode, PathStep] | None] = {}
        self.countermodels: list[Countermodel] = []

    def run(self, most: int = 1) -> None:
        """Follow every pair, until there are so many countermodels."""
        waiting = deque(self.starts())
        self.predecessors = dict.fromkeys(waiting)
        while waiting and len(self.countermodels) < most:
            node = waiting.popleft()
            for passed, after in self.successors(node):
                if after not in self.predecessors:
                    self.predecessors[after] = (node, passed)
                    waiting.append(after)

    def starts(self) -> Iterator[InductionNode]:
        """Before the first level that both touch: in one instance, since two instances have no cell in common.

        Two accesses that are opened by different loops: the inner one alone may make a child exist, below a run of
        children of a fixed size; a fiber of others is opened only once.
        Tasks check out what they will update, too.
        """
        none = tuple(range(len(self.table.supports)))
        first = InductionNode(MeetingState(), "same", none, none, late=True, fixed=False)
        for parts in (None,) if self.rule == "repaired" else (False, True):
            yield replace(first, parts=parts)
            yield replace(first, state=MeetingState(position="apart"), agree="apart", parts=parts)
        if self.rule == "repaired":
            made = MeetingState(position="apart", one="assemble")
            yield replace(first, state=made, agree="apart", late=False, fixed=True, visits=False)
            for place in ("same", "apart"):
                yield replace(first, state=MeetingState(position=place, one="moved"), agree=place, visits=False)
            yield replace(first, state=MeetingState(one="moved", other="moved"), visits=False)

    # ------------------------------------------------------------------------------------------------------- onward

    def successors(self, node: InductionNode) -> Iterator[tuple[PathStep, InductionNode]]:
        """The nodes after a modifier, or after the level."""
        if node.state.safe and node.conflict is None:
            return
        for modifier in self.modifiers:
            yield from self._modifier(node, modifier)
        for level in self.levels:
            if not node.fixed or (level.has_fixed_size and "equal" in definitions(level.operations)):
                yield from self._level(node, level)

    def _modifier(self, node: InductionNode, modifier: Modifier) -> Iterator[tuple[PathStep, InductionNode]]:
        context: Context = "late" if node.late or modifier.bind_on_use else "early"
        if node.fixed and "equal" not in definitions(modifier.operations):
            return
        subject = Subject(modifier, context)
        outcome = self.steps.outcome(subject, node.state, "cousin")
        after = replace(
            node, late=context == "late", below=self._around_modifier(node.below, modifier, False),
            own=self._around_modifier(node.own, modifier, True), conflict=node.conflict or outcome.conflict,
            early=node.early or (context == "early" and outcome.conflict is not None),
            meets=node.meets or (context == "early" and node.agree == "same"),
        )  # fmt: skip
        for state in sorted(outcome.below):
            yield PathStep(subject), replace(after, state=state)

    def _around_modifier(self, effects: SupportMap, modifier: Modifier, own: bool) -> SupportMap:
        key = (effects, modifier.name, own)
        if key not in self._around:
            self._around[key] = self.table.around(effects, modifier, own)
        return self._around[key]

    def _level(self, node: InductionNode, level: Level) -> Iterator[tuple[PathStep, InductionNode]]:
        kinds: tuple[Dependence, ...] = ("cousin",)
        if node.agree == "same":
            kinds = ("node",) if level.leaf else ("node", "sibling")
        subject = Subject(level, "leaf" if level.leaf else "level")
        for kind in kinds:
            if node.early and self.enters(node, level):
                path = (*self.path(node), PathStep(subject, kind))
                found = Countermodel(path, self._starts_apart(node), False, node.state, node.conflict)  # type: ignore[arg-type]
                self.countermodels.append(found)
            if not self.accepts(node, level, kind):
                continue
            outcome = self.steps.outcome(subject, node.state, kind)
            passed, conflict = PathStep(subject, kind), node.conflict or outcome.conflict
            if conflict is not None:
                path = (*self.path(node), passed)
                parts = node.parts is True and kind == "node" and node.agree == "same"
                self.countermodels.append(Countermodel(path, self._starts_apart(node), parts, node.state, conflict))
                continue
            agree: Meeting = "same" if node.agree == "same" and kind == "node" else "apart"
            for state in () if level.leaf else sorted(outcome.below):
                visits, fixed = state.one == state.other == "visit", node.fixed or level.stretch == "run"
                below = InductionNode(state, agree, node.below, node.below, False, fixed, node.parts, visits=visits)
                yield passed, below
                if level.joins_frozen and not node.fixed and "equal" not in (state.one, state.other):
                    yield passed, replace(below, fixed=False)  # children that vary in size are compared when frozen

    def enters(self, node: InductionNode, level: Level) -> bool:
        """Whether the test lets both enter the modifiers around a level, if its own loop has no iteration."""
        early: Dependence = "node" if level.leaf else "sibling"
        return not (node.visits and node.meets) or early in self.table.support(node.own, level).kinds

    def accepts(self, node: InductionNode, level: Level, kind: Dependence) -> bool:
        """Whether the test accepts the pair at a level; what is no visit the test does not look at."""
        if not node.visits:
            return True
        kinds = self.table.support(node.own, level).kinds
        if self.rule == "repaired":
            return kind in kinds and self.enters(node, level)
        if node.agree == "apart":
            return kind in kinds
        if node.parts:  # skipped, as the index of the loop is in a subscript further down
            return not level.leaf
        return kind == "node" and kinds == EVERY

    # ------------------------------------------------------------------------------------------------ countermodels

    def path(self, node: InductionNode) -> tuple[PathStep, ...]:
        """The levels that lead to a node."""
        found: list[PathStep] = []
        came = self.predecessors[node]
        while came is not None:
            node, passed = came
            found.append(passed)
            came = self.predecessors[node]
        return tuple(reversed(found))

    def _starts_apart(self, node: InductionNode) -> bool:
        came = self.predecessors[node]
        while came is not None:
            node, _ = came
            came = self.predecessors[node]
        return node.agree == "apart"


def form(found: Countermodel, leaf: str = f"{usual.ATOMIC}(0)") -> str:
    """The format of a countermodel's tower."""
    levels = [passed.subject.level for passed in found.path]
    text = leaf
    if levels[-1].leaf:
        text = str(levels.pop())
    elif found.parts:
        text = f"{usual.ALL}({text})"
    for level in reversed(levels):
        device = f"{level.device}, " if level.device is not None else ""
        axes = f"{level.axes}, " if isinstance(level, Storage) and level.axes > 1 else ""
        text = f"{level.name}({device}{axes}{text})"
    return f"{usual.ALL}({text})" if found.apart else text


def program(found: Countermodel) -> str:
    """Two tasks k, each of which updates one element, so that they meet as a countermodel says."""
    subscripts = ["k"] if found.apart else []
    for level, kind in ((passed.subject.level, passed.kind) for passed in found.path):
        if kind is not None and not level.leaf:
            more = level.axes - 1 if isinstance(level, Storage) else 0
            subscripts += ["k" if kind == "sibling" else "1", *["1"] * more]
    if found.parts and not found.path[-1].subject.level.leaf:
        subscripts.append("k")
    last = found.path[-1].subject.level
    boolean = isinstance(last, Leaf) and last.implied
    z, update = ("false", "|= true") if boolean else ("0", "+= 1")
    return f"""d = cpu(:d, 2)
T = Tensor({form(found)}{", 2" * len(subscripts)})
T .= {z}
for k = parallel(1:2, d)
    T[{", ".join(reversed(subscripts))}] {update}
end
"""
