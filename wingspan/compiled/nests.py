"""The loops that are functions of their own in C."""

from __future__ import annotations

from collections.abc import Iterator

from wingspan.plan.ir import FetchChunk, Par, Stmt, While, blocks
from wingspan.plan.kernels import Tile


def nests(body: tuple[Stmt, ...], chunked: bool = False, looped: bool = False) -> Iterator[While | Tile]:
    """The loops that are functions of their own: those with loops in them that are inside of another, and outermost.

    A function of many loops has more variables than there are registers, and compilers keep the wrong ones in memory:
    the product of sparse matrices takes 15 % longer in one function. A function that is called for each fiber costs
    more than it gains where fibers are short: MTTKRP takes 1.4 times as long. So one is called for each row, or, if
    rows have no loops inside of each other, for each chunk of them. They begin at lines of the cache: where one
    lay by chance made up to 5 % of a difference.
    """
    for s in body:
        if isinstance(s, While | Tile):
            height = _height(s)
            if (looped and 2 <= height < PARALLEL) or (chunked and height == 2):
                yield s
                continue
        chunks = isinstance(s, While) and any(isinstance(x, FetchChunk) for x in s.test)
        for block in blocks(s):
            if isinstance(s, Par):
                yield from nests(block)
            else:
                yield from nests(block, chunked or chunks, looped or (isinstance(s, While) and not chunks))


PARALLEL = 1000
"""The height of a parallel region, more than that of any nest of loops."""


def _height(s: Stmt) -> int:
    """The depth of nested loops in a statement."""
    inside = max((_height(x) for block in blocks(s) for x in block), default=0)
    return inside + PARALLEL * isinstance(s, Par) + isinstance(s, While)
