"""Between the language and its consumers: a program with everything bound that the rules take for granted.

Names are resolved, inputs loaded, extents and ranges found, lifecycle functions inserted, loops made concordant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Mistakes
from wingspan.elaborate.concordize import concordize
from wingspan.elaborate.einsum import Einsum, einsum_of
from wingspan.elaborate.extents import settle_extents
from wingspan.elaborate.fills import fills_of
from wingspan.elaborate.functions import check_functions
from wingspan.elaborate.inputs import load_tensors, reload
from wingspan.elaborate.kinds import settle_kinds
from wingspan.elaborate.lifecycles import insert_lifecycles, outputs_of
from wingspan.elaborate.missing import settle_missing
from wingspan.elaborate.names import resolve_names
from wingspan.elaborate.presence import require_values
from wingspan.elaborate.short_circuits import settle_short_circuits
from wingspan.elaborate.updates import join_sums
from wingspan.lang import algebra, ir
from wingspan.lang.devices import Device
from wingspan.levels import Tower
from wingspan.tensors.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Elaborated:
    """A program that can run: no definitions, no `_`, no parameters; every tensor has a tower of levels.

    If it has symbols, it cannot run, and is only to be reasoned about.
    """

    body: ir.Statement
    """concordant, with lifecycle functions"""
    plain: ir.Statement
    """the same before lifecycles and concordization, for engines that need neither"""
    towers: Mapping[str, Tower]
    extents: Mapping[str, tuple[ir.Expression, ...]] = field(repr=False)
    """of each tensor, in the order of the subscripts: literals, or over symbols"""
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]
    """every tensor of the outermost scope that is updated or returned"""
    devices: Mapping[str, Device] = field(repr=False)
    symbols: tuple[str, ...] = ()
    """the open names: free ones, extents (`extent 1 of A`, likewise an `ir.Variable`), inputs without data"""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """the numbers of threads and the chunk sizes that are left open by `opening.open_program`, and what they were"""

    @property
    def open(self) -> tuple[str, ...]:
        """The inputs that are left open."""
        return tuple(name for name in self.symbols if name in self.towers)

    def einsum(self) -> Einsum:
        """The program as one update inside of loops over whole axes. InputError if it is more than that."""
        return einsum_of(self.plain, self.towers)


def elaborate(
    tree: ir.Program,
    folder: Path,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any],
    threads: int | None = None,
    symbolic: bool = False,
) -> Elaborated:
    """Bind a program. ProgramError if it cannot mean anything, InputError if what it is given does not fit; one error
    reports all mistakes that do not follow from each other.

    If `symbolic`, inputs and parameters may be left open, and the result stands for all that they can be. A number is
    then an `ir.Variable`, the same unknown value everywhere; in a tower's shape there is `extents.OPEN` for it, and
    devices and schedules are as `devices.SOME` and `devices.ANY` say.
    """
    mistakes = Mistakes()
    names = resolve_names(tree, params, threads, mistakes, symbolic)
    written, doubts = settle_missing(names.body, mistakes)
    names = replace(names, body=written)
    sources = load_tensors(names, folder, inputs, mistakes, symbolic)
    plain, towers, extents = settle_extents(names.body, sources, names.symbols, mistakes)
    require_values(plain, extents, doubts, mistakes)
    tensors: dict[str, Tensor] = {}
    read = [name for name, source in sources.items() if not source.declared]
    given = [name for name in read if sources[name].data is not None]
    for name in given:
        if name in towers:
            with mistakes.collecting(name):
                tensors[name] = sources[name].load(towers[name])
    plain, calls = settle_kinds(plain, towers, mistakes)
    check_functions(tree, calls, mistakes)
    plain = settle_short_circuits(plain, names.short, towers, mistakes)
    plain = join_sums(plain, read)
    outputs = outputs_of(plain, read, tree, mistakes)
    body = insert_lifecycles(plain, read, towers, tree, mistakes)
    mistakes.raise_all()
    fills = fills_of(body, towers, tensors)
    body = algebra.simplify(concordize(body, names.all, extents, fills))
    unknown = (n.name for n in plain.walk() if isinstance(n, ir.Variable) and n.name not in names.all)
    symbols = dict.fromkeys((*names.symbols, *unknown, *(name for name in read if name not in tensors)))
    return Elaborated(body, plain, towers, extents, tensors, outputs, names.devices, tuple(symbols))


def refill(bound: Elaborated, inputs: Mapping[str, Any]) -> Elaborated:
    """The bound program with other data in some of its inputs, which have the same extents; else an InputError.

    Nothing but these inputs is made anew, as nothing else depends on elements.
    """
    given = {name: reload(name, bound.towers[name], data) for name, data in inputs.items()}
    return replace(bound, inputs={**bound.inputs, **given})
