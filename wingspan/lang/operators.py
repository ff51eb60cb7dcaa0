"""The operators: one record for each that programs may use, and one for each that machines compute with.

A new operator of the language is a record of `OPERATORS`, and a line of the grammar if it has a sign. Where no
operation of machines computes it, it also takes a record of `OPERATIONS`, a C function in `runtime.h` and an
instruction of the engine: see docs/architecture.md. `reference` has tables of its own, so that both can be compared.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container
from dataclasses import KW_ONLY
from fractions import Fraction
from functools import reduce
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang import words
from wingspan.lang.ir import Algebra, Literal, Value, kind_of
from wingspan.lang.pairs import SECONDS, Pair, maxby
from wingspan.lang.widths import USUAL, f32

_UNKNOWN = Algebra()
MANY = range(2, 100_000)
"""Two operands or more."""


@dataclass(frozen=True)
class Domain:
    """The operands that an operator is defined for, by their kinds, and their name in messages."""

    name: str
    kinds: frozenset[str]

    def has(self, value: Value) -> bool:
        """Whether a value is one of these."""
        return kind_of(value) in self.kinds


NUMBERS = Domain("numbers", frozenset({"int", "float"}))
INTEGERS = Domain("integers", frozenset({"int"}))
BOOLEANS = Domain("booleans", frozenset({"bool"}))
PAIRS = Domain("pairs", frozenset({"pair"}))
ANY = Domain("values", NUMBERS.kinds | BOOLEANS.kinds | PAIRS.kinds)


@dataclass(frozen=True)
class BuiltInOperator:
    """An operator of the language."""

    symbol: str
    takes: Domain
    value: Callable[..., Any]
    """exact results of exact operands; integers of any size"""
    _: KW_ONLY
    gives: str = ""
    """the kind of the result; if empty, that of the operands, float if one of them is"""
    operands: Container[int] = (2,)
    """the possible numbers of operands"""
    whole: str = ""
    """the message for a number {0} that is no integer, if of numbers it takes integers alone"""
    fails: str = ""
    """the kinds of operands for some of which it is a fault"""
    fault: Callable[..., str] | None = None
    """the message if it is not defined for operands of its domain, with {0} and {1} for them; empty if it is"""
    infinite: Callable[..., Any] | None = None
    """the value if an operand is infinite or NaN; without, of the finite ones at most the sign matters"""
    tightness: int = 0
    """its precedence between its operands; 0 if it does not stand there"""
    word: str = ""
    """the reserved word that it is called by, or named by between << and >>"""
    booleans: str = ""
    """the operator that it is for booleans"""
    sides: str = ""
    """of a comparison, where x may be for it to hold: < below y, = at y, > above y"""
    dual: str = ""
    """!(x ⊗ y) is !x dual !y"""
    update: str = ""
    """its sign in an update, if it is a reduction ⊕"""
    atomic: str = ""
    """the end of its name among C's reductions, if machines update cells by it"""
    algebra: Algebra = _UNKNOWN
    merges: str = ""
    """of one that takes away: the operator that joins what copies have taken away, which hold differences from zero"""
    over: tuple[str, ...] = ()
    """the ⊕ over which it distributes, x ⊗ (y ⊕ z) = (x ⊗ y) ⊕ (x ⊗ z), on both sides, wherever nothing
    overflows, and no number is infinite or NaN; doubles have to be exact
    """
    extreme: int | None = None
    """the integer that absorbs all others; no double does, as of NaN the result is NaN"""
    plan: str = ""
    """the operation of machines that computes it, if not one of the same name"""
    expands: Callable[..., Any] | None = None
    """or what it stands for in a plan: a function of one that applies operations, and of the operands"""
    array: str = ""
    """its name in the array API standard"""

    @property
    def arguments(self) -> str:
        """The number of its arguments, for a message."""
        if 2 not in self.operands:
            return "one argument"
        return "two or more arguments" if self.operands is MANY else "two arguments"

    @property
    def example(self) -> str:
        """A call of it, for a message."""
        return f"{self.word}(a, b)" if 2 in self.operands else f"{self.word}(a)"

    @property
    def of_integers(self) -> bool:
        """Whether it takes integers alone."""
        return bool(self.whole) or self.takes is INTEGERS

    @property
    def operation(self) -> str:
        """The name of the operation of machines."""
        return self.plan or self.symbol


def least(x: Any, y: Any) -> Any:
    """The smaller of two numbers, the first of equal ones; NaN if one is."""
    return y if y < x or y != y else x


def greatest(x: Any, y: Any) -> Any:
    """The larger of two numbers, the first of equal ones; NaN if one is."""
    return y if y > x or y != y else x


def wrap_to_int64(value: int) -> int:
    """The 64-bit integer that is equal modulo 2⁶⁴."""
    return (value + 2**63) % 2**64 - 2**63


def _least(*x: Any) -> Any:
    return reduce(least, x)


def _greatest(*x: Any) -> Any:
    return reduce(greatest, x)


def _over(x: Any, y: Any) -> Any:
    return x / y if isinstance(x, float) else Fraction(x) / Fraction(y)


def _floor(x: Any, y: Any) -> Any:
    """The quotient, rounded down, where one of two numbers is infinite or NaN."""
    return math.nan if x - x != 0 or y != y else Fraction(-(x != 0 and (x < 0) != (y < 0)))


def _remainder(x: Any, y: Any) -> Any:
    """The remainder of such a quotient."""
    quotient = _floor(x, y)
    return quotient if quotient != quotient else y if quotient else Fraction(x)


def _pair(x: Any, i: int) -> Pair:
    """(x, i): x is rounded once, to single precision, and infinite beyond it."""
    return Pair.of(x if isinstance(x, float) else float(min(max(f32(x), -(2**128)), 2**128)), int(i))


def _no_pair(x: Value, i: Value) -> str:
    if not NUMBERS.has(x):
        return "a pair needs a number, got {0}"
    if not INTEGERS.has(i):
        return "a pair needs an integer as its second, got {1}"
    return "" if i in SECONDS else "the second of a pair has 32 bits, and {1} does not fit"


def _unlike(symbol: str) -> Callable[..., str]:
    message = f"{symbol} needs two numbers or two booleans, got {{0}} and {{1}}"
    return lambda x, y: "" if isinstance(x, bool) == isinstance(y, bool) else message


_NEUTRAL_0 = Algebra(associative=True, commutative=True, identity=Literal(0))
_NEUTRAL_1 = Algebra(associative=True, commutative=True, identity=Literal(1), annihilator=Literal(0))
_SEMILATTICE = Algebra(associative=True, commutative=True, idempotent=True)
_OR, _AND, _COMPARE, _SUM, _PRODUCT, _SHIFT = range(1, 7)
_NO_ROOT = "isqrt needs an integer of at least 0, got {0}"
_DIVISION: Any = {"tightness": _PRODUCT, "fails": "int float", "fault": lambda x, y: "" if y else "division by zero"}

OPERATORS: dict[str, BuiltInOperator] = {
    op.symbol: op
    for op in (
        # those by which tensors are updated, with the numbers that C gives them
        BuiltInOperator(
            "=", ANY, lambda x, y: y,
            update="=", atomic="SET", algebra=Algebra(associative=True, idempotent=True),
        ),
        BuiltInOperator(
            "+", NUMBERS, lambda x, *y: x + y[0] if y else x, operands=(1, 2), fails="int", tightness=_SUM,
            update="+=", atomic="ADD", algebra=_NEUTRAL_0, over=("min", "max"), array="add",
        ),
        BuiltInOperator(
            "-", NUMBERS, lambda x, *y: x - y[0] if y else -x, operands=(1, 2), fails="int", tightness=_SUM,
            update="-=", atomic="SUB", algebra=Algebra(identity=Literal(0)), merges="+", array="subtract",
        ),
        BuiltInOperator(
            "*", NUMBERS, operator.mul, fails="int", tightness=_PRODUCT,
            update="*=", atomic="MUL", algebra=_NEUTRAL_1, over=("+",), array="multiply",
        ),
        BuiltInOperator(
            "min", NUMBERS, _least, infinite=_least, operands=MANY, word="min",
            update="<<min>>=", atomic="MIN", algebra=_SEMILATTICE, over=("min", "max"), extreme=USUAL["int"].range[0],
            array="minimum",
        ),
        BuiltInOperator(
            "max", NUMBERS, _greatest, infinite=_greatest, operands=MANY, word="max",
            update="<<max>>=", atomic="MAX", algebra=_SEMILATTICE, over=("min", "max"), extreme=USUAL["int"].range[-1],
            array="maximum",
        ),
        BuiltInOperator("minby", PAIRS, least, gives="pair", update="<<minby>>=", algebra=_SEMILATTICE, plan="min"),
        BuiltInOperator(
            "maxby", PAIRS, lambda x, y: Pair(maxby(x, y)), gives="pair", update="<<maxby>>=", algebra=_SEMILATTICE
        ),
        BuiltInOperator(
            "&&", BOOLEANS, lambda x, y: x and y, gives="bool", tightness=_AND, dual="||",
            update="<<&&>>=", atomic="AND", algebra=Algebra(True, True, True, Literal(True), Literal(False)),
            over=("&&", "||"), plan="and", array="logical_and",
        ),
        BuiltInOperator(
            "||", BOOLEANS, lambda x, y: x or y, gives="bool", tightness=_OR, dual="&&",
            update="<<||>>=", atomic="OR", algebra=Algebra(True, True, True, Literal(False), Literal(True)),
            over=("&&", "||"), plan="or", array="logical_or",
        ),
        BuiltInOperator(
            "+%", INTEGERS, lambda x, y: wrap_to_int64(x + y), gives="int", tightness=_SUM,
            update="+%=", atomic="WRAPPING_ADD", algebra=_NEUTRAL_0,
        ),
        BuiltInOperator(
            "-%", INTEGERS, lambda x, y: wrap_to_int64(x - y), gives="int", tightness=_SUM,
            update="-%=", atomic="WRAPPING_SUB", algebra=Algebra(identity=Literal(0)), merges="+%",
        ),
        BuiltInOperator(
            "*%", INTEGERS, lambda x, y: wrap_to_int64(x * y), gives="int", tightness=_PRODUCT,
            update="*%=", atomic="WRAPPING_MUL", algebra=_NEUTRAL_1,
        ),
        BuiltInOperator(
            "&", INTEGERS, operator.and_, gives="int", tightness=_PRODUCT, booleans="&&",
            update="<<&>>=", atomic="BIT_AND", algebra=Algebra(True, True, True, Literal(-1), Literal(0)),
            array="bitwise_and",
        ),
        BuiltInOperator(
            "|", INTEGERS, operator.or_, gives="int", tightness=_SUM, booleans="||",
            update="<<|>>=", atomic="BIT_OR", algebra=Algebra(True, True, True, Literal(0), Literal(-1)),
            array="bitwise_or",
        ),
        BuiltInOperator(
            "⊻", INTEGERS, operator.xor, gives="int", tightness=_SUM, word="xor", booleans="!=",
            update="<<⊻>>=", atomic="BIT_XOR", algebra=_NEUTRAL_0, array="bitwise_xor",
        ),
        BuiltInOperator(
            "gcd", INTEGERS, math.gcd, gives="int", word="gcd", fails="int",
            update="<<gcd>>=", algebra=Algebra(associative=True, commutative=True, annihilator=Literal(1)),
        ),
        # others
        BuiltInOperator("/", NUMBERS, _over, gives="float", **_DIVISION),
        BuiltInOperator("÷", NUMBERS, operator.floordiv, infinite=_floor, **_DIVISION),
        BuiltInOperator("%", NUMBERS, operator.mod, infinite=_remainder, **_DIVISION),
        BuiltInOperator(
            "isqrt", NUMBERS, math.isqrt, operands=(1,), word="isqrt", whole=_NO_ROOT, fails="int",
            fault=lambda x: "" if isinstance(x, int) and x >= 0 else _NO_ROOT,
        ),
        BuiltInOperator("abs", NUMBERS, abs, infinite=abs, operands=(1,), word="abs", fails="int", array="abs"),
        BuiltInOperator(
            "~", INTEGERS, operator.inv, gives="int", operands=(1,), booleans="!", array="bitwise_invert",
            expands=lambda op, x: op("-", -1, x),
        ),
        BuiltInOperator(
            "<<", INTEGERS, lambda x, k: x << min(k, 64), gives="int", tightness=_SHIFT, array="bitwise_left_shift",
            fails="int", fault=lambda x, k: "" if k >= 0 else "<< needs a count of at least 0, got {1}",
        ),
        BuiltInOperator(
            ">>", INTEGERS, lambda x, k: x >> min(k, 64), gives="int", tightness=_SHIFT, array="bitwise_right_shift",
            fails="int", fault=lambda x, k: "" if k >= 0 else ">> needs a count of at least 0, got {1}",
        ),
        BuiltInOperator(
            "==", ANY, operator.eq, gives="bool", tightness=_COMPARE, sides="=", fault=_unlike("=="), array="equal"
        ),
        BuiltInOperator(
            "!=", ANY, operator.ne, gives="bool", tightness=_COMPARE, sides="<>", fault=_unlike("!="), array="not_equal"
        ),
        BuiltInOperator("<", NUMBERS, operator.lt, gives="bool", tightness=_COMPARE, sides="<", array="less"),
        BuiltInOperator("<=", NUMBERS, operator.le, gives="bool", tightness=_COMPARE, sides="<=", array="less_equal"),
        BuiltInOperator(">", NUMBERS, operator.gt, gives="bool", tightness=_COMPARE, sides=">", array="greater"),
        BuiltInOperator(
            ">=", NUMBERS, operator.ge, gives="bool", tightness=_COMPARE, sides="=>", array="greater_equal"
        ),
        BuiltInOperator("!", BOOLEANS, operator.not_, gives="bool", operands=(1,), plan="not", array="logical_not"),
        BuiltInOperator("pair", ANY, _pair, gives="pair", fault=_no_pair),
        BuiltInOperator("first", PAIRS, lambda p: p.first, gives="float", operands=(1,), plan="pair_first"),
        BuiltInOperator("second", PAIRS, lambda p: p.second, gives="int", operands=(1,), plan="pair_second"),
    )
}  # fmt: skip
"""By symbol the operators ⊗ of `ir.Call` and ⊕ of `ir.Assign`. Ours: the paper names none.

+% -% *% have the names that they have in Zig, minby and maxby those in Finch.jl. A shift by more than 64 is one by 64:
it leaves no bit, or overflows.
"""


# ------------------------------------------------------------------------------------------------------------- machines


@dataclass(frozen=True)
class Operation:
    """An operation of machines, which plans and the texts of levels are made of."""

    name: str
    compute: Callable[..., Any] | None = None
    """results where integers may be of any size and divisors are not 0; none if it is only tried"""
    _: KW_ONLY
    c: str = ""
    """C's operator, or the C function; without, the function ws_name_type"""
    tried: str = ""
    """the C function that computes it unless that is a fault, with {} for a type; none if it never is"""
    register: str = "quotient"
    """the name of a register with what was tried"""
    truth: bool = False
    """whether it gives a truth value"""


def muladd(x: Any, n: Any, v: Any) -> Any:
    """x + n·v: of doubles that are finite, the nearest double."""
    if not isinstance(x, float):
        return x + n * v
    try:
        return float(Fraction(x) + Fraction(n) * Fraction(v))
    except (ValueError, OverflowError):  # not finite, or it will not be; n·v alone may be beyond all doubles
        return x + (n * v if math.isfinite(x) else v if n else 0.0)


OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation("+", operator.add, c="+", tried="ws_add_{}", register="sum"),
        Operation("-", operator.sub, c="-", tried="ws_sub_{}", register="difference"),
        Operation("*", operator.mul, c="*", tried="ws_mul_{}", register="product"),
        Operation("÷", operator.floordiv, c="ws_quotient", tried="ws_div_{}"),
        Operation("%", operator.mod, c="ws_remainder", tried="ws_mod_{}"),
        Operation("/", tried="ws_over_{}"),
        Operation("neg", operator.neg, c="-", tried="ws_neg_{}", register="negated"),
        Operation("abs", abs, c="fabs", tried="ws_abs_{}", register="size"),
        Operation("muladd", muladd, tried="ws_muladd_{}"),
        Operation("<<", tried="ws_left_{}", register="shifted"),
        Operation(">>", tried="ws_right_{}", register="shifted"),
        Operation("isqrt", tried="ws_isqrt", register="root"),
        Operation("gcd", tried="ws_gcd_{}", register="divisor"),
        Operation("int", tried="ws_int", register="whole"),
        Operation("min", least),
        Operation("max", greatest),
        Operation("float", float, c="(double)"),
        Operation("f32", f32, c="(double)(float)"),
        Operation("select", lambda c, x, y: x if c else y),
        # integers modulo 2⁶⁴ and their bits; C is compiled with -fwrapv
        Operation("+%", lambda x, y: wrap_to_int64(x + y), c="+"),
        Operation("-%", lambda x, y: wrap_to_int64(x - y), c="-"),
        Operation("*%", lambda x, y: wrap_to_int64(x * y), c="*"),
        Operation("&", operator.and_, c="&"),
        Operation("|", operator.or_, c="|"),
        Operation("⊻", operator.xor, c="^"),
        *(
            Operation(name, words.FUNCTIONS[name], c=f"ws_{name}")
            for name in ("bit", "since", "first", "rest", "count")
        ),
        # words of pairs
        Operation("pair", lambda x, i: int(Pair.of(x, i)), c="ws_pair"),
        Operation("pair_first", lambda p: Pair(p).first, c="ws_pair_first"),
        Operation("pair_second", lambda p: Pair(p).second, c="ws_pair_second"),
        Operation("maxby", maxby, c="ws_maxby"),
        # truth values
        Operation("==", operator.eq, c="==", truth=True),
        Operation("!=", operator.ne, c="!=", truth=True),
        Operation("<", operator.lt, c="<", truth=True),
        Operation("<=", operator.le, c="<=", truth=True),
        Operation(">", operator.gt, c=">", truth=True),
        Operation(">=", operator.ge, c=">=", truth=True),
        Operation("and", operator.and_, c="&&", truth=True),
        Operation("or", operator.or_, c="||", truth=True),
        Operation("not", operator.not_, c="!", truth=True),
        Operation("same", words.same, c="ws_same", truth=True),
        Operation("alike", words.equal_or_nan, c="ws_alike", truth=True),
    )
}
"""By name the operations of machines."""

COMPUTES = {name: op.compute for name, op in OPERATIONS.items() if op.compute is not None}
"""The operations of `plan.ir.Op`, with their functions. They are private and never fail: integers wrap around."""

TRUTHS = frozenset(name for name, op in OPERATIONS.items() if op.truth)

FAILING = frozenset(name for name, op in OPERATIONS.items() if op.tried)
"""The operations of `plan.ir.Compute`. + - * neg abs: of integers, overflow is a fault. muladd(x, n, v) is x + n·v for
integers; it is a fault if that is no 64-bit integer, whatever n·v is. ÷ % of integers or doubles and / of doubles: a
divisor of 0 is. << >> of integers: a negative count is, and overflow of <<. isqrt: a negative integer is. gcd: 2⁶³ is,
a divisor of the least integer. int(x): a double that is no 64-bit integer is.
"""


# --------------------------------------------------------------------------------------------------------- which are …

WRAPPING = frozenset({"+%", "-%", "*%"})
"""Sums, differences and products of integers modulo 2⁶⁴, in two's complement."""

BITS = frozenset(symbol for symbol, op in OPERATORS.items() if op.takes is INTEGERS)
"""Operators on the bits of integers, in two's complement."""

LOGIC = frozenset(symbol for symbol, op in OPERATORS.items() if op.takes is BOOLEANS)
COMPARISONS = frozenset(symbol for symbol, op in OPERATORS.items() if op.sides)
EQUALITIES = frozenset({"==", "!="})

PARTS = frozenset({"first", "second"})
"""The projections of a pair."""

REDUCTIONS = tuple(symbol for symbol, op in OPERATORS.items() if op.update)
"""The operators ⊕ of updates; = overwrites."""

PAIRING = tuple(symbol for symbol in REDUCTIONS if OPERATORS[symbol].takes is PAIRS)
"""The operators ⊕ of updates of pairs."""

ATOMIC = tuple(symbol for symbol in REDUCTIONS if OPERATORS[symbol].atomic)
"""The operators ⊕ of atomic updates of cells. Machines number them in this order."""

_BY_SIDES = {frozenset(op.sides): symbol for symbol, op in OPERATORS.items() if op.sides}


def negation(comparison: str) -> str:
    """The comparison that holds of numbers where another one does not, NaN apart."""
    return _BY_SIDES[frozenset("<=>") - set(OPERATORS[comparison].sides)]


def mirror(comparison: str) -> str:
    """The comparison that holds of y and x where another one holds of x and y."""
    return _BY_SIDES[frozenset(OPERATORS[comparison].sides.translate(str.maketrans("<>", "><")))]


WORDS = {op.word: op for op in sorted(OPERATORS.values(), key=lambda op: op.tightness) if op.word}
"""The operators that are called by a reserved word."""
