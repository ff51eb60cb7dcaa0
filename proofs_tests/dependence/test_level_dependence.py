"""The three level dependence tests against ground truth: on programs with a name, and on all of small scope.

`make prove` runs `bench/theory.py --scope full`, which does the same for the numbers in docs/theory.md.
"""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

import pytest

from proofs_tests.effort import due, few, many
from proofs_tests.exploring import verdict
from proofs_tests.scopes import (
    DYNAMIC,
    STATIC,
    STORAGE,
    STRETCHED,
    Nest,
    arriving,
    formats,
    pairs,
    random_format,
    singles,
    tower,
    wide,
)
from proofs_tests.theory import Tally, analysis, explored, tally
from wingspan import api
from wingspan.dependence import TESTS, Analysis, Test

# ------------------------------------------------------------------------------------------------------- the breakers


class Breaker(NamedTuple):
    """A program that goes wrong: how, and which of the three tests accept it."""

    name: str
    ends: str
    accepted: set[str]
    form: str
    loops: str
    update: str
    shape: str = "2"
    declared: str = "0"


PRINTED = {"printed"}
BREAKERS = [
    Breaker("B1: the level that the loop itself unfurls", "fault", PRINTED, "SparseList(Element(0))",
            "i on d", "T[i] += 1"),
    Breaker("B1 on a table", "race", PRINTED, "SparseByteMap(Element(0))", "i on d", "T[i] += 1"),
    Breaker("B1 on a dictionary", "race", PRINTED, "SparseDict(Element(0))", "i on d", "T[i] += 1"),
    Breaker("B2: the same below", "fault", PRINTED, "Dense(SparseList(Element(0)))",
            "j; i on d", "T[i, j] += 1", "2, 2"),
    Breaker("B2 on a table", "race", PRINTED, "Dense(SparseByteMap(Element(0)))",
            "j; i on d", "T[i, j] += 1", "2, 2"),
    Breaker("B2 on a dictionary", "race", PRINTED, "Dense(SparseDict(Element(0)))",
            "j; i on d", "T[i, j] += 1", "2, 2"),
    Breaker("B3: an inner subscript", "race", set(), "SparseDict(Dense(Element(0)))",
            "k on d; j", "T[k, j] += 1", "2, 2"),
    Breaker("B4: an isolated fiber that tasks share", "fault", PRINTED, "Isolate(Dense(SparseList(Element(0))))",
            "j on d; i", "T[i, j] += 1", "1, 2"),
    Breaker("B4: a fiber isolated outside of the loop", "fault", set(), "Dense(Isolate(Dense(SparseList(Element(0)))))",
            "k; j on d; i", "T[i, j, k] += 1", "1, 2, 1"),
    Breaker("B5: a shard that tasks share", "fault", PRINTED, "Shard(d, Dense(Atomic(0)))", "k on d; i", "T[i] += 1"),
    Breaker("B5 below the root", "fault", PRINTED, "Dense(Shard(d, Atomic(0)))", "k on d; i", "T[i] += 1"),
    Breaker("B6: a lock that is taken after the fiber is loaded", "fault", PRINTED,
            "Dense(Isolate(Mutex(SparseDict(Element(0)))))", "k on d; j; i", "T[i, j] += 1", "1, 1"),
    Breaker("B7: taking turns in what is appended to once", "fault", PRINTED, "Mutex(Isolate(SparseList(Element(0))))",
            "k on d; i", "T[i] += 1", "1"),
    Breaker("B8: two regions of one phase", "fault", PRINTED, "Dense(Shard(d, SparseByteMap(Element(0))))",
            "k; j on d dynamic; i", "T[i, j] += 1", "1, 2"),
    Breaker("B9: two locks taken in a circle", "deadlock", PRINTED, "Dense(Mutex(Dense(Atomic(0))))",
            "k on d; i", "T[i, k] += 1\nT[i, 3 - k] += 1", "1, 2"),
    Breaker("B10: one lock taken twice", "deadlock", PRINTED, "Dense(Mutex(Dense(Atomic(0))))",
            "k on d; i", "T[i, k] += 1\nT[i, k - k + 1] += 1", "1, 2"),
    Breaker("B11: a scalar", "race", set(), "Element(0)", "k on d", "T[] += 1", ""),
    Breaker("B12: copies that start from another value", "wrong", PRINTED, "Merge(d, Dense(Element(5)))",
            "k on d; i", "T[i] += 1", "1", "5"),
    Breaker("B12: copies of a product", "wrong", PRINTED, "Merge(d, Dense(Element(0)))",
            "k on d; i", "T[i] *= 3", "1", "7"),
    Breaker("gate: a shard of another device", "fault", PRINTED, "Dense(Shard(e, Dense(Element(0))))",
            "j on d; i", "T[i, j] += 1", "2, 2"),
]  # fmt: skip
"""The breakers of Algorithm 1 as printed. Those that it rejects break other readings of it: subscripts as they were
before concordization (B3), modifiers that count outside of the loop where they take effect (B4), a leaf with an index
(B11).
"""


def program(b: Breaker) -> str:
    """The breaker as a text; `j on d dynamic` is a parallel loop. An index runs as far as its axis, a bare k to 2."""
    extents = dict(zip("ij", b.shape.split(", "), strict=False)) if "[i" in b.update else {}
    lines = ["d = cpu(:d, 2)", "e = cpu(:e, 2)"]
    lines += [f"T = Tensor({b.form}{', ' if b.shape else ''}{b.shape})", f"T .= {b.declared}"]
    loops = b.loops.split("; ")
    for loop in loops:
        index, *on = loop.split()
        r = f"1:{extents.get(index, '2')}"
        schedule = ", dynamic_schedule(1)" if "dynamic" in on else ""
        lines.append(f"for {index} = {f'parallel({r}, {on[1]}{schedule})' if on else r}")
    return "\n".join([*lines, b.update, *["end"] * len(loops)])


@pytest.mark.parametrize("breaker", few(BREAKERS, 3), ids=lambda b: b.name)
def test_breakers_of_the_printed_test(breaker: Breaker) -> None:
    """P15: the printed test accepts programs that some interleaving breaks; the others accept none of them."""
    text = program(breaker)
    assert verdict(text) == breaker.ends
    bound = api.bind(api.parse(text))
    tests = Analysis(bound.body)
    assert {test for test in TESTS if tests.verdict(bound.towers, test) == "safe"} == breaker.accepted


# -------------------------------------------------------------------------------------------------- all of small scope


@cache
def tally_of(scope: str) -> Tally:
    """The three tests against the oracle."""
    choose = random.Random(scope)
    match scope:
        case "rank 1" | "rank 1, static":
            schedules = (STATIC,) if "static" in scope else (STATIC, DYNAMIC)
            nests = [nest for loops in (1, 2) for nest in singles(1, loops, schedules) if nest.devices < 2]
            return tally(nests, formats(1, 1, 1))
        case "rank 1, two modifiers":
            return tally([nest for nest in singles(1, 1) if nest.devices < 2], formats(1, 1, 2))
        case "rank 1, two devices":
            nests = [nest for nest in singles(1, 2) if nest.devices == 2]
            return tally(nests, formats(1, 2, 1))
        case "rank 2":
            nests = [nest for nest in singles(2, 2, (STATIC,)) if nest.devices < 2]
            return tally(nests, formats(2, 1, 1))
        case "rank 2, three loops":
            nests = choose.sample([nest for nest in singles(2, 3) if nest.devices == 1], 16)
            return tally(nests, [random_format(2, 1, choose.choice((1, 2, 3)), choose) for _ in range(many(60))])
        case "two accesses":
            nests = choose.sample([nest for rank in (1,) for nest in pairs(rank) if nest.devices == 1], 40)
            return tally(nests, formats(1, 1, 1))
        case "wide shifts":
            return tally(
                choose.sample(wide(1), 40), [random_format(1, 1, choose.choice((0, 1, 2)), choose) for _ in range(30)]
            )
        case "numbered on arrival":
            nests = [nest for nest in wide(2, (STATIC,)) if nest.text.count("for ") == 1]
            roots = [root for root in formats(2, 1, 1) if arriving(root) and str(root).count("Element")]
            return tally(choose.sample(nests, 40), roots)
        case "runs and blocks, rank 1":
            nests = [nest for loops in (1, 2) for nest in singles(1, loops) if nest.devices < 2]
            return tally(nests, formats(1, 1, 1, STRETCHED))
        case "runs and blocks":
            nests = choose.sample([nest for loops in (2, 3) for nest in singles(2, loops)], 24)
            every = (*STRETCHED, *STORAGE)
            roots = [random_format(2, 2, choose.choice((1, 2, 3)), choose, every) for _ in range(max(12, many(60)))]
            return tally(nests, roots)
        case "runs and blocks, two accesses":
            nests = choose.sample([nest for nest in pairs(2) if nest.devices == 1], 24)
            every = (*STRETCHED, *STORAGE)
            roots = [random_format(2, 1, choose.choice((0, 1, 2)), choose, every) for _ in range(max(12, many(60)))]
            return tally(nests, roots)
    raise ValueError(scope)


SCOPES = (
    "rank 1, static", "rank 1", "rank 1, two modifiers", "rank 2", "rank 2, three loops", "rank 1, two devices",
    "two accesses", "wide shifts", "numbered on arrival", "runs and blocks, rank 1", "runs and blocks",
    "runs and blocks, two accesses",
)  # fmt: skip


@pytest.mark.parametrize("scope", few(SCOPES, 1))
@pytest.mark.parametrize("test", ["repaired", "exact"])
def test_what_is_accepted_is_safe(test: Test, scope: str) -> None:
    """P14: no accepted program races, faults, deadlocks or gives a wrong value, on everything of the scope."""
    assert tally_of(scope).count(test, "accepted-safe") > 0
    assert tally_of(scope).count(test, "accepted-bad") == 0, tally_of(scope).examples


@pytest.mark.parametrize("scope", few(SCOPES, 1))
def test_the_printed_test_accepts_what_is_not(scope: str) -> None:
    """P15: and many a program at that."""
    assert tally_of(scope).count("printed", "accepted-bad") > min(20, due(160))


@pytest.mark.deep
def test_the_exact_test_accepts_all_that_is_safe() -> None:
    """P16: on single accesses, bare and concordant, nothing safe is rejected; the repaired test rejects some."""
    one = [nest for loops in (1, 2) for nest in singles(1, loops) if nest.bare and nest.devices < 2]
    two = [nest for nest in singles(2, 2, (STATIC,)) if nest.bare and nest.devices < 2]
    bare = tally(one, formats(1, 1, 1))
    bare.add(tally(two, formats(2, 1, 1)))
    assert bare.count("exact", "rejected-safe") == 0, bare.examples
    assert bare.count("repaired", "rejected-safe") > 0


@pytest.mark.parametrize("seed", range(many(4)))
def test_no_interleaving_breaks_what_is_accepted(seed: int) -> None:
    """P14 by the explorer: of random programs that a test accepts, none ends in anything but `safe`."""
    choose = random.Random(seed)
    nests: list[Nest] = [*singles(1, 2), *singles(2, 2, (STATIC,)), *pairs(1)]
    accepted = 0
    for _ in range(40):
        nest = choose.choice(nests)
        over = tower(random_format(nest.rank, nest.devices, choose.choice((0, 1, 2)), choose))
        if any(analysis(nest).verdict({"T": over}, test) == "safe" for test in ("repaired", "exact")):
            assert explored(nest, over, most=1000).verdict in ("safe", "incomplete"), nest.program(over.levels[0])
            accepted += 1
    assert accepted
