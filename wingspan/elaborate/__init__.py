"""Between the language and its consumers: a program with everything bound that the rules take for granted.

Names are resolved, inputs loaded, extents and ranges found, lifecycle functions inserted, loops made concordant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wingspan.elaborate.concordize import concordize
from wingspan.elaborate.extents import settle_extents
from wingspan.elaborate.inputs import load_tensors
from wingspan.elaborate.lifecycles import insert_lifecycles, outputs_of
from wingspan.elaborate.names import resolve_names
from wingspan.lang import algebra, ir
from wingspan.lang.devices import Device
from wingspan.levels import Tower
from wingspan.tensor import Tensor


@dataclass(frozen=True)
class Elaborated:
    """A program that can run: no definitions, no `_`, no parameters; every tensor has a tower of levels."""

    body: ir.Statement
    """concordant, with lifecycle functions"""
    plain: ir.Statement
    """the same before lifecycles and concordization, for engines that need neither"""
    towers: Mapping[str, Tower]
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]
    """every tensor of the outermost scope that is updated or returned"""
    devices: Mapping[str, Device] = field(repr=False)


def elaborate(
    tree: ir.Program,
    folder: Path,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any],
    threads: int | None = None,
) -> Elaborated:
    """Bind a program. ProgramError if it cannot mean anything, InputError if what it is given does not fit."""
    names = resolve_names(tree, params, threads)
    sources = load_tensors(names, folder, inputs)
    plain, towers = settle_extents(names.body, sources)
    tensors = {name: source.load(towers[name]) for name, source in sources.items() if source.entries is not None}
    outputs = outputs_of(plain, tensors, tree)
    body = concordize(insert_lifecycles(plain, tensors), names.all)
    return Elaborated(algebra.simplify(body), plain, towers, tensors, outputs, names.devices)
