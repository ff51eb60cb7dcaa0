"""The layout of a tensor's levels in memory: groups of buffers, one for each keyed modifier on the way down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, Span
from wingspan.base.libraries import np
from wingspan.lang.devices import THREADS
from wingspan.lang.registers import INSTANCE, INT, RegisterType
from wingspan.lang.widths import WIDTHS
from wingspan.levels import usual
from wingspan.levels.base import FIBER, OPEN, Discipline, Gated, Storage, Tower
from wingspan.levels.base import Buffer as LevelBuffer
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Group, Plan, PlanBuffer, Reg, Width

MOST = 2**62
"""Positions that a tensor may have, so that no arithmetic on positions overflows."""

SMALL = 2**31 - 2
"""The largest position or index of a buffer with cells of 32 bits."""

MANY = -2
"""A count that is not known, as several extents are left open."""

DTYPES: dict[Width, np.dtype[Any]] = {name: np.dtype(width.dtype) for name, width in WIDTHS.items()}
"""Cells of each width as NumPy has them."""


@dataclass(frozen=True)
class TensorLayout:
    """The groups of one tensor, outermost first, its extents, and the register with its root instance."""

    tensor: str
    tower: Tower
    extents: tuple[Reg | Const, ...]
    groups: tuple[Group, ...]
    root: Reg

    def buffer(self, depth: int, name: str) -> PlanBuffer:
        """A buffer of the level at `depth`."""
        return next(b for group in self.groups for b in group.buffers if (b.depth, b.name) == (depth, name))

    def below(self, group: int) -> Group:
        """The group whose instances lie within those of another one."""
        return next(g for g in self.groups if g.parent == group)


def layout(
    tensor: str, tower: Tower, extents: tuple[Reg | Const, ...], first: int, numbers: Mapping[str, Reg] | None = None
) -> TensorLayout:
    """The groups of a tensor, numbered from `first`. InputError if it is too large to number its positions.

    `numbers` are the registers with the numbers of threads that are left open.
    """
    counts, rooms = _counts(tensor, tower), list(_rooms(tower, extents, numbers or {}))
    groups: list[Group] = []
    buffers: list[PlanBuffer] = []
    parent: int | None = None
    tag, keys = "", 0
    for depth, level in enumerate(tower.levels):
        fibers, room = counts[depth]
        for made in tower.buffers(depth):
            buffer = _buffer(tensor, tower, depth, made, fibers, room, first + len(groups), len(buffers))
            buffers.append(replace(buffer, cells=rooms[depth].get(made.length)))
        if level.key or depth == len(tower.levels) - 1:
            groups.append(Group(first + len(groups), tensor, tuple(buffers), parent, tag, keys))
            parent, buffers, tag = groups[-1].id, [], level.key
            device = level.device if level.key != FIBER else None
            keys = 0 if device is None else (THREADS if device.open else device.nthreads) + 2
    return TensorLayout(tensor, tower, extents, tuple(groups), Reg(f"root {tensor}", INSTANCE))


class NeedsExtents(InputError):
    """A limit of plans with open extents: only a plan for given extents can say this."""


def unsupported_error(message: str, span: Span | None, fix: str) -> InputError:
    """An error for programs that the rules run but plans cannot express."""
    return InputError(f"the native engine cannot run this: {message}", span, topic="native", fix=fix)


def variable(name: str, type_: RegisterType, id: int) -> Group:
    """The group of a variable or a counter that tasks share."""
    return Group(id, name, (PlanBuffer(name, -1, "variable", "value", type_, type_.cell, 0, id, bound=1),))


def element_type(tower: Tower) -> RegisterType:
    """The type of a tensor's elements in plans: pairs are integers, their words."""
    return tower.elements.register


def positions(tensor: str, tower: Tower) -> list[int]:
    """The most fibers of the level at each depth in one instance; OPEN where that is left open.

    InputError if they are too many to be numbered.
    """
    return [fibers for fibers, _ in _counts(tensor, tower)]


def _counts(tensor: str, tower: Tower) -> list[tuple[int, int]]:
    """The most fibers of the level at each depth in one instance, and the most children of these; OPEN or MANY where
    that is left open. A level that numbers what it stores has no more children than can be numbered below it.

    InputError if levels that number every index, stored or not, cannot do so.
    """
    counts, fibers = [], 1
    for depth, level in enumerate(tower.levels):
        room = reduce(_times, (extent or 1 for extent in _extents(tower, depth)), fibers)
        most = _most_fibers(tower, depth + 1)
        if level.key == FIBER or (isinstance(level, Storage) and not level.full):
            room, fits = min(room, most), most > 0
        else:
            fits = room <= most
        if not fits:
            message = f"{tensor} would have more positions than the native engine can number"
            stores = f"{usual.ASCENDING}, {usual.ANY_ORDER}, {usual.COORDINATES}"
            fix = f"use smaller extents, or levels that number only what they store: {stores}"
            raise InputError(message, fix=fix)
        counts.append((fibers, room))
        # a SparsePoint has a child for each fiber, even if there is no index
        below = 0 if isinstance(level, Storage) and level.full and 0 in _extents(tower, depth) else room
        fibers = 1 if level.key == FIBER else below
    return counts


def _most_fibers(tower: Tower, depth: int) -> int:
    """The most fibers of the level at a depth for which all numbers of it and of those below fit."""
    indices = 1
    for level, at in zip(tower.levels[depth:], range(depth, len(tower.levels)), strict=True):
        if isinstance(level, Storage) and level.numbers_indices:
            indices *= max(tower.extent(at), 1)  # whoever gives an extent that is open sees to it
        if level.key == FIBER or (isinstance(level, Storage) and not level.full):
            break
    return MOST // indices


def _extents(tower: Tower, depth: int) -> Iterator[int]:
    """The extents by which the level at a depth has more children than fibers, if all of them are stored.

    One that continues another has a fiber for each entry already, so that one has all of its extents too.
    """
    if isinstance(tower.levels[depth], Storage) and not tower.levels[depth].continues:
        yield tower.extent(depth)
        while tower.levels[depth := depth + 1].continues:
            yield tower.extent(depth)


def _rooms(tower: Tower, extents: tuple[Reg | Const, ...], numbers: Mapping[str, Reg]) -> Iterator[dict[str, Expr]]:
    """For the level at each depth, by the lengths of buffers, how many cells these have where that is left open.

    Only where they are used, or cost nothing while they are not: below levels that have all of their positions.
    """
    fibers: Expr | None = Const(1)
    for depth, level in enumerate(tower.levels):
        room = None
        if fibers is not None and not level.leaf and not level.modifier and extents:
            room = op("*", fibers, extents[tower.numbers[depth] - 2])
        more = None if fibers is None else op("+", fibers, Const(1))
        lengths = {"positions": fibers, "positions + 1": more, "positions · n": room}
        if room is not None and fibers is not None:
            words = op("*", fibers, _of_words(extents[tower.numbers[depth] - 2]))
            lengths |= {"positions · words": words, "positions · words / 64": _of_words(words)}
            lengths["positions · words · 64"] = op("*", words, Const(64))
        if level.device is not None and level.device.open:
            lengths["threads"] = numbers.get(level.device.number)
        yield {length: e for length, e in lengths.items() if e is not None and not isinstance(e, Const)}
        if level.discipline is Discipline.CLAIM:
            fibers = None
        elif level.key == FIBER:
            fibers = Const(1)
        elif not level.modifier:
            fibers = room if level.full else None


def _of_words(cells: Expr) -> Expr:
    """The number of words with one bit for each cell."""
    return op("÷", op("+", cells, Const(63)), Const(64))


Bounds = tuple[tuple[int, ...], ...]
"""The most cells of the buffers of each group, 0 if unknown."""


def bounds(made: Plan, towers: Mapping[str, Tower] | None = None) -> Bounds:
    """The bounds of a plan's buffers; for these towers, if it leaves extents open."""
    if towers is None:
        return tuple(tuple(b.bound for b in group.buffers) for group in made.groups)
    known = (group for name, tower in towers.items() for group in layout(name, tower, (), 0).groups)
    found = [tuple(b.bound for b in group.buffers) for group in known]
    return (*found, *bounds(made)[len(found) :])


def dense_bytes(made: Plan, sizes: Bounds) -> int:
    """The bytes that the tensors of a run that are Dense throughout take together, inputs apart, with these bounds."""
    found = (b for group in made.groups for b in group.buffers)
    each = zip(found, (size for group in sizes for size in group), strict=True)
    return sum(size * DTYPES[b.width].itemsize for b, size in each if b.whole and b.tensor not in made.inputs)


def without_bounds(made: Plan) -> Bounds:
    """No bounds: for runs whose tasks may race, and ask for cells that no safe run has. Exploring finds such cells."""
    return tuple((0,) * len(group.buffers) for group in made.groups)


def _times(m: int, n: int) -> int:
    """A product of counts, each known, or OPEN for one extent that is, or MANY for what may be larger."""
    if MANY in (m, n) or 0 in (m, n):
        return m * n and MANY
    if OPEN in (m, n):
        return OPEN if 1 in (m, n) else MANY
    return m * n


def _buffer(
    tensor: str, tower: Tower, depth: int, made: LevelBuffer, fibers: int, room: int, group: int, number: int
) -> PlanBuffer:
    level = tower.levels[depth]
    type_ = element_type(tower) if made.cell == "value" else INT
    threads = level.on.nthreads if isinstance(level, Gated) else 0
    bounds = {
        "1": 1, "threads": threads, "positions": fibers, "positions + 1": fibers + 1 if fibers >= 0 else fibers,
        "positions · n": room, "entries": room, "children": room, "entries + 1": room + 1 if room >= 0 else room,
    }  # fmt: skip
    if fibers >= 0 and room >= 0 and "words" in made.length:
        words = fibers * -(-tower.extent(depth) // 64)
        bounds |= {"positions · words": words, "positions · words / 64": -(-words // 64)}
        bounds["positions · words · 64"] = words * 64
    bound = bounds.get(made.length, 0)
    largest = tower.extent(depth) if made.cell == "index" and not level.modifier else bound and room
    if made.cell == "position" and isinstance(level, Storage) and level.numbers_indices:
        largest = bound and _times(fibers, tower.extent(depth))
    if largest == OPEN:
        largest = SMALL - 1  # whoever gives the extent sees to it
    width = tower.width.cell if made.cell == "value" else _width(made, largest)
    bound = max(bound, 0)
    pairs = made.cell == "value" and tower.elements.is_packed
    assigned = made.assigned and not (depth > 0 and tower.levels[depth - 1].zeros)
    return PlanBuffer(
        tensor, depth, made.name, made.cell, type_, width, number, group,
        tower.numbers[depth], level.name, bound, made.hashed, made.own, made not in level.buffers, assigned,
        pairs=pairs, layout=level.layout, role=made.role,
        whole=made.cell == "value" and all(each.layout == "all" for each in tower.levels[:-1]),
    )  # fmt: skip


def _width(made: LevelBuffer, largest: int) -> Width:
    """The width of cells that hold no numbers: positions and counts that are known to be small take half the room."""
    match made.cell:
        case "flag":
            return "u8"
        case "position" | "index" | "count" | "thread" if 0 < largest < SMALL:
            return "i32"
    return "i64"
