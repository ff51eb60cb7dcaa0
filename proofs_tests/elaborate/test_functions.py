"""Functions for the kinds of their arguments, what is declared of them, and what follows from that."""

from __future__ import annotations

import pytest

import wingspan
from proofs_tests.elaborating import VECTOR, Mistake, elaborated, mistake, shown
from proofs_tests.exploring import steps
from wingspan import api
from wingspan.base.errors import ProgramError
from wingspan.elaborate.functions import find_counterexample
from wingspan.lang import ir
from wingspan.lang.parser import parse
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")


def function(text: str) -> ir.Function:
    """A declared function."""
    (s,) = parse(f"function {text}").body.statements
    assert isinstance(s, ir.Define)
    assert isinstance(s.value, ir.Function)
    return s.value


FALSE = {
    "f(x, y; commutative) = x - y": "f is declared commutative, but f(0, 1) = -1 and f(1, 0) = 1",
    "f(x, y; associative) = x - y": "f is declared associative, but f(f(0, 0), 1) = -1 and f(0, f(0, 1)) = 1",
    "f(x, y; idempotent) = x + y": "f is declared idempotent, but f(1, 1) = 2",
    "f(x, y; identity = 1) = x + y": "f is declared to have the identity 1, but f(1, 1) = 2",
    "f(x, y; identity = 0) = x - y": "f is declared to have the identity 0, but f(0, 1) = -1",
    "f(x, y; annihilator = 1) = x * y": "f is declared to have the annihilator 1, but f(0, 1) = 0",
    "f(x, y; annihilator = 0) = x * x * y + x": "f is declared to have the annihilator 0, but f(1, 0) = 1",
    "f(x, y; commutative) = x && !y": (
        "f is declared commutative, but f(false, true) = false and f(true, false) = true"
    ),
    "f(x, y; identity = true) = x || y": "f is declared to have the identity true, but f(false, true) = true",
    "f(x, y; identity = 100) = max(x, y) + max(x - 99, 0)": (
        "f is declared to have the identity 100, but f(100, 100) = 101"
    ),
}  # fmt: skip
"""Declarations that are false."""

TRUE = (
    "f(x, y; associative, commutative, identity = 0) = x + y + x * y",
    "f(x, y; associative, commutative, idempotent, identity = -Inf, annihilator = Inf) = max(x, y)",
    "f(p, q; associative, commutative, identity = false) = p != q",
    "f(x, y; associative, commutative, identity = 0) = x ⊻ y",
    "f(x, y; associative, idempotent) = x + 0 * y",
    "f(x, y; commutative) = abs(x - y)",
    "f(x, y; commutative) = 1 ÷ (x * y)",
    "f(x, y; commutative) = (x > 1) + (y > 1)",
)


@pytest.mark.parametrize("text", FALSE)
def test_a_declaration_that_a_small_value_refutes_is_a_mistake(text: str) -> None:
    found = find_counterexample(function(text))
    assert found is not None
    assert found[1] == FALSE[text]
    said = mistake(f"function {text}\nx = 1")
    assert said == Mistake("1:1", FALSE[text], f"leave {found[0]} out, or change f")


@pytest.mark.parametrize("text", TRUE)
def test_what_is_declared_rightly_is_accepted(text: str) -> None:
    """Also where a side has no value, as after a division by zero, or for doubles of what is of integers."""
    assert find_counterexample(function(text)) is None


GCD = """
function g1(x, y) = ifelse(y == 0, x, y)
function g2(x, y) = ifelse(y == 0, x, g1(y, x % y))
function g3(x, y) = ifelse(y == 0, x, g2(y, x % y))
function divisor(x, y; commutative, annihilator = 1) = g3(max(abs(x), abs(y)), min(abs(x), abs(y)))
"""
"""The greatest common divisor of numbers up to 9, whose annihilator among doubles 1 is not: divisor(0.5, 1) is 0.5."""
USES = {
    "n[i] = divisor(A[i], 8)": [1, 4, 1],
    "n[i] = 2 * divisor(A[i], divisor(8, i))": [2, 4, 2],
    "n[i] <<divisor>>= A[i]": [1, 4, 1],
    "n[i] = h(A[i])": [1, 4, 1],
}
FALSE_OF_DOUBLES = "divisor is declared to have the annihilator 1, but divisor(0.5, 1) = 0.5"


@pytest.mark.parametrize("use", USES)
def test_a_declaration_is_tried_on_the_kinds_that_are_in_use(use: str) -> None:
    """On integers alone 1 annihilates; with doubles, also by way of another function, it does not."""
    text = f"""{GCD}
function h(x) = divisor(x, 8)
A = Tensor(SparseList(Element(1)), [1, 4, 1])
n = Tensor(Dense(Element(0)), 3)
n .= 0
for i = 1:3
{use}
end
return n
"""
    results = compare(api.bind(api.parse(text)), [api.engine(name) for name in ENGINES])
    assert results.difference is None and not results.left_out
    assert api.run(api.parse(text)).tensors["n"].to_numpy().tolist() == USES[use]
    assert mistake(text.replace("Element(0)", "Element(0.0)").replace("Element(1)", "Element(1.0)")).message == (
        FALSE_OF_DOUBLES
    )


@pytest.mark.parametrize(("data", "end"), [("-84, 126, 0, 210", 42), ("0, 0, 0, 0", 0), ("3, 5, 1, 7", 1)])
def test_tasks_update_by_the_greatest_common_divisor(data: str, end: int) -> None:
    """In every engine, in any order: it is associative and commutative, whatever the signs are."""
    text = f"""
dev = cpu(:dev, 2)
A = Tensor(SparseList(Element(0)), [{data}])
d = Tensor(Atomic(0))
s = Tensor(Mutex(Element(0)))
d .= 0
s .= 0
for i = parallel(1:4, dev)
    d[] <<gcd>>= A[i]
    s[] <<gcd>>= gcd(A[i], A[1])
end
return d, s
"""
    program = api.parse(text)
    assert api.check(program).verdict == "safe"
    results = compare(api.bind(program), [api.engine(name) for name in ENGINES])
    assert results.difference is None and not results.left_out
    assert {name: int(x.to_numpy()) for name, x in api.run(program).tensors.items()} == {"d": end, "s": end}


def test_what_no_program_calls_is_tried_on_all_kinds() -> None:
    assert mistake(f"{GCD}x = g1(1, 2)").message == FALSE_OF_DOUBLES


def test_a_function_made_in_python_is_tried_on_doubles_where_a_program_has_doubles() -> None:
    divisor = wingspan.function(
        "divisor(x, y) = ifelse(x % 1 == 0 && y % 1 == 0, min(abs(x), abs(y), 1), x)", annihilator=0
    )
    with pytest.raises(ProgramError, match="declared to have the annihilator 0, but divisor"):
        api.bind(wingspan.parse("x = divisor(0.5, 0.0)", functions=[divisor]))
    assert api.bind(wingspan.parse("x = divisor(4, 0)", functions=[divisor]))


KINDS = {
    "function f(x, y) = x / y\nc[1] <<f>>= 2": Mistake(
        "6:1", "c holds integers, and f gives a double for two of these", "÷ divides integers"
    ),
    "function f(x, y) = x < y\nc[1] <<f>>= 2": Mistake(
        "6:1", "c holds integers, and f gives a boolean for two of these", "write another function than f"
    ),
    "function f(x, y) = x + y\nb[1] <<f>>= true": Mistake(
        "6:1", "b holds booleans, and f gives an integer for two of these", "write another function than f"
    ),
    "function f(x, y) = x || y\nb[1] <<f>>= 2": Mistake("6:13", "b holds booleans, and 2 is an integer", "write true"),
    "function f(x) = !x\nc[1] = f(2)": Mistake("5:18", "! needs booleans, and x is an integer", "write x != 0"),
}
"""Values that are impossible."""


@pytest.mark.parametrize("text", KINDS)
def test_a_function_of_the_wrong_kind_is_a_mistake_before_the_program_runs(text: str) -> None:
    head = f"c = {VECTOR}, 2)\nb = Tensor(Dense(Element(false)), 2)\nc .= 0\nb .= false\n"
    assert mistake(head + text) == KINDS[text]


def test_a_boolean_counts_as_a_number_in_a_function_and_an_integer_becomes_a_double() -> None:
    text = f"""
    function one(x, y) = 1
    function twice(x, y) = x + y
    function above(x, y) = (x > y) * 2 + twice(x, y)
    c = {VECTOR}, 2)
    d = Tensor(Dense(Element(0.5)), 2)
    e = Tensor(Element(0))
    c .= 0
    d .= 0.5
    e .= 0
    for i = 1:2
        c[i] = above(i, 1) + above(i > 1, 0)
        e[] <<twice>>= i > 1
        d[i] <<one>>= i
    end
    return c, d, e
    """
    bound = elaborated(text)
    done = compare(bound, list(map(api.engine, ENGINES)))
    assert done.difference is None, done
    arrays = done.endings[0].arrays
    assert [arrays[name].tolist() for name in "cde"] == [[2, 8], [1.0, 1.0], 1]


HEAD = """
function f(x, y; associative, commutative, identity = 0) = x + y + x * y
function both(x, y; commutative, annihilator = 0) = x * y * 2
A = Tensor(Dense(SparseList(Element(0))), [0 5 0; 0 0 0; 0 0 7])
B = Tensor(Dense(SparseList(Element(1))), [1 5 1; 1 1 1; 1 1 7])
C = Tensor(Dense(Element(0)), 3)
C .= 0
"""


def test_updates_by_the_identity_are_left_out_and_the_annihilator_skips_what_is_not_stored() -> None:
    """Of 9 elements, the rules visit the two that A stores; whatever is no identity is visited."""
    loops = "for j = _\nfor i = _\n{}\nend\nend\nreturn C"
    for body, visits in (("C[i] <<f>>= A[i, j]", 2), ("C[i] += both(A[i, j], 3)", 2), ("C[i] <<f>>= B[i, j]", 9)):
        text = HEAD + loops.format(body)
        stored = [t for step in steps(text) if step.rule == "Assign" for t in step.footprint if t.effect == "write"]
        assert len(stored) == visits, body
        assert compare(elaborated(text), list(map(api.engine, ENGINES))).difference is None, body


def test_an_update_is_offered_in_place_of_a_function_of_what_is_set() -> None:
    head = "function f(x, y; associative) = x + 0 * y\nfunction g(x, y; commutative, associative) = x + y\n"
    head += "c = Tensor(SparseDict(Element(0)), 3)\nc .= 0\nfor i = 1:3\n"
    for value, update in (
        ("f(c[i], i)", "<<f>>= i"),
        ("g(i, c[i])", "<<g>>= i"),
        ("f(f(c[i], 1), i)", "<<f>>= f(1, i)"),
    ):
        assert mistake(f"{head}c[i] = {value}\nend").fix == f"write c[i] {update}", value
    assert "write" not in mistake(f"{head}c[i] = f(i, c[i])\nend").fix


def test_a_phase_of_another_function_begins_anew() -> None:
    text = f"""
    function f(x, y) = x + 2 * y
    function g(x, y) = x - y
    c = {VECTOR}, 3)
    c .= 0
    for i = 1:3; c[i] <<f>>= i; end
    for i = 1:3; c[i] <<g>>= i; end
    """
    assert "freeze(c, f)\nthaw(c, g)" in shown(text)


def test_what_is_wrong_within_choose_is_said_of_its_value() -> None:
    """Its expression stands in no text."""
    with pytest.raises(ProgramError) as caught:
        api.bind(api.parse("x = choose(0)(1 > 0, 3)"))
    span = caught.value.span
    assert span is not None and (span.line, span.column) == (1, 12)
