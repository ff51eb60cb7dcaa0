"""The imports between layers that docs and code rely on, read from the source of every module."""

from __future__ import annotations

import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from proofs_tests.sources import Module, modules, package_of, read

LEVELS = {"base", "lang", "buffers", "levels"}
BOUND = LEVELS | {"tensors", "results.outcome", "elaborate"}
"""The parts of a bound program."""
CONSUMERS = {
    "reference",
    "explorer",
    "semantics",
    "dependence",
    "proof",
    "plan",
    "runtime",
    "native",
    "compiled",
    "accesses",
    "happens_before",
    "isolation",
    "results.comparison",
    "results.cross_exploration",
    "results.histogram",
    "results.listing",
    "results.tally",
    "results.words",
}
BELOW_API = BOUND | CONSUMERS | {"choices", "program"}

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "version": set(),
    "lang": {"base"},
    "buffers": {"base", "lang"},
    "levels": {"base", "lang", "buffers"},
    "tensors": LEVELS,
    "results.outcome": {"base", "lang"},
    "program": {"base", "lang"},
    "elaborate": LEVELS | {"tensors"},
    "reference": {"base", "lang.ir"},
    "explorer": {"base"},
    "semantics": BOUND | {"explorer"},
    "dependence": BOUND,
    "proof": BOUND | {"dependence"},
    "choices": BOUND | {"dependence", "program"},
    "plan.roles": {"base.dataclass"},
    "plan.ir": {"base", "lang", "plan.roles"},
    "plan.kernels": {"lang", "plan.roles", "plan.ir", "plan.fold"},
    "plan.show": {"base", "lang", "plan.ir", "plan.kernels"},
    "plan.uses": {"plan.ir", "plan.roles"},
    "plan.ranges": {"lang", "plan.ir"},
    "plan.fold": {"lang", "plan.ir"},
    "plan.layout": LEVELS | {"plan.ir", "plan.fold"},
    "plan.lowering": BOUND | {"plan.ir", "plan.kernels", "plan.uses", "plan.ranges", "plan.fold", "plan.layout"},
    "plan.passes": {
        "base.dataclass",
        "lang",
        "plan.ir",
        "plan.kernels",
        "plan.roles",
        "plan.uses",
        "plan.ranges",
        "plan.fold",
    },
    "plan.identity": {"base", "buffers", "elaborate"},
    "plan.pipeline": {"base", "elaborate", "plan.ir", "plan.lowering", "plan.passes"},
    "runtime": {"base", "lang", "buffers", "levels", "tensors", "plan"},
    "native": BOUND | {"explorer", "plan", "runtime"},
    "compiled": BOUND | {"plan", "runtime"},
    "accesses": {"base", "explorer"},
    "happens_before": {"base", "accesses", "explorer"},
    "results.comparison": BOUND,
    "results.cross_exploration": BOUND | {"explorer", "results.comparison"},
    "results.histogram": BOUND | {"explorer"},
    "results.listing": {"lang", "results.outcome"},
    "results.tally": {"base", "lang", "results.comparison"},
    "results.words": {"base", "lang", "explorer"},
    "isolation": BOUND | {"results.comparison"},
    "api": BELOW_API,
    "trace": BELOW_API | {"api"},
    "views": BELOW_API | {"api", "trace", "version"},
    "console": BELOW_API | {"api", "views"},
    "editing": BELOW_API | {"api", "trace", "views"},
    "lsp": {"base", "editing"},
    "play": BELOW_API | {"api", "trace", "views", "editing"},
    "cli": BELOW_API | {"api", "trace", "views", "console", "editing", "lsp", "play", "wingspan"},
    "wingspan": BELOW_API | {"api", "version", "views.paint", "views.schemas", "views.renderer"},
    "testing": BELOW_API | {"api"},
    "pytest_plugin": {"testing"},
    "__main__": {"cli"},
    "notebook": BELOW_API | {"api", "trace", "views", "cli"},
}
"""The allowed imports of each unit: a package or module below `wingspan`, and in `plan` each part of it. A name
stands for all units inside of it, too; `wingspan` is __init__.py.
"""

NO_PARSER = {"semantics", "dependence", "proof", "choices", "plan", "runtime", "native", "compiled"}

LIBRARIES: dict[str, set[str]] = {
    "reference": {"numpy"},
    "explorer": {"distributed"},
    "base": {"msgspec", "platformdirs"},
}
"""The units that may import only these libraries besides Python's own."""

OUTSIDE = {"proofs_tests", "bench", "examples"}
PACKAGES = {name.split(".")[0] for name in ALLOWED}

REMEDIES = {
    "outside": "move what is needed into wingspan",
    "library": "do it with Python's own library, or do it in another layer",
    "reference": "write it anew over dense arrays: what the oracle shares with the others it cannot check",
    "explorer": "ask for it through the Machine protocol in wingspan/explorer/machine.py",
    "parser": "take the elaborated program as an argument and let wingspan/api parse",
    "views": "return plain data and let wingspan/cli hand it to wingspan.views",
    "siblings": "join the two in wingspan/api, or move what both need down to wingspan.elaborate",
    "wingspan": "import the name from the module that defines it",
    "unknown": "give the unit a layer: add it to ALLOWED in proofs_tests/test_layers.py",
    "upward": "move what is needed down into a layer that may be imported here, or call it from wingspan/api",
}


def remedy(unit: str, target: str) -> str | None:
    """None when `unit` may import the dotted `target`, else what to do instead."""
    top, *rest = target.split(".")
    if top in OUTSIDE:
        return REMEDIES["outside"]
    if top != "wingspan":
        foreign = unit in LIBRARIES and top not in sys.stdlib_module_names | LIBRARIES[unit]
        return REMEDIES["library"] if foreign else None
    other = unit_of(rest) if rest and rest[0] in PACKAGES else "wingspan"
    if unit not in ALLOWED:
        return REMEDIES["unknown"]
    if unit.split(".")[0] in NO_PARSER and (rest[:2] == ["lang", "parser"]):
        return REMEDIES["parser"]
    if other == unit or any(rest[: len(a.split("."))] == a.split(".") for a in ALLOWED[unit]):
        return None
    if other == "wingspan":
        return None if "wingspan" in ALLOWED[unit] else REMEDIES["wingspan"]
    return REMEDIES[reason(unit, other)]


def unit_of(parts: list[str]) -> str:
    """The innermost unit that a module below `wingspan` belongs to; its package or its name if it is unknown."""
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in ALLOWED), parts[0])


def reason(unit: str, other: str) -> str:
    """The remedy for a forbidden import of `other`."""
    if unit in ("reference", "explorer"):
        return unit
    if other == "views":
        return other
    apart = {"semantics", "dependence", "plan", "native", "compiled", "reference"}
    here, there = unit.split(".")[0], other.split(".")[0]
    return "siblings" if here in apart and there in apart and here != there else "upward"


def violations(path: str, module: Module) -> list[str]:
    """The forbidden imports of the module at `path` (relative to the repository), one message each."""
    parts = Path(path).with_suffix("").parts
    unit = "wingspan" if parts[1] == "__init__" else unit_of(list(parts[1:]))
    advised = [(line, target, remedy(unit, target)) for line, target in module.imports]
    return [f"{path}:{line}: {unit} imports {name}\n    remedy: {advice}" for line, name, advice in advised if advice]


def test_the_package_keeps_its_layers():
    """All imports of all modules, also those inside functions and under TYPE_CHECKING."""
    assert len(modules()) > 100
    found = [message for path, module in modules().items() for message in violations(path, module)]
    assert not found, "forbidden imports:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "target", "why"),
    [
        ("wingspan/lang/parser.py", "from wingspan.levels import base", "wingspan.levels.base", "upward"),
        ("wingspan/levels/dense.py", "import wingspan.semantics.config", "wingspan.semantics.config", "upward"),
        ("wingspan/levels/dense.py", "from ..semantics import config", "wingspan.semantics.config", "upward"),
        ("wingspan/levels/dense.py", "from .. import tensors", "wingspan.tensors", "upward"),
        ("wingspan/base/errors.py", "def f():\n    from .. import lang", "wingspan.lang", "upward"),
        ("wingspan/base/display.py", "import_module('wingspan.views.renderer')", "wingspan.views.renderer", "views"),
        ("wingspan/levels/dense.py", "importlib.import_module('wingspan.api')", "wingspan.api", "upward"),
        ("wingspan/lang/ir.py", "x = __import__(f'wingspan.plan.{x}')", "wingspan.plan.", "upward"),
        ("wingspan/semantics/rules/serial.py", "from ...dependence import x", "wingspan.dependence.x", "siblings"),
        ("wingspan/plan/lowering/lower.py", "from wingspan import semantics", "wingspan.semantics", "siblings"),
        ("wingspan/dependence/advice.py", "from wingspan.native import run", "wingspan.native.run", "siblings"),
        ("wingspan/semantics/machine.py", "from wingspan.lang import parser", "wingspan.lang.parser", "parser"),
        ("wingspan/plan/ir.py", "from wingspan.lang.parser import parse", "wingspan.lang.parser.parse", "parser"),
        ("wingspan/reference/evaluator.py", "from wingspan.lang import devices", "wingspan.lang.devices", "reference"),
        ("wingspan/reference/evaluator.py", "from wingspan.levels import dense", "wingspan.levels.dense", "reference"),
        ("wingspan/reference/evaluator.py", "import scipy.sparse", "scipy.sparse", "library"),
        ("wingspan/explorer/dpor.py", "from wingspan.lang import ir", "wingspan.lang.ir", "explorer"),
        ("wingspan/explorer/dpor.py", "import numpy as np", "numpy", "library"),
        ("wingspan/api/__init__.py", "from wingspan.views import view", "wingspan.views.view", "views"),
        ("wingspan/views/html.py", "from wingspan import cli", "wingspan.cli", "upward"),
        ("wingspan/trace/graph.py", "from wingspan.views import steps", "wingspan.views.steps", "views"),
        ("wingspan/api/exploring.py", "from wingspan.trace import Trace", "wingspan.trace.Trace", "upward"),
        ("wingspan/tensors/tensor.py", "from wingspan import run", "wingspan.run", "wingspan"),
        ("wingspan/cli/running.py", "from bench import spgemm", "bench.spgemm", "outside"),
        ("wingspan/levels/dense.py", "import proofs_tests.witness", "proofs_tests.witness", "outside"),
        ("wingspan/buffers/linear.py", "from wingspan.levels import Tower", "wingspan.levels.Tower", "upward"),
        ("wingspan/plan/ir.py", "from wingspan.plan.fold import op", "wingspan.plan.fold.op", "upward"),
        ("wingspan/plan/passes/dead_code.py", "from ..lowering import build", "wingspan.plan.lowering.build", "upward"),
        ("wingspan/native/engine.py", "from wingspan.compiled import emit_c", "wingspan.compiled.emit_c", "siblings"),
        ("wingspan/plan/layout.py", "from wingspan.native import engine", "wingspan.native.engine", "siblings"),
        ("wingspan/plan/novel.py", "import wingspan.base.errors", "wingspan.base.errors", "unknown"),
        ("wingspan/novel.py", "import wingspan.base.errors", "wingspan.base.errors", "unknown"),
    ],
)
def test_a_forbidden_import_is_caught(path, source, target, why):
    """The message names file, line, import and remedy."""
    line, found = source.count("\n") + 1, violations(path, read(source, package_of(path)))
    unit = unit_of(path.removesuffix(".py").split("/")[1:])
    assert found == [f"{path}:{line}: {unit} imports {target}\n    remedy: {REMEDIES[why]}"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("wingspan/levels/dense.py", "from .base import Level\nfrom ..lang.ir import Fiber"),
        ("wingspan/levels/__init__.py", "from . import dense, base"),
        ("wingspan/semantics/machine.py", "from wingspan.explorer.machine import Machine"),
        ("wingspan/semantics/machine.py", "import immutables\nfrom wingspan.lang import ir"),
        ("wingspan/reference/evaluator.py", "import math\nimport numpy as np\nfrom wingspan.lang import ir"),
        ("wingspan/api/__init__.py", "from wingspan.dependence import check\nfrom wingspan.native import run"),
        ("wingspan/cli/running.py", "import wingspan\nfrom wingspan.views import html"),
        ("wingspan/__init__.py", "from wingspan.api import run\nfrom .base.errors import Fault"),
        ("wingspan/__main__.py", "from wingspan.cli import main"),
    ],
)
def test_an_allowed_import_passes(path, source):
    assert violations(path, read(source, package_of(path))) == []


def test_the_layers_have_no_cycle():
    """ALLOWED is an order. CycleError names the units that import each other."""

    def inside(name: str) -> set[str]:
        return {unit for unit in ALLOWED if f"{unit}.".startswith(f"{name}.") or f"{name}.".startswith(f"{unit}.")}

    below = {unit: set().union(*map(inside, allowed)) for unit, allowed in ALLOWED.items()}
    TopologicalSorter(below).prepare()


def test_no_two_modules_import_each_other():
    """Inside of a unit, too, and what only type checkers import counts. CycleError names the modules in a circle."""
    named = {".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()}
    graph: dict[str, set[str]] = {}
    for name, path in named.items():
        targets = (target for _, target in modules()[path].imports if not target.endswith("."))
        found = (each if each in named else each.rpartition(".")[0] for each in targets)
        graph[name] = {each for each in found if each in named}
    assert sum(map(len, graph.values())) > 2 * len(named)
    TopologicalSorter(graph).prepare()
