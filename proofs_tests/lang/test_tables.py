"""The tables of the parser: computed once for all processes, never used for another grammar, checked when read."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import lark
import pytest
from lark.parsers import lalr_analysis

from proofs_tests.places import ROOT
from wingspan.lang import lark_parser, parser, printer, tables
from wingspan.lang.keywords import GRAMMAR
from wingspan.lang.layout import Ended, Layout

TEXT = "for i = 1:3; c[i] += 1; end"
LAYOUT = Layout(Ended)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each grammar whose tables are computed."""
    found: list[int] = []
    compute = lalr_analysis.LALR_Analyzer.compute_lalr

    def record_and_compute(self: lalr_analysis.LALR_Analyzer) -> None:
        found.append(len(self.rules_by_origin))
        compute(self)

    monkeypatch.setattr(lalr_analysis.LALR_Analyzer, "compute_lalr", record_and_compute)
    return found


@pytest.fixture
def fresh() -> Iterator[None]:
    """The parsers of this process are made anew."""
    lark_parser.grammar.cache_clear()
    yield
    lark_parser.grammar.cache_clear()


@pytest.fixture(scope="module")
def table_file() -> bytes:
    """The file of the tables."""
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as name:
        patched.setenv("WINGSPAN_CACHE", name)
        tables.make_parser(LAYOUT)
        return path_of(Path(name)).read_bytes()


@pytest.fixture
def path(table_file: bytes, cache_folder: Path) -> Path:
    """The file of the tables that an earlier process has left in the folder of this test."""
    cache_folder.mkdir(mode=0o700)
    path_of(cache_folder).write_bytes(table_file)
    return path_of(cache_folder)


def path_of(cache_folder: Path) -> Path:
    return cache_folder / f"{tables.digest_of(LAYOUT)}{tables.SUFFIX}"


def test_tables_are_computed_once_for_both_layouts(cache_folder: Path, computed: list[int], fresh: None) -> None:
    first = parser.parse(TEXT)
    assert computed
    computed.clear()
    lark_parser.grammar.cache_clear()
    assert parser.parse(TEXT) == first
    assert printer.show(parser.parse("for i = 1:3\n    c[i] += 1\n")) == printer.show(first)
    assert not computed
    assert cache_folder.stat().st_mode & 0o777 == 0o700 and list(cache_folder.iterdir()) == [path_of(cache_folder)]


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"\1", lambda data: data + b"\0"]
)
def test_tables_that_are_spoiled_are_computed_anew(
    path: Path, table_file: bytes, computed: list[int], spoil: Callable[[bytes], bytes]
) -> None:
    path.write_bytes(spoil(table_file))
    assert tables.make_parser(LAYOUT).parse(TEXT).children
    assert computed
    computed.clear()
    tables.make_parser(LAYOUT)
    assert not computed and len(path.read_bytes()) == len(table_file)


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (tables, "GRAMMAR", GRAMMAR.replace('"skip(?!', '"nothing(?!') + "\n// another\n"),
        (tables, "OPTIONS", {**tables.OPTIONS, "keep_all_tokens": True}),
        (lark, "__version__", "1.0.0"),
        (sys, "version", "another"),
        (Layout, "always_accept", (*Layout.always_accept, "SYMBOL")),
    ],
)
def test_tables_of_anything_else_are_not_used(
    path: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch, owner: object, name: str, value: object
) -> None:
    """New tables are computed, even beside a file that was renamed, and the other ones stay."""
    monkeypatch.setattr(owner, name, value)
    other = path_of(path.parent)
    assert other != path
    other.write_bytes(path.read_bytes())
    tables.make_parser(LAYOUT)
    assert computed
    assert other.read_bytes() != path.read_bytes()


def open_to_others(cache_folder: Path) -> None:
    cache_folder.chmod(0o755)


def of_somebody_else(cache_folder: Path) -> None:
    os.chown(cache_folder, 12345, -1)


@pytest.mark.parametrize(
    "change",
    [
        open_to_others,
        pytest.param(
            of_somebody_else, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
        ),
    ],
)
def test_tables_that_others_may_have_written_are_not_read(
    path: Path, computed: list[int], change: Callable[[Path], None]
) -> None:
    change(path.parent)
    assert tables.make_parser(LAYOUT).parse(TEXT).children
    assert computed


@pytest.mark.parametrize("refusing", ["pathlib.Path.mkdir", "os.replace", "pathlib.Path.read_bytes"])
def test_a_folder_that_cannot_be_used_is_done_without(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, refusing: str
) -> None:
    def refuse(*given: object, **options: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(refusing, refuse)
    assert tables.make_parser(LAYOUT).parse(TEXT).children
    assert not cache_folder.exists() or not list(cache_folder.glob(".wingspan-*"))


def test_a_file_where_the_folder_should_be_is_left_alone(cache_folder: Path) -> None:
    cache_folder.write_text("mine")
    assert tables.make_parser(LAYOUT).parse(TEXT).children
    assert cache_folder.read_text() == "mine"


def test_processes_that_begin_together_share_one_file(cache_folder: Path) -> None:
    """Each finds no tables or whole ones."""
    code = f"from wingspan.lang.parser import parse; print(len(parse({TEXT!r}).body.statements))"
    both = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [each.communicate()[0] for each in both] == ["1\n", "1\n"]
    assert list(cache_folder.iterdir()) == [path_of(cache_folder)]
