"""Kernels: one plan for all extents gives what the reference gives."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.kernels import NAMES, NT, RANDOM, SHAPES, SMALL, agrees, left_open, quarters
from proofs_tests.effort import due, few, many
from proofs_tests.places import EXAMPLES
from wingspan import InputError, WingspanError, api
from wingspan.explorer import Search, explore
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native
from wingspan.plan.pipeline import lower
from wingspan.testing.cases import Case, groups

pytestmark = needs_compiler


@pytest.mark.parametrize(("name", "engine"), few(list(product(NAMES, ["compiled", "native"])), 2))
def test_one_plan_serves_all_extents(name: str, engine: str) -> None:
    """0, 1, lengths about those of vector registers, and more than the threads have chunks; with one C text."""
    path = EXAMPLES / f"{name}.ws"
    kernel = wingspan.compile(path, params=NT, engine=engine)
    source, plan = kernel.source if engine == "compiled" else "", kernel.plan
    for m, k, n in [(0, 0, 0), (1, 1, 1), (1, 0, 3), (3, 4, 0), (7, 8, 9), (16, 17, 15), (2, 40, 33)]:
        agrees(kernel, path, {T: quarters(*shape) for T, shape in SHAPES[name](m, k, n).items()}, params=NT)
    assert kernel.plan is plan and (engine == "native" or kernel.source == source)


def test_inputs_that_only_a_workspace_ties_agree_on_its_extent() -> None:
    """The rank is an axis of both factors, and no loop runs over both. The C has one symbol for it."""
    kernel = wingspan.compile(EXAMPLES / "mttkrp_rows.ws", params=NT)
    ranks = {name for name, _ in kernel.plan.parameters if name.startswith("extent 1 of ")}
    assert ranks == {"extent 1 of BT", "extent 1 of CT"}
    with pytest.raises(InputError, match=r"axis 1 of (CT|DT) has extent .*: one loop runs over both"):
        kernel(BT=quarters(5, 6, 7), CT=quarters(3, 6), DT=quarters(4, 5))


@pytest.mark.parametrize(("name", "engine"), few(list(product(NAMES[:2], ["compiled", "native"])), 1))
@pytest.mark.parametrize("extents", [(63, 64, 65), pytest.param((4097,), marks=pytest.mark.deep)])
def test_workspaces_end_anywhere_in_a_word(name: str, engine: str, extents: tuple[int, ...]) -> None:
    """Columns that are full, empty, of few entries and full again; its words of flags end with a workspace or not."""
    path = EXAMPLES / f"{name}.ws"
    kernel = wingspan.compile(path, params=NT, engine=engine)
    for n in extents:
        A = np.zeros((n, 6))
        A[:, [0, 4]] = RANDOM.integers(1, 5, (n, 2)) / 4
        A[[0, n // 2, n - 1], 2] = A[[0, n - 1], 3] = 0.25
        other = {"B": np.eye(6)} if name == "spgemm_gustavson" else {"x": np.array([0, 1, 0, 2, 0.25, 0])}
        agrees(kernel, path, {"A": A, **other}, params=NT)


FORMS = ["Dense(SparseList({}))", "Dense(SparseDict({}))", "Dense(SparseByteMap({}))", "SparseDict(Dense({}))"]
UPDATES = [("=", "Element", 1.5), ("+=", "Atomic", 0.0)]


@pytest.mark.parametrize(("form", "update"), few(list(product(FORMS, UPDATES)), 3))
def test_memory_of_an_earlier_call_is_not_seen(form: str, update: tuple[str, str, float]) -> None:
    """A large call, then small ones, as by the register machine, which clears its memory; also with nothing stored."""
    op, leaf, z = update
    text = f"""
        C = Tensor({form.format(f"{leaf}({z})")})
        C .= {z}
        for j = _
            for i = _
                C[i, j] {op} A[i, j]
            end
        end
        return C
    """
    program = api.parse(text)
    kernel, cleared = (wingspan.compile(program, engine=engine) for engine in ("compiled", "native"))
    for shape in ((40, 60), (3, 2), (5, 4), (0, 3), (7, 1)):
        A = quarters(*shape)
        assert list(kernel(A=A).entries()) == list(cleared(A=A).entries()), shape


def test_full_and_empty_fibers_and_stored_zeros_are_no_exception() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    full, empty = np.full((9, 8), 0.25), np.zeros((9, 8))
    stored = scipy.sparse.csc_array((np.zeros(3), ([0, 4, 8], [1, 1, 7])), shape=(9, 8))
    for A in (full, empty, stored):
        for B in (full, empty, stored):
            agrees(kernel, EXAMPLES / "spadd.ws", {"A": A, "B": B}, params=NT)


def test_copies_of_several_open_axes_are_compiled() -> None:
    """Each task asks for all cells of its copy at once: as many as extents say that it has been told before."""
    text = "dev = cpu(:dev, 2)\nA = Tensor(Dense(Dense(SparseList(Element(0)))))\n"
    text += "C = Tensor(Merge(dev, Dense(Dense(Element(0)))))\nC .= 0\n"
    loops = "for k = parallel(_, dev)\nfor j = _\nfor i = _\nC[i, j] += A[i, j, k]\nend\nend\nend\nreturn C"
    program = api.parse(text + loops)
    kernel = wingspan.compile(program)
    for shape in ((4, 3, 2), (1, 1, 5), (0, 2, 3)):
        agrees(kernel, program, {"A": RANDOM.integers(-3, 4, shape)})


@pytest.mark.parametrize(("engine", "examples"), few([("native", 320), ("compiled", 32)], 1))
def test_random_safe_programs_mean_the_same_with_their_extents_left_open(engine: str, examples: int) -> None:
    """Programs whose test accepts them for the extents that they are written with only are refused, and left out."""
    runs, kinds = 0, Counter[bool]()

    @settings(max_examples=many(examples), derandomize=True, database=None, deadline=None)
    @given(groups(None, 3))
    def check(group: list[Case]) -> None:
        program = left_open(group[0])
        try:
            kernel = wingspan.compile(program, engine=engine)
        except WingspanError:
            return
        for case in group:
            agrees(kernel, program, case.inputs)
        nonlocal runs
        runs += len(group)
        kinds[kernel._any is not None] += 1

    check()
    assert runs >= due(examples) and kinds[True] >= due(examples // 4), (runs, kinds)


@pytest.mark.parametrize(("leaf", "verdict"), [("Element(0)", "race"), ("Atomic(0)", "safe")])
def test_a_plan_for_all_extents_is_explored_like_one_for_the_extents_at_hand(leaf: str, verdict: str) -> None:
    """The same races, faults and results, in as many interleavings."""
    program = api.parse(SMALL % leaf)
    code = assemble(lower(api.bind(program, symbolic=True)))
    for shape in [(1, 2), (2, 2), (2, 3)]:
        bound = api.bind(program, inputs={"A": np.ones(shape, int), "x": np.arange(1, shape[1] + 1)})
        extents = {"extent 1 of A": shape[0], "extent 2 of A": shape[1]}
        given = code.with_parameters({name: extents[name] for name, _ in code.plan.parameters})
        one, other = (explore(machine, Search("graph")) for machine in (Native(given, bound), api.native(bound)))
        assert (one.verdict, one.interleavings) == (other.verdict, other.interleavings)
        assert {result.outcome for result in one.results} == {result.outcome for result in other.results}
        assert {race.cell for race in one.races} == {race.cell for race in other.races}
        assert one.verdict == (verdict if shape[1] > 1 else "safe")
