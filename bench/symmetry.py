"""Savings by symmetry: all states of programs whose tasks do the same, with and without it.

    python bench/symmetry.py [--repeat N]

Seconds of the processor, with and without in turn, the least of the rounds; without it only where there are not too
many states. Programs of the litmus machine in Python, and of the language on both machines: increments that four tasks
claim, and a product of matrices, 3×3, whose columns three tasks claim, with a workspace each. Appends a record with
machine and commit to bench/results/symmetry.jsonl.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from bench.steps import A, B  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.explorer import Search, Verdict, explore  # noqa: E402
from wingspan.testing import litmus  # noqa: E402

CLAIMED = """
c = Tensor(Dense(Element(0)), 1)
c .= 0
for i = parallel(1:4, cpu(:t, 4), dynamic_schedule(1))
    c[1] += 1
end
return c
"""

PRODUCT = """
C = Tensor(Dense(Dense(Element(0.0))))
w = Tensor(SparseByteMap(Element(0.0)))
C .= 0
for j = parallel(_, cpu(:t, 3), dynamic_schedule(1))
    w .= 0
    for k = _
        for i = _
            w[i] += A[i, k] * B[k, j]
    for i = _
        C[i, j] += w[i]
return C
"""


def bound(text: str, machine: str, **inputs: Any) -> Any:
    """A program of the language on a machine."""
    return api.machine_of(api.bind(api.parse(text), inputs=inputs), machine)


PROGRAMS: dict[str, tuple[bool, Callable[[], Any]]] = {
    "ninc(6)": (True, lambda: litmus.ninc(6)),
    "ninc(8)": (False, lambda: litmus.ninc(8)),
    "ninc(10)": (False, lambda: litmus.ninc(10)),
    "claimed, semantics": (True, lambda: bound(CLAIMED, "semantics")),
    "claimed, native": (True, lambda: bound(CLAIMED, "native")),
    "product, semantics": (True, lambda: bound(PRODUCT, "semantics", A=A, B=B)),
    "product, native": (True, lambda: bound(PRODUCT, "native", A=A, B=B)),
}
"""Whether to search without symmetry, too."""


def timed(make: Callable[[], Any], symmetry: bool) -> tuple[float, Verdict]:
    """The seconds that a search takes, and its verdict."""
    machine = make()
    return records.timed(lambda: explore(machine, Search("graph", symmetry=symmetry)))


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    found = []
    for name, (both, make) in PROGRAMS.items():
        ways = (False, True) if both else (True,)
        rounds = [{symmetry: timed(make, symmetry) for symmetry in ways} for _ in range(options.repeat)]
        for symmetry in ways:
            least, verdict = min((each[symmetry] for each in rounds), key=lambda timed: timed[0])
            found.append(
                {
                    "program": name, "symmetry": symmetry, "states": verdict.states, "min_s": least,
                    "interleavings": verdict.interleavings,
                }
            )  # fmt: skip
            print(
                f"{name:<20} {'symmetry' if symmetry else '':<8} {verdict.states:>8,} states {least:>8.2f} s "
                f"{verdict.interleavings:>24,} interleavings",
                flush=True,
            )
    records.append("symmetry", {"records": found})


if __name__ == "__main__":
    main()
