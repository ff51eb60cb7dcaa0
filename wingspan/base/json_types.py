"""Types of JSON that all documents share, and errors as JSON.

A document is a TypedDict: type checkers compare it with the code that makes the document, and `wingspan.schema` makes
its JSON Schema from the type, with docstrings and Meta as descriptions. Only schemas load these modules.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta


def meaning(description: str) -> Meta:
    """The description of a member in the schema."""
    return Meta(description=description)


def one_of(*values: str) -> Meta:
    """Of a text that is one of these."""
    return Meta(extra_json_schema={"enum": [*values]})


Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Task = Annotated[
    str,
    Meta(
        pattern="^(0|[1-9][0-9]*([.][1-9][0-9]*)*)$",
        description="the path of a task: 0 is the root task, 1.2 the second task that the first one has spawned",
    ),
]
Operation = Annotated[str, one_of("read", "write", "atomic read", "atomic update", "acquire", "release")]
Line = Annotated[Positive | None, meaning("a line or a column, counted from 1; null if there is no place")]
Value = Annotated[
    float | bool | str | list[Any],
    meaning(
        "an element: a number, a truth value, a list of the two parts of a pair, or text: Inf, -Inf, NaN, "
        "or a rational beyond all doubles"
    ),
]


class Place(TypedDict):
    """A place in the program."""

    line: Line
    column: Line


class Mistake(Place):
    """a mistake, its place, and the remedy"""

    topic: str
    message: str
    file: str | None
    fix: str | None


class Error(TypedDict):
    """the reason for the lack of a result"""

    error: Mistake
    others: Annotated[list[Mistake], meaning("independent errors")]
