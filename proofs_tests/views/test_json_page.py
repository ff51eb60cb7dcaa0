"""docs/json.md against the types of documents: each table row has the type of its member, and no member is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import wingspan
from proofs_tests.places import ROOT
from wingspan.views.schemas import KINDS

PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")
NAMED = set(re.findall(r"`([\w-]+)(?:\[\])?`", PAGE.replace("[].", "` `").replace(".", "` `")))
SECTIONS = {
    kind: text
    for heading, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
    for kind in re.findall(r"`([\w-]+)`", heading)
}
WORDS = {
    "string": "text",
    "array": "list",
    "null": "null",
    "object": "object",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


def resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def words(node: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """The types of a node, as the page calls them."""
    node = resolved(node, schema)
    if "anyOf" in node:
        return {word for each in node["anyOf"] for word in words(each, schema)}
    return {WORDS[node["type"]] if "type" in node else "integer" if "const" in node else "text"}


def described(node: dict[str, Any], schema: dict[str, Any]) -> str:
    found = words(node, schema)
    (only, *others) = sorted(found - {"null"})
    return "any" if others else f"{only} or null" if "null" in found else only


def member(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The node of a path such as `steps[].touches[].cell`."""
    node = schema
    for name in path.replace("[]", ".items").split("."):
        node = resolved(node, schema)
        node = next((each for each in node.get("anyOf", ()) if "$ref" in each), node)
        node = resolved(node, schema)
        node = node["items"] if name == "items" else node["properties"][name]
    return node


def rows(section: str) -> Iterator[tuple[str, str]]:
    """Each key of the table of a section with its type."""
    for keys, types in re.findall(r"^\| (`.*?`) \| ([^|]+) \|", section, re.MULTILINE):
        paths, each = re.findall(r"`([^`]+)`", keys), types.split(", ")
        yield from zip(paths, each if len(each) > 1 else each * len(paths), strict=True)


@pytest.mark.parametrize("kind", ["check", "explore", "replay"])
def test_the_tables_have_the_types_of_the_members(kind: str) -> None:
    schema = wingspan.schema(kind)
    table = dict(rows(SECTIONS[kind]))
    assert set(schema["properties"]) - {"schema"} <= set(table)
    assert {path: described(member(path, schema), schema) for path in table} == {
        path: "list" if word.startswith("list") else word for path, word in table.items()
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "step"])
def test_the_page_names_every_member(kind: str) -> None:
    schema = wingspan.schema(kind)
    nodes = [schema, *schema["$defs"].values()]
    assert {name for node in nodes for name in node.get("properties", ())} - NAMED == set()
