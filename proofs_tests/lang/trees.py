"""Parts of programs as the parser gives them."""

from __future__ import annotations

import pytest

from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.parser import parse

V, X, L = ir.Variable, ir.Index, ir.Literal


def at(tensor: str, *indices: str) -> ir.Access:
    return ir.Access(ir.Fiber(tensor, len(indices) + 1), tuple(map(X, indices)))


def fmt(name: str, *args: ir.Format | ir.Variable | ir.Literal) -> ir.Format:
    return ir.Format(name, args)


def one(text: str) -> ir.Statement:
    """The only statement of a program."""
    (statement,) = parse(text).body.statements
    return statement


def value(text: str) -> ir.Expression:
    """The expression that `text` says."""
    statement = one(f"x = {text}")
    assert isinstance(statement, ir.Set)
    return statement.value


def definition(text: str) -> ir.Definable:
    statement = one(f"D = {text}")
    assert isinstance(statement, ir.Define)
    return statement.value


def refused(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(text)
    return caught.value
