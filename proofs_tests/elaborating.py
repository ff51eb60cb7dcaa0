"""Programs elaborated from their text, and the mistakes that elaboration finds in them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import pytest

from wingspan import api
from wingspan.base.errors import InputError, ProgramError
from wingspan.elaborate import Elaborated
from wingspan.lang.printer import show

VECTOR = "Tensor(Dense(Element(0))"
MATRIX = "Tensor(Dense(Dense(Element(0)))"
SPARSE = "Tensor(Dense(SparseList(Element(0.0)))"


def elaborated(text: str, **given: Any) -> Elaborated:
    """A program with what the caller gives it."""
    return api.bind(api.parse(textwrap.dedent(text).strip("\n"), "t.ws"), **given)


def shown(text: str, **given: Any) -> str:
    """The elaborated program as text."""
    return show(elaborated(text, **given).body)


def same_text(text: str, expected: str, **given: Any) -> bool:
    """Whether a program elaborates to the expected text."""
    found = shown(text, **given)
    assert found == textwrap.dedent(expected).strip("\n"), found
    return True


@dataclass(frozen=True)
class Mistake:
    """An error of elaboration: its place (line:column, empty for nowhere), its message, and the remedy."""

    where: str
    message: str
    fix: str


def mistake(text: str, kind: type[InputError | ProgramError] = ProgramError, **given: Any) -> Mistake:
    """The mistake in a program, which must be of the given kind."""
    with pytest.raises(kind) as caught:
        elaborated(text, **given)
    (diagnostic,) = caught.value.diagnostics
    span = diagnostic.span
    return Mistake(f"{span.line}:{span.column}" if span else "", diagnostic.message, dict(diagnostic.notes)["fix"])
