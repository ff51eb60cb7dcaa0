"""Loops over rows: C keeps some cells in registers for all rounds, and computes the same, bit by bit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.compiled import build
from wingspan.plan.ir import If, Load, Set, walk
from wingspan.plan.kernels import Tile
from wingspan.plan.passes import tile
from wingspan.plan.pipeline import for_c, lower

PRODUCT = """
    A = Tensor({form})
    B = Tensor(Dense(Dense(Element(0.0))))
    D = Tensor(Dense(Dense(Element(0.0))))
    C = Tensor(Dense(Dense(Element(0.0))))
    C .= 0
    for j = _
        for k = _
            {body}
    return C
"""
SUM = "for r = _\n                C[r, j] += A[k, j] * B[r, k]"


def product(body: str = SUM, form: str = "Dense(SparseList(Element(0.0)))", **change: str) -> str:
    text = PRODUCT.format(form=form, body=body)
    for old, new in change.items():
        text = text.replace(f"{old} = Tensor(Dense(Dense(Element(0.0))))", f"{old} = Tensor({new})")
    return text


def tiles(text: str) -> list[Tile]:
    made = for_c(lower(api.bind(api.parse(text), symbolic=True)))
    return [s for s in walk(made.body) if isinstance(s, Tile)]


# ---------------------------------------------------------------------------------------------------- which loops

LEGAL = {
    "a sum": SUM,
    "a difference": "for r = _\n                C[r, j] += A[k, j] * (B[r, k] - 0.5)",
    "of two rows": "for r = _\n                C[r, j] += A[k, j] * B[r, k] * D[r, k]",
    "a minus": "for r = _\n                C[r, j] -= A[k, j] * -B[r, k]",
    "under a condition": "if A[k, j] > 1\n                for r = _\n                    C[r, j] += A[k, j] * B[r, k]",
}
OTHERS = {
    "no arithmetic": "for r = _\n                C[r, j] <<min>>= A[k, j] * B[r, k]",
    "a comparison": "for r = _\n                C[r, j] += A[k, j] * B[r, k] * (B[r, k] > 0.5)",
    "a condition in it": "for r = _\n                if B[r, k] > 0.5\n                    C[r, j] += A[k, j]",
    "a cell of each round": "for r = _\n                C[r, k] += A[k, j] * B[r, k]",
    "a cell for all": "for r = _\n                C[j, k] += A[k, j] * B[r, k]",
    "a quotient": "for r = _\n                C[r, j] += A[k, j] * (B[r, k] / 2.0)",
    "another row": "for r = _\n                C[r, j] += A[k, j] * B[k, r]",
    "two loops": f"{SUM}\n            {SUM}",
}


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL)
def test_loops_over_rows_are_tiled(body: str) -> None:
    (found,) = tiles(product(body))
    assert tile.row(found) is not None


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_other_loops_are_not(body: str) -> None:
    assert tiles(product(body)) == []


@pytest.mark.parametrize(
    "text",
    [
        product().replace("0.0", "0"),
        product(B="Dense(Dense(Element(0.0, f32)))"),
        product(C="Dense(Dense(Element(0.0, f32)))"),
        product(C="SparseDict(SparseDict(Element(0.0))), 4, 4"),
        product(C="Dense(Dense(Atomic(0.0)))"),
    ],
    ids=["integers", "narrow ones", "narrow sums", "hashed cells", "atomic ones"],
)
def test_only_doubles_that_a_task_adds_in_the_open_are(text: str) -> None:
    assert tiles(text) == []


def test_what_a_tile_stands_for() -> None:
    """All machines but C run the whole loop, if there is a lane."""
    (found,) = tiles(product())
    front, guarded = found.expand()
    assert isinstance(front, Set) and front.reg == found.front and found.carried
    assert isinstance(guarded, If) and guarded.then == found.body
    known = tile.row(found)
    assert known is not None and known[0].apart
    loads = [s for s in known[0].body if isinstance(s, Load)]
    assert [tile.same(s, known[1], known[0]) for s in loads] == [False, True]


# -------------------------------------------------------------------------------------------------- what they compute


def agree(text: str, inputs: dict[str, Any]) -> str:
    """C and the register machine compute the same bits, but for the sign of what is no number; the C."""
    kernels = [wingspan.compile(api.parse(text), engine=engine) for engine in ("compiled", "native")]
    one, other = (np.array(kernel(**inputs)) for kernel in kernels)
    one[np.isnan(one)] = other[np.isnan(other)] = np.nan
    assert one.shape == other.shape and one.tobytes() == other.tobytes()
    return kernels[0].source


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Doubles whose sums are rounded, zeros of both signs, infinities, and what is no number."""
    odd = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324], shape)
    return np.where(rng.random(shape) < 0.1, odd, rng.normal(size=shape))


@needs_compiler
@pytest.mark.parametrize("rank", [0, 1, 2, 15, 16, 17, 31, 32, 33, 48])
def test_rows_of_any_length(rank: int) -> None:
    """Beside the width of a tile, and of registers; fibers without entries, and with zeros that are stored."""
    rng = np.random.default_rng(rank)
    for n, m in ((0, 3), (1, 1), (7, 5)):
        A = np.where(rng.random((n, m)) < 0.6, numbers(rng, (n, m)), 0)
        source = agree(product(D="Dense(Dense(Element(0.0))), 1, 1"), {"A": A, "B": numbers(rng, (rank, n))})
        assert "WS_LANES_AT" in source


@needs_compiler
def test_mttkrp_by_rows_agrees_on_threads() -> None:
    rng = np.random.default_rng(3)
    params = {"nt": 3, "sch": "dynamic_schedule(2)"}
    kernel = wingspan.compile(EXAMPLES / "mttkrp_rows.ws", params=params)
    B = rng.normal(size=(9, 7, 11)) * (rng.random((9, 7, 11)) < 0.2)
    C, D = rng.normal(size=(20, 7)), rng.normal(size=(20, 9))
    found = np.asarray(kernel(BT=B, CT=C, DT=D))
    assert np.allclose(found, np.einsum("lki,rk,rl->ri", B, C, D)) and "WS_LANES_AT" in kernel.source


@needs_compiler
def test_the_c_has_no_warnings(tmp_path: Path) -> None:
    inputs = {"A": np.eye(3), "B": np.ones((20, 3))}
    api.emit_c(api.parse(product(D="Dense(Dense(Element(0.0))), 1, 1")), tmp_path, inputs=inputs)
    strict = ["-std=gnu11", "-O2", "-march=native", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-pthread", "-c"]
    (made,) = tmp_path.glob("*.c")
    subprocess.run([*(build.compiler() or []), *strict, made.name], cwd=tmp_path, check=True)
    assert "WS_EACH" in made.read_text("utf-8")


FORMS = ["Dense(SparseList(Element(0.0)))", "Dense(SparseByteMap(Element(0.0)))", "Dense(Dense(Element(0.0)))",
         "SparseDict(SparseList(Element(0.0)))"]  # fmt: skip
TERMS = st.recursive(
    st.sampled_from(["A[k, j]", "B[r, k]", "D[r, k]", "D[r, j]", "0.1"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner) | st.builds("-{}".format, inner),
    max_leaves=4,
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A loop over rows, most times one that is tiled: under a condition, of another cell, of more than a product."""
    term = draw(TERMS)
    term = draw(st.sampled_from(["A[k, j] * {}", "{} * -A[k, j]", "-A[k, j] * {}", "{}"])).format(term)
    where = draw(st.sampled_from(["C[r, j]"] * 4 + ["C[r, k]"]))
    loop = f"for r = _\n                    {where} {draw(st.sampled_from(['+=', '-=']))} {term}"
    condition = draw(st.sampled_from(["true", "A[k, j] > 0.5", "k != j"]))
    return f"if {condition}\n                {loop}"


def has_ranges(body: str) -> bool:
    """Whether the ranges of j and k can be inferred: each is the index of an axis."""
    return "j]" in body and ("[k" in body or "k]" in body)


@needs_compiler
def test_random_loops_over_rows_compute_the_same() -> None:
    """Rows have less than a tile of 16 cells, one, or more; to the bit, as on the register machine."""

    @settings(max_examples=many(320), deadline=None, derandomize=True)
    @given(
        bodies().filter(has_ranges), st.sampled_from(FORMS), st.integers(0, 2**32), st.sampled_from([1, 15, 16, 17, 35])
    )
    def check(body: str, form: str, seed: int, rank: int) -> None:
        rng = np.random.default_rng(seed)
        A = np.where(rng.random((4, 4)) < rng.choice([0, 0.5, 1]), numbers(rng, (4, 4)), 0)
        inputs = {"A": A, "B": numbers(rng, (rank, 4)), "D": numbers(rng, (rank, 4))}
        text = product(body, form, C=f"Dense(Dense(Element(0.0))), {rank}, 4")
        used = {name: array for name, array in inputs.items() if f"{name}[" in body}
        text = "\n".join(
            line for line in text.splitlines() if not any(f"{n} = T" in line for n in inputs.keys() - used)
        )
        agree(text, used)

    check()
