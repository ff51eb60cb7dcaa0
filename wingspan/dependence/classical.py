"""The dependence tests of the textbooks, by name: each can say why two subscripts are never equal.

A subscript f(i) of one iteration and g(i') of another are equal where `a·i + … - b·i' - … = c` has a solution in
integers within the bounds and the directions of the indices. The tests are tried from the simplest to the most general:

- ZIV, "zero index variables": no index is left, and c ≠ 0;
- SIV, "a single index variable", exact in all its forms: *strong*, a = b; *weak-zero*, a = 0 or b = 0;
  *weak-crossing*, a = -b;
- GCD: the greatest common divisor of all coefficients does not divide c;
- Banerjee: the least and the greatest value of the left side, over the reals, are on one side of c.

See Allen and Kennedy, Optimizing Compilers for Modern Architectures, chapter 3; Wolfe, High Performance Compilers for
Parallel Computing, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.lang.affine import Affine, affine
from wingspan.lang.printer import show

Bounds = Mapping[str, tuple[int | None, int | None]]
"""The least and the greatest value of indices, None where it is not known."""


# --------------------------------------------------------------------------------------------------------- intervals


@dataclass(frozen=True)
class IntegerInterval:
    """The integers from `low` to `high`; None where there is no end."""

    low: int | None = None
    high: int | None = None

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return self.low is not None and self.high is not None and self.low > self.high

    def __and__(self, other: IntegerInterval) -> IntegerInterval:
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        return IntegerInterval(max(lows, default=None), min(highs, default=None))

    def __add__(self, other: IntegerInterval) -> IntegerInterval:
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return IntegerInterval(low, high)

    def times(self, k: int) -> IntegerInterval:
        """From the least to the greatest multiple."""
        ends = [None if end is None else k * end for end in (self.low, self.high)]
        return singleton(0) if k == 0 else IntegerInterval(*(ends if k > 0 else reversed(ends)))

    def show(self, name: str) -> str:
        """The interval as a condition on a name."""
        low = "" if self.low is None else f"{self.low} <= "
        return f"{low}{name}" + ("" if self.high is None else f" <= {self.high}")


ANY = IntegerInterval()
DISTANCE = {"<": IntegerInterval(low=1), "=": IntegerInterval(0, 0), ">": IntegerInterval(high=-1), "*": ANY}
"""The values of i' - i in each direction."""


def singleton(value: int) -> IntegerInterval:
    """The interval of one value."""
    return IntegerInterval(value, value)


# ---------------------------------------------------------------------------------------------------------- equations


@dataclass(frozen=True)
class IndexTerm:
    """a·i - b·i' of one index, where i is in `first`, i' in `second`, and i' - i as `direction` says.

    For an index of one side only, the other coefficient is 0.
    """

    name: str
    a: int
    b: int
    direction: str
    first: IntegerInterval
    second: IntegerInterval

    @property
    def distance(self) -> IntegerInterval:
        """The values of i' - i that its direction allows."""
        return DISTANCE[self.direction]

    @property
    def impossible(self) -> bool:
        """Whether no i and i' within the bounds have this direction."""
        return ((self.second + self.first.times(-1)) & self.distance).empty

    @property
    def values(self) -> IntegerInterval:
        """From the least to the greatest value.

        a·i - b·i' = (a - k)·i + (k - b)·i' - k·(i' - i) for every k, and each k bounds the value. The closest bounds
        have k = 0, k = a or k = b, by the duality of linear programs: these are Banerjee's with directions.
        """
        found = ANY
        for k in (0, self.a, self.b):
            found &= self.first.times(self.a - k) + self.second.times(k - self.b) + self.distance.times(-k)
        return found

    def premises(self) -> list[str]:
        """The premises about i and i', for people."""
        i, j = self.name, f"{self.name}'"
        if self.direction == "*":
            sides = [(name, side) for name, a, side in ((i, self.a, self.first), (j, self.b, self.second)) if a]
        else:
            sides = [(i, self.first), (j, self.second)]
        if len(sides) == 2 and self.first == self.second:
            sides = [(f"{i}, {j}", self.first)]
        said = [] if self.direction == "*" else [f"{i} {self.direction} {j}"]
        return said + [side.show(name) for name, side in sides if side != ANY]


@dataclass(frozen=True)
class Equation:
    """A sum of terms and of symbols times these coefficients, and the constant that it is to be equal to."""

    terms: tuple[IndexTerm, ...]
    symbols: tuple[int, ...]
    constant: int

    def with_premises(self, directions: bool, bounds: bool) -> Equation:
        """The equation with only some of its premises."""
        terms = self.terms
        if not directions:
            terms = tuple(replace(t, direction="*") for t in terms)
        if not bounds:
            terms = tuple(replace(t, first=ANY, second=ANY) for t in terms)
        return replace(self, terms=terms)

    @property
    def single(self) -> IndexTerm | None:
        """The term of the only index, if there is only one and no symbol."""
        return self.terms[0] if len(self.terms) == 1 and not self.symbols else None


def _equation(
    f: ir.Expression, g: ir.Expression, directions: Mapping[str, str], first: Bounds, second: Bounds
) -> Equation | None:
    one, other = affine(f, symbols=True), affine(g, symbols=True)
    if one is None or other is None:
        return None
    a, m = _split_coefficients(f, one)
    b, n = _split_coefficients(g, other)
    terms = []
    for name in a | b:
        i, j = IntegerInterval(*first.get(name, (None, None))), IntegerInterval(*second.get(name, (None, None)))
        if name in directions:
            terms.append(IndexTerm(name, a.get(name, 0), b.get(name, 0), directions[name], i, j))
        else:
            terms += [IndexTerm(name, a[name], 0, "*", i, ANY)] if name in a else []
            terms += [IndexTerm(name, 0, b[name], "*", ANY, j)] if name in b else []
    symbols = (m.get(name, 0) - n.get(name, 0) for name in {**m, **n})
    return Equation(tuple(terms), tuple(filter(None, symbols)), other.constant - one.constant)


def _split_coefficients(e: ir.Expression, form: Affine) -> tuple[dict[str, int], dict[str, int]]:
    """The coefficients of the indices, and those of the symbols."""
    indices = {node.name for node in e.walk() if isinstance(node, ir.Index)}
    of_indices = {name: a for name, a in form.factors.items() if name in indices}
    return of_indices, {name: a for name, a in form.factors.items() if name not in indices}


# --------------------------------------------------------------------------------------------------------------- tests

# Each gives None if the equation may have a solution, and otherwise the reason why not, which may go without saying.


def _ziv(q: Equation) -> str | None:
    return "" if not q.terms and not q.symbols and q.constant else None


def _strong(q: Equation) -> str | None:
    t = q.single
    if t is None or t.a != t.b:
        return None
    d = Fraction(-q.constant, t.a)
    at = singleton(int(d))
    if d.denominator == 1 and not (t.distance & at).empty and not ((t.first + at) & t.second).empty:
        return None
    return f"{t.name}' - {t.name} must be {d}"


def _weak_zero(q: Equation) -> str | None:
    t = q.single
    if t is None or (t.a and t.b):
        return None
    name, here, there, distance = (
        (t.name, t.first, t.second, t.distance) if t.a else (f"{t.name}'", t.second, t.first, t.distance.times(-1))
    )
    value = Fraction(q.constant, t.a or -t.b)
    at = singleton(int(value))
    if value.denominator == 1 and not (here & at).empty and not (there & (at + distance)).empty:
        return None
    return f"{name} must be {value}"


def _weak_crossing(q: Equation) -> str | None:
    t = q.single
    if t is None or t.a != -t.b:
        return None
    total = Fraction(q.constant, t.a)
    at = singleton(int(total))
    twice = at + t.distance
    half = IntegerInterval(
        None if twice.low is None else -(-twice.low // 2), None if twice.high is None else twice.high // 2
    )
    if total.denominator == 1 and not (t.second & (at + t.first.times(-1)) & half).empty:
        return None
    return f"{t.name} + {t.name}' must be {total}"


def _gcd(q: Equation) -> str | None:
    coefficients = [k for t in q.terms for k in ((t.a - t.b,) if t.direction == "=" else (t.a, t.b))]
    divisor = math.gcd(*coefficients, *q.symbols)
    return f"{divisor} does not divide {q.constant}" if divisor and q.constant % divisor else None


def _banerjee(q: Equation) -> str | None:
    if any(t.impossible for t in q.terms):
        return ""
    more = sum((t.values for t in q.terms), ANY if q.symbols else singleton(0)) + singleton(-q.constant)
    if more.low is not None and more.low > 0:
        return f"the left side is at least {more.low} larger"
    if more.high is not None and more.high < 0:
        return f"the left side is at least {-more.high} smaller"
    return None


TESTS: Mapping[str, Callable[[Equation], str | None]] = {
    "ZIV": _ziv,
    "strong SIV": _strong,
    "weak-zero SIV": _weak_zero,
    "weak-crossing SIV": _weak_crossing,
    "GCD": _gcd,
    "Banerjee": _banerjee,
}


@dataclass(frozen=True)
class Disproof:
    """A disproof that two accesses meet: the test, its reason, and the subscript (from 0) that is never equal.

    In the reason, the indices of the second access have a prime.
    """

    test: str
    reason: str
    subscript: int


def disprove(
    f: Sequence[ir.Expression],
    g: Sequence[ir.Expression],
    directions: Mapping[str, str],
    first: Bounds,
    second: Bounds,
) -> Disproof | None:
    """Disprove that the subscripts f of one iteration and g of another are pairwise equal; None if they may be.

    `directions` has <, =, > or * for each index of a common loop: how the first iteration's compares with the second's.
    `first` and `second` bound the indices of each. A variable has one value for both. The reason names as few of these
    premises as the test needs: none, the directions, the bounds, or all.

    >>> i, j, one = ir.Index("i"), ir.Index("j"), ir.Literal(1)
    >>> small = {"i": (1, 3), "j": (1, 3)}
    >>> disprove([ir.Call("+", (i, one))], [i], {"i": "="}, small, small).reason
    "strong SIV: i + 1 = i' has no solution with i = i', as i' - i must be 1"
    >>> disprove([ir.Call("+", (i, j))], [one], {"i": "*", "j": "*"}, small, small).reason
    'Banerjee: i + j = 1 has no solution with 1 <= i <= 3 and 1 <= j <= 3, as the left side is at least 1 larger'
    >>> disprove([i, j], [j, i], {"i": "<", "j": ">"}, small, small)
    """
    for k, (e, h) in enumerate(zip(f, g, strict=True)):
        q = _equation(e, h, directions, first, second)
        if q is None:
            continue
        for name, test in TESTS.items():
            for bounded, directed in product((False, True), repeat=2):
                known = q.with_premises(directed, bounded)
                why = test(known)
                if why is not None:
                    return Disproof(name, _reason(name, e, h, known, why), k)
    return None


def _reason(test: str, f: ir.Expression, g: ir.Expression, q: Equation, why: str) -> str:
    primed = g.map(lambda node: ir.Index(f"{node.name}'") if isinstance(node, ir.Index) else node)
    premises = " and ".join(premise for t in q.terms for premise in t.premises())
    given, because = premises and f" with {premises}", why and f", as {why}"
    return f"{test}: {show(f)} = {show(primed)} has no solution{given}{because}"
