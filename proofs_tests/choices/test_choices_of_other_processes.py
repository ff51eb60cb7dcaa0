"""Choices that a process leaves for the next: never those of other sources, checked when read, and few."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from wingspan import einsum
from wingspan.api import expressions
from wingspan.base import disk_cache
from wingspan.choices import contractions

RNG = np.random.default_rng(4)
A = scipy.sparse.random_array((40, 40), density=0.2, format="csr", rng=RNG)
B = scipy.sparse.random_array((40, 40), density=0.2, format="csr", rng=RNG)


def first_call(e: str = "C[i, j] += A[i, k] * B[k, j]") -> Any:
    """The value of an expression, chosen as by a process that has not chosen anything."""
    for memo in (expressions._choices, expressions._placed, expressions._repeated):
        memo.clear()
    return einsum(e, A=A, B=B, threads=2, engine="native")


def refuse_to_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever plans an expression fail from now on."""

    def refuse(*given: object, **options: object) -> None:
        raise AssertionError("planned again")

    monkeypatch.setattr(contractions, "enumerate_contractions", refuse)
    monkeypatch.setattr("wingspan.choices.placements.placements", refuse)


def test_the_next_process_plans_nothing(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = first_call()
    refuse_to_plan(monkeypatch)
    again = first_call()
    assert np.allclose(again.to_numpy(), (A @ B).toarray())
    assert str(again.program) == str(made.program) and again.reason == made.reason
    with pytest.raises(AssertionError, match="planned again"):
        first_call("C[i, j] += B[i, k] * A[k, j]")


def test_other_sources_plan_anew(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_call()
    refuse_to_plan(monkeypatch)
    monkeypatch.setattr(disk_cache, "sources", lambda: "other sources")
    with pytest.raises(AssertionError, match="planned again"):
        first_call()


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda data: b"", lambda data: data[:-1] + b"\1"])
def test_choices_that_are_spoiled_are_made_and_written_anew(
    cache_folder: Path, spoil: Callable[[bytes], bytes]
) -> None:
    made = first_call()
    paths = list(cache_folder.glob(f"*{expressions.SUFFIX}"))
    whole = {path: path.read_bytes() for path in paths}
    assert len(whole) == 2
    for path in paths:
        path.write_bytes(spoil(whole[path]))
    assert str(first_call().program) == str(made.program)
    assert {path: path.read_bytes() for path in paths} == whole


def test_a_folder_that_others_may_write_is_not_read(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_call()
    cache_folder.chmod(0o777)
    refuse_to_plan(monkeypatch)
    with pytest.raises(AssertionError, match="planned again"):
        first_call()


def test_the_older_half_goes_when_there_are_too_many(cache_folder: Path) -> None:
    """Files with other suffixes stay."""
    cache_folder.mkdir(mode=0o700)
    for k in range(disk_cache.MOST):
        (cache_folder / f"{k:032x}{expressions.SUFFIX}").touch()
    other = cache_folder / f"{1:032x}.so"
    other.touch()
    first_call()
    assert other.exists()
    assert len(list(cache_folder.glob(f"*{expressions.SUFFIX}"))) <= disk_cache.MOST
