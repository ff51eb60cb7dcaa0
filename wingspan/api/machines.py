"""Everything that can run a bound program: the two machines, threads, and the reference.

Engines for plans are imported by those who use one: they take longer to import than the rules do to explore a small
program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from wingspan import reference
from wingspan.api.names import MACHINES
from wingspan.base.errors import Fault, InputError
from wingspan.base.libraries import np
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.terms import written_once
from wingspan.levels import usual
from wingspan.results.outcome import Outcome
from wingspan.semantics.machine import Semantics
from wingspan.tensors.holding import partial, refusal
from wingspan.tensors.tensor import LARGEST, require_order, too_large

if TYPE_CHECKING:
    from wingspan.compiled.engine import Compiled
    from wingspan.native.machine import Native
    from wingspan.native.prepared import NativeProgram


def machine_of(bound: Elaborated, name: str, observed: Collection[str] = ()) -> Semantics | Native:
    """One of the `MACHINES` for a bound program. It observes changes of some names."""
    match name:
        case "semantics":
            return semantics(bound, observed=observed)
        case "native":
            return native(bound, observed)
    raise InputError(f"there is no machine {name}", fix=f"use {' or '.join(MACHINES)}")


def semantics(bound: Elaborated, derives: bool = False, observed: Collection[str] = ()) -> Semantics:
    """The machine that runs a bound program by the rules. With `derives`, its steps record their premises. Steps that
    may change what `observed` names are visible.

    InputError if a tensor is too large for it, or borrows arrays whose contents are no longer in order.
    """
    _require_room(bound)
    _require_order(bound)
    return Semantics(bound.body, bound.towers, bound.inputs, bound.outputs, derives, observed)


def native(bound: Elaborated, observed: Collection[str] = ()) -> Native:
    """The machine that runs the plan of a bound program, one access of one task at a time. Steps that write to tensors
    `observed` are visible. Errors: as `semantics`.
    """
    from wingspan.native.machine import Native
    from wingspan.native.prepared import code_of

    _require_room(bound)
    _require_order(bound)
    return Native(code_of(bound, dealt=False), bound, observed)


def compiled(bound: Elaborated, racy: bool = False) -> NativeProgram:
    """The plan of a bound program, ready to run on threads. `racy`: reserves room for the cells that races ask for."""
    from wingspan.native.prepared import NativeProgram

    _require_order(bound)
    return NativeProgram(bound, racy=racy)


def compiled_c(bound: Elaborated, racy: bool = False) -> Compiled:
    """The plan of a bound program as compiled C. InputError if there is no compiler.

    Unless it is compiled as `racy`, `wingspan check` must accept the program.
    """
    from wingspan.compiled.engine import Compiled

    _require_order(bound)
    return Compiled(bound, racy=racy)


class TooLarge(InputError):
    """A program that the reference cannot evaluate, as it is dense."""


def evaluate(
    bound: Elaborated, tick: Callable[[], None] = lambda: None, *, dense: bool = False
) -> reference.ReferenceResults:
    """The sequential result of a bound program. InputError if a tensor is too large. What `tick` raises ends it.

    What a format cannot hold is a fault, unless all tensors are taken as `dense`.
    """
    shapes = {name: tower.shape for name, tower in bound.towers.items()}
    for name, shape in shapes.items():
        if prod(shape) > LARGEST:
            message = f"{name} has {prod(shape)} elements, and the reference, which is dense, holds {LARGEST} at most"
            raise TooLarge(message, fix="use smaller extents; `wingspan run` does without the reference")
    _require_order(bound)
    inputs = {name: tensor.to_exact() for name, tensor in bound.inputs.items()}
    kinds = {name: tower.width.name if tower.width.narrow else tower.kind for name, tower in bound.towers.items()}
    kept = cache(lambda name: bound.inputs[name].stored())
    formats = reference.Formats(kept) if dense else _formats(bound, kept)
    return reference.evaluate(bound.plain, inputs, shapes, kinds, tick, formats)


def _formats(bound: Elaborated, kept: Callable[[str], np.ndarray]) -> reference.Formats:
    """The formats of a bound program, for the reference."""
    towers = bound.towers
    return reference.Formats(
        kept,
        partial={name for name, tower in towers.items() if partial(tower.levels)},
        refusal=lambda name, array, written: refusal(towers[name], array, written),
        implied={name for name, tower in towers.items() if tower.leaf.implied},
        ordered={name for name, tower in towers.items() if not all(level.turns for level in tower.levels)},
        once=written_once(bound.body),
    )


def is_undecided(bound: Elaborated) -> bool:
    """Whether engines may differ, since zero times Inf or NaN depends on what formats store."""
    with suppress(Fault, InputError):
        try:
            evaluate(bound)
        except reference.Undecided:
            return True
    return False


def expected_of(bound: Elaborated, tick: Callable[[], None] = lambda: None) -> Outcome | None:
    """The expected outcome of the program; None if its sequential result is a fault. An exception of `tick` ends it.

    It does not depend on formats: a run that does not notice what its format cannot hold has the wrong result.
    """
    try:
        results = evaluate(bound, tick, dense=True)
    except Fault:
        return None
    outputs = {name: results.elements[name] for name in bound.outputs}
    return Outcome.from_elements({name: (e.shape, e.values) for name, e in outputs.items()}, results.variables)


def _require_room(bound: Elaborated) -> None:
    """InputError if a dictionary of cells cannot hold a tensor."""
    for name, tower in bound.towers.items():
        if tower.full_positions > LARGEST:
            places = (n.span for n in bound.body.walk() if isinstance(n, ir.Declare) and n.tensor == name)
            fix = f"use smaller extents, a {usual.ASCENDING}, or the native engine"
            raise InputError(too_large(name, tower, LARGEST), next(places, None), fix=fix)


def _require_order(bound: Elaborated) -> None:
    """InputError, the same for every engine, if an input borrows arrays whose contents are no longer in order."""
    for name, tensor in bound.inputs.items():
        require_order(name, tensor)
