"""Properties of a program: what must hold in every state, or of every result, and what may hold in some state.

Steps that may change what a property of states reads are *observed* (`Step.observed`), hence visible, and conflict with
each other. docs/exploring.md says why then no strategy misses a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from wingspan.base.dataclass import dataclass

Kind = Literal["always", "ends", "reach"]

Answer = Literal["holds", "violated", "reached", "unreached", "unknown", "undefined"]
"""`unknown`: the search was cut short before it could tell. `undefined`: the property has no value anywhere."""


class Property(Protocol):
    """A property: `always` holds in every state, `ends` of every result; `reach` is to hold in some state."""

    kind: Kind
    text: str
    """as it was written"""

    def holds(self, at: Any) -> bool | None:
        """Whether it holds in a state, or of an outcome if it is about results; None if it has no value there."""

    def values(self, at: Any) -> Mapping[str, Any]:
        """The values that it reads there, as plain data, by name."""


@dataclass(frozen=True)
class PropertyReport:
    """The answer to a property, and a shortest interleaving to a state or result that shows it, if there is one.

    This is a state where what should always hold is violated, or what may hold does, or a result that violates it.
    """

    kind: Kind
    text: str
    answer: Answer
    states: int | None
    """the number of such states, or of such results; None if the strategy does not visit all states"""
    interleavings: int | None
    """the number of interleavings through such states, or to such results, if they are counted"""
    probability: float | None
    """the probability of such an interleaving under a uniformly random scheduler; known under the same conditions"""
    interleaving: str | None
    values: Mapping[str, Any]
    """the values that the property reads there, by name"""


def judge_properties(reports: tuple[PropertyReport, ...]) -> Answer | None:
    """The worst answer; None if there are no properties, or all that was asked for is reached."""
    answers = {report.answer for report in reports}
    worst: tuple[Answer, ...] = ("violated", "unknown", "undefined", "unreached", "holds")
    return next((answer for answer in worst if answer in answers), None)
