"""Presentations of a result in Python: one line as `repr`, the command line's text as `str`, HTML in notebooks; JSON.

Results are made in many rooms and drawn by a renderer above all of them. The package installs it, to be loaded when
something is drawn for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from wingspan.base import documents


class Renderer(Protocol):
    """The forms of a result. Each function raises NotImplementedError or TypeError for what it does not know."""

    def short(self, result: Any, /) -> str:
        """The result in one line."""

    def text(self, result: Any, /) -> str:
        """The report that the command line prints."""

    def html(self, result: Any, /) -> str:
        """The result for a notebook."""

    def to_dict(self, result: Any, /) -> dict[str, Any]:
        """The result as an object of JSON."""

    def to_sarif(self, result: Any, /) -> str:
        """The findings of the result in SARIF."""

    def to_junit(self, result: Any, /) -> str:
        """The findings of the result in JUnit's XML."""


_load: list[Callable[[], Renderer]] = []


def install(load: Callable[[], Renderer]) -> None:
    """Draw results with the renderer that `load` returns; it is called whenever something is drawn."""
    _load[:] = [load]


def _renderer() -> Renderer:
    return _load[0]()


class JsonResult:
    """A result that can be converted to JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """This as an object of JSON, the one that the command line prints; `wingspan.schema` describes it."""
        return _renderer().to_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """The same as text, in one line unless lines are to be indented."""
        return documents.text(self.to_dict(), indent)


class Reportable:
    """A result whose findings CI can show."""

    __slots__ = ()

    def to_sarif(self) -> str:
        """The findings as SARIF 2.1.0, which CI shows beside the code."""
        return _renderer().to_sarif(self)

    def to_junit(self) -> str:
        """The findings as the XML of JUnit: one test, which fails if there are any."""
        return _renderer().to_junit(self)


class Drawn:
    """A result that notebooks show as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return _renderer().html(self)


class Shown(JsonResult, Drawn):
    """A result that people look at."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _renderer().short(self)

    def __str__(self) -> str:
        return _renderer().text(self)
