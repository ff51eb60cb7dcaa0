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
from wingspan.choices.operands import Input, Operand, expected_occupied, format_of, leaf
from wingspan.choices.orders import OrderedEinsum, orders
from wingspan.choices.reading import update, width_of
from wingspan.choices.transposed import Order, as_format
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
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
        axes: the indices of the result's levels, root first.
        format: that of the result.
        workspace: the format of the workspace; None if the result is updated directly.
        shared: the number of outermost loops that are around the workspace.
        work: of all, in iterations, but for the intermediate results that it reads.
    """

    einsum: Einsum
    ordered: OrderedEinsum
    axes: tuple[str, ...]
    format: str
    workspace: str | None
    shared: int
    work: float

    @property
    def total(self) -> float:
        """The work with that of intermediate results."""
        return self.work + self.ordered.before

    @property
    def dense(self) -> tuple[bool, ...]:
        """Whether each level of the result has a child for every index."""
        return tuple(level.lookup for level in _storage(self.format))

    @property
    def elements(self) -> float:
        """The expected number of stored elements of the result."""
        places = prod(self.einsum.extents[index] for index in self.axes)
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
    if len(levels) != len(einsum.axes):
        message = f"{einsum.output} has {axes(len(einsum.axes))}, and {form} has {axes(len(levels))}"
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
    extents = [einsum.extents[index] for index in axes]
    if levels is None and not shared and any(ascending):
        form = _in_any_order(extents, [not axis.few for axis in ordered.outputs], end)
        ascending = []
    if not any(ascending[shared:]):
        work = ordered.work + _searches(ordered, form, prod(extents[shared:]))
        return Nest(einsum, ordered, axes, form, None, shared, work)
    inner = _in_any_order(extents[shared:], dense[shared:], end)
    places = prod(extents)
    kept = places if all(dense[shared:]) else expected_occupied(places, ordered.updates)
    work = ordered.work + _searches(ordered, inner, prod(extents[shared:])) + prod(extents[:shared]) + COPY * kept
    return Nest(einsum, ordered, axes, form, inner, shared, work)


def _in_any_order(extents: Sequence[int], dense: Sequence[bool], form: str) -> str:
    """A format that takes indices in any order, root first."""
    for depth in reversed(range(len(extents))):
        sparse = usual.BITMAP if prod(extents[: depth + 1]) <= ROOM else usual.ANY_ORDER
        form = format_of([dense[depth]], form, sparse)
    return form


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
        natural = last.axes == last.einsum.axes[::-1]
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
        self._names[einsum.output, tuple(einsum.axes.index(index) for index in nest.axes)] = result
        value = self._value(nest)
        self._formats[result] = nest.format
        yield ir.Declare(result, einsum.init)
        if nest.workspace is None:
            yield self.around(loops, update(einsum, _access(result, nest.axes), value))
            return
        w = self.free("w")
        self._formats[w] = nest.workspace
        inside = nest.axes[nest.shared :]
        summed = self.around(loops[nest.shared :], update(einsum, _access(w, inside), value))
        copied = self.around(inside, ir.Assign(_access(result, nest.axes), "=", _access(w, inside)))
        body = self.around(loops[: nest.shared], ir.seq(ir.Declare(w, einsum.init), summed, copied))
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
            return _access(self._names[key], read.axes)

        changed: ir.Expression = nest.einsum.expression.map(change)
        return changed

    def free(self, wanted: str) -> str:
        """A name that nothing has."""
        name = next(name for k in count(1) if (name := wanted if k == 1 else f"{wanted}{k}") not in self._taken)
        self._taken.add(name)
        return name

    @staticmethod
    def around(loops: Sequence[str], s: ir.Statement) -> ir.Statement:
        for index in reversed(loops):
            s = ir.For(index, ir.Whole(), s)
        return s


def _access(name: str, axes: Sequence[str]) -> ir.Access:
    """An element of a tensor whose levels have these indices, root first."""
    return ir.Access(ir.Fiber(name, len(axes) + 1), tuple(map(ir.Index, reversed(axes))))
