"""Plans and C that a process leaves for the next: they run as new ones do, and are read only where that is safe."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.places import EXAMPLES
from wingspan import Fault, Unsafe
from wingspan.api import checking, compiling
from wingspan.base import disk_cache
from wingspan.compiled import emit_c, plan_cache
from wingspan.levels import REGISTRY, register, registered
from wingspan.plan import pipeline

pytestmark = needs_compiler

NT = {"nt": 2, "sch": "dynamic_schedule(2)"}
A = scipy.sparse.random_array((20, 20), density=0.2, format="csc", rng=np.random.default_rng(4))
SUM = """
c = Tensor(Dense({leaf}))
c .= 0
for i = parallel(_, cpu(:t, nt))
    c[{at}] += a[i] + 1
return c
"""


def kernel(text: str | None = None, **params: Any) -> Any:
    """A kernel as a process makes it that has made none."""
    program = wingspan.parse(text) if text else EXAMPLES / "spgemm_gustavson.ws"
    return wingspan.compile(program, params=params or NT, inputs={"a": "int"} if text else None)


@pytest.fixture(scope="module")
def first_process(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A kernel, and the folder with what the process that made it leaves."""
    folder = tmp_path_factory.mktemp("first") / "kept"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("WINGSPAN_CACHE", str(folder))
        return kernel(), folder


@pytest.fixture
def left(first_process: tuple[Any, Path], cache_folder: Path) -> Any:
    """The kernel of the first process, whose files are in the folder of the test."""
    made, folder = first_process
    shutil.copytree(folder, cache_folder)
    return made


def count_up(leaf: str = "Element(0)", at: str = "i") -> str:
    return SUM.format(leaf=leaf, at=at)


def refuse_to_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever tests, lowers or prints a program fail from now on."""

    def refuse(*given: object, **options: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(checking, "guard", refuse)
    monkeypatch.setattr(pipeline, "lower", refuse)
    monkeypatch.setattr(emit_c, "together", refuse)


def test_the_next_process_tests_lowers_and_prints_nothing(left: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_to_make(monkeypatch)
    again = kernel()
    assert again.plan == left.plan and again.source == left.source
    assert np.allclose(again(A=A, B=A).to_scipy().toarray(), (A @ A).toarray())
    with pytest.raises(AssertionError, match="made again"):
        kernel(count_up(), nt=2)


def test_other_numbers_of_threads_are_tested_and_share_the_plan(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(count_up(at="1"), nt=1)
    with pytest.raises(Unsafe):
        kernel(count_up(at="1"), nt=2)
    with pytest.raises(Unsafe):  # again: only what may run is left behind
        kernel(count_up(at="1"), nt=2)
    assert len(list(cache_folder.glob(f"*{plan_cache.SUFFIX}"))) == 1
    monkeypatch.setattr(pipeline, "lower", None)
    assert kernel(count_up(at="1"), nt=1)(a=[1, 2]).to_numpy().tolist() == [5]


def test_a_fault_names_the_line_of_the_program_that_runs(cache_folder: Path) -> None:
    """The same program with a comment before it has its lines elsewhere."""
    texts = [count_up(), count_up(), f"# a comment\n{count_up()}"]
    lines = []
    for text in texts:
        with pytest.raises(Fault, match="overflow") as raised:
            kernel(text, nt=2)(a=[2**63 - 1])
        assert raised.value.span is not None
        lines.append(raised.value.span.line)
    assert lines == [5, 5, 6]


def test_other_sources_make_plans_anew(left: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_to_make(monkeypatch)
    monkeypatch.setattr(disk_cache, "sources", lambda *folder: "other sources")
    with pytest.raises(AssertionError, match="made again"):
        kernel()


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda data: b"", lambda data: data[:-1] + b"\1"])
def test_plans_that_are_spoiled_are_made_and_written_anew(
    left: Any, cache_folder: Path, spoil: Callable[[bytes], bytes]
) -> None:
    paths = [*cache_folder.glob(f"*{plan_cache.SUFFIX}"), *cache_folder.glob(f"*{compiling.SUFFIX}")]
    whole = {path: path.read_bytes() for path in paths}
    assert len(whole) == 2
    for path in paths:
        path.write_bytes(spoil(whole[path]))
    assert kernel().plan == left.plan
    assert all(disk_cache.read(path.stem, path.suffix) is not None for path in paths)


def test_nothing_is_read_from_a_folder_that_others_may_write(
    left: Any, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a plan runs what its file says."""
    cache_folder.chmod(0o777)
    refuse_to_make(monkeypatch)
    with pytest.raises(AssertionError, match="made again"):
        kernel()


def test_programs_with_a_users_level_leave_nothing(cache_folder: Path) -> None:
    """The next process may have another class of that name."""
    with registered():
        register(type("Mine", (REGISTRY["Element"],), {"__module__": __name__}))
        assert kernel(count_up("Mine(0)"), nt=2)(a=[1, 2]).to_numpy().tolist() == [2, 3]
    left = {path.suffix for path in cache_folder.iterdir()}
    assert not left & {plan_cache.SUFFIX, compiling.SUFFIX}
