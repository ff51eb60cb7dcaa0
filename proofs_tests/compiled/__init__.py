"""Tests of compiled."""

import pytest

from wingspan.compiled import build

needs_compiler = pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")
