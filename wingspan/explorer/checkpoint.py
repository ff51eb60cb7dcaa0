"""A search that can be taken up where it was: after a bound, Ctrl-C, or the end of the process at any moment.

The file says which task led from which state to which, and where the strategy is. States are not in it: taking up a
search enters each once more, along the way on which it was found, and goes once more where the strategy was. Damage is
noticed by checksums. What the file says is left to explore is believed: take up what is written by those you trust.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

from wingspan.errors import InputError, InternalError
from wingspan.explorer.states import States

FORMAT = 3
EVERY = 60.0
"""Seconds between two writings."""


@dataclass
class Kept:
    """A search that was kept: its strategy, why it was picked, and what `keep` of the states and the search gave.

    A search by graph is where its states are.
    """

    strategy: str
    reason: str
    symmetry: bool
    resumptions: list[list[int]]
    states: dict[str, bytes]
    search: dict[str, Any] | None

    def take_up(self, states: States[Any]) -> None:
        """Come to where the states were, whatever their number. InputError if they turn out others."""
        with fitting(), states.following():
            if not states.take_up(self.states, self.resumptions):
                raise ValueError


@contextmanager
def fitting() -> Iterator[None]:
    """What is in a checkpoint is taken up; an InputError if that cannot be."""
    try:
        yield
    except (ArithmeticError, InternalError, LookupError, TypeError, ValueError):
        raise InputError("the checkpoint does not fit: the program takes other steps", fix="search anew") from None


@dataclass
class Checkpoint:
    """Where a search is kept, if it is. `about` tells programs apart."""

    path: Path | None
    about: str
    last: float = field(default_factory=monotonic)

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and monotonic() - self.last >= EVERY

    def write(self, states: States[Any], strategy: str, reason: str, search: dict[str, Any] | None = None) -> None:
        """Write, atomically: whoever reads finds the whole of this one, or of the one before."""
        if self.path is None:
            return
        head = {"format": FORMAT, "about": self.about, "strategy": strategy, "reason": reason}
        head |= {"symmetry": states.symmetry, "resumptions": states.resumptions, "search": search}
        parts = {"head": json.dumps(head).encode(), **states.keep()}
        new = self.path.parent / f"{self.path.name}.new"
        try:
            with new.open("wb") as file:
                with zipfile.ZipFile(file, "w") as packed:
                    for name, part in parts.items():
                        packed.writestr(name, part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise InputError(f"{self.path}: {error.strerror}", fix="name a file that can be written to") from None
        self.last = monotonic()


def read(path: Path, about: str) -> Kept:
    """The search in a file. InputError if there is none, or one of another program."""
    try:
        contents = BytesIO(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    try:
        with zipfile.ZipFile(contents) as packed:
            parts = {name: packed.read(name) for name in packed.namelist()}
        head = json.loads(parts.pop("head"))
        if head["format"] != FORMAT:
            raise InputError(f"{path} was written by another version", fix="search anew")
        if head["about"] != about:
            raise InputError(
                f"{path} is a search of another program, or with other inputs, parameters, threads or another machine"
            )
        return Kept(head["strategy"], head["reason"], head["symmetry"], head["resumptions"], parts, head["search"])
    except (ValueError, KeyError, EOFError, OSError, RuntimeError, zipfile.BadZipFile):  # what zipfile raises, too
        raise InputError(f"{path} is not a checkpoint") from None
