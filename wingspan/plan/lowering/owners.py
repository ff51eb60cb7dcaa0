"""The owners of a tensor's cells: those that only one task accesses while the tensor is being updated.

A task has for itself what it declares; what a Shard or a Merge keeps for each thread; and of what lies below an index
of the parallel loop, the cells that belong to a position: `y[i]` in a loop over i, if all updates of y are by i.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from wingspan.base.dataclass import dataclass
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.lang.terms import own_reads, read_while_updated
from wingspan.levels.base import FIBER, Discipline, Gated, Storage


@dataclass(frozen=True)
class Update:
    """An access in update mode, and the parallel loops around it inside the declaration of its tensor."""

    subscripts: tuple[ir.Expression, ...]
    loops: tuple[ir.For, ...]
    devices: Mapping[ir.Expression, frozenset[Device]]
    """for the index of each loop around it the devices whose tasks run the body of that loop"""
    here: frozenset[Device]
    """the devices whose tasks make it"""


class Owners:
    """Answers whether a task is alone with cells of a tensor of a bound program."""

    def __init__(self, bound: Elaborated) -> None:
        self.towers = bound.towers
        self.updates: dict[str, list[Update]] = defaultdict(list)
        read = read_while_updated(bound.body)
        for T, update, reads in _accesses(bound.body, (), {}, {}, frozenset()):
            if not reads or T in read:
                self.updates[T].append(update)

    def is_alone(self, T: str, depth: int, buffer: str = "") -> bool:
        """Whether no two tasks may access the same cell of the level at a depth, or of one buffer, in a phase."""
        around = max((len(update.loops) for update in self.updates[T]), default=0)
        if around != 1:
            return around == 0
        tower = self.towers[T]
        private = any(self._is_apart(T, above) for above in range(depth))
        if private or ((depth, buffer) in tower.private_buffers and self.is_on_device(T, depth)):
            return True
        level = tower.levels[depth]
        by_position = level.leaf or level.discipline not in (None, Discipline.SHARED_LOCK)
        return by_position and self._is_exclusive(T, depth)

    def is_on_device(self, T: str, depth: int) -> bool:
        """Whether only tasks of the level's device, if it has one, go down to it. A modifier takes effect where the
        loop over the index above enters it, or where its own fiber is opened or its element updated.
        """
        tower = self.towers[T]
        device, number = tower.levels[depth].device, tower.numbers[depth]
        axis = number - 1 if depth in tower.entry_modifiers(number) else number - 2
        return device is None or all(
            device in (u.here if axis < 0 else u.devices.get(u.subscripts[axis], ())) for u in self.updates[T]
        )

    def _is_apart(self, T: str, depth: int) -> bool:
        """Whether the level at a depth keeps what lies below it for one task each."""
        level = self.towers[T].levels[depth]
        if isinstance(level, Gated):
            return self.is_on_device(T, depth)
        return level.key == FIBER and self._is_exclusive(T, depth)

    def _is_exclusive(self, T: str, depth: int) -> bool:
        """Whether each position at a depth is one task's: an index above it is that of the parallel loop."""
        tower = self.towers[T]
        above = [level for level in tower.levels[:depth] if isinstance(level, Storage)]
        if any(level.shared_child or level.stretch for level in above):
            return False
        axes: dict[int, set[int]] = {}
        for update in self.updates[T]:
            (loop,) = update.loops or (None,)
            if loop is not None:
                own = {a for a, e in enumerate(update.subscripts) if e == ir.Index(loop.index)}
                axes[id(loop)] = axes.get(id(loop), own) & own
        return all(any(tower.depths[a + 2] < depth for a in own) for own in axes.values())


def _accesses(
    s: ir.Statement,
    loops: tuple[ir.For, ...],
    declared: dict[str, int],
    devices: Mapping[ir.Expression, frozenset[Device]],
    here: frozenset[Device],
) -> Iterator[tuple[str, Update, bool]]:
    """The accesses of a statement, each with whether it reads; `loops` are the parallel ones around s, and `declared`
    says how many of them are around each declaration in force. For `devices` and `here` see `Update`.
    """

    def access(a: ir.Access, reads: bool) -> tuple[str, Update, bool]:
        T = a.fiber.tensor
        return T, Update(a.subscripts, loops[declared.get(T, 0) :], devices, here), reads

    yield from (access(a, True) for a in own_reads(s))
    match s:
        case ir.Block(statements=statements):
            inner = dict(declared)
            for each in statements:
                if isinstance(each, ir.Declare):
                    inner.setdefault(each.tensor, len(loops))
                yield from _accesses(each, loops, inner, devices, here)
        case ir.If(body=body):
            yield from _accesses(body, loops, declared, devices, here)
        case ir.For(index=index, range=r, body=body):
            if isinstance(r, ir.Parallel):
                assert isinstance(r.device, Device)
                loops, here = (*loops, s), here | {r.device}
            yield from _accesses(body, loops, declared, {**devices, ir.Index(index): here}, here)
        case ir.Assign():
            yield access(s.access, False)
