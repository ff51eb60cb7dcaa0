"""Expressions that may be missing have values all the same where ranges, conditions and extents see to that.

`coalesce(A[~i], B[~(i - 10)])` always has one in a loop over 1:20, if A has 10 elements and B as many. Iterations are a
set of integers; isl says whether P(e), as `missing` defines it, holds for all of them. What is not affine is not
decided, so the expression may be missing there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from wingspan.elaborate.missing import Doubts, may_be_missing
from wingspan.errors import Mistakes
from wingspan.lang import ir

LARGEST = 200
"""How many nodes a condition may have that is decided."""

COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
LOGIC = {"&&": "and", "||": "or"}

Extents = Mapping[str, tuple[ir.Expression, ...]]


class _Undecided(Exception):
    """A condition that is not one on integers and affine expressions."""


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
    text = _Text(indices, extents)
    known: list[str] = []
    for each in around:
        try:
            known.append(text.between(each) if isinstance(each, ir.For) else text.truth(each))
        except _Undecided:
            continue  # nothing is known of what is not affine: more iterations than there are
    try:
        holds = text.truth(p)
    except _Undecided:
        return False
    known += [f"{name} >= 0" for name in text.symbols.values()]
    where = " and ".join([*known, f"not ({holds})"])
    names = ", ".join(text.names.values())
    return isl.Set(f"[{', '.join(text.symbols.values())}] -> {{ [{names}] : {where} }}").is_empty()


class _Text:
    """Conditions as isl writes them, over the indices of loops, and extents that are left open."""

    def __init__(self, indices: Sequence[str], extents: Extents) -> None:
        self.names = {index: f"i{k}" for k, index in enumerate(indices)}
        self.symbols: dict[str, str] = {}
        self.extents = extents

    def between(self, loop: ir.For) -> str:
        """The range of a loop."""
        r = loop.range.range if isinstance(loop.range, ir.Parallel) else loop.range
        if not isinstance(r, ir.Range):
            raise _Undecided
        return f"{self.number(r.start)} <= {self.names[loop.index]} <= {self.number(r.stop)}"

    def truth(self, e: ir.Expression) -> str:
        """A condition."""
        match e:
            case ir.Literal(value=bool(value)):
                return "true" if value else "false"
            case ir.Call(op="!", args=(x,)):
                return f"not ({self.truth(x)})"
            case ir.Call(op=str(op), args=(x, y)) if op in LOGIC:
                return f"({self.truth(x)} {LOGIC[op]} {self.truth(y)})"
            case ir.Call(op=str(op), args=(x, y)) if op in COMPARISONS:
                return f"({self.number(x)} {COMPARISONS[op]} {self.number(y)})"
            case ir.Choice(condition=c, then=x, otherwise=y):
                test = self.truth(c)
                return f"(({test} and {self.truth(x)}) or (not ({test}) and {self.truth(y)}))"
            case ir.IsMissing(operand=ir.Access(fiber=F, subscripts=subscripts)) if F.tensor in self.extents:
                axes = zip(subscripts, self.extents[F.tensor], strict=True)
                inside = [f"1 <= {self.number(s.subscript)} <= {self.number(n)}" for s, n in axes
                          if isinstance(s, ir.Permissive)]  # fmt: skip
                return f"not ({' and '.join(inside)})"
        raise _Undecided

    def number(self, e: ir.Expression) -> str:
        """An affine expression."""
        match e:
            case ir.Literal(value=int(value)) if e.kind == "int":
                return f"({value})"
            case ir.Index(name=name) if name in self.names:
                return self.names[name]
            case ir.Variable(name=name) if " " in name:  # an extent that is left open
                return self.symbols.setdefault(name, f"n{len(self.symbols)}")
            case ir.Call(op="-", args=(x,)):
                return f"(-{self.number(x)})"
            case ir.Call(op="+" | "-" as op, args=(x, y)):
                return f"({self.number(x)} {op} {self.number(y)})"
            case ir.Call(op="*", args=(ir.Literal(value=int(k)), x) | (x, ir.Literal(value=int(k)))):
                return f"({k} * {self.number(x)})"
            case ir.Call(op="÷", args=(x, ir.Literal(value=int(k)))) if k > 0:
                return f"floor({self.number(x)} / {k})"
            case ir.Call(op="%", args=(x, ir.Literal(value=int(k)))) if k > 0:
                return f"({self.number(x)} mod {k})"
        raise _Undecided
