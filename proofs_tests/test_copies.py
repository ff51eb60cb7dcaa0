"""Public objects can be pickled and copied, also for another process; a copy is equal, and depends on nobody."""

from __future__ import annotations

import copy
import copyreg
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tblib.pickling_support import pickle_exception, pickle_traceback

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.places import EXAMPLES, ROOT
from wingspan import InputError, ParseError, Tensor, Unsafe, WingspanError
from wingspan.accesses import parse_log
from wingspan.tensors.frozen import Frozen

RACY, SAFE = (EXAMPLES / name for name in ("dependent.ws", "dependent_atomic.ws"))
ENGINES = ["native", pytest.param("compiled", marks=needs_compiler)]
OUT_OF_RANGE = "c = Tensor(Dense(Element(0)), 2); c .= 0; for i = 1:2; c[i + 1] += 1; end"
VARYING = "d = cpu(:d, nt); c = Tensor(Dense(Element(0)), 2); c .= 0; for i = parallel(1:2, d); c[i] += 1; end"


def pickle_with_contexts(thing: Any) -> Any:
    """Copy as `distributed` does, which has tblib pickle exceptions with their tracebacks and contexts."""
    classes: list[type[BaseException]] = [BaseException]
    for each in classes:
        classes += each.__subclasses__()
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    by_class: dict[type, Any] = {TracebackType: pickle_traceback, **dict.fromkeys(classes, pickle_exception)}
    pickler.dispatch_table = copyreg.dispatch_table | by_class
    pickler.dump(thing)
    return pickle.loads(file.getvalue())


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "pickle with contexts": pickle_with_contexts,
    "deepcopy": copy.deepcopy,
}
copied = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


def sums(tower: str, leaf: str = "0.0") -> wingspan.Program:
    """Copies a matrix to a format, and sums its rows."""
    text = f"""
        C = Tensor({tower}, 3, 4)
        r = Tensor(Dense(Element({leaf})), 3)
        C .= {leaf}
        r .= {leaf}
        for j = _
            for i = _
                C[i, j] = A[i, j]
            end
        end
        for j = _
            for i = _
                r[i] += A[i, j]
            end
        end
        return C, r
    """
    return wingspan.parse(text)


MATRIX = np.array([[0, 1.5, 0, 0], [0, 2, 2, 0], [0, 0, -0.0, np.nan]])
FORMATS = [
    "Dense(Dense(Element(0.0)))",
    "Dense(SparseList(Element(0.0)))",
    "SparseList(SparseDict(Element(0.0)))",
    "Dense(SparseByteMap(Element(0.0)))",
    "SparseDict(SparseList(Element(0.0, f32)))",
    "Dense(SparseBand(Element(0.0)))",
    "Dense(SparseBlockList(Element(0.0)))",
    "Dense(SparseRunList(Element(0.0)))",
    "Dense(RunList(Element(0.0)))",
    "SparseCOO(2, Element(0.0))",
    "Dense(Mutex(Dense(Element(0.0))))",
    "Isolate(Dense(SparseDict(Element(0.0))))",
]


def same(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors store the same elements in the same levels."""
    a, b = x.to_coo(), y.to_coo()
    return (
        x.tower == y.tower
        and a.shape == b.shape
        and a.values.dtype == b.values.dtype
        and a.values.tobytes() == b.values.tobytes()
        and np.array_equal(a.subscripts, b.subscripts)
        and str(x) == str(y)
    )


@pytest.mark.parametrize("form", FORMATS)
def test_the_tensor_of_a_run_is_copied_out_of_its_memory(form):
    """In every format; also out of the cells that it has as a dictionary, and twice."""
    run = wingspan.run(sums(form), engine="native", inputs={"A": MATRIX})
    for _ in range(2):
        copies = [(copied(tensor), tensor) for tensor in run.tensors.values() for copied in COPIES.values()]
        assert all(same(one, other) for one, other in copies)
        assert run.tensors["C"].cells is not None


@copied
@pytest.mark.parametrize("engine", ENGINES)
def test_a_kernel_and_its_results_are_copied(copied, engine, monkeypatch):
    """Earlier calls do not matter. Its memory is not copied, and says so without a traceback from a destructor."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    kernel = wingspan.compile(
        sums(FORMATS[1]), engine=engine, inputs={"A": "Dense(SparseList(Element(0.0)))"}, threads=3
    )
    A = sp.csc_array(MATRIX)
    before = kernel(A=A)
    again = copied(kernel)
    assert (again.engine, again.threads, again.inputs, again.returns) == (engine, 3, kernel.inputs, kernel.returns)
    results = copied(before)
    assert results._fields == before._fields == ("C", "r")
    for found in (results, again(A=A), copied(again)(A=A)):
        assert all(same(x, y) for x, y in zip(found, before, strict=True))
    with pytest.raises(TypeError, match="the memory of a run cannot be pickled"):
        copied(before.C.data.arrays._lease)
    assert not unraisable


def test_a_copy_is_nobodys_to_write_and_outlives_the_memory_of_its_run():
    kernel = wingspan.compile(sums(FORMATS[0]), engine="native")
    first = kernel(A=MATRIX)
    copies = copy.deepcopy(first)
    del first
    assert kernel(A=99 * MATRIX).r.to_numpy().tolist()[:2] == [148.5, 396.0]  # in the same memory
    copies.r.to_numpy()[:] = 77
    assert copies.r.to_numpy().tolist()[:2] == [1.5, 4.0]
    assert copies.r.data.is_immutable and not copies.r.data.is_borrowed


@copied
@pytest.mark.parametrize("borrow", [False, True])
def test_a_tensor_of_arrays_is_copied_with_them(copied, borrow):
    matrix = sp.csc_array(MATRIX)
    tensor = Tensor.from_scipy("Dense(SparseList(Element(0.0)))", matrix, borrow=borrow)
    assert isinstance(tensor.data, Frozen) and tensor.nnz == 4 and tensor.data.is_borrowed == borrow
    again = copied(tensor)
    assert same(again, tensor)
    matrix.data[:] = 5
    assert again.to_coo().values[0] == 1.5 and not again.data.is_borrowed


def refused(verb: Callable[[], Any], kind: type[WingspanError]) -> WingspanError:
    with pytest.raises(kind) as raised:
        verb()
    return raised.value


def faulted(text: str, engine: str, **inputs: Any) -> WingspanError:
    program = wingspan.parse(text)
    return refused(lambda: wingspan.run(program, engine=engine, inputs=inputs), WingspanError)


THINGS: dict[str, Callable[[], Any]] = {
    "check": lambda: wingspan.check(RACY),
    "explore": lambda: wingspan.explore(RACY),
    "verdict": lambda: wingspan.explore(RACY).verdict,
    "deadlock": lambda: wingspan.explore(wingspan.parse("""
        a = Tensor(Mutex(Dense(Element(0))), 1)
        a .= 0
        for i = _
            a[i] += 1
            for j = parallel(_)
                a[j] += 1
            end
        end""")),
    "diff": lambda: wingspan.diff(SAFE),
    "stress": lambda: wingspan.stress(SAFE, runs=3),
    "replay": lambda: wingspan.replay(RACY, "1,2*2,1"),
    "plan replay": lambda: wingspan.replay(RACY, "1,2*2,1", machine="native"),
    "judge": lambda: wingspan.judge(parse_log("1 write c[3]\n2 write c[3]"), RACY),
    "parallelize": lambda: wingspan.parallelize(SAFE),
    "sweep": lambda: wingspan.sweep(wingspan.check, wingspan.parse(VARYING), params={"nt": [1, 2]}),
    "program": lambda: wingspan.load(RACY),
    "bound": lambda: wingspan.bind(RACY),
    "function": lambda: wingspan.function("f(x, y) = x + y", commutative=True),
    "limits": lambda: wingspan.Limits(memory=2**30),
    "search": lambda: wingspan.Search(max_states=3),
    "lazy": lambda: wingspan.lazy(np.eye(2)) + 1.0,
    "computed": lambda: wingspan.einsum("C[i] += A[i, j]", A=np.eye(2)),
    "syntax": lambda: refused(lambda: wingspan.parse("for i ="), ParseError),
    "mistakes": lambda: refused(lambda: wingspan.bind(wingspan.parse("x = a; y = b + z")), WingspanError),
    "input": lambda: refused(lambda: wingspan.load("none.ws"), InputError),
    "unsafe": lambda: refused(lambda: wingspan.run(RACY, engine="native"), Unsafe),
    "fault": lambda: faulted(OUT_OF_RANGE, "native"),
    "fault of a run": lambda: faulted(OUT_OF_RANGE, "semantics"),
}  # fmt: skip


def shown(thing: Any) -> str:
    """All that there is to see of it."""
    if isinstance(thing, WingspanError):
        return f"{type(thing).__name__} {thing.render()} {thing.to_json()} {getattr(thing, 'incident', None)}"
    if isinstance(thing, wingspan.Replay):
        steps = [(step.task, step.rule, step.footprint) for step in thing]
        return f"{steps} {thing.end} {thing.mismatch} {thing.program is None}"
    return f"{type(thing).__name__} {thing} {thing!r}"


@pytest.mark.parametrize("name", THINGS)
def test_what_is_public_is_copied(name):
    thing = THINGS[name]()
    copies = [copied(thing) for copied in COPIES.values()]
    assert [type(again) for again in copies] == [type(thing)] * len(copies)
    assert [shown(again) for again in copies] == [shown(thing)] * len(copies)


ELSEWHERE = """
import json, pickle, sys
import numpy as np
from proofs_tests.test_copies import MATRIX, shown
*things, kernel = pickle.load(sys.stdin.buffer)
print(json.dumps([shown(thing) for thing in (*things, kernel(A=MATRIX))]))
"""


def test_another_process_sees_the_same():
    """One with other hashes of strings, as those that `multiprocessing` spawns, and the workers of Dask."""
    kernel = wingspan.compile(sums(FORMATS[2]), engine="native")
    things = [THINGS[name]() for name in THINGS]
    sent = pickle.dumps([*things, kernel])
    made = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=sent, capture_output=True, cwd=ROOT, timeout=100,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr.decode()
    assert json.loads(made.stdout) == [shown(thing) for thing in (*things, kernel(A=MATRIX))]
