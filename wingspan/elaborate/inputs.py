"""Sources of each tensor's format, extents and data: its definition, the caller, or the default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, Mark, Mistakes, ProgramError, Span, visible
from wingspan.base.errors import Source as Text
from wingspan.base.libraries import np, scipy
from wingspan.elaborate.names import NameTable
from wingspan.elaborate.parameters import closest, did_you_mean
from wingspan.lang import ir
from wingspan.lang.numbers import axes, subscripts
from wingspan.lang.words import equal_or_nan
from wingspan.levels import MOST_AXES, Level, Tower, resolve, usual
from wingspan.tensors.arrays import as_array
from wingspan.tensors.foreign import RunArray, adopt
from wingspan.tensors.formats import default_format
from wingspan.tensors.frozen import Frozen
from wingspan.tensors.pairs import of_pairs
from wingspan.tensors.tensor import Tensor, adapt, at_hand, hold, require_array, require_order


@dataclass(frozen=True)
class TensorSource:
    """A tensor before its extents are settled: literals, or over symbols, or None for each one that is not given."""

    name: str
    root: Level
    extents: tuple[ir.Expression | None, ...]
    declared: bool
    """whether the program declares it; else it is an input"""
    span: Span | None
    data: Any = None
    """a checked array, a tensor, or a single value; None for a declared tensor, and for an input that is left open"""
    lent: Any = None
    """the caller's array, which the caller may change: what the tensor would share with it is copied"""

    def load(self, tower: Tower) -> Tensor:
        """The tensor with its data."""
        assert self.data is not None
        try:
            return adapt(self.data, tower) if isinstance(self.data, Tensor) else hold(tower, self.data, self.lent)
        except InputError as error:
            fix = f"use another format for {self.name}, or other data"
            raise InputError(f"{self.name}: {error.message}", self.span, fix=fix) from None


def load_tensors(
    names: NameTable, folder: Path, inputs: Mapping[str, Any], mistakes: Mistakes, symbolic: bool = False
) -> dict[str, TensorSource]:
    """All tensors that the program uses, by name, but for those that are mistaken.

    It is a mistake if an input is idle or does not fit, or is missing unless the program is bound symbolically, or if a
    tensor and its uses differ in rank.
    """
    uses: dict[str, list[ir.Access]] = {}
    reads: dict[str, list[ir.Access]] = {}
    for access, updated in ir.accesses(names.body):
        uses.setdefault(access.fiber.tensor, []).append(access)
        if not updated:
            reads.setdefault(access.fiber.tensor, []).append(access)
    declared = {node.tensor: node.span for node in names.body.walk() if isinstance(node, ir.Declare)}
    every = dict.fromkeys((*names.tensors, *uses, *declared))
    for name in inputs:
        if name not in every:
            fix = did_you_mean(name, every) or (f"it has {', '.join(sorted(every))}" if every else "leave it out")
            if name in names.all:
                fix = f"{name} is no tensor; give a parameter as -p {name}=…, in Python by params="
            mistakes.note(InputError(f"the program has no tensor {name}", fix=fix), spoils=closest(name, every))
    found: dict[str, TensorSource] = {}
    for name in every:
        with mistakes.collecting(name, *_devices(names.tensors.get(name)), spoils=[name]):
            source = _source(name, names, folder, uses, declared)
            _check_ranks(source, uses.get(name, []), name in names.tensors, mistakes)
            if name in inputs:
                source = _bind_data(source, inputs[name])
            if source.data is not None or source.declared:
                found[name] = source
            elif name in uses or name in names.returns:
                if not symbolic or (name not in names.tensors and name not in reads):
                    raise _missing(name, names, uses.get(name, []), reads.get(name, []))
                found[name] = source
    return found


def reload(name: str, tower: Tower, data: Any) -> Tensor:
    """An input of a program that is bound already, with other data of the same extents."""
    extents = tuple(ir.Literal(n) for n in tower.shape)
    return _bind_data(TensorSource(name, tower.levels[0], extents, False, None), data).load(tower)


def fit_input(name: str, form: Tower, fill: ir.Value, data: Any) -> Tensor:
    """An input of any extents in the levels of a tower whose fill value is exactly this. InputError if it does not fit.

    It shares arrays with the caller where they fit.
    """
    known = isinstance(data, Tensor) and isinstance(data.data, Frozen)
    if known and data.tower.levels[0] == form.levels[0] and equal_or_nan(data.fill, fill):
        require_order(name, data)
        return cast(Tensor, data)
    if isinstance(data, np.ndarray) or (scipy.sparse.issparse(data) and not fill):
        tower = form.with_shape(data.shape)
        if (arrays := at_hand(tower, data)) is not None:
            return Tensor(tower, arrays, fill)
    source = replace(_bind_data(TensorSource(name, form.levels[0], (None,) * form.rank, False, None), data), lent=None)
    return source.load(Tower(form.levels, source.data.shape))


def _devices(definition: ir.Define | None) -> list[str]:
    """The names in a tensor's format that must be devices, and how messages call them."""
    value = definition.value if definition else None
    nodes = value.format.walk() if isinstance(value, ir.TensorCall) else ()
    names = [node.name for node in nodes if isinstance(node, ir.Variable)]
    return [*names, *(f"{name} as a device" for name in names)]


def subject(use: ir.Access) -> tuple[str, str]:
    """The subjects of a mistake in an access: its tensor, and its number of subscripts, spoiled if that is wrong."""
    return use.fiber.tensor, f"{use.fiber.tensor} with {subscripts(len(use.subscripts))}"


def _marks(first: Span | None, primary: Span | None) -> tuple[Mark, ...]:
    return (Mark(first),) if first is not None and first != primary else ()


def _check_ranks(source: TensorSource, uses: list[ir.Access], defined: bool, mistakes: Mistakes) -> None:
    """Every access has a subscript for each axis. A wrong number of subscripts is reported once."""
    rank = len(source.extents)
    for use in uses:
        if len(use.subscripts) != rank:
            here = subscripts(len(use.subscripts))
            has = f"{axes(rank)}, and here {here}" if defined else f"{subscripts(rank)} elsewhere, and {here} here"
            error = ProgramError(
                f"{source.name} has {has}", use.span,
                marks=_marks(source.span, use.span), fix="write one subscript for each axis",
            )  # fmt: skip
            mistakes.note(error, *subject(use), spoils=subject(use)[1:])


def _missing(name: str, names: NameTable, uses: list[ir.Access], reads: list[ir.Access]) -> InputError | ProgramError:
    """The message about a tensor without data that is used, not declared; a ProgramError if it seems to be no input."""
    if name in names.tensors and not uses:
        return InputError(f"{name} is returned, and has no data", names.tensors[name].span, fix=_bind(name))
    if name in names.tensors or reads:
        close = did_you_mean(name, names.tensors) if name not in names.tensors else None
        span = (reads or uses)[0].span
        return InputError(f"{name} has no data: it is used before it is declared", span, fix=close or _bind(name))
    fix = did_you_mean(name, names.tensors) or f"define and declare it: {name} = Tensor(FORMAT), {name} .= 0"
    return ProgramError(f"{name} is updated and never defined", uses[0].span, fix=fix)


def _bind(name: str) -> str:
    return f"bind it (-i {name}=FILE), give it data (Tensor(…, [1, 2])), or declare it ({name} .= 0)"


def _source(
    name: str, names: NameTable, folder: Path, uses: Mapping[str, list[ir.Access]], declared: Mapping[str, Span | None]
) -> TensorSource:
    """A tensor as the program has it."""
    if name in names.tensors:
        return _source_of_definition(names.tensors[name], names, folder, name in declared)
    if name in declared:
        fix = did_you_mean(name, names.tensors) or f"define it: {name} = Tensor({usual.ALL}({usual.LEAF}(0.0)))"
        raise ProgramError(f"{name} is declared but has no format", declared[name], fix=fix)
    return _default(name, len(uses[name][0].subscripts), uses[name][0].span)


def _source_of_definition(definition: ir.Define, names: NameTable, folder: Path, declared: bool) -> TensorSource:
    name, value, span = definition.name, definition.value, definition.span
    if isinstance(value, ir.ScalarCall):
        root = resolve(ir.Format(usual.LEAF, (value.init,), span=span), names.devices)
        return TensorSource(
            name, root, (), declared, span, None if declared else np.array(value.init.value, dtype=object)
        )
    assert isinstance(value, ir.TensorCall)
    root = resolve(value.format, names.devices)
    rank = Tower.of(root, ()).rank
    _require_rank(name, rank, span)
    source = TensorSource(name, root, value.extents or (None,) * rank, declared, span)
    match value.data:
        case ir.Data(rank=given, rows=rows):
            array = np.array([[x.value for x in row] for row in rows], dtype=object)
            return _with_data(source, array.reshape((len(rows), -1) if given == 2 else (-1,)))
        case ir.File(path=path):
            from wingspan.tensors.files import read_file

            data = read_file(folder / path, value.data.span or span, len(source.extents))
            return _with_data(source, _adopt(source, data))
    if len(source.extents) != rank:
        extents = "1 extent" if len(value.extents) == 1 else f"{len(value.extents)} extents"
        raise ProgramError(f"{name} has {axes(rank)} and {extents}", span, fix="give one extent for each axis, or none")
    return source


def _require_rank(name: str, rank: int, span: Span | None) -> None:
    if rank > MOST_AXES:
        message = f"{name} has {axes(rank)}, and a tensor has at most {MOST_AXES}"
        raise ProgramError(message, span, fix="let one axis stand for several, as in A[(i - 1) * n + j]")


def _with_data(source: TensorSource, data: Any) -> TensorSource:
    if source.declared:
        raise ProgramError(f"{source.name} has data and is declared too", source.span, fix="leave one of the two out")
    if len(data.shape) != len(source.extents):
        raise ProgramError(
            f"{source.name} has {axes(len(source.extents))}, its data {len(data.shape)}", source.span,
            fix="[1, 2] is a vector, [1 2; 3 4] a matrix; a format has one level for each axis, and a leaf",
        )  # fmt: skip
    return replace(source, extents=_extents(data), data=_require_array(source, data))


def _extents(data: Any) -> tuple[ir.Literal, ...]:
    """The extents of an array."""
    return tuple(ir.Literal(int(n)) for n in data.shape)


def _default(name: str, rank: int, span: Span | None) -> TensorSource:
    """An input without a definition."""
    _require_rank(name, rank, span)
    return TensorSource(name, resolve(default_format(rank), {}), (None,) * rank, False, span)


def _bind_data(source: TensorSource, data: Any) -> TensorSource:
    """The source with the caller's data: an array, a tensor, or a file."""
    name = source.name
    if source.declared:
        raise InputError(f"{name} takes no input: the program declares it", source.span, fix="leave the input out")
    if source.data is not None:
        raise InputError(f"{name} takes no input: the program gives it data", source.span, fix="leave one of them out")
    array = data if isinstance(data, Tensor) else _array(source, data)
    if len(array.shape) != len(source.extents):
        raise InputError(
            f"{name} has {axes(len(source.extents))}, the input {len(array.shape)}", source.span,
            fix=f"define {name} with a format of {axes(len(array.shape))}, or bind another input",
        )  # fmt: skip
    for axis, (wanted, have) in enumerate(zip(source.extents, array.shape, strict=True), start=1):
        if isinstance(wanted, ir.Literal) and wanted.value != have:
            message = f"axis {axis} of {name} has extent {wanted.value}, that of the input {have}"
            raise InputError(message, source.span, fix="leave the extents out, or bind another input")
    lent = None if isinstance(data, Tensor | str | os.PathLike) else array
    return replace(source, extents=_extents(array), data=_require_array(source, array), lent=lent)


def _array(source: TensorSource, data: Any) -> Any:
    """The caller's data as a NumPy array or a SciPy sparse one."""
    if isinstance(data, str | os.PathLike):
        from wingspan.tensors.files import read_file

        data = read_file(Path(data), _option(source.name, data), len(source.extents))
    data = _adopt(source, data)
    if scipy.sparse.issparse(data) or isinstance(data, RunArray):
        return data
    with _place_errors(source):
        array = as_array(data)
    if array.dtype.kind not in "biuf" and not of_pairs(array):
        fix = "use integers, doubles or booleans"
        raise InputError(f"{source.name}: the input has {array.dtype} elements", source.span, fix=fix)
    return array


def _option(name: str, path: str | os.PathLike[str]) -> Span:
    """Describe the option that names a file: as on the command line."""
    option = f"-i {name}="
    text = visible(f"{option}{os.fspath(path)}")
    return Span(Text("command line", text), 1, len(option) + 1, 1, len(text) + 1)


def _adopt(source: TensorSource, data: Any) -> Any:
    """The caller's data, converted from types that only other libraries know."""
    levels = Tower.of(source.root, ())
    with _place_errors(source):
        return adopt(data, levels, levels.rank, levels.fill)


def _require_array(source: TensorSource, data: Any) -> Any:
    with _place_errors(source):
        return data if isinstance(data, Tensor) else require_array(data)


@contextmanager
def _place_errors(source: TensorSource) -> Iterator[None]:
    """Within, an InputError gets the name and the place of a tensor."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source.name}: {error.message}", source.span, fix=error.fix) from None
