"""The programs of `updates.py`, which `make tsan` and `make asan` run: they have every operator, and engines agree."""

import pytest

from proofs_tests.effort import few
from proofs_tests.sanitized import matrix
from proofs_tests.updates import OPERATORS, ROWS, formats, updates
from wingspan import api
from wingspan.lang import ir
from wingspan.lang.operators import REDUCTIONS


def test_every_operator_of_updates_is_there() -> None:
    trees = [api.parse(updates(kind)).tree for kind in OPERATORS]
    used = {node.op for tree in trees for node in tree.walk() if isinstance(node, ir.Assign)}
    assert set(REDUCTIONS) - {"="} <= used
    assert sum(isinstance(op, ir.Function) for op in used) == 2


@pytest.mark.parametrize("kind", few(list(OPERATORS), 2))
def test_atomic_locked_and_merged_elements_are_the_same_and_right(kind: str) -> None:
    program = api.parse(updates(kind))
    assert api.check(program).verdict == "safe"
    given = {"A": matrix(ROWS, ROWS, 1, int)}
    made, right = (api.run(program, inputs=given, engine=engine).tensors for engine in ("native", "reference"))
    values = {name: tensor.to_numpy().tolist() for name, tensor in made.items()}
    assert values == {name: tensor.to_numpy().tolist() for name, tensor in right.items()}
    for k, (op, _, _) in enumerate(OPERATORS[kind]):
        assert len({str(values[f"t{k}{n}"]) for n in range(len(formats(op)))}) == 1
