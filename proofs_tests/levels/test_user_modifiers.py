"""Modifiers of a user's own: with a discipline they are checked, explored and run like those of the package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import wingspan
from wingspan import api
from wingspan.levels import Buffer, Discipline, Modifier
from wingspan.levels.base import Gated
from wingspan.levels.isolate import Isolate
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard
from wingspan.testing import Nonconforming
from wingspan.testing.conformance import CLAIMS

PASSES_ON = """
    def declare():
        child.declare()
    def assemble(p):
        child.assemble(p)
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def bind_read(p):
        return p
"""


@dataclass(frozen=True)
class Paired(Modifier):
    """A lock for each two neighbouring fibers."""

    discipline = Discipline.SHARED_LOCK
    buffers = (Buffer("lock", "lock", "positions", "the lock of fibers 2·l - 1 and 2·l"),)
    operations = f"""{PASSES_ON}
    def bind(p):
        acquire(lock, (p + 1) // 2)
        return p
    def unbind(p):
        release(lock, (p + 1) // 2)
    """


@dataclass(frozen=True)
class Plain(Modifier):
    """Passes everything on."""

    discipline = Discipline.TRANSPARENT
    operations = f"""{PASSES_ON}
    def bind(p):
        return p
    """


class Alone(Isolate):
    """An Isolate under another name."""


class Own(Shard):
    """A Shard under another name."""


class FinerThanItIs(Paired):
    """Says that each fiber has a lock of its own."""

    discipline = Discipline.LOCK


class Unlocked(Plain):
    """Says that it takes locks, and takes none."""

    discipline = Discipline.LOCK


class Shared(Plain):
    """Says that each fiber has an instance of its own; all have one."""

    discipline = Discipline.INSTANCE
    operations = f"""{PASSES_ON.replace("return p", "return 1, p")}
    def bind(p):
        return 1, p
    """


class Counting(Plain):
    """Counts visits in a cell that tasks share, and says that there is none."""

    buffers = (Buffer("visits", "count", "1", "how many there were"),)
    operations = Plain.operations.replace("bind(p):\n", "bind(p):\n        visits[1] = visits[1] + 1\n")


def deep(level: type[Modifier]) -> object:
    return pytest.param(level, marks=pytest.mark.deep)


@pytest.fixture(autouse=True)
def known():
    with wingspan.registered(Paired, Plain, Alone, Own):
        yield


def program(form: str, *updates: str, tasks: int = 2) -> wingspan.Program:
    lines = "".join(f"    {update}\n" for update in updates)
    return api.parse(f"""
d = cpu(:d, 2)
T = Tensor({form}, 2, 4)
T .= 0
for k = parallel(1:{tasks}, d)
{lines}end
return T
""")


ONE = ("T[1, 1] += k",)
TWO = ("T[1, k] += k", "T[2, k] += 1")
FAR = ("T[1, 2 * k] += 1",)
NEIGHBOURS = ("for i = 1:1", "T[i, k] += 1", "T[i, k + 1] += 1", "end")
CASES = [
    ("Dense(Paired(SparseDict(Element(0))))", ONE, "safe"),
    ("Dense(Paired(SparseDict(Element(0))))", FAR, "unsafe"),
    ("Dense(Paired(Dense(Element(0))))", TWO, "safe"),
    ("Dense(Paired(Dense(Element(0))))", NEIGHBOURS, "unsafe"),
    ("Dense(Mutex(Dense(Element(0))))", NEIGHBOURS, "safe"),
    ("Dense(Plain(Dense(Element(0))))", TWO, "safe"),
    ("Dense(Plain(Dense(Element(0))))", ONE, "unsafe"),
    ("Dense(Mutex(Plain(Dense(Element(0)))))", ONE, "safe"),
    ("Dense(Plain(Paired(Dense(Element(0)))))", ONE, "safe"),
    ("Dense(Alone(SparseDict(Element(0))))", FAR, "safe"),
    ("Dense(Alone(Dense(Element(0))))", ONE, "unsafe"),
    ("Dense(Own(d, SparseDict(Element(0))))", FAR, "safe"),
    ("Dense(Own(d, Dense(Element(0))))", ONE, "unsafe"),
]


@pytest.mark.parametrize(("form", "updates", "verdict"), CASES, ids=lambda x: x if type(x) is str else str(len(x)))
def test_the_test_and_the_explorer_agree_on_a_users_modifier(form: str, updates: tuple[str, ...], verdict: str) -> None:
    """By the exact test and the repaired one, under the rules and in the plan. Every refusal here is needed."""
    given = program(form, *updates)
    assert api.check(given, budget=0).verdict == verdict
    assert verdict == "safe" or api.check(given, test="repaired", budget=0).verdict == "unsafe"
    for machine in ("semantics", "native"):
        found = api.explore(given, machine=machine).verdict
        assert found.complete and (found.verdict == "safe") == (verdict == "safe"), machine


def test_a_lock_that_neighbours_share_is_not_taken_twice() -> None:
    """A task that holds fiber 1 waits for itself at fiber 2, which a Mutex allows."""
    given = program("Dense(Paired(Dense(Element(0))))", *NEIGHBOURS)
    (finding,) = {f.topic for f in api.check(given, budget=0).findings}
    assert finding == "deadlock" == api.explore(given).verdict.verdict


@pytest.mark.parametrize(
    "form", ["Dense(Paired(SparseDict(Element(0))))", "Dense(Plain(Own(d, SparseDict(Element(0)))))"]
)
@pytest.mark.parametrize("engine", api.ENGINES)
def test_every_engine_runs_a_users_modifier(form: str, engine: str) -> None:
    updates = ["T[1, 1] += k"] if "Paired" in form else ["T[1, k] += k"]
    given = program(form, *updates, tasks=4)
    expected = np.zeros((2, 4), dtype=np.int64)
    expected[0] = [10, 0, 0, 0] if "Paired" in form else [1, 2, 3, 4]
    made = api.run(given, engine=engine).tensors["T"]
    assert (made.to_numpy() == expected).all()
    again = wingspan.Tensor.from_numpy(form.replace("d, ", "dev, "), expected, devices={"dev": 2})
    assert (again.to_numpy() == expected).all()


@pytest.mark.parametrize("level", [Paired, deep(Plain), deep(Alone)])
def test_a_discipline_that_is_kept_conforms(level: type[Modifier]) -> None:
    assert level.discipline and CLAIMS["stability"](level, 0)["declared"] == level.discipline.adds
    assert CLAIMS["loads"](level, 10)["held"] > 0


@pytest.mark.parametrize(
    ("level", "said"),
    [(FinerThanItIs, "deadlock"), (Unlocked, "race"), (Shared, "race|fault"), (Counting, "race")],
)
def test_a_discipline_that_is_not_kept_is_found_by_exploring(level: type[Modifier], said: str) -> None:
    with pytest.raises(Nonconforming, match=rf"^stability: {level.__name__} has a discipline .* is ({said})"):
        CLAIMS["stability"](level, 0)


@pytest.mark.deep
@pytest.mark.parametrize("level", [Unlocked, Shared, Counting])
def test_a_discipline_that_is_not_kept_is_refuted_for_all_extents(level: type[Modifier]) -> None:
    pytest.importorskip("z3")
    with pytest.raises(Nonconforming, match=f"^proof: .*{level.__name__}"):
        CLAIMS["proof"](level, 0)


@pytest.mark.deep
def test_a_discipline_is_proved_for_all_extents() -> None:
    pytest.importorskip("z3")
    assert CLAIMS["proof"](Paired, 0) == {"proved": True}


@pytest.mark.parametrize(
    ("base", "discipline", "fix"),
    [
        (Plain, "lock", r"Discipline\.LOCK"),
        (Plain, Discipline.CLAIM, "derive it from Gated"),
        (Plain, Discipline.COPY, "derive it from Gated"),
        (Gated, Discipline.LOCK, "derive it from Modifier"),
        (wingspan.levels.REGISTRY["Dense"], Discipline.LOCK, "leave it out"),
    ],
)
def test_a_discipline_that_does_not_go_with_the_class_is_refused(base: type, discipline: object, fix: str) -> None:
    odd = type("Odd", (base,), {"discipline": discipline})
    with pytest.raises(wingspan.InputError, match="Odd has the discipline") as told:
        wingspan.register(odd)
    assert fix.replace("\\", "") in str(told.value.fix)


def test_protect_may_say_less_than_the_discipline() -> None:
    """A modifier's own answer counts in the repaired test."""

    class Modest(Mutex):
        def protect(self, support, nearest):
            return support

    with wingspan.registered(Modest):
        given = program("Dense(Modest(Dense(Element(0))))", *ONE)
        assert api.check(given, test="repaired", budget=0).verdict == "unsafe"
        assert api.check(program("Dense(Mutex(Dense(Element(0))))", *ONE), test="repaired", budget=0).verdict == "safe"
