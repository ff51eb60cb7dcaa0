"""Lowered programs: values and faults as under the rules, statements that know where they come from, printed plans."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.places import ROOT
from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.plan import ir as plan
from wingspan.plan.pipeline import lower

PLANS = sorted((ROOT / "proofs_tests" / "plans").glob("*.ws"))
EXAMPLES = sorted((ROOT / "examples").glob("quiz_*.ws")) + PLANS


def bind(text: str) -> Elaborated:
    """A program of these lines."""
    return api.bind(api.parse(dedent(text).strip()))


def end(bound: Elaborated, engine: str) -> Any:
    """An engine's result, with the stored elements of the tensors and the kinds of the variables; or its fault."""
    try:
        made = api.run(bound, engine=engine, unsafe=True)
    except Fault as fault:
        return fault.message
    stored = {name: (str(T.tower), list(T.entries()), T.to_numpy().tolist()) for name, T in made.tensors.items()}
    return stored, {name: (type(value), value) for name, value in made.variables.items()}


def same(text: str) -> Any:
    """The outcome of a program: the same under the rules, as a plan step by step, and on threads."""
    bound = bind(text)
    found = [end(bound, engine) for engine in ("semantics", "native-controlled", "native")]
    assert found[0] == found[1] == found[2]
    return found[0]


# ---------------------------------------------------------------------------------------------------------- fill values


def test_a_stored_zero_is_data() -> None:
    """Identities act on what is not stored: the product with a stored zero is stored, for a missing one nothing is."""
    stored, _ = same("""
        A = Tensor(SparseList(Element(0)), [0, 2, 3])
        B = Tensor(Dense(Element(0)), [5, 0, 1])
        C = Tensor(SparseList(Element(0)))
        C .= 0
        for i = _
            C[i] = A[i] * B[i]
        end
    """)
    assert stored["C"][1] == [((2,), 0), ((3,), 3)]


def test_a_missing_element_overwrites() -> None:
    """Of a tensor that is assigned to more than once, `=` of a fill value is no empty write."""
    stored, _ = same("""
        A = Tensor(SparseList(Element(0)), [0, 2])
        x = Tensor(SparseByteMap(Element(0)))
        x .= 0
        for i = _
            x[i] = 5
            x[i] = A[i]
        end
    """)
    assert stored["x"][1] == [((1,), 0), ((2,), 2)]


def test_copies_of_fill_are_not_stored() -> None:
    """Of a tensor that is assigned to once, they are empty writes: where all that is read is missing, too."""
    stored, _ = same("""
        A = Tensor(SparseList(Element(0)), [0, 2, 0])
        C = Tensor(SparseList(Element(0)))
        C .= 0
        for i = _
            C[i] = max(A[i], A[1])
        end
    """)
    assert stored["C"][1] == [((2,), 2)]


@pytest.mark.parametrize("z", ["7", "0 - 2", "n * 3"])
@pytest.mark.parametrize("form", ["Dense", "SparseList", "SparseByteMap", "SparseDict"])
def test_a_tensor_has_the_fill_value_that_it_is_declared_with(form: str, z: str) -> None:
    """The value of its format does not count: loops over elements that are not stored see the declared one."""
    text = f"""
        C = Tensor({form}(Element(0)), 3)
        C .= {z}
        C[2] += 1
        y = Tensor(Dense(Element(0)), 3)
        y .= 0
        for i = _
            y[i] = C[i]
        end
    """
    fill = {"7": 7, "0 - 2": -2, "n * 3": 6}[z]
    bound = api.bind(api.parse(dedent(text).strip()), params={"n": 2} if "n" in z else {})
    found = [end(bound, engine) for engine in ("semantics", "native-controlled", "native")]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["y"][2] == [fill, fill + 1, fill]


# ----------------------------------------------------------------------------------------------------------- variables


def test_an_integer_that_a_double_does_not_hold_is_a_fault_in_a_variable_of_two_kinds() -> None:
    bound = bind("a = Tensor(Dense(Element(0)), [1])\nx = 9007199254740993\nif a[1] > 2\nx = 2.5\nend")
    for engine in ("native", "native-controlled"):
        with pytest.raises(Fault, match="holds x as a double, as it is at times, and 9007199254740993 is none"):
            api.run(bound, engine=engine)


def test_a_copy_of_a_variable_of_two_kinds_has_its_kind() -> None:
    for last in ("2", "2.5"):
        _, variables = same(f"""
            x = 0.5
            x = 1
            x = {last}
            y = x
            z = y + 0.5
        """)
        assert type(variables["y"][1]) is type(variables["x"][1])


def test_a_variable_of_two_kinds_keeps_the_kind_of_its_last_value() -> None:
    """It is a double in the plan, and comes out as the integer that it is under the rules."""
    for last, kind in (("i", int), ("i / 2", object)):
        _, variables = same(f"""
            x = 0.5
            for i = 1:4
                x = {last}
            end
        """)
        assert isinstance(variables["x"][1], kind)
        assert (type(variables["x"][1]) is int) == (kind is int)


REFUSED = {
    "tasks share x, which is now an integer and now a double": """
        x = 1
        for i = parallel(1:2, cpu(2))
            x = 2.5
        end
    """,
    "x is a 64-bit integer elsewhere and a boolean here": """
        x = 1
        for i = 1:2
            x = true
        end
    """,
    "x is now an integer and now a double, and here it matters which": """
        x = 2.5
        x = 2
        for i = 1:x
            y = i
        end
    """,
    "y is now an integer and now a double, and here it matters which": """
        x = 2.5
        x = 2
        y = x
        z = 1 + y
    """,
}
"""Programs that the rules run."""


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_plan_cannot_say_is_refused(message: str) -> None:
    """One message that points to the program and says what to do."""
    bound = bind(REFUSED[message])
    api.run(bound, engine="semantics")
    with pytest.raises(InputError) as refused:
        lower(bound)
    assert refused.value.message == f"the native engine cannot run this: {message}"
    assert refused.value.span is not None and refused.value.fix


# -------------------------------------------------------------------------------------------------------------- faults

OUTSIDE = {
    "A has the indices 1:3 on axis 1, got 4": "for i = 1:5\nc[] += A[i] * A[1]\nend",
    "A has the indices 1:3 on axis 1, got 0": "for i = 0:2\nc[] += A[i]\nend",
    "A has the indices 1:3 on axis 1, got -1": "for i = 1:1\nc[] += A[A[2] - 1 - i]\nend",
    "M has the indices 1:2 on axis 1, got 3": "for j = 1:2\nfor i = 1:2\nc[] += M[i + j, j]\nend\nend",
    "M has the indices 1:2 on axis 2, got 3": "for i = 1:2\nc[] += M[1, r[i]]\nend",
    "d has the indices 1:2 on axis 1, got 3": "for i = 1:2\nif i == 2\nd[r[i]] += 1\nend\nend",
}


@pytest.mark.parametrize("form", ["Dense", "SparseList", "SparseByteMap", "SparseDict"])
@pytest.mark.parametrize("message", OUTSIDE)
def test_an_index_outside_of_its_axis_is_a_fault(message: str, form: str) -> None:
    """In loops over fibers and in nested positions, where the elements before it are missing or not."""
    loop = OUTSIDE[message].replace("\n", "\n" + " " * 8)
    assert message == same(f"""
        A = Tensor({form}(Element(0)), [2, 1, 0])
        M = Tensor({form}({form}(Element(0))), [1 0; 0 0])
        r = Tensor(Dense(Element(0)), [1, 3])
        d = Tensor({form}(Element(0)), 2)
        c = Tensor(Element(0))
        d .= 0
        c .= 0
        {loop}
    """)


@pytest.mark.parametrize("form", ["SparseList", "SparseDict"])
def test_what_is_cancelled_does_not_fault(form: str) -> None:
    """A missing factor keeps the rest of the product from being evaluated."""
    stored, _ = same(f"""
        A = Tensor({form}(Element(0)), [0, 2, 0])
        c = Tensor(Element(0))
        c .= 0
        for i = 1:3
            c[] += A[i] * (6 ÷ (i - 1))
        end
    """)
    assert stored["c"][2] == 12


# -------------------------------------------------------------------------------------------------- origins and places


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_statement_knows_where_it_comes_from(path: Path) -> None:
    """Statements that may fault or meet another task have a span of the program; accesses to levels say which one.

    Those of elements say for which position. The reads that hand over shared variables at the end come from no line.
    """
    bound = api.bind(path)
    lines = path.read_text(encoding="utf-8").count("\n")
    loops = {s.index for s in bound.body.walk() if isinstance(s, ir.For)}
    statements = list(plan.walk(lower(bound).body))
    assert any(isinstance(s, plan.Access) and s.ref.buffer.depth >= 0 for s in statements)
    for s in statements:
        if isinstance(s, plan.Access | plan.Check | plan.Compute | plan.Par):
            if s.origin.operation == "ReadLocal":
                continue
            assert s.origin.operation
            assert s.origin.span is not None and 1 <= s.origin.span.line <= lines
            assert {name for name, _ in s.origin.indices} <= loops
        if isinstance(s, plan.Access) and s.ref.buffer.depth >= 0:
            assert s.ref.buffer.level == bound.towers[s.ref.buffer.tensor].numbers[s.ref.buffer.depth]
            if s.origin.operation in ("Access", "Assign"):
                assert not isinstance(s, plan.FetchChunk) and s.place.position is not None


def test_the_rule_and_the_indices_of_a_write_are_those_of_the_program() -> None:
    """The store of an element is the Assign of line 5, for i, and tells the element's position."""
    made = lower(
        bind("""
            x = Tensor(Dense(Element(0)), 3)
            x .= 0
            for i = 1:3
                for j = 1:2
                    x[i] += 1
                end
            end
        """)
    )
    (store,) = [s for s in plan.walk(made.body) if isinstance(s, plan.Store) and s.origin.operation == "Assign"]
    assert store.origin.span is not None and store.origin.span.line == 5
    assert [name for name, _ in store.origin.indices] == ["i", "j"]
    assert store.place.position == store.index


# ------------------------------------------------------------------------------------------------------- printed plans


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_the_printed_plan_is_as_kept(path: Path, command, pytestconfig) -> None:
    """`--accept` keeps what is printed now."""
    printed = command("plan", str(path)).out
    kept = path.with_suffix(".out")
    if pytestconfig.getoption("--accept"):
        kept.write_text(printed, encoding="utf-8")
    assert printed == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_printed_plan_shows_lines_of_the_program(path: Path) -> None:
    """Each line that it shows is one of the program, with its number."""
    source = path.read_text(encoding="utf-8").splitlines()
    shown = [line.strip()[2:] for line in api.plan(path).splitlines() if line.strip().startswith("# ")]
    assert shown
    for line in shown:
        number, _, text = line.partition(" │ ")
        assert source[int(number) - 1].strip() == text
