"""JSON documents: the number of their schema, numbers that JSON does not have, and text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

SCHEMA = 1
"""The number in every printed object. It changes when a member is removed or means something else."""


def with_schema(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the number of its schema, and `finite` numbers."""
    made: dict[str, Any] = finite({"schema": SCHEMA, **value})
    return made


def finite(value: Any) -> Any:
    """The value with text in place of Inf, -Inf and NaN, as programs write them."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if value != value else "Inf" if value > 0 else "-Inf"
        case dict():
            return {name: finite(part) for name, part in value.items()}
        case list() | tuple():
            return [finite(part) for part in value]
    return value


def text(value: Mapping[str, Any], indent: int | None = None) -> str:
    """An object as text: in one line, unless lines are to be indented."""
    import json  # not for each command

    return json.dumps(value, allow_nan=False, indent=indent)
