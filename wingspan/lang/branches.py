"""`else` and `elseif`, written out when a program is read: the paper's `if` has one block.

    if e            if e            or, if e reads a tensor          x = e
        s     →         s           or a variable that s assigns     if x
    else            end             to:                                  s
        t           if !e                                            end
    end                 t                                            if !x
                    end                                                  t
                                                                     end

x is a name that occurs nowhere in the program. At the top level, where a variable would be a result, all of this
stands in an `if true`. Of integers that are indices or literals, `!(a < b)` is written `a >= b`, so that an `else`
splits ranges of loops as its `if` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wingspan.lang import ir
from wingspan.lang.operators import COMPARISONS, OPERATORS, negation


def written_out(
    ifs: Sequence[ir.If], otherwise: ir.Statement, outermost: bool, fresh: Callable[[], str]
) -> ir.Statement:
    """`if … elseif … else … end` as ifs without alternatives; `fresh` gives names for conditions."""
    first, *rest = ifs
    if not rest and otherwise == ir.SKIP:
        return first
    test = first.condition
    bound: tuple[ir.Set, ...] = ()
    if not _steady(test, first.body):
        bound = (ir.Set(fresh(), test, span=first.span),)
        test = ir.Variable(bound[0].name, span=test.span)
    below = written_out(rest, otherwise, False, fresh) if rest else otherwise
    taken, left = ir.If(test, first.body, span=first.span), ir.If(opposite(test), below, span=first.span)
    made = ir.Block((*bound, taken, left))
    return ir.If(ir.Literal(True), made, span=first.span) if bound and outermost else made


def opposite(e: ir.Expression) -> ir.Expression:
    """`!e`, with the sign inside where that is the same."""
    match e:
        case ir.Call(op="!", args=(inner,)):
            return inner
        case ir.Call(op=str(op), args=args) if dual := OPERATORS[op].dual:
            return ir.Call(dual, tuple(map(opposite, args)), span=e.span)
        case ir.Call(op=str(op), args=args) if op in COMPARISONS and all(map(is_integer, args)):
            return ir.Call(negation(op), args, span=e.span)
    return ir.Call("!", (e,), span=e.span)


def is_integer(e: ir.Expression) -> bool:
    """Whether an expression is an integer, so that of two of them one is smaller or they are equal."""
    match e:
        case ir.Call(op="+" | "-" | "*" | "÷" | "%", args=args):
            return all(map(is_integer, args))
        case ir.Literal(kind=kind):
            return kind == "int"
    return isinstance(e, ir.Index)


def _steady(e: ir.Expression, body: ir.Statement) -> bool:
    """Whether a condition has the same value after a statement that ran where it holds."""
    assigned = {node.name for node in body.walk() if isinstance(node, ir.Set)}
    return not any(
        isinstance(node, ir.Access) or (isinstance(node, ir.Variable) and node.name in assigned) for node in e.walk()
    )
