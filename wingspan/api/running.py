"""One run of a program, by one of the engines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, cast
from warnings import warn

from wingspan.api import forecast
from wingspan.api.binding import Progress, Runnable, bind
from wingspan.api.checking import RACELESS, guard
from wingspan.api.machines import compiled, compiled_c, evaluate, native, semantics
from wingspan.api.names import AUTO, ENGINES, WORTH
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.compiled import build
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.algebra import double
from wingspan.levels import Tower
from wingspan.results.comparison import Engine
from wingspan.runtime.lease import Limits
from wingspan.runtime.memory_reuse import release as release
from wingspan.tensors.frozen import round_to_width
from wingspan.tensors.pairs import pairs
from wingspan.tensors.tensor import Tensor, from_exact

GROUP = "wingspan.engines"
"""The entry points by which an installed package adds engines: a name, and `module:attribute`."""
AT_ONCE = ENGINES[:-1]
"""The engines that start at once; `compiled` first runs the system's compiler, for a second or so."""


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """The results of a run.

    Attributes:
        tensors: every tensor that the program updates or returns, by name.
        variables: the variables of the outermost scope, by name.
        engine: the engine that ran it.
        seconds: how long it took.
    """

    tensors: dict[str, Tensor]
    variables: dict[str, ir.Value]
    engine: str
    reason: str
    """the reason for this engine, if the choice was left to us"""
    seconds: float

    def __getitem__(self, name: str) -> Tensor | ir.Value:
        """A tensor, or the value of a variable. KeyError if the program updates and returns no such thing."""
        if name in self.tensors:
            return self.tensors[name]
        if name in self.variables:
            return double(self.variables[name])
        raise KeyError(f"the run has no {name}, but {', '.join(self) or 'nothing'}")

    def __iter__(self) -> Iterator[str]:
        return iter((*self.tensors, *sorted(self.variables)))


def run(
    program: Runnable,
    *,
    engine: str = AUTO,
    unsafe: bool = False,
    limits: Limits | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
    **tensors: Any,
) -> Run:
    """Run a program once.

    Args:
        program, inputs, params, threads, small: as for `wingspan.api.bind`.
        engine: one of

            - `auto`: `compiled` if the work is worth it, otherwise `native`;
            - `compiled`: the plan as C, on threads; refuses unsafe programs in any case;
            - `native`: the plan on threads, by the register machine;
            - `native-controlled`: the plan, one access at a time, each task as far as it gets before the next;
            - `semantics`: the same under the rules;
            - `reference`: the sequential semantics, over dense arrays.
        unsafe: let `native` run a program that the level dependence test does not accept.
        limits: what a run on threads may use.
        progress: called now and then with how much is done and left.
        tensors: inputs by their names, as kernels take them: `run(program, A=A)`; those whose names are those of other
            arguments stand in `inputs`.
        note: called with a sentence before a run under the rules that will take long; by default a RuntimeWarning.

    Returns:
        The tensors and variables.

    Raises:
        Unsafe: the level dependence test does not accept the program, and the engine runs on threads.
        Fault: the run does not finish. Where one access is made at a time it is a RunFault, with the interleaving.
        ProgramError, InputError: the program, an input or a parameter does not fit, or the engine cannot run it.
    """
    bound = bind(program, inputs={**(inputs or {}), **tensors}, params=params, threads=threads, small=small)
    engine, reason = choose_engine(bound, unsafe) if engine == AUTO else (engine, "")
    began = time.perf_counter()
    match engine:
        case "semantics" | "native-controlled":
            machine: Any = semantics(bound) if engine == "semantics" else native(bound)
            if engine == "semantics" and (count := forecast.steps(bound)) >= forecast.LONG:
                (note or _warn)(_long(count, choose_engine(bound, unsafe)[0]))
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
    """The message about a run of so many steps."""
    about = f"{float(f'{count:.1e}'):,.0f}".replace(",", " ")
    return f"about {about} steps of the rules, {forecast.duration(count)} or so; engine {faster} takes seconds at most"


def _warn(text: str) -> None:
    warn(text, RuntimeWarning, stacklevel=3)


@contextmanager
def _rules_instead(chosen: str) -> Iterator[None]:
    """Within, name the engines that can run the program if the one chosen here cannot."""
    try:
        yield
    except InputError as error:
        if not chosen or error.diagnostics[0].topic != "native":
            raise
        fix = f"{error.fix}, or run it under the rules: --engine semantics"
        raise InputError(error.message, error.span, topic="native", fix=fix) from None


def choose_engine(bound: Elaborated, unsafe: bool = False) -> tuple[str, str]:
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
    """A lower bound on the work, as far as the program shows it."""
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


def _dense(tower: Tower, array: np.ndarray) -> np.ndarray:
    """An array of exact values as one of NumPy's."""
    made = round_to_width(array, tower.dtype)
    return pairs(made) if tower.elements.is_packed else made


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
        """Run the program as `wingspan.api.run`, also if it is not safe."""
        if self.name == "reference":  # into formats and back would take longer than computing it
            results = evaluate(program)
            arrays = {name: _dense(program.towers[name], results.tensors[name]) for name in program.outputs}
            return arrays | results.variables
        made = run(program, engine=self.name, unsafe=True, note=lambda _: None)
        return {**made.tensors, **made.variables}


def engine(name: str) -> Engine:
    """An engine by its name.

    Args:
        name: one of the `ENGINES`, the name that an installed package gives it by an entry point of the group
            `wingspan.engines`, or `module:attribute`. The attribute is an engine, or a class without arguments.

    Raises:
        InputError: there is none, or it has no name or no method `run`.
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
