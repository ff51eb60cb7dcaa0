"""Programs of small scope, all of them: nests of loops around one or two updates of T, times formats of T.

Loops are called k, j, i from the outermost on (of two j, i; of one i) and have two iterations each, every device has
two threads, and every axis has three indices, so that `i + 1` stays inside. A nest is bound once; only the tower
changes with the format. What is left out is told apart by nothing that the rules, the tests or the oracle look at:

- the names of loops and tensors;
- for one access, a shift of a subscript that gets a loop of its own anyway. In `T[i + 1, j]` the loop over i + 1 is
  inserted, and in `T[j, i]` with i inside j that over j: `T[j + 1, i]` differs from it by the names of the indices of
  one axis. What counts is how many subscripts from the root on are bare (`_subscripts`);

Left out beside these, to keep the numbers down: two nested parallel loops with different schedules; constant subscripts
(an index that is in no subscript does the same); and two accesses neither of which is bare. `wide` nests have the last
two, shifts by up to two in both directions, loops of one iteration, and serial programs; their axes have six indices.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations, product
from math import comb

from proofs_tests.trace_oracle import Item, plan
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.lang.devices import SERIAL, Device
from wingspan.levels import Tower
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.run_list import RunList
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_band import SparseBand
from wingspan.levels.sparse_block_list import SparseBlockList
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_coo import SparseCOO
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList
from wingspan.levels.sparse_run_list import SparseRunList
from wingspan.testing.formats import legal

EXTENT, WIDE = 3, 6
OUTER = Device("d", 2, SERIAL)
INNER = Device("e", 2, OUTER)
STATIC, DYNAMIC = "static_schedule()", "dynamic_schedule(1)"

# ------------------------------------------------------------------------------------------------------------- formats

LEAVES = (Element, Atomic)
STORAGE = (Dense, SparseList, SparseByteMap, SparseDict)
STRETCHED = (SparseBand, SparseBlockList, SparseRunList, RunList)
"""Levels of runs, blocks and bands. Formats with them are many: of rank 2, random ones are judged."""
Make = Callable[[Level], Level]
"""A storage level around another one, without modifiers; a SparseCOO takes two axes or more."""
Word = tuple[str, ...]
"""Modifiers around one level, outermost first."""


def modifiers(devices: int) -> tuple[str, ...]:
    """The modifiers of programs with so many devices, as words use them."""
    return ("Mutex", "Isolate", "Shard d", "Merge d", "Shard e", "Merge e")[: 2 + 2 * max(1, devices)]


def wrapped(word: Word, level: Level) -> Level:
    """A level in modifiers."""
    for name in reversed(word):
        on = INNER if name.endswith(" e") else OUTER
        match name.split()[0]:
            case "Mutex":
                level = Mutex(level)
            case "Isolate":
                level = Isolate(level)
            case "Shard":
                level = Shard(level, on)
            case "Merge":
                level = Merge(level, on)
    return level


def words(levels: int, devices: int, number: int) -> Iterator[tuple[Word, ...]]:
    """Every way to put exactly so many modifiers around storage levels and the leaf: a word for each, root first."""
    for places in product(range(levels + 1), repeat=number):
        if sorted(places) == list(places):
            for names in product(modifiers(devices), repeat=number):
                pairs = list(zip(places, names, strict=True))
                yield tuple(tuple(name for at, name in pairs if at == place) for place in range(levels + 1))


def stacks(rank: int, storage: Sequence[type[Level]]) -> Iterator[tuple[Make, ...]]:
    """Every choice of storage levels that have so many axes together, root first."""
    if not rank:
        yield ()
    for kind in storage:
        makes: dict[int, Make] = {1: kind}
        if kind is SparseCOO:
            makes = {axes: partial(SparseCOO.around, axes=axes) for axes in range(2, rank + 1)}
        for axes, make in makes.items() if rank else ():
            yield from ((make, *below) for below in stacks(rank - axes, storage))


def formats(rank: int, devices: int, most: int, storage: Sequence[type[Level]] = STORAGE) -> Iterator[Level]:
    """Every format with up to so many modifiers, those with the fewest first."""
    chosen = list(stacks(rank, storage))
    for number, levels in product(range(most + 1), range(1, rank + 1)):
        among = [stack for stack in chosen if len(stack) == levels]
        for around, stack, leaf in product(words(levels, devices, number), among, LEAVES):
            made = _format(stack, leaf, around)
            if legal(str(made)):
                yield made


def _format(stack: Sequence[Make], leaf: type, around: Sequence[Word]) -> Level:
    level = wrapped(around[-1], leaf(0))
    for make, word in zip(reversed(stack), reversed(around[:-1]), strict=True):
        level = wrapped(word, make(level))
    return level


def format_count(rank: int, devices: int, most: int, least: int = 0) -> int:
    """The number of formats with `least` to `most` modifiers."""
    kinds: int = len(STORAGE) ** rank * len(LEAVES)
    around: int = sum(comb(k + rank, rank) * len(modifiers(devices)) ** k for k in range(least, most + 1))
    return kinds * around


def random_format(
    rank: int, devices: int, number: int, choose: random.Random, storage: Sequence[type[Level]] = STORAGE
) -> Level:
    """One of the formats with exactly so many modifiers, each as likely as the others."""
    among = list(stacks(rank, storage))
    weights = [comb(number + len(stack), len(stack)) for stack in among]
    while not legal(str(made := _random_format(*choose.choices(among, weights), devices, number, choose))):  # type: ignore[call-arg, arg-type]  # one is chosen
        pass
    return made


def _random_format(stack: tuple[Make, ...], devices: int, number: int, choose: random.Random) -> Level:
    levels = len(stack)
    places = sorted(choose.sample(range(number + levels), levels))
    sizes = [b - a - 1 for a, b in zip((-1, *places), (*places, number + levels), strict=True)]
    around = [tuple(choose.choice(modifiers(devices)) for _ in range(size)) for size in sizes]
    return _format(stack, choose.choice(LEAVES), around)


def arriving(root: Level) -> bool:
    """Whether a format has an ordered level below one that numbers its fibers on arrival."""
    levels = Tower.of(root, ()).levels
    numbered = next((d for d, level in enumerate(levels) if isinstance(level, SparseDict | Shard)), len(levels))
    return any(level.once for level in levels[numbered:])


@cache
def _shape(rank: int, extent: int) -> tuple[int, ...]:
    return (extent,) * rank


def tower(root: Level, extent: int = EXTENT) -> Tower:
    """The tower of an enumerated format."""
    made = Tower.of(root, ())
    return replace(made, shape=_shape(made.rank, extent))


# --------------------------------------------------------------------------------------------------------------- nests

HOLE = "FORMAT"


@dataclass(frozen=True)
class Nest:
    """A program but for the format of T."""

    body: tuple[str, ...]
    rank: int
    devices: int
    """the number of its parallel loops, one in another: they run on d and e"""
    accesses: int = 1
    bare: bool = True
    """whether all subscripts are bare indices in the order of the loops, so that concordization inserts none"""
    op: str = "+"
    extent: int = EXTENT

    @cached_property
    def text(self) -> str:
        """The program, with a hole for the format."""
        head = ["d = cpu(:d, 2)", "e = cpu(:e, 2)"][: max(1, self.devices)]
        extents = f", {self.extent}" * self.rank
        return "\n".join([*head, f"T = Tensor({HOLE}{extents})", "T .= 0", *self.body])

    def program(self, root: Level) -> str:
        """The program with a format."""
        return self.text.replace(HOLE, str(root))

    @cached_property
    def bound(self) -> Elaborated:
        """The program with the plainest format, whose body serves for all."""
        plain: Level = Element(0)
        for _ in range(self.rank):
            plain = Dense(plain)
        return api.bind(api.parse(self.program(plain)))

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """As the oracle walks it."""
        return plan(self.bound.body)


@dataclass(frozen=True)
class Head:
    """The modes of a nest's loops: for each, outermost first, None if serial, else device and schedule."""

    loops: tuple[tuple[str, str] | None, ...]

    def opened(self, at: int, index: str, values: str = "1:2") -> str:
        runs = self.loops[at]
        return f"for {index} = {values}" if runs is None else f"for {index} = parallel({values}, {runs[0]}, {runs[1]})"

    @property
    def devices(self) -> int:
        return sum(runs is not None for runs in self.loops)


def heads(loops: int, schedules: Sequence[str] = (STATIC, DYNAMIC)) -> Iterator[Head]:
    """No loop parallel, one, or two of them nested; both of these with the same schedule."""
    for number in range(min(2, loops) + 1):
        for places in combinations(range(loops), number):
            for schedule in schedules if number else [""]:
                runs = {place: (device, schedule) for place, device in zip(places, "de", strict=False)}
                yield Head(tuple(runs.get(k) for k in range(loops)))


def head_count(loops: int, schedules: int = 2) -> int:
    """The number of heads."""
    return 1 + schedules * (loops + comb(loops, 2))


def names(loops: int) -> tuple[str, ...]:
    """The indices, outermost first."""
    return ("k", "j", "i")[3 - loops :]


def nest(head: Head, statements: Sequence[str], rank: int, bare: bool, op: str = "+") -> Nest:
    """All loops around the statements."""
    indices = names(len(head.loops))
    opened = [head.opened(at, index) for at, index in enumerate(indices)]
    body = (*opened, *statements, *("end" for _ in indices))
    return Nest(body, rank, head.devices, len(statements), bare, op)


def _subscripts(rank: int, loops: int) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Subscripts as written, up to shifts that only rename: which loop each axis goes with (root first, two axes with
    one loop included where there are few loops), and how many of them from the root on are bare.
    """
    indices = names(loops)
    for chosen in product(range(loops), repeat=rank):
        if len(set(chosen)) < min(rank, loops):
            continue
        ascending = next((k for k in range(1, rank) if chosen[k] <= chosen[k - 1]), rank)
        for bare in range(ascending, -1, -1):
            shifted = bare if bare < ascending else None
            written = [indices[at] + (" + 1" if place == shifted else "") for place, at in enumerate(chosen)]
            yield tuple(reversed(written)), bare == rank


def singles(rank: int, loops: int, schedules: Sequence[str] = (STATIC, DYNAMIC), op: str = "+") -> list[Nest]:
    """Every nest of so many loops around one access. With `=` each iteration has a value of its own."""
    sets = "+= 1" if op == "+" else "= " + " + ".join(f"{4**at} * {index}" for at, index in enumerate(names(loops)))
    return [
        nest(head, [f"T[{', '.join(subscripts)}] {sets}"], rank, bare, op)
        for head in heads(loops, schedules)
        for subscripts, bare in _subscripts(rank, loops)
    ]


@dataclass(frozen=True)
class Choice:
    """An update as written; `bare` if its subscripts are the indices in the order of their loops."""

    text: str
    bare: bool


def choices(rank: int, indices: Sequence[str]) -> list[Choice]:
    """Updates under these loops: every choice of loops for the axes, in every order, plain and with one shifted."""
    found = []
    for chosen in product(indices, repeat=rank):
        if len(set(chosen)) == min(rank, len(indices)):
            bare = len(set(chosen)) == rank and sorted(chosen, key=indices.index) == list(chosen)
            found.append(_choice(chosen, bare))
            found += [_choice((*chosen[:k], f"{chosen[k]} + 1", *chosen[k + 1 :]), False) for k in range(rank)]
    return found


def _choice(chosen: Sequence[str], bare: bool) -> Choice:
    return Choice(f"T[{', '.join(reversed(chosen))}] += 1", bare)


def _couples(rank: int, ones: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Two updates, at least one of which is bare where its loops allow for that."""
    first, second = choices(rank, ones), choices(rank, others)
    always = not any(choice.bare for choice in (*first, *second))
    for one, other in product(first, second):
        if one.bare or other.bare or always:
            yield one.text, other.text


def pairs(rank: int, schedules: Sequence[str] = (STATIC, DYNAMIC)) -> list[Nest]:
    """Two accesses: in one body, in sibling inner nests, at different depths, and in two regions of one phase."""
    shapes = (_one_body, _siblings, _depths, _regions)
    return [each for shape in shapes for each in shape(rank, schedules)]


def _parallel(loops: int, schedules: Sequence[str]) -> list[Head]:
    return [head for head in heads(loops, schedules) if head.devices]


def _one_body(rank: int, schedules: Sequence[str]) -> Iterator[Nest]:
    for loops in range(rank, 3):
        for head in _parallel(loops, schedules[: 3 - loops]):
            for couple in _couples(rank, names(loops), names(loops)):
                yield nest(head, couple, rank, False)


def _siblings(rank: int, schedules: Sequence[str]) -> Iterator[Nest]:
    """for j do for i do … end; for k do … end end"""
    for head in _parallel(2, schedules):
        for one, other in _couples(rank, ("j", "i"), ("j", "k")):
            inner = [head.opened(1, "i"), one, "end", head.opened(1, "k"), other, "end"]
            yield Nest((head.opened(0, "j"), *inner, "end"), rank, head.devices, 2, False)


def _depths(rank: int, schedules: Sequence[str]) -> Iterator[Nest]:
    """for j do …; for i do … end end, and the other way round; the shallow one plain"""
    shallow = choices(rank, ("j",))[0].text
    for head in _parallel(2, schedules[:1]):
        for deep in choices(rank, ("j", "i")):
            inner = [head.opened(1, "i"), deep.text, "end"]
            for body in ([shallow, *inner], [*inner, shallow]):
                yield Nest((head.opened(0, "j"), *body, "end"), rank, head.devices, 2, False)


def _regions(rank: int, schedules: Sequence[str]) -> Iterator[Nest]:
    """for i = parallel do … end; for k = parallel do … end; of higher ranks these are siblings in a loop"""
    for head in _parallel(1, schedules) if rank == 1 else ():
        for one, other in _couples(rank, ("i",), ("k",)):
            inner = (head.opened(0, "i"), one, "end", head.opened(0, "k"), other, "end")
            yield Nest(inner, rank, 1, 2, False)


# ----------------------------------------------------------------------------------------------------------- wide nests

SHIFTS = (" - 2", " - 1", "", " + 1", " + 2")
ONE, TWO = "3:3", "3:4"
"""The ranges of loops, so that all shifts stay inside."""


def wide(rank: int, schedules: Sequence[str] = (STATIC, DYNAMIC)) -> list[Nest]:
    """Two accesses with any two shifts of the root's subscript: in one body, and in sibling loops of rank 2."""
    shapes = (_one_loop,) if rank == 1 else (_one_loop, _two_loops, _sibling_loops)
    return [
        replace(made, extent=WIDE)
        for shape in shapes
        for one, other in product(SHIFTS, repeat=2)
        for made in shape(rank, schedules, one, other)
    ]


def _one_loop(rank: int, schedules: Sequence[str], one: str, other: str) -> Iterator[Nest]:
    """for i do T[1, i + a]; T[1, i + b] end"""
    below = "1, " * (rank - 1)
    for head, values in product(heads(1, schedules), (ONE, TWO)):
        body = (head.opened(0, "i", values), f"T[{below}i{one}] += 1", f"T[{below}i{other}] += 1", "end")
        yield Nest(body, rank, head.devices, 2, False)


def _two_loops(rank: int, schedules: Sequence[str], one: str, other: str) -> Iterator[Nest]:
    """for j do for i do T[i, j + a]; T[i + s, j + b] end end"""
    for head, values, shift in product(heads(2, schedules), (ONE, TWO), ("", " + 1")):
        updates = f"T[i, j{one}] += 1", f"T[i{shift}, j{other}] += 1"
        body = (head.opened(0, "j", values), head.opened(1, "i", values), *updates, "end", "end")
        yield Nest(body, rank, head.devices, 2, False)


def _sibling_loops(rank: int, schedules: Sequence[str], one: str, other: str) -> Iterator[Nest]:
    """for j do for i do T[i, j + a] end; for k do T[k, j + b] end end"""
    for head, values in product(heads(2, schedules), (ONE, TWO)):
        inner = (
            head.opened(1, "i", TWO),
            f"T[i, j{one}] += 1",
            "end",
            head.opened(1, "k", TWO),
            f"T[k, j{other}] += 1",
        )
        yield Nest((head.opened(0, "j", values), *inner, "end", "end"), rank, head.devices, 2, False)
