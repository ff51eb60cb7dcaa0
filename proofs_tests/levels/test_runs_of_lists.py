"""Runs whose children are lists: they are compared, joined and cut off when they are frozen."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from proofs_tests.effort import few, many
from proofs_tests.towers import ByHand, broken, tower
from wingspan import api
from wingspan.base.errors import ProgramError
from wingspan.compiled.build import compiler
from wingspan.tensors.frozen import collect
from wingspan.tensors.tensor import Tensor
from wingspan.tensors.walk import elements
from wingspan.testing import compare
from wingspan.testing.batched_c import Together

FORMS = [
    "RunList(SparseList(Element(0)))",
    "SparseRunList(SparseList(Element(0)))",
    "RunList(Dense(SparseList(Element(0))))",
    "RunList(Mutex(SparseList(Element(0))))",
    "RunList(RunList(SparseRunList(Element(0))))",
    "SparseRunList(SparseList(RunList(Element(0))))",
    "RunList(SparseList(RunList(SparseList(Element(0)))))",
]
"""Each is put into Dense, so that there are fibers before and after thawing."""


def stretches(h: ByHand, position: int) -> list[tuple[int, int]]:
    """The first and last indices of the runs of a fiber of the second level."""
    return [(a, b) for a, b, _, _ in h.tensor()._reader().stretches(h.tower.rank, position, ())]


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_lists_are_as_long_as_can_be(form: str) -> None:
    """Written with and without zeros, frozen, thawed, and written on: with invariants, elements and maximal runs."""
    choose = random.Random(form)
    around = tower(f"Dense({form})", *[1] * (form.count("List") + form.count("Dense") + 1))
    for _ in range(many(1_000)):
        shape = (*(choose.randint(0, 3) for _ in range(around.rank - 1)), 2)
        array = np.array(choose.choices([0, 0, 3], k=int(np.prod(shape)))).reshape(shape)
        if choose.random() < 0.5:
            array[..., 1:, :] = array[..., :1, :]
        h, cut = ByHand(around.with_shape(shape)).whole("declare"), choose.randint(0, 2)
        at = {subscripts: tuple(i + 1 for i in subscripts) for subscripts in np.ndindex(shape)}
        for phase, part in enumerate((range(cut), range(cut, 2))):
            written = {at[i]: array[i] for i in at if i[-1] in part and (array[i] or choose.random() < 0.3)}
            h.update_all(written).whole("freeze")
            assert broken(h) == [], array
            if phase == 0:
                h.whole("thaw")
        assert {i: v for i, v in h.elements().items() if v} == {at[i]: array[i] for i in at if array[i]}
        h.tensor().validate()
        for p in (1, 2):
            fiber = array[..., p - 1]
            runs = stretches(h, p)
            assert all((fiber[..., a - 1 : b] == fiber[..., a - 1, None]).all() for a, b in runs)
            assert all(b + 1 < c or (fiber[..., b - 1] != fiber[..., c - 1]).any() for (_, b), (c, _) in pairwise(runs))


@pytest.mark.parametrize("name", ["RunList", "SparseRunList"])
def test_lists_that_differ_by_stored_fill_are_one_run(name: str) -> None:
    """Elements count, not entries: the first of the fibers stays, with what it stores."""
    h = ByHand(tower(f"Dense({name}(SparseList(Element(0))))", 3, 4, 1)).whole("declare")
    h.update_all({(1, 1, 1): 0, (2, 1, 1): 5, (2, 2, 1): 5, (2, 3, 1): 5, (3, 3, 1): 0, (2, 4, 1): 6}).whole("freeze")
    assert stretches(h, 1) == [(1, 3), (4, 4)] and broken(h) == []
    assert {at: v for at, v in h.elements().items() if v} == {(2, j, 1): v for j, v in enumerate((5, 5, 5, 6), 1)}
    assert h.elements()[1, 3, 1] == 0


def test_a_gap_and_a_list_of_fill_are_one_run() -> None:
    h = ByHand(tower("Dense(RunList(SparseList(Element(0))))", 2, 4, 1)).whole("declare")
    h.update_all({(1, 2, 1): 0, (2, 4, 1): 1}).whole("freeze")
    assert stretches(h, 1) == [(1, 3), (4, 4)] and broken(h) == []


def test_nan_is_equal_in_lists() -> None:
    """As in runs of elements."""
    made = Tensor.from_numpy("RunList(SparseList(Element(0.0)))", [[np.nan, np.nan], [0, 0]])
    assert [(a, b) for a, b, _, _ in made._reader().stretches(3, 1, ())] == [(1, 2)] and made.nnz == 2


def test_a_long_run_of_lists_has_one_list() -> None:
    """However often its elements count."""
    h = ByHand(tower("RunList(SparseList(Element(0)))", 2, 300)).whole("declare")
    h.update_all({(i, j): 7 for i in (1, 2) for j in range(1, 301)}).whole("freeze")
    assert h.cell(1, "fill", 1) == 2 and h.tensor().nnz == 600 and h.tensor().to_numpy().sum() == 4_200
    assert elements(collect(h.tower, h.tensor().cells.values)) is not None


PARALLEL = (
    ("Dense(Shard(dev, RunList(SparseList(Element(0)))))", "kji"),
    ("Merge(dev, SparseRunList(SparseList(Element(0))))", "ji"),
    ("Dense(Isolate(SparseRunList(SparseList(Element(0)))))", "kji"),
    ("Merge(dev, RunList(Dense(SparseList(Element(0)))))", "kji"),
)
"""Formats, and the loops over them, outermost first."""


@pytest.mark.parametrize(("form", "loops"), few(PARALLEL, 2))
def test_engines_agree_on_runs_of_lists_in_parallel(form: str, loops: str) -> None:
    """The rules, threads, the plan and C, on equal columns in a row, and columns of fill."""
    at, read = ", ".join(reversed(loops)), "SparseRunList(" + "SparseList(" * (len(loops) - 1)
    heads = [f"for {loops[0]} = parallel(_, dev)", *(f"for {i} = _" for i in loops[1:])]
    lines = ["dev = cpu(:dev, 2)", f"A = Tensor({read}Element(0){')' * len(loops)})", f"C = Tensor({form})", "C .= 0"]
    lines += [*heads, f"C[{at}] += 2 * A[{at}]", *["end"] * len(loops), "return C"]
    array = np.zeros((3, 4, 3)[3 - len(loops) :], dtype=np.int64)
    array[1:, ..., :2] = 7
    bound = api.bind(api.parse("\n".join(lines)), inputs={"A": array})
    engines = [api.engine(name) for name in ("reference", "semantics", "native", "native-controlled")]
    if compiler():
        together = Together("-O0")
        together.prepare([bound])
        engines.append(together)
    done = compare(bound, engines)
    assert api.check(bound).verdict == "safe" and done.difference is None, done.difference


def test_copies_of_runs_of_lists_are_safe_in_every_interleaving() -> None:
    """Two threads write columns that become equal by the merge."""
    program = api.parse(
        "dev = cpu(:dev, 2)\nC = Tensor(Merge(dev, RunList(SparseList(Element(0)))), 2, 2)\nC .= 0\n"
        "for t = parallel(1:2, dev)\n    for j = 1:2\n        C[2, j] += 1\n    end\nend\nreturn C"
    )
    verdict = api.explore(program).verdict
    assert verdict.verdict == "safe" and verdict.complete


@pytest.mark.parametrize("below", ["SparseDict", "SparseByteMap", "SparseBlockList"])
def test_lists_of_other_formats_are_refused(below: str) -> None:
    with pytest.raises(ProgramError, match=f"RunList cannot wrap {below}, whose fibers it cannot compare"):
        tower(f"RunList(SparseList({below}(Element(0))))")
