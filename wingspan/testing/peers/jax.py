"""BCOO arrays of JAX, https://docs.jax.dev/en/latest/jax.experimental.sparse.html."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from wingspan.tensors.tensor import Coordinates
from wingspan.testing.array_engine import ArrayEngine
from wingspan.testing.peers.library import library, zero_filled


class Jax(ArrayEngine):
    """BCOO arrays, by sparsified functions of `jax.numpy`. JAX is configured for 64 bits."""

    def __init__(self, duplicates: bool = False) -> None:
        jax, numpy = library("jax", "jax"), library("jax.numpy", "jax")
        sparse = library("jax.experimental.sparse", "jax")
        jax.config.update("jax_enable_x64", True)

        def make(stored: Coordinates) -> Any:
            given = zero_filled(stored)
            data, indices = numpy.asarray(given.values), numpy.asarray(given.subscripts.T)
            return sparse.BCOO((data, indices), shape=given.shape)

        def made_sparse(name: str) -> Any:
            function = getattr(numpy, name)
            return lambda *args, **options: sparse.sparsify(lambda *given: function(*given, **options))(*args)

        functions = SimpleNamespace(**{name: made_sparse(name) for name in NAMES})
        super().__init__("jax", make, functions, _dense, duplicates)


NAMES = ("add", "subtract", "multiply", "negative", "sum", "tensordot", "permute_dims", "expand_dims")
"""The functions with sparse rules in JAX; minimum and maximum have none."""


def _dense(array: Any) -> Any:
    return np.asarray(array.todense() if hasattr(array, "todense") else array)
