"""The workers of a Dask cluster search all traces as one process does."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests.several import RACY, STUCK, counted, same
from wingspan import api
from wingspan.errors import InputError
from wingspan.explorer import Search, explore
from wingspan.testing.litmus import Litmus, lockinc, ninc


def test_a_cluster_finds_what_one_finds(scheduler: str) -> None:
    """With a worker's threads in one search each; machines are made anew there."""
    for machine in (ninc(4), lockinc(4), Litmus()):
        assert same(machine, scheduler=scheduler).complete
    for name in api.MACHINES:
        for text in (RACY, STUCK):
            assert same(api.machine_of(api.bind(api.parse(text)), name), scheduler=scheduler).complete


def test_a_cluster_takes_the_jobs_that_it_is_to(scheduler: str, tmp_path: Path) -> None:
    """And goes on with what processes have kept."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    explore(ninc(4), Search("dpor", jobs=2, max_states=300, checkpoint=file))
    found = explore(ninc(4), Search(resume=file, jobs=3, scheduler=scheduler))
    assert (found.processes, counted(found)) == (3, counted(whole))


def test_workers_without_wingspan_are_one_error(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked there for something that returns None."""
    monkeypatch.setattr("wingspan.explorer.workers.find_spec", print)
    with pytest.raises(InputError, match="do not have wingspan"):
        explore(ninc(2), Search("dpor", scheduler=scheduler))


@pytest.mark.parametrize("address", ["nowhere", "tcp://127.0.0.1:1"])
def test_no_cluster_is_one_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.workers.PATIENCE", 0.1)
    with pytest.raises(InputError, match=f"there is no Dask scheduler at {address}: "):
        explore(ninc(2), Search("dpor", scheduler=address))
