"""A bound program, compiled and ready to run on threads of the system."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from wingspan.elaborate import Elaborated
from wingspan.lang.ir import Value
from wingspan.levels.base import Gated, Level
from wingspan.native.assemble import Code, assemble
from wingspan.native.engine import Engine, Limits, Mode
from wingspan.native.memory import buffers, result
from wingspan.plan.pipeline import lower
from wingspan.tensors.tensor import Tensor

_CODES: WeakKeyDictionary[Elaborated, dict[bool, Code]] = WeakKeyDictionary()


def code_of(bound: Elaborated, dealt: bool = True) -> Code:
    """The code of a bound program, compiled when it is first asked for; see `lower`."""
    dealt = dealt and any(_deals(level) for tower in bound.towers.values() for level in tower.levels)
    codes = _CODES.setdefault(bound, {})
    return codes.get(dealt) or codes.setdefault(dealt, assemble(lower(bound, dealt)))


def _deals(level: Level) -> bool:
    """Whether operations of a level may deal iterations to tasks: those that bring its threads' copies together."""
    return isinstance(level, Gated) and level.on.nthreads > 1


class Compiled:
    """The plan of a program with its inputs; it may run any number of times."""

    def __init__(self, bound: Elaborated) -> None:
        self.bound = bound
        self._engine = Engine(code_of(bound))
        self._inputs = {name: buffers(name, tensor) for name, tensor in bound.inputs.items()}

    def run(
        self, *, limits: Limits | None = None, mode: Mode = "plain", seed: int = 0
    ) -> tuple[dict[str, Tensor], dict[str, Value]]:
        """Run once: every tensor updated or returned, and the variables of the outermost scope.

        The tensors look at the engine's memory. A Fault if the run meets one.
        """
        results = self._engine.run(self._inputs, limits=limits, mode=mode, seed=seed)
        towers, fills = self.bound.towers, results.fills
        tensors = {name: result(towers[name], results.arrays(name), fills[name]) for name in self.bound.outputs}
        return tensors, results.variables
