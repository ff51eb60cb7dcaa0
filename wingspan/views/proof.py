"""The theorem, as text and as JSON: a table of lemmas, and programs that refute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wingspan.api.proving import Proved, Refutation
from wingspan.proof import Lemma
from wingspan.views.json import members
from wingspan.views.terminal import table
from wingspan.views.values import count

if TYPE_CHECKING:
    from wingspan.views import json_types as types

CLAIM = {
    "repaired": "what repaired accepts does not race: all extents, threads and towers",
    "printed": "Algorithm 1 as printed accepts programs that race",
}
SHOWN = 3
"""The number of programs to print in full."""


def text(proved: Proved) -> str:
    """The verdict, the table of lemmas, and what refutes the theorem."""
    proof = proved.proof
    seconds = sum(lemma.seconds for lemma in proof.lemmas)
    questions = count(sum(lemma.asked for lemma in proof.lemmas), "question")
    verdict = f"proved  {CLAIM['repaired']}" if proved.holds else f"refuted  {_claim(proved)}"
    if not proof.complete and not proof.refuted:
        verdict = "interrupted  what the table has is proved, and not all was asked"
    rows = [("asked", "proved", "seconds", "lemma", "")]
    rows += [
        (str(lemma.asked), str(lemma.proved), f"{lemma.seconds:.1f}", lemma.name, _mark(lemma, proof.complete))
        for lemma in proof.lemmas
    ]
    note = f"{questions} in {seconds:.1f} s of z3; {count(proof.states, 'state')} in the induction over the tower"
    steps = "note  a question of a step that is not proved says which states there are below"
    notes = [note, steps]
    if proof.remembered:
        notes.append(f"note  {count(proof.remembered, 'question')} of these were proved before, by the folder kept")
    parts = [verdict, "\n".join(table(rows, right=3)), "\n".join(notes)]
    parts += [_refutation(each) for each in proved.refutations[:SHOWN]]
    if len(proved.refutations) > SHOWN:
        parts.append(f"and {', '.join(each.format for each in proved.refutations[SHOWN:])}")
    if proved.undecided and not proved.refutations:
        parts.append("\n".join(["without a program that shows it:", *(f"  {each}" for each in proved.undecided)]))
    return "\n\n".join(parts)


def _claim(proved: Proved) -> str:
    if proved.refutations:
        return f"{count(len(proved.refutations), 'program')} that the test accepts, explored"
    return ", ".join(proved.proof.refuted) or "a lemma without a question"


def _mark(lemma: Lemma, complete: bool) -> str:
    if not lemma.decides:
        return ""
    if not lemma.asked:
        return "nothing asked"
    return "refuted" if lemma.failed else "proved" if complete else "proved so far"


def _refutation(each: Refutation) -> str:
    verdict = each.exploration.verdict
    ways = [f"interleaving {race.interleaving}" for race in verdict.races[:1]]
    ways += [f"fault: {fault.message}" for fault in verdict.faults[:1]]
    return "\n".join(
        [f"{each.format}: {each.conflict}; explored: {', '.join([verdict.verdict, *ways])}", each.text.rstrip()]
    )


def data(proved: Proved) -> types.Prove:
    """The same as an object of JSON."""
    proof = proved.proof
    lemma_names = "name", "claim", "asked", "proved", "seconds", "failed"
    return members(
        proof,
        *("complete", "remembered", "states"),
        test=proof.rule,
        holds=proved.holds,
        lemmas=[members(lemma, *lemma_names) for lemma in proof.lemmas],
        refutations=[_refutation_data(each) for each in proved.refutations],
        undecided=list(proved.undecided),
    )


def _refutation_data(each: Refutation) -> types.Refutation:
    verdict = each.exploration.verdict
    interleavings = [race.interleaving for race in verdict.races]
    return members(each, "format", "conflict", program=each.text, verdict=verdict.verdict, interleavings=interleavings)
