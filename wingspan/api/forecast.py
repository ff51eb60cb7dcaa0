"""The number of steps of a run under the rules: from the program, its extents, and its inputs' stored elements."""

from __future__ import annotations

from wingspan.choices.counts import ExecutionCounts
from wingspan.elaborate import Elaborated
from wingspan.lang import ir

LONG = 200_000
"""Steps that take several seconds."""
RATE = 50_000
"""Steps that are taken in a second, or somewhat more."""
ITERATION = 7
"""Steps of an iteration of any loop: the rules visit every index, also where there is nothing to do."""
UPDATE = 10
"""Steps of an assignment that is made, with what it reads."""


def steps(bound: Elaborated) -> int:
    """About how many steps a run takes under the rules, each of them one access to memory or less.

    Iterations and assignments are counted, as far as they do not fall away where inputs store nothing; tensors that the
    program computes are taken as full (see `wingspan.choices.counts`). For the examples, the number is within a factor
    of three.
    """
    return round(_Steps(bound).steps(bound.body, {}))


def duration(count: int) -> str:
    """The rough duration of so many steps.

    >>> [duration(n) for n in (3_000_000, 50_000_000, 10**9, 10**12)]
    ['60 seconds', '17 minutes', '6 hours', '231 days']
    """
    seconds = count / RATE
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


class _Steps(ExecutionCounts):
    def steps(self, s: ir.Node, around: dict[str, int]) -> float:
        """The steps of all executions of a statement, given the extents of the loops around it."""
        match s:
            case ir.Block(statements=statements):
                return sum(self.steps(each, around) for each in statements)
            case ir.If(body=body):
                return self.steps(body, around)
            case ir.For(index=i, range=r, body=body):
                n = self.length(r, around)
                return self.execution_count(s, around) * n * ITERATION + self.steps(body, {**around, i: n})
            case ir.Assign() | ir.Set():
                return self.execution_count(s, around) * UPDATE
        return 0.0
