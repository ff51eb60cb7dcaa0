"""Campaigns that are interrupted, and go on from what they have kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from proofs_tests.testing.test_isolated_engines import write_sum
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.elaborate import Elaborated
from wingspan.testing import Tally, campaign
from wingspan.testing.finished_parts import FinishedParts, fingerprint

MODULE: Any = sys.modules["wingspan.testing.campaign"]
SIZE, BATCHES = 2, 3
PROGRAMS = st.sampled_from([write_sum(inputs, " * ".join(f"{A}[]" for A in inputs)) for inputs in ("A", "AB", "ABC")])
"""Programs of one, two and three inputs."""


class Mine:
    """The reference, but it cannot run all programs, and breaks at others."""

    name = "mine"
    unchecked = True

    def __init__(self, broken: str = "min(") -> None:
        self.broken = broken

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The result of the reference, if there is one."""
        if len(inputs) > 2:
            raise NotImplementedError(f"{len(inputs)} inputs")
        if len(inputs) == 2:
            raise ValueError("two inputs")
        return {name: tensor.to_numpy() for name, tensor in api.run(program, engine="reference").tensors.items()}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Tally, list[int]]]:
    """Runs a campaign of small batches, and ends it before one. Gives its tally, and the batches that it has run."""
    monkeypatch.setattr(MODULE, "BATCH", SIZE)
    monkeypatch.setattr(MODULE, "sources", lambda module: [Path(sys.modules[module].__file__ or "")])
    done, usual = list[int](), MODULE.Campaign.batch

    def go(*, ends: int | None = None, engine: Any = None, **options: Any) -> tuple[Tally, list[int]]:
        def batch(self: Any, number: int) -> Any:
            if number == ends:
                raise KeyboardInterrupt
            done.append(number)
            return usual(self, number)

        done.clear()
        monkeypatch.setattr(MODULE.Campaign, "batch", batch)
        usually: dict[str, Any] = {"programs": PROGRAMS, "examples": SIZE * BATCHES, "inputs": 3, "collect": True}
        usually |= {"max_states": 0, "first_seed": 2}  # from which on programs of two and of three inputs are drawn
        made = campaign(["reference"], [engine or Mine()], **usually | options)
        return replace(made, seconds=0.0), list(done)

    return go


def test_an_interrupted_campaign_runs_the_other_batches_only(run: Any, tmp_path: Path) -> None:
    """To the same tally, with what was skipped, and the differences."""
    whole, every = run()
    assert every == [*range(BATCHES)] and whole.skipped and whole.buckets and whole.texts < whole.cases
    with pytest.raises(KeyboardInterrupt) as ended:
        run(ends=1, keep=tmp_path)
    assert ended.value.__notes__ == [f"finished batches are kept in {tmp_path}: the same call goes on from there"]
    assert run(keep=tmp_path) == (whole, [1, 2])
    assert run(keep=tmp_path) == (whole, [])
    assert run(keep=tmp_path, examples=SIZE * BATCHES + 1)[1] == [BATCHES]  # the last batch is a smaller one


def test_a_batch_that_a_kill_cut_short_runs_again(run: Any, tmp_path: Path) -> None:
    whole, _ = run(keep=tmp_path)
    (file,) = tmp_path.iterdir()
    for cut, again in ((1, []), (30, [BATCHES - 1])):  # without its end of line a batch is whole
        text = file.read_bytes()
        file.write_bytes(text[:-cut])
        assert run(keep=tmp_path) == (whole, again)
        assert file.read_bytes().count(b"\n") == BATCHES


@pytest.mark.deep
def test_what_was_run_otherwise_does_not_count(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other arguments are kept apart; other sources make the kept batches worthless."""
    run(keep=tmp_path, examples=SIZE)
    for options in ({"repeat": 2}, {"first_seed": 7}, {"engine": Mine("max(")}, {"programs": PROGRAMS.map(str)}):
        assert run(keep=tmp_path, examples=SIZE, **options)[1] == [0], options
    assert run(keep=tmp_path, examples=SIZE)[1] == []
    monkeypatch.setattr(MODULE, "distributions", lambda: [])
    assert run(keep=tmp_path, examples=SIZE)[1] == [0]
    usual = MODULE.sources
    monkeypatch.setattr(MODULE, "sources", lambda module: usual("os" if module == __name__ else module))
    assert run(keep=tmp_path, examples=SIZE)[1] == [0]


def test_what_cannot_be_kept_is_one_error(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/campaign-"):
        run(keep=tmp_path / "file")
    monkeypatch.setattr(MODULE, "sources", lambda module: [] if module == __name__ else [Path(__file__)])
    with pytest.raises(InputError, match="nothing can be kept of mine, since it may change"):
        run(keep=tmp_path)


def test_parts_count_under_their_mark_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "parts.jsonl"
    one = FinishedParts(file, "one")
    one.add("a", 1)
    one.add("b", {"x": [2]})
    assert FinishedParts(file, "one").parts == {"a": 1, "b": {"x": [2]}}
    assert FinishedParts(file, "two").parts == {} and file.read_text() == ""


def test_comments_and_docstrings_are_no_other_source(tmp_path: Path) -> None:
    file, marks = tmp_path / "m.py", []
    for text in ("x = 1\n", '"""Says."""\nx = 1  # what\n', "x = 2\n", "x =\n", "x =  # what\n"):
        file.write_text(text)
        marks.append(fingerprint([file]))
    assert marks[0] == marks[1] and len(set(marks)) == 4
    assert fingerprint([file], "a") != fingerprint([file], "b")
