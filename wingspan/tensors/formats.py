"""Formats from their texts, and those that inputs have if they are given none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wingspan.base.errors import InputError, abridge
from wingspan.lang import ir, parser
from wingspan.lang.devices import Device, thread_count
from wingspan.lang.widths import BY_DTYPE, Width
from wingspan.levels import Level, resolve, usual
from wingspan.tensors.foreign import Filled, RunArray, kind_of

EXAMPLE = f"{usual.ALL}({usual.ASCENDING}({usual.LEAF}(0.0)))"


def default_format(rank: int, fill: ir.Value = 0.0, width: Width | None = None) -> ir.Format:
    """The format of an input that is given none: Dense for its last axis, SparseList for the others."""
    form = ir.Format(usual.LEAF, (ir.Literal(fill), *(() if width is None else (ir.StorageWidth(width.name),))))
    for axis in range(rank):
        form = ir.Format(usual.ALL if axis == rank - 1 else usual.ASCENDING, (form,))
    return form


def default_of(data: Any) -> ir.Format:
    """The default format for what a file holds: of its rank, kind, width and fill value."""
    fill, array = (data.fill, data.array) if isinstance(data, Filled) else (0, data)
    values = array.values if isinstance(array, RunArray) else array
    kind = kind_of(data)
    width = BY_DTYPE.get(values.dtype.newbyteorder("=").name)
    narrow = width is not None and width.narrow and width.kind == kind.__name__
    return default_format(array.ndim, kind(fill), width if narrow else None)


def outermost(form: str | ir.Format, devices: Mapping[str, int] | None) -> Level:
    """The outermost level of a format. InputError if it is none."""
    form = parse_format(form) if isinstance(form, str) else form
    if not isinstance(form, ir.Format):
        raise InputError(f"{form!r} is not a format", fix=f'give its text: "{EXAMPLE}"')
    return resolve(form, {name: Device(name, thread_count(n)) for name, n in (devices or {}).items()})


def parse_format(text: str) -> ir.Format:
    """A format from its text. InputError if it is none."""
    match parser.parse(f"T = Tensor({text})", "format").body.statements:
        case (ir.Define(value=ir.TensorCall(format=form, extents=(), data=None)),):
            return form
    raise InputError(f"`{abridge(text)}` is not a format alone", fix=f"for example {EXAMPLE}")
