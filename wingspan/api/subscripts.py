"""Subscripts as `numpy.einsum` takes them, `ij,jk->ik`, as an expression of ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from wingspan.base.errors import InputError, abridge
from wingspan.base.libraries import np
from wingspan.tensors.tensor import Tensor

SUBSCRIPTS = re.compile(r"[A-Za-z.,\s]*(?:->[A-Za-z.\s]*)?")
"""All that is not an expression of ours, which has an update."""


def is_subscripts(text: str) -> bool:
    """Whether a text has subscripts of NumPy instead of an update."""
    return SUBSCRIPTS.fullmatch(text) is not None


def translate(text: str, count: int, booleans: bool = False) -> tuple[str, list[str]]:
    """The expression that subscripts of `count` operands mean, and the names of its inputs, in order.

    >>> translate("ij,jk->ik", 2)
    ('result[i, k] += operand1[i, j] * operand2[j, k]', ['operand1', 'operand2'])

    Without an arrow the result has the letters that occur once, in alphabetical order. A letter that it has twice is
    that of a diagonal. Of `booleans` alone, the sum is "or", and the product "and". InputError if there are more or
    fewer subscripts than operands, an ellipsis, or a letter of the result that no operand has.
    """
    if "." in text:
        message = (
            f"{abridge(text)}: an ellipsis stands for any number of axes, and a program has a fixed number of loops"
        )
        raise InputError(message, fix="write a letter for each axis")
    left, arrow, right = "".join(text.split()).partition("->")
    parts = left.split(",")
    if len(parts) != count:
        number = f"{len(parts)} operand{'s' * (len(parts) != 1)}"
        message = f"{abridge(text)} has subscripts of {number}, and {count} {'is' if count == 1 else 'are'} given"
        raise InputError(message, fix=f"give {number}")
    occurrences = Counter("".join(parts))
    result = right if arrow else "".join(sorted(letter for letter, n in occurrences.items() if n == 1))
    for letter in result:
        if letter not in occurrences:
            raise InputError(f"{abridge(text)}: no operand has the axis {letter}", fix=f"leave {letter} out")
    names = [f"operand{number}" for number in range(1, count + 1)]
    product, reduction = ("&&", "<<||>>=") if booleans else ("*", "+=")
    factors = f" {product} ".join(f"{name}[{', '.join(part)}]" for name, part in zip(names, parts, strict=True))
    return f"result[{', '.join(result)}] {reduction} {factors}", names


def _is_boolean(operand: object) -> bool:
    """Whether an operand has booleans as elements."""
    dtype = operand.tower.dtype if isinstance(operand, Tensor) else getattr(operand, "dtype", np.dtype(type(operand)))
    return bool(dtype == np.bool_)


def bind_operands(text: str, operands: Sequence[object]) -> tuple[str, dict[str, object]]:
    """The expression, and its inputs by name. InputError if operands and expression do not go together."""
    if not is_subscripts(text):
        message = "operands without names belong to subscripts of NumPy, like ij,jk->ik"
        raise InputError(message, fix="give the inputs of an expression by name: einsum(…, A=A)")
    expression, names = translate(text, len(operands), booleans=all(map(_is_boolean, operands)))
    return expression, dict(zip(names, operands, strict=True))
