"""Workspaces with few entries: as sorted lists they give the same sums, to the bit, and what else there is stays."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests import effort
from proofs_tests.compiled import needs_compiler
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.lang.operators import COMPUTES
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.ir import Const, Expr, If, Op, Plan, Sort, Stmt, walk
from wingspan.plan.passes.small_workspaces import FEW, MOST, WORDS, small_workspaces
from wingspan.plan.pipeline import for_c, lower
from wingspan.plan.uses import refs, registers

PRODUCT = """
C = Tensor(Dense(Shard(dev, SparseList(Element(FILL)))))
w = Tensor(FORM(Element(FILL)))
dev = cpu(:t, 2)
C .= FILL
for j = parallel(_, dev)
    w .= FILL
    for k = _
        for i = _
            w[i] OP A[i, k] * B[k, j]
        end
    end
    for i = _
        C[i, j] = w[i]
    end
MORE
end
return C
"""


def program(op: str = "+=", fill: str = "0.0", form: str = "SparseByteMap", kind: str = "0.0", more: str = "") -> str:
    """A product of sparse matrices whose sums are in a workspace of some format."""
    text = f"""
        A = Tensor(Dense(SparseList(Element({kind}))), [1 0 2; 0 3 4; 5 0 6])
        B = Tensor(Dense(SparseList(Element({kind}))), [0 1 1; 2 0 1; 0 3 1])
    """
    return dedent(text) + PRODUCT.replace("FILL", fill).replace("FORM", form).replace("OP", op).replace("MORE", more)


def made(text: str) -> Plan:
    """The plan of a program for C, as far as before the pass that is tested."""
    return lower(api.bind(api.parse(text)))


def guards(plan: Plan) -> list[If]:
    """The branches on a bound."""
    return [s for s in walk(plan.body) if isinstance(s, If) and s.otherwise and _bounded(s)]


def _bounded(s: If) -> bool:
    return any(reg.name.endswith(" few bound") for reg in registers(s.condition))


def touched(body: tuple[Stmt, ...]) -> set[str]:
    """The buffers of the workspace that a block accesses."""
    return {ref.buffer.name for s in walk(body) for ref in refs(s) if ref.buffer.tensor == "w"}


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, True),
        ({"op": "-="}, True),
        ({"form": "SparseDict"}, False),
        ({"form": "Dense"}, False),
        ({"fill": "0", "kind": "0"}, False),
        ({"op": "="}, False),
        ({"more": "    for i = _\n        s[i] += w[i]\n    end"}, False),
    ],
    ids=["sums", "differences", "a dictionary", "a dense one", "integers", "no sums", "read twice"],
)
def test_bitmaps_of_doubles_that_are_summed_into_and_read_once_have_lists(
    options: dict[str, str], changed: bool
) -> None:
    text = program(**options)
    if "more" in options:
        text = "s = Tensor(Dense(Atomic(0.0)), 3)\ns .= 0.0\n" + text
    plan = made(text)
    found = guards(small_workspaces(plan))
    assert bool(found) == changed and (changed or small_workspaces(plan) == plan)
    for s in found:
        assert touched(s.then) == {"keys", "terms"} and touched(s.otherwise) >= {"tbl", "top", "val"}
        assert any(isinstance(each, Sort) for each in walk(s.then))


@pytest.mark.parametrize("options", [{}, {"op": "-="}], ids=["sums", "differences"])
def test_lists_give_what_workspaces_give(options: dict[str, str]) -> None:
    """On the register machine, with all terms of a column in a list, as here, and without."""
    bound = api.bind(api.parse(program(**options)))
    results: list[Any] = []
    for plan in (lower(bound), small_workspaces(lower(bound)), for_c(lower(bound))):
        engine = NativeEngine(assemble(plan))
        given = [engine.inputs.from_tensor(name, tensor) for name, tensor in bound.inputs.items()]
        results.append(list(engine.run(given).tensors(bound.towers)["C"].entries()))
    assert results[0] and results[0] == results[1] == results[2]


def summed(A: scipy.sparse.csc_array, B: scipy.sparse.csc_array) -> scipy.sparse.csc_array:
    """A·B, each element summed in the order of k, beginning with 0.0."""
    columns: list[dict[int, float]] = []
    for j in range(B.shape[1]):
        columns.append({})
        for q in range(B.indptr[j], B.indptr[j + 1]):
            k, b = B.indices[q], B.data[q]
            for p in range(A.indptr[k], A.indptr[k + 1]):
                i = int(A.indices[p])
                columns[-1][i] = columns[-1].get(i, 0.0) + A.data[p] * b
    rows = [sorted(column) for column in columns]
    data = np.array([column[i] for column, those in zip(columns, rows, strict=True) for i in those])
    ptr = np.cumsum([0, *map(len, rows)])
    return scipy.sparse.csc_array(
        (data, np.concatenate([np.array(r, int) for r in rows]), ptr), (A.shape[0], B.shape[1])
    )


@needs_compiler
@pytest.mark.parametrize("n", effort.few([1, 3, 64, 70, 5000, 64 * (MOST + 2) * WORDS], 4))
def test_columns_of_all_numbers_of_terms_are_the_same_to_the_bit(n: int) -> None:
    """None, one, as many as a list holds, one more, and many; in between, a workspace has been in use, and has not.

    The last bitmap is so large that more terms are listed.
    """
    random = np.random.default_rng(n)
    m = 2 * MOST + 6
    A = np.zeros((n, m))
    A[random.integers(0, n, m), np.arange(m)] = random.normal(size=m)
    A[random.integers(0, n, m // 2), np.arange(0, m, 2)] = random.normal(size=m // 2)
    A = scipy.sparse.csc_array(A)
    B = np.zeros((m, 5 * m))
    for j in range(5 * m):
        B[random.permutation(m)[: j % m], j] = random.normal()
    B[:, -1] = 0.0
    B[1 : 2 * MOST + 3 : 2, -1] = 1.0
    B = scipy.sparse.csc_array(B)
    terms = np.diff(A.indptr) @ (B.toarray() != 0)
    assert n < 64 or {0, 1, FEW, FEW + 1, MOST, MOST + 1} <= set(terms)
    kernel = wingspan.compile(EXAMPLES / "spgemm_gustavson.ws", params={"nt": 2, "sch": "dynamic_schedule(4)"})
    found, expected = kernel(A=A, B=B).to_scipy(), summed(A, B)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_more_terms_are_listed_where_the_bitmap_is_large() -> None:
    """Up to MOST where it has more than WORDS words for each, else up to FEW: of 64·words rows, columns of one sum."""
    for words in (1, MOST * WORDS, MOST * WORDS + 1):
        text = PRODUCT.replace("FILL", "0.0").replace("FORM", "SparseByteMap").replace("OP", "+=").replace("MORE", "")
        inputs = {"A": scipy.sparse.csc_array((64 * words, 2)), "B": scipy.sparse.csc_array((2, 3))}
        (guard,) = guards(small_workspaces(lower(api.bind(api.parse(text), inputs=inputs))))
        largest = max(n for n in range(100) if evaluate(guard.condition, n))
        assert largest == (MOST if words > MOST * WORDS else max(FEW, min(MOST, -(-words // WORDS) - 1)))


def evaluate(e: Expr, bound: int) -> object:
    """A condition about the bound."""
    if isinstance(e, Op):
        return COMPUTES[e.op](*(evaluate(arg, bound) for arg in e.args))
    return e.value if isinstance(e, Const) else bound
