"""Plans whose numbers of threads and chunk sizes are parameters do what those do that have them as constants."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.effort import due, few, many
from proofs_tests.explorer.test_visibility import PROGRAMS
from proofs_tests.exploring import explore_graph
from proofs_tests.places import EXAMPLES
from proofs_tests.program_templates import regions
from wingspan import ProgramError, api
from wingspan.elaborate import Elaborated
from wingspan.elaborate.opening import open_program
from wingspan.explorer import Verdict
from wingspan.plan.identity import depends_on
from wingspan.plan.pipeline import lower
from wingspan.results.comparison import difference, run_to_end
from wingspan.testing import campaign
from wingspan.testing.left_open import LeftOpen, machine

REFERENCE = api.engine("reference")
STATIC, DYNAMIC = "static_schedule()", "dynamic_schedule({})"

NESTED = """
dev = cpu(:dev, nt)
far = cpu(:far, mt, dev)
x = Tensor(Dense(Element(0)), [1, 2, 3, 4, 5, 6, 7])
C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 7, 7)
s = Tensor(Merge(dev, SparseDict(Element(0))), 7)
w = Tensor(Merge(far, SparseDict(Element(0))), 7)
C .= 0
s .= 0
for j = parallel(_, dev, sch)
    w .= 0
    for i = parallel(_, far, inner)
        w[i] += x[i] * x[j]
    end
    for i = _
        s[i] += w[i]
    end
    for i = _
        if i <= j
            C[i, j] = x[i]
        end
    end
end
return C, s
"""


def nested(nt: int, mt: int, sch: str, inner: str) -> Elaborated:
    return api.bind(api.parse(NESTED), params={"nt": nt, "mt": mt, "sch": sch, "inner": inner})


# ------------------------------------------------------------------------------------------------------------ one plan


def test_programs_that_differ_in_numbers_only_have_one_plan() -> None:
    """For each kind of schedule, on nested devices with shards and copies of both; the numbers are its parameters."""
    kinds: Counter[str] = Counter()
    for k, (dynamic, within) in enumerate(product((False, True), repeat=2)):
        plans, keys = set(), set()
        for nt, mt in ((1, 1), (1000, 7)):
            schedules = (DYNAMIC.format(nt) if dynamic else STATIC, DYNAMIC.format(mt + 7) if within else STATIC)
            general = open_program(nested(nt, mt, *schedules))
            chunks = {"chunk of j": nt} if dynamic else {}
            chunks |= {"chunk of i": mt + 7} if within else {}
            assert general.numbers == {"threads of dev": nt, "threads of far": mt, **chunks}
            plan = lower(general)
            assert {name for name, _ in plan.parameters} == general.numbers.keys()
            plans.add(repr(plan))
            keys.add(depends_on(general))
            kinds[repr(plan)] = k
        assert (len(plans), len(keys)) == (1, 1)
    assert len(kinds) == 4


def test_loops_over_one_index_have_chunks_of_their_own() -> None:
    loop = "for i = parallel(1:9, cpu(2), dynamic_schedule({}))\n    c[i] += 1\nend\n"
    text = "c = Tensor(Dense(Element(0)), 9)\nc .= 0\n" + "".join(map(loop.format, (3, 5, 5)))
    numbers = open_program(api.bind(api.parse(text + "return c"))).numbers
    chunks = {name: number for name, number in numbers.items() if name.startswith("chunk")}
    assert chunks == {"chunk of i": 3, "chunk of i (2)": 5, "chunk of i (3)": 5}


# ------------------------------------------------------------------------------------------------------------ explored


def alike(bound: Elaborated, **options: Any) -> Verdict:
    """All that exploring finds is the same, but for the time that it takes; what it is."""
    constants, parameters = (explore_graph(make(bound), **options) for make in (api.native, machine))
    assert replace(parameters, seconds=0.0) == replace(constants, seconds=0.0)
    return constants


@pytest.mark.parametrize("name", few(list(PROGRAMS), 9))
def test_every_kind_of_level_is_explored_alike(name: str) -> None:
    """Races, faults, deadlocks, results and the number of interleavings of each; also on one thread."""
    for threads in (None, 1):
        assert alike(api.bind(api.parse(dedent(PROGRAMS[name])), threads=threads)).complete


def test_random_programs_are_explored_alike() -> None:
    """Safe or not, with several regions, nested ones and every modifier, on one to three threads."""
    seen: Counter[str] = Counter()
    for seed in range(many(160)):
        text = regions(seed)
        found = alike(api.bind(api.parse(text), threads=seed % 3 + 1), max_states=400)
        seen.update(name for name in ("Mutex", "Isolate", "Shard", "Merge", "dynamic", "for l") if name in text)
        seen[found.verdict] += 1
        seen["complete"] += found.complete
    assert min(seen[name] for name in ("Shard", "Merge", "dynamic", "for l", "race")) >= due(8), seen
    assert seen["complete"] >= due(40), seen


# -------------------------------------------------------------------------------------------------------------- results


def same(bound: Elaborated) -> None:
    """With the numbers as parameters it computes what the reference does."""
    ends = [run_to_end(bound, engine) for engine in (REFERENCE, LeftOpen())]
    assert (found := difference(ends[0], ends[1], bound.outputs)) is None, found


@pytest.mark.parametrize(
    ("schedule", "nt"),
    few(list(product([STATIC, DYNAMIC.format(1), DYNAMIC.format(2), DYNAMIC.format(2**63 - 1)], [3, 1, 2, 20])), 3),
)
def test_any_numbers_compute_the_same(nt: int, schedule: str) -> None:
    """One thread, more threads than iterations, chunks longer than the loop; of nested devices, either way around."""
    same(nested(nt, 2, schedule, DYNAMIC.format(3)))
    same(nested(2, nt, DYNAMIC.format(3), schedule))


@pytest.mark.parametrize("part", few(range(2), 1))
def test_random_safe_programs_agree(part: int) -> None:
    """On one to four threads, static and dynamic; many more of them go through bench/campaign.py."""
    done = campaign(["reference"], [LeftOpen(), "native"], examples=many(80), inputs=2, dealt=2, first_seed=4321 + part)
    assert done.texts >= due(40) and done.cases >= due(75), done


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nt": 1001, "sch": STATIC}, "a number of threads is at most 1000, not 1001"),
        ({"nt": 0, "sch": STATIC}, "a number of threads is an integer of at least 1, not 0"),
        ({"nt": 2, "sch": DYNAMIC.format(0)}, "a chunk size is an integer of at least 1, not 0"),
    ],
)
def test_numbers_have_limits(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        api.bind(EXAMPLES / "spadd.ws", params=params, symbolic=True)
