"""Stability vectors S^D: which dependences each level of a tensor supports, by the paper's figure and as repaired.

Both start from what each storage level and leaf supports by itself and go through the modifiers from the leaf to the
root. `counts` says which modifiers take effect inside of the parallel loop: "only devices which unwrap, increment, or
unfurl the modifier may use the modifier for stability" (figure "stability").
"""

from __future__ import annotations

from collections.abc import Callable

from wingspan.errors import ProgramError
from wingspan.lang.devices import Device
from wingspan.levels import Tower
from wingspan.levels.base import EVERY, Dependence, Gated
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard

Stability = dict[int, frozenset[Dependence]]
"""S by level number."""

Counts = Callable[[int], bool]
"""Whether the modifier at a depth takes effect inside of the parallel loop."""

KNOWN = frozenset({Mutex, Isolate, Shard, Merge})
"""The modifiers whose effect on the levels that they wrap the test knows. Not those derived from them."""


def require_known(tower: Tower) -> None:
    """ProgramError if a level wraps others in a way that the test knows nothing of."""
    for depth in _modifiers(tower):
        name = tower.levels[depth].name
        if type(tower.levels[depth]) not in KNOWN:
            fix = f"say in wingspan/dependence, stability.py and level_test.py, what {name} does to what it wraps"
            raise ProgramError(f"the level dependence test does not know the modifier {name}", topic="format", fix=fix)


def figure(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D as printed: every modifier adds to S_k for all k up to its own level."""
    S = _bare(tower)
    for depth in _modifiers(tower):
        level, number = tower.levels[depth], tower.numbers[depth]
        if counts(depth) and level.device in (None, device):
            for k in range(1, number + 1):
                S[k] |= level.stability()
    return S


def repaired(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D such that a dependence of a kind in S_k can do no harm at level k.

    - Isolate and Shard support only cousin at their own level: two tasks at one position both load it, or claim it.
      An enclosing Mutex lets the tasks take turns, which helps an Isolate; a claim it does not change.
    - Mutex helps only where a fiber may be updated again, and in any order: with the `turns` of a level, and not with
      `once` levels. It lets tasks take turns in an isolated fiber, where they meet in the `once` levels below, unless
      something parts them there.
    - A gated level helps the tasks of its own device only.
    """
    S = _bare(tower)
    once = {k for k, depth in tower.depths.items() if tower.levels[depth].once}
    claimed: set[int] = set()
    parted: set[int] = set()
    for depth in _modifiers(tower):
        level, number = tower.levels[depth], tower.numbers[depth]
        if not counts(depth) or (isinstance(level, Gated) and level.device != device):
            continue
        match level:
            case Mutex():
                for k in range(1, number + 1):
                    if k in once - parted:
                        S[k] -= {"cousin"}
                    elif k not in once | claimed:
                        S[k] |= level.stability() & tower.levels[tower.depths[k]].turns
            case Isolate() | Shard():
                for k in range(1, number):
                    S[k] |= level.stability()
                S[number] = level.stability()
                parted.add(number)
                if isinstance(level, Shard):
                    claimed.add(number)
                    parted.update(range(1, number))
            case Merge():
                for k in range(1, number + 1):
                    S[k] = EVERY
                parted.update(range(1, number + 1))
    return S


def _bare(tower: Tower) -> Stability:
    return {number: tower.levels[depth].stability() for number, depth in tower.depths.items()}


def _modifiers(tower: Tower) -> list[int]:
    """The depths of all modifiers, from the leaf to the root."""
    return [depth for depth in reversed(range(len(tower.levels))) if tower.levels[depth].modifier]
