"""Stability vectors S^D: which dependences each level of a tensor supports, by the paper's figure and as repaired.

Both start from what each storage level and leaf supports by itself (by the figure's rows, or by the levels' own
`stability`) and go through the modifiers from the leaf to the root, step by step; the theorem (docs/theorem.md) takes
the same steps. `counts` says which modifiers take effect inside
of the parallel loop: "only devices which unwrap, increment, or unfurl the modifier may use the modifier for stability"
(figure "stability").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wingspan.base.errors import ProgramError
from wingspan.lang.devices import Device
from wingspan.levels import Modifier, Tower
from wingspan.levels.base import Dependence, Level, Support

Stability = dict[int, frozenset[Dependence]]
"""S by level number."""

Counts = Callable[[int], bool]
"""Whether the modifier at a depth takes effect inside of the parallel loop."""


def require_disciplines(tower: Tower) -> None:
    """ProgramError if a modifier does not say how it protects what it wraps."""
    for depth in _modifiers(tower):
        level = tower.levels[depth]
        if level.discipline is None:
            fix = f'give the class {level.name} a `discipline`: docs/own-level.md, "A modifier of your own"'
            message = f"the level dependence test does not know what {level.name} does to the level that it wraps"
            raise ProgramError(message, topic="format", fix=fix)


BaseSupport = Callable[[Level], Support]
"""The support of a storage level or leaf by itself."""

ModifierEffect = Callable[[Support, Modifier, bool], Support]
"""The effect of a modifier on the support of a level; the flag says whether it wraps this very level."""


def own_support(level: Level) -> Support:
    """A storage level or leaf by itself."""
    return level.support


def printed_support(level: Level) -> Support:
    """A storage level or leaf by the figure's row."""
    return replace(level.support, kinds=level.printed_stability)


def add_as_printed(support: Support, modifier: Modifier, nearest: bool) -> Support:
    """As printed: every modifier adds to S_k for all k up to its own level."""
    return replace(support, kinds=support.kinds | modifier.printed_stability)


def protect(support: Support, modifier: Modifier, nearest: bool) -> Support:
    """As repaired, by the modifier itself."""
    return modifier.protect(support, nearest)


def figure(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D as printed."""
    return _apply_modifiers(tower, device, counts, printed_support, add_as_printed)


def repaired(tower: Tower, device: Device, counts: Counts) -> Stability:
    """S^D such that a dependence of a kind in S_k can do no harm at level k: see `Support.within`.

    A gated level helps the tasks of its own device only.
    """
    return _apply_modifiers(tower, device, counts, own_support, protect)


def _apply_modifiers(
    tower: Tower, device: Device, counts: Counts, start: BaseSupport, step: ModifierEffect
) -> Stability:
    """Every level's support, through the modifiers from the leaf to the root."""
    found = {number: start(tower.levels[depth]) for number, depth in tower.depths.items()}
    for depth in _modifiers(tower):
        level, number = tower.levels[depth], tower.numbers[depth]
        assert isinstance(level, Modifier)
        if counts(depth) and level.device in (None, device):
            for k in range(1, number + 1):
                found[k] = step(found[k], level, k == number)
    return {number: support.kinds for number, support in found.items()}


def _modifiers(tower: Tower) -> list[int]:
    """The depths of all modifiers, from the leaf to the root."""
    return [depth for depth in reversed(range(len(tower.levels))) if tower.levels[depth].modifier]
