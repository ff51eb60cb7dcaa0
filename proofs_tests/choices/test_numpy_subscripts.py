"""`einsum` with subscripts as NumPy takes them computes what NumPy does, or says why not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.effort import many
from wingspan.api.subscripts import is_subscripts
from wingspan.base.errors import InputError, ParseError

LETTERS = "ijkA"


@st.composite
def sums(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    """Subscripts of one to three operands with up to four letters, of extents 0 to 3, and the operands."""
    extents = {letter: draw(st.integers(0, 3)) for letter in LETTERS}
    parts = draw(st.lists(st.text(LETTERS, max_size=3), min_size=1, max_size=3))
    letters = sorted(set("".join(parts)))
    result = draw(st.none() | st.permutations(letters).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n])))
    blank = draw(st.sampled_from(["", " "]))
    text = f",{blank}".join(parts) + ("" if result is None else f"{blank}->{blank}{''.join(result)}")
    arrays: list[np.ndarray] = []
    for part in parts:
        shape = tuple(extents[letter] for letter in part)
        values = draw(st.lists(st.integers(-2, 2), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        kind = draw(st.sampled_from([np.bool_, np.int64, np.float64]))
        arrays.append(np.array(values).astype(kind).reshape(shape))
    return text, arrays


@settings(max_examples=max(15, many(400)), deadline=None)
@given(sums(), st.booleans())
def test_it_computes_what_numpy_does(case: tuple[str, list[np.ndarray]], sparse: bool) -> None:
    text, arrays = case
    operands: list[Any] = [scipy.sparse.coo_array(a) if sparse and a.ndim == 2 else a for a in arrays]
    found = wingspan.einsum(text, *operands, engine="native").to_numpy()
    expected = np.einsum(text, *arrays)
    assert found.shape == expected.shape and np.array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("kind", [np.bool_, np.int64, np.float64])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_letter_twice_is_a_diagonal(kind: type, n: int) -> None:
    """Of an operand or of the result, which has zeros elsewhere."""
    x: np.ndarray = np.arange(n).astype(kind)
    m: np.ndarray = np.arange(n * n).reshape(n, n).astype(kind)
    for text, operand, expected in (
        ("i->ii", x, np.diag(x)),
        ("ii->i", m, np.diag(m)),
        ("ij->iji", m, np.where(np.eye(n)[:, None, :] == 1, m[:, :, None], 0)),
        ("ii", m, m.any(where=np.eye(n) == 1) if kind == np.bool_ else np.trace(m)),
    ):
        made = wingspan.einsum(text, operand, engine="native")
        assert made.dtype == kind and np.array_equal(made.to_numpy(), expected), text


def test_a_large_diagonal_is_not_stored_as_a_square() -> None:
    made = wingspan.einsum("i->ii", np.ones(100_000))
    assert made.shape == (100_000, 100_000) and made.nnz == 100_000


@pytest.mark.parametrize(("text", "count", "said"), [
    ("...ij->...ji", 1, "an ellipsis stands for any number of axes"),
    ("ij,jk->ik", 1, "ij,jk->ik has subscripts of 2 operands, and 1 is given"),
    ("ij", 0, "has subscripts of 1 operand, and 0 are given"),
    ("ij->k", 1, "no operand has the axis k"),
    ("C[i] += A[i]", 1, "operands without names belong to subscripts of NumPy"),
])  # fmt: skip
def test_what_it_does_not_take_is_one_message(text: str, count: int, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as raised:
        wingspan.einsum(text, *[np.ones((2, 2))] * count)
    assert raised.value.fix


def test_operands_are_given_in_one_way() -> None:
    with pytest.raises(InputError, match="take their operands by position"):
        wingspan.einsum("ij->ji", A=np.ones((2, 2)))
    with pytest.raises(InputError, match="take their operands by position"):
        wingspan.einsum("C[i] += A[i]", np.ones(2), A=np.ones(2))


def test_extents_that_disagree_are_told_by_the_names_of_the_operands() -> None:
    with pytest.raises(InputError, match=r"axis 1 of operand2 has extent 3, and axis 2 of operand1 has 2"):
        wingspan.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((3, 2)))


def test_nothing_is_the_subscripts_of_a_number_and_no_program() -> None:
    assert wingspan.einsum("", 2.5).to_numpy() == 2.5
    with pytest.raises(ParseError, match="the program is empty"):
        wingspan.einsum("")


@pytest.mark.parametrize(
    "text", ["C[i] += A[i]", "c[] = A[]", "function f(x) = x\ny[i] += f(A[i])", "ij;jk", "i=j", "i1"]
)
def test_expressions_of_ours_are_no_subscripts(text: str) -> None:
    assert not is_subscripts(text)
