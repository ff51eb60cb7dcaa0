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
from wingspan.errors import Mistakes
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
    """Bind a program. ProgramError if it cannot mean anything, InputError if what it is given does not fit; one error
    tells all mistakes that do not follow from each other.
    """
    mistakes = Mistakes()
    names = resolve_names(tree, params, threads, mistakes)
    sources = load_tensors(names, folder, inputs, mistakes)
    plain, towers = settle_extents(names.body, sources, mistakes)
    tensors: dict[str, Tensor] = {}
    given = [name for name, source in sources.items() if source.entries is not None]
    for name in given:
        if name in towers:
            with mistakes.noted(name):
                tensors[name] = sources[name].load(towers[name])
    outputs = outputs_of(plain, given, tree, mistakes)
    body = insert_lifecycles(plain, given, mistakes)
    mistakes.tell()
    return Elaborated(algebra.simplify(concordize(body, names.all)), plain, towers, tensors, outputs, names.devices)
