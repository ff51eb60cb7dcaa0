"""Work that one thread does, and that many do at once in a process that has done nothing before; run as a script.

Each piece of work gives texts that depend on nothing but the piece. As JSON the script prints, for each name that it is
given, the texts of one thread and those of many. Each come from a process of their own, forked before any work.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan import Program, Tensor, WingspanError, api, testing
from wingspan.native.prepared import NativeProgram
from wingspan.views import check as check_text
from wingspan.views import dot, itf, mermaid, steps, terminal
from wingspan.views import json as data
from wingspan.views.view import CheckReport, Invocation, exploration_report, replay_report

THREADS = 5

RACY = """
c = Tensor(SparseList(Element(0)), 4)
x = 0
c .= 0
for i = parallel(1:2, cpu(:t, 2))
    c[i] += 1
    x = i
end
return c
"""
SPARSE = """
dev = cpu(:dev, 2)
C = Tensor(Dense(Shard(dev, SparseList(Element(0)))))
w = Tensor(SparseByteMap(Element(0)))
C .= 0
for j = parallel(_, dev)
    w .= 0
    for k = _; for i = _; w[i] += A[i, k] * B[k, j]; end; end
    for i = _; C[i, j] = w[i]; end
end
return C
"""
LOCKED = """
c = Tensor(Mutex(SparseDict(Element(0))), 3)
c .= 0
for i = parallel(1:2, cpu(:t, 2), dynamic_schedule(1))
    c[i] += i
end
return c
"""
BLOCKS = [
    "x = 0\nfor i = 1:3\n    x = x + i\ny = x",
    "x = 0\nfor i = 1:3\n    x = x + i\n    y = x",
    "x = 0\nfor i = 1:3\n    for j = 1:2\n        x = 1\n    y = 2\nz = 3",
    "x = 0\nfor i = 1:3\n    if i > 1\n        x = 1\n        y = 2\nz = 3",
    "for i = 1:3; x = i; end; y = 1",
    "for i = 1:3; x = i; y = 1; end",
    "for i = 1:3\n  for j = 1:3; if i < j; x = i; end; y = j; end\nend\nz = 1",
    "if true\nx = 1",
    "for i = 1:3\n    x = 1\n  y = 2",
    "x = 1\n  y = 2",
    "for i = 1:3; x = 1",
    "x = 1 +",
    "end",
]
"""Programs of both layouts that differ in their blocks alone, and texts that are none."""

INPUTS = {"A": np.array([[1, 0], [2, 3]]), "B": np.array([[0, 4], [5, 0]])}
FORMS = ("Dense(Dense(Element(0.0)))", "Dense(SparseList(Element(0.0)))", "SparseDict(SparseByteMap(Element(0.0)))")

T = TypeVar("T")
Piece = Callable[[int], list[str]]
"""Some work, which gives a text for each of its parts in the same order, whichever number it begins with."""


def parts(*each: Callable[[], str]) -> Piece:
    """Work in several parts, which each thread does in another order."""

    def work(first: int) -> list[str]:
        found = [""] * len(each)
        for k in range(len(each)):
            at = (k + first) % len(each)
            found[at] = each[at]()
        return found

    return work


def tried(text: Callable[[], Any]) -> str:
    """The text, or the error's text."""
    try:
        return str(text())
    except WingspanError as error:
        return error.render()


def timeless(text: object) -> str:
    """A report without how long it took."""
    words = re.sub(r"\d+(\.\d+)? (µs|ms|s|min)\b", "…", str(text))
    return re.sub(r"'(seconds|memory\w*)': [^,}]+", "", words)


def placed(text: str) -> str:
    """A program with the place of every node."""
    tree = wingspan.parse(text).tree
    spans = [(s.line, s.column, s.end_line, s.end_column) if (s := node.span) else None for node in tree.walk()]
    return f"{tree}{spans}"


def exploration_text(text: str, **search: Any) -> str:
    """All reports on an exploration."""
    told = Invocation("program.ws", machine=search.get("machine", "semantics"))
    report = exploration_report(
        api.explore(wingspan.parse(text), graph=search.get("strategy") != "dpor", **search), told
    )
    drawn = dot.explore(report) if report.verdict.graph else ""
    return timeless("\n".join([terminal.explore(report), str(data.explore(report.verdict)), drawn]))


def followed(machine: str) -> str:
    """All reports on a replay."""
    bound = api.bind(wingspan.parse(RACY))
    report = replay_report(
        wingspan.replay(bound, "1*2,2", machine=machine),
        "1*2,2",
        bound.plain,
        Invocation("program.ws", machine=machine),
    )
    written = [steps.replay(report, True), data.replay(report), mermaid.replay(report), dot.replay(report)]
    return "\n".join(map(str, [*written, itf.replay(report)]))


def judged(program: Program, **options: Any) -> str:
    """All reports on a check."""
    report = CheckReport(Invocation("program.ws"), wingspan.check(program, **options), program.tree)
    return f"{check_text.check(report)}\n{data.check(report)}"


def ran(program: Any, engine: str, **options: Any) -> str:
    """The output of a run."""
    made = wingspan.run(program, engine=engine, **options)
    return timeless(f"{terminal.run(made)}\n{data.run(made)}\n{made.tensors}")


def raced() -> str:
    """The number of runs on threads, and the forbidden outcomes; the frequency of each outcome is chance."""
    made = wingspan.stress(wingspan.parse(RACY.replace("SparseList", "Dense")), runs=20)
    return f"{made.runs} {made.surprises} {sorted(str(one.end) for one in made.observed)}"


def converted(form: str) -> str:
    """A tensor, made in every way and brought out in every way."""
    dense = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
    one, other = Tensor.from_numpy(form, dense), Tensor.from_scipy(form, scipy.sparse.csr_array(dense))
    texts = [str(one), str(other), one.nnz, list(one.entries()), one.to_exact().tolist(), one.cells.values]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".npy", ".npz", ".mtx"):
            other.save(Path(folder, f"file{suffix}"))
            texts.append(Tensor.from_file(form, Path(folder, f"file{suffix}")).to_numpy().tolist())
    return "\n".join(map(str, [*texts, other.to_scipy().toarray().tolist()]))


def emitted() -> str:
    """The C of a program."""
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join(path.read_text() for path in api.emit_c(wingspan.parse(SPARSE), folder, inputs=INPUTS))


def drawn() -> str:
    """The report of a campaign with random programs."""
    return timeless(testing.campaign(["reference"], ["native-controlled"], examples=2, dealt=1)).partition(" runs")[0]


ENGINES = ("semantics", "reference", "native", "native-controlled")
NAMED = ("karate.ws", "dependent.ws", "spgemm_inner.ws")

COLD: dict[str, Piece] = {
    "parse": parts(*[lambda text=text: tried(lambda: placed(text)) for text in BLOCKS * 4]),
    "load": parts(*[lambda path=path: str(wingspan.load(path)) for path in sorted(EXAMPLES.glob("*.ws"))[:12]]),
    "check": parts(
        *[lambda test=test: judged(wingspan.parse(RACY), test=test) for test in ("printed", "repaired", "exact")],
        lambda: judged(wingspan.parse(SPARSE)),
    ),
    "explore": parts(
        lambda: exploration_text(LOCKED, strategy="graph"),
        lambda: exploration_text(RACY, strategy="dpor", machine="native"),
        lambda: exploration_text(RACY, strategy="pct", runs=2),
    ),
    "replay": parts(lambda: followed("semantics"), lambda: followed("native")),
    "run while others parse Python": parts(
        *[lambda engine=engine: ran(wingspan.parse(SPARSE), engine, inputs=INPUTS) for engine in ENGINES]
    ),
    "diff": parts(lambda: timeless(data.diff(wingspan.diff(wingspan.parse(SPARSE), inputs=INPUTS)))),
    "race": parts(raced),
    "plans": parts(emitted, lambda: api.plan(wingspan.parse(SPARSE), inputs=INPUTS)),
    "tensors": parts(*[lambda form=form: converted(form) for form in FORMS]),
    "testing": parts(drawn, lambda: str(testing.accepted(RACY)), lambda: str(testing.accepted(SPARSE))),
}
"""Each thread makes all that it needs."""


def shared() -> Iterator[tuple[str, Piece]]:
    """All threads use the same program, bound program, compiled program, machine and tensor."""
    program = wingspan.parse(SPARSE)
    bound = api.bind(program, inputs=INPUTS)
    yield "one program", parts(lambda: str(program), lambda: ran(program, "semantics", inputs=INPUTS))
    yield (
        "one bound program",
        parts(*[lambda engine=engine: ran(bound, engine) for engine in ENGINES], lambda: str(wingspan.check(bound))),
    )
    yield "one compiled program", lambda _: [str(api.compiled(bound).run()[0])] * 3
    yield from machines(bound, api.compiled(bound))
    tensor = Tensor.from_numpy("Dense(SparseList(Element(0.0)))", np.array([[0.0, 1.5], [2.0, 0.0]]))
    texts = (lambda: str(tensor), lambda: str(tensor.cells.values), lambda: str(tensor.to_scipy().toarray()))
    yield "one tensor", parts(*texts, lambda: str(tensor.to_numpy()), lambda: str(tensor.to_exact()))


def machines(bound: Any, ready: NativeProgram) -> Iterator[tuple[str, Piece]]:
    """Machines and a compiled program that are made before the threads are."""
    yield "one plan on threads", lambda _: [str(ready.run(mode=mode)[0]) for mode in ("plain", "seq_cst", "yields")]
    semantics, native = api.semantics(bound), api.native(bound)
    yield "one machine: semantics", parts(lambda: str(semantics.results(semantics.run())))
    yield "one machine: native", parts(lambda: str(native.results(native.run())))


# ---------------------------------------------------------------------------------------------------- in many threads


def at_once(work: Callable[[int], list[T]], threads: int, beside: bool = False) -> list[list[T | str]]:
    """The results of so many threads that begin at the same time and are interrupted as often as can be.

    `beside`: another thread parses Python all the time.
    """
    found: list[list[T | str]] = [[] for _ in range(threads)]
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        start.wait()
        try:
            found[number] = [*work(number)]
        except BaseException as error:
            found[number] = [f"{type(error).__name__}: {error}"]

    def parse_python() -> None:
        while any(thread.is_alive() for thread in running):
            with suppress(SystemError):  # the defect of CPython 3.11 that must not reach the others
                ast.parse("f(x)\n" * 20)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    foreign = [threading.Thread(target=parse_python)] if beside else []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(_switch)
    for thread in [*running, *foreign]:
        thread.start()
    for thread in [*running, *foreign]:
        thread.join()
    gc.callbacks.remove(_switch)
    sys.setswitchinterval(before)
    return found


def _switch(*_: object) -> None:
    """Python code that a collection of garbage runs: threads switch there, in the middle of what is one step else."""


def forked(work: Callable[[], object]) -> Any:
    """The result of work in a process of its own, which has a minute for it."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(work(), pipe)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(process, 0)
    if not text:
        raise RuntimeError("it failed, or did not end")
    return json.loads(text)


def pieces(name: str) -> dict[str, Piece]:
    """The pieces of work of one name; those that share objects make them here."""
    return dict(shared()) if name == "shared" else {name: COLD[name]}


def compare(name: str) -> dict[str, Any]:
    """For each piece what one thread gets, and what many get."""
    one = forked(lambda: {piece: work(0) for piece, work in pieces(name).items()})
    many = forked(lambda: {piece: at_once(work, THREADS, "Python" in name) for piece, work in pieces(name).items()})
    return {"one": one, "many": many}


if __name__ == "__main__":
    print(json.dumps({name: compare(name) for name in sys.argv[1:]}))
