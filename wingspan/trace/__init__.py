"""Runs to look at: the states of a small program, what leads from each to the next, and why.

`document` has all of it as plain data, for pages; a `Session` is one walk, for steppers. Both are made from a `Trace`,
which finds states when asked for them.
"""

from wingspan.trace.document import SCHEMA, VERSION, document, document_of
from wingspan.trace.graph import Edge, Node, Trace
from wingspan.trace.session import Session

__all__ = ["SCHEMA", "VERSION", "Edge", "Node", "Session", "Trace", "document", "document_of"]
