"""Fill values: what is left out because of them, what is stored all the same, and what that must never change."""

from __future__ import annotations

from textwrap import dedent

import pytest

from proofs_tests.exploring import explored, serial, verdict
from wingspan import api
from wingspan.base.errors import Fault


def test_a_stored_zero_is_data() -> None:
    """Identities act on fill values, not on values that happen to be zero: the product is stored."""
    text = """
        A = Tensor(SparseList(Element(0)), [0, 2, 3])
        B = Tensor(Dense(Element(0)), [5, 0, 1])
        C = Tensor(SparseList(Element(0)))
        C .= 0
        for i = _
            C[i] = A[i] * B[i]
        end
    """
    run = api.run(api.parse("\n".join(line.strip() for line in text.strip().splitlines())), engine="semantics")
    assert list(run.tensors["C"].entries()) == [((2,), 0), ((3,), 3)]


def test_overwriting_by_a_fill_value_is_no_empty_write() -> None:
    """x[1] = 5 and then x[1] = 0 leaves 0, also where the 0 comes from a fiber without entries."""
    text = """
        A = Tensor(SparseList(Element(0)), [0, 2])
        x = Tensor({form}(Element(0)))
        x .= 0
        for i = _
            x[i] = 5
            x[i] = A[i]
        end
    """
    for form in ("Dense", "SparseByteMap", "SparseList"):
        assert serial(text.format(form=form)) == {"x": [0, 2]}


def test_overwriting_in_an_inner_loop_keeps_the_last() -> None:
    text = """
        B = Tensor(SparseList(Element(0)), [5, 0])
        C = Tensor(SparseList(Element(0)), 2)
        C .= 0
        for i = _
            for k = _
                C[i] = B[k]
            end
        end
    """
    assert serial(text) == {"C": [0, 0]}


def test_a_sparse_result_stores_no_fill() -> None:
    """A plain copy of a sparse vector stores what the vector stores."""
    text = (
        "A = Tensor(SparseList(Element(0)), [0, 2, 0])\nC = Tensor(SparseList(Element(0)))\nC .= 0\n"
        "for i = _\nC[i] = A[i]\nend"
    )
    assert api.run(api.parse(text), engine="semantics").tensors["C"].nnz == 1


@pytest.mark.parametrize("form", ["Dense(Element(0))", "SparseList(Element(0))", "SparseByteMap(Element(0))"])
def test_declaring_with_another_value(form: str) -> None:
    """After `T .= z` every element is z and z is the fill value, whatever the format's."""
    text = (
        f"C = Tensor({form}, 3)\nC .= 7\nfor i = 2:2\nC[i] += 1\nend\ny = Tensor(Dense(Element(0)), 3)\n"
        f"y .= 0\nfor i = _\ny[i] = C[i]\nend"
    )
    assert serial(text) == {"C": [7, 8, 7], "y": [7, 8, 7]}


def test_what_is_not_written_is_not_stored() -> None:
    """An entry is recorded only if something below it was written, through all levels."""
    text = """
        A = Tensor(Dense(Dense(Element(0))), [1 0 5; 0 0 7])
        C = Tensor(SparseList(SparseList(Element(0))))
        C .= 0
        for j = _
            for i = _
                if A[i, j] > 1
                    C[i, j] += A[i, j]
                end
            end
        end
    """
    run = api.run(api.parse(dedent(text)), engine="semantics")
    assert list(run.tensors["C"].entries()) == [((1, 3), 5), ((2, 3), 7)]
    assert str(run.tensors["C"].to_numpy().tolist()) == "[[0, 0, 5], [0, 0, 7]]"


@pytest.mark.parametrize("form", ["Dense", "SparseByteMap"])
def test_overwriting_on_a_second_visit(form: str) -> None:
    """Levels that may be visited again keep the last value, a fill value too."""
    text = f"""
        B = Tensor(Dense(SparseList(Element(0))), [5 0; 6 7])
        x = Tensor({form}(Element(0)), 2)
        x .= 0
        for k = _
            for i = _
                x[i] = B[i, k]
            end
        end
    """
    assert serial(text) == {"x": [0, 7]}


def test_cancelled_cursors_move_on() -> None:
    """A factor beside fill is not read, and yet its cursor passes the index."""
    text = """
        A = Tensor(SparseList(Element(0)), [0, 2, 0, 3, 4])
        B = Tensor(SparseList(Element(0)), [1, 0, 5, 7, 2])
        C = Tensor(SparseList(Element(0)))
        C .= 0
        for i = _
            C[i] = A[i] * B[i]
        end
    """
    assert serial(text) == {"C": [0, 0, 0, 21, 8]}


def test_an_update_that_comes_to_nothing_touches_no_level() -> None:
    """Task 1 adds fill, so it makes no child in the level that both share, and there is nothing to race with."""
    text = "A = Tensor(SparseList(Element(0)), {A})\nC = Tensor(SparseByteMap(Element(0)), 2)\nC .= 0\n"
    text += "for i = parallel(_)\nC[i] += A[i]\nend"
    assert verdict(text.format(A="[0, 2]")) == "safe"
    assert verdict(text.format(A="[1, 2]")) == "race"


def test_chunks_seek_to_their_start() -> None:
    """Each chunk of a parallel loop reads a sparse fiber from its own first index on."""
    text = """
        A = Tensor({form}(Element(0)), [1, 0, 3, 4, 0, 6, 7])
        y = Tensor(Dense(Element(0)))
        y .= 0
        for i = parallel(_, cpu(3), {schedule})
            y[i] = A[i]
        end
    """
    for form in ("SparseList", "SparseByteMap"):
        for schedule in ("static_schedule()", "dynamic_schedule(2)"):
            assert serial(text.format(form=form, schedule=schedule)) == {"y": [1, 0, 3, 4, 0, 6, 7]}


def test_an_unclaimed_shard_reads_as_fill() -> None:
    text = """
        d = cpu(:d, 2)
        C = Tensor(Dense(Shard(d, SparseList(Element(0)))), 2, 3)
        y = Tensor(Dense(Element(0)), 3)
        C .= 0
        y .= 0
        for j = parallel(2:3, d)
            for i = 1:2
                C[i, j] = i * j
            end
        end
        for j = _
            for i = _
                y[j] += C[i, j]
            end
        end
    """
    assert serial(text) == {"C": [[0, 2, 3], [0, 4, 6]], "y": [0, 6, 9]}


OVERWRITES = {
    "two iterations, one cell": ("SparseList(Element(0))", "for i = 1:2\nC[1] = B[i]\nend"),
    "an inner loop": ("SparseList(Element(0))", "for i = 1:2\nfor k = 1:1\nC[k] = B[i]\nend\nend"),
    "a byte map": ("SparseByteMap(Element(0))", "for i = 1:2\nC[1] = B[i]\nend"),
    "a second loop": ("SparseByteMap(Element(0))", "for i = 1:2\nC[i] = 5\nend\nfor i = 1:2\nC[i] = B[i]\nend"),
    "a phase after thaw": (
        "SparseByteMap(Element(0))",
        "for i = 1:2\nC[i] = 5\nend\nfreeze(C)\nfor i = 1:2\nC[i] = B[i]\nend",
    ),
}


@pytest.mark.parametrize("name", OVERWRITES)
@pytest.mark.parametrize("data", ["[1, 0]", "[0, 1]", "[0, 0]"])
def test_the_format_of_what_is_read_changes_no_result(name: str, data: str) -> None:
    """A fill value overwrites like any other: sparse or dense, the operand gives the same result or the same fault."""
    form, loops = OVERWRITES[name]
    found = []
    for operand in ("SparseList", "Dense"):
        text = f"B = Tensor({operand}(Element(0)), {data})\nC = Tensor({form}, 2)\nC .= 0\n{loops}"
        try:
            found.append(str(serial(text)))
        except Fault as fault:
            found.append(fault.message)
    assert found[0] == found[1]


def test_a_dropped_overwrite_hides_no_race() -> None:
    """Two tasks overwrite one cell, one of them by a fill value: as bad as with the same values stored densely."""
    text = "B = Tensor({form}(Element(0)), [0, 1])\nC = Tensor(SparseList(Element(0)), 1)\nC .= 0\n"
    text += "for i = parallel(1:2)\nC[1] = B[i]\nend"
    sparse, dense = (explored(text.format(form=form)).verdict for form in ("SparseList", "Dense"))
    assert sparse.verdict == dense.verdict == "fault"
    assert {race.buffer for race in sparse.races} == {race.buffer for race in dense.races} != set()
