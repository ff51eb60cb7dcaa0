"""Processor time of a command on a small program: mostly its start.

    python bench/start.py [--against FOLDER] [--repeat N]

FOLDER is another checkout of the project, with its extension modules built; it runs in turns with this one, so that
other work on the machine slows down both. Prints seconds of the processor, user's and system's, minimum and median of
the repeats after one that does not count: bytecode and the tables of the parser are kept then.
Appends a record with machine and commit to bench/results/start.jsonl.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402

EXAMPLE, SAFE = "examples/dependent.ws", "examples/dependent_atomic.ws"
COMMANDS = {
    "python": ("-c", "pass"),
    "import wingspan": ("-c", "import wingspan"),
    "--version": ("-m", "wingspan", "--version"),
    "fmt": ("-m", "wingspan", "fmt", EXAMPLE),
    "check": ("-m", "wingspan", "check", EXAMPLE),
    "explore": ("-m", "wingspan", "explore", EXAMPLE),
    "plan": ("-m", "wingspan", "plan", EXAMPLE),
    "run": ("-m", "wingspan", "run", SAFE),
    "emit-c": ("-m", "wingspan", "emit-c", SAFE, "-o", "build/start"),
}
"""The commands to measure: the arguments of Python, in the folder of the project."""


def seconds(words: tuple[str, ...], root: Path) -> float:
    """The processor time of a process. SystemExit if it fails; 1 is the status of a verdict."""
    unset = ("PYTHONDONTWRITEBYTECODE",)
    environment = {name: value for name, value in os.environ.items() if name not in unset} | {"PYTHONPATH": str(root)}
    process = subprocess.Popen(
        [sys.executable, *words], cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {said.decode()}")
    return usage.ru_utime + usage.ru_stime


def measure(words: tuple[str, ...], roots: list[Path], repeat: int) -> list[dict[str, float]]:
    """The minimum and the median in each checkout."""
    for root in roots:
        seconds(words, root)
    rounds = [[seconds(words, root) for root in roots] for _ in range(repeat)]
    return [{"min_s": min(times), "median_s": statistics.median(times)} for times in zip(*rounds, strict=True)]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    roots = [ROOT, *([options.against.resolve()] if options.against else [])]
    measured: list[dict[str, Any]] = []
    for what, words in COMMANDS.items():
        here, *there = measure(words, roots, options.repeat)
        row: dict[str, Any] = {"what": what, **here}
        text = f"{here['min_s']:7.3f} s  {here['median_s']:7.3f} s in the median  {what}"
        if there:
            (other,) = there
            row |= {"other_min_s": other["min_s"], "other_median_s": other["median_s"]}
            text += f": {other['median_s'] / here['median_s']:.2f} times as fast, by minima "
            text += f"{other['min_s'] / here['min_s']:.2f}"
        print(text, flush=True)
        measured.append(row)
    other_commit = None
    if options.against:
        git = ["git", "rev-parse", "--short", "HEAD"]
        other_commit = subprocess.run(git, cwd=options.against, capture_output=True, text=True).stdout.strip() or None
    records.append("start", {"load": round(os.getloadavg()[0], 2), "other": other_commit, "records": measured})


if __name__ == "__main__":
    main()
