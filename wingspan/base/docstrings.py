"""Docstrings that are data: drawings of rules, what passes and verbs do. `python -OO` drops them; sources have them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent
from types import ModuleType
from typing import Any


def docstring(thing: ModuleType | Callable[..., Any]) -> str:
    """The docstring of a module or a function, without indentation; empty if it has none."""
    if thing.__doc__ is None:
        tree = ast.parse(dedent(inspect.getsource(thing)))
        node = tree if isinstance(thing, ModuleType) else tree.body[0]
        assert isinstance(node, ast.Module | ast.FunctionDef)
        return ast.get_docstring(node) or ""
    return inspect.getdoc(thing) or ""
