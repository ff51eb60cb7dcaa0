"""Kernels over runs that two lists have in common, which C takes 16 at once, compute what NumPy computes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.compiled.emit_c import emit_c
from wingspan.plan.pipeline import lower
from wingspan.tensors.frozen import Frozen

pytestmark = needs_compiler

RANDOM = np.random.default_rng(7)
PROGRAM = """
A = Tensor(Dense(SparseRunList({element})))
B = Tensor(Dense(SparseRunList({element})))
C = Tensor(Dense(SparseRunList({element})))
C .= {z}
for j = _
    for i = _
        C[i, j] = {value}
return C
"""
WIDTHS = {"u8": np.uint8, "i8": np.int8, "i32": np.int32, "i64": np.int64, "f64": np.float64}
VALUES: dict[str, Callable[..., Any]] = {
    "A[i, j] + B[i, j]": lambda A, B: A + B,
    "max(A[i, j], B[i, j])": np.maximum,
    "2 * A[i, j] / 2 + B[i, j]": lambda A, B: A + B,
    "2 * A[i, j] - min(A[i, j], B[i, j]) + B[i, j]": lambda A, B: 2 * A - np.minimum(A, B) + B,
}


def kernel(value: str, width: str) -> wingspan.Kernel:
    """For planes of any size."""
    text = PROGRAM.format(value=value, element=element(width), z="0.0" if width == "f64" else "0")
    return wingspan.compile(wingspan.parse(text))


def element(width: str) -> str:
    return "Element(0.0)" if width == "f64" else "Element(0)" if width == "i64" else f"Element(0, {width})"


def planes(width: str, rows: int, columns: int, most: int, apart: float) -> list[np.ndarray]:
    """Two planes of numbers up to `most`, whose runs begin together, but for a part of the elements of one."""
    ends = RANDOM.random((rows, columns)) < 0.6
    runs = np.cumsum(ends, axis=0, dtype=np.int64)
    made = [
        RANDOM.integers(0, most + 1, (rows + 1, columns)) * (RANDOM.random((rows + 1, columns)) < 0.8) for _ in "AB"
    ]
    made = [np.take_along_axis(each, runs, axis=0) for each in made]
    made[1] = np.where(RANDOM.random((rows, columns)) < apart, RANDOM.integers(0, most + 1, (rows, columns)), made[1])
    return [each.astype(WIDTHS[width]) for each in made]


def tensor(x: np.ndarray, width: str) -> wingspan.Tensor:
    return wingspan.Tensor.from_numpy(f"Dense(SparseRunList({element(width)}))", x)


def runs(made: wingspan.Tensor) -> int:
    """The number of runs of a tensor."""
    assert isinstance(made.data, Frozen)
    (fill,) = (stored for (_, name, _), stored in made.data.arrays.items() if name == "fill")
    return int(fill.values[0])


@pytest.mark.parametrize("value", few(list(VALUES), 1))
@pytest.mark.parametrize("width", few(list(WIDTHS), 3))
def test_kernels_over_common_runs_agree_with_numpy(width: str, value: str) -> None:
    """Results have the runs of the expected array, no longer ones and no shorter ones: also where neighbours of the
    result are equal, and those of the inputs are not, and where few runs, or one only, are common.
    """
    made = kernel(value, width)
    assert "ws_common_runs(" in made.source
    for rows in (0, 1, 5, 17, 40, 300):
        for most, apart in ((1, 0.0), (40, 0.0), (40, 0.02), (40, 0.3), (2, 0.02)):
            A, B = planes(width, rows, 5, most, apart)
            expected = VALUES[value](A, B)
            found = made(A=tensor(A, width), B=tensor(B, width))
            assert np.array_equal(found.to_numpy(), expected), (rows, most, apart)
            assert runs(found) == runs(tensor(expected, width)), (rows, most, apart)


@pytest.mark.parametrize(("offset", "slope"), few([(1, 0), (5, 0), (-1, 17), (60, -19), (59, 0), (60, 0), (99, 0)], 2))
def test_no_run_is_beyond_the_last_index_of_a_loop(offset: int, slope: int) -> None:
    """Although both lists go on, be it within 16 runs or after them, and where it is within a run."""
    A = np.arange(60 * 3, dtype=np.int64).reshape(60, 3) + 1
    A[::7] = A[1::7]
    condition = f"        if i <= {offset} + {slope} * j\n            C[i, j] ="
    text = PROGRAM.format(value="A[i, j] + B[i, j]", element="Element(0)", z="0").replace(
        "        C[i, j] =", condition
    )
    made = wingspan.compile(wingspan.parse(text))
    found = made(A=tensor(A, "i64"), B=tensor(A, "i64"))
    expected = 2 * A * (np.arange(1, 61)[:, None] <= offset + slope * np.arange(1, 4))
    assert "ws_common_runs(" in made.source and np.array_equal(found.to_numpy(), expected)
    assert runs(found) == runs(tensor(expected, "i64"))


@pytest.mark.parametrize(
    "value", few(["A[i, j] ÷ B[i, j]", "B[i, j] % (A[i, j] ÷ B[i, j] + 1)", "isqrt(A[i, j]) >> B[i, j]"], 1)
)
def test_no_compiler_warns_of_lanes_that_fail(value: str, tmp_path: Path) -> None:
    """Operators that are undefined for elements of one run leave values that are used on, and thrown away."""
    text = PROGRAM.format(value=value, element="Element(0, u8)", z="0")
    text = text.replace("B = Tensor(Dense(SparseRunList(Element(0", "B = Tensor(Dense(SparseRunList(Element(1")
    A, B = (np.ones((9, 3), np.uint8) for _ in "AB")
    source = emit_c(lower(api.bind(api.parse(text), inputs={"A": A, "B": B})))
    (path := tmp_path / "program.c").write_text(source, encoding="utf-8")
    flags = (
        "-std=gnu11",
        "-O1",
        "-march=native",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
        "-o",
        str(tmp_path / "program.o"),
    )
    done = subprocess.run([*compiler(), *flags, *INCLUDES, str(path)], capture_output=True, text=True, check=False)
    assert "ws_common_runs(" in source
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("at", [0, 3, 15, 16, 37])
def test_a_fault_is_that_of_the_run_where_it_occurs(at: int) -> None:
    """As in the register machine, whichever of 16 runs it is."""
    A = np.arange(1, 41, dtype=np.uint8)[:, None]
    B = A.copy()
    B[at:] = 250 - np.arange(40 - at, dtype=np.uint8)[:, None]
    A[at, 0] = 6
    X, Y = (tensor(each, "u8") for each in (A, B))
    text = PROGRAM.format(value="A[i, j] + B[i, j]", element=element("u8"), z="0")
    messages = []
    for engine in ("compiled", "native"):
        with pytest.raises(Fault) as raised:
            wingspan.compile(wingspan.parse(text), engine=engine)(A=X, B=Y)
        messages.append(raised.value.message)
    assert messages[0] == messages[1] and "256" in messages[0]


@pytest.mark.parametrize(("width", "times"), [("u8", 400), ("i32", 2**25)])
def test_elements_are_computed_in_integers_that_hold_them(width: str, times: int) -> None:
    """400 times a byte does not fit 16 bits, and 2²⁵ times an integer of 32 bits does not fit 32."""
    A = np.tile([120, 90, 119], 20)[:, None].astype(WIDTHS[width])
    value = f"min({times} * A[i, j], {119 * times}) - {times - 1} * min(A[i, j], 119) + B[i, j]"
    made = kernel(value, width)
    found = made(A=tensor(A, width), B=tensor(A, width)).to_numpy()
    assert "ws_common_runs(" in made.source and np.array_equal(found, np.minimum(A, 119) + A)


def test_sums_that_are_not_numbers_are_one_run() -> None:
    """NaN is like NaN, and 0.0 like -0.0."""
    A = np.tile([1.0, 2.0], 20)[:, None]
    B = np.tile([np.nan, -np.nan], 20)[:, None]
    found = kernel("A[i, j] + B[i, j]", "f64")(A=tensor(A, "f64"), B=tensor(B, "f64"))
    assert np.isnan(found.to_numpy()).all() and runs(found) == runs(tensor(B, "f64"))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_append_common_runs_to_lists_of_their_own(threads: int) -> None:
    text = PROGRAM.format(value="A[i, j] + B[i, j]", element="Element(0, u8)", z="0")
    text = "dev = cpu(:t, nt)\n" + text.replace("j = _", "j = parallel(_, dev, sch)")
    runs_of_bytes = "SparseRunList(Element(0, u8))"
    text = text.replace(f"C = Tensor(Dense({runs_of_bytes}", f"C = Tensor(Dense(Shard(dev, {runs_of_bytes})")
    A, B = planes("u8", 90, 7, 40, 0.02)
    params = {"nt": threads, "sch": "dynamic_schedule(2)"}
    found = wingspan.compile(wingspan.parse(text), params=params)(A=tensor(A, "u8"), B=tensor(B, "u8"))
    assert np.array_equal(found.to_numpy(), A + B)
