"""Writes the tables of docs/exploring.md and docs/parts.md from what explore.py, symmetry.py and jobs.py measured.

python bench/exploring.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.explore import CASES, OTHERS, THEIR_SPIN, WHOLE  # noqa: E402
from bench.jobs import PROGRAMS as JOBS  # noqa: E402
from proofs_tests.generated import rewrite, table  # noqa: E402
from wingspan.testing.litmus import PROGRAMS  # noqa: E402

RESULTS = ROOT / "bench" / "results"
DOCS = ROOT / "docs"
EXPLORING, PARTS, NATIVE = (DOCS / f"{name}.md" for name in ("exploring", "parts", "native"))
EXPRESSIONS = DOCS / "how-to" / "whole-expressions.md"
Record = dict[str, Any]


def kept(name: str) -> list[Record]:
    """All that a script has kept, the last at the end."""
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def newest(name: str, required: Callable[[list[Record]], bool] = bool) -> list[Record]:
    """The records of the last run of a script that has what is required."""
    return next(run["records"] for run in reversed(kept(name)) if required(run["records"]))


def strategies() -> str:
    """Both strategies and SPIN, relative to SPIN's time on ninc(7), and other tools that were measured beside SPIN."""
    every = {one["what"]: one for one in newest("explore", lambda some: any("SPIN" in one["what"] for one in some))}
    ways = ("graph", "dpor", "SPIN")
    lines = []
    for program, size in CASES:
        if program not in PROGRAMS:
            continue
        name = f"{program}({','.join(map(str, size))})"
        graph = every.get(f"{name} graph")
        times = (every[f"{name} {way}"]["of_spin_on_ninc7"] if f"{name} {way}" in every else None for way in ways)
        others = (times.get(name) for times in OTHERS.values())
        lines.append(
            [
                name,
                PROGRAMS[program].traces(*size),
                *((graph["states"], round(graph["states"] / graph["min_s"])) if graph else ("", "")),
                *("" if time is None else f"{time:.3f}" for time in times),
                *("" if time is None else f"{time / THEIR_SPIN:.2f}" for time in others),
            ]
        )
    return table(["program", "traces", "states", "states/s", *ways, "Nidhugg", "GenMC", "TLC"], lines)


def machines() -> str:
    """Gustavson's product by the rules, on the plan, and by SPIN: states, and seconds relative to SPIN's on ninc(7)."""
    every = {one["what"]: one for one in newest("explore", lambda some: any("rules" in one["what"] for one in some))}
    lines = []
    for name in (what.removesuffix(" rules") for what in every if what.endswith(" rules")):
        found = [every.get(f"{name} {way}") for way in (*WHOLE, "SPIN")]
        lines.append([name, *("" if one is None else f"{one['of_spin_on_ninc7']:.3f}" for one in found)])
        lines[-1][1:1] = [every[f"{name} rules"]["states"], "" if found[-1] is None else found[-1]["states"]]
    return table(["program", "states", "states, SPIN", *WHOLE, "SPIN"], lines)


def symmetry() -> str:
    """States and seconds without and with symmetry."""
    found: dict[str, dict[bool, Record]] = {}
    for one in newest("symmetry"):
        found.setdefault(one["program"], {})[one["symmetry"]] = one
    lines = [
        [
            name.replace("claimed", "four increments"),
            both[True]["interleavings"],
            *(cell for way in (False, True) for cell in _states_and_seconds(both.get(way))),
        ]
        for name, both in found.items()
    ]
    return table(["program", "interleavings", "states", "s", "states with symmetry", "s"], lines)


def _states_and_seconds(record: Record | None) -> tuple[object, str]:
    return (record["states"], f"{record['min_s']:.2f}") if record else ("", "")


def processes() -> str:
    """All traces by one and by two processes."""
    found: dict[str, dict[int, Record]] = {}
    for one in newest("jobs"):
        found.setdefault(one["program"], {})[one["jobs"]] = one
    lines = [
        [
            name.replace("two counters", "two counters, four tasks"),
            by[1]["executions"],
            *(f"{by[jobs]['min_s']:.2f} s" for jobs in (1, 2)),
            f"{by[2]['gain']:.2f}",
            *(by[jobs]["states"] for jobs in (1, 2)),
        ]
        for name, by in found.items()
        if ALL_TRACES[name]
    ]
    return table(["program", "traces", "one", "two", "gain", "states, one", "states, two"], lines)


def merging() -> str:
    """The merge of two copies, by one and by two threads."""
    found = {one["what"]: one for one in newest("native", lambda some: "merging" in some[0]["what"])}
    lines = []
    for level in ("SparseList", "SparseDict"):
        one, two = (found[f"merging {level}s, {threads}"] for threads in ("1 thread", "2 threads"))
        seconds = [f"{each['min_s']:.3f} s" for each in (one, two)]
        lines.append([f"`{level}({level}(…))`", *seconds, f"{two['speed_up']:.2f}"])
    return table(["", "one thread", "two threads", "ratio"], lines)


def chosen() -> str:
    """Single kernels: the chosen program, one by hand, and the whole call."""
    found = {one["kernel"]: one for one in kept("einsum") if "by_hand_ms" in one}
    lines = [
        [name, f"{one['chosen_ms']:.3f}", f"{one['ratio']:.2f}", f"{one['call']:.2f}"] for name, one in found.items()
    ]
    return table(["kernel", "chosen, ms", "by hand", "call"], lines)


def products() -> str:
    """Products of several factors: the chosen program beside the best single nest."""
    found = {(one["kernel"], one["rows"], one["each"]): one for one in kept("einsum") if "single_nest_ms" in one}
    lines = [
        [name, str(rows), each, f"{one['chosen_ms']:.3f}", f"{one['ratio']:.2f}"]
        for (name, rows, each), one in found.items()
    ]
    return table(["product", "rows", "in each", "chosen, ms", "single nest"], lines)


ALL_TRACES = {name: strategy == "dpor" for name, (strategy, _) in JOBS.items()}
"""Whether a program of jobs.py is searched for all traces; of the others, the page has seconds of the processor."""
TABLES: Mapping[tuple[Path, str], Callable[[], str]] = {
    (EXPLORING, "strategies"): strategies,
    (EXPLORING, "machines"): machines,
    (EXPLORING, "symmetry"): symmetry,
    (PARTS, "processes"): processes,
    (NATIVE, "merging"): merging,
    (EXPRESSIONS, "kernels"): chosen,
    (EXPRESSIONS, "products"): products,
}
"""The generated parts, by page and name."""


def main() -> None:
    """Rewrite the tables of all these pages."""
    for (page, name), make in TABLES.items():
        rewrite(page, {name: make()})


if __name__ == "__main__":
    main()
