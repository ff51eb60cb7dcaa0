"""No verb loses a file: what it did not make stays, unless --force is given; folders are made, nothing else is left."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from proofs_tests.places import EXAMPLES
from wingspan.cli import main

SAFE, SUM = (str(EXAMPLES / name) for name in ("dependent_atomic.ws", "sum_atomic.ws"))
KARATE = str(EXAMPLES / "data" / "karate.mtx")

WRITERS = {
    "run -o": (["run", SAFE, "-o", "c={}"], "c.npy"),
    "explore --graph": (["explore", SAFE, "--graph", "{}"], "states.dot"),
    "explore --html": (["explore", SUM, "--html", "{}"], "page.html"),
    "explore --checkpoint": (["explore", SAFE, "--strategy", "graph", "--checkpoint", "{}"], "search.kept"),
    "step --html": (["step", SUM, "--html", "{}"], "page.html"),
    "emit-c -o": (["emit-c", SAFE, "-o", "{folder}"], "dependent_atomic.c"),
    "emit-c --main": (["emit-c", SAFE, "--main", "-o", "{folder}"], "program.h"),
    "convert": (["convert", KARATE, "{}"], "karate.npz"),
    "parallelize -o": (["parallelize", SAFE, "-o", "{}"], "best.ws"),
    "demo": (["demo", "--no-browser", "{folder}"], "sum.html"),
}
"""The verbs and options that write files, with a command and the name of a file that it writes."""
OURS = {"explore --checkpoint"}
"""Options that replace wingspan's own files only, in any case."""

each = pytest.mark.parametrize("writer", WRITERS)


def words(writer: str, folder: Path) -> tuple[list[str], Path]:
    command, name = WRITERS[writer]
    return [word.format(folder / name, folder=folder) for word in command], folder / name


@each
def test_folders_are_made_and_nothing_else_is_left(command, tmp_path: Path, writer: str) -> None:
    given, path = words(writer, tmp_path / "new" / "folder")
    assert command(*given).status == 0 and path.stat().st_size > 0
    assert not [each for each in path.parent.iterdir() if each.name.startswith(".")]


@each
def test_a_file_of_others_is_kept_and_the_message_says_what_to_do(command, tmp_path: Path, writer: str) -> None:
    given, path = words(writer, tmp_path)
    path.write_text("mine")
    done = command(*given)
    assert done.status == 2 and path.read_text() == "mine" and str(path) in done.err
    assert ("--force" in done.err) == (writer not in OURS) and "  fix  " in done.err
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("writer", [name for name in WRITERS if name not in OURS])
def test_it_is_replaced_if_that_is_asked_for(command, tmp_path: Path, writer: str) -> None:
    given, path = words(writer, tmp_path)
    path.write_text("mine")
    assert command(*given, "--force").status == 0 and path.read_bytes() != b"mine"


@pytest.mark.parametrize("writer", ["explore --checkpoint", "emit-c -o", "emit-c --main"])
def test_files_of_the_same_kind_are_written_again(command, tmp_path: Path, writer: str) -> None:
    given, path = words(writer, tmp_path)
    assert [command(*given).status for _ in range(2)] == [0, 0] and path.exists()


def test_every_verb_that_takes_force_is_in_the_table() -> None:
    verbs = {name: main.get_command(click.Context(main), name) for name in main.list_commands(click.Context(main))}
    forced = {name for name, verb in verbs.items() if verb and any("--force" in each.opts for each in verb.params)}
    assert forced == {writer.split()[0] for writer in WRITERS}
