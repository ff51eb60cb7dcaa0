"""Printed C under a checker of threads or of memory: the other half of `make tsan` and `make asan`.

python -m proofs_tests.sanitized_c tsan    # safe programs race nowhere; races that are seeded in their C are seen
python -m proofs_tests.sanitized_c asan    # each allocation and each start of a thread fails in turn; inputs are lent
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs_tests import sanitized
from proofs_tests.places import ROOT
from proofs_tests.printed_c import Printed
from proofs_tests.sanitized import Ready
from wingspan import api
from wingspan.compiled.build import compiler
from wingspan.compiled.files import contents

FLAGS = ("-std=gnu11", "-O1", "-march=native", "-g", "-fwrapv", "-ffp-contract=off", "-pthread")
THREADS = ("-fsanitize=thread",)
MEMORY = ("-fsanitize=address,undefined", "-include", str(Path(__file__).with_name("failing.h")))
LENT = ("-O1", "-g", "-fsanitize=address")
RACE = "WARNING: ThreadSanitizer: data race"
REFUSED = re.compile(
    r"(\S+:\d+:\d+: )?"
    r"(out of memory: the system has no address space left|the system cannot start \d+ more threads?)\n"
)
"""The messages of a program that the system denies memory or threads."""

Files = dict[str, bytes]


def can_compile(flags: Iterable[str]) -> bool:
    """Whether there is a compiler that takes these flags."""
    command = [*(compiler() or [""]), *flags, "-x", "c", "-", "-o", "/dev/null"]
    return bool(compiler()) and subprocess.run(command, input=b"int main(void) {}").returncode == 0


def printed(one: Ready) -> Files:
    """The files that a program is printed as, a command with its inputs, and with what its plan leaves open."""
    files = contents(one.code.plan, "program", one.inputs)
    text = files["program.c"].decode()
    for k, (_, reg) in enumerate(one.code.plan.parameters):
        text = text.replace(f" = values[{k}].i;", f" = {one.code.get(one.code.initial, reg)};")
    return files | {"program.c": text.encode()}


def build(files: Files, folder: str, options: Iterable[str]) -> Path:
    """The command, compiled in a folder."""
    for name, data in files.items():
        Path(folder, name).write_bytes(data)
    command = [*(compiler() or ["cc"]), *FLAGS, *options, "program.c", "-lm", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return Path(folder, "program")


def run(program: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """One run of a command, at addresses that the checkers' shadows leave free."""
    command = ["setarch", platform.machine(), "-R", str(program)]
    env = {**os.environ, **environment}
    return subprocess.run(command, cwd=program.parent, capture_output=True, text=True, env=env, timeout=300)


# ------------------------------------------------------------------------------------------------------------- threads


def race(files: Files, times: int) -> str | None:
    """The report of ThreadSanitizer on one of so many runs, or its crash; None if all is well, or a fault."""
    with TemporaryDirectory() as folder:
        program = build(files, folder, THREADS)
        for _ in range(times):
            done = run(program, {"TSAN_OPTIONS": "exitcode=0"})
            if done.returncode not in (0, 1) or "ThreadSanitizer" in done.stderr:
                return f"exit status {done.returncode}\n{done.stderr}"
    return None


LOCKED = """
C = Tensor(Dense(Mutex(Dense(Element(0)))), 2, 2)
C .= 0
for k = parallel(1:40, cpu(:dev, 4))
    for i = 1:2
        C[i, k % 2 + 1] += k
    end
end
return C
"""


@dataclass(frozen=True)
class Seed:
    """A race that is put into the C of a safe program."""

    name: str
    program: str
    file: str
    old: str
    new: str

    def files(self) -> Files:
        """The files of the program with it."""
        bound = api.bind(api.parse(LOCKED)) if self.program == "locked" else None
        one = sanitized.ready("locked", bound) if bound else list(sanitized.examples([self.program]))[-1]
        files = printed(one)
        text, count = re.subn(self.old, self.new, files[self.file].decode())
        if not count:
            raise SystemExit(f"seed {self.name}: there is no place for it")
        return files | {self.file: text.encode()}


SEEDS = (
    Seed(
        "an Atomic is printed as an Element", "dependent_atomic", "program.c",
        r"WS_TRY\(ws_atomic_i64\(t, &(\w+)->buffers\[(\d+)\], (.+), WS_ADD, (.+)\), \d+\);",
        r"((int64_t *)WS_CELLS(\1, \2))[\3 - 1] += \4;",
    ),
    Seed("a lock is not taken", "locked", "program.c", r"WS_TRY\(ws_acquire\(.*\);|ws_release\(.*\);", ""),
    Seed(
        "the number of cells is read plainly while another task has the buffer grow", "spgemm_gustavson", "program.h",
        r"(#define WS_HAS\(x, k\)).*", r"\1 ((x)->buffers[k].cells)",
    ),
    Seed(
        "a chunk is claimed by a load and a store", "spgemm_gustavson", "runtime.h",
        r"!__atomic_compare_exchange_n\(cell, claimed, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST\)",
        r"(*cell = next) != next",
    ),
)  # fmt: skip


def tsan() -> Iterator[str]:
    """Safe programs that race, and seeded races that are not seen."""
    safe = [*sanitized.safe(random=25), sanitized.ready("locks", api.bind(api.parse(LOCKED)))]
    for one in safe:
        if (report := race(printed(one), 3)) is not None:
            yield f"{one.label}: {report[:4000]}"
    print(f"tsan: {len(safe)} safe programs as C")
    for seed in SEEDS:
        report = race(seed.files(), 20)
        if report is None or RACE not in report:
            yield f"the seeded race is not seen: {seed.name}"
    print(f"tsan: {len(SEEDS)} seeded races")


# -------------------------------------------------------------------------------------------------------------- memory


def refusals(program: Path) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Runs to which the system refuses the n-th thing that they ask for, and all later ones; then that one alone."""
    for n in range(1, 10_000):
        done = run(program, {"FAIL_AT": str(n), "FAIL_ON": "1"})
        yield f"request {n} and all later ones", done
        if done.returncode == 0:
            break
    for k in range(1, n):
        yield f"request {k}", run(program, {"FAIL_AT": str(k)})


def asan() -> Iterator[str]:
    """Programs that do not end well where the system does not give what they ask for, or lose memory then."""
    names = sorted(sanitized.SAFE)
    programs = [list(sanitized.examples([name]))[-1] for name in names]
    any_extents = {one.label.split()[0]: one for one in sanitized.left_open()}.values()
    locks = sanitized.ready("locks", api.bind(api.parse(LOCKED)))
    for one in sanitized.updating():  # they ask for nothing that others do not ask for
        with TemporaryDirectory() as folder:
            done = run(build(printed(one), folder, MEMORY), {})
            if done.returncode != 0 or done.stderr:
                yield f"{one.label}: exit status {done.returncode}\n{done.stderr[:4000]}"
        print(f"asan: {one.label}")
    for one in [*sanitized.merging(), *sanitized.kernels(), *programs, *any_extents, locks]:
        with TemporaryDirectory() as folder:
            program = build(printed(one), folder, MEMORY)
            count = 0
            for what, done in refusals(program):
                count += done.returncode != 0
                fine = done.returncode in (1, 2) and not done.stdout and REFUSED.fullmatch(done.stderr)
                if not fine and (done.returncode != 0 or done.stderr):
                    yield f"{one.label}, {what}: {done.stderr[:4000]}"
            print(f"asan: {one.label}: {count} refusals")
    yield from lent(name for name in names if name in sanitized.INPUTS)


def lent(names: Iterable[str]) -> Iterator[str]:
    """Examples that read or write beyond their inputs, where these lie in blocks of an interpreter's memory."""
    environment = {**os.environ, **sanitized.checker("asan").environment}
    for name in names:
        command = [*sanitized.checker("asan").command, sys.executable, "-m", "proofs_tests.sanitized_c", "lend", name]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode != 0 or re.search(sanitized.checker("asan").report, done.stderr):
            yield f"{name}, inputs lent: exit status {done.returncode}\n{done.stderr[:4000]}"
        print(f"asan: {name}: inputs lent")


def lend(name: str) -> None:
    """Run an example in this process, on inputs of its own memory; the checker ends it if it reports."""
    (_, binding), *_ = sanitized.bindings(name)
    program = Printed(api.bind(sanitized.EXAMPLES / f"{name}.ws", **binding), LENT)
    program.prepare()
    if program.run():
        raise SystemExit(program.fault())


CHECKS: dict[str, Callable[[], Iterator[str]]] = {"tsan": tsan, "asan": asan}

if __name__ == "__main__":
    if sys.argv[1] == "lend":
        lend(sys.argv[2])
        sys.exit()
    wrong = list(CHECKS[sys.argv[1]]())
    print("\n".join(wrong))
    sys.exit(min(len(wrong), 1))
