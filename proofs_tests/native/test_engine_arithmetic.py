"""The engine computes as the language does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_tests.native.plans_by_hand import EXACT, INT64, c, plan, run
from proofs_tests.plan.small_plans import HERE
from wingspan.base.errors import Fault
from wingspan.lang import algebra
from wingspan.lang.ir import NAN
from wingspan.lang.operators import COMPUTES, FAILING, TRUTHS, WRAPPING
from wingspan.lang.pairs import Pair
from wingspan.lang.registers import BOOL, FLOAT, INT
from wingspan.lang.words import FUNCTIONS, equal_or_nan
from wingspan.native._engine import OPCODES
from wingspan.native.assemble import assemble
from wingspan.native.code import operate
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Compute, Op, Reg, Set


def compute(op, *args):
    """The engine's result of an operator that may fail: a value, or the message."""
    result = Reg("result", INT if op == "int" else c(args[0]).type)
    try:
        found = run(Compute(result, op, tuple(map(c, args)), HERE), variables=[result]).variables["result"]
        return algebra.double(found)
    except Fault as fault:
        return fault.message


def expected(op, *args):
    try:
        exact = [algebra.exact(a) for a in args]
        return algebra.double(algebra.convert(exact[0], "int") if op == "int" else algebra.apply(op, *exact))
    except Fault as fault:
        return fault.message


@given(st.sampled_from(["+", "-", "*", "÷", "%", "gcd"]), INT64, INT64)
def test_integers_are_computed_as_the_language_has_them(op, a, b):
    assert compute(op, a, b) == expected(op, a, b)


@given(st.sampled_from(["<<", ">>"]), INT64 | st.sampled_from([0, -1, 1]), INT64 | st.integers(-2, 66))
def test_integers_are_shifted_as_the_language_has_them(op, a, k):
    assert compute(op, a, k) == expected(op, a, k)


@given(st.sampled_from(["neg", "abs", "isqrt"]), INT64)
def test_integers_are_negated_and_rooted_as_the_language_has_them(op, a):
    assert compute(op, a) == expected("-" if op == "neg" else op, a)


@given(st.sampled_from(["÷", "%", "/"]), EXACT, EXACT)
def test_doubles_are_divided_as_the_language_has_them(op, a, b):
    assert compute(op, a, b) == expected(op, a, b)


@given(EXACT | st.sampled_from([2.0**63, -(2.0**63), 1e300]))
def test_doubles_become_integers_as_the_language_has_them(a):
    assert compute("int", a) == expected("int", a)


@pytest.mark.parametrize(("a", "text"), [(float("inf"), "Inf"), (float("-inf"), "-Inf"), (float("nan"), "NaN")])
def test_what_is_not_finite_is_no_integer(a, text):
    assert compute("int", a) == f"{text} is not a 64-bit integer"


INT32 = st.integers(-(2**31), 2**31 - 1)
PAIRED = st.builds(lambda x, i: int(Pair.of(x, i)), st.floats(allow_nan=False), INT32)
"""Words of pairs."""
BEYOND = st.sampled_from([float("inf"), float("-inf"), NAN, 0.0, 1.5, -2.0])


@given(st.sampled_from(["÷", "%", "/"]), BEYOND, BEYOND)
def test_inf_and_nan_are_divided_as_the_language_has_them(op, a, b):
    assert repr(compute(op, a, b)) == repr(expected(op, a, b))


@given(st.sampled_from(["+", "-", "*", "min", "max", "alike"]), BEYOND, BEYOND)
def test_private_operators_take_inf_and_nan(op, a, b):
    """As the controlled scheduler does, and as the language does where it has the operator."""
    result = Reg("result", BOOL if op == "alike" else FLOAT)
    found = run(Set(result, Op(op, (c(a), c(b))), HERE), variables=[result]).variables["result"]
    assert equal_or_nan(found, operate(op, [a, b]))
    if op != "alike":
        assert equal_or_nan(found, algebra.apply(op, algebra.exact(a), algebra.exact(b)))


@given(st.sampled_from(sorted(COMPUTES)), st.data())
def test_private_operators_are_what_python_says(op, data):
    whole = {"÷", "%", "float", "and", "or", "not", "&", "|", "⊻", *WRAPPING, *FUNCTIONS} - {"same", "alike"}
    doubles = op not in whole and (op in ("abs", "neg", "same", "alike", "f32", "muladd") or data.draw(st.booleans()))
    values = st.booleans() if op in ("and", "or", "not") else EXACT if doubles else INT64
    unary = ("abs", "neg", "not", "float", "f32", "bit", "first", "rest", "count", "pair_first", "pair_second")
    number = 3 if op == "muladd" else 1 if op in unary else 2
    values = PAIRED if op in ("pair_first", "pair_second", "maxby") else values
    args = [data.draw(values) for _ in range(number)]
    if op == "pair":
        args = [data.draw(EXACT), data.draw(INT32)]
    if op == "select":
        args.insert(0, data.draw(st.booleans()))
    e = Op(op, tuple(map(c, args)))
    result = Reg("result", BOOL if op in TRUTHS else e.type)
    code = assemble(plan(Set(result, e, HERE), variables=[result]))
    assert (
        NativeEngine(code).run([]).variables["result"]
        == algebra.exact(operate(op, args))
        == code.value(code.initial, e)
    )


@given(st.floats() | st.sampled_from([1e-45, -1e-46, 3.5e38, -0.0]), INT32)
def test_the_engine_packs_pairs_as_python_does(x, i):
    """Numbers are rounded, NaN, Inf and zeros of both signs among them; and the parts come back."""
    packed, first = Reg("packed"), Reg("first", FLOAT)
    made = Set(packed, Op("pair", (c(x), c(i))), HERE), Set(first, Op("pair_first", (packed,)), HERE)
    found = run(*made, variables=[packed, first]).variables
    p = Pair.of(x, i)
    assert found["packed"] == p and equal_or_nan(found["first"], algebra.exact(p.first))


def test_every_operator_has_an_instruction():
    """Wrapping operators have that of the private operator without %, which wraps."""
    private = {name.split()[-1] for name in OPCODES if not name.startswith("try")}
    tried = {name.split()[-1] for name in OPCODES if name.startswith("try")}
    assert private >= COMPUTES.keys() - WRAPPING >= {op.removesuffix("%") for op in WRAPPING} and tried == FAILING
