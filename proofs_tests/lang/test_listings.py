"""The paper's listings are parsed as printed, in both layouts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.lang.trees import L, V, X, at, fmt, one
from proofs_tests.strategies import programs
from wingspan import api
from wingspan.lang import ir
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

INDEPENDENT = """\
for i=parallel(_)
    c[i] += 1
end
"""

DEPENDENT = """\
for i=parallel(_)
    c[i - i % 2] += 1
end
"""

NESTED_INNER = """\
dev1 = cpu(:d1, 4)
dev2 = cpu(:d2, 4)
C = Tensor(Dense(Shard(dev1, Dense(Shard(dev2, Element(0.0))))))
A = Tensor(Dense(Dense(Element(0.0))))
B = Tensor(Dense(Dense(Element(0.0))))

C .= 0
for j=parallel(_, dev1, static_schedule())
    for i=parallel(_, dev2, static_schedule())
        for k=_
            C[i, j] += A[i, k] * B[k, j]
        end
    end
end
"""

INNER = """\
dev=cpu(:t,nt)
C=Tensor(Dense(Shard(
  dev,SparseList(Element(0.0)))))
C.=0
for j=parallel(_,dev,sch)
  for i=_
    for k=_
      C[i,j]+=AT[k,i]*B[k,j]
"""

OUTER = """\
dev=cpu(:t,nt)
C=Tensor(Merge(dev,SparseDict(
  SparseDict(Element(0.0)))))
C.=0
for k=parallel(_,dev,sch)
  for j=_
    for i=_
      C[i,j]+=A[i,k]*BT[j,k]
"""

GUSTAVSON = """\
dev=cpu(:t,nt)
C=Tensor(Dense(Shard(dev,
  SparseList(Element(0.0)))))
w=Tensor(SparseByteMap(Element(0.0)))
C.=0
for j=parallel(_,dev,sch)
  w.=0
  for k=_
    for i=_
      w[i]+=A[i,k]*B[k,j]
  for i=_
    C[i,j] =w[i]
"""

NESTED = """\
dev1=cpu(:t,isqrt(nt))
dev2=cpu(:q,isqrt(nt))
C=Tensor(Dense(Shard(dev1,
  SparseList(Element(0.0)))))
w=Tensor(Merge(dev2,
  SparseByteMap(Element(0.0))))
C.=0
for j=parallel(_,dev,sch)
  w.=0
  for k=parallel(_,dev2)
    for i=_
      w[i]+=A[i,k]*B[k,j]
  for i=_
    C[i,j]=w[i]
return C
"""

LISTINGS = (INDEPENDENT, DEPENDENT, NESTED_INNER, INNER, OUTER, GUSTAVSON, NESTED)


def test_independent_kernel() -> None:
    domain = ir.Parallel(ir.Whole(), ir.Cpu("", L(2)), ir.ScheduleCall("static"))
    loop = ir.For("i", domain, ir.Assign(at("c", "i"), "+", L(1)))
    assert parse(INDEPENDENT) == ir.Program(ir.Block((loop,)))


def test_dependent_kernel_subtracts_the_remainder() -> None:
    loop = one(DEPENDENT)
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Assign)
    remainder = ir.Call("%", (X("i"), L(2)))
    assert loop.body.access == ir.Access(ir.Fiber("c", 2), (ir.Call("-", (X("i"), remainder)),))


@pytest.mark.parametrize(("n", "last", "expected"), [(1, 1, [0]), (3, 3, [0, 2, 0]), (6, 7, [0, 2, 0, 2, 0, 2])])
def test_the_dependent_kernel_runs_as_printed(n: int, last: int, expected: list[int]) -> None:
    """`_` is all i for which c[i - i % 2] is an element: from 2 on, as indices count from 1."""
    text = f"c = Tensor(Dense(Element(0)), {n})\nc .= 0\n{DEPENDENT}return c"
    assert f"for i = parallel({2 if n > 1 else 1}:{last if n > 1 else 0}, " in show(api.bind(api.parse(text)).body)
    assert api.run(api.parse(text), engine="reference").tensors["c"].to_numpy().tolist() == expected
    assert api.check(api.parse(text)).verdict == ("safe" if n == 1 else "unsafe")
    assert api.explore(api.parse(text)).verdict.verdict == ("safe" if n == 1 else "race")


def test_nested_inner_product() -> None:
    *definitions, declare, loop = parse(NESTED_INNER).body.statements
    assert [d.name for d in definitions if isinstance(d, ir.Define)] == ["dev1", "dev2", "C", "A", "B"]
    assert declare == ir.Declare("C", L(0))
    static = ir.ScheduleCall("static")
    product = ir.Call("*", (at("A", "i", "k"), at("B", "k", "j")))
    inner = ir.For("k", ir.Whole(), ir.Assign(at("C", "i", "j"), "+", product))
    middle = ir.For("i", ir.Parallel(ir.Whole(), V("dev2"), static), inner)
    assert loop == ir.For("j", ir.Parallel(ir.Whole(), V("dev1"), static), middle)


def test_inner_product_has_sharded_columns() -> None:
    dev, c, declare, loop = parse(INNER).body.statements
    assert dev == ir.Define("dev", ir.Cpu("t", V("nt")))
    leaf = fmt("SparseList", fmt("Element", L(0.0)))
    assert c == ir.Define("C", ir.TensorCall(fmt("Dense", fmt("Shard", V("dev"), leaf))))
    assert declare == ir.Declare("C", L(0))
    product = ir.Call("*", (at("AT", "k", "i"), at("B", "k", "j")))
    inner = ir.For("k", ir.Whole(), ir.Assign(at("C", "i", "j"), "+", product))
    assert loop == ir.For("j", ir.Parallel(ir.Whole(), V("dev"), V("sch")), ir.For("i", ir.Whole(), inner))


def test_outer_product_merges_the_whole_output() -> None:
    _, c, _, loop = parse(OUTER).body.statements
    tree = fmt("SparseDict", fmt("SparseDict", fmt("Element", L(0.0))))
    assert c == ir.Define("C", ir.TensorCall(fmt("Merge", V("dev"), tree)))
    assert isinstance(loop, ir.For) and loop.index == "k"


def test_gustavson_closes_two_blocks_by_one_unindent() -> None:
    loop = parse(GUSTAVSON).body.statements[-1]
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Block)
    declare, scatter, gather = loop.body.statements
    assert declare == ir.Declare("w", L(0))
    product = ir.Call("*", (at("A", "i", "k"), at("B", "k", "j")))
    update = ir.Assign(at("w", "i"), "+", product)
    assert scatter == ir.For("k", ir.Whole(), ir.For("i", ir.Whole(), update))
    assert gather == ir.For("i", ir.Whole(), ir.Assign(at("C", "i", "j"), "=", at("w", "i")))


def test_nested_gustavson_returns_its_output() -> None:
    program = parse(NESTED)
    assert program.returns == ("C",)
    assert program.body.statements[1] == ir.Define("dev2", ir.Cpu("q", ir.Call("isqrt", (V("nt"),))))
    loop = program.body.statements[-1]
    assert isinstance(loop, ir.For) and isinstance(loop.body, ir.Block)
    scatter = loop.body.statements[1]
    assert isinstance(scatter, ir.For)
    assert scatter.range == ir.Parallel(ir.Whole(), V("dev2"), ir.ScheduleCall("static"))


@settings(max_examples=many(80), deadline=None, derandomize=True)
@given(programs)
def test_both_layouts_say_the_same(program: ir.Program) -> None:
    """Dropping every `end` of the canonical text leaves a program closed by indentation, with the same tree."""
    kept = [line for line in show(program).split("\n") if line.strip() != "end"]
    assert parse("\n".join(kept)) == program


@settings(max_examples=many(80), deadline=None, derandomize=True)
@given(programs)
def test_with_end_indentation_and_line_ends_are_free(program: ir.Program) -> None:
    """One line, its statements separated by `;`, is the same program as the canonical text."""
    lines = [line.strip() for line in show(program).split("\n")]
    assert parse("; ".join(lines) if "end" in lines else "\n".join(lines)) == program


@pytest.mark.parametrize(
    "text",
    [
        "for i = 1:3; c[i] += 1; end",
        "for i = 1:3; c[i] += 1 end",
        "for i = 1:3\nc[i] += 1\nend",
        "\n\n   for i = 1:3 # header\n\n\tc[i] += 1 # body\n    # nothing\n  end\n;;",
        "for i = 1:3\n  c[i] += 1",
        "  for i = 1:3\n\n      # deeper\n    c[\ni\n] += 1\n# out\n",
        "\ufefffor i = 1:3\r\n  c[i] += 1\r\n",
        "for i = 1:3\n    c[i] += (1 # end\n)",
    ],
)
def test_ways_to_lay_out_one_loop(text: str) -> None:
    assert one(text) == ir.For("i", ir.Range(L(1), L(3)), ir.Assign(at("c", "i"), "+", L(1)))


def test_an_empty_block_is_skip() -> None:
    assert one("if true; end") == ir.If(L(True), ir.SKIP)
    assert one("if true\n  skip") == ir.If(L(True), ir.SKIP)
