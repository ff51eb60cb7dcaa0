"""Files of arrays: Matrix Market (`.mtx`), NumPy (`.npy`), SciPy sparse (`.npz`)."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from errno import EDQUOT, EISDIR, ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from wingspan.arrays import numbers
from wingspan.errors import InputError, Span
from wingspan.once import alone
from wingspan.paths import named

SUFFIXES = (".mtx", ".npy", ".npz")
ONE_OF_THEM = "use .mtx, .npy or .npz"

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?(?:nan|inf)"
_FIELDS = {
    "pattern": {},
    "integer": {"integer": "[-+]?[0-9]+"},
    "unsigned-integer": {"integer": "[0-9]+"},
    "real": {"number": _NUMBER},
    "double": {"number": _NUMBER},
}
"""What a line of a Matrix Market file says beside the place of its entry, and how that is written."""


def _read_mtx(path: Path) -> Any:
    """SciPy's reader, behind a check of what it would read wrongly.

    It takes 1.5 for the integer 1, passes over what follows a number, makes room for all that a header announces, and
    ends the process at an array without elements.
    """
    rows, columns, announced, form, field, symmetry = scipy.io.mminfo(path)
    if field not in _FIELDS:
        raise InputError(f"its numbers are {field}", fix="write their real parts, or their absolute values")
    if symmetry != "general" and rows != columns:
        raise ValueError(f"a {symmetry} matrix is square, and it has {rows} rows and {columns} columns")
    place = {"row": "[0-9]+", "column": "[0-9]+"}
    if form == "array":
        if field == "pattern":
            raise ValueError("an array has values, and a pattern has none")
        place = {}
        halves = {"general": 2 * rows, "skew-symmetric": rows - 1}
        announced = columns * halves.get(symmetry, rows + 1) // 2
    _check_entries(path, place | _FIELDS[field], {"row": rows, "column": columns}, announced)
    if form == "array" and not announced:
        return np.zeros((rows, columns), dtype=np.int64)
    return scipy.io.mmread(path, spmatrix=False)


def _check_entries(path: Path, line: Mapping[str, str], extents: Mapping[str, int], announced: int) -> None:
    """ValueError unless each line of the body is written so, lies inside of the extents, and none is missing."""
    pattern = re.compile(r"\s+".join(f"(?P<{name}>{form})" for name, form in line.items()), re.IGNORECASE)
    stripped = ((k, text.strip()) for k, text in enumerate(path.read_text("latin-1").split("\n"), start=1))
    _, *body = ((k, text) for k, text in stripped if text and not text.startswith("%"))
    for k, text in body:
        found = pattern.fullmatch(text)
        if found is None:
            raise ValueError(f"line {k} is `{text[:40]}`, and should be `{' '.join(line)}`")
        for name, extent in extents.items():
            if name in line and not 1 <= int(found[name]) <= extent:
                raise ValueError(f"line {k}: {name} {found[name]} is not in 1:{extent}")
    if len(body) != announced:
        raise ValueError(f"its header announces {announced} entries, and {len(body)} follow")


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
    ".mtx": (_read_mtx, "mend it, or write it anew by scipy.io.mmwrite"),
    ".npy": (_read_npy, "write it anew by numpy.save"),
    ".npz": (_read_npz, "write it anew by scipy.sparse.save_npz"),
}

_WRITERS: dict[str, Callable[[Path, Any], None]] = {
    ".mtx": lambda at, data: scipy.io.mmwrite(at, data, symmetry="general"),
    ".npy": np.save,
    ".npz": scipy.sparse.save_npz,
}


def read_file(path: Path, span: Span | None = None) -> Any:
    """The array in a file, dense or SciPy sparse; InputError if it cannot be read or a tensor cannot hold it."""
    if named(path, span).suffix not in SUFFIXES:
        raise InputError(f"{path}: not a file that tensors are read from", span, fix=ONE_OF_THEM)
    if path.is_dir():
        raise InputError(f"{path}: a directory, not a file", span, fix="name a file in it")
    read, fix = _READERS[path.suffix]
    try:
        with alone(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = read(path)
        numbers(data.data if scipy.sparse.issparse(data) else data)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", span, fix="write the path of a file that is there") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", span, fix="name a file that can be read") from None
    except InputError as error:
        raise InputError(f"{path}: {error.message}", span, fix=error.fix) from None
    except Exception as error:  # the parsers of foreign files raise whatever they meet
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{path}: not a {path.suffix} file in order: {reason}", span, fix=fix) from None
    return data


def write_file(path: Path, data: Any) -> None:
    """Write an array, SciPy sparse but for `.npy`; the file is replaced in one step. InputError if it cannot be."""
    if named(path).suffix not in SUFFIXES:
        raise InputError(f"{path}: cannot write a {path.suffix or 'nameless'} file", fix=ONE_OF_THEM)
    _replace(path, lambda draft: _WRITERS[path.suffix](draft, data))


def write_text(path: Path, text: str) -> None:
    """Write a text; the same."""
    _replace(path, lambda draft: draft.write_text(text, encoding="utf-8", errors="replace"))


def write_atomically(path: Path, data: bytes) -> None:
    """Write bytes; the same."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files of one folder, each in one step, all or none of them. InputError if one cannot be written."""
    folder = next(iter(files)).parent
    with _writable(folder), tempfile.TemporaryDirectory(dir=folder, prefix=".wingspan-") as name:
        scratch = Path(name)
        for k, (path, data) in enumerate(files.items()):
            with _writable(path):
                (scratch / f"new-{k}").write_bytes(data)
        with _undone_on_failure() as undo:
            for k, path in enumerate(files):
                with _writable(path):
                    if os.path.lexists(path):
                        _keep(path, scratch / f"old-{k}")
                        undo.callback(os.replace, scratch / f"old-{k}", path)
                    else:
                        undo.callback(path.unlink, missing_ok=True)
                    os.replace(scratch / f"new-{k}", path)


def _keep(path: Path, at: Path) -> None:
    """Keep a file under another name, too; where a file has one name only, under that one alone."""
    try:
        os.link(path, at, follow_symlinks=False)
    except OSError:
        os.replace(path, at)


@contextmanager
def _undone_on_failure() -> Iterator[ExitStack]:
    """Gives a stack of what undoes each step of the block, last step first, if the block fails."""
    with ExitStack() as undo:
        yield undo
        undo.pop_all()


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    named(path)
    with _writable(path), tempfile.TemporaryDirectory(dir=path.parent, prefix=".wingspan-") as folder:
        draft = Path(folder) / f"draft{path.suffix}"
        write(draft)
        os.replace(draft, path)


def check_writable(path: Path) -> None:
    """InputError if no file can be written there."""
    named(path)
    with _writable(path):
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        with tempfile.TemporaryFile(dir=path.parent):
            pass


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (ENOSPC, EDQUOT)
        fix = "make room on the disk, or write to another one" if full else "write into a folder of yours"
        raise InputError(f"{path}: {error.strerror or error}", fix=fix) from None
