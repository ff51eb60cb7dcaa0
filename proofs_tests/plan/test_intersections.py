"""Loops over two lists of indices: which the lowering says to be one, and what machines and C make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import HERE, load, plus, ref, step
from wingspan import api
from wingspan.levels.element import Element
from wingspan.levels.sparse_list import SparseList
from wingspan.plan.fold import op
from wingspan.plan.ir import If, Load, Plan, Reg, Set, Stmt, walk
from wingspan.plan.kernels import Head, Intersection, Listed, NextPair
from wingspan.plan.pipeline import for_c, lower

X, Y = (ref(tensor, "idx", group=k, width="i32") for k, tensor in enumerate("AB"))
q, end, i, k, stop, j, at, n = map(Reg, ("q", "end", "i", "k", "stop", "j", "at", "n"))
Z = ref("C", "idx", group=2)
WRITE = (small_plans.store(Z, n, at), step(n))


def to_next(cursor: Reg, last: Reg, index: Reg, list_: Any) -> tuple[Stmt, ...]:
    """A cursor moves on, and the next index is loaded, if there is one."""
    return step(cursor), If(op("<", cursor, last), (load(index, list_, cursor),))


MOVES = to_next(q, end, i, X), to_next(k, stop, j, Y)
SEEK = tuple(If(op("<", index, at), move) for index, move in zip((i, j), MOVES, strict=True))
PAIRS = Intersection(
    (Head(Listed(X, q, end), i), Head(Listed(Y, k, stop), j)), at, WRITE, (*MOVES[0], *MOVES[1]), SEEK, HERE
)


class Lists(small_plans.Tried):
    """Two lists, and the indices that are written."""

    def __init__(self, A: list[int], B: list[int]) -> None:
        self.lists = {"A": A, "B": B}
        self.made: dict[int, int] = {}
        firsts = {"i": A[0] if A else 0, "j": B[0] if B else 0}
        super().__init__({"q": 1, "k": 1, "n": 1, "end": len(A) + 1, "stop": len(B) + 1, **firsts}, rounds=20)

    def access(self, s: Any) -> None:
        if isinstance(s, NextPair):
            self.go_on(*s.lists)
        elif isinstance(s, Load):
            self.registers[s.reg.name] = self.lists[s.ref.buffer.tensor][self.value(s.index) - 1]
        else:
            self.made[self.value(s.index)] = self.value(s.value)

    def go_on(self, x: Listed, y: Listed) -> None:
        """Move on to the next pair, as C does, which looks at nothing but the lists."""
        A, B = (self.lists[each.ref.buffer.tensor] for each in (x, y))
        here = self.value(x.at) - 1, self.value(y.at) - 1
        pairs = [(a, b) for a in range(here[0], len(A)) for b in range(here[1], len(B)) if A[a] == B[b]]
        a, b = pairs[0] if pairs else (len(A), len(B))
        self.registers[x.at.name], self.registers[y.at.name] = a + 1, b + 1


LISTS = [([], []), ([3], []), ([], [1, 2]), ([1, 4, 5], [2, 4]), ([2, 3], [2, 3]), ([1, 9], [1, 2, 3, 9]), ([7], [1])]


@pytest.mark.parametrize(("A", "B"), LISTS)
def test_machines_run_the_body_for_each_index_in_common(A: list[int], B: list[int]) -> None:
    tried = Lists(A, B)
    tried.run(PAIRS.expand())
    assert list(tried.made.values()) == sorted({*A} & {*B})


@pytest.mark.parametrize(("A", "B"), LISTS)
def test_a_loop_from_pair_to_pair_does_the_same(A: list[int], B: list[int]) -> None:
    """Common indices of C need no heads: only the cursors and the index are as the body wants them."""
    tried = Lists(A, B)
    loop = PAIRS.by_pairs()
    assert loop.test == (NextPair(PAIRS.lists),)
    tried.registers.pop("i"), tried.registers.pop("j")
    tried.run(loop.test)
    while tried.value(loop.condition):
        tried.run((*loop.body, *loop.test))
    assert list(tried.made.values()) == sorted({*A} & {*B})


# --------------------------------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class OwnList(SparseList):
    """A level of somebody's own, which may go through its list in another way."""


FORMS = """
dev = cpu(:d, 2)
A = Tensor({0}, {n})
B = Tensor({1}, {n})
D = Tensor({0}, {n})
c = Tensor(Element(0.0))
d = ShortCircuitScalar(false)
A .= 0
B .= 0
D .= 0
c .= 0
d .= false
for i = 2:5
    A[i] = 1.0
    B[i] = 2.0
    D[i] = 3.0
end
"""
SUM = "for i = _\n    c[] += A[i] * B[i]\nend\n"
LIST, MAP, DICT = (f"{name}(Element(0.0))" for name in ("SparseList", "SparseByteMap", "SparseDict"))
COPIES = "Merge(dev, SparseList(Element(0.0)))"


def intersections(made: Plan) -> list[Intersection]:
    return [s for s in walk(made.body) if isinstance(s, Intersection)]


def lowered(forms: tuple[str, str], n: int = 9, loop: str = SUM) -> Plan:
    return lower(api.bind(api.parse(f"{FORMS.format(*forms, n=n)}{loop}return c")))


@pytest.mark.parametrize(
    ("forms", "n", "met"),
    [
        ((LIST, LIST), 9, 1),
        ((LIST, DICT), 9, 1),
        ((LIST, MAP), 9, 0),
        ((MAP, MAP), 9, 0),
        ((COPIES, LIST), 9, 0),
        ((LIST, LIST), 2**31, 0),
    ],
)
def test_it_depends_on_the_formats_and_the_width_of_indices(forms: tuple[str, str], n: int, met: int) -> None:
    """Only lists of 32-bit indices are compared, in an instance that does not have to be looked up first."""
    made = lowered(forms, n)
    assert len(intersections(made)) == len(intersections(for_c(made))) == met


@pytest.mark.parametrize(("inner", "met"), [(LIST, 1), (DICT, 0)])
def test_keys_of_inner_fibers_are_no_indices(inner: str, met: int) -> None:
    forms = f"A = Tensor(Dense({inner}))\nB = Tensor(Dense({inner}))\nc = Tensor(Element(0.0))\nc .= 0\n"
    text = "for j = _\n    for i = _\n        c[] += A[i, j] * B[i, j]\n    end\nend\nreturn c"
    bound = api.bind(api.parse(forms + text), inputs={"A": np.eye(4), "B": np.eye(4)})
    assert len(intersections(lower(bound))) == met


LOOPS: dict[str, tuple[str, int]] = {
    "a product": (SUM, 1),
    "a product with what either may lack": (SUM.replace("B[i]", "(B[i] * (1 + D[i]))"), 1),
    "a product of three": (SUM.replace("B[i]", "B[i] * D[i]"), 0),
    "the lists of one tensor": (SUM.replace("B", "A"), 0),
    "a sum": (SUM.replace("*", "+"), 0),
    "another index of the second list": (SUM.replace("i = _", "i = 1:8").replace("B[i]", "B[i + 1]"), 0),
    "a part of the range": (SUM.replace("i = _", "i = 2:7"), 0),
}


@pytest.mark.parametrize("name", LOOPS)
def test_it_is_a_loop_over_what_two_lists_have_to_their_ends(name: str) -> None:
    loop, count = LOOPS[name]
    assert len(intersections(lowered((LIST, LIST), loop=loop))) == count


def test_a_loop_that_may_end_early_goes_entry_by_entry() -> None:
    """C would go on to the next pair before it asks whether the loop has ended."""
    text = "for i = _\n    d[] |= A[i] * B[i] > 1.0\nend\n"
    assert intersections(lowered((LIST, LIST), loop=text)) == []


@pytest.mark.parametrize("form", [LIST, DICT, "SparseCOO(2, Element(0.0))"])
def test_cursors_go_through_the_lists_that_their_levels_declare(form: str) -> None:
    """A pass to the next entry adds one to the cursor, and loads the index there, by the operations of the level."""
    axes, index = ("9, 9", "i, j") if "COO" in form else ("9", "i")
    loops, ends = ("for j = _\nfor i = _\n", "end\nend\n") if "COO" in form else ("for i = _\n", "end\n")
    text = f"A = Tensor({form}, {axes})\nB = Tensor({form}, {axes})\nc = Tensor(Element(0.0))\nA .= 0\nB .= 0\nc .= 0\n"
    made = lower(api.bind(api.parse(f"{text}{loops}c[] += A[{index}] * B[{index}]\n{ends}return c")))
    (found,) = intersections(made)
    for head in found.heads:
        (loaded,) = (s for s in walk(found.onward) if isinstance(s, Load) and s.ref == head.list.ref)
        assert loaded.index == head.list.at
        assert [s.value for s in found.onward if isinstance(s, Set) and s.reg == head.list.at] == [
            plus(head.list.at, 1)
        ]
        assert [s.value for s in walk(found.onward) if isinstance(s, Set) and s.reg == head.index] == [loaded.reg]


def test_a_derived_level_declares_its_own_list() -> None:
    """Its operations may go through the indices in another way."""
    leaf = Element(0.0)
    assert SparseList(leaf).index_list is not None and OwnList(leaf).index_list is None
