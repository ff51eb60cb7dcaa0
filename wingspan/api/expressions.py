"""Whole expressions: `einsum` computes one by a program that it chooses, among safe ones only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

from wingspan.api.calls import KEPT, keep_recent
from wingspan.api.compiling import Kernel, compile
from wingspan.api.names import AUTO, MEANWHILE, ON_THREADS, WORTH
from wingspan.api.subscripts import bind_operands, is_subscripts
from wingspan.base import disk_cache
from wingspan.base.activity import activity
from wingspan.base.budget import BUDGET, Budget
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Drawn
from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.choices.operands import Input, Operand
from wingspan.choices.reading import read_einsum
from wingspan.choices.transposed import Order, Transposed, as_format, turn_around
from wingspan.compiled import build
from wingspan.compiled.background import Compilation, StillCompiling, in_background
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.devices import thread_count
from wingspan.program import Function, Program, parse, require_functions
from wingspan.tensors.parallel import processors
from wingspan.tensors.tensor import Tensor

if TYPE_CHECKING:
    from wingspan.dependence import Report

SUFFIX = ".choice"
"""The suffix of the files with choices."""
CUT_SHORT = "planning was cut short: budget={0.larger} plans more than {0.steps} steps"


@dataclass(frozen=True, eq=False, repr=False)
class Computed(Transposed, Drawn):
    """The value of a whole expression, as a tensor, and the program that was chosen for it.

    Attributes:
        stored: the tensor that the program returns. Its axes are those of this one, perhaps in another order.
        axes: its axes, from 0, in the order that they have here.
        program: the program.
        inputs: the inputs of the program, by name: `wingspan.run(program, inputs=inputs)` runs it again.
        engine: what has run it.
        reason: the order of the loops, the formats, and the work that was expected; and whether planning was cut short.
    """

    program: Program
    inputs: Mapping[str, Tensor] = field(repr=False)
    engine: str
    reason: str

    def check(self) -> Report:
        """The proof of safety of the program: the verdict of `wingspan.check`, for all inputs."""
        from wingspan.api.checking import check  # not for those who only want the value

        return check(self.program, test="exact")

    def __repr__(self) -> str:
        extents = "×".join(map(str, self.shape)) or "a number"
        return f"<Computed {self.dtype} {extents}, {self.nnz:,} stored; {self.reason}>"


class ChosenProgram(NamedTuple):
    """A way to compute an expression that was chosen for inputs of certain shapes."""

    text: str
    """of its serial program"""
    inputs: Mapping[str, tuple[str, Order]]
    """of the program: the operand, and the order of its axes"""
    axes: tuple[int, ...]
    """of what it returns, in the order that the expression has them"""
    engine: str
    reason: str
    apart: bool
    """whether it is computed by intermediate results"""
    short: bool
    """whether the search for it was cut short"""
    work: float
    """the number of iterations that was expected"""


@dataclass(eq=False)
class Repeated:
    """A call that was chosen for arrays with certain traits, for later calls with such arrays."""

    kernel: Kernel
    choice: ChosenProgram
    key: Hashable
    """the key of the choice"""
    reason: str
    work: float = 0.0
    """the number of iterations of all calls so far, as expected"""


class BorrowedTensors(Mapping[str, Tensor]):
    """The inputs of a program, as tensors that are made of the caller's arrays when somebody asks for them."""

    def __init__(self, kernel: Kernel, arrays: Mapping[str, Any]) -> None:
        self._kernel, self._arrays = kernel, arrays

    def __getitem__(self, name: str) -> Tensor:
        array, form = self._arrays[name], as_format(self._kernel.inputs[name])
        if isinstance(array, np.ndarray):
            return Tensor.from_numpy(form, array, borrow=True)
        return Tensor.from_scipy(form, array, borrow=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


_choices: dict[Hashable, ChosenProgram] = {}
_kernels: dict[Hashable, Kernel] = {}
_compiling: dict[str, Compilation] = {}
"""the compilers that work on programs, by the texts of these"""
_placed: dict[Hashable, tuple[str, str, bool]] = {}
_repeated: dict[Hashable, Repeated] = {}


def einsum(
    expression: str,
    /,
    *operands: Any,
    format: str | None = None,
    init: ir.Value | None = None,
    threads: int | None = None,
    engine: str = AUTO,
    budget: int = BUDGET,
    functions: Sequence[Function] = (),
    extents: Mapping[str, int] | None = None,
    **inputs: Any,
) -> Computed:
    """Compute an expression over whole tensors, such as `C[i, j] += A[i, k] * B[k, j]`.

    Chooses the order of the loops, the formats of the result and of a workspace, and which factors of a product are
    reduced first, by the work that is estimated from the extents and the numbers of stored elements. Inputs that lie in
    memory in another order than the loops visit them are copied.

    Args:
        expression: one update of a tensor that no input is. Subscripts are sums of multiples of indices and a number;
            names without subscripts are numbers. Without a reduction it may be `C[i, j] = …`. Lines before it may
            declare functions. Or subscripts of `numpy.einsum` without an ellipsis, `ij,jk->ik`: a sum of products.
        operands: the inputs of subscripts, in order.
        format: the format of the result, whose last subscript is that of the root level. Parallel loops may add
            modifiers. By default it is chosen, with Dense levels where most indices get elements.
        init: what elements begin as, and those are that are not stored. By default, ⊕'s identity; of
            `=`, the value of the expression where no input stores anything.
        threads: the number of threads; by default that of the processors, or 1 if the work is not worth compiling it.
        engine: `compiled` or `native`, as for `wingspan.run`; `auto` takes C if the work is worth compiling it. Until
            the compiler has ended, the register machine runs calls of at most thirty million iterations; `reason` says
            so. If the compiler fails, it goes on, with a RuntimeWarning.
        budget: how many steps of work planning may take, about fifteen microseconds each: half of them for the choice
            of the program, half for where it can run in parallel. The best program so far is taken then, and
            `Computed.reason` says so.
        functions: made by `wingspan.function`; the expression calls them, or updates by them.
        extents: of indices, which run from 1. By default, those of the axes that they are subscripts of; of others, as
            far as all subscripts lie in their axes.
        inputs: what is read, by name: arrays of NumPy, SciPy, pydata/sparse or Arrow, Tensors, results of `einsum`,
            paths of files, or numbers. No input can have the name of another argument.

    Returns:
        The tensor, with the program.

    Raises:
        ParseError: the expression is no statement.
        InputError: it is more than one update, or an input or the format does not fit.
        ProgramError: an operator needs values of another kind.
        Fault: the run met one, such as an overflow.
    """
    if operands or (expression.strip() and is_subscripts(expression)):
        if inputs:
            message = "subscripts of NumPy take their operands by position, other expressions by name"
            raise InputError(
                message, fix="einsum('ij,jk->ik', A, B), or einsum('C[i, k] += A[i, j] * B[j, k]', A=A, B=B)"
            )
        expression, inputs = bind_operands(expression, operands)
    return evaluate(expression, inputs, format, init, threads, engine, budget, functions, extents)


def evaluate(
    expression: str,
    inputs: Mapping[str, Any],
    format: str | None,
    init: ir.Value | None,
    threads: int | None,
    engine: str,
    budget: int,
    functions: Sequence[Function] = (),
    extents: Mapping[str, int] | None = None,
) -> Computed:
    """As `einsum`, with inputs under any names."""
    if engine not in (AUTO, *ON_THREADS):
        raise InputError(f"there is no engine {engine} for einsums", fix=f"use {AUTO}, {' or '.join(ON_THREADS)}")
    if threads is not None:
        threads = thread_count(threads)
    functions = require_functions(functions)
    scope = processors() if threads is None else threads
    given = tuple((extents or {}).items())
    again = (expression, given, functions, format, repr(init), threads, scope, engine, budget, _traits(inputs))
    if (repeated := _repeated.get(again)) is not None and (made := _repeat(repeated, inputs, engine)) is not None:
        return made
    found, operands = read_einsum(_parse_expression(expression, functions), inputs, init, extents)
    Budget(budget)  # with its own mistake
    ranges = tuple(found.extents.items())
    traits = (operand.traits for operand in operands.values())
    key = expression, functions, format, repr(init), engine, budget, ranges, *traits
    choice = _choice(key, found, operands, apart=True)
    if choice.apart and not _is_reassociable(found, operands):
        key = *key, "whole"
        choice = _choice(key, found, operands, apart=False)
    tensors = {name: operands[operand].tensor(order) for name, (operand, order) in choice.inputs.items()}
    if threads is None:
        threads = scope if choice.engine == "compiled" else 1
    text, places, short = _parallel(choice.text, tensors, threads, budget)
    kernel = _kernel(text, choice, waits=engine != AUTO or choice.work > MEANWHILE)
    reason = f"{choice.reason}; {places}"
    if is_compiling := kernel.engine != choice.engine and text in _compiling:
        reason += "; the register machine runs it while C is compiled"
    if choice.short or short:
        reason += f"; {CUT_SHORT.format(Budget(budget))}"
    if (
        again[-1] is not None
        and not choice.apart
        and not is_compiling
        and all(operand.fill == 0 for operand in operands.values())
    ):
        keep_recent(_repeated, again, Repeated(kernel, choice, key, reason))
    shown: AbstractContextManager[Any] = nullcontext()
    if is_compiling:
        shown = activity("einsum: the register machine runs this while C is compiled")
    with shown:
        result = kernel.call(tensors)
    return Computed(result, choice.axes, kernel.program, tensors, kernel.engine, reason)


def _kernel(text: str, choice: ChosenProgram, waits: bool) -> Kernel:
    """The kernel of a program. If C is chosen and is not there yet, `waits` for the compiler, or has the register
    machine run the program meanwhile; and for good, with a warning, if the compiler fails.
    """
    at = text, choice.engine
    if (known := _kernels.get(at)) is not None:
        return known
    if waits or choice.engine != "compiled":
        return keep_recent(_kernels, at, compile(parse(text, "<einsum>"), engine=choice.engine))
    job = _compiling.get(text)
    if job is None or not job.is_working:
        try:
            with in_background():
                made = keep_recent(_kernels, at, compile(parse(text, "<einsum>"), engine="compiled"))
            _compiling.pop(text, None)
            return made
        except StillCompiling as still:
            keep_recent(_compiling, text, still.job)
        except InputError as error:
            _compiling.pop(text, None)
            warn(f"{error.message}: the register machine runs this", RuntimeWarning, stacklevel=4)
            return keep_recent(_kernels, at, _kernel(text, choice._replace(engine="native"), waits))
    return _kernel(text, choice._replace(engine="native"), waits)


def _is_reassociable(found: Einsum, operands: Mapping[str, Input]) -> bool:
    from wingspan.choices.contractions import is_reassociable  # only for products of several factors

    return is_reassociable(found, operands)


def _traits(inputs: Mapping[str, Any]) -> Hashable:
    """All that choices depend on; None if an input is no array of NumPy, and none of SciPy in CSC, CSR or COO."""
    found: list[Hashable] = []
    for name, data in inputs.items():
        if type(data) is np.ndarray:
            flags = data.flags
            found.append((name, data.dtype, data.shape, flags.c_contiguous, flags.f_contiguous))
        elif getattr(data, "format", None) in ("csc", "csr", "coo") and scipy.sparse.issparse(data):
            found.append((name, data.format, data.dtype, data.shape, len(data.data)))
        else:
            return None
    return tuple(found)


def _repeat(repeated: Repeated, inputs: Mapping[str, Any], engine: str) -> Computed | None:
    """The value of an expression by the program that was chosen for such inputs; None if they do not fit it as they
    are.

    Where `auto` has chosen the register machine, C takes over when all calls together are worth compiling it.
    """
    choice, kernel = repeated.choice, repeated.kernel
    repeated.work += choice.work
    if engine == AUTO and kernel.engine == "native" and repeated.work >= WORTH and build.compiler():
        keep_recent(_choices, repeated.key, choice._replace(engine="compiled"))
        return None
    arrays = {name: turn_around(inputs[operand], order) for name, (operand, order) in choice.inputs.items()}
    if any([array is None for array in arrays.values()]):
        return None
    try:
        result = kernel.call(arrays)
    except InputError:  # about an input of the program; what is wrong is said of the expression's
        return None
    tensors = BorrowedTensors(kernel, arrays)
    return Computed(result, choice.axes, kernel.program, tensors, kernel.engine, repeated.reason)


@lru_cache(maxsize=KEPT)
def _parse_expression(text: str, functions: tuple[Function, ...]) -> ir.Program:
    return parse(text, "<einsum>", functions).tree


def _choice(key: tuple[Any, ...], found: Einsum, operands: Mapping[str, Operand], *, apart: bool) -> ChosenProgram:
    """The choice with a key, which was made before, in this process or another one, or else is made."""
    _, functions, form, _, engine, budget, *_ = key

    def choose() -> tuple[Any, ...]:
        return tuple(_choose_program(found, operands, form, engine, budget, apart=apart))

    def recall() -> ChosenProgram:
        after = *map(str, functions), apart, bool(build.compiler())
        return ChosenProgram(*_recall("choice", (key, *after), choose))

    return _choices.get(key) or keep_recent(_choices, key, recall())


def _recall(what: str, key: tuple[Any, ...], choose: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The choice that a process with these sources made for a key, or else this one makes now."""
    name = disk_cache.digest_of(what, key, disk_cache.sources())
    found: tuple[Any, ...] | None = disk_cache.read(name, SUFFIX)
    if found is None:
        found = choose()
        disk_cache.write(name, SUFFIX, found)
    return found


def _choose_program(
    found: Einsum, operands: Mapping[str, Operand], form: str | None, engine: str, budget: int, *, apart: bool
) -> ChosenProgram:
    """The serial program of the least estimated work."""
    from wingspan.choices.contractions import enumerate_contractions  # not for choices that were made before

    steps = Budget(budget // 2)
    with activity("einsum: choosing loops and formats"):
        way = enumerate_contractions(found, operands, form, apart, steps)[0]
    text, inputs = way.program()
    if engine == AUTO:
        engine = "compiled" if way.work >= WORTH and build.compiler() else "native"
    stored = way.nests[-1].order[::-1]
    axes = tuple(map(stored.index, range(len(stored))))
    read_from = {name: (operand.name, order) for name, (operand, order) in inputs.items()}
    return ChosenProgram(text, read_from, axes, engine, str(way), len(way.nests) > 1, steps.exceeded, float(way.work))


def _parallel(text: str, tensors: Mapping[str, Tensor], threads: int, budget: int) -> tuple[str, str, bool]:
    """The program with the parallel loops, if any, with which it is expected to end first; what these are; and whether
    the search for them was cut short.

    That depends on sizes, and roughly only.
    """
    if threads < 2:
        return text, "serial", False
    key = (
        text,
        threads,
        budget,
        tuple(n.bit_length() for tensor in tensors.values() for n in (tensor.nnz, *tensor.shape)),
    )

    def place() -> tuple[str, str, bool]:
        from wingspan.choices.placements import placements  # not for choices that were made before

        steps = Budget(budget // 2)
        with activity("einsum: choosing parallel loops"):
            best = placements(parse(text, "<einsum>"), threads, inputs=tensors, quick=True, budget=steps)[0]
        return str(best.program), best.description, steps.exceeded

    if key not in _placed:
        chosen, description, exceeded = _recall("places", key, place)
        keep_recent(_placed, key, (chosen, description, exceeded))
    return _placed[key]
