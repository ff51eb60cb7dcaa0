"""minby and maxby: in every format and engine what Python finds in lists of tuples, and in every interleaving too."""

import math
import random
from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.effort import few
from wingspan import api
from wingspan.base.errors import Fault

ENGINES = ("reference", "semantics", "native-controlled", "native")
FORMATS = (
    "Dense(Atomic({}))",
    "Dense(Mutex(Element({})))",
    "Merge(dev, Dense(Element({})))",
    "Dense(Merge(dev, Element({})))",
    "Merge(dev, SparseDict(Element({})))",
    "Merge(dev, SparseByteMap(Element({})))",
)
ROWS = """
dev = cpu(:t, {threads})
A = Tensor(Dense(Dense(Element(0.0))))
least = Tensor({least})
most = Tensor({most})
least .= (Inf, 0)
most .= (-Inf, 0)
for j = parallel(_, dev)
    for i = _
        if A[i, j] != 0.0
            least[i] <<minby>>= (A[i, j], j)
            most[i] <<maxby>>= (A[i, j], -j)
        end
    end
end
return least, most
"""


def preferred(pairs: list[tuple[float, int]], sign: int) -> tuple[float, int]:
    """NaN, else the least or the greatest number; of several that are so the one with the smallest index."""
    unknown = [(x, i) for x, i in pairs if math.isnan(x)]
    found = min((i, x) for x, i in unknown) if unknown else min((sign * x, i) for x, i in pairs)[::-1]
    return (math.nan, found[0]) if unknown else (sign * found[1], found[0])


def rows(least: str, most: str, threads: int) -> wingspan.Program:
    return api.parse(ROWS.format(least=least.format("(Inf, 0)"), most=most.format("(-Inf, 0)"), threads=threads))


def values(made: Any) -> list[tuple[float, int]]:
    return [(float(x), int(i)) for x, i in made.to_numpy().tolist()]


def require_rows(made: Any, A: np.ndarray) -> None:
    """The results for a matrix, by Python's order of tuples."""
    for name, fill, sign in (("least", math.inf, 1), ("most", -math.inf, -1)):
        for row, (x, i) in zip(A.tolist(), values(made.tensors[name]), strict=True):
            given = [(v, sign * (j + 1)) for j, v in enumerate(row) if v != 0]
            wanted = preferred([(fill, 0), *given], sign)
            assert str((x, i)) == str((wanted[0], wanted[1])), (name, row)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", few(list(FORMATS), 2))
def test_the_least_and_the_greatest_are_those_of_tuples(form: str, engine: str) -> None:
    """With ties, Inf, NaN and zeros of both signs; empty rows; no columns; more threads than iterations."""
    draw = random.Random(form + engine)
    for shape, threads in (((2, 5), 2), ((3, 0), 2), ((0, 2), 1), ((1, 2), 5)):
        few = [-1.5, 0.5, 0.5, 2.0, 0.0, -0.0, math.inf, -math.inf] + [math.nan] * draw.randint(0, 2)
        A = np.array([draw.choice(few) for _ in range(math.prod(shape))], float).reshape(shape)
        require_rows(api.run(rows(form, form, threads), inputs={"A": A}, engine=engine), A)


def test_compiled_c_finds_the_same() -> None:
    A = np.array([[3.0, math.nan, 1.0, math.nan], [2.0, -1.0, -1.0, 2.0], [0.0, 0.0, 0.0, -0.0], [math.inf] * 4])
    require_rows(api.run(rows(FORMATS[0], FORMATS[2], 3), inputs={"A": A}, engine="compiled"), A)


ONE = """
dev = cpu(:t, 2)
A = Tensor(Dense(Element(0.0)), {data})
p = Tensor({leaf}({fill}))
p .= {fill}
for i = parallel(_, dev)
    p[] <<{op}>>= (A[i], i)
end
return p
"""


@pytest.mark.parametrize("machine", ["semantics", "native"])
@pytest.mark.parametrize(
    ("op", "fill", "best"), [("minby", "(Inf, 0)", "(-1.0, 2)"), ("maxby", "(-Inf, 0)", "(2.0, 1)")]
)
def test_parallel_updates_of_an_atomic_have_one_outcome(op: str, fill: str, best: str, machine: str) -> None:
    """All interleavings are explored. An Element loses updates, and a tie then shows which."""
    text = ONE.format(leaf="Atomic", op=op, fill=fill, data="[2.0, -1.0, 2.0, -1.0]")
    verdict = api.explore(api.parse(text), machine=machine).verdict
    assert verdict.complete and verdict.verdict == "safe" and (verdict.interleavings or 0) > 1
    assert [str(result.outcome.tensors[0][2][0]) for result in verdict.results] == [best]
    lost = api.explore(api.parse(text.replace("Atomic", "Element")), machine=machine).verdict
    assert lost.complete and lost.races and len(lost.results) > 1


@pytest.mark.parametrize("machine", ["semantics", "native"])
def test_reports_show_the_parts(machine: str) -> None:
    text = ONE.format(leaf="Element", op="minby", fill="(Inf, 0)", data="[2.0, -1.0]")
    report = str(api.explore(api.parse(text), machine=machine))
    for step in ("reads p.val[1] = (Inf, 0)", "writes p.val[1] = (2.0, 1)", "p[] is (2.0, 1), not (-1.0, 2)"):
        assert step in report


@pytest.mark.parametrize("form", FORMATS)
def test_the_dependence_test_accepts_them_in_parallel(form: str) -> None:
    """No format needs more for minby than for min, and order does not matter to it."""
    A = np.ones((2, 3))
    assert api.check(rows(form, form, 2), inputs={"A": A}, budget=0).verdict == "safe"
    assert api.check(rows("Dense(Element({}))", form, 2), inputs={"A": A}, budget=0).verdict != "safe"


@pytest.mark.parametrize("engine", [*ENGINES, "compiled"])
def test_parts_and_overwriting(engine: str) -> None:
    """`=`, ifelse, first and second; a pair of integers; what is not stored is the fill value."""
    program = api.parse("""
P = Tensor(SparseList(Element((NaN, 7))), [(0.1, -3), (NaN, 7), (2.5, 4)])
q = Tensor(Dense(Element((0, 0))))
s = Tensor(Dense(Element(0.0)))
q .= (0, 0)
s .= 0
for i = _
    q[i] = ifelse(i == 2, (i, 2147483647), P[i])
    s[i] = first(P[i]) * second(P[i])
end
return q, s
""")
    made = api.run(program, engine=engine)
    tenth = float(np.float32(0.1))
    assert values(made.tensors["q"]) == [(tenth, -3), (2.0, 2**31 - 1), (2.5, 4)]
    assert np.array_equal(made.tensors["s"].to_numpy(), [tenth * -3, math.nan, 10.0], equal_nan=True)


@pytest.mark.parametrize("engine", [*ENGINES, "compiled"])
def test_an_index_that_32_bits_do_not_hold_is_a_fault(engine: str) -> None:
    text = "p = Tensor(Element((Inf, 0))); p .= (Inf, 0); for i = 1:2; p[] <<minby>>= (0.5, i * 2147483647); end"
    with pytest.raises(Fault, match="the second of a pair has 32 bits, and 4294967294 does not fit"):
        api.run(api.parse(text), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["RunList(Element(0.0))", "SparseRunList(Element(0.0))", "Dense(Element(0.0))"])
def test_a_run_of_equal_pairs_is_one_update(form: str, engine: str) -> None:
    """Updates that do not mention the index are repeated as min is: once, as both operators are idempotent."""
    text = f"""
A = Tensor({form}, [0.0, 0.0, 3.0, 3.0, 3.0, -1.0])
p = Tensor(Element((Inf, 0)))
q = Tensor(Element((-Inf, 0)))
p .= (Inf, 0)
q .= (-Inf, 0)
for i = _
    p[] <<minby>>= (A[i], 5)
    q[] <<maxby>>= (A[i], -5)
end
return p, q
"""
    made = api.run(api.parse(text), engine=engine)
    assert (made.tensors["p"].to_numpy().item(), made.tensors["q"].to_numpy().item()) == ((-1.0, 5), (3.0, -5))


def test_a_double_is_rounded_before_it_is_compared() -> None:
    """Two doubles that single precision holds to be equal tie, so the smaller index wins: in every engine."""
    text = ONE.format(leaf="Atomic", op="minby", fill="(Inf, 0)", data="[1.00000001, 1.0, 16777217.0]")
    for engine in (*ENGINES, "compiled"):
        assert api.run(api.parse(text), engine=engine).tensors["p"].to_numpy().item() == (1.0, 1)


def test_the_shortest_edges_of_the_example_are_found_in_every_interleaving() -> None:
    """Borůvka's first step: vertex 2 has two edges that are equally short, and takes the one to vertex 1."""
    program = wingspan.load("examples/shortest_edge.ws")
    verdict = api.explore(program).verdict
    assert verdict.complete and [len(verdict.results), verdict.verdict] == [1, "safe"]
    for engine in ENGINES:
        assert values(api.run(program, engine=engine).tensors["edge"]) == [(1.5, 2), (1.5, 1), (1.5, 2)]
