"""Keeps what the tests take: processor time by file, and of the dearest tests.

    make test                                     # or: pytest -n auto -m 'not browser' --costs=costs.jsonl
    python bench/suite.py costs.jsonl [--about TEXT]

`--costs` of the tests' own plugin, proofs_tests/budget.py, writes the file: a line for each test. What is kept in
bench/results/suite.jsonl are seconds of this process and of those that it has started and that have ended, and the
largest resident memory of a process that ran tests, in MB.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import records

DEAREST = 200


def main() -> None:
    """Read the costs, print the sums, and append them to the results."""
    parser = records.options(__doc__)
    parser.add_argument("costs", type=Path)
    parser.add_argument("--about", default="", help="what is special about this run")
    options = parser.parse_args()
    costs = [json.loads(line) for line in options.costs.read_text(encoding="utf-8").splitlines()]
    files: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for name, own, others, _ in costs:
        for at, number in enumerate((1, own, others)):
            files[name.partition("::")[0]][at] += number
    order = sorted(files.items(), key=lambda one: -one[1][1] - one[1][2])
    by_file = {file: [tests, round(own, 2), round(others, 2)] for file, (tests, own, others) in order}
    dearest = [each[:3] for each in sorted(costs, key=lambda one: -one[1] - one[2])[:DEAREST]]
    resident = max(each[3] for each in costs)
    total = sum(own + others for _, own, others, _ in costs)
    about = {
        "about": options.about,
        "load": records.load(),
        "tests": len(costs),
        "seconds": round(total, 1),
        "resident": resident,
    }
    records.append("suite", {**about, "files": by_file, "dearest": dearest})
    print(f"{total:.0f} s of processor time in {len(costs)} tests, {resident} MB resident at most")
    for file, (tests, own, others) in list(by_file.items())[:30]:
        print(f"{own + others:8.1f} s  {tests:5.0f}  {file}")


if __name__ == "__main__":
    main()
