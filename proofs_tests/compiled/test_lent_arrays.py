"""Compiled programs stay within the arrays that are lent to them, also where they look ahead."""

from __future__ import annotations

import pytest

from proofs_tests.sanitized_c import LENT, can_compile, lent


@pytest.mark.deep
@pytest.mark.skipif(not can_compile(LENT), reason="there is no compiler with AddressSanitizer")
@pytest.mark.parametrize("name", ["spgemm_gustavson", "spmspv"])
def test_no_access_is_beyond_a_lent_array(name: str) -> None:
    assert not list(lent([name]))
