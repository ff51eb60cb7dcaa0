"""Trees that a process leaves for the next: equal to those that the parser makes, and read only where that is safe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan import ParseError
from wingspan.base import disk_cache
from wingspan.lang import ir, lark_parser, tree_cache

TEXT = "for i = 1:3; c[i] += 1; end"


@pytest.fixture
def parsed(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the texts that are parsed."""
    found: list[str] = []
    parse = lark_parser.parse

    def record_and_parse(text: str, name: str, functions: Any) -> ir.Program:
        found.append(name)
        return parse(text, name, functions)

    monkeypatch.setattr(lark_parser, "parse", record_and_parse)
    return found


def tree_files(cache_folder: Path) -> list[Path]:
    return sorted(cache_folder.glob(f"*{tree_cache.SUFFIX}"))


def description(tree: ir.Program) -> list[object]:
    """A list of all that a tree says: of each node its class, its place, and its parts with their types, bit by bit."""
    return [
        (type(node), node.span, [(type(part), repr(part)) for part in map(node.__getattribute__, node.names)])
        for node in tree.walk()
    ] + [tree.notes]


def test_trees_of_the_next_process_are_those_of_the_parser(cache_folder: Path, parsed: list[str]) -> None:
    """Of each example; reading them takes nothing of Lark's."""
    paths = sorted(EXAMPLES.glob("*.ws"))
    first = [description(wingspan.load(path).tree) for path in paths]
    assert len(parsed) == len(first) > 40
    assert [description(wingspan.load(path).tree) for path in paths] == first
    assert len(parsed) == len(paths) == len(tree_files(cache_folder))
    assert not any(b"lark" in path.read_bytes() for path in tree_files(cache_folder))


def test_odd_values_and_places_come_back(cache_folder: Path, parsed: list[str]) -> None:
    text = "w = Tensor(Dense(Element(0.0)), [1.0, NaN, -0.0])\nx = -0.0\ny = NaN\nz = -Inf\nu = missing"
    first, again = (tree_cache.parse(text, "odd") for _ in range(2))
    assert parsed == ["odd"]
    assert description(again) == description(first)
    assert any(isinstance(node, ir.Literal) and node.value is ir.NAN for node in again.walk())


def test_notes_are_reported_each_time(cache_folder: Path, parsed: list[str], tmp_path: Path) -> None:
    path = tmp_path / "noted.ws"
    path.write_text("@finch mode = :fast begin\nx = 1\nend\n")
    assert wingspan.load(path).notes == wingspan.load(path).notes != ()
    assert len(parsed) == 1


@pytest.mark.parametrize(("text", "name"), [(f"{TEXT}\n", "one"), (TEXT, "another")])
def test_another_text_or_name_is_parsed(parsed: list[str], text: str, name: str) -> None:
    tree_cache.parse(TEXT, "one")
    tree = tree_cache.parse(text, name)
    assert parsed == ["one", name] and tree.source_name == name


def test_other_sources_of_the_parser_parse_anew(parsed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Lark, of the language, of the ground floor: each of the three."""
    sources = disk_cache.sources
    folders = {"lark", "lang", "base"}
    tree_cache.parse(TEXT, "one")
    for changed in folders:
        monkeypatch.setattr(
            disk_cache, "sources", lambda folder, changed=changed: sources(folder) + "!" * (folder.name == changed)
        )
        tree_cache.parse(TEXT, "one")
    assert len(parsed) == 4


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda data: b"", lambda data: data[:-1] + b"\1"])
def test_trees_that_are_spoiled_are_parsed_and_written_anew(
    cache_folder: Path, parsed: list[str], spoil: Callable[[bytes], bytes]
) -> None:
    first = tree_cache.parse(TEXT, "one")
    (path,) = tree_files(cache_folder)
    path.write_bytes(spoil(path.read_bytes()))
    assert tree_cache.parse(TEXT, "one") == tree_cache.parse(TEXT, "one") == first
    assert len(parsed) == 2


def test_no_tree_is_read_from_a_folder_that_others_may_write(cache_folder: Path, parsed: list[str]) -> None:
    """Reading a tree runs what its file says."""
    tree_cache.parse(TEXT, "one")
    cache_folder.chmod(0o777)
    tree_cache.parse(TEXT, "one")
    assert len(parsed) == 2


def test_a_mistake_is_found_each_time_and_leaves_nothing(cache_folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(ParseError, match="one"):
            tree_cache.parse("x = ", "one")
    assert not tree_files(cache_folder)


@pytest.mark.parametrize(
    "text",
    ["x = 1\n" * (tree_cache.LONGEST // 6 + 1), f"x = {'(-' * 3000}1{')' * 3000}"],
    ids=["long", "nested deep"],
)
def test_large_trees_are_parsed_each_time(cache_folder: Path, parsed: list[str], text: str) -> None:
    for _ in range(2):
        try:
            tree_cache.parse(text, "one")
        except ParseError as error:
            assert "deep" in str(error)
    assert parsed == ["one", "one"] and not tree_files(cache_folder)
