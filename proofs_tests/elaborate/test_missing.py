"""`missing`, `ismissing` and `coalesce`: expressions without a value, beside an oracle in which they are None.

Costs are numbers of accesses to buffers, counted on the plan under the controlled scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.elaborating import VECTOR, shown
from proofs_tests.plan.test_looplets import counts
from proofs_tests.plan.test_shifts import agreed
from wingspan import api
from wingspan.base.errors import ParseError, ProgramError
from wingspan.lang import ir

HEAD = f"""
A = {VECTOR})
B = Tensor(SparseList(Element(1)), [2, 1, 4, 5])
M = Tensor(SparseList(Pattern()), [true, false, true, true])
y = {VECTOR}, 4)
y .= 0
"""
DATA: dict[str, list[Any]] = {"B": [2, 1, 4, 5], "M": [True, False, True, True]}

# ------------------------------------------------------------------------------------------------------------- oracle


@dataclass(frozen=True)
class Tree:
    """An expression: a text with a place for each part, and what it computes; `op` says how the parts are evaluated."""

    text: str
    op: str = "value"
    parts: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.text.format(*self.parts)

    def at(self, i: int, arrays: dict[str, list[Any]]) -> Any:
        """The value where the loop is at i; None if it is missing."""
        if self.op == "value":
            return {"missing": None, "i": i, "true": True, "false": False}.get(self.text, self.text)
        if self.op == "literal":
            return int(self.text)
        if self.op == "there":
            return arrays[self.text[0]][i - 1]
        if self.op == "beyond":
            array = arrays[self.text[0]]
            k = self.parts[0].at(i, arrays)
            return array[k - 1] if k is not None and 1 <= k <= len(array) else None
        first, *rest = (part.at(i, arrays) for part in self.parts)
        if self.op == "ismissing":
            return first is None
        if self.op == "coalesce":
            return next((x for x in (first, *rest) if x is not None), None)
        if self.op == "ifelse":
            return None if first is None else rest[not first]
        return None if None in (first, *rest) else COMPUTED[self.op](first, *rest)


COMPUTED: dict[str, Any] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "max": max, "<": lambda x, y: x < y,
    "!": lambda x: not x, "&&": lambda x, y: x and y, "sum": lambda x, y: x + y,
}  # fmt: skip
"""The operators on values that are there."""

LEAVES = (
    [Tree("i"), Tree("missing"), *(Tree(str(k), "literal") for k in (0, 1, 3)), Tree("B[i]", "there")],
    [Tree("true"), Tree("M[i]", "there"), Tree("missing")],
)
SHIFTS = [Tree("i"), *(Tree("{} + 1", "+", (Tree("i"), Tree("1", "literal"))) for _ in range(2)),
          *(Tree("{} - " + str(k), "-", (Tree("i"), Tree(str(k), "literal"))) for k in (1, 3))]  # fmt: skip


def may_be_missing(e: Tree) -> bool:
    """Whether `coalesce` takes this before other values."""
    return e.text == "missing" or e.op == "beyond" or any(map(may_be_missing, e.parts))


@st.composite
def trees(draw: st.DrawFn, truth: bool, depth: int = 3) -> Tree:
    """Draws expressions that may be missing: booleans, or integers."""

    def inner(of: bool) -> Tree:
        return draw(trees(of, depth - 1))

    if depth == 0 or draw(st.integers(0, 4)) == 0:
        beyond = Tree("M[~({})]" if truth else draw(st.sampled_from(["A[~({})]", "B[~({})]"])), "beyond",
                      (draw(st.sampled_from(SHIFTS)),))  # fmt: skip
        return draw(st.sampled_from([beyond, beyond, *LEAVES[truth]]))
    op = draw(st.sampled_from(["ifelse", "coalesce", *(("ismissing", "<", "!", "&&") if truth else "+-*ms")]))
    match op:
        case "ifelse":
            return Tree("ifelse({}, {}, {})", op, (inner(True), inner(truth), inner(truth)))
        case "coalesce":
            parts = [e for e in (inner(truth), inner(truth)) if may_be_missing(e)]
            last = inner(truth)
            return Tree(f"coalesce({', '.join(['{}'] * (len(parts) + 1))})", op, (*parts, last)) if parts else last
        case "ismissing" | "!":
            return Tree("(!{})" if op == "!" else "ismissing({})", op, (inner(truth and op == "!"),))
        case "m" | "s":
            name = {"m": "max", "s": "sum"}[op]
            return Tree(f"{name}({{}}, {{}})", name, (inner(False), inner(False)))
    return Tree(f"({{}} {op} {{}})", op, (inner(op == "&&"), inner(op == "&&")))


@settings(derandomize=True, deadline=None, max_examples=many(150))
@given(trees(False), st.sampled_from([[], [7], [3, -1, 2, 8]]))
def test_what_is_missing_is_None_in_an_oracle(e: Tree, elements: list[int]) -> None:
    """Of any expression, in every engine; and it is printed as it was written."""
    body = f"y[i] += {e}"
    if may_be_missing(e):
        body = f"y[i] += coalesce({e} + missing, {e} + B[~(i + 9)], {e}, -99) + 1000 * ismissing({e})"
    program = api.parse(f"function sum(x, y) = x + y\n{HEAD}for i = 1:4\n{body}\nend\nreturn y")
    assert api.parse(str(program)).tree == program.tree
    values = [e.at(i, {**DATA, "A": elements}) for i in range(1, 5)]
    expected = [1000 - 99 if x is None else x for x in values]
    assert agreed(api.bind(program, inputs={"A": elements}))["y"].tolist() == expected


def test_the_oracle_finds_missing_values() -> None:
    """Negative control: it is no constant, nor blind to the axes."""
    e = Tree("coalesce({}, {})", "coalesce", (Tree("A[~({})]", "beyond", (SHIFTS[1],)), Tree("missing")))
    assert [e.at(i, {"A": [5, 6]}) for i in (1, 2, 3)] == [6, None, None]


# ------------------------------------------------------------------------------------------------------ what it serves


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_mask_holds_which_elements_there_are(n: int) -> None:
    """As in NumPy's masked arrays: a sum with a missing element is missing, and a fill value takes its place."""
    rng = np.random.default_rng(n)
    x, there = rng.integers(1, 9, n), rng.integers(0, 2, n).astype(bool)
    own = "ifelse(M[i], A[i], missing)"
    program = api.parse(f"""
A = {VECTOR})
M = Tensor(SparseList(Pattern()))
y = {VECTOR}, {n})
known = Tensor(Element(0))
y .= 0
known .= 0
for i = 1:{n}
    y[i] = coalesce({own} + ifelse(M[~(i + 1)], A[~(i + 1)], missing), {own}, -1)
    known[] += !ismissing({own})
end
return y, known
""")
    made = agreed(api.bind(program, inputs={"A": x, "M": there}))
    masked = np.ma.array(x, mask=~there)
    beside = np.ma.array(np.append(x[1:], 0), mask=~np.append(there[1:], False))[:n]
    assert (
        made["y"].tolist() == np.where((masked + beside).mask, masked.filled(-1), (masked + beside).filled(0)).tolist()
    )
    assert int(made["known"]) == masked.count()


LAPLACE = "y[i] += coalesce(A[~(i - 1)] - 2 * A[i] + A[~(i + 1)], A[i])"


@pytest.mark.parametrize("n", [0, 1, 2, 20])
def test_arithmetic_beyond_the_ends_costs_what_a_stencil_does(n: int) -> None:
    """Three loads of a dense array at each index but the first and the last, which have one."""
    x = np.arange(n) ** 2
    bound = api.bind(api.parse(f"A = {VECTOR})\ny = {VECTOR}, {n})\ny .= 0\nfor i = _\n{LAPLACE}\nend\nreturn y"),
                     inputs={"A": x})  # fmt: skip
    ends = np.arange(n) % max(n - 1, 1) == 0
    assert agreed(bound)["y"].tolist() == np.where(ends, x, 2).tolist()
    assert counts(bound).get("A.val", 0) == 3 * n - 2 * min(n, 2)


def test_a_condition_on_what_is_missing_splits_the_range_of_a_loop() -> None:
    """Also of runs, whose number is what the loop costs; and `else` is where it is not missing."""

    def bound(n: int, body: str) -> Any:
        text = f"A = Tensor(RunList(Element(0)))\ny = Tensor(Element(0))\ny .= 0\nfor i = 1:{n}\n{body}\nend\nreturn y"
        return api.bind(api.parse(text), inputs={"A": np.full(n, 3)})

    guarded = "if !ismissing(A[~(i + 2)])\ny[] += A[i + 2]\nend"
    assert int(agreed(bound(30, guarded))["y"]) == 28 * 3
    assert counts(bound(30, guarded)) == counts(bound(90, guarded))
    body = "if ismissing(A[~(i + 2)] + A[~(i - 1)])\ny[] += 1\nelse\ny[] += 100\nend"
    assert int(agreed(bound(30, body))["y"]) == 3 + 2700


def test_an_axis_that_is_left_gives_a_loop_no_range() -> None:
    """An access that is not missing may be shorter than the loop, as under any condition on an index."""
    head = f"a = {VECTOR}, [1, 2, 3]); b = {VECTOR}, [1, 2, 3, 4, 5]); d = {VECTOR}); d .= 0\n"
    for body in ("d[i] += coalesce(a[~i] + a[i], 0) + b[i]", "d[i] += b[i]; if !ismissing(a[~i]); d[i] += a[i]; end"):
        assert "for i = 1:5" in shown(f"{head}for i = _; {body}; end"), body


def test_presence_is_tested_by_the_index_of_a_loop_and_not_by_a_search() -> None:
    body = "y[i] += coalesce(A[~(i + 1)] * B[i], 0) + ismissing(B[~(i - 2)])"
    text = shown(f"{HEAD}for i = 1:3; {body}; end", inputs={"A": [1, 2]})
    assert "y[i] += ifelse(i <= 1, A[~(i + 1)] * B[i], 0) + ifelse(i < 3, 1, 0)" in text


def test_a_subscript_that_is_loaded_may_leave_its_axis_anywhere_in_coalesce() -> None:
    """Each subscript is evaluated once where what it reads is, and the access is missing where it leaves the axis."""
    bodies = {
        "y[i] += coalesce(2 * A[~B[i]] + 1, A[~(i - 3)], -7)": [41, 21, -7, 10],
        "y[i] += coalesce(B[~A[~(i + 1)]] + 1, -7)": [-7, -7, -7, -7],
        "y[i] += coalesce(2 * B[~B[~(i + 1)]], -7)": [4, 10, -7, -7],
    }
    for body, expected in bodies.items():
        program = api.parse(f"{HEAD}for i = 1:4\n{body}\nend\nreturn y")
        assert agreed(api.bind(program, inputs={"A": [10, 20]}))["y"].tolist() == expected, body


def test_the_remedy_is_a_program() -> None:
    """It goes on where a coalesce ends that may be missing."""
    with pytest.raises(ProgramError) as raised:
        api.bind(api.parse(f"{HEAD}y[1] += coalesce(A[~1], 2 * B[~5])"), inputs={"A": []})
    assert raised.value.fix == "say what to take then: coalesce(A[~1], 2 * B[~5], 0)"


def test_tasks_may_read_what_may_be_missing() -> None:
    """Reads beyond the ends of axes are no conflicts. What is updated decides, as without them."""
    head = "dev = cpu(:t, 2)\nA = Tensor(Dense(Element(0)), [1, 2, 3])\ny = Tensor(Dense(Element(0)), 3)\ny .= 0\n"
    text = f"{head}for i = parallel(_, dev)\ny[{{}}] += coalesce(A[~(i + 1)] + A[i], 9)\nend\nreturn y"
    assert api.check(api.parse(text.format("i"))).verdict == "safe"
    assert api.check(api.parse(text.format("1"))).verdict == "unsafe"


# ------------------------------------------------------------------------------------------------------------ mistakes

LEFT = {
    "y[i] += A[~(i + 1)]": r"A\[~\(i \+ 1\)\] is missing where ~ leaves the axis",
    "y[i] += 3 * A[~i] + 1": "may be missing",
    "y[i] += ifelse(M[i], A[i], missing)": "may be missing",
    "y[i] += coalesce(A[~i], missing)": "may be missing",
    "y[i] += ifelse(M[~(i + 1)], 1, 2)": "may be missing",
    "y[i] += missing": "missing is missing, and a value is needed here",
    "y[i] = min(missing, B[i])": "is missing, and a value is needed here",
    "y[coalesce(A[~i], missing)] += 1": "may be missing",
    "if M[~(i + 1)]; y[i] += 1; end": r"M\[~\(i \+ 1\)\] is missing where ~ leaves the axis",
    "x = coalesce(missing)": "missing is missing, and a value is needed here",
    "y[~missing] += 1": "missing is missing, and a value is needed here",
    "y[~A[~i]] += 1": r"A\[~i\] is missing where ~ leaves the axis",
    "for j = 1:A[~i]; y[j] += 1; end": r"A\[~i\] is missing where ~ leaves the axis",
    "x = A[~i] + 1": "may be missing",
}


@pytest.mark.parametrize("statement", LEFT)
def test_what_may_be_missing_is_refused_where_a_value_is_needed(statement: str) -> None:
    with pytest.raises(ProgramError, match=LEFT[statement]) as raised:
        api.bind(api.parse(f"{HEAD}for i = 1:4\n{statement}\nend"), inputs={"A": [1, 2]})
    assert len(raised.value.diagnostics) == 1
    assert ("coalesce" in raised.value.fix) != ("needed" in raised.value.message)  # type: ignore[operator]


WRONG = {
    "x = coalesce(A[~1] + A[B[1]], 0)": "only where it is not missing, so it cannot search here",
    "x = coalesce(A[~1], B[~B[1]], 0)": "only where what stands before it is missing, so it cannot search here",
    "x = coalesce()": "coalesce takes one value or more",
    "x = ismissing()": "cannot stand here",
    "function f(x) = coalesce(x, missing)": "f is computed where no argument is missing, and is not missing",
    "function f(x) = ifelse(x > 0, x, missing)": "f is computed where no argument is missing, and is not missing",
    "D = Tensor(Dense(Element(0)), [1, missing])": "an element is never missing",
    "missing = 1": "reserved word",
}


@pytest.mark.parametrize("statement", WRONG)
def test_what_is_never_missing_and_what_cannot_be_is_one_clear_error(statement: str) -> None:
    with pytest.raises(ParseError, match=WRONG[statement]) as raised:
        api.parse(f"{HEAD}{statement}")
    assert len(raised.value.diagnostics) == 1
    assert raised.value.fix


def test_conditions_in_conditions_are_refused_before_they_fill_the_memory() -> None:
    """Each is evaluated to find out whether there is a value, and for the value, so each doubles those inside."""

    def text(depth: int) -> str:
        e = "M[i]"
        for _ in range(depth):
            e = f"coalesce(ifelse({e}, M[~i], M[~(i + 1)]), false)"
        return f"{HEAD}for i = 1:4; if {e}; y[i] += 1; end; end"

    api.bind(api.parse(text(3)), inputs={"A": [1]})
    with pytest.raises(ProgramError, match="too much decides here whether values are missing"):
        api.bind(api.parse(text(30)), inputs={"A": [1]})


ADVISED = {
    "x[i] = coalesce(A[~i], coalesce(B[~y[i]], 0))": "x2 = coalesce(B[~y[i]], 0)",
    "x[i] = ifelse(i <= 2, coalesce(B[~y[i]], 0), 0)": "x2 = coalesce(B[~y[i]], 0)",
    "x[i] = ifelse(i <= 2, B[y[i]], 0)": "x2 = B[y[i]]",
    "x[i] = coalesce(A[~i] + B[y[i]], 0)": "x2 = B[y[i]]",
}


@pytest.mark.parametrize("statement", ADVISED)
def test_the_advice_to_bind_what_would_search_is_taken(statement: str) -> None:
    """With a name that is none of the program's; then no search is left, and the program runs."""
    head = f"A = {VECTOR}, [4, 5, 6])\nB = {VECTOR}, [3, 2])\ny = {VECTOR}, [1, 2, 2])\nx = {VECTOR}, 3)\nx .= 0\n"
    with pytest.raises(ParseError, match="so it cannot search here") as raised:
        api.parse(f"{head}for i = 1:3\n{statement}\nend")
    advice = (raised.value.fix or "").removeprefix("bind it before: ")
    assert advice == ADVISED[statement]
    bound = statement.replace(advice.split(" = ", 1)[1], "x2").replace("B[y[i]]", "x2")
    whole = f"{head}for i = 1:3\n{advice}\n{bound}\nend\nreturn x"
    assert agreed(api.bind(api.parse(whole)))["x"].sum() > 0


def test_concatenation_is_a_coalesce_within_another_one() -> None:
    """As in Finch.jl's documentation: B begins where A ends."""
    head = f"A = {VECTOR}, [1, 2])\nB = Tensor(SparseList(Element(0)), [3, 0, 5])\nC = {VECTOR}, 6)\nC .= 0\n"
    for value in ("coalesce(A[~i], coalesce(B[~(i - 2)], 9))", "coalesce(A[~i], B[~(i - 2)], 9)"):
        made = agreed(api.bind(api.parse(f"{head}for i = _\nC[i] = {value}\nend\nreturn C")))["C"]
        assert made.tolist() == [1, 2, 3, 0, 5, 9]


def test_whether_a_value_is_there_may_depend_on_a_parameter() -> None:
    """A condition that is known when the program is bound makes `coalesce` no mistake."""
    program = api.parse("x = coalesce(ifelse(known, 3, missing), 4)")
    for known, expected in ((True, 3), (False, 4)):
        assert api.run(program, params={"known": known}).variables["x"] == expected


def test_no_form_of_missing_values_is_left_in_what_runs() -> None:
    text = f"{HEAD}for i = 1:4; y[i] += coalesce(A[~i], ifelse(M[i], missing, 1), 0) + ismissing(B[~(i + 1)]); end"
    bound = api.bind(api.parse(text), inputs={"A": [1, 2]})
    assert not [node for node in bound.body.walk() if isinstance(node, ir.Missing | ir.IsMissing | ir.Coalesce)]
