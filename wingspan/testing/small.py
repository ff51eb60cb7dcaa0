"""Tiny inputs and parameters for a program, so that all of its interleavings can be explored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod
from random import Random
from typing import Any

import numpy as np

from wingspan import api
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.lang.pairs import Pair
from wingspan.tensors.pairs import pairs
from wingspan.testing.open_inputs import WIDE, axes
from wingspan.testing.schedules import SCHEDULES

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


def small(
    program: api.Program,
    scope: int = 2,
    seed: int = 0,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Small:
    """Draw what `inputs` and `params` leave open. The same program, scope and seed give the same result.

    Axes have extents up to `scope`, elements are from 0 to `scope`, numbers are `scope`, schedules are static, or
    dynamic with small chunks. Run the program with `scope` threads on every device. ProgramError or InputError if
    nothing fits.
    """
    given: dict[str, Any] = {"inputs": dict(inputs or {}), "params": dict(params or {})}
    bound = api.bind(program, symbolic=True, **given)
    if not bound.symbols:
        return Small(scope, seed)
    rng = Random(f"{scope}:{seed}")
    told: Fault | None = None
    for _ in range(TRIES):
        arrays = _inputs(program, bound, scope, rng)
        if any(np.all(array == bound.towers[name].fill) for name, array in arrays.items()):
            continue
        packed = {name for name in arrays if bound.towers[name].elements.is_packed}
        arrays = {name: pairs(array) if name in packed else array for name, array in arrays.items()}
        drawn = Small(scope, seed, arrays, _params(program, bound, scope, rng))
        try:
            _run(program, scope, {name: {**given[name], **getattr(drawn, name)} for name in given})
        except Fault as fault:
            told = told or fault
            continue
        return drawn
    fix = "give it inputs and parameters by -i and -p, or try another seed"
    why = f": {told.message}" if told else ""
    raise InputError(f"no inputs within the scope {scope} fit this program{why}", fix=fix)


def _run(program: api.Program, scope: int, given: Mapping[str, Any]) -> None:
    """A Fault if the sequential result is one. Tensors too large for the reference are left to the rules."""
    bound = api.bind(program, threads=scope, **given)
    try:
        api.run(bound, engine="reference")
    except InputError:
        api.run(bound, engine="semantics")


def _inputs(program: api.Program, bound: Elaborated, scope: int, rng: Random) -> dict[str, np.ndarray]:
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
        arrays[name] = np.array(rng.choices(among, k=prod(known)), WIDE[tower.kind]).reshape(known)
    return arrays


def _params(program: api.Program, bound: Elaborated, scope: int, rng: Random) -> dict[str, str]:
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
