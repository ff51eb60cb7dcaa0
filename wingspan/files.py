"""Files of arrays: Matrix Market (`.mtx`), NumPy (`.npy`), SciPy sparse (`.npz`)."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from wingspan.arrays import numbers
from wingspan.errors import InputError, Span

SUFFIXES = "use .mtx, .npy or .npz"


def _read_npy(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            data = np.load(file, allow_pickle=False)
        except ValueError as error:
            raise ValueError("it holds no plain array" if "pickle" in str(error) else str(error)) from None
        if not isinstance(data, np.ndarray):
            raise ValueError("it holds several arrays")
        return data


def _read_npz(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return scipy.sparse.load_npz(file)
        except Exception:
            raise ValueError("it holds no sparse array") from None


_READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    ".mtx": (lambda at: scipy.io.mmread(at, spmatrix=False), "write it by scipy.io.mmwrite, or see the format's page"),
    ".npy": (_read_npy, "write it by numpy.save"),
    ".npz": (_read_npz, "write it by scipy.sparse.save_npz"),
}

_WRITERS: dict[str, Callable[[Path, Any], None]] = {
    ".mtx": lambda at, data: scipy.io.mmwrite(at, data, symmetry="general"),
    ".npy": np.save,
    ".npz": scipy.sparse.save_npz,
}


def read_file(path: Path, span: Span | None = None) -> Any:
    """The array in a file, dense or SciPy sparse; InputError if it cannot be read or a tensor cannot hold it."""
    if path.suffix not in _READERS:
        raise InputError(f"{path}: not a file that tensors are read from", span, fix=SUFFIXES)
    if path.is_dir():
        raise InputError(f"{path}: a directory, not a file", span)
    read, fix = _READERS[path.suffix]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = read(path)
        numbers(data.data if scipy.sparse.issparse(data) else data)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", span) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", span) from None
    except InputError as error:
        raise InputError(f"{path}: {error.message}", span, fix="use integers, doubles or booleans") from None
    except Exception as error:  # the parsers of foreign files raise whatever they meet
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{path}: not a {path.suffix} file in order: {reason}", span, fix=fix) from None
    return data


def write_file(path: Path, data: Any) -> None:
    """Write an array, SciPy sparse but for `.npy`; the file is replaced in one step. InputError if it cannot be."""
    if path.suffix not in _WRITERS:
        raise InputError(f"{path}: cannot write a {path.suffix or 'nameless'} file", fix=SUFFIXES)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".wingspan-") as folder:
            draft = Path(folder) / f"draft{path.suffix}"
            _WRITERS[path.suffix](draft, data)
            os.replace(draft, path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", fix="write into a folder of yours") from None
