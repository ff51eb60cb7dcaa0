"""Verbs that read files, files that are out of order, and how much memory reading them may take."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

BANNER = "%%MatrixMarket matrix coordinate real general\n"
PROGRAM = "y = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = _\n    y[i] += i\nend\nreturn y\n"
VERBS: dict[str, list[str]] = {
    "check": [], "explore": [], "replay": ["--interleaving", "-"], "run": ["--engine", "semantics"], "diff": [],
    "race": ["--runs", "2"],
    "plan": [], "emit-c": [], "fmt": [],
}  # fmt: skip


def refused(done: Any, about: str, shown: str = "") -> None:
    """One message on standard error, about a path, and exit status 2; what is `shown` may have been printed before."""
    assert done.status == 2 and shown.startswith(done.out), done
    assert done.err.startswith("error[") and about in done.err.splitlines()[0], done.err
    assert "defect" not in done.err and "Traceback" not in done.err


@contextmanager
def within(most: int) -> Iterator[None]:
    """The block allocates at most so many bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= most
    finally:
        tracemalloc.stop()


def archive(path: Path, **members: Any) -> Path:
    """A sparse array as `save_npz` writes one; members that are bytes stand as they are."""
    parts = {"format": np.array(b"csc"), "shape": np.array([3, 1]), "indptr": np.array([0, 2]),
             "indices": np.array([0, 2]), "data": np.array([1.0, 2.0])} | members  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            if part is not None:
                file = io.BytesIO()
                np.save(file, part, allow_pickle=True) if not isinstance(part, bytes) else file.write(part)
                made.writestr(f"{name}.npy", file.getvalue())
    return path
