"""P4, P5, P8, P27: modes and scopes at every step, tasks that come and go, and what counts as written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.exploring import Look, Watched, configs, explore_graph, explored
from proofs_tests.towers import ByHand, broken, elements_of, member, tower
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.explorer.machine import Step
from wingspan.lang import ir
from wingspan.levels import REGISTRY
from wingspan.semantics.config import Config, Handle, ProgramState, Store
from wingspan.semantics.machine import Semantics
from wingspan.semantics.memory import stores
from wingspan.testing.choosing import drawn_by
from wingspan.testing.formats import STORAGE, arrays, fitting, formats, rank_of, wrap_in_modifiers
from wingspan.testing.programs import Options, programs

derandomized = settings(derandomize=True, deadline=None, max_examples=many(50))
SMALL = Options(levels=("Dense", "SparseByteMap", "SparseDict", "SparseList"), depth=3, statements=3, extent=2)


# ----------------------------------------------------------------------------------------------------- modes and scopes


def at_every_step(examples: int, look: Look) -> None:
    """Explore random programs with a look at every step."""

    @settings(max_examples=many(examples), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(SMALL))
    def explore(text: str) -> None:
        try:
            bound = api.bind(api.parse(text), threads=2)
        except WingspanError:
            return
        explore_graph(Watched(bound, look), max_states=100)

    explore()


def nested(state: ProgramState, path: str) -> list[tuple[str, Store]]:
    """The stores that a task sees, the outermost first, each with its task."""
    found: list[tuple[str, Store]] = []
    for config in reversed(configs(state, path)):
        found += [(config.t.path, store) for store in reversed(list(stores(config)))]
    return found


def ended(state: ProgramState, path: str) -> bool:
    """Whether the tasks that a task is one of have joined."""
    config: Config = state.root
    for q in path.split(".") if path else ():
        if not isinstance(config.s, ir.Par):
            return True
        config = config.s.contexts[int(q) - 1]
    return False


def test_only_lifecycle_functions_change_a_mode() -> None:
    """P4: a handle that is bound before a step and after it changes by Freeze and Thaw only, in their own task.

    (Declare binds anew, in the innermost store.) What a task updates is in update mode, in a phase of that operator.
    """
    changes: Counter[str] = Counter()

    def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        C = configs(before, step.task)[0]
        if isinstance(C.s, ir.Assign | ir.Increment):
            F = C.s.access.fiber if isinstance(C.s, ir.Assign) else C.s.fiber
            seen = next(store[F.tensor] for _, store in reversed(nested(before, step.task)) if F.tensor in store)
            assert (seen.mode, seen.op) == ("update", C.s.op)
        if ended(after, step.task):
            return
        for (owner, old), (_, new) in zip(nested(before, step.task), nested(after, step.task), strict=False):
            for name, handle in old.items():
                if isinstance(handle, Handle) and name in new and new[name] != handle:
                    assert isinstance(C.s, ir.Freeze | ir.Thaw) and (C.s.tensor, owner) == (name, step.task)
                    changes[f"{step.rule} {handle.mode} {new[name].mode}"] += 1

    at_every_step(640, look)
    assert changes.keys() <= {"Freeze update read", "Thaw read update"} and changes["Freeze update read"], changes
    assert changes["Thaw read update"] >= due(8), changes


def test_a_scope_leaves_nothing_behind() -> None:
    """P5: names are bound in the innermost store only; ScopeExit leaves those around it with the names they had."""
    exits: Counter[bool] = Counter()

    def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        if ended(after, step.task):
            return
        old, new = nested(before, step.task), nested(after, step.task)
        outer = old[:-1] if len(new) >= len(old) else old[: len(new)]
        for (_, store), (_, same) in zip(outer, new, strict=False):
            assert set(store) == set(same), step
        if step.rule == "ScopeExit":
            assert [dict(store) for _, store in new] == [dict(store) for _, store in old[:-1]]
        exits[step.rule == "ScopeExit"] += 1

    at_every_step(60, look)
    assert exits[True] > due(1000)


# --------------------------------------------------------------------------------------------------- tasks come and go


@derandomized
@given(
    formats(), st.data(), st.lists(st.sampled_from([(1, 1), (2, 2), (2, 3), (1, 3), (0, 0)]), min_size=1, max_size=3)
)
def test_tasks_that_do_nothing_change_nothing(made, data, numbers):
    """P8, P26: checkout and commit without an update, before, between and after updates and in a phase of their own."""
    form, fill = made
    array = data.draw(arrays(rank_of(form), fill, 3))
    plain, visited = ByHand(tower(form, *array.shape)), ByHand(tower(form, *array.shape))

    def visits() -> None:
        for dev, far in numbers:
            visited.task = member(dev=dev, far=far)
            visited.whole("checkout", "commit")
        visited.task = plain.task

    elements = elements_of(array, plain.tower.fill)
    for h in (plain, visited):
        h.whole("declare")
        if h is visited:
            visits()
        h.whole("checkout").update_all(elements).whole("commit")
        if h is visited:
            visits()
        h.whole("freeze")
    assert visited.elements() == plain.elements() and broken(visited) == []
    visited.op = "max" if plain.tower.kind != "bool" else "="
    if "Merge" not in form:
        visited.whole("thaw")
        visits()
        visited.whole("freeze")
        assert visited.elements() == plain.elements() and broken(visited) == []


@derandomized
@given(formats(), st.data())
def test_thawing_and_freezing_loses_nothing(made, data):
    """P26: any number of times, whatever lies below or around a Merge, a tensor without a new update stays as it is."""
    form, fill = made
    array = data.draw(arrays(rank_of(form), fill, 3))
    h = ByHand(tower(form, *array.shape)).whole("declare", "checkout")
    h.update_all(elements_of(array, h.tower.fill)).whole("commit", "freeze")
    stored = h.elements()
    for _ in range(3):
        h.whole("thaw", "freeze")
        assert h.elements() == stored and broken(h) == []


# ------------------------------------------------------------------------------------------------------ what is written


WRITTEN = tuple(level for level in STORAGE[1:] if not REGISTRY[level].may_be_empty)
"""Sparse levels that have only the children that were written."""


@st.composite
def masks(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """A format of sparse levels for a matrix, with modifiers that need no device, and which elements are written."""
    form = "Element(0)"
    for _ in range(2):
        inner = wrap_in_modifiers(drawn_by(draw), form, ("Mutex({})", "Isolate({})"), 1)
        form = f"{draw(st.sampled_from(fitting(WRITTEN, inner)))}({inner})"
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return form, draw(arrays(2, "false", shape=shape))


@derandomized
@given(masks())
def test_an_entry_is_there_exactly_if_something_below_was_assigned(made):
    """P27: whatever the value; assigning the fill value, found at run time, counts; an iteration alone does not."""
    form, mask = made
    text = f"C = Tensor({form}, {mask.shape[0]}, {mask.shape[1]})\nM = Tensor(Dense(Dense(Element(false))))\n"
    text += "C .= 0\nz = 0\nfor j = _\nfor i = _\nif M[i, j]\nC[i, j] += z\nend\nend\nend"
    C = api.run(api.parse(text), inputs={"M": mask}, engine="semantics").tensors["C"]
    assert [at for at, _ in C.entries()] == [
        (i + 1, j + 1) for j in range(mask.shape[1]) for i in range(mask.shape[0]) if mask[i, j]
    ]


BELOW = (
    "Dense(Atomic(0))", "Dense(Merge(d, Element(0)))", "Dense(Shard(d, Element(0)))", "Mutex(SparseDict(Element(0)))",
)  # fmt: skip


@pytest.mark.parametrize(("outer", "below"), [
    (outer, below) for below in BELOW for outer in fitting(STORAGE[1:], below) if outer != "RunList"
])  # fmt: skip
def test_tasks_below_a_sparse_level_tell_it_that_they_wrote(outer, below):
    """P27: the flag of the parent's iteration is set by whichever task assigns; by none, and there is no entry."""
    text = f"""
        d = cpu(:d, 2)
        v = Tensor(Dense(Element(0)), [0, 2, 0])
        C = Tensor({outer}({below}), 2, 3)
        C .= 0
        for j = 1:3
            for i = parallel(1:2, d)
                if v[j] == i
                    C[i, j] += 5
                end
            end
        end
        x = 0
        for j = 1:3
            for i = 1:2
                x = x + C[i, j]
            end
        end
    """
    found = explored(text).verdict
    assert (found.verdict, [result.outcome.values()["x"] for result in found.results]) == ("safe", [5])
    C = api.run(api.parse("\n".join(line.strip() for line in text.strip().splitlines())), engine="semantics").tensors[
        "C"
    ]
    assert {at[1] for at, _ in C.entries()} == {2}
