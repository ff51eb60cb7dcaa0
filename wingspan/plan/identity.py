"""The facts that the plan of a bound program depends on: to recognize an equal one, in this process or the next."""

from __future__ import annotations

from collections.abc import Hashable

from wingspan.base import disk_cache
from wingspan.buffers import staging
from wingspan.elaborate import Elaborated


def depends_on(bound: Elaborated) -> Hashable:
    """All of a program that its plan depends on. Equal programs may stand in different places, so the spans, too."""
    spans = tuple(node.span for node in bound.body.walk())
    tensors = tuple(bound.towers.items()), tuple(bound.extents.items()), tuple(bound.inputs), bound.symbols
    return bound.body, spans, tensors, bound.outputs


def digest_of(bound: Elaborated) -> str | None:
    """A digest of all that the plan of a program depends on, and the verdict about it, for `disk_cache`.

    None if it has levels that are not of this package: what these do may change although nothing here does.
    """
    if any(not type(level).__module__.startswith("wingspan.") for t in bound.towers.values() for level in t.levels):
        return None
    spans = [node.span for node in bound.body.walk()]
    sources = {span.source: None for span in spans if span is not None}
    numbers = {source: k for k, source in enumerate(sources)}
    places = [s and (numbers[s.source], s.line, s.column, s.end_line, s.end_column) for s in spans]
    tensors = tuple(bound.towers.items()), tuple(bound.extents.items()), tuple(bound.inputs), bound.symbols
    return disk_cache.digest_of(
        bound.body, places, list(sources), tensors, bound.outputs, staging.GRAIN, disk_cache.sources()
    )
