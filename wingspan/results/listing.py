"""Results as text: tensors and variables, as the language writes them; how often they come about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from wingspan.lang.algebra import show
from wingspan.lang.printer import value
from wingspan.results.outcome import Entries, Outcome

LISTED = 24
"""Tensors with more elements are described by the elements that differ."""


def share(part: int, whole: int) -> str:
    """A part as a percentage that is 0 or 100 only if it is all or nothing.

    >>> share(1, 3), share(1, 10**30), share(10**30 - 1, 10**30), share(7, 7)
    ('33.3 %', '<0.1 %', '>99.9 %', '100 %')
    """
    thousandths = (2000 * part + whole) // (2 * whole)
    if part in (0, whole):
        return "100 %" if part else "0 %"
    if not 0 < thousandths < 1000:
        return ">99.9 %" if thousandths else "<0.1 %"
    return f"{thousandths // 10}.{thousandths % 10} %"


def chance(probability: float) -> str:
    """A probability as a percentage.

    >>> chance(0.25), chance(1e-9), chance(1.0)
    ('25.0 %', '<0.1 %', '100 %')
    """
    return share(round(probability * 10**15), 10**15)


Text = Callable[[Any], str]
"""The text of a number: `show`, or in full by `value`."""


def listings(outcomes: Sequence[Outcome], wanted: Iterable[str] | None = None) -> list[str]:
    """Each as `listing` has it; with numbers in full if two would look the same otherwise."""
    chosen = None if wanted is None else list(wanted)
    short = [listing(outcome, chosen) for outcome in outcomes]
    return short if len(set(short)) == len(short) else [listing(outcome, chosen, value) for outcome in outcomes]


def listing(outcome: Outcome, wanted: Iterable[str] | None = None, text: Text = show) -> str:
    """The wanted tensors and variables, all if None, as `c = [1, 0, 2], x = 0.5`; of a large tensor the shape only."""
    chosen = names(outcome) if wanted is None else list(wanted)
    shapes = {name: (shape, values) for name, shape, values in outcome.tensors}
    variables = {name: held for name, (_, held) in outcome.variables}
    parts = []
    for name in chosen:
        if name in variables:
            parts.append(f"{name} = {text(variables[name])}")
        elif name in shapes:
            parts.append(_tensor(name, *shapes[name], text))
    return ", ".join(parts) or "nothing is returned or updated"


def _tensor(name: str, shape: tuple[int, ...], values: tuple[Any, ...] | Entries, text: Text) -> str:
    if len(values) > LISTED:
        return f"{name}: {'×'.join(map(str, shape))}"
    if isinstance(values, Entries):
        listed = ", ".join(f"{place(name, at)} = {text(held)}" for at, held in values.elements)
        return listed or f"{name}: {'×'.join(map(str, shape))}, all {text(values.fill)}"
    return f"{name} = {literal(shape, values, text)}"


def literal(shape: tuple[int, ...], values: tuple[Any, ...], text: Text = show) -> str:
    """An array as the language writes it, row by row; beyond two axes as nested lists.

    >>> literal((2, 2), (1, 0, 2, 3)), literal((3,), (1, 2, 3)), literal((1, 1, 2), (1, 2)), literal((), (5,))
    ('[1 0; 2 3]', '[1, 2, 3]', '[[[1, 2]]]', '5')
    """
    if not shape:
        return text(values[0])
    if len(shape) == 2:
        return f"[{'; '.join(' '.join(map(text, row)) for row in _rows(shape, values))}]"
    return _lists(shape, values, text)


def _lists(shape: tuple[int, ...], values: tuple[Any, ...], text: Text) -> str:
    parts = [_lists(shape[1:], row, text) for row in _rows(shape, values)] if shape[1:] else map(text, values)
    return f"[{', '.join(parts)}]"


def _rows(shape: tuple[int, ...], values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    size = len(values) // shape[0] if shape[0] else 0
    return [values[k * size : (k + 1) * size] for k in range(shape[0])]


def elements(outcome: Outcome, name: str) -> Iterator[tuple[str, Any]]:
    """The elements of a tensor, row by row, or the variable of that name: how a program writes it, and its value."""
    for tensor, shape, values in outcome.tensors:
        if tensor != name:
            continue
        if isinstance(values, Entries):
            yield from ((place(name, at), value) for at, value in values.elements)
        else:
            subscripts = product(*(range(1, n + 1) for n in shape))
            yield from zip((place(name, at) for at in subscripts), values, strict=True)
    yield from ((name, value) for variable, (_, value) in outcome.variables if variable == name)


def place(name: str, at: Sequence[int]) -> str:
    """An element as a program writes it."""
    return f"{name}[{', '.join(map(str, at))}]"


def names(outcome: Outcome) -> list[str]:
    """The tensors and the variables of an outcome."""
    return [name for name, *_ in outcome.tensors] + [name for name, _ in outcome.variables]
