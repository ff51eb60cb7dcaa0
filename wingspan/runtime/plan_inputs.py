"""Inputs for the runs of one plan: which of its buffers hold which arrays, determined once for each tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.stored import Stored
from wingspan.levels import Tower
from wingspan.plan.ir import Plan, PlanBuffer, walk
from wingspan.plan.layout import DTYPES
from wingspan.plan.uses import refs
from wingspan.runtime._lending import MOST_LISTS
from wingspan.runtime._memory import Piece
from wingspan.runtime.memory import arrays_of
from wingspan.tensors.frozen import BorrowedArrays, Frozen, Key, is_immutable
from wingspan.tensors.tensor import Tensor

Lends = Callable[[PlanBuffer, Stored], Stored | None]
"""The memory for a buffer to read in place of a copy of the contents; None if a copy is necessary."""

Use: TypeAlias = "tuple[int, int, str, np.dtype[Any]]"
"""The group, the number, the width and the data type of a buffer that reads an array."""

BufferPosition = tuple[PlanBuffer, int, tuple[int, ...]]
"""A buffer, the group of its tensor's root, and the groups from there to its own."""


@dataclass(frozen=True, eq=False)
class PlanInput:
    """An input for runs of one plan."""

    tensor: str
    pieces: tuple[Piece, ...]
    buffers: tuple[PlanBuffer, ...]
    """the buffers that hold the pieces"""
    lent: Mapping[Key, Stored]
    """the contents of the buffers that read them in place"""
    lasts: bool
    """whether it is valid for as long as the tensor: none of it was computed from something that may be changed"""


class PlanInputs:
    """The inputs of a plan. Those that stay valid are kept for as long as their tensors."""

    def __init__(self, plan: Plan, lends: Lends) -> None:
        self._lends = lends
        self._places = _places(plan)
        self._results = {name for name, _ in plan.fills}
        self._borrowing: dict[str, Sequence[BufferPosition | None] | None] = {}
        self._kept: dict[str, WeakKeyDictionary[Tensor, PlanInput]] = {T: WeakKeyDictionary() for T in plan.inputs}

    def from_tensor(self, name: str, tensor: Tensor) -> PlanInput:
        """A tensor as an input, whose arrays are known to be in order: see `tensor.require_order`."""
        found = self._kept[name].get(tensor)
        if found is None:
            arrays = tensor.data.arrays if isinstance(tensor.data, Frozen) else None
            if isinstance(arrays, BorrowedArrays) and (buffers := self._readers(name, arrays.tower)) is not None:
                return self._borrow(name, arrays, buffers)
            found = self.from_arrays(name, arrays_of(tensor))
            if found.lasts:
                self._kept[name][tensor] = found
        return found

    def in_place(self, name: str, tower: Tower) -> tuple[str, str, int, int, list[Use | None]] | None:
        """An input whose arrays the plan can read where the caller has them, for a `Lender`; None if it cannot."""
        layouts = [level.layout for level in tower.levels]
        dense, lists = layouts.count("all"), layouts.count("pointers")
        alone = layouts == ["all"] * dense + ["pointers"] * lists + ["values"] and (dense < 2 or not lists)
        places = self._readers(name, tower) if alone and lists <= MOST_LISTS else None
        if places is None or tower.elements.is_packed or (lists and tower.fill):
            return None
        uses = [
            None if place is None else (place[1], place[0].number, place[0].width, DTYPES[place[0].width])
            for place in places
        ]
        return name, np.zeros(0, tower.dtype).data.format, tower.rank, lists, uses

    def _readers(self, name: str, tower: Tower) -> Sequence[BufferPosition | None] | None:
        """The buffers that read the caller's arrays where they are: of the elements, and the pointers and indices of
        each SparseList. None for one that nobody reads; None if others are read, or if a result may share them.
        """
        if name not in self._borrowing:
            leaf, result = len(tower.levels) - 1, name in self._results
            lists = [depth for depth, level in enumerate(tower.levels) if level.layout == "pointers"]
            keys = [(leaf, "val"), *((depth, buffer) for depth in lists for buffer in ("ptr", "idx"))]
            found = [self._places.get((name, *key, ())) for key in keys]
            read = {place[:3] for place in self._places if place[0] == name}
            others = result or not read <= {(name, *key) for key in keys}
            lends = all(place is None or self._reads_in_place(place[0]) for place in found)
            self._borrowing[name] = None if others or not lends else found
        return self._borrowing[name]

    def _reads_in_place(self, buffer: PlanBuffer) -> bool:
        """Whether a buffer reads an array of its width that counts from 0 where it is, and as it is."""
        array = np.zeros(1, DTYPES[buffer.width])
        lent = self._lends(buffer, Stored(array, int(buffer.cell != "value")))
        return lent is not None and lent.values is array and lent.shift == 0

    def _borrow(self, name: str, arrays: BorrowedArrays, places: Sequence[BufferPosition | None]) -> PlanInput:
        """The caller's arrays as an input for one call."""
        pieces, buffers = [], []
        for place, array in zip(places, arrays.arrays, strict=True):
            if place is not None and array.size:
                buffer, root, _ = place
                array = array if array.dtype == DTYPES[buffer.width] else array.astype(DTYPES[buffer.width])
                pieces.append(Piece(root, (), buffer.number, array, True))
                buffers.append(buffer)
        return PlanInput(name, tuple(pieces), tuple(buffers), {}, False)

    def from_arrays(self, name: str, arrays: Mapping[Key, Stored]) -> PlanInput:
        """Arrays as an input, by depth of the level, buffer and instance; other arrays are ignored."""
        pieces, buffers, lasts = [], [], True
        lent: dict[Key, Stored] = {}
        for key, stored in arrays.items():
            depth, buffer_name, path = key
            place = self._places.get((name, depth, buffer_name, tuple([tag for tag, _ in path])))
            if place is None or not len(stored.values):
                continue
            buffer, root, groups = place
            way = tuple([(group, number) for group, (_, number) in zip(groups, path, strict=True)])
            made = None if buffer.hashed else self._lends(buffer, stored)
            if buffer.hashed:
                at = np.arange(1, len(stored.values) + 1) if stored.at is None else stored.at.astype(np.int64)
                values = stored.values.astype(np.int64) + stored.shift
                piece = Piece(root, way, buffer.number, values, False, 0, at)
            elif made is not None:
                lent[key], values = stored, made.values
                piece = Piece(root, way, buffer.number, values, True, made.shift)
            else:
                values = np.ascontiguousarray(stored.logical(DTYPES[buffer.width]))
                piece = Piece(root, way, buffer.number, values, False)
            pieces.append(piece)
            buffers.append(buffer)
            lasts = lasts and (values is stored.values or is_immutable(stored.values))
        return PlanInput(name, tuple(pieces), tuple(buffers), lent, lasts)


def _places(plan: Plan) -> dict[tuple[str, int, str, tuple[str, ...]], BufferPosition]:
    """The places of all buffers that the plan uses, by tensor, depth of the level, name and the keys on the path."""
    seen = {ref.buffer for s in walk(plan.body) for ref in refs(s)}
    ways: dict[int, tuple[int, tuple[int, ...], tuple[str, ...]]] = {}
    found: dict[tuple[str, int, str, tuple[str, ...]], BufferPosition] = {}
    for group in plan.groups:
        if group.parent is None:
            ways[group.id] = group.id, (), ()
        else:
            root, groups, tags = ways[group.parent]
            ways[group.id] = root, (*groups, group.id), (*tags, group.tag)
        root, groups, tags = ways[group.id]
        for b in group.buffers:
            if b in seen or b.tensor in plan.outputs:
                found.setdefault((b.tensor, b.depth, b.name, tags), (b, root, groups))
    return found
