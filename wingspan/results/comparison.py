"""Differential testing: one program through several engines, and the first place where two results differ.

An engine is anything with a name that runs bound programs: the ones of this package, or somebody else's compiler.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Reportable, Shown
from wingspan.base.errors import Fault, InputError, WingspanError
from wingspan.base.libraries import np, scipy
from wingspan.elaborate import Elaborated
from wingspan.lang.algebra import double
from wingspan.tensors.pairs import PAIR
from wingspan.tensors.tensor import Tensor

DTYPES: dict[str, tuple[str, Any]] = {
    "b": ("bool", np.bool_), "i": ("int", np.int64), "u": ("int", np.int64), "f": ("float", np.float64),
    "V": ("pair", PAIR),
}  # fmt: skip
"""The kinds of elements, by NumPy's letters for them, and what they are compared as."""


class Engine(Protocol):
    """Runs programs.

    `run` gives an array for each of `program.outputs`, of the extents `program.towers[name].shape`: anything that
    `numpy.asarray` takes, a SciPy sparse array, or a `Tensor`. It may also give variables of the outermost scope by
    name, as numbers. A Fault says that the program failed as the language says it must (overflow, an index out of
    bounds); an InputError or a NotImplementedError that the engine cannot run this program; any other exception is a
    defect of the engine.

    Three attributes may be true. Engines that iterate sparsely do not evaluate what a missing element makes idle; one
    that does is `eager`: where it faults and others do not, they do not differ. One that is `unchecked` never faults,
    as its integers wrap: where others fault, its result does not count. A campaign runs an engine on inputs with Inf or
    NaN if it is `nonfinite`.

    One that compiles many programs at once may have a method `prepare`: a campaign calls it with those that come next.
    """

    @property
    def name(self) -> str:
        """The name of the engine in reports."""

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """Run the program. `inputs` are the dense arrays of all tensors that it reads without declaring."""


FRAMES = 6
"""The innermost frames of a traceback that a comparison shows."""


class Defect(Exception):
    """A defect of an engine: the exception that it raised, or the end of the process that has run it.

    `output` has the traceback, or the last lines that the process wrote.
    """

    def __init__(self, how: str, output: str = "", hung: bool = False) -> None:
        super().__init__(how, output, hung)
        self.how, self.output, self.hung = how, output, hung

    @staticmethod
    def from_exception(error: BaseException) -> Defect:
        """Describe an exception of an engine as a defect, with the traceback from the engine's own frame on."""
        text = str(error)
        frames = traceback.format_list(traceback.extract_tb(error.__traceback__)[1:][-FRAMES:])
        return Defect(f"{type(error).__name__}: {text}" if text else type(error).__name__, "".join(frames))


class Inputs(Mapping[str, np.ndarray]):
    """The dense arrays of a program's inputs, each made when it is asked for."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> np.ndarray:
        return self._tensors[name].to_numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


@dataclass(frozen=True)
class Ending:
    """The end of one run: arrays by name, a fault, or a defect of the engine."""

    engine: str
    arrays: Mapping[str, np.ndarray]
    seconds: float
    fault: str | None = None
    defect: str | None = None
    eager: bool = False
    unchecked: bool = False
    output: str = ""
    """the traceback of a defect, or the last lines that the engine wrote, if its process ended or had to be ended"""
    hung: bool = False
    """whether it was ended since its time was up"""

    def __str__(self) -> str:
        return f"a defect: {self.defect}" if self.defect else f"a fault: {self.fault}" if self.fault else "a result"


@dataclass(frozen=True)
class Difference:
    """The first place in which the results of two engines differ, as a program writes it, and what each has there."""

    place: str
    """`C[1, 2]`, `x`, the name of a tensor if kind or extents differ, or `the end of the run`"""
    first: str
    first_has: float | str
    second: str
    second_has: float | str


@dataclass(frozen=True)
class CrossExploration:
    """The extent of the explorations of one program on two machines, and what they do not have in common."""

    states: Mapping[str, int]
    """the number of states, by machine"""
    stopped_by: str | None
    """the bound that cut one of them short, so that nothing is compared"""
    difference: Difference | None

    @property
    def complete(self) -> bool:
        """Whether both cover every interleaving."""
        return self.stopped_by is None


@dataclass(frozen=True, repr=False)
class Comparison(Shown, Reportable):
    """The results of several engines on one program, and their differences."""

    endings: tuple[Ending, ...]
    """one for each run, those of the first engine first"""
    left_out: Mapping[str, str]
    """engines that cannot run the program, and why"""
    difference: Difference | None
    """the first difference of two runs, or of what exploring finds on the two machines"""
    explored: CrossExploration | None = None
    """the explorations of the program, if it is small enough"""
    program: str = "program"
    """the name of the program"""

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that ran, in order."""
        return tuple(dict.fromkeys(ending.engine for ending in self.endings))


def compare(
    program: Elaborated, engines: Sequence[Engine], *, repeat: int = 1, tolerance: float = 0.0, lenient: bool = False
) -> Comparison:
    """Run a bound program through engines, and compare every run with the very first.

    What excuses a difference from that run excuses no difference from another one.

    Args:
        program: a program that `wingspan.api.bind` has bound.
        engines: what runs it.
        repeat: how often each engine runs.
        tolerance: the largest relative difference of two doubles that count as equal.
        lenient: leave out engines that cannot run the program.

    Raises:
        InputError: an engine cannot run the program, or if `lenient`, none can.
    """
    endings: list[Ending] = []
    left_out: dict[str, str] = {}
    for engine in engines:
        try:
            endings += [run_to_end(program, engine) for _ in range(repeat)]
        except InputError as error:
            if not lenient:
                raise
            left_out[engine.name] = error.message
    if not endings:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise InputError(f"no engine can run the program: {why}" if why else "there is no engine to run the program")
    found = (difference(*pair, program.outputs, tolerance) for pair in _pairs_to_compare(endings))
    return Comparison(tuple(endings), left_out, next(filter(None, found), None), program=program.plain.source_name)


def _pairs_to_compare(endings: Sequence[Ending]) -> Iterator[tuple[Ending, Ending]]:
    """Pairs to compare: the very first run with all; all faults with all results; the first result with the others."""
    first, results = endings[0], [each for each in endings if not each.fault]
    yield from ((first, each) for each in endings)
    yield from (pair for pair in combinations(endings, 2) if any(each.fault for each in pair))
    if first.fault:
        yield from ((results[0], each) for each in results[1:])


def run_to_end(program: Elaborated, engine: Engine, name: str = "", *, prepare: bool = False) -> Ending:
    """Run an engine once; name it otherwise if a name is given.

    If asked to, the engine prepares for the program first.
    """
    began = time.perf_counter()
    arrays: dict[str, np.ndarray] = {}
    fault: str | None = None
    defect: Defect | None = None
    try:
        if prepare:
            engine.prepare([program])  # type: ignore[attr-defined]
        arrays = arrays_of(engine.run(program, Inputs(program.inputs)))
    except Fault as error:
        fault = error.message
    except WingspanError:
        raise
    except NotImplementedError as error:
        raise InputError(f"{engine.name} cannot run this: {str(error) or 'not implemented'}") from None
    except KeyboardInterrupt:  # Ctrl-C
        raise
    except BaseException as error:  # also SystemExit
        defect = error if isinstance(error, Defect) else Defect.from_exception(error)
    seconds = time.perf_counter() - began
    eager, unchecked = (getattr(engine, trait, False) for trait in ("eager", "unchecked"))
    how, output, hung = (defect.how, defect.output, defect.hung) if defect else (None, "", False)
    return Ending(name or engine.name, arrays, seconds, fault, how, eager, unchecked, output, hung)


def arrays_of(results: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The results of an engine, as dense arrays."""
    return {name: _array(value) for name, value in results.items()}


def _array(value: Any) -> np.ndarray:
    """The result of an engine as a dense array of 64-bit integers, doubles or truth values."""
    if isinstance(value, Tensor):
        return value.to_numpy()
    array = np.asarray(value.toarray() if scipy.sparse.issparse(value) else double(value))
    if array.dtype.kind not in DTYPES:
        raise TypeError(f"results are integers, doubles or booleans, and this engine gives {array.dtype}")
    return array.astype(DTYPES[array.dtype.kind][1], copy=False)


def difference(one: Ending, other: Ending, outputs: Sequence[str], tolerance: float = 0.0) -> Difference | None:
    """The first difference of two runs: how they ended, then the outputs, then the variables that both give.

    Integers and truth values must be equal, doubles up to a relative `tolerance`. Two runs that fault agree. So do a
    fault and what an `unchecked` engine makes of it, and a fault of an `eager` engine and a result.
    """
    faults = [each for each in (one, other) if each.fault]
    excused = any(each.eager if each.fault else each.unchecked for each in (one, other))
    if one.defect or other.defect or (len(faults) == 1 and not excused):
        return _difference("the end of the run", one, str(one), other, str(other))
    if faults:
        return None
    variables = sorted((one.arrays.keys() & other.arrays.keys()) - set(outputs))
    for name in (*outputs, *variables):
        if name not in one.arrays or name not in other.arrays:
            has = ["a result" if name in each.arrays else "nothing" for each in (one, other)]
            return _difference(name, one, has[0], other, has[1])
        left, right = one.arrays[name], other.arrays[name]
        if _kind(left) != _kind(right):
            return _difference(name, one, _kind(left), other, _kind(right))
        at = _unequal(left, right, tolerance)
        if at is not None:
            place = f"{name}[{', '.join(str(i + 1) for i in at)}]" if name in outputs else name
            return _difference(place, one, left[at].item(), other, right[at].item())
    return None


def _difference(place: str, one: Ending, first: float | str, other: Ending, second: float | str) -> Difference:
    return Difference(place, one.engine, first, other.engine, second)


def _kind(array: np.ndarray) -> str:
    """The kind of the elements and the extents, `float 2×3`."""
    return " ".join((DTYPES[array.dtype.kind][0], "×".join(map(str, array.shape)))).rstrip()


def _unequal(left: np.ndarray, right: np.ndarray, tolerance: float) -> tuple[int, ...] | None:
    """The subscripts, from 0, of the first element in which the arrays differ."""
    if left.dtype.kind == "f" and tolerance:
        same = np.isclose(left, right, rtol=tolerance, atol=0.0, equal_nan=True)
    else:
        same = (left == right) | ((left != left) & (right != right))
    found = np.argwhere(~same)
    return tuple(found[0].tolist()) if len(found) else None
