"""Parts of plans that are written by hand, and an engine that runs them."""

from __future__ import annotations

from hypothesis import strategies as st

from proofs_tests.plan.small_plans import HERE
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import BOOL, FLOAT, INSTANCE, INT
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import (
    AtomicUpdate,
    Const,
    Group,
    Load,
    Op,
    Par,
    Place,
    Plan,
    PlanBuffer,
    Ref,
    Reg,
    Set,
    Store,
    While,
)  # fmt: skip

NOWHERE = Place()
INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63), 2**31])
EXACT = st.integers(-(2**20), 2**20).map(lambda n: n / 8)

NUMBERS = PlanBuffer("T", 0, "numbers", "value", INT, "i64", 0, 0)
DOUBLES = PlanBuffer("T", 0, "doubles", "value", FLOAT, "f64", 1, 0)
TRUE = PlanBuffer("T", 0, "truths", "value", BOOL, "u8", 2, 0)
LOCKS = PlanBuffer("T", 0, "locks", "lock", INT, "i64", 3, 0)
TABLE = PlanBuffer("T", 0, "table", "position", INT, "i64", 4, 0, hashed=True)
SMALL = PlanBuffer("T", 0, "small", "index", INT, "i32", 5, 0, level=1, level_name="SparseList", bound=1000)
FREE = PlanBuffer("T", 1, "free", "value", INT, "i64", 0, 1)
OWN = PlanBuffer("w", 0, "own", "value", INT, "i64", 0, 2)
GROUPS = (
    Group(0, "T", (NUMBERS, DOUBLES, TRUE, LOCKS, TABLE, SMALL)),
    Group(1, "T", (FREE,), 0, "fiber"),
    Group(2, "w", (OWN,)),
)
T = Reg("T", INSTANCE)
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
    return AtomicUpdate(Ref(buffer, T), index, op, value, NOWHERE, HERE)


def par(threads, *body, task=t, name="dev", joined=()):
    return Par(Device(name, threads, SERIAL), task, body, joined, HERE)


def count(reg, to, *body):
    """For reg = 1 to `to`."""
    return Set(reg, c(1), HERE), While((), at_most(reg, to), (*body, Set(reg, plus(reg, c(1)), HERE)))


def plan(*body, variables=()):
    return Plan(GROUPS, (("T", T),), body, ("T",), ("T",), variables=tuple((v.name, v) for v in variables))


def run(*body, variables=(), inputs=None, **options):
    engine = NativeEngine(assemble(plan(*body, variables=variables)))
    return engine.run([engine.inputs.from_arrays("T", inputs or {})], **options)


def cells(results, buffer, path=()):
    stored = results.arrays("T").get((buffer.depth, buffer.name, path))
    return [] if stored is None else stored.values


def lock(make, index):
    return make(Ref(LOCKS, T), index, NOWHERE, HERE)
