"""The states of a small program, the steps between them, and their derivations.

`document` gives all of this as plain data, for pages. A `Session` is one walk through the states, for steppers. Both
use a `Trace`, which computes states on demand.
"""

from typing import Any

from wingspan.trace.document import VERSION, document, document_of
from wingspan.trace.graph import Trace, TraceEdge, TraceNode
from wingspan.trace.session import Session

__all__ = ["SCHEMA", "VERSION", "Session", "Trace", "TraceEdge", "TraceNode", "document", "document_of"]


def __getattr__(name: str) -> Any:
    """SCHEMA, the JSON Schema of the trace document, is made when it is first asked for."""
    if name != "SCHEMA":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from wingspan.trace.json_types import SCHEMA

    return SCHEMA
