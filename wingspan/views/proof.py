"""The theorem, as text and as JSON: a table of lemmas, and programs that refute it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wingspan.api.proving import Proved, Refutation
from wingspan.proof import Lemma
from wingspan.views.terminal import table
from wingspan.views.values import count

CLAIM = {
    "repaired": "what repaired accepts does not race: all extents, threads and towers",
    "printed": "Algorithm 1 as printed accepts programs that race",
}
SHOWN = 3
"""How many programs are printed in full."""


def text(found: Proved) -> str:
    """The verdict, the table of lemmas, and what refutes the theorem."""
    proof = found.proof
    seconds = sum(lemma.seconds for lemma in proof.lemmas)
    questions = count(sum(lemma.asked for lemma in proof.lemmas), "question")
    verdict = f"proved  {CLAIM['repaired']}" if found.holds else f"refuted  {_what(found)}"
    rows = [("asked", "proved", "seconds", "lemma", "")]
    rows += [
        (str(lemma.asked), str(lemma.proved), f"{lemma.seconds:.1f}", lemma.name, _mark(lemma))
        for lemma in proof.lemmas
    ]
    note = f"{questions} in {seconds:.1f} s of z3; {count(proof.states, 'state')} in the induction over the tower"
    steps = "note  a question of a step that is not proved says which states there are below"
    parts = [verdict, "\n".join(table(rows, right=3)), f"{note}\n{steps}"]
    parts += [_refuted(each) for each in found.refutations[:SHOWN]]
    if len(found.refutations) > SHOWN:
        parts.append(f"and {', '.join(each.format for each in found.refutations[SHOWN:])}")
    if found.undecided and not found.refutations:
        parts.append("\n".join(["without a program that shows it:", *(f"  {each}" for each in found.undecided)]))
    return "\n\n".join(parts)


def _what(found: Proved) -> str:
    if found.refutations:
        return f"{count(len(found.refutations), 'program')} that the test accepts, explored"
    failed = [lemma.name for lemma in found.proof.lemmas if lemma.decides and lemma.failed]
    return ", ".join(failed) or "the induction has a countermodel"


def _mark(lemma: Lemma) -> str:
    if not lemma.decides:
        return ""
    return "proved" if lemma.holds else "refuted"


def _refuted(each: Refutation) -> str:
    verdict = each.exploration.verdict
    ways = [f"interleaving {race.interleaving}" for race in verdict.races[:1]]
    ways += [f"fault: {fault.message}" for fault in verdict.faults[:1]]
    return "\n".join(
        [f"{each.format}: {each.conflict}; explored: {', '.join([verdict.verdict, *ways])}", each.text.rstrip()]
    )


def data(found: Proved) -> dict[str, Any]:
    """The same as data."""
    return {
        "test": found.proof.rule,
        "holds": found.holds,
        "states": found.proof.states,
        "lemmas": [asdict(lemma) for lemma in found.proof.lemmas],
        "refutations": [
            {
                "format": each.format,
                "conflict": each.conflict,
                "program": each.text,
                "verdict": each.exploration.verdict.verdict,
                "interleavings": [race.interleaving for race in each.exploration.verdict.races],
            }
            for each in found.refutations
        ],
        "undecided": list(found.undecided),
    }
