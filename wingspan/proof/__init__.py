"""The theorem: what `repaired` accepts does not race, proved about the levels' own text by SMT. It needs z3-solver.

`theorem` asks everything; docs/theorem.md says what that proves, and what is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path

from wingspan.base.dataclass import dataclass
from wingspan.levels.base import Gated, Leaf, Level, Modifier, Storage
from wingspan.levels.registry import OURS, REGISTRY
from wingspan.proof import lemmas, protocol
from wingspan.proof.footprints import DEVICE, Probe
from wingspan.proof.induction import Countermodel, Induction, TestRule, form, program
from wingspan.proof.solver import Lemma, Prover
from wingspan.proof.steps import LevelSteps

__all__ = ["Countermodel", "Lemma", "Proof", "TestRule", "countermodel_of", "form", "program", "subjects", "theorem"]

AXES = 2
"""The axes of a level of several axes in the proof: one level of each kind that is next to another."""


@dataclass(frozen=True)
class Proof:
    """The result of the proof: every group of questions, the states of the induction, and countermodels."""

    rule: TestRule
    lemmas: tuple[Lemma, ...]
    states: int
    countermodels: tuple[Countermodel, ...]
    complete: bool = True
    """False if the proof was interrupted, so that not all was asked"""
    remembered: int = 0
    """the number of questions that a run before has proved, by the folder that they are kept in"""

    @property
    def refuted(self) -> tuple[str, ...]:
        """The lemmas that fail, `induction` among them."""
        failed = [lemma.name for lemma in self.lemmas if lemma.decides and lemma.failed]
        return (*failed, *["induction"] * bool(self.countermodels))

    @property
    def holds(self) -> bool:
        """Whether all was asked, there is no countermodel, and every lemma is proved."""
        return self.complete and not self.countermodels and all(lemma.holds for lemma in self.lemmas if lemma.decides)


def subjects(more: Iterable[type[Level]] = ()) -> tuple[list[Level], list[Modifier]]:
    """The levels and leaves of the registry, and the modifiers, around a probe; and further levels."""
    ours = {REGISTRY[name]: None for name in REGISTRY if name in OURS}
    levels: list[Level] = []
    modifiers: list[Modifier] = []
    for each in (*ours, *more):
        level = instantiate(each)
        modifiers.append(level) if isinstance(level, Modifier) else levels.append(level)
    return levels, modifiers


def instantiate(each: type[Level]) -> Level:
    if issubclass(each, Leaf):
        return each(0) if any(argument.init for argument in fields(each)) else each()  # type: ignore[call-arg]
    if issubclass(each, Gated):
        return each(Probe(0), DEVICE)
    return each.around(Probe(0), AXES) if issubclass(each, Storage) else each(Probe(0))  # type: ignore[call-arg]


def theorem(
    rule: TestRule = "repaired",
    *,
    keep: Path | None = None,
    most: int = 1,
    progress: Callable[[int], None] | None = None,
    more: Sequence[type[Level]] = (),
) -> Proof:
    """Ask all questions of the theorem, until there are so many countermodels. Ctrl-C ends it (`complete`)."""
    prover, complete = Prover(keep, progress), True
    levels, modifiers = subjects(more)
    induction = Induction(LevelSteps(prover), levels, modifiers, rule)
    try:
        induction.run(most)
        if rule == "repaired":
            lemmas.ask(prover, levels, modifiers)
        protocol.ask(prover, rule, levels, modifiers)
    except KeyboardInterrupt:
        complete = False
    found = tuple(_distinct(induction.countermodels))
    return Proof(rule, tuple(prover.lemmas), len(induction.predecessors), found, complete, prover.remembered)


@cache
def _own_steps() -> LevelSteps:
    """The steps of our own levels, which every level of somebody else's is put beside."""
    return LevelSteps(Prover())


def countermodel_of(level: type[Level]) -> Countermodel | None:
    """A tower with a level in it for which its stability is too much; None if that is proved.

    Around one of somebody else's modifiers are all levels; in the towers of a storage level or leaf, those of ours that
    support something: the others let no pair pass that has no lock in common.
    """
    levels, modifiers = subjects((level,))
    new = (modifiers if issubclass(level, Modifier) else levels)[-1]
    modifiers = [each for each in modifiers if each is new or each.name != new.name]
    supporting = [each for each in levels if each.stability() or new.modifier]
    kept = [each for each in levels if each is new or (each in supporting and each.name != new.name)]
    induction = Induction(_own_steps(), kept, modifiers)
    induction.run()
    return next(iter(induction.countermodels), None)


def _distinct(found: Iterable[Countermodel]) -> Iterator[Countermodel]:
    """The countermodels with distinct programs."""
    yield from {program(each): each for each in reversed(list(found))}.values()
