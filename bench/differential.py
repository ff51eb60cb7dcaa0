"""Programs a second of the differential campaign through all four engines on one core, and its costs by stage.

    python bench/differential.py [--examples N] [--repeat N] [--against FOLDER] [--processor N]

Every repeat is a campaign of its own in a new process, which is bound to one processor: random safe programs through
rules, reference, the plan step by step, and twice on threads. All repeats draw the same. Time is that of the processor,
which other work on the machine disturbs less than the clock's. A *case* is a program with one of its inputs, a number
of threads and a schedule; *programs* counts those with a text of their own. `--examples` programs are drawn.

Prints both a second, minimum and median of the repeats, and the milliseconds of a case by what they are spent on. With
`--against`, a folder with other sources of wingspan, both take turns, and it prints the ratios. Appends a record with
machine and commit to bench/results/differential.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT))

from bench import records  # noqa: E402

SEED = 2_000_000

PHASES = {
    "parse": ["wingspan.lang.parser:parse"],
    "elaborate": [
        f"wingspan.elaborate:{name}"
        for name in ("resolve_names", "load_tensors", "settle_extents", "outputs_of", "insert_lifecycles", "concordize")
    ],
    "dependence test": [
        "wingspan.dependence.analysis:Analysis.__init__",
        "wingspan.dependence.analysis:Analysis.verdict",
    ],
    "stage procedures": ["wingspan.buffers.procedures:_code", "wingspan.buffers.staging:Stager.call"],
    "lower": ["wingspan.plan.pipeline:draft"],
    "passes": ["wingspan.native.prepared:lower"],
    "assemble": ["wingspan.native.prepared:assemble", "wingspan.native.code:_live"],
    "rules": ["wingspan.semantics.machine:Semantics.run"],
    "controlled": ["wingspan.native.machine:Native.run"],
    "threads": ["wingspan.native.prepared:Compiled.run"],
    "reference": ["wingspan.reference:evaluate"],
}
"""The functions whose time a phase is, apart from that of other phases which they call."""


@contextmanager
def timed(spent: Counter[str]) -> Iterator[None]:
    """Seconds of the processor by phase while this lasts."""
    stack: list[str] = ["draw, compare"]
    last = time.process_time()

    def switch() -> None:
        nonlocal last
        now = time.process_time()
        spent[stack[-1]] += now - last
        last = now

    def measured(phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def run(*args: Any, **options: Any) -> Any:
            switch()
            stack.append(phase)
            try:
                return call(*args, **options)
            finally:
                switch()
                stack.pop()

        return run

    patches = []
    for phase, places in PHASES.items():
        for place in places:
            module, _, path = place.partition(":")
            *owners, name = path.split(".")
            owner: Any = import_module(module)
            for each in owners:
                owner = getattr(owner, each)
            patches.append(mock.patch.object(owner, name, measured(phase, getattr(owner, name))))
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        switch()
        for patch in patches:
            patch.stop()


def once(examples: int, phases: bool) -> dict[str, Any]:
    """One campaign in this process."""
    from wingspan.testing import campaign

    def run(examples: int, seed: int) -> Any:
        oracles = ["semantics", "native-controlled", "reference"]
        return campaign(oracles, ["native"], examples=examples, repeat=2, first_seed=seed)

    run(10, SEED - 1)
    spent: Counter[str] = Counter()
    began = time.process_time()
    with timed(spent) if phases else nullcontext():
        done = run(examples, SEED)
    return {
        "cases": done.programs,  # as older sources call them
        "programs": done.texts,
        "seconds": time.process_time() - began,
        "phases": dict(spent),
    }


def child(folder: Path, processor: int, examples: int, phases: bool) -> dict[str, Any]:
    """One campaign in a process of its own, with the sources in a folder."""
    command = [sys.executable, "-P", __file__, "--once", "--examples", str(examples), "--processor", str(processor)]
    made = subprocess.run(
        [*command, *(["--phases"] if phases else [])],
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
    return found


def report(name: str, measured: list[dict[str, Any]], looked: dict[str, Any]) -> dict[str, Any]:
    """Print what was measured of one version, and give it as a record."""
    rates = [each["cases"] / each["seconds"] for each in measured]
    share = looked["programs"] / looked["cases"]
    found = {
        "version": name, "cases": looked["cases"], "programs": looked["programs"],
        "cases_per_s": rates, "median": statistics.median(rates), "least": min(rates),
        "ms": {phase: 1000 * seconds / looked["cases"] for phase, seconds in looked["phases"].items()},
    }  # fmt: skip
    print(f"{name}: {looked['cases']} cases, {looked['programs']} programs, each repeat on one core")
    print(f"  {found['median']:6.1f} cases a second, {share * found['median']:6.1f} programs; median of {len(rates)}")
    print(f"  {found['least']:6.1f} cases a second, {share * found['least']:6.1f} programs; least")
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--examples", type=int, default=250)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--processor", type=int, default=0)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--phases", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        os.sched_setaffinity(0, {options.processor})
        print(json.dumps(once(options.examples, options.phases)))
        return
    folders = {"these sources": ROOT} | ({"the others": options.against} if options.against else {})
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in folders}
    for _ in range(options.repeat):
        for name, folder in folders.items():
            measured[name].append(child(folder, options.processor, options.examples, False))
    looked = {n: child(folder, options.processor, options.examples, True) for n, folder in folders.items()}
    found = {name: report(name, measured[name], looked[name]) for name in folders}
    for phase in sorted(next(iter(found.values()))["ms"], key=lambda phase: -found["these sources"]["ms"][phase]):
        print(f"  {phase:<18}" + "".join(f"{each['ms'].get(phase, 0):8.2f} ms a case" for each in found.values()))
    if options.against:
        pairs = zip(*(found[name]["cases_per_s"] for name in folders), strict=True)
        ratios = [new / old for new, old in pairs]
        print(f"these / others: {statistics.median(ratios):.2f} times as fast, median; {min(ratios):.2f} least")
    records.append("differential", {"records": list(found.values())})


if __name__ == "__main__":
    main()
