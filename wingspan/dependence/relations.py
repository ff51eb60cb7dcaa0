"""Relations between iterations: conditions with names, joined by `&`, `|` and `~`, which isl turns into sets.

An iteration is known by a letter, and its indices by the numbers of the loops: x0 is the index of the outermost loop in
iteration x. A relation is a value that costs little to make, to compare and to look up; `solutions` asks isl for the
points that satisfy it. Negation is exact, also of quantified relations, since the terms are affine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import isl
from wingspan.lang import ir

Term = ir.Expression
"""An affine expression (`is_affine`). Indices are named as in `index`; variables are parameters, unknown but fixed."""

SPACES = 256
"""The number of spaces that are cached: a program asks about few, again and again."""


def index(letter: str, loop: int) -> ir.Index:
    """The index of a loop in the iteration with this letter."""
    return ir.Index(f"{letter}{loop}")


def is_affine(e: ir.Expression) -> bool:
    """Whether an expression is a term: sums, multiples, and `÷` and `%` by positive constants."""
    match e:
        case ir.Literal(kind="int") | ir.Index() | ir.Variable():
            return True
        case ir.Call(op="+" | "-", args=(_,) | (_, _) as args):
            return all(map(is_affine, args))
        case ir.Call(op="*", args=(ir.Literal(kind="int"), one) | (one, ir.Literal(kind="int"))):
            return is_affine(one)
        case ir.Call(op="÷" | "%", args=(one, ir.Literal(value=k, kind="int"))):
            return k > 0 and is_affine(one)
    return False


class Space:
    """The dimensions of a set, and its parameters, by name."""

    def __init__(self, names: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        self.names, self.parameters = names, parameters
        space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=list(names), params=list(parameters))
        self._domain = isl.LocalSpace.from_space(space)
        self.universe = isl.Set.universe(space)
        self._indices = self._variables(isl.dim_type.set, names)
        self._parameters = self._variables(isl.dim_type.param, parameters)

    def _variables(self, kind: isl.dim_type, names: Sequence[str]) -> dict[str, isl.Aff]:
        return {name: isl.Aff.var_on_domain(self._domain, kind, k) for k, name in enumerate(names)}

    def with_names(self, more: Sequence[str]) -> Space:
        """This space with further dimensions, after its own."""
        return space_of((*self.names, *more), self.parameters)

    def term(self, e: Term) -> isl.Aff:
        """A term as a function on the space."""
        match e:
            case ir.Literal(value=value):
                return isl.Aff.val_on_domain(self._domain, isl.Val(int(value)))
            case ir.Index(name=name):
                return self._indices[name]
            case ir.Variable(name=name):
                return self._parameters[name]
            case ir.Call(op=op, args=(one,)):
                return -self.term(one) if op == "-" else self.term(one)
            case ir.Call(op="+", args=(one, other)):
                return self.term(one) + self.term(other)
            case ir.Call(op="-", args=(one, other)):
                return self.term(one) - self.term(other)
            case ir.Call(op="*", args=(one, other)):
                return self.term(one) * self.term(other)
            case ir.Call(op="÷", args=(one, ir.Literal(value=k))):
                return self.term(one).scale_down_val(isl.Val(int(k))).floor()
            case ir.Call(op="%", args=(one, ir.Literal(value=k))):
                return self.term(one).mod_val(isl.Val(int(k)))
        raise AssertionError(f"{e} is not affine")


@lru_cache(SPACES)
def space_of(names: tuple[str, ...], parameters: tuple[str, ...]) -> Space:
    """The space with these dimensions and parameters."""
    return Space(names, parameters)


def solutions(names: tuple[str, ...], relation: Relation) -> isl.Set:
    """The points over dimensions of these names that satisfy a relation; its parameters are those of the set."""
    return relation.solutions(space_of(names, tuple(sorted(set(relation.parameters())))))


# ----------------------------------------------------------------------------------------------------------- relations


class Relation(ABC):
    """A condition on the indices of some iterations."""

    @abstractmethod
    def solutions(self, space: Space) -> isl.Set:
        """The points of a space that satisfy it."""

    @abstractmethod
    def parameters(self) -> Iterator[str]:
        """The names of its parameters, some of them several times."""

    def __and__(self, other: Relation) -> Relation:
        return all_of((self, other))

    def __or__(self, other: Relation) -> Relation:
        return any_of((self, other))

    def __invert__(self) -> Relation:
        return Not(self)


COMPARISONS = {"==": "eq_set", "!=": "ne_set", "<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set"}
"""The comparisons of the language, and the operations of isl that compare two functions."""


@dataclass(frozen=True)
class TermComparison(Relation):
    """Two terms compare in this way."""

    left: Term
    op: str
    right: Term

    def solutions(self, space: Space) -> isl.Set:
        compare = getattr(space.term(self.left), COMPARISONS[self.op])
        found: isl.Set = compare(space.term(self.right))
        return found

    def parameters(self) -> Iterator[str]:
        for term in (self.left, self.right):
            yield from (node.name for node in term.walk() if isinstance(node, ir.Variable))


@dataclass(frozen=True)
class _Connective(Relation):
    parts: tuple[Relation, ...]

    def parameters(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.parameters()


class And(_Connective):
    """All of some relations hold."""

    def solutions(self, space: Space) -> isl.Set:
        found = space.universe
        for part in self.parts:
            found = found.intersect(part.solutions(space))
        return found


class Or(_Connective):
    """At least one of some relations holds."""

    def solutions(self, space: Space) -> isl.Set:
        found = isl.Set.empty(space.universe.get_space())
        for part in self.parts:
            found = found.union(part.solutions(space))
        return found


@dataclass(frozen=True)
class Not(Relation):
    """A relation does not hold."""

    part: Relation

    def solutions(self, space: Space) -> isl.Set:
        return self.part.solutions(space).complement()

    def parameters(self) -> Iterator[str]:
        return self.part.parameters()


@dataclass(frozen=True)
class Exists(Relation):
    """The existence of an iteration, with indices of these names, for which a relation holds."""

    names: tuple[str, ...]
    part: Relation

    def solutions(self, space: Space) -> isl.Set:
        found = self.part.solutions(space.with_names(self.names))
        return found.project_out(isl.dim_type.set, len(space.names), len(self.names))

    def parameters(self) -> Iterator[str]:
        return self.part.parameters()


TRUE, FALSE = And(()), Or(())


def all_of(relations: Iterable[Relation]) -> Relation:
    """All of these hold; TRUE if there are none."""
    return _flatten(And, relations)


def any_of(relations: Iterable[Relation]) -> Relation:
    """At least one of these holds; FALSE if there are none."""
    return _flatten(Or, relations)


def _flatten(kind: type[And | Or], relations: Iterable[Relation]) -> Relation:
    """Relations joined to one, without one within the other: however they were joined, equal ones are found equal."""
    parts: list[Relation] = []
    for each in relations:
        parts += each.parts if isinstance(each, kind) else (each,)
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


# -------------------------------------------------------------------------------------------- conditions on two indices


def compares(loop: int, op: str) -> Relation:
    """Condition: the index of this loop in iteration x compares in this way with that in iteration y."""
    return TermComparison(index("x", loop), op, index("y", loop))


def differs(loop: int) -> Relation:
    """Condition: the two iterations differ on this loop."""
    return compares(loop, "!=")


def agree(loops: Iterable[int]) -> Relation:
    """Condition: the two iterations agree on these loops."""
    return all_of(compares(loop, "==") for loop in loops)


def equal_indices(one: Sequence[int], other: Sequence[int], letters: Sequence[str] = "xy") -> Relation:
    """Condition: the indices of loops `one` in the first iteration are, pairwise, those of `other` in the second."""
    first, second = letters
    return all_of(TermComparison(index(first, a), "==", index(second, b)) for a, b in zip(one, other, strict=True))


def unequal_indices(one: Sequence[int], other: Sequence[int]) -> Relation:
    """Condition: the indices of loops `one` in iteration x are not, pairwise, those of `other` in iteration y."""
    return any_of(TermComparison(index("x", a), "!=", index("y", b)) for a, b in zip(one, other, strict=True))


def not_before(one: Sequence[int], other: Sequence[int], letters: Sequence[str] = "xy") -> Relation:
    """Condition: the first iteration's position, by loops `one`, is the second's, by `other`, or comes after it."""
    first, second = letters
    after = (
        equal_indices(one[:k], other[:k], letters) & TermComparison(index(first, a), ">", index(second, b))
        for k, (a, b) in enumerate(zip(one, other, strict=True))
    )
    return any_of((equal_indices(one, other, letters), *after))
