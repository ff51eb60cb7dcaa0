"""A bound program, compiled and ready to run on threads of the system."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from math import prod
from threading import Lock
from weakref import WeakKeyDictionary

from wingspan.buffers import staging
from wingspan.elaborate import Elaborated
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.levels.base import Gated
from wingspan.native.assemble import assemble
from wingspan.native.code import RegisterCode
from wingspan.native.engine import NativeEngine
from wingspan.plan.identity import depends_on
from wingspan.plan.layout import without_bounds
from wingspan.plan.pipeline import lower
from wingspan.runtime.lease import Limits, Mode
from wingspan.tensors.tensor import Tensor

LIKE = 64
"""The number of codes that are kept for programs that are bound again, with other elements in their inputs."""

_CODES: WeakKeyDictionary[Elaborated, dict[bool, RegisterCode]] = WeakKeyDictionary()
_like: OrderedDict[Hashable, RegisterCode] = OrderedDict()
"""the last codes, by everything that they depend on; the most recently used is last"""
_LOCK = Lock()


def code_of(bound: Elaborated, dealt: bool = True) -> RegisterCode:
    """The code of a bound program, compiled on first use; see `lower`.

    It depends on no elements of an input: programs that differ only there share it.
    """
    dealt = dealt and any(map(_deals, bound.towers.values()))
    codes = _CODES.setdefault(bound, {})
    return codes.get(dealt) or codes.setdefault(dealt, _similar_code(bound, dealt))


def _similar_code(bound: Elaborated, dealt: bool) -> RegisterCode:
    """The code of a similar program, if it is kept; otherwise a new one."""
    key = depends_on(bound), staging.GRAIN, dealt
    with _LOCK:
        if key in _like:
            _like.move_to_end(key)
            return _like[key]
    made = assemble(lower(bound, dealt))
    with _LOCK:
        made = _like.setdefault(key, made)
        _like.move_to_end(key)
        while len(_like) > LIKE:
            _like.popitem(last=False)
    return made


def _deals(tower: Tower) -> bool:
    """Whether it can pay for operations of levels to deal iterations to tasks: those that merge copies.

    These have at most as many iterations as there are entries in all copies together.
    """
    devices = [level.on for level in tower.levels if isinstance(level, Gated)]
    most = prod(max(n, 1) for n in tower.shape) * prod(D.nthreads + 2 for D in devices)
    return most >= staging.GRAIN and any(D.nthreads > 1 for D in devices)


class NativeProgram:
    """The plan of a program with its inputs; it may run any number of times."""

    def __init__(self, bound: Elaborated, *, racy: bool = False) -> None:
        """`racy`: tasks may race, and access cells that no safe run has."""
        self.bound = bound
        self._engine = NativeEngine(code_of(bound))
        self._setting = self._engine.setting(sizes=without_bounds(self._engine.plan)) if racy else None
        self._given = [self._engine.inputs.from_tensor(name, tensor) for name, tensor in bound.inputs.items()]

    def run(
        self, *, limits: Limits | None = None, mode: Mode = "plain", seed: int = 0
    ) -> tuple[dict[str, Tensor], dict[str, Value]]:
        """Run once: every tensor updated or returned, and the variables of the outermost scope.

        The tensors are views of the engine's memory. Raises the Fault that a run meets.
        """
        results = self._engine.run(self._given, self._setting, limits=limits, mode=mode, seed=seed)
        return results.tensors(self.bound.towers), results.variables
