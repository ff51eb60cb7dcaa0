"""`else`, `elseif` and `ifelse`: what they compute is what Python's own `if` computes, in every engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import api
from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.branches import opposite
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")
CONDITIONS = (
    "i < 3",
    "i == 2",
    "i != k",
    "A[i] > 1",
    "x < 2",
    "true",
    "i <= k && k < 3",
    "A[i] == x || i > k",
    "!(x > 0)",
)
STATEMENTS = ("c[i, k] += {}", "x = x + {}", "x = A[i] - {}", "skip")
HEAD = """
A = Tensor(Dense(Element(0)), {data})
c = Tensor(Dense(Dense(Element(0))), {n}, 2)
c .= 0
for k = 1:2
    for i = 1:{n}
        x = i - k
"""

Chain = list[tuple[str, list[str]]]
"""Conditions and blocks; the last condition is empty for an `else`."""

blocks = st.lists(st.builds(str.format, st.sampled_from(STATEMENTS), st.integers(0, 3)), min_size=1, max_size=2)
chains: st.SearchStrategy[Chain] = st.builds(
    lambda ifs, last: [*ifs, *([("", last)] if last else [])],
    st.lists(st.tuples(st.sampled_from(CONDITIONS), blocks), min_size=1, max_size=3), st.none() | blocks,
)  # fmt: skip


def lines(chain: Chain, ended: bool) -> list[str]:
    """A chain as a program writes it."""
    out = []
    for number, (condition, block) in enumerate(chain):
        word = "if" if number == 0 else "elseif" if condition else "else"
        out += [f"{word} {condition}".rstrip(), *(f"    {line}" for line in block)]
    return [*out, "end"] if ended else out


def program(chain: Chain, data: list[int], ended: bool) -> str:
    head = HEAD.format(data=data, n=len(data)).strip().splitlines()
    inner = [f"        {line}" for line in lines(chain, ended)]
    return "\n".join([*head, *inner, "        c[i, k] += x", *(["    end", "end"] if ended else [])])


def computed(chain: Chain, data: list[int]) -> list[list[int]]:
    """The results of the chain in Python."""
    out = [[0, 0] for _ in data]
    for k in (1, 2):
        for i in range(1, len(data) + 1):
            names: dict[str, Any] = {"i": i, "k": k, "x": i - k, "A": [0, *data]}
            for condition, block in chain:
                test = condition.replace("&&", "and").replace("||", "or").replace("!(", "not (") or "True"
                if eval(test.replace("true", "True"), names):
                    for line in block:
                        if line.startswith("x = "):
                            names["x"] = eval(line[4:], names)
                        elif line != "skip":
                            out[i - 1][k - 1] += int(line.split()[-1])
                    break
            out[i - 1][k - 1] += names["x"]
    return out


@settings(max_examples=many(400))
@given(chain=chains, data=st.lists(st.integers(-1, 3), min_size=1, max_size=4))
def test_the_first_block_whose_condition_holds_runs_and_no_other(chain: Chain, data: list[int]) -> None:
    text = program(chain, data, ended=True)
    assert parse(text) == parse(program(chain, data, ended=False)), "both layouts say the same"
    assert parse(show(parse(text))) == parse(text)
    bound = api.bind(api.parse(text))
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None, found.difference
    assert api.run(bound, engine="reference").tensors["c"].to_numpy().tolist() == computed(chain, data)


def test_a_condition_is_evaluated_once_if_its_block_changes_what_it_reads() -> None:
    run = api.run(api.parse("x = 1\ny = 0\nif x == 1\nx = 2\nelse\ny = 1\nend"), engine="semantics")
    assert run.variables == {"x": 2, "y": 0}, "and its name is no result"


@pytest.mark.parametrize(("condition", "turned"), [
    ("i < 3", "i >= 3"), ("i == 2 && i != j", "i != 2 || i == j"), ("!(i < j + 1)", "i < j + 1"),
    ("x < 2", "!(x < 2)"), ("A[i] >= 1", "!(A[i] >= 1)"), ("i < 0.5", "!(i < 0.5)"),
    ("i > 1 || x > 1", "i <= 1 && !(x > 1)"),
])  # fmt: skip
def test_only_what_is_an_integer_for_sure_is_compared_the_other_way_round(condition: str, turned: str) -> None:
    """Of two doubles neither `x < y` nor `x >= y` may hold: one may be NaN."""
    program = parse(f"for i = 1:2; for j = 1:2; if {condition}; skip; end; end; end")
    (found,) = [node for node in program.walk() if isinstance(node, ir.If)]
    assert show(opposite(found.condition)) == turned


def test_NaN_takes_the_else() -> None:
    text = "x = NaN\ny = 0\nif x < 1\ny = 1\nelseif x >= 1\ny = 2\nelse\ny = 3\nend"
    for engine in ("semantics", "native"):
        assert api.run(api.parse(text), engine=engine).variables["y"] == 3


@pytest.mark.parametrize("engine", ["semantics", "reference", "native", "native-controlled"])
def test_ifelse_evaluates_one_value_only(engine: str) -> None:
    text = """
    A = Tensor(Dense(Element(0)), [5, 6, 7])
    c = Tensor(Dense(Element(0)), 3)
    c .= 0
    for i = _
        c[i] = ifelse(i < 3, A[i + 1], 0) + ifelse(i > 0, 10, 1 ÷ (i - i))
    end
    """
    assert api.run(api.parse(text), engine=engine).tensors["c"].to_numpy().tolist() == [16, 17, 10]


@pytest.mark.parametrize(("text", "message", "place"), [
    ("else\n  x = 1", "this `else` belongs to no `if`", "1:1"),
    ("for i = 1:2\n  x = i\nelse\n  x = 1", "this `else` belongs to no `if`", "3:1"),
    ("for i = 1:2\nx = i\nelse\nx = 1\nend", "this `else` belongs to no `if`", "3:1"),
    ("if true\n  x = 1\n else\n  x = 2", "this line's indentation matches no open block", "3:2"),
    ("if true\n  x = 1\nelse if false\n  x = 2", "`else if` begins a second `if`", "3:6"),
    ("if true\nx = 1\nelse if false\nx = 2\nend", "`else if` begins a second `if`", "3:6"),
    ("if true\n  x = 1\nelse x = 2", "the block of an `else` begins on the next line", "3:6"),
    ("if true\n  x = 1\nelse\nx = 2", "this `else` has no body", "3:1"),
    ("if true\nx = 1\nelse\nx = 2\nelse\nx = 3\nend", "`else` cannot stand here: it is a reserved word", "5:1"),
    ("if true\nx = 1\nelseif\nx = 3\nend", "`elseif` needs a condition", "3:7"),
    ("x = ifelse(true, 1)", "ifelse takes a condition and two values", "1:5"),
    ("x = ifelse(true, A[B[1]], 1)", "ifelse evaluates only the value that it takes, so it cannot search here", "1:20"),
])  # fmt: skip
def test_mistakes_have_a_place(text: str, message: str, place: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    found = caught.value
    assert found.span is not None
    assert (found.message, f"{found.span.line}:{found.span.column}") == (message, place)


def test_comparisons_chain() -> None:
    assert parse("x = 1 < y <= 3 != z") == parse("x = 1 < y && y <= 3 && 3 != z")
    nested = "(1 < " * 40 + "y" + " < 3)" * 40
    with pytest.raises(ParseError, match="a chain of comparisons stands inside of another one"):
        parse(f"x = {nested}")


def test_a_chain_too_long_for_later_passes_is_refused() -> None:
    text = "if x == 0\ny = 0\n" + "".join(f"elseif x == {k}\ny = {k}\n" for k in range(1, 500)) + "end"
    with pytest.raises(ParseError, match="nested more than 100 deep"):
        parse(text)
