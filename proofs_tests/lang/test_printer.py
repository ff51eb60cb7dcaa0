"""The printer: its text parses back to the same tree, and run-time forms read as in the paper."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from proofs_tests import places
from proofs_tests.effort import many
from proofs_tests.lang.test_listings import LISTINGS
from proofs_tests.strategies import expressions, programs
from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.devices import ROOT, SERIAL, STATIC, Device, Schedule, Task
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

EXAMPLES = sorted(places.EXAMPLES.glob("*.ws"))

DEV = Device("dev", 2, SERIAL)
ONE, TWO = Task(DEV, 1, ROOT), Task(DEV, 2, ROOT)
UPDATE = ir.Assign(ir.Access(ir.Fiber("c", 2), (ir.Index("i"),)), "+", ir.Literal(1))
BLOCK = ir.Block((ir.Declare("w", ir.Literal(0)), UPDATE))
LEAF = ir.Fiber("C", 1, 3)


def test_a_number_of_axes_may_stand_in_braces():
    """As in Finch.jl. It is printed in one way."""
    tree = parse("C = Tensor(Dense(SparseCOO{2}(Element(0))), 3, 3, 3)").body
    assert show(tree) == "C = Tensor(Dense(SparseCOO(2, Element(0))), 3, 3, 3)"


RUN_TIME: list[tuple[ir.Node, str]] = [
    (LEAF, "fiber(C,1,3)"),
    (ir.Fiber("C", 1, 3, (("d", 1), ("q", 2))), "fiber(C,1,3 in d 1.q 2)"),
    (ir.Access(ir.Fiber("C", 2, 3), (ir.Index("i"),)), "access(fiber(C,2,3), i)"),
    (ir.Access(ir.Fiber("C", 1, 3), ()), "access(fiber(C,1,3))"),
    (ir.Access(ir.Fiber("C", 2, 1, (("d", 1),)), (ir.Index("i"),)), "access(fiber(C,2,1 in d 1), i)"),
    (ir.Access(ir.Fiber("C", 1), ()), "C[]"),
    (ir.Access(ir.Fiber("C", 2, by=-1, open=True), (ir.Index("i"),)), "C[~(i - 1)]"),
    (ir.Fiber("C", 2, 1, by=2), "fiber(C,2,1)[+ 2]"),
    (ir.Fiber("C", 2, 1, by=-2, open=True), "fiber(C,2,1)[~ - 2]"),
    (ir.Plus("i", ir.Index("k")), "i + k"),
    (ir.Plus("i", ir.Literal(-2)), "i - 2"),
    (ir.Choice(ir.Variable("b"), ir.Literal(1), ir.Variable("x")), "ifelse(b, 1, x)"),
    (ir.Coalesce(ir.Access(ir.Fiber("C", 2), (ir.Permissive(ir.Index("i")),)), ir.Literal(0)), "coalesce(C[~i], 0)"),
    (ir.Coalesce(ir.Variable("x"), ir.Coalesce(ir.Missing(), ir.Literal(0))), "coalesce(x, missing, 0)"),
    (ir.IsMissing(ir.Call("+", (ir.Missing(), ir.Literal(0)))), "ismissing(missing + 0)"),
    (ir.Unwrap(LEAF), "unwrap(fiber(C,1,3))"),
    (ir.Increment(LEAF, "+", ir.Literal(1.5)), "increment(fiber(C,1,3), +, 1.5)"),
    (ir.Unfurl(ir.Fiber("C", 2), 1), "unfurl(fiber(C,2,1))"),
    (ir.Leave(LEAF, 4), "leave(fiber(C,1,3), 4)"),
    (ir.Leave(ir.Fiber("C", 2), 4, LEAF, (("k", 2),)), "leave(fiber(C,2,1), 4, fiber(C,1,3), k=2)"),
    (ir.Finish(LEAF), "finish(fiber(C,1,3))"),
    (ir.Redex(BLOCK, "1"), "\ue000w .= 0\nc[i] += 1\ue0011\ue001"),
    (ir.Redex(ir.Variable("x"), "2"), "\ue000x\ue0012\ue001"),
    (ir.Enter("i", 4, (), (), ir.Skip()), "enter(i = 4, skip)"),
    (
        ir.Enter("i", 4, (LEAF,), (ir.Fiber("C", 2),), ir.Skip(), (ir.Leave(LEAF, 4),)),
        "enter(i = 4, {fiber(C,1,3), fiber(C,2,1)}, skip; leave(fiber(C,1,3), 4))",
    ),
    (ir.Declare("C", ir.Literal(0), "+", (3, 4)), "declare(C, 0, +, 3, 4)"),
    (ir.Freeze("C", "+"), "freeze(C, +)"),
    (ir.Thaw("C", "+"), "thaw(C, +)"),
    (ir.Checkout("C", 2, "update(+)", TWO), "checkout(C, 2, update(+), task 2)"),
    (ir.Checkout("C", 2, "read", ONE, (("d", 1),)), "checkout(C, 2 in d 1, read, task 1)"),
    (ir.Commit("C", 2, "read", ROOT), "commit(C, 2, read, root task)"),
    (ir.Transfer("C", UPDATE), "transfer(C, c[i] += 1)"),
    (ir.Looplet(2, 4), "looplet(2:4)"),
    (ir.For("i", ir.Looplet(2, 4), UPDATE), "for i = looplet(2:4) do\n    c[i] += 1\nend"),
    (ir.Parallel(ir.Whole(), DEV, STATIC), "parallel(_, dev, static_schedule())"),
    (ir.Parallel(ir.Whole(), DEV, Schedule("dynamic", 2)), "parallel(_, dev, dynamic_schedule(2))"),
    (
        ir.Spawn(ir.Worker("i", ir.Range(ir.Literal(1), ir.Literal(4)), STATIC, UPDATE), DEV, ir.Literal(2)),
        "spawn(worker(i, 1:4, static_schedule(), c[i] += 1), dev, 2)",
    ),
    (
        ir.Spawn(ir.Worker("i", ir.Range(ir.Literal(1), ir.Literal(4)), STATIC, BLOCK), DEV, ir.Literal(2)),
        "spawn(\n    worker(i, 1:4, static_schedule(),\n        w .= 0\n        c[i] += 1\n    )\ndev, 2)",
    ),
    (ir.Context(UPDATE, ONE, {"x": 2.0, "i": True}), "⟨c[i] += 1, task 1, {i ↦ true, x ↦ 2.0}⟩"),
    (ir.Context(BLOCK, ONE, {}), "⟨\n    w .= 0\n    c[i] += 1\ntask 1, {}⟩"),
    (
        ir.Par((ir.Context(UPDATE, ONE, {}), ir.Context(ir.SKIP, TWO, {"i": 1}))),
        "⟨c[i] += 1, task 1, {}⟩ ‖ ⟨skip, task 2, {i ↦ 1}⟩",
    ),
    (
        ir.Par((ir.Context(BLOCK, ONE, {}), ir.Context(ir.SKIP, TWO, {"i": 1}))),
        "⟨\n    w .= 0\n    c[i] += 1\ntask 1, {}⟩\n‖ ⟨skip, task 2, {i ↦ 1}⟩",
    ),
]  # fmt: skip


@settings(max_examples=many(200), deadline=None, derandomize=True)
@given(programs)
def test_what_is_printed_parses_to_the_same_tree(program: ir.Program) -> None:
    assert parse(show(program)) == program


def test_no_pair_of_parentheses_can_be_left_out() -> None:
    """Removing any pair of parentheses that is not a call's gives another tree or no program."""
    removed = 0

    @settings(max_examples=many(1600), deadline=None, derandomize=True)
    @given(expressions(()))
    def look(e: ir.Expression) -> None:
        nonlocal removed
        text = f"x = {show(e)}"
        opened: list[int] = []
        for end, character in enumerate(text):
            if character == "(":
                opened.append(end)
            elif character == ")":
                start = opened.pop()
                if not text[start - 1].isalnum():
                    without = f"{text[:start]} {text[start + 1 : end]} {text[end + 1 :]}"
                    assert parsed(without) != parse(text)
                    removed += 1

    look()
    assert removed > many(1600) / 10


def parsed(text: str) -> ir.Program | None:
    """The program, or None if the text is not one."""
    try:
        return parse(text)
    except ParseError:
        return None


@pytest.mark.parametrize("listing", LISTINGS)
def test_listings_round_trip(listing: str) -> None:
    assert parse(show(parse(listing))) == parse(listing)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_round_trip(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    program = parse(text, path.name)
    assert text.startswith("# ")
    assert program.returns
    assert parse(show(program)) == program


def test_there_are_examples() -> None:
    assert {"independent", "dependent", "spgemm_gustavson", "karate"} <= {path.stem for path in EXAMPLES}


def test_canonical_text() -> None:
    text = """\
dev = cpu(:t, nt)
C = Tensor(Dense(Shard(dev, Element(0.0))), [1 -2; 3 4])
C .= 0
for i = parallel(2:n + 1, dev)
    if !(i < 3) && x == -1
        C[i, A[i]] <<min>>= 2 - -(3) * (x - 1)
    end
end
return C"""
    assert show(parse(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2), "0.5"), (Fraction(2), "2.0"), (Fraction(1, 3), "1/3"), (Fraction(-1, 3), "-1/3"),
        (Fraction(10) ** 400, f"{10**400}/1"), (True, "true"), (False, "false"), (0, "0"), (0.0, "0.0"), (-2, "-2"),
    ],
)  # fmt: skip
def test_literals(value: ir.Value, text: str) -> None:
    assert show(ir.Literal(value)) == text


def test_a_fraction_keeps_its_place_in_a_product() -> None:
    assert show(ir.Call("/", (ir.Literal(1), ir.Literal(Fraction(1, 3))))) == "1 / (1/3)"


@pytest.mark.parametrize(("node", "text"), RUN_TIME)
def test_run_time_forms(node: ir.Node, text: str) -> None:
    assert show(node) == text


def test_every_class_of_node_is_printed_above() -> None:
    """The listings and the run-time forms hold every class of the grammar, and each node of them prints alone."""
    more = 's = Scalar(0); C = Tensor(Element(0, u8), [1]); D = Tensor(Element(0), "a"); if x; x = 1; end; skip'
    more += "; assert(x)"
    trees = [parse(text) for text in (*LISTINGS, more)]
    nodes = [node for root in (*trees, *(node for node, _ in RUN_TIME)) for node in root.walk()]
    assert {type(node) for node in nodes} == {cls for cls in ir.Node.__subclasses__() if cls.__module__ == ir.__name__}
    assert all(show(node) for node in nodes)


def test_what_is_no_node_is_refused() -> None:
    with pytest.raises(TypeError, match="not a node: 'text'"):
        show("text")  # type: ignore[arg-type]
