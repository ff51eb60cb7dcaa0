"""Differential testing: what counts as a difference, the command, and this package's engines on programs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import due, few, many
from proofs_tests.places import ROOT
from proofs_tests.several import STUCK
from wingspan import api
from wingspan.api import Exploration, comparing, machines
from wingspan.base.errors import Fault, InputError, ProgramError, WingspanError
from wingspan.compiled import build
from wingspan.compiled.build import compiler
from wingspan.explorer.verdict import Result, Verdict
from wingspan.results.histogram import observe
from wingspan.results.outcome import Outcome
from wingspan.runtime.lease import Mode
from wingspan.testing import Disagreement, campaign, meetings

SAFE = str(ROOT / "examples" / "dependent_atomic.ws")
RACY = str(ROOT / "examples" / "dependent.ws")

PROGRAM = """
C = Tensor(Dense(SparseList(Element(0.0))), 2, 2)
C .= 0
for j = 1:2
    for i = 1:2
        C[i, j] = i / (2 * j)
    end
end
n = 3
return C
"""
RIGHT = [[0.5, 0.25], [1.0, 0.5]]


class Fake:
    """An engine that gives what it is told to give, in turn; exceptions are raised."""

    def __init__(self, *given: Any, name: str = "fake", eager: bool = False) -> None:
        self.name, self.given, self.eager = name, list(given), eager

    def run(self, program, inputs):
        given = self.given.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


def difference(*engines: Any, **options: Any) -> tuple[Any, ...] | None:
    """The place of the engines' first difference, and the two values there."""
    found = api.diff(api.parse(PROGRAM), engines=engines, **options).difference
    return None if found is None else (found.place, found.first_has, found.second_has)


# ------------------------------------------------------------------------------------------------- what is a difference


@pytest.mark.parametrize(
    "C",
    [RIGHT, np.array(RIGHT, order="F"), np.array(RIGHT, np.float32), scipy.sparse.csc_array(np.array(RIGHT))],
)
def test_whatever_an_array_is_made_of_its_elements_count(C):
    assert difference("semantics", Fake({"C": C})) is None
    assert difference("semantics", Fake({"C": C, "n": 3})) is None


@pytest.mark.parametrize(
    ("given", "place", "has"),
    [
        ({"C": [[0.5, 0.25], [1.0, np.nextafter(0.5, 1)]]}, "C[2, 2]", np.nextafter(0.5, 1)),
        ({"C": [[0.5, 7.0], [8.0, 0.5]]}, "C[1, 2]", 7.0),
        ({"C": [[0.5, np.inf], [1.0, 0.5]]}, "C[1, 2]", np.inf),
        ({"C": RIGHT[:1]}, "C", "float 1×2"),
        ({"C": np.array(RIGHT).astype(int)}, "C", "int 2×2"),
        ({}, "C", "nothing"),
        ({"C": RIGHT, "n": 4}, "n", 4),
        ({"C": RIGHT, "n": 3.0}, "n", "float"),
        (Fault("overflow"), "the end of the run", "a fault: overflow"),
        (ZeroDivisionError("no"), "the end of the run", "a defect: ZeroDivisionError: no"),
        ({"C": [["a", "b"], ["c", "d"]]}, "the end of the run", None),
    ],
)
def test_the_first_difference_is_told(given, place, has):
    found = difference("semantics", Fake(given))
    assert found is not None and found[0] == place
    assert has is None or found[2] == has


def test_doubles_may_be_let_differ():
    almost = {"C": [[0.5 * (1 + 1e-9), 0.25], [1.0, 0.5]]}
    assert difference("semantics", Fake(almost)) == ("C[1, 1]", 0.5, 0.5 * (1 + 1e-9))
    assert difference("semantics", Fake(almost), tolerance=1e-8) is None


def test_faults_agree_but_not_with_results_and_defects_agree_with_nothing():
    a, b = Fault("one"), Fault("other")
    assert difference(Fake(a), Fake(b)) is None
    assert difference(Fake(a), Fake({"C": RIGHT})) is not None
    assert difference(Fake(KeyError("x")), Fake(KeyError("x"))) is not None


def test_an_eager_engine_may_fault_alone():
    """It evaluates what others need not; the result of another one that should have faulted is still a difference."""
    assert difference("semantics", Fake(Fault("overflow"), eager=True)) is None
    assert difference(Fake(Fault("overflow")), Fake({"C": RIGHT}, eager=True)) is not None


def test_every_repetition_counts():
    engines = Fake({"C": RIGHT}, {"C": RIGHT}), Fake({"C": RIGHT}, {"C": [[0.5, 0.25], [1.0, 0.0]]}, name="flaky")
    assert difference(*engines, repeat=2) == ("C[2, 2]", 0.5, 0.0)


def test_engines_get_the_program_and_dense_inputs():
    seen = {}

    class Curious(Fake):
        def run(self, program, inputs):
            seen.update(inputs)
            assert program.towers["A"].shape == (2, 2) and program.outputs == ("c",)
            return super().run(program, inputs)

    program = api.parse("c = Tensor(Dense(Element(0.0)), 2); c .= 0\nfor j = _; for i = _; c[i] += A[i, j]; end; end")
    made = api.diff(program, engines=["semantics", Curious({"c": [1.0, 2.0]})], inputs={"A": np.diag([1.0, 2.0])})
    assert made.difference is None and made.engines == ("semantics", "fake")
    assert seen["A"].tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_engines_that_cannot_run_a_program_are_left_out_unless_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(machines, "LARGEST", 3)
    monkeypatch.setattr(comparing, "AT_ONCE", ("semantics", "reference"))
    made = api.diff(api.parse(PROGRAM))
    assert made.difference is None and list(made.left_out) == ["reference"]
    with pytest.raises(InputError, match="the reference, which is dense, holds 3 at most"):
        api.diff(api.parse(PROGRAM), engines=["semantics", "reference"])


def test_programs_that_are_not_safe_are_refused():
    with pytest.raises(ProgramError, match="Element does not support node dependences"):
        api.diff(RACY)
    assert api.diff(RACY, engines=["semantics", "reference"], unsafe=True).difference is None


# --------------------------------------------------------------------------------------------------------- the command

ENGINE = """
class Off:
    name = "off"
    def run(self, program, inputs):
        return {"c": [1, 0, 2, 0, 0]}

right = Off()
right.name, right.run = "right", lambda program, inputs: {"c": [1, 0, 2, 0, 1]}
nothing = 3
"""


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """A folder with engines of somebody else's."""
    (tmp_path / "theirs.py").write_text(ENGINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_command_tells_the_first_difference(command, engines):
    done = command("diff", SAFE, "--engines", "semantics,reference,theirs:Off")
    assert (done.status, done.err) == (1, "")
    assert done.out == f"differ  {SAFE}: c[5]\n  semantics  1\n  off        0\n"
    told = command("diff", SAFE, "--engines", "semantics,theirs:Off", "--json").json
    assert not told["agree"] and [run["engine"] for run in told["runs"]] == ["semantics", "off"]
    assert told["difference"] == {
        "place": "c[5]",
        "first": {"engine": "semantics", "has": 1},
        "second": {"engine": "off", "has": 0},
    }


def test_the_command_tells_that_engines_agree(command, engines):
    done = command("diff", SAFE, "--engines", "semantics,reference,theirs:right", "--repeat", "2")
    assert (done.status, done.out.splitlines()[0]) == (0, f"same  {SAFE}: semantics, reference, right agree, 6 runs")
    told = command("diff", SAFE, "--engines", "semantics,reference", "--json").json
    assert told["agree"] and told["difference"] is None and told["left_out"] == {}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("steam", "there is no engine steam"),
        ("theirs:", "there is no engine theirs:"),
        ("theirs:none", "there is no engine theirs:none: module 'theirs' has no attribute 'none'"),
        ("nowhere:x", "there is no engine nowhere:x: No module named 'nowhere'"),
        ("theirs:nothing", "theirs:nothing is no engine: it needs a name and run(program, inputs)"),
    ],
)
def test_what_is_no_engine_is_told(command, engines, names, said):
    done = command("diff", SAFE, "--engines", names)
    assert (done.status, done.out) == (2, "") and done.err.startswith(f"error[input]: {said}")


def test_the_command_refuses_what_is_not_safe(command):
    done = command("diff", RACY)
    assert done.status == 2 and "--unsafe runs it anyway" in done.err
    assert command("diff", RACY, "--engines", "semantics,reference", "--unsafe").status == 0


# -------------------------------------------------------------------------------------------- both machines, explored

ATOMIC = """
c = Tensor(Dense(Atomic(0)), 2)
c .= 0
for i = parallel(1:2, cpu(:t, 2))
    c[1] += 1
end
return c
"""
FAULTING = """
c = Tensor(SparseList(Element(0)), 2)
c .= 0
for i = parallel(1:2, cpu(:t, 2))
    c[i] += 1
end
return c
"""


def explored(rules: str, plan: str, **options: Any) -> Any:
    """The comparison if the plan that is explored were that of another program."""
    machine_of = machines.machine_of

    def of_another(bound: Any, name: str) -> Any:
        return machine_of(api.bind(api.parse(plan)) if name == "native" else bound, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "machine_of", of_another)
        return api.diff(api.parse(rules), engines=["semantics", "reference"], unsafe=True, **options)


@pytest.mark.parametrize(
    ("plan", "place", "rules_have", "plan_has"),
    [
        (ATOMIC, None, None, None),
        (ATOMIC.replace("Atomic", "Element"), "races", "none", "c.val[1]: Assign in line 5, Assign in line 5"),
        (ATOMIC.replace("c[1] += 1", "c[2] += 1"), "outcomes", "{'c': [2, 0]}", "{'c': [0, 2]}"),
        (ATOMIC.replace("Atomic(0)", "Mutex(Element(0))").replace("c[1]", "c[i]"), "outcomes", "[2, 0]", "[1, 1]"),
        (FAULTING, "races", "none", "c.fill[1]: Unfurl in line 5, "),
        (ATOMIC.replace("+= 1", f"+= {2**62}"), "faults", "none", "overflow"),
    ],
)
def test_what_only_one_machine_can_do_is_a_difference(plan, place, rules_have, plan_has):
    found = explored(ATOMIC, plan)
    assert found.explored.complete and set(found.explored.states) == {"semantics", "native"}
    if place is None:
        assert found.difference is None
        return
    assert found.difference.place == f"the {place} of all interleavings"
    assert rules_have in found.difference.first_has and plan_has in found.difference.second_has


def test_deadlocks_are_compared():
    found = explored(ATOMIC, STUCK).difference
    assert (found.place, "waits for" in found.second_has) == ("the deadlocks of all interleavings", True)


def test_nothing_is_compared_of_searches_that_are_cut_short():
    other = ATOMIC.replace("Atomic", "Element")
    found = explored(ATOMIC, other, max_states=3)
    assert (found.difference, found.explored.complete, found.explored.stopped_by) == (None, False, "max-states")
    assert explored(ATOMIC, other, max_states=0).explored is None


def test_doubles_may_be_rounded_in_another_order():
    """The rules are exact, so all orders have one result; the plan has two."""
    text = """
    c = Tensor(Dense(Atomic(0.0)), 1)
    c .= 0.0
    for i = parallel(1:2, cpu(:t, 2))
        c[1] += 0.1 * i
    end
    return c
    """
    found = api.diff(api.parse(text), engines=["semantics"])
    assert found.difference is None and found.explored is not None and found.explored.complete
    found = explored(text, text.replace("0.1 * i", "0.1001 * i"))
    assert found.difference.place == "the outcomes of all interleavings"


def test_large_inputs_are_not_explored():
    text = "s = 0\nfor i = _\n    s = s + A[i]\nend"
    few, many = (api.diff(api.parse(text), inputs={"A": np.ones(n)}, engines=["native"]) for n in (10, 1_001))
    assert few.explored is not None and many.explored is None


def test_the_command_says_how_far_it_explored(command):
    whole, cut, none = (command("diff", SAFE, "--max-states", n) for n in ("1000", "5", "0"))
    assert "  explored  complete: 9 states of semantics, 9 states of native" in whole.out
    assert "  explored  incomplete, stopped by --max-states: 5 states of semantics, 5 states of native" in cut.out
    assert "explored" not in none.out
    assert command("diff", SAFE, "--json").json["explored"] == {
        "states": {"semantics": 9, "native": 9},
        "stopped_by": None,
    }


def test_a_campaign_explores_its_programs(monkeypatch):
    """A difference is a Disagreement, or in a bucket; the tally counts programs."""
    asked: dict[str, Any] = {"programs": st.just(ATOMIC), "examples": 2, "inputs": 1}
    tally = campaign(["reference"], **asked)
    assert (tally.explored, tally.complete) == (tally.cases, tally.cases)
    assert f"{tally.cases} of {tally.cases} explored completely" in str(tally)
    assert campaign(["reference"], max_states=0, **asked).explored == 0
    assert campaign(["reference"], max_states=2, **asked).complete == 0
    machine_of = machines.machine_of
    other = api.bind(api.parse(ATOMIC.replace("+= 1", "+= 2")))
    monkeypatch.setattr(
        comparing, "machine_of", lambda bound, name: machine_of(other if name == "native" else bound, name)
    )
    with pytest.raises(Disagreement, match=r"the outcomes of all interleavings: semantics has .*, native has .*4, 0"):
        campaign(["reference"], **asked)
    buckets = campaign(["reference"], collect=True, **asked).buckets
    assert list(buckets) == ["native: the outcomes of all interleavings"]


# ------------------------------------------------------------------------------------------ the engines of this package


@pytest.mark.parametrize("part", few(range(4), 1))
def test_safe_programs_mean_the_same_to_every_engine(part):
    """Rules, compiled plan step by step, and reference; threads, 1 to 4, static and dynamic, each twice.

    Five hundred texts, of which at least half are different, and two thousand cases.
    """
    done = campaign(
        ["semantics", "native-controlled", "reference"], ["native"],
        examples=many(150), repeat=2, first_seed=part * 10_000,
    )  # fmt: skip
    assert done.texts >= due(62) and done.cases >= due(500) and done.faults < done.cases / 10, done
    print(done)


# --------------------------------------------------------------------------------------------------------------- races

LOST = [[1, 0, 2, 0, 1], [1, 0, 1, 0, 1]]
"""The outcomes of examples/dependent.ws: with both updates, and with one lost."""


def outcome(c: list[int]) -> Outcome:
    return Outcome.from_arrays({"c": np.array(c, dtype=object)}, {})


COMPILED = pytest.param("compiled", marks=needs_compiler)


@pytest.mark.parametrize("engine", ["native", COMPILED])
def test_the_demo_loses_an_update_in_practice_and_nothing_happens_that_is_not_predicted(engine):
    """On busy processors tasks may long run one after the other, so many seeds are tried."""
    ended: set[object] = set()
    expected = {outcome(c) for c in LOST}
    for seed in range(0, 20_000, 1000):
        made = api.stress(RACY, runs=1000, mode="yields", engine=engine, seed=seed)
        assert made.verdict.complete and made.surprises == ()
        assert sum(one.runs for one in made.observed) == made.runs == 1000
        ended |= {one.end for one in made.observed if one.runs}
        if ended == expected:
            break
    assert ended == expected


@pytest.mark.parametrize("name", few(sorted(path.name for path in (ROOT / "examples").glob("quiz_*.ws")), 2))
@pytest.mark.parametrize("engine", ["native", COMPILED])
def test_no_quiz_program_does_what_is_not_predicted(name, engine):
    """Racy on purpose, and each explored in full; those that may wait for ever are refused."""
    try:
        made = api.stress(ROOT / "examples" / name, runs=300, mode="yields", engine=engine)
    except InputError as error:
        assert "wait for ever" in error.message and "lock" in name
        return
    assert made.verdict.complete and made.surprises == (), made.surprises


WIDE = "C = Tensor(SparseList(Element(0)), 9)\nC .= 0\nfor i = parallel(1:9, cpu(3))\n    C[i] += 1\nend\nreturn C"
"""Each task appends to one list, so that positions are as stale as can be."""


@needs_compiler
@pytest.mark.parametrize("mode", get_args(Mode))
def test_racing_c_stays_in_its_memory(mode):
    """No cell is reached unchecked, whatever position a task has read: all runs end, with a result or a fault."""
    bound = api.bind(api.parse(WIDE))
    assert "WS_CELLS" not in api.compiled_c(bound, racy=True).engine.source
    made = api.stress(bound, runs=500, mode=mode, engine="compiled", max_states=1)
    assert made.runs == sum(one.runs for one in made.observed) == 500 and made.engine == "compiled"


@needs_compiler
def test_c_of_a_safe_program_is_raced_as_it_is_run(monkeypatch):
    """Programs that the level dependence test accepts are compiled as for `run`; only yielding tasks take other C."""
    seen = []

    def watched(bound, racy=False):
        seen.append(racy)
        return api.compiled_c(bound, racy)

    monkeypatch.setattr(comparing, "compiled_c", watched)
    for path, mode in product((SAFE, RACY), get_args(Mode)):
        assert api.stress(path, runs=3, mode=mode, engine="compiled").surprises == ()
    assert get_args(Mode) == ("plain", "seq_cst", "yields") and seen == [False, False, True, True, True, True]


@pytest.mark.parametrize("engine", ["native", COMPILED])
@settings(derandomize=True, deadline=None, max_examples=many(64), suppress_health_check=list(HealthCheck))
@given(text=meetings())
def test_no_random_program_does_what_is_not_predicted(engine, text):
    """Two tasks that meet in one tensor; most race, fault or depend on the order."""
    try:
        made = api.stress(api.parse(text), runs=100, mode="yields", engine=engine, max_states=3000)
    except WingspanError:
        return
    assert made.surprises == (), made.surprises


BESIDE = """
dev = cpu(:dev, 2)
far = cpu(:far, 1)
C = Tensor(Shard(far, Element(0)))
C .= 0
for k = parallel(1:2, dev)
    for l = parallel(1:1, far)
        C[] += k
    end
end
return C
"""


@pytest.mark.parametrize("engine", ["native", COMPILED])
def test_what_only_a_race_asks_for_is_there(engine):
    """Two tasks that are thread 1 of their own `far` have one copy: if both add its element, it has a second one."""
    made = api.stress(api.parse(BESIDE), runs=1000, mode="yields", engine=engine)
    assert made.verdict.races and made.surprises == (), made.surprises


def predicting(*results: Any, complete: bool = True, faults: tuple[Any, ...] = ()) -> Verdict:
    """The verdict of a search that found these outcomes."""
    verdict = api.explore(SAFE).verdict
    return replace(verdict, complete=complete, results=tuple(Result(r, 1, "") for r in results), faults=faults)


def test_the_histogram_counts_ends_and_knows_which_are_predicted():
    both, lost = (outcome(c) for c in LOST)
    unheard = outcome([0, 0])
    runs: list[Outcome | Fault] = [both, lost, both, Fault("overflow"), unheard]

    def execute(number: int) -> Outcome:
        end = runs[number]
        if isinstance(end, Fault):
            raise end
        return end

    made = observe(execute, predicting(both, lost), 5, "native", "seq_cst")
    assert [(one.end, one.runs, one.predicted) for one in made.observed] == [
        (both, 2, True), (lost, 1, True), ("overflow", 1, False), (unheard, 1, False)
    ]  # fmt: skip
    assert [one.end for one in made.surprises] == ["overflow", unheard]
    assert observe(execute, predicting(both, complete=False), 5, "native", "seq_cst").surprises == ()
    never = observe(execute, predicting(both, unheard), 2, "native", "seq_cst").observed
    assert [(one.end, one.runs) for one in never] == [(both, 1), (lost, 1), (unheard, 0)]


def test_the_command_shows_the_histogram_beside_the_prediction(command):
    done = command("stress", RACY, "--runs", "50", "--yields")
    assert done.status == 0 and done.out.startswith(f"ran  {RACY}: 50 runs by native ended in ")
    assert " predicted  c = [1, 0, 2, 0, 1]\n" in done.out and " predicted  c = [1, 0, 1, 0, 1]\n" in done.out
    told = command("stress", RACY, "--runs", "50", "--json").json
    assert told["complete"] and sum(one["runs"] for one in told["observed"]) == 50 and not told["surprises"]
    assert told["engine"] == "native"


@needs_compiler
def test_the_command_races_c(command):
    """A program that `run` refuses to compile, too; the report names the engine, as JSON does."""
    assert command("run", RACY, "--engine", "compiled").status == 2
    done = command("race", RACY, "--runs", "20", "--engine", "compiled")  # as stress was called
    assert done.status == 0 and done.out.startswith(f"ran  {RACY}: 20 runs by compiled ended in ")
    told = command("stress", RACY, "--runs", "20", "--engine", "compiled", "--json").json
    other = command("stress", RACY, "--runs", "20", "--json").json
    assert told["engine"] == "compiled" and told.keys() == other.keys() and told["machine"] == "semantics"


def test_an_engine_or_a_mode_that_is_not_there_is_one_error(monkeypatch):
    with pytest.raises(InputError, match="there is no engine semantics that runs on threads") as raised:
        api.stress(RACY, runs=1, engine="semantics")
    assert raised.value.fix == "use native or compiled"
    for engine in api.ON_THREADS if compiler() else ["native"]:
        with pytest.raises(InputError, match="there is no mode fast"):
            api.stress(RACY, runs=1, mode="fast", engine=engine)  # type: ignore[arg-type]
    monkeypatch.setattr(build, "compiler", tuple)
    with pytest.raises(InputError, match="there is no C compiler"):
        api.stress(RACY, runs=1, engine="compiled")


def test_the_exit_status_of_stress_tells_of_surprises(command, monkeypatch):
    """1 for an end that is not predicted, unless accesses are plain; 3 if the prediction is not complete."""
    wrong = predicting(outcome([3]))
    found = Exploration(wrong, api.bind(RACY), None)
    monkeypatch.setattr(comparing, "explore", lambda *_, **__: found)
    done = command("stress", RACY, "--runs", "20")
    assert done.status == 1 and done.out.startswith("surprise  ") and "NOT PREDICTED  c = [" in done.out
    assert command("stress", RACY, "--runs", "20", "--plain").status == 0
    found = replace(found, verdict=replace(wrong, complete=False, stopped_by="max-states"))
    done = command("stress", RACY, "--runs", "20")
    assert done.status == 3 and "stopped by --max-states" in done.out
