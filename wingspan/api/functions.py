"""Functions for programs, made in Python: `wingspan.function`."""

from __future__ import annotations

from wingspan.elaborate.functions import falsehood
from wingspan.errors import ParseError
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
        text: the name, the parameters and the expression, as after `function` in a program.
        associative: f(f(x, y), z) = f(x, f(y, z)).
        commutative: f(x, y) = f(y, x).
        idempotent: f(x, x) = x.
        identity: e with f(x, e) = x = f(e, x).
        annihilator: a with f(x, a) = a = f(a, x).

    Raises:
        ParseError: the text is no such function.
        ProgramError: some values show that it is not what it is said to be. What they do not show is believed.
    """
    tree = parser.parse(f"function {text}", "<function>")
    match tree.body.statements:
        case (ir.Define(value=ir.Function() as f),) if not tree.returns:
            if f.algebra != ir.Algebra():
                raise ParseError("what holds of a function is given by name here", f.span, fix="associative=True")
        case _:
            raise ParseError("this is more than one function", tree.body.statements[0].span, fix="f(x, y) = x + y")
    said = {
        "associative": associative, "commutative": commutative, "idempotent": idempotent,
        "identity": None if identity is None else ir.Literal(algebra.exact(identity)),
        "annihilator": None if annihilator is None else ir.Literal(algebra.exact(annihilator)),
    }  # fmt: skip
    made = declared(f.name, f.parameters, {name: given for name, given in said.items() if given}, f.body, f.span)
    if (error := falsehood(made)) is not None:
        raise error
    return Function(made)
