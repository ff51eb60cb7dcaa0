"""Kernels: one plan for all extents gives what the reference gives, and what does not fit is refused clearly."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import wingspan
from proofs_tests.effort import due, few, many
from proofs_tests.places import EXAMPLES
from wingspan import Fault, InputError, Limits, ProgramError, Tensor, Unsafe, WingspanError, api
from wingspan.api.calls import KEPT
from wingspan.comparison import difference, ending
from wingspan.compiled import build
from wingspan.elaborate import Elaborated
from wingspan.elaborate.inputs import fitted
from wingspan.explorer import Search, explore
from wingspan.lang import ir
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native
from wingspan.plan.pipeline import lower
from wingspan.tensors.frozen import Frozen
from wingspan.testing.cases import Case, groups

pytestmark = pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")

NT = {"nt": 2, "sch": "dynamic_schedule(2)"}
REFERENCE = api.engine("reference")
RANDOM = np.random.default_rng(3)


def quarters(*shape: int) -> Any:
    """An array of quarters, two thirds of them zeros: their sums of products are exact."""
    return RANDOM.integers(-6, 7, shape) / 4 * (RANDOM.integers(0, 3, shape) == 0)


class Called:
    """A kernel as an engine to compare with others."""

    name = "kernel"

    def __init__(self, kernel: wingspan.Kernel, given: Mapping[str, Any]) -> None:
        self.kernel, self.given = kernel, given

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """What a call gives, by name."""
        found = self.kernel(**self.given)
        if isinstance(found, tuple):
            return found._asdict()  # type: ignore[attr-defined, no-any-return]
        (name,) = self.kernel.program.tree.returns or program.outputs
        return {name: found}


def agrees(kernel: wingspan.Kernel, program: Any, given: Mapping[str, Any], **binding: Any) -> None:
    """A call gives what the reference does, which is bound to the very arrays; also if it knows no patterns."""
    bound = api.bind(program, inputs=given, **binding)
    plain = copy(kernel)
    plain._entries = None
    engines = [REFERENCE, Called(kernel, given), *([Called(plain, given)] if kernel.same_pattern else [])]
    first, *others = (ending(bound, engine) for engine in engines)
    outputs = [name for name in bound.outputs if name in (kernel.program.tree.returns or bound.outputs)]
    for other in others:
        found = difference(first, other, outputs)
        assert found is None, (found, given)


# ------------------------------------------------------------------------------------------------------- all extents


SHAPES: dict[str, Callable[[int, int, int], dict[str, tuple[int, ...]]]] = {
    "spgemm_gustavson": lambda m, k, n: {"A": (m, k), "B": (k, n)},
    "spmspv": lambda m, k, n: {"A": (m, n), "x": (n,)},
    "spadd": lambda m, k, n: {"A": (m, n), "B": (m, n)},
    "spgemm_outer": lambda m, k, n: {"A": (m, k), "BT": (n, k)},
    "mttkrp_sparse": lambda m, k, n: {"BT": (m, k, n), "C": (m, 3), "D": (k, 3)},
    "mttkrp_rows": lambda m, k, n: {"BT": (m, k, n), "CT": (3, k), "DT": (3, m)},
    "mttkrp_sparse_rows": lambda m, k, n: {"BT": (m, k, n), "CT": (17, k), "DT": (17, m)},
}
"""The shapes of the inputs of each kernel, for three extents."""
NAMES = list(SHAPES)


@pytest.mark.parametrize(("name", "engine"), few(list(product(NAMES, ["compiled", "native"])), 4))
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
def test_workspaces_end_anywhere_in_a_word(name: str, engine: str) -> None:
    """Columns that are full, empty, of few entries and full again; its words of flags end with a workspace or not."""
    path = EXAMPLES / f"{name}.ws"
    kernel = wingspan.compile(path, params=NT, engine=engine)
    for n in (63, 64, 65, 4097):
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


def left_open(case: Case) -> api.Program:
    """The program of a case with the extents of its inputs left open: they come with the inputs."""

    def change(node: Any) -> Any:
        match node:
            case ir.Define(name=name, value=ir.TensorCall() as call) if name in case.inputs:
                return replace(node, value=replace(call, extents=()))
        return node

    return replace(case.program, tree=case.program.tree.map(change))


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


SMALL = """
A = Tensor(Dense(SparseList(Element(0))))
x = Tensor(Dense(Element(0)))
y = Tensor(Dense(%s))
y .= 0
for j = parallel(_, cpu(2))
    for i = _
        y[i] += A[i, j] * x[j]
    end
end
return y
"""


@pytest.mark.parametrize(("leaf", "verdict"), [("Element(0)", "race"), ("Atomic(0)", "safe")])
def test_a_plan_for_all_extents_is_explored_like_one_for_the_extents_at_hand(leaf: str, verdict: str) -> None:
    """The same races, faults and results, in as many interleavings."""
    program = api.parse(SMALL % leaf)
    code = assemble(lower(api.bind(program, symbolic=True)))
    for shape in [(1, 2), (2, 2), (2, 3)]:
        bound = api.bind(program, inputs={"A": np.ones(shape, int), "x": np.arange(1, shape[1] + 1)})
        extents = {"extent 1 of A": shape[0], "extent 2 of A": shape[1]}
        given = code.given({name: extents[name] for name, _ in code.plan.parameters})
        one, other = (explore(machine, Search("graph")) for machine in (Native(given, bound), api.native(bound)))
        assert (one.verdict, one.interleavings) == (other.verdict, other.interleavings)
        assert {result.outcome for result in one.results} == {result.outcome for result in other.results}
        assert {race.cell for race in one.races} == {race.cell for race in other.races}
        assert one.verdict == (verdict if shape[1] > 1 else "safe")


# ------------------------------------------------------------------------------------------------------- what comes out


def test_several_results_come_by_name_and_variables_as_numbers() -> None:
    text = "a = Tensor(Dense(Element(0.0)))\nb = Tensor(Dense(Element(0.0)))\nb .= 0.0\nn = 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    b[i] += a[i]\n    n = i\nend\nh = n / 2"))
    found = kernel(a=[1.0, 2.0, 3.0])
    assert (found.b.to_numpy().tolist(), found.n, found.h, type(found.h)) == ([1.0, 2.0, 3.0], 3, 1.5, float)
    assert found._fields == ("b", "n", "h")


def test_variables_of_inner_scopes_are_no_results() -> None:
    text = "a = Tensor(Dense(Element(0)))\nb = Tensor(Dense(Element(0)))\nb .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    x = a[i] + 1\n    b[i] += x\nend"), engine="native")
    assert repr(kernel) == "<Kernel <program>(a: Dense(Element(0))) → b; native, for all extents>"
    assert kernel(a=[1, 2]).to_numpy().tolist() == [2, 3]


def test_a_result_with_another_fill_value_is_an_input_like_any_other() -> None:
    """Its format says 0, and it was declared with 1, which is what its columns hold that nobody has written."""
    copied = "a = Tensor(Dense(SparseList(Element(0.0))))\nb = Tensor(Dense(SparseList(Element(0.0))))\nb .= %s\n"
    copied += "for j = _\n    for i = _\n        b[i, j] += a[i, j]\n    end\nend\nreturn b"
    ones, zeros = (wingspan.compile(api.parse(copied % z), engine="native") for z in ("1.0", "0.0"))
    first = ones(a=[[0.0, 2.0], [0.0, 0.0]])
    assert first.to_numpy().tolist() == [[1.0, 3.0], [1.0, 1.0]] and first.fill == 1
    assert zeros(a=first).to_numpy().tolist() == [[1.0, 3.0], [1.0, 1.0]]


def test_nothing_is_copied_where_the_arrays_fit() -> None:
    """Neither columns that come from SciPy, nor dense results."""
    A = scipy.sparse.random_array((50, 40), density=0.2, format="csc", rng=1)
    form = api.bind(EXAMPLES / "spadd.ws", params=NT, symbolic=True).towers["A"]
    taken = fitted("A", form, 0, A).data
    assert isinstance(taken, Frozen)
    arrays = {name: stored.values for (_, name, _), stored in taken.arrays.items()}
    for name, source in {"val": A.data, "idx": A.indices, "ptr": A.indptr}.items():
        assert np.shares_memory(arrays[name], source), name
    y = wingspan.compile(api.parse(SMALL % "Atomic(0)"))(A=np.ones((3, 4), int), x=np.arange(4))
    assert np.shares_memory(np.asarray(y), np.asarray(y)) and np.asarray(y).tolist() == [6, 6, 6]


CSC = "Dense(SparseList(Element(0.0)))"


def test_what_a_tensor_is_to_a_kernel_is_found_once() -> None:
    """Tensors that were given before are looked up: so few functions are called, and no array is made of theirs."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    A, B = (Tensor.from_scipy(CSC, scipy.sparse.random_array((20, 20), density=0.2, rng=k)) for k in (1, 2))

    def called() -> int:
        count = 0

        def note(_frame: Any, event: str, _about: Any) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(note)
        try:
            kernel(A=A, B=B)
        finally:
            sys.setprofile(None)
        return count

    first = called()
    assert called() <= 25 < first


def test_arrays_that_their_owner_changes_between_calls_are_read_anew() -> None:
    """Those that C reads where they are, and those of which it gets a copy, in 64 bits here. They are checked anew."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    matrix = scipy.sparse.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int32)
    borrowing = Tensor.from_scipy(CSC, matrix, borrow=True)
    for first in (borrowing, matrix):
        assert kernel(A=first, B=matrix).to_numpy().tolist() == [[2.0, 0.0], [4.0, 6.0]]
        matrix.data[0], matrix.indices[1:], matrix.indptr[1] = 5.0, (0, 1), 1
        assert kernel(A=first, B=matrix).to_numpy().tolist() == [[10.0, 4.0], [0.0, 6.0]]
        matrix.indices[0] = 2
        with pytest.raises(InputError, match="order: an index is out of bounds"):
            kernel(A=first, B=np.ones((2, 2)))
        matrix.data[0], matrix.indices[:], matrix.indptr[1] = 1.0, (0, 1, 1), 2


@pytest.mark.parametrize("engine", ["compiled", "native"])
def test_a_kernel_goes_at_once_when_nobody_has_it(engine: str) -> None:
    """With its memory and address space: there is no need to wait for the garbage collector."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, engine=engine)
    kernel(A=np.eye(3), B=np.eye(3))
    gone: list[weakref.ref[Any]] = [weakref.ref(kernel), weakref.ref(kernel._any)]
    gc.disable()
    try:
        del kernel
        assert [each() for each in gone] == [None, None]
    finally:
        gc.enable()


def test_a_kernel_keeps_no_tensor() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    A = Tensor.from_numpy(CSC, np.eye(3))
    kernel(A=A, B=A)
    gone = weakref.ref(A)
    del A
    gc.collect()
    assert gone() is None


def test_results_outlive_later_calls() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    given = [quarters(30, 20) for _ in range(5)]
    found = [kernel(A=A, B=A) for A in given]
    for A, C in zip(given, found, strict=True):
        assert np.array_equal(C.to_numpy(), 2 * A)


def test_memory_stays_flat() -> None:
    """Over thousands of calls, with extents that go up and down."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    given = [scipy.sparse.csc_array(quarters(n, 3)) for n in (1, 20, 5, 70)]

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    held = 0
    for number in range(many(10_000)):
        if number == many(10_000) // 2:
            held = resident()
        kernel(A=given[number % 4], B=given[number % 4])
    assert resident() - held < 8 << 20


@pytest.mark.deep
def test_many_kernels_live_at_once() -> None:
    """Each has memory of its own, and there is address space for all: once 128 took all that there is."""
    text = SMALL % "Atomic(0)"
    kernels = [wingspan.compile(api.parse(text), engine="native") for _ in range(150)]
    assert {int(kernel(A=np.ones((2, 2), int), x=[1, 2]).to_numpy().sum()) for kernel in kernels} == {6}


def test_python_threads_call_one_kernel_at_once() -> None:
    kernel = wingspan.compile(EXAMPLES / "spgemm_gustavson.ws", params=NT)
    given = [quarters(n, n) for n in (3, 17, 40, 64)]
    wrong: list[str] = []

    def work(A: Any) -> None:
        for _ in range(20):
            if not np.array_equal(kernel(A=A, B=A).to_numpy(), A @ A):
                wrong.append(str(A.shape))

    workers = [threading.Thread(target=work, args=(A,)) for A in given]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


DOT = """
x = Tensor(SparseList(Element(0.0)))
y = Tensor(SparseList(Element(0.0)))
s = Scalar(0.0)
s .= 0.0
z = Tensor(SparseList(Element(0.0)))
z .= 0.0
for i = _
    s[] += x[i] * y[i]
    z[i] = x[i] + y[i]
end
return s, z
"""


@pytest.mark.parametrize("n", few([2**31 + 1, 2**31 - 4, 2**31 - 3, 2**31 - 2, 2**31 - 1, 2**31, 2**40], 2))
def test_extents_beyond_32_bits_get_a_plan_of_their_own(n: int) -> None:
    """Indices are 32 bits wide in the plan for all extents; the last index is where that would show."""
    kernel = wingspan.compile(api.parse(DOT))
    at = [0, 5, n - 2, n - 1]
    pairs = [1.0, 2.0, 4.0, 8.0], [1.0, 0.0, 0.5, 0.25]
    x, y = (scipy.sparse.coo_array((values, (at,)), shape=(n,)) for values in pairs)
    s, z = kernel(x=x, y=y)
    found = z.to_scipy()
    assert (float(np.asarray(s)), found.coords[0].tolist(), found.data.tolist()) == (5.0, at, [2.0, 2.0, 4.5, 8.25])
    small = scipy.sparse.coo_array(([3.0], ([2],)), shape=(4,))
    s, z = kernel(x=small, y=small)
    assert (float(np.asarray(s)), z.to_scipy().coords[0].tolist()) == (9.0, [2])


def test_a_limit_of_memory_is_kept() -> None:
    text = "v = Tensor(Dense(Element(0.0)))\ny = Tensor(Dense(Element(0.0)))\ny .= 0.0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    y[i] += v[i]\nend\nreturn y"))
    given: dict[str, Any] = {"v": np.ones(500_000)}
    with pytest.raises(Fault, match=r"out of memory: the run needs \d+ bytes, which is more than its limit"):
        kernel(**given, limits=replace(Limits(), memory=3_000_000))
    assert kernel(**given).to_numpy().sum() == 500_000


# ------------------------------------------------------------------------------------------------------ what is refused

SPADD = EXAMPLES / "spadd.ws"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"A": np.ones((2, 2))}, r"needs B"),
        ({"A": np.ones((2, 2)), "B": np.ones((2, 2)), "X": 1}, r"takes no input X"),
        (
            {"A": np.ones((2, 2)), "B": np.ones((2, 3))},
            r"axis 2 of B has extent 3, and axis 2 of A has 2: one loop",
        ),
        ({"A": np.ones((2, 2)), "B": np.ones(2)}, r"B has 2 axes, the input 1"),
        ({"A": np.ones((2, 2)), "B": [["x", "y"]]}, r"B: the input has <U1 elements"),
        ({"A": np.ones((2, 2)), "B": np.full((2, 2), 1j)}, r"B: the input has complex128 elements"),
    ],
)
def test_inputs_that_do_not_fit_are_one_clear_error(given: dict[str, Any], message: str) -> None:
    kernel = wingspan.compile(SPADD, params=NT, engine="native")
    with pytest.raises(InputError, match=message):
        kernel(**given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"params": {}}, r"nt and sch have no value"),
        ({"params": {**NT, "x": 1}}, r"the program has no parameter x"),
        ({"params": NT, "engine": "semantics"}, r"there is no engine semantics for kernels"),
        ({"params": NT, "inputs": {"Q": "int"}}, r"has no open input Q"),
        ({"params": NT, "inputs": {"C": "int"}}, r"has no open input C"),
        ({"params": NT, "inputs": {"A": "Dense(Nonsense)"}}, r"Dense takes one format"),
        ({"params": NT, "inputs": {"A": np.array(["a"])}}, r"A: <U1 elements"),
        ({"params": NT, "inputs": {"A": [[1, 2], [3]]}}, r"A: the example is no array"),
    ],
)
def test_options_that_do_not_fit_are_one_clear_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WingspanError, match=message):
        wingspan.compile(SPADD, **options)


def test_a_program_that_is_not_safe_is_refused() -> None:
    with pytest.raises(Unsafe):
        wingspan.compile(api.parse(SMALL % "Element(0)"))


def test_formats_kinds_and_examples_say_what_the_inputs_are_like() -> None:
    dense = wingspan.compile(SPADD, params=NT, inputs={"A": "Dense(Dense(Element(0.0)))"}, engine="native")
    assert dense.inputs == {"A": "Dense(Dense(Element(0.0)))", "B": "Dense(SparseList(Element(0.0)))"}
    example = Tensor.from_numpy("Dense(SparseByteMap(Element(0.0)))", np.ones((2, 3)))
    by_example = wingspan.compile(SPADD, params=NT, inputs={"A": example, "B": np.ones((2, 2), int)}, engine="native")
    assert by_example.inputs == {"A": "Dense(SparseByteMap(Element(0.0)))", "B": "Dense(SparseList(Element(0)))"}
    for kernel in (dense, by_example):
        assert np.array_equal(kernel(A=np.eye(3), B=np.ones((3, 3), int)).to_numpy(), np.eye(3) + 1)


def test_without_a_compiler_the_register_machine_runs_it_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match="there is no C compiler: the register machine runs this"):
        kernel = wingspan.compile(SPADD, params=NT)
    assert kernel.engine == "native" and "native, for all extents" in repr(kernel)
    assert np.array_equal(kernel(A=np.eye(3), B=np.eye(3)).to_numpy(), 2 * np.eye(3))
    with pytest.raises(InputError, match="there is no C"):
        _ = kernel.source


def test_what_depends_on_extents_gets_a_plan_for_each() -> None:
    """The extent of C is that of a subscript of v's index, at most."""
    text = "v = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = 1:3\n    C[2 * i] += v[i]\nend\nreturn C"), engine="native")
    for n in (3, 3, 4, 3):
        assert kernel(v=np.arange(1, n + 1)).to_numpy().tolist() == [0, 1, 0, 2, 0, 3]


@pytest.mark.parametrize("engine", ["compiled", "native"])
@pytest.mark.parametrize("form", ["Dense(Element(0))", "SparseList(Element(0))"])
def test_a_loop_may_pass_the_end_of_an_open_axis(form: str, engine: str) -> None:
    """It ends there in the fault that it ends in under the rules; a longer axis and an equal one are read."""
    text = f"v = Tensor({form})\nc = Tensor(Dense(Element(0)), 5)\nc .= 0\n"
    text += "for i = 1:5\n    c[i] += v[i]\nend\nreturn c"
    kernel = wingspan.compile(api.parse(text), engine=engine)
    assert "for all extents" in repr(kernel)
    for n in (5, 7):
        assert kernel(v=np.arange(1, n + 1)).to_numpy().tolist() == [1, 2, 3, 4, 5]
    for n in (0, 3):
        told = []
        for run in (lambda v: kernel(v=v), lambda v: api.run(api.parse(text), inputs={"v": v}, engine="semantics")):
            with pytest.raises(Fault) as raised:
                run(np.arange(1, n + 1))
            told.append(raised.value.message)
        assert told[0] == told[1] == f"v has the indices 1:{n} on axis 1, got {n + 1}"


def test_extents_that_no_input_has_are_found_call_by_call() -> None:
    """Also if they are many: what is made for some of them is forgotten."""
    text = "v = Tensor(Dense(Element(0)))\nC = Tensor(Dense(Element(0)))\nC .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    C[2 * i] += v[i]\nend\nreturn C"), engine="native")
    assert "for the extents of each call" in repr(kernel)
    with pytest.raises(InputError, match="the plan depends on the extents"):
        _ = kernel.plan
    for n in (1, 3, *range(few_extents := 70), 3):
        assert kernel(v=np.ones(n, int)).to_numpy().tolist() == [0, 1] * n
    assert len(kernel._calls) <= KEPT < few_extents


def test_formats_may_name_devices() -> None:
    sharded = {"A": "Dense(Shard(dev, SparseList(Element(0.0))))"}
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, inputs=sharded, engine="native")
    assert np.array_equal(kernel(A=np.eye(3), B=np.eye(3)).to_numpy(), 2 * np.eye(3))


def test_rounding_up_makes_nothing_too_large() -> None:
    """Positions are numbered up to 2⁶²: so many there are for these extents, and more for the next powers of two."""
    text = "A = Tensor(Dense(Dense(SparseList(Element(0.0)))))\ns = Scalar(0.0)\ns .= 0.0\n"
    loops = "for k = _\n    for j = _\n        for i = _\n            s[] += A[i, j, k]\n"
    kernel = wingspan.compile(api.parse(text + loops + "        end\n    end\nend\nreturn s"), engine="native")
    assert float(np.asarray(kernel(A=np.ones((3, 1, 1))))) == 3.0
    n = 2**20 + 1
    assert kernel._sizes({name: n for name, _ in kernel.plan.parameters})


@pytest.mark.parametrize("e", ["A[i] & 3", "A[i] +% -3"])
def test_an_input_has_the_kind_that_is_given_before_the_program_is_judged(e):
    """By default it would hold doubles, which operators of integers do not take."""
    text = f"C = Tensor(Dense(Element(0)))\nC .= 0\nfor i = _\nC[i] = {e}\nend\nreturn C"
    kernel = api.compile(api.parse(text), inputs={"A": "int"}, engine="native")
    assert kernel(A=np.array([5, 2])).to_numpy().tolist() == ([1, 2] if "&" in e else [2, -1])
    with pytest.raises(ProgramError, match=r"an integer is needed here, and A\[i\] is a double"):
        api.compile(api.parse(text), engine="native")
