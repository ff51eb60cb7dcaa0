"""Steps that no other task can observe are taken at once: that changes nothing that a verdict says.

The oracle is the same machine with every step visible, so that all steps of all tasks are interleaved.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.effort import few
from proofs_tests.exploring import explore_graph
from wingspan import api
from wingspan.explorer.local import CellLog, Tree
from wingspan.explorer.machine import Blocked, Step
from wingspan.explorer.verdict import Verdict
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics

PROGRAMS = {
    "lost update": """
        c = Tensor(Dense(Element(0)), 5)
        c .= 0
        for i = parallel(1:4)
            c[i - i % 2 + 1] += 1
        end
    """,
    "append": """
        C = Tensor(SparseList(Element(0)), 2)
        C .= 0
        for i = parallel(_)
            C[i] += 1
        end
    """,
    "byte map": """
        C = Tensor(SparseByteMap(Element(0)), 2)
        C .= 0
        for i = parallel(_)
            C[i] += 1
        end
    """,
    "shards of two columns": """
        d = cpu(:d, 2)
        A = Tensor(Dense(SparseList(Element(0))), [1 0; 0 2])
        C = Tensor(Dense(Shard(d, SparseList(Element(0)))))
        C .= 0
        for j = parallel(_, d)
            for i = _
                C[i, j] = A[i, j]
            end
        end
    """,
    "double claim": """
        d = cpu(:d, 2)
        c = Tensor(Shard(d, Dense(Atomic(0))), 1)
        c .= 0
        for k = parallel(1:2, d)
            c[1] += 1
        end
    """,
    "dynamic chunks and a workspace": """
        d = cpu(:d, 2)
        w = Tensor(SparseByteMap(Element(0)), 1)
        y = Tensor(Dense(Element(0)), 2)
        y .= 0
        for j = parallel(_, d, dynamic_schedule(1))
            w .= 0
            w[1] += j
            y[j] += w[1]
        end
    """,
    "variables": """
        x = 0
        z = 4
        for i = parallel(1:3, cpu(3))
            y = z
            x = x + y
        end
    """,
    "nested tasks": """
        d = cpu(:d, 2)
        e = cpu(:e, 2)
        c = Tensor(Dense(Element(0)), 2)
        c .= 0
        for j = parallel(1:1, d)
            for i = parallel(1:2, e)
                c[1] += i
            end
        end
    """,
    "a fault in one order": """
        c = Tensor(Dense(Element(0)), 1)
        c .= 0
        x = 0
        for i = parallel(1:2)
            x = x + 1
            c[x] += 1
        end
    """,
    "a lock around a dictionary": """
        C = Tensor(Mutex(SparseDict(Element(0))), 2)
        C .= 0
        for k = parallel(1:2)
            C[3 - k] += k
            C[1] += 1
        end
    """,
    "a lock for each element": """
        c = Tensor(Dense(Mutex(Element(0))), 2)
        c .= 0
        for k = parallel(1:2)
            c[1] += k
            c[k] += 1
        end
    """,
    "locks in opposite order": """
        c = Tensor(Dense(Mutex(Dense(Element(0)))), 1, 2)
        c .= 0
        for k = parallel(1:2)
            for i = 1:1
                for j = 1:1
                    c[j, k] += 1
                    c[j, 3 - k] += 1
                end
            end
        end
    """,
    "a lock that is taken twice": """
        c = Tensor(Mutex(Dense(Element(0))), 2)
        c .= 0
        x = 0
        for k = parallel(1:2)
            for i = 1:1
                c[i] += 1
                c[k] += 1
            end
            x = k
        end
    """,
    "a lock protects a variable of nobody": """
        c = Tensor(Mutex(Element(0)))
        c .= 0
        x = 0
        for k = parallel(1:2)
            c[] += 1
            x = k
        end
    """,
    "isolated columns": """
        C = Tensor(Dense(Isolate(SparseList(Element(0)))), 1, 2)
        C .= 0
        for j = parallel(_)
            for i = _
                C[i, j] += j
            end
        end
    """,
    "an isolated fiber loaded by two": """
        C = Tensor(Dense(Isolate(Element(0))), 1)
        C .= 0
        for k = parallel(1:2)
            C[1] += k
        end
    """,
    "a lock around an isolated fiber": """
        C = Tensor(Dense(Mutex(Isolate(Dense(Element(0))))), 1, 1)
        C .= 0
        for k = parallel(1:2)
            C[1, 1] += k
        end
    """,
    "a merged vector": """
        d = cpu(:d, 2)
        C = Tensor(Merge(d, SparseDict(Element(0))), 2)
        C .= 0
        for k = parallel(1:2, d)
            C[1] += k
        end
    """,
    "merged columns, twice": """
        d = cpu(:d, 2)
        C = Tensor(Dense(Merge(d, Dense(Element(0)))), 1, 1)
        C .= 0
        for k = parallel(1:2, d)
            C[1, 1] += k
        end
        x = C[1, 1]
        for k = parallel(1:2, d)
            C[1, 1] -= k
        end
    """,
    "a merged workspace of each task": """
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        w = Tensor(Merge(e, Element(0)))
        x = 0
        for j = parallel(1:2, d)
            w .= 0
            for k = parallel(1:1, e)
                w[] += j
            end
            x = w[]
        end
    """,
    "equal threads of two parents share a copy": """
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        C = Tensor(Merge(e, Element(0)))
        C .= 0
        for j = parallel(1:2, d)
            for i = parallel(1:1, e)
                C[] += j
            end
        end
    """,
    "equal threads of two parents share a shard": """
        d = cpu(:d, 2)
        e = cpu(:e, 1)
        C = Tensor(Dense(Shard(e, Element(0))), 2)
        C .= 0
        for j = parallel(1:2, d)
            for i = parallel(j:j, e)
                C[i] += j
            end
        end
    """,
    "an isolated fiber of shards loaded by two": """
        d = cpu(:d, 2)
        C = Tensor(Isolate(Dense(Shard(d, Element(0)))), 2)
        C .= 0
        for k = parallel(1:2, d)
            C[k] += k
        end
    """,
    "an isolated fiber around a merged one": """
        e = cpu(:e, 2)
        C = Tensor(Dense(Isolate(Dense(Merge(e, Element(0))))), 1, 1)
        C .= 0
        for j = 1:1
            for k = parallel(1:2, e)
                C[1, j] += k
            end
        end
    """,
    "a dirty flag of the parent": """
        C = Tensor(SparseList(Dense(Atomic(0))), 2, 1)
        C .= 0
        for j = _
            for i = parallel(_)
                C[i, j] += i
            end
        end
    """,
}


class Everything(Semantics):
    """The semantics with nothing taken for granted: every step is one that others may observe."""

    def step(self, state: ProgramState, task: str) -> Step[ProgramState] | Blocked:
        step = super().step(state, task)
        return replace(step, visible=True) if isinstance(step, Step) else step

    def local_step(self, local: Hashable, cells: CellLog) -> Step[Tree] | Blocked:
        step = super().local_step(local, cells)
        return replace(step, visible=True) if isinstance(step, Step) else step


def findings(verdict: Verdict) -> dict[str, Any]:
    """The findings of a verdict, without counts and examples."""
    assert verdict.complete
    return {
        "verdict": verdict.verdict,
        "outcomes": {result.outcome for result in verdict.results},
        "races": {(race.tensor, race.level, race.level_name, race.buffer, race.kind) for race in verdict.races},
        "faults": {fault.message for fault in verdict.faults},
        "deadlocks": {deadlock.message for deadlock in verdict.deadlocks},
    }


@pytest.mark.parametrize("name", few(list(PROGRAMS), 6))
def test_invisible_steps_change_no_finding(name: str) -> None:
    """The same verdict, outcomes, races and faults as with all steps interleaved, in fewer states."""
    bound = api.bind(api.parse(dedent(PROGRAMS[name])))
    eager = explore_graph(api.semantics(bound))
    every = explore_graph(Everything(bound.body, bound.towers, bound.inputs, bound.outputs))
    assert findings(eager) == findings(every)
    assert eager.states < every.states
