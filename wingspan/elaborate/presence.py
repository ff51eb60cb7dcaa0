"""Expressions that may be missing have values all the same where ranges, conditions and extents see to that.

`coalesce(A[~i], B[~(i - 10)])` always has one in a loop over 1:20, if A has 10 elements and B as many. Iterations are a
set of integers; isl says whether P(e), as `missing` defines it, holds for all of them. What is not affine is not
decided, so the expression may be missing there.
"""

from __future__ import annotations

from collections.abc import Iterator

from wingspan.base.errors import Mistakes
from wingspan.base.libraries import isl
from wingspan.elaborate.affine import AffineText, Extents, NotAffine
from wingspan.elaborate.missing import Doubts, may_be_missing
from wingspan.lang import ir

LARGEST = 200
"""The most nodes of a condition that is decided."""


def require_values(body: ir.Statement, extents: Extents, doubts: Doubts, mistakes: Mistakes) -> None:
    """Note a mistake for each doubt that is not dispelled by the loops and conditions around it."""
    for e, around in _expressions(body, ()) if doubts else ():
        if e.span in doubts:
            there, written = doubts[e.span]
            if not _always(there, around, extents):
                mistakes.note(may_be_missing(written))


Around = tuple[ir.For | ir.Expression, ...]
"""The loops around an expression, and the conditions, outermost first."""


def _expressions(s: ir.Node, around: Around) -> Iterator[tuple[ir.Expression, Around]]:
    """The expressions of statements, with what is around them."""
    if isinstance(s, ir.Assign):  # what its own access lacks, it does not update
        for e in s.access.subscripts:
            yield e.subscript if isinstance(e, ir.Permissive) else e, around
        yield s.value, around
        return
    if isinstance(s, ir.Expression):
        yield s, around
        return
    for child in s.children():
        inner: Around = around
        if isinstance(s, ir.For) and child is s.body:
            inner = (*around, s)
        elif isinstance(s, ir.If) and child is s.body:
            inner = (*around, s.condition)
        yield from _expressions(child, inner)


def _always(p: ir.Expression, around: Around, extents: Extents) -> bool:
    """Whether a condition holds in all iterations."""
    if sum(1 for _ in p.walk()) > LARGEST:
        return False
    indices = [each.index for each in around if isinstance(each, ir.For)]
    text = AffineText(indices, extents)
    known: list[str] = []
    for each in around:
        try:
            known.append(text.between(each) if isinstance(each, ir.For) else text.truth(each))
        except NotAffine:
            continue  # nothing is known of what is not affine: more iterations than there are
    try:
        holds = text.truth(p)
    except NotAffine:
        return False
    known += [f"{name} >= 0" for name in text.symbols.values()]
    where = " and ".join([*known, f"not ({holds})"])
    names = ", ".join(text.names.values())
    return isl.Set(f"[{', '.join(text.symbols.values())}] -> {{ [{names}] : {where} }}").is_empty()
