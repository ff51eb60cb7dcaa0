"""Random tiny programs for the explorer."""

from __future__ import annotations

from hypothesis import strategies as st

from proofs_tests.explorer.plain import PlainLitmus
from wingspan.testing.litmus import (
    Add,
    Assert,
    Check,
    Claim,
    Jump,
    Litmus,
    Load,
    Lock,
    Private,
    Program,
    Spawn,
    Store,
    Unlock,
)

KINDS = st.sampled_from([PlainLitmus, Litmus])


def blocks() -> st.SearchStrategy[Program]:
    """A few instructions: mostly accesses; critical sections; now and then a mistake."""
    cell, lock, small = st.sampled_from("xy"), st.sampled_from("mn"), st.integers(0, 1)
    load = st.tuples(st.builds(Load, cell))
    store = st.tuples(st.builds(Store, cell, small, st.booleans()))
    local = st.tuples(st.one_of(st.builds(Private), st.builds(Jump, st.just(2), small)))
    mistake = st.tuples(
        st.one_of(
            st.builds(Assert, small), st.builds(Check, cell, small), st.builds(Lock, lock), st.builds(Unlock, lock)
        )
    )
    section = st.tuples(st.one_of(load, store), lock).map(lambda pair: (Lock(pair[1]), *pair[0], Unlock(pair[1])))
    nested = st.permutations("mn").map(lambda p: (Lock(p[0]), Lock(p[1]), Unlock(p[1]), Unlock(p[0])))
    atomic = st.tuples(st.one_of(st.builds(Add, cell), st.builds(Claim, cell, small)))
    usual = st.one_of(load, store, store, local, atomic, section, nested)
    return st.integers(0, 11).flatmap(lambda dice: mistake if dice == 7 else usual)


@st.composite
def programs(draw: st.DrawFn) -> Litmus:
    """Two tasks of up to six instructions or three of up to three, and what comes after them; some without tables."""
    count, most = draw(st.sampled_from([(2, 6), (3, 3)]))
    tasks: list[Program] = []
    for _ in range(count):
        drawn = draw(st.lists(blocks(), min_size=2, max_size=4))
        tasks.append(tuple(instruction for block in drawn for instruction in block)[:most])
    after = draw(st.one_of(st.just(()), blocks()))
    return draw(KINDS)(*tasks, after=after)


@st.composite
def regions(draw: st.DrawFn) -> Litmus:
    """Two tasks, and when they have ended two others with the same paths; some without tables."""
    tasks = [draw(blocks())[:4] for _ in range(4)]
    return draw(KINDS)(*tasks[:2], after=(Spawn(tuple(tasks[2:])),))
