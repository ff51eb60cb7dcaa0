"""Speed-up by several processes: all traces of a program, or all of its states, by one process and by more.

    python bench/jobs.py [--repeat N] [--jobs N …] [--only TEXT]

Seconds by the clock, one number of processes after the other in each round; the least and the median of the rounds, and
how many times as fast as one process that is. Programs of the litmus machine, where a state is soon entered (all states
without tables), and of the language, on both machines. Appends a record with machine and commit to
bench/results/jobs.jsonl.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from bench.steps import EXAMPLES, A, B  # noqa: E402
from proofs_tests.explorer.plain import Plain  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.explorer import Search, Verdict, explore  # noqa: E402
from wingspan.testing import litmus  # noqa: E402

COUNTERS = """
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:4, cpu(:t, 4))
    c[1] += 1
    c[2] += 1
end
return c
"""


def counters(machine: str) -> Any:
    """Four tasks that update two counters each, on a machine of the language."""
    return api.machine_of(api.bind(api.parse(COUNTERS)), machine)


def gustavson(machine: str) -> Any:
    """Gustavson's product of two matrices, 3×3, by three tasks that claim one column at a time."""
    params, inputs = {"nt": 3, "sch": "dynamic_schedule(1)"}, {"A": A, "B": B}
    return api.machine_of(api.bind(EXAMPLES / "spgemm_gustavson.ws", params=params, inputs=inputs), machine)


PROGRAMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "ninc(6)": ("dpor", lambda: litmus.ninc(6)),
    "lastzero(9)": ("dpor", lambda: litmus.lastzero(9)),
    "two counters, semantics": ("dpor", lambda: counters("semantics")),
    "two counters, native": ("dpor", lambda: counters("native")),
    "ninc(5), states": ("graph", lambda: Plain(litmus.ninc(5))),
    "gustavson, semantics": ("graph", lambda: gustavson("semantics")),
    "gustavson, native": ("graph", lambda: gustavson("native")),
}


def timed(strategy: str, program: Any, jobs: int) -> tuple[float, Verdict]:
    """The seconds of a search by the clock, and its verdict."""
    return records.timed(lambda: explore(program, Search(strategy, jobs=jobs)), time.perf_counter)


def measure(name: str, repeat: int, processes: list[int]) -> list[dict[str, Any]]:
    """Each number of processes in turn, so many times."""
    strategy, make = PROGRAMS[name]
    rounds = [{jobs: timed(strategy, make(), jobs) for jobs in processes} for _ in range(repeat)]
    found = []
    for jobs in processes:
        seconds = [each[jobs][0] for each in rounds]
        gains = [each[processes[0]][0] / each[jobs][0] for each in rounds]
        verdict = rounds[0][jobs][1]
        found.append(
            {
                "program": name, "jobs": jobs, "executions": verdict.executions, "states": verdict.states,
                "min_s": min(seconds), "median_s": statistics.median(seconds), "gain": statistics.median(gains),
            }
        )  # fmt: skip
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="programs with this in their names")
    options = parser.parse_args()
    found = []
    for name in (name for name in PROGRAMS if options.only in name):
        for r in measure(name, options.repeat, options.jobs):
            found.append(r)
            print(
                f"{r['program']:<24} {r['jobs']:>2} processes {r['executions']:>8} executions {r['states']:>8} states "
                f"{r['min_s']:>8.2f} s (median {r['median_s']:.2f})  × {r['gain']:.2f}",
                flush=True,
            )
    records.append("jobs", {"records": found})


if __name__ == "__main__":
    main()
