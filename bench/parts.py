"""Long computations in parts: who computes them, by options of the command, and what is said where they end early."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from wingspan.base.errors import InputError
from wingspan.testing.spread import spread

Part = TypeVar("Part")
Done = TypeVar("Done")


def spreading(parser: argparse.ArgumentParser) -> None:
    """The options that say who computes the parts."""
    parser.add_argument("--jobs", type=int, help="processes of this machine (as many as there are processors)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute the parts")


def computed(
    do: Callable[[Part], Done], parts: Iterable[Part], options: argparse.Namespace
) -> Iterator[tuple[Part, Done]]:
    """Compute `do` of each part, by the workers of the options."""
    jobs = options.jobs or (0 if options.scheduler else os.cpu_count() or 1)
    return spread(do, parts, jobs=jobs, scheduler=options.scheduler)


def interrupted(error: KeyboardInterrupt | InputError) -> int:
    """Say why parts are missing, and how to go on; the exit status."""
    why = "interrupted" if isinstance(error, KeyboardInterrupt) else error.render()
    print(f"{why}\nthe same command goes on from here", file=sys.stderr)
    return 130 if isinstance(error, KeyboardInterrupt) else 2


def kept_parts(path: Path) -> dict[str, Any]:
    """The finished parts in a file of `FinishedParts`, whatever sources they were computed from."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.exists() else [])
    return {record["chunk"]: record["tally"] for record in records}
