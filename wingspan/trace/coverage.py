"""Rule coverage: the rules that a program fires, with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.rules import ALL
from wingspan.trace.graph import Trace


@dataclass(frozen=True)
class Coverage:
    """The number of steps between states that apply each rule, by its name. `all`: whether these are all states."""

    fired: dict[str, int]
    states: int
    all: bool

    @property
    def figure(self) -> int:
        """The number of rules of the paper's figure that are fired."""
        return sum(1 for name, times in self.fired.items() if times and ALL[name].figure)


def coverage(trace: Trace, max_states: int) -> Coverage:
    """Counts each step once, whatever the number of interleavings that take it.

    If there are more states, it uses those of one run to its end, and the nearest others.
    """
    nodes = {trace.nodes[0].number}
    node = trace.nodes[0]
    while node.steps and len(nodes) < max_states:
        target = trace.edge(node, next(iter(node.steps))).target
        if target is None:
            break
        node = target
        nodes.add(node.number)
    ahead, complete = trace.ahead(trace.nodes[0], most=max_states)
    for number in ahead:
        if complete or len(nodes) < max_states:
            nodes.add(number)
    fired = Counter(name for step in trace.begin for name in _rules(step))
    for number in nodes:
        for edge in trace.edges(trace.nodes[number]):
            fired.update(name for step in (edge.step, *edge.then) for name in _rules(step))
    return Coverage({name: fired[name] for name in ALL}, len(nodes), complete)


def _rules(step: DerivedStep) -> Iterator[str]:
    """The rule of a step, and those that make it one of the tasks around it; none if it faults."""
    if isinstance(step.next, Fault):
        return
    yield step.rule
    for child in filter(None, step.task.split(".")):
        yield "ParLeft" if child == "1" else "ParRight"
