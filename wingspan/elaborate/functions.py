"""Tests of the declarations of functions on some values: a declaration that one of them refutes is a mistake.

Rules, tests and engines rely on what is declared: updates by the identity are left out, copies are merged in any order.
So `explore` cannot show that a declaration is false. Here every equation is tried on small values of the kinds that the
program calls the function with, all if it never does, and on the values that are declared themselves. Where a side has
no value, as after a division by zero, there is nothing to compare. Beyond these values, and for Inf and NaN,
declarations are trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product

from wingspan.base.errors import Fault, Mistakes, ProgramError
from wingspan.elaborate.kinds import ANY, BOOL, NUMBERS, Kinds, given_by, specialize
from wingspan.lang import algebra, ir
from wingspan.lang.ir import Call, Expression, Literal, Value, Variable
from wingspan.lang.printer import show

WHOLE: tuple[Value, ...] = (0, 1, -1, 2, -3)
BROKEN: tuple[Value, ...] = (Fraction(1, 2), Fraction(-5, 4))
"""The numbers that equations are tried on, the latter of doubles alone."""

Equation = tuple[str, str, Expression, Expression]
"""A declared law: its name, also in words, and its two sides, over x, y and z."""


def check_functions(tree: ir.Program, calls: Mapping[str, Kinds], mistakes: Mistakes) -> None:
    """Note a mistake for each function that is not what its declaration says, for the kinds that it is called with."""
    for s in tree.body.statements:
        if isinstance(s, ir.Define) and isinstance(s.value, ir.Function):
            error = falsehood(s.value, calls.get(s.name) or ANY)
            if error is not None:
                mistakes.note(error, s.name)


def falsehood(f: ir.Function, kinds: Kinds) -> ProgramError | None:
    """The error if a value of some kinds refutes what is declared of a function."""
    if (found := find_counterexample(f, kinds)) is None:
        return None
    what, message = found
    return ProgramError(message, f.span, topic="algebra", fix=f"leave {what} out, or change {f.name}")


@lru_cache(maxsize=1 << 10)
def find_counterexample(f: ir.Function, used: Kinds = ANY) -> tuple[str, str] | None:
    """Find a false declaration of a function, with an example; None if no value of the kinds in use refutes any."""
    declared = tuple(e.value for e in (f.algebra.identity, f.algebra.annihilator) if e is not None)
    for kinds in (used & NUMBERS, used & BOOL):
        if not kinds:
            continue
        numeric = kinds != BOOL
        values = (False, True) if not numeric else (*WHOLE, *BROKEN) if "float" in kinds else WHOLE
        tried = tuple(dict.fromkeys((*(v for v in declared if isinstance(v, bool) != numeric), *values)))
        known = specialize(f, (kinds,) * len(f.parameters))
        if not numeric and given_by(known, (kinds,) * len(f.parameters)) != BOOL:
            break  # it counts booleans as numbers
        for what, words, left, right in _equations(known, numeric):
            names = sorted({node.name for node in (*left.walk(), *right.walk()) if isinstance(node, Variable)})
            for given in product(tried, repeat=len(names)):
                if found := _differ(left, right, dict(zip(names, given, strict=True))):
                    return what, f"{f} is declared {words}, but {found}"
    return None


def _equations(f: ir.Function, numeric: bool) -> Iterator[Equation]:
    """The declarations of a function as equations, as far as they are about numbers, or about booleans."""
    x, y, z = map(Variable, "xyz")
    known = f.algebra
    for name, e in (("identity", known.identity), ("annihilator", known.annihilator)):
        if e is not None and (e.kind != "bool") == numeric:
            words, made = f"to have the {name} {algebra.literal(e.value)}", x if name == "identity" else e
            yield name, words, Call(f, (x, e)), made
            yield name, words, Call(f, (e, x)), made
    if known.idempotent:
        yield "idempotent", "idempotent", Call(f, (x, x)), x
    if known.commutative:
        yield "commutative", "commutative", Call(f, (x, y)), Call(f, (y, x))
    if known.associative:
        yield "associative", "associative", Call(f, (Call(f, (x, y)), z)), Call(f, (x, Call(f, (y, z))))


def _differ(left: Expression, right: Expression, given: dict[str, Value]) -> str | None:
    """The two sides with their values, if they have some, and these differ."""
    sides = [_substitute(e, given) for e in (left, right)]
    try:
        values = [_value(e) for e in sides]
    except Fault:
        return None
    if algebra.is_literal(Literal(values[0]), values[1]):
        return None
    return " and ".join(
        f"{show(e)} = {algebra.show(v)}" for e, v in zip(sides, values, strict=True) if isinstance(e, Call)
    )


def _substitute(e: Expression, values: dict[str, Value]) -> Expression:
    made: Expression = e.map(lambda node: Literal(values[node.name]) if isinstance(node, Variable) else node)
    return made


def _value(e: Expression) -> Value:
    if isinstance(e, Call):
        return algebra.apply(e.op, *map(_value, e.args))
    assert isinstance(e, Literal)
    return e.value
