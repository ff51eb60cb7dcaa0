"""Concordization: after it every access follows the loops, and nothing else has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from proofs_tests.effort import due, many
from proofs_tests.elaborating import MATRIX, VECTOR, elaborated, same_text
from proofs_tests.explorer.test_visibility import findings
from proofs_tests.exploring import explore_graph, explored
from wingspan import api, reference
from wingspan.base.errors import Fault
from wingspan.lang import ir
from wingspan.results.outcome import Outcome
from wingspan.testing.programs import Options, programs
from wingspan.testing.templates import meetings

HEAD = f"""\
A = {MATRIX}, [1 2; 3 4])
v = {VECTOR}, [1, 2])
C = {MATRIX}, 2, 2)
c = {VECTOR}, 4)
"""


def concordizes(statements: str, expected: str, freeze: str) -> bool:
    """Whether statements after HEAD and a declaration of the frozen tensor become the expected ones."""
    T, op = freeze.split()
    around = f"declare({T}, 0, {op})\n" if op != "=" else f"{T} .= 0\n"
    return same_text(f"{HEAD}{T} .= 0\n{statements}", f"{around}{expected}\nfreeze({T}, {op})")


# -------------------------------------------------------------------------------------------------------- by example


def test_concordant_accesses_stay_as_they_are():
    loops = "for j = 1:2\n    for i = 1:2\n        C[i, j] += A[i, j] * v[j]\n    end\nend"
    assert concordizes(loops, loops, "C +")


def test_an_affine_or_a_modulo_subscript_gets_a_loop_of_one_iteration():
    expected = "for i = 1:3\n    for s1 = i - i % 2 + 1:i - i % 2 + 1\n        c[s1] += 1\n    end\nend"
    assert concordizes("for i = 1:3; c[i - i % 2 + 1] += 1; end", expected, "c +")


def test_a_transposed_access_gets_a_loop_for_its_inner_subscript_only():
    expected = """\
for j = 1:2
    for i = 1:2
        for s1 = j:j
            C[i, j] += A[s1, i]
        end
    end
end"""
    assert concordizes("for j = 1:2; for i = 1:2; C[i, j] += A[j, i]; end; end", expected, "C +")


def test_a_diagonal_uses_its_index_at_the_root_and_a_copy_of_it_below():
    expected = "for i = 1:2\n    for s1 = i:i\n        c[i] += A[s1, i]\n    end\nend"
    assert concordizes("for i = 1:2; c[i] += A[i, i]; end", expected, "c +")


def test_a_loaded_subscript_is_loaded_in_the_bounds_of_its_loop():
    expected = "for i = 1:2\n    for s1 = v[i]:v[i]\n        c[s1] += v[i]\n    end\nend"
    assert concordizes("for i = 1:2; c[v[i]] += v[i]; end", expected, "c +")


def test_a_subscript_in_a_subscript_gets_the_outer_loop():
    expected = "for s1 = 1:1\n    for s2 = v[s1] + 1:v[s1] + 1\n        c[s2] += 1\n    end\nend"
    assert concordizes("c[v[1] + 1] += 1", expected, "c +")


def test_pure_subscripts_share_a_loop_and_loaded_ones_do_not():
    """A variable could change between two readings of it."""
    expected = """\
x = 1
for s1 = 2:2
    for s2 = x:x
        for s3 = x:x
            c[s1] += v[s2] + v[s3] + v[s1]
        end
    end
end"""
    assert concordizes("x = 1; c[2] += v[x] + v[x] + v[2]", expected, "c +")


def test_a_shared_loop_must_lie_inside_of_the_one_above():
    expected = """\
for s1 = 1:1
    for s2 = 2:2
        for s3 = 1:1
            C[s2, s1] += A[s3, s2]
        end
    end
end"""
    assert concordizes("C[2, 1] += A[1, 2]", expected, "C +")


def test_an_access_in_a_condition_gets_its_loop_around_the_branch():
    expected = "for s1 = 2:2\n    if v[s1] > 1\n        for s2 = 1:1\n            c[s2] += 1\n        end\n    end\nend"
    assert concordizes("if v[2] > 1; c[1] += 1; end", expected, "c +")


def test_an_access_in_the_bounds_of_a_range_gets_its_loop_around_the_loop():
    expected = "for s1 = 2:2\n    for i = 1:v[s1]\n        c[i] += 1\n    end\nend"
    assert concordizes("for i = 1:v[2]; c[i] += 1; end", expected, "c +")
    expected = expected.replace("1:v[s1]", "parallel(1:v[s1], cpu, static_schedule())")
    assert concordizes("for i = parallel(1:v[2]); c[i] += 1; end", expected, "c +")


def test_a_variable_survives_the_loops_around_its_assignment():
    """It is bound outside of them first, unless it is bound already."""
    expected = """\
x = 0
for s1 = 2:2
    x = v[s1]
end
for s2 = 1:1
    x = x + v[s2]
end
c[1] += x"""
    expected = expected.replace("c[1] += x", "for s3 = 1:1\n    c[s3] += x\nend")
    assert concordizes("x = v[2]; x = x + v[1]; c[1] += x", expected, "c +")


def test_a_workspace_is_subscripted_inside_of_the_scope_that_declares_it():
    expected = """\
for i = 1:2
    declare(w, 0, +)
    for s1 = i:i
        w[s1] += 1
    end
    freeze(w, +)
    for s2 = i:i
        c[i] += w[s2]
    end
end"""
    program = f"{HEAD}w = {VECTOR})\nc .= 0\nfor i = 1:2; w .= 0; w[i] += 1; c[i] += w[i]; end"
    assert same_text(program, f"declare(c, 0, +)\n{expected}\nfreeze(c, +)")


def test_new_indices_avoid_the_names_of_the_program():
    expected = "s1 = 2\nfor s2 = 1:1\n    c[s2] += s1\nend"
    assert concordizes("s1 = 2; c[1] += s1", expected, "c +")


# ------------------------------------------------------------------------------------------------------ any program


def entered(e: ir.Expression) -> str | None:
    """The index of the loop that enters the fiber or the view which a subscript selects from."""
    match e:
        case ir.Permissive(subscript=inner):
            return entered(inner)
        case ir.Index(name=name) | ir.Plus(index=name):
            return name
    return None


def discordant(s: ir.Node, loops: tuple[str, ...] = (), declared: dict[str, int] | None = None) -> list[str]:
    """The accesses whose subscripts are not indices of loops nested in order inside of the tensor's scope.

    What is updated has bare indices. What is read may shift an index, and leave its axis.
    """
    declared = {} if declared is None else declared
    found: list[str] = []
    match s:
        case ir.Block(statements=statements):
            here = dict(declared)
            for each in statements:
                found += discordant(each, loops, here)
        case ir.Declare(tensor=T):
            declared[T] = len(loops)
        case ir.For(index=index, range=r, body=body):
            found += discordant(r, loops, declared) + discordant(body, (*loops, index), dict(declared))
        case ir.Assign(access=access, value=value):
            if not all(isinstance(e, ir.Index) for e in access.subscripts):
                found.append(str(s))
            found += discordant(access, loops, declared) + discordant(value, loops, declared)
        case ir.Access(fiber=F, subscripts=subscripts):
            names = [name for e in reversed(subscripts) if (name := entered(e))]
            at = [loops.index(name) for name in names]
            ordered = all(a < b for a, b in zip([declared.get(F.tensor, 0) - 1, *at], at, strict=False))
            if len(names) < len(subscripts) or not ordered:
                found.append(str(s))
        case _:
            for below in s.children():
                found += discordant(below, loops, declared)
    return found


@settings(derandomize=True, deadline=None, max_examples=many(300))
@given(programs())
def test_every_access_of_an_elaborated_program_is_concordant(text):
    assert not discordant(elaborated(text).body)


def test_the_checker_finds_discordant_accesses():
    """Negative control: the same checker refuses programs before concordization."""
    for statement in ("c[i + 1] += 1", "C[j, i] += 1; C[i, j] += 1", "C[i, i] += 1", "w .= 0; w[i] += 1"):
        program = f"{HEAD}w = {VECTOR}, 2)\nC .= 0; c .= 0\nfor i = 1:2; for j = 1:2; {statement}; end; end"
        assert discordant(elaborated(program).plain), statement
        assert not discordant(elaborated(program).body)


@settings(derandomize=True, deadline=None, max_examples=many(300))
@given(programs())
def test_neither_concordization_nor_lifecycles_change_a_result(text):
    """The reference gives the same tensors and variables for the program before and after both."""
    bound = elaborated(text)
    inputs = {name: tensor.to_exact() for name, tensor in bound.inputs.items()}
    shapes = {name: tower.shape for name, tower in bound.towers.items()}
    kinds = {name: tower.kind for name, tower in bound.towers.items()}
    try:
        plain = reference.evaluate(bound.plain, inputs, shapes, kinds)
    except Fault:
        return
    body = reference.evaluate(bound.body, inputs, shapes, kinds)
    assert Outcome.from_arrays(body.tensors, body.variables) == Outcome.from_arrays(plain.tensors, plain.variables)


# ------------------------------------------------------------------------------------------------ by hand, and explored

PAIRS = {
    "a transposed update": ("""
        C = Tensor(Dense(Dense({leaf}(0))), 2, 2)
        C .= 0
        for j = parallel(1:2)
            for i = 1:2
                C[j, i] += i
            end
        end
    """, """
        C = Tensor(Dense(Dense({leaf}(0))), 2, 2)
        C .= 0
        for j = parallel(1:2)
            for i = 1:2
                for k = j:j
                    C[k, i] += i
                end
            end
        end
    """),
    "a constant subscript": ("""
        c = Tensor(SparseDict({leaf}(0)), 2)
        c .= 0
        for i = parallel(1:2)
            c[2] += i
        end
    """, """
        c = Tensor(SparseDict({leaf}(0)), 2)
        c .= 0
        for i = parallel(1:2)
            for k = 2:2
                c[k] += i
            end
        end
    """),
    "a loaded subscript under a lock": ("""
        r = Tensor(Dense(Element(0)), [2, 2])
        c = Tensor(Dense(Mutex({leaf}(0))), 2)
        c .= 0
        for i = parallel(1:2)
            c[r[i]] += i
        end
    """, """
        r = Tensor(Dense(Element(0)), [2, 2])
        c = Tensor(Dense(Mutex({leaf}(0))), 2)
        c .= 0
        for i = parallel(1:2)
            for k = r[i]:r[i]
                c[k] += i
            end
        end
    """),
    "a variable that is loaded": ("""
        v = Tensor(SparseList({leaf}(0)), [0, 3])
        x = 0
        for i = parallel(1:2)
            x = x + v[3 - i]
        end
    """, """
        v = Tensor(SparseList({leaf}(0)), [0, 3])
        x = 0
        for i = parallel(1:2)
            for k = 3 - i:3 - i
                x = x + v[k]
            end
        end
    """),
    "two locks in opposite order": ("""
        c = Tensor(Dense(Mutex(Dense({leaf}(0)))), 1, 2)
        c .= 0
        for k = parallel(1:2)
            for i = 1:1
                c[i, k] += 1
                c[i, 3 - k] += 1
            end
        end
    """, """
        c = Tensor(Dense(Mutex(Dense({leaf}(0)))), 1, 2)
        c .= 0
        for k = parallel(1:2)
            for i = 1:1
                c[i, k] += 1
                for l = 3 - k:3 - k
                    for m = i:i
                        c[m, l] += 1
                    end
                end
            end
        end
    """),
    "a copy for each thread": ("""
        d = cpu(:d, 2)
        c = Tensor(Merge(d, SparseList({leaf}(0))), 2)
        c .= 0
        for k = parallel(1:2, d)
            c[1] += k
        end
    """, """
        d = cpu(:d, 2)
        c = Tensor(Merge(d, SparseList({leaf}(0))), 2)
        c .= 0
        for k = parallel(1:2, d)
            for i = 1:1
                c[i] += k
            end
        end
    """),
}  # fmt: skip
"""The same program with and without the loops that make it concordant."""


@pytest.mark.parametrize("leaf", ["Element", "Atomic"])
@pytest.mark.parametrize("name", PAIRS)
def test_concordization_keeps_result_and_verdict(name: str, leaf: str) -> None:
    """P29: outcomes with their interleavings, races, faults and deadlocks, in every interleaving of each."""
    one, other = (explored(text.format(leaf=leaf)).verdict for text in PAIRS[name])
    assert findings(one) == findings(other)
    assert one.interleavings == other.interleavings
    assert sorted((str(r.outcome.values()), r.interleavings) for r in one.results) == sorted(
        (str(r.outcome.values()), r.interleavings) for r in other.results
    )


def looped(s: ir.Statement, names: Iterator[str]) -> ir.Statement:
    """Every assignment with a loop of its own for each subscript of each access, the bare ones too."""
    match s:
        case ir.Block(statements=statements):
            return ir.seq(*(looped(each, names) for each in statements))
        case ir.For(index=index, range=r, body=body):
            return ir.For(index, r, looped(body, names))
        case ir.If(condition=condition, body=body):
            return ir.If(condition, looped(body, names))
        case ir.Assign():
            made: list[tuple[str, ir.Expression]] = []

            def access(node: ir.Node) -> ir.Node:
                if not isinstance(node, ir.Access):
                    return node
                bare = []
                for e in reversed(node.subscripts):
                    made.append((next(names), e))
                    bare.append(ir.Index(made[-1][0]))
                return ir.Access(node.fiber, tuple(reversed(bare)))

            inner: ir.Statement = s.map(access)
            for name, e in reversed(made):
                inner = ir.For(name, ir.Range(e, e), inner)
            return inner
    return s


UNORDERED = ("Dense", "SparseByteMap", "SparseDict")
SMALL = Options(levels=UNORDERED, modifiers=(), depth=2, statements=2, extent=2)


def test_more_loops_keep_result_and_verdict_of_random_programs() -> None:
    """P29: a loop around every assignment for every subscript changes neither outcomes nor the verdict.

    Unordered levels without modifiers: ordered ones would refuse to be visited again, and locks be given back.
    """
    seen: Counter[str] = Counter()

    @settings(derandomize=True, deadline=None, max_examples=many(120), suppress_health_check=list(HealthCheck))
    @given(programs(SMALL) | meetings(UNORDERED, ()))
    def compare(text: str) -> None:
        bound = elaborated(text)
        body = looped(bound.body, (f"t{k}" for k in count(1)))
        one = explore_graph(api.semantics(bound), max_states=400)
        other = explore_graph(api.semantics(replace(bound, body=body)), max_states=4000)
        if one.complete and other.complete:
            assert other.verdict == one.verdict, text
            assert {r.outcome for r in other.results} == {r.outcome for r in one.results}, text
            seen[one.verdict] += 1

    compare()
    assert seen["safe"] > due(30) and seen["race"] > due(5), seen


def test_a_tensor_of_any_read_format_may_be_read_in_any_order():
    """Reads that leap back and forth through a sparse list."""
    text = "v = Tensor(SparseList(Element(0)), [5, 0, 7])\nx = v[3] - v[1] + v[2] * v[3] + v[1]"
    assert api.run(api.parse(text), engine="semantics").variables == {"x": 7}
