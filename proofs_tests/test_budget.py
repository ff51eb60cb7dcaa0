"""The budget of tests: what is too dear fails, what is dear is listed; and when rules that fired are counted."""

from __future__ import annotations

import json
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from proofs_tests.budget import BUDGET, TOLERANCE, Cost, Costs, dearest, excess, is_free, resident
from proofs_tests.conftest import empty_caches, is_whole
from proofs_tests.effort import ORDINARY

pytest_plugins = ["pytester"]
MOST = BUDGET * TOLERANCE

TESTS = """
import pytest

def test_one(): assert sum(range(100_000))

@pytest.mark.deep
def test_deep(): assert sum(range(100_000))

def test_wrong(): assert False
"""


def test_a_test_over_its_budget_fails_and_a_deep_one_has_none(pytester: pytest.Pytester) -> None:
    """A test that fails says why it does, whatever it took."""
    file = pytester.path / "costs.jsonl"
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nmarkers = deep")
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider", plugins=[Costs(file, budget=-1.0)])
    found.assert_outcomes(passed=1, failed=2)
    found.stdout.fnmatch_lines(
        ["*-1 s are the budget of a test: give the normal suite a small case*", "*assert False*"]
    )
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [name.partition("::")[2] for name, *_ in lines] == ["test_one", "test_deep", "test_wrong"]
    assert all(own >= 0 and others >= 0 for _, own, others, _ in lines)
    memory = [number for *_, number in lines]
    assert memory[0] > 20 and [*memory, resident()] == sorted([*memory, resident()])


@pytest.mark.parametrize(
    ("cost", "fails"),
    [(Cost(MOST + 0.1, 0), True), (Cost(0.1, MOST), True), (Cost(MOST / 2, MOST / 2), False), (Cost(0, 0), False)],
)
def test_a_test_that_takes_several_times_its_budget_is_an_error(cost: Cost, fails: bool) -> None:
    """Itself, or the processes that it starts, or both together."""
    assert (excess(cost) is not None) == fails


@pytest.mark.parametrize(
    ("marks", "effort", "free"),
    [
        ([], ORDINARY, False),
        (["many"], ORDINARY, False),
        (["many"], 1, True),
        ([], 1, False),
        (["deep"], ORDINARY, True),
    ],
)
def test_deep_tests_and_larger_campaigns_have_no_budget(marks: list[str], effort: Any, free: bool) -> None:
    assert is_free(marks, effort) == free


def test_the_dearest_tests_are_listed_with_a_star_where_they_are_over_the_budget() -> None:
    costs = [("cheap", Cost(0.5, 0.0)), ("dear", Cost(BUDGET, 1.0)), ("dearer", Cost(2 * BUDGET, 0.0))]
    total, *lines, advice = dearest(costs, number=2)
    assert total.startswith(f"{3 * BUDGET + 1.5:.0f} s of processor time in 3 tests")
    assert [line.split()[2:] for line in lines] == [["*", "dearer"], ["*", "dear"]] and advice.startswith("* over")
    assert list(dearest([])) == ["0 s of processor time in 0 tests"]
    assert not any("*" in line for line in dearest(costs[:1]))


def test_a_file_forgets_what_it_has_cached_and_not_what_it_shares_with_others() -> None:
    module = ModuleType("test_here")
    own: Any = cache(list)
    shared: Any = cache(dict)
    own.__module__, shared.__module__ = "test_here", "proofs_tests.sources"
    vars(module).update(own=own, shared=shared, number=1)
    own(), shared()
    empty_caches(module)
    empty_caches(None)
    assert [each.cache_info().currsize for each in (own, shared)] == [0, 1]


OF_ALL, OF_SOME = pytest.Config.ArgsSource.TESTPATHS, pytest.Config.ArgsSource.ARGS


@pytest.mark.parametrize(
    ("source", "options", "status", "whole"),
    [
        (OF_ALL, {}, pytest.ExitCode.OK, True),
        (OF_ALL, {"keyword": "", "maxfail": 0, "lf": False}, pytest.ExitCode.TESTS_FAILED, True),
        (OF_ALL, {}, pytest.ExitCode.INTERRUPTED, False),
        (OF_ALL, {}, pytest.ExitCode.INTERNAL_ERROR, False),
        (OF_ALL, {"collectonly": True}, pytest.ExitCode.OK, False),
        (OF_ALL, {"maxfail": 1}, pytest.ExitCode.TESTS_FAILED, False),
        (OF_ALL, {"keyword": "pages"}, pytest.ExitCode.OK, False),
        (OF_ALL, {"lf": True}, pytest.ExitCode.OK, False),
        (OF_SOME, {}, pytest.ExitCode.OK, False),
    ],
)
def test_a_run_that_is_not_whole_counts_no_rules(
    source: Any, options: dict[str, Any], status: pytest.ExitCode, whole: bool
) -> None:
    """Such as one that was interrupted: it would say that no rule fires."""
    config: Any = SimpleNamespace(args_source=source, option=SimpleNamespace(**options))
    assert is_whole(config, status) == whole
