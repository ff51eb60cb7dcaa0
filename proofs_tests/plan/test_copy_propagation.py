"""Registers are read where they come from, where that is certain; the machine tests and jumps in one instruction."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs_tests.plan.small_plans import HERE
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import BOOL, FLOAT, INT
from wingspan.native._engine import OPCODES
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Const, If, Op, Par, Plan, Reg, Set, While
from wingspan.plan.passes.copy_propagation import copy_propagation

COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
x, y, z = VARIABLES = tuple(Reg(name) for name in "xyz")
sure = Reg("sure", BOOL)


def c(value):
    return Const(value)


def put(reg, value):
    return Set(reg, value if isinstance(value, Const | Reg | Op) else c(value), HERE)


def plan(*body, variables=VARIABLES):
    return Plan((), (), body, (), (), variables=tuple((v.name, v) for v in variables))


def run(made):
    return NativeEngine(assemble(made)).run([]).variables


# ------------------------------------------------------------------------------------------------------------- reading


def test_what_a_register_holds_is_read_where_it_comes_from():
    body = put(y, x), put(z, y), put(x, Op("+", (z, y))), put(y, z)
    assert copy_propagation(plan(*body)).body == (put(y, x), put(z, x), put(x, Op("+", (x, x))), put(y, z))


def test_a_test_that_is_certain_is_gone():
    assert copy_propagation(plan(put(sure, True), If(sure, (put(x, 1),), (put(x, 2),)), put(y, x))).body == (
        put(sure, True), put(x, 1), put(y, 1),
    )  # fmt: skip


def test_after_a_branch_only_what_both_ends_have_in_common_is_known():
    unsure = Op("<", (x, y))
    branch = If(unsure, (put(sure, True), put(z, 1)), (put(sure, True), put(z, 2)))
    body = put(sure, False), branch, If(sure, (put(y, z),))
    assert copy_propagation(plan(*body)).body == body
    kept = put(sure, True), If(unsure, (put(z, 1),)), If(sure, (put(y, z),))
    assert copy_propagation(plan(*kept)).body == (*kept[:2], put(y, z))


def test_what_a_loop_changes_is_not_known_in_it_nor_after_it():
    loop = While((), Op("<", (x, c(3))), (put(z, x), put(x, Op("+", (z, c(1))))))
    inside = While((), Op("<", (x, c(3))), (put(z, x), put(x, Op("+", (x, c(1))))))
    assert copy_propagation(plan(put(x, 0), loop, put(y, x))).body == (put(x, 0), inside, put(y, x))


def test_what_a_task_does_to_registers_is_lost_but_for_what_it_joins():
    region = Par(Device("dev", 2, SERIAL), z, (put(x, 5), put(sure, True), put(y, z)), (sure,), HERE)
    body = put(x, 1), put(sure, False), put(z, 7), region, put(y, x), If(sure, (put(y, 3),))
    assert copy_propagation(plan(*body)).body == (*body[:4], put(y, 1), body[5])


def test_the_kind_of_a_zero_is_kept():
    """0, false, 0.0 and -0.0 are equal in Python."""
    zero = Reg("zero", FLOAT)
    branch = If(Op("<", (x, y)), (put(zero, 0.0),), (put(zero, -0.0),))
    made = plan(branch, put(y, x), Set(Reg("end", FLOAT), zero, HERE), variables=(Reg("end", FLOAT),))
    assert copy_propagation(made).body == made.body


# --------------------------------------------------------------------------------------- any program, and instructions


def conditions():
    values = st.sampled_from(VARIABLES) | st.integers(-2, 2).map(c)
    compared = st.builds(lambda op, a, b: Op(op, (a, b)), st.sampled_from(sorted(COMPARE)), values, values)
    return compared | st.just(sure)


def expressions():
    values = st.sampled_from(VARIABLES) | st.integers(-2, 2).map(c)
    sums = st.builds(lambda a, b: Op("+", (a, b)), values, values)
    return values | sums | st.builds(lambda q, a, b: Op("select", (q, a, b)), conditions(), values, values)


def blocks(depth):
    sets = st.builds(put, st.sampled_from(VARIABLES), expressions()) | st.builds(put, st.just(sure), conditions())
    if depth == 0:
        return st.lists(sets, max_size=3).map(tuple)
    inner = blocks(depth - 1)
    branches = st.builds(If, conditions(), inner, inner)
    return st.lists(sets | branches | inner.map(lambda body: loop(depth, body)), max_size=4).map(tuple)


def loop(depth, body):
    """Up to three times, and no longer than x is at most y; the test itself changes z."""
    n = Reg(f"n{depth}")
    going = Op("and", (Op("<", (n, c(3))), Op("<=", (x, y))))
    return While((put(z, n),), going, (put(n, Op("+", (n, c(1)))), *body))


def value(e, held):
    match e:
        case Const(value=known):
            return known
        case Reg(name=name):
            return held.get(name, 0)
        case Op(op="select", args=(q, a, b)):
            return value(a if value(q, held) else b, held)
        case Op(op="and", args=(p, q)):
            return value(p, held) and value(q, held)
        case Op(op="+", args=(a, b)):
            return value(a, held) + value(b, held)
        case Op(op=op, args=(a, b)):
            return COMPARE[op](value(a, held), value(b, held))


def perform(body, held):
    """Execute a block on registers, in Python."""
    for s in body:
        match s:
            case Set(reg=reg, value=e):
                held[reg.name] = value(e, held)
            case If(condition=q, then=then, otherwise=otherwise):
                perform(then if value(q, held) else otherwise, held)
            case While(test=test, condition=q, body=inner):
                perform(test, held)
                while value(q, held):
                    perform(inner, held)
                    perform(test, held)


@given(blocks(2))
def test_any_program_does_the_same(body):
    """Of nested branches and loops: in Python, on the machine, and on the machine with copies read at their source."""
    held = {v.name: 0 for v in VARIABLES}
    perform(body, held)
    expected = {v.name: held[v.name] for v in VARIABLES}
    made = plan(*body)
    assert run(made) == expected
    assert run(copy_propagation(made)) == expected


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("type_", [INT, BOOL, FLOAT], ids=str)
def test_tests_and_jumps_do_what_python_says(op, type_):
    """Comparisons of integers and truth values are tested by the jump itself, and of these two by the choice, too."""
    a, b = Reg("a", type_), Reg("b", type_)
    values = {INT: (-1, 0, 1), BOOL: (False, True), FLOAT: (-0.5, 0.0, 0.5)}[type_]
    test = Op(op, (a, b))
    for v in values:
        for w in values:
            body = (
                put(a, v),
                put(b, w),
                If(test, (put(x, 1),), (put(x, 2),)),
                put(y, Op("select", (test, c(1), c(2)))),
            )
            made = plan(*body, variables=(x, y))
            assert run(made) == dict.fromkeys("xy", 1 if COMPARE[op](v, w) else 2)
            names = {list(OPCODES)[row[0]] for row in assemble(made).table}
            assert ("unless" in names) == (type_ is FLOAT)
            assert ("select" in names) == (type_ is FLOAT or op in ("!=", "<=", ">="))
