"""The JSON Schemas of all that is printed or has `to_dict`."""

from __future__ import annotations

import difflib
from typing import Any

from wingspan.base.documents import SCHEMA
from wingspan.base.errors import InputError
from wingspan.base.json_types import Error
from wingspan.base.schemas import json_schema
from wingspan.views import json_types as types

KINDS: dict[str, tuple[type[Any], ...]] = {
    "check": (types.Check,),
    "explore": (types.Explore,),
    "replay": (types.Replay, types.Fault, types.Deadlock),
    "step": (),
    "run": (types.Run,),
    "diff": (types.Diff,),
    "stress": (types.Stress,),
    "plan": (types.Plan,),
    "passes": (types.Passes,),
    "emit-c": (types.EmitC,),
    "fmt": (types.Fmt,),
    "sweep": (types.Sweep,),
    "parallelize": (types.Parallelize,),
    "judge": (types.Judge,),
    "prove": (types.Prove,),
    "tensor": (types.Tensor,),
    "kernel": (types.Kernel,),
    "demo": (types.Demo,),
    "cache": (types.Cache,),
    "convert": (types.Convert,),
    "show": (types.Show,),
    "error": (Error,),
}
"""The documents, by the verbs that print them or the results whose `to_dict` they are. Further types are those that a
document refers to by name."""


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one of the KINDS: of what a verb prints with --json, or of a result's `to_dict()`."""
    if kind not in KINDS:
        close = difflib.get_close_matches(kind, KINDS, n=1)
        fix = f"did you mean {close[0]}?" if close else f"use {', '.join(KINDS)}"
        raise InputError(f"there is no schema {kind}", fix=fix)
    if kind == "step":
        from wingspan.trace import SCHEMA as TRACE  # computes traces, too

        return TRACE
    made = json_schema(f"wingspan {kind}, schema {SCHEMA}", *KINDS[kind])
    made["properties"]["schema"] = {"const": SCHEMA}
    made["required"].append("schema")
    return made
