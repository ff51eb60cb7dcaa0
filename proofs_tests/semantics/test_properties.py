"""Tests of the properties P1 to P30 of the theory: their places, and those of rules, test and explorer together."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests import scopes
from proofs_tests.dependence.test_kinds_lemma import run
from proofs_tests.effort import EFFORT, due, many
from proofs_tests.exploring import Watched, foldable
from proofs_tests.levels.test_isolation import UPDATING
from proofs_tests.places import ROOT
from proofs_tests.scopes import Nest
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.dependence import Analysis, Finding, Report
from wingspan.dependence.accesses import UpdatePair
from wingspan.elaborate import Elaborated
from wingspan.explorer.machine import Step
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.levels.base import Level, Modifier, Storage
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.testing.programs import Options, programs
from wingspan.testing.templates import meetings

TESTS = {
    "P1": "test_schedules::test_every_state_goes_on_or_has_ended_and_every_run_ends",
    "P2": "test_properties::test_accepted_programs_do_not_deadlock",
    "P3": "test_schedules::test_runs_end_however_unfair_the_schedule",
    "P4": "test_lifecycle_properties::test_only_lifecycle_functions_change_a_mode",
    "P5": "test_lifecycle_properties::test_a_scope_leaves_nothing_behind",
    "P6": "test_isolation::test_copies_are_each_tasks_own",
    "P7": "test_isolation::test_nothing_that_is_read_is_written",
    "P8": "test_lifecycle_properties::test_tasks_that_do_nothing_change_nothing",
    "P9": "test_schedules::test_static_chunks_partition_the_range",
    "P10": "test_schedules::test_dynamic_claims_partition_the_range",
    "P11": "test_schedules::test_one_task_is_the_serial_loop",
    "P12": "test_properties::test_without_races_there_is_one_result",
    "P13": "test_properties::test_accepted_programs_compute_the_same_under_every_schedule",
    "P14": "test_level_dependence::test_what_is_accepted_is_safe",
    "P15": "test_level_dependence::test_breakers_of_the_printed_test",
    "P16": "test_level_dependence::test_the_exact_test_accepts_all_that_is_safe",
    "P17": "test_stability_lemma::test_kinds_within_the_stability_do_no_harm",
    "P18": "test_stability_lemma::test_each_kind_that_is_missing_does_harm",
    "P19": "test_properties::test_a_modifier_counts_for_the_loops_whose_tasks_it_takes_effect_in",
    "P20": "test_properties::test_a_merge_more_rejects_nothing",
    "P21": "test_subscripts::test_dep_test_is_brute_force",
    "P22": "test_coalesce::test_copies_are_folded",
    "P23": "test_levels::test_a_frozen_tensor_keeps_its_invariants",
    "P24": "test_isolation::test_claims_last_and_are_obeyed",
    "P25": "test_isolation::test_what_a_mutex_protects_is_locked",
    "P26": "test_levels::test_declaring_again_starts_afresh",
    "P27": "test_lifecycle_properties::test_an_entry_is_there_exactly_if_something_below_was_assigned",
    "P28": "test_looplets::test_sparse_iteration_does_what_visiting_every_index_does",
    "P29": "test_concordize::test_more_loops_keep_result_and_verdict_of_random_programs",
    "P30": "test_isolation::test_gates_open_in_the_order_of_the_loops",
}
"""For each property the test to read first; the docstrings of the others name it too."""


def docstrings(file: Path) -> dict[str, str]:
    """The docstrings of the test functions of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_property_has_a_test_that_names_it() -> None:
    """All of P1 to P30; no test names a property that does not exist."""
    files = {path.stem: path for path in (ROOT / "proofs_tests").rglob("test_*.py")}
    assert list(TESTS) == [f"P{n}" for n in range(1, 31)]
    for number, test in TESTS.items():
        module, _, name = test.partition("::")
        said = docstrings(files[module])
        assert name in said, test
        assert number in re.findall(r"P\d+", said[name]), f"{test} does not name {number}"


ANYTHING = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def bound_or_none(text: str, threads: int | None = 2) -> Elaborated | None:
    """A random program, unless there is a mistake in it."""
    try:
        return api.bind(api.parse(text), threads=threads)
    except WingspanError:
        return None


def report(bound: Elaborated) -> Report:
    """The report of the repaired test."""
    return Analysis(bound.body).report(bound.towers)


# ----------------------------------------------------------------------------------------------------------- deadlocks


@st.composite
def lockings(draw: st.DrawFn) -> str:
    """Two tasks that update vectors and a matrix behind locks, in loops inside of one another, in any order."""
    leaf = draw(st.sampled_from(["Element(0)", "Mutex(Element(0))"]))
    around = draw(st.sampled_from(["{}", "Mutex({})"]))
    head = [f"{name} = Tensor({around.format(f'Mutex(Dense({leaf}))')}, 2)" for name in "cd"]
    head.append(f"E = Tensor(Dense(Mutex(Dense({leaf}))), 2, 2)")

    def body(indices: tuple[str, ...], depth: int) -> Iterator[str]:
        for _ in range(draw(st.integers(1, 2))):
            index = "ijl"[len(indices)] if len(indices) < 3 else ""
            kind = draw(st.sampled_from(["update", "for", "if"] if depth and index else ["update"]))
            if kind == "for":
                ends = draw(st.sampled_from(["1:1", "2:2", "1:2", "k:k", "3 - k:3 - k"]))
                yield from (f"for {index} = {ends}", *body((*indices, index), depth - 1), "end")
            elif kind == "if":
                yield from (f"if k == {draw(st.integers(1, 2))}", *body(indices, depth - 1), "end")
            else:
                at = st.sampled_from([*indices, *indices, "k", "1", "3 - k"])
                name = draw(st.sampled_from("ccddE"))
                yield f"{name}[{', '.join(draw(at) for _ in range(2 if name == 'E' else 1))}] += 1"

    lines = ["for k = parallel(1:2, cpu(2))", *body((), 3), "end"]
    return "\n".join((*head, "c .= 0", "d .= 0", "E .= 0", *lines))


def test_accepted_programs_do_not_deadlock() -> None:
    """P2: whatever locks tasks take inside of one another: in no state of an accepted program do all of them wait.

    Many programs deadlock; nearly all that do not are accepted.
    """
    seen: Counter[str] = Counter()

    @settings(ANYTHING, max_examples=many(120))
    @given(lockings())
    def explore(text: str) -> None:
        bound = api.bind(api.parse(text))
        told = report(bound)
        found = api.explore(bound, max_states=300).verdict
        assert not found.deadlocks or "deadlock" in {finding.topic for finding in told.findings}, text
        seen["deadlock" if found.deadlocks else told.verdict if found.complete else "cut"] += 1

    explore()
    assert seen["deadlock"] > due(20) and seen["safe"] > due(40), seen


# -------------------------------------------------------------------------------------------------------- determinism


def determined(bound: Elaborated) -> bool:
    """Whether a program without races must have one result: ⊕ does not care about the order, or the order is given.

    Tasks take turns at locks and atomic elements in any order; what they set by = or keep in variables may then differ.
    """
    regions = [s for s in bound.body.walk() if isinstance(s, ir.For) and isinstance(s.range, ir.Parallel)]
    assigned = [node for region in regions for node in region.walk() if isinstance(node, ir.Assign | ir.Set)]
    turns = any(level in str(tower) for tower in bound.towers.values() for level in ("Mutex", "Atomic"))
    ordered = all(isinstance(s, ir.Assign) and s.op != "=" for s in assigned)
    return foldable(bound) and (ordered or not (turns or any("Merge" in str(t) for t in bound.towers.values())))


def test_without_races_there_is_one_result() -> None:
    """P12: without a race, a fault or a deadlock all interleavings give one denotation.

    If ⊕ is associative and commutative (and foldable, under a Merge), or no two tasks take turns at anything. Where
    they do and = is the operator, some programs without races have several results.
    """
    seen: Counter[str] = Counter()

    some = programs(Options(depth=2, statements=2, extent=2, spawning=1))

    @settings(ANYTHING, max_examples=many(240))
    @given(meetings() | meetings(("Dense", "SparseByteMap"), ("Mutex({})",)) | some)
    def explore(text: str) -> None:
        bound = bound_or_none(text, None if "far" in text else 2)
        if bound is None or "parallel" not in text:
            return
        found = api.explore(bound, max_states=100).verdict
        if found.races or found.faults or found.deadlocks:
            return
        if determined(bound):
            assert len(found.results) <= 1, text
            seen["one" if found.complete else "cut"] += 1
        else:
            seen["several" if len(found.results) > 1 else "one all the same"] += 1

    explore()
    assert seen["one"] > due(20) and seen["several"] >= due(1), seen


def outcomes(bound: Elaborated) -> set[object]:
    """The outcomes of two runs: in one each task goes as far as it gets, in the other a random one goes on."""
    dice = random.Random(0)
    found: set[object] = set()
    for take in (list, lambda tasks: dice.sample(tasks, len(tasks))):
        machine = api.semantics(bound)
        state = run(machine, take)
        found.add("stuck" if state is None else machine.outcome(state))
    return found


SCHEDULES = [
    (1, "static_schedule()"),
    *product((2, 3), ("static_schedule()", "dynamic_schedule(1)", "dynamic_schedule(2)")),
]

REGIONS = """
    dev = cpu(:d, 2)
    C = Tensor(Dense(Shard(dev, SparseByteMap(Element(0)))), 1, 3)
    C .= 0
    for k = 1:2
        for j = parallel({ends}, dev)
            C[1, j] += j
        end
    end
"""
"""A claim lasts over both regions: which schedules keep it depends on what the second one's iterations are."""


def test_accepted_programs_compute_the_same_under_every_schedule() -> None:
    """P13: static(n) and dynamic(n, c), for 1 to 3 threads and chunks of 1 and 2, as far as the test accepts them."""
    seen: Counter[str] = Counter()

    def compare(text: str) -> None:
        results: set[object] = set()
        for n, h in SCHEDULES:
            scheduled = re.sub(
                r"(parallel\(.*?, (?:cpu\(\d\)|dev2?))(?:, \w+\(\d?\))?\)$", rf"\1, {h})", text, flags=re.M
            )
            scheduled = re.sub(r"(parallel\([^,\n]*)\)$", rf"\1, cpu(2), {h})", scheduled, flags=re.M)
            bound = bound_or_none(scheduled, n)
            if bound is None:
                return
            if report(bound).verdict == "safe":
                results |= outcomes(bound)
                seen[h] += n > 1
            else:
                found = outcomes(bound)
                seen["refused, and it matters"] += len(found) > 1 or found == {"stuck"}
        assert len(results) <= 1, text

    @settings(ANYTHING, max_examples=many(12))
    @given(programs(Options(depth=2, statements=2, extent=3, spawning=1)).filter(lambda text: "parallel" in text))
    def random_programs(text: str) -> None:
        compare(text)

    random_programs()
    for ends in ("1:3", "1:k", "k:3"):
        compare("\n".join(line.strip() for line in REGIONS.format(ends=ends).strip().splitlines()))
    assert min(seen[h] for _, h in SCHEDULES) > due(8) and seen["refused, and it matters"] >= due(1), seen


# ------------------------------------------------------------------------------------------------------------ devices

NESTS = [nest for rank, loops in ((1, 2), (2, 2), (2, 3)) for nest in scopes.singles(rank, loops, [scopes.STATIC])]


@cache
def analysed(nest: Nest) -> Analysis:
    return Analysis(nest.bound.body)


def modified(rank: int) -> Iterator[tuple[int, Level]]:
    """Dense levels with one modifier; the depth that it has is its place from the root."""
    for depth, make in product(range(rank + 1), (Mutex, Isolate, lambda child: Shard(child, scopes.OUTER))):
        level: Level = Element(0)
        for at in range(rank, -1, -1):
            level = level if at == rank else Dense(level)
            level = make(level) if at == depth else level
        yield depth, level


def who_binds(nest: Nest, tower: Tower, depth: int) -> set[str]:
    """The tasks in which a modifier takes effect, by its cells that they touch in one run, as far as it gets."""
    tasks: set[str] = set()

    def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        if step.rule in UPDATING and any(touch.level_name == tower.levels[depth].name for touch in step.footprint):
            tasks.add(step.task)

    run(Watched(replace(nest.bound, towers={"T": tower}), look), list)
    return tasks


def test_a_modifier_counts_for_the_loops_whose_tasks_it_takes_effect_in() -> None:
    """P19: S^D has what a modifier adds exactly for those loops whose own tasks, or theirs, lock, load or claim.

    The tasks are those that touch the modifier's cells in a run. A gated one counts on its device alone.
    """
    counts: Counter[bool] = Counter()
    for nest in NESTS[:: 1 if EFFORT > 1 else 3 if EFFORT == 1 else 9]:
        for pair, (depth, level) in product(analysed(nest).pairs, modified(nest.rank)):
            tower = scopes.tower(level)
            tasks = who_binds(nest, tower, depth)
            spawned = 1 + sum(loop.parallel for loop in pair.one.loops[: pair.p])
            inside = {len(task.split(".")) >= spawned and task != "" for task in tasks}
            if tasks:
                assert inside == {pair.binds(tower, depth)}, (nest.text, str(level))
                counts[pair.binds(tower, depth)] += 1
    assert min(counts[True], counts[False]) > 20, counts


def names_of(findings: tuple[Finding, ...]) -> list[object]:
    return [(f.topic, f.tensor, f.level, sorted(f.required), sorted(f.stability), f.direction) for f in findings]


def test_renaming_devices_changes_no_verdict() -> None:
    """P19: swapping the names of two devices, over formats with modifiers of both, and of the one that is not there."""
    dice = random.Random(19)
    seen: Counter[str] = Counter()
    for nest, _ in product(NESTS[:: 3 if EFFORT >= 1 else 18], range(many(2))):
        form = scopes.random_format(nest.rank, 2, dice.randint(0, 3), dice)
        text = f"e = cpu(:e, 2)\n{nest.program(form)}" if nest.devices < 2 else nest.program(form)
        swapped = re.sub(r"\b[de]\b", lambda found: {"d": "e", "e": "d"}[found[0]], text)
        one, other = (report(api.bind(api.parse(each))) for each in (text, swapped))
        assert (one.verdict, names_of(one.findings)) == (other.verdict, names_of(other.findings)), text
        seen[one.verdict] += 1
    assert seen["safe"] > due(3) and seen["unsafe"] > due(20), seen


# -------------------------------------------------------------------------------------------------------- monotonicity


def with_merge(level: Level, depth: int) -> Level:
    """The format with a Merge around the level at a depth."""
    if depth == 0:
        return Merge(level, scopes.OUTER)
    assert isinstance(level, Storage | Modifier)
    return replace(level, child=with_merge(level.child, depth - 1))


def test_a_merge_more_rejects_nothing() -> None:
    """P20: a Merge at any place of an accepted format leaves W ⊆ S at every level, and no turns to be waited for.

    The conditions that a Merge brings itself are left aside: that tasks of its device bind it, and that copies can be
    folded and appended to.
    """
    dice = random.Random(20)
    seen: Counter[str] = Counter()
    for nest in NESTS[:: 1 if EFFORT > 1 else 2] if EFFORT >= 1 else NESTS[8::24]:
        for number in (0, 1, 2, 1, 2)[: 5 if EFFORT >= 1 else 3] * many(2):
            root = scopes.random_format(nest.rank, nest.devices, number, dice)
            if analysed(nest).report({"T": scopes.tower(root)}).verdict != "safe":
                continue
            for depth in range(len(Tower.of(root, ()).levels)):
                merged = with_merge(root, depth)
                told = analysed(nest).report({"T": scopes.tower(merged)})
                topics = {finding.topic for finding in told.findings}
                assert topics <= {"gate", "merge", "order"}, f"{nest.text}\n{root}\n{merged}: {told.findings[0].reason}"
                seen[told.verdict] += 1
    assert seen["safe"] > (100 if EFFORT >= 1 else 5), seen


def kinds_required(pairs: tuple[UpdatePair, ...]) -> dict[tuple[str, int], set[str]]:
    """The kinds that carried pairs have, by loop and level."""
    found: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for pair in pairs:
        for number in range(1, pair.rank + 2):
            if pair.updates(number):
                found[pair.loop.index, number] |= pair.kinds(number)
    return found


def test_fewer_iterations_require_no_more() -> None:
    """P20: W grows with the set of dependences: a program some of whose loops run less far has a part of them."""
    dice = random.Random(20)
    grown = 0
    for nest in [*NESTS[:: 1 if EFFORT >= 1 else 3], *scopes.pairs(2, [scopes.STATIC])[:: 20 // min(many(1), 20)]]:
        fewer = tuple(line.replace("1:2", dice.choice(["1:2", "1:1", "2:2"])) for line in nest.body)
        some, all_ = (kinds_required(analysed(each).pairs) for each in (replace(nest, body=fewer), nest))
        for at, kinds in some.items():
            assert kinds <= all_[at], (nest.text, at)
            grown += kinds < all_[at]
    assert grown > 30
