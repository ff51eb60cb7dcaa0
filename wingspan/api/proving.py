"""The theorem about the level dependence test: proved, or refuted by a program that is explored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wingspan.api.binding import Progress
from wingspan.api.checking import check
from wingspan.api.exploring import Exploration, explore
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, ProgramError
from wingspan.levels.base import Level
from wingspan.program import parse

if TYPE_CHECKING:
    from wingspan.proof import Proof

MOST = 40
"""The most countermodels to look for. A refutation is one whose program the test accepts as a whole."""


@dataclass(frozen=True)
class Refutation:
    """A program that the test accepts, and what exploring it finds."""

    format: str
    conflict: str
    """the accesses that the proof could not rule out"""
    text: str
    exploration: Exploration


@dataclass(frozen=True)
class Proved:
    """The statement to prove, and its refutations. `proof` has the lemmas."""

    proof: Proof
    refutations: tuple[Refutation, ...]
    undecided: tuple[str, ...]
    """countermodels without such a program: the proof needs a stronger lemma, or the test rejects the whole"""

    @property
    def holds(self) -> bool:
        """Whether all is proved."""
        return self.proof.holds


def prove(
    test: str = "repaired",
    *,
    keep: Path | None = None,
    progress: Progress | None = None,
    more: Sequence[type[Level]] = (),
) -> Proved:
    """Prove that what a test accepts does not race, for all extents, threads, and towers of the registered levels.

    `keep`: a folder for all questions, as SMT-LIB; those that it has as proved are not asked again. `more`: further
    levels. Ctrl-C ends the proof: what was proved until then is there, and `proof.complete` is False. InputError
    without z3-solver, or if the folder cannot be used.
    """
    if test not in ("repaired", "printed"):
        raise InputError(f"the theorem is about repaired and printed, not {test}", fix="use one of these")
    if keep == Path():
        message = "1,000 questions and more are kept in a folder of their own, not in the current one"
        raise InputError(message, fix="name a folder, for example questions")
    try:
        from wingspan.proof import form, program, theorem
    except ImportError:
        message = "a proof needs z3-solver, which is not installed"
        raise InputError(message, fix="pip install 'wingspan[prove]'") from None
    asked = None if progress is None else (lambda number: progress(number, 0))
    most = 1 if test == "repaired" else MOST
    proof = theorem(test, keep=keep, most=most, progress=asked, more=more)  # type: ignore[arg-type]
    refutations, undecided = [], []
    for found in proof.countermodels:
        text = program(found)
        try:
            accepted = check(parse(text), test=test, budget=0).verdict == "safe"  # type: ignore[arg-type]
        except ProgramError:  # levels that do not fit together are of no tower
            accepted = False
        if accepted:
            refutations.append(Refutation(form(found), str(found.conflict), text, explore(parse(text))))
        else:
            undecided.append(str(found))
    return Proved(proof, tuple(refutations), tuple(undecided))
