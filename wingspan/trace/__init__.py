"""The states of a small program, the steps between them, and their derivations.

`document` gives all of this as plain data, for pages. A `Session` is one walk through the states, for steppers. Both
use a `Trace`, which computes states on demand.
"""

from wingspan.trace.document import SCHEMA, VERSION, document, document_of
from wingspan.trace.graph import Edge, Node, Trace
from wingspan.trace.session import Session

__all__ = ["SCHEMA", "VERSION", "Edge", "Node", "Session", "Trace", "document", "document_of"]
