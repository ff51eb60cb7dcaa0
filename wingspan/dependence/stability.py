"""Stability vectors S^D: which dependences each level of a tensor supports, by the paper's figure and as repaired.

Both start from what each storage level and leaf supports by itself (by the figure's rows, or by the levels' own
`stability`) and go through the modifiers from the leaf to the root, step by step; the theorem (docs/theorem.md) takes
the same steps. `counts` says which modifiers take effect inside
of the parallel loop: "only devices which unwrap, increment, or unfurl the modifier may use the modifier for stability"
(figure "stability").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from wingspan.base.errors import ProgramError
from wingspan.lang.devices import Device
from wingspan.levels import Tower
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import EVERY, NONE, Dependence, Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard

Stability = dict[int, frozenset[Dependence]]
"""S by level number."""

Counts = Callable[[int], bool]
"""Whether the modifier at a depth takes effect inside of the parallel loop."""

MODIFIERS = frozenset({Mutex, Isolate, Shard, Merge})
"""The modifiers whose effect on the levels that they wrap the test knows. Not those derived from them."""

FIGURE: dict[type[Level], frozenset[Dependence]] = {
    Dense: EVERY,
    Element: frozenset({"sibling", "cousin"}),
    Atomic: EVERY,
    Mutex: frozenset({"node", "sibling"}),
    Isolate: frozenset({"cousin"}),
    Shard: frozenset({"cousin"}),
    Merge: EVERY,
}
"""The rows of the figure "stability"; of a modifier, what it adds. All other levels support nothing: "Sparse, etc."."""


def require_supported(tower: Tower) -> None:
    """ProgramError if a level wraps others in a way that the test knows nothing of."""
    for depth in _modifiers(tower):
        name = tower.levels[depth].name
        if type(tower.levels[depth]) not in MODIFIERS:
            fix = f"say in wingspan/dependence, stability.py and level_test.py, what {name} does to what it wraps"
            raise ProgramError(f"the level dependence test does not know the modifier {name}", topic="format", fix=fix)


@dataclass(frozen=True)
class Support:
    """The support of one level with the modifiers around it that were applied so far, innermost first."""

    kinds: frozenset[Dependence]
    turns: frozenset[Dependence]
    """the level's own `turns`, and whether it is visited `once`"""
    once: bool
    claimed: bool = False
    """whether its fibers belong to threads, so that taking turns does not help"""
    parted: bool = False
    """whether tasks that take turns in it reach instances of their own"""

    @staticmethod
    def of(level: Level) -> Support:
        """A storage level or leaf by itself."""
        return Support(level.stability(), level.turns, level.once)

    @staticmethod
    def of_figure(level: Level) -> Support:
        """A storage level or leaf by the figure's row."""
        return replace(Support.of(level), kinds=FIGURE.get(type(level), NONE))


BaseSupport = Callable[[Level], Support]
"""The support of a storage level or leaf by itself."""

ModifierEffect = Callable[[Support, Level, bool], Support]
"""The effect of a modifier on the support of a level; the flag says whether it wraps this very level."""


def add_as_printed(support: Support, modifier: Level, own: bool) -> Support:
    """As printed: every modifier adds to S_k for all k up to its own level."""
    return replace(support, kinds=support.kinds | FIGURE[type(modifier)])


def protect(support: Support, modifier: Level, own: bool) -> Support:
    """As repaired: see `repaired`."""
    kinds = support.kinds
    match modifier:
        case Mutex() if support.once:
            return support if support.parted else replace(support, kinds=kinds - {"cousin"})
        case Mutex() if not support.claimed:
            return replace(support, kinds=kinds | (modifier.stability() & support.turns))
        case Isolate() | Shard():
            shard = isinstance(modifier, Shard)
            kinds = modifier.stability() if own else kinds | modifier.stability()
            claimed, parted = support.claimed or (own and shard), support.parted or own or shard
            return replace(support, kinds=kinds, claimed=claimed, parted=parted)
        case Merge():
            return replace(support, kinds=EVERY, parted=True)
    return support


def figure(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D as printed."""
    return _apply_modifiers(tower, device, counts, Support.of_figure, add_as_printed)


def repaired(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D such that a dependence of a kind in S_k can do no harm at level k.

    - Isolate and Shard support only cousin at their own level: two tasks at one position both load it, or claim it.
      An enclosing Mutex lets the tasks take turns, which helps an Isolate; a claim it does not change.
    - Mutex helps only where a fiber may be updated again, and in any order: with the `turns` of a level, and not with
      `once` levels. It lets tasks take turns in an isolated fiber, where they meet in the `once` levels below, unless
      something parts them there.
    - A gated level helps the tasks of its own device only.
    """
    return _apply_modifiers(tower, device, counts, Support.of, protect)


def _apply_modifiers(
    tower: Tower, device: Device, counts: Counts, start: BaseSupport, step: ModifierEffect
) -> Stability:
    """Every level's support, through the modifiers from the leaf to the root."""
    found = {number: start(tower.levels[depth]) for number, depth in tower.depths.items()}
    for depth in _modifiers(tower):
        level, own = tower.levels[depth], tower.numbers[depth]
        if counts(depth) and level.device in (None, device):
            for k in range(1, own + 1):
                found[k] = step(found[k], level, k == own)
    return {number: support.kinds for number, support in found.items()}


def _modifiers(tower: Tower) -> list[int]:
    """The depths of all modifiers, from the leaf to the root."""
    return [depth for depth in reversed(range(len(tower.levels))) if tower.levels[depth].modifier]
