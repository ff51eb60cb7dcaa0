"""Run the test suite of the array API standard on the functions of lazy arrays.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install ndindex pytest-json-report
    python bench/array_api.py array-api-tests --max-examples 5 --disable-deadline

All further arguments are pytest's. Tests of functions that the namespace does not have are skipped;
`array_api_xfails.txt` lists those of others that fail, each with its reason. The suite takes arrays apart element by
element, each by a program of its own, so five examples of each test take a while.

Lazy arrays have three types of elements. The suite skips the others, but needs their names, and a complex type: it gets
integers of 64 bits for all others, and a copy of it is run that can be imported without complex numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from wingspan.api import namespace

HERE = Path(__file__).parent
XFAILS = HERE / "array_api_xfails.txt"
MODULE = "wingspan_array_api"

INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
SKIPPED = (*INTEGERS, "float32", "complex64", "complex128")

NEEDS_COMPLEX = "for dt in complex_dtypes], key=lambda x: x[1]\n"


class Adapter(ModuleType):
    """The namespace, with the types that it lacks under the names of those that it has."""

    def __getattr__(self, name: str) -> Any:
        if name in INTEGERS:
            return namespace.int64
        return np.dtype(name) if name in SKIPPED else getattr(namespace, name)

    def __dir__(self) -> list[str]:
        return dir(namespace)


class SkipsMissing:
    """Skips the tests of functions of the standard that the namespace does not have."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark them, by the names that are in theirs."""
        stubs = import_module("array_api_tests.stubs")
        missing = {*stubs.name_to_func, *stubs.EXTENSIONS} - {*dir(namespace), "__array_namespace_info__"}
        missing = {name for name in missing if not name.startswith("__")}
        for item in items:
            tested = {
                item.name.partition("[")[0].removeprefix("test_"),
                *re.findall(r"\w+", item.name.partition("[")[2]),
            }
            if lacking := sorted(tested & missing):
                item.add_marker(pytest.mark.skip(reason=f"the namespace has no {lacking[0]}"))


def main(suite: Path, options: list[str]) -> int:
    """Run the suite in a folder; return pytest's status."""
    sys.modules[MODULE] = Adapter(MODULE)
    os.environ["ARRAY_API_TESTS_MODULE"] = MODULE
    os.environ["ARRAY_API_TESTS_VERSION"] = namespace.__array_api_version__
    os.environ["ARRAY_API_TESTS_SKIP_DTYPES"] = ",".join(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "suite"
        shutil.copytree(suite, copy, ignore=shutil.ignore_patterns(".git"))
        helpers = copy / "array_api_tests" / "dtype_helpers.py"
        text = helpers.read_text()
        assert text.count(NEEDS_COMPLEX) == 1, "the suite has changed: see whether it needs complex numbers still"
        helpers.write_text(text.replace(NEEDS_COMPLEX, f"{NEEDS_COMPLEX.rstrip()}, default=(None,)\n"))
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        found = [option for option in options if option.startswith("array_api_tests")]
        where = [] if found else ["array_api_tests"]
        return int(
            pytest.main(["-q", "-p", "no:cacheprovider", f"--xfails-file={XFAILS}", *where, *options], [SkipsMissing()])
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
