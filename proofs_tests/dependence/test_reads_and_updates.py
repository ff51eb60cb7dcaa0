"""Pairs of a read and an update: `check` is compared with the explorer on all small programs of a shape."""

from __future__ import annotations

from itertools import product

import pytest

from proofs_tests.effort import few
from wingspan import api
from wingspan.explorer import Verdict

SUBSCRIPTS = ("i", "i + 1", "i - 1", "5 - i", "1", "2 * i - 2", "i - i % 2")
LEAVES = ("Element(0)", "Atomic(0)", "Mutex(Element(0))")

PAIRS = ("i, j", "i - 1, j", "i, j - 1", "i - 1, j - 1", "i + 1, j - 1", "j, i")
NESTS = (
    "for j = parallel(2:3)\nfor i = 2:3",
    "for j = 2:3\nfor i = parallel(2:3)",
    "for i = parallel(2:3)\nfor j = 2:3",
)


def truth(found: Verdict) -> str:
    """The verdict that a test without mistakes gives on what was explored completely."""
    assert found.complete and not found.faults
    return "unsafe" if found.races or found.deadlocks else "order-dependent" if len(found.results) > 1 else "safe"


@pytest.mark.parametrize(("leaf", "written"), few(list(product(LEAVES, SUBSCRIPTS)), 4))
def test_of_one_axis_the_verdict_is_the_truth(leaf: str, written: str) -> None:
    """Reads by each subscript. Elements differ so much that no two orders have one result by chance."""
    for read, op in product(SUBSCRIPTS, ("=", "+=")):
        text = f"a = Tensor(Dense({leaf}), [1, 20, 400, 8000])\nfor i = parallel(2:3)\n"
        text += f"a[{written}] {op} a[{read}] + i\nend"
        program = api.parse(f"{text}\nreturn a")
        assert api.check(program, budget=0).verdict == truth(api.explore(program).verdict), text


@pytest.mark.parametrize(("nest", "written"), few(list(product(NESTS, PAIRS)), 4))
def test_of_two_axes_the_verdict_is_the_truth(nest: str, written: str) -> None:
    """Wavefronts, transposes and rows, with either loop outside and either parallel."""
    for read in PAIRS:
        text = f"A = Tensor(Dense(Dense(Element(0))), 4, 4)\nA .= 1\n{nest}\nA[{written}] = A[{read}] + 1\nend\nend"
        program = api.parse(text)
        assert api.check(program, budget=0).verdict == truth(api.explore(program).verdict), text


def test_a_direction_says_whether_the_read_comes_first() -> None:
    """Of an update and a read in this order: `<` is a true dependence, `>` an anti-dependence."""
    for text, direction in (("a[i + 1] = a[i]", "<"), ("a[i] = a[i + 1]", ">"), ("a[i] = a[1]", "<")):
        report = api.check(api.parse(f"a = Tensor(Dense(Element(0)), 5)\na .= 1\nfor i = parallel(1:4); {text}; end"))
        (found,) = report.findings
        assert (found.topic, dict(found.direction)["i"], found.reads) == ("level-dependence", direction, (False, True))


@pytest.mark.parametrize(("body", "loops"), [
    ("for i = 2:4\nfor j = 2:4\nA[i, j] = A[i - 1, j] + A[i, j - 1]\nend\nend", 0),
    ("for i = 2:4\nfor j = 2:4\nA[i, j] = A[i - 1, j] + A[i, j]\nend\nend", 1),
    ("for k = 1:2\nfor c = 0:1\nfor i = 1:2\na[2 * i + c] = a[2 * i + c - 1] + a[2 * i + c + 1]\nend\nend\nend", 1),
])  # fmt: skip
def test_a_wavefront_stays_serial_and_red_cells_that_read_black_ones_do_not(body: str, loops: int) -> None:
    """`parallelize` and the advice of `check` propose what the test accepts: the loop that carries nothing."""
    head = "A = Tensor(Dense(Dense(Element(0))), 4, 4)\na = Tensor(Dense(Element(0)), 6)\nA .= 1\na .= 1\n"
    text = f"{head}{body}\nreturn A, a"
    advice = api.check(api.parse(text)).advice
    assert len(advice) == loops
    for each in advice:
        program = api.parse(each.program)
        assert api.check(program, budget=0).verdict == "safe" and not api.explore(program).verdict.races


def test_the_remedy_of_a_race_between_a_read_and_an_update_is_no_format_that_cannot_be_read() -> None:
    report = api.check(api.parse("s = Tensor(Element(0))\ns .= 0\nfor i = parallel(1:3); s[] = s[] + i; end"))
    assert report.verdict == "unsafe" and report.advice
    for each in report.advice:
        assert api.check(api.parse(each.program), budget=0).verdict == "safe"
        assert not any(name in each.program for name in ("Merge", "Shard", "Isolate"))
