"""The engines that run some programs, which a test compares: C is compiled for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wingspan import api
from wingspan.compiled.build import compiler
from wingspan.elaborate import Elaborated
from wingspan.testing.batched_c import Together


def engines_for(programs: Iterable[Elaborated], *names: str) -> list[Any]:
    """The engines of these names, and compiled C if there is a compiler."""
    engines: list[Any] = [api.engine(name) for name in names]
    if compiler():
        engines.append(Together("-O0"))
        engines[-1].prepare(programs)
    return engines
