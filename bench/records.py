"""Measurements kept with where they come from: a line of JSON each, in bench/results."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


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
