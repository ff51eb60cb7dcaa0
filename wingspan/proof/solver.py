"""Questions to z3: whether something is impossible; with their time, and file as SMT-LIB if asked.

A file question says in its first lines what z3 has answered. If the same question is asked again, and was proved, it is
not asked once more; so a proof that was interrupted goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import z3

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.writing import writable

PATIENCE = 20_000
"""The milliseconds after which z3 gives up a question. The longest that it needs is a second or two."""


@dataclass
class Lemma:
    """A group of questions with one claim: how many were asked, how many proved, and how long it took."""

    name: str
    claim: str
    asked: int = 0
    proved: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)
    """the questions that z3 answered by a countermodel, or not at all"""

    @property
    def decides(self) -> bool:
        """Whether all of its questions are to be proved; of a step, the induction says which matter."""
        return not self.name.startswith("step ")

    @property
    def holds(self) -> bool:
        """Whether something was asked, and all of it is proved."""
        return self.asked > 0 and not self.failed


@dataclass
class Prover:
    """Asks z3. `folder`: where questions are file, as SMT-LIB files that end in (check-sat)."""

    folder: Path | None = None
    progress: Callable[[int], None] | None = None
    """called with the number of questions asked so far"""
    lemmas: list[Lemma] = field(default_factory=list)
    remembered: int = 0
    """the number of questions proved before, by the folder"""

    def lemma(self, name: str, claim: str) -> Lemma:
        """The group of this name; a new one if there is none yet."""
        found = next((lemma for lemma in self.lemmas if lemma.name == name), None)
        if found is None:
            found = Lemma(name, claim)
            self.lemmas.append(found)
        return found

    def find_model(self, lemma: Lemma, claim: str, *constraints: Any) -> Any:
        """A model of the constraints; None if z3 proves that there is none. No answer counts as a model."""
        solver = z3.Solver()
        solver.set("timeout", PATIENCE)
        solver.set("ctrl_c", False)  # Python raises KeyboardInterrupt
        solver.add(*(z3.simplify(each) for each in constraints))  # else an empty conjunction is no SMT-LIB
        if self.progress is not None:
            self.progress(sum(each.asked for each in self.lemmas))
        file = None if self.folder is None else QuestionFile.of(self.folder, lemma, constraints)
        if file is not None and file.is_proved:
            lemma.asked, lemma.proved, self.remembered = lemma.asked + 1, lemma.proved + 1, self.remembered + 1
            return None
        began = time.monotonic()
        answer = solver.check()
        lemma.seconds += time.monotonic() - began
        if file is not None:
            file.write(str(answer))
        lemma.asked += 1
        if answer == z3.unsat:
            lemma.proved += 1
            return None
        return solver.model() if answer == z3.sat else z3.Solver()

    def prove(self, lemma: Lemma, claim: str, *constraints: Any) -> bool:
        """Whether nothing satisfies the constraints, which say that the claim fails."""
        proved = self.find_model(lemma, claim, *constraints) is None
        if not proved:
            lemma.failed.append(claim)
        return proved


OURS = "; a question of wingspan prove\n"
UNKNOWN = "(set-info :status unknown)"
"""The line for the answer that z3 writes into every question."""


@dataclass(frozen=True)
class QuestionFile:
    """A question in a file: its path, and its text but for the answer."""

    path: Path
    text: str

    @staticmethod
    def of(folder: Path, lemma: Lemma, constraints: Sequence[Any]) -> QuestionFile:
        """The file of the next question of a lemma.

        The text is made in a context of its own: how z3 sorts terms depends on what a context has seen before.
        """
        name = f"{re.sub(r'[^a-z0-9]+', '-', lemma.name.lower())}-{lemma.asked + 1}.smt2"
        fresh = z3.Context()
        solver = z3.Solver(ctx=fresh)
        solver.add(*(z3.simplify(each.translate(fresh)) for each in constraints))
        return QuestionFile(folder / name, f"(set-logic ALL)\n{solver.to_smt2()}")

    def _text_with(self, answer: str) -> str:
        return OURS + self.text.replace(UNKNOWN, f"(set-info :status {answer})", 1)

    @property
    def is_proved(self) -> bool:
        """Whether the file is there, has this very question, and z3 has proved it. InputError if it is not ours."""
        with writable(self.path):
            there = self.path.read_bytes() if self.path.exists() else b""
        if there and not there.startswith(OURS.encode()):
            fix = "name another folder, or move the file away"
            raise InputError(f"{require_readable_name(self.path)} is no question of wingspan prove", fix=fix)
        return there == self._text_with("unsat").encode()

    def write(self, answer: str) -> None:
        """Write the question with its answer. InputError if that is impossible."""
        with writable(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(self._text_with(answer).encode())
