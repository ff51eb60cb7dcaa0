"""Programs to walk through at random, and the states on the way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.explorer.machine import Step
from wingspan.program import Program
from wingspan.semantics.config import ProgramState
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.machine import Semantics
from wingspan.trace import document

A, B = [[1.0, 2.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0.0, 1.0, 2.0], [4.0, 5.0, 0.0], [1.0, 0.0, 1.0]]
STATIC = {"nt": 2, "sch": "static_schedule()"}

OPEN: dict[str, dict[str, Any]] = {
    "spgemm_gustavson.ws": {"inputs": {"A": A, "B": B}, "params": {"nt": 2, "sch": "dynamic_schedule(1)"}},
    "spgemm_inner.ws": {"inputs": {"AT": A, "B": B}, "params": STATIC},
    "spgemm_outer.ws": {"inputs": {"A": A, "BT": B}, "params": STATIC},
    "spmspv.ws": {"inputs": {"A": A, "x": [1.0, 0.0, 2.0]}, "params": STATIC},
    "spadd.ws": {"inputs": {"A": A, "B": B}, "params": STATIC},
    "hadamard.ws": {"inputs": {"A": A, "B": B}, "params": STATIC},
}
"""Examples that take inputs, with some."""
ALONE = sorted(
    path.name
    for path in EXAMPLES.glob("*.ws")
    if path.name.startswith(("quiz_", "dep", "indep", "karate", "noisy", "short", "sum"))
)
PROGRAMS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in ALONE] + list(OPEN.items())
each_program = pytest.mark.parametrize(("name", "options"), few(PROGRAMS, 10), ids=[name for name, _ in PROGRAMS])
LARGE = """
c = Tensor(Dense(Element(0)), 3)
c .= 0
for i = parallel(1:9, cpu(:t, 3))
    c[i % 2 + 1] += 1
end
return c
"""
"""3,658 states, more than a page has, and 18 results."""
SMALL = [name for name in ALONE if name != "karate.ws"]
"""Examples with some hundred states at most."""
each_small = pytest.mark.parametrize("name", few([*SMALL, "spgemm_gustavson.ws"], 4))


@cache
def example_document(name: str) -> Any:
    """The trace document of an example, made once in a process. Nobody may change it."""
    return document(EXAMPLES / name, **OPEN.get(name, {}))


def machine(name: str | Program, options: dict[str, Any] | None = None, derives: bool = True) -> Semantics:
    """The machine of an example, or of a program."""
    program = EXAMPLES / name if isinstance(name, str) else name
    return api.semantics(api.bind(program, **(options or {})), derives)


def walk(semantics: Semantics, seed: int, most: int) -> Iterator[tuple[ProgramState, Step[ProgramState]]]:
    """At most so many steps, each of a task picked at random: the state before it, and the step."""
    random, state = Random(seed), semantics.initial()
    for _ in range(most):
        able = [step for task in semantics.tasks(state) if isinstance(step := semantics.step(state, task), Step)]
        if not able:
            return
        step = random.choice(able)
        yield state, step
        if not isinstance(step.next, ProgramState):
            return
        state = step.next


def derived(semantics: Semantics, seed: int, most: int) -> Iterator[tuple[ProgramState, DerivedStep]]:
    """The same of a machine that derives."""
    for state, step in walk(semantics, seed, most):
        assert isinstance(step, DerivedStep)
        yield state, step
