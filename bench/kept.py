"""Long computations that go on where they were killed: finished parts are kept, a line of JSON each."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from wingspan.errors import InputError
from wingspan.testing.spread import spread
from wingspan.written import write_atomically

Part = TypeVar("Part")
Done = TypeVar("Done")


class Kept:
    """The parts that were computed with these very sources, by name.

    Parts that were computed with others are dropped, and so is a line that a kill has cut short.
    """

    def __init__(self, path: Path, sources: Iterable[Path]) -> None:
        self.mark = fingerprint(sources)
        self.parts: dict[str, Any] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record["fingerprint"] == self.mark:
                self.parts[record["chunk"]] = record["tally"]
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, "".join(self._line(*part) for part in self.parts.items()).encode())
        self._log = os.open(path, os.O_WRONLY | os.O_APPEND)

    def _line(self, name: str, part: Any) -> str:
        return json.dumps({"fingerprint": self.mark, "chunk": name, "tally": part}) + "\n"

    def add(self, name: str, part: Any) -> None:
        """Keep a part that is finished."""
        self.parts[name] = part
        os.write(self._log, self._line(name, part).encode())


def spreading(parser: argparse.ArgumentParser) -> None:
    """The options that say who computes the parts."""
    parser.add_argument("--jobs", type=int, help="processes of this machine (as many as there are processors)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute the parts")


def computed(
    do: Callable[[Part], Done], parts: Iterable[Part], options: argparse.Namespace
) -> Iterator[tuple[Part, Done]]:
    """What `do` makes of each part, by whom the options say."""
    jobs = options.jobs or (0 if options.scheduler else os.cpu_count() or 1)
    return spread(do, parts, jobs=jobs, scheduler=options.scheduler)


def interrupted(error: KeyboardInterrupt | InputError) -> int:
    """Say why parts are missing, and how to go on; the exit status."""
    if isinstance(error, KeyboardInterrupt):
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    print(error.render(), file=sys.stderr)
    return 2


def fingerprint(sources: Iterable[Path]) -> str:
    """What distinguishes sources, but for their comments and docstrings."""
    mark = hashlib.sha256()
    for path in sources:
        text = path.read_text(encoding="utf-8")
        mark.update((_code(ast.parse(text)) if path.suffix == ".py" else text).encode())
    return mark.hexdigest()[:16]


def _code(tree: ast.Module) -> str:
    """A module without comments and strings that stand alone."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return ast.dump(tree)
