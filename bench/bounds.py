"""The seconds and memory that `wingspan explore` takes under --max-seconds and --max-memory, by every strategy.

    python bench/bounds.py [SECONDS or SIZE]… [--busy N]

A line has the bound, the options, the seconds by the clock and the peak of the memory, as the system reports them for
the whole command; `--busy` processes make the machine a loaded one meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """\
c = Tensor(SparseByteMap(Element(0)), 8)
c .= 0
for i = parallel(1:8)
    c[i] += 1
    c[1] += 1
end
return c
"""
"""Of more states than any search reaches in minutes."""

OPTIONS = (
    "--strategy auto", "--strategy graph", "--strategy dpor", "--strategy random --runs 1000000000",
    "--strategy pct --runs 1000000000", "--strategy bounded --preemptions 50", "--symmetry", "--shortest",
    "--strategy graph --jobs 2", "--strategy dpor --jobs 2", "--strategy graph --checkpoint {folder}/kept",
    "--strategy graph --machine native",
)  # fmt: skip


def main() -> None:
    """Measure, one command after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bounds", nargs="*", default=["5", "20"], help="seconds, or a size such as 512M")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes that only use the processor")
    given = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "program.ws")
            file.write_text(PROGRAM)
            for bound in given.bounds:
                for options in OPTIONS:
                    measure(str(file), bound, options.format(folder=folder))
    finally:
        for process in busy:
            process.kill()


def measure(file: str, bound: str, options: str) -> None:
    """Run one command, and print what it took."""
    option = "--max-seconds" if bound.replace(".", "", 1).isdigit() else "--max-memory"
    words = [sys.executable, "-m", "wingspan", "explore", file, "--threads", "8", option, bound, *options.split()]
    began = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        report = process.stdout.read()
        _, _, used = os.wait4(process.pid, 0)
    (search,) = [line.partition(":")[2] for line in report.splitlines() if line.startswith("  search")]
    missing = ", some left out" if "\n  left out" in report else ""
    taken = f"{time.monotonic() - began:6.2f} s  {used.ru_maxrss >> 10:5} MB"
    print(f"{bound:>5}  {options:<45} {taken} {search.split(' (')[0]}{missing}", flush=True)


if __name__ == "__main__":
    main()
