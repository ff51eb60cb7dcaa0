"""Python sources, and what tests of names and of layers ask of them: each module of the package is parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from proofs_tests.places import ROOT

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
ASKED = (ast.Name, ast.arg, ast.Import, ast.ImportFrom, ast.Call)
BY_NAME = ("import_module", "__import__")


class Module(NamedTuple):
    """Facts of one module. The syntax trees of all would take 100 MB."""

    functions: list[str]
    """The qualified names of functions and methods."""
    classes: list[str]
    docstrings: list[tuple[int, str]]
    """Line and text of each, those of constants and fields among them."""
    variables: set[str]
    """The names of all parameters and variables."""
    imports: list[tuple[int, str]]
    """Line and dotted name of all that is imported."""


def read(source: str, package: str = "") -> Module:
    """The facts of a module of `package`, of its source."""
    tree = ast.parse(source)
    below = list(definitions(tree))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ASKED)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return Module(
        [name for name, node in below if not isinstance(node, ast.ClassDef)],
        [name for name, node in below if isinstance(node, ast.ClassDef)],
        docstrings(tree),
        names | {node.arg for node in nodes if isinstance(node, ast.arg)},
        [each for node in nodes for each in imports(node, package)],
    )


@cache
def modules() -> dict[str, Module]:
    """All modules of the package, by their paths in the repository."""
    paths = sorted((ROOT / "wingspan").rglob("*.py"))
    names = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {name: read(path.read_text("utf-8"), package_of(name)) for name, path in names.items()}


def package_of(path: str) -> str:
    """The dotted name of the package that a module is in, or is."""
    return path.rpartition("/")[0].replace("/", ".")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements, handlers and cases below a node."""
    for block in BLOCKS:
        for child in getattr(node, block, ()):
            yield child
            yield from statements(child)


def docstrings(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and text of each string that stands alone."""
    texts = (node.value for node in statements(tree) if isinstance(node, ast.Expr))
    return [(text.lineno, text.value) for text in texts if isinstance(text, ast.Constant) and type(text.value) is str]


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """All functions and classes below a node, each with its qualified name."""
    for block in BLOCKS:
        for child in getattr(node, block, ()):
            inner = prefix
            if isinstance(child, Definition):
                yield f"{prefix}{child.name}", child
                inner = f"{prefix}{child.name}."
            yield from definitions(child, inner)


def imports(node: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of all that a node imports, each name of a `from` import on its own.

    The names of modules that are imported by a string count; of a name that is put together, its beginning.
    """
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, base] if base else parents)
        yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_NAME:
        name = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
        if isinstance(name, ast.Constant):
            yield node.lineno, str(name.value)
