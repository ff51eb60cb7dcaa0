"""Programs on threads under a checker of memory or of threads: `make tsan`, `make asan`, `make leaks`.

The extension is built with the checker's instrumentation, its runtime is loaded before the interpreter, and a process
of its own runs the programs, which were compiled outside: under Valgrind, that would take an hour. What the checker
writes while a program runs is that program's report.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import scipy.sparse

from proofs_tests.places import ROOT
from proofs_tests.stretched import KERNELS, bound
from proofs_tests.updates import FAR, OPERATORS, ROWS, updates
from wingspan import api
from wingspan.base.errors import Fault, WingspanError
from wingspan.buffers import staging
from wingspan.buffers.stored import Stored
from wingspan.elaborate import Elaborated
from wingspan.elaborate.opening import open_program
from wingspan.explorer.machine import Machine
from wingspan.explorer.states import States
from wingspan.lang import ir
from wingspan.levels.registry import REGISTRY
from wingspan.native import _engine
from wingspan.native.assemble import assemble
from wingspan.native.code import RegisterCode
from wingspan.native.engine import NativeEngine
from wingspan.native.prepared import code_of
from wingspan.plan.pipeline import lower
from wingspan.runtime import _memory
from wingspan.runtime.lease import Limits
from wingspan.runtime.memory import buffers
from wingspan.tensors.frozen import Key
from wingspan.testing import campaign
from wingspan.testing.cases import WIDER, safe_programs

EXAMPLES = ROOT / "examples"
MARK = "=== "
"""Begins the line that says which program comes next."""
LIMITS = Limits(memory=2**28, reservation=2**26)
"""The limits of a run: ThreadSanitizer has address space for some 20 buffers of the usual reservation."""


# ----------------------------------------------------------------------------------------------------------- programs


def matrix(rows: int, columns: int, seed: int, kind: type = np.float64) -> Any:
    """A sparse matrix of small numbers that doubles sum exactly."""
    rng = np.random.default_rng(seed)
    return scipy.sparse.csc_array(
        (rng.integers(1, 4, (rows, columns)) * (rng.random((rows, columns)) < 0.2)).astype(kind)
    )


def runs(length: int, seed: int) -> np.ndarray:
    """A vector of numbers from 0 to 255, most of them as the one before."""
    return np.repeat(np.random.default_rng(seed).integers(0, 256, length // 5), 5)


A, B = matrix(40, 40, 1), matrix(40, 40, 2)
CUBE = matrix(8, 64, 3).toarray().reshape(8, 8, 8)
INPUTS: dict[str, dict[str, Any]] = {
    "floyd_warshall": {"W": matrix(12, 12, 6).toarray()},
    "gauss_seidel": {"b": runs(300, 7).astype(np.float64)},
    "jacobi": {"b": runs(300, 7).astype(np.float64)},
    "prefix_sum": {"A": A},
    "hadamard": {"A": A, "B": B},
    "histogram": {name: runs(300, seed) for seed, name in enumerate("RGB")},
    "inner_nested": {"A": A.toarray(), "B": B.toarray()},
    "mttkrp_dense": {"B": CUBE, "C": matrix(8, 8, 4).toarray(), "D": matrix(8, 8, 5).toarray()},
    "mttkrp_rows": {"BT": CUBE, "CT": matrix(8, 8, 4).toarray(), "DT": matrix(8, 8, 5).toarray()},
    "mttkrp_sparse": {"BT": CUBE, "C": matrix(8, 8, 4), "D": matrix(8, 8, 5)},
    "mttkrp_sparse_rows": {"BT": CUBE, "CT": matrix(8, 8, 4), "DT": matrix(8, 8, 5)},
    "spadd": {"A": A, "B": B},
    "spgemm_gustavson": {"A": A, "B": B},
    "spgemm_inner": {"AT": A, "B": B},
    "spgemm_nested": {"A": A, "B": B},
    "spgemm_outer": {"A": A, "BT": B},
    "spmspv": {"A": A, "x": B.toarray()[:, 0]},
    "stencil": {"x": runs(300, 5)},
    "stencil_2d": {"X": A},
    "structured_add": {name: runs(800, seed).reshape(40, 20) for seed, name in enumerate("AB")},
}
"""For each example the arrays that it needs."""

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.ws"))}
CONSTRUCTORS = {"Tensor", "ShortCircuitScalar", *REGISTRY}
RUNNABLE = [name for name, text in TEXTS.items() if set(re.findall(r"\b([A-Z]\w+)\(", text)) <= CONSTRUCTORS]
RACY = [name for name in RUNNABLE if name.startswith("quiz_") or name in {"dependent", "sum"}]
SAFE = [name for name in RUNNABLE if name not in RACY]


def bindings(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ways to run an example: on 2 and 4 threads, chunks being dealt before and while it runs."""
    inputs, sizes = INPUTS.get(name, {}), {"n": 256} if name == "histogram" else {}
    if re.search(r"\bnt\b", TEXTS[name]):
        for threads in (2, 4):
            for schedule in ("static_schedule()", "dynamic_schedule(1)"):
                yield f" {threads} {schedule}", {"inputs": inputs, "params": {"nt": threads, "sch": schedule, **sizes}}
    else:
        for threads in (2, 4):
            yield f" {threads}", {"inputs": inputs, "threads": threads}


@dataclass(frozen=True)
class Ready:
    """A compiled program with its inputs, and whether it may end in a fault."""

    label: str
    code: RegisterCode
    inputs: Mapping[str, Mapping[Key, Stored]]
    faulty: bool

    def run(self, times: int) -> None:
        """Run it and look at what it made."""
        print(f"{MARK}{self.label}", file=sys.stderr, flush=True)
        engine = NativeEngine(self.code)
        given = [engine.inputs.from_arrays(name, arrays) for name, arrays in self.inputs.items()]
        for _ in range(times):
            with suppress(WingspanError) if self.faulty else nullcontext():
                results = engine.run(given, limits=LIMITS)
                for name in self.code.plan.outputs:
                    dict(results.arrays(name))


def ready(label: str, bound: Elaborated, *, faulty: bool = False) -> Ready:
    """A bound program, compiled."""
    return Ready(label, code_of(bound), {name: buffers(name, tensor) for name, tensor in bound.inputs.items()}, faulty)


def examples(names: Sequence[str], *, faulty: bool = False) -> Iterator[Ready]:
    """These examples, to be run in all ways."""
    for name in names:
        for label, binding in bindings(name):
            yield ready(name + label, api.bind(EXAMPLES / f"{name}.ws", **binding), faulty=faulty)


class Keep:
    """An engine that keeps what it runs."""

    name = "native"
    nonfinite = True

    def __init__(self) -> None:
        self.kept: list[Ready] = []

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The results of the engine `native`."""
        label = f"random program {len(self.kept) + 1}"
        try:
            made = api.engine(self.name).run(program, inputs)
        except Fault:
            self.kept.append(ready(label, program, faulty=True))
            raise
        self.kept.append(ready(label, program))
        return made


MERGED = ("Dense(SparseList(Element(0.0)))", "SparseDict(SparseDict(Element(0.0)))", "SparseByteMap(Element(0.0))")
COPIES = """
dev = cpu(:dev, 4)
C = Tensor(Merge(dev, {form}))
C .= 0
for k = parallel(1:4, dev)
    {loops}
end
return C
"""


def merging() -> Iterator[Ready]:
    """Copies that all hold some elements: threads share the work of bringing them together."""
    for form in MERGED:
        axes = "ij"[: form.count("Dense") + form.count("Sparse")]
        at = ", ".join(axes)
        loops = "\n".join([*(f"for {i} = _" for i in reversed(axes)), f"C[{at}] += A[{at}]", *["end"] * len(axes)])
        given = A if len(axes) == 2 else A.toarray().sum(1)
        bound = api.bind(api.parse(COPIES.format(form=form, loops=loops)), inputs={"A": given})
        yield ready(f"copies of {form}", bound)


def left_open() -> Iterator[Ready]:
    """The examples with inputs again, by the plans that kernels have, with what these leave open given here."""
    for name in (name for name in SAFE if name in INPUTS):
        for label, binding in bindings(name):
            path = EXAMPLES / f"{name}.ws"
            bound = api.bind(path, **binding)
            any_ = open_program(api.bind(path, **{**binding, "inputs": {}}, symbolic=True))
            shapes = ((any_.extents[T], tower.shape) for T, tower in bound.towers.items())
            pairs = (pair for shape in shapes for pair in zip(*shape, strict=True))
            extents = {e.name: n for e, n in pairs if isinstance(e, ir.Variable)}
            inputs = {T: buffers(T, tensor) for T, tensor in bound.inputs.items()}
            code = assemble(lower(any_)).with_parameters({**extents, **any_.numbers})
            yield Ready(f"{name}{label}, left open", code, inputs, False)


def kernels() -> Iterator[Ready]:
    """The kernels over runs, blocks, bands and intervals."""
    return (ready(name, bound(kernel, 12, 2)) for name, kernel in KERNELS.items())


IN_PLACE = """
dev = cpu(:dev, 4)
a = Tensor(Dense({leaf}), 3)
c = Tensor(Dense(Element(0)), 60)
a .= 0
c .= 0
for i = parallel(1:60, dev)
    a[i % 3 + 1] += 1
    c[i] = a[(i + 1) % 3 + 1]
end
return a, c
"""


def updating() -> Iterator[Ready]:
    """Updates of shared elements by every operator, also of elements that tasks read, and staggered buffers."""
    for leaf in ("Atomic(0)", "Mutex(Element(0))"):
        yield ready(f"{leaf} read while it is updated", api.bind(api.parse(IN_PLACE.format(leaf=leaf))))
    for kind in OPERATORS:
        bound = api.bind(api.parse(updates(kind)), inputs={"A": matrix(ROWS, ROWS, 1, np.int64)})
        yield ready(f"updates of {kind}", bound)
    yield ready("buffers far apart", api.bind(api.parse(FAR)))


def safe(random: int = 100) -> Iterator[Ready]:
    """The safe examples, merges, updates, kernels over runs and blocks, and random programs that the test accepts.

    Threads are started for the smallest pieces of what levels do, not only where that pays.
    """
    staging.GRAIN = 1
    yield from merging()
    yield from updating()
    yield from kernels()
    yield from examples(SAFE)
    yield from left_open()
    keep = Keep()
    for programs in (None, safe_programs(WIDER)):
        print(campaign(["reference"], [keep], programs=programs, examples=random, threads=(2, 4), dealt=4))
    yield from keep.kept


def racy() -> Iterator[Ready]:
    """The examples that go wrong."""
    return examples(RACY, faulty=True)


def spoiled() -> Iterator[Ready]:
    """Safe programs whose inputs somebody spoils after they were looked at: all tasks stay within their buffers.

    One combination is left out: it faults nowhere, and its inner loop goes round 2³¹ times.
    """
    for name in ("spadd", "spgemm_gustavson", "spgemm_outer", "hadamard"):
        for array, value in product(("indices", "indptr"), (-1, 0, 41, 10**4, -(2**31), 2**31 - 1)):
            if (name, array, value) == ("spgemm_outer", "indptr", 2**31 - 1):
                continue
            inputs = {key: matrix(40, 40, seed) for seed, key in enumerate(INPUTS[name])}
            bound = api.bind(EXAMPLES / f"{name}.ws", inputs=inputs, params={"nt": 4, "sch": "dynamic_schedule(1)"})
            made = ready(f"{name} with {value} in its {array}", bound, faulty=True)
            for one in inputs.values():
                getattr(one, array)[7] = value
            yield made


@dataclass(frozen=True)
class Refused(Ready):
    """A program to which the system refuses what the engine asks for, one thing after the other: see failing.h."""

    def run(self, times: int) -> None:
        """Run it until nothing is refused any more. Each run ends well, or in one Fault; and the next one well."""
        print(f"{MARK}{self.label}", file=sys.stderr, flush=True)
        for module in (_memory, _engine):
            self.refuse(ctypes.CDLL(module.__file__))

    def refuse(self, library: ctypes.CDLL) -> None:
        """The same for what functions of one library ask for."""
        at, on, count = (ctypes.c_long.in_dll(library, f"failing_{name}") for name in ("at", "on", "count"))
        for on.value in (1, 0):
            for n in range(1, 10_000):
                _memory.dismiss()
                engine = NativeEngine(self.code)
                given = [engine.inputs.from_arrays(name, arrays) for name, arrays in self.inputs.items()]
                count.value, at.value = 0, n
                try:
                    results = engine.run(given, limits=LIMITS)
                    for name in self.code.plan.outputs:
                        dict(results.arrays(name))
                except Fault as fault:
                    if not re.search("out of memory: |the system cannot start ", fault.message):
                        raise
                finally:
                    asked, at.value = count.value, 0
                if asked == 0:
                    raise AssertionError("the engine asks for nothing: it was built without failing.h")
                if asked < n:
                    break
                engine.run(given, limits=LIMITS)


def refused() -> Iterator[Ready]:
    """The safe examples, each in one way."""
    staging.GRAIN = 1
    for one in [*merging(), *(list(examples([name]))[-1] for name in SAFE)]:
        yield Refused(one.label, one.code, one.inputs, faulty=False)


@dataclass(frozen=True)
class Searched:
    """A machine whose states several threads search, in batches from the first edge on."""

    label: str
    machine: Machine[Any]

    def run(self, times: int) -> None:
        """Search all states, or the first ones, by two and by three threads."""
        print(f"{MARK}{self.label}", file=sys.stderr, flush=True)
        for threads in (2, 3) * times:
            states: States[Any] = States(self.machine, max_states=20_000)
            states.threads = threads
            states.search(partial(self.flood, states))

    @staticmethod
    def flood(states: States[Any]) -> None:
        """Follow all edges in batches."""
        assert states.walker is not None
        states.walker.least = 1
        states.flood()


def searched() -> Iterator[Searched]:
    """The examples without inputs, and a counter, as both machines explore them."""
    counter = "c = Scalar(0)\nc[] = 0\nfor i = parallel(1:6)\n    c[] += 1\nend"
    bounds = {name: api.bind(EXAMPLES / f"{name}.ws") for name in RUNNABLE if name.startswith("quiz_")}
    for name, one in {**bounds, "increments": api.bind(api.parse(counter), threads=6)}.items():
        for machine in api.MACHINES:
            yield Searched(f"{name} on {machine}", api.machine_of(one, machine))


PARTS = {"safe": safe, "racy": racy, "spoiled": spoiled, "refused": refused, "searched": searched}


# ------------------------------------------------------------------------------------------------------------ checkers


@dataclass(frozen=True)
class Checker:
    """A checker: the command that it runs the interpreter by, its environment, how a report begins, and what runs."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    report: str
    parts: Mapping[str, int]
    """the programs to run, and how often each"""


def runtime(name: str) -> str:
    """The path of the compiler's runtime of a sanitizer."""
    said = subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True)
    return str(Path(said.stdout.strip()).resolve())


def checker(name: str) -> Checker:
    """The checker named `name`, one of tsan, asan and leaks."""
    fixed = ("setarch", platform.machine(), "-R")
    match name:
        case "tsan":
            files = f"suppressions={ROOT}/proofs_tests/tsan_suppressions.txt"
            options = f"{files}:suppress_equal_stacks=0:suppress_equal_addresses=0:exitcode=0"
            environment = {"LD_PRELOAD": runtime("tsan"), "TSAN_OPTIONS": options}
            return Checker(fixed, environment, r"WARNING: ThreadSanitizer", {"safe": 10, "racy": 40, "searched": 1})
        case "asan":
            environment = {
                "LD_PRELOAD": f"{runtime('asan')} {runtime('ubsan')}",
                "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",  # leaks, of the interpreter's too, are for valgrind
                "UBSAN_OPTIONS": "print_stacktrace=1",
                "PYTHONMALLOC": "malloc",
            }
            report = r"ERROR: AddressSanitizer|runtime error:"
            parts = {"safe": 10, "racy": 10, "spoiled": 10, "refused": 1, "searched": 1}
            return Checker(fixed, environment, report, parts)
        case "leaks":
            valgrind = (
                "valgrind",
                "--quiet",
                "--undef-value-errors=no",  # these are no leaks
                "--leak-check=full",
                "--show-leak-kinds=definite,indirect,possible",
                "--num-callers=6",
            )
            allocated = (
                r"are (?:definitely|indirectly|possibly) lost.*\n.*(?:alloc|mmap) .*\n.*: (?:ws_|__pyx_f_|__pyx_pf_)"
            )
            return Checker(valgrind, {"PYTHONMALLOC": "malloc"}, allocated, {"safe": 2, "racy": 2, "spoiled": 1})
    raise ValueError(f"{name} is not one of tsan, asan and leaks")


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The output, program by program; first the part before all of them."""
    name = "the start"
    for part in re.split(rf"^(?={MARK})", text, flags=re.MULTILINE):
        first, _, rest = part.partition("\n")
        if part.startswith(MARK):
            name, part = first.removeprefix(MARK), rest
        yield name, part


def main(name: str, folder: str) -> int:
    """Run all programs with the package in a folder, under a checker; how many of them are not as they should be."""
    tool, wrong = checker(name), 0
    for part, times in tool.parts.items():
        paths = os.pathsep.join([str(Path(folder).resolve()), str(ROOT)])
        environment = {**os.environ, **tool.environment, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
        with NamedTemporaryFile() as file:
            pickle.dump(list(PARTS[part]()), file)
            file.flush()
            program = [sys.executable, "-m", "proofs_tests.sanitized", "run", file.name, str(times)]
            done = subprocess.run([*tool.command, *program], env=environment, cwd=ROOT, capture_output=True, text=True)
        found = [(label, re.search(tool.report, text), text) for label, text in sections(done.stderr)]
        races = set() if part != "racy" or name != "tsan" else {name for name in RACY if racing(name)}
        for label, reported, text in found:
            if bool(reported) != (label.split()[0] in races):
                wrong += 1
                shown = text[reported.start() :][:4000] if reported else "no report, though it races"
                print(f"{name}: {label}: {shown}")
        if done.returncode != 0:
            wrong += 1
            print(f"{name}: exit status {done.returncode} at {found[-1][0]}\n{found[-1][2][-4000:]}")
        reports = sum(reported is not None for _, reported, _ in found)
        print(f"{name}: {part}: {len(found) - 1} programs, {reports} with reports")
    return wrong


def racing(name: str) -> bool:
    """Whether exploring an example finds a race."""
    return bool(api.explore(EXAMPLES / f"{name}.ws").verdict.races)


if __name__ == "__main__":
    match sys.argv[1:]:
        case "run", file, times:
            for each in pickle.loads(Path(file).read_bytes()):
                each.run(int(times))
        case name, folder:
            sys.exit(min(main(name, folder), 1))
