"""The mutants of bench/mutants.py apply: each has its place in the tree, and its tests exist. To run them is slow."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bench.mutants import ROOT, Mutant, Outcome, mutants, verdict

MUTANTS = mutants()

AREAS = {
    "rules": ["wingspan/semantics/rules/"],
    "language": [
        "wingspan/lang/branches.py", "wingspan/lang/builder.py", "wingspan/elaborate/kinds.py",
        "wingspan/elaborate/functions.py", "wingspan/elaborate/extents.py", "wingspan/elaborate/uses.py",
        "wingspan/elaborate/lifecycles.py", "wingspan/elaborate/missing.py", "wingspan/lang/algebra.py",
        "wingspan/lang/printer.py", "wingspan/plan/lowering/expressions.py", "wingspan/plan/lowering/repeat.py",
        "wingspan/runtime/runtime.h", "wingspan/lang/functions.py",
    ],
    "pairs": [
        "wingspan/lang/pairs.py", "wingspan/lang/algebra.py", "wingspan/elaborate/kinds.py",
        "wingspan/runtime/runtime.h", "wingspan/plan/lowering/expressions.py", "wingspan/plan/lowering/inline.py",
        "wingspan/tensors/tensor.py", "wingspan/native/heap.py",
    ],
    "dependence": [
        "wingspan/dependence/level_test.py", "wingspan/dependence/stability.py", "wingspan/dependence/accesses.py",
        "wingspan/dependence/analysis.py", "wingspan/dependence/directions.py", "wingspan/dependence/classical.py",
        "wingspan/dependence/sets.py", "wingspan/dependence/sites.py", "wingspan/dependence/protocol.py",
        "wingspan/dependence/locks.py", "wingspan/dependence/arrivals.py", "wingspan/dependence/reuse.py",
        "wingspan/dependence/alike.py", "wingspan/dependence/advice.py", "wingspan/dependence/changes.py",
        "wingspan/dependence/findings.py", "wingspan/dependence/retest.py", "wingspan/api/checking.py",
        "wingspan/lang/algebra.py", "wingspan/views/check.py",
    ],
    "levels": [
        "wingspan/levels/", "wingspan/buffers/", "wingspan/tensors/", "wingspan/lang/devices.py",
        "wingspan/lang/widths.py", "wingspan/reference/",
    ],
    "plan": [
        "wingspan/plan/lowering/", "wingspan/plan/layout.py", "wingspan/plan/pipeline.py",
        "wingspan/plan/passes/cells.py", "wingspan/plan/passes/coincide.py", "wingspan/plan/passes/few.py",
        "wingspan/plan/passes/forward.py", "wingspan/plan/passes/hoist.py",
        "wingspan/plan/passes/invariant.py", "wingspan/plan/passes/meet.py", "wingspan/plan/passes/prefetch.py",
        "wingspan/plan/passes/room.py", "wingspan/plan/passes/rotate.py", "wingspan/plan/passes/stores.py",
        "wingspan/plan/passes/tidy.py", "wingspan/plan/passes/cursors.py", "wingspan/plan/passes/unite.py",
        "wingspan/plan/passes/unpack.py", "wingspan/buffers/procedures.py", "wingspan/lang/masks.py",
        "wingspan/elaborate/concordize.py", "wingspan/plan/passes/copies.py", "wingspan/plan/passes/tile.py",
    ],
    "compiled": [
        "wingspan/compiled/borrowing.py", "wingspan/compiled/build.py", "wingspan/compiled/coincide.h",
        "wingspan/compiled/coincide.py", "wingspan/compiled/emit_c.py",
        "wingspan/compiled/engine.py", "wingspan/compiled/functions.py", "wingspan/compiled/inputs.py",
        "wingspan/compiled/lanes.py",
        "wingspan/compiled/lexical.py", "wingspan/compiled/meet.h", "wingspan/compiled/nests.py",
        "wingspan/compiled/printing.py", "wingspan/compiled/program.h", "wingspan/compiled/registers.py",
        "wingspan/compiled/session.h", "wingspan/compiled/unite.h", "wingspan/compiled/unpack.h",
    ],
    "native": [
        "wingspan/native/machine.py", "wingspan/native/heap.py", "wingspan/native/_engine.pyx",
        "wingspan/runtime/results.py",
        "wingspan/runtime/lease.py", "wingspan/runtime/handed.py", "wingspan/runtime/spare.py",
        "wingspan/runtime/runtime.h",
        "wingspan/runtime/_memory.pyx", "wingspan/tensors/", "wingspan/written.py", "wingspan/api/running.py",
        "wingspan/api/comparing.py", "wingspan/api/compiling.py",
        "wingspan/testing/campaign.py", "wingspan/elaborate/entries.py", "wingspan/elaborate/opening.py",
        "wingspan/elaborate/extents.py", "wingspan/api/calls.py",
    ],
    "engines": [
        "wingspan/testing/open_inputs.py",
        "wingspan/accesses.py", "wingspan/api/judging.py", "wingspan/cli/judging.py", "wingspan/testing/spread.py",
        "wingspan/testing/campaign.py", "wingspan/testing/kept.py",
        "wingspan/comparison.py", "wingspan/elaborate/einsum.py", "wingspan/testing/conformance.py",
        "wingspan/pytest_plugin.py", "wingspan/testing/peers/taco.py",
    ],
    "readers": [
        "wingspan/tensors/files/numpy_files.py", "wingspan/tensors/files/matrix_market.py",
        "wingspan/tensors/files/", "wingspan/tensors/foreign.py", "wingspan/tensors/arrays.py", "wingspan/reading.py",
        "wingspan/written.py",
    ],
    "expressions": [
        "wingspan/api/arrays.py", "wingspan/api/expressions.py", "wingspan/api/namespace.py",
        "wingspan/choices/contractions.py", "wingspan/choices/elimination.py", "wingspan/choices/idle.py",
        "wingspan/choices/nests.py",
        "wingspan/choices/operands.py", "wingspan/choices/orders.py", "wingspan/choices/reading.py",
        "wingspan/choices/transposed.py",
    ],
    "choices": [
        "wingspan/choices/counts.py", "wingspan/choices/estimate.py", "wingspan/choices/placements.py",
        "wingspan/api/forecast.py", "wingspan/api/parallelizing.py", "wingspan/dependence/changes.py",
    ],
    "proof": ["wingspan/proof/"],
    "stability": ["wingspan/levels/", "wingspan/buffers/level.py"],
    "teaching": [
        "wingspan/notebook.py", "wingspan/semantics/rules/schema.py", "wingspan/testing/small.py",
        "wingspan/trace/coverage.py", "wingspan/trace/derivation.py", "wingspan/views/lanes.py",
        "wingspan/views/quiz.py", "wingspan/views/shown.py", "wingspan/views/made.py", "wingspan/views/view.py",
    ],
    "trace": [
        "wingspan/trace/", "wingspan/semantics/notation.py", "wingspan/semantics/rules/", "wingspan/lang/printer.py",
        "wingspan/views/stepper.py", "wingspan/views/widget.py", "wingspan/cli/stepping.py",
        "wingspan/semantics/stopped.py", "wingspan/views/stepper_plain.py", "wingspan/views/paint.py",
    ],
    "replay": [
        "wingspan/explorer/interleaving.py", "wingspan/views/view.py", "wingspan/views/steps.py",
        "wingspan/views/order.py", "wingspan/views/mermaid.py", "wingspan/views/dot.py", "wingspan/views/itf.py",
    ],
    "races": [
        "wingspan/explorer/races.py", "wingspan/explorer/graph.py", "wingspan/explorer/settle.py",
        "wingspan/semantics/memory.py", "wingspan/explorer/", "wingspan/semantics/machine.py", "wingspan/buffers/",
    ],
    "reduction": [
        "wingspan/explorer/_dpor.pyx", "wingspan/explorer/_events.pyx", "wingspan/explorer/_space.pyx",
        "wingspan/explorer/states.py", "wingspan/explorer/parts.py", "wingspan/explorer/workers.py",
        "wingspan/explorer/jobs.py", "wingspan/testing/_litmus.pyx", "wingspan/explorer/settle.py",
        "wingspan/native/machine.py", "wingspan/explorer/dpor.py",
    ],
    "symmetry": [
        "wingspan/explorer/symmetry.py", "wingspan/explorer/shortest.py", "wingspan/explorer/findings.py",
        "wingspan/explorer/search.py", "wingspan/buffers/heap.py", "wingspan/semantics/nameless.py",
        "wingspan/native/machine.py",
    ],
    "processes": [
        "wingspan/explorer/workers.py", "wingspan/explorer/ahead.py", "wingspan/lang/ir.py",
        "wingspan/written.py", "wingspan/explorer/_space.pyx",
        "wingspan/explorer/_dpor.pyx", "wingspan/explorer/search.py", "wingspan/explorer/states.py",
        "wingspan/explorer/interrupts.py", "wingspan/explorer/jobs.py", "wingspan/explorer/cluster.py",
    ],
    "docs": ["docs/"],
    "interfaces": [
        "wingspan/views/json.py", "wingspan/cli/options.py", "wingspan/errors.py", "wingspan/levels/registry.py",
        "wingspan/api/exploring.py", "wingspan/program.py", "proofs_tests/man_page.py",
    ],
    "threads": ["wingspan/once.py", "wingspan/lang/layout.py"],
    "short_circuits": [
        "wingspan/lang/algebra.py", "wingspan/elaborate/short_circuits.py", "wingspan/semantics/rules/serial.py",
        "wingspan/reference/", "wingspan/plan/lowering/",
    ],
    "bounds": [
        "wingspan/explorer/bounds.py", "wingspan/explorer/shortest.py", "wingspan/explorer/findings.py",
        "wingspan/explorer/states.py", "wingspan/explorer/search.py", "wingspan/explorer/jobs.py", "wingspan/api/",
    ],
}  # fmt: skip
"""Where the mutants of an area are; there is one at least for each of these places."""


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the tests in a file of proofs_tests."""
    tree = ast.parse((ROOT / "proofs_tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@cache
def meaning(file: str) -> str:
    """A module without its layout and comments."""
    return ast.dump(ast.parse((ROOT / file).read_text(encoding="utf-8")))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies(mutant: Mutant) -> None:
    """Its text has one place, what comes of it is another program, and the tests that should notice are there."""
    after = mutant.mutated(ROOT)
    assert mutant.old != mutant.new
    if mutant.file.endswith(".py"):
        assert meaning(mutant.file) != ast.dump(ast.parse(after))
    assert mutant.why and mutant.tests
    for test in mutant.tests:
        file, _, function = test.partition("::")
        assert not function or function.partition("[")[0] in functions(file), test
        assert functions(file)


def test_names_are_unique() -> None:
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1
    assert max(Counter((mutant.file, mutant.old, mutant.new) for mutant in MUTANTS).values()) == 1


def test_every_area_has_mutants() -> None:
    """Sixty at least, some in every file or package of an area, and each in its area."""
    assert len(MUTANTS) >= 60 and {mutant.area for mutant in MUTANTS} == set(AREAS)
    for area, places in AREAS.items():
        files = [mutant.file for mutant in MUTANTS if mutant.area == area]
        assert all(any(file.startswith(place) for file in files) for place in places), area
        assert all(file.startswith(tuple(places)) for file in files), area


def test_every_level_has_a_mutant() -> None:
    """Its operations or its stability; Dense, Element and Atomic share theirs with others."""
    levels = ["element", "atomic", "dense", "sparse_list", "sparse_dict", "sparse_byte_map", "mutex", "isolate"]
    files = {Path(mutant.file).stem for mutant in MUTANTS if mutant.area == "levels"}
    assert {*levels, "shard", "merge"} <= files


def test_a_digest_is_of_the_mutant_and_its_tests() -> None:
    """Equal for the same mutant, another one when its text or its tests change."""
    first = MUTANTS[0]
    other = Mutant(first.area, first.name, first.file, first.old, "other", first.why, first.tests)
    fewer = Mutant(first.area, first.name, first.file, first.old, first.new, "", ("explorer/test_races.py",))
    digests = [mutant.digest(ROOT) for mutant in (first, other, fewer)]
    assert len(set(digests)) == 3 and first.digest(ROOT) == digests[0]


def test_a_mutant_without_a_place_is_an_error() -> None:
    nowhere = Mutant("rules", "nowhere", MUTANTS[0].file, "no such text", "", "", ())
    everywhere = Mutant("rules", "everywhere", MUTANTS[0].file, "\n", "", "", ())
    for mutant in (nowhere, everywhere):
        with pytest.raises(ValueError, match=f"{mutant.name}: its old text occurs"):
            mutant.mutated(ROOT)


@pytest.mark.parametrize(
    ("equivalent", "killed_by", "well"),
    [("", "test_x", True), ("", None, False), ("because", None, True), ("because", "test_x", False)],
)
def test_all_is_well_if_killed_or_explained(equivalent: str, killed_by: str | None, well: bool) -> None:
    mutant = Mutant("rules", "m", "f", "", "", "", (), equivalent)
    assert verdict(mutant, Outcome("m", "", killed_by, 0.0))[1] == well
    assert not verdict(mutant, None)[1]
