"""The JSON Schemas (2020-12) of all that is printed or has `to_dict`; `schemas.json` beside this file has them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from wingspan.base.documents import SCHEMA
from wingspan.base.errors import InputError

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
        "$defs": {name: every["$defs"][name] for name in sorted(_used_definitions(kind, every["$defs"]))},
    }


@cache
def _definitions() -> Any:
    return json.loads(files("wingspan.base").joinpath("schemas.json").read_text("utf-8"))


def _used_definitions(name: str, every: dict[str, Any]) -> set[str]:
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
