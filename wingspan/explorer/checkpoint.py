"""A search that can be resumed: after a bound, Ctrl-C, or the end of the process at any moment.

The file records which step led from which state to which, and the position of the strategy. It holds no states: each is
computed again, by the step by which it was found.

A digest detects damage. A file that was written on purpose is checked: every number against the program and against the
other numbers. Then up to `CHECKED` of the steps that lead to a known state are repeated, and up to `RERUN` runs are
repeated. Anything beyond that cannot be checked in less time than a new search takes, so the verdict reports that it is
taken from the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, InternalError
from wingspan.base.writing import check_output, write_atomically
from wingspan.explorer.states import States

FORMAT = 4
EVERY = 60.0
"""Seconds between two writes."""
CHECKED = 10_000
"""The number of a checkpoint's steps to repeat, picked at random if there are more: a second or two."""
RERUN = 20_000
"""A search of up to this many runs is repeated on the known states, instead of trusted."""

NAME = b"wingspan checkpoint "
"""The first line is this, the format, and the SHA-256 of the rest: a line of JSON, and the parts of `States.keep`."""

TRACES = {"parts": [object], "executions": int, "ends": [(int, int)], "elsewhere": int}
HEAD = {
    "about": str, "strategy": str, "reason": str, "symmetry": bool, "steps": int, "shape": str,
    "resumptions": [[int]], "search": object, "sizes": {"parents": int, "by": int, "targets": int, "resumed": int},
}  # fmt: skip
"""The contents of the JSON, by type; no number is negative. `search` is null for graph, otherwise it has `TRACES`."""

REASON = re.compile(
    r"|symmetry is asked for|the states are few(, in one process)?|the graph has over [0-9]+ states"
    r"|there seem to be [0-9.e+]+ ± [0-9.e+]+ traces"
)
"""The reason for the selected strategy."""


@dataclass
class SavedSearch:
    """A saved search: its strategy, the reason for it, and the results of `keep` of the states and of the search.

    A search by graph is defined by its states.
    """

    strategy: str
    reason: str
    symmetry: bool
    steps: int
    shape: str
    resumptions: list[tuple[int, ...]]
    states: dict[str, bytes]
    search: dict[str, Any] | None

    def restore(self, states: States[Any]) -> int:
        """Restore the states, whatever the bounds; the number of steps that are taken from the file without a check.

        InputError if the program takes other steps.
        """
        if not self.states["parents"]:
            return 0
        from random import SystemRandom  # not for searches that begin anew

        with fitting(), states.replaying():
            states.reenter(self.states["parents"], self.states["by"])
            if states.shape() != self.shape:
                raise ValueError
            claims = states.claims(self.states["targets"])
            checked = claims if len(claims) <= CHECKED else SystemRandom().sample(claims, CHECKED)
            states.confirm(set(checked), self.states["targets"], self.states["resumed"], self.resumptions)
            if states.nodes * 8 != len(self.states["parents"]) or self.steps < states.steps:
                raise ValueError
        return len(claims) - len(checked)


@contextmanager
def fitting() -> Iterator[None]:
    """Within, a checkpoint is being resumed; an InputError if that is impossible."""
    try:
        yield
    except (ArithmeticError, AssertionError, InternalError, LookupError, TypeError, ValueError):
        misfit()


def misfit() -> NoReturn:
    """The checkpoint contradicts the program."""
    raise InputError("the checkpoint does not fit: the program takes other steps", fix="search anew") from None


@dataclass
class Checkpoint:
    """The file in which a search is saved, if any. `about` distinguishes programs."""

    path: Path | None
    about: str
    last: float = field(default_factory=monotonic)
    failed: str = ""
    """the reason that the last write failed"""

    def check(self) -> None:
        """InputError if nothing can be written there, or if the existing file is not a checkpoint."""
        if self.path is None:
            return
        check_output(self.path)
        try:
            with self.path.open("rb") as file:
                beginning = file.read(len(NAME))
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror}", fix="name a file of yours") from None
        if beginning not in (b"", NAME):
            fix = "name another file, or delete this one"
            raise InputError(f"{self.path} would be overwritten, and is not a checkpoint", fix=fix)

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and monotonic() - self.last >= EVERY

    def write(self, states: States[Any], strategy: str, reason: str, search: dict[str, Any] | None = None) -> None:
        """Write atomically: a reader finds all of this checkpoint, or all of the one before."""
        if self.path is None:
            return
        self.last = monotonic()
        head = {"about": self.about, "strategy": strategy, "reason": reason, "symmetry": states.symmetry}
        head |= {"steps": states.steps, "resumptions": states.resumptions, "search": search}
        try:
            parts = states.keep()
            head |= {"shape": states.shape(), "sizes": {name: len(part) for name, part in parts.items()}}
            write_atomically(self.path, serialize(head, parts))
            self.failed = ""
        except InputError as error:  # the search continues, and the verdict reports it
            self.failed = error.message
        except MemoryError:
            self.failed = "memory ran out"


def serialize(head: dict[str, Any], parts: dict[str, bytes]) -> bytes:
    """Write the contents of a file."""
    import json

    body = b"".join((json.dumps(head).encode(), b"\n", *parts.values()))
    return NAME + f"{FORMAT} {sha256(body).hexdigest()}\n".encode() + body


def load_search(path: Path, about: str) -> SavedSearch:
    """Read the search in a file. InputError if there is none, or one of another program."""
    try:
        title, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", fix="name a file that --checkpoint has written") from None
    written = re.fullmatch(NAME + rb"([0-9]{1,9}) ([0-9a-f]{64})", title)
    if written is None:
        raise InputError(f"{path} is not a checkpoint", fix="name a file that --checkpoint has written")
    if int(written[1]) != FORMAT:
        raise InputError(f"{path} was written by another version", fix="search anew")
    if written[2] != sha256(body).hexdigest().encode():
        raise InputError(f"{path} is damaged", fix="search anew")
    try:
        head, parts = deserialize(body)
        resumptions = [tuple(tasks) for tasks in head["resumptions"]]
        kept = SavedSearch(
            head["strategy"], head["reason"], head["symmetry"], head["steps"], head["shape"], resumptions, parts,
            head["search"],
        )  # fmt: skip
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged", fix="search anew") from None
    if head["about"] != about:
        message = "is a search of another program, or with other inputs, parameters, threads or another machine"
        raise InputError(f"{path} {message}", fix="name the program that was searched, with all that it was given")
    return kept


def deserialize(body: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read head and parts of a file. ValueError if `serialize` did not make them."""
    import json

    text, _, rest = body.partition(b"\n")
    head = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
    if not fits(head, HEAD) or not fits(head["search"], None if head["strategy"] == "graph" else TRACES):
        raise ValueError
    if head["strategy"] not in ("graph", "dpor") or (head["symmetry"] and head["strategy"] == "dpor"):
        raise ValueError
    if not REASON.fullmatch(head["reason"]):
        raise ValueError
    parts = {}
    for name, size in head["sizes"].items():
        parts[name], rest = rest[:size], rest[size:]
        if len(parts[name]) != size:
            raise ValueError
    if rest:
        raise ValueError
    return head, parts


def _number(text: str) -> int:
    """A number in our form: not negative, and at most 64 bits."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError
    return int(text)


def fits(value: Any, form: Any) -> bool:
    """Whether a value read from JSON has a form: a type, None, or a list, tuple or dict of forms."""
    match form:
        case dict():
            same = isinstance(value, dict) and value.keys() == form.keys()
            return same and all(fits(value[name], each) for name, each in form.items())
        case [each] if isinstance(form, list):
            return isinstance(value, list) and all(fits(one, each) for one in value)
        case tuple():
            same = isinstance(value, list) and len(value) == len(form)
            return same and all(map(fits, value, form))
        case type():
            return form is object or type(value) is form
    return value is form
