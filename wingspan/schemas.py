"""What all JSON of this package has in common: the number and the schemas that it is by, errors, and its text.

`schemas.json` beside this file describes every kind of result (JSON Schema 2020-12). Members are added without a new
number; SCHEMA changes when one is removed or means something else.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from wingspan.errors import Diagnostic, InputError, printable

SCHEMA = 1
"""The number that every object says which is printed."""
NAMES = (
    *("check", "explore", "replay", "step", "run", "diff", "stress", "plan", "passes", "emit-c", "fmt", "sweep"),
    *("parallelize", "judge", "tensor", "kernel", "demo", "cache", "convert", "show", "error"),
)
"""What there is JSON of: the verbs that print some, and what else has `to_dict`."""


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one of the NAMES: of what a verb prints with --json, or of a result's `to_dict()`."""
    if kind == "step":
        made: dict[str, Any] = json.loads(files("wingspan").joinpath("trace/schema.json").read_text("utf-8"))
        return made
    if kind not in NAMES:
        close = difflib.get_close_matches(kind, NAMES, n=1)
        fix = f"did you mean {close[0]}?" if close else f"use {', '.join(NAMES)}"
        raise InputError(f"there is no schema {kind}", fix=fix)
    every = _definitions()
    return {
        "$schema": every["$schema"],
        "title": f"wingspan {kind}, schema {SCHEMA}",
        "properties": {"schema": {"const": SCHEMA}},
        "required": ["schema"],
        "$ref": f"#/$defs/{kind}",
        "$defs": {name: every["$defs"][name] for name in sorted(_used(kind, every["$defs"]))},
    }


@cache
def _definitions() -> Any:
    return json.loads(files("wingspan").joinpath("schemas.json").read_text("utf-8"))


def _used(name: str, every: dict[str, Any]) -> set[str]:
    """The definitions that one is made of, itself included."""
    found, new = set(), {name}
    while new:
        found |= new
        new = {each for some in new for each in _references(every[some])} - found
    return found


def _references(node: Any) -> Iterator[str]:
    match node:
        case dict():
            if "$ref" in node:
                yield node["$ref"].rpartition("/")[2]
            for part in node.values():
                yield from _references(part)
        case list():
            for part in node:
                yield from _references(part)


def numbered(value: dict[str, Any]) -> dict[str, Any]:
    """An object that says by which schema it is, without numbers that JSON does not have: Inf and NaN become text."""
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


def text(value: dict[str, Any], indent: int | None = None) -> str:
    """An object as text: in one line, unless lines are to be indented."""
    return json.dumps(value, allow_nan=False, indent=indent)


def error(mistakes: Sequence[Diagnostic]) -> dict[str, Any]:
    """What is wrong: the first mistake, and others that do not follow from it."""
    first, *others = map(_mistake, mistakes)
    return numbered({"error": first, "others": others})


def _mistake(mistake: Diagnostic) -> dict[str, Any]:
    span = mistake.span
    return {
        "topic": mistake.topic,
        "message": printable(mistake.message),
        "file": span and span.source.name,
        "line": span and span.line,
        "column": span and span.column,
        "fix": dict(mistake.notes).get("fix"),
    }
