"""Parallel loops of the buffer language: the operations that bring copies together really are parallel.

Their iterations touch no cell that another one writes; on threads they give what the rules give; and all of them
together do work that is proportional to what is stored, however large the extents are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few, many
from proofs_tests.levels.test_coalesce import Updates, devices, points, updates
from proofs_tests.printed_c import PrintedC
from proofs_tests.towers import ByHand, broken, member, tower
from wingspan import api
from wingspan.buffers import procedures, staging
from wingspan.buffers.frames import Cell, Frame, LinearCode, advance
from wingspan.buffers.linear import _Linearizer
from wingspan.buffers.ops import Each, Stmt
from wingspan.elaborate.opening import open_program
from wingspan.levels import REGISTRY
from wingspan.native.prepared import code_of
from wingspan.plan.ir import Par, walk
from wingspan.plan.pipeline import lower
from wingspan.testing import compare
from wingspan.testing.formats import MERGED, rank_of
from wingspan.testing.left_open import LeftOpen

derandomized = settings(
    derandomize=True,
    deadline=None,
    max_examples=many(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

FORMS = [
    "Element({0})",
    "Dense(Atomic({0}))",
    "SparseList(Element({0}))",
    "SparseDict(Mutex(Element({0})))",
    "Dense(SparseList(Element({0})))",
    "SparseList(SparseDict(Element({0})))",
    "SparseDict(SparseDict(Element({0})))",
    "SparseByteMap(Dense(Element({0})))",
    "SparseDict(Isolate(SparseByteMap(Element({0}))))",
    "SparseDict(Merge(far, SparseList(Element({0}))))",
    "SparseDict(Shard(far, SparseDict(Element({0}))))",
    "SparseRunList(Element({0}))",
    "Dense(RunList(Element({0})))",
    "RunList(Dense(Mutex(Element({0}))))",
    "SparseDict(SparseBlockList(Element({0})))",
    "SparseBlockList(SparseRunList(Atomic({0})))",
]
"""Formats of copies, with room for a fill value."""


@pytest.fixture(params=[1, 3], ids="grain {}".format)
def grain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Pieces of so many entries, so that a few make several, and two are worth a thread."""
    staged = procedures.whole_tensor_code, procedures.transfer, procedures.leave, procedures.close
    for cached in staged:
        cached.cache_clear()
    monkeypatch.setattr(staging, "GRAIN", request.param)
    yield request.param
    for cached in staged:
        cached.cache_clear()


# -------------------------------------------------------------------------------------------------------- independence


class Marked(_Linearizer):
    """Lays a procedure out, and keeps where its parallel loops are: the first instruction, the end, the counter."""

    def __init__(self, code: LinearCode) -> None:
        self.loops: list[tuple[int, int, int]] = []
        super().__init__(code.procedure, code.tower)

    def statement(self, s: Stmt) -> None:
        begin = len(self.instructions)
        super().statement(s)
        if isinstance(s, Each):
            self.loops.append((begin, len(self.instructions), self.slot(s.reg)))


class Watched(ByHand):
    """Finds cells that an iteration of a parallel loop writes and another one touches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conflicts: set[str] = set()
        self.iterations = 0

    def run(self, code: LinearCode, instance: Any = (), **inputs: Any) -> Frame:
        marked = Marked(code)
        frame, self.loop, self.iteration = self.begin(marked.code, instance, **inputs), None, 0
        while not frame.has_ended:
            loop = next((each for each in marked.loops if each[0] <= frame.pc < each[1]), None)
            if loop is None or loop != self.loop:
                self.touched: dict[Cell, dict[int, bool]] = {}
            self.loop, before = loop, self.iteration
            self.iteration = frame.registers[loop[2]] if loop else 0
            self.iterations += loop is not None and self.iteration > before > 0
            frame = advance(frame, self)
        return frame

    def touch(self, cell: Cell, writes: bool) -> None:
        if self.loop is None:
            return
        by = self.touched.setdefault(cell, {})
        by[self.iteration] = by.get(self.iteration, False) or writes
        if len(by) > 1 and any(by.values()):
            self.conflicts.add(f"{cell} in iterations {sorted(by)}")

    def load(self, cell, position, index):
        self.touch(cell, False)
        return super().load(cell, position, index)

    def store(self, cell, value, position, index):
        self.touch(cell, True)
        super().store(cell, value, position, index)

    def update(self, cell, change, position, index, effect):
        self.touch(cell, True)
        super().update(cell, change, position, index, effect)


@derandomized
@given(case=updates(), threads=st.integers(3, 5))
def test_iterations_are_independent(grain: int, case: Updates, threads: int) -> None:
    """No iteration of a parallel loop touches a cell that another one writes, whatever is brought together."""
    run = case.run(threads=threads, by=Watched)
    assert isinstance(run, Watched)
    assert not run.conflicts, run.conflicts


def test_bringing_points_together_is_independent(grain: int) -> None:
    """As above, for points, which hold little of what is drawn."""
    run = points(((2, 1), (3, 3)), ((2, 1),), ((1, 2), (3, 3))).run(by=Watched)
    assert isinstance(run, Watched)
    assert run.iterations and not run.conflicts, run.conflicts


STRETCHED = [name for name in MERGED if REGISTRY[name].stretch]


@settings(derandomized, max_examples=many(1600))
@given(data=st.data())
def test_stretches_of_all_lengths_are_brought_together(grain: int, data: st.DataObject) -> None:
    """Iterations are independent, the sum is right, and its stretches are as long as can be, whatever the copies hold:
    in two columns, next to each other, apart, begun in one copy and ended in another one.
    """
    name = data.draw(st.sampled_from(STRETCHED))
    copies = data.draw(st.lists(stretched(9), min_size=1, max_size=4))
    h = Watched(tower(f"Merge(dev, Dense({name}(Element(0))))", 9, 2, devices=devices(len(copies))), op="+")
    h.whole("declare")
    for t, columns in enumerate(copies, 1):
        h.task = member(dev=t)
        h.whole("checkout").update_all({at: v for at, v in np.ndenumerate(columns) if v}).whole("commit")
    h.whole("freeze")
    assert not h.conflicts, h.conflicts
    assert h.tensor().to_numpy().tolist() == np.sum(copies, axis=0)[1:, 1:].tolist() and broken(h) == []


@st.composite
def stretched(draw: st.DrawFn, n: int) -> np.ndarray:
    """Two columns of stretches, counted from 1."""
    columns = np.zeros((n + 1, 3), dtype=int)
    for column in (1, 2):
        ends = draw(st.lists(st.integers(1, n + 1), max_size=4).map(sorted))
        for first, end in pairwise(ends):
            columns[first:end, column] = draw(st.integers(0, 2))
    return columns


SIZES = {
    "all in one copy": lambda k: {1: range(9 * k)},
    "the same in all": lambda k: dict.fromkeys((1, 2, 3), range(3 * k)),
    "one after the other": lambda k: {t: range(3 * k * (t - 1), 3 * k * t) for t in (1, 2, 3)},
    "one by one in turns": lambda k: {t: range(t - 1, 9 * k, 3) for t in (1, 2, 3)},
    "one huge and one small": lambda k: {1: range(9 * k), 3: range(4, 5)},
    "nothing": lambda k: {},
}
"""For each thread the numbers of the elements that it writes."""


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("form", few(FORMS, 2))
def test_pieces_of_all_sizes_are_independent(grain: int, form: str, sizes: str) -> None:
    """As above, for copies that are of one size, or not, and the sum is right; there is something to deal."""
    n = {0: 1, 1: 24, 2: 5}[rank_of(form)]
    h = Watched(tower(f"Merge(dev, {form.format(0)})", *[n] * rank_of(form), devices=devices(5)), op="+")
    h.whole("declare")
    expected: dict[tuple[int, ...], int] = {}
    for t, numbers in SIZES[sizes](2).items():
        h.task = member(dev=t, far=t)
        mine = {tuple(k // n**d % n + 1 for d in range(rank_of(form))): k + t for k in numbers}
        h.whole("checkout").update_all(mine).whole("commit")
        for at, value in mine.items():
            expected[at] = expected.get(at, 0) + value
    h.whole("freeze")
    assert not h.conflicts, h.conflicts
    assert {at: v for at, v in h.elements().items() if v} == expected and broken(h) == []
    assert h.iterations > 0 or sizes in ("nothing", "all in one copy") or rank_of(form) == 0


# ------------------------------------------------------------------------------------------------------------- threads

SCHEDULES = ("static_schedule()", "dynamic_schedule(1)")


def merged(form: str, threads: int, schedule: str) -> Any:
    """A program whose tasks write what overlaps, each once if they are dealt so; bound."""
    at = ", ".join("ij"[: rank_of(form)])
    lines = ["dev = cpu(:dev, nt)", f"C = Tensor(Merge(dev, {form.format(0)}){', 6' * rank_of(form)})", "C .= 0"]
    lines += ["for k = parallel(_, dev, sch)", *(f"for {index} = _" for index in at.split(", ")[::-1] if index)]
    lines += [f"C[{at}] += A[{at}{', ' if at else ''}k]", *["end"] * (rank_of(form) + 1), "return C"]
    shape = (*[6] * rank_of(form), threads)
    A = np.random.default_rng(threads).integers(-6, 7, shape) * np.random.default_rng(7).integers(0, 2, shape)
    return api.bind(api.parse("\n".join(lines)), inputs={"A": A}, params={"nt": threads, "sch": schedule})


ONE_DEVICE = [form for form in FORMS if "far" not in form]


@pytest.mark.parametrize(("form", "threads"), few(list(product(ONE_DEVICE, (4, 1, 2))), 3))
def test_threads_agree(grain: int, form: str, threads: int) -> None:
    """The same result as the reference's on threads that share every loop of two iterations, and on the machine.

    Where the number of threads is left open, one thread is one task of a region, too.
    """
    once = any(level.once for level in tower(form.format(0), *[6] * rank_of(form)).levels)
    for schedule in SCHEDULES[: 1 if once else 2]:
        bound = merged(form, threads, schedule)
        regions = [s for s in walk(code_of(bound).plan.body) if isinstance(s, Par)]
        assert any(s.count is not None for s in regions) == (threads > 1)
        plan = lower(open_program(bound))
        assert {s.count for s in walk(plan.body) if isinstance(s, Par)} - {reg for _, reg in plan.parameters}
        engines = [*map(api.engine, ("reference", "native-controlled")), *[api.engine("native"), LeftOpen()] * many(3)]
        compared = compare(bound, engines)
        assert compared.difference is None, compared.difference


@needs_compiler
@pytest.mark.parametrize("form", few(["SparseList(SparseDict(Element({0})))", "Dense(Atomic({0}))"], 1))
def test_printed_c_agrees(grain: int, form: str) -> None:
    """The same in printed C, on three threads."""
    engines = [api.engine("reference"), PrintedC(("-O0", "-Wall", "-Wextra"))]
    compared = compare(merged(form, 3, SCHEDULES[0]), engines)
    assert compared.difference is None, compared.difference


def test_tasks_of_the_device_do_not_start_it_again() -> None:
    """A loop of a level is serial if a task of the Merge's device freezes it, or a machine explores."""
    text = """
    dev = cpu(:dev, 3)
    C = Tensor(Dense(Isolate(Merge(dev, Dense(Element(0))))), 5000, 3)
    C .= 0
    {head}
    return C
    """
    inside = "for j = parallel(1:3, dev)\nfor i = 1:5000\nC[i, j] += 1\nend\nend"
    outside = "for j = 1:3\nfor i = parallel(1:5000, dev)\nC[i, j] += 1\nend\nend"
    for loops, expected in (inside, False), (outside, True):
        bound = api.bind(api.parse(text.format(head=loops)))
        for dealt in (True, False):
            regions = [s for s in walk(code_of(bound, dealt).plan.body) if isinstance(s, Par)]
            assert any(s.count is not None for s in regions) == (expected and dealt)
            plan = lower(open_program(bound), dealt)
            counts = {s.count for s in walk(plan.body) if isinstance(s, Par)}
            assert bool(counts - {reg for _, reg in plan.parameters}) == (expected and dealt)


# ---------------------------------------------------------------------------------------------------------------- work


@pytest.mark.parametrize("form", ["SparseDict({})", "SparseList(SparseList({}))", "SparseDict(SparseDict({}))"])
def test_work_is_proportional_to_what_is_stored(form: str) -> None:
    """Four times the entries, four times the accesses, in extents of 10⁹, and few of them for each entry."""
    extents = [10**9] * rank_of(form)

    def accesses(entries: int) -> int:
        rng = np.random.default_rng(entries)
        h = ByHand(tower(f"Merge(dev, {form.format('Element(0)')})", *extents), op="+").whole("declare")
        for t in (1, 2):
            h.task = member(dev=t)
            drawn = rng.integers(1, 10**9, (entries, len(extents)), endpoint=True).tolist()
            h.whole("checkout").update_all({tuple(at): 1 for at in drawn}).whole("commit")
        h.log.clear()
        h.whole("freeze")
        return len(h.log)

    few, many = accesses(50), accesses(200)
    assert many < 4.4 * few and few < 100 * 50 * len(extents)
