"""Files of arrays: Matrix Market (`.mtx`), NumPy (`.npy`), SciPy sparse (`.npz`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import scipy.io
import scipy.sparse

from wingspan.errors import InputError, Span
from wingspan.once import alone
from wingspan.paths import named
from wingspan.reading import InSteps, reading
from wingspan.tensors.arrays import numbers
from wingspan.tensors.files.matrix_market import read_mtx
from wingspan.tensors.files.numpy_files import read_npy, read_npz
from wingspan.written import replacing

SUFFIXES = (".mtx", ".npy", ".npz")
ONE_OF_THEM = "use .mtx, .npy or .npz"

_READERS: dict[str, tuple[Callable[[InSteps], Any], str]] = {
    ".mtx": (read_mtx, "correct it, or write it again by scipy.io.mmwrite"),
    ".npy": (read_npy, "write it again by numpy.save"),
    ".npz": (read_npz, "write it again by scipy.sparse.save_npz"),
}

_WRITERS: dict[str, Callable[[IO[bytes], Any], None]] = {
    ".mtx": lambda file, data: scipy.io.mmwrite(file, data, symmetry="general"),
    ".npy": lambda file, data: np.save(SimpleNamespace(write=file.write), data),
    ".npz": scipy.sparse.save_npz,
}
"""They call the `write` of an open file, which says why it fails.

SciPy's `mmwrite` to a path does not notice that a disk is full, and NumPy's `save` to a file says only that it failed.
"""


def read_file(path: Path, span: Span | None = None) -> Any:
    """The array in a file, dense or SciPy sparse.

    InputError if it cannot be read, is not in order, takes too much memory, or a tensor cannot hold it.
    """
    if named(path, span).suffix not in SUFFIXES:
        raise InputError(f"{path}: not a file that tensors are read from", span, fix=ONE_OF_THEM)
    read, fix = _READERS[path.suffix]
    with reading(path, span) as file:
        try:
            with alone(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                data = read(file)
            numbers(data.data if scipy.sparse.issparse(data) else data)
        except InputError as error:
            topic = error.diagnostics[0].topic
            raise InputError(f"{path}: {error.message}", span, topic=topic, fix=error.fix) from None
        except (OSError, MemoryError):
            raise
        except Exception as error:  # the libraries that read foreign files raise whatever they meet
            if file.failure is not None:
                raise file.failure from None
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise InputError(f"{path}: not a {path.suffix} file in order: {reason}", span, fix=fix) from None
    return data


def write_file(path: Path, data: Any) -> None:
    """Write an array, SciPy sparse but for `.npy`; the file is replaced in one step. InputError if it cannot be."""
    if named(path).suffix not in SUFFIXES:
        raise InputError(f"{path}: cannot write a {path.suffix or 'nameless'} file", fix=ONE_OF_THEM)
    with replacing(path) as file:
        _WRITERS[path.suffix](file, data)
