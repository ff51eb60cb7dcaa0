"""The results of a campaign."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, field
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Reportable
from wingspan.lang import ir
from wingspan.results.comparison import Difference, Ending


class Disagreement(AssertionError):
    """Two runs of a case differ. The message has the program, its inputs, and the first difference.

    `case` is the program with its inputs, and `kind` what is wrong with it, in words that its smaller cases share.
    """

    def __init__(self, message: str, case: Any = None, kind: str = "") -> None:
        super().__init__(message)
        self.case, self.kind = case, kind


@dataclass
class Bucket:
    """Differences of one engine that look alike."""

    cases: int
    smallest: str
    """the difference, the program and its input, of the case with the shortest text"""

    def add(self, other: Bucket) -> None:
        """Add the same bucket of another part of the campaign."""
        self.cases += other.cases
        self.smallest = min(self.smallest, other.smallest, key=lambda text: (len(text), text))


@dataclass
class Tally(Reportable):
    """Counts of what a campaign has run."""

    cases: int = 0
    """programs that ran, counted once per input, and again when drawn again"""
    texts: int = 0
    """programs with different texts"""
    runs: int = 0
    faults: int = 0
    """cases that end in a fault on every engine"""
    undecided: int = 0
    """cases left out since the result depends on what formats store: see `reference.Undecided`"""
    explored: int = 0
    """programs of which both machines were explored, and again when drawn again"""
    complete: int = 0
    """explored programs of which all interleavings were covered on both"""
    seconds: float = 0.0
    """the time of the batches, that of several workers added up"""
    skipped: Counter[str] = field(default_factory=Counter)
    """the number of cases that an engine could not run, by the engine and the reason"""
    buckets: dict[str, Bucket] = field(default_factory=dict)
    """the collected differences, by symptom"""

    @property
    def programs(self) -> int:
        """`cases`; deprecated."""
        return self.cases

    @property
    def rate(self) -> float:
        """Cases per second."""
        return self.cases / self.seconds if self.seconds else 0.0

    def add(self, other: Tally) -> None:
        """Add the results of another part of the campaign; a program in both counts twice."""
        for name in ("cases", "texts", "runs", "faults", "undecided", "explored", "complete", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.skipped.update(other.skipped)
        for name, bucket in other.buckets.items():
            self.note(name, bucket)

    def data(self) -> dict[str, Any]:
        """The tally as an object of JSON."""
        buckets = {name: asdict(bucket) for name, bucket in self.buckets.items()}
        return {**vars(self), "skipped": dict(self.skipped), "buckets": buckets}

    @staticmethod
    def of(data: dict[str, Any]) -> Tally:
        """The tally that `data` has written."""
        buckets = {name: Bucket(**bucket) for name, bucket in data["buckets"].items()}
        return Tally(**data | {"skipped": Counter(data["skipped"]), "buckets": buckets})

    def note(self, name: str, bucket: Bucket) -> None:
        """Put differences into their bucket."""
        if name in self.buckets:
            self.buckets[name].add(bucket)
        else:
            self.buckets[name] = Bucket(bucket.cases, bucket.smallest)

    def __str__(self) -> str:
        done = f"{self.cases} cases of {self.texts} programs, {self.runs} runs, {self.faults} faults"
        done += f", {self.undecided} left undecided" if self.undecided else ""
        lines = [f"{done}, {self.rate:.1f} cases a second"]
        if self.explored:
            lines += [f"  {self.complete} of {self.explored} explored completely, by the rules and on the plan"]
        lines += [f"  skipped {count} times: {why}" for why, count in self.skipped.most_common()]
        for name, bucket in sorted(self.buckets.items(), key=lambda each: -each[1].cases):
            lines += [f"  {bucket.cases} {'cases differ' if bucket.cases > 1 else 'case differs'}: {name}"]
        return "\n".join(lines)


def symptom(engine: str, first: Ending, other: Ending, found: Difference, tree: ir.Program) -> str:
    """The name of the bucket of a difference: the engine and its failure, without numbers and quoted names.

    Wrong elements are distinguished by the operators of the program.
    """
    if other.defect or first.defect:
        what = other.defect or f"{first.engine}: {first.defect}"
    elif other.fault or first.fault:
        what = f"a fault, {other.fault}" if other.fault else f"no fault, {first.fault}"
    elif "[" not in found.place and isinstance(found.first_has, str):
        what = "not the same kind or extents"
    else:
        what = f"wrong elements, {' '.join(_operators(tree))}"
    return f"{engine}: {shape(what)}"


def shape(message: str) -> str:
    """The first line of a message, without numbers and quoted text."""
    first = message.partition("\n")[0]
    return re.sub(r"\d+(\.\d+)?|'[^']*'|\"[^\"]*\"", "…", first)[:120]


def _operators(tree: ir.Program) -> list[str]:
    """The operators of a program, without repetition, those of updates first."""
    updates = {f"{str(node.op).removesuffix('=')}=" for node in tree.walk() if isinstance(node, ir.Assign)}
    return sorted(updates) + sorted({str(node.op) for node in tree.walk() if isinstance(node, ir.Call)})
