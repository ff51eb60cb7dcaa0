"""Extents and ranges: `_` is the axis on which the index stands bare, and loops give extents to what has none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest

from proofs_tests.elaborating import MATRIX, VECTOR, Mistake, elaborated, mistake, same_text, shown
from wingspan import api
from wingspan.base.errors import InputError, ProgramError

HEAD = f"A = {MATRIX}, [1 2 3; 4 5 6]); v = {VECTOR}, [1, 2, 3]); c = {VECTOR}); d = {VECTOR}); x = 2\n"


def extent(statements: str, tensor: str = "c", **given) -> tuple[int, ...]:
    """The extents of a tensor after HEAD and its declaration."""
    return elaborated(f"{HEAD}{tensor} .= 0; {statements}", **given).towers[tensor].shape


# -------------------------------------------------------------------------------------------------------- by example


def test_whole_is_the_axis_on_which_the_index_stands_bare():
    text = f"{HEAD}c .= 0; for j = _; for i = _; c[j] += A[i, j]; end; end"
    assert "for j = 1:3\n    for i = 1:2\n        c[j] += A[i, j]" in shown(text)


def test_whole_in_a_parallel_loop_keeps_its_device_and_its_schedule():
    text = f"{HEAD}c .= 0; for i = parallel(_, cpu(:t, 3), dynamic_schedule(2)); c[i] += v[i]; end"
    assert "for i = parallel(1:3, t, dynamic_schedule(2))" in shown(text)


def test_an_extent_is_found_through_other_tensors_with_inferred_extents():
    """v gives i in the first loop, c gives it in the second, and d follows."""
    text = f"{HEAD}c .= 0; d .= 0; for i = _; c[i + 1] += v[i]; end; for i = _; d[i] += c[i]; end"
    towers = elaborated(text).towers
    assert (towers["c"].shape, towers["d"].shape) == ((4,), (4,))


WHOLE_AGAIN = {
    "for i = 1:4; c[i] += 1; end; for i = _; c[i] += 1; end": (4,),
    "for i = _; c[i] += 1; end; c[5] += 1": (5,),
    "for j = _; for i = 1:2; c[i] += v[j]; end; end; for i = parallel(_); c[i] += 1; end": (2,),
    "d .= 0; for i = _; c[i] += 1; d[i] += 1; end; for i = 1:2; d[i] += 1; end": (2,),
    "for i = 1:0; c[i] += 1; end; for i = _; c[i] += 1; end": (0,),
    "d .= 0; d[5] += 1; for i = _; d[i] += 1; end; c[3] += 1; for i = _; c[i] += d[i]; end": (5,),
}


@pytest.mark.parametrize("statements", WHOLE_AGAIN)
def test_an_axis_that_is_updated_over_its_whole_length_gets_its_extent_from_the_other_updates(statements):
    """The loop over `_` has no other range than the axis, and the axis no other extent than other updates give. A loop
    that runs over another tensor is among these.
    """
    assert extent(statements) == WHOLE_AGAIN[statements]


WITHIN = {
    "c[i - i % 2]": "2:5",
    "c[i + 1]": "0:3",
    "c[i - 1]": "2:5",
    "c[2 * i]": "1:2",
    "c[(i + 1) ÷ 2]": "1:8",
    "c[5 - i]": "1:4",
    "c[v[i + 1]]": "0:1",
    "c[i + 1] += v[i - 1]; c[i + 2]": "2:2",
    "c[i + 5] += v[i - 5]; c[i + 2]": "1:0",
}
"""Subscripts with the index of a loop over `_`, of axes with 4 elements and v with 2, and its range."""


@pytest.mark.parametrize("body", WITHIN)
def test_an_index_that_stands_bare_nowhere_runs_as_far_as_its_subscripts_lie_in_their_axes(body):
    text = f"c = {VECTOR}, 4); v = {VECTOR}, [1, 2])\nc .= 0; for i = _; {body} += 1; end\nreturn c"
    assert f"for i = {WITHIN[body]}\n" in shown(text)
    assert api.diff(api.parse(text)).difference is None


NOT_WITHIN = (
    "c[i % 2 + 1]", "c[i * i]", "c[j + i]", "c[i + v[1]]", "d .= 0; d[i + 1]", "c[~(i + 1)]", "c[2 * (i ÷ 2) % 3]",
    "c[2]",
)  # fmt: skip
"""Subscripts that say nothing of how far the index runs, or that depend on something else, too."""


@pytest.mark.parametrize("access", NOT_WITHIN)
def test_a_range_is_asked_for_where_subscripts_do_not_bound_an_index(access):
    head = f"c = {VECTOR}, 4); d = {VECTOR}); v = {VECTOR}, [1, 2])\nc .= 0\n"
    with pytest.raises(ProgramError) as raised:
        elaborated(f"{head}for j = 1:1; for i = _; {access} += 1; end; end")
    assert raised.value.diagnostics[0].message == "the range of i cannot be inferred: i stands bare on no axis"


def test_loops_over_an_axis_of_extent_zero_are_empty():
    text = f"z = {VECTOR}, []); c = {VECTOR})\nc .= 0; for i = _; c[i] += z[i]; end"
    assert same_text(text, "declare(c, 0, +)\nfor i = 1:0\n    c[i] += z[i]\nend\nfreeze(c, +)")
    assert elaborated(text).towers["c"].shape == (0,)


LARGEST = {
    "for i = 1:4; c[i] += 1; end": 4,
    "for i = 1:4; c[i - i % 2 + 1] += 1; end": 5,
    "for i = 2:4; c[6 - i] += 1; end": 4,
    "for i = 1:3; for j = 1:i; c[i + j] += 1; end; end": 6,
    "for i = 1:3; for j = i:2; c[i * j] += 1; end; end": 4,
    "for i = 3:2; c[i] += 1; end": 0,
    "for i = -3:-1; c[i] += 1; end": 0,
    "for i = -3:2; c[i] += 1; end": 2,
    "c[7] += 1": 7,
    "for i = 0:4; c[12 ÷ i] += 1; end": 12,
    "for i = 1:2; c[i] += 1; end; c[3] += 1; y = 1; for i = 1:9; y = y + i; end": 3,
    "for i = 1:4; if i < 3; c[i] += 1; end; end": 4,
    "for i = 1:n; c[i + k] += 1; end": 9,
    "y = c[5]": 5,
    "c[2] += 1; for i = 1:5; y = c[min(i, 2)]; end": 2,
}


@pytest.mark.parametrize("statements", LARGEST)
def test_an_axis_without_an_extent_gets_the_largest_subscript_of_the_loops(statements):
    """Conditions apart; updates decide, and reads only where there are none; what faults does not count."""
    params = {"n": 4, "k": 5} if "n;" in statements else {}
    assert extent(statements, params=params) == (LARGEST[statements],)


def test_extents_may_be_expressions_of_parameters():
    text = f"C = {MATRIX}, n, isqrt(n) + 1)\nC .= 0"
    assert elaborated(text, params={"n": 9}).towers["C"].shape == (9, 4)


def test_an_input_brings_its_extents():
    bound = elaborated("for i = _; x = A[i, 1]; end", inputs={"A": np.ones((2, 5))})
    assert bound.towers["A"].shape == (2, 5)
    assert str(bound.towers["A"]) == "Dense(SparseList(Element(0.0)))"


# ---------------------------------------------------------------------------------------------------------- mistakes

MANY = "c .= 0; for i = 1:2000000; c[i % 2 + 1] += 1; end"
"""So many iterations take seconds to try."""


def each_mistake(texts: Iterable[str]) -> list[Any]:
    """The values of a parametrized test."""
    return [pytest.param(text, marks=pytest.mark.deep) if text.endswith(MANY) else text for text in texts]


MISTAKES = {
    "for i = _; y = i; end": Mistake(
        "2:1", "the range of i cannot be inferred: i stands bare on no axis", "for i = 1:n"
    ),
    "for i = _; y = v[i % 2]; end": Mistake(
        "2:1", "the range of i cannot be inferred: i stands bare on no axis", "for i = 1:n"
    ),
    "c .= 0; for i = parallel(_); c[i] += 1; end": Mistake(
        "2:9", "the range of i cannot be inferred: no tensor that i subscripts has a known extent", "for i = 1:n"
    ),
    "for i = _; y = A[i, i]; end": Mistake(
        "2:16", "i runs over axis 1 of A, which has extent 2, and over axis 2 of A, which has 3",
        "give the range: for i = 1:2, or access A under a condition on i",
    ),
    "for i = _; y = A[i, 1] + v[i]; end": Mistake(
        "2:26", "i runs over axis 1 of A, which has extent 2, and over axis 1 of v, which has 3",
        "give the range: for i = 1:2, or access A under a condition on i",
    ),
    "c .= 0; c[5] += 1; for i = _; y = c[i] + v[i]; end": Mistake(
        "2:42", "i runs over axis 1 of c, which has extent 5, and over axis 1 of v, which has 3",
        "give the range: for i = 1:3, or access v under a condition on i",
    ),
    "c .= 0; d .= 0; c[5] += 1; d[4] += 1; for i = _; c[i] += 1; d[i] += 1; end": Mistake(
        "2:61", "i runs over axis 1 of c, which has extent 5, and over axis 1 of d, which has 4",
        "give the range: for i = 1:4, or access d under a condition on i",
    ),
    "c .= 0; c[x] += 1": Mistake(
        "1:97", "the extent of axis 1 of c cannot be inferred from the loops", "give the extents: c = Tensor(FORMAT, n)"
    ),
    "c .= 0; for i = 1:v[1]; c[i] += 1; end": Mistake(
        "1:97", "the extent of axis 1 of c cannot be inferred from the loops", "give the extents: c = Tensor(FORMAT, n)"
    ),
    MANY: Mistake(
        "1:97", "the extent of axis 1 of c cannot be inferred from the loops", "give the extents: c = Tensor(FORMAT, n)"
    ),
    "c .= 0; for i = 1:9000000000; for j = 2:1; c[i + j] += 1; end; end": Mistake(
        "1:97", "the extent of axis 1 of c cannot be inferred from the loops", "give the extents: c = Tensor(FORMAT, n)"
    ),
    "E = Tensor(SparseByteMap(SparseList(Dense(Element(0)))), 500000, 1, 50000); E .= 0": Mistake(
        "2:1", "SparseByteMap and Dense of E would have 25000000000 positions, and 8589934592 is the most",
        "use smaller extents, or a SparseList",
    ),
    f"E = {MATRIX}, 400000, 40000); E .= 0": Mistake(
        "2:1", "Dense of E would have 16000000000 positions, and 8589934592 is the most",
        "use smaller extents, or a SparseList",
    ),
    "c .= 0; c[9000000000] += 1": Mistake(
        "1:97", "Dense of c would have 9000000000 positions, and 8589934592 is the most",
        "use smaller extents, or a SparseList",
    ),
    f"E = {MATRIX}); E .= 0": Mistake(
        "2:1",
        "the extent of axis 1 of E cannot be inferred from the loops",
        "give the extents: E = Tensor(FORMAT, n, n)",
    ),
    f"E = {MATRIX}, 2); E .= 0": Mistake(
        "2:1", "E has 2 axes and 1 extent", "give one extent for each axis, or none"
    ),
    f"E = {VECTOR}, 0 - 1)": Mistake("2:31", "an extent is an integer of at least 0, not -1", "use 0 or more"),
    f"E = {VECTOR}, 1.5)": Mistake("2:31", "an extent is an integer of at least 0, not 1.5", "use 0 or more"),
    f"E = {VECTOR}, n + 1)": Mistake(
        "2:31", "n has no value", "assign it before, or give it as a parameter: -p n=…"
    ),
    f"E = {VECTOR}, x)": Mistake(
        "2:31", "an extent must be a constant, and x is none", "use numbers and parameters only"
    ),
    f"E = {VECTOR}, 1 ÷ 0)": Mistake("2:31", "an extent has no value: division by zero", "use another expression"),
}  # fmt: skip


@pytest.mark.parametrize("text", each_mistake(MISTAKES))
def test_a_range_or_an_extent_that_is_missing_or_disagrees_is_told(text):
    assert mistake(HEAD + text) == MISTAKES[text]


CONSTANTS = {
    "y = v[4]": Mistake("2:7", "axis 1 of v has extent 3, and here the index 4", "use an index from 1 to 3"),
    "y = v[2 - 3]": Mistake("2:7", "axis 1 of v has extent 3, and here the index -1", "use an index from 1 to 3"),
    "y = v[n]": Mistake("2:7", "axis 1 of v has extent 3, and here the index 9", "use an index from 1 to 3"),
    "y = v[1.0]": Mistake("2:7", "a subscript is an integer, not 1.0", "use an index from 1 to 3"),
    "y = v[true]": Mistake("2:7", "a subscript is an integer, not true", "use an index from 1 to 3"),
    "y = A[2, v[7]]": Mistake("2:12", "axis 1 of v has extent 3, and here the index 7", "use an index from 1 to 3"),
    "y = A[3, 3]": Mistake("2:7", "axis 1 of A has extent 2, and here the index 3", "use an index from 1 to 2"),
    "if false; y = v[0]; end": Mistake(
        "2:17", "axis 1 of v has extent 3, and here the index 0", "use an index from 1 to 3"
    ),
    "for i = 2:1; y = v[0]; end": Mistake(
        "2:20", "axis 1 of v has extent 3, and here the index 0", "use an index from 1 to 3"
    ),
    "c .= 0; c[2] += 1; y = c[5]": Mistake(
        "2:26", "axis 1 of c has extent 2, and here the index 5", "use an index from 1 to 2"
    ),
    "c .= 0; c[0] += 1": Mistake(
        "2:11", "axis 1 of c has extent 0, and here the index 0", "indices count from 1, to the extent"
    ),
}


@pytest.mark.parametrize("text", CONSTANTS)
def test_a_constant_subscript_outside_of_its_axis_is_a_mistake_wherever_it_stands(text):
    """Only updates make an axis without an extent grow."""
    assert mistake(HEAD + text, params={"n": 9} if "[n]" in text else {}) == CONSTANTS[text]


@pytest.mark.parametrize("text", ["if false; y = v[x + 7]; end", "if false; y = v[1 ÷ 0]; end", "y = A[2, 3] + v[3]"])
def test_other_subscripts_are_left_to_the_run(text):
    """Subscripts that depend on the run, that have no value, or that lie inside."""
    assert elaborated(HEAD + text)


def test_an_input_must_have_the_extents_that_the_program_gives():
    text = f"v = {VECTOR}, 3)\ny = v[1]"
    expected = Mistake(
        "1:1", "axis 1 of v has extent 3, that of the input 2", "leave the extents out, or bind another input"
    )
    assert mistake(text, InputError, inputs={"v": [1, 2]}) == expected


@pytest.mark.deep
@pytest.mark.parametrize("verb", [partial(api.run, engine="semantics"), api.explore], ids=["run", "explore"])
def test_where_each_cell_is_an_entry_of_a_dictionary_less_is_the_most(verb):
    text = f"E = {MATRIX}, 4000, 4000)\nE .= 0\nreturn E"
    with pytest.raises(InputError, match="Dense of E would have 16000000 positions, and 10000000 is the most") as told:
        verb(api.parse(text))
    assert told.value.span is not None and told.value.span.line == 2
    assert api.run(api.parse(text), engine="native").tensors["E"].to_numpy().sum() == 0
