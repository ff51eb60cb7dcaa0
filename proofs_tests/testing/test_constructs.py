"""Random programs with one construct in most of them: all engines compute the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs_tests.effort import many
from wingspan.testing import campaign, safe_programs
from wingspan.testing.cases import SAFER

OPTIONS = {
    "missing": replace(SAFER, missing=2),
    "functions": replace(SAFER, functions=2),
    "shifted": replace(SAFER, shifted=2),
    "guarded": replace(SAFER, guarded=2),
    "pairs": replace(SAFER, pairs=2),
    "assertions": replace(SAFER, assertions=2),
    "in place": replace(SAFER, in_place=1),
}
CASES = [
    ("missing", 9_000, 100), ("missing", 9_001, 100), ("functions", 9_000, 75), ("functions", 9_001, 75),
    ("shifted", 7_000, 150), pytest.param("shifted", 7_001, 150, marks=pytest.mark.deep), ("guarded", 9_000, 150),
    ("pairs", 5_000, 40), ("assertions", 9_000, 75), ("in place", 9_000, 75),
]  # fmt: skip
"""The constructs of the programs, the first seed, and the number of programs."""


@pytest.mark.parametrize(("construct", "first_seed", "programs"), CASES)
def test_random_programs_compute_the_same_in_every_engine(construct: str, first_seed: int, programs: int) -> None:
    """Rules, reference, register machine and plan, on one to four threads, in every format."""
    texts = safe_programs(OPTIONS[construct])
    if construct == "pairs":
        texts = texts.filter(lambda text: "minby" in text or "maxby" in text)
    engines = ["semantics", "reference"], ["native", "native-controlled"]
    found = campaign(*engines, programs=texts, examples=many(programs), first_seed=first_seed)
    assert found.cases + found.undecided >= many(programs) and found.undecided <= many(programs) // 5, found
