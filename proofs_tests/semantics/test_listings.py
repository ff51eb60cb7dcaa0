"""The paper's listings of sparse products run under the rules and are safe, for both schedules."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from PIL import Image

from proofs_tests import places
from proofs_tests.effort import few
from wingspan import api
from wingspan.api import Program

EXAMPLES = places.EXAMPLES

SCHEDULES = ("static_schedule()", "dynamic_schedule(1)", "dynamic_schedule(2)")

PRODUCTS = ("spgemm_inner", "spgemm_gustavson", "spgemm_outer", "spgemm_nested", "inner_nested")


def program(name: str, schedule: str) -> Program:
    """A listing; the nested inner product names its schedule in the text, the others take it as a parameter."""
    text = (EXAMPLES / f"{name}.ws").read_text(encoding="utf-8")
    return api.parse(text.replace("static_schedule()", schedule), name)


def binding(name: str, schedule: str, threads: int, A: np.ndarray, B: np.ndarray) -> dict:
    """The binding of a listing for C = A B, every device having that many threads."""
    given = {"A": A, "B": B, "AT": A.T, "BT": B.T}
    names = {"spgemm_inner": ("AT", "B"), "spgemm_outer": ("A", "BT")}.get(name, ("A", "B"))
    params = {} if name == "inner_nested" else {"nt": threads, "sch": schedule}
    return {"inputs": {key: given[key] for key in names}, "params": params, "threads": threads}


def matrices(rows: int, inner: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices of eighths, about half of them zeros, with an empty row, column or both if they are larger."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-9, 9, (rows, inner)) / 8 * rng.integers(0, 2, (rows, inner))
    B = rng.integers(-9, 9, (inner, columns)) / 8 * rng.integers(0, 2, (inner, columns))
    if min(rows, inner, columns) > 3:
        A[1], B[:, 2] = 0, 0
    return A, B


@pytest.mark.parametrize("threads", few([3, 2, 4], 1))
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_listings_compute_the_product(name, schedule, threads):
    """One run of each, on matrices of doubles that are not square, equals NumPy's product."""
    A, B = matrices(5, 4, 6, seed=threads)
    run = api.run(program(name, schedule), **binding(name, schedule, threads, A, B), engine="semantics")
    assert np.array_equal(run.tensors["C"].to_numpy(), A @ B)


@pytest.mark.parametrize("n", few([2, 3], 1))
@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)"])
@pytest.mark.parametrize("name", PRODUCTS[:-1])
def test_the_listings_are_safe(name, schedule, n):
    """All interleavings of two tasks (nested: two by two) on n×n matrices: no race, the sequential result alone."""
    A, B = matrices(n, n, n, seed=n)
    assert_safe(program(name, schedule), A, B, **binding(name, schedule, 2, A, B))


@pytest.mark.parametrize(
    ("schedule", "n", "outer", "inner"),
    few(
        [
            *(("static_schedule()", n, *tasks) for n in (2, 3) for tasks in ((2, 1), (1, 2), (2, 2))),
            *(("dynamic_schedule(1)", n, *tasks) for n in (2, 3) for tasks in ((2, 1), (1, 2))),
            ("dynamic_schedule(1)", 2, 2, 2),
        ],
        1,
    ),
)
def test_the_nested_inner_product_is_safe(schedule, n, outer, inner):
    """Likewise, with `outer` tasks of dev1 and for each of them `inner` tasks of dev2.

    Two by two dynamic tasks on 3×3 matrices are left out: more than 589 000 states.
    """
    A, B = matrices(n, n, n, seed=n)
    text = str(program("inner_nested", schedule))
    text = text.replace("cpu(:d1, 4)", f"cpu(:d1, {outer})").replace("cpu(:d2, 4)", f"cpu(:d2, {inner})")
    assert_safe(api.parse(text), A, B, inputs={"A": A, "B": B})


def assert_safe(program: Program, A: np.ndarray, B: np.ndarray, **given: Any) -> None:
    found = api.explore(program, **given)
    assert found.verdict.complete
    assert found.verdict.verdict == "safe"
    assert np.array_equal(np.array(found.verdict.results[0].outcome.values()["C"]), A @ B)


# --------------------------------------------------------------------------------------------------------------- images

CHANNELS = {name: np.repeat([k, 2, 0], [2, 3, 1]) for k, name in enumerate("RGB")}
"""Six pixels in three runs."""
IMAGES = {"A": np.array([[1, 3, 0], [2, 3, 0], [2, 0, 0]]), "B": np.array([[1, 0, 0], [0, 0, 0], [0, 3, 0]])}
"""Two images each column of whose sum has one value."""


def listing(name: str, extent: int = 256) -> Program:
    """A listing of the paper's section on structured tensors, with so many values of a colour."""
    text = (EXAMPLES / f"{name}.ws").read_text(encoding="utf-8")
    return api.parse(text.replace("n, n, n)", f"{extent}, {extent}, {extent})"), name)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("engine", ["semantics", "native"])
def test_the_histogram_counts_the_pixels_of_each_colour(engine: str, schedule: str) -> None:
    params = {"nt": 2, "sch": schedule}
    run = api.run(listing("histogram"), inputs=CHANNELS, params=params, engine=engine)
    assert dict(run.tensors["h"].entries()) == {(1, 2, 3): 2, (3, 3, 3): 3, (1, 1, 1): 1}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("engine", ["semantics", "native"])
def test_the_structured_sum_is_made_of_runs(engine: str, schedule: str) -> None:
    params = {"nt": 2, "sch": schedule}
    C = api.run(listing("structured_add"), inputs=IMAGES, params=params, engine=engine).tensors["C"]
    assert np.array_equal(C.to_numpy(), IMAGES["A"] + IMAGES["B"])
    lines = [line.strip("├└│─ ").partition("  thread")[0] for line in str(C).splitlines()[1:]]
    assert lines == ["[:, 1]", "[1:3]: 2", "[:, 2]", "[1:3]: 3", "[:, 3]"]


PAGE = EXAMPLES / "data" / "page.png"
"""A picture of a part of our README, white on black."""


def test_the_listings_work_on_the_picture_that_ships() -> None:
    """As Pillow and NumPy have it; nine tenths of it are background, so that it has few runs."""
    params = {"nt": 2, "sch": "dynamic_schedule(16)"}
    pixels = np.asarray(Image.open(PAGE)).astype(int)
    assert (pixels == 0).all(axis=2).mean() > 0.9 and PAGE.stat().st_size <= 20_000
    planes = {name: f"{PAGE}:{plane}" for name, plane in zip("RGB", ("red", "green", "blue"), strict=True)}
    h = api.run(listing("histogram"), inputs=planes, params=params, engine="native").tensors["h"]
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    assert dict(h.entries()) == {tuple(at + 1): n for at, n in zip(colours, counts.tolist(), strict=True)}
    C = api.run(listing("structured_add"), inputs={"A": planes["R"], "B": planes["B"]}, params=params, engine="native")
    assert np.array_equal(C.tensors["C"].to_numpy(), (pixels[:, :, 0] + pixels[:, :, 2]).T)


@pytest.mark.parametrize(
    ("machine", "name", "schedule"),
    few(list(product(api.MACHINES, ["histogram", "structured_add"], ["static_schedule()", "dynamic_schedule(2)"])), 3),
)
def test_the_structured_listings_are_safe(machine, name, schedule) -> None:
    """As checked, and in the interleavings that are looked at."""
    inputs = {"histogram": CHANNELS, "structured_add": IMAGES}[name]
    params = {"nt": 2, "sch": schedule}
    program = listing(name, 3)
    assert api.check(program, params=params, inputs=inputs).verdict == "safe"
    found = api.explore(program, params=params, inputs=inputs, machine=machine, max_states=500).verdict
    assert not (found.races or found.faults or found.deadlocks)
    assert found.verdict in ("safe", "incomplete")
