"""Numbers of things, as messages say them."""

from __future__ import annotations


def axes(n: int) -> str:
    """A number of axes in words."""
    return "1 axis" if n == 1 else f"{n} axes"


def subscripts(n: int) -> str:
    """A number of subscripts in words."""
    return "1 subscript" if n == 1 else f"{n} subscripts"
