"""The package's verbs: what joins language, elaboration, machines, exploration and the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from itertools import count
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from wingspan import dependence, explorer, reference
from wingspan.comparison import Comparison, Engine, compare
from wingspan.compiled import files as c_files
from wingspan.dependence import TESTS, Analysis, Report, Test
from wingspan.dependence.advice import advise
from wingspan.elaborate import Elaborated, elaborate
from wingspan.errors import Fault, InputError, ProgramError
from wingspan.explorer import Deadlock, FaultReport, Race, Result, Search, interleaving
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.machine import Machine
from wingspan.explorer.states import Progress as Exploring
from wingspan.explorer.verdict import Verdict
from wingspan.histogram import Histogram, observe
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.native.engine import Limits, Mode
from wingspan.native.machine import Native
from wingspan.native.memory import buffers
from wingspan.native.prepared import Compiled, code_of
from wingspan.outcome import Outcome
from wingspan.paths import named
from wingspan.plan.show import show as printed_plan
from wingspan.program import Program, load, parse
from wingspan.semantics.machine import Semantics
from wingspan.tensors.tensor import LARGEST, Tensor, from_exact, require_order, too_large
from wingspan.written import check_output

__all__ = [
    "ENGINES",
    "MACHINES",
    "Exploration",
    "Program",
    "Run",
    "Sighting",
    "Unsafe",
    "bind",
    "check",
    "compiled",
    "diff",
    "emit_c",
    "engine",
    "explore",
    "load",
    "machine_of",
    "native",
    "parse",
    "race",
    "replay",
    "run",
    "semantics",
    "show_plan",
]


class Unsafe(ProgramError):
    """A program that is not run because of what the level dependence test finds: see `report`, and mend the program."""

    topic = "unsafe"

    def __init__(self, report: Report) -> None:
        first, *more = report.findings
        others = f", and {len(more)} more" if more else ""
        super().__init__(
            f"the level dependence test finds the program {report.verdict}: {first.reason}{others}", first.access,
            fix="ask `check` for a mend, or have it run with unsafe=True",
        )  # fmt: skip
        self.report = report


@dataclass(frozen=True)
class Exploration:
    """The verdict on a program, with the program as it was explored."""

    verdict: Verdict
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


@dataclass(frozen=True)
class Sighting:
    """One thing that a search has found, while it goes on."""

    finding: Race | FaultReport | Deadlock | Result
    program: Elaborated
    expected: Outcome | None
    """the outcome by the reference, None if it faults"""


@dataclass(frozen=True)
class Run:
    """What a run computed: every tensor updated or returned, by name, and the variables of the outermost scope."""

    tensors: dict[str, Tensor]
    variables: dict[str, ir.Value]
    engine: str
    seconds: float


Progress = Callable[[int, int], None]
"""Called now and then with how much is done, and how much is left, if that is known."""

Runnable = Program | Elaborated | str | os.PathLike[str]
"""A program, one that is bound already, or the path of its file."""


def bind(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    symbolic: bool = False,
) -> Elaborated:
    """The program with its inputs and parameters bound, ready for an engine.

    `inputs` are NumPy or SciPy arrays, `Tensor`s, or paths of files. Arrays may change later, since what the program
    would share with them is copied; to do without the copy, make a `Tensor` that borrows them. `params` are numbers, or
    text as on the command line; `threads` replaces the number of threads of every device. ProgramError or InputError if
    something does not fit. A program that is bound already stays as it is.

    If `symbolic`, what is not given is left open (`symbols`), and no engine takes the program: it is to be judged for
    all values.
    """
    if isinstance(program, Elaborated):
        if program.symbols and not symbolic:
            message = f"the program is bound symbolically, and leaves {', '.join(program.symbols)} open"
            raise InputError(message, fix="bind it with its inputs and parameters")
        return program
    program = program if isinstance(program, Program) else load(program)
    return elaborate(program.tree, program.folder, inputs or {}, params or {}, threads, symbolic)


def files_of(program: Runnable, inputs: Mapping[str, Any] | None = None) -> list[Path]:
    """The files that a program and its inputs are read from, as far as they are named; no verb writes over them."""
    found = [Path(data) for data in (inputs or {}).values() if isinstance(data, str | os.PathLike)]
    if not isinstance(program, Program | Elaborated):
        found.append(Path(program))
        program = load(program)
    if isinstance(program, Program):
        found += [program.folder / node.path for node in program.tree.walk() if isinstance(node, ir.File)]
    return found


def check(
    program: Runnable,
    *,
    test: Test = "repaired",
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run the level dependence test on the program, without running the program, and advise how to make it safe.

    Accepted programs are safe, except for value-dependent faults (overflow, index out of range, division by zero, wrong
    type), which may occur in some interleavings only. `printed` accepts unsafe programs too. The verdict holds for all
    values of the tensors, and for all inputs and parameters that are not given. A program that is bound already gets no
    advice, since there is no text to change. Ctrl-C ends the search for advice.
    """
    if test not in TESTS:
        raise InputError(f"there is no test {test}", fix=f"use one of {', '.join(TESTS)}")
    if isinstance(program, Elaborated):
        return dependence.check(program, test)
    written = program if isinstance(program, Program) else load(program)
    bound = bind(written, inputs=inputs, params=params, threads=threads, symbolic=True)
    found = dependence.check(bound, test)
    tried = count()
    analyses: dict[ir.Statement, Analysis] = {}

    def recheck(tree: ir.Program) -> Report:
        if progress is not None:
            progress(next(tried), 0)
        idle = _names(written.tree) - _names(tree)
        asked = {name: value for name, value in (params or {}).items() if name not in idle}
        changed = replace(written, tree=_without_data(tree, bound.towers))
        after = bind(changed, params=asked, threads=threads if threads != 1 else None, symbolic=True)
        if after.body not in analyses:
            analyses[after.body] = Analysis(after.body, bound.symbols)
        return analyses[after.body].report(after.towers, test, brief=True)

    try:
        return replace(found, advice=advise(written.tree, found, recheck))
    except KeyboardInterrupt:
        return replace(found, advice_complete=False)


def _names(tree: ir.Program) -> set[str]:
    """The names that parameters may stand for."""
    return {node.name for node in tree.walk() if isinstance(node, ir.Variable)}


def _without_data(tree: ir.Program, towers: Mapping[str, Tower]) -> ir.Program:
    """The program with extents in place of its data, which need not be loaded to check another format."""

    def strip(s: ir.Statement) -> ir.Statement:
        match s:
            case ir.Define(name=name, value=ir.TensorCall() as call) if name in towers:
                known = tuple(ir.Literal(n) for n in towers[name].shape if n >= 0)
                extents = known if len(known) == towers[name].rank else call.extents
                return replace(s, value=replace(call, extents=extents, data=None))
        return s

    body = ir.Block(tuple(map(strip, tree.body.statements)), span=tree.body.span)
    return replace(tree, body=body)


def explore(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    machine: str = "semantics",
    progress: Exploring | None = None,
    found: Callable[[Sighting], None] | None = None,
    began: float | None = None,
    **search: Any,
) -> Exploration:
    """Explore the interleavings of the program: under the paper's rules, or of its compiled plan (`native`).

    `search` are the fields of `explorer.Search`: the `strategy` and its bounds. `found` is called with each race,
    fault, deadlock and wrong result when it is found. `max_seconds` begin now, or when `time.monotonic()` was `began`.
    """
    search |= {option: named(search[option]) for option in ("checkpoint", "resume") if search.get(option) is not None}
    if search.get("checkpoint") is not None:
        check_output(search["checkpoint"], files_of(program, inputs))
    asked = Search(**search)
    bounds = asked.bounds(began)
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    explored: Machine[Any] = machine_of(bound, machine)
    about = _digest(bound, machine) if asked.checkpoint or asked.resume else ""
    expected: Outcome | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    try:
        expected = _expected(bound, bounds.tick)
    except Stopped as stopped:  # then there is nothing left for the search either
        left_out = (("the serial result: no result was compared with it", stopped.bound),)

    def seen(finding: Race | FaultReport | Deadlock | Result) -> None:
        if found is not None:
            found(Sighting(finding, bound, expected))

    verdict = explorer.explore(
        explored, asked, expected=expected, about=about, progress=progress, found=seen, bounds=bounds
    )
    return Exploration(replace(verdict, left_out=(*left_out, *verdict.left_out)), bound, expected)


def _digest(bound: Elaborated, machine: str) -> str:
    """What tells searches apart: the program as it is run, its formats, its inputs and the machine."""
    inputs = {name: sorted(tensor.cells.values.items(), key=repr) for name, tensor in bound.inputs.items()}
    towers = {name: (str(tower), tower.shape) for name, tower in bound.towers.items()}
    return sha256(repr((machine, bound.body, towers, inputs)).encode()).hexdigest()


def replay(
    program: Runnable,
    text: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    machine: str = "semantics",
) -> interleaving.Replay[Any]:
    """Run the program along one interleaving, written as in a verdict on that machine; every step is shown."""
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    return interleaving.replay(machine_of(bound, machine), text)


def run(
    program: Runnable,
    *,
    engine: str = "semantics",
    unsafe: bool = False,
    limits: Limits | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run the program once, by one of the `ENGINES`.

    Under the rules (`semantics`), and where its plan is run one access at a time (`native-controlled`), each task gets
    as far as it can in turn; `native` runs the plan on threads, within `limits`: a program that the level dependence
    test finds unsafe is `Unsafe`, unless that is asked for; `reference` computes the serial meaning.

    A Fault if it does not finish: where one access is made at a time a RunFault, which says in which task and how.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    began = time.perf_counter()
    match engine:
        case "semantics" | "native-controlled":
            machine: Any = semantics(bound) if engine == "semantics" else native(bound)
            state = machine.run(progress)
            tensors, variables = machine.results(state), machine.variables(state)
        case "reference":
            tensors, variables = _reference(bound)
        case "native":
            if not unsafe:
                guard(bound, allowed=("safe", "order-dependent"))
            tensors, variables = compiled(bound).run(limits=limits)
        case _:
            raise InputError(f"there is no engine {engine}", fix=f"use one of {', '.join(ENGINES)}")
    return Run(tensors, variables, engine, time.perf_counter() - began)


def semantics(bound: Elaborated) -> Semantics:
    """The machine that runs a bound program by the rules. InputError if a tensor is too large for it, or spoiled."""
    _require_room(bound)
    _require_order(bound)
    return Semantics(bound.body, bound.towers, bound.inputs, bound.outputs)


def native(bound: Elaborated) -> Native:
    """The machine that runs the compiled plan of a bound program, one access of one task at a time; the same."""
    _require_room(bound)
    _require_order(bound)
    return Native(code_of(bound, dealt=False), bound)


def _require_room(bound: Elaborated) -> None:
    """InputError if a dictionary of cells cannot hold a tensor."""
    for name, tower in bound.towers.items():
        if tower.room > LARGEST:
            places = (n.span for n in bound.body.walk() if isinstance(n, ir.Declare) and n.tensor == name)
            fix = "use smaller extents, a SparseList, or the native engine"
            raise InputError(too_large(name, tower, LARGEST), next(places, None), fix=fix)


def _require_order(bound: Elaborated) -> None:
    """InputError, the same for every engine, if an input borrows arrays that have been spoiled."""
    for name, tensor in bound.inputs.items():
        require_order(name, tensor)


MACHINES = ("semantics", "native")


def machine_of(bound: Elaborated, name: str) -> Semantics | Native:
    """One of the `MACHINES` for a bound program."""
    match name:
        case "semantics":
            return semantics(bound)
        case "native":
            return native(bound)
    raise InputError(f"there is no machine {name}", fix=f"use {' or '.join(MACHINES)}")


def _reference(bound: Elaborated) -> tuple[dict[str, Tensor], dict[str, ir.Value]]:
    """The serial meaning of a bound program; its tensors come in the formats that the program gives them."""
    results = _evaluate(bound)
    tensors = {name: from_exact(bound.towers[name], results.tensors[name]) for name in bound.outputs}
    for name in bound.outputs:
        if name in bound.inputs and np.array_equal(bound.inputs[name].to_exact(), results.tensors[name]):
            tensors[name] = bound.inputs[name]  # as it came, with the zeros that it stores
    return tensors, results.variables


def _evaluate(bound: Elaborated, tick: Callable[[], None] = lambda: None) -> reference.Results:
    shapes = {name: tower.shape for name, tower in bound.towers.items()}
    for name, shape in shapes.items():
        if prod(shape) > LARGEST:
            message = f"{name} has {prod(shape)} elements, and the reference, which is dense, holds {LARGEST} at most"
            raise InputError(message, fix="use smaller extents; `wingspan run` does without the reference")
    _require_order(bound)
    inputs = {name: tensor.to_exact() for name, tensor in bound.inputs.items()}
    kinds = {name: tower.kind for name, tower in bound.towers.items()}
    return reference.evaluate(bound.plain, inputs, shapes, kinds, tick)


def _expected(bound: Elaborated, tick: Callable[[], None] = lambda: None) -> Outcome | None:
    """What the program should compute; None if its serial meaning is a fault. What `tick` raises ends it."""
    try:
        results = _evaluate(bound, tick)
    except Fault:
        return None
    return Outcome.of({name: results.tensors[name] for name in bound.outputs}, results.variables)


# ----------------------------------------------------------------------------------- differential testing, and races

ENGINES = ("semantics", "reference", "native", "native-controlled")
"""The engines of this package."""


@dataclass(frozen=True)
class BuiltIn:
    """An engine of this package, as one to compare with others."""

    name: str

    @property
    def eager(self) -> bool:
        """Whether it evaluates what sparse iteration passes over."""
        return self.name == "reference"

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """What `wingspan.api.run` computes, also if the program is not safe."""
        made = run(program, engine=self.name, unsafe=True)
        return {**made.tensors, **made.variables}


def show_plan(
    program: Runnable,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> str:
    """The plan of a program as text."""
    return printed_plan(code_of(bind(program, inputs=inputs, params=params, threads=threads)).plan)


def emit_c(
    program: Runnable,
    folder: str | os.PathLike[str] = ".",
    *,
    main: bool = False,
    unsafe: bool = False,
    force: bool = False,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> list[Path]:
    """Write the plan of a program as a C file, called like its source, and the headers that it needs; the paths.

    With a `main` it is a command, which reads the inputs, as they are now, from a file that is written, too. The C
    trusts that tasks do not race: a program that the level dependence test does not accept is `Unsafe`, unless that is
    asked for. InputError if the files cannot be written: then none of them is. A file that wingspan did not write is
    replaced only by `force`, the program and its inputs never.
    """
    folder = named(folder)
    name, sources = (
        "program",
        [named(given) for given in (inputs or {}).values() if isinstance(given, str | os.PathLike)],
    )
    if isinstance(program, str | os.PathLike):
        sources.append(named(program))
        name, program = sources[-1].stem, load(program)
    if isinstance(program, Program):
        sources += [program.folder / node.path for node in program.tree.walk() if isinstance(node, ir.File)]
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    if not unsafe:
        guard(bound)
    given = {name: buffers(name, tensor) for name, tensor in bound.inputs.items()} if main else None
    return c_files.write(folder, c_files.contents(code_of(bound).plan, name, given), sources, force)


def compiled(bound: Elaborated) -> Compiled:
    """The plan of a bound program, ready to run on threads."""
    return Compiled(bound)


def engine(name: str) -> Engine:
    """An engine by its name: one of this package, or `module:attribute` for somebody else's, or for a class of them."""
    if name in ENGINES:
        return BuiltIn(name)
    module, _, attribute = name.partition(":")
    fix = f"use {', '.join(ENGINES)}, or module:attribute"
    if not attribute:
        raise InputError(f"there is no engine {name}", fix=fix)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"there is no engine {name}: {error}", fix=fix) from None
    made = found() if isinstance(found, type) else found
    if not (isinstance(getattr(made, "name", None), str) and callable(getattr(made, "run", None))):
        raise InputError(f"{name} is no engine: it needs a name and run(program, inputs)", fix=fix)
    return cast(Engine, made)


def diff(
    program: Runnable,
    *,
    engines: Sequence[str | Engine] | None = None,
    unsafe: bool = False,
    repeat: int = 1,
    tolerance: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Comparison:
    """Run the program through several engines and compare the results, as `wingspan.comparison.compare` says.

    All engines of this package that can run it, if no `engines` are given. A program that the level dependence test
    does not accept has no one result: it is `Unsafe`, unless that is asked for.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    if not unsafe:
        guard(bound)
    made = [engine(one) if isinstance(one, str) else one for one in (ENGINES if engines is None else engines)]
    return compare(bound, made, repeat=repeat, tolerance=tolerance, lenient=engines is None)


def guard(bound: Elaborated, allowed: Sequence[str] = ("safe",)) -> None:
    """`Unsafe`, unless the level dependence test has one of the allowed verdicts on the program."""
    report = dependence.check(bound)
    if report.verdict not in allowed:
        raise Unsafe(report)


def race(
    program: Runnable,
    *,
    runs: int = 10_000,
    mode: Mode = "seq_cst",
    machine: str = "semantics",
    max_states: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Histogram:
    """Run the program on threads many times, and count its ends beside those that exploring a `machine` predicts.

    In the modes `seq_cst` and `yields` all that comes about is predicted, if the search was complete; accesses of the
    mode `plain` promise nothing. InputError if tasks may wait for ever.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    verdict = explore(bound, machine=machine, strategy="graph", max_states=max_states, max_seconds=max_seconds).verdict
    if verdict.deadlocks:
        raise InputError("tasks of the program may wait for ever", fix="see `wingspan explore`, and mend it")
    ready = compiled(bound)

    def execute(number: int) -> Outcome:
        tensors, variables = ready.run(mode=mode, seed=seed + number)
        return Outcome.of({name: tensor.to_exact() for name, tensor in tensors.items()}, variables)

    return observe(execute, verdict, runs, mode, progress)
