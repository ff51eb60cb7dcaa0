"""Facts about its inputs that a call of a kernel finds before it runs, kept for later calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from weakref import ref

from wingspan.base.libraries import np
from wingspan.compiled import engine as compiled
from wingspan.levels import Tower
from wingspan.native import engine as native
from wingspan.runtime._lending import Lent
from wingspan.runtime.lease import Setting
from wingspan.runtime.plan_inputs import PlanInput
from wingspan.tensors.frozen import Frozen
from wingspan.tensors.tensor import Tensor

KEPT = 64
"""So many calls and sets of extents a kernel knows."""

Engine = compiled.CompiledEngine | native.NativeEngine
K = TypeVar("K")
V = TypeVar("V")


class PreparedCall(NamedTuple):
    """The state common to calls with inputs of the same extents."""

    engine: Engine
    own: tuple[PlanInput, ...]
    """the inputs that the program has itself"""
    setting: Setting
    """the extents, numbers of threads and chunk sizes, and what the buffers have room for"""
    towers: Mapping[str, Tower]
    """the towers of the results, at least"""


class Ready(NamedTuple):
    """A call whose inputs have been checked: what runs it, and on what."""

    call: PreparedCall
    given: tuple[PlanInput, ...]
    """the inputs of the call; those of the program come on top"""
    shares: tuple[Tensor, Tower] | None = None
    """the input whose subscripts the result shares, and the levels of the result; None if it has its own"""
    lent: Lent | None = None
    """the inputs of the call that are read where the caller has them, in place of `given`"""
    lists: tuple[Tower, np.ndarray, np.ndarray] | None = None
    """the levels of the result, and copies of the inputs' pointers and indices for it; None if it has its own"""


class Again:
    """Calls with tensors that nobody can write. What they have found out holds for the same tensors again.

    Tensors are recognized by their identity. They and what belongs to them are only referred to, not kept.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[int, ...], _CallMemo] = {}
        """by the ids of the inputs, which others have later"""

    def find(self, inputs: Mapping[str, Any]) -> Ready | None:
        """A call with these inputs, if there was one."""
        call = self._calls.get(tuple(map(id, inputs.values())))
        if call is None:
            return None
        for name, known in call.inputs:
            if (tensor := known()) is None or inputs.get(name) is not tensor:
                return None
        given = tuple([found for handed in call.given if (found := handed()) is not None])
        if call.shares is None:
            return Ready(call.call, given)
        tensor = call.shares[0]()
        return None if tensor is None else Ready(call.call, given, (tensor, call.shares[1]))

    def keep(self, tensors: Mapping[str, Tensor], ready: Ready) -> None:
        """Remember a call of these inputs, if nothing that it has found out about them can change."""
        if not all([handed.lasts for handed in ready.given]):
            return
        if not all([isinstance(x.data, Frozen) and x.data.is_immutable for x in tensors.values()]):
            return
        inputs = tuple([(name, ref(tensor)) for name, tensor in tensors.items()])
        shares = None if ready.shares is None else (ref(ready.shares[0]), ready.shares[1])
        known = _CallMemo(inputs, ready.call, tuple([ref(handed) for handed in ready.given]), shares)
        keep_recent(self._calls, tuple(map(id, tensors.values())), known)


class _CallMemo(NamedTuple):
    """A call, without anything that would keep its inputs alive."""

    inputs: Sequence[tuple[str, ref[Tensor]]]
    call: PreparedCall
    given: Sequence[ref[PlanInput]]
    shares: tuple[ref[Tensor], Tower] | None


def keep_recent(known: dict[K, V], key: K, value: V) -> V:
    """Keep a value under a key, and forget the oldest one if they become too many."""
    known[key] = value
    while len(known) > KEPT:
        with suppress(KeyError, RuntimeError):  # another thread was faster
            del known[next(iter(known))]
    return value
