"""Programs as functions of their inputs: compiled once, called with tensors of any extents."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from warnings import warn

from wingspan.api.binding import bind
from wingspan.api.calls import Again, Engine, PreparedCall, Ready, keep_recent
from wingspan.base import disk_cache
from wingspan.base.display import Shown
from wingspan.base.errors import InputError, WingspanError
from wingspan.base.libraries import np
from wingspan.compiled import build
from wingspan.compiled import engine as compiled
from wingspan.compiled.plan_cache import printed_plan
from wingspan.elaborate import Elaborated
from wingspan.elaborate.entries import over_entries
from wingspan.elaborate.inputs import fit_input
from wingspan.elaborate.kinds import ANY
from wingspan.elaborate.opening import open_program
from wingspan.lang import algebra, ir
from wingspan.lang.kinds import KINDS
from wingspan.levels import Tower
from wingspan.native import engine as native
from wingspan.plan.identity import depends_on, digest_of
from wingspan.plan.ir import Plan
from wingspan.plan.layout import SMALL, Bounds, NeedsExtents, bounds, positions
from wingspan.program import Program, load
from wingspan.runtime._lending import Lender
from wingspan.runtime.lease import Limits
from wingspan.runtime.plan_inputs import PlanInput
from wingspan.tensors.foreign import Filled, RunArray, interpret, kind_of
from wingspan.tensors.formats import default_format, parse_format
from wingspan.tensors.patterns import entries, same_pattern, with_entries, with_lists
from wingspan.tensors.tensor import Tensor

Shapes = tuple[tuple[int, ...], ...]

SUFFIX = ".raceless"
"""The suffix of the files that say of a program that its tasks do not race."""


def compile(
    program: Program | str | Path,
    *,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    threads: int | None = None,
    engine: str = "compiled",
) -> Kernel:
    """Compile a program to a function of its inputs, for arrays of any extents.

    Args:
        program: a program, or the path of its file.
        params: the value of each parameter of the program: a number, or text as after `-p` on the command line.
        inputs: of inputs whose format the program leaves open, the format (`"Dense(Element(0.0))"`), the kind (`"int"`,
            `"float"`, `"bool"`), or an array or a `Tensor` like those to come. By default the last axis is Dense, the
            others are SparseList, and elements are doubles.
        threads: the number of threads of every device, in place of the numbers that the program gives.
        engine: `compiled` (C), or `native` (the register machine), which takes over with a RuntimeWarning if there is
            no C compiler.

    Returns:
        The function. Call it with an array for each input, by name.

    Raises:
        ProgramError: the program has no meaning.
        InputError: a parameter or the description of an input does not fit.
        Unsafe: tasks may race.
    """
    if engine not in ("compiled", "native"):
        raise InputError(f"there is no engine {engine} for kernels", fix="use compiled or native")
    if engine == "compiled" and not build.compiler():
        message = "there is no C compiler: the register machine runs this, which takes some ten times longer"
        warn(message, RuntimeWarning, stacklevel=2)
        engine = "native"
    written = program if isinstance(program, Program) else load(program)
    return Kernel(written, params or {}, inputs or {}, threads, engine, {})


def _new_engine(program: Elaborated, engine: str) -> Engine:
    if engine == "compiled":
        return compiled.engine_of(printed_plan(program))
    from wingspan.native.assemble import assemble  # not where C runs plans that are there already
    from wingspan.plan.pipeline import lower

    return native.NativeEngine(assemble(lower(program)))


def _require_no_race(bound: Elaborated) -> None:
    """`Unsafe` if tasks may race, unless another process has found out that they do not."""
    key = digest_of(bound)
    if key is None or not disk_cache.read(key, SUFFIX):
        from wingspan.api.checking import RACELESS, guard  # the test need not be there if it was made

        guard(bound, allowed=RACELESS)
        if key is not None:
            disk_cache.write(key, SUFFIX, True)


def _compile_anew(program: Program, params: Mapping[str, Any], threads: int | None, engine: str) -> Kernel:
    return compile(program, params=params, threads=threads, engine=engine)


class Kernel(Shown):
    """A program as a function of its inputs; `compile` makes it. Several threads may call it at once.

    If the program means something else for other extents, as in `C[2 * i]`, each set of extents that it is called with
    gets a plan of its own, at the first call.
    """

    def __init__(
        self,
        program: Program,
        params: Mapping[str, Any],
        inputs: Mapping[str, Any],
        threads: int | None,
        engine: str,
        engines: dict[Hashable, Engine],
    ) -> None:
        self.params, self.threads, self.engine = dict(params), threads, engine
        self._engines = engines
        """the engines of the plans made so far, by all that they depend on, for this kernel and those made of it"""
        self.program = _with_formats(program, inputs) if inputs else program
        self._bound = self._bind(self.program)
        _require_open(program, self._bound, inputs)
        self._returns = tuple(dict.fromkeys(self.program.tree.returns))
        _require_parameters(self._bound)
        _require_no_race(self._bound)
        self._numbers = open_program(self._bound).numbers
        towers = {name: self._bound.towers[name] for name in self._bound.open}
        self._forms = {name: (tower, algebra.exact(tower.fill)) for name, tower in towers.items()}
        self._calls: dict[Shapes, PreparedCall] = {}
        self._results: dict[tuple[int, ...], Tower] = {}
        """the towers of results that share the pattern of the inputs, by their extents"""
        self._rooms: dict[tuple[tuple[str, int], ...], Bounds] = {}
        self._any: Engine | None = None
        with suppress(NeedsExtents):
            self._any = self._engine_for(self._bound)
        self._last, self._again = self._any, Again()
        self._entries = over_entries(self.program.tree, self._bound.towers)

    def using(self, *, params: Mapping[str, Any] | None = None, threads: int | None = None) -> Kernel:
        """This kernel with other parameters, or another number of threads.

        Numbers of threads and chunk sizes are arguments of the plan, so nothing is lowered or compiled for them. A
        parameter with any other meaning needs a plan of its own.

        Args:
            params: new values of some parameters; the others are unchanged.
            threads: the number of threads of every device.

        Raises:
            ProgramError, InputError: a value does not fit.
            Unsafe: tasks may race with these values.
        """
        threads = self.threads if threads is None else threads
        return self._like_this(self.program, {**self.params, **(params or {})}, threads)

    def _like_this(self, program: Program, params: Mapping[str, Any], threads: int | None) -> Kernel:
        """A kernel that shares the plans that this one has made."""
        return Kernel(program, params, {}, threads, self.engine, self._engines)

    def __copy__(self) -> Kernel:
        """A shallow copy shares the plans."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[Any, ...]]:
        """Compile anew, or take from the cache, a copy that is pickled or deep."""
        return _compile_anew, (self.program, self.params, self.threads, self.engine)

    def _bind(self, program: Program) -> Elaborated:
        return bind(program, params=self.params, threads=self.threads, symbolic=True)

    def _engine_for(self, bound: Elaborated) -> Engine:
        """The engine for the plan of a program, with its numbers of threads and chunk sizes left open."""
        program = open_program(bound)
        key = depends_on(program)
        found = self._engines.get(key)
        if found is None:
            found = keep_recent(self._engines, key, _new_engine(program, self.engine))
        return found

    @property
    def inputs(self) -> dict[str, str]:
        """The formats of the inputs that a call takes, by name."""
        return {name: str(self._bound.towers[name]) for name in self._bound.open}

    @property
    def returns(self) -> tuple[str, ...]:
        """The names that a call returns: the program's, or all that it updates and the variables that are known yet."""
        return self._returns or (*self._bound.outputs, *(name for name, _ in self._variables))

    @property
    def plan(self) -> Plan:
        """The plan: for all extents, or if there is none, for those of the call that was the first with its extents."""
        return self._ready().plan

    @property
    def source(self) -> str:
        """The C of the plan. InputError if the register machine runs it."""
        engine = self._ready()
        if isinstance(engine, native.NativeEngine):
            raise InputError("the register machine runs this kernel, and there is no C", fix="use engine='compiled'")
        return engine.source

    @cached_property
    def same_pattern(self) -> Kernel | None:
        """The kernel for inputs that store elements at the same subscripts: it runs over what is stored, and the result
        shares the subscripts of the inputs. Made when it is first needed; None if the program is not element-wise.
        """
        if self._entries is None:
            return None
        program = replace(self.program, tree=self._entries.tree)
        return self._like_this(program, self.params, self.threads)

    def _over_entries(self, tensors: Mapping[str, Tensor]) -> Ready | None:
        """A call over stored elements, if inputs have them at the same subscripts, and the result follows from them."""
        if self._entries is None or self.same_pattern is None:
            return None
        known = {**self._bound.inputs, **tensors} if self._bound.inputs else tensors
        stored = self._entries.inputs
        first, *others = [known[name] for name in stored]
        if not all([same_pattern(first, other) for other in others or (first,)]):
            return None
        same = self.same_pattern
        vectors = {name: entries(known[name]) if name in stored else known[name] for name in same._forms}
        call = same._call_for(vectors)
        tower = self._results.get(first.shape)
        if tower is None:
            tower = keep_recent(self._results, first.shape, Tower.of(self._entries.root, first.shape))
        return Ready(call, _hand_over(call, vectors), (first, tower))

    def _ready(self) -> Engine:
        if self._last is None:
            raise InputError("the plan depends on the extents of the inputs", fix="call the kernel first")
        return self._last

    def __repr__(self) -> str:
        scope = "all extents" if self._any is not None else "the extents of each call"
        taken = ", ".join(f"{name}: {form}" for name, form in self.inputs.items())
        return f"<Kernel {self.program.name}({taken}) → {', '.join(self.returns)}; {self.engine}, for {scope}>"

    @property
    def _variables(self) -> tuple[tuple[str, Any], ...]:
        """The variables of the outermost scope, if they are known yet."""
        return self._last.plan.variables if self._last is not None else ()

    def __call__(self, /, *, limits: Limits | None = None, **inputs: Any) -> Any:
        """Run the kernel.

        Args:
            limits: what the run may use; by default four fifths of the memory that there is.
            inputs: a SciPy array, a NumPy array or a `Tensor` for each input, of its rank; axes that one loop runs over
                have equal extents. They must not change during the call.

        Returns:
            What the program returns, or else all that it updates: a `Tensor`, or a named tuple of several; variables
            are numbers. Tensors are views of the memory of the run, so converting them may copy nothing.

        Raises:
            InputError: an input is missing or does not fit.
            Fault: the run met one, such as an overflow, or needs more memory than `limits` allows.
        """
        return self.call(inputs, limits)

    def call(self, inputs: Mapping[str, Any], limits: Limits | None = None) -> Any:
        """Run the kernel with inputs under any names. Arguments, result and errors: as of a call."""
        return self._run(self._again.find(inputs) or self._check_inputs(inputs), limits)

    def _check_inputs(self, inputs: Mapping[str, Any]) -> Ready:
        """Inputs, checked. InputError if one does not fit."""
        if inputs.keys() != self._forms.keys():
            raise self._explain_names(inputs)
        if (lent := self._lend(inputs)) is not None:
            return lent
        tensors = {name: fit_input(name, *form, inputs[name]) for name, form in self._forms.items()}
        call = self._call_for(tensors)
        ready = self._over_entries(tensors) or Ready(call, _hand_over(call, tensors))
        if all([inputs[name] is tensor for name, tensor in tensors.items()]):
            self._again.keep(tensors, ready)
        return ready

    @cached_property
    def _lender(self) -> Lender | None:
        """The lender of the caller's arrays to the plan for all extents, if that can read all inputs in place."""
        if not isinstance(self._any, compiled.CompiledEngine):
            return None
        alike = () if self._entries is None else self._entries.inputs
        if not all(name in self._forms for name in alike):
            return None
        return self._any.lender({name: tower for name, (tower, _) in self._forms.items()}, alike)

    def _lend(self, inputs: Mapping[str, Any]) -> Ready | None:
        """A call that reads the caller's arrays where they are; None if one does not fit as it is, or is not in order,
        or if there was no call with these extents.
        """
        lent = None if self._lender is None else self._lender.lend(inputs)
        if lent is None:
            return None
        if lent.pattern is not None and self.same_pattern is not None:
            values = dict(zip(self._forms, lent.values, strict=True))
            ready = self.same_pattern._lend({name: values[name] for name in self.same_pattern._forms})
            tower = self._results.get(lent.shapes[self._first_alike])
            return None if ready is None or tower is None else ready._replace(lists=(tower, *lent.pattern))
        call = self._calls.get(lent.shapes)
        return Ready(call, (), lent=lent) if call is not None and call.engine is self._any else None

    @cached_property
    def _first_alike(self) -> int:
        """The place among the inputs of the first one that is element-wise."""
        assert self._entries is not None
        return min(list(self._forms).index(name) for name in self._entries.inputs)

    def _run(self, ready: Ready, limits: Limits | None) -> Any:
        """Run the program on inputs that fit; return its results."""
        call, given, shares, lent, lists = ready
        given = (*call.own, *given) if call.own else given
        if lent is None:
            results = call.engine.run(given, call.setting, limits=limits)
        else:
            assert isinstance(call.engine, compiled.CompiledEngine)
            results = call.engine.run(given, call.setting, limits=limits, lent=lent)
        if shares is not None:
            ((name, fill),) = results.fills.items()
            return with_entries(*shares, results.arrays(name), fill)
        if lists is not None:
            ((name, fill),) = results.fills.items()
            return with_lists(*lists, results.arrays(name), fill)
        ends: dict[str, Any] = results.tensors(call.towers)
        if results.variables:
            ends |= {name: algebra.double(value) for name, value in results.variables.items()}
        names = self._returns or tuple(ends)
        return ends[names[0]] if len(names) == 1 else _record(names)(*[ends[name] for name in names])

    def _explain_names(self, inputs: Mapping[str, Any]) -> InputError:
        """The message about inputs that are missing or idle."""
        wanted = self._forms
        fix = f"call it with {', '.join(wanted) or 'no inputs'}"
        if missing := [name for name in wanted if name not in inputs]:
            return InputError(f"{self.program.name} needs {' and '.join(missing)}", fix=fix)
        idle = [name for name in inputs if name not in wanted]
        return InputError(f"{self.program.name} takes no input {' or '.join(idle)}", fix=fix)

    def _call_for(self, tensors: Mapping[str, Tensor]) -> PreparedCall:
        """The call for inputs of these extents, prepared once for them."""
        shapes = tuple([tensor.tower.shape for tensor in tensors.values()])
        return self._calls.get(shapes) or keep_recent(self._calls, shapes, self._call(tensors))

    def _call(self, tensors: Mapping[str, Tensor]) -> PreparedCall:
        """Prepare a call for these extents. InputError if they do not agree, or something is too large."""
        extents, engine, bound = self._extents(tensors), self._any, self._bound
        if engine is not None and max(extents.values(), default=0) < SMALL:
            every = {name: self._tower(name, extents) for name in bound.towers}
            towers = {name: every[name] for name in bound.outputs}
            parameters: Mapping[str, int] = {**extents, **self._numbers}
            sizes, exact = self._sizes(extents), bounds(engine.plan, every)
        else:
            bound = bind(self.program, inputs=tensors, params=self.params, threads=self.threads)
            self._last = engine = self._engine_for(bound)
            parameters, towers = self._numbers, dict(bound.towers)
            sizes = exact = bounds(engine.plan, towers)
        own = {name: tensor for name, tensor in bound.inputs.items() if name not in tensors}
        handed = tuple([engine.inputs.from_tensor(name, tensor) for name, tensor in own.items()])
        return PreparedCall(engine, handed, engine.setting(parameters, sizes, exact), towers)

    def _extents(self, tensors: Mapping[str, Tensor]) -> dict[str, int]:
        """The extents that are left open. InputError if the inputs do not agree on one."""
        found: dict[str, int] = {}
        first: dict[str, str] = {}
        for name, tensor in tensors.items():
            for axis, (e, have) in enumerate(zip(self._bound.extents[name], tensor.shape, strict=True), start=1):
                where = f"axis {axis} of {name}"
                if isinstance(e, ir.Variable):
                    known, why = found.setdefault(e.name, have), first.setdefault(e.name, where)
                    if known != have:
                        message = f"{where} has extent {have}, and {why} has {known}: one loop runs over both"
                        raise InputError(message, fix="give inputs whose extents agree")
                elif isinstance(e, ir.Literal) and e.value != have:
                    raise InputError(f"{where} has extent {have}, the program needs {e.value}")
        return found

    def _sizes(self, extents: Mapping[str, int]) -> Bounds:
        """Bounds of the buffers for these extents, and for somewhat larger ones, so that memory is used again."""
        rounded = tuple((name, 1 << n.bit_length()) for name, n in extents.items())
        found = self._rooms.get(rounded)
        if found is None:
            assert self._any is not None
            try:
                towers = {name: self._tower(name, dict(rounded)) for name in self._bound.towers}
            except InputError:  # it is too large for these, and not for the others
                towers = {name: self._tower(name, extents) for name in self._bound.towers}
                return bounds(self._any.plan, towers)
            found = keep_recent(self._rooms, rounded, bounds(self._any.plan, towers))
        return found

    def _tower(self, name: str, extents: Mapping[str, int]) -> Tower:
        """The tower of a tensor. InputError if it is too large."""
        shape = zip(self._bound.extents[name], self._bound.towers[name].shape, strict=True)
        known = tuple(extents[e.name] if isinstance(e, ir.Variable) else n for e, n in shape)
        tower = Tower(self._bound.towers[name].levels, known)
        positions(name, tower)
        return tower


def _hand_over(call: PreparedCall, tensors: Mapping[str, Tensor]) -> tuple[PlanInput, ...]:
    """Inputs for what runs a call."""
    return tuple([call.engine.inputs.from_tensor(name, tensor) for name, tensor in tensors.items()])


def _with_formats(program: Program, inputs: Mapping[str, Any]) -> Program:
    """The program with definitions of the inputs whose formats are given, as far as it reads or updates them.

    It is not bound before, as by default they hold doubles, which not every operator takes.
    """
    ranks = {access.fiber.tensor: len(access.subscripts) for access, _ in ir.accesses(program.tree)}
    made = []
    for name, given in inputs.items():
        if name in _defined_names(program) or name not in ranks:
            continue
        try:
            form = _format(given, ranks[name])
        except WingspanError as error:
            raise InputError(f"{name}: {error.message}", fix=error.fix) from None
        made.append(ir.Define(name, ir.TensorCall(form)))
    body = replace(program.tree.body, statements=(*made, *program.tree.body.statements))
    return replace(program, tree=replace(program.tree, body=body)) if made else program


def _require_open(program: Program, bound: Elaborated, inputs: Mapping[str, Any]) -> None:
    """InputError if what has a format is no open input, or if it has another format by the program."""
    for name, given in inputs.items():
        if name not in bound.open:
            fix = f"it has {', '.join(bound.open) or 'none'}"
            raise InputError(f"{program.name} has no open input {name}", fix=fix)
        if name in _defined_names(program) and isinstance(given, str):
            raise InputError(f"the program gives {name} a format", fix="leave one of the two out")


def _defined_names(program: Program) -> set[str]:
    """The names that a program defines."""
    return {node.name for node in program.tree.walk() if isinstance(node, ir.Define)}


def _format(given: Any, rank: int) -> ir.Format:
    """The format that is given, or that of an example."""
    if isinstance(given, Tensor):
        return parse_format(str(given.tower))
    if isinstance(given, str):
        return default_format(rank, KINDS[given].zero) if given in ANY else parse_format(given)
    given = interpret(given, rank)
    if not isinstance(given, Filled | RunArray):
        try:
            given = np.asarray(given)
        except ValueError:
            raise InputError("the example is no array", fix="give rows of one length") from None
    fill, array = (given.fill, given.array) if isinstance(given, Filled) else (0, given)
    dtype = getattr(array.values if isinstance(array, RunArray) else array, "dtype", None)
    if dtype is None or dtype.kind not in "biuf":
        raise InputError(f"{dtype or 'no'} elements", fix="give a format, a kind, an array of numbers, or a Tensor")
    return default_format(rank, kind_of(given)(fill))


def _require_parameters(bound: Elaborated) -> None:
    """InputError if a parameter has no value."""
    known = set(_open_extents(bound)) | set(bound.open)
    if missing := [name for name in bound.symbols if name not in known]:
        example = ", ".join(f'"{name}": …' for name in missing)
        has = "has" if len(missing) == 1 else "have"
        raise InputError(f"{' and '.join(missing)} {has} no value", fix=f"params={{{example}}}")


def _open_extents(bound: Elaborated) -> Iterator[str]:
    """The names of extents that are left open."""
    for shape in bound.extents.values():
        yield from (e.name for e in shape if isinstance(e, ir.Variable))


@cache
def _record(names: tuple[str, ...]) -> Any:
    """The type of several results; making it takes longer than a small kernel."""
    members = {"__slots__": (), "__reduce__": lambda self: (_results, (names, tuple(self)))}
    return type("Results", (namedtuple("Results", names, rename=True),), members)


def _results(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Several results, out of another process."""
    return _record(names)(*values)
