"""Passes and printers handle a plan statement that they do not know, by the roles of its fields alone."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import ClassVar

import pytest

from proofs_tests.plan.small_plans import HERE, load, plan, put, ref, step
from wingspan.compiled.emit_c import emit_c
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import BOOL
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan import ir, kernels
from wingspan.plan.ir import Const, Expandable, Expr, Op, Origin, Par, Place, Ref, Reg, Stmt, While, walk
from wingspan.plan.passes.copy_propagation import copy_propagation
from wingspan.plan.passes.dead_code import dead_code
from wingspan.plan.roles import ROLES, ir_node, role
from wingspan.plan.show import show
from wingspan.plan.uses import (
    accesses,
    defs,
    reads,
    rename,
    report_operands,
    upward_exposed,
    uses,
    with_blocks,
    written_refs,
    yields,
)

A, B, X = ref("A", "val"), ref("B", "val", group=1), ref("X", "idx", group=2)
a, b, c, i, k, n, x, y = (Reg(name) for name in ("a", "b", "c", "i", "k", "n", "x", "y"))


@ir_node
class Cursor:
    """A part of a statement: a position in a list."""

    ref: Ref = role("read")
    at: Reg = role("def", "use")


@ir_node
class Merge(Expandable):
    """A statement that no module knows, with a field for each role."""

    form: ClassVar[str] = "merge into {into}[{scale}] by {op}, leaving {sum}:"

    into: Ref = role("write")
    lists: tuple[Cursor, ...] = role("part")
    sum: Reg = role("def")
    scale: Expr = role("use")
    named: tuple[tuple[str, Expr], ...] = role("use")
    body: tuple[Stmt, ...] = role("block")
    lane: Reg = role("local")
    origin: Origin = role("report")
    most: Expr | None = role("use", default=None)
    op: str = "+"

    def expand(self) -> tuple[Stmt, ...]:
        return *self.body, put(self.sum, Op("+", (self.scale, self.scale)))


THERE = Origin(None, "a test", (("j", Op("+", (y, Const(1)))),))
MERGE = Merge(B, (Cursor(A, i), Cursor(X, k)), n, x, (("c", c),), (load(a, A, b),), Reg("lane"), THERE)


def test_every_field_that_holds_something_of_a_plan_has_a_role() -> None:
    """A forgotten role would hide the field from all passes. Types of fields show which of them need one."""
    holds = re.compile(r"\b(Reg|Expr|Ref|Stmt|Place|Origin|Load|Head|Listed|Runs|Appended|Bits)\b")
    own = ir.__name__, kernels.__name__
    statements = [kind for kind in ROLES if kind.__module__ in own and kind not in (ir.PlanBuffer, ir.Plan)]
    assert len(statements) > 30
    missing = [
        (kind.__name__, field.name)
        for kind in statements
        for field in fields(kind)
        if bool(holds.search(str(field.type))) != (field.name in ROLES[kind].all)
    ]
    assert missing == []


def test_parts_of_a_statement_count_as_the_statement() -> None:
    assert set(defs(MERGE)) == {n, i, k}
    assert {(each.buffer.tensor, how) for each, how in accesses(MERGE)} == {
        ("A", "read"), ("X", "read"), ("B", "write")
    }  # fmt: skip
    assert list(written_refs(MERGE)) == [B]
    instances = {each.instance for each in (A, B, X)}
    assert set(uses(MERGE)) == {x, c, i, k, *instances}
    assert report_operands(MERGE) == [Op("+", (y, Const(1)))]
    assert reads(MERGE) == {"x", "c", "i", "k", "y", *(each.name for each in instances)}
    assert list(walk((MERGE,))) == [MERGE, load(a, A, b)]
    assert upward_exposed((MERGE, put(x, b), put(y, n)), {"x"}) >= {"b", "c", "i"}


def test_what_is_renamed_is_renamed_wherever_it_stands() -> None:
    other: dict[Reg, Expr] = {reg: Reg(f"{reg.name}'") for reg in (a, b, c, i, k, n, x, y, Reg("lane"))}
    made = rename(MERGE, other)
    assert not {reg.name for s in walk((made,)) for reg in defs(s)} & {"a", "i", "k", "n"}
    assert not {name for s in walk((made,)) for name in reads(s)} & {"b", "c", "i", "k", "x", "y"}
    assert (made.lane, made.op) == (Reg("lane'"), "+")
    assert with_blocks(made, lambda body: body) is made


def test_constants_replace_registers_in_fields_and_blocks_but_not_cursors() -> None:
    """A cursor is set, too, so nothing else can stand in its place."""
    first = put(x, Const(7)), put(b, Const(3)), put(i, Const(1))
    (*_, made) = copy_propagation(plan(*first, MERGE, refs=(A, B, X))).body
    assert isinstance(made, Merge)
    assert (made.scale, made.lists[0].at, made.body) == (Const(7), i, (load(a, A, Const(3)),))


def test_copies_end_where_an_unknown_statement_sets_their_register_inside() -> None:
    body = put(a, Const(1)), put(n, Const(2)), MERGE, put(c, a), put(x, n)
    assert copy_propagation(plan(*body, refs=(A, B, X))).body == body


def test_a_register_that_tasks_leave_counts_as_read() -> None:
    sure = Reg("sure", BOOL)
    region = Par(Device("dev", 2, SERIAL), Reg("t"), (put(sure, Const(True)),), (sure,), HERE)
    assert yields(region) == (sure,) and sure in defs(region) and "sure" not in reads(region)
    assert region in dead_code(plan(region, refs=(A,))).body


def test_a_place_is_only_reported() -> None:
    s = load(x, A, i)
    seen = type(s)(x, A, i, Place(k, c), HERE)
    assert uses(seen) == uses(s) and reads(seen) == reads(s) | {"k", "c"}


def test_an_unknown_statement_is_printed_by_its_form() -> None:
    lines = show(plan(MERGE, refs=(A, B, X))).splitlines()
    assert lines[-2:] == ["merge into B.val[x] by +, leaving n:", "    a = A.val[b]"]


@pytest.mark.parametrize("engine", ["native", "compiled"])
def test_what_a_machine_does_not_know_it_runs_as_what_that_stands_for(engine: str) -> None:
    """In a loop, too, which C prints as a block of its own."""
    merge = replace(MERGE, body=(step(a),))
    loop = While((), Op("<", (a, Const(3))), (merge,))
    made = plan(put(a, Const(0)), put(x, Const(21)), loop, refs=(), result=n)
    if engine == "native":
        assert NativeEngine(assemble(made)).run([]).variables == {"n": 42}
    else:
        printed = [line.strip() for line in emit_c(made).splitlines()]
        assert printed.count("a = a + 1;") == 1 and any(line.endswith("n = x + x;") for line in printed)
