"""Counts how often the rules fire, and prints the counts when all tests have been run; `--accept`; fixtures."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from proofs_tests import rule_coverage
from wingspan import cli
from wingspan.explorer import jobs, workers

settings.register_profile("wingspan", derandomize=True, deadline=None, database=None)
settings.load_profile("wingspan")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="keep what the quiz programs print now as what they should")


def pytest_configure(config: pytest.Config) -> None:
    rule_coverage.begin()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes each hands its counts to the one that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fired"] = dict(rule_coverage.FIRED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    rule_coverage.FIRED.update(getattr(node, "workeroutput", {}).get("fired", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A run of some of the tests says nothing about coverage, and prints nothing."""
    everything = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if everything and not terminalreporter.stats.get("deselected"):
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
def command(capsys):
    """Runs the command in this process."""

    def run(*words: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(words), prog_name="wingspan")
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


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
