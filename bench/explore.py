"""Time to explore tiny programs completely: by the state graph, by the reduction, by both machines, and by SPIN.

    python bench/explore.py [--repeat N] [PROGRAM ...]

The programs are those of wingspan.testing.litmus, and Gustavson's product of two N×N matrices by T tasks that claim one
column at a time (examples/spgemm_gustavson.ws). The states of the latter are those of the rules or of the plan: from
the first question to the machine to the verdict. bench/promela has all of them for SPIN, if it is installed (Debian has
a package; gcc is needed, too). CPU seconds, minimum and median of the rounds; in each round all ways are run in turn,
each in a process of its own, so that its memory is known. The times include what is found in the states. What other
tools take was measured elsewhere beside SPIN, and is printed in units of SPIN's time on ninc(7), as ours is. Appends a
record with machine and commit to bench/results/explore.jsonl.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from bench import records  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.explorer import Search, explore  # noqa: E402
from wingspan.testing.litmus import PROGRAMS  # noqa: E402

PARAMETERS = {"scatter": ("N", "K"), "chunk": ("N", "B"), "gustavson": ("N", "T")}
LONG = 120
"""SPIN is stopped after so many seconds."""

CASES: dict[tuple[str, tuple[int, ...]], tuple[str, ...]] = {
    ("ninc", (5,)): ("graph", "dpor", "SPIN"),
    ("ninc", (6,)): ("graph", "dpor", "SPIN"),
    ("ninc", (7,)): ("graph", "SPIN"),
    ("lockinc", (7,)): ("graph", "dpor", "SPIN"),
    ("chunk", (4, 4)): ("graph", "dpor", "SPIN"),
    ("lastzero", (10,)): ("graph", "dpor", "SPIN"),
    ("lastzero", (12,)): ("dpor",),
    ("readers", (13,)): ("graph", "dpor", "SPIN"),
    ("indexer", (14,)): ("dpor",),
    ("scatter", (6, 2)): ("graph", "dpor", "SPIN"),
    ("distinct", (10,)): ("graph", "dpor", "SPIN"),
    ("gustavson", (3, 2)): ("rules", "plan", "SPIN"),
    ("gustavson", (3, 3)): ("rules", "plan", "SPIN"),
    ("gustavson", (4, 3)): ("rules", "plan"),
}
"""The ways to explore each program; for some, the state graph has too many states."""
WHOLE = {"rules": "semantics", "plan": "native"}
"""The ways that explore a program of the language, and their machines."""

THEIR_SPIN = 1.62
"""Seconds that SPIN took on ninc(7) where the others were measured."""
OTHERS = {
    "Nidhugg, optimal": {"ninc(5)": 1.02, "ninc(6)": 55.7, "lockinc(7)": 0.59, "lastzero(10)": 0.71,
                         "lastzero(12)": 4.73, "readers(13)": 1.83, "indexer(14)": 0.36},
    "GenMC 0.10.3": {"ninc(5)": 0.21, "ninc(6)": 7.95, "lockinc(7)": 0.52, "lastzero(10)": 0.29, "lastzero(12)": 2.06,
                     "readers(13)": 0.35, "indexer(14)": 0.39},
    "TLC": {"ninc(5)": 1.13, "ninc(6)": 1.88, "ninc(7)": 18.7},
}  # fmt: skip
"""CPU seconds."""

Record = dict[str, Any]


@dataclass
class Run:
    """One exploration: CPU seconds, megabytes, and what there was to explore."""

    seconds: float
    megabytes: float
    states: int
    traces: int | None = None


def ours(program: str, size: tuple[int, ...], way: str) -> Run:
    """Explore in a process of its own."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=lambda: send.send(explored(program, size, way)))
    process.start()
    found: Run = receive.recv()
    process.join()
    return found


def gustavson(size: int, tasks: int, machine: str) -> Any:
    """The machine of a product of two matrices, of which a third of the elements are zeros, as in bench/promela."""
    A, B = (np.arange(first, first + step * size**2, step).reshape(size, size) % 3 for first, step in ((1, 1), (1, 2)))
    params = {"nt": tasks, "sch": "dynamic_schedule(1)"}
    bound = api.bind(ROOT / "examples/spgemm_gustavson.ws", params=params, inputs={"A": 1.0 * A, "B": 1.0 * B})
    return api.machine_of(bound, machine)


def explored_whole(machine: Any) -> Run:
    """Explore all states of a machine, and make the verdict."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    verdict = explore(machine, Search("graph"))
    seconds = time.process_time() - began
    assert (verdict.complete, verdict.verdict) == (True, "safe")
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Run(seconds, used, verdict.states)


def explored(program: str, size: tuple[int, ...], way: str) -> Run:
    """Explore, and look at what was found."""
    if way in WHOLE:
        matrix, tasks = size
        return explored_whole(gustavson(matrix, tasks, WHOLE[way]))
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    verdict = explore(PROGRAMS[program].program(*size), Search(way))
    seconds = time.process_time() - began
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert verdict.complete
    if way == "graph":
        return Run(seconds, used, verdict.states)
    assert verdict.executions == PROGRAMS[program].traces(*size)
    return Run(seconds, used, verdict.states, verdict.executions)


def verifier(program: str, size: tuple[int, ...], place: Path) -> Path:
    """SPIN's program for a program, compiled."""
    place.mkdir()
    given = [f"-D{name}={number}" for name, number in zip(PARAMETERS.get(program, ("N",)), size, strict=True)]
    subprocess.run(
        ["spin", *given, "-a", HERE / "promela" / f"{program}.pml"], cwd=place, check=True, capture_output=True
    )
    subprocess.run(["gcc", "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=place, check=True)
    return place / "pan"


def theirs(pan: Path) -> Run:
    """One run of SPIN, with its partial-order reduction."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run([pan, "-m100000"], cwd=pan.parent, capture_output=True, text=True, timeout=LONG).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    states, memory = (re.search(rf"([\d.e+]+){text}", told) for text in (" states, stored", r"\s+total actual memory"))
    assert states and memory and "errors: 0" in told, told
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(seconds, float(memory[1]), int(float(states[1])))


def measure(repeat: int, wanted: list[str], spin: bool) -> dict[tuple[str, str], list[Run]]:
    """The runs of each program in each way."""
    ways: dict[tuple[str, str], Callable[[], Run]] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, ((program, size), names) in enumerate(CASES.items()):
            name = f"{program}({','.join(map(str, size))})"
            for way in names:
                if wanted and program not in wanted and name not in wanted:
                    continue
                if way != "SPIN":
                    ways[name, way] = lambda program=program, size=size, way=way: ours(program, size, way)  # type: ignore[misc]
                elif spin:
                    pan = verifier(program, size, Path(place) / str(number))
                    ways[name, way] = lambda pan=pan: theirs(pan)  # type: ignore[misc]
        found: dict[tuple[str, str], list[Run]] = {way: [] for way in ways}
        for number in range(repeat):
            for (name, way), run in ways.items():
                print(f"\r\033[K  {name}, {way}, round {number + 1} of {repeat}", end="", file=sys.stderr, flush=True)
                found[name, way].append(run())
    print("\r\033[K", end="", file=sys.stderr)
    return found


def show(found: dict[tuple[str, str], list[Run]]) -> list[Record]:
    """Print a line for each program and way; the records to keep."""
    least = {key: min(run.seconds for run in runs) for key, runs in found.items()}
    unit = least.get(("ninc(7)", "SPIN"))
    records: list[Record] = []
    heads = {"minimum": 10, "median": 10, "of ninc(7)": 12, "traces": 10, "states": 12, "states/s": 12, "MB": 8}
    print(" " * 24 + "".join(f"{head:>{width}}" for head, width in heads.items()))
    for (name, way), runs in found.items():
        low, median, first = least[name, way], statistics.median(run.seconds for run in runs), runs[0]
        relative = f"{low / unit:>12.3f}" if unit else f"{'':>12}"
        traces = "" if first.traces is None else f"{first.traces:,}"
        rate = first.states / max(low, 1e-4)
        print(
            f"{name:<14}{way:<10}{low:>8.3f} s{median:>8.3f} s{relative}"
            f"{traces:>10}{first.states:>12,}{rate:>12,.0f}{first.megabytes:>8.0f}"
        )
        record = {"what": f"{name} {way}", "min_s": low, "median_s": median, "of_spin_on_ninc7": unit and low / unit}
        records.append(record | {"traces": first.traces, "states": first.states, "mb": round(first.megabytes)})
    for tool, times in OTHERS.items():
        print(f"{tool:<18} " + "  ".join(f"{name} {seconds / THEIR_SPIN:.3f}" for name, seconds in times.items()))
    return records


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="such as ninc or 'ninc(7)'; all if none")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    if not (spin := shutil.which("spin") is not None):
        print("SPIN is not installed (apt install spin): without it", file=sys.stderr)
    load = records.load()
    found = show(measure(asked.repeat, asked.programs, spin))
    records.append("explore", {"load": load, "records": found})


if __name__ == "__main__":
    main()
