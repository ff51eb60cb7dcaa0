"""Contents of the buffers of a printed program's inputs, for its callers, and as the file that its `main` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.stored import Stored
from wingspan.compiled.borrowing import borrowed_inputs, from_zero
from wingspan.plan.ir import Group, Plan, PlanBuffer
from wingspan.plan.layout import DTYPES
from wingspan.plan.show import show
from wingspan.tensors.frozen import Key

Inputs = Mapping[str, Mapping[Key, Stored]]
"""By tensor, what its buffers hold: see `memory.buffers`."""


@dataclass(frozen=True, eq=False)
class Given:
    """An array for a buffer of the instance of a group to which the keys lead."""

    group: Group
    keys: tuple[int, ...]
    buffer: PlanBuffer
    cells: np.ndarray
    """as wide as the buffer's; of a hash table, pairs of a key and a value"""
    borrowed: bool
    """whether the program may read it where it is"""


def input_arrays(plan: Plan, inputs: Inputs) -> Iterator[Given]:
    """The arrays for all buffers of inputs that hold something, each the owner's own one where that fits."""
    lent = borrowed_inputs(plan)
    for tensor, arrays in inputs.items():
        root = next(g for g in plan.groups if g.tensor == tensor and g.parent is None)
        for (depth, name, path), stored in arrays.items():
            group = root
            for tag, _ in path:
                group = next(g for g in plan.groups if g.parent == group.id and g.tag == tag)
            for b in group.buffers:
                if (b.depth, b.name) == (depth, name) and len(stored.values):
                    keys, lends = tuple(key for _, key in path), tensor in lent
                    yield Given(group, keys, b, cells(b, stored, lends), lends)


def cells(b: PlanBuffer, stored: Stored, borrowed: bool) -> np.ndarray:
    """The cells of a buffer; the stored array itself if it fits a buffer that is borrowed."""
    if b.hashed:
        at = np.arange(1, len(stored.values) + 1) if stored.at is None else stored.at
        return np.stack([at, stored.values + stored.shift], axis=1).astype(np.int64)
    found = stored.minus_1() if borrowed and from_zero(b) else stored.logical(DTYPES[b.width])
    return np.ascontiguousarray(found, dtype=DTYPES[b.width])


HEAD = b"Printed by wingspan: inputs of a command\n".ljust(48)
"""The first bytes of the file. Change them with the form of the file, here and in session.h."""


def file(plan: Plan, inputs: Inputs) -> bytes:
    """The inputs as the file of records that session.h reads."""
    parts = []
    for each in input_arrays(plan, inputs):
        head = (each.group.id, each.buffer.number, len(each.keys), len(each.cells), *each.keys)
        data = each.cells.tobytes()
        parts += [np.array(head, "<i8").tobytes(), data, bytes(-len(data) % 8)]
    records = b"".join(parts)
    return HEAD + np.array([identity(plan), len(records), checksum(records)], "<u8").tobytes() + records


def identity(made: Plan) -> int:
    """A number for a program: another one if buffers, statements, ranges or extents differ."""
    lines = [line for line in show(made).splitlines() if not line.lstrip().startswith("#")]  # no text of the program
    lines += (str([b.bound for b in group.buffers]) for group in made.groups)
    return int.from_bytes(sha256("\n".join(lines).encode()).digest()[:8], "little")


def checksum(records: bytes) -> int:
    """The sum of all words, the k-th times 2k + 1, modulo 2⁶⁴: a change of one word always changes it."""
    words = np.frombuffer(records, "<u8")
    return int((words * (2 * np.arange(len(words), dtype=np.uint64) + 1)).sum(dtype=np.uint64))
