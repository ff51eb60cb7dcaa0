"""Placements: the paper's own are among those offered, and every one that is offered is safe and computes the same."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, few, many
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.api.small import draw
from wingspan.base.errors import InputError, ProgramError, WingspanError
from wingspan.choices import placements as room
from wingspan.choices.placements import Choices, Threads, choices, placements
from wingspan.dependence.changes import formats, headers
from wingspan.lang import ir
from wingspan.testing.programs import Options, programs
from wingspan.testing.templates import meetings

SETTINGS = {"nt": 2, "sch": "static_schedule()"}
"""The parameters of the listings that are about threads."""

LISTINGS = [
    "spmspv", "spadd", "hadamard", "spgemm_gustavson", "dependent_atomic", "independent", "structured_add",
    "mttkrp_dense", "stencil_2d", "spgemm_inner", "spgemm_outer", "mttkrp_sparse", "mttkrp_rows", "histogram",
]  # fmt: skip
"""Programs with one parallel loop; the modifiers of each are needed."""

NESTED = ["inner_nested", "spgemm_nested"]


def of(text: str, threads: Threads = 2, **given: Any) -> Choices:
    """The placements of a program given as text."""
    return choices(api.parse(dedent(text)), threads, **given)


def placed(tree: ir.Program) -> tuple[Any, ...]:
    """The parallel loops of a program, and the formats of its tensors without the names of devices."""

    def nameless(layer: ir.Format) -> ir.Format:
        return ir.Format(layer.name, tuple(ir.Variable("") if isinstance(a, ir.Variable) else a for a in layer.args))

    layers = {T: tuple(map(nameless, form)) for T, form in formats(tree).items()}
    return tuple(loop.number for loop in headers(tree) if loop.parallel), layers


# ----------------------------------------------------------------------------------------------- the paper's listings


@cache
def listing(name: str) -> tuple[api.Program, Choices]:
    """A listing, and its placements for two threads; inputs are left open."""
    program = api.load(EXAMPLES / f"{name}.ws")
    known = {p: value for p, value in SETTINGS.items() if any(node == ir.Variable(p) for node in program.tree.walk())}
    return program, choices(program, 2, params=known)


@pytest.mark.parametrize("name", few(LISTINGS, 4))
def test_the_placement_of_a_listing_is_found(name: str) -> None:
    """Once its parallel loop and its modifiers are left out, they are among what is offered, with both schedules."""
    program, found = listing(name)
    same = [each for each in found.placements if placed(each.program.tree) == placed(program.tree)]
    assert {each.schedule.partition("(")[0] for each in same} == {"static_schedule", "dynamic_schedule"}
    assert found.complete


def test_what_a_listing_offers_is_listed() -> None:
    """SpMSpV: the loop over columns meets in y, so y is merged or locked; every format is the smallest that helps."""
    _, found = listing("spmspv")
    assert {(each.loops, each.formats) for each in found.placements if each.schedule == "static_schedule()"} == {
        (("for j = parallel(_, dev)",), ("y = Tensor(Merge(dev, SparseByteMap(Element(0.0))))",)),
        (("for j = parallel(_, dev)",), ("y = Tensor(Mutex(SparseByteMap(Element(0.0))))",)),
        (("for i = parallel(_, dev)",), ("y = Tensor(Merge(dev, SparseByteMap(Element(0.0))))",)),
        (("for i = parallel(_, dev)",), ("y = Tensor(Mutex(SparseByteMap(Element(0.0))))",)),
    }
    assert not found.rejected


def test_what_cannot_be_parallel_is_explained() -> None:
    """Rows are appended in order: no modifier makes the inner loop safe."""
    _, found = listing("spadd")
    assert {each.loops for each in found.rejected} == {
        ("for i = parallel(_, dev)",), ("for i = parallel(_, dev, dynamic_schedule(15))",)
    }  # fmt: skip
    assert found.rejected[0].reasons == ("C: SparseList does not support sibling dependences",)


# -------------------------------------------------------------------------------------------- what is offered is safe


def ends(program: api.Program, inputs: Any, engine: str) -> Any:
    """The tensors that a run of a program leaves."""
    made = api.run(program, engine=engine, inputs=inputs)
    return {name: tensor.to_numpy().tolist() for name, tensor in made.tensors.items()}


@pytest.mark.parametrize("name", few([*LISTINGS, *NESTED], 1))
def test_every_placement_of_a_listing_is_accepted_and_computes_the_same(name: str) -> None:
    """By the test, for all inputs; on threads; and by the rules, as far as a tiny run can be explored quickly."""
    program, _ = listing(name)
    drawn = draw(program)
    params = {p: value for p, value in drawn.params.items() if p not in SETTINGS}
    found = choices(program, 2, inputs=drawn.inputs, params=drawn.params)
    expected = ends(found.serial.program, drawn.inputs, "reference") if not params else None
    for each in found.placements:
        again = api.parse(str(each.program))
        assert api.check(api.bind(again, params=params, symbolic=True)).verdict == "safe", str(again)
        explored = api.explore(again, inputs=drawn.inputs, params=params, max_states=max(50, many(150))).verdict
        assert explored.verdict in ("safe", "incomplete") and not explored.races, str(again)
        if expected is not None:
            assert ends(again, drawn.inputs, "native") == expected


SERIAL = Options(
    levels=("Dense", "Dense", "SparseByteMap", "SparseDict", "SparseList", "SparseCOO"),
    parallel=False, modifiers=(), depth=2, statements=2, extent=2,
)  # fmt: skip


def test_every_placement_of_random_programs_explores_as_safe() -> None:
    """Random programs, and random updates of a tensor that tasks share, as far as they can be explored quickly."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(400), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(programs(SERIAL), meetings(), meetings(), meetings()), st.data())
    def explore(text: str, data: st.DataObject) -> None:
        program = api.parse(text)
        try:
            api.run(program, engine="reference")
            found = placements(program, 2)
        except WingspanError:
            assume(False)
        seen["programs"] += 1
        offered = [each for each in found if each.formats] or [each for each in found if each.loops]
        if not offered:
            return
        each = data.draw(st.sampled_from(offered))
        verdict = api.explore(api.parse(str(each.program)), max_states=400).verdict
        seen[verdict.verdict] += 1
        seen["modified"] += bool(each.formats) and verdict.verdict == "safe"
        assert verdict.verdict in ("safe", "incomplete"), str(each.program)

    explore()
    assert seen["safe"] >= due(130) and seen["modified"] >= due(60), seen


# ------------------------------------------------------------------------------------------------------- odd corners

UPDATE = """
    x = Tensor(Dense(Element(0)), [%s])
    c = Tensor(Dense(Element(0)), 2)
    c .= 0
    for i = _
        c[1] += x[i]
    return c
"""


@pytest.mark.parametrize(("threads", "data"), few(list(product([1, 2, 5], ["", "5", "1, 2"])), 5))
def test_loops_with_few_iterations(threads: int, data: str) -> None:
    """None, one, and fewer than threads: all placements are sorted, and each gives the sum."""
    found = of(UPDATE % data, threads)
    times = [each.estimate.time for each in found.placements]
    assert times == sorted(times) and found.placements[0] == found.serial
    total = sum(map(int, data.split(","))) if data else 0
    for each in found.placements:
        assert np.asarray(api.run(each.program, engine="native")["c"]).tolist() == [total, 0]


def test_two_modifiers_are_tried_where_one_does_not_suffice() -> None:
    """Tasks meet in columns, whose hash tables share memory: a lock, and a table for each column.

    Merge, which does all, is offered as well, and nothing that has it and more.
    """
    found = of(
        """
        C = Tensor(Dense(SparseDict(Element(0))), 2, 2)
        C .= 0
        for k = 1:2
            for j = 1:2
                for i = 1:2
                    C[i, j] += k
        return C
        """
    )
    static = {each.formats for each in found.placements if each.loops == ("for k = parallel(1:2, dev)",)}
    assert static == {
        (f"C = Tensor({form}, 2, 2)",)
        for form in (
            "Merge(dev, Dense(SparseDict(Element(0))))",
            "Dense(Merge(dev, SparseDict(Element(0))))",
            "Mutex(Dense(Isolate(SparseDict(Element(0)))))",
            "Mutex(Isolate(Dense(SparseDict(Element(0)))))",
            "Dense(Mutex(Isolate(SparseDict(Element(0)))))",
        )
    }


def test_formats_that_are_safe_apart_are_tested_together() -> None:
    """The tasks lock c before d, and in another nest d before c: each may have a lock around it, but not both."""
    found = of(
        """
        c = Tensor(Dense(Element(0)), 2)
        d = Tensor(Dense(Element(0)), 2)
        c .= 0
        d .= 0
        for i = 1:2
            for j = 1:2
                for k = 1:2
                    c[j] += i
                    d[k] += i
            for k = 1:2
                for j = 1:2
                    d[k] += i
                    c[j] += i
        return c, d
        """
    )
    outermost = [each for each in found.placements if len(each.loops) == 1 and each.loops[0].startswith("for i")]
    texts = ["".join(each.formats) for each in outermost]
    locked = [{name for name in "cd" if f"{name} = Tensor(Mutex(" in text} for text in texts]
    assert {"c"} in locked and {"d"} in locked and {"c", "d"} not in locked


def test_two_nests_run_in_parallel_together() -> None:
    """Loops side by side are parallel one at a time and both; loops inside of each other never both."""
    found = of(
        """
        x = Tensor(Dense(Element(0)), [1, 2, 3])
        c = Tensor(Dense(Element(0)), 3)
        d = Tensor(Dense(Dense(Element(0))), 3, 3)
        c .= 0
        d .= 0
        for i = _
            c[i] += x[i]
        for j = _
            for i = 1:3
                d[i, j] += x[j]
        return c, d
        """
    )
    static = [each.loops for each in found.placements if each.schedule != "dynamic_schedule(1)"]
    first, second, inner = (
        "for i = parallel(_, dev)  # line 7",
        "for j = parallel(_, dev)",
        "for i = parallel(1:3, dev)",
    )
    inner += "  # line 10"
    assert sorted(static) == sorted([(), (first,), (second,), (inner,), (first, second), (first, inner)])


def test_loops_side_by_side_that_are_best_alone_are_together_in_a_quick_search() -> None:
    """Two nests of two loops: of four pairs one is tried, that of the outer loops."""
    text = """
        c = Tensor(Dense(Dense(Element(0.0))), 90, 90)
        d = Tensor(Dense(Dense(Element(0.0))), 90, 90)
        c .= 0
        d .= 0
        for j = _
            for i = _
                c[i, j] += i
        for l = _
            for k = _
                d[k, l] += k
        return c, d
    """
    whole, quick = of(text), of(text, quick=True)
    pairs = {each.loops for each in quick.placements if len(each.loops) == 2 and "dynamic" not in each.schedule}
    assert pairs == {("for j = parallel(_, dev)", "for l = parallel(_, dev)")}
    assert len({each.loops for each in whole.placements if "dynamic" not in each.schedule}) == 1 + 4 + 4
    assert quick.placements[0] == whole.placements[0]


def test_a_variable_is_not_helped_by_a_format() -> None:
    """Both schedules of the loop are rejected for the variable."""
    found = of("x = 0\nc = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = 1:2\nx = x + i\nc[i] += x\nend\nreturn c")
    assert [each.loops for each in found.placements] == [()]
    assert all(each.reasons and each.reasons[0].startswith("x: ") for each in found.rejected)


def test_what_is_parallel_in_the_file_is_left_out_first() -> None:
    """Devices, schedules and modifiers, needed or not: the same placements are found."""
    plain = of("c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = 1:2\nc[1] += i\nend\nreturn c")
    much = of(
        "d = cpu(:d, 3)\nh = dynamic_schedule(2)\nc = Tensor(Mutex(Dense(Merge(d, Atomic(0)))), 2)\nc .= 0\n"
        "for i = parallel(1:2, d, h)\nc[1] += i\nend\nreturn c"
    )
    assert [str(each.program) for each in much.placements] == [str(each.program) for each in plain.placements]


def test_parameters_of_devices_may_be_given_or_left_out() -> None:
    """A name that the program does not have is a mistake all the same."""
    program = api.load(EXAMPLES / "spadd.ws")
    assert choices(program, 2, params=SETTINGS).placements == choices(program, 2).placements
    with pytest.raises(InputError, match="the program has no parameter threads"):
        choices(program, 2, params={"threads": 2})


def test_a_parameter_may_be_an_extent() -> None:
    """Also one that stands in no loop; the programs offered still have it."""
    text = "c = Tensor(Dense(Element(0)), n)\nc .= 0\nfor i = 1:2\nc[1] += i\nend\nreturn c"
    found = of(text, params={"n": 3})
    assert len(found.placements) > 4 and found.params == {"n": 3}
    assert all(", n)" in str(each.program) for each in found.placements)


def test_a_program_that_is_not_even_safe_when_serial_is_refused() -> None:
    """A list that is filled twice: no placement helps, and nothing is offered."""
    text = "c = Tensor(SparseList(Element(0)), 3)\nc .= 0\nfor j = 1:2\nfor i = 1:3\nc[i] += j\nend\nend\nreturn c"
    with pytest.raises(
        ProgramError, match=r"even where it is serial: .* takes its fibers in ascending order"
    ) as refused:
        of(text)
    assert refused.value.diagnostics[0].topic == "unsafe"


def test_a_cut_search_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sets of loops, and of combinations of formats; what was found until then is offered."""
    text = """
        c = Tensor(Element(0))
        d = Tensor(Element(0))
        c .= 0
        d .= 0
        for j = 1:2
            for i = 1:2
                c[] += i
                d[] += j
        return c, d
    """
    whole = of(text)
    assert whole.complete
    for bound in ("SETS", "COMBINED"):
        with monkeypatch.context() as patch:
            patch.setattr(room, bound, 1)
            found = of(text)
        assert not found.complete and 1 < len(found.placements) < len(whole.placements)
