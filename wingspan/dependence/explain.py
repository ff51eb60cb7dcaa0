"""Findings and proofs for people: witnesses, directions, reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.dependence.accesses import UpdatePair
from wingspan.dependence.directions import classical
from wingspan.dependence.findings import Finding, SafetyProof, Topic
from wingspan.dependence.level_test import Need
from wingspan.dependence.protocol import Violation
from wingspan.dependence.relations import TRUE, Relation, differs
from wingspan.dependence.sets import Depths, Pairs
from wingspan.dependence.sites import EnclosingLoop, VariableUse
from wingspan.dependence.witnesses import directions, witness
from wingspan.levels import Tower
from wingspan.levels.base import EVERY

TWO_TASKS: frozenset[Topic] = frozenset({"claim", "order-dependence"})
"""The conditions, beside Algorithm 1, that it takes two tasks of a loop to break."""

KINDS = ("node", "sibling", "cousin")


@dataclass(frozen=True)
class VariableRace:
    """Two uses of a variable from two iterations of a parallel loop, one of which assigns to it."""

    loop: EnclosingLoop
    one: VariableUse
    other: VariableUse
    pairs: Pairs


Trouble = tuple[UpdatePair, Need] | VariableRace | Violation
"""A result of a test: a need that is not met, a variable that tasks share, or a condition that does not hold."""


class Explainer:
    """Findings and proofs about tensors with these towers; brief findings have no witnesses and no directions."""

    def __init__(self, towers: Mapping[str, Tower], brief: bool = False) -> None:
        self.towers, self.brief = towers, brief

    def finding(self, trouble: Trouble) -> Finding:
        """The finding that explains a trouble."""
        match trouble:
            case VariableRace():
                return self.variable(trouble)
            case Violation():
                return self.violation(trouble)
        return self.level(*trouble)

    def level(self, pair: UpdatePair, need: Need) -> Finding:
        """A level that does not support what a pair requires."""
        tower = self.towers[pair.one.tensor]
        condition = TRUE if self.brief else self._lacking(pair, need)
        name = _level_name(tower, need.number)
        return Finding(
            topic="level-dependence",
            tensor=pair.one.tensor,
            reason=f"{name} does not support {_join_kinds(need.missing)} dependences",
            loop=pair.loop.node,
            access=pair.one.access.span,
            other=pair.other.access.span,
            reads=(pair.one.reads, pair.other.reads),
            level=need.number,
            level_name=name,
            required=need.W,
            stability=need.S,
            **self._example(pair.pairs, pair.upto(need.number), condition, pair.p, tower),
        )

    @staticmethod
    def _lacking(pair: UpdatePair, need: Need) -> Relation:
        """Condition: the pair has a dependence that the level does not support."""
        cases = (case for kind, case in pair.kind_constraints(need.number).items() if kind in need.missing)
        case = next((case for case in cases if pair.is_feasible(need.number, need.among & case)), TRUE)
        return pair.carries_pair(need.number) & need.among & case

    def violation(self, violation: Violation) -> Finding:
        """A condition that does not hold."""
        tower, one, other = self.towers[violation.one.tensor], violation.one, violation.other
        number = tower.numbers[violation.depth]
        p = one.loops.index(violation.loop) if violation.loop in other.loops and violation.topic in TWO_TASKS else None
        return Finding(
            topic=violation.topic,
            tensor=one.tensor,
            reason=violation.reason,
            loop=violation.loop.node if violation.loop else None,
            access=one.access.span,
            other=other.access.span,
            reads=(one.reads, other.reads),
            level=number,
            level_name=_level_name(tower, number),
            **self._example(violation.pairs, violation.upto, violation.condition, p, tower),
        )

    def variable(self, variable: VariableRace) -> Finding:
        """A variable that tasks share."""
        one, other, pairs = variable.one, variable.other, variable.pairs
        condition = differs(pairs.equal) & pairs.guards
        does = "assign to" if one.assigned and other.assigned else "assign to and read"
        return Finding(
            topic="variable",
            tensor=one.name,
            reason=f"tasks {does} {one.name}, which is bound outside of the loop",
            loop=variable.loop.node,
            access=one.node.span,
            other=other.node.span,
            **self._example(pairs, pairs.depths, condition, pairs.equal, None),
        )

    def _example(
        self, pairs: Pairs | None, upto: Depths, condition: Relation, p: int | None, tower: Tower | None
    ) -> dict[str, Any]:
        """Direction and witness, if there are pairs of iterations to take them from."""
        if self.brief or pairs is None:
            return {}
        found = pairs.satisfying(upto, condition)
        extents = tower.shape if tower else ()
        return {"direction": directions(found, pairs), "witness": witness(found, pairs, upto, p, extents)}

    def proof(self, pair: UpdatePair, needs: Sequence[Need], reason: str) -> SafetyProof:
        """The proof that all levels support the requirements of a pair; `reason`, if no level lacks anything."""
        reasons = []
        for need in sorted(needs, key=lambda need: -need.number):
            kinds = pair.kind_constraints(need.number)
            disproved = [kind for kind in KINDS if kind in EVERY - need.S and kind in kinds and kind not in need.W]
            if disproved:
                why = self._reason(pair, need.number, disproved)
                reasons.append(f"no {_join_kinds(disproved, 'or')} dependence at level {need.number}, {why}")
        if not reasons:
            reasons.append(reason)
        access, other = pair.one.access.span, pair.other.access.span
        return SafetyProof(pair.loop.node, pair.one.tensor, access, other, "; ".join(reasons))

    def _reason(self, pair: UpdatePair, number: int, kinds: Sequence[str]) -> str:
        """The disproof of dependences at a level: a classical test by name, or the integer sets."""
        at = number if "sibling" in kinds or number == 1 else number - 1
        if "cousin" not in kinds or len(kinds) > 1:
            start = pair.one.life.depth
            before = ("=",) * (pair.p - start)
            found = [classical(pair.one, pair.other, at, (*before, d)) for d in "<>"]
            if found[0] is not None and found[1] is not None:
                again = "" if found[0].test == found[1].test else f", and by {found[1].reason}"
                return f"by {found[0].reason}{again}"
            if at != number - 1 and number > 1:
                return self._reason(pair, number, ["node"])
        return "by the integer sets of iterations"


def _level_name(tower: Tower, number: int) -> str:
    """A level in its modifiers, as formats write it."""
    depth = tower.depths[number]
    around = [tower.levels[d] for d in tower.modifiers(number)]
    text = tower.levels[depth].name
    for level in reversed(around):
        text = f"{level.name}({level.device}, {text})" if level.device else f"{level.name}({text})"
    return text


def _join_kinds(kinds: Iterable[str], last: str = "and") -> str:
    names = [kind for kind in KINDS if kind in set(kinds)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
