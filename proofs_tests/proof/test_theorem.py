"""The theorem holds, the printed test is refuted, and mistakes seeded in levels or the recursion are found by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Container

import pytest

pytest.importorskip("z3")

from proofs_tests.effort import few
from proofs_tests.proof.mistakes import MISTAKES, STEPS, Mistake
from wingspan import api
from wingspan.base.errors import InternalError
from wingspan.dependence.stability import ModifierEffect
from wingspan.levels import REGISTRY
from wingspan.levels.base import Level, Modifier
from wingspan.levels.registry import OURS
from wingspan.proof import instantiate, lemmas, protocol, subjects
from wingspan.proof.induction import Induction
from wingspan.proof.solver import Prover
from wingspan.proof.steps import LevelSteps

KEPT = LevelSteps(Prover())
"""The facts on unchanged levels."""
FEW = {"Dense", "SparseDict", "SparseList", "Element", "Atomic", "Mutex", "Isolate", "Shard"}
"""All modifiers but one, which take most of the time, and levels that support different kinds."""


def chosen(among: Container[str], levels: list[Level], modifiers: list[Modifier]) -> tuple[list[Level], list[Modifier]]:
    """The subjects of these names."""
    return [each for each in levels if each.name in among], [each for each in modifiers if each.name in among]


def asked(among: Container[str], levels: list[Level], modifiers: list[Modifier]) -> tuple[Induction, Prover]:
    """The induction over some of the levels, and the lemmas on all of them, with their answers."""
    induction, prover = Induction(KEPT, *chosen(among, levels, modifiers)), Prover()
    induction.run()
    lemmas.ask(prover, levels, modifiers)
    protocol.ask(prover, "repaired", levels, modifiers)
    return induction, prover


def refuted(among: Container[str], levels: list[Level], modifiers: list[Modifier]) -> list[str]:
    """The lemmas that fail, `induction` among them."""
    induction, prover = asked(among, levels, modifiers)
    return ["induction"] * bool(induction.countermodels) + [lemma.name for lemma in prover.lemmas if lemma.failed]


@pytest.mark.parametrize("among", few([FEW, OURS], 1), ids=["few", "all"])
def test_the_theorem_holds(among: Container[str]) -> None:
    """Every state of the induction is safe, and no lemma holds for want of questions."""
    induction, prover = asked(among, *subjects())
    assert not induction.countermodels and not any(lemma.failed for lemma in prover.lemmas)
    assert all(lemma.holds for lemma in prover.lemmas) and len(prover.lemmas) == 14


def test_there_are_as_many_mistakes_as_promised() -> None:
    """Forty at least, each harmless one with its reason, none twice."""
    assert len({mistake.name for mistake in MISTAKES}) + len(STEPS) >= 60
    assert all(bool(mistake.why) == (not mistake.found) for mistake in MISTAKES)


@pytest.mark.parametrize("mistake", few([(mistake,) for mistake in MISTAKES], 4), ids=lambda mistake: mistake.name)
def test_a_mistake_in_a_level_is_found(mistake: Mistake) -> None:
    """By the lemma that is named, among few levels; and a harmless one by none, among all."""
    changed = instantiate(mistake.seeded(REGISTRY[mistake.level]))
    levels, modifiers = subjects()
    levels = [changed if type(each) is REGISTRY[mistake.level] else each for each in levels]
    if isinstance(changed, Modifier):
        modifiers = [changed if type(each) is REGISTRY[mistake.level] else each for each in modifiers]
    try:
        found = refuted({mistake.level, *FEW} if mistake.found else OURS, levels, modifiers)
    except InternalError:
        found = ["InternalError"]
    assert mistake.found in found if mistake.found else not found


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_mistake_in_the_recursion_is_found(step: ModifierEffect) -> None:
    """Or tasks do not race for it."""
    induction = Induction(KEPT, *chosen(FEW, *subjects()), step=step)
    induction.run()
    assert bool(induction.countermodels) == STEPS[step]


def test_the_modifiers_of_a_level_that_is_not_reached_are_looked_at() -> None:
    """Without the condition on fibers that are entered twice, two tasks may load one isolated fiber."""

    class Forgetful(Induction):
        def enters(self, node, level):
            return True

    induction = Forgetful(KEPT, *chosen(FEW, *subjects()))
    induction.run()
    assert "Isolate" in str(induction.countermodels[0])


def test_the_lemmas_of_the_protocol_fail_without_the_conditions_that_the_printed_test_lacks() -> None:
    """As a whole, with programs that race, below."""
    prover = Prover()
    protocol.ask(prover, "printed", *subjects())
    failed = {lemma.name for lemma in prover.lemmas if lemma.failed}
    assert {"order", "turns", "shared children", "overlaps", "claims", "arrivals", "lock order", "merges"} <= failed


@pytest.mark.deep
def test_the_printed_test_is_refuted_by_programs_that_race(command) -> None:
    """Each is accepted by it, and explored to a race or a fault; the lemmas of the protocol fail without conditions."""
    ran = command("prove", "--test", "printed", "--json")
    found = json.loads(ran.out)
    assert ran.status == 1 and not found["holds"] and len(found["refutations"]) >= 10
    for each in found["refutations"]:
        assert each["verdict"] in ("race", "fault"), each
        assert api.check(api.parse(each["program"])).verdict == "unsafe"
    failed = {lemma["name"] for lemma in found["lemmas"] if lemma["failed"]}
    assert {"order", "turns", "shared children", "overlaps", "claims", "arrivals", "lock order", "merges"} <= failed


def test_without_z3_there_is_one_error(command, monkeypatch) -> None:
    """It names the extra."""
    for name in [name for name in sys.modules if name.startswith("wingspan.proof")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "z3", None)
    ran = command("prove")
    assert ran.status == 2 and ran.err.count("error") == 1 and "z3-solver" in ran.err and "wingspan[prove]" in ran.err
