"""Programs bound symbolically: what is not given is left open, and what holds of the program holds for all values."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proofs_tests import places
from proofs_tests.effort import many
from proofs_tests.elaborate import test_elaborate, test_extents, test_lifecycles
from proofs_tests.elaborating import MATRIX, VECTOR, Mistake, elaborated, mistake, shown
from proofs_tests.lang.test_arbitrary_input import EXAMPLES, OURS, altered
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.buffers.tower import OPEN
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.devices import Device, Schedule
from wingspan.lang.printer import show
from wingspan.testing.programs import programs

FOLDER = places.EXAMPLES


def symbolic(text: str, **given) -> Elaborated:
    """A program with what the caller gives it, the rest left open."""
    return elaborated(text, symbolic=True, **given)


def loops(bound: Elaborated) -> dict[str, list[str]]:
    """The last values of the loops over each index, in the order of the text."""
    found: dict[str, list[str]] = {}
    for node in bound.plain.walk():
        if isinstance(node, ir.For):
            inner = node.range.range if isinstance(node.range, ir.Parallel) else node.range
            assert isinstance(inner, ir.Range) and inner.start == ir.Literal(1)
            found.setdefault(node.index, []).append(show(inner.stop))
    return found


def test_an_input_that_is_left_open_comes_before_an_axis_that_only_other_updates_give():
    text = f"A = {VECTOR}); c = {VECTOR})\nc .= 0; for i = 1:3; c[i] += 1; end; for k = _; c[k] += A[k]; end"
    bound = symbolic(text)
    assert bound.towers["c"].shape == (OPEN,)
    assert loops(bound)["k"] == ["extent 1 of A"]


# ----------------------------------------------------------------------------------------------- the paper's listings

LISTINGS = {
    "hadamard": {"j": ["extent 2 of A"], "i": ["extent 1 of A"]},
    "inner_nested": {"j": ["extent 2 of B"], "i": ["extent 1 of A"], "k": ["extent 2 of A"]},
    "mttkrp_dense": {
        "j": ["extent 2 of C"], "l": ["extent 3 of B"], "k": ["extent 2 of B"], "i": ["extent 1 of B"],
    },
    "mttkrp_sparse": {
        "j": ["extent 2 of C"], "i": ["extent 3 of BT"], "l": ["extent 2 of BT"], "k": ["extent 1 of BT"],
    },
    "spadd": {"j": ["extent 2 of A"], "i": ["extent 1 of A"]},
    "spgemm_gustavson": {"j": ["extent 2 of B"], "k": ["extent 2 of A"], "i": ["extent 1 of A"] * 2},
    "spgemm_inner": {"j": ["extent 2 of B"], "i": ["extent 2 of AT"], "k": ["extent 1 of AT"]},
    "spgemm_nested": {"j": ["extent 2 of B"], "k": ["extent 2 of A"], "i": ["extent 1 of A"] * 2},
    "spgemm_outer": {"k": ["extent 2 of A"], "j": ["extent 1 of BT"], "i": ["extent 1 of A"]},
    "spmspv": {"j": ["extent 1 of x"], "i": ["extent 1 of A"]},
}  # fmt: skip


@pytest.mark.parametrize("name", LISTINGS)
def test_the_listings_bind_without_inputs_and_parameters(name):
    """Loops over axes that must agree share a symbol, also through the workspace of Gustavson's algorithm."""
    bound = api.bind(FOLDER / f"{name}.ws", symbolic=True)
    assert loops(bound) == LISTINGS[name]
    inputs = {access.fiber.tensor for access, updated in ir.accesses(bound.plain) if not updated} - {"w"}
    parameters = set() if name == "inner_nested" else {"nt", "sch"}
    extents = {end for ends in LISTINGS[name].values() for end in ends}
    assert set(bound.symbols) == inputs | parameters | extents
    assert not bound.inputs
    assert all(set(tower.shape) == {OPEN} for tower in bound.towers.values())


def test_inputs_that_are_left_open_are_in_read_mode_from_the_start():
    text = f"v = {VECTOR}); u = {VECTOR})\nfor i = _; v[i] += u[i]; end; x = v[1]\nreturn v"
    bound = symbolic(text)
    assert bound.outputs == ("v",)
    statements = show(bound.body).splitlines()
    assert (statements[0], statements.index("freeze(v, +)") < statements.index("    x = v[s1]")) == ("thaw(v, +)", True)


# ------------------------------------------------------------------------------------------------------- known and tied


def test_what_is_given_stays_a_number_and_ties_what_is_not():
    """A is given, so the loops over i and k, and the axis of B that k runs over too, have its extents."""
    text = f"C = {MATRIX})\nC .= 0; for j = _; for k = _; for i = _; C[i, j] += A[i, k] * B[k, j]; end; end; end"
    bound = symbolic(text, inputs={"A": np.ones((3, 4))})
    assert loops(bound) == {"j": ["extent 2 of B"], "k": ["4"], "i": ["3"]}
    assert [bound.towers[name].shape for name in "ABC"] == [(3, 4), (4, OPEN), (3, OPEN)]
    assert list(bound.inputs) == ["A"]
    assert bound.symbols == ("extent 2 of B", "B")


TIES = {
    "an extent that is a parameter": (
        f"c = {VECTOR}, n + 1); v = {VECTOR}, m)\nc .= 0; for i = _; c[i] += 1; end; for i = _; x = v[i] + a[i]; end",
        {"i": ["n + 1", "m"]},
    ),
    "an extent by a loop to a parameter": (
        f"c = {VECTOR})\nc .= 0; for i = 1:n; c[i] += 1; end; for j = _; x = c[j]; end",
        {"i": ["n"], "j": ["n"]},
    ),
    "two extents of which one is larger": (
        f"c = {VECTOR})\nc .= 0; for i = 1:n; c[i] += 1; end; c[3] += 1; for j = _; x = c[j]; end",
        {"i": ["n"], "j": ["extent 1 of c"]},
    ),
    "a shifted subscript": (
        f"c = {VECTOR})\nc .= 0; for i = 1:n; c[i + 1] += 1; end; for j = _; x = c[j]; end",
        {"i": ["n"], "j": ["extent 1 of c"]},
    ),
    "a triangle": (
        f"c = {VECTOR})\nc .= 0; for i = 1:n; for k = 1:i; c[k] += 1; end; end; for j = _; x = c[j]; end",
        {"i": ["n"], "k": ["i"], "j": ["extent 1 of c"]},
    ),
    "a range given": ("for i = 1:4; x = a[i]; end; for j = _; x = a[j]; end", {"i": ["4"], "j": ["extent 1 of a"]}),
    "an input that a number gives its extent": (
        f"c = {VECTOR}, 5)\nc .= 0; for i = _; c[i] += a[i]; end; for j = _; x = a[j]; end",
        {"i": ["5"], "j": ["5"]},
    ),
    "inputs that a workspace ties": (
        f"c = {VECTOR}); w = {VECTOR}); b = {VECTOR}); a = {VECTOR})\nc .= 0; w .= 0\n"
        "for i = _; w[i] += a[i]; end; for j = _; c[j] += w[j] * b[j]; end",
        {"i": ["extent 1 of b"], "j": ["extent 1 of b"]},
    ),
    "a known extent goes before a parameter": (
        f"c = {VECTOR}, n); d = {VECTOR}, 5)\nc .= 0; d .= 0; for i = _; c[i] += 1; d[i] += 1; end",
        {"i": ["5"]},
    ),
}


@pytest.mark.parametrize("case", TIES)
def test_axes_that_must_agree_share_an_extent_and_others_do_not(case):
    text, expected = TIES[case]
    assert loops(symbolic(text)) == expected


def test_data_decide_where_a_definition_leaves_an_extent_open():
    text = f"v = {VECTOR}, n)\nfor i = _; x = v[i]; end"
    assert loops(symbolic(text, inputs={"v": [1, 2]})) == {"i": ["2"]}


def test_a_loop_that_does_not_start_at_one_does_not_give_an_axis_its_end():
    """For n = 2 the axis has extent 0, and not 2."""
    bound = symbolic(f"c = {VECTOR})\nc .= 0; for i = 3:n; c[i] += 1; end; for j = _; x = c[j]; end")
    assert "for j = 1:extent 1 of c" in show(bound.body)


def test_a_free_name_stays_where_a_number_may_stand():
    text = f"c = {VECTOR}, 3)\nc .= z\nx = n\nif n > k; c[n] += x * 2; end"
    expected = "declare(c, z, +)\nx = n\nif n > k\n    for s1 = n:n\n        c[s1] += x * 2"
    assert expected in shown(text, symbolic=True)
    assert symbolic(text).symbols == ("z", "n", "k")
    assert symbolic(text, params={"n": 2, "z": 0}).symbols == ("k",)


def test_threads_and_chunks_that_are_left_open():
    """Two threads, and the schedule that may deal any iteration to any thread; what is given is used."""
    text = """
    dev = cpu(:t, isqrt(nt)); own = dynamic_schedule(c + 1)
    for i = parallel(1:4, dev, sch); x = i; end
    for i = parallel(1:4, dev, own); x = i; end
    for i = parallel(1:4, cpu(:u, 3)); x = i; end
    """
    dynamic, static = Schedule("dynamic", 1), Schedule("static")

    def parallel_loops(**given) -> list[tuple[int, object]]:
        ranges = [node for node in symbolic(text, **given).body.walk() if isinstance(node, ir.Parallel)]
        return [(r.device.nthreads, r.schedule) for r in ranges if isinstance(r.device, Device)]

    assert symbolic(text).symbols == ("nt", "c", "sch")
    assert parallel_loops() == [(2, dynamic), (2, dynamic), (3, static)]
    assert parallel_loops(threads=4) == [(4, dynamic), (4, dynamic), (4, static)]
    given = {"sch": "static_schedule()", "c": 1, "nt": 9}
    assert parallel_loops(params=given) == [(3, static), (3, Schedule("dynamic", 2)), (3, static)]


# ------------------------------------------------------------------------------------------ against programs that run


def closed(bound: Elaborated, values: Callable[[str], int]) -> str:
    """The text of a symbolic program with numbers in the places of its symbols."""

    def change(node: ir.Node) -> ir.Node:
        named = isinstance(node, ir.Variable) and node.name in bound.symbols
        return ir.Literal(values(node.name)) if named and isinstance(node, ir.Variable) else node

    return show(bound.body.map(change))


DATA = re.compile(r"^(\w+) = Tensor\((.*), (\[.*\])\)$", re.MULTILINE)
EXTENTS = re.compile(r"(?<=\)), (\d+)(, \d+)*\)$", re.MULTILINE)
"""The extents of a definition; a random program has one number for all of them."""


@settings(derandomize=True, deadline=None, max_examples=many(120))
@given(programs(), st.data())
def test_a_symbolic_program_stands_for_the_bound_ones(text, data):
    """With everything given it is the bound program. Without data, and with a parameter for the given extents, it
    becomes the bound program when its symbols get their values; what its towers tell is true.
    """
    bound = elaborated(text)
    same = symbolic(text)
    assert (same.body, same.plain, same.towers, same.outputs) == (bound.body, bound.plain, bound.towers, bound.outputs)
    assert same.symbols == ()

    names = [name for name, _, _ in DATA.findall(text)]
    left = data.draw(st.sets(st.sampled_from(names), min_size=1))
    opened = DATA.sub(lambda m: f"{m[1]} = Tensor({m[2]})" if m[1] in left else m[0], text)
    size = EXTENTS.search(text)
    if data.draw(st.booleans()):
        opened = EXTENTS.sub(lambda m: re.sub(r"\d+", "size", m[0]), opened)
    found = symbolic(opened)

    def value(symbol: str) -> int:
        if symbol == "size":
            assert size is not None
            return int(size[1])
        found = re.fullmatch(r"extent (\d+) of (\w+)", symbol)
        assert found is not None
        axis, name = found.groups()
        return bound.towers[name].shape[int(axis) - 1]

    assert closed(found, value) == show(bound.body)
    assert found.outputs == bound.outputs
    for name, tower in found.towers.items():
        assert tower.levels == bound.towers[name].levels
        assert all(n in (OPEN, m) for n, m in zip(tower.shape, bound.towers[name].shape, strict=True))


@settings(derandomize=True, deadline=None, max_examples=many(300))
@given(st.sampled_from(sorted(LISTINGS)).flatmap(lambda name: altered(EXAMPLES[name])))
@example("c .= n\nc[n] += c[c]")
def test_whatever_comes_in_a_program_or_one_of_our_errors_comes_out(text):
    try:
        assert api.bind(api.parse(text), symbolic=True).towers is not None
    except OURS as error:
        assert error.render()


# ------------------------------------------------------------------------------------------------------------ mistakes

HEADS = {
    test_extents.HEAD: (test_extents.MISTAKES, test_extents.CONSTANTS),
    test_lifecycles.HEAD: (test_lifecycles.MISTAKES,),
    "dev = cpu(:t, 2); sta = static_schedule()\n": (test_elaborate.DEVICE_MISTAKES,),
    f"dev = cpu(:t, 2); v = {VECTOR}, [1, 2]); c = {VECTOR}, 2)\n": (test_elaborate.NAME_MISTAKES,),
}
KNOWN = {head + text: told for head, tables in HEADS.items() for table in tables for text, told in table.items()}
ABSENT = re.compile(r"\w+ has no value|\w+ is not a schedule")
"""The mistakes that a symbolic program may have: a number or a schedule that is not given."""
OPENED = [text for text, told in KNOWN.items() if ABSENT.fullmatch(told.message) or "[n]" in text]


@pytest.mark.parametrize("text", test_extents.each_mistake(text for text in KNOWN if text not in OPENED))
def test_mistakes_are_told_as_in_any_program(text):
    assert mistake(text, symbolic=True) == KNOWN[text]


@pytest.mark.parametrize("text", OPENED)
def test_a_value_that_is_not_given_is_no_mistake(text):
    assert symbolic(text).symbols


FORMATS = f"v = {VECTOR}, 5); c = {VECTOR}); dev = cpu(:t, nt)\n"
OTHERS = {
    "x = a[0]": Mistake(
        "2:7", "axis 1 of a has an extent that is left open, and here the index 0",
        "indices count from 1, to the extent",
    ),
    "x = a[1.5]": Mistake("2:7", "a subscript is an integer, not 1.5", "indices count from 1, to the extent"),
    "x = v[6] + a[6]": Mistake("2:7", "axis 1 of v has extent 5, and here the index 6", "use an index from 1 to 5"),
    "q[1] += 1": Mistake(
        "2:1", "q is updated and never defined", "define and declare it: q = Tensor(FORMAT), q .= 0"
    ),
    "for i = parallel(1:2, dev, v); x = v[1]; end": Mistake(
        "2:28", "v is not a schedule, it is a tensor", "define a schedule: static_schedule()"
    ),
    "y = 1; for i = parallel(1:2, dev, y); x = i; end": Mistake(
        "2:35", "y is not a schedule", "define it (y = static_schedule()) or give it: -p 'y=static_schedule()'"
    ),
    "y = 1; e = cpu(y + n)": Mistake(
        "2:16", "a number of threads must be a constant, and y is none", "use numbers and parameters only"
    ),
    "c .= 0; for i = parallel(_); c[i] += n; end": Mistake(
        "2:9", "the range of i cannot be inferred: no tensor that i subscripts has a known extent", "for i = 1:n"
    ),
    "y = n; c .= 0; c[y] += 1": Mistake(
        "1:35", "the extent of axis 1 of c cannot be inferred from the loops", "give the extents: c = Tensor(FORMAT, n)"
    ),
    "x = a[1] + a[1, 2]": Mistake(
        "2:12", "a has 1 subscript elsewhere, and 2 subscripts here", "write one subscript for each axis"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_what_no_value_can_mend_is_told(text):
    assert mistake(FORMATS + text, symbolic=True) == OTHERS[text]


def test_a_device_is_never_left_open():
    assert mistake("for i = parallel(1:2, dev); x = i; end", symbolic=True).message == "dev is not a device"


def test_data_that_are_given_must_fit():
    expected = Mistake("2:12", "i runs over axis 1 of a, which has extent 2, and over axis 1 of b, which has 3", "")
    text = "for i = _\nx = a[i] + b[i] + d[i]\nend"
    found = mistake(text, inputs={"a": [1, 2], "b": [1, 2, 3]}, symbolic=True)
    assert (found.where, found.message) == (expected.where, expected.message)


def test_a_tensor_is_too_large_only_if_its_extents_are_known():
    cube = "E = Tensor(Dense(Dense(Dense(Element(0)))), n, m, 4000000000); E .= 0"
    assert symbolic(cube).towers["E"].shape == (OPEN, OPEN, 4000000000)
    assert "8589934592 is the most" in mistake(cube, params={"n": 2, "m": 2}, symbolic=True).message


@pytest.mark.parametrize("verb", [api.explore, api.run, lambda program: api.replay(program, "1")])
def test_no_engine_takes_a_symbolic_program(verb):
    bound = symbolic("x = n + a[1]")
    with pytest.raises(InputError, match=r"bound symbolically, and leaves n, a open"):
        verb(bound)
    assert api.bind(bound, symbolic=True) is bound
