"""The conditions of a tensor's life as theorems: what `dependence/protocol.py` and its neighbours ask for is enough.

Each lemma says that no check of a level's text fails in the second of two visits, one after the other, or one within
the other, if a condition holds; or that an order of points of time follows from it. The printed test has none of these
conditions, and z3 answers with a counterexample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import z3

from wingspan.buffers.ops import Procedure, Reg
from wingspan.buffers.staging import Stager
from wingspan.levels.base import Discipline, Level, Modifier
from wingspan.proof.abstract import AbstractRun, Z3Term
from wingspan.proof.footprints import EXTENT, ROWS, THREADS, Context, OperationRun, Subject, X, Y, tower_of
from wingspan.proof.solver import Prover

ASSUMPTIONS = [X.p >= 1, Y.p >= 1, X.i >= 1, Y.i >= 1, X.i <= EXTENT, Y.i <= EXTENT, THREADS >= 1]
APPENDED = "fibers are appended"
"""The beginning of the message of a level that takes its fibers in ascending order."""


def ask(prover: Prover, rule: str, levels: Sequence[Level], modifiers: Sequence[Modifier]) -> None:
    """All of them, with the conditions of the test; none for the one as printed."""
    given = rule == "repaired"
    for level in levels:
        if level.once and any(buffer.name == "prev" for buffer in level.buffers):
            prove_order(prover, level, [X.p < Y.p] if given else [])
        if level.turns == {"node"}:
            prove_turns(prover, level, [X.i == Y.i] if given else [])
        if level.shared_child:
            prove_shared_children(prover, level, [X.p != Y.p] if given else [])
    for modifier in modifiers:
        if modifier.discipline is Discipline.CLAIM:
            prove_claims(prover, modifier, [X.t == Y.t] if given else [])
        if modifier.discipline is Discipline.INSTANCE:
            prove_overlaps(prover, modifier, [X.p != Y.p] if given else [])
    prove_arrivals(prover, given)
    prove_lock_order(prover, given)
    prove_merges(prover, given)


def prove_order(prover: Prover, level: Level, condition: list[Z3Term]) -> None:
    """`order`: fibers come in ascending order, by the texts of a visit that writes, and of the next one."""
    lemma = prover.lemma("order", "a list takes fibers in ascending order, each once")
    for what, guard, wanted in checks_of_second_visit(level, "level", ("prev",)):
        if what.startswith(APPENDED):
            prover.prove(lemma, f"{level.name}, a second visit", *ASSUMPTIONS, *condition, guard, z3.Not(wanted))


def prove_turns(prover: Prover, level: Level, condition: list[Z3Term]) -> None:
    """The `turns` of a level of one index: tasks may visit it in turns, and no two indices."""
    lemma = prover.lemma("turns", "visits in turns break no check of a level that supports them")
    for what, guard, wanted in checks_of_second_visit(level, "level", [buffer.name for buffer in level.buffers]):
        prover.prove(lemma, f"{level.name}: {what}", *ASSUMPTIONS, X.p == Y.p, *condition, guard, z3.Not(wanted))


def prove_claims(prover: Prover, level: Level, condition: list[Z3Term]) -> None:
    """`claims`: the position belongs to the thread that came first, whichever visit was the one that claimed it."""
    lemma = prover.lemma("claims", "all visits of a position are by one thread")
    for context in ("early", "late"):
        for what, guard, wanted in checks_of_second_visit(level, context, ("ptr", "owner", "used")):
            if what.startswith("position {p} belongs"):
                assumptions = [*ASSUMPTIONS, X.t >= 1, Y.t >= 1, X.p == Y.p, *condition]
                prover.prove(lemma, f"{level.name}, a second visit", *assumptions, guard, z3.Not(wanted))


def checks_of_second_visit(level: Level, context: Context, buffers: Sequence[str]) -> list[tuple[str, Z3Term, Z3Term]]:
    """The checks of a visit that comes after another one: message, when it is made, and what it asks for."""
    subject = Subject(level, context)
    memory: dict[str, Z3Term] = {name: z3.Array(name, z3.IntSort(), z3.IntSort()) for name in buffers}
    found = []
    for tower in subject.towers():
        one = OperationRun(subject, tower, "+", X, "x", memory=memory)
        one.operate("visit")
        left = {name: one.run.memory[one.depth, name] for name in buffers}
        other = OperationRun(subject, tower, "+", Y, "y", memory=left)
        other.operate("visit")
        begun = z3.And(one.run.guard, z3.Select(memory["used"], X.t) >= 0) if "used" in memory else one.run.guard
        found += [(message, z3.And(begun, guard), wanted) for guard, wanted, message in other.run.checks]
    return found


def prove_overlaps(prover: Prover, level: Level, condition: list[Z3Term]) -> None:
    """`overlaps`: a fiber in an Isolate is entered while others are open, but not while it is open itself."""
    lemma = prover.lemma("overlaps", "an isolated fiber is not entered again before it has been left")
    tower = tower_of(level)
    state = z3.Array("state", z3.IntSort(), z3.IntSort())
    run = AbstractRun("x", {}, {}, memory={(0, "state"): state})
    for side in (X, Y):
        stager = Stager(tower, "+")
        stager.call(0, "bind", (Reg("position"),), ())
        run.run(Procedure("bind", ("position",), tuple(stager.out)), position=side.p)
    (_, _, _), (guard, wanted, _) = run.checks
    prover.prove(lemma, level.name, *ASSUMPTIONS, *condition, state[Y.p] < 2, guard, z3.Not(wanted))


def prove_shared_children(prover: Prover, level: Level, condition: list[Z3Term]) -> None:
    """`shared_children`: what is done to children of two fibers is done to two children, whatever the extent."""
    lemma = prover.lemma("shared children", "indices that have one child are not open together")
    subject = Subject(level, "level")
    x, y = (
        [a for a in subject.footprint("visit", side, ()).accesses if a.cell.buffer in ("at", "visit")]
        for side in (X, Y)
    )
    met = z3.Or(*(z3.And(a.guard, b.guard, a.cell.index == b.cell.index) for a in x for b in y))
    prover.prove(lemma, level.name, *ASSUMPTIONS, *ROWS, *condition, met)


def prove_arrivals(prover: Prover, given: bool) -> None:
    """`arrivals`: visits in logical order are visits in the order of numbers given on arrival.

    L: where a fiber stands by its indices, e: when it is entered first, v: when it is visited, q: its number. Numbers
    follow the first entries; a visit is not before the entry; visits follow L. The condition: no fiber is entered
    before a smaller one.
    """
    lemma = prover.lemma("arrivals", "numbers given on arrival ascend in the order of visits")
    L, e, v, q = (z3.Function(name, z3.IntSort(), z3.IntSort()) for name in "Levq")
    assumptions = [
        z3.Implies(v(1) < v(2), L(1) < L(2)),
        e(1) <= v(1),
        e(2) <= v(2),
        e(1) != e(2),
        (e(1) < e(2)) == (q(1) < q(2)),
    ]
    condition = [z3.Implies(L(1) < L(2), e(1) <= e(2))] if given else []
    prover.prove(lemma, "two fibers", *assumptions, *condition, v(1) < v(2), q(1) >= q(2))


def prove_lock_order(prover: Prover, given: bool) -> None:
    """`deadlocks`: no circle of tasks, each of which waits for a lock that the next one holds, if locks ascend.

    Of any length: along a circle, the lock that a task holds is below the one it asks for, which the next one holds.
    So by induction every lock is above the first one, which is then above itself: one step of it is asked here.
    """
    lemma = prover.lemma("lock order", "tasks that take locks in ascending order do not wait in a circle")
    first, held, wanted = z3.Ints("first held wanted")
    condition = [held < wanted] if given else []
    prover.prove(lemma, "a step along the circle", first <= held, *condition, first >= wanted)
    prover.prove(lemma, "a task that waits for itself", held == wanted, *condition)


FOLDS: Mapping[str, tuple[str, ...]] = {"+": ("neutral",), "*": ("neutral",), "min": ("neutral", "idempotent")}
"""Operators with which copies may be merged, by what is enough: a fill that is neutral, or an operator that is
idempotent; max, && and || are as min.
"""


def prove_merges(prover: Prover, given: bool) -> None:
    """`merges`: two copies that both start from z, merged, are what one task would have left.

    With this as a step, any number of copies are.
    """
    lemma = prover.lemma("merges", "copies that start from the fill value are merged to the sequential result")
    z, a, b = z3.Ints("z a b")
    for op, enough in FOLDS.items():
        for why in enough:
            neutral = z == 1 if op == "*" else z == 0 if op == "+" else z >= z3.If(a < b, b, a)
            condition = [neutral] if given and why == "neutral" else []
            if not given and why == "idempotent":
                continue
            merged = _apply(op, _apply(op, z, a), _apply(op, z, b))
            prover.prove(lemma, f"{op}, {why}", *condition, merged != _apply(op, _apply(op, z, a), b))


def _apply(op: str, x: Z3Term, y: Z3Term) -> Z3Term:
    return x + y if op == "+" else x * y if op == "*" else z3.If(x < y, x, y)
