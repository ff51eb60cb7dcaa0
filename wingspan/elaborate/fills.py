"""The fill values of tensors that are known before a program runs."""

from __future__ import annotations

from collections.abc import Mapping

from wingspan.lang import algebra, ir
from wingspan.levels import Tower
from wingspan.tensors.tensor import Tensor


def fills_of(body: ir.Statement, towers: Mapping[str, Tower], tensors: Mapping[str, Tensor]) -> dict[str, ir.Literal]:
    """The fill values of tensors, where they are known: of inputs, and of what is declared with one value only."""
    found: dict[str, ir.Literal | None] = {T: ir.Literal(tensor.fill) for T, tensor in tensors.items()}
    for s in body.walk():
        if isinstance(s, ir.Declare):
            fill = _declared_fill(s.init, towers[s.tensor])
            found[s.tensor] = fill if found.get(s.tensor, fill) == fill else None
    return {T: fill for T, fill in found.items() if fill is not None}


def _declared_fill(init: ir.Expression, tower: Tower) -> ir.Literal | None:
    """The fill value of a tensor that is declared with this; None if it is left open."""
    if not isinstance(init, ir.Literal):
        return None
    return ir.Literal(tower.width.round_to_width(algebra.convert(algebra.exact(init.value), tower.kind)))
