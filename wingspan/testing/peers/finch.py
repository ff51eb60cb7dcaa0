"""Tensors of finch-tensor-lite, https://github.com/finch-tensor/finch-tensor-lite."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from wingspan.base.errors import InputError
from wingspan.tensors.tensor import Coordinates
from wingspan.testing.array_engine import FUNCTIONS, REDUCTIONS, ArrayEngine
from wingspan.testing.peers.library import library

NAMES = {*FUNCTIONS.values(), *REDUCTIONS.values(), "negative", "tensordot", "permute_dims", "expand_dims"}


class Finch(ArrayEngine):
    """Dense arrays, which the compiler of a `scheduler` computes with: `COMPILE_NUMBA`, `INTERPRET_LOGIC`, …"""

    def __init__(self, scheduler: str = "") -> None:
        finch = library("finchlite", "finch-tensor-lite")
        using = getattr(finch, scheduler, None) if scheduler else finch.get_default_scheduler()
        if using is None:
            raise InputError(
                f"finch-tensor-lite has no scheduler {scheduler}", fix="use COMPILE_NUMBA or INTERPRET_LOGIC"
            )

        def schedule(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                with finch.with_default_scheduler(using):
                    return function(*args, **options)

            return call

        def make(stored: Coordinates) -> Any:
            if not stored.shape:
                raise NotImplementedError("arrays without axes")
            array = np.full(stored.shape, stored.fill, stored.values.dtype)
            array[tuple(stored.subscripts)] = stored.values
            return finch.asarray(array)

        functions = SimpleNamespace(**{name: schedule(getattr(finch, name)) for name in sorted(NAMES)})
        super().__init__(f"finch-lite{scheduler and ' '}{scheduler}", make, functions, _dense)


def _dense(array: Any) -> Any:
    return array.to_numpy() if hasattr(array, "to_numpy") else array
