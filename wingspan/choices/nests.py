"""Programs of an einsum: an order of its loops, with the formats of the result and of a workspace that it needs.

A level that takes its indices in ascending order, such as SparseList, is written directly if the loops around it are
those of the result's levels down to it. Otherwise the loops sum in a workspace, which takes them in any order, and
copy that into the result: Gustavson's algorithm, for a product of matrices. The workspace has the levels that the
loops of the result are not outermost for. If these are all, and the user gives no format, it is the result itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from math import prod
from typing import Any

from wingspan.choices.operands import Operand, format_of, leaf, occupied
from wingspan.choices.orders import Ordered, orders
from wingspan.choices.reading import update, width_of
from wingspan.choices.transposed import Order, as_format
from wingspan.elaborate.einsum import Einsum
from wingspan.errors import InputError
from wingspan.lang import ir
from wingspan.lang.numbers import axes
from wingspan.lang.printer import show
from wingspan.lang.widths import Width
from wingspan.levels import Storage, Tower, resolve

ROOM = 2**22
"""A workspace with more places than this has a dictionary in place of a map of all indices."""

COPY = 4.0
"""What an element of a workspace costs that is copied into the result, and cleared."""
SEARCH = 30.0
"""An update of a tensor that finds indices by a dictionary."""
NEAR, FAR = 2.0, 10.0
"""An update of one that has a flag for each index, with at most `CACHED` places and with more."""
CACHED = 2**18


@dataclass(frozen=True)
class Nest:
    """One way to compute an einsum.

    Attributes:
        ordered: the order of the loops.
        axes: the indices of the result's levels, root first.
        format: that of the result.
        workspace: the format of the workspace; None if the result is updated directly.
        shared: the number of outermost loops that are around the workspace.
        work: of all, in iterations.
    """

    einsum: Einsum
    ordered: Ordered
    axes: tuple[str, ...]
    format: str
    workspace: str | None
    shared: int
    work: float

    def program(self) -> tuple[str, dict[str, tuple[Operand, Order]]]:
        """The text of the program, and its inputs: for each name, the operand and the order of its axes."""
        return _Writer(self).written()

    def __str__(self) -> str:
        """The choice, on one line."""
        loops = ", ".join(self.ordered.loops) or "none"
        through = f", through a workspace {self.workspace}" if self.workspace else ""
        return f"loops {loops}; result {self.format}{through}; about {self.work:.2g} iterations"


def nests(einsum: Einsum, operands: Mapping[str, Operand], form: str | None = None) -> list[Nest]:
    """The ways to compute an einsum, that of the least work first, with a result in this format if one is given.

    Raises:
        InputError: the format does not fit.
        ProgramError: the format is none.
    """
    width = width_of(einsum, operands)
    given = None if form is None else _levels(einsum, form)
    made = (_nest(einsum, ordered, width, form, given) for ordered in orders(einsum, operands))
    return sorted(made, key=lambda nest: nest.work)


def _levels(einsum: Einsum, form: str) -> tuple[Storage, ...]:
    """The levels of a format with an axis, root first."""
    tower = Tower.of(resolve(as_format(form), {}), ())
    if tower.rank != len(einsum.axes):
        message = f"{einsum.output} has {axes(len(einsum.axes))}, and {form} has {axes(tower.rank)}"
        raise InputError(message, fix="give a level for each axis")
    return tuple(level for level in tower.levels if isinstance(level, Storage))


def _nest(einsum: Einsum, ordered: Ordered, width: Width, form: str | None, given: tuple[Storage, ...] | None) -> Nest:
    """The way to compute an einsum in this order, with a result in the format whose levels are given, if any."""
    end = leaf(einsum.init.value, width)
    if given is None:
        axes = tuple(axis.index for axis in ordered.outputs)
        dense = [not (axis.sparse or axis.few) for axis in ordered.outputs]
        ascending = [not each for each in dense]
    else:
        axes = einsum.axes[::-1]
        dense = [level.lookup for level in given]
        ascending = [level.once or level.stretch == "run" for level in given]
    form = form or format_of(dense, end)
    shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(ordered.loops, axes, strict=False))])
    extents = [einsum.extents[index] for index in axes]
    if not any(ascending[shared:]):
        work = ordered.work + _searches(ordered, form, prod(extents))
        return Nest(einsum, ordered, axes, form, None, shared, work)
    if given is None and not shared:
        form = _in_any_order(extents, [not axis.few for axis in ordered.outputs], end)
        work = ordered.work + _searches(ordered, form, prod(extents))
        return Nest(einsum, ordered, axes, form, None, shared, work)
    inner = _in_any_order(extents[shared:], dense[shared:], end)
    places = prod(extents)
    kept = places if all(dense[shared:]) else occupied(places, ordered.updates)
    work = ordered.work + _searches(ordered, inner, prod(extents[shared:])) + prod(extents[:shared]) + COPY * kept
    return Nest(einsum, ordered, axes, form, inner, shared, work)


def _in_any_order(extents: Sequence[int], dense: Sequence[bool], form: str) -> str:
    """A format that takes indices in any order, root first."""
    for depth in reversed(range(len(extents))):
        sparse = "SparseByteMap" if prod(extents[: depth + 1]) <= ROOM else "SparseDict"
        form = format_of([dense[depth]], form, sparse)
    return form


def _searches(ordered: Ordered, form: str, places: int) -> float:
    """The work of updates beyond an iteration each, of a tensor with so many places."""
    if "SparseDict" in form:
        return ordered.updates * SEARCH
    if "SparseByteMap" in form:
        return ordered.updates * (NEAR if places <= CACHED else FAR) + places
    return 0.0


class _Writer:
    """Writes the program of a nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.einsum = nest, nest.einsum
        self.taken = {self.einsum.output, *self.einsum.loops, *(a.fiber.tensor for a in self.einsum.accesses)}
        self.inputs: dict[str, tuple[Operand, Order]] = {}

    def written(self) -> tuple[str, dict[str, tuple[Operand, Order]]]:
        nest, einsum = self.nest, self.einsum
        value = self.value()
        natural = nest.axes == einsum.axes[::-1]
        result = einsum.output if natural else self.free(f"{einsum.output}T")
        formats = {name: operand.format(order) for name, (operand, order) in self.inputs.items()}
        formats[result] = nest.format
        loops = nest.ordered.loops
        if nest.workspace is None:
            body = self.around(loops, update(einsum, _access(result, nest.axes), value))
        else:
            w = self.free("w")
            formats[w] = nest.workspace
            inside = nest.axes[nest.shared :]
            summed = self.around(loops[nest.shared :], update(einsum, _access(w, inside), value))
            copied = self.around(inside, ir.Assign(_access(result, nest.axes), "=", _access(w, inside)))
            body = self.around(loops[: nest.shared], ir.seq(ir.Declare(w, einsum.init), summed, copied))
        defined = "\n".join(f"{name} = Tensor({form})" for name, form in formats.items())
        program = ir.Program(ir.Block((ir.Declare(result, einsum.init), *_flat(body))), (result,))
        return f"{defined}\n{show(program)}", self.inputs

    def value(self) -> ir.Expression:
        """The expression over tensors whose axes are in the order of the loops."""
        reads = iter(self.nest.ordered.reads)
        names: dict[tuple[str, Order], str] = {}

        def change(node: Any) -> Any:
            if not isinstance(node, ir.Access):
                return node
            read = next(reads)
            key = read.operand.name, read.order
            if key not in names:
                natural = read.order == tuple(range(len(read.order)))[::-1]
                names[key] = read.operand.name if natural else self.free(f"{read.operand.name}T")
                self.inputs[names[key]] = read.operand, read.order
            return _access(names[key], read.axes)

        changed: ir.Expression = self.einsum.expression.map(change)
        return changed

    def free(self, wanted: str) -> str:
        """A name that nothing has."""
        name = next(name for k in count(1) if (name := wanted if k == 1 else f"{wanted}{k}") not in self.taken)
        self.taken.add(name)
        return name

    @staticmethod
    def around(loops: Sequence[str], s: ir.Statement) -> ir.Statement:
        for index in reversed(loops):
            s = ir.For(index, ir.Whole(), s)
        return s


def _access(name: str, axes: Sequence[str]) -> ir.Access:
    """An element of a tensor whose levels have these indices, root first."""
    return ir.Access(ir.Fiber(name, len(axes) + 1), tuple(map(ir.Index, reversed(axes))))


def _flat(s: ir.Statement) -> Iterator[ir.Statement]:
    yield from s.statements if isinstance(s, ir.Block) else (s,)
