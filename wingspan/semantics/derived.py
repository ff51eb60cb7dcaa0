"""Steps with their premises: the rule as drawn, and what its metavariables stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault
from wingspan.explorer.machine import Step
from wingspan.lang import ir
from wingspan.lang.printer import term
from wingspan.levels import Tower
from wingspan.semantics.config import Config, ProgramState
from wingspan.semantics.memory import RecordingMemory
from wingspan.semantics.notation import abbreviate_accesses
from wingspan.semantics.rules.registry import ALL
from wingspan.semantics.rules.schema import RuleCase, fill, schema

LONGEST = 60
"""In place of longer terms, and those of several lines, stands …"""


@dataclass(frozen=True)
class Premise:
    """A premise as drawn and filled in; `shown` unless it takes accesses that are still to be made."""

    schema: str
    instance: str
    shown: bool


@dataclass(slots=True, eq=False)
class DerivedStep(Step[ProgramState]):
    """A step with the bindings of its rule's metavariables and phrases; they become text when asked for."""

    bindings: Mapping[str, Any] = field(default_factory=dict)
    towers: Mapping[str, Tower] = field(default_factory=dict)
    done: bool = True
    """whether the step is all of the rule, or one access of several"""

    @staticmethod
    def from_configuration(step: Step[ProgramState], C: Config, μ: RecordingMemory) -> DerivedStep:
        """The step of a configuration, as a memory has seen it."""
        known = {"t": C.t, "t_l": C.t, **μ.terms}
        about = (step.task, step.rule, step.footprint, step.visible, step.next, step.span, step.indices, step.observed)
        return DerivedStep(*about, known, μ.towers, μ.done)

    @property
    def terms(self) -> dict[str, str]:
        """Bindings of the rule's metavariables and phrases, as text."""
        return {name: self._term(held) for name, held in self.bindings.items()}

    @property
    def letters(self) -> dict[str, str]:
        """Bindings of the rule's metavariables, except t and those that stand for themselves."""
        return {
            name: text
            for name, text in self.terms.items()
            if len(name) <= 2 and name not in ("t", "t_l") and text != name
        }

    def _term(self, held: Any) -> str:
        if isinstance(held, tuple):
            return ", ".join(map(self._term, held))
        text = term(abbreviate_accesses(held, self.towers) if isinstance(held, ir.Node) else held)
        return text if len(text) <= LONGEST and "\n" not in text else "…"

    @property
    def case(self) -> RuleCase:
        """The drawing of the rule; of a rule of several cases, the one that applies."""
        return schema(ALL[self.rule]).case(self.terms)

    @property
    def premises(self) -> Iterator[Premise]:
        """The premises of the rule; of one access of several those that it is about, the last still to be shown.

        None of a step that faults, since one of them does not hold.
        """
        if isinstance(self.next, Fault):
            return
        terms = self.terms
        about = terms if self.done else {name: text for name, text in terms.items() if name not in ("t", "t_l")}
        premises = [each for each in self.case.premises if self.done or fill(each, about) != each]
        for number, premise in enumerate(premises, start=1):
            yield Premise(premise, fill(premise, terms), self.done or number < len(premises))

    @property
    def conclusion(self) -> str:
        """The conclusion, filled in; empty for a step that faults."""
        return "" if isinstance(self.next, Fault) else fill(self.case.conclusion, self.terms)
