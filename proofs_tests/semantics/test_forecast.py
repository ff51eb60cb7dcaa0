"""The number of steps of a run under the rules is known before it starts, within a factor of three."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.api import forecast

RANDOM = np.random.default_rng(4)


def quarters(there: np.ndarray) -> np.ndarray:
    """An array of quarters, stored where that is true."""
    elements: np.ndarray = RANDOM.integers(1, 9, there.shape) / 4 * there
    return elements


PATTERNS: dict[str, Callable[..., np.ndarray]] = {
    "empty": lambda *shape: np.zeros(shape, bool),
    "full": lambda *shape: np.ones(shape, bool),
    "sparse": lambda *shape: RANDOM.random(shape) < 0.1,
    "half": lambda *shape: RANDOM.random(shape) < 0.5,
    "skewed": lambda *shape: np.minimum.outer(*[np.arange(n) ** 2 for n in shape]) < 12 if len(shape) == 2 else
    RANDOM.random(shape) < 0.2,
    "diagonal": lambda *shape: np.eye(*shape, dtype=bool) if len(shape) == 2 else np.ones(shape, bool),
}  # fmt: skip

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "spgemm_gustavson": {"A": (13, 11), "B": (11, 12)},
    "spgemm_inner": {"AT": (11, 13), "B": (11, 12)},
    "spgemm_outer": {"A": (13, 11), "BT": (12, 11)},
    "spgemm_nested": {"A": (13, 11), "B": (11, 12)},
    "spadd": {"A": (20, 15), "B": (20, 15)},
    "hadamard": {"A": (20, 15), "B": (20, 15)},
    "spmspv": {"A": (20, 30), "x": (30,)},
    "mttkrp_sparse": {"BT": (8, 7, 6), "C": (8, 3), "D": (7, 3)},
}


def taken(bound: Any) -> int:
    """The steps of a run."""
    machine = api.semantics(bound)
    state: Any = machine.initial()
    count = 0
    while tasks := machine.tasks(state):
        steps = (machine.step(state, task) for task in tasks)
        state, count = next(step.next for step in steps if hasattr(step, "next")), count + 1
    return count


@pytest.mark.parametrize(("name", "pattern"), few(list(product(SHAPES, PATTERNS)), 3))
def test_the_forecast_is_within_a_factor_of_three(name: str, pattern: str) -> None:
    """Of the examples with two threads, whatever their inputs store; a few dozen steps are a run's own."""
    inputs = {T: quarters(PATTERNS[pattern](*shape)) for T, shape in SHAPES[name].items()}
    bound = api.bind(EXAMPLES / f"{name}.ws", inputs=inputs, params={"nt": 2, "sch": "dynamic_schedule(2)"})
    count, expected = taken(bound), forecast.steps(bound)
    assert count / 3 - 50 <= expected <= 3 * count, (count, expected)


@pytest.mark.parametrize("name", few(["independent", "dependent_atomic", "karate"], 2))
def test_a_program_without_open_inputs_is_counted_as_well(name: str) -> None:
    bound = api.bind(EXAMPLES / f"{name}.ws")
    count = taken(bound)
    assert count / 3 <= forecast.steps(bound) <= 3 * count


LOOP = "c = Tensor(Element(0))\nc .= 0\nfor i = 1:%s; c[] += i; end\nreturn c"


def test_a_long_run_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python, and only by the engine that takes long. Others are reported by `note`."""
    monkeypatch.setattr(forecast, "LONG", 1000)
    told: list[str] = []
    message = "about 1 700 steps of the rules, 0 seconds or so; engine native takes seconds at most"
    with pytest.warns(RuntimeWarning, match=f"^{message}$") as warned:
        api.run(api.parse(LOOP % 100), engine="semantics")
    assert warned[0].filename == __file__
    api.run(api.parse(LOOP % 100), engine="semantics", note=told.append)
    assert told == [message]
    for engine, n in (("semantics", 10), ("native", 100), ("native-controlled", 100)):
        api.run(api.parse(LOOP % n), engine=engine)


def test_work_that_is_worth_compiling_names_that_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.api.running.WORTH", 50)
    monkeypatch.setattr(forecast, "LONG", 1000)
    monkeypatch.setattr("wingspan.compiled.build.compiler", lambda: ("cc",))
    with pytest.warns(RuntimeWarning, match="engine compiled takes seconds"):
        api.run(api.parse(LOOP % 100), engine="semantics")
