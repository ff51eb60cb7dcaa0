"""The processor time of the first finding from the shell, for each example that has one.

    python bench/first.py [--repeat N]

Runs `wingspan explore FILE --first` on all programs of examples/, those with open inputs with `--small 3`, and takes
those where something bad is found within ten seconds. Prints seconds of the processor, user's and system's, minimum and
median of the repeats, with a star at those above the mark of 0.5 s. Appends a record with machine and commit to
bench/results/first.jsonl.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402

MARK = 0.5
"""Seconds in which something is to be found."""
FOUND, WRONG_INPUT = 1, 2
"""Statuses of the command."""


def run(words: list[str]) -> tuple[float, int]:
    """The processor time of the command, and its status."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wingspan", "explore", *words, "--first", "--max-seconds", "10"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, process.returncode


def measure(path: Path, repeat: int) -> list[float]:
    """The times on one example; none if nothing is found in it."""
    words = [f"examples/{path.name}"]
    seconds, status = run(words)
    if status == WRONG_INPUT:
        words += ["--small", "3"]
        seconds, status = run(words)
    return [seconds, *(run(words)[0] for _ in range(repeat - 1))] if status == FOUND else []


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    measured: list[dict[str, Any]] = []
    for path in sorted((ROOT / "examples").glob("*.ws")):
        if times := measure(path, options.repeat):
            row = {"what": path.stem, "min_s": min(times), "median_s": statistics.median(times)}
            star = " *" if row["min_s"] > MARK else ""
            print(f"{row['min_s']:7.3f} s  {row['median_s']:7.3f} s in the median  {path.stem}{star}", flush=True)
            measured.append(row)
    missed = [row["what"] for row in measured if row["min_s"] > MARK]
    print(f"{len(measured)} programs; {len(missed)} take longer than {MARK} s: {', '.join(missed) or 'none'}")
    records.append("first", {"load": records.load(), "mark_s": MARK, "missed": missed, "records": measured})


if __name__ == "__main__":
    main()
