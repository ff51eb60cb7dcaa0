"""Statements that read what they update: the engines keep no value that an earlier statement or another task changes.

The reference, which knows neither modes nor tasks, says what serial programs compute; the rules, what tasks may do.
What each pass does with such loads is tested where it would go wrong if it took them for loads of what nobody writes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from proofs_tests.agreeing import engines_for
from proofs_tests.effort import due, few, many
from proofs_tests.native.test_native_machine import findings
from proofs_tests.program_templates import write_in_place
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import AtomicLoad, Load, While, walk
from wingspan.plan.kernels import Tile
from wingspan.plan.pipeline import for_c, lower
from wingspan.testing import compare
from wingspan.testing.choosing import by_seed


def in_place(seed: int, tasks: bool) -> api.Program:
    return api.parse(write_in_place(by_seed(seed), tasks))


# ------------------------------------------------------------------------------------------------------ random programs

SERIAL, PARALLEL, STATES = 1_600, 1_000, 4_000


@pytest.mark.parametrize("part", few(range(2), 1))
def test_engines_compute_what_the_reference_does(part: int) -> None:
    """Serial programs; those that wait for a lock of their own are left to the rules. C is compiled for all at once."""
    accepted = [
        bound
        for seed in range(part * many(SERIAL), (part + 1) * many(SERIAL))
        if api.check(program := in_place(seed, False)).verdict == "safe"
        for bound in [api.bind(program)]
    ]
    engines = engines_for(accepted, "reference", "semantics", "native", "native-controlled")
    ends = Counter(_agreed_end(bound, engines) for bound in accepted)
    assert ends["result"] > due(500) and ends["fault"] > due(50)


def _agreed_end(bound: Elaborated, engines: list[Any]) -> str:
    """The end of a program on all engines; the reference may fault in what a missing element leaves out."""
    done = compare(bound, engines)
    others = done.endings[1:]
    assert len({ending.fault is None for ending in others}) == 1, (bound.plain, done.endings)
    if done.endings[0].fault is None:
        assert done.difference is None, (bound.plain, done.difference)
    return "result" if others[0].fault is None else "fault"


@pytest.mark.parametrize("part", few(range(2), 1))
def test_tasks_do_the_same_on_both_machines_and_what_check_accepts_is_safe(part: int) -> None:
    """The same races, deadlocks, faults and results; no race in what is not `unsafe`, one result in what is `safe`."""
    seen: Counter[str] = Counter()
    for seed in range(part * many(PARALLEL), (part + 1) * many(PARALLEL)):
        program = in_place(seed, True)
        verdict = api.check(program).verdict
        rules, plan = (
            api.explore(program, machine=machine, strategy="graph", max_states=STATES).verdict
            for machine in ("semantics", "native")
        )
        if not (rules.complete and plan.complete):
            seen["cut"] += 1
            continue
        assert findings(rules) == findings(plan), str(program)
        assert verdict == "unsafe" or not (rules.races or rules.deadlocks), str(program)
        assert verdict != "safe" or len(rules.results) <= 1, str(program)
        seen.update([verdict, *["race"] * bool(rules.races)])
    assert seen["cut"] < many(PARALLEL) / 4
    assert min(seen["safe"], seen["unsafe"], seen["race"]) > due(100) and seen["order-dependent"] > due(50)


# --------------------------------------------------------------------------------------------------- passes, one by one


def elements(text: str, names: str = "a", engines: tuple[str, ...] = ("native",)) -> list[Any]:
    """The elements that a serial program ends with, which must be the reference's."""
    program = api.parse(text)
    runs = [api.run(program, engine=engine).tensors for engine in ("reference", "semantics", *engines)]
    made: list[list[Any]] = [[run[name].to_numpy().tolist() for name in names.split()] for run in runs]
    assert all(each == made[0] for each in made)
    return made[0]


def test_a_load_of_a_cell_that_a_loop_changes_stays_in_the_loop() -> None:
    """`loop_invariant_loads` moves loads of what nobody writes. Here k does not change, and a[k] does."""
    text = """
        a = Tensor(Dense(Element(0)), [1, 2, 3])
        for k = 1:3
            for i = 1:3
                a[i] += a[k]
            end
        end
        return a
    """
    assert elements(text) == [[19, 21, 26]]
    plan = lower(api.bind(api.parse(text)))
    innermost = [s for s in walk(plan.body) if isinstance(s, While)][-1]
    assert sum(isinstance(s, Load) for s in walk(innermost.body)) == 2


def test_a_sum_of_what_it_updates_is_not_multiplied_by_the_length_of_a_run() -> None:
    """A run of equal elements stands for many indices: s doubles at each, and does not grow by one product."""
    text = """
        b = Tensor(RunList(Element(0)), [0, 0, 0, 0, 0])
        s = Tensor(Element(0))
        s .= 1
        for i = _
            s[] += s[] + b[i]
        end
        return s
    """
    assert elements(text, "s") == [32]


def test_an_update_by_an_idempotent_operator_is_repeated_if_it_reads_what_it_updates() -> None:
    text = """
        b = Tensor(RunList(Element(0)), [2, 2, 2, 2])
        s = Tensor(Element(0))
        s .= 1
        for i = _
            s[] = s[] * b[i]
        end
        return s
    """
    assert elements(text, "s") == [16]


def test_the_store_of_the_declared_value_stays_if_the_next_loop_reads_it() -> None:
    """`dead_stores` drops a loop whose cells the next one stores. The next one loads the cell beside, too."""
    text = """
        a = Tensor(Dense(Element(0)), 4)
        a .= 7
        for i = 1:3
            a[i] = a[i + 1] + i
        end
        return a
    """
    assert elements(text) == [[8, 9, 10, 7]]
    bound = api.bind(api.parse(text))
    stores = [s for s in walk(for_c(lower(bound)).body) if isinstance(s, While)]
    assert len(stores) == 2


ROWS = """
    E = Tensor(Dense(Dense(Element(0.0))), [1.0 2.0; 3.0 4.0])
    D = Tensor(Dense(Dense(Element(0.0))), [1.0 2.0; 3.0 4.0])
    for q = 1:2
        for i = 1:2
            D[i, 1] += {read}
        end
    end
    return D
"""
EXPECTED = {"E[i, q]": ((4, 2), (10, 4)), "D[i, q]": ((4, 2), (10, 4)), "D[i, 2]": ((5, 2), (11, 4))}


@pytest.mark.parametrize(("read", "tiled"), [("E[i, q]", True), ("D[i, q]", False), ("D[i, 2]", False)])
def test_rows_are_summed_some_columns_at_a_time_only_if_they_are_of_other_buffers(read: str, tiled: bool) -> None:
    """`tile` runs all rounds for some cells before others, so no round may load what another one stores."""
    text = ROWS.format(read=read)
    plan = for_c(lower(api.bind(api.parse(text))))
    assert any(isinstance(s, Tile) for s in walk(plan.body)) is tiled
    assert elements(text, "D") == [[list(row) for row in EXPECTED[read]]]


ATOMIC = """
    dev = cpu(:dev, 2)
    a = Tensor(Dense({leaf}), [1, 2])
    c = Tensor(Dense(Element(0)), 2)
    c .= 0
    for i = parallel(1:2, dev)
        a[1] += i
        for k = 1:2
            c[i] += a[1]
        end
    end
    return a, c
"""


@pytest.mark.parametrize(("leaf", "verdict"), [("Element(0)", "race"), ("Atomic(0)", "order-dependent"),
                                                ("Mutex(Element(0))", "order-dependent")])  # fmt: skip
def test_a_task_sees_what_another_one_has_written_meanwhile(leaf: str, verdict: str) -> None:
    """Each of the two loads of a[1] may see another value: none is moved out of the loop over k, nor is one kept."""
    program = api.parse(ATOMIC.format(leaf=leaf))
    rules, plan = (api.explore(program, machine=m).verdict for m in ("semantics", "native"))
    assert rules.verdict == plan.verdict == verdict
    sums = {result.outcome for result in rules.results}
    assert sums == {result.outcome for result in plan.results}
    assert len(sums) > 4
    loads = [s for s in walk(for_c(lower(api.bind(program))).body) if isinstance(s, AtomicLoad)]
    assert len(loads) == (leaf == "Atomic(0)")
