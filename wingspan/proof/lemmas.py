"""Lemmas about the text of single levels, which the induction takes for granted: L0 to L3; L4 is looked at here, too.

Here memory is exact where it matters: a level's invariant is assumed of the arrays before an operation, and proved of
those after it. docs/theorem.md says where each lemma is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from wingspan.buffers import procedures
from wingspan.levels.base import Discipline, Level, Modifier
from wingspan.levels.sparse_dict import SparseDict
from wingspan.proof.abstract import AbstractRun, Z3Term
from wingspan.proof.footprints import DEVICE, EXTENT, FACTS, ROWS, THREADS, Context, Subject, X, Y, tower_of
from wingspan.proof.solver import Prover


def ask(prover: Prover, levels: Sequence[Level], modifiers: Sequence[Modifier]) -> None:
    """All of them."""
    prove_rows(prover)
    for level in levels:
        if level.full:
            prove_positions(prover, level)
        if isinstance(level, SparseDict):
            prove_numbering(prover, level)
    for modifier in modifiers:
        if modifier.discipline is Discipline.COPY:
            prove_merged_level(prover, modifier)
    prove_lasting(prover, levels, modifiers)


def prove_rows(prover: Prover) -> None:
    """L0, what the steps know of products by an extent: n cells for each position do not overlap."""
    lemma = prover.lemma("L0 rows", "p < p′ implies p·n ≤ (p′ - 1)·n")
    p, more, n = z3.Int("p"), z3.Int("more"), z3.Int("n")
    prover.prove(lemma, "rows", p >= 1, more >= 1, n >= 0, p * n > (p + more - 1) * n)


def prove_positions(prover: Prover, level: Level) -> None:
    """L0: children of two fibers, or of two indices, are at two positions, by the text of `enter`."""
    lemma = prover.lemma("L0 positions", "a computed child belongs to one fiber and one index")
    subject = Subject(level, "level")
    (x, *_), (y, *_) = (
        [a.cell.index for a in subject.footprint("visit", side, ()).accesses if a.cell.buffer == "visit"]
        for side in (X, Y)
    )
    assumptions = [z3.And(s.p >= 1, s.i >= 1, s.i <= EXTENT) for s in (X, Y)]
    prover.prove(lemma, f"{level.name}, two children", *assumptions, *ROWS, x == y, z3.Or(X.p != Y.p, X.i != Y.i))
    prover.prove(lemma, f"{level.name}, one child", *assumptions, X.p == Y.p, X.i == Y.i, x != y)


def prove_numbering(prover: Prover, level: Level) -> None:
    """L2, L3: a dictionary gives each key one child, and assembles a child only when it is new, by the text of `enter`.

    Invariant: the children 1 to fill know their keys, and the dictionary leads from a key to its child. It is assumed
    of all children and keys that the text reaches, and proved of any child and key after it: there is no quantifier
    left, over which z3 would not find out that a text breaks the invariant.
    """
    name = level.name
    one = prover.lemma("L2 numbered children", "each key has one child, and each child one key")
    new = prover.lemma("L3 new children", "a child is assembled before anybody has entered it, and never again")
    tower = tower_of(level)
    tbl, key, fill = (z3.Array(buffer, z3.IntSort(), z3.IntSort()) for buffer in ("tbl", "key", "fill"))
    memory = {(0, "tbl"): tbl, (0, "key"): key, (0, "fill"): fill}
    shared: dict[str, Z3Term] = dict.fromkeys(procedures.open_extents(tower), EXTENT)
    run = AbstractRun("x", shared, {}, memory=memory)
    kept = {field: run.unknown(field) for field in procedures.cursor(tower, 2)} | {"c.p": X.p}
    entered = run.run(procedures.VISIT.enter(tower, 2).procedure, **kept, index=X.i)
    child, at = entered["position"], (X.p - 1) * EXTENT + X.i
    q, k = z3.Ints("q k")
    before = [
        fill[1] >= 0,
        *(child_knows_key(tbl, key, fill[1], each) for each in (q, child, fill[1])),
        *(key_leads_to_child(tbl, key, fill[1], each) for each in (k, at, key[q])),
    ]
    tbl_, key_, fill_ = (memory[0, buffer] for buffer in ("tbl", "key", "fill"))
    after = z3.And(fill_[1] >= 0, child_knows_key(tbl_, key_, fill_[1], q), key_leads_to_child(tbl_, key_, fill_[1], k))
    prover.prove(one, f"{name}, the invariant lasts", *before, run.guard, z3.Not(after))
    prover.prove(one, f"{name}, the child knows its key", *before, run.guard, key_[child] != at)
    others = z3.And(q >= 1, q <= fill[1], key_[q] != key[q])
    prover.prove(one, f"{name}, children keep their keys", *before, run.guard, others)
    for access in run.accesses:
        if access.cell.buffer == "at":
            old = access.cell.index <= fill[1]
            prover.prove(new, f"{name}, what is assembled", *before, run.guard, access.guard, old)


def child_knows_key(tbl: Z3Term, key: Z3Term, fill: Z3Term, q: Z3Term) -> Z3Term:
    """Condition: child q, if it is one, knows its key."""
    return z3.Implies(z3.And(q >= 1, q <= fill), tbl[key[q]] == q)


def key_leads_to_child(tbl: Z3Term, key: Z3Term, fill: Z3Term, k: Z3Term) -> Z3Term:
    """Condition: the dictionary leads from key k to its child, or nowhere."""
    return z3.Or(tbl[k] == 0, z3.And(tbl[k] >= 1, tbl[k] <= fill, key[tbl[k]] == k))


def prove_merged_level(prover: Prover, level: Level) -> None:
    """L1: while a tensor is updated, the merged level is no thread's copy, by the texts of `declare` and `thaw`."""
    lemma = prover.lemma("L1 the merged level", "now is 0 or threads + 1 while a tensor is updated")
    tower = tower_of(level)
    fact = FACTS["Merge"]["now"]
    for operation in ("declare", "thaw"):
        now = z3.Array("now", z3.IntSort(), z3.IntSort())
        memory = {(0, "now"): now}
        shared: dict[str, Z3Term] = dict.fromkeys(procedures.open_threads(tower), THREADS)
        run = AbstractRun("x", shared, {DEVICE.id: z3.IntVal(0)}, memory=memory)
        run.run(procedures.whole_tensor_code(tower, operation).procedure)
        there = z3.And(THREADS >= 1, now[1] >= 0, now[1] <= THREADS + 1)
        prover.prove(lemma, operation, there, run.guard, z3.Not(fact(memory[0, "now"][1])))
    for context in CONTEXTS:
        found = Subject(level, context).footprint("visit", X, ()).accesses
        written = any(a.cell.buffer == "now" and a.effect not in ("read", "look") for a in found)
        prover.prove(lemma, f"visits ({context}) leave it as it is", z3.BoolVal(written))


CONTEXTS: tuple[Context, ...] = ("early", "late")


def prove_lasting(prover: Prover, levels: Sequence[Level], modifiers: Sequence[Modifier]) -> None:
    """L4: positions and keys survive an iteration, and locks nest; the staged text shows it, nothing is to be solved.

    `Run` refuses a release that is not of the lock taken last, and a lock that is taken in one case only.
    """
    lemma = prover.lemma("L4 structure", "positions and keys survive an iteration; locks nest")
    places = [Subject(level, "leaf" if level.leaf else "level") for level in levels]
    places += [Subject(modifier, context) for modifier in modifiers for context in CONTEXTS]
    for place in places:
        keeps = place.footprint("visit", X, ()).keeps
        prover.prove(lemma, place.name, z3.BoolVal(not keeps))
