"""Programs together with inputs that they run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

from wingspan import api
from wingspan.dependence import Analysis
from wingspan.elaborate import Elaborated
from wingspan.errors import WingspanError
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.testing.kernels import kernels
from wingspan.testing.programs import Options, programs
from wingspan.testing.schedules import opened

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-3, 3),
    "float": st.integers(-6, 6).map(lambda n: n / 4),
    "bool": st.booleans(),
}
"""Elements of inputs: doubles hold them, and small sums of their products, exactly."""

NARROW = {"int": np.int32, "float": np.float32, "bool": np.bool_}
WIDE = {"int": np.int64, "float": np.float64, "bool": np.bool_}


@dataclass(frozen=True, repr=False)
class Case:
    """A program, the arrays of its open inputs, and how it reads in a report."""

    program: api.Program
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def bind(self) -> Elaborated:
        """The program, ready for an engine."""
        return api.bind(self.program, inputs=self.inputs)

    def __repr__(self) -> str:
        given = (f"\n# {name} =\n{_dense(array)!r}" for name, array in self.inputs.items())
        return f"\n{self.program}{''.join(given)}\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis prints of an example."""
        printer.text(repr(self))


def _dense(array: Any) -> Any:
    return array.toarray() if scipy.sparse.issparse(array) else array


@st.composite
def inputs(draw: st.DrawFn, program: api.Program, extent: int = 4) -> dict[str, Any]:
    """Arrays for the open inputs of a program, each axis with an extent from 0 to `extent`.

    Axes over which one index runs have one extent. Arrays are NumPy's in either order or SciPy's sparse ones, in wide
    and in narrow types; of some all elements are the fill value, of some none.
    """
    names = _names(program.tree)
    extents: dict[Any, int] = {}
    made = {}
    for name, tower in _wanted(program):
        shape = []
        for axis, known in enumerate(tower.shape):
            key = names.get((name, axis), (name, axis))
            if key not in extents:
                extents[key] = draw(st.integers(0, extent))
            shape.append(known if known >= 0 else extents[key])
        made[name] = draw(_arrays(tower, tuple(shape)))
    return made


@lru_cache(maxsize=1_000)
def _wanted(program: api.Program) -> list[tuple[str, Tower]]:
    """The open inputs of a program, and their towers."""
    bound = api.bind(program, symbolic=True)
    return [(name, bound.towers[name]) for name in sorted(set(bound.symbols) & set(bound.towers))]


def _names(tree: ir.Program) -> dict[tuple[str, int], str]:
    """The name that stands for the extent of an axis: the first index that runs over it, or one that shares it."""
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


@st.composite
def _arrays(draw: st.DrawFn, tower: Tower, shape: tuple[int, ...]) -> Any:
    """An array for a tower of levels, dense or sparse."""
    fill, kind = tower.fill, tower.kind
    elements = draw(st.sampled_from([st.just(fill), VALUES[kind], VALUES[kind] | st.just(fill)]))
    size = int(np.prod(shape, dtype=int))
    values = draw(st.lists(elements, min_size=size, max_size=size))
    array: np.ndarray = np.array(values, dtype=draw(st.sampled_from([WIDE, WIDE, NARROW]))[kind]).reshape(shape)
    layouts = ["C", "F"] + (["csc", "csr", "coo"] * (fill == 0 and len(shape) == 2))
    match draw(st.sampled_from(layouts)):
        case "C" | "F" as order:
            return np.asarray(array, order=order)
        case sparse:
            return scipy.sparse.coo_array(array).asformat(sparse)


_parsed = lru_cache(maxsize=1_000)(api.parse)
"""A text is drawn again and again: to be checked, to be run, and with other inputs."""


@lru_cache(maxsize=10_000)
def _verdict(text: str) -> str:
    try:
        bound = api.bind(opened(_parsed(text)), symbolic=True)
    except WingspanError:
        return "mistaken"
    return Analysis(bound.body, bound.symbols).verdict(bound.towers)


def accepted(text: str) -> bool:
    """Whether `wingspan check` accepts the program for all inputs, numbers of threads and schedules."""
    return _verdict(text) == "safe"


SAFER = Options(spawning=1, modified=4, statements=2, levels=("Dense", "SparseByteMap", "SparseDict", "SparseList"))
"""Programs with a parallel loop of which the test accepts about every third."""


def safe_programs(options: Options = SAFER) -> st.SearchStrategy[str]:
    """Texts of programs with literal data that the level dependence test accepts; most have a parallel loop."""
    return programs(options).filter(accepted)


def safe_kernels() -> st.SearchStrategy[str]:
    """Texts of kernels that the level dependence test accepts."""
    return kernels().filter(accepted)


@st.composite
def cases(draw: st.DrawFn, texts: st.SearchStrategy[str] | None = None) -> Case:
    """Programs with inputs; kernels and programs that the test accepts, if not told otherwise."""
    program = _parsed(draw(safe_kernels() | safe_programs() if texts is None else texts))
    return Case(program, draw(inputs(program)))
