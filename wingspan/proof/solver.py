"""Questions to z3: whether something is impossible; with their time, and kept as SMT-LIB if asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import z3

from wingspan.errors import InputError

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
    """which questions z3 answered by a countermodel, or not at all"""

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
    """Asks z3. `folder`: where questions are kept, as SMT-LIB files that end in (check-sat)."""

    folder: Path | None = None
    progress: Callable[[int], None] | None = None
    """called with the number of questions asked so far"""
    lemmas: list[Lemma] = field(default_factory=list)

    def lemma(self, name: str, claim: str) -> Lemma:
        """The group of this name; a new one if there is none yet."""
        found = next((lemma for lemma in self.lemmas if lemma.name == name), None)
        if found is None:
            found = Lemma(name, claim)
            self.lemmas.append(found)
        return found

    def possible(self, lemma: Lemma, what: str, *constraints: Any) -> Any:
        """A model of the constraints; None if z3 proves that there is none. No answer counts as a model."""
        solver = z3.Solver()
        solver.set("timeout", PATIENCE)
        solver.set("ctrl_c", False)  # Python raises KeyboardInterrupt
        solver.add(*(z3.simplify(each) for each in constraints))  # else an empty conjunction is no SMT-LIB
        lemma.asked += 1
        if self.progress is not None:
            self.progress(sum(each.asked for each in self.lemmas))
        self._keep(lemma, solver)
        began = time.monotonic()
        answer = solver.check()
        lemma.seconds += time.monotonic() - began
        if answer == z3.unsat:
            lemma.proved += 1
            return None
        return solver.model() if answer == z3.sat else z3.Solver()

    def prove(self, lemma: Lemma, what: str, *constraints: Any) -> bool:
        """Whether nothing satisfies the constraints, which say that the claim fails."""
        proved = self.possible(lemma, what, *constraints) is None
        if not proved:
            lemma.failed.append(what)
        return proved

    def _keep(self, lemma: Lemma, solver: Any) -> None:
        if self.folder is None:
            return
        path = self.folder / f"{re.sub(r'[^a-z0-9]+', '-', lemma.name.lower())}-{lemma.asked}.smt2"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(f"(set-logic ALL)\n{solver.to_smt2()}", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}", fix="name a folder that can be written to") from None
