"""Rules say which premises they had and with what; they say it of the step that they take, and it is true."""

from __future__ import annotations

import operator
import re
from textwrap import dedent

import pytest

from proofs_tests.exploring import handle
from proofs_tests.semantics.test_rules import EVERYTHING
from proofs_tests.trace import walks
from proofs_tests.trace.walks import derived, each_program, machine, walk
from wingspan import api
from wingspan.explorer.machine import Step
from wingspan.semantics.config import ProgramState
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import fill, formula, latex, schema

OPEN = {
    "Run": {"F", "j"}, "Spawn": {"k"}, "Transfer": {"k", "p"}, "Unfurl": {"k"}, "Checkout": {"a", "s"},
    "ShortCircuit": {"v"},
}  # fmt: skip
"""Letters that are quantified over; in Checkout, parts of words."""
UNKNOWN = {("Access", False): {"v"}, ("Child", False): {"q"}, ("Leave", False): {"q"}, ("Leave", True): {"q"}}
"""The values that later accesses will show; Leave does not need the child of a fiber that is read."""
STORES = {"σ_l", "σ_g"}
"""The stores, which the configuration shows."""
LETTER = re.compile(r"(?<![\w′])(?:[A-Za-z⊕]|[σt]_\w)[₀-₉ₖₘₙ]?′?(?![\w′])")
COMPARED = re.compile(r"(-?\d+) (≤|>) (-?\d+)")
COMPARE = {"≤": operator.le, ">": operator.gt}


@each_program
def test_a_machine_that_derives_takes_the_same_steps(name, options) -> None:
    """Premises are noted, and change nothing."""
    plain, deriving = machine(name, options, derives=False), machine(name, options)
    for (before, step), (same, derived_step) in zip(walk(plain, 3, 200), walk(deriving, 3, 200), strict=True):
        assert before == same
        assert (step.task, step.rule, step.footprint, step.visible) == (
            derived_step.task, derived_step.rule, derived_step.footprint, derived_step.visible,
        )  # fmt: skip


def everything(seed: int) -> list[tuple[ProgramState, DerivedStep]]:
    """A run in which every rule fires but ParLeft and ParRight, which are about a context and not the redex."""
    return list(derived(machine(api.parse(dedent(EVERYTHING))), seed, 3000))


def left(step: DerivedStep) -> set[str]:
    """The letters of what is drawn of a rule that the step says nothing of."""
    drawn = (*step.case.premises, step.case.conclusion)
    return {letter for text in drawn for letter in LETTER.findall(fill(text, dict.fromkeys(step.terms, "…")))}


def may_be_left(step: DerivedStep) -> set[str]:
    """The metavariables without a value, for now or at all. A loop without fibers has none that is quantified over."""
    nothing = {"Fₖ", "j"} if step.rule == "Unfurl" and "access(Fₖ, j…, i)" not in step.bindings else set()
    return STORES | OPEN.get(step.rule, set()) | UNKNOWN.get((step.rule, step.done), set()) | nothing


def test_every_rule_fills_in_what_its_drawing_has() -> None:
    """Each name occurs in the drawing, and no letter is left that has a value."""
    seen = set()
    for _, step in everything(1):
        drawing = schema(ALL[step.rule]).drawing
        assert all(name in drawing for name in step.bindings if name not in ("t", "t_l")), step
        assert left(step) <= may_be_left(step), (step.rule, left(step))
        seen |= {step.rule} if step.done else set()
    assert seen == ALL.keys() - {"ParLeft", "ParRight"}


@each_program
def test_no_step_of_an_example_leaves_a_letter_that_has_a_value(name, options) -> None:
    """Neither the step that begins a rule nor a later one of it."""
    steps = [step for _, step in derived(machine(name, options), 6, 150) if isinstance(step.next, ProgramState)]
    assert steps
    for step in steps:
        assert left(step) <= may_be_left(step), (step.rule, left(step))


def test_unfurl_says_from_its_first_step_to_its_last_what_loop_it_is_about() -> None:
    """The last access to the last of its fibers shows that these are unfurled."""
    begun: dict[str, DerivedStep] = {}
    ended = 0
    for _, step in derived(machine("spmspv.ws", walks.OPEN["spmspv.ws"]), 0, 400):
        if step.rule == "Unfurl":
            first = begun.setdefault(step.task, step)
            assert step.terms == first.terms
            assert not (first.done and "access(Fₖ, j…, i)" in first.bindings), "fibers are still to be unfurled"
            assert [premise.shown for premise in step.premises] == [True, True, step.done]
            if step.done:
                ended += 1
                del begun[step.task]
    assert ended > 2


@each_program
def test_premises_that_compare_numbers_are_true(name, options) -> None:
    compared = 0
    for _, step in derived(machine(name, options), 4, 300):
        for premise in step.premises:
            if found := COMPARED.fullmatch(premise.instance):
                compared += 1
                assert COMPARE[found[2]](int(found[1]), int(found[3])), (step.rule, premise)
    assert compared or name.startswith("quiz_")


@each_program
def test_premises_about_modes_and_stores_are_true(name, options) -> None:
    """⟨mode(T), t, σ⟩ → m before the step, or after it for σ′; σ[x] = v before it."""
    compared = 0
    for state, step in derived(machine(name, options), 5, 300):
        for premise in step.premises:
            if found := re.fullmatch(r"⟨mode\((?:fiber\()?(\w+).*\), .*, σ(′?)⟩ → (.*)", premise.instance):
                if found[2] and not step.done:
                    continue
                seen = step.next if found[2] else state
                assert isinstance(seen, ProgramState)
                assert str(handle(seen, step.task, found[1])).split(" of ")[0].split(" in ")[0] == found[3]
                compared += 1
            elif found := re.fullmatch(r"σ\[(\w+)\] = (.*)", premise.instance):
                held = state.focus_on(step.task).focus.σ[found[1]]
                assert found[2] == str(getattr(held, "value", held))
                compared += 1
    assert compared


def test_one_access_of_several_leaves_the_last_premise_to_be_shown() -> None:
    """An increment reads, then writes; only with the write has it been shown that it can be done."""
    semantics = machine("dependent.ws")
    flags = [
        [premise.shown for premise in step.premises] for _, step in derived(semantics, 0, 80) if step.rule == "Assign"
    ]
    assert [True, False] in flags
    assert [True, True] in flags


def test_a_step_that_faults_has_no_premises() -> None:
    semantics = machine("quiz_overflow.ws")
    steps = [step for seed in range(4) for _, step in derived(semantics, seed, 200)]
    faults = [step for step in steps if not isinstance(step.next, ProgramState)]
    assert faults
    assert all(not list(step.premises) and not step.conclusion for step in faults)


def test_the_rule_of_a_lost_update_filled_in() -> None:
    """As the terminal shows it."""
    steps = [step for _, step in derived(machine("quiz_node_race.ws"), 0, 80) if step.rule == "Assign" and step.done]
    assert [premise.instance for premise in steps[0].premises] == [
        f"⟨mode(fiber(s,1,1)), task {steps[0].task}, σ⟩ → update(+)",
        f"⟨increment(fiber(s,1,1), +, {steps[0].terms['e']}), task {steps[0].task}, σ⟩ → σ′",
    ]


def test_drawings_have_premises_over_a_conclusion() -> None:
    """Of three cases side by side, too."""
    assert schema(ALL["StaticFor"]).cases[0].premises == (
        "nthreads(device(t)) = n", "threadid(t) = q", "kind(h) = static",
    )  # fmt: skip
    assert [case.conclusion for case in schema(ALL["Commit"]).cases] == [
        "nothing", "each level commits", "the copy is dropped",
    ]  # fmt: skip
    assert all(schema(rule).cases for rule in ALL.values())


@pytest.mark.parametrize("name", ALL)
def test_every_rule_is_plain_latex(name) -> None:
    """ASCII with braces that match, and a command for every symbol."""
    for case in schema(ALL[name]).cases:
        text = latex(case)
        assert text.isascii(), text
        depth = 0
        for brace in re.findall(r"(?<!\\)[{}]", text):
            depth += 1 if brace == "{" else -1
            assert depth >= 0
        assert depth == 0


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    """A tensor called like a metavariable stays what it is."""
    assert fill("transfer(T, s)", {"T": "s", "s": "T"}) == "transfer(s, T)"
    assert fill("⟨e′, e, e…⟩", {"e": "1"}) == "⟨e′, 1, e…⟩"
    assert formula("a ≤ b") == r"a \leq  b"


def test_steps_of_plain_machines_have_no_premises() -> None:
    """Premises are noted on request only."""
    semantics = machine("dependent.ws", derives=False)
    assert all(type(step) is Step for _, step in walk(semantics, 0, 50))


def test_letters_that_stand_for_themselves_are_not_named() -> None:
    """The paper's i is often the program's, too."""
    steps = [step for _, step in walk(machine("dependent.ws"), seed=1, most=40)]
    alike = [step for step in steps if isinstance(step, DerivedStep) and step.terms.get("i") == "i"]
    assert alike and not any("i" in step.letters for step in alike)
