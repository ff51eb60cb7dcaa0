"""Many threads of one process get what one gets, from its first moment on, however often they are interrupted."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections import Counter

import pytest

from proofs_tests.effort import few
from proofs_tests.many_threads import COLD, THREADS, at_once, forked
from proofs_tests.places import ROOT
from proofs_tests.several import FORK
from wingspan.base.once import Once, alone

FIRST = ["parse", "diff"]


@FORK
@pytest.mark.parametrize("names", few([(FIRST,), *(([name],) for name in [*COLD, "shared"] if name not in FIRST)], 1))
def test_many_threads_get_what_one_gets(names: list[str]) -> None:
    """Several threads begin at the same time in a process that has only imported wingspan."""
    command = [sys.executable, "-m", "proofs_tests.many_threads", *names]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for found in json.loads(done.stdout).values():
        for piece, texts in found["one"].items():
            for thread in found["many"][piece]:
                assert thread == texts, piece


def test_what_is_made_once_is_made_by_one_thread() -> None:
    """All threads get one object, in whatever order they ask; codes, which states hold, are compared by identity."""
    made: Counter[int] = Counter()

    @Once
    def make(key: int) -> list[int]:
        made[key] += sum(1 for _ in range(2000)) // 2000
        return [key]

    keys = range(100)
    found = at_once(lambda first: [id(make((first + key) % len(keys))) for key in keys], THREADS)
    assert made == Counter(keys)
    assert len({each for thread in found for each in thread}) == len(keys)


@FORK
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_waits_for_no_thread() -> None:
    """It has none of the threads that may have been alone when it was forked."""
    ended = threading.Event()

    def be_alone() -> None:
        while not ended.is_set():
            with alone():
                sum(range(10_000))

    def be_alone_too() -> bool:
        with alone():
            return True

    other = threading.Thread(target=be_alone)
    other.start()
    try:
        assert all([forked(be_alone_too) for _ in range(5)])
    finally:
        ended.set()
        other.join()


def test_garbage_is_collected_again() -> None:
    """Also after an error, and after one thing was made while another was."""

    @Once
    def make(key: int) -> int:
        return 1 // key + (make(key - 1) if key > 1 else 0)

    assert gc.isenabled()
    assert make(3) == 1 and gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        make(0)
    assert gc.isenabled()
    gc.disable()
    try:
        make(4)
        assert not gc.isenabled()
    finally:
        gc.enable()
