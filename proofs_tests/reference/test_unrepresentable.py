"""Values that a format cannot hold fault in the reference as in the engines, although it computes with dense arrays."""

from __future__ import annotations

import pytest

from wingspan import api
from wingspan.reference import Undecided

COPY = "A = Tensor({A}(Element(0)), {data})\nT = Tensor({T})\nT .= 0\nfor i = _\nT[i] {op} A[i]\nend\nreturn T"
POINT = "T = Tensor(SparsePoint(Element(0)), 3)\nx = 1\n{body}"
BODIES = {
    "once": "T[2] += 5",
    "again": "T[2] += 5; T[2] += 1",
    "second": "T[2] += 5; T[1] += 1",
    "cancelled": "T[2] += 5; T[2] += -5; T[1] += 1",
    "idle": "T[2] += 5; T[1] += 0",
    "zero": "x = 0; T[2] += 5; T[1] += x",
    "overwritten by zero": "T[2] = 5; T[1] = 0",
    "read between": "T[2] += 5; x = T[2]; T[1] += x",
    "not done": "T[2] += 5; if x > 1; T[1] += 1; end",
}
FINE = ("once", "again", "idle", "not done")


def ends(text: str) -> set[bool]:
    """The endings of the engines, if they agree: True for a fault."""
    found = api.diff(api.parse(text), unsafe=True)
    assert "reference" in found.engines and found.difference is None
    return {ending.fault is not None for ending in found.endings}


@pytest.mark.parametrize("around", ["{}", "for j = 1:2; {}; end"])
@pytest.mark.parametrize("body", BODIES)
def test_a_point_that_is_written_at_two_indices_is_a_fault_in_every_engine(body, around):
    """Also where zeros are written, and where the tensor is declared in an inner scope."""
    assert ends(POINT.format(body=around.format(f"T .= 0; {BODIES[body]}"))) == {body not in FINE}


@pytest.mark.parametrize("op", ["+=", "="])
@pytest.mark.parametrize(
    ("A", "data", "faults"),
    [
        ("SparseList", "[0, 4, 0]", False),
        ("SparseList", "[0, 4, 4]", True),
        ("Dense", "[0, 4, 0]", True),
        ("RunList", "[4, 0, 0]", True),
    ],
)
def test_a_copy_writes_the_zeros_that_its_source_stores(A, data, faults, op):
    assert ends(COPY.format(A=A, data=data, T="SparsePoint(Element(0))", op=op)) == {faults}


def test_what_an_input_stores_is_held_too():
    text = "A = Tensor(SparsePoint(Element(0)), [0, 4, 0])\nA[{}] += 1\nreturn A"
    assert (ends(text.format(2)), ends(text.format(1))) == ({False}, {True})


def test_what_is_set_to_false_is_not_in_a_pattern():
    text = "A = Tensor(Dense(Element(false)), [true, false])\nT = Tensor(SparsePoint(Pattern()))\nT .= false\n"
    assert ends(text + "for i = _\nT[i] |= A[i]\nend\nreturn T") == {False}


@pytest.mark.parametrize(
    ("data", "faults"), [("[0, 4, 4]", False), ("[4, 0, 4]", True), ("[0, 4, 3]", True), ("[0, 0, 0]", False)]
)
def test_an_interval_holds_one_run(data, faults):
    assert ends(COPY.format(A="SparseList", data=data, T="SparseInterval(Element(0))", op="+=")) == {faults}


WORKSPACE = "w = Tensor(Dense(Element(0)), 3)\nw .= 0\nw[2] += 5\nT .= 0\nfor i = _; T[i] += w[i]; end"
INTERVAL = "T = Tensor(SparseInterval(Element(0)), 3)\nT .= 0\nT[2] += 5; {}"


@pytest.mark.parametrize(
    "text", [POINT.format(body=WORKSPACE), INTERVAL.format("T[1] += 5"), INTERVAL.format("T[2] += 5")]
)
def test_the_reference_gives_up_where_it_knows_too_little(text):
    """Engines fault by what a workspace stores, and by the order in which an interval grows."""
    program = api.parse(text)
    with pytest.raises(Undecided, match=r"^error\[input\]: T: .*the reference does not know"):
        api.run(program, engine="reference")
    found = api.diff(program, unsafe=True)
    assert set(found.left_out) == {"reference"} and all(ending.fault for ending in found.endings)


def test_explored_results_are_compared_with_what_no_format_restricts():
    """A run that loses what its format cannot hold, without a fault, is wrong."""
    body = "T .= 0; for j = 1:1; for k = 2:2; T[j] += 1; T[k] += 1; end; end; return T"
    assert api.explore(api.parse(POINT.format(body=body))).verdict.verdict == "wrong"


@pytest.mark.parametrize(
    ("update", "faults"),
    [
        ("C[1] = 1 < x", True),
        ("C[1] |= 1 < x", False),
        ("C[1] &= 1 < x", True),
        ("C[1] = x < 2", False),
        ("C[1] = true; C[1] = false", True),
        ("for i = _; C[i] = A[i]; end", False),
        ("for i = _; C[i] = A[i] && x > 1; end", True),
    ],
)
def test_to_set_an_element_of_a_pattern_to_false_is_a_fault_in_every_engine(update, faults):
    """Elements that an input does not store are not set."""
    given = "A = Tensor(SparseList(Pattern()), [true, false])\nC = Tensor(SparseByteMap(Pattern()), 2)\nx = 1\n"
    assert ends(f"{given}C .= false\n{update}\nreturn C") == {faults}


def test_the_reference_does_not_know_whether_an_overwrite_by_a_literal_is_dropped():
    found = api.diff(api.parse("C = Tensor(SparseByteMap(Pattern()), 2)\nC .= false\nC[1] = false\nreturn C"))
    assert set(found.left_out) == {"reference"} and all(ending.fault for ending in found.endings)
