"""The effort of the tests: `make test` runs a 64th of each campaign, `make test-deep` all, `make prove` ten times that.

What is written down is what `make test-deep` runs: all modules that have `many`, and what is marked `deep`. `.ci/run`
has half an hour, and runs a sixteenth of each campaign, and one in 48 deep tests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any
from zlib import crc32

import pytest

ORDINARY = Fraction(1, 64)
"""Of each campaign, what `make test` runs."""
EFFORT = Fraction(os.environ.get("WINGSPAN_EFFORT", ORDINARY))
PART = Fraction(os.environ.get("WINGSPAN_PART", "1"))
"""Of the deep tests, those that run."""


def many(number: int) -> int:
    """Of so many examples those to run now."""
    return ceil(number * EFFORT)


def due(number: int) -> int:
    """Of so many things that a campaign must have seen those that a part of it must: few are less even than many.

    Half as many then, or a quarter where the part is less than half; and less than none, also where there must be more
    than this, if the part of them is less than one.
    """
    if number * EFFORT < 1:
        return -1
    less = 1 if EFFORT >= 1 else 2 if 2 * EFFORT >= 1 else 4
    return int(number * EFFORT / less)


def within(test: str) -> bool:
    """Whether a deep test, by its name, is in the part that runs: always the same ones."""
    return crc32(test.encode()) < PART * 2**32


def few(values: Sequence[Any], number: int) -> list[Any]:
    """Values of a parametrized test, tuples for several parameters. All but `number` of them are deep, evenly."""
    shown = {at * len(values) // number for at in range(number)}
    return [_parameters(value, () if at in shown else (pytest.mark.deep,)) for at, value in enumerate(values)]


def _parameters(value: Any, marks: Sequence[pytest.MarkDecorator]) -> Any:
    """A value of a parametrized test with further marks."""
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, marks=[*value.marks, *marks], id=value.id)
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=marks)
