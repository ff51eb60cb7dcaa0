"""Bounds on the work of searches. It is counted in steps, so that a search ends at the same place on every machine."""

from __future__ import annotations

from wingspan.base.errors import InputError

BUDGET = 100_000
"""The steps of a search if nothing else is asked: one or two seconds, as a step takes some fifteen microseconds."""


class Budget:
    """The steps that a search may take.

    Attributes:
        steps: all of them.
        left: those that are left.
        exceeded: whether the search wanted more, and was cut short.

    >>> budget = Budget(10)
    >>> budget.spend(8), budget.spend(8), budget.left, budget.exceeded
    (True, True, 0, False)
    >>> budget.spend(8), budget.exceeded
    (False, True)
    """

    def __init__(self, steps: int = BUDGET) -> None:
        """InputError if that is no number of steps."""
        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
            raise InputError(f"a budget of {steps!r} steps", fix=f"give an integer from 0, such as {BUDGET}")
        self.steps = self.left = steps
        self.exceeded = False

    def spend(self, steps: int = 1) -> bool:
        """Take so many steps, the last ones perhaps on credit; False if none was left."""
        if not self.left:
            self.exceeded = True
            return False
        self.charge(steps)
        return True

    def charge(self, steps: int) -> None:
        """Take steps that the search has done already."""
        self.left = max(self.left - steps, 0)

    @property
    def larger(self) -> int:
        """A budget that is worth trying if this one was not enough."""
        return max(4 * self.steps, BUDGET)
