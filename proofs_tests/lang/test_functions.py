"""Functions that programs declare: what may be written, what it means, and the same from Python."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import wingspan
from proofs_tests.effort import many
from proofs_tests.strategies import programs_with_functions
from wingspan.base.errors import Fault, InputError, ParseError, ProgramError
from wingspan.lang import algebra, ir
from wingspan.lang.functions import choose
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

MISTAKES = {
    "function f(x) = y": ("y is no parameter of f", 1, 17),
    "function f(x) = A[x]": ("f computes with its parameters alone, and reads A here", 1, 17),
    "function f(x) = 2 * f(x)": ("f calls itself, and a function is one expression", 1, 21),
    "function min(x, y) = x": ("`min` is a word of the language, and names no function or parameter", 1, 10),
    "function f(x, for) = x": ("`for` is a word of the language, and names no function or parameter", 1, 15),
    "function f(x, x) = x": ("two parameters of f have one name", 1, 1),
    "function f(x; associative) = x": (
        "associative: this is said of functions of two parameters, and f has 1", 1, 1,
    ),
    "function f(x, y; identity) = x": ("identity needs a value", 1, 18),
    "function f(x, y; associative = 1) = x": ("associative takes no value", 1, 18),
    "function f(x, y; identity = 0, identity = 1) = x": ("identity is declared twice of f", 1, 32),
    "function f(x, y; assoc) = x": ("assoc is nothing to declare of a function", 1, 18),
    "function f(x) += x": ("a function is declared by `=`", 1, 15),
    "if true\nfunction f(x) = x\nend": ("a function is declared at the top level only", 2, 1),
    "function f(x) = x\ny = f(1, 2)": ("f takes one argument, not 2", 2, 5),
    "y = g(1)\nfunction g(x) = x": ("no function g is declared before this", 1, 5),
    "function f(x) = x\nc[1] <<f>>= 2": ("an update is by a function of two parameters, and f has 1", 2, 6),
    "c[1] <<g>>= 2": ("no function g is declared before this", 1, 6),
    "c[1] <<isqrt>>= 2": ("this is no reduction", 1, 6),
    "c <<choose(0)>>= 2": ("`<<choose(0)>>=` updates an element of a tensor, and c is a bare name", 1, 3),
    "c[1] <<choose(x)>>= 2": ("choose(z) takes one number or boolean", 1, 6),
    "y = sqrt(2.0)": ("the language has no function sqrt", 1, 5),
    "c[1] <<log>>= 2": ("the language has no function log", 1, 6),
    "function f = 3": ("a function has a name, parameters and an expression", 1, 12),
    "y = choose(0)(1)": ("choose(0) takes 2 arguments, not 1", 1, 5),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_functions_say_what_and_where(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    span = caught.value.span
    assert span is not None
    assert (caught.value.message, span.line, span.column) == MISTAKES[text]
    assert caught.value.fix


@settings(max_examples=many(60), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(programs_with_functions)
def test_programs_with_functions_print_as_text_of_the_same_tree(program: ir.Program) -> None:
    assert parse(show(program)) == program
    assert pickle.loads(pickle.dumps(program)) == program


def test_a_function_that_calls_others_ever_again_is_too_large() -> None:
    """Each of these has twice the operators of the one before, as a run would have to work them out."""
    lines = ["function f0(x) = x + x", *(f"function f{k}(x) = f{k - 1}(f{k - 1}(x))" for k in range(1, 12))]
    with pytest.raises(ParseError, match="f10 has more than 1000 operators") as caught:
        parse("\n".join(lines))
    assert caught.value.span is not None
    assert caught.value.span.line == 11


def test_choose_keeps_the_first_value_that_is_not_z() -> None:
    for z, other in ((0, 2), (1.5, 0), (False, True)):
        keeps = choose(ir.Literal(z))
        given = [algebra.exact(v) for v in (z, other, z)]
        assert algebra.apply(keeps, given[0], given[1]) == given[1]
        assert algebra.apply(keeps, given[1], given[0]) == given[1]
        assert algebra.apply(keeps, given[0], given[2]) == z
    program = parse("c[1] <<choose(-1)>>= choose(Inf)(x, 2)")
    assert show(program) == "c[1] <<choose(-1)>>= choose(Inf)(x, 2)"


def test_a_function_from_python_is_declared_by_the_program_that_is_given_it() -> None:
    f = wingspan.function("f(x, y) = x + y + x * y", associative=True, commutative=True, identity=0)
    assert str(f) == "function f(x, y; associative, commutative, identity = 0) = x + y + x * y"
    program = wingspan.parse("x = f(2, 3)", functions=[f])
    assert str(program) == f"{f}\nx = f(2, 3)"
    assert program.tree == wingspan.parse(str(program)).tree
    assert wingspan.run(program).variables["x"] == f(2, 3) == 11


def test_what_is_wrong_with_a_function_from_python_is_an_error_at_once() -> None:
    wrong: Any = (
        ("f(x, y) = x - y", {"commutative": True}, ProgramError, "f is declared commutative, but f(0, 1) = -1"),
        ("f(x) = x\ny = 2", {}, ParseError, "this is more than one function"),
        ("f(x, y; associative) = x", {}, ParseError, "what holds of a function is given by name here"),
        ("f(x) = x", {"identity": 0}, ParseError, "identity: this is said of functions of two parameters"),
        ("x + y", {}, ParseError, "a function has a name, parameters and an expression"),
        (lambda x, y: x + y, {}, InputError, "a function is given as text, and this is a function"),
        (b"f(x) = x", {}, InputError, "a function is given as text, and this is a bytes"),
        ("f(x, y) = x + y", {"identity": "1"}, InputError, "identity is a number or a boolean, and this is a str"),
        ("f(x, y) = x + y", {"identity": [0]}, InputError, "identity is a number or a boolean, and this is a list"),
        ("f(x, y) = x + y", {"annihilator": 1j}, InputError, "annihilator is a number or a boolean, and this is a co"),
        ("f(x, y) = x + y", {"identity": 2**63}, InputError, "identity=9223372036854775808 does not fit a 64-bit"),
        ("f(x, y) = x + y", {"commutative": "yes"}, InputError, "commutative is True or False, and this is a str"),
    )
    for text, known, kind, message in wrong:
        with pytest.raises(kind) as caught:
            wingspan.function(text, **known)
        assert caught.value.message.startswith(message), text
    with pytest.raises(InputError, match="f takes one argument, not 2"):
        wingspan.function("f(x) = x")(1, 2)
    for argument in ("1", None, 1j, (1, 2), np.ones(2)):
        with pytest.raises(InputError, match=f"f takes numbers and booleans, and this is a {type(argument).__name__}"):
            wingspan.function("f(x) = x")(argument)
    with pytest.raises(Fault, match="division by zero"):
        wingspan.function("f(x) = 1 ÷ x")(0)
    for several in (wingspan.function("f(x) = x"), None, 3):
        with pytest.raises(InputError, match="functions are given in a list"):
            wingspan.parse("x = f(1)", functions=several)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"functions are what wingspan\.function makes, and this is a str"):
        wingspan.parse("x = f(1)", functions=["f(x) = x"])  # type: ignore[list-item]


def test_a_function_from_python_may_be_written_as_in_a_program_and_declared_by_numpys_values() -> None:
    known: Any = {"commutative": np.bool_(True), "identity": np.int64(0)}
    f, g = (wingspan.function(f"{word}f(x, y) = x + y", **known) for word in ("", "function "))
    assert str(f) == str(g) == "function f(x, y; commutative, identity = 0) = x + y"
    assert str(wingspan.function(str(wingspan.function("f(x) = 2 * x")))) == "function f(x) = 2 * x"


def test_a_function_from_python_is_used_as_values_and_lists_are() -> None:
    """It takes NumPy's numbers and its own results, is one line as `repr`, and may come from any iterable."""
    f = wingspan.function("f(x, y) = x + y / 2")
    assert f(np.int8(3), np.float32(0.5)) == 3.25 and f(f(1, 1), 1) == 2
    assert repr(f) == "<Function f(x, y) = x + y / 2>"
    several: Any = (each for each in [f])
    assert wingspan.run(wingspan.parse("x = f(1, 2)", functions=several)).variables["x"] == 2


USED = {
    "y = sign(-3)": -1, "y = sign(0)": 0, "y = floor(-2.5)": -3, "y = ceil(-2.5)": -2, "y = mod(-7, 2)": 1,
    "y = div(-7, 2)": -4, "y = square(-3)": 9, "y = isnan(NaN)": True, "y = isnan(1.5)": False,
}  # fmt: skip


@pytest.mark.parametrize("text", USED)
def test_the_advice_for_a_function_of_other_languages_declares_it(text: str) -> None:
    with pytest.raises(ParseError, match="is declared before this") as caught:
        parse(text)
    assert caught.value.fix is not None
    declared = caught.value.fix.removeprefix("declare it first: ")
    assert wingspan.run(wingspan.parse(f"{declared}\n{text}")).variables["y"] == USED[text]


def test_the_advice_for_an_unknown_function_has_as_many_parameters_as_its_call_arguments() -> None:
    for text, head in (("y = f(1)", "f(x)"), ("y = f(1, 2, 3, 4)", "f(x, y, z, x4)"), ("c[1] <<f>>= 2", "f(x, y)")):
        with pytest.raises(ParseError) as caught:
            parse(text)
        assert caught.value.fix == f"declare it first: function {head} = …"


@pytest.mark.parametrize("leaf", ["Element(NaN)", "Atomic(NaN)", "Merge(dev, Element(NaN))"])
def test_choose_of_NaN_keeps_the_first_number(leaf: str) -> None:
    """Though NaN equals nothing: it compares a value with itself. What is not stored is skipped."""
    program = wingspan.parse(f"""
dev = cpu(:t, 2)
A = Tensor(SparseList(Element(NaN)), [NaN, 2.0, 3.0])
C = Tensor(Dense({leaf}), 2)
D = Tensor(Dense({leaf}), 2)
C .= NaN
D .= 7.5
for j = parallel(_, dev)
    for i = 1:3
        C[j] <<choose(NaN)>>= A[i]
        D[j] <<choose(NaN)>>= A[i]
    end
end
x = choose(NaN)(choose(NaN)(NaN, 4), 5)
return C, D
""")
    for engine in ("semantics", "reference", "native", "compiled"):
        run = wingspan.run(program, engine=engine, unsafe=True)
        assert run.tensors["C"].to_numpy().tolist() == [2.0, 2.0]
        assert run.tensors["D"].to_numpy().tolist() == [7.5, 7.5]
        assert run.variables["x"] == 4
