"""Towers of levels, and procedures run by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from wingspan.buffers import procedures
from wingspan.buffers.frames import Cell, Frame, LinearCode, advance, start
from wingspan.lang.algebra import exact
from wingspan.lang.devices import ROOT, Device, Task
from wingspan.levels import Tower, resolve
from wingspan.tensors.cells import LOADER, Cells
from wingspan.tensors.formats import parse_format
from wingspan.tensors.tensor import Tensor
from wingspan.testing.formats import rank_of

DEVICES = {"dev": Device("dev", 2), "far": Device("far", 3)}
COUNTS = {name: device.nthreads for name, device in DEVICES.items()}


def tower(form: str, *shape: int, devices: Mapping[str, Device] = DEVICES) -> Tower:
    """The tower of a format, its devices among those given."""
    return Tower.of(resolve(parse_format(form), devices), shape)


def same(tensor: Tensor, array: np.ndarray) -> bool:
    """Whether a tensor holds exactly the array, of its kind."""
    out = tensor.to_numpy()
    return out.dtype == array.dtype and out.shape == array.shape and bool((out == array).all())


def thread(device: str, number: int, of: Task = ROOT) -> Task:
    """A thread of a device."""
    return Task(DEVICES[device], number, of)


@dataclass(frozen=True)
class Member(Task):
    """No task of a program: a thread of several devices at once, as a task and all that it descends from are."""

    numbers: tuple[tuple[str, int], ...] = ()

    def thread(self, device: Device) -> int:
        return dict(self.numbers).get(device.id, 0)


def member(**numbers: int) -> Member:
    """The member that is thread number `dev` of dev, and so on."""
    return Member(ROOT.device, 1, None, tuple(numbers.items()))


@dataclass
class ByHand:
    """The procedures of one tensor run one access at a time on a memory that notes every access."""

    tower: Tower
    z: Any = None
    task: Task = LOADER
    op: str = "="

    def __post_init__(self) -> None:
        self.z = exact(self.tower.fill) if self.z is None else self.z
        self.cells = Cells()
        self.log: list[tuple[str, str, int]] = []

    def load(self, cell, position, index):
        self.log.append(("load", cell.buffer, cell.offset))
        return self.cells.load(cell, position, index)

    def look(self, cell, position, index):
        return self.load(cell, position, index)

    def store(self, cell, value, position, index):
        self.log.append(("store", cell.buffer, cell.offset))
        self.cells.store(cell, value, position, index)

    def update(self, cell, change, position, index, effect):
        self.log.append((effect, cell.buffer, cell.offset))
        self.cells.update(cell, change, position, index, effect)

    def begin(self, code: LinearCode, instance=(), **inputs: Any) -> Frame:
        return start(code, "T", instance, {"z": self.z, "task": self.task, **inputs})

    def run(self, code: LinearCode, instance=(), **inputs: Any) -> Frame:
        frame = self.begin(code, instance, **inputs)
        while not frame.has_ended:
            frame = advance(frame, self)
        return frame

    def whole(self, *operations: str) -> ByHand:
        """Declare, freeze or thaw the tensor; checkout or commit its levels."""
        for operation in operations:
            if operation in ("checkout", "commit"):
                self.run(procedures.transfer(self.tower, self.tower.rank + 1, operation, self.op))
            else:
                self.run(procedures.whole_tensor_code(self.tower, operation, self.op))
        return self

    def update_all(
        self, elements: Mapping[Any, Any] | Iterable[tuple[tuple[int, ...], Any]], op: str | None = None
    ) -> ByHand:
        """Update elements by their subscripts, as loops over each axis, root first, would; ⊕ stays the phase's."""
        self.op = op or self.op
        pairs = elements.items() if isinstance(elements, Mapping) else elements
        ordered = sorted(pairs, key=lambda entry: entry[0][::-1])
        self._below(self.tower.rank + 1, 1, (), [(at, exact(v)) for at, v in ordered])
        return self

    def _below(self, number, position, instance, elements):
        if number == 1:
            for _, value in elements:
                self.run(procedures.increment(self.tower, self.op), instance, position=position, value=value)
            return
        opened = self.run(procedures.open_(self.tower, number, self.op), instance, position=position, start=1)
        cursor = opened.result()
        for index in dict.fromkeys(at[number - 2] for at, _ in elements):
            entered = self.run(procedures.enter(self.tower, number, self.op), instance, **cursor, index=index)
            cursor = entered.result()
            child = cursor.pop("position")
            below = [entry for entry in elements if entry[0][number - 2] == index]
            self._below(number - 1, child, entered.final_instance(), below)
            leave = procedures.leave(self.tower, number, True, self.op)
            cursor = self.run(leave, instance, **cursor, index=index).result()
        self.run(procedures.close(self.tower, number, self.op), instance, **cursor)

    def tensor(self) -> Tensor:
        """The tensor that the cells hold now."""
        values = {cell._replace(tensor=""): value for cell, value in self.cells.values.items()}
        return Tensor(self.tower, Cells(values), self.z)

    def elements(self) -> dict[tuple[int, ...], Any]:
        """The stored elements."""
        return dict(self.tensor().entries())

    def cell(self, depth: int, buffer: str, offset: int, instance=()) -> Any:
        """The value of a cell."""
        return self.cells.values.get(Cell("T", depth, buffer, instance, offset), 0)

    def buffer(self, depth: int, name: str, length: int, instance=()) -> list:
        """The first cells of a buffer."""
        return [self.cell(depth, name, k, instance) for k in range(1, length + 1)]


def elements_of(array: np.ndarray, fill: Any) -> dict[tuple[int, ...], Any]:
    """The elements of an array that differ from fill, by subscripts from 1, exact."""
    found = {}
    for at in np.ndindex(array.shape):
        value = array[at].item()
        if value != fill:
            found[tuple(i + 1 for i in at)] = Fraction(value) if isinstance(value, float) else value
    return found


def frozen(form: str, array: np.ndarray) -> ByHand:
    """A tensor written access by access."""
    h = ByHand(tower(form, *array.shape)).whole("declare", "checkout")
    return h.update_all(elements_of(array, h.tower.fill)).whole("commit", "freeze")


def broken(h: ByHand, depth: int = 0, instance=(), positions: int = 1) -> list[str]:
    """The violations of the levels' docstrings by the cells of a frozen tensor, from a depth down."""
    if h.tower.levels[depth].leaf:
        return []
    name = h.tower.levels[depth].name
    modifiers = {"Shard": _broken_shard, "Mutex": _broken_mutex, "Isolate": _broken_isolate, "Merge": _broken_merge}
    if name in modifiers:
        return modifiers[name](h, depth, instance, positions)
    found: list[str] = []
    n = h.tower.extent(depth)
    children = positions * n
    if name == "SparseList":
        children, found = _broken_list(h, depth, instance, positions, n)
    if name == "SparseCOO":
        axes = 1 + sum(1 for _ in takewhile(lambda level: level.continues, h.tower.levels[depth + 1 :]))
        children, found = _broken_coo(h, depth, axes, instance, positions)
        depth += axes - 1
    if name == "SparseByteMap":
        found = _broken_byte_map(h, depth, instance, positions, n)
    if name == "SparseDict":
        children, found = _broken_dict(h, depth, instance, positions, n)
    if name in ("SparseRunList", "RunList"):
        children, found = _broken_runs(h, depth, instance, positions, n)
    if name == "SparseBlockList":
        children, found = _broken_blocks(h, depth, instance, positions, n)
    if name == "SparseBand":
        children, found = _broken_band(h, depth, instance, positions, n)
    if name == "SparseInterval":
        children, found = positions * min(n, 2), _broken_interval(h, depth, instance, positions, n)
    if name == "SparsePoint":
        children, found = positions, _broken_point(h, depth, instance, positions, n)
    return found + broken(h, depth + 1, instance, children)


def _claims(**claims: bool) -> list[str]:
    return [name.replace("_", " ") for name, holds in claims.items() if not holds]


def _broken_list(h: ByHand, depth: int, instance, positions: int, n: int) -> tuple[int, list[str]]:
    ptr = h.buffer(depth, "ptr", positions + 1, instance)
    entries = ptr[-1] - 1
    idx = h.buffer(depth, "idx", entries, instance)
    fibers = [idx[a - 1 : b - 1] for a, b in pairwise(ptr)]
    return entries, _claims(
        ptr_begins_at_1=ptr[0] == 1,
        ptr_ascends=sorted(ptr) == ptr,
        idx_ascends_in_a_fiber=all(sorted(set(fiber)) == fiber for fiber in fibers),
        idx_is_in_bounds=all(1 <= i <= n for i in idx),
        fill_counts_the_entries=h.buffer(depth, "fill", 1, instance) == [entries],
        prev_is_the_last_fiber=h.buffer(depth, "prev", 1, instance)
        == [max((p for p, fiber in enumerate(fibers, 1) if fiber), default=0)],
    )


def _broken_coo(h: ByHand, depth: int, axes: int, instance, positions: int) -> tuple[int, list[str]]:
    """Of all levels together: their entries are the coordinates, with the fiber before them."""
    ptr = h.buffer(depth, "ptr", positions + 1, instance)
    count = ptr[-1] - 1
    lists = [h.buffer(depth + k, "idx", count, instance) for k in range(axes)]
    fibers = [p for p, (a, b) in enumerate(pairwise(ptr), 1) for _ in range(a, b)]
    entries = list(zip(fibers, *lists, strict=True))
    upto: list[bool] = []
    for k in range(1, axes):
        prefixes = [entry[: k + 1] for entry in entries]
        first = {prefix: q for q, prefix in reversed(list(enumerate(prefixes, 1)))}
        last = {prefix: q for q, prefix in enumerate(prefixes, 1)}
        upto += [h.cell(depth + k, "upto", q, instance) == last[prefix] + 1 for prefix, q in first.items()]
    bounds = [h.tower.extent(depth + k) for k in range(axes)]
    return count, _claims(
        ptr_begins_at_1=ptr[0] == 1,
        ptr_ascends=sorted(ptr) == ptr,
        entries_ascend=sorted(set(entries)) == entries,
        coordinates_are_in_bounds=all(1 <= i <= n for at in entries for i, n in zip(at[1:], bounds, strict=True)),
        upto_ends_each_fiber=all(upto),
        fill_counts_the_entries=h.buffer(depth, "fill", 1, instance) == [count],
        prev_is_the_last_fiber=h.buffer(depth, "prev", 1, instance) == [max(fibers, default=0)],
    )


def _broken_byte_map(h: ByHand, depth: int, instance, positions: int, n: int) -> list[str]:
    words = -(-n // 64)
    tbl, top = (
        {c.offset: v for c, v in h.cells.values.items() if c[1:4] == (depth, name, instance) and v}
        for name in ("tbl", "top")
    )
    written = {(w - 1) // words * n + (w - 1) % words * 64 + k + 1 for w, x in tbl.items() for k in _bits(x)}
    indices = {(w - 1) % words * 64 + k + 1 for w, x in tbl.items() for k in _bits(x)}
    ready = h.cell(depth, "ready", 1, instance)
    leaves = {c.offset: v for c, v in h.cells.values.items() if c[1:4] == (depth + 1, "val", instance)}
    size = h.cell(depth, "size", 1, instance)
    return _claims(
        tbl_has_no_more_than_the_fibers=all(w <= positions * words for w in tbl) and all(i <= n for i in indices),
        top_has_the_words_that_are_not_0={64 * (t - 1) + k + 1 for t, x in top.items() for k in _bits(x)} == set(tbl),
        top_is_made=positions == 0 or h.cell(depth, "flat", 1, instance) == 0,
        no_flag_is_left=positions == 0
        or not any(v for c, v in h.cells.values.items() if c[1:4] == (depth, "flag", instance)),
        size_counts_the_fibers=positions <= size,
        leaves_that_are_not_written_hold_the_fill_value=not h.tower.levels[depth + 1].leaf
        or (ready == h.z and all(leaves.get(q, 0) == h.z for q in range(1, size * n + 1) if q not in written)),
    )


def _bits(word: int) -> list[int]:
    """The bits of a word, which is signed."""
    return [k for k in range(64) if word >> k & 1]


def _broken_dict(h: ByHand, depth: int, instance, positions: int, n: int) -> tuple[int, list[str]]:
    children = h.cell(depth, "fill", 1, instance)
    key, written = h.buffer(depth, "key", children, instance), h.buffer(depth, "set", children, instance)
    ptr = h.buffer(depth, "ptr", positions + 1, instance)
    srt = h.buffer(depth, "srt", ptr[-1] - 1, instance)
    table = {c.offset: v for c, v in h.cells.values.items() if c[1:4] == (depth, "tbl", instance) and v}
    return children, _claims(
        fill_is_a_number_of_children=children >= 0,
        ptr_begins_at_1=positions == 0 or ptr[0] == 1,
        ptr_ascends=positions == 0 or sorted(ptr) == ptr,
        tbl_leads_to_the_child_of_each_key=table == {k: q for q, k in enumerate(key, 1)},
        srt_lists_what_was_written=srt == sorted(k for k, w in zip(key, written, strict=True) if w),
        ptr_splits_srt_by_fibers=[srt[a - 1 : b - 1] for a, b in pairwise(ptr)]
        == [[k for k in srt if p * n < k <= (p + 1) * n] for p in range(positions)],
    )


def _broken_runs(h: ByHand, depth: int, instance, positions: int, n: int) -> tuple[int, list[str]]:
    ptr, sparse = h.buffer(depth, "ptr", positions + 1, instance), h.tower.levels[depth].name == "SparseRunList"
    count = ptr[-1] - 1
    right = h.buffer(depth, "right", count, instance)
    fibers = [range(a - 1, b - 1) for a, b in pairwise(ptr)]
    first = {fiber[0] for fiber in fibers if fiber}
    left = [1 if q in first else right[q - 1] + 1 for q in range(count)]
    left = h.buffer(depth, "left", count, instance) if sparse else left
    neighbours = [q for q in range(1, count) if q not in first and right[q - 1] + 1 == left[q]]
    return count, _claims(
        ptr_begins_at_1=ptr[0] == 1,
        ptr_ascends=sorted(ptr) == ptr,
        runs_are_in_bounds=all(1 <= a <= b <= n for a, b in zip(left, right, strict=True)),
        runs_ascend=all(right[q - 1] < left[q] for q in range(1, count) if q not in first),
        runs_leave_no_gaps=sparse or all(right[fiber[-1]] == n for fiber in fibers if fiber),
        neighbours_differ=all(not _equal(h, depth + 1, instance, q, q + 1) for q in neighbours),
        fill_counts_the_runs=h.buffer(depth, "fill", 1, instance) == [count],
        prev_is_the_last_fiber=h.buffer(depth, "prev", 1, instance)
        == [max((p for p, fiber in enumerate(fibers, 1) if fiber), default=0)],
    )


def _equal(h: ByHand, depth: int, instance, p: int, q: int) -> bool:
    """Whether two fibers of a level hold the same."""
    level = h.tower.levels[depth]
    if not level.has_fixed_size:
        reader, number = h.tensor()._reader(), h.tower.numbers[depth]
        one, other = (
            {at: v for at, v, _ in reader.entries_below(number, position, instance, ()) if v != h.z}
            for position in (p, q)
        )
        return one == other
    if level.leaf:
        return level.name == "Pattern" or bool(h.cell(depth, "val", p, instance) == h.cell(depth, "val", q, instance))
    if level.modifier:
        return _equal(h, depth + 1, instance, p, q)
    n = h.tower.extent(depth)
    return all(_equal(h, depth + 1, instance, (p - 1) * n + k, (q - 1) * n + k) for k in range(1, n + 1))


def _broken_blocks(h: ByHand, depth: int, instance, positions: int, n: int) -> tuple[int, list[str]]:
    ptr = h.buffer(depth, "ptr", positions + 1, instance)
    count = ptr[-1] - 1
    idx, ofs = h.buffer(depth, "idx", count, instance), h.buffer(depth, "ofs", count + 1, instance)
    left = [i - (b - a) + 1 for i, (a, b) in zip(idx, pairwise(ofs), strict=True)]
    fibers = [range(a - 1, b - 1) for a, b in pairwise(ptr)]
    first = {fiber[0] for fiber in fibers if fiber}
    return ofs[-1] - 1, _claims(
        ptr_begins_at_1=ptr[0] == 1,
        ptr_ascends=sorted(ptr) == ptr,
        ofs_begins_at_1=ofs[0] == 1,
        ofs_ascends=sorted(set(ofs)) == ofs,
        blocks_are_in_bounds=all(1 <= a <= b <= n for a, b in zip(left, idx, strict=True)),
        blocks_are_apart=all(idx[r - 1] + 1 < left[r] for r in range(1, count) if r not in first),
        fill_counts_the_blocks=h.buffer(depth, "fill", 1, instance) == [count],
        prev_is_the_last_fiber=h.buffer(depth, "prev", 1, instance)
        == [max((p for p, fiber in enumerate(fibers, 1) if fiber), default=0)],
    )


def _broken_band(h: ByHand, depth: int, instance, positions: int, n: int) -> tuple[int, list[str]]:
    ptr, lo = h.buffer(depth, "ptr", positions + 1, instance), h.buffer(depth, "lo", positions, instance)
    sizes = [b - a for a, b in pairwise(ptr)]
    return ptr[-1] - 1, _claims(
        ptr_begins_at_1=ptr[0] == 1,
        ptr_ascends=sorted(ptr) == ptr,
        bands_are_in_bounds=all(1 <= low <= low + size - 1 <= n for low, size in zip(lo, sizes, strict=True) if size),
        fill_counts_the_children=h.buffer(depth, "fill", 1, instance) == [ptr[-1] - 1],
        prev_is_the_last_fiber=h.buffer(depth, "prev", 1, instance)
        == [max((p for p, size in enumerate(sizes, 1) if size), default=0)],
    )


def _broken_interval(h: ByHand, depth: int, instance, positions: int, n: int) -> list[str]:
    left, right = h.buffer(depth, "left", positions, instance), h.buffer(depth, "right", positions, instance)
    there = [(a, b) for a, b in zip(left, right, strict=True) if b]
    return _claims(runs_are_in_bounds=all(1 <= a <= b <= n for a, b in there))


def _broken_point(h: ByHand, depth: int, instance, positions: int, n: int) -> list[str]:
    return _claims(idx_is_in_bounds=all(0 <= i <= n for i in h.buffer(depth, "idx", positions, instance)))


def _broken_mutex(h: ByHand, depth: int, instance, positions: int) -> list[str]:
    locks = h.buffer(depth, "lock", positions, instance)
    return _claims(no_lock_is_held=not any(lock != 0 for lock in locks)) + broken(h, depth + 1, instance, positions)


def _broken_isolate(h: ByHand, depth: int, instance, positions: int) -> list[str]:
    val = h.buffer(depth, "state", positions, instance)
    found = _claims(no_level_is_loaded=set(val) <= {0, 1})
    there = [p for p, state in enumerate(val, 1) if state]
    return found + [each for p in there for each in broken(h, depth + 1, (*instance, ("fiber", p)), 1)]


def _gate(h: ByHand, depth: int) -> tuple[str, int]:
    """The key of a gated level, and how many threads its device has."""
    device = h.tower.levels[depth].device
    assert device is not None
    return device.id, device.nthreads


def _broken_merge(h: ByHand, depth: int, instance, positions: int) -> list[str]:
    device, threads = _gate(h, depth)
    now, used = h.cell(depth, "now", 1, instance), h.buffer(depth, "used", threads, instance)
    alone = now in (0, threads + 1) or sum(used) == used[now - 1] == positions
    found = _claims(
        the_merged_level_is_apart_or_the_only_copy=alone,
        no_copy_has_more_fibers=all(0 <= q <= positions for q in used),
    )
    parts = {now: positions, **{t: q for t, q in enumerate(used, 1) if q}}  # copies without fibers begin when thawed
    return found + [each for t, P in parts.items() for each in broken(h, depth + 1, (*instance, (device, t)), P)]


def _broken_shard(h: ByHand, depth: int, instance, positions: int) -> list[str]:
    device, threads = _gate(h, depth)
    ptr, task = h.buffer(depth, "ptr", positions, instance), h.buffer(depth, "owner", positions, instance)
    found: list[str] = []
    for t in range(1, threads + 1):
        used = h.cell(depth, "used", t, instance)
        mine = [q for q, owner in zip(ptr, task, strict=True) if q and owner == t]
        found += _claims(
            ptr_is_injective=len(set(mine)) == len(mine), used_bounds_ptr=all(1 <= q <= used for q in mine)
        )
        found += broken(h, depth + 1, (*instance, (device, t)), used)
    return found


def zero_filled(made: tuple[str, np.ndarray]) -> bool:
    """Whether SciPy can hold it."""
    form, array = made
    return rank_of(form) > 0 and tower(form, *array.shape).fill == 0
