"""Printed C of safe programs has no data race in the sense of C11. `make tsan` looks at many more programs."""

from __future__ import annotations

import pytest

from proofs_tests import sanitized
from proofs_tests.sanitized_c import LOCKED, RACE, SEEDS, THREADS, can_compile, printed, race
from wingspan import api

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not can_compile(THREADS), reason="there is no compiler with ThreadSanitizer"),
]


@pytest.mark.parametrize("name", ["spgemm_gustavson", "locked"])
def test_a_safe_program_as_c_has_no_data_race(name):
    """Buffers that grow while others look at them, chunks claimed while it runs; locks."""
    programs = [sanitized.ready(name, api.bind(api.parse(LOCKED)))] if name == "locked" else sanitized.examples([name])
    assert race(printed(list(programs)[-1]), 3) is None


@pytest.mark.parametrize("seed", SEEDS[:3], ids=lambda seed: seed.name)
def test_a_race_that_is_seeded_in_printed_c_is_reported(seed):
    report = race(seed.files(), 20)
    assert report is not None and RACE in report
