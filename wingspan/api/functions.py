"""Functions for programs, made in Python: `wingspan.function`."""

from __future__ import annotations

import re
from typing import Any

from wingspan.base.errors import InputError, ParseError
from wingspan.base.libraries import np
from wingspan.elaborate.functions import falsehood
from wingspan.elaborate.kinds import BOOL, INT
from wingspan.lang import algebra, ir, parser
from wingspan.lang.functions import function as declared
from wingspan.program import Function


def function(
    text: str,
    *,
    associative: bool = False,
    commutative: bool = False,
    idempotent: bool = False,
    identity: bool | int | float | None = None,
    annihilator: bool | int | float | None = None,
) -> Function:
    """A function for programs, from an expression of the language. Threads run it as they run any other expression.

    >>> import wingspan
    >>> f = wingspan.function("f(x, y) = x + y + x * y", associative=True, commutative=True, identity=0)
    >>> f(2, 3), str(f)
    (11, 'function f(x, y; associative, commutative, identity = 0) = x + y + x * y')
    >>> text = "C = Tensor(Dense(Atomic(0)), 1); C .= 0; for i = parallel(1:3); C[1] <<f>>= i; end"
    >>> wingspan.run(wingspan.parse(text, functions=[f])).tensors["C"].to_numpy().tolist()
    [23]

    Args:
        text: the name, the parameters and the expression, with or without the word `function` before them.
        associative: f(f(x, y), z) = f(x, f(y, z)).
        commutative: f(x, y) = f(y, x).
        idempotent: f(x, x) = x.
        identity: e with f(x, e) = x = f(e, x).
        annihilator: a with f(x, a) = a = f(a, x).

    Raises:
        InputError: it is no text, or what is declared of it is no value.
        ParseError: the text is no such function.
        ProgramError: some integers or booleans show that it is not what it is said to be. Doubles are tried where a
            program calls it with doubles. What they do not show is believed.
    """
    if not isinstance(text, str):
        fix = 'write it as text: wingspan.function("f(x, y) = x + y")'
        raise InputError(f"a function is given as text, and this is a {type(text).__name__}", fix=fix)
    flags = {"associative": associative, "commutative": commutative, "idempotent": idempotent}
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"{name} is True or False, and this is a {type(flag).__name__}", fix=f"{name}=True")
    tree = parser.parse(text if re.match(r"\s*function\b", text) else f"function {text}", "<function>")
    match tree.body.statements:
        case (ir.Define(value=ir.Function() as f),) if not tree.returns:
            if f.algebra != ir.Algebra():
                raise ParseError("what holds of a function is given by name here", f.span, fix="associative=True")
        case _:
            raise ParseError("this is more than one function", tree.body.statements[0].span, fix="f(x, y) = x + y")
    said: dict[str, Any] = {name: bool(flag) for name, flag in flags.items()}
    said |= {"identity": _literal("identity", identity), "annihilator": _literal("annihilator", annihilator)}
    made = declared(f.name, f.parameters, {name: given for name, given in said.items() if given}, f.body, f.span)
    if (error := falsehood(made, INT | BOOL)) is not None:  # with doubles, programs that call it with doubles try it
        raise error
    return Function(made)


def _literal(name: str, value: object) -> ir.Literal | None:
    """A value that is declared of a function, if one is. InputError if it is none of the language."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return None
    if not isinstance(value, bool | int | float):
        raise InputError(f"{name} is a number or a boolean, and this is a {type(value).__name__}", fix=f"{name}=0")
    if isinstance(value, int) and value not in algebra.INT64:
        raise InputError(f"{name}={value} does not fit a 64-bit integer", fix="use a double, such as 1e30")
    return ir.Literal(algebra.exact(value))
