"""Checkpoints that were written on purpose: some numbers, texts and lists changed, and the digest made right again."""

from __future__ import annotations

import copy
import json
import os
import random
import resource
import signal
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from wingspan.explorer.checkpoint import serialize

CODES = {"parents": "q", "by": "i", "targets": "q", "resumed": "i"}
"""The parts of a file, each of numbers of so many bits."""

Document = dict[str, Any]


def document(contents: bytes) -> Document:
    """The contents of a checkpoint: its head, and its parts as lists of numbers."""
    _, text, rest = contents.split(b"\n", 2)
    head = json.loads(text)
    found: Document = {"head": head}
    for name, size in head["sizes"].items():
        code, part = CODES[name], rest[:size]
        found[name] = list(struct.unpack(f"<{size // struct.calcsize(code)}{code}", part))
        rest = rest[size:]
    return found


def contents(document: Document) -> bytes:
    """A file that says so, with the right digest; and the right sizes, unless these were changed."""
    head, parts = document["head"], {}
    for name, code in CODES.items():
        bits = 8 * struct.calcsize(code)
        numbers = [(n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for n in document[name]]
        parts[name] = struct.pack(f"<{len(numbers)}{code}", *numbers)
    if isinstance(head, dict) and "sizes" in head and not document.get("sizes are wrong"):
        head["sizes"] = {name: len(part) for name, part in parts.items()}
    return serialize(head, parts)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in a document."""
    if way:
        yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def at(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def edited(before: Document, rng: random.Random) -> Document:
    """A document with up to three changes. In its parts numbers stay numbers."""
    made = copy.deepcopy(before)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        ways = list(places(made["head"], ("head",)))
        ways += [(name, k) for name in CODES for k in range(len(made[name]))] * (rng.random() < 0.4)
        way = rng.choice(ways)
        inside = at(made, way[:-1])
        value = inside[way[-1]]
        if way[0] != "head":
            inside[way[-1]] = number(value, rng)
            if rng.random() < 0.2:
                change_list(inside, rng)
            continue
        made["sizes are wrong"] = made.get("sizes are wrong") or "sizes" in way
        inside[way[-1]] = changed(value, made, ways, rng)
        if not isinstance(made["head"], dict):
            break
    return made


def number(value: int, rng: random.Random) -> int:
    others = (0, 1, -1, -2, -3, -4, 2**31, 2**62, value + 1, value - 1, 2 * value, rng.randrange(40))
    return rng.choice(others)


def change_list(items: list[Any], rng: random.Random) -> None:
    """Leave out, double, exchange or turn round some of the items."""
    if not items:
        return
    k, n = rng.randrange(len(items)), rng.randrange(len(items))
    match rng.randrange(5):
        case 0:
            del items[k]
        case 1:
            items.insert(n, copy.deepcopy(items[k]))
        case 2:
            items[k], items[n] = items[n], items[k]
        case 3:
            items.reverse()
        case 4:
            del items[k:]


def changed(value: Any, made: Document, ways: list[tuple[Any, ...]], rng: random.Random) -> Any:
    """Another value in place of one in the head."""
    if rng.random() < 0.15:  # of another type, or from another place
        other = copy.deepcopy(at(made, rng.choice(ways)))
        return rng.choice((None, True, 1.5, 10**30, "1", [], {}, [value], {"": value}, other))
    match value:
        case bool():
            return not value
        case int():
            return number(value, rng)
        case str():
            texts = [each for way in ways if isinstance(each := at(made, way), str)]
            more = ("", "1", "2", "9", "1.1", "x", "graph", "dpor", "symmetry is asked for", ".".join("1" * 5000))
            return rng.choice((*texts, *more))
        case list():
            change_list(value, rng)
        case dict() if value:
            name, other = rng.choice(list(value)), rng.choice(list(value))
            if rng.random() < 0.5:
                value[name], value[other] = value[other], value[name]
            else:
                value[rng.choice(("", "x", other))] = value.pop(name)
    return value


def bounded(runs: Iterable[Callable[[], str]], seconds: int) -> tuple[list[str], int]:
    """The outputs of runs in a child process, and how it ends: by a signal after so many seconds of the processor."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            for run in runs:
                os.write(theirs, f"{run()}\n".encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    with open(ours, encoding="utf-8") as told:
        said = told.read().splitlines()
    return said, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write(file: Path, before: Document, rng: random.Random) -> Document:
    """Write an edited document; it."""
    made = edited(before, rng)
    file.write_bytes(contents(made))
    return made
