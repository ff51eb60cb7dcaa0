"""From a format as written to a tower of levels."""

from __future__ import annotations

from collections.abc import Mapping

from wingspan.errors import ProgramError
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_list import SparseList

REGISTRY: dict[str, type[Level]] = {
    level.__name__: level for level in (Dense, Element, Atomic, SparseList, SparseByteMap, Shard)
}
"""Every format by the name that programs use."""


def resolve(form: ir.Format, devices: Mapping[str, Device]) -> Level:
    """The level that a format describes, `devices` being those that names may stand for; else a ProgramError."""
    level = REGISTRY.get(form.name)
    if level is None:
        known = ", ".join(sorted(REGISTRY))
        raise ProgramError(
            f"there is no format {form.name} (yet)", form.span, topic="format", fix=f"use one of {known}"
        )
    if level.leaf:
        match form.args:
            case (ir.Literal(value=fill),):
                return level(fill)  # type: ignore[call-arg]
        raise _arity(form, f"{form.name} takes a fill value", f"{form.name}(0.0)")
    if issubclass(level, Shard):
        match form.args:
            case (ir.Variable(name=name) as device, ir.Format() as child):
                if name not in devices:
                    raise ProgramError(
                        f"{name} is not a device",
                        device.span,
                        topic="format",
                        fix=f"define it: {name} = cpu(:{name}, 2)",
                    )
                return level(child=resolve(child, devices), on=devices[name])
        raise _arity(form, f"{form.name} takes a device and a format", f"{form.name}(dev, Element(0.0))")
    match form.args:
        case (ir.Format() as child,):
            return level(resolve(child, devices))  # type: ignore[call-arg]
    raise _arity(form, f"{form.name} takes one format", f"{form.name}(Element(0.0))")


def _arity(form: ir.Format, message: str, example: str) -> ProgramError:
    return ProgramError(message, form.span, topic="format", fix=f"for example {example}")
