"""A loop without iterations visits nothing: what it would append to may be visited by another one."""

from __future__ import annotations

import pickle

import pytest

from wingspan import Unsafe, api
from wingspan.testing.schedules import leave_open, variants

TWO_VISITS = """
dev = cpu(:t, 2)
d = Tensor(SparseList(Shard(dev, Element(0))), 3)
d .= 0
for k = parallel(1:1, dev)
    d[1] += 1
end
for k = parallel({}, dev)
    d[k] += 1
end
return d
"""
AGAIN = """
d = Tensor(SparseList(Element(0)), 3)
d .= 0
for i = 1:2
    for k = {}
        d[k] += i
    end
end
return d
"""


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (TWO_VISITS.format("2:1"), True),
        (TWO_VISITS.format("3:1"), True),
        (TWO_VISITS.format("2:2"), False),
        (TWO_VISITS.format("1:3"), False),
        (AGAIN.format("2:1"), True),
        (AGAIN.format("i:1"), True),
        (AGAIN.format("2:i"), True),
        (AGAIN.format("1:2 * (i - 1)"), True),
        (AGAIN.format("1:i"), False),
        (AGAIN.format("i:2"), False),
    ],
)
def test_a_loop_without_iterations_visits_nothing(text: str, safe: bool) -> None:
    """Under the rules and in the plan, however the iterations are dealt; and the test knows, as it does for all."""
    program = api.parse(text)
    dealt = [api.bind(leave_open(program), symbolic=True)]
    for label, variant in variants(program, (1, 2)):
        for machine in ("semantics", "native"):
            verdict = api.explore(variant, machine=machine).verdict.verdict
            assert (verdict == "safe") == safe, (label, machine)
        dealt.append(api.bind(variant))
    for test in ("repaired", "exact"):
        assert [api.check(bound, test=test).verdict == "safe" for bound in dealt] == [safe] * len(dealt)


def test_why_a_program_is_refused_comes_out_of_another_process() -> None:
    with pytest.raises(Unsafe) as told:
        api.run(api.parse(TWO_VISITS.format("1:3")), engine="native")
    other = pickle.loads(pickle.dumps(told.value))
    assert (type(other), other.message, other.fix) == (Unsafe, told.value.message, told.value.fix)
    assert [found.reason for found in other.report.findings] == [found.reason for found in told.value.report.findings]
