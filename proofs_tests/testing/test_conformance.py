"""`conformance` accepts levels that do what levels must, and names the claim that others break."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.effort import few, many
from wingspan.levels import REGISTRY, registered
from wingspan.levels.base import Dependence, Gated, Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.pattern import Pattern
from wingspan.levels.sparse_list import SparseList
from wingspan.levels.sparse_point import SparsePoint
from wingspan.testing import Nonconforming, conformance
from wingspan.testing.conformance import CLAIMS, EXAMPLES

pytest_plugins = ["pytester"]


class Swapped(Dense):
    """Children of each fiber in another order than the indices': a level like others."""

    operations = Dense.operations.replace("(c.p - 1) * n + i", "c.p * n + 1 - i")


class Overlapping(Dense):
    """All indices share a child."""

    operations = Dense.operations.replace("(c.p - 1) * n + i", "(c.p - 1) * n + 1")


class Boastful(SparseList):
    """Says that tasks may append to one fiber."""

    def stability(self) -> frozenset[Dependence]:
        return frozenset({"sibling"})


class Generous(Element):
    """Adds what comes twice."""

    operations = Element.operations.replace("combine(val[p], v)", "combine(combine(val[p], v), v)")


class Forgetful(SparsePoint):
    """Has no entries when it is thawed."""

    operations = SparsePoint.operations.replace(
        "def thaw(P):\n", "def thaw(P):\n        for p in parallel(1, P):\n            idx[p] = 0\n"
    )


class Shy(SparsePoint):
    """Refuses to be written again."""

    operations = SparsePoint.operations.replace('at == 0 or at == i, "a', 'at == 0, "a')


class Whole(Element):
    """A leaf of integers."""

    kinds = ("int",)


@pytest.fixture
def unshrunk() -> Iterator[None]:
    """The first example that breaks a claim is not made simpler."""
    settings.register_profile("unshrunk", phases=set(Phase) - {Phase.shrink})
    settings.load_profile("unshrunk")
    yield
    settings.load_profile("wingspan")


@pytest.mark.parametrize(
    ("level", "proved"),
    few([(Swapped, None), *((level, True) for level in (Swapped, SparsePoint, Pattern, Isolate))], 1),
)
def test_levels_that_conform_are_told_with_what_they_support(
    monkeypatch: pytest.MonkeyPatch, level: type[Level], proved: bool | None
) -> None:
    """With the proof, which takes seconds, and without."""
    if not proved:
        monkeypatch.delitem(CLAIMS, "proof")
    found = conformance(level, examples=many(50))
    assert found.held > 0 and not found.declared & found.more
    assert found.programs > 0 and (found.thawed > 0) == (not issubclass(level, Gated))
    assert found.proved is proved


@pytest.mark.parametrize(
    ("level", "claim", "said"),
    [
        (Overlapping, "loads", " is given"),
        (Forgetful, "thaws", "is thawed"),
        (Boastful, "stability", "declares sibling"),
        pytest.param(Generous, "engines", " has ", marks=pytest.mark.deep),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_what_a_level_breaks_is_named(level: type[Level], claim: str, said: str) -> None:
    """By as many examples as there are by default; and facts about one level are not taken for another's."""
    with pytest.raises(Nonconforming, match=f"^{claim}: ") as told:
        CLAIMS[claim](level, EXAMPLES)
    assert said in str(told.value) and level.__name__ not in REGISTRY


@pytest.mark.parametrize("level", [SparsePoint, Shy])
def test_a_level_may_refuse_what_it_cannot_hold_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, level: type[Level]
) -> None:
    """A fault that no array brings about when it is loaded is a defect."""
    module = import_module("wingspan.testing.conformance")
    text = (
        f"C = Tensor({level.__name__}(Element(0)), 2)\nC .= 0\nC[1] = 2\nC[{1 + (level is SparsePoint)}] = 3\nreturn C"
    )
    monkeypatch.setattr(module, "kernels", lambda: st.just(text))
    monkeypatch.setattr(module, "programs", lambda some: st.just(text))
    monkeypatch.setattr(module, "compiler", lambda: None)
    with nullcontext() if level is SparsePoint else pytest.raises(Nonconforming, match=r"^engines: the end of the run"):
        assert CLAIMS["engines"](level, 1) == {"programs": 1}


@pytest.mark.parametrize("level", few([Boastful, Overlapping], 1))
def test_a_level_whose_stability_is_too_much_is_refuted(level: type[Level]) -> None:
    """For all extents, threads and levels around, with a program that shows it."""
    pytest.importorskip("z3")
    with pytest.raises(Nonconforming, match=f"^proof: .*{level.__name__}"):
        CLAIMS["proof"](level, 0)


def test_the_plugin_finds_a_level_in_the_folder_that_pytest_is_called_in(pytester: pytest.Pytester) -> None:
    """As `python -m pytest` does: the console script leaves this folder out of the module path."""
    pytester.makepyfile(in_this_folder="from wingspan.levels.dense import Dense as Mine\n")
    script = str(Path(sys.executable).with_name("pytest"))
    words = ("--wingspan", "in_this_folder:Mine", "--wingspan-examples", "1", "-k", "loads", "-p", "no:cacheprovider")
    pytester.run(script, *words).assert_outcomes(passed=1, deselected=4)


@pytest.mark.usefixtures("unshrunk")
def test_the_plugin_has_a_test_for_each_claim(pytester: pytest.Pytester) -> None:
    place = f"{__name__}:Boastful"
    ran = pytester.runpytest_inprocess("-p", "wingspan.pytest_plugin", "--wingspan", place, "-k", "stability or loads")
    ran.assert_outcomes(passed=1, failed=1, deselected=3)
    ran.stdout.fnmatch_lines(["*stability: Boastful declares sibling*"])


@pytest.mark.parametrize(("words", "examples"), [((), EXAMPLES), (("--wingspan-examples", "3"), 3)])
def test_the_plugin_tries_as_many_examples_as_asked_for(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], examples: int
) -> None:
    seen: list[int] = []

    def loads(level: type[Level], number: int) -> dict[str, object]:
        seen.append(number)
        return {}

    monkeypatch.setitem(CLAIMS, "loads", loads)
    place = f"{__name__}:Swapped"
    ran = pytester.runpytest_inprocess("-p", "wingspan.pytest_plugin", "--wingspan", place, "-k", "loads", *words)
    ran.assert_outcomes(passed=1, deselected=4)
    assert seen == [examples]


def test_no_examples_are_a_mistake(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess("-p", "wingspan.pytest_plugin", "--wingspan-examples", "0")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*--wingspan-examples 0: write a number from 1 on*"])


@pytest.mark.parametrize("place", ["proofs_tests.nothing:Dense", f"{__name__}:Nothing", "Dense"])
def test_a_level_that_the_plugin_does_not_find_is_one_error(pytester: pytest.Pytester, place: str) -> None:
    ran = pytester.runpytest_inprocess("-p", "wingspan.pytest_plugin", "--wingspan", place)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*--wingspan {place}: *MODULE:LEVEL*"])


def test_a_leaf_says_which_kinds_it_takes() -> None:
    """Other fill values are one error; and what tests formats tries only those that it takes."""
    with registered(Whole):
        kept = wingspan.Tensor.from_numpy("Dense(Whole(0))", [1, 2])
        assert kept.to_numpy().tolist() == [1, 2]
        for fill in ("0.0", "false"):
            with pytest.raises(wingspan.ProgramError, match="Whole takes 64-bit integers, and ") as caught:
                wingspan.Tensor.from_numpy(f"Dense(Whole({fill}))", [0, 1])
            assert caught.value.fix == f"for example Whole(0), or Element({fill})"
    for claim in ("loads", "thaws", "stability"):
        assert CLAIMS[claim](Whole, 20)
