"""Counts how often the rules fire, and prints the counts when all tests have been run; `--accept`; fixtures."""

from __future__ import annotations

import gc
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from proofs_tests import rule_coverage
from proofs_tests.budget import Costs
from proofs_tests.effort import within
from proofs_tests.places import ROOT
from wingspan import cli
from wingspan.compiled import build
from wingspan.explorer import jobs, workers
from wingspan.testing.campaign import collected_rarely

settings.register_profile("wingspan", derandomize=True, deadline=None, database=None)
settings.load_profile("wingspan")
# Hypothesis also draws constants that it finds in the modules loaded, so that any edit anywhere changed what every
# test draws; there is no setting for it
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers.GLOBAL_CONSTANTS

USERS = build.FLAGS
"""The flags of the compiler."""
QUICK: Any = tuple("-Og" if word.startswith("-O") else word for word in USERS)
"""The same with little optimizing. Without any, it would also compile all functions of the headers."""

NARROWING = ("keyword", "collectonly", "maxfail", "lf", "stepwise")
"""The options of pytest with which some of the tests run only."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="keep what the quiz programs print now as what they should")
    parser.addoption("--costs", type=Path, metavar="FILE", help="write the processor time of each test to a file")


def pytest_configure(config: pytest.Config) -> None:
    """In the background, and below nohup, a process ignores signals, and so would all that the tests start."""
    rule_coverage.begin()
    config.pluginmanager.register(Costs(config.getoption("--costs")), "costs")
    rarely = ExitStack()  # looking for garbage takes a quarter of the time in which pytest collects the tests
    rarely.enter_context(collected_rarely())
    config.add_cleanup(rarely.close)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ["WINGSPAN_CACHE"] = tempfile.mkdtemp(prefix="wingspan-tests-")
        precompile(header(), config)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


def header() -> Path:
    """A file that includes what most printed files do, and that the compiler is to read before any of them."""
    return Path(os.environ["WINGSPAN_CACHE"], "headers", "all.h")


def precompile(path: Path, config: pytest.Config) -> None:
    """Write a header, and begin to compile it in the background: then small files take a third less.

    Until it is done, the compiler reads the text.
    """
    path.parent.mkdir()
    path.write_text('#include "program.h"\n#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n')
    if command := build.compiler():
        words = [*command, *QUICK, "-xc-header", *build.INCLUDES, path.name, "-o", "draft"]
        script = f"{shlex.join(words)} && mv draft {path.name}.gch"
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(["sh", "-c", script], cwd=path.parent, stdout=quiet, stderr=quiet)

        def join() -> None:
            process.wait()

        config.add_cleanup(join)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a module that has `many` do more with more effort; of those that are deep there may be a part only."""
    items[:] = [item for item in items if item.get_closest_marker("deep") is None or within(item.nodeid)]
    for item in items:
        if hasattr(getattr(item, "module", None), "many"):
            item.add_marker("many")


def pytest_collection_finish() -> None:
    """The modules and the tests stay to the end, half a million objects."""
    let_stay()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The caches of a file and its fixtures end with its tests; all that these have left elsewhere stays."""
    if nextitem is None or nextitem.path != item.path:
        empty_caches(getattr(item, "module", None))
        let_stay()


def empty_caches(module: ModuleType | None) -> None:
    """Forget what the functions of a module have cached; a test of a page has no module."""
    name, members = (module.__name__, vars(module)) if module else ("", {})
    for each in members.values():
        if hasattr(each, "cache_clear") and each.__module__ == name:
            each.cache_clear()


def let_stay() -> None:
    """Keep the garbage collector from looking through all that is alive now.

    Each campaign collects what it leaves, and took longer for that than to run.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """C is compiled as users compile it in deep tests; the others need its results, which come sooner without."""
    build.FLAGS = USERS if item.get_closest_marker("deep") else (*QUICK, "-include", str(header()))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Compiled programs are kept for one run of the tests, by all of its processes."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["WINGSPAN_CACHE"], ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes each hands its counts to the one that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fired"] = dict(rule_coverage.FIRED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    rule_coverage.FIRED.update(getattr(node, "workeroutput", {}).get("fired", {}))


def is_whole(config: pytest.Config, exitstatus: int) -> bool:
    """Whether all tests have run: none was left out by a name or a path, and nothing ended the run early."""
    ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    narrowed = any(getattr(config.option, name, None) for name in NARROWING)
    return ended and not narrowed and config.args_source == pytest.Config.ArgsSource.TESTPATHS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """A run of some of the tests, or one that was interrupted, says nothing about coverage, and prints nothing."""
    if is_whole(config, exitstatus):
        terminalreporter.section("rules that fired")
        for line in rule_coverage.table(rule_coverage.FIRED):
            terminalreporter.write_line(line)


# ------------------------------------------------------------------------------------------------ the command line


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.out)
        return made


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, which is not there yet."""
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def command(capsys):
    """Runs the command in this process."""

    def run(*words: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(words), prog_name="wingspan")
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs pytest, as pytest's own fixture does, without plugins that are installed for our tests alone."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:pytest-lsp -p no:asyncio")  # pytest's fixture drops the variable
    return pytester


@pytest.fixture
def written(tmp_path):
    """Writes a program to a file and gives its path."""

    def write(text: str, name: str = "program.ws") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


# ---------------------------------------------------------------------------------------------------- several processes


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is put back after its first slice, and a slice is two runs."""
    monkeypatch.setattr(jobs, "LONG", 0.0)
    monkeypatch.setattr(jobs, "SHORT", 0.0)
    monkeypatch.setattr(workers, "SLICE", 2)


CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster's scheduler. Its threads and those of processes that are forked must not meet."""
    file = tmp_path_factory.mktemp("cluster") / "cluster.py"
    file.write_text(CLUSTER)
    env, pipe = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.PIPE
    process = subprocess.Popen([sys.executable, str(file)], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate()
