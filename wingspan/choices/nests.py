"""Programs of an einsum: an order of its loops, with the formats of the result and of a workspace that it needs.

A level that takes its indices in ascending order, such as SparseList, is written directly if the loops around it are
those of the result's levels down to it. Otherwise the loops sum in a workspace, which takes them in any order, and
copy that into the result: Gustavson's algorithm, for a product of matrices. The workspace has the levels that the
loops of the result are not outermost for. If these are all, and the user gives no format, it is the result itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from math import inf, prod
from typing import Any

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.choices.operands import HYPERSPARSE, Input, Operand, expected_occupied, format_of, leaf
from wingspan.choices.orders import FEW, OrderedEinsum, innermost, orders
from wingspan.choices.reading import update, width_of
from wingspan.choices.transposed import Order, as_format
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.affine import Affine
from wingspan.lang.functions import used_functions
from wingspan.lang.kinds import KINDS
from wingspan.lang.numbers import axes
from wingspan.lang.printer import show
from wingspan.lang.widths import Width
from wingspan.levels import Storage, Tower, resolve, usual

ROOM = 2**22
"""A workspace with more places than this has a dictionary in place of a map of all indices."""

COPY = 4.0
"""The cost of an element of a workspace: it is copied into the result, and cleared."""
SEARCH = 30.0
"""An update of a tensor that finds indices by a dictionary."""
NEAR, FAR = 2.0, 10.0
"""An update of one that has a flag for each index, with at most `CACHED` places and with more."""
MISS = 4.0
"""One of a dense tensor with more places than that which are updated again and again."""
CACHED = 2**18


@dataclass(frozen=True)
class Nest:
    """One way to compute an einsum.

    Attributes:
        ordered: the order of the loops.
        order: the axes of the result, that of its root level first.
        format: that of the result.
        workspace: the format of the workspace; None if the result is updated directly.
        shared: the number of outermost loops that are around the workspace.
        work: of all, in iterations, but for the intermediate results that it reads.
    """

    einsum: Einsum
    ordered: OrderedEinsum
    order: Order
    format: str
    workspace: str | None
    shared: int
    work: float

    @property
    def total(self) -> float:
        """The work with that of intermediate results."""
        return self.work + self.ordered.before

    @property
    def subscripts(self) -> tuple[ir.Expression, ...]:
        """The subscripts of the result, root first."""
        return tuple(self.einsum.subscripts[axis] for axis in self.order)

    @property
    def dense(self) -> tuple[bool, ...]:
        """Whether each level of the result has a child for every index."""
        return tuple(level.lookup for level in _storage(self.format))

    @property
    def elements(self) -> float:
        """The expected number of stored elements of the result."""
        places = prod(self.einsum.shape)
        return places if all(self.dense) else expected_occupied(places, self.ordered.updates)

    def __str__(self) -> str:
        """The choice, on one line."""
        loops = ", ".join(self.ordered.loops) or "none"
        through = f", through a workspace {self.workspace}" if self.workspace else ""
        return f"loops {loops}; result {self.format}{through}; about {self.work:.2g} iterations"


def nests(
    einsum: Einsum,
    operands: Mapping[str, Operand],
    form: str | None = None,
    *,
    zeros: bool = False,
    budget: Budget | None = None,
    below: float = inf,
) -> list[Nest]:
    """The ways to compute an einsum, that of the least work first, with a result in this format if one is given.

    Of others a level is dense only if all of its elements are computed; with `zeros`, if most are. Those whose loops
    take more work than `below` are left out.

    Raises:
        InputError: the format does not fit.
        ProgramError: the format is none.
    """
    width = width_of(einsum, operands)
    given = None if form is None else _levels(einsum, form, width)
    found = orders(einsum, operands, budget, below)
    made = (_nest(einsum, ordered, width, form, given, zeros) for ordered in found)
    return sorted(made, key=lambda nest: nest.total)


def _levels(einsum: Einsum, form: str, width: Width) -> tuple[Storage, ...]:
    """The levels of the result's format that have an axis, root first. InputError if it does not fit."""
    levels = _storage(form)
    held = Tower.of(resolve(as_format(form), {}), ()).kind
    counts = KINDS[held].is_number and width.kind == "bool" and einsum.op not in ("&&", "||")  # as 1 or 0
    if not (counts or held in (width.kind, "float" if width.kind == "int" else "")):
        message = f"{einsum.output} gets {KINDS[width.kind].word}s, and {form} holds {KINDS[held].word}s"
        raise InputError(message, fix=f"give a format whose leaf is {leaf(einsum.init.value, width)}")
    if len(levels) != len(einsum.shape):
        message = f"{einsum.output} has {axes(len(einsum.shape))}, and {form} has {axes(len(levels))}"
        raise InputError(message, fix="give a level for each axis")
    return levels


def _storage(form: str) -> tuple[Storage, ...]:
    """The levels of a format that have an axis, root first."""
    return Tower.of(resolve(as_format(form), {}), ()).storage


def _nest(
    einsum: Einsum,
    ordered: OrderedEinsum,
    width: Width,
    form: str | None,
    levels: tuple[Storage, ...] | None,
    zeros: bool,
) -> Nest:
    """The way to compute an einsum in this order, with a result in the format whose levels are given, if any."""
    end = leaf(einsum.init.value, width)
    if einsum.scattered is not None:
        return _scattered_nest(einsum, einsum.scattered, ordered, end, form, levels)
    if levels is None:
        axes = tuple(axis.index for axis in ordered.outputs)
        dense = [not (axis.few or (axis.sparse and not zeros)) for axis in ordered.outputs]
        ascending = [not each for each in dense]
    else:
        axes = einsum.axes[::-1]
        dense = [level.lookup for level in levels]
        ascending = [level.once or level.stretch == "run" for level in levels]
    form = form or format_of(dense, end)
    shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(ordered.loops, axes, strict=False))])
    order = tuple(einsum.axes.index(index) for index in axes)
    extents = [einsum.extents[index] for index in axes]
    if levels is None and not shared and any(ascending):
        form = _in_any_order(extents, [not axis.few for axis in ordered.outputs], end)
        ascending = []
    if not any(ascending[shared:]):
        work = ordered.work + _searches(ordered, form, prod(extents[shared:]))
        return Nest(einsum, ordered, order, form, None, shared, work)
    inner = _in_any_order(extents[shared:], dense[shared:], end)
    places = prod(extents)
    kept = places if all(dense[shared:]) else expected_occupied(places, ordered.updates)
    work = ordered.work + _searches(ordered, inner, prod(extents[shared:])) + prod(extents[:shared]) + COPY * kept
    return Nest(einsum, ordered, order, form, inner, shared, work)


def _scattered_nest(
    einsum: Einsum,
    written: Sequence[Affine],
    ordered: OrderedEinsum,
    end: str,
    form: str | None,
    levels: Sequence[Storage] | None,
) -> Nest:
    """The way to compute an einsum whose result is updated at any indices, such as `C[i, i]` or `C[i + k]`.

    Its levels take indices in any order. Below dense levels that are entered once each, one index is in order.
    """
    order = tuple(range(len(written)))[::-1]
    if levels is None:
        order = tuple(sorted(order, key=lambda axis: innermost(frozenset(written[axis].factors), ordered.loops)))
    extents = [einsum.shape[axis] for axis in order]
    single = [_is_single([written[axis] for axis in order[: depth + 1]], ordered.loops) for depth in range(len(order))]
    if levels is None:
        dense, before, form = [], 1.0, end
        for depth, n in enumerate(extents):
            reached = expected_occupied(prod(extents[: depth + 1]), ordered.updates)
            enough = FEW if depth == len(extents) - 1 else 1 / HYPERSPARSE
            dense.append(reached >= enough * before * n)
            before = reached
        for depth in reversed(range(len(extents))):
            once = single[depth] and all(dense[:depth])
            form = format_of([dense[depth]], form, usual.ASCENDING if once else _any_order(prod(extents[: depth + 1])))
    elif any((level.once or level.stretch == "run") and not one for level, one in zip(levels, single, strict=True)):
        message = f"{einsum.output} is updated in any order of its indices, and {form} takes some in ascending order"
        raise InputError(message, fix=f"use {usual.ALL} or {usual.ANY_ORDER}")
    assert form is not None
    return Nest(einsum, ordered, order, form, None, 0, ordered.work + _searches(ordered, form, prod(extents)))


def _is_single(written: Sequence[Affine], loops: Sequence[str]) -> bool:
    """Whether a fiber gets one index, once: the levels around it have the outermost loops as their indices."""
    *outer, last = written
    around = {index for each in outer for index in each.factors if each == Affine({index: 1})}
    return bool(outer) and last.factors.keys() <= around == {*loops[: len(around)]}


def _in_any_order(extents: Sequence[int], dense: Sequence[bool], form: str) -> str:
    """A format that takes indices in any order, root first."""
    for depth in reversed(range(len(extents))):
        form = format_of([dense[depth]], form, _any_order(prod(extents[: depth + 1])))
    return form


def _any_order(places: int) -> str:
    """A level with so many places that takes indices in any order."""
    return usual.BITMAP if places <= ROOM else usual.ANY_ORDER


def _searches(ordered: OrderedEinsum, form: str, places: int) -> float:
    """The work of updates beyond an iteration each, of a tensor with so many places."""
    if usual.ANY_ORDER in form:
        return ordered.updates * SEARCH
    if usual.BITMAP in form:
        return ordered.updates * (NEAR if places <= CACHED else FAR) + places
    return ordered.updates * MISS if places > CACHED else 0.0


class NestWriter:
    """Writes a program of several nests, each of which may read what those before it compute.

    Attributes:
        inputs: for each name of an input, the operand and the order of its axes.
    """

    def __init__(self, nests: Sequence[Nest]) -> None:
        self.inputs: dict[str, tuple[Input, Order]] = {}
        self._taken = {name for nest in nests for name in (nest.einsum.output, *nest.einsum.loops)}
        self._taken |= {access.fiber.tensor for nest in nests for access in nest.einsum.accesses}
        self._taken |= {name for nest in nests for name in used_functions(nest.einsum.update)}
        self._names: dict[tuple[str, Order], str] = {}
        self._formats: dict[str, str] = {}
        *first, last = nests
        body = [s for nest in first for s in self._compute_statements(nest, self.free("t"))]
        natural = last.order == tuple(range(len(last.order)))[::-1]
        result = last.einsum.output if natural else self.free(f"{last.einsum.output}T")
        self._program = ir.Program(ir.Block((*body, *self._compute_statements(last, result))), (result,))

    def text(self) -> str:
        """The program."""
        declared = "".join(f"{show(f)}\n" for f in used_functions(self._program).values())
        defined = "\n".join(f"{name} = Tensor({form})" for name, form in self._formats.items())
        return f"{declared}{defined}\n{show(self._program)}"

    def _compute_statements(self, nest: Nest, result: str) -> Iterator[ir.Statement]:
        """The statements that compute a tensor by a nest."""
        einsum, loops = nest.einsum, nest.ordered.loops
        self._names[einsum.output, nest.order] = result
        value = self._value(nest)
        ranges = _ranges(nest)
        extents = "".join(f", {einsum.shape[axis]}" for axis in reversed(nest.order)) if einsum.scattered else ""
        self._formats[result] = nest.format + extents
        yield ir.Declare(result, einsum.init)
        if nest.workspace is None:
            yield self.around(loops, ranges, update(einsum, _access(result, nest.subscripts), value))
            return
        w = self.free("w")
        self._formats[w] = nest.workspace
        inside = nest.subscripts[nest.shared :]
        summed = self.around(loops[nest.shared :], ranges, update(einsum, _access(w, inside), value))
        copy = ir.Assign(_access(result, nest.subscripts), "=", _access(w, inside))
        copied = self.around([einsum.axes[axis] for axis in nest.order[nest.shared :]], ranges, copy)
        body = self.around(loops[: nest.shared], ranges, ir.seq(ir.Declare(w, einsum.init), summed, copied))
        yield from body.statements if isinstance(body, ir.Block) else (body,)

    def _value(self, nest: Nest) -> ir.Expression:
        """The expression over tensors whose axes are in the order of the loops."""
        reads = iter(nest.ordered.reads)

        def change(node: Any) -> Any:
            if not isinstance(node, ir.Access):
                return node
            read = next(reads)
            key = read.operand.name, read.order
            if key not in self._names:
                assert isinstance(read.operand, Input)
                natural = read.order == tuple(range(len(read.order)))[::-1]
                self._names[key] = name = read.operand.name if natural else self.free(f"{read.operand.name}T")
                self.inputs[name] = read.operand, read.order
                self._formats[name] = read.operand.format(read.order)
            return _access(self._names[key], read.subscripts)

        changed: ir.Expression = nest.einsum.expression.map(change)
        return changed

    def free(self, wanted: str) -> str:
        """A name that nothing has."""
        name = next(name for k in count(1) if (name := wanted if k == 1 else f"{wanted}{k}") not in self._taken)
        self._taken.add(name)
        return name

    @staticmethod
    def around(loops: Sequence[str], ranges: Mapping[str, ir.Range], s: ir.Statement) -> ir.Statement:
        for index in reversed(loops):
            s = ir.For(index, ranges.get(index, ir.Whole()), s)
        return s


def _ranges(nest: Nest) -> dict[str, ir.Range]:
    """The ranges of the loops that a program has to give: those over an axis have its extent."""
    over: dict[str, set[int]] = {}
    for read in nest.ordered.reads:
        for subscript, axis in zip(read.subscripts, read.order, strict=True):
            if isinstance(subscript, ir.Index):
                over.setdefault(subscript.name, set()).add(read.operand.shape[axis])
    extents = nest.einsum.extents
    some = (index for index in nest.ordered.loops if over.get(index) != {extents[index]})
    return {index: ir.Range(ir.Literal(1), ir.Literal(extents[index])) for index in some}


def _access(name: str, subscripts: Sequence[ir.Expression]) -> ir.Access:
    """An element of a tensor whose levels have these subscripts, root first."""
    return ir.Access(ir.Fiber(name, len(subscripts) + 1), tuple(reversed(subscripts)))
