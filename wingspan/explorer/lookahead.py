"""All states, with the help of other processes: they compute steps before this one asks for them.

This process walks as if it were alone. It follows all edges, breadth first, and numbers the states that it reaches. So
its findings are exactly those of one process, in the same order. But most of its time would be spent on the invisible
steps behind each edge. The other processes compute these for nodes that are waiting, several nodes in a message, and
this process only looks up where they lead. It computes every step that no other process has taken, or could take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, NamedTuple

from wingspan.explorer._space import UNKNOWN
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.cluster import AllWorkersLost, WorkerLost
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.settle import Successor
from wingspan.explorer.states import States
from wingspan.explorer.workers import SearchWorker, Submit, pack, unpack

SECONDS = 0.05
"""The processor time that a message may take,"""
MOST = 64
"""and the number of nodes that it may have."""
FEW = 8
"""With fewer nodes, a message costs more than necessary."""
AT_ONCE = 2
"""The number of messages under way for each process, so that none waits for this one."""


class Message(NamedTuple):
    """All edges to be followed from some nodes, which another process computes."""

    first: int
    """the first of the nodes"""
    nodes: int
    edges: list[tuple[int, str]]
    taken: Future[tuple[bytes, float]]


class Lookahead:
    """The steps that other processes have computed, for `States.ahead`."""

    def __init__(self, states: States[Any], submit: Submit, processes: int, interrupts: Interrupts) -> None:
        self.states, self.submit, self.processes, self.interrupts = states, submit, processes, interrupts
        self.dispatched = 0
        """nodes below this number have been handed out, or need not be"""
        self.running: deque[Message] = deque()
        self.successors: dict[tuple[int, str], Successor[Any]] = {}
        self.pace = 0.0
        """seconds that a node took"""
        self.deserted = False
        """whether no process is left that could compute steps"""

    def __call__(self, node: int, path: str) -> Successor[Any] | None:
        """The successor by a step of a task, if another process has computed it. Nodes must come in ascending order."""
        if self.interrupts.count:
            raise self.interrupts.error()
        self.dispatch(node)
        while self.running and self.running[0].first <= node:
            self.collect()
        return self.successors.pop((node, path), None)

    def dispatch(self, node: int) -> None:
        """Let other processes continue from waiting nodes: from several, if they are many or a process is idle."""
        self.dispatched = max(self.dispatched, node)
        waiting = self.states.nodes - self.dispatched
        if self.deserted or (waiting < 2 and not self.running):
            return
        most = max(1, min(MOST, int(SECONDS / self.pace))) if self.pace else 1
        size = waiting // (AT_ONCE * self.processes)
        while self.dispatched < self.states.nodes and len(self.running) < AT_ONCE * self.processes:
            busy = sum(not message.taken.done() for message in self.running)
            if size < min(FEW, most) and busy >= self.processes:
                return
            self.request(range(self.dispatched, min(self.dispatched + max(1, min(size, most)), self.states.nodes)))

    def request(self, nodes: range) -> None:
        """Let other processes continue from these nodes."""
        states, seconds = self.states, self.states.bounds.seconds_left()
        ways = {n: [states.paths[task] for task, _, target in states.moves(n) if target == UNKNOWN] for n in nodes}
        batch = [(states.state(n), paths) for n, paths in ways.items() if paths]
        edges = [(n, path) for n, paths in ways.items() for path in paths]
        self.dispatched = nodes.stop
        if batch:
            taken = self.submit(SearchWorker.compute_successors, pack(batch), seconds)
            self.running.append(Message(edges[0][0], len(batch), edges, taken))

    def collect(self) -> None:
        """Wait for the first message and keep its contents, or nothing if it is lost."""
        message = self.running.popleft()
        try:
            with self.interrupts.waiting():
                if not wait([message.taken], timeout=self.states.bounds.seconds_left()).done:
                    raise Stopped("max-seconds")
                found, seconds = message.taken.result()
        except WorkerLost as lost:
            self.deserted = self.deserted or isinstance(lost, AllWorkersLost)
            return
        self.pace = seconds / message.nodes
        self.successors |= {edge: taken for edge, taken in zip(message.edges, unpack(found), strict=True) if taken}

    @contextmanager
    def attaching(self) -> Iterator[None]:
        """Within, the states use this object; at the end, the requests are cancelled."""
        before, self.states.ahead = self.states.ahead, self
        try:
            yield
        finally:
            self.states.ahead = before
            for message in self.running:
                message.taken.cancel()
