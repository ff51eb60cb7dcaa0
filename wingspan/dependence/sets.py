"""Pairs of iterations as integer sets: which of them reach equal or different positions, exactly.

A set has one dimension for each loop around the first access, x0, x1, …, and for each around the second, y0, y1, …;
an unknown value that both see is a parameter of the set. A bound or a condition that is not affine constrains nothing,
so the set is larger than what can happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import isl
from wingspan.dependence import relations
from wingspan.dependence.relations import COMPARISONS, TRUE, Exists, Relation, TermComparison, all_of, index, solutions
from wingspan.dependence.sites import EnclosingLoop, UpdateSite, VariableUse
from wingspan.lang import ir

Depths = tuple[int, int]
"""A number of the loops around each access, from the outermost on."""


@dataclass(frozen=True, eq=False)
class AccessIteration:
    """An iteration that executes an access: its letter, and the loops around the access."""

    letter: str
    loops: tuple[EnclosingLoop, ...]
    at: UpdateSite | VariableUse
    shared: int
    """symbols with no more loops around them have one value for all iterations that are compared"""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its indices."""
        return tuple(self.index(k).name for k in range(len(self.loops)))

    def index(self, k: int) -> ir.Index:
        """The index of loop k."""
        return index(self.letter, k)

    def term(self, e: ir.Expression | None) -> relations.Term | None:
        """An expression in terms of this iteration's indices and symbols; None if it is not affine."""
        return None if e is None or not relations.is_affine(e) else e.map(self._rename)

    def _rename(self, node: ir.Expression) -> ir.Expression:
        match node:
            case ir.Index(name=name):
                return self.index(next(k for k, loop in enumerate(self.loops) if loop.index == name))
            case ir.Variable(name=name) if self.at.symbols.get(name, 0) > self.shared:
                return ir.Variable(f"{name} of {self.letter}")
        return node

    def bounds(self, k: int) -> Iterator[Relation | None]:
        """Conditions: loop k has this iteration, by each of its bounds; None for a bound that is not affine."""
        for bound, op, splits in ((self.loops[k].start, ">=", "max"), (self.loops[k].stop, "<=", "min")):
            for e in _operands(bound, splits):
                limit = self.term(e)
                yield None if limit is None else TermComparison(self.index(k), op, limit)

    def in_ranges(self, number: int) -> Relation:
        """Condition: the first loops have this iteration, as far as their bounds are affine."""
        return all_of(bound for k in range(number) for bound in self.bounds(k) if bound is not None)

    def has_affine_ranges(self, number: int) -> bool:
        """Whether `in_ranges` says all there is to say."""
        return all(bound is not None for k in range(number) for bound in self.bounds(k))

    @property
    def guard(self) -> Relation:
        """Condition: all conditions around the access hold, as far as they are affine (T10: an update needs it)."""
        return all_of(each for each in self._guards() if each is not None)

    def _guards(self) -> Iterator[Relation | None]:
        for condition in self.at.conditions:
            for e in _operands(condition, "&&"):
                yield None if e is None else self._comparison(e)

    def _comparison(self, e: ir.Expression) -> Relation | None:
        """A comparison of affine terms; a symbol in it may be no integer."""
        match e:
            case ir.Call(op=str() as op, args=(one, other)) if op in COMPARISONS:
                left, right = self.term(one), self.term(other)
                symbolic = any(isinstance(node, ir.Variable) for node in e.walk())
                return None if left is None or right is None or symbolic else TermComparison(left, op, right)
        return None

    def exists(self, condition: Relation) -> Relation:
        """Condition: there is an iteration, by the name of this one, for which a condition holds."""
        return Exists(self.names, condition)

    @property
    def is_exact(self) -> bool:
        """Whether all that decides on the access is affine, and nothing left to what memory holds."""
        bounds = (bound for loop in self.loops for bound in (loop.start, loop.stop) if bound is not None)
        names = {node.name for bound in bounds for node in bound.walk() if isinstance(node, ir.Variable)}
        affine = self.has_affine_ranges(len(self.loops)) and None not in self._guards()
        return affine and names.isdisjoint(self.at.symbols)


def _operands(e: ir.Expression | None, op: str) -> Iterator[ir.Expression | None]:
    """The arguments of nested calls of ⊗, from left to right."""
    if isinstance(e, ir.Call) and e.op == op:
        for arg in e.args:
            yield from _operands(arg, op)
    else:
        yield e


class Pairs:
    """Pairs of iterations of the loops around two accesses, which agree on the first `equal` loops around both."""

    def __init__(self, one: UpdateSite | VariableUse, other: UpdateSite | VariableUse, equal: int) -> None:
        self.x, self.y = AccessIteration("x", one.loops, one, equal), AccessIteration("y", other.loops, other, equal)
        self.equal = equal
        self.names = (*self.x.names, *self.y.names)
        self._sets: dict[object, isl.Set] = {}
        self._answers: dict[object, bool] = {}

    @property
    def questions(self) -> int:
        """The number of questions that have been answered."""
        return len(self._answers)

    def solutions(self, relation: Relation) -> isl.Set:
        """The pairs that satisfy a relation, and nothing else."""
        return solutions(self.names, relation)

    def within(self, upto: Depths) -> isl.Set:
        """The pairs whose first `upto` loops are in their ranges."""
        if upto not in self._sets:
            ranges = self.x.in_ranges(upto[0]) & self.y.in_ranges(upto[1])
            self._sets[upto] = self.solutions(relations.agree(range(self.equal)) & ranges)
        return self._sets[upto]

    def is_feasible(self, upto: Depths, relation: Relation = TRUE) -> bool:
        """Whether any pair whose first `upto` loops are in their ranges satisfies a relation."""
        key = (upto, relation)
        if key not in self._answers:
            self._answers[key] = not self.satisfying(upto, relation).is_empty()
        return self._answers[key]

    def satisfying(self, upto: Depths, relation: Relation) -> isl.Set:
        """The pairs whose first `upto` loops are in their ranges, and which satisfy a relation."""
        key = (upto, relation)
        if key not in self._sets:
            self._sets[key] = self.within(upto).intersect(self.solutions(relation))
        return self._sets[key]

    @property
    def depths(self) -> Depths:
        """The number of loops around each access."""
        return len(self.x.loops), len(self.y.loops)

    @cached_property
    def guards(self) -> Relation:
        """Condition: the conditions around both accesses hold, as far as they are affine."""
        return self.x.guard & self.y.guard

    def down_to(self, i: int, j: int) -> Depths:
        """The loops of each side down to numbers i and j, these included; all of a side that has no such loop."""
        return min(i + 1, self.depths[0]), min(j + 1, self.depths[1])


def pairs_of(one: UpdateSite | VariableUse, other: UpdateSite | VariableUse, equal: int) -> Pairs:
    """The pairs of iterations of two accesses; the first access keeps them, with all that was asked about them."""
    known: dict[object, Pairs] = one.__dict__.setdefault("_pairs", {})
    if (other, equal) not in known:
        known[other, equal] = Pairs(one, other, equal)
    return known[other, equal]


def smallest(found: isl.Set) -> list[int]:
    """The least values of all dimensions in a set that is not empty, of its parameters first."""
    parameters = found.dim(isl.dim_type.param)
    flat = found.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, parameters)
    try:
        point = flat.lexmin().sample_point()
    except isl.Error:  # there is no least one
        point = flat.sample_point()
    size = flat.dim(isl.dim_type.set)
    return [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(parameters, size)]
