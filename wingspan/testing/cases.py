"""Random programs, with random inputs for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any

import scipy.sparse
from hypothesis import strategies as st

from wingspan import api
from wingspan.api.small import axes
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import WingspanError
from wingspan.dependence import Analysis
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.testing.formats import BOUNDED, RUNS
from wingspan.testing.kernels import kernels
from wingspan.testing.open_inputs import array_bytes, made_of, open_inputs, symbolic
from wingspan.testing.programs import Options, programs

EXTENT = 4
"""The largest extent of open inputs, by default."""

TOGETHER = 3
"""Bytes are drawn for at least this many arrays. A kernel has no more, so a simpler kernel draws the same bytes."""


@dataclass(frozen=True, repr=False)
class Case:
    """A program with an array for each of its open inputs. Reports show its `repr`."""

    program: api.Program
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def bind(self) -> Elaborated:
        """The program, bound to its inputs."""
        return api.bind(self.program, inputs=self.inputs)

    def __repr__(self) -> str:
        given = (f"\n# {name} =\n{_dense(array)!r}" for name, array in self.inputs.items())
        return f"\n{self.program}{''.join(given)}\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print an example for Hypothesis."""
        printer.text(repr(self))


def _dense(array: Any) -> Any:
    return array.toarray() if scipy.sparse.issparse(array) else array


@st.composite
def inputs(draw: st.DrawFn, program: api.Program, extent: int = EXTENT) -> dict[str, Any]:
    """Draws arrays for the open inputs of a program: NumPy arrays, in either order, or SciPy arrays, of wide or narrow
    types. In some arrays all elements are the fill value, in others none.

    Args:
        program: the program that the arrays are for.
        extent: the largest extent of an axis; the smallest is 0. Axes that share a loop have the same extent.
    """
    return made_of(_open(draw, program, extent), draw(_bytes(program, extent)), extent)


def _open(
    draw: st.DrawFn, program: api.Program, extent: int, empty: bool = False
) -> dict[str, tuple[Tower, tuple[int, ...]]]:
    """The open inputs of a program, with their levels and their extents, from 0 to `extent`; mostly from 2.

    If `empty`, one extent that the program leaves open is 0 half of the time.
    """
    names = axes(program.tree)
    extents: dict[Any, int] = {}
    if empty and draw(st.booleans()):
        unknown = [(name, k) for name, t in open_inputs(program) for k, n in enumerate(t.shape) if n < 0]
        if unknown:
            chosen = draw(st.sampled_from(unknown))
            extents[names.get(chosen, chosen)] = 0
    found = {}
    for name, tower in open_inputs(program):
        shape = []
        for axis, known in enumerate(tower.shape):
            key = names.get((name, axis), (name, axis))
            if key not in extents:
                extents[key] = draw(st.sampled_from((*range(1, extent + 1), *[*range(2, extent + 1)] * 3, 0)))
            shape.append(known if known >= 0 else extents[key])
        found[name] = tower, tuple(shape)
    return found


def _bytes(program: api.Program, extent: int) -> st.SearchStrategy[bytes]:
    """Draws the bytes that become the open inputs of a program.

    One draw takes 50 µs; a draw per element would take a hundred times as long. Hypothesis simplifies the bytes. Their
    number does not depend on the extents, so that Hypothesis can reduce these, too.
    """
    size = max(TOGETHER, len(open_inputs(program))) * array_bytes(extent)
    return st.binary(min_size=size, max_size=size)


_parsed = lru_cache(maxsize=1_000)(api.parse)
"""Each text is parsed several times: to be checked, to be run, and with other inputs."""


@lru_cache(maxsize=10_000)
def judge_program(text: str) -> str:
    """The verdict of the level dependence test on a program."""
    try:
        bound = symbolic(_parsed(text))
    except WingspanError:
        return "mistaken"
    return Analysis(bound.body, bound.symbols).verdict(bound.towers)


def accepted(text: str) -> bool:
    """Whether `wingspan check` accepts the program for all inputs, numbers of threads and schedules."""
    return judge_program(text) == "safe"


SAFER = Options(
    spawning=1,
    modified=4,
    statements=2,
    levels=(*("Dense", "Dense", "SparseByteMap", "SparseDict", "SparseList") * 3, *RUNS, *BOUNDED, "SparseCOO"),
    leaves=("Element", "Element", "Atomic", "Pattern"),
    shifted=6,
    functions=8,
    missing=8,
    pairs=4,
    searches=6,
    assertions=8,
    in_place=3,
)
"""Programs with a parallel loop. The test accepts about a third of them."""

WIDER = replace(SAFER, guarded=6)
"""The same with axes that are only read under conditions. These programs keep their literal data."""


def safe_programs(options: Options = SAFER) -> st.SearchStrategy[str]:
    """Draws texts of programs with literal data that the level dependence test accepts. Most have a parallel loop."""
    return programs(options).filter(accepted)


def safe_kernels() -> st.SearchStrategy[str]:
    """Draws texts of kernels that the level dependence test accepts."""
    return kernels().filter(accepted)


def einsums() -> st.SearchStrategy[str]:
    """Draws texts of kernels with open inputs that the level dependence test accepts, each a single einsum."""
    return kernels(single=True).filter(accepted)


@st.composite
def cases(draw: st.DrawFn, texts: st.SearchStrategy[str] | None = None) -> Case:
    """Draws programs with inputs, as `Case` objects.

    Args:
        texts: a strategy that draws the programs; by default `safe_kernels` and `safe_programs`, which the level
            dependence test accepts.
    """
    (case,) = draw(groups(texts, 1))
    return case


LAST = 31
"""After each input of a program, one in `LAST + 1` draws stops."""


@lru_cache(maxsize=100)
def _without_data(program: api.Program) -> api.Program:
    """The program with open inputs in place of its literal data, of the same extents. No verdict depends on data.

    Data that subscripts and ranges read stay, since other values might lie outside of the axes.
    """
    subscripts = (e for access, _ in ir.accesses(program.tree) for e in access.subscripts)
    ranges = (node for node in program.tree.walk() if isinstance(node, ir.Range))
    kept = {access.fiber.tensor for each in (*subscripts, *ranges) for access, _ in ir.accesses(each)}

    def change(node: Any) -> Any:
        match node:
            case ir.Define(name=name, value=ir.TensorCall(data=ir.Data(rank=rank, rows=rows)) as call) if (
                name not in kept
            ):
                shape = (len(rows), len(rows[0]))[2 - rank :]
                return replace(node, value=replace(call, extents=tuple(map(ir.Literal, shape)), data=None))
        return node

    return replace(program, tree=program.tree.map(change))


@st.composite
def groups(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] | st.SearchStrategy[Case] | None,
    most: int,
    special: Collection[str] = (),
) -> list[Case]:
    """Draws cases of one program, which differ in elements, types and layouts of inputs of the same extents.

    There are `most` cases, or one if all data of the program are literal; the data of our own programs are left open
    for this. Now and then there are fewer, so that Hypothesis can drop all cases but the failing one.
    """
    drawn = draw(safe_kernels() | safe_programs() if texts is None else texts)
    if isinstance(drawn, Case):
        return [drawn]
    program = _parsed(drawn)
    if texts is None and most > 1:
        program = _without_data(program)
    wanted = _open(draw, program, EXTENT, "empty" in special)
    if not wanted:
        return [Case(program)]
    given = [draw(_bytes(program, EXTENT))]
    while len(given) < most and draw(st.integers(0, LAST)):
        given.append(draw(_bytes(program, EXTENT)))
    return [Case(program, made_of(wanted, each, EXTENT, special)) for each in given]
