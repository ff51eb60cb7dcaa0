"""The strategies that others test their compilers with: what they draw, and how much of it can be used."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, few, many
from proofs_tests.places import ROOT
from wingspan import api, dependence, testing
from wingspan.lang import ir
from wingspan.levels import REGISTRY
from wingspan.native import prepared
from wingspan.plan.pipeline import lower
from wingspan.testing import Case, Options, accepted, campaign, cases, inputs, safe_kernels, safe_programs
from wingspan.testing.cases import SAFER
from wingspan.testing.choosing import by_seed
from wingspan.testing.formats import STORAGE
from wingspan.testing.programs import Writer
from wingspan.testing.schedules import leave_open, parse_schedule


def drawn(strategy: st.SearchStrategy[Any], examples: int, look: Callable[[Any], None]) -> None:
    """Looks at so many examples, the same every time."""

    @settings(
        derandomize=True, deadline=None, max_examples=examples, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def show(example: Any) -> None:
        look(example)

    show()


def test_the_package_does_not_need_hypothesis():
    """Only `wingspan.testing` imports it."""
    units = "wingspan, wingspan.cli, wingspan.results.comparison, wingspan.results.histogram"
    code = f"import sys; sys.modules['hypothesis'] = None; import {units}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_all_that_is_public_is_there_and_documented():
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    for name in testing.__all__:
        assert getattr(testing, name).__doc__, name
        assert f"`{name}" in page, name


# ------------------------------------------------------------------------------------------------------------ programs


@pytest.mark.parametrize(
    ("made", "share"), few([(testing.kernels(), 0.5), (testing.programs(Options(spawning=1)), 0.25)], 1)
)
def test_a_good_share_of_the_parallel_programs_is_safe(made, share):
    seen: Counter[bool] = Counter()

    def look(text: str) -> None:
        if "parallel(" in text:
            seen[accepted(text)] += 1

    drawn(made, 150, look)  # at any effort, since shares of fewer vary: programs drawn one after another are alike
    assert seen[True] > share * seen.total() > 50 and seen[False], seen


def test_accepted_programs_are_safe_on_every_device_under_every_schedule():
    """The verdict on the program with both left open holds for each of its variants."""
    seen: Counter[str] = Counter()

    def look(case: Case) -> None:
        for label, program in testing.variants(case.program, (1, 2, 3), ("static_schedule()", "dynamic_schedule(2)")):
            verdict = dependence.check(Case(program, case.inputs).bind()).verdict
            assert verdict == "safe", f"{label}\n{case!r}"
            seen[label] += 1

    drawn(cases(), many(40), look)
    assert sorted(seen.values())[-5] >= max(1, due(15)), seen


def test_some_safe_programs_have_modifiers_conditions_and_both_schedules():
    texts: list[str] = []
    drawn(safe_kernels() | safe_programs(), 40, texts.append)
    words = ("Merge", "Atomic", "SparseList", "dynamic_schedule(1)", "static_schedule()", "if ")
    assert [word for word in words if not any(word in text for text in texts)] == []


def test_programs_assert_and_read_what_they_update_also_in_tasks():
    """Of fifty that campaigns draw."""
    seen: Counter[str] = Counter()
    for seed in range(50):
        for statement in api.parse(Writer(by_seed(seed).between, SAFER).program()).tree.body.statements:
            nodes = list(statement.walk())
            inside = "in tasks" if any(isinstance(node, ir.Parallel) for node in nodes) else "outside"
            used = [{a.fiber.tensor for a, updates in ir.accesses(statement) if updates == each} for each in (0, 1)]
            declared = {node.tensor for node in nodes if isinstance(node, ir.Declare)}
            seen[f"in place, {inside}"] += bool((used[0] & used[1]) - declared)
            seen[f"asserted, {inside}"] += any(isinstance(node, ir.Assert) for node in nodes)
    assert all(seen[name] for name in ("in place, in tasks", "asserted, in tasks", "asserted, outside")), seen


@pytest.mark.deep
def test_safe_programs_have_every_level_modifier_and_parallel_construct():
    """All levels and modifiers, nested devices, both schedules, workspaces, conditions, operators and pairs."""
    words = {*STORAGE, "SparseCOO(", "Atomic", "Mutex", "Isolate", "Shard", "Merge"}
    assert words - {"SparseCOO("} <= set(REGISTRY)
    words |= {"dynamic_schedule(1)", "static_schedule()", "if ", "w .= 0", "dev2)", "<<min>>=", "<<max>>="}
    words |= {"<<minby>>=", "<<maxby>>="}
    texts: list[str] = []
    drawn(safe_kernels() | safe_programs(), 500, texts.append)
    missing = {word for word in words if not any(word in text for text in texts)}
    assert not missing
    assert any("first(" in text or "second(" in text for text in texts)
    assert any(nested(api.parse(text).tree) for text in texts)


def nested(tree: ir.Node) -> bool:
    """Whether a parallel loop stands inside of another."""
    loops = [node for node in tree.walk() if isinstance(node, ir.For) and isinstance(node.range, ir.Parallel)]
    return any(inner is not outer for outer in loops for inner in outer.body.walk() if inner in loops)


def test_variants_are_dealt_as_they_say():
    program = api.parse(
        "dev = cpu(:t, 2)\nc = Tensor(Dense(Element(0)), 3)\nc .= 0\nfor i = parallel(_, dev); c[i] = i; end"
    )
    made = dict(testing.variants(program, (1, 3), ("static_schedule()", "dynamic_schedule(2)")))
    assert list(made) == [
        "threads = 1, static_schedule()",
        "threads = 3, static_schedule()",
        "threads = 3, dynamic_schedule(2)",
    ]
    last = str(made["threads = 3, dynamic_schedule(2)"])
    assert "cpu(:t, 3)" in last and "parallel(_, dev, dynamic_schedule(2))" in last
    assert dict(testing.variants(api.parse("x = 1"))).keys() == {"as written"}
    assert "cpu(:t, nthreads)" in str(leave_open(program))


@given(testing.schedules(), testing.devices(":d"), testing.devices())
@settings(derandomize=True, max_examples=30)
def test_devices_and_schedules_read_as_they_are_written(schedule, device, nameless):
    """Devices and schedules stand in programs as they are."""
    loops = [f"for i = parallel(1:2, dev, {schedule}); skip; end", f"for i = parallel(1:2, {nameless}); skip; end"]
    text = "\n".join((f"dev = {device}", *loops))
    loop = next(node for node in api.parse(text).tree.walk() if isinstance(node, ir.Parallel))
    assert loop.schedule == parse_schedule(schedule)
    api.bind(api.parse(text))


# -------------------------------------------------------------------------------------------------------------- inputs


PRODUCT = """
A = Tensor(Dense(SparseList(Element(0.0))))
B = Tensor(SparseDict(Dense(Element(0))))
v = Tensor(Dense(Element(true)))
u = Tensor(Dense(Element(0)), 2)
for i = _
    for k = _
        x = A[i, k] * B[k, i] * u[1]
        if v[k]; skip; end
    end
end
"""


def test_inputs_fit_and_come_in_every_shape():
    """Extents 0 and 1, NumPy and SciPy, narrow and wide, C and Fortran order, all fill and none, Inf and NaN."""
    seen: set[str] = set()

    def look(given: dict[str, Any]) -> None:
        bound = api.bind(api.parse(PRODUCT), inputs=given)
        A, B, v, u = (bound.inputs[name].to_numpy() for name in "ABvu")
        assert A.shape == B.shape[::-1] and v.shape == A.shape[1:] and u.shape == (2,)
        finite = A[np.isfinite(A)]
        assert (4 * finite % 1 == 0).all() and np.abs(finite).max(initial=0) < 2
        seen.update(str(value) for value in A[~np.isfinite(A)])
        array = given["A"]
        sparse = scipy.sparse.issparse(array)
        seen.add(array.format if sparse else "C" if array.flags.c_contiguous else "F")
        seen.add(str(array.dtype))
        seen.update(f"extent {n}" for n in A.shape)
        seen.add("empty" if not A.size else "all fill" if not A.any() else "none fill" if A.all() else "some fill")

    drawn(inputs(api.parse(PRODUCT)), 100, look)
    assert seen >= {"csc", "csr", "coo", "C", "F", "float64", "float32", "extent 0", "extent 1", "empty"}
    assert seen >= {"all fill", "none fill", "some fill", "inf", "-inf", "nan"}


def test_axes_that_one_index_runs_over_have_one_extent():
    """Also if two indices meet on one axis."""
    program = api.parse("for i = _\nfor j = _\nx = A[i] * A[j] * B[j]\nend\nend")

    def look(given: dict[str, Any]) -> None:
        assert given["A"].shape == given["B"].shape
        api.bind(program, inputs=given)

    drawn(inputs(program), 20, look)


def test_an_example_prints_as_a_program_and_its_inputs():
    case = Case(api.parse("x = A[1]"), {"A": np.array([2])})
    assert "x = A[1]" in repr(case) and "# A =\narray([2])" in repr(case)


# ----------------------------------------------------------------------------------------------------------- campaigns


class Forgetful:
    """The rules, but for updates by ⊕ of what is there already: the first of them counts."""

    name = "forgetful"

    def run(self, program, inputs):
        made = api.run(program, engine="semantics")
        return {name: np.minimum(t.to_numpy(), 1) for name, t in made.tensors.items()}


def test_a_campaign_is_the_same_every_time():
    first, again = (campaign(["semantics", "reference"], examples=3, first_seed=3) for _ in range(2))
    assert (first.cases, first.texts, first.runs) == (again.cases, again.texts, again.runs)
    assert first.runs == 2 * first.cases > 0 and first.rate > 0
    assert str(first).startswith(f"{first.cases} cases of {first.texts} programs, {first.runs} runs, ")


@pytest.mark.parametrize(("texts", "different"), [(["x = 1"], 1), (["x = 1", "x = 2", "x = 3", "y = 1"], 4)])
def test_a_campaign_counts_programs_of_one_text_once(texts: list[str], different: int):
    done = campaign(["reference"], programs=st.sampled_from(texts), examples=2 * len(texts))
    assert done.texts == different and done.cases > done.texts, done


class Watching:
    """The rules, but for a defect if `wrong` is true of the inputs; it keeps all inputs that it has seen."""

    name = "watching"

    def __init__(self, wrong=lambda inputs: False):
        self.wrong, self.seen = wrong, []

    def run(self, program, inputs):
        given = {name: np.array(array) for name, array in inputs.items()}
        self.seen.append((str(program.body), given))
        if self.wrong(given):
            raise ZeroDivisionError("here")
        made = api.run(program, engine="semantics")
        return {name: t.to_numpy() for name, t in made.tensors.items()}


SUM = """
A = Tensor(Dense(SparseList(Element(0))))
B = Tensor(SparseDict(Element(0)))
C = Tensor(Dense(Element(0)))
C .= 0
for j = _
    for i = _
        C[i] += A[i, j] * B[j]
    end
end
return C
"""


def test_cases_may_be_given_to_a_campaign():
    """As before programs had several inputs."""
    done = campaign(["reference"], programs=cases(st.just(SUM)), examples=5)
    assert done.programs == done.cases > 0 and done.texts == 1


def test_a_program_runs_on_several_inputs_of_equal_extents():
    """Seldom on less than asked for; once if all of its data are literal."""
    watching = Watching()
    campaign([watching], programs=st.just(SUM), examples=12, inputs=5, max_states=0)
    shapes = [(given["A"].shape, given["B"].shape) for _, given in watching.seen]
    runs = [len(list(same)) for _, same in groupby(shapes)]
    assert min(runs) == 1 and max(runs) >= 5 and len(runs) > 5 and sum(runs) > 4 * len(runs)
    assert campaign([watching], programs=st.just(SUM), examples=1, inputs=1).cases == 1
    assert campaign([watching], programs=st.just("x = 1"), examples=1).cases == 1


def test_inputs_of_one_program_differ_and_share_its_code(monkeypatch):
    lowered = []

    def counted(*given):
        lowered.append(given)
        return lower(*given)

    monkeypatch.setattr(prepared, "lower", counted)
    watching = Watching()
    done = campaign([watching], ["native"], programs=st.just(SUM), examples=20, first_seed=11, max_states=0)
    assert len(lowered) <= 36, "one plan for each pair of extents and number of threads"
    assert len({repr(given) for given in watching.seen}) > 2 * len(lowered) > 0 and done.cases > 60


@pytest.mark.deep
def test_a_defect_of_some_inputs_is_found_and_shown_by_the_one_input_that_has_it():
    """Nothing is left of the other inputs, and of this one only what the defect needs."""

    def wrong(given: dict[str, np.ndarray]) -> bool:
        return bool((given["A"] == -2).any() and (given["B"] == 3).any())

    texts = st.sampled_from([SUM, SUM.replace("*", "+"), SUM.replace("A[i, j]", "A[j, i]")])
    watching = Watching(wrong)
    with pytest.raises(testing.Disagreement) as found:
        campaign(["reference", "native"], [watching], programs=texts, examples=200)
    message = str(found.value)
    assert not all(watching.wrong(given) for _, given in watching.seen)
    assert message.startswith("the end of the run: reference has a result, watching (as written) has a defect: ZeroDiv")
    assert "return C\n# A =\narray([[-2]])\n# B =\narray([3])\n" in message, message
    assert message.count("return C") == message.count("# A =") == 1
    assert "C .= 0\nC[1] += A[1, 1] * B[1]\nreturn C\n" in message


@pytest.mark.deep
def test_a_campaign_ends_with_the_program_that_shows_the_defect():
    with pytest.raises(testing.Disagreement, match=r"semantics has .*, forgetful.* has [^\0]*return "):
        campaign(
            ["semantics"],
            [Forgetful()],
            programs=safe_kernels(),
            inputs=1,
            examples=60,
            threads=(2,),
            schedules=["static_schedule()"],
        )
