"""The engine does what plans say, on real threads; all plans here are written by hand."""

from __future__ import annotations

import gc
import os
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.plan.small_plans import HERE
from wingspan.buffers.stored import Stored
from wingspan.errors import Fault, InputError
from wingspan.lang import algebra
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.ir import NAN, WRAPPING
from wingspan.lang.pairs import Pair
from wingspan.lang.words import FUNCTIONS, alike
from wingspan.native.assemble import OPCODES, assemble, operate
from wingspan.native.engine import Engine, controlled
from wingspan.plan.ir import (
    FAILING,
    OPERATORS,
    PAIRS,
    TRUTHS,
    Acquire,
    Atomic,
    Buffer,
    Check,
    Child,
    Claim,
    Compute,
    Const,
    Drop,
    Fresh,
    Group,
    Load,
    Op,
    Par,
    Place,
    Plan,
    Ref,
    Reg,
    Release,
    Set,
    Sort,
    Store,
    When,
    While,
)  # fmt: skip
from wingspan.runtime.lease import Limits

NOWHERE = Place()
INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63), 2**31])
EXACT = st.integers(-(2**20), 2**20).map(lambda n: n / 8)

NUMBERS = Buffer("T", 0, "numbers", "value", "int", "i64", 0, 0)
DOUBLES = Buffer("T", 0, "doubles", "value", "float", "f64", 1, 0)
TRUE = Buffer("T", 0, "truths", "value", "bool", "u8", 2, 0)
LOCKS = Buffer("T", 0, "locks", "lock", "int", "i64", 3, 0)
TABLE = Buffer("T", 0, "table", "position", "int", "i64", 4, 0, hashed=True)
SMALL = Buffer("T", 0, "small", "index", "int", "i32", 5, 0, level=1, level_name="SparseList", bound=1000)
FREE = Buffer("T", 1, "free", "value", "int", "i64", 0, 1)
OWN = Buffer("w", 0, "own", "value", "int", "i64", 0, 2)
GROUPS = (
    Group(0, "T", (NUMBERS, DOUBLES, TRUE, LOCKS, TABLE, SMALL)),
    Group(1, "T", (FREE,), 0, "fiber"),
    Group(2, "w", (OWN,)),
)
T = Reg("T", "instance")
k, t, u, x, y = (Reg(name) for name in "ktuxy")
i = Reg("i")


def c(value):
    return Const(value)


def plus(a, b):
    return Op("+", (a, b))


def at_most(a, b):
    return Op("<=", (a, b))


def load(reg, buffer, index, instance=T):
    return Load(reg, Ref(buffer, instance), index, NOWHERE, HERE)


def store(buffer, index, value, instance=T):
    return Store(Ref(buffer, instance), index, value, NOWHERE, HERE)


def atomic(buffer, index, op, value):
    return Atomic(Ref(buffer, T), index, op, value, NOWHERE, HERE)


def par(threads, *body, task=t, name="dev", joined=()):
    return Par(Device(name, threads, SERIAL), task, body, joined, HERE)


def count(reg, to, *body):
    """For reg = 1 to `to`."""
    return Set(reg, c(1), HERE), While((), at_most(reg, to), (*body, Set(reg, plus(reg, c(1)), HERE)))


def plan(*body, variables=()):
    return Plan(GROUPS, (("T", T),), body, ("T",), ("T",), variables=tuple((v.name, v) for v in variables))


def run(*body, variables=(), inputs=None, **options):
    engine = Engine(assemble(plan(*body, variables=variables)))
    return engine.run([engine.inputs.handed("T", inputs or {})], **options)


def cells(results, buffer, path=()):
    stored = results.arrays("T").get((buffer.depth, buffer.name, path))
    return [] if stored is None else stored.values


# -------------------------------------------------------------------------------------------------------- arithmetic


def compute(op, *args):
    """What the engine makes of an operator that may fail: a value, or the message."""
    result = Reg("result", "int" if op == "int" else c(args[0]).type)
    try:
        found = run(Compute(result, op, tuple(map(c, args)), HERE), variables=[result]).variables["result"]
        return algebra.double(found)
    except Fault as fault:
        return fault.message


def expected(op, *args):
    try:
        exact = [algebra.exact(a) for a in args]
        return algebra.double(algebra.convert(exact[0], "int") if op == "int" else algebra.apply(op, *exact))
    except Fault as fault:
        return fault.message


@given(st.sampled_from(["+", "-", "*", "÷", "%"]), INT64, INT64)
def test_integers_are_computed_as_the_language_has_them(op, a, b):
    assert compute(op, a, b) == expected(op, a, b)


@given(st.sampled_from(["<<", ">>"]), INT64 | st.sampled_from([0, -1, 1]), INT64 | st.integers(-2, 66))
def test_integers_are_shifted_as_the_language_has_them(op, a, k):
    assert compute(op, a, k) == expected(op, a, k)


@given(st.sampled_from(["neg", "abs", "isqrt"]), INT64)
def test_integers_are_negated_and_rooted_as_the_language_has_them(op, a):
    assert compute(op, a) == expected("-" if op == "neg" else op, a)


@given(st.sampled_from(["÷", "%", "/"]), EXACT, EXACT)
def test_doubles_are_divided_as_the_language_has_them(op, a, b):
    assert compute(op, a, b) == expected(op, a, b)


@given(EXACT | st.sampled_from([2.0**63, -(2.0**63), 1e300]))
def test_doubles_become_integers_as_the_language_has_them(a):
    assert compute("int", a) == expected("int", a)


@pytest.mark.parametrize(("a", "text"), [(float("inf"), "Inf"), (float("-inf"), "-Inf"), (float("nan"), "NaN")])
def test_what_is_not_finite_is_no_integer(a, text):
    assert compute("int", a) == f"{text} is not a 64-bit integer"


INT32 = st.integers(-(2**31), 2**31 - 1)
PAIRED = st.builds(lambda x, i: int(Pair.of(x, i)), st.floats(allow_nan=False), INT32)
"""Words of pairs."""
BEYOND = st.sampled_from([float("inf"), float("-inf"), NAN, 0.0, 1.5, -2.0])


@given(st.sampled_from(["÷", "%", "/"]), BEYOND, BEYOND)
def test_inf_and_nan_are_divided_as_the_language_has_them(op, a, b):
    assert repr(compute(op, a, b)) == repr(expected(op, a, b))


@given(st.sampled_from(["+", "-", "*", "min", "max", "alike"]), BEYOND, BEYOND)
def test_private_operators_take_inf_and_nan(op, a, b):
    """As the controlled scheduler does, and as the language does where it has the operator."""
    result = Reg("result", "bool" if op == "alike" else "float")
    found = run(Set(result, Op(op, (c(a), c(b))), HERE), variables=[result]).variables["result"]
    assert alike(found, operate(op, [a, b]))
    if op != "alike":
        assert alike(found, algebra.apply(op, algebra.exact(a), algebra.exact(b)))


@given(st.sampled_from(sorted(OPERATORS)), st.data())
def test_private_operators_are_what_python_says(op, data):
    whole = {"÷", "%", "float", "and", "or", "not", "&", "|", "⊻", *WRAPPING, *FUNCTIONS} - {"same", "alike"}
    doubles = op not in whole and (op in ("abs", "neg", "same", "alike", "f32", "muladd") or data.draw(st.booleans()))
    values = st.booleans() if op in ("and", "or", "not") else EXACT if doubles else INT64
    unary = ("abs", "neg", "not", "float", "f32", "bit", "first", "rest", "count", "pair_first", "pair_second")
    number = 3 if op == "muladd" else 1 if op in unary else 2
    values = PAIRED if op in PAIRS else values
    args = [data.draw(values) for _ in range(number)]
    if op == "pair":
        args = [data.draw(EXACT), data.draw(INT32)]
    if op == "select":
        args.insert(0, data.draw(st.booleans()))
    e = Op(op, tuple(map(c, args)))
    result = Reg("result", "bool" if op in TRUTHS else e.type)
    code = assemble(plan(Set(result, e, HERE), variables=[result]))
    assert Engine(code).run([]).variables["result"] == algebra.exact(operate(op, args)) == code.value(code.initial, e)


@given(st.floats() | st.sampled_from([1e-45, -1e-46, 3.5e38, -0.0]), INT32)
def test_the_engine_packs_pairs_as_python_does(x, i):
    """Numbers are rounded, NaN, Inf and zeros of both signs among them; and the parts come back."""
    packed, first = Reg("packed"), Reg("first", "float")
    made = Set(packed, Op("pair", (c(x), c(i))), HERE), Set(first, Op("pair_first", (packed,)), HERE)
    found = run(*made, variables=[packed, first]).variables
    p = Pair.of(x, i)
    assert found["packed"] == p and alike(found["first"], algebra.exact(p.first))


def test_every_operator_has_an_instruction():
    """Those that wrap have that of the private operator without %, which wraps."""
    private = {name.split()[-1] for name in OPCODES if not name.startswith("try")}
    tried = {name.split()[-1] for name in OPCODES if name.startswith("try")}
    assert private >= OPERATORS - WRAPPING >= {op.removesuffix("%") for op in WRAPPING} and tried == FAILING


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
    with pytest.raises(Fault, match=r"^overflow: 9223372036854775808 does not fit a 64-bit integer$"):
        run(store(NUMBERS, c(1), c(2**63 - 2)), par(2, atomic(NUMBERS, c(1), "+", c(1))))


# ------------------------------------------------------------------------------------------------------ tasks and locks


def lock(make, index):
    return make(Ref(LOCKS, T), index, NOWHERE, HERE)


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
        run(par(2, When(Op("==", (t, c(1))), (lock(Acquire, c(1)), lock(Acquire, c(1))))))


@pytest.mark.parametrize(("stop", "step", "threads"), [(100, 3, 4), (50000, 1, 4), (0, 1, 4), (2, 1, 8), (5, 100, 3)])
def test_each_chunk_is_claimed_once(stop, step, threads):
    claim = Claim(x, Ref(NUMBERS, T), c(stop), c(step), HERE)
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
    one, none = Reg("one", "bool"), Reg("none", "bool")
    body = Set(x, c(5), HERE), par(3, Set(x, t, HERE), Set(one, Op("==", (t, c(2))), HERE), joined=(one, none))
    assert run(*body, variables=[x, one, none]).variables == {"x": 5, "one": True, "none": False}


def test_the_first_fault_ends_all_tasks():
    for_ever = While((), c(True), (Set(x, plus(x, c(1)), HERE),))
    check = Check(c(False), "task {t} fails", (("t", t),), HERE)
    with pytest.raises(Fault, match=r"^task 2 fails$"):
        run(par(3, When(Op("==", (t, c(2))), (check,), (for_ever,))))


def test_a_signal_ends_a_run():
    def raises(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raises)
    engine = Engine(assemble(plan(par(2, While((), c(True), (load(x, NUMBERS, c(1)),))))))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            engine.run([])
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_forked_process_has_threads_of_its_own():
    engine = Engine(assemble(plan(par(3, atomic(NUMBERS, c(1), "+", c(1))))))
    engine.run([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(int(cells(engine.run([]), NUMBERS)[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


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
    child = Reg("child", "instance")
    inside = Child(child, 1, T, i, HERE), store(FREE, c(9), i, child), store(FREE, c(5000), i, child)
    found = run(*count(i, c(3000), *inside)).arrays("T")
    assert {path: stored.values[8] for (_, _, path), stored in found.items()} == {
        (("fiber", n),): n for n in range(1, 3001)
    }


def test_two_tasks_that_ask_for_the_same_instance_get_the_same():
    child = Reg("child", "instance")
    inside = Child(child, 1, T, i, HERE), Atomic(Ref(FREE, child), c(1), "+", c(1), NOWHERE, HERE)
    found = run(par(4, *count(i, c(300), *inside))).arrays("T")
    assert [stored.values[0] for stored in found.values()] == [4] * 300


def test_a_private_instance_holds_what_the_last_one_held():
    own = Reg("w", "instance")
    visit = Fresh(own, 2, HERE), load(x, OWN, c(1), own), store(OWN, c(1), plus(x, c(1)), own), Drop(own, HERE)
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
    engine = Engine(assemble(plan(load(x, NUMBERS, c(2)), atomic(NUMBERS, c(2), "+", c(1)), variables=[x])))
    first = cells(engine.run([]), NUMBERS)
    assert [int(cells(engine.run([]), NUMBERS)[1]) for _ in range(3)] == [1, 1, 1]
    del engine
    gc.collect()
    assert first[:3].tolist() == [0, 1, 0]


def test_memory_is_used_again_and_reads_as_zero():
    engine = Engine(assemble(plan(load(x, NUMBERS, c(2)), store(NUMBERS, c(2), c(1)), variables=[x])))

    def one():
        results = engine.run([])
        return results.variables["x"], cells(results, NUMBERS).ctypes.data

    assert one() == one() and one()[0] == 0


def test_memory_that_another_thread_takes_first_is_not_missed():
    """Without Python's lock, a thread may look at what is spare, and another take it before it does."""

    class Contended(list):
        def __bool__(self):
            return True

    engine = Engine(assemble(plan(load(x, NUMBERS, c(2)), variables=[x])))
    engine._spare._kept = Contended()
    assert engine.run([]).variables["x"] == 0


# --------------------------------------------------------------------------------------------------- controlled runs


def test_a_controlled_run_stops_before_what_others_can_notice():
    code = assemble(plan(Set(x, c(2), HERE), Set(y, plus(x, x), HERE), store(NUMBERS, y, x)))
    pc, registers = controlled(code)(0, code.initial)
    assert isinstance(code.statements[pc], Store) and code.rests(pc)
    assert (code.get(registers, y), code.value(registers, plus(x, y))) == (4, 6)
    assert controlled(code)(pc, registers) == (pc, registers)


def test_a_controlled_run_stops_before_a_fault():
    code = assemble(plan(Set(x, c(2), HERE), Check(Op("==", (x, c(1))), "no", (), HERE), Set(x, c(3), HERE)))
    pc, registers = controlled(code)(0, code.initial)
    assert isinstance(code.statements[pc], Check) and code.get(registers, x) == 2


def test_only_slots_that_matter_are_live():
    code = assemble(plan(Set(x, c(2), HERE), Set(y, x, HERE), store(NUMBERS, c(1), y), Set(x, y, HERE), variables=[x]))
    names = [{name for name, slot in code.slots.items() if live >> slot & 1} for live in code.live]
    assert names == [{"T"}, {"T", "x"}, {"T", "y"}, {"y"}, {"x"}]
