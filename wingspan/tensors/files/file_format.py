"""The common part of readers and writers of files: their results, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, Protocol

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, abridge
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import InSteps
from wingspan.lang.algebra import show
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.tensors.foreign import RunArray


class WritableTensor(Protocol):
    """A tensor, as writers see it."""

    @property
    def tower(self) -> Tower: ...
    @property
    def fill(self) -> Value: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def to_numpy(self) -> np.ndarray: ...
    def to_scipy(self) -> Any: ...
    def coordinates(self) -> tuple[list[np.ndarray], np.ndarray]: ...
    def runs(self) -> RunArray | None: ...


@dataclass(frozen=True)
class FileFormat:
    """A format of files: how it is read and written. Both raise whatever they meet in what is not in order."""

    read: Callable[[InSteps, str | None], Any]
    """the array in a file, or the member of it that is named: NumPy's, SciPy's, `Filled` or `Runs`"""
    write: Callable[[IO[bytes], Any], None]
    """calls `write` of an open file, which says why it fails; InputError if the file cannot hold the tensor"""
    again: str
    """the remedy for a malformed file"""
    members: str | None = None
    """the kind of a file's members, if it has any"""
    flat: Callable[[np.ndarray], bool] = lambda array: False
    """whether an array is also a vector, the first axis innermost"""


def first_names(names: Sequence[str], most: int = 8) -> str:
    """The first of the names of what a file holds.

    >>> first_names(["a", "b", "c"], 2)
    'a, b, …'
    """
    return ", ".join([*map(abridge, names[:most]), *(["…"] if len(names) > most else [])])


def refuse_unless(fits: bool, what: str, fix: str = "use .npy") -> None:
    """An InputError with what a file holds, unless the tensor is such."""
    if not fits:
        raise InputError(f"does not hold {what}", fix=fix)


def require_zeros(tensor: WritableTensor) -> None:
    """An InputError unless what is not stored is zero, and there is an axis."""
    refuse_unless(bool(tensor.shape), "a tensor with no axes")
    refuse_unless(tensor.fill == 0, f"a tensor with fill value {show(tensor.fill)}")


def entries(tensor: WritableTensor) -> Any:
    """The stored elements as a SciPy COO array, whatever the extents are."""
    subscripts, values = tensor.coordinates()
    return scipy.sparse.coo_array((values, tuple(subscripts)), shape=tensor.shape)


@contextmanager
def library_errors(*errors: type[Exception]) -> Iterator[None]:
    """Convert library errors on malformed files to ValueError; let OSErrors pass."""
    try:
        yield
    except errors as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(str(error).strip("'\"")) from None


def library(name: str, package: str, extra: str) -> Any:
    """A module of a library that is an extra. InputError with how to install it if it is not there."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"needs {package}, which is not installed", fix=f"pip install 'wingspan[{extra}]'") from None
