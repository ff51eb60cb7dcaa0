"""Compiled programs stay within the arrays that are lent to them, also where they look ahead."""

from __future__ import annotations

import subprocess

import pytest

from proofs_tests.sanitized_c import LENT, lent
from wingspan.compiled.build import compiler


def has_checker() -> bool:
    """Whether the compiler has AddressSanitizer."""
    command = [*(compiler() or [""]), *LENT, "-x", "c", "-", "-o", "/dev/null"]
    return bool(compiler()) and subprocess.run(command, input=b"int main(void) {}").returncode == 0


@pytest.mark.deep
@pytest.mark.skipif(not has_checker(), reason="there is no compiler with AddressSanitizer")
@pytest.mark.parametrize("name", ["spgemm_gustavson", "spmspv"])
def test_no_access_is_beyond_a_lent_array(name: str) -> None:
    assert not list(lent([name]))
