"""Makes arrays for the open inputs of a program from bytes; finds the open inputs and the axes that share an extent."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import cycle, islice, product
from math import prod
from typing import Any

import numpy as np
import scipy.sparse

from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.lang.algebra import exact, show
from wingspan.lang.pairs import Pair
from wingspan.lang.widths import USUAL
from wingspan.levels import Tower
from wingspan.tensors.pairs import pairs
from wingspan.testing.formats import BOUNDED, fit_to_format
from wingspan.testing.schedules import leave_open
from wingspan.testing.special import LARGE, with_zeros

VALUES: dict[str, list[Any]] = {
    "int": sorted(range(-3, 4), key=lambda n: abs(n - 1)),
    "float": sorted((n / 4 for n in range(-6, 7)), key=lambda x: abs(x - 1)),
    "bool": [True, False],
    "pair": [Pair.of(x, i) for x, i in ((1.0, 1), (1.0, 2), (-0.5, 2), (0.0, -1), (0.0, 0), (math.inf, 0), (2.0, 3))],
}
"""Elements of inputs. Doubles represent them and small sums of their products exactly.

The simplest is first, which Hypothesis often draws: 1, as zeros leave outputs all fill.
"""

NARROW = {"int": np.int32, "float": np.float32, "bool": np.bool_, "pair": np.int64}
WIDE = {kind: np.dtype(width.dtype).type for kind, width in USUAL.items()}
"""Types of elements by their kinds; pairs are drawn as words."""

BEYOND = [math.inf, -math.inf, math.nan]
"""Elements that only floats have."""

ELEMENTS: tuple[Callable[[Any, list[Any]], list[Any]], ...] = (
    *[lambda fill, values: values] * 3,
    *[lambda fill, values: values + [fill] * len(values)] * 3,
    lambda fill, values: values + [fill] * 3 + (BEYOND if isinstance(fill, Fraction) else []),
    lambda fill, values: [fill],
)
"""The choices for the elements of an array: any value, the fill value half of the time, any value, Inf, -Inf or NaN,
and the fill value.

The last two are rarer: many engines leave out Inf and NaN, and arrays that are all fill leave outputs all fill.
"""

DENSE = list(product(ELEMENTS, (WIDE, WIDE, NARROW), ("C", "F")))
SPARSE = list(product(ELEMENTS, (WIDE, WIDE, NARROW), ("C", "F", "csc", "csr", "coo")))
"""Elements, types and layouts of arrays, the simplest first."""


def array_bytes(extent: int) -> int:
    """The bytes needed for an array: its kind, and elements of a matrix and a column, which larger arrays repeat."""
    return 1 + extent * (extent + 1)


@lru_cache(maxsize=100)
def symbolic(program: api.Program) -> Elaborated:
    """The program for all inputs, numbers of threads and schedules."""
    return api.bind(leave_open(program), symbolic=True)


@lru_cache(maxsize=1_000)
def open_inputs(program: api.Program) -> list[tuple[str, Tower]]:
    """The open inputs of a program, and their towers."""
    bound = symbolic(program)
    return [(name, bound.towers[name]) for name in sorted(set(bound.symbols) & set(bound.towers))]


def made_of(
    wanted: Mapping[str, tuple[Tower, tuple[int, ...]]], data: bytes, extent: int, special: Collection[str] = ()
) -> dict[str, Any]:
    """Makes an array for each open input, dense or sparse. The last byte is the first element: zeros move forward."""
    size, made = array_bytes(extent), {}
    for number, (name, (tower, shape)) in enumerate(wanted.items()):
        first, *others = data[number * size : (number + 1) * size]
        pair = tower.elements.is_packed
        kinds = SPARSE if tower.fill == 0 and len(shape) == 2 and not pair else DENSE
        elements, types, layout = kinds[first % len(kinds)]
        large = LARGE if "large" in special and types is WIDE and tower.dtype == np.int64 else []
        among = elements(exact(tower.fill), VALUES[tower.kind] + large)
        values = [among[k % len(among)] for k in islice(cycle(reversed(others)), prod(shape))]
        array: np.ndarray = np.array(values, types[tower.kind]).reshape(shape)
        if any(level.name in BOUNDED for level in tower.levels):
            array = fit_to_format(str(tower.levels[0]), array, int.__repr__(tower.fill) if pair else show(tower.fill))
        elif "zeros" in special and shape and tower.fill == 0 and not pair:
            made[name] = with_zeros(array)
            continue
        array = pairs(array) if pair else array
        dense = layout in ("C", "F")
        made[name] = np.asarray(array, order=layout) if dense else scipy.sparse.coo_array(array).asformat(layout)
    return made
