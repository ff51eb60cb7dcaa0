"""The gain of tables of local steps: all states of programs, with a table and with each step computed.

    python bench/local_steps.py [--repeat N]

Seconds of the processor for a search of all states, made anew each time, minimum and median of the rounds; in each
round both ways in turn, the second only where it does not take minutes. Beside them the states, for how many steps the
machine was asked, the bytes that the packed states, nodes and edges take, each, and the seconds by the clock of one
thread and of two. Appends a record with machine and commit to bench/results/local_steps.jsonl.
"""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from bench import records  # noqa: E402
from bench.symmetry import PRODUCT  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.api.small import draw  # noqa: E402
from wingspan.elaborate import Elaborated  # noqa: E402
from wingspan.explorer.states import States  # noqa: E402

FEW = 4_000
"""Programs with more states are searched with tables only."""
EXAMPLES = ("spgemm_gustavson", "spgemm_nested", "spmspv", "spgemm_outer", "mttkrp_sparse", "histogram")


def increments(tasks: int) -> Elaborated:
    """A counter that so many tasks increment without a lock."""
    text = f"c = Scalar(0)\nc[] = 0\nfor i = parallel(1:{tasks})\n    c[] += 1\nend\nreturn c"
    return api.bind(api.parse(text), threads=tasks)


def product(extent: int) -> Elaborated:
    """Gustavson's product of two matrices with some two entries in each column, which three tasks claim."""
    rng = np.random.default_rng(1)
    A, B = ((rng.random((extent, extent)) < 2 / extent).astype(float) for _ in range(2))
    return api.bind(api.parse(PRODUCT), inputs={"A": A, "B": B})


def example(name: str) -> Elaborated:
    """An example with inputs of the scope 4."""
    program = api.load(ROOT / "examples" / f"{name}.ws")
    drawn = draw(program, 4)
    return api.bind(program, inputs=drawn.inputs, params=drawn.params, threads=4)


PROGRAMS: dict[str, Callable[[], Elaborated]] = {
    "increments 5": lambda: increments(5),
    "increments 7": lambda: increments(7),
    "increments 9": lambda: increments(9),
    "product 4": lambda: product(4),
    "product 6": lambda: product(6),
    **{f"{name} --small 4": partial(example, name) for name in EXAMPLES},
}


def search(bound: Elaborated, machine: str, tabled: bool, threads: int = 1) -> States[Any]:
    """All states of a program."""
    states: States[Any] = States(api.machine_of(bound, machine))
    states.tabled, states.threads, states.freezes = tabled, threads, True
    states.search(lambda: states.flood())
    gc.unfreeze()
    return states


def main() -> None:
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    measured: dict[str, Any] = {}
    columns = f"{'tables':>15}{'each step':>16}  times   bytes  clock: 1, 2"
    print(f"{'program':29}{'machine':10}{'states':>10}{'asked':>7}{columns}")
    for name, make in PROGRAMS.items():
        bound = make()
        for machine in api.MACHINES:
            seconds: dict[bool, list[float]] = {True: [], False: []}
            states = search(bound, machine, True)
            for _ in range(repeat):
                for tabled in (True, False):
                    if tabled or states.nodes <= FEW:
                        seconds[tabled].append(records.timed(partial(search, bound, machine, tabled))[0])
            assert states.walker is not None
            row: dict[str, Any] = {"states": states.nodes, "asked": states.walker.asked}
            row["bytes"] = states.walker.size_in_bytes() + states.size_in_bytes()
            clock: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(repeat):
                for threads, times in clock.items():
                    began = perf_counter()
                    search(bound, machine, True, threads)
                    times.append(perf_counter() - began)
            row["clock"] = clock
            row |= {"tables": seconds[True], "each": seconds[False]}
            measured[f"{name}, {machine}"] = row
            both = [f"{min(each):8.3f} {statistics.median(each):6.3f}" if each else "-" for each in seconds.values()]
            gain = f"{min(seconds[False]) / min(seconds[True]):6.1f}" if seconds[False] else ""
            print(
                f"{name:29}{machine:10}{row['states']:10,}{row['asked']:7,}{both[0]:>15}{both[1]:>16}{gain:6}"
                f"{row['bytes'] / states.nodes:8.1f}{min(clock[1]):9.2f}{min(clock[2]):8.2f}",
                flush=True,
            )
    records.append("local_steps", {"load": records.load(), "seconds": measured})


if __name__ == "__main__":
    main()
