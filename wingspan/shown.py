"""What a result looks like in Python: one line as `repr`, the command line's text as `str`, HTML in notebooks; JSON.

Results are made in many rooms, and drawn in `wingspan.views`, above all of them. So the views are imported when
something is drawn for the first time, by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _drawn(form: str, result: Any) -> str:
    text: str = getattr(import_module("wingspan.views.shown"), form)(result)
    return text


class Data:
    """What can be had as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """This as an object of JSON, the one that the command line prints; `wingspan.schema` describes it."""
        made: dict[str, Any] = import_module("wingspan.views.json").of(self)
        return made

    def to_json(self, indent: int | None = None) -> str:
        """The same as text, in one line unless lines are to be indented."""
        text: str = import_module("wingspan.schemas").text(self.to_dict(), indent)
        return text


class Shown(Data):
    """A result that people look at."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _drawn("short", self)

    def __str__(self) -> str:
        return _drawn("text", self)

    def _repr_html_(self) -> str:
        return _drawn("html", self)
