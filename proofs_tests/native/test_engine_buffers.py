"""The buffers and instances of the engine, and arrays that go in and out."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.native.plans_by_hand import (
    DOUBLES,
    FREE,
    INT64,
    NOWHERE,
    NUMBERS,
    OWN,
    SMALL,
    TABLE,
    T,
    atomic,
    c,
    cells,
    count,
    i,
    load,
    lock,
    par,
    plan,
    plus,
    run,
    store,
    t,
    x,
)
from proofs_tests.plan.small_plans import HERE
from wingspan.base.errors import Fault, InputError
from wingspan.buffers.stored import Stored
from wingspan.lang.registers import INSTANCE
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import (  # fmt: skip
    Acquire,
    AllocateInstance,
    AtomicUpdate,
    Check,
    Child,
    Op,
    Ref,
    Reg,
    ReleaseInstance,
    Set,
    Sort,
    While,
)
from wingspan.runtime.lease import Limits

# ----------------------------------------------------------------------------------------------------------- buffers


@given(st.dictionaries(st.integers(1, 2**62), INT64, max_size=60))
def test_a_hashed_buffer_is_a_dictionary(entries):
    stores = [store(TABLE, c(key), c(0)) for key in entries] + [store(TABLE, c(a), c(v)) for a, v in entries.items()]
    made = run(*stores, load(x, TABLE, c(2**62 + 1)), variables=[x])
    found = made.arrays("T").get((0, "table", ()), Stored(np.zeros(0), at=np.zeros(0)))
    assert dict(zip(found.at.tolist(), found.values.tolist(), strict=True)) == {a: v for a, v in entries.items() if v}
    assert made.variables["x"] == 0


def test_a_hashed_buffer_loses_nothing_when_tasks_share_it():
    key = plus(Op("*", (t, c(10**9))), i)
    read = (*count(i, c(100000), load(x, TABLE, key), Check(Op("==", (x, i)), "{x} is lost", (("x", i),), HERE)),)
    start = (
        atomic(NUMBERS, c(1), "+", c(1)),
        Set(x, c(0), HERE),
        While((), Op("<", (x, c(4))), (load(x, NUMBERS, c(1)),)),
    )
    made = run(par(4, *start, *count(i, c(100000), store(TABLE, key, i)), *read)).arrays("T")[0, "table", ()]
    assert len(made.at) == 400000


def near(bits):
    return st.lists(st.integers(-(2**bits), 2**bits), unique=True, min_size=25, max_size=60)


@settings(deadline=None)
@given(st.lists(INT64, max_size=400) | st.integers(5, 20).flatmap(near), st.booleans())
def test_sort_is_sorted(numbers, narrow):
    """Few or many, far apart or so near each other that most words of a bitmap have marks, or that few have."""
    buffer = SMALL if narrow else NUMBERS
    numbers = [n % 2**32 - 2**31 for n in numbers] if narrow else numbers
    given = {(0, buffer.name, ()): Stored(np.array([*numbers, -5], dtype=np.int32 if narrow else np.int64))}
    made = cells(run(Sort(Ref(buffer, T), c(len(numbers)), NOWHERE, HERE), inputs=given), buffer)
    assert made[: len(numbers) + 1].tolist() == [*sorted(numbers), -5]


@pytest.mark.parametrize("index", [0, -1, 2, 10**6, 10**18, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("buffer", [NUMBERS, SMALL, TABLE])
def test_cells_never_written_read_as_zero(buffer, index):
    assert run(store(buffer, c(1), c(7)), load(x, buffer, c(index)), variables=[x]).variables["x"] == 0


@pytest.mark.parametrize(
    ("body", "limits", "message"),
    [
        (store(NUMBERS, c(10**6), c(1)), Limits(memory=2**20), "out of memory: the run needs 8"),
        (par(2, store(DOUBLES, c(10**6), c(1.0))), Limits(memory=2**20), "out of memory: the run needs 8"),
        (par(2, *count(i, c(10**6), store(TABLE, i, i))), Limits(memory=2**20), "out of memory: the run needs"),
        (store(NUMBERS, c(513), c(1)), Limits(reservation=4096), r"outgrown the address space reserved .* 513"),
        (store(SMALL, c(1001), c(1)), None, "T, level 1 SparseList: small has no cell 1001"),
        (store(NUMBERS, c(0), c(1)), None, "numbers has no cell 0"),
        (lock(Acquire, c(-1)), None, "locks has no cell -1"),
        (store(TABLE, c(0), c(1)), None, "table has no cell 0"),
        (atomic(NUMBERS, c(-5), "+", c(1)), None, "numbers has no cell -5"),
        (store(SMALL, c(1), c(2**31)), None, "2147483648 does not fit a cell of T, level 1 SparseList: small"),
    ],
)  # fmt: skip
def test_a_store_that_cannot_be_is_a_fault(body, limits, message):
    with pytest.raises(Fault, match=message):
        run(body, limits=limits)


def test_limits_are_validated():
    for options in ({"memory": 0}, {"reservation": 100}, {"reservation": 2**60}):
        with pytest.raises(InputError, match="limit of"):
            Limits(**options)
    with pytest.raises(InputError, match="there is no mode fast"):
        run(mode="fast")


def test_thousands_of_instances_each_have_their_own_cells():
    child = Reg("child", INSTANCE)
    inside = Child(child, 1, T, i, HERE), store(FREE, c(9), i, child), store(FREE, c(5000), i, child)
    found = run(*count(i, c(3000), *inside)).arrays("T")
    assert {path: stored.values[8] for (_, _, path), stored in found.items()} == {
        (("fiber", n),): n for n in range(1, 3001)
    }


def test_two_tasks_that_ask_for_the_same_instance_get_the_same():
    child = Reg("child", INSTANCE)
    inside = Child(child, 1, T, i, HERE), AtomicUpdate(Ref(FREE, child), c(1), "+", c(1), NOWHERE, HERE)
    found = run(par(4, *count(i, c(300), *inside))).arrays("T")
    assert [stored.values[0] for stored in found.values()] == [4] * 300


def test_a_private_instance_holds_what_the_last_one_held():
    own = Reg("w", INSTANCE)
    visit = (
        AllocateInstance(own, 2, HERE),
        load(x, OWN, c(1), own),
        store(OWN, c(1), plus(x, c(1)), own),
        ReleaseInstance(own, HERE),
    )
    assert run(*count(i, c(5), *visit), variables=[x]).variables["x"] == 4


# ------------------------------------------------------------------------------------------------- arrays in and out


def test_an_array_that_is_only_read_is_not_copied():
    array = np.array([4, 5], dtype=np.int32)
    results = run(load(x, SMALL, c(2)), variables=[x], inputs={(0, "small", ()): Stored(array, shift=1)})
    assert results.variables["x"] == 6
    assert np.shares_memory(cells(results, SMALL), array)


def test_an_array_that_is_written_is_copied():
    array = np.array([4, 5], dtype=np.int64)
    results = run(store(NUMBERS, c(2), c(9)), inputs={(0, "numbers", ()): Stored(array)})
    assert cells(results, NUMBERS)[:2].tolist() == [4, 9] and array.tolist() == [4, 5]


def test_results_outlive_their_engine_and_later_runs():
    engine = NativeEngine(assemble(plan(load(x, NUMBERS, c(2)), atomic(NUMBERS, c(2), "+", c(1)), variables=[x])))
    first = cells(engine.run([]), NUMBERS)
    assert [int(cells(engine.run([]), NUMBERS)[1]) for _ in range(3)] == [1, 1, 1]
    del engine
    gc.collect()
    assert first[:3].tolist() == [0, 1, 0]


def test_memory_is_used_again_and_reads_as_zero():
    engine = NativeEngine(assemble(plan(load(x, NUMBERS, c(2)), store(NUMBERS, c(2), c(1)), variables=[x])))

    def one():
        results = engine.run([])
        return results.variables["x"], cells(results, NUMBERS).ctypes.data

    assert one() == one() and one()[0] == 0


def test_memory_that_another_thread_takes_first_is_not_missed():
    """Without Python's lock, a thread may look at what is spare, and another take it before it does."""

    class Contended(list):
        def __bool__(self):
            return True

    engine = NativeEngine(assemble(plan(load(x, NUMBERS, c(2)), variables=[x])))
    engine._pool._blocks = Contended()
    assert engine.run([]).variables["x"] == 0
