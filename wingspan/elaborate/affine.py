"""Conditions and subscripts over the indices of loops, as isl writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wingspan.lang import ir

COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
LOGIC = {"&&": "and", "||": "or"}

Extents = Mapping[str, tuple[ir.Expression, ...]]


class NotAffine(Exception):
    """A condition that is not one on integers and affine expressions."""


class AffineText:
    """Conditions as isl writes them, over the indices of loops, and extents that are left open."""

    def __init__(self, indices: Sequence[str], extents: Extents) -> None:
        self.names = {index: f"i{k}" for k, index in enumerate(indices)}
        self.symbols: dict[str, str] = {}
        self.extents = extents

    def between(self, loop: ir.For) -> str:
        """The range of a loop."""
        r = loop.range.range if isinstance(loop.range, ir.Parallel) else loop.range
        if not isinstance(r, ir.Range):
            raise NotAffine
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
        raise NotAffine

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
        raise NotAffine
