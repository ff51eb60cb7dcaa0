"""Who imports whom: the layers that docs and code rely on, read from the source of every module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

READERS = {"reading", "matrix_market", "numpy_files"}
BELOW_CONSUMERS = {
    "errors", "once", "paths", "lang", "levels", "arrays", "written", "files", "tensor", "outcome", "elaborate",
}  # fmt: skip
CONSUMERS = {"reference", "explorer", "semantics", "dependence", "native", "comparison", "histogram"}
BELOW_API = BELOW_CONSUMERS | CONSUMERS | {"program", "reading"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "once": set(),
    "paths": {"errors"},
    "lang": {"errors", "once", "paths"},
    "levels": {"errors", "lang", "once"},
    "arrays": {"errors", "lang", "levels"},
    "reading": {"errors", "paths"},
    "matrix_market": {"errors", "reading"},
    "numpy_files": {"errors", "reading"},
    "written": {"errors", "paths"},
    "files": {"errors", "paths", "arrays", "once", "written"} | READERS,
    "tensor": {"errors", "paths", "lang", "levels", "arrays", "files"},
    "outcome": {"errors", "lang"},
    "program": {"errors", "paths", "lang", "reading"},
    "elaborate": {"errors", "lang", "levels", "tensor"},
    "reference": {"errors", "lang.ir"},
    "explorer": {"errors", "written"},
    "semantics": BELOW_CONSUMERS | {"explorer"},
    "dependence": BELOW_CONSUMERS,
    "native": BELOW_CONSUMERS | {"explorer"},
    "comparison": BELOW_CONSUMERS,
    "histogram": BELOW_CONSUMERS | {"explorer"},
    "api": BELOW_API,
    "report": BELOW_API | {"api"},
    "began": set(),
    "console": BELOW_API | {"api", "report", "began"},
    "cli": BELOW_API | {"api", "report", "console", "wingspan"},
    "wingspan": BELOW_API | {"api", "began"},
    "testing": BELOW_API | {"api"},
    "__main__": {"cli"},
}
"""What each unit (a package or module right below `wingspan`) may import besides itself; `wingspan` is __init__.py."""

NO_PARSER = {"semantics", "dependence", "native"}

LIBRARIES: dict[str, set[str]] = {"reference": {"numpy"}, "explorer": {"distributed"}, "errors": set(), "once": set()}
"""The units that may import only these libraries besides Python's own."""

OUTSIDE = {"proofs_tests", "bench", "examples"}

REMEDIES = {
    "outside": "move what is needed into wingspan",
    "library": "do it with Python's own library, or do it in another layer",
    "reference": "write it anew over dense arrays: what the oracle shares with the others it cannot check",
    "explorer": "ask for it through the Machine protocol in wingspan/explorer/machine.py",
    "parser": "take the elaborated program as an argument and let wingspan/api.py parse",
    "report": "return plain data and let wingspan/cli.py hand it to wingspan.report",
    "siblings": "join the two in wingspan/api.py, or move what both need down to wingspan.elaborate",
    "wingspan": "import the name from the module that defines it",
    "unknown": "give the unit a layer: add it to ALLOWED in proofs_tests/test_layers.py",
    "upward": "move what is needed down into a layer that may be imported here, or call it from wingspan/api.py",
}


def imports(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of all that a module of `package` imports, each name of a `from` import on its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def remedy(unit: str, target: str) -> str | None:
    """None when `unit` may import the dotted `target`, else what to do instead."""
    top, *rest = target.split(".")
    if top in OUTSIDE:
        return REMEDIES["outside"]
    if top != "wingspan":
        foreign = unit in LIBRARIES and top not in sys.stdlib_module_names | LIBRARIES[unit]
        return REMEDIES["library"] if foreign else None
    other = rest[0] if rest and rest[0] in ALLOWED else "wingspan"
    if unit not in ALLOWED:
        return REMEDIES["unknown"]
    if unit in NO_PARSER and (rest[:2] == ["lang", "parser"]):
        return REMEDIES["parser"]
    if other == unit or any(rest[: len(a.split("."))] == a.split(".") for a in ALLOWED[unit]):
        return None
    if other == "wingspan":
        return None if "wingspan" in ALLOWED[unit] else REMEDIES["wingspan"]
    return REMEDIES[reason(unit, other)]


def reason(unit: str, other: str) -> str:
    """Which remedy fits a forbidden import of `other`."""
    if unit in ("reference", "explorer"):
        return unit
    if other == "report":
        return "report"
    consumers = {"semantics", "dependence", "native", "reference"}
    return "siblings" if unit in consumers and other in consumers else "upward"


def violations(path: str, source: str) -> list[str]:
    """The forbidden imports of the module at `path` (relative to the repository), one message each."""
    parts = Path(path).with_suffix("").parts
    unit = "wingspan" if parts[1] == "__init__" else parts[1]
    package = ".".join(parts[:-1])
    found = []
    for line, target in imports(ast.parse(source), package):
        advice = remedy(unit, target)
        if advice is not None:
            found.append(f"{path}:{line}: {unit} imports {target}\n    remedy: {advice}")
    return found


def test_the_package_keeps_its_layers():
    """All imports of all modules, also those inside functions and under TYPE_CHECKING."""
    paths = sorted((ROOT / "wingspan").rglob("*.py"))
    assert paths
    found = [v for path in paths for v in violations(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))]
    assert not found, "forbidden imports:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "target", "why"),
    [
        ("wingspan/lang/parser.py", "from wingspan.levels import base", "wingspan.levels.base", "upward"),
        ("wingspan/levels/dense.py", "import wingspan.semantics.config", "wingspan.semantics.config", "upward"),
        ("wingspan/levels/dense.py", "from ..semantics import config", "wingspan.semantics.config", "upward"),
        ("wingspan/levels/dense.py", "from .. import tensor", "wingspan.tensor", "upward"),
        ("wingspan/errors.py", "def f():\n    from . import lang", "wingspan.lang", "upward"),
        ("wingspan/semantics/rules/serial.py", "from ...dependence import x", "wingspan.dependence.x", "siblings"),
        ("wingspan/native/lower.py", "from wingspan import semantics", "wingspan.semantics", "siblings"),
        ("wingspan/dependence/advice.py", "from wingspan.native import run", "wingspan.native.run", "siblings"),
        ("wingspan/semantics/machine.py", "from wingspan.lang import parser", "wingspan.lang.parser", "parser"),
        ("wingspan/native/plan.py", "from wingspan.lang.parser import parse", "wingspan.lang.parser.parse", "parser"),
        ("wingspan/reference.py", "from wingspan.lang import devices", "wingspan.lang.devices", "reference"),
        ("wingspan/reference.py", "from wingspan.levels import dense", "wingspan.levels.dense", "reference"),
        ("wingspan/reference.py", "import scipy.sparse", "scipy.sparse", "library"),
        ("wingspan/explorer/dpor.py", "from wingspan.lang import ir", "wingspan.lang.ir", "explorer"),
        ("wingspan/explorer/dpor.py", "import numpy as np", "numpy", "library"),
        ("wingspan/api.py", "from wingspan.report import view", "wingspan.report.view", "report"),
        ("wingspan/report/html.py", "from wingspan import cli", "wingspan.cli", "upward"),
        ("wingspan/tensor.py", "from wingspan import run", "wingspan.run", "wingspan"),
        ("wingspan/cli.py", "from bench import spgemm", "bench.spgemm", "outside"),
        ("wingspan/levels/dense.py", "import proofs_tests.witness", "proofs_tests.witness", "outside"),
        ("wingspan/novel.py", "import wingspan.errors", "wingspan.errors", "unknown"),
    ],
)
def test_a_forbidden_import_is_caught(path, source, target, why):
    """The message names file, line, import and remedy."""
    line = source.count("\n") + 1
    unit = path.removesuffix(".py").split("/")[1]
    assert violations(path, source) == [f"{path}:{line}: {unit} imports {target}\n    remedy: {REMEDIES[why]}"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("wingspan/levels/dense.py", "from .base import Level\nfrom ..lang.ir import Fiber"),
        ("wingspan/levels/__init__.py", "from . import dense, base"),
        ("wingspan/semantics/machine.py", "from wingspan.explorer.machine import Machine"),
        ("wingspan/semantics/machine.py", "import immutables\nfrom wingspan.lang import ir"),
        ("wingspan/reference.py", "import math\nimport numpy as np\nfrom wingspan.lang import ir"),
        ("wingspan/api.py", "from wingspan.dependence import check\nfrom wingspan.native import run"),
        ("wingspan/cli.py", "import wingspan\nfrom wingspan.report import html"),
        ("wingspan/__init__.py", "from wingspan.api import run\nfrom .errors import Fault"),
        ("wingspan/__main__.py", "from wingspan.cli import main"),
    ],
)
def test_an_allowed_import_passes(path, source):
    assert violations(path, source) == []


def test_the_layers_have_no_cycle():
    """ALLOWED is an order: peeling off the units that import nothing left empties it."""
    left = {unit: {a.split(".")[0] for a in allowed} for unit, allowed in ALLOWED.items()}
    while left:
        free = {unit for unit, below in left.items() if not below & left.keys()}
        assert free, f"these import each other: {sorted(left)}"
        left = {unit: below for unit, below in left.items() if unit not in free}
