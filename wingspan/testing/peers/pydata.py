"""Arrays of pydata/sparse, https://sparse.pydata.org."""

from __future__ import annotations

from typing import Any

from wingspan.tensors.tensor import Coordinates
from wingspan.testing.array_engine import ArrayEngine
from wingspan.testing.peers.library import library


class Sparse(ArrayEngine):
    """COO arrays of any fill value."""

    def __init__(self, name: str = "sparse", form: str = "coo", duplicates: bool = False) -> None:
        module = library("sparse", "sparse")

        def make(stored: Coordinates) -> Any:
            given = {"shape": stored.shape, "fill_value": stored.values.dtype.type(stored.fill)}
            return module.COO(stored.subscripts, stored.values, **given).asformat(form)

        super().__init__(name, make, module, _dense, duplicates)


class Gcxs(Sparse):
    """GCXS arrays of any fill value."""

    def __init__(self) -> None:
        super().__init__("sparse-gcxs", "gcxs")


def _dense(array: Any) -> Any:
    return array.todense() if hasattr(array, "todense") else array
