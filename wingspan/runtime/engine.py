"""An engine that runs one plan: the settings that its runs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

from wingspan.plan.ir import Plan
from wingspan.plan.layout import Bounds, bounds, dense_bytes
from wingspan.runtime.lease import Setting


class PlanEngine(ABC):
    """A plan, ready to run any number of times."""

    plan: Plan

    def setting(
        self,
        parameters: Mapping[str, int] | None = None,
        sizes: Bounds | None = None,
        exact: Bounds | None = None,
    ) -> Setting:
        """The setting of runs with the same parameters of the plan, by name.

        `sizes` are what buffers have room for, and `exact` what they may need, as `layout.bounds` gives it.
        """
        exact = exact or bounds(self.plan)
        return Setting(self._start(parameters or {}), self._reserve(sizes or exact), dense_bytes(self.plan, exact))

    @cached_property
    def usual(self) -> Setting:
        """The setting of a plan without parameters."""
        return self.setting()

    @abstractmethod
    def _start(self, parameters: Mapping[str, int]) -> bytes:
        """The values of the parameters, as the engine takes them."""

    def _reserve(self, sizes: Bounds) -> Bounds:
        """The room of the buffers, of which the plan's need these sizes."""
        return sizes
