"""Steps a second of the semantics machine, and states a second of its state graph, on the examples.

    python bench/steps.py [--repeat N]

Prints rule steps per second of one run, and states per second of a complete exploration; minimum and median of the
repeats in one process, in seconds of the processor, which other work on the machine disturbs less than the clock's.
Appends a record with machine and commit to bench/results/steps.jsonl.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from wingspan import api, explorer  # noqa: E402
from wingspan.explorer import Search, Verdict  # noqa: E402

EXAMPLES = ROOT / "examples"
A, B = [[1.0, 2.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0.0, 1.0, 2.0], [4.0, 5.0, 0.0], [1.0, 0.0, 1.0]]

RUNS: dict[str, dict[str, Any]] = {"karate.ws": {}}
EXPLORATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "dependent": ("dependent.ws", {}),
    "gustavson 3×3, 2 tasks, static": (
        "spgemm_gustavson.ws",
        {"params": {"nt": 2, "sch": "static_schedule()"}, "inputs": {"A": A, "B": B}},
    ),
    "gustavson 3×3, 2 tasks, dynamic 1": (
        "spgemm_gustavson.ws",
        {"params": {"nt": 2, "sch": "dynamic_schedule(1)"}, "inputs": {"A": A, "B": B}},
    ),
    "inner 3×3, 2 tasks, static": (
        "spgemm_inner.ws",
        {"params": {"nt": 2, "sch": "static_schedule()"}, "inputs": {"AT": A, "B": B}},
    ),
}


def run_steps(name: str, options: dict[str, Any]) -> tuple[int, float]:
    """Rule steps of one run, and its seconds."""
    machine = api.semantics(api.bind(EXAMPLES / name, **options))
    state, count = machine.initial(), 0
    began = time.process_time()
    while tasks := machine.tasks(state):
        state = machine.step(state, tasks[0]).next  # type: ignore[assignment]
        count += 1
    return count, time.process_time() - began


def explore(name: str, options: dict[str, Any]) -> tuple[float, Verdict]:
    """The seconds of exploring a program, and the verdict."""
    machine = api.semantics(api.bind(EXAMPLES / name, **options))
    return records.timed(lambda: explorer.explore(machine, Search("graph")))


def measure(repeat: int) -> list[dict[str, Any]]:
    """One record for each program."""
    found = []
    for name, options in RUNS.items():
        samples = [run_steps(name, options) for _ in range(repeat)]
        found.append(_record(f"run {name}", "steps", samples[0][0], [seconds for _, seconds in samples]))
    for title, (name, options) in EXPLORATIONS.items():
        explored = [explore(name, options) for _ in range(repeat)]
        verdict, seconds = explored[0][1], [seconds for seconds, _ in explored]
        found.append(_record(f"explore {title}", "states", verdict.states, seconds))
        found.append(_record(f"explore {title}", "steps", verdict.steps, seconds))
    return found


def _record(what: str, unit: str, count: int, seconds: list[float]) -> dict[str, Any]:
    best, middle = min(seconds), statistics.median(seconds)
    return {"what": what, "unit": unit, "count": count, "min_s": best, "median_s": middle, "per_s": count / best}


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    found = measure(parser.parse_args().repeat)
    for r in found:
        print(
            f"{r['what']:<46} {r['count']:>8} {r['unit']:<7} {r['min_s']:>8.3f} s  {r['per_s']:>10,.0f} {r['unit']}/s"
        )
    records.append("steps", {"records": found})


if __name__ == "__main__":
    main()
