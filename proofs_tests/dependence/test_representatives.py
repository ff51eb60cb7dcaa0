"""Of accesses that are alike a few are compared: that changes no verdict, and makes long programs cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from wingspan import api
from wingspan.base.errors import ProgramError
from wingspan.dependence import TESTS, Analysis, analysis, locks, representatives
from wingspan.dependence.sets import Pairs
from wingspan.elaborate import Elaborated

FORMATS = (
    "Dense(Element(0))",
    "Dense(Atomic(0))",
    "SparseList(Element(0))",
    "Mutex(SparseDict(Element(0)))",
    "Dense(Isolate(Element(0)))",
    "Dense(Shard(dev, Element(0)))",
    "Merge(dev, SparseList(Element(0)))",
)
UPDATES = ("c[{i}] += 1", "c[{i}] = 1", "c[{i}] = 2", "c[{i}] = {i}", "c[{i} + 1] += 1", "c[2] = 1", "x = {i}")
RANGES = ("1:3", "2:3", "parallel(1:3, dev)", "parallel(1:3, dev, dynamic_schedule(1))")


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2, around: str = "") -> list[str]:
    """Statements in loops and conditions, many of them alike, with other names for the indices of loops that are."""
    lines: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["update", "loop", "if"] if depth and around else ["update", "loop"]))
        times = draw(st.sampled_from([1, 1, 2, 5, 6]))
        if kind == "update" and around:
            lines += draw(st.lists(st.sampled_from(UPDATES), min_size=1, max_size=2)) * times
            lines = [line.format(i=around) for line in lines]
        elif kind == "if":
            inside = draw(bodies(depth - 1, around))
            lines += [f"if {around} > 1", *inside, "end"]
        elif depth and not (around and times > 2):
            header, inside = draw(st.sampled_from(RANGES)), draw(bodies(depth - 1, "§"))
            for copy in range(times):
                index = f"i{depth}{number}{copy}"
                lines += [f"for {index} = {header}", *(line.replace("§", index) for line in inside), "end"]
    return lines


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A program that updates one tensor and one variable."""
    lines = [f"dev = cpu(:dev, {draw(st.integers(1, 2))})", f"c = Tensor({draw(st.sampled_from(FORMATS))}, 4)"]
    return "\n".join([*lines, "x = 0", "c .= 0", *draw(bodies()), "return c"])


def everything(accesses, valued=False):
    """All accesses stand for themselves."""
    return list(accesses)


@contextmanager
def one_by_one() -> Iterator[None]:
    """Within, all are compared."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (analysis, locks):
            patch.setattr(module, "representatives", everything)
        yield


def bound(text: str) -> Elaborated | None:
    try:
        return api.bind(api.parse(text), symbolic=True)
    except ProgramError:
        return None


def verdicts(program: Elaborated) -> dict[str, tuple[str, set[Any]]]:
    """The verdict of each test, and what it finds where, apart from between which accesses."""
    reports = {test: Analysis(program.body).report(program.towers, test) for test in TESTS}
    return {
        test: (report.verdict, {(f.topic, f.tensor, f.level, f.required, f.stability) for f in report.findings})
        for test, report in reports.items()
    }


@settings(max_examples=many(30))
@given(texts())
def test_those_that_are_kept_stand_for_all(text):
    """Every test finds the same, but for the places, as if it compared each two accesses."""
    program = bound(text)
    if program is None:
        return
    some = verdicts(program)
    with one_by_one():
        assert some == verdicts(program)


@dataclass(frozen=True)
class Odd:
    """Something harmless, which may be repeated, and what differs from it in one respect and does harm."""

    form: str
    harmless: str
    harmful: str
    around: str = "for i = parallel(1:9, cpu(:t, 2))"

    def text(self, *body: str) -> str:
        """The program with these."""
        tensors = [f"{name} = Tensor({self.form}, 9)" for name in "cd"]
        before = ["dev = cpu(:dev, 2)", "far = cpu(:far, 2)", *tensors, "x = 0", "c .= 0", "d .= 0", self.around]
        return "\n".join([*before, *body, "end", "return c, d"])


ODD = {
    "subscripts": Odd("Dense(Element(0))", "c[i] += 1", "c[1] += 1"),
    "values": Odd("Dense(Atomic(0))", "c[1] = 1", "c[1] = 2"),
    "computed values": Odd("Dense(Atomic(0))", "c[1] = 1", "c[1] = i"),
    "operators": Odd("Dense(Atomic(0))", "c[1] += 1", "d[1] = i"),
    "conditions": Odd("Dense(Element(0))", "if i > 9; c[1] += 1; end", "if i > 1; c[1] += 1; end"),
    "where a loop begins": Odd("Dense(Element(0))", "for j = i:i; c[j] += 1; end", "for j = 1:i; c[j] += 1; end"),
    "where a loop ends": Odd("Dense(Element(0))", "for j = 1:0; c[j] += 1; end", "for j = 1:1; c[j] += 1; end"),
    "what is in a loop": Odd(
        "Dense(Element(0))", "for j = 1:2; c[i] += 1; d[i] += 1; end", "for j = 1:2; c[i] += 1; d[j] += 1; end"
    ),
    "reads and assignments": Odd("Dense(Element(0))", "c[i] += x", "x = 1"),
    "parallel loops": Odd(
        "Dense(Shard(dev, Element(0)))", "for j = parallel(1:2, dev); c[j] += 1; end", "for j = 1:2; c[j] += 1; end",
        "if true",
    ),
    "devices": Odd(
        "Dense(Shard(dev, Element(0)))", "for j = parallel(1:2, dev); c[j] += 1; end",
        "for j = parallel(1:2, far); c[j] += 1; end", "if true",
    ),
    "schedules": Odd(
        "Dense(Shard(dev, Element(0)))", "for j = parallel(1:2, dev); c[j] += 1; end",
        "for j = parallel(1:2, dev, dynamic_schedule(1)); c[j] += 1; end", "if true",
    ),
    "the order of the text": Odd("Mutex(Dense(Atomic(0)))", "c[i] += 1", "d[i] += 1"),
}  # fmt: skip


@pytest.mark.parametrize("respect", few(list(ODD), 6))
def test_what_differs_in_one_respect_stands_for_itself(respect):
    """Among many that are harmless it is found, as it is if all are compared."""
    odd = ODD[respect]
    harmless, both = odd.text(*[odd.harmless] * 6), odd.text(*[odd.harmless] * 4, odd.harmful, odd.harmless)
    assert api.check(api.parse(harmless), budget=0).verdict == "safe"
    program = api.bind(api.parse(both), symbolic=True)
    some = verdicts(program)
    assert some["repaired"][0] != "safe"
    with one_by_one():
        assert some == verdicts(program)


def test_two_that_are_alike_are_compared():
    """One visit of an ordered level is in order, another one to the same fibers is not."""
    loop = "for i = 1:4; c[i] += 1; end"
    texts = ("\n".join(["c = Tensor(SparseList(Element(0)), 4)", "c .= 0", *[loop] * n]) for n in (1, 2, 9))
    assert [api.check(api.parse(text), budget=0).verdict for text in texts] == ["safe", "unsafe", "unsafe"]


LOOP = "c = Tensor({form}, 9)\nc .= 0\nx = 0\nfor i = parallel(1:9, cpu(:t, 2))\n{body}end\n"
LONG: dict[str, Callable[[int], str]] = {
    "one statement many times": lambda n: LOOP.format(form="Dense(Element(0))", body="c[i] += 1\n" * n),
    "assignments of different values": lambda n: LOOP.format(
        form="Dense(Atomic(0))", body="".join(f"c[1] = {k}\n" for k in range(n))
    ),
    "some subscripts": lambda n: LOOP.format(
        form="Dense(Atomic(0))", body="".join(f"c[i + {k % 3}] += 1\n" for k in range(n))
    ),
    "parallel loops": lambda n: (
        LOOP.format(form="SparseDict(Element(0))", body="c[i] += 1\n").partition("for")[0]
        + "".join(f"for i{k} = parallel(1:9, cpu(:t, 2)); c[i{k}] += {k}; end\n" for k in range(n))
    ),
    "loops over an ordered level": lambda n: (
        "c = Tensor(SparseList(Element(0)), 9)\nc .= 0\n"
        + "".join(f"for i{k} = 1:9; c[i{k}] = {k}; end\n" for k in range(n))
    ),
    "loops in a loop": lambda n: LOOP.format(
        form="Dense(Atomic(0))", body="".join(f"for j{k} = 1:3; c[j{k}] += 1; end\n" for k in range(n))
    ),
    "one variable": lambda n: LOOP.format(form="Dense(Element(0))", body="x = x + i\n" * n),
    "many tensors": lambda n: (
        "".join(f"c{k} = Tensor(Dense(Element(0)), 9)\nc{k} .= 0\n" for k in range(n))
        + "".join(f"for i = parallel(1:9, cpu(:t, 2)); c{k}[i] += 1; end\n" for k in range(n))
    ),
    "locks": lambda n: LOOP.format(form="Mutex(SparseDict(Element(0)))", body="c[i] += 1\n" * n),
}
"""Programs of any length."""


def asked(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of sets of pairs of iterations that a check computes."""
    count = 0
    satisfying = Pairs.satisfying

    def counted(self: Pairs, *args):
        nonlocal count
        count += 1
        return satisfying(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Pairs, "satisfying", counted)
        program = bound(text)
        assert program is not None
        Analysis(program.body, program.symbols).report(program.towers)
    return count


@pytest.mark.parametrize("name", LONG)
def test_long_programs_ask_no_more_than_their_variety_needs(name, monkeypatch):
    """Five times as many statements of one kind ask for no more; as many tensors, for five times as much at most."""
    few, many = (asked(LONG[name](n), monkeypatch) for n in (20, 100))
    assert many <= (5 * few if name == "many tensors" else few)


def test_what_is_left_out_is_counted():
    report = api.check(api.parse(LONG["one statement many times"](20)))
    assert report.verdict == "safe" and report.alike == 16
    report = api.check(api.parse(LONG["one variable"](20)))
    assert report.verdict == "unsafe" and report.alike == 2 * 16


def test_too_many_different_updates_are_one_clear_error(monkeypatch):
    monkeypatch.setattr(representatives, "MOST", 5)
    body = "".join(f"c[i - {k}] += 1\n" for k in range(7))
    with pytest.raises(ProgramError, match=r"7 different updates of c, and .* compares 5 at most") as error:
        api.check(api.parse(LOOP.format(form="Dense(Element(0))", body=body)))
    assert error.value.span is not None and error.value.span.line == 10
