"""The level dependence test's facts on subscripts, bounds and names; and dep_test against brute force."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from textwrap import dedent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import api
from wingspan.dependence.directions import Vector, carries, classical, dep_test
from wingspan.dependence.relations import differs
from wingspan.dependence.sets import pairs_of
from wingspan.dependence.sites import Sites, UpdateSite, collect
from wingspan.elaborate.extents import evaluate
from wingspan.lang import algebra, ir
from wingspan.lang.printer import show


def sites(text: str, **options) -> Sites:
    return collect(api.bind(api.parse(dedent(text)), **options).body)


def update(text: str, **options) -> UpdateSite:
    """The only update of a program."""
    (site,) = sites(text, **options).updates
    return site


def bounds(site: UpdateSite) -> dict[str, str]:
    """The known bounds of each loop around an update."""

    def told(e: ir.Expression | None) -> str:
        return "?" if e is None else show(e)

    return {loop.index: f"{told(loop.start)}:{told(loop.stop)}" for loop in site.loops}


def summary(vectors: Iterable[Vector]) -> Vector:
    """One vector for many: * where they differ."""
    return tuple(ds[0] if len(set(ds)) == 1 else "*" for ds in zip(*vectors, strict=True))


# ------------------------------------------------------------------------------------------------------ what is known


def test_inserted_loops_say_what_a_subscript_is() -> None:
    """A let-bound name is followed to its value; bounds may depend on outer indices."""
    site = update("""
        c = Tensor(Dense(Element(0)), 9)
        c .= 0
        for i = parallel(1:3)
            x = 2 * i
            for k = i:x
                c[x % 3 + k ÷ 2 + 1] += 1
            end
        end
    """)
    assert bounds(site) == {"i": "1:3", "k": "i:2 * i", "s1": "2 * i % 3 + k ÷ 2 + 1:2 * i % 3 + k ÷ 2 + 1"}


@pytest.mark.parametrize("change", ["x = x + 1", "if i > 2\nx = 7\nend", "for k = 1:i\nx = 7\nend"])
def test_a_name_that_may_have_been_changed_is_unknown(change: str) -> None:
    """Inside of a loop, and after a body that may or may not have run, only what is assigned before counts."""
    site = update(f"""
c = Tensor(Dense(Element(0)), 9)
c .= 0
x = 1
for i = 1:3
c[x] += 1
{change}
end
""")
    assert bounds(site)["s1"] == "?:?"


def test_a_value_that_is_loaded_outside_of_the_loop_is_one_symbol() -> None:
    """c[x + i] is one element an iteration, whatever x is; if x is loaded inside, it may be any."""
    text = """
        y = Tensor(Dense(Element(1)), 3)
        y .= 1
        c = Tensor(Dense(Element(0)), 9)
        c .= 0
        {outside}
        for i = parallel(1:3)
            {inside}
            c[x + i] += 1
        end
    """
    outside = update(text.format(outside="x = y[1]", inside=""))
    inside = update(text.format(outside="", inside="x = y[i]"))
    assert dep_test(outside, outside, 1) == {("=", "=")}
    assert summary(dep_test(inside, inside, 1))[0] == "*"


def test_a_loaded_subscript_answers_star() -> None:
    """`*`: there is no provable constraint."""
    site = update("""
        y = Tensor(Dense(Element(1)), 3)
        y .= 1
        c = Tensor(Dense(Element(0)), 9)
        c .= 0
        for i = parallel(1:3)
            c[y[i]] += 1
        end
    """)
    assert summary(dep_test(site, site, 1))[0] == "*"


def test_symbolic_extents() -> None:
    """Without inputs a verdict is one for all extents."""
    text = """
        c = Tensor(Dense(Element(0)))
        c .= 0
        for i = parallel(1:n)
            c[{subscript}] += 1
        end
    """
    for subscript, direction in (("i", "="), ("n + 1 - i", "="), ("i % 2 + 1", "*")):
        site = update(text.format(subscript=subscript), symbolic=True)
        assert summary(dep_test(site, site, 1))[0] == direction


def test_private_loops_are_existential() -> None:
    """Sibling loops have no direction: only the loops around both accesses do."""
    one, other = sites("""
        c = Tensor(Dense(Element(0)), 9)
        c .= 0
        for i = parallel(1:3)
            for k = 1:2
                c[2 * k] += 1
            end
            for l = 1:2
                c[2 * l + 1] += 1
            end
        end
    """).updates
    assert len(summary(dep_test(one, one, 1))) == 3
    assert dep_test(one, other, 1) == frozenset()
    found = classical(one, other, 1, ("*",))
    assert found is not None and found.test == "GCD"


def test_loops_outside_of_the_scope_agree() -> None:
    """A workspace is another one in each iteration of the loops around its declaration."""
    site = update("""
        w = Tensor(Dense(Element(0)), 3)
        for i = parallel(1:3)
            w .= 0
            for k = parallel(1:3)
                w[1] += 1
            end
        end
    """)
    assert site.life.depth == 1
    assert {v[0] for v in dep_test(site, site, 1)} == {"<", "=", ">"}
    assert all(len(v) == 2 for v in dep_test(site, site, 1))


# ------------------------------------------------------------------------------------------------------- brute force


@st.composite
def subscripts(draw: st.DrawFn, names: tuple[str, ...]) -> str:
    """An affine subscript, or one with % or ÷ by a constant."""
    among = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
    terms = [f"{draw(st.integers(-2, 2))} * {name}" for name in among]
    text = " + ".join([*terms, str(draw(st.integers(-2, 2)))])
    match draw(st.integers(0, 3)):
        case 0:
            return f"({text}) % {draw(st.integers(1, 3))}"
        case 1:
            return f"({text}) ÷ {draw(st.integers(1, 3))}"
    return text


@st.composite
def nests(draw: st.DrawFn) -> str:
    """Two updates of a tensor that share up to two loops and may have one each, with bounds of all sorts."""
    shared = draw(st.integers(1, 2))
    lines = ["C = Tensor(Dense(Dense(Element(0))), 9, 9)", "C .= 0"]
    names: tuple[str, ...] = ()

    def loop(name: str, outer: tuple[str, ...]) -> str:
        start = draw(st.sampled_from(["0", "1", "2", *outer]))
        stop = draw(st.sampled_from(["0", "1", "2", "3", *outer, *(f"{o} + 1" for o in outer)]))
        return f"for {name} = {start}:{stop}"

    for name in "ij"[:shared]:
        lines.append(loop(name, names))
        names += (name,)
    for private in "kl"[: draw(st.integers(1, 2))]:
        own = draw(st.booleans())
        if own:
            lines.append(loop(private, names))
        inner = (*names, private) if own else names
        lines.append(f"C[{draw(subscripts(inner))}, {draw(subscripts(inner))}] += 1")
        lines += ["end"] if own else []
    return "\n".join([*lines, *["end"] * shared])


def iterations(site: UpdateSite) -> list[dict[str, int]]:
    """All values of the indices of the loops around an update, in order."""
    found: list[dict[str, int]] = [{}]
    for loop in site.loops:
        assert loop.start is not None and loop.stop is not None
        found = [
            {**values, loop.index: value}
            for values in found
            for value in range(evaluate(loop.start, values), evaluate(loop.stop, values) + 1)  # type: ignore[arg-type]
        ]
    return found


def compare(a: int, b: int) -> str:
    return "<" if a < b else "=" if a == b else ">"


@settings(max_examples=many(60), deadline=None)
@given(nests())
@example("C = Tensor(Dense(Dense(Element(0))), 9, 9)\nC .= 0\nfor i = 1:3\nC[i ÷ 2, i % 2] += 1\nend")
def test_dep_test_is_brute_force(text: str) -> None:
    """P21: the direction vectors are exactly those of the pairs of iterations that come to one position, at each level;
    no classical test disproves one of them; and a loop carries a dependence if a pair agrees before and differs on it.
    """
    found = sites(text).updates
    for one, other in product(found, repeat=2):
        if one.order > other.order:
            continue
        shared = [a.index for a, b in zip(one.loops, other.loops, strict=False) if a is b]
        for level in (1, 2, 3):
            pairs = [
                tuple(compare(x[name], y[name]) for name in shared)
                for x in iterations(one)
                for y in iterations(other)
                if all(
                    x[a] == y[b]
                    for a, b in zip(one.subscripts[level - 1 :], other.subscripts[level - 1 :], strict=True)
                )
            ]
            vectors = dep_test(one, other, level)
            assert vectors == set(pairs)
            for vector in pairs:
                assert all(classical(one, other, level, vector[:k]) is None for k in range(len(vector) + 1))
            for p in range(len(shared)):
                carried = any(v[:p] == ("=",) * p and v[p] != "=" for v in pairs)
                assert carries(one, other, level, p) == carried


def test_a_condition_counts_where_the_statement_itself_is_meant() -> None:
    """A variable is assigned to only where the conditions around it hold; a level is entered all the same."""
    text = "x = 0\nfor i = parallel(1:3)\nif i == 2 && i > 0\nx = 1\nend\nend"
    _, use = sites(text).uses
    pairs = pairs_of(use, use, 0)
    assert pairs.is_feasible(pairs.depths, differs(0))
    assert not pairs.is_feasible(pairs.depths, differs(0) & pairs.guards)


def test_exactness_is_that_of_the_rules() -> None:
    """% and ÷ round down, as the language's do."""
    for op, value in (("%", 1), ("÷", -2)):
        assert algebra.apply(op, -5, 3) == value
