"""A search that can be taken up where it was: after a bound, Ctrl-C, or the end of the process at any moment.

The file holds numbers only: which task led from which state to which, and where the strategy is. States are not in it:
taking up a search enters each once more, along the way on which it was found. Damage is noticed by checksums; where the
strategy is, is believed, so a file is to be taken up by those who trust whoever wrote it.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

from wingspan.errors import InputError
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.states import States

FORMAT = 1
EVERY = 60.0
"""Seconds between two writings."""


@dataclass
class Kept:
    """A search that was kept: its strategy, why it was picked, and what `keep` of the states and the search gave."""

    strategy: str
    reason: str
    resumptions: list[list[int]]
    states: dict[str, bytes]
    search: dict[str, bytes]

    def take_up(self, states: States[Any], search: Dpor) -> None:
        """Come to where the search was, whatever the bounds. InputError if the states turn out others."""
        with states.unbounded():
            fits = states.take_up(self.states, self.resumptions)
        if not fits:
            raise InputError("the checkpoint does not fit: the program takes other steps", fix="search anew")
        if self.search:
            search.take_up(self.search)


@dataclass
class Checkpoint:
    """Where a search is kept, if it is. `about` tells programs apart."""

    path: Path | None
    about: str
    last: float = field(default_factory=monotonic)

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and monotonic() - self.last >= EVERY

    def write(self, states: States[Any], search: Dpor | None, strategy: str, reason: str = "") -> None:
        """Write, atomically: whoever reads finds the whole of this one, or of the one before."""
        if self.path is None:
            return
        head = {"format": FORMAT, "about": self.about, "strategy": strategy, "reason": reason}
        head["resumptions"] = states.resumptions
        parts = {"head": json.dumps(head).encode()}
        parts |= {f"states.{name}": part for name, part in states.keep().items()}
        parts |= {f"search.{name}": part for name, part in (search.keep() if search is not None else {}).items()}
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
        groups: dict[str, dict[str, bytes]] = {"states": {}, "search": {}}
        for name, part in parts.items():
            group, _, key = name.partition(".")
            groups[group][key] = part
        return Kept(head["strategy"], head["reason"], head["resumptions"], groups["states"], groups["search"])
    except (ValueError, KeyError, EOFError, OSError, RuntimeError, zipfile.BadZipFile):  # what zipfile raises, too
        raise InputError(f"{path} is not a checkpoint") from None
