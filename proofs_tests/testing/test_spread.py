"""Campaigns by several processes, and by the workers of a Dask scheduler, any of which may end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.places import ROOT
from wingspan.api import run
from wingspan.base.errors import InputError
from wingspan.elaborate import Elaborated
from wingspan.explorer.cluster import AllWorkersLost, WorkerLost
from wingspan.testing import campaign, einsums, spread
from wingspan.testing.campaign import BATCH
from wingspan.testing.spread import LOSSES


def twice(part: int) -> int:
    return 2 * part


def failing(part: int) -> int:
    raise ValueError(f"part {part}")


def fatal(part: int) -> int:
    os._exit(1)


@pytest.mark.parametrize("jobs", [0, 2])
def test_every_part_is_done_once(jobs: int) -> None:
    assert sorted(spread.spread(twice, range(30), jobs=jobs)) == [(part, 2 * part) for part in range(30)]
    assert list(spread.spread(twice, [], jobs=jobs)) == []
    with pytest.raises(ValueError, match="part 0"):
        list(spread.spread(failing, [0], jobs=jobs))


def test_a_part_that_ends_its_process_is_an_error() -> None:
    with pytest.raises(InputError, match="a process was ended by what it ran"):
        list(spread.spread(fatal, range(2), jobs=1))


class Cluster:
    """Workers that lose what they are given, as often as `losses` says of each part."""

    threads = 2

    def __init__(self, losses: dict[int, int], lost: type[WorkerLost] = WorkerLost) -> None:
        self.losses, self.lost = dict(losses), lost
        self.submitted: list[int] = []

    def submit(self, do: Callable[[int], int], part: int) -> Future[int]:
        future: Future[int] = Future()
        self.submitted.append(part)
        if self.losses.get(part, 0):
            self.losses[part] -= 1
            future.set_exception(self.lost())
        else:
            future.set_result(do(part))
        return future


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cluster], None]:
    """Lets an address lead to these workers."""

    def give(cluster: Cluster) -> None:
        @contextmanager
        def connected(address: str) -> Any:
            yield cluster

        monkeypatch.setattr(spread, "connect", connected)

    return give


def test_what_is_lost_is_done_again(given: Callable[[Cluster], None]) -> None:
    """And no part is submitted twice for another reason."""
    losses = {0: 1, 7: LOSSES, 19: 3}
    given(cluster := Cluster(losses))
    assert sorted(spread.spread(twice, range(20), scheduler="tcp://x")) == [(part, 2 * part) for part in range(20)]
    assert all(cluster.submitted.count(part) == 1 + losses.get(part, 0) for part in range(20))


def test_a_part_that_always_ends_its_worker_is_named(given: Callable[[Cluster], None]) -> None:
    given(Cluster({3: LOSSES + 1}))
    with pytest.raises(InputError, match="workers were lost 11 times at one part, which may end them: 3"):
        list(spread.spread(twice, range(5), scheduler="tcp://x"))


def test_what_is_done_is_kept_when_all_workers_are_lost(given: Callable[[Cluster], None]) -> None:
    given(Cluster({4: 1}, AllWorkersLost))
    done: list[tuple[int, int]] = []
    with pytest.raises(InputError, match="has lost all of its workers") as error:
        done.extend(spread.spread(twice, [0, 1], scheduler="tcp://x"))
        for each in spread.spread(twice, [2, 3, 4], scheduler="tcp://x"):
            done.append(each)
    assert "start some: dask worker tcp://x" in str(error.value.fix) and {(0, 0), (1, 2)} <= set(done)


# ------------------------------------------------------------------------------------------------------ a real cluster


def once_fatal(deaths: Path, part: int) -> int:
    """The first worker that begins a part of these ends, and takes all that it has along."""
    if part % 5 == 0:
        try:
            (deaths / str(part)).mkdir()
        except FileExistsError:
            return 2 * part
        os._exit(1)
    return 2 * part


@pytest.mark.deep
def test_nothing_is_lost_with_workers_that_die(scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 100.0)
    done = spread.spread(partial(once_fatal, tmp_path), range(10), scheduler=scheduler)
    assert sorted(done) == [(part, 2 * part) for part in range(10)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "5"]


@pytest.mark.deep
def test_a_campaign_on_a_cluster_does_what_it_does_here(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 100.0)
    asked: dict[str, Any] = {"programs": einsums(), "examples": 8, "first_seed": 3}
    here, there = (campaign(["semantics", "reference"], scheduler=at, **asked) for at in (None, scheduler))
    assert (here.cases, here.texts, here.runs) == (there.cases, there.texts, there.runs) and here.cases > 8


class Mortal:
    """The reference, whose first run anywhere kills its process."""

    name = "mortal"

    def __init__(self, deaths: Path) -> None:
        self.deaths = deaths

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        try:
            self.deaths.mkdir()
        except FileExistsError:
            return {name: tensor.to_numpy() for name, tensor in run(program, engine="reference").tensors.items()}
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


@pytest.mark.deep
def test_a_campaign_whose_worker_is_killed_does_what_it_does_here(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers and three batches, one of which is lost once."""
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 100.0)
    asked: dict[str, Any] = {"programs": einsums(), "examples": 2 * BATCH + 2, "inputs": 1}
    there = campaign(["semantics"], [Mortal(tmp_path / "killed")], scheduler=scheduler, **asked)
    assert (tmp_path / "killed").exists()
    here = campaign(["semantics"], [Mortal(tmp_path / "killed")], **asked)
    here.seconds = there.seconds
    assert there == here and here.cases > BATCH


@pytest.mark.deep
def test_the_soundness_campaign_goes_on_elsewhere(scheduler: str, tmp_path: Path) -> None:
    """A half is there from a process of this machine, and a cluster does the others: the same results, none twice."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = [sys.executable, str(ROOT / "bench" / "soundness.py"), "--states", "20", "--programs", "1"]

    def run(name: str, *options: str) -> list[str]:
        words = [*script, "--results", str(tmp_path / name), *options]
        subprocess.run(words, env=env, check=True, cwd=tmp_path, capture_output=True)
        return (tmp_path / name).read_text().splitlines()

    alone = run("alone", "--jobs", "2")
    begun = alone[: len(alone) // 2]
    (tmp_path / "both").write_text("\n".join(begun) + "\n")
    both = run("both", "--scheduler", scheduler)
    assert both[: len(begun)] == begun != both and sorted(both) == sorted(alone)
