"""One run of a program, by one of the engines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, cast
from warnings import warn

import numpy as np

from wingspan.api import forecast
from wingspan.api.binding import Progress, Runnable, bind
from wingspan.api.checking import RACELESS, guard
from wingspan.api.machines import compiled, compiled_c, evaluate, native, semantics
from wingspan.comparison import Engine
from wingspan.compiled import build
from wingspan.elaborate import Elaborated
from wingspan.errors import InputError
from wingspan.lang import ir
from wingspan.runtime.lease import Limits
from wingspan.shown import Shown
from wingspan.tensors.frozen import rounded
from wingspan.tensors.tensor import Tensor, from_exact

ENGINES = ("semantics", "reference", "native", "native-controlled", "compiled")
"""The engines of this package."""
GROUP = "wingspan.engines"
"""The entry points by which an installed package adds engines: a name, and `module:attribute`."""
AUTO = "auto"
"""The engine that `chosen` chooses."""
WORTH = 100_000
"""Elements that inputs store, or iterations of one loop, from which on compiling C takes less time than it saves."""
ON_THREADS = ("native", "compiled")
"""Those that run tasks on threads of the system."""
AT_ONCE = ENGINES[:-1]
"""Those that begin at once; for `compiled`, the system's compiler takes a second or so, the first time."""


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """What a run computed: every tensor updated or returned, by name, and the variables of the outermost scope."""

    tensors: dict[str, Tensor]
    variables: dict[str, ir.Value]
    engine: str
    reason: str
    """why this engine, if the choice was left to us"""
    seconds: float


def run(
    program: Runnable,
    *,
    engine: str = AUTO,
    unsafe: bool = False,
    limits: Limits | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> Run:
    """Run the program once, by one of the `ENGINES`, or `auto`: by `compiled` or `native`, as `chosen` chooses.

    Under the rules (`semantics`), and where its plan is run one access at a time (`native-controlled`), each task gets
    as far as it can in turn; `native` runs the plan on threads, within `limits`: a program that the level dependence
    test finds unsafe is `Unsafe`, unless that is asked for; `compiled` does so as compiled C, and refuses an unsafe
    program in any case; `reference` computes the sequential semantics.

    Before a run under the rules that takes long, `note` is told how many steps that will be and which engine takes
    seconds; without it, that is a RuntimeWarning.

    A Fault if it does not finish: where one access is made at a time a RunFault, which says in which task and how.
    """
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    engine, reason = chosen(bound, unsafe) if engine == AUTO else (engine, "")
    began = time.perf_counter()
    match engine:
        case "semantics" | "native-controlled":
            machine: Any = semantics(bound) if engine == "semantics" else native(bound)
            if engine == "semantics" and (count := forecast.steps(bound)) >= forecast.LONG:
                (note or _warn)(_long(count, chosen(bound, unsafe)[0]))
            state = machine.run(progress)
            tensors, variables = machine.results(state), machine.variables(state)
        case "reference":
            tensors, variables = _reference(bound)
        case "native":
            if not unsafe:
                guard(bound, allowed=RACELESS)
            with _rules_instead(reason):
                tensors, variables = compiled(bound).run(limits=limits)
        case "compiled":
            guard(bound, allowed=RACELESS)
            with _rules_instead(reason):
                tensors, variables = compiled_c(bound).run(limits=limits)
        case _:
            raise InputError(f"there is no engine {engine}", fix=f"use one of {', '.join(ENGINES)}")
    return Run(tensors, variables, engine, reason, time.perf_counter() - began)


def _long(count: int, faster: str) -> str:
    """What to say of a run of so many steps."""
    about = f"{float(f'{count:.1e}'):,.0f}".replace(",", " ")
    return f"about {about} steps of the rules, {forecast.duration(count)} or so; engine {faster} takes seconds at most"


def _warn(text: str) -> None:
    warn(text, RuntimeWarning, stacklevel=3)


@contextmanager
def _rules_instead(chosen: str) -> Iterator[None]:
    """Where the engine was chosen here, and cannot run the program, say who can."""
    try:
        yield
    except InputError as error:
        if not chosen or error.diagnostics[0].topic != "native":
            raise
        fix = f"{error.fix}, or run it under the rules: --engine semantics"
        raise InputError(error.message, error.span, topic="native", fix=fix) from None


def chosen(bound: Elaborated, unsafe: bool = False) -> tuple[str, str]:
    """The engine that `auto` stands for, and why: compiled C where that pays, else the register machine."""
    if unsafe:
        return "native", "C is not compiled of what may be unsafe"
    if not build.compiler():
        return "native", "there is no C compiler"
    work, what = max(_work(bound))
    if work < WORTH:
        return "native", "compiling C would take longer than this"
    return "compiled", what.format(f"{work:,}".replace(",", " "))


def _work(bound: Elaborated) -> Iterator[tuple[int, str]]:
    """How much there is to do at least, as far as the program shows."""
    yield sum(tensor.nnz for tensor in bound.inputs.values()), "the inputs store {} elements"
    for node in bound.body.walk():
        match node:
            case ir.Range(start=ir.Literal(value=int() as a), stop=ir.Literal(value=int() as b)):
                yield b - a + 1, "a loop has {} iterations"


def _reference(bound: Elaborated) -> tuple[dict[str, Tensor], dict[str, ir.Value]]:
    """The sequential semantics of a bound program; its tensors come in the formats that the program gives them."""
    results = evaluate(bound)
    tensors = {name: from_exact(bound.towers[name], results.tensors[name]) for name in bound.outputs}
    for name in bound.outputs:
        if name in bound.inputs and np.array_equal(bound.inputs[name].to_exact(), results.tensors[name]):
            tensors[name] = bound.inputs[name]  # as it came, with the zeros that it stores
    return tensors, results.variables


@dataclass(frozen=True)
class BuiltIn:
    """An engine of this package, as one to compare with others."""

    name: str
    nonfinite: ClassVar[bool] = True

    @property
    def eager(self) -> bool:
        """Whether it evaluates what sparse iteration passes over."""
        return self.name == "reference"

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """What `wingspan.api.run` computes, also if the program is not safe."""
        if self.name == "reference":  # into formats and back would take longer than computing it
            results = evaluate(program)
            dtypes = {name: program.towers[name].dtype for name in program.outputs}
            return {name: rounded(results.tensors[name], dtype) for name, dtype in dtypes.items()} | results.variables
        made = run(program, engine=self.name, unsafe=True, note=lambda _: None)
        return {**made.tensors, **made.variables}


def engine(name: str) -> Engine:
    """An engine: one of this package, one of an installed package by its entry point, or `module:attribute`.

    The attribute is an engine, or a class of engines that are made without arguments.
    """
    if name in ENGINES:
        return BuiltIn(name)
    for point in entry_points(group=GROUP, name=name):
        name = point.value
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
