"""The replays in docs/command-line.md and docs/json.md are the printed ones."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from proofs_tests.places import ROOT
from proofs_tests.views.runs import EXAMPLES

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"`(wingspan replay examples/[^`]*)` prints\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("line", "text"), SHOWN, ids=[line.split()[-1] for line, _ in SHOWN])
def test_the_page_shows_what_is_printed(line: str, text: str, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert command(*shlex.split(line)[1:]).out == text


def test_the_page_shows_forms_of_all_kinds_and_a_state_of_a_trace(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(SHOWN) == 3
    monkeypatch.chdir(ROOT)
    ((index, line, state),) = re.findall(r"State (\d) of `wingspan ([^`]*)` is\n\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert command(*shlex.split(line)).json["states"][int(index)] == json.loads(state)


def keys(held: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The paths into a JSON object, as the page writes them, and the values there."""
    if isinstance(held, dict):
        for key, below in held.items():
            yield f"{prefix}{key}", below
            if key not in ("indices", "values", "incident"):
                yield from keys(below, f"{prefix}{key}.")
    elif isinstance(held, list):
        for below in held:
            yield from keys(below, f"{prefix.removesuffix('.')}[].")


TYPES = {"integer": int, "text": str, "boolean": bool, "list": list, "object": dict, "null": type(None), "any": object}


def test_the_page_lists_exactly_the_keys_of_a_replay_and_their_types(command: Any) -> None:
    """Of replays that finish, fault, lock up and do not match; every type that it names comes about."""
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    table = page[page.index("## `replay`") :].split("\n\n")[2]
    listed: dict[str, set[str]] = {}
    for row in table.splitlines()[2:]:
        names, types, _ = row.strip("| ").split(" | ")
        found = re.findall(r"`([^`]*)`", names)
        kinds = types.split(", ") if ", " in types else [types] * len(found)
        listed |= {name: set(kind.split(" or ")) for name, kind in zip(found, kinds, strict=True)}
    seen: dict[str, set[str]] = {}
    for name, interleaving in (
        ("dependent", "1*9"), ("quiz_overflow", "-"), ("quiz_deadlock_two_locks", "1*3,2*3"), ("dependent", "1*3,2"),
        ("quiz_deadlock_two_locks", "1,2,1*5"), ("quiz_variable_race", "-"), ("quiz_lock_taken_outside", "-"),
        ("quiz_mutex_cousins", "1,2"),
    ):  # fmt: skip
        made = command("replay", str(EXAMPLES / f"{name}.ws"), "--interleaving", interleaving, "--format", "json").json
        for key, held in keys(made):
            seen.setdefault(key, set()).update(kind for kind, type_ in TYPES.items() if type(held) is type_)
    assert seen.keys() == listed.keys()
    for key, wanted in listed.items():
        assert wanted == {"any"} or seen[key] == wanted, key
