"""Random programs of several shapes: what a sound test accepts is explored, and must be safe.

`bench/soundness.py` explores more programs, and also those that the tests reject.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache

import pytest

from proofs_tests.drafts import opened
from proofs_tests.effort import due, many
from proofs_tests.shapes import SHAPES, Shape, arrival, overlapping, program, tight, values
from proofs_tests.soundness import REASONED, SOUND, TRUTHS, Tally, refusals, truth
from proofs_tests.theory_page import shape_rows
from wingspan import api
from wingspan.dependence import arrivals

PROGRAMS, STATES = many(63), 200
"""A thousand programs of nineteen shapes in all, each explored up to so many states."""

FEWER: dict[Shape, int] = {overlapping: 3, tight: 6}
"""Of most shapes eight programs at least are accepted and safe; of these there are fewer."""


def tally(shape: Shape, seeds: Iterable[int] = range(PROGRAMS), explore_all: bool = False) -> Tally:
    found = Tally()
    for seed in seeds:
        found.note(program(shape, seed), STATES, explore_all)
    return found


@cache
def every_arrival() -> Tally:
    """Programs that number children on arrival, of which those that are rejected are explored too."""
    return tally(arrival, range(10), explore_all=True)


def test_there_are_a_thousand_programs_of_at_least_six_shapes() -> None:
    assert len(SHAPES) >= 6
    assert len({program(shape, seed) for shape in SHAPES for seed in range(PROGRAMS)}) > 0.9 * many(1000)
    assert len(SHAPES) * PROGRAMS >= due(1000)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_no_random_program_that_is_accepted_goes_wrong(shape: Shape) -> None:
    """P14 on random programs, faults that values cause excepted; a search that is cut shows nothing."""
    found = tally(shape)
    assert found.unsound == []
    for test in SOUND:
        safe, cut = (found.count(test, "accepted", name) for name in ("safe", "cut"))
        assert safe >= due(FEWER.get(shape, 8) if test in REASONED else 2) and cut < 10
        assert found.count(test, "accepted", "bad") == 0
    faulted = found.count("repaired", "accepted", "value")
    assert faulted >= due(1) if shape is values else faulted == 0


def test_random_programs_notice_a_test_that_is_unsound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule about numbers given on arrival, some of them are accepted and fault; 34 is the first."""
    monkeypatch.setattr(arrivals, "violations", lambda *_, **__: ())
    found = tally(arrival, range(30, 36))
    assert found.unsound
    assert all("explored: fault" in program for program in found.unsound)


RACE = "d = cpu(:d, 2)\nT = Tensor(Dense(Element(0)), 1)\nT .= 0\nfor i = parallel(1:2, d)\nT[1] += 1\nend"
TWICE = "T = Tensor(SparseList(Element(0)), 1)\nT .= 0\nfor i = 1:2\nT[1] += 1\nend"
DEADLOCK = "d = cpu(:d, 2)\nT = Tensor(Mutex(Dense(Element(0))), 2)\nT .= 0\nfor i = 1:2\nT[i] += 1\nT[1] += 1\nend"
LAST = RACE.replace("Element", "Atomic").replace("+= 1", "= i")


@pytest.mark.parametrize(("text", "states", "found"), [
    (RACE, 300, "bad"), (TWICE, 300, "bad"), (DEADLOCK, 300, "bad"), (LAST, 300, "bad"),
    (RACE.replace("Element", "Atomic"), 300, "safe"),
    (RACE.replace("Element", "Atomic"), 2, "cut"),
    (RACE.replace("Element", "Atomic").replace("+= 1", "+= 1 ÷ (i - 2)"), 300, "value"),
    (RACE.replace("T[1]", "T[i]"), 300, "value"),
    (RACE.replace("Element", "Atomic").replace("+= 1", "+= 9223372036854775807"), 300, "value"),
])  # fmt: skip
def test_what_the_explorer_finds_is_counted_as_what_it_is(text: str, states: int, found: str) -> None:
    assert truth(api.explore(api.parse(text), max_states=states).verdict) == found


def test_the_table_counts_every_program_once_for_each_test() -> None:
    assert every_arrival().programs == 10
    for row in shape_rows({"arrival": every_arrival()}):
        assert sum(number for number in row.values() if isinstance(number, int)) == 10


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_program_left_open_has_the_program_as_an_instance(shape: Shape) -> None:
    """So what is accepted of it must be accepted of the program."""
    accepted = 0
    for seed in range(many(63)):
        text = program(shape, seed)
        bound, written = api.bind(api.parse(text)), api.parse(opened(text))
        general = api.bind(written, symbolic=True)
        assert "threads" in general.symbols or "parallel" not in text
        params = {name: re.sub("[a-z]", "", name) for name in general.symbols if name[-1].isdigit()}
        if "threads" in general.symbols:
            params["threads"] = "2"
        data = {name: json.loads(values) for name, values in re.findall(r"(A) = .*(\[.*\])", text)}
        instance = api.bind(written, params=params, inputs=data)
        assert instance.body == bound.body and instance.towers == bound.towers
        refused = dict(refusals(text, bound))
        accepted += not refused["open"]
        assert refused["open"] or not refused["repaired"], text
    assert accepted >= due(2)


def test_precision_is_by_what_is_rejected() -> None:
    """Every program that a test rejects has one reason; an update that no task shares is rejected for none."""
    found = every_arrival()
    for test in REASONED:
        rejected = sum(found.count(test, "rejected", each) for each in TRUTHS)
        assert sum(n for key, n in found.reasons.items() if key.startswith(test)) == rejected > 0
