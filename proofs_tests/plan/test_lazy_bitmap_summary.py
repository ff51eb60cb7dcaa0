"""Copies of a bitmap that nothing is known of keep no summary while they are updated, and end as they did."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from proofs_tests.effort import few
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.native.assemble import assemble
from wingspan.native.code import operate
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Const, Op, Plan, Reg, Store, walk
from wingspan.plan.passes.lazy_bitmap_summary import lazy_bitmap_summary
from wingspan.plan.pipeline import lower

SUM = """
dev = cpu(:t, {threads})
y = Tensor({form})
y .= 0
for j = parallel(_, dev, dynamic_schedule(2))
    for i = _
        y[i] += A[i, j]
    end
end
"""
AGAIN = SUM.partition("y .= 0\n")[2]
"""Another phase, into copies that are declared anew."""

LEAVES = {"integers": 0, "doubles": 0.0}


def bound(n: int, threads: int, leaf: float, text: str = SUM, columns: int = 7) -> Elaborated:
    """Columns of which some are full, some hold every 64th index, and some nothing."""
    A = np.zeros((n, columns), dtype=type(leaf))
    A[:, ::3], A[::64, 1::3] = 1, 2
    form = f"Merge(dev, SparseByteMap(Element({leaf})))"
    program = api.parse(text.format(threads=threads, form=form) + "return y\n")
    return api.bind(program, inputs={"A": A})


def results(program: Elaborated, plan: Plan) -> list[list[object]]:
    """The results of two runs in a row; the second one uses the memory of the first."""
    engine = NativeEngine(assemble(plan))
    given = [engine.inputs.from_tensor(name, tensor) for name, tensor in program.inputs.items()]
    return [list(engine.run(given).tensors(program.towers)["y"].entries()) for _ in range(2)]


def summaries(plan: Plan) -> list[str]:
    """The stores that say how copies are summarized, made when they are declared."""
    flat = (s for s in walk(plan.body) if isinstance(s, Store) and s.ref.buffer.name == "flat")
    return [str(s.value) for s in flat if "likely" in str(s.value)]


@pytest.mark.parametrize(("leaf", "phases", "n"), few(list(product(LEAVES.values(), ("two", "one"), (4097, 65, 1))), 4))
def test_results_are_the_same(n: int, phases: str, leaf: float) -> None:
    """Of one word and of several, of one word of the summary and of two; also if some tasks find no column."""
    text = SUM if phases == "one" else SUM + AGAIN
    for threads, columns in ((1, 7), (3, 7), (3, 1)):
        program = bound(n, threads, leaf, text, columns)
        plan = lower(program)
        changed = lazy_bitmap_summary(plan)
        assert len(summaries(changed)) == len(summaries(plan)) > 0
        assert not set(summaries(changed)) & set(summaries(plan))
        assert results(program, changed) == results(program, plan)


def test_a_copy_that_nothing_is_known_of_has_its_summary_made_when_it_is_frozen() -> None:
    """While it is updated, `flat` is 1. Before the pass it is 0: each update writes the summary, too."""
    program = bound(4097, 1, 0.0)
    stored = []
    for plan in (lower(program), lazy_bitmap_summary(lower(program))):
        flat = [s for s in walk(plan.body) if isinstance(s, Store) and s.ref.buffer.name == "flat"]
        chosen = [s.value for s in flat if "likely" in str(s.value)]
        values = {"likely": 0, "cells": 65}
        stored.append({_value(e, values) for e in chosen})
    assert stored == [{0}, {1}]


def _value(e: object, values: dict[str, int]) -> int:
    """The value of an expression if registers, by the first word of their names, hold these values."""
    match e:
        case Const(value=value):
            return int(value)
        case Reg(name=name):
            return next(value for stem, value in values.items() if name.startswith(stem))
        case Op(op=op, args=args):
            return int(operate(op, [_value(x, values) for x in args]))
    raise AssertionError(e)


OTHERS = {
    "a root": "y = Tensor(SparseByteMap(Element(0)))\ny .= 0\nfor i = _\n y[i] += x[i]\nend\nreturn y\n",
    "a shard": """
dev = cpu(:t, 2)
y = Tensor(Dense(Shard(dev, SparseByteMap(Element(0)))))
y .= 0
for j = parallel(_, dev)
    y[1, j] += x[j]
end
return y
""",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_workspaces_are_left_alone(text: str) -> None:
    """Tasks share the summary of a bitmap that is no copy, or it has many fibers, so that something is known."""
    plan = lower(api.bind(api.parse(text), inputs={"x": np.ones(3, dtype=int)}))
    assert summaries(plan) and lazy_bitmap_summary(plan) == plan
