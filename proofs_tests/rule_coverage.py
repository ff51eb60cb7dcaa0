"""The number of times that each rule of the semantics fires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from wingspan.base.errors import Fault
from wingspan.semantics import machine
from wingspan.semantics.config import Config
from wingspan.semantics.memory import RuleMemory
from wingspan.semantics.rules import ALL

FIGURE = (
    *("Call", "Block", "IfTrue", "IfFalse", "Access", "Assign", "Unfurl", "SerialFor", "Payload", "Child"),
    *("Declare", "Freeze", "Thaw", "ParallelFor", "Spawn", "Transfer", "ParLeft", "ParRight"),
    *("WriteLocal", "WriteGlobal", "ReadLocal", "ReadGlobal", "StaticFor", "DynamicFor"),
)
"""The names in the paper's figure of the semantics, in its order."""

FIRED: Counter[str] = Counter()
"""The number of times that each rule has fired since counting began."""


def begin() -> None:
    """Count from here on, in every machine of this process."""
    reduce = machine._reduce

    def counted(C: Config, μ: RuleMemory) -> tuple[str, Config | Fault]:
        name, after = reduce(C, μ)
        if not isinstance(after, Fault):
            FIRED[name] += 1
        return name, after

    machine._reduce = counted


def table(fired: Mapping[str, int]) -> Iterator[str]:
    """The rules of the figure, then those that it omits, each with how often it fired."""
    rules = [*FIGURE, *(name for name in ALL if name not in FIGURE)]
    for name in rules:
        times = f"{fired[name]:,}".replace(",", " ") if fired.get(name) else "never"
        yield f"{name:<12} {times:>12}  {'' if name in FIGURE else 'not in the figure'}".rstrip()
    yield f"{sum(fired.get(name, 0) > 0 for name in rules)} of {len(rules)} rules fired"
