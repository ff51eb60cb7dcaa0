"""The engine does what plans say, on real threads; all plans here are written by hand."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

from proofs_tests.native.plans_by_hand import (
    DOUBLES,
    NUMBERS,
    TRUE,
    T,
    at_most,
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
    u,
    x,
    y,
)
from proofs_tests.plan.small_plans import HERE
from wingspan.base.errors import Fault
from wingspan.lang.registers import BOOL
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine, controlled_runner
from wingspan.plan.ir import Acquire, Check, FetchChunk, If, Op, Ref, Reg, Release, Set, Store, While  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- atomics


FOLDS = [
    (NUMBERS, "+", 0, 3, 60000), (NUMBERS, "-", 0, 3, -60000), (NUMBERS, "*", 1, -1, 1), (NUMBERS, "min", 9, 4, 4),
    (NUMBERS, "max", -9, 4, 4), (NUMBERS, "=", 0, 7, 7),
    (DOUBLES, "+", 0.0, 0.5, 10000.0), (DOUBLES, "-", 0.0, 0.5, -10000.0),
    (DOUBLES, "*", 1.0, -1.0, 1.0), (DOUBLES, "min", 9.0, 4.5, 4.5), (DOUBLES, "max", -9.0, 4.5, 4.5),
    (DOUBLES, "=", 0.0, 7.5, 7.5), (TRUE, "&&", True, False, False), (TRUE, "&&", True, True, True),
    (TRUE, "||", False, True, True), (TRUE, "||", False, False, False), (TRUE, "=", False, True, True),
]  # fmt: skip


@pytest.mark.parametrize(("buffer", "op", "start", "value", "end"), FOLDS)
def test_atomic_updates_of_four_tasks_all_count(buffer, op, start, value, end):
    body = par(4, *count(i, c(5000), atomic(buffer, c(3), op, c(value))))
    assert cells(run(store(buffer, c(3), c(start)), body), buffer)[2] == end


def test_overflow_of_an_atomic_update_is_a_fault():
    with pytest.raises(
        Fault, match=r"(?m)^error\[fault\]: overflow: 9223372036854775808 does not fit a 64-bit integer$"
    ):
        run(store(NUMBERS, c(1), c(2**63 - 2)), par(2, atomic(NUMBERS, c(1), "+", c(1))))


# ------------------------------------------------------------------------------------------------------ tasks and locks


@pytest.mark.parametrize("mode", ["plain", "seq_cst", "yields"])
def test_a_lock_makes_loads_and_stores_one_step(mode):
    step = load(x, NUMBERS, c(1)), store(NUMBERS, c(1), plus(x, c(1)))
    body = par(4, *count(i, c(500), lock(Acquire, c(2)), *step, lock(Release, c(2))))
    assert cells(run(body, mode=mode), NUMBERS)[0] == 2000


def test_tasks_that_wait_for_each_other_are_a_deadlock():
    other = Op("-", (c(3), t))
    meet = (
        atomic(NUMBERS, c(1), "+", c(1)),
        Set(x, c(0), HERE),
        While((), Op("<", (x, c(2))), (load(x, NUMBERS, c(1)),)),
    )
    with pytest.raises(Fault, match="deadlock"):
        run(par(2, lock(Acquire, t), *meet, lock(Acquire, other)))


def test_a_task_that_waits_for_its_own_lock_is_a_deadlock_though_another_has_ended():
    with pytest.raises(Fault, match="deadlock"):
        run(par(2, If(Op("==", (t, c(1))), (lock(Acquire, c(1)), lock(Acquire, c(1))))))


@pytest.mark.parametrize(("stop", "step", "threads"), [(100, 3, 4), (50000, 1, 4), (0, 1, 4), (2, 1, 8), (5, 100, 3)])
def test_each_chunk_is_claimed_once(stop, step, threads):
    claim = FetchChunk(x, Ref(NUMBERS, T), c(stop), c(step), HERE)
    mark = atomic(DOUBLES, x, "+", c(1.0))
    body = store(NUMBERS, c(1), c(1)), par(threads, claim, While((), at_most(x, c(stop)), (mark, claim)))
    made = cells(run(*body), DOUBLES)
    assert {n + 1 for n in np.flatnonzero(made)} == set(range(1, stop + 1, step)) and max(made, default=1) == 1


def test_two_devices_of_two_threads_are_four_threads_at_once():
    patient = Op("and", (Op("<", (x, c(4))), Op("<", (y, c(10**9)))))
    wait = (
        Set(x, c(0), HERE),
        Set(y, c(0), HERE),
        While((), patient, (load(x, NUMBERS, c(1)), Set(y, plus(y, c(1)), HERE))),
    )
    inner = par(2, atomic(NUMBERS, c(1), "+", c(1)), *wait, store(DOUBLES, plus(Op("*", (c(2), t)), u), c(1.0)), task=u)
    made = cells(run(par(2, inner)), DOUBLES)
    assert made[2:6].tolist() == [1, 1, 1, 1]


def test_a_task_has_registers_of_its_own_and_joined_ones_are_brought_together():
    one, none = Reg("one", BOOL), Reg("none", BOOL)
    body = Set(x, c(5), HERE), par(3, Set(x, t, HERE), Set(one, Op("==", (t, c(2))), HERE), joined=(one, none))
    assert run(*body, variables=[x, one, none]).variables == {"x": 5, "one": True, "none": False}


def test_the_first_fault_ends_all_tasks():
    for_ever = While((), c(True), (Set(x, plus(x, c(1)), HERE),))
    check = Check(c(False), "task {t} fails", (("t", t),), HERE)
    with pytest.raises(Fault, match=r"(?m)^error\[fault\]: task 2 fails$"):
        run(par(3, If(Op("==", (t, c(2))), (check,), (for_ever,))))


def test_a_signal_ends_a_run():
    def raises(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raises)
    engine = NativeEngine(assemble(plan(par(2, While((), c(True), (load(x, NUMBERS, c(1)),))))))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            engine.run([])
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_forked_process_has_threads_of_its_own():
    engine = NativeEngine(assemble(plan(par(3, atomic(NUMBERS, c(1), "+", c(1))))))
    engine.run([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(int(cells(engine.run([]), NUMBERS)[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


# --------------------------------------------------------------------------------------------------- controlled runs


def test_a_controlled_run_stops_before_what_others_can_notice():
    code = assemble(plan(Set(x, c(2), HERE), Set(y, plus(x, x), HERE), store(NUMBERS, y, x)))
    pc, registers = controlled_runner(code)(0, code.initial)
    assert isinstance(code.statements[pc], Store) and code.rests(pc)
    assert (code.get(registers, y), code.value(registers, plus(x, y))) == (4, 6)
    assert controlled_runner(code)(pc, registers) == (pc, registers)


def test_a_controlled_run_stops_before_a_fault():
    code = assemble(plan(Set(x, c(2), HERE), Check(Op("==", (x, c(1))), "no", (), HERE), Set(x, c(3), HERE)))
    pc, registers = controlled_runner(code)(0, code.initial)
    assert isinstance(code.statements[pc], Check) and code.get(registers, x) == 2


def test_only_slots_that_matter_are_live():
    code = assemble(plan(Set(x, c(2), HERE), Set(y, x, HERE), store(NUMBERS, c(1), y), Set(x, y, HERE), variables=[x]))
    names = [{name for name, slot in code.slots.items() if live >> slot & 1} for live in code.live]
    assert names == [{"T"}, {"T", "x"}, {"T", "y"}, {"y"}, {"x"}]
