"""The package's verbs: what joins language, elaboration, machines, exploration and the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from wingspan import dependence, reference
from wingspan.dependence import TESTS, Analysis, Report, Test
from wingspan.dependence.advice import advise
from wingspan.elaborate import Elaborated, elaborate
from wingspan.errors import Fault, InputError, Source, Span
from wingspan.explorer import graph, interleaving
from wingspan.explorer.graph import Progress
from wingspan.explorer.verdict import Verdict
from wingspan.lang import ir, parser
from wingspan.lang.printer import show
from wingspan.levels import Tower
from wingspan.outcome import Outcome
from wingspan.semantics.config import State
from wingspan.semantics.machine import Semantics
from wingspan.tensor import LARGEST, Tensor, from_exact


@dataclass(frozen=True)
class Program:
    """A program as written, the name it goes by in messages, and the folder that its files are relative to."""

    tree: ir.Program
    name: str
    folder: Path = Path()

    def __str__(self) -> str:
        return show(self.tree)


@dataclass(frozen=True)
class Exploration:
    """The verdict on a program, with the program as it was explored."""

    verdict: Verdict
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


def parse(text: str, name: str = "<program>") -> Program:
    """A program from its text. ParseError if it is none."""
    return Program(parser.parse(text, name), name)


def load(path: str | os.PathLike[str]) -> Program:
    """A program from a `.ws` file. InputError if the file cannot be read, ParseError if it is no program."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", fix="write the path of a program") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text", _place(path, error), fix="save the program as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {reason}", fix="write the path of a program") from None
    return Program(parser.parse(text, str(path)), str(path), path.parent)


def _place(path: Path, error: UnicodeDecodeError) -> Span:
    """Where the byte stands that cannot be read."""
    before = error.object[: error.start].decode("utf-8")
    lines = f"{before}�".splitlines()
    line, column = len(lines), len(lines[-1])
    return Span(Source(str(path), error.object.decode("utf-8", "replace")), line, column, line, column + 1)


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

    `inputs` are NumPy or SciPy arrays, `Tensor`s, or paths of files; `params` numbers, or text as on the command line;
    `threads` replaces the number of threads of every device. ProgramError or InputError if something does not fit. A
    program that is bound already stays as it is.

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


def check(
    program: Runnable,
    *,
    test: Test = "repaired",
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Put the program to the level dependence test, without running it, and advise how to make it safe.

    The verdict holds for all values of its tensors, and for all inputs and parameters that are not given. A program
    that is bound already gets no advice, since there is no text to change. Ctrl-C ends the search for advice.
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
    strategy: str = "graph",
    max_states: int | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Explore every interleaving of the program under the paper's rules."""
    if strategy != "graph":
        raise InputError(f"there is no strategy {strategy}", fix="use graph")
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    machine = semantics(bound)
    expected = _expected(bound)
    verdict = graph.explore_graph(
        machine, expected=expected, max_states=max_states, max_seconds=max_seconds, progress=progress
    )
    return Exploration(verdict, bound, expected)


def replay(
    program: Runnable,
    text: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> interleaving.Replay[State]:
    """Run the program along one interleaving, written as in a verdict; every step is shown."""
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    return interleaving.replay(semantics(bound), text)


def run(
    program: Runnable,
    *,
    engine: str = "semantics",
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run the program once: under the rules, each task as far as it gets in turn, or as the reference means it.

    A Fault if it does not finish: under the rules a RunFault, which says in which task, by which rule and how.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    began = time.perf_counter()
    match engine:
        case "semantics":
            machine = semantics(bound)
            state = machine.run(progress)
            tensors, variables = machine.results(state), machine.variables(state)
        case "reference":
            tensors, variables = _reference(bound)
        case _:
            raise InputError(f"there is no engine {engine}", fix="use semantics or reference")
    return Run(tensors, variables, engine, time.perf_counter() - began)


def semantics(bound: Elaborated) -> Semantics:
    """The machine that runs a bound program by the rules."""
    return Semantics(bound.body, bound.towers, bound.inputs, bound.outputs)


def _reference(bound: Elaborated) -> tuple[dict[str, Tensor], dict[str, ir.Value]]:
    """The serial meaning of a bound program; its tensors come in the formats that the program gives them."""
    results = _evaluate(bound)
    tensors = {name: from_exact(bound.towers[name], results.tensors[name]) for name in bound.outputs}
    for name in bound.outputs:
        if name in bound.inputs and np.array_equal(bound.inputs[name].to_exact(), results.tensors[name]):
            tensors[name] = bound.inputs[name]  # as it came, with the zeros that it stores
    return tensors, results.variables


def _evaluate(bound: Elaborated) -> reference.Results:
    shapes = {name: tower.shape for name, tower in bound.towers.items()}
    for name, shape in shapes.items():
        if prod(shape) > LARGEST:
            message = f"{name} has {prod(shape)} elements, and the reference, which is dense, holds {LARGEST} at most"
            raise InputError(message, fix="use smaller extents; `wingspan run` does without the reference")
    inputs = {name: tensor.to_exact() for name, tensor in bound.inputs.items()}
    kinds = {name: tower.kind for name, tower in bound.towers.items()}
    return reference.evaluate(bound.plain, inputs, shapes, kinds)


def _expected(bound: Elaborated) -> Outcome | None:
    """What the program should compute; None if its serial meaning is a fault."""
    try:
        results = _evaluate(bound)
    except Fault:
        return None
    return Outcome.of({name: results.tensors[name] for name in bound.outputs}, results.variables)
