"""Files of tensors: which formats there are, and how one of them is read or written whole."""

from __future__ import annotations

import gzip
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from wingspan.base.errors import InputError, Span, WingspanError
from wingspan.base.libraries import np, scipy
from wingspan.base.once import alone
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import InSteps, reading
from wingspan.base.writing import replacing
from wingspan.lang.ir import Literal, Value
from wingspan.levels import usual
from wingspan.tensors.arrays import numbers
from wingspan.tensors.files.arrow import read_arrow, write_arrow
from wingspan.tensors.files.binsparse import read_h5, write_h5
from wingspan.tensors.files.file_format import FileFormat, WritableTensor
from wingspan.tensors.files.gunzip import Gunzipped
from wingspan.tensors.files.images import read_netpbm, read_png, write_netpbm, write_png
from wingspan.tensors.files.matrix_market import read_mtx, write_mtx
from wingspan.tensors.files.numpy_files import read_npy, read_npz, write_npy, write_npz
from wingspan.tensors.files.tns import read_tns, write_tns
from wingspan.tensors.foreign import Filled, RunArray, with_fill
from wingspan.tensors.formats import parse_format

PLANE = "a plane: red, green, blue, grey or alpha"


def _column(array: Any) -> bool:
    """Whether a matrix has one column."""
    return bool(array.ndim == 2 and array.shape[1] == 1)


def _image(array: Any) -> bool:
    """Whether there is one plane, whose pixels follow each other."""
    return bool(array.ndim == 2)


def _gzip_format(form: FileFormat) -> FileFormat:
    """The same format, of files that gzip packs."""

    def read(file: InSteps, member: str | None) -> Any:
        return form.read(Gunzipped(file), member)

    def write(file: IO[bytes], tensor: WritableTensor) -> None:
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            form.write(cast(IO[bytes], packed), tensor)

    return replace(form, read=read, write=write)


MTX = FileFormat(read_mtx, write_mtx, "correct it, or write it again by scipy.io.mmwrite", flat=_column)
TNS = FileFormat(read_tns, write_tns, "correct it: a line has subscripts from 1 and a number")

FORMATS = {
    ".mtx": MTX,
    ".mtx.gz": _gzip_format(MTX),
    ".tns": TNS,
    ".tns.gz": _gzip_format(TNS),
    ".npy": FileFormat(read_npy, write_npy, "write it again by numpy.save"),
    ".npz": FileFormat(read_npz, write_npz, "write it again by scipy.sparse.save_npz or numpy.savez", "an array"),
    ".h5": FileFormat(read_h5, write_h5, "write it again as binsparse 0.1", "a group"),
    ".arrow": FileFormat(read_arrow, write_arrow, "write it again by pyarrow.feather.write_feather", "a column"),
    ".arrows": FileFormat(
        read_arrow, partial(write_arrow, stream=True), "write it again by pyarrow.ipc.new_stream", "a column"
    ),
    ".png": FileFormat(read_png, write_png, "write the image again", PLANE, _image),
    ".pgm": FileFormat(read_netpbm, partial(write_netpbm, kind=5), "write it again as P5", PLANE, _image),
    ".ppm": FileFormat(read_netpbm, partial(write_netpbm, kind=6), "write it again as P6", PLANE, _image),
}
"""The formats of files by their suffixes."""

SUFFIXES = tuple(FORMATS)
ONE_OF_THEM = f"use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def suffix(path: Path) -> str:
    """The suffix of a file, with that of what gzip packed.

    >>> suffix(Path("a.b.mtx")), suffix(Path("a.mtx.gz")), suffix(Path(".mtx"))
    ('.mtx', '.mtx.gz', '')
    """
    last = path.suffix
    return path.with_suffix("").suffix + last if last == ".gz" else last


def split_member(path: Path) -> tuple[Path, str | None]:
    """A file, and the member of it that is named after a colon: `two.npz:a`."""
    text = str(path)
    colons = (k for k, letter in enumerate(text) if letter == ":" and suffix(Path(text[:k])) in FORMATS)
    first = next(colons, len(text))
    if suffix(path) in FORMATS or not text[first + 1 :]:
        return path, None
    return Path(text[:first]), text[first + 1 :]


def read_file(path: Path, span: Span | None = None, rank: int | None = None) -> Any:
    """The array in a file, or a member of it: NumPy's, SciPy's, `Filled` or `Runs`.

    For a tensor of rank 1, a `.mtx` file of one column and a plane of an image are vectors. What a sparse file does not
    store is 0, or the fill value that the file has, or the one that stands behind its name: `graph.mtx:fill=Inf`.
    InputError if the file cannot be read, is not in order, takes too much memory, or a tensor cannot hold it.
    """
    whole, fill = _split_fill(require_readable_name(path, span), span)
    file_, member = split_member(whole)
    kind = suffix(file_)
    if kind not in FORMATS:
        raise InputError(f"{path}: not a file that tensors are read from", span, fix=ONE_OF_THEM)
    form = FORMATS[kind]
    if member is not None and form.members is None:
        raise InputError(f"{path}: a {kind} file has no members", span, fix=f"write {file_}")
    with reading(file_, span) as file:
        try:
            with alone(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                data = form.read(file, member)
            numbers(_values(data))
            data = data.reshape(-1, order="F") if rank == 1 and form.flat(data) else data
            data = data if fill is None else with_fill(data, fill)
        except InputError as error:
            topic = error.diagnostics[0].topic
            raise InputError(f"{path}: {error.message}", span, topic=topic, fix=error.fix) from None
        except (OSError, MemoryError):
            raise
        except Exception as error:  # the libraries that read foreign files raise whatever they meet
            if file.failure is not None:
                raise file.failure from None
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise InputError(f"{path}: not a {kind} file in order: {reason}", span, fix=form.again) from None
    return data


def _split_fill(path: Path, span: Span | None) -> tuple[Path, Value | None]:
    """A file or a member of it, and the fill value that is given with its name, if one is."""
    text, given, fill = str(path).rpartition(":fill=")
    if not given or suffix(path) in FORMATS:
        return path, None
    try:
        match parse_format(f"{usual.LEAF}({fill})").args:
            case (Literal(value=bool() | int() | float() as value),):
                return Path(text), value
    except WingspanError:
        pass
    raise InputError(f"{path}: {fill!r} is no fill value", span, fix="for example graph.mtx:fill=Inf") from None


def _values(data: Any) -> Any:
    """The elements of an array that has been read."""
    data = data.array if isinstance(data, Filled) else data
    return data.values if isinstance(data, RunArray) else data.data if scipy.sparse.issparse(data) else np.asarray(data)


def write_file(path: Path, tensor: WritableTensor, binsparse_version: str | None = None) -> None:
    """Write a tensor; the file is replaced in one step. InputError if it cannot be, or does not hold this.

    A `.h5` file says that it is of a version of binsparse; no other file has one.
    """
    kind = suffix(require_readable_name(path))
    if kind not in FORMATS:
        raise InputError(f"{path}: cannot write a {kind or 'nameless'} file", fix=ONE_OF_THEM)
    if tensor.tower.elements.is_packed:
        raise InputError(f"{path}: files hold no pairs", fix="keep the first and the second in a tensor each")
    write = FORMATS[kind].write
    if binsparse_version is not None:
        if write is not write_h5:
            raise InputError(
                f"{path}: a {kind} file has no version of binsparse", fix="leave it out, or write a .h5 file"
            )
        write = partial(write_h5, version=binsparse_version)
    with replacing(path) as file:
        try:
            write(file, tensor)
        except InputError as error:
            raise InputError(f"{path}: a {kind} file {error.message}", fix=error.fix) from None
