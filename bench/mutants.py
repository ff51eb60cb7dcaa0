"""Seeds mistakes into wingspan, one at a time, and shows which test notices each.

    python bench/mutants.py [--check] [--list] [--only NAME…] [--jobs N]

The mutants stand in bench/mutants.d/*.toml, a file per area: in `function` of `file`, the code `old` becomes `new`,
as mutations.py says. The tests named are run on the mutant, as `make test` runs them; if they pass, as `make test-
deep` does; and if they pass again, all of proofs_tests. A mutant that nobody can notice says why it is `equivalent`,
and only its named tests are run. Results are kept in bench/results/mutants.jsonl, and mutants with a result for the
same text and the same tests are not run again. The exit status is 1 if a mutant survives unexplained, is killed in
spite of its explanation, or does not apply. `--check` only finds out whether each mutant applies and its tests are
there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.mutations import Misplaced, mutate  # noqa: E402

RESULTS = HERE / "results" / "mutants.jsonl"
TIMEOUT = 300
"""Seconds for a test that is not deep. One that does not end has noticed something, as it has in `make test`."""

MEMORY = 6 << 30
"""Bytes that one run of pytest may hold. One that needs more has noticed something: it would not end."""
LOOK = 2.0
"""Seconds between two looks at its memory."""

EVERYTHING = ("proofs_tests",)
ENDED = "+ Timeout +"
"""the line of pytest-timeout before it ends the process"""
NO_TESTS = 5
"""pytest's exit status where all of the tests are left out"""
FIRST_FAILURE = """
from hypothesis import Phase, settings
settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
settings.load_profile("mutants")
"""
"""A plugin for pytest: that a test fails is enough, the smallest example of it is not looked for."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: the code that it replaces in a function, and the tests that should notice."""

    area: str
    name: str
    file: str
    old: str
    new: str
    why: str
    """the mistake in words"""
    tests: tuple[str, ...]
    """files, functions or cases of proofs_tests, `explorer/test_races.py::test_kinds_of_races`"""
    function: str = ""
    """the dotted name of what is mutated; none for a whole file"""
    equivalent: str = ""
    """the reason that no test can notice"""

    def mutated(self, root: Path) -> str:
        """The text of the file with the mistake; Misplaced if it has no one place there."""
        file = root / self.file
        try:
            return mutate(file.read_text(encoding="utf-8"), file.suffix, self.function, self.old, self.new)
        except (OSError, SyntaxError, Misplaced) as error:
            raise Misplaced(f"{self.name}, in {self.file}: {error}") from None

    def digest(self, root: Path) -> str:
        """A digest of all that a result depends on: the mutated text, and the tests."""
        files = sorted({test.partition("::")[0] for test in self.tests})
        parts = [self.mutated(root), *self.tests, *((root / "proofs_tests" / f).read_text("utf-8") for f in files)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """The fate of a mutant: the test that failed first, none if it survived."""

    name: str
    digest: str
    killed_by: str | None
    seconds: float
    deep: bool = False
    """whether `make test` leaves it to `make test-deep`"""


def mutants() -> list[Mutant]:
    """All mutants, area by area."""
    found = []
    for file in sorted((HERE / "mutants.d").glob("*.toml")):
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]:
            found.append(Mutant(file.stem, **{**entry, "tests": tuple(entry["tests"])}))
    return found


def kept() -> dict[tuple[str, str], Outcome]:
    """The results so far, by name and digest. A line that was cut off is no result."""
    found = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else ():
        try:
            outcome = Outcome(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[outcome.name, outcome.digest] = outcome
    return found


def keep(outcome: Outcome) -> None:
    """Append a result by one write, so that a run that is stopped leaves whole lines."""
    RESULTS.parent.mkdir(exist_ok=True)
    line = json.dumps(asdict(outcome)) + "\n"
    with RESULTS.open("ab", buffering=0) as log:
        log.write(line.encode())


# --------------------------------------------------------------------------------------------------------- checking


def flaws(wanted: list[Mutant], root: Path) -> Iterator[str]:
    """The mutants that do not apply, that name no test or one that is not there, or that share a name."""
    for name, count in Counter(mutant.name for mutant in wanted).items():
        if count > 1:
            yield f"{name}: {count} mutants have this name"
    for mutant in wanted:
        try:
            mutant.mutated(root)
        except Misplaced as error:
            yield str(error)
        if not mutant.tests:
            yield f"{mutant.name}: it names no test"
        for test in mutant.tests:
            file, _, function = test.partition("::")
            if function.partition("[")[0] not in test_names(root / "proofs_tests" / file):
                yield f"{mutant.name}: there is no test {test}"


@cache
def test_names(file: Path) -> frozenset[str]:
    """The functions of a file of tests, and the empty name, which stands for all; none if it is not there."""
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef)) | {""}


# ---------------------------------------------------------------------------------------------------------- running


def rewrite(file: Path, text: str) -> None:
    """Change a module, and forget the bytecode of what it was, which may have the same size and time."""
    file.write_text(text, encoding="utf-8")
    for stale in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        stale.unlink()


def held(pid: int) -> int:
    """The bytes that a process holds; 0 where the system does not report it."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


class Runner:
    """Copies of the working tree, in which tests run; `stop` ends those that run."""

    def __init__(self, jobs: int) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self.running: set[subprocess.Popen[str]] = set()
        self.stopped = False
        self.stale: set[Path] = set()
        """the copies with extension modules to build before the next test"""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        built = (str(path.relative_to(ROOT)) for path in (ROOT / "wingspan").rglob("*.so"))
        names = [*filter(None, listed.split("\0")), *built]
        for job in range(jobs):
            copy = self.place / str(job)
            for name in names:
                if (ROOT / name).is_file():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / name, copy / name)
            (copy / "first_failure.py").write_text(FIRST_FAILURE, encoding="utf-8")
            self.copies.put(copy)

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A copy that nobody else uses meanwhile."""
        copy = self.copies.get()
        try:
            yield copy
        finally:
            self.copies.put(copy)

    def failure(self, copy: Path, tests: Iterable[str], deep: bool = True) -> str | None:
        """The first of the tests that fails in a copy, if one does: with `deep`, as `make test-deep` runs them."""
        selected = [test if test in EVERYTHING else f"proofs_tests/{test}" for test in tests]
        options = ["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-p", "first_failure"]
        settings = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": ""}
        if deep:
            settings |= {"WINGSPAN_EFFORT": "1"}
        else:
            options += ["-m", "not deep", "--timeout", str(TIMEOUT)]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *selected], cwd=copy, env={**os.environ, **settings},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.running.add(process)
        output = None
        try:
            while output is None:
                try:
                    output, _ = process.communicate(timeout=LOOK)
                except subprocess.TimeoutExpired:
                    if held(process.pid) > MEMORY:
                        return f"more than {MEMORY >> 30} GB of memory"
        finally:
            process.kill()
            process.wait()
            self.running.discard(process)
        if self.stopped:
            raise KeyboardInterrupt
        if process.returncode in (0, NO_TESTS):
            return None
        for line in output.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                return line.partition(" ")[2].partition(" - ")[0].removeprefix("proofs_tests/").replace(f"{copy}/", "")
        if ENDED in output:
            return "a test that does not end"
        if process.returncode < 0:
            return f"signal {-process.returncode}"
        raise RuntimeError(f"pytest ended with status {process.returncode}:\n{output}")

    def build(self, copy: Path, changed: str) -> None:
        """Build the extension modules of a copy, if one of their sources has changed since they were built."""
        compiled = changed.endswith((".pyx", ".pxd", ".h"))
        if compiled or copy in self.stale:
            command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
            subprocess.run(command, cwd=copy, check=True, capture_output=True)
            self.stale.discard(copy)
        if compiled:
            self.stale.add(copy)

    def outcome(self, mutant: Mutant) -> Outcome:
        """Seed a mutant into a copy, and run its tests, then all unless it is said why none can notice."""
        began = time.monotonic()
        with self.copy() as copy:
            file, digest = copy / mutant.file, mutant.digest(copy)
            right = file.read_text(encoding="utf-8")
            try:
                rewrite(file, mutant.mutated(copy))
                self.build(copy, mutant.file)
                failed = self.failure(copy, mutant.tests, deep=False)
                if deep := failed is None:
                    failed = self.failure(copy, mutant.tests)
                if failed is None and not mutant.equivalent:
                    failed = self.failure(copy, EVERYTHING)
            finally:
                rewrite(file, right)
        return Outcome(mutant.name, digest, failed, round(time.monotonic() - began, 1), deep and failed is not None)

    def stop(self) -> None:
        """End what runs."""
        self.stopped = True
        for process in list(self.running):
            process.kill()

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self.place, ignore_errors=True)


def run(wanted: list[Mutant], jobs: int, console: Console) -> None:
    """Run mutants, and keep each result as soon as it is there."""
    runner = Runner(jobs)
    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console) as progress, ThreadPoolExecutor(jobs) as pool:
            bar = progress.add_task("without mistakes", total=len(wanted))
            try:
                with runner.copy() as copy:
                    tests = sorted({test for mutant in wanted for test in mutant.tests})
                    if failed := runner.failure(copy, tests, deep=False):
                        raise SystemExit(f"{failed} fails without any mutant")
                for future in as_completed([pool.submit(runner.outcome, mutant) for mutant in wanted]):
                    keep(future.result())
                    progress.update(bar, advance=1, description=future.result().name)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                runner.stop()
                raise
    finally:
        runner.close()


# ----------------------------------------------------------------------------------------------------------- showing


def verdict(mutant: Mutant, outcome: Outcome | None) -> tuple[str, bool]:
    """The line to print for a mutant, and whether its outcome is as it should be."""
    if outcome is None:
        return "not run", False
    if outcome.killed_by and mutant.equivalent:
        return f"not equivalent: {outcome.killed_by}", False
    if outcome.killed_by:
        return f"{outcome.killed_by}{' (test-deep)' * outcome.deep}", True
    return (f"equivalent: {mutant.equivalent}", True) if mutant.equivalent else ("survived", False)


def show(wanted: list[Mutant], results: dict[str, Outcome], console: Console) -> bool:
    """Print the table; whether all is well with all of them."""
    table = Table("area", "mutant", "killed by", title="mutants")
    bad = []
    for mutant in wanted:
        said, well = verdict(mutant, results.get(mutant.name))
        table.add_row(mutant.area, mutant.name, escape(said), style=None if well else "bold red")
        bad += [] if well else [mutant.name]
    console.print(table)
    killed = sum(outcome.killed_by is not None for outcome in results.values())
    deep = sum(outcome.deep for outcome in results.values())
    counts = f"{len(wanted)} mutants, {killed} killed, {deep} of them by test-deep alone"
    console.print(f"{counts}, {len(bad)} to explain {' '.join(bad)}".rstrip())
    return not bad


def main() -> int:
    """Run what has no result yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only find out whether the mutants apply")
    parser.add_argument("--list", action="store_true", help="list the mutants and what is wrong about each")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants only")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many to run at once")
    options = parser.parse_args()
    console = Console()
    wanted = [mutant for mutant in mutants() if not options.only or mutant.name in options.only]
    if unknown := set(options.only or ()) - {mutant.name for mutant in wanted}:
        parser.error(f"there is no mutant {', '.join(sorted(unknown))}")
    if options.list:
        for mutant in wanted:
            console.print(f"{mutant.area:<12} {mutant.name:<44} {mutant.why}", soft_wrap=True, markup=False)
        return 0
    if bad := list(flaws(wanted, ROOT)):
        console.print("\n".join(bad), style="bold red", markup=False)
        return 1
    if options.check:
        console.print(f"{len(wanted)} mutants apply")
        return 0
    digests = {mutant.name: mutant.digest(ROOT) for mutant in wanted}
    try:
        known = kept()
        if left := [mutant for mutant in wanted if (mutant.name, digests[mutant.name]) not in known]:
            run(left, options.jobs, console)
    except KeyboardInterrupt:
        console.print("stopped; what is done is kept")
        return 130
    known = kept()
    results = {name: known[name, digest] for name, digest in digests.items() if (name, digest) in known}
    return 0 if show(wanted, results, console) else 1


if __name__ == "__main__":
    sys.exit(main())
