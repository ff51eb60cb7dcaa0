"""Pairs of iterations as integer sets: which of them reach equal or different positions, exactly.

A set has one dimension for each loop around the first access, x0, x1, …, and for each around the second, y0, y1, …;
what both see as one unknown value is a parameter of the set. Of a bound or a subscript that is not affine (`÷` and `%`
by positive constants are) nothing is known, and the set is larger than what can happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from wingspan.dependence.sites import Loop, Site, Use
from wingspan.elaborate.affine import COMPARISONS
from wingspan.lang import ir

Numbers = tuple[int, int]
"""How many of the loops around each access are meant, from the outermost on."""


class Unknown(Exception):
    """An expression that is not affine."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of two accesses: the letter of its dimensions, and where it stands."""

    letter: str
    loops: tuple[Loop, ...]
    at: Site | Use
    shared: int
    """symbols with no more loops around them have one value for both accesses"""

    @property
    def names(self) -> list[str]:
        """Its dimensions."""
        return [f"{self.letter}{k}" for k in range(len(self.loops))]

    def text(self, e: ir.Expression) -> str:
        """An expression as isl writes it; Unknown if it is not affine."""
        match e:
            case ir.Literal(value=value):
                return f"({value})"
            case ir.Index(name=name):
                return self.names[next(k for k, loop in enumerate(self.loops) if loop.index == name)]
            case ir.Variable(name=name):
                private = self.at.symbols.get(name, 0) > self.shared
                return "n" + "".join(f"{ord(c):x}_" for c in name) + (self.letter if private else "")
            case ir.Call(op="+" | "-" as op, args=(one,)):
                return f"({op}{self.text(one)})"
            case ir.Call(op="+" | "-" as op, args=(one, other)):
                return f"({self.text(one)} {op} {self.text(other)})"
            case ir.Call(op="*", args=(ir.Literal(value=k), one) | (one, ir.Literal(value=k))):
                return f"({k} * {self.text(one)})"
            case ir.Call(op="÷", args=(one, ir.Literal(value=k))) if k > 0:
                return f"floor({self.text(one)} / {k})"
            case ir.Call(op="%", args=(one, ir.Literal(value=k))) if k > 0:
                return f"(({self.text(one)}) mod {k})"
        raise Unknown

    def ranges(self, number: int) -> Iterator[str | None]:
        """The ranges of the indices of the first loops; None for a bound of which nothing is known."""
        for k in range(number):
            yield from self.range(k)

    def range(self, k: int) -> Iterator[str | None]:
        """The range of one index."""
        for bound, relation, splits in ((self.loops[k].start, ">=", "max"), (self.loops[k].stop, "<=", "min")):
            for e in _parts(bound, splits):
                text = self._told(self.text, e)
                yield None if text is None else f"{self.names[k]} {relation} {text}"

    def guards(self) -> Iterator[str | None]:
        """The conditions around the access; None for a part of which nothing is known."""
        for condition in self.at.conditions:
            for e in _parts(condition, "&&"):
                yield self._told(self._guard, e)

    def _guard(self, e: ir.Expression) -> str:
        """A comparison; a symbol in it may be no integer."""
        symbols = any(isinstance(node, ir.Variable) for node in e.walk())
        if not isinstance(e, ir.Call) or e.op not in COMPARISONS or symbols:
            raise Unknown
        return f"{self.text(e.args[0])} {COMPARISONS[e.op]} {self.text(e.args[1])}"

    @staticmethod
    def _told(write: Callable[[ir.Expression], str], e: ir.Expression | None) -> str | None:
        try:
            return None if e is None else write(e)
        except Unknown:
            return None

    @property
    def known(self) -> bool:
        """Whether all that decides on the access is known, and nothing left to what memory holds."""
        bounds = (bound for loop in self.loops for bound in (loop.start, loop.stop) if bound is not None)
        names = {node.name for bound in bounds for node in bound.walk() if isinstance(node, ir.Variable)}
        told = (*self.ranges(len(self.loops)), *self.guards())
        return None not in told and names.isdisjoint(self.at.symbols)


def _parts(e: ir.Expression | None, op: str) -> Iterator[ir.Expression | None]:
    """The arguments of nested calls of ⊗, from left to right."""
    if isinstance(e, ir.Call) and e.op == op:
        for arg in e.args:
            yield from _parts(arg, op)
    else:
        yield e


class Pairs:
    """Pairs of iterations of the loops around two accesses, which agree on the first `equal` loops around both."""

    def __init__(self, one: Site | Use, other: Site | Use, equal: int) -> None:
        self.x, self.y = Side("x", one.loops, one, equal), Side("y", other.loops, other, equal)
        self.equal = equal
        self._sets: dict[object, isl.Set] = {}
        self._answers: dict[object, bool] = {}

    @property
    def questions(self) -> int:
        """How many have been answered."""
        return len(self._answers)

    def make(self, constraints: Iterable[str | None]) -> isl.Set:
        """The pairs that satisfy constraints, and nothing else."""
        names = [*self.x.names, *self.y.names]
        text = " and ".join(constraint for constraint in constraints if constraint is not None)
        used = sorted({word for word in _words(text) if word[0] == "n" and "_" in word})
        return isl.Set(f"[{', '.join(used)}] -> {{ [{', '.join(names)}] : {text or 'true'} }}")

    def within(self, upto: Numbers) -> isl.Set:
        """The pairs whose first `upto` loops are in their ranges."""
        if upto not in self._sets:
            same = [f"x{k} = y{k}" for k in range(self.equal)]
            self._sets[upto] = self.make([*same, *self.x.ranges(upto[0]), *self.y.ranges(upto[1])])
        return self._sets[upto]

    def some(self, upto: Numbers, *constraints: str) -> bool:
        """Whether there are any that satisfy constraints."""
        key = (upto, constraints)
        if key not in self._answers:
            self._answers[key] = not self.where(upto, *constraints).is_empty()
        return self._answers[key]

    def where(self, upto: Numbers, *constraints: str) -> isl.Set:
        """Those that satisfy constraints."""
        key = (upto, constraints)
        if key not in self._sets:
            self._sets[key] = self.within(upto).intersect(self.make(constraints)) if constraints else self.within(upto)
        return self._sets[key]

    @property
    def all(self) -> Numbers:
        """The number of loops around each access."""
        return len(self.x.loops), len(self.y.loops)

    def guards(self) -> tuple[str, ...]:
        """What is known of the conditions around the two."""
        return tuple(told for told in (*self.x.guards(), *self.y.guards()) if told is not None)

    def upto(self, i: int, j: int) -> Numbers:
        """The loops of each side down to numbers i and j, these included; all of a side that has no such loop."""
        return min(i + 1, self.all[0]), min(j + 1, self.all[1])


def pairs_of(one: Site | Use, other: Site | Use, equal: int) -> Pairs:
    """The pairs of iterations of two accesses; what is found out about them is kept with the first."""
    known: dict[object, Pairs] = one.__dict__.setdefault("_pairs", {})
    if (other, equal) not in known:
        known[other, equal] = Pairs(one, other, equal)
    return known[other, equal]


def differ(loop: int) -> str:
    """The two iterations differ on this loop."""
    return f"x{loop} != y{loop}"


def same(one: Sequence[int], other: Sequence[int]) -> str:
    """The indices of these loops agree, pairwise."""
    return " and ".join(f"x{a} = y{b}" for a, b in zip(one, other, strict=True)) or "true"


def apart(one: Sequence[int], other: Sequence[int]) -> str:
    """They do not all agree."""
    return f"({' or '.join(f'x{a} != y{b}' for a, b in zip(one, other, strict=True))})" if one else "false"


def not_before(one: Sequence[int], other: Sequence[int]) -> str:
    """The first position does not come before the second: equal, or after it."""
    cases = [same(one, other)]
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        cases.append(f"{same(one[:k], other[:k])} and x{a} > y{b}")
    return f"({' or '.join(f'({case})' for case in cases)})"


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


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
