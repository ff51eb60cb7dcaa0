"""Arrow: run-end encoded arrays and plain ones, and files that hold them (`.arrow`, also called Feather), or streams
(`.arrows`). Either is read under either name.

The runs of a RunList are Arrow's: the last index of a run, counted from 1, is where it ends, counted from 0.
"""

from __future__ import annotations

from typing import IO, Any

from wingspan.base.errors import abridge
from wingspan.base.libraries import np
from wingspan.base.reading import InSteps, require_memory
from wingspan.tensors.files.file_format import WritableTensor, first_names, library, refuse_unless
from wingspan.tensors.foreign import RunArray, adopt

FILE, STREAM, END = b"ARROW1", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0"
"""The first bytes of a file and of a stream, and the last of a stream
(https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format).
"""

COLUMN = "values"
"""The column that is written."""


def read_arrow(file: InSteps, member: str | None = None) -> np.ndarray | RunArray:
    """The column of a file, or the one that is named. ValueError or InputError if it is not in order."""
    arrow, ipc = library("pyarrow", "pyarrow", "arrow"), library("pyarrow.ipc", "pyarrow", "arrow")
    require_memory(file.size, f"it has {file.size} bytes")
    data = bytearray()
    while step := file.read():
        data += step
    if not data.startswith((FILE, STREAM)):
        raise ValueError("it begins neither as a file nor as a stream of Arrow does")
    if data.startswith(STREAM) and not data.endswith(END):
        raise ValueError("it is a stream without the mark of its end, so it may be cut short")
    opened = ipc.open_file if data.startswith(FILE) else ipc.open_stream
    table = opened(arrow.py_buffer(bytes(data))).read_all()
    table.validate(full=True)
    names = first_names(table.column_names)
    if member is None and table.num_columns != 1:
        raise ValueError(f"it has {table.num_columns} columns, so name one after a colon: {names}")
    if member is not None and table.column_names.count(member) != 1:
        raise ValueError(f"it has no column {abridge(member)}, but {names}")
    found: np.ndarray | RunArray = adopt(table.column(member or 0), "it", 1, 0)
    return found


def array_of(tensor: WritableTensor) -> Any:
    """A vector of numbers or truth values as an array of Arrow's: run-end encoded if its level keeps runs."""
    arrow = library("pyarrow", "pyarrow", "arrow")
    runs = tensor.runs()
    if runs is None:
        return arrow.array(tensor.to_numpy())
    return arrow.RunEndEncodedArray.from_arrays(arrow.array(runs.ends), arrow.array(runs.values))


def write_arrow(file: IO[bytes], tensor: WritableTensor, stream: bool = False) -> None:
    """Write a vector as a file or a stream of one column. InputError if it is none."""
    refuse_unless(len(tensor.shape) == 1, f"a tensor of rank {len(tensor.shape)}")
    array, arrow, ipc = (
        array_of(tensor),
        library("pyarrow", "pyarrow", "arrow"),
        library("pyarrow.ipc", "pyarrow", "arrow"),
    )
    table = arrow.table({COLUMN: array})
    with (ipc.new_stream if stream else ipc.new_file)(file, table.schema) as out:
        out.write_table(table)
