"""The oracle itself: what it computes is checked by hand and against NumPy on dense integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofs_tests.by_hand import at, call, declare, let, loop, parallel, put, run, same, when
from wingspan.base.errors import Fault, InputError, InternalError, Source, Span
from wingspan.lang import ir
from wingspan.reference import INT_MIN, exact, show

# -------------------------------------------------------------------------------------------------- against NumPy

extents = st.integers(0, 4)


@st.composite
def pair(draw, product: bool):
    m, k, n = draw(extents), draw(extents), draw(extents)
    entries = st.integers(-9, 9)
    second = (k, n) if product else (m, k)
    return draw(arrays(np.int64, (m, k), elements=entries)), draw(arrays(np.int64, second, elements=entries))


@pytest.mark.parametrize("outer", [loop, parallel])
@given(pair(product=True))
@settings(derandomize=True, deadline=None)
def test_matrix_product_equals_numpy(outer, matrices):
    """C[i, j] += A[i, k] * B[k, j] is NumPy's `@`, the outer loop serial or parallel, extents from 0."""
    a, b = matrices
    (m, inner), n = a.shape, b.shape[1]
    update = put(at("C", "i", "j"), "+", call("*", at("A", "i", "k"), at("B", "k", "j")))
    body = outer("j", 1, n, loop("k", 1, inner, loop("i", 1, m, update)))
    result = run(declare("C", 0), body, ir.Freeze("C"), shapes={"C": (m, n)}, A=a, B=b)
    assert np.array_equal(result.tensors["C"], (a @ b).astype(object))


@given(pair(product=False))
@settings(derandomize=True, deadline=None)
def test_matrix_sum_equals_numpy(matrices):
    a, b = matrices
    m, n = a.shape
    total = call("+", at("A", "i", "j"), at("B", "i", "j"))
    result = run(
        declare("C", 0),
        loop("j", 1, n, loop("i", 1, m, put(at("C", "i", "j"), "=", total))),
        shapes={"C": (m, n)},
        A=a,
        B=b,
    )
    assert np.array_equal(result.tensors["C"], (a + b).astype(object))


def test_a_workspace_per_column_gives_the_product():
    """Gustavson's algorithm: the workspace is declared anew, and filled anew, in every iteration."""
    a, b = np.array([[1, 2], [0, 3]]), np.array([[0, 1], [4, 5]])
    gather = loop("k", 1, 2, loop("i", 1, 2, put(at("w", "i"), "+", call("*", at("A", "i", "k"), at("B", "k", "j")))))
    scatter = loop("i", 1, 2, put(at("C", "i", "j"), "=", at("w", "i")))
    body = parallel("j", 1, 2, declare("w", 0), gather, ir.Freeze("w"), scatter)
    result = run(declare("C", 0), body, shapes={"C": (2, 2), "w": (2,)}, A=a, B=b)
    assert result.tensors["C"].tolist() == (a @ b).tolist()
    assert set(result.tensors) == {"A", "B", "C"}


# ------------------------------------------------------------------------------------------------------- tensors


def test_indices_count_from_one():
    result = run(put(at("T", 1, 3), "=", 7), T=np.zeros((2, 3), int))
    assert result.tensors["T"].tolist() == [[0, 0, 7], [0, 0, 0]]


@pytest.mark.parametrize("i", [0, 3, -1])
def test_an_index_out_of_bounds_faults_at_its_place(i):
    source = Source("p.ws", "y[9]")
    subscript = ir.Literal(i, span=Span(source, 1, 3, 1, 4))
    with pytest.raises(Fault, match=f"y has the indices 1:2 on axis 1, got {i}") as caught:
        run(let("x", at("y", subscript)), y=[1, 2])
    assert caught.value.span == subscript.span


def test_every_subscript_of_an_empty_tensor_is_out_of_bounds():
    with pytest.raises(Fault, match="1:0 on axis 1, got 1"):
        run(put(at("y", 1), "+", 1), shapes={"y": (0,)}, y=np.zeros(0, int))


@pytest.mark.parametrize("subscript", [1.0, True])
def test_subscripts_are_integers(subscript):
    with pytest.raises(Fault, match="an integer is needed here"):
        run(let("x", at("y", subscript)), y=[1, 2])


def test_a_tensor_of_rank_0_has_one_element():
    result = run(declare("s", 0.0), loop("i", 1, 4, put(at("s"), "+", "i")), shapes={"s": ()}, kinds={"s": "float"})
    assert result.tensors["s"].shape == ()
    assert same(result.tensors["s"][()], Fraction(10))


@pytest.mark.parametrize(
    ("op", "expected"),
    [("=", 2), ("+", 13), ("-", 1), ("*", 56), ("min", 2), ("max", 7)],
)
def test_reductions_fold_from_left_to_right(op, expected):
    """The stored element stands on the left: 7 - 4 - 2 = 1."""
    result = run(put(at("s"), op, 4), put(at("s"), op, 2), s=7)
    assert result.tensors["s"][()] == expected


@pytest.mark.parametrize(("op", "expected"), [("&&", False), ("||", True), ("=", False)])
def test_logical_reductions(op, expected):
    result = run(put(at("b"), op, False), kinds={"b": "bool"}, b=True)
    assert result.tensors["b"][()] is expected


def test_min_reduction_starts_from_the_declared_value():
    result = run(declare("s", 100), loop("i", 1, 3, put(at("s"), "min", at("y", "i"))), shapes={"s": ()}, y=[5, -2, 9])
    assert result.tensors["s"][()] == -2


def test_an_empty_max_reduction_leaves_the_declared_value():
    result = run(declare("s", INT_MIN), loop("i", 1, 0, put(at("s"), "max", 1)), shapes={"s": ()})
    assert result.tensors["s"][()] == INT_MIN


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [("int", 2.0, 2), ("int", 3, 3), ("float", 3, Fraction(3)), ("float", 0.5, Fraction(1, 2)), ("bool", True, True)],
)
def test_what_is_stored_has_the_kind_of_the_tensor(kind, value, stored):
    initial = {"int": 0, "float": 0.0, "bool": False}[kind]
    result = run(put(at("s"), "=", value), kinds={"s": kind}, s=initial)
    assert same(result.tensors["s"][()], stored)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", 0.5, "0.5 is not a 64-bit integer"),
        ("int", 1e300, "1e[+]300 is not a 64-bit integer"),
        ("int", True, "true is not a 64-bit integer"),
        ("float", False, "false is not a double"),
        ("bool", 1, "1 is not a boolean"),
    ],
)
def test_what_does_not_fit_the_tensor_faults(kind, value, message):
    initial = {"int": 0, "float": 0.0, "bool": False}[kind]
    with pytest.raises(Fault, match=message):
        run(put(at("s"), "=", value), kinds={"s": kind}, s=initial)


def test_declare_fills_with_a_value_of_the_kind_of_the_tensor():
    result = run(let("z", 2), declare("y", call("+", "z", 1)), shapes={"y": (2,)}, kinds={"y": "float"})
    assert [same(v, Fraction(3)) for v in result.tensors["y"]] == [True, True]


def test_declare_empties_what_was_there():
    result = run(declare("y", 0), put(at("y", 1), "=", 5), declare("y", 1), shapes={"y": (2,)})
    assert result.tensors["y"].tolist() == [1, 1]


def test_freeze_and_thaw_change_no_contents():
    result = run(ir.Thaw("y"), put(at("y", 1), "+", 1), ir.Freeze("y"), y=[1, 2])
    assert result.tensors["y"].tolist() == [2, 2]


@pytest.mark.parametrize("scope", [lambda *body: loop("i", 1, 1, *body), lambda *body: when(True, *body)])
def test_a_tensor_is_gone_at_the_end_of_its_scope(scope):
    with pytest.raises(Fault, match="w is not declared here"):
        run(scope(declare("w", 0)), let("x", at("w", 1)), shapes={"w": (1,)})


def test_an_inner_declaration_leaves_the_outer_tensor_alone():
    result = run(loop("i", 1, 2, declare("y", 0), put(at("y", 1), "+", 5)), y=[1, 2])
    assert result.tensors["y"].tolist() == [1, 2]


def test_inputs_are_not_written_in_place():
    y = np.array([1, 2])
    assert run(put(at("y", 1), "=", 9), y=y).tensors["y"].tolist() == [9, 2]
    assert y.tolist() == [1, 2]


def test_an_access_may_subscript_an_access():
    result = run(loop("i", 1, 3, put(at("y", at("p", "i")), "=", "i")), y=[0, 0, 0], p=[3, 1, 2])
    assert result.tensors["y"].tolist() == [2, 3, 1]


# ------------------------------------------------------------------------------------------- variables and control


def test_a_loop_counts_both_ends():
    assert run(let("x", 0), loop("i", 2, 4, let("x", call("+", "x", "i")))).variables == {"x": 9}


@pytest.mark.parametrize(("start", "stop"), [(1, 0), (5, -5)])
def test_an_empty_range_runs_nothing(start, stop):
    assert run(loop("i", start, stop, let("x", call("÷", 1, 0)))).variables == {}


def test_the_bounds_of_a_loop_are_evaluated_once():
    result = run(let("n_", 2), let("x", 0), loop("i", 1, "n_", let("n_", 5), let("x", call("+", "x", 1))))
    assert result.variables == {"n_": 5, "x": 2}


@pytest.mark.parametrize("stop", [2.0, True])
def test_bounds_are_integers(stop):
    with pytest.raises(Fault, match="an integer is needed here"):
        run(loop("i", 1, stop))


def test_a_variable_of_an_iteration_is_gone_in_the_next():
    with pytest.raises(Fault, match="x has no value"):
        run(loop("i", 1, 2, when(call("==", "i", 2), let("y", "x")), let("x", 1)))


def test_a_variable_bound_in_a_body_is_gone_after_it():
    with pytest.raises(Fault, match="x has no value"):
        run(when(True, let("x", 1)), let("y", "x"))


@pytest.mark.parametrize("outer", [loop, parallel])
def test_writing_reaches_the_nearest_scope_that_binds(outer):
    """The x of the outer iteration is written by the inner body, the root has none."""
    result = run(let("y", 0), outer("i", 1, 2, let("x", 1), when(True, let("x", 2)), let("y", call("+", "y", "x"))))
    assert result.variables == {"y": 4}


def test_an_inner_index_hides_the_outer_one():
    result = run(let("x", 0), loop("i", 1, 2, loop("i", 10, 10), let("x", call("+", "x", "i"))))
    assert result.variables == {"x": 3}


def test_a_false_condition_skips_its_body():
    assert run(when(False, let("x", call("÷", 1, 0))), ir.SKIP).variables == {}


@pytest.mark.parametrize("condition", [1, 0.0])
def test_conditions_are_booleans(condition):
    with pytest.raises(Fault, match="a condition is true or false, not"):
        run(when(condition))


@pytest.mark.parametrize(
    "s", [ir.For("i", ir.Whole(), ir.SKIP), ir.Define("s", ir.ScalarCall(ir.Literal(0)))], ids=repr
)
def test_what_elaboration_removes_has_no_meaning_here(s):
    with pytest.raises(InternalError, match=f"no meaning for {type(s).__name__}"):
        run(s)


# --------------------------------------------------------------------------------------------------------- inputs


def test_exact_values_have_the_types_of_programs():
    assert same(exact(np.array(3.0), "int")[()], 3)
    assert same(exact(np.array(3, np.uint8), "float")[()], Fraction(3))
    assert same(exact(np.array(0.1, np.float32), "float")[()], Fraction(float(np.float32(0.1))))
    assert same(exact(np.array(True), "bool")[()], True)
    assert exact(np.zeros((2, 0)), "float").shape == (2, 0)


@pytest.mark.parametrize(
    ("array", "kind", "message"),
    [
        ([np.nan], "int", "NaN is not a 64-bit integer"),
        ([-np.inf], "int", "-Inf is not a 64-bit integer"),
        ([0.5], "int", "0.5 is not a 64-bit integer"),
        (np.array([2**63], np.uint64), "int", "9223372036854775808 is not a 64-bit integer"),
        ([True], "int", "true is not a 64-bit integer"),
        ([1], "bool", "1 is not a boolean"),
        ([1j], "float", "1j is not a double"),
    ],
)
def test_inputs_that_no_program_can_hold_are_refused(array, kind, message):
    with pytest.raises(InputError, match=message):
        exact(np.asarray(array), kind)


def test_an_input_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"y has the shape \(2,\), the program needs \(3,\)"):
        run(shapes={"y": (3,)}, y=[1, 2])


def test_values_are_shown_as_written():
    values = [True, 3, Fraction(1, 2), Fraction(2), Fraction(1, 3), Fraction(10) ** 400]
    assert [show(v) for v in values] == ["true", "3", "0.5", "2.0", "1/3", str(10**400)]
