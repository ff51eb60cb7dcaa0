"""Unions of two lists: which the lowering emits, what stands for an element that is not there, and which C does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import load, plus, put, ref, region, step, store
from wingspan import api
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, If, Load, Plan, Ref, Reg, Reserve, Set, Stmt, While, walk
from wingspan.plan.kernels import Head, Listed, Union, UnionBlocks
from wingspan.plan.passes.union import union
from wingspan.plan.pipeline import for_c, lower

X, Y = (ref(tensor, "idx", group=k, width="i32") for k, tensor in enumerate("AB"))
U, V = (ref(tensor, "val", number=1, group=k) for k, tensor in enumerate("AB"))
Z, W = ref("C", "val", group=2), ref("C", "idx", number=1, group=2)
q, end, i, k, stop, j, at, n, seen = map(Reg, ("q", "end", "i", "k", "stop", "j", "at", "n", "seen"))
U_, V_, OF_X, OF_Y, LEFT_X, LEFT_Y = map(Reg, ("u", "v", "u of x", "v of y", "u left", "v left"))
plan = partial(small_plans.plan, refs=[X, Y, U, V, Z, W], result=n)


def onward(cursor: Reg, last: Reg, index: Reg, by: Ref) -> tuple[Stmt, ...]:
    """A cursor moves on, and the next index is loaded, if there is one."""
    loaded = Reg(f"next {index.name}")
    return step(cursor), If(op("<", cursor, last), (load(loaded, by, cursor), put(index, loaded)))


TO_X, TO_Y = onward(q, end, i, X), onward(k, stop, j, Y)


def stored(value: Expr, index: Reg = at) -> tuple[Stmt, ...]:
    """An element is appended."""
    return store(Z, n, value), store(W, n, index), step(n)


SUM = Union(
    (Head(Listed(X, q, end), i), Head(Listed(Y, k, stop), j)), at,
    (load(U_, U, q), load(V_, V, k), *stored(op("+", U_, V_))),
    (load(OF_X, U, q), *stored(OF_X)),
    (load(OF_Y, V, k), *stored(OF_Y)),
    (*TO_X, *TO_Y), TO_X, TO_Y,
    (
        While((), op("<", q, end), (load(LEFT_X, U, q), *stored(LEFT_X, i), *TO_X)),
        While((), op("<", k, stop), (load(LEFT_Y, V, k), *stored(LEFT_Y, j), *TO_Y)),
    ),
    small_plans.HERE, (Const(0), Const(0)),
)  # fmt: skip
LOOPS = SUM.expand()


def united(*body: Stmt) -> list[UnionBlocks]:
    return [s for s in walk(union(plan(*body)).body) if isinstance(s, UnionBlocks)]


def test_a_sum_is_one_body_with_zero_for_what_is_not_there() -> None:
    """The loops stay as they are, after it."""
    made = union(plan(SUM)).body
    (found,) = united(SUM)
    assert made[1:] == LOOPS and made[0] == If(op(">=", op("+", op("-", end, q), op("-", stop, k)), Const(8)), (found,))
    assert [(s.ref, s.index, fill) for s, fill in found.loads] == [(U, q, Const(0)), (V, k, Const(0))]
    u, v = (s.reg for s, _ in found.loads)
    assert found.body == (store(Z, n, op("+", u, v)), store(W, n, found.at), step(n))


@pytest.mark.parametrize("around", ["task", "branch", "loop"])
def test_a_sum_inside_of_something_is_one_as_well(around: str) -> None:
    outers: dict[str, Stmt] = {
        "task": region(SUM),
        "branch": If(op("<", end, Const(9)), (SUM,)),
        "loop": While((), op("<", end, Const(9)), (SUM,)),
    }
    assert len(united(outers[around])) == 1


def test_room_is_asked_for_before_it() -> None:
    """The room that the loop over both lists asks for is enough for all."""
    asked = (Reserve(replace(Z, frozen=False), plus(n, 1), small_plans.HERE),)
    made = union(plan(replace(SUM, room=asked))).body
    assert isinstance(made[0], If) and made[0].then[:-1] == asked and made[1:] == (If(SUM.more, asked), *LOOPS)


def test_the_element_of_each_list_has_its_own_fill_value() -> None:
    (found,) = united(replace(SUM, fills=(Const(-3), Const(5))))
    assert [fill.value for _, fill in found.loads] == [-3, 5]


@pytest.mark.parametrize("read", [U_, n])
def test_registers_that_others_read_keep_their_names(read: Reg) -> None:
    (found,) = united(SUM, store(Z, n, read))
    registers = {s.reg for s, _ in found.loads} | {s.reg for s in found.body if isinstance(s, Set)}
    assert read in registers and V_ not in registers


def both(*body: Stmt) -> Union:
    return replace(SUM, both=body)


FLAGS = replace(U, buffer=replace(U.buffer, width="u8"))
SUM_UP = stored(op("+", U_, V_))
LEFT_ALONE: dict[str, Union] = {
    "nothing stands for elements": replace(SUM, fills=None),
    "what is stored depends on an element": both(
        load(U_, U, q), load(V_, V, k), If(op("<", U_, V_), stored(U_), stored(V_))
    ),
    "elements are flags": both(load(U_, FLAGS, q), load(V_, V, k), *SUM_UP),
    "somebody may write elements": both(load(U_, replace(U, frozen=False), q), load(V_, V, k), *SUM_UP),
    "elements are in a hash table": both(
        load(U_, replace(U, buffer=replace(U.buffer, hashed=True)), q), load(V_, V, k), *SUM_UP
    ),
    "another element is loaded": both(load(U_, U, plus(q, 1)), load(V_, V, k), *SUM_UP),
}


@pytest.mark.parametrize("node", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_unions_are_loops(node: Union) -> None:
    assert union(plan(node)).body == node.expand()


class Lists(small_plans.Tried):
    """The lists of A and B, whose elements are ten times the indices, or a hundred times; what C becomes."""

    def __init__(self, A: list[int], B: list[int]) -> None:
        self.lists = {"A": A, "B": B}
        self.made: dict[tuple[str, int], int] = {}
        firsts = {"i": A[0] if A else 0, "j": B[0] if B else 0}
        super().__init__({"q": 1, "k": 1, "n": 1, "end": len(A) + 1, "stop": len(B) + 1, **firsts})

    def access(self, s: Any) -> None:
        tensor, name = s.ref.buffer.tensor, s.ref.buffer.name
        if isinstance(s, Load):
            found = self.lists[tensor][self.value(s.index) - 1]
            self.registers[s.reg.name] = found * ({"A": 10, "B": 100}[tensor] if name == "val" else 1)
        else:
            self.made[name, self.value(s.index)] = self.value(s.value)


@pytest.mark.parametrize(("A", "B"), [([], []), ([3], []), ([], [1, 2]), ([1, 4, 5], [2, 4]), ([2, 3], [2, 3])])
def test_entry_by_entry_it_does_what_the_loops_do(A: list[int], B: list[int]) -> None:
    (found,) = united(SUM)
    one, other = Lists(A, B), Lists(A, B)
    one.run(LOOPS)
    other.run(found.expand())
    assert one.made == other.made
    assert all(one.registers[name] == other.registers[name] for name in ("q", "k", "n"))


# --------------------------------------------------------------------------------------------------------- programs


FORMS = """
A = Tensor({0})
B = Tensor({1})
C = Tensor(SparseList(Element({2})))
D = Tensor(SparseList(Element({2})))
s = Tensor(Element({2}))
C .= {2}
D .= {2}
"""
LIST, INTS, MAP, DICT = (
    "SparseList(Element(0.0))",
    "SparseList(Element(0))",
    *(f"{name}(Element(0.0))" for name in ("SparseByteMap", "SparseDict")),
)


def lowered(text: str, forms: tuple[str, str] = (LIST, LIST), z: str = "0.0") -> Plan:
    lines = FORMS.format(*forms, z).splitlines(keepends=True)
    declared = "".join(line for line in lines if line[:1] in "\nAB" or f"{line[:1]}[" in text)
    program = f"{declared}for i = _\n{text}\nend\nreturn {'C, D' if 'D[' in text else 'C'}"
    kind = int if z == "0" else float
    shapes: dict[str, tuple[int, ...]] = {"A": (9,), "B": (9,)} | ({"s": ()} if "s[" in text else {})
    return lower(api.bind(api.parse(program), inputs={name: np.ones(shape, kind) for name, shape in shapes.items()}))


def unions(made: Plan) -> list[Union]:
    return [s for s in walk(made.body) if isinstance(s, Union)]


SUMS = "C[i] = A[i] + B[i]"


@pytest.mark.parametrize(
    ("forms", "count"), [((LIST, LIST), 1), ((LIST, DICT), 1), ((DICT, DICT), 1), ((LIST, MAP), 0), ((MAP, MAP), 0)]
)
def test_two_lists_make_a_union(forms: tuple[str, str], count: int) -> None:
    assert len(unions(lowered(SUMS, forms))) == count


RACE = "dev = cpu(:t, 2)\nA = Tensor(SparseList(Element(0.0)), 9)\nA .= 0\nfor i = parallel(1:9, dev)\nA[i] = 1\nend\n"
LISTS = "A = Tensor(SparseList(Element(0.0)), 9)\nA .= 0\nfor i = 1:9\nA[i] = 1\nend\n"
EARLY = "d = ShortCircuitScalar(false)\nd .= false\nfor i = _\nd[] |= A[i] + B[i] > 1\nend\nreturn d"
RANGES: dict[str, tuple[str, str, int]] = {
    "two lists": (LISTS, f"for i = _\n{SUMS}\nend\nreturn C", 1),
    "a race may have spoiled a list": (RACE, f"for i = _\n{SUMS}\nend\nreturn C", 0),
    "a part of the range": (LISTS, f"for i = 2:7\n{SUMS}\nend\nreturn C", 0),
    "a loop that may end early": (LISTS, EARLY, 0),
}


@pytest.mark.parametrize("name", RANGES)
def test_other_loops_are_no_unions(name: str) -> None:
    first, loop, count = RANGES[name]
    declared = f"B = Tensor({LIST})\nC = Tensor({LIST}, 9)\nC .= 0\n" if "C[" in loop else f"B = Tensor({LIST})\n"
    bound = api.bind(api.parse(f"{first}{declared}{loop}"), inputs={"B": np.ones(9)})
    assert len(unions(lower(bound))) == count


def test_a_union_becomes_blocks_in_c() -> None:
    assert sum(isinstance(s, UnionBlocks) for s in walk(for_c(lowered(SUMS)).body)) == 1


TEN = "SparseList(Element(10.0))"
STAND_INS: dict[str, tuple[str, tuple[str, str], str, tuple[float, float]]] = {
    "a sum": (SUMS, (LIST, LIST), "0.0", (0, 0)),
    "a difference": ("C[i] = A[i] - B[i]", (LIST, LIST), "0.0", (0, 0)),
    "a maximum, where fill values differ": ("C[i] = max(A[i], B[i])", (LIST, TEN), "10.0", (0, 10)),
    "a multiple": ("C[i] = 2 * A[i] + B[i]", (LIST, LIST), "0.0", (0, 0)),
    "an index times an integer": ("C[i] = i * A[i] + B[i]", (INTS, INTS), "0", (0, 0)),
    "constants whose sum is rounded alike": ("C[i] = min(A[i] + 0.1 + 0.2, B[i])", (LIST, LIST), "0.0", (0, 0)),
    "two sums": ("C[i] = A[i] + B[i]\nD[i] = A[i] - B[i]", (LIST, LIST), "0.0", (0, 0)),
}


@pytest.mark.parametrize("name", STAND_INS)
def test_fill_values_stand_for_elements_that_are_not_there(name: str) -> None:
    text, forms, z, fills = STAND_INS[name]
    (found,) = unions(lowered(text, forms, z))
    assert found.fills == tuple(map(Const, fills))


NO_STAND_INS = {
    "each enters an element of its own": ("C[i] += A[i]\nD[i] += B[i]", "0.0"),
    "a term may be NaN, as what it is multiplied by may be Inf": ("C[i] = A[i] * s[] + B[i]", "0.0"),
    "an index times a double may be -0.0": ("C[i] = -i * A[i] + B[i]", "0.0"),
    "a term may fault": ("C[i] = A[i] * (1 ÷ s[]) + B[i]", "0"),
    "a sum of integers may overflow": ("C[i] = A[i] * (s[] + s[]) + B[i]", "0"),
    "a sum of constants is rounded twice": ("C[i] = min(A[i] + 0.1 + 0.2 + 0.3, B[i])", "0.0"),
    "a condition decides": ("if A[i] > B[i]\nC[i] = 1\nend", "0.0"),
}


@pytest.mark.parametrize("name", NO_STAND_INS)
def test_nothing_stands_for_elements_where_a_machine_would_do_something_else(name: str) -> None:
    text, z = NO_STAND_INS[name]
    form = f"SparseList(Element({z}))"
    assert [found.fills for found in unions(lowered(text, (form, form), z))] == [None]
