"""The options, the clock and the results of scripts that measure; results are lines of JSON in bench/results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent
T = TypeVar("T")


def options(about: str | None) -> argparse.ArgumentParser:
    """A parser of the options of a script, with its docstring as the help."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def timed(run: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """The seconds of a call, by the processor's time unless told otherwise, and what it returns."""
    began = clock()
    found = run()
    return clock() - began, found


def load() -> float:
    """The number of processes that have run or waited during the last minute."""
    return round(os.getloadavg()[0], 2)


def append(name: str, measured: dict[str, Any]) -> None:
    """Append to the results called `name` what was measured, with commit and machine."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    about = {
        "commit": git.stdout.strip() or None,
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    with (results / f"{name}.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(about | measured) + "\n")
