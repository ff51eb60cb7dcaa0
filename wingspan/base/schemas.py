"""JSON Schemas (2020-12) that msgspec makes from the types of documents."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

import msgspec


def json_schema(title: str, document: type[Any], *more: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a type; `more` are types that it only refers to by name."""
    _, definitions = msgspec.json.schema_components([document, *more], ref_template="#/$defs/{name}")
    root = definitions.pop(document.__name__)
    named = {"title": title, "description": getdoc(document)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, **named, "$defs": definitions}
