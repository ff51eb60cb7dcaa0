"""Turns a written format into a tower of levels; formats of other packages register here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TypeVar

from wingspan.base.errors import InputError, ProgramError, Span
from wingspan.buffers.staging import definitions
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.lang import ir
from wingspan.lang.algebra import show
from wingspan.lang.devices import Device
from wingspan.lang.kinds import KINDS
from wingspan.lang.widths import NARROW, Width
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import MOST_AXES, Discipline, Gated, Leaf, Level, Modifier, Storage
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.pattern import Pattern
from wingspan.levels.run_list import RunList
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_band import SparseBand
from wingspan.levels.sparse_block_list import SparseBlockList
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_coo import SparseCOO
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_interval import SparseInterval
from wingspan.levels.sparse_list import SparseList
from wingspan.levels.sparse_point import SparsePoint
from wingspan.levels.sparse_run_list import SparseRunList

REGISTRY: dict[str, type[Level]] = {
    level.__name__: level
    for level in (
        Dense, SparseList, SparseDict, SparseByteMap, SparsePoint, SparseInterval, SparseBand,
        SparseBlockList, SparseRunList, RunList, SparseCOO,
        Element, Atomic, Pattern, Mutex, Isolate, Shard, Merge,
    )
}  # fmt: skip
"""Every format by the name that programs use."""

REGISTRY["SparseHash"] = SparseDict  # the name in earlier releases of Finch.jl

OURS = frozenset(REGISTRY)
"""Names that no other format may take."""
GROUP = "wingspan.levels"
"""The group of entry points by which installed packages add formats: each has a name and a class, `module:Level`."""

L = TypeVar("L", bound=Level)


def register(level: type[L]) -> type[L]:
    """Make a format available to programs, under the name of its class. Works as a decorator.

    Args:
        level: a class derived from `Storage`, `Leaf` or `Modifier`. It replaces an earlier class of the same name.

    Returns:
        The class.

    Raises:
        InputError: the argument is not such a class, its name is that of a built-in format, a trait has a value that is
            none, or its discipline does not go with its base class.
    """
    if not (isinstance(level, type) and issubclass(level, Storage | Leaf | Modifier)):
        raise InputError(f"{level!r} is not a format", fix="derive a class from Storage, Leaf or Modifier")
    if level.__name__ in OURS:
        raise InputError(f"there is a format {level.__name__} already", fix="give yours another name")
    _require_traits(level)
    _require_discipline(level)
    REGISTRY[level.__name__] = level
    return level


def unregister(level: type[Level]) -> None:
    """Make a format unavailable to programs again. `registered` does so at the end of a block.

    Args:
        level: the class that was registered.

    Raises:
        InputError: it is a built-in format, or not registered.
    """
    name = getattr(level, "__name__", repr(level))
    if name in OURS:
        raise InputError(f"{name} is a built-in format", fix="leave it registered")
    if REGISTRY.get(name) is not level:
        raise InputError(f"{name} is not registered", fix="give the class that was registered last under this name")
    del REGISTRY[name]


def _require_traits(level: type[Level]) -> None:
    """InputError if a trait has a value of another type."""
    for name, values in (("traversal", Traversal), ("order", UpdateOrder), ("identity", Identity)):
        stated = getattr(level, name)
        if not isinstance(stated, values):
            fix = f"write one of {', '.join(map(str, values))}"
            raise InputError(f"{level.__name__} has the {name} {stated!r}", fix=fix)


def _require_discipline(level: type[Level]) -> None:
    """InputError if a modifier has a discipline that is none, or one that does not go with its base class."""
    discipline, name = level.discipline, level.__name__
    if discipline is None:
        return
    if not isinstance(discipline, Discipline) or not issubclass(level, Modifier):
        fix = f"write one of {', '.join(f'Discipline.{each.name}' for each in Discipline)}"
        fix = fix if issubclass(level, Modifier) else "only modifiers have one: leave it out, and define stability()"
        raise InputError(f"{name} has the discipline {discipline!r}", fix=fix)
    if discipline.is_gated != issubclass(level, Gated):
        base = "Gated, since its instances" if discipline.is_gated else "Modifier, since its fibers do not"
        belong = "belong to the threads of a device"
        message = (
            f"{name} has the discipline {discipline.name}, and is {'not ' * discipline.is_gated}derived from Gated"
        )
        raise InputError(message, fix=f"derive it from {base} {belong}")


@contextmanager
def registered(*levels: type[Level]) -> Iterator[None]:
    """Make formats available within a `with` block. After the block, their names mean what they meant before.

    Args:
        levels: as for `register`.
    """
    before = dict(REGISTRY)
    try:
        for level in levels:
            register(level)
        yield
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)


def installed_format(name: str) -> type[Level] | None:
    """The format that an installed package provides under this name, or None. It is registered when found."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            REGISTRY[name] = register(point.load())
        except (ImportError, AttributeError) as error:
            raise InputError(f"the format {name} of {point.value} cannot be loaded: {error}") from None
        return REGISTRY[name]
    return None


def resolve(form: ir.Format, devices: Mapping[str, Device]) -> Level:
    """The level that a format describes, or a ProgramError. `devices` are those that names may refer to."""
    root = _resolve(form, devices)
    if _unwrap(root).leaf:
        _require_written(root, "a tensor without axes", form)
    return root


def _resolve(form: ir.Format, devices: Mapping[str, Device]) -> Level:
    level = REGISTRY.get(form.name) or installed_format(form.name)
    if level is None:
        from difflib import get_close_matches  # only a mistake needs it

        known = ", ".join(sorted(REGISTRY))
        close = get_close_matches(form.name, REGISTRY, n=1)
        fix = f"did you mean {close[0]}?" if close else f"use one of {known}"
        raise ProgramError(f"there is no format {form.name}", _name(form), topic="format", fix=fix)
    if issubclass(level, Leaf):
        _require_kind(level, form)
        filled = any(argument.init for argument in fields(level))
        match form.args:
            case (ir.Literal(value=fill),) if filled:
                return level(fill)
            case (ir.Literal() as fill, ir.StorageWidth() as width) if level.fits:
                return level(fill.value, _width(form, fill, width))
            case () if not filled:
                return level()  # type: ignore[call-arg]
        if not filled:
            raise _arity(form, f"{form.name} takes nothing", f"SparseList({form.name}())")
        what = "a fill value, and maybe a width" if level.fits else "a fill value"
        raise _arity(form, f"{form.name} takes {what}", f"{form.name}(0.0)")
    if issubclass(level, Gated):
        match form.args:
            case (ir.Variable(name=name) as device, ir.Format() as child):
                if name not in devices:
                    raise ProgramError(
                        f"{name} is not a device",
                        device.span,
                        topic="format",
                        fix=f"define it: {name} = cpu(:{name}, 2)",
                    )
                gated = level(child=_resolve(child, devices), on=devices[name])
                if gated.discipline is Discipline.COPY:
                    what = "which does not say how copies of it are brought together"
                    _require(gated, child, "coalesce", what, "SparseDict or another level that can be merged")
                return gated
            case (ir.Cpu() as device, ir.Format()):
                message = f"the device of {form.name} is one that has a name, since loops run on it too"
                fix = f"dev = cpu(:t, 2), then {form.name}(dev, …) and parallel(_, dev)"
                raise ProgramError(message, device.span or form.span, topic="format", fix=fix)
        raise _arity(form, f"{form.name} takes a device and a format", f"{form.name}(dev, Element(0.0))")
    if issubclass(level, Storage) and level.several_axes:
        match form.args:
            case (ir.Literal(kind="int", value=axes), ir.Format() as child) if 2 <= axes <= MOST_AXES:
                return level.around(_resolve(child, devices), int(axes))
            case (ir.Literal(kind="int", value=1), ir.Format() as child) if level is SparseCOO:
                # A list of entries with one coordinate each.
                return _resolve(ir.Format(SparseList.__name__, (child,), span=form.span), devices)
            case (ir.Literal(kind="int", value=1), ir.Format()):
                message = f"{form.name} has two axes or more"
                raise ProgramError(message, form.span, topic="format", fix=f"write {form.name}(2, …)")
        what = f"a number of axes, 2 to {MOST_AXES}, and a format"
        raise _arity(form, f"{form.name} takes {what}", f"{form.name}(2, Element(0.0))")
    match form.args:
        case (ir.Format() as child,):
            made: Level = level(_resolve(child, devices))  # type: ignore[call-arg]
            if isinstance(made, Storage) and made.may_be_empty:
                _require_written(made.child, made.name, child)
            if isinstance(made, Storage) and made.stretch == "run":
                _require_comparable(made, form)
            return made
    raise _arity(form, f"{form.name} takes one format", f"{form.name}(Element(0.0))")


def _require_kind(level: type[Leaf], form: ir.Format) -> None:
    """Raises a ProgramError if a leaf does not take fill values of this kind."""
    match form.args:
        case (ir.Literal() as fill, *_) if fill.kind not in level.kinds:
            takes = " and ".join(f"{KINDS[kind].full}s" for kind in level.kinds)
            message = f"{form.name} takes {takes}, and {show(fill.value)} is a {KINDS[fill.kind].full}"
            fix = f"for example {form.name}({KINDS[level.kinds[0]].fill}), or Element({show(fill.value)})"
            raise ProgramError(message, fill.span or form.span, topic="format", fix=fix)


def _width(form: ir.Format, fill: ir.Literal, written: ir.StorageWidth) -> Width:
    """The width named for a leaf. Raises a ProgramError if no width has this name, or it cannot hold the fill value."""
    width, kind = NARROW.get(written.name), fill.kind
    if width is None:
        fix = f"use one of {', '.join(NARROW)}, or none: cells then have 64 bits"
        raise ProgramError(f"there is no width {written.name}", written.span or form.span, topic="format", fix=fix)
    if width.kind != kind:
        message = f"{width} is no width of a {KINDS[kind].full}, as the fill value {show(fill.value)} is"
        raise ProgramError(
            message, fill.span or form.span, topic="format", fix=f"for example {form.name}({KINDS[kind].narrow})"
        )
    if not width.holds(fill.value):
        message = f"the fill value {show(fill.value)} does not fit {width}"
        raise ProgramError(message, fill.span or form.span, topic="format", fix="use a wider one")
    return width


def _name(form: ir.Format) -> Span | None:
    """The place of the name of a format."""
    whole = form.span
    return whole and replace(whole, end_line=whole.line, end_column=whole.column + len(form.name))


def _unwrap(level: Level) -> Level:
    """The storage level or leaf inside its modifiers."""
    return _unwrap(level.child) if isinstance(level, Modifier) else level


def _require_written(level: Level, around: str, form: ir.Format) -> None:
    """Raises a ProgramError for a leaf without values below a level that does not record its children."""
    leaf = _unwrap(level)
    if isinstance(leaf, Leaf) and leaf.implied:
        message = f"{around} has elements that were not written, and {leaf.name} would say true of them"
        raise ProgramError(message, form.span, topic="format", fix="use Element(false)")


def _require_comparable(level: Storage | Modifier, form: ir.Format) -> None:
    """Raises a ProgramError unless a level of runs can compare and move the fibers below it."""
    needed = {"equal": "compare", "copy": "move"}
    varying = not level.child.has_fixed_size
    if varying:
        needed |= {"is_fill": "compare", "truncate": "cut off"}
    for operation, what in needed.items():
        _require(level, form, operation, f"whose fibers it cannot {what}", f"{level.name}(Element(0.0))")
    if varying and not level.joins_frozen:
        message = f"{level.name} compares fibers while they are written, and here these vary in size"
        raise ProgramError(
            message, form.span, topic="format", fix=f"use {SparseRunList.__name__}, or Dense levels below"
        )


def _require(level: Level, form: ir.Format, operation: str, reason: str, instead: str) -> None:
    """Raises a ProgramError unless all levels that this one wraps define an operation."""
    below: Level = level
    while isinstance(below, Storage | Modifier):
        below = below.child
        if operation not in definitions(below.operations):
            message = f"{level.name} cannot wrap {below.name}, {reason}"
            fix = f"use {instead}, or give {below.name} the operation {operation}"
            raise ProgramError(message, form.span, topic="format", fix=fix)


def _arity(form: ir.Format, message: str, example: str) -> ProgramError:
    return ProgramError(message, form.span, topic="format", fix=f"for example {example}")
