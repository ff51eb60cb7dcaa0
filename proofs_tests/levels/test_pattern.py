"""Patterns: what is stored is true, an update by false stores nothing, and what a pattern cannot say is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from proofs_tests.towers import COUNTS
from wingspan import api
from wingspan.base.errors import Fault, InputError, ProgramError
from wingspan.levels import REGISTRY
from wingspan.tensors.tensor import Tensor
from wingspan.testing.formats import BOUNDED, MODIFIERS, STORAGE, legal

WRITTEN = [level for level in (*STORAGE, *BOUNDED) if legal(f"{level}(Pattern())")]
"""Storage levels that have only the children that were written."""

ABOVE = """
d = cpu(:d, 2)
A = Tensor(Dense(Dense(Element(0))))
P = Tensor(Dense({form}), 4, 3)
c = Tensor(Element(0))
P .= false
c .= 0
for j = {range}
    for i = _
        {update}
    end
end
for j = _
    for i = _
        if P[i, j]
            c[] += 1
        end
    end
end
return P, c
"""
A = np.array([[0, 2, 0], [0, 0, 0], [1, 2, 1], [0, 2, 0]])
"""More than 1 in the second column only, at three indices."""


@pytest.mark.parametrize(
    ("around", "level"), few(list(product(["{}", "Mutex({})", "Isolate({})", "Shard(d, {})"], WRITTEN)), 9)
)
def test_false_stores_nothing(around: str, level: str) -> None:
    """A comparison under |=: what holds is stored, in every engine, and nothing else."""
    update = "P[i, j] |= A[i, j] > 1 && i == 3" if level in BOUNDED else "P[i, j] |= A[i, j] > 1"
    form = around.format(f"{level}(Pattern())")
    text = ABOVE.format(form=form, update=update, range="parallel(_, d)" if "Shard" in around else "_")
    found = api.diff(api.parse(text), inputs={"A": A}, unsafe=True)
    assert found.difference is None, found.difference
    assert {"reference", "semantics", "native"} <= {ending.engine for ending in found.endings}
    run = api.run(api.parse(text), inputs={"A": A}, engine="semantics")
    expected = [(3, 2)] if level in BOUNDED else [(1, 2), (3, 2), (4, 2)]
    assert list(run.tensors["P"].entries()) == [(at, True) for at in expected]


@pytest.mark.parametrize(
    ("operator", "values", "fault"),
    [
        ("|=", "[true, false]", None),
        ("=", "[true, true]", None),
        ("&=", "[true, true]", None),
        ("=", "[true, false]", "is set to false"),
        ("&=", "[true, false]", "is set to false"),
    ],
)
@pytest.mark.parametrize("engine", ["semantics", "native"])
def test_an_update_that_may_take_back_what_is_stored_is_a_fault(operator, values, fault, engine) -> None:
    text = f"v = Tensor(Dense(Element(false)), {values})\nP = Tensor(SparseDict(Pattern()), 2)\nP .= false\n"
    text += f"for i = _\nP[i] {operator} v[i]\nend\nreturn P"
    if fault is None:
        result = api.run(api.parse(text), engine=engine).tensors["P"]
        expected = api.run(api.parse(text.replace("Pattern()", "Element(false)")), engine="semantics").tensors["P"]
        assert result.to_numpy().tolist() == expected.to_numpy().tolist()
        return
    with pytest.raises(Fault, match=f"P, level 1 Pattern: an element that may be true {fault}"):
        api.run(api.parse(text), engine=engine)


def test_and_with_true_keeps_what_a_phase_before_has_stored() -> None:
    text = "P = Tensor(SparseDict(Pattern()), 3)\nP .= false\nP[2] |= true\nfreeze(P)\nfor i = _\nP[i] &= true\nend"
    for engine in ("semantics", "native"):
        assert list(api.run(api.parse(text), engine=engine).tensors["P"].entries()) == [((2,), True)]


def test_it_is_declared_with_false() -> None:
    text = "P = Tensor(SparseDict(Pattern()), 2)\nP .= true\nP[1] |= true"
    for engine in ("semantics", "native"):
        with pytest.raises(Fault, match="P, level 1 Pattern: its fill value is false"):
            api.run(api.parse(text), engine=engine)


@pytest.mark.parametrize("around", ["{}", *MODIFIERS])
@pytest.mark.parametrize("level", ["Dense", "SparseBand", ""])
def test_it_is_refused_where_children_were_not_written(level: str, around: str) -> None:
    form = around.format("Pattern()")
    with pytest.raises(ProgramError, match="has elements that were not written") as refused:
        Tensor.from_numpy(f"{level}({form})" if level else form, [True] if level else True, devices=COUNTS)
    assert refused.value.fix == "use Element(false)"


@pytest.mark.parametrize("name", sorted(name for name, level in REGISTRY.items() if level.leaf))
def test_leaves_take_a_fill_value_or_nothing(name: str) -> None:
    wrong = f"SparseList({name}({'false' if name == 'Pattern' else ''}))"
    with pytest.raises(ProgramError, match=f"{name} takes {'nothing' if name == 'Pattern' else 'a fill value'}"):
        Tensor.from_numpy(wrong, [True])


def test_arrays_that_store_false_do_not_fit() -> None:
    """A dense array has nothing to store there; a sparse one that does is refused, as no pattern can keep that."""
    assert Tensor.from_numpy("SparseList(Pattern())", [True, False]).nnz == 1
    stored = scipy.sparse.coo_array(([True, False], ([0, 1],)), shape=(2,))
    with pytest.raises(InputError, match="level 1 Pattern: an element that may be true is set to false"):
        Tensor.from_scipy("SparseList(Pattern())", stored)


@pytest.mark.parametrize(
    ("form", "subscripts"),
    [
        ("Dense(SparsePoint(Pattern()))", "1, k"),
        ("Mutex(SparsePoint(Pattern()))", "1"),
        ("Merge(d, SparseDict(Pattern()))", "k"),
    ],
)
def test_tasks_that_meet_in_a_pattern_do_no_harm(form: str, subscripts: str) -> None:
    """Its stability is everything: two tasks at different elements, at one, and in copies."""
    axes = ", 2" * (subscripts.count(",") + 1)
    text = (
        f"d = cpu(:d, 2)\nP = Tensor({form}{axes})\nP .= false\nfor k = parallel(1:2, d)\nP[{subscripts}] |= true\nend"
    )
    found = api.explore(api.parse(text))
    assert found.verdict.verdict == "safe" and found.verdict.complete
    assert api.check(api.parse(text), budget=0).verdict == "safe"
