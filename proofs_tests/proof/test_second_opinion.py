"""The questions that `wingspan prove --keep` writes are SMT-LIB, and cvc5 answers them as z3 does."""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
cvc5 = pytest.importorskip("cvc5")

from wingspan.proof import lemmas, protocol, subjects
from wingspan.proof.solver import Prover


def answer(text: str) -> str:
    """The answer of cvc5 to an SMT-LIB file."""
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("tlimit-per", "20000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.strip()


@pytest.mark.parametrize("rule", ["repaired", "printed"])
def test_a_second_solver_agrees(tmp_path, rule) -> None:
    """On all lemmas but the steps: unsat where z3 has proved them, never unsat where it has a countermodel."""
    prover = Prover(tmp_path)
    levels, modifiers = subjects()
    if rule == "repaired":
        lemmas.ask(prover, levels, modifiers)
    protocol.ask(prover, rule, levels, modifiers)
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) == sum(lemma.asked for lemma in prover.lemmas)
    said = [answer(path.read_text("utf-8")) for path in files]
    assert "sat" not in said if rule == "repaired" else said.count("sat") > 10
    undecided = [path.stem for path, each in zip(files, said, strict=True) if each not in ("sat", "unsat")]
    assert len(undecided) <= 3, undecided
