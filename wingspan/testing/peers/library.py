"""Libraries of others, imported when used, and tools of others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from shutil import which
from typing import Any

from wingspan.base.errors import InputError
from wingspan.tensors.tensor import Coordinates


def library(module: str, package: str) -> Any:
    """A module of an installed package. InputError if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        fix = "pip install 'wingspan[engines]'"
        raise InputError(f"this engine needs the package {package}: {error}", fix=fix) from None


def tool(command: Sequence[str], fix: str) -> tuple[str, ...]:
    """The command, with the whole path of its program. InputError with `fix` if there is no such program."""
    found = which(command[0])
    if found is None:
        raise InputError(f"this engine needs {command[0]}, which is not there", fix=fix)
    return (os.path.abspath(found), *command[1:])


def zero_filled(stored: Coordinates) -> Coordinates:
    """The same, for a library in which missing elements are zero."""
    if stored.fill != 0:
        raise NotImplementedError("a fill value other than 0")
    return stored
