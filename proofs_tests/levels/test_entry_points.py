"""Formats and engines of others: registered, loaded by a command, or found in an installed package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan import InputError, ProgramError, Tensor, api
from wingspan.levels import REGISTRY
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element

FORMAT = """
import wingspan
from wingspan.levels.dense import Dense

@wingspan.register
class Rows(Dense):
    pass
"""
PROGRAM = "c = Tensor(Rows(Element(0)), 3)\nc .= 0\nfor i = parallel(1:3)\n    c[i] += i\nend\n"


class Rows(Dense):
    """Dense by another name."""


class Columns(Rows):
    """And by a third."""


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    with wingspan.registered():
        yield


def test_a_registered_format_is_one_like_others() -> None:
    assert wingspan.register(Rows) is Rows
    made = api.run(api.parse(PROGRAM), engine="native").tensors["c"]
    assert made.to_numpy().tolist() == [1, 2, 3] and str(made.tower) == "Rows(Element(0))"
    assert api.explore(api.parse(PROGRAM)).verdict.verdict == api.check(api.parse(PROGRAM), budget=0).verdict == "safe"


def test_a_format_that_is_no_longer_registered_is_unknown() -> None:
    wingspan.register(Rows)
    wingspan.unregister(Rows)
    with pytest.raises(ProgramError, match="there is no format Rows"):
        api.bind(api.parse(PROGRAM))
    assert wingspan.register(Rows) is Rows  # again


def test_only_what_is_registered_can_be_taken_back() -> None:
    wingspan.register(Rows)
    for level, said in (
        (Dense, "Dense is a built-in format"),
        (type("Rows", (Dense,), {}), "Rows is not registered"),
        (Columns, "Columns is not registered"),
        ("Rows", "'Rows' is not registered"),
    ):
        with pytest.raises(InputError, match=said):
            wingspan.unregister(level)  # type: ignore[arg-type]
    assert REGISTRY["Rows"] is Rows and REGISTRY["Dense"] is Dense


def test_names_mean_after_a_block_what_they_meant_before() -> None:
    wingspan.register(Rows)
    other = type("Rows", (Dense,), {})
    with pytest.raises(KeyError, match="inside"), wingspan.registered(other, Columns):
        assert REGISTRY["Rows"] is other and REGISTRY["Columns"] is Columns
        raise KeyError("inside")
    assert REGISTRY["Rows"] is Rows and "Columns" not in REGISTRY


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (Element, "there is a format Element already"),
        (type("SparseHash", (Dense,), {}), "there is a format SparseHash already"),
        (type("Late", (Dense,), {"order": "append"}), "Late has the order 'append'"),
        (Rows(Element(0)), "is not a format"),
        (int, "is not a format"),
    ],
)
def test_what_cannot_be_registered_is_refused(level: Any, said: str) -> None:
    before = dict(REGISTRY)
    with pytest.raises(InputError, match=said):
        wingspan.register(level)
    assert before == REGISTRY


def entry(monkeypatch: pytest.MonkeyPatch, group: str, name: str, value: str) -> None:
    """An entry point as an installed package has."""

    def find_entry_points(**asked: str) -> list[EntryPoint]:
        return [EntryPoint(name, value, group)] if asked == {"group": group, "name": name} else []

    monkeypatch.setattr("importlib.metadata.entry_points", find_entry_points)
    monkeypatch.setattr("wingspan.api.running.entry_points", find_entry_points)


def test_a_format_of_an_installed_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    entry(monkeypatch, "wingspan.levels", "Rows", f"{__name__}:Rows")
    assert Tensor.from_numpy("Rows(Element(0))", [4, 5]).to_numpy().tolist() == [4, 5]
    assert REGISTRY["Rows"] is Rows


@pytest.mark.parametrize("value", [f"{__name__}:Nothing", "not_a_module_of_anybody:Rows"])
def test_a_format_of_a_broken_package_is_one_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    entry(monkeypatch, "wingspan.levels", "Rows", value)
    with pytest.raises(InputError, match=f"the format Rows of {value} cannot be loaded"):
        Tensor.from_numpy("Rows(Element(0))", [4, 5])


class Zeros:
    """An engine that is wrong about nearly everything."""

    name = "zeros"

    def run(self, program: Any, inputs: Any) -> dict[str, Any]:
        return {name: np.zeros(program.towers[name].shape, dtype=np.int64) for name in program.outputs}


def test_an_engine_of_an_installed_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    entry(monkeypatch, "wingspan.engines", "zeros", f"{__name__}:Zeros")
    program = api.load(EXAMPLES / "dependent_atomic.ws")
    assert api.diff(program, engines=["reference", "zeros"]).difference is not None


@pytest.mark.parametrize("verb", ["explore", "check", "run", "plan"])
@pytest.mark.parametrize("name", ["rows.py", "rows_of_mine"])
def test_a_command_loads_formats_and_says_so_in_its_commands(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name.removesuffix(".py") + ".py").write_text(FORMAT, encoding="utf-8")
    Path("racy.ws").write_text(PROGRAM.replace("c[i]", "c[1]"), encoding="utf-8")
    Path("program.ws").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    assert command(verb, "program.ws").status == 2
    assert command(verb, "program.ws", "--load", name).status == 0
    if verb == "explore":
        shown = command("explore", "racy.ws", "--load", name).out
        assert f"wingspan replay racy.ws --load {name} --interleaving" in shown


@pytest.mark.parametrize("name", ["nothing_of_mine", "nothing.py"])
def test_what_cannot_be_loaded_is_one_error(command: Any, tmp_path: Path, name: str) -> None:
    done = command("explore", str(EXAMPLES / "dependent.ws"), "--load", name)
    assert (done.status, done.out) == (2, "") and f"--load {name}: " in done.err and "fix" in done.err


def test_an_unknown_format_is_told_with_those_that_are_registered() -> None:
    wingspan.register(Rows)
    with pytest.raises(ProgramError) as told:
        Tensor.from_numpy("Row(Element(0))", [1])
    assert told.value.fix == "did you mean Rows?"
