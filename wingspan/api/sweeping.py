"""A verb on one program with several values of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from wingspan.api.binding import Runnable
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.program import Program, load


@dataclass(frozen=True)
class Point:
    """The values of the varying parameters, and the result of the verb, or the message of a fault."""

    params: Mapping[str, Any]
    result: Any
    fault: str | None = None


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """The results of a verb for each choice of parameters; the last parameter varies fastest."""

    verb: str
    points: tuple[Point, ...]


def sweep(verb: Callable[..., Any], program: Runnable, *, params: Mapping[str, Any], **options: Any) -> Sweep:
    """Call a verb, such as `wingspan.explore`, for all choices of parameters; those given as lists vary.

    `options` are the other keywords of the verb. InputError if no parameter is a list, or a list is empty. Errors of
    the verb are raised, except for a Fault, which the result records.
    """
    if isinstance(program, Elaborated):
        raise InputError("the program is bound already, so its parameters cannot vary", fix="give it as it is written")
    varying = {name: list(values) for name, values in params.items() if _several(values)}
    if not varying or not all(varying.values()):
        raise InputError("a sweep needs values to choose from", fix='give a list, as in params={"nt": [1, 2, 4]}')
    written = program if isinstance(program, Program) else load(program)
    points = []
    for chosen in product(*varying.values()):
        at = dict(zip(varying, chosen, strict=True))
        try:
            points.append(Point(at, verb(written, params={**params, **at}, **options)))
        except Fault as fault:
            points.append(Point(at, None, fault.message))
    return Sweep(verb.__name__, tuple(points))


def _several(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str)
