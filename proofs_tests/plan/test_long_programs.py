"""The cost of long programs grows with their length, counted in calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs_tests.effort import few
from proofs_tests.long_programs import LONG, calls
from wingspan import api
from wingspan.base.errors import Source
from wingspan.dependence import check
from wingspan.elaborate import Elaborated
from wingspan.lang import data
from wingspan.plan.pipeline import lower

FEW = 20
RUN = ("statements", "loops", "variables", "conditions")
"""Programs with data, and no more tensors in the longer ones, each of which would nest the plan of a loop."""


def symbolic(program: api.Program) -> Elaborated:
    return api.bind(program, symbolic=True)


def bound(text: str) -> Elaborated:
    return api.bind(api.parse(text))


STEPS: dict[str, tuple[Callable[[str], Any], Callable[[Any], Any]]] = {
    "parse": (str, api.parse),
    "print": (api.parse, str),
    "bind": (api.parse, symbolic),
    "check": (lambda text: symbolic(api.parse(text)), check),
    "compile": (bound, lower),
    "run by the reference": (bound, lambda program: api.run(program, engine="reference")),
    "step through the plan": (lambda text: api.native(bound(text)), lambda machine: machine.run()),
}
"""The preparation of a text, and the measured step."""


def growth(step: str, text: Callable[[int], str]) -> float:
    """The ratio of calls for a program four times as long, apart from the calls of all programs."""
    make, do = STEPS[step]
    few, many, more = (make(text(n)) for n in (FEW, 2 * FEW, 5 * FEW))
    do(few)  # what is made once
    first, second, third = (calls(do, given) for given in (few, many, more))
    return (third - first) / (second - first)


TEXTS = [(step, name) for step in STEPS for name in LONG if step in ("parse", "print", "bind", "check") or name in RUN]


@pytest.mark.parametrize(("step", "name"), few(TEXTS, 4))
def test_the_cost_is_linear_in_the_length(step, name):
    """Four times as many statements more make about four times as many calls more."""
    assert growth(step, LONG[name]) < 4.6


class Scanned(str):
    """A text that notes how many characters are searched one by one."""

    characters = 0

    def count(self, *args: Any) -> int:
        Scanned.characters += len(self)
        return super().count(*args)

    def rfind(self, *args: Any) -> int:
        Scanned.characters += len(self)
        return super().rfind(*args)

    def splitlines(self, *args: Any) -> list[str]:
        Scanned.characters += len(self)
        return super().splitlines(*args)


def test_the_places_of_elements_are_found_without_reading_the_text_again():
    """A vector over many lines is read once, not once for each element."""
    source = Source("long.ws", Scanned("[" + ",\n".join(map(str, range(500))) + "]"))
    Scanned.characters = 0
    made = data.matrix(source, str(source.text), 0, lambda text, _: int(text))
    assert Scanned.characters <= len(source.text)
    (row,) = made.rows
    assert [value.span.line for value in row if value.span] == [*range(1, 501)]


def test_the_lines_of_messages_are_found_without_reading_the_text_again():
    """A text with many mistakes is read once, not once for each message."""
    source = Source("long.ws", Scanned("x\n" * 500))
    Scanned.characters = 0
    assert [source.line(number) for number in range(1, 501)] == ["x"] * 500
    assert Scanned.characters == len(source.text)
