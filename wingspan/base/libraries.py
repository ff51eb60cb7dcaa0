"""Large libraries, each loaded when something of it is first used.

Loading NumPy and SciPy takes longer than to check a small program, which uses neither.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


def _load(name: str) -> ModuleType:
    """The library. MemoryError if there is no room for its code."""
    try:
        return import_module(name)
    except ImportError as error:
        if "failed to map segment" in str(error):  # as the dynamic loader says it
            raise MemoryError(str(error)) from error
        raise


def _defer(name: str) -> Any:
    """A module with the attributes of a library, which are looked up there when they are first asked for."""
    deferred = ModuleType(name)

    def load(attribute: str) -> Any:
        found = getattr(_load(name), attribute)
        setattr(deferred, attribute, found)  # from then on it is found without a call
        return found

    deferred.__getattr__ = load  # type: ignore[method-assign]
    return deferred


isl = _defer("islpy")
np = _defer("numpy")
scipy = _defer("scipy")
