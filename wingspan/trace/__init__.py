"""Runs to look at: the states of a small program, what leads from each to the next, and why.

`document` has all of it as plain data, for pages. It is made from a `Trace`, which finds states when asked for them.
"""

from wingspan.trace.document import SCHEMA, VERSION, document
from wingspan.trace.graph import Edge, Node, Trace

__all__ = ["SCHEMA", "VERSION", "Edge", "Node", "Trace", "document"]
