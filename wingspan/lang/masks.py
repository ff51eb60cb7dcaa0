"""Masks by name, as in Finch.jl: conditions on subscripts, written out when a program is read.

==========================  ===========================================  ======================================
mask                        is written out as                            true are, of a matrix
==========================  ===========================================  ======================================
``diagmask[i, j]``          ``i == j``                                   the diagonal
``uptrimask[i, j]``         ``i <= j``                                   the upper triangle, with the diagonal
``lotrimask[i, j]``         ``i >= j``                                   the lower triangle, with the diagonal
``bandmask[i, j, k]``       ``j <= i && i <= k``                         the rows j to k
``chunkmask(b)[i, j]``      ``b * j - b < i && i <= b * j``              in column j, the j-th chunk of b rows
``splitmask(n, P)[i, j]``   ``(n * j - n) ÷ P < i && i <= n * j ÷ P``    in column j, the j-th of P parts of n rows
==========================  ===========================================  ======================================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.lang.ir import Call, Expression


@dataclass(frozen=True)
class Mask:
    """The condition that a name stands for, and the names of its parameters: in parentheses, and as subscripts."""

    arguments: tuple[str, ...]
    subscripts: tuple[str, ...]
    condition: Callable[..., Expression]

    def text(self, name: str) -> str:
        """The text of a use of the mask."""
        given = f"({', '.join(self.arguments)})" if self.arguments else ""
        return f"{name}{given}[{', '.join(self.subscripts)}]"

    def expand(self, arguments: tuple[Expression, ...], span: Span | None) -> Expression:
        """The condition for these arguments and subscripts; a mask at `span` is written out there."""
        return self.condition(partial(_call, span), *arguments)


def _call(span: Span | None, op: str, *args: Expression) -> Call:
    return Call(op, args, span=span)


def _band(c: Callable[..., Expression], i: Expression, j: Expression, k: Expression) -> Expression:
    return c("&&", c("<=", j, i), c("<=", i, k))


def _chunk(c: Callable[..., Expression], b: Expression, i: Expression, j: Expression) -> Expression:
    end = c("*", b, j)
    return c("&&", c("<", c("-", end, b), i), c("<=", i, end))


def _split(c: Callable[..., Expression], n: Expression, P: Expression, i: Expression, j: Expression) -> Expression:
    end = c("*", n, j)
    return c("&&", c("<", c("÷", c("-", end, n), P), i), c("<=", i, c("÷", end, P)))


MASKS = {
    "diagmask": Mask((), ("i", "j"), lambda c, i, j: c("==", i, j)),
    "uptrimask": Mask((), ("i", "j"), lambda c, i, j: c("<=", i, j)),
    "lotrimask": Mask((), ("i", "j"), lambda c, i, j: c(">=", i, j)),
    "bandmask": Mask((), ("i", "j", "k"), _band),
    "chunkmask": Mask(("b",), ("i", "j"), _chunk),
    "splitmask": Mask(("n", "P"), ("i", "j"), _split),
}
