"""Measure the time and the memory that `judge` takes for logs of many tasks.

    python bench/logs.py [NAME…]

One task for each row of a kernel, with and without locks, of which each row takes four, 64 tasks at a time; barriers;
chains of nested tasks. Each log is judged in a process of its own. Prints seconds of the processor, to read the log and
to find its races, and the peak of the memory, and appends them to bench/results/logs.jsonl.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from wingspan.accesses import parse_log  # noqa: E402
from wingspan.happens_before import races  # noqa: E402


def rows(tasks: int, repeat: int = 1) -> Iterator[str]:
    """Each task reads two elements of a vector and updates its own element of another."""
    for k in range(1, tasks + 1):
        yield from (
            f"{k} read x[{k}]",
            f"{k} read x[{k % tasks + 1}]",
            f"{k} read c[{k}]",
            f"{k} write c[{k}]",
        ) * repeat
    yield from ("0 join", *(f"0 read c[{k}]" for k in range(1, tasks + 1)))


def locked(tasks: int, locks: int, each: int = 4) -> Iterator[str]:
    """64 tasks at a time take `each` of so many locks one after another, each to update one element."""
    chosen, waiting = Random(0), iter(range(1, tasks + 1))
    running = {next(waiting): each for _ in range(64)}
    while running:
        k, lock = chosen.choice(list(running)), chosen.randrange(locks)
        yield from (f"{k} acquire l[{lock}]", f"{k} read c[{lock}]", f"{k} write c[{lock}]", f"{k} release l[{lock}]")
        running[k] -= 1
        if not running[k]:
            del running[k]
            running |= {new: each for new in [next(waiting, 0)] if new}


def barriers(tasks: int, number: int) -> Iterator[str]:
    """Between two barriers, all tasks read an element, or all update it atomically."""
    for b in range(number):
        for line in (("read c", "atomic c")[b % 2], f"signal b[{b}]", f"wait b[{b}]"):
            yield from (f"{k} {line}" for k in range(1, tasks + 1))


def chain(depth: int) -> Iterator[str]:
    """Each task starts the next one, and updates the same element."""
    for name in (".".join(["1"] * k) for k in range(1, depth + 1)):
        yield from (f"{name} read c", f"{name} write c")


LOGS = {
    **{f"{n} rows": partial(rows, n) for n in (2_000, 20_000, 100_000)},
    **{f"{n} rows, one lock": partial(locked, n, 1) for n in (2_000, 20_000, 100_000)},
    **{f"{n} rows, 64 locks": partial(locked, n, 64) for n in (2_000, 20_000, 100_000)},
    **{f"{n} rows, {n} locks": partial(locked, n, n) for n in (2_000, 20_000)},
    "10000 tasks, 4 barriers": partial(barriers, 10_000, 4),
    **{f"chain of {n}": partial(chain, n) for n in (1_500, 10_000)},
    "10000 rows, 25 times": partial(rows, 10_000, 25),
    "10000 rows, 1000 locks, 25 times": partial(locked, 10_000, 1000, 25),
}


def measured(name: str) -> dict[str, Any]:
    """The measurements of one log."""
    text = "\n".join(LOGS[name]())
    began = time.process_time()
    log = parse_log(text)
    read = time.process_time()
    if races(log):
        raise SystemExit(f"{name}: a race in a log that has none")
    found = time.process_time()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{read - began:8.2f} s to read  {found - read:8.2f} s to judge  {megabytes:>6} MB  {len(log):>9,}  {name}",
        flush=True,
    )
    return {"log": name, "accesses": len(log), "read_s": read - began, "judge_s": found - read, "mb": megabytes}


def main() -> None:
    """Measure, print and keep."""
    found = []
    for name in sys.argv[1:] or LOGS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            found.append(process.apply(measured, (name,)))
    records.append("logs", {"load": records.load(), "records": found})


if __name__ == "__main__":
    main()
