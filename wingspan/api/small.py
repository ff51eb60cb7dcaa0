"""Tiny inputs and parameters for a program, so that all of its interleavings can be explored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from math import prod
from random import Random
from typing import Any

from wingspan.api.machines import evaluate, semantics
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError, abridge
from wingspan.base.libraries import np
from wingspan.elaborate import Elaborated, elaborate
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.lang.pairs import Pair
from wingspan.lang.widths import USUAL
from wingspan.program import Program
from wingspan.tensors.pairs import pairs

STATIC = "static_schedule()"
SCHEDULES = (STATIC, "dynamic_schedule(1)", "dynamic_schedule(2)")
TRIES = 1_000
"""Draws to try until all inputs store something and the sequential result is no fault."""


@dataclass(frozen=True)
class Small:
    """The result of a draw with a scope and a seed: arrays for the open inputs, values for the open parameters."""

    scope: int
    seed: int
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.scope}:{self.seed}" if self.seed else str(self.scope)

    def binding(
        self, inputs: Mapping[str, Any] | None, params: Mapping[str, Any] | None, threads: int | None
    ) -> dict[str, Any]:
        """The arguments that bind the program: those given, else those drawn; `scope` threads on every device."""
        return {
            "inputs": {**self.inputs, **(inputs or {})},
            "params": {**self.params, **(params or {})},
            "threads": self.scope if threads is None else threads,
        }


def read_scope(text: int | str) -> tuple[int, int]:
    """The scope and the seed of `N` or `N:SEED`; the seed is 0 if it is not given. InputError if it is neither."""
    found = re.fullmatch(r"([1-9]\d?)(?::(\d{1,18}))?", str(text), re.ASCII)
    if found is None:
        message = f"{abridge(repr(text))} is not a scope from 1 to 99, like 2, nor one with a seed, like 2:7"
        raise InputError(message, fix="for example 2")
    return int(found[1]), int(found[2] or 0)


def draw(
    program: Program,
    scope: int = 2,
    seed: int = 0,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Small:
    """Draw what `inputs` and `params` leave open. The same program, scope and seed give the same result.

    Axes have extents up to `scope`, elements are from 0 to `scope`, numbers are `scope`, schedules are static, or
    dynamic with small chunks. ProgramError or InputError if nothing fits.
    """
    bound = elaborate(program.tree, program.folder, inputs or {}, params or {}, None, True)
    if not bound.symbols:
        return Small(scope, seed)
    rng = Random(f"{scope}:{seed}")
    refusal: Fault | None = None
    for _ in range(TRIES):
        arrays = _inputs(program, bound, scope, rng)
        if any(np.all(array == bound.towers[name].fill) for name, array in arrays.items()):
            continue
        packed = {name for name in arrays if bound.towers[name].elements.is_packed}
        arrays = {name: pairs(array) if name in packed else array for name, array in arrays.items()}
        drawn = Small(scope, seed, arrays, _params(program, bound, scope, rng))
        try:
            _run(elaborate(program.tree, program.folder, **drawn.binding(inputs, params, None)))
        except Fault as fault:
            refusal = refusal or fault
            continue
        return drawn
    fix = "give it inputs and parameters, by -i and -p or in Python by inputs= and params=, or try another seed"
    why = f": {refusal.message}" if refusal else ""
    raise InputError(f"no inputs within the scope {scope} fit this program{why}", fix=fix)


def _run(bound: Elaborated) -> None:
    """A Fault if the sequential result is one. Tensors too large for the reference are left to the rules."""
    try:
        evaluate(bound)
    except InputError:
        semantics(bound).run()


def _inputs(program: Program, bound: Elaborated, scope: int, rng: Random) -> dict[str, np.ndarray]:
    """Arrays with few elements, and mostly with extent `scope`. Axes that share an index have the same extent.

    Pairs are words.
    """
    names = axes(program.tree)
    extents: dict[Any, int] = {}
    elements: dict[str, list[Any]] = {
        "int": list(range(scope + 1)),
        "float": [n / 2 for n in range(2 * scope + 1)],
        "bool": [False, True],
        "pair": [Pair.of(n / 2, k) for n in range(scope + 1) for k in range(1, scope + 1)],
    }
    arrays: dict[str, np.ndarray] = {}
    for name in sorted(bound.open):
        keys = [names.get((name, axis), (name, axis)) for axis in range(bound.towers[name].rank)]
        shape = [extents.setdefault(key, rng.choice((scope, scope, rng.randint(1, scope)))) for key in keys]
        tower = bound.towers[name]
        known = [fixed if fixed >= 0 else drawn for fixed, drawn in zip(tower.shape, shape, strict=True)]
        among = [double(tower.fill), *elements[tower.kind]]
        arrays[name] = np.array(rng.choices(among, k=prod(known)), USUAL[tower.kind].dtype).reshape(known)
    return arrays


def _params(program: Program, bound: Elaborated, scope: int, rng: Random) -> dict[str, str]:
    """A value for each free name, as on the command line. Its uses determine its kind."""
    devices: set[str] = set()
    schedules: set[str] = set()
    for node in program.tree.walk():
        match node:
            case ir.Parallel(device=device, schedule=schedule):
                devices |= {device.name} if isinstance(device, ir.Variable) else set()
                schedules |= {schedule.name} if isinstance(schedule, ir.Variable) else set()
            case ir.Format(args=(ir.Variable(name=name), ir.Format())):
                devices.add(name)
    found = {}
    for name in bound.symbols:
        if name.isidentifier() and name not in bound.towers:
            dealt = rng.choice(SCHEDULES)
            found[name] = f"cpu(:{name}, {scope})" if name in devices else dealt if name in schedules else str(scope)
    return found


def axes(tree: ir.Program) -> dict[tuple[str, int], str]:
    """The name of the extent of an axis: the first index that runs over the axis, or over one with the same extent."""
    leaders: dict[str, str] = {}
    found: dict[tuple[str, int], str] = {}

    def leader(index: str) -> str:
        return leader(leaders[index]) if index in leaders else index

    for access, _ in ir.accesses(tree):
        for axis, subscript in enumerate(access.subscripts):
            if isinstance(subscript, ir.Index):
                index = leader(subscript.name)
                first = leader(found.setdefault((access.fiber.tensor, axis), index))
                if first != index:
                    leaders[index] = first
    return {key: leader(index) for key, index in found.items()}
