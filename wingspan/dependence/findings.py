"""Results of the level dependence test: verdict, findings, proofs and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Reportable, Shown
from wingspan.base.errors import Span
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.levels.base import Dependence

Test = Literal["printed", "repaired", "exact"]
TESTS: tuple[Test, ...] = ("printed", "repaired", "exact")

Verdict = Literal["safe", "order-dependent", "unsafe"]
"""`safe`: no interleaving goes wrong, except as `promise` says; `order-dependent`: only the topics of `ORDER` were
found."""

Topic = Literal[
    "level-dependence", "gate", "claim", "order", "overlap", "deadlock", "variable", "order-dependence", "merge"
]
"""The subject of a finding: `level-dependence` is Algorithm 1's W ⊆ S; `gate` an update of a Shard or Merge outside of
its device; `claim` two threads at one position of a Shard in one phase; `order` an ordered level that would be updated
out of order or twice; `overlap` two updates of one fiber that overlap in one task; `deadlock` locks taken in a circle;
`variable` a variable that tasks share; `order-dependence` a result that depends on which task is first; `merge` an
operator or a fill value that copies cannot be folded by."""

ORDER: frozenset[Topic] = frozenset({"order-dependence", "merge"})
"""The topics that no race, fault or deadlock comes of: with these alone a program is `order-dependent`."""


def promise(partial: Sequence[str]) -> str:
    """The guarantee of the verdict `safe` by `repaired` and `exact`. `partial`: levels that cannot hold every index."""
    held = f", or {' and '.join(partial)} running out of room" if partial else ""
    return (
        "accepted programs are safe, except for value-dependent faults (overflow, index out of range, division by "
        f"zero, wrong type, failed assertion), which may occur in some interleavings only{held}"
    )


@dataclass(frozen=True)
class Partial:
    """A level of a tensor that is updated, which cannot hold every index of a fiber, such as a SparsePoint.

    Updates of more than it can hold fault, in one task as in several. The tests do not look for that.
    """

    tensor: str
    level: int
    level_name: str

    def __str__(self) -> str:
        return f"level {self.level} {self.level_name} of {self.tensor}"


@dataclass(frozen=True)
class Iteration:
    """One iteration of the loops around an access, outermost first, and the task that runs it."""

    task: str
    indices: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Witness:
    """Two iterations, and what they both update: an element `C[3, 1]`, a fiber `C[:, 1]`, a level, or a variable.

    A subscript that is known only at run time is `?`.
    """

    first: Iteration
    second: Iteration
    element: str
    certain: bool = True
    """False if it depends on loaded values, or on conditions that may not hold, whether the two meet"""


@dataclass(frozen=True)
class Finding:
    """Something that may go wrong, at one level of one tensor (or at a variable), between two accesses."""

    topic: Topic
    tensor: str
    reason: str
    """one sentence"""
    loop: ir.For | None = None
    """the parallel loop, as elaborated; None where no parallel loop is to blame"""
    access: Span | None = None
    other: Span | None = None
    """the two accesses as written, often the same one"""
    level: int | None = None
    level_name: str = ""
    """the level with its modifiers, `Mutex(SparseDict)`"""
    required: frozenset[Dependence] = frozenset()
    """W"""
    stability: frozenset[Dependence] = frozenset()
    """S"""
    direction: Mapping[str, str] = field(default_factory=dict)
    """<, =, > or * for each loop around both accesses, outermost first"""
    witness: Witness | None = None
    reads: tuple[bool, bool] = (False, False)
    """whether each of the two accesses only reads an element that the other one may update"""

    @property
    def missing(self) -> frozenset[Dependence]:
        """W without S."""
        return self.required - self.stability

    @property
    def device(self) -> Device | None:
        """The device of the parallel loop."""
        r = self.loop.range if self.loop else None
        return r.device if isinstance(r, ir.Parallel) and isinstance(r.device, Device) else None


@dataclass(frozen=True)
class SafetyProof:
    """The proof that a parallel loop is safe for two accesses: a disproof of each dependence that a level lacks."""

    loop: ir.For
    tensor: str
    access: Span | None
    other: Span | None
    reason: str


@dataclass(frozen=True)
class Advice:
    """A change after which the test accepts the program.

    Attributes:
        change: the new text of the lines that change.
        cost: an estimate by which changes are ranked.
        program: the text of the whole changed program.
    """

    change: str
    cost: int
    program: str


@dataclass(frozen=True, repr=False)
class Report(Shown, Reportable):
    """The result of the level dependence test on a program.

    Attributes:
        verdict: `safe`; `order-dependent`, if the result may depend on which task is first; or `unsafe`.
        test: the test that gave it.
        findings: what may go wrong, one for each level of a pair of accesses.
        proofs: why other pairs are safe.
        partial: the levels of tensors that are updated that cannot hold every index.
        advice: changes with which the test accepts the program, cheapest first; for a safe program, loops that could be
            parallel, too.
        advice_ended: if the search for advice was not complete, what ended it: Ctrl-C, or its budget of steps.
    """

    verdict: Verdict
    test: Test
    findings: tuple[Finding, ...]
    proofs: tuple[SafetyProof, ...] = ()
    partial: tuple[Partial, ...] = ()
    advice: tuple[Advice, ...] = ()
    advice_ended: Literal["interrupted", "budget"] | None = None
    budget: Budget = field(default_factory=Budget, compare=False)
    """the steps that the search for advice could take"""
    symbols: tuple[str, ...] = ()
    """the inputs, parameters and extents that are left open: the verdict holds for all that they can be"""
    alike: int = 0
    """the number of accesses in no finding or proof, as four others that do the same are compared instead"""
    program: ir.Program | None = field(default=None, compare=False)
    """as written, to name its loops and devices; None if the program was bound already"""

    @property
    def advice_complete(self) -> bool:
        """False if the search for advice was interrupted, or its budget was spent."""
        return self.advice_ended is None

    def about(self, name: str) -> Report:
        """The part about one tensor or variable."""
        findings = tuple(f for f in self.findings if f.tensor == name)
        return replace(self, findings=findings, verdict=self.verdict if findings else "safe")

    @property
    def problems(self) -> set[object]:
        """The problems, as far as they can be recognized in a changed program."""
        return {
            (f.topic, f.tensor, f.level, f.access, f.other, kind) for f in self.findings for kind in f.missing or ("",)
        }
