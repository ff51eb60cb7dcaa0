"""Long computations that go on where they were killed: finished parts are kept, a line of JSON each."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wingspan.base.writing import writable, write_atomically


class FinishedParts:
    """The finished parts in a file, by name, which were computed under the same `mark`.

    Parts under another mark are dropped, and so is a line that a kill has cut short. InputError if the file cannot be
    read or written.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark
        self.parts: dict[str, Any] = {}
        with writable(path):
            lines = path.read_bytes().splitlines() if path.exists() else []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record["fingerprint"] == mark:
                self.parts[record["chunk"]] = record["tally"]
        write_atomically(path, b"".join(self._line(*part) for part in self.parts.items()))

    def _line(self, name: str, part: Any) -> bytes:
        return (json.dumps({"fingerprint": self.mark, "chunk": name, "tally": part}) + "\n").encode()

    def add(self, name: str, part: Any) -> None:
        """Keep a part that is finished."""
        self.parts[name] = part
        with writable(self.path), self.path.open("ab", buffering=0) as log:
            log.write(self._line(name, part))


def fingerprint(sources: Iterable[Path], *others: str) -> str:
    """A digest of sources, without their comments and docstrings, and of other texts."""
    mark = hashlib.sha256("\n".join(others).encode())
    for path in sources:
        mark.update(_code(path.read_bytes()) if path.suffix == ".py" else path.read_bytes())
    return mark.hexdigest()[:16]


def _code(text: bytes) -> bytes:
    """A module without comments and strings that stand alone; the text itself if it is no module of this Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return ast.dump(tree).encode()


SOURCES = (".py", ".pyx", ".pxd", ".h", ".lark")


def sources(module: str) -> list[Path]:
    """The sources of the package that a module, which is imported, belongs to; none if it is in no file."""
    package = sys.modules[module.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(package, "__path__", ())]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in SOURCES]
    return files or [Path(file) for file in [getattr(package, "__file__", None)] if file]
