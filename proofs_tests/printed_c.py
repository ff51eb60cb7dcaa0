"""Plans printed as C and compiled by the system's compiler: an engine to compare with others."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wingspan.base.errors import Fault
from wingspan.buffers.stored import Stored
from wingspan.compiled.borrowing import read_only
from wingspan.compiled.emit_c import emit_c
from wingspan.compiled.inputs import input_arrays
from wingspan.elaborate import Elaborated
from wingspan.lang.ir import Instance, Value
from wingspan.plan.ir import Group, PlanBuffer
from wingspan.plan.layout import DTYPES
from wingspan.plan.pipeline import lower
from wingspan.runtime.memory import buffers, result
from wingspan.runtime.results import ScalarResults, scalar_results
from wingspan.tensors.frozen import Key
from wingspan.tensors.tensor import Tensor
from wingspan.testing.batched_c import load_compiled

Pointer = ctypes.c_void_p
Number = ctypes.c_int64


class Printed:
    """A bound program as a compiled library, with the memory of one run at a time."""

    def __init__(self, bound: Elaborated, options: Sequence[str] = ("-O3",)) -> None:
        self.bound, self.plan = bound, lower(bound)
        self.source = emit_c(self.plan)
        self._given = list(
            input_arrays(self.plan, {name: buffers(name, tensor) for name, tensor in bound.inputs.items()})
        )
        self._library = load_compiled(self.source, options)
        for name, returns in SIGNATURES.items():
            getattr(self._library, name).restype = returns
        self._session = Pointer()
        self.open()

    def __del__(self) -> None:
        if hasattr(self, "_session") and self._session:
            self._library.ws_session_close(self._session)

    def open(self) -> None:
        """Take new memory."""
        if self._session:
            self._library.ws_session_close(self._session)
        self._session = Pointer(self._library.ws_session_open())

    def prepare(self) -> None:
        """Forget the previous run, and take the inputs for the next one."""
        self._library.ws_session_reset(self._session)
        for each in self._given:
            keys = (Number * len(each.keys))(*each.keys)
            count = Number(len(each.keys))
            x = Pointer(self._library.ws_session_instance(self._session, Number(each.group.id), keys, count))
            k = Number(each.buffer.number)
            if each.buffer.hashed:
                for key, value in each.cells.tolist():
                    self._library.ws_session_put(self._session, x, k, Number(key), Number(value))
            else:
                cells, count = Pointer(each.cells.ctypes.data), Number(len(each.cells))
                self._library.ws_session_set(self._session, x, k, cells, count, not each.borrowed)

    def run(self) -> int:
        """Run it on the inputs. Returns 0, or the number of the error in runtime.h."""
        return int(self._library.ws_session_run(self._session))

    def fault(self) -> str:
        """The error, in words."""
        text = ctypes.create_string_buffer(4096)
        self._library.ws_session_fault(self._session, text, ctypes.c_size_t(4096))
        return text.value.decode()

    def tensors(self) -> dict[str, Tensor]:
        """The outputs, as copies."""
        kept, fills = read_only(self.plan), self._scalars().fills
        return {
            name: self.bound.inputs[name]
            if name in kept
            else result(self.bound.towers[name], self.arrays(name), fills[name])
            for name in self.plan.outputs
        }

    def variables(self) -> dict[str, Value]:
        """The variables of the outermost scope."""
        return self._scalars().variables

    def _scalars(self) -> ScalarResults:
        ends = self.plan.ends
        words = ctypes.string_at(self._library.ws_session_results(self._session), 8 * len(ends))
        return scalar_results(self.plan, [e.type.unpack(words, k) for k, e in enumerate(ends)])

    # --------------------------------------------------------------------------------------------------------- results

    def arrays(self, tensor: str) -> dict[Key, Stored]:
        """The buffers of a tensor, as copies, which may end in unused cells."""
        known: dict[int, tuple[Group, int, int]] = {}
        group, parent, key, x = Number(), Pointer(), Number(), None
        outputs = ctypes.byref(group), ctypes.byref(parent), ctypes.byref(key)
        while x := self._library.ws_session_next(self._session, Pointer(x), *outputs):
            if group.value < len(self.plan.groups):  # others are of C alone, and of no tensor
                known[x] = self.plan.groups[group.value], parent.value or 0, key.value
        return {
            (b.depth, b.name, _path(x, known)): self._buffer(x, b)
            for x, (made, _, _) in known.items()
            if made.tensor == tensor
            for b in made.buffers
            if not b.scratch
        }

    def _buffer(self, instance: int, b: PlanBuffer) -> Stored:
        data = Pointer()
        count = self._library.ws_session_cells(Pointer(instance), Number(b.number), ctypes.byref(data))
        width = np.dtype(np.int64 if b.hashed else DTYPES[b.width])
        size = count * (16 if b.hashed else width.itemsize)
        cells = np.frombuffer(ctypes.string_at(data, size), width) if size else np.zeros(0, width)
        if b.hashed:
            pairs = cells.reshape(-1, 2)
            pairs = pairs[pairs[:, 0] != 0]
            return Stored.from_cells(pairs[:, 0], pairs[:, 1])
        return Stored(cells.view(np.bool_) if b.type.is_boolean else cells)


def _path(x: int, known: Mapping[int, tuple[Group, int, int]]) -> Instance:
    group, parent, key = known[x]
    return () if group.parent is None else (*_path(parent, known), (group.tag, key))


SIGNATURES: dict[str, Any] = {
    "ws_session_open": Pointer, "ws_session_close": None, "ws_session_reset": None, "ws_session_instance": Pointer,
    "ws_session_set": ctypes.c_bool, "ws_session_put": ctypes.c_bool, "ws_session_run": ctypes.c_int,
    "ws_session_results": Pointer, "ws_session_next": Pointer, "ws_session_cells": Number, "ws_session_fault": Pointer,
}  # fmt: skip


class PrintedC:
    """The engine, for `wingspan.testing.compare` and `campaign`."""

    def __init__(self, options: Sequence[str] = ("-O1",)) -> None:
        self.name, self.options = "printed-c", tuple(options)

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The results of the compiled program."""
        printed = Printed(program, self.options)
        printed.prepare()
        if printed.run():
            raise Fault(printed.fault())
        return {**printed.tensors(), **printed.variables()}
