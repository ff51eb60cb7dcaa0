"""Ctrl-C of `wingspan prove` keeps what was proved, and `--keep` goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

pytest.importorskip("z3")
import z3

import wingspan
from wingspan.base.errors import InputError
from wingspan.proof import solver, theorem
from wingspan.proof.solver import Lemma, Prover


def interrupting(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C when z3 is asked once more after so many questions."""
    asked, check = 0, z3.Solver.check

    def counted(self: z3.Solver) -> object:
        nonlocal asked
        asked += 1
        if asked > after:
            raise KeyboardInterrupt
        return check(self)

    monkeypatch.setattr(z3.Solver, "check", counted)


def test_what_was_proved_is_printed(command, monkeypatch) -> None:
    """With no verdict, and the status of an interruption; the question that z3 was at counts for nothing."""
    with monkeypatch.context() as patched:
        interrupting(patched, 30)
        ran = command("prove")
    assert ran.status == 130 and ran.err == ""
    assert ran.out.startswith("interrupted") and "30 questions" in ran.out
    with monkeypatch.context() as patched:
        interrupting(patched, 30)
        found = json.loads(command("prove", "--json").out)
    jsonschema.validate(found, wingspan.schema("prove"))
    assert not found["holds"] and not found["complete"]
    assert sum(lemma["asked"] for lemma in found["lemmas"]) == 30


def test_a_lemma_that_failed_is_known_when_the_rest_was_not_asked(command, monkeypatch) -> None:
    """The verdict is not that of an interruption then."""
    monkeypatch.setattr(solver.Prover, "prove", lambda self, lemma, what, *rest: lemma.failed.append(what))
    monkeypatch.setattr("wingspan.proof.protocol.ask", interrupted)
    monkeypatch.setattr("wingspan.proof.induction.Induction.run", lambda *_: None)
    ran = command("prove")
    assert ran.status == 1 and ran.out.startswith("refuted") and "L0 rows" in ran.out


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_proof_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions that the folder has as proved are not asked again, and count alike; those with a model are."""
    with monkeypatch.context() as patched:
        interrupting(patched, 20)
        part = theorem(keep=tmp_path)
    kept = [path.read_text("utf-8") for path in tmp_path.iterdir()]
    proved = sum("(set-info :status unsat)" in text for text in kept)
    assert len(kept) == 20 and 0 < proved < 20 and proved == sum(lemma.proved for lemma in part.lemmas)
    with monkeypatch.context() as patched:
        interrupting(patched, 40 - proved)
        further = theorem(keep=tmp_path)
    assert further.remembered == proved and sum(lemma.asked for lemma in further.lemmas) == 40


def test_only_the_same_question_is_taken_for_proved(tmp_path: Path) -> None:
    """Not one of the same name that is another, one with another answer, or one that was cut short."""
    x = z3.Int("x")

    def remembered(*constraints: object) -> int:
        prover = Prover(tmp_path)
        prover.find_model(Lemma("some", ""), "", *constraints)
        return prover.remembered

    assert remembered(x > 1, x < 1) == 0 and remembered(x > 1, x < 1) == 1
    assert remembered(x > 2, x < 1) == 0 and remembered(x > 0) == 0 and remembered(x > 0) == 0
    assert remembered(x > 1, x < 1) == 0
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    assert remembered(x > 1, x < 1) == 0 and remembered(x > 1, x < 1) == 1


def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path, command) -> None:
    """Nor is a file taken for a folder; one error each, before anything is lost."""
    path = tmp_path / "some-1.smt2"
    path.write_text("(check-sat)\n")
    with pytest.raises(InputError, match="is no question of wingspan prove"):
        Prover(tmp_path).find_model(Lemma("some", ""), "", z3.BoolVal(False))
    assert path.read_text() == "(check-sat)\n"
    ran = command("prove", "--keep", str(path))
    assert ran.status == 2 and ran.err.count("error") == 1 and str(path) in ran.err


@pytest.mark.parametrize("wrong", [["--test", "exact"], ["--keep"], ["more"], ["--jobs", "2"], ["--keep", ""]])
def test_a_wrong_command_line_is_one_error(command, wrong: list[str]) -> None:
    ran = command("prove", *wrong)
    assert ran.status == 2 and ran.err.lower().count("error") == 1 and ran.out == ""
