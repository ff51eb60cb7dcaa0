"""Nested devices: the paper's nested placements are among those offered, and every one that is offered is safe."""

from __future__ import annotations

import pytest

from proofs_tests.choices.test_placements import NESTED, SETTINGS, ends, listing, of, placed
from proofs_tests.effort import few, many
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.choices.estimate import estimate
from wingspan.choices.placements import choices, placements
from wingspan.dependence.changes import extends

NEST = """
    c = Tensor(Dense(Dense(Element(0))), 2, 3)
    d = Tensor(Element(0))
    c .= 0
    d .= 0
    for j = _
        for i = _
            c[i, j] += i * j
            d[] += j
    return c, d
"""


@pytest.mark.parametrize("name", few(NESTED, 1))
def test_the_placement_of_a_nested_listing_is_found_if_nested_devices_are_asked_for(name: str) -> None:
    """Its loops on two devices, with no more modifiers than it has, beside all that one device of four threads has."""
    program, _ = listing(name)
    found = choices(program, (2, 2), params=SETTINGS if name == "spgemm_nested" else None)
    loops, layers = placed(program.tree)
    schedules = set()
    for each in found.placements:
        at, fewer = placed(each.program.tree)
        if at == loops and all(extends(layers[T], fewer[T]) for T in layers):
            schedules.add(each.schedule.partition("(")[0])
            assert str(each.program).startswith("dev = cpu(:dev, 2)\ndev2 = cpu(:dev2, 2, dev)\n")
            assert [f"dev{k}" in loop for loop, k in zip(each.loops, ("", "2"), strict=True)] == [True, True]
    assert schedules == {"static_schedule", "dynamic_schedule"}
    one = choices(program, 4, params=SETTINGS if name == "spgemm_nested" else None)
    assert {*one.placements} < {*found.placements}


@pytest.mark.parametrize("name", few(NESTED, 1))
def test_a_nested_listing_is_at_most_as_fast_as_the_best_by_estimate(name: str) -> None:
    """Two devices of two threads each, beside one loop on a device of four."""
    program, _ = listing(name)
    hand = estimate(api.bind(program, params=SETTINGS if name == "spgemm_nested" else None, symbolic=True, threads=2))
    assert placements(program, 4)[0].estimate.time <= hand.time


@pytest.mark.parametrize("devices", few([((2, 2),), ((1, 3),), ((3, 1),)], 2))
def test_every_placement_on_nested_devices_is_accepted_and_computes_the_same(devices: tuple[int, int]) -> None:
    """Both tasks of the inner device and those of the outer one meet in d: two modifiers help, or one lock."""
    found = of(NEST, devices)
    nested = [each for each in found.placements if len(each.loops) == 2]
    assert len(nested) > 2 and found.complete
    expected = ends(found.serial.program, {}, "reference")
    for each in nested:
        again = api.parse(str(each.program))
        assert api.check(again, budget=0).verdict == "safe"
        explored = api.explore(again, max_states=max(40, many(100))).verdict
        assert explored.verdict in ("safe", "incomplete") and not explored.races
        assert ends(again, {}, "native") == expected


def test_three_devices_need_three_loops_inside_of_each_other() -> None:
    assert not [each for each in of(NEST, (2, 2, 2)).placements if len(each.loops) > 1]


@pytest.mark.parametrize("threads", [(), (0,), (2, 0), 0])
def test_a_device_has_threads(threads: int | tuple[int, ...]) -> None:
    with pytest.raises(
        InputError, match="there are no numbers of threads" if threads == () else r"(?m)threads, not 0$"
    ):
        api.parallelize(api.parse(NEST), threads=threads)
