"""Inf, -Inf and NaN: in programs, as fill values and as data, the same in every engine."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import re

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from proofs_tests.levels.test_widths import ends
from wingspan import Tensor, api
from wingspan.base import documents
from wingspan.base.errors import InputError
from wingspan.lang.algebra import apply
from wingspan.lang.ir import NAN
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.reference import Undecided
from wingspan.testing.formats import STORAGE

DATA = "A = Tensor(Dense(Element(-Inf)), [1.0, -Inf, NaN])"
ENGINES = ("semantics", "reference", "native", "compiled")
BEYOND = np.array([0.0, math.inf, math.nan, math.nan, -math.inf, 1.5])


def results(text, name="C", engines=ENGINES, **inputs):
    """The result of a program on each engine, by name, as one list if all agree; NaN agrees with NaN."""
    found = [api.run(api.parse(text), engine=e, inputs=inputs, unsafe=False).tensors[name].to_numpy() for e in engines]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    return found[0].tolist()


@pytest.mark.parametrize("text", ["x = Inf", "x = -Inf", "x = NaN", "x = -(Inf)", "x = Inf - NaN", DATA])
def test_literals_are_printed_as_they_are_written(text):
    assert parse(show(parse(text))) == parse(text) and show(parse(text)).strip() == text


def test_words_that_begin_so_are_names():
    assert show(parse("Infinity = NaNs + Inf")).strip() == "Infinity = NaNs + Inf"


@pytest.mark.parametrize("fill", ["0.0", "Inf", "-Inf", "NaN", "0.0, f32", "NaN, f32"])
@pytest.mark.parametrize("level", few(list(STORAGE), 2))
def test_data_come_back(level, fill):
    """From dense arrays, with what differs from the fill value stored, and by way of the operations of the level."""
    form = f"{level}(Element({fill}))"
    for array in (BEYOND, BEYOND[:0], np.full(3, np.nan), np.full(3, np.inf)):
        for data in (array, array.astype(object)):
            tensor = Tensor.from_numpy(form, data)
            tensor.validate()
            np.testing.assert_array_equal(tensor.to_numpy(), array)
        text = f"A = Tensor({form})\nC = Tensor({form})\nC .= {fill.partition(',')[0]}\n"
        text += "for i = _\nC[i] = A[i]\nend\nreturn C"
        np.testing.assert_array_equal(results(text, engines=("semantics", "native"), A=tensor), array)


def test_a_fill_value_of_nan_is_not_stored():
    assert [Tensor.from_numpy(f"SparseList(Element({z}))", BEYOND).nnz for z in ("NaN", "Inf", "0.0")] == [4, 5, 5]
    assert Tensor.from_numpy("SparseList(Element(NaN))", BEYOND.astype(object)).nnz == 4
    assert Tensor.from_numpy("Dense(SparseDict(Element(NaN)))", np.full((2, 2), np.nan)).nnz == 0


def test_scipy_arrays_and_files_keep_them(tmp_path):
    matrix = scipy.sparse.csc_array(np.array([[0.0, math.inf], [math.nan, -math.inf]]))
    tensor = Tensor.from_scipy("Dense(SparseList(Element(0.0)))", matrix)
    for suffix in ("mtx", "tns", "npz", "npy", "h5"):
        tensor.save(tmp_path / f"A.{suffix}")
        back = Tensor.from_file("Dense(SparseList(Element(0.0)))", tmp_path / f"A.{suffix}")
        np.testing.assert_array_equal(back.to_numpy(), matrix.toarray())
    np.testing.assert_array_equal(tensor.to_scipy().toarray(), matrix.toarray())
    duplicates = scipy.sparse.coo_array(
        ([math.inf, 1.0, -math.inf, math.inf], ([0, 0, 1, 1], [0, 0, 1, 1])), shape=(2, 2)
    )
    found = Tensor.from_scipy("Dense(SparseList(Element(0.0)))", duplicates).to_numpy()
    np.testing.assert_array_equal(found, [[math.inf, 0], [0, math.nan]])


def test_neighbours_that_are_nan_are_one_run():
    """Also where an engine has made them in several ways, which differ in bits."""
    text = """
        A = Tensor(Dense(Element(0.0)), [Inf, NaN, 2.0, Inf])
        C = Tensor({}(Element(0.0)))
        C .= 0.0
        for i = _
            C[i] = A[i] - A[i] + min(-Inf, A[i] * 0.5)
        end
        return C
    """
    for level in ("SparseRunList", "RunList"):
        made = [
            api.run(api.parse(text.format(level)), engine=e).tensors["C"] for e in ("semantics", "native", "compiled")
        ]
        assert {str(tensor).count("─") for tensor in made} == {str(made[0]).count("─")}
        assert all("[1:2]: NaN" in str(tensor) for tensor in made)
    assert "[3:4]: NaN" in str(Tensor.from_numpy("SparseRunList(Element(0.0))", BEYOND))


def test_min_and_max_are_nan_in_any_order():
    """As updates of one element too, so that tasks may come in any order."""
    orders = np.array([*itertools.permutations([math.nan, math.inf, -1.0])])
    for op in ("min", "max"):
        text = "A = Tensor(Dense(Dense(Element(0.0))))\nC = Tensor(Dense(Atomic(0.5)), 6)\nC .= 0.5\n"
        text += f"for i = parallel(_)\nfor j = _\nC[j] <<{op}>>= A[j, i]\nend\nend\nreturn C"
        assert np.isnan(results(text, A=orders)).all()
        assert np.isnan(results(text.replace("Atomic", "Element").replace("parallel(_)", "_"), A=orders)).all()
        assert apply(op, 1, 2, NAN) is NAN


@pytest.mark.parametrize(
    ("a", "expected"),
    [
        ("SparseList(Element(0.0))", [0.0, math.nan, math.inf, 0.0]),
        ("Dense(Element(0.0))", [math.nan] * 2 + [math.inf, 0.0]),
    ],
)
def test_a_zero_that_is_stored_is_data(a, expected):
    """The fill value annihilates Inf and NaN; so does a literal, but not what is stored."""
    program = (
        f"A = Tensor({a})\nB = Tensor(Dense(Element(0.0)), [Inf, NaN, Inf, 7.0])\nC = Tensor(Dense(Element(0.0)))\n"
    )
    program += "C .= 0.0\nfor i = _\nC[i] += A[i] * B[i]\nC[i] += 0 * B[i]\nend\nreturn C"
    given = scipy.sparse.coo_array(([0.0, 1.0], ([1, 2],)), shape=(4,))
    tensor = Tensor.from_scipy(a, given) if "Sparse" in a else Tensor.from_numpy(a, given.toarray())
    np.testing.assert_array_equal(results(program, A=tensor), expected)


def test_the_reference_gives_up_where_formats_decide():
    """Zeros of a workspace; `diff` says so, and compares the other engines."""
    text = """
        B = Tensor(Dense(Element(0.0)), [Inf, 1.0])
        w = Tensor({}(Element(0.0)))
        C = Tensor(Dense(Element(0.0)))
        w .= 0.0
        for i = 2:2
            w[i] += B[i]
        end
        C .= 0.0
        for i = _
            C[i] += w[i] * B[i]
        end
        return C
    """
    for level, first in (("SparseList", 0.0), ("Dense", math.nan)):
        program = text.replace("Tensor({}(Element(0.0)))", f"Tensor({level}(Element(0.0)), 2)")
        with pytest.raises(Undecided, match="zero times Inf or NaN"):
            api.run(api.parse(program), engine="reference")
        made = api.diff(api.parse(program))
        assert made.difference is None and "reference" in made.left_out
        np.testing.assert_array_equal(results(program, engines=("semantics", "native", "compiled")), [first, 1.0])
        assert api.explore(api.parse(program)).verdict.left_out[0][1] == "whether a zero is stored"


def test_faults_are_the_same_in_every_engine():
    updates = itertools.product(("C[] = x[1]", "C[] = 1 / (x[1] * 0 == x[1])"), ("Inf", "NaN"))
    texts = [
        f"x = Tensor(Dense(Element(0.0)), [{value}])\nC = Tensor(Element(0))\nC .= 0\n{update}\nreturn C"
        for update, value in updates
    ]
    for found in ends(*texts):
        assert all(re.search(r"integer|division by zero", end) for end in found), found


def test_nan_equals_itself_in_states_and_has_a_name_in_json():
    text = "C = Tensor(Dense(Atomic(-Inf)), 1)\nC .= -Inf\nfor i = parallel(1:2)\nC[1] += Inf\nend\nreturn C"
    for machine in ("semantics", "native"):
        found = api.explore(api.parse(text), machine=machine).verdict
        assert found.complete and [one.outcome.values() for one in found.results] == [{"C": [NAN]}]
    assert pickle.loads(pickle.dumps({"x": (NAN, math.inf)})) == {"x": (NAN, math.inf)}
    made = documents.text(documents.finite({"x": [math.inf, -math.inf, math.nan, 1.5]}))
    assert json.loads(made) == {"x": ["Inf", "-Inf", "NaN", 1.5]}


def test_what_integers_do_not_hold_is_one_error():
    for value, form in itertools.product((math.inf, math.nan), ("Element(0)", "Element(0, u8)", "Element(false)")):
        with pytest.raises(InputError, match="is not a"):
            Tensor.from_numpy(f"Dense({form})", np.array([value]))


def test_what_is_not_stored_annihilates_within_ifelse():
    expected = {
        "A[i] * Inf": [0.0, math.inf],
        "ifelse(i > 1, 1.0, A[i] * Inf)": [0.0, 1.0],
        "ifelse(i > 1, 1.0, 0 * Inf)": [math.nan, 1.0],
        "ifelse(B[i] > 1, A[i] * B[i], 0.0)": [0.0, 6.25],
        "coalesce(A[~(i - 1)], A[i] * NaN)": [0.0, 0.0],
    }
    text = "A = Tensor(SparseList(Element(0.0)), [0.0, 2.5])\nB = Tensor(Dense(Element(0.0)), [Inf, 2.5])\n"
    text += "y = Tensor(Dense(Dense(Element(0.0))), 5, 2)\ny .= 0.0\n"
    text += "".join(f"for i = 1:2\ny[{k}, i] = {value}\nend\n" for k, value in enumerate(expected, 1)) + "return y"
    found = results(text, "y", (*ENGINES, "native-controlled"))
    np.testing.assert_array_equal(found, [*expected.values()])


def test_a_run_of_the_largest_doubles_does_not_change_what_is_infinite():
    text = "R = Tensor(SparseRunList(Element(0.0)), [-1e308, -1e308, -1e308])\nq = Scalar(0.0)\nq .= Inf\n"
    text += "for i = 1:3\nq[] += R[i]\nend\nreturn q"
    assert results(text, "q", (*ENGINES, "native-controlled")) == math.inf


def test_integers_are_updated_by_integers_only():
    updates = {"*=": [0.5], "<<max>>=": [0.5], "<<min>>=": [2.5, 0.5], "+=": [0.5]}
    texts = [
        f"A = Tensor(Dense(Element(0.0)), {values})\nq = Scalar(0)\nq .= 2\nfor i = _\nq[] {sign} A[i]\nend\nreturn q"
        for sign, values in updates.items()
    ]
    for found in ends(*texts):
        assert all("is not a 64-bit integer" in end for end in found), found
