"""The header that records the accesses of a kernel in C."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from proofs_tests.accesses.logs import DEPENDENT
from proofs_tests.accesses.test_explored_logs import cells
from wingspan import api
from wingspan.accesses import HEADER, read_log
from wingspan.compiled import build
from wingspan.happens_before import races

FRAME = """
#include "accesses.h"
#include <pthread.h>
#include <sched.h>
#define LOG(...) wingspan_record(__VA_ARGS__)
static pthread_barrier_t barrier;
static long c[6];
static int flag;
static void *task(void *given) {{
    int t = *(int *)given;
    {body}
    (void)c[t], (void)flag, (void)sched_yield;
    return 0;
}}
int main(int count, char **words) {{
    pthread_t threads[3];
    int names[3] = {{1, 2, 3}};
    flag = 0, pthread_barrier_init(&barrier, 0, 3);
    for (int k = 0; k < {tasks}; k++) pthread_create(&threads[k], 0, task, &names[k]);
    for (int k = 0; k < {tasks}; k++) pthread_join(threads[k], 0);
    return count > 1 ? wingspan_save(words[1]) : 2;
}}
"""
COMPILERS = {
    "c11": (sysconfig.get_config_var("CC") or "cc").split() if build.compiler() else [],
    "c++17": [found] if (found := which("c++")) else [],
}


@pytest.fixture
def logged(tmp_path: Path) -> Any:
    """The log of a kernel that is compiled without warnings, and the status that its saving ended with."""

    def run(body: str, tasks: int = 3, standard: str = "c11", most: int = 100) -> tuple[Path, int]:
        compiler = COMPILERS[standard]
        if not compiler:
            pytest.skip("there is no such compiler")
        kernel = tmp_path / f"kernel.{'c' if standard == 'c11' else 'cc'}"
        kernel.write_text(FRAME.format(body=body, tasks=tasks))
        words = [
            f"-std={standard}",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-D_GNU_SOURCE",
            f"-DWINGSPAN_MOST={most}",
        ]
        words += [f"-I{HEADER.parent}", "-pthread", kernel.name, "-o", "kernel"]
        subprocess.run([*compiler, *words], cwd=tmp_path, check=True)
        done = subprocess.run(["./kernel", "log"], cwd=tmp_path, check=False)
        return tmp_path / "log", done.returncode

    return run


@pytest.mark.parametrize("standard", COMPILERS)
def test_the_header_records_a_kernel(standard: str, logged: Any) -> None:
    """The kernel is that of examples/dependent.ws."""
    body = """
    for (int i = 2 * t - 1; i <= 2 * t; i++) {
        int at = i - i % 2 + 1;
        LOG("%d read c[%d]", t, at);
        LOG("%d write c[%d]", t, at);
        __atomic_fetch_add(&c[at], 1, __ATOMIC_SEQ_CST);
    }
    """
    log, status = logged(body, 2, standard)
    found = api.judge(log, DEPENDENT)
    assert status == 0 and found.accesses == 8 and cells(one.race for one in found.races) == {"c[3]"}
    assert all(one.predicted for one in found.races)


@pytest.mark.parametrize("standard", COMPILERS)
def test_the_header_records_every_line_that_a_log_may_have(standard: str, logged: Any) -> None:
    lines = ["1.2 write C[1, 2]", "1 acquire lock", "1 release lock", "0 join", "2 signal b[1]", "3 wait b[1]"]
    log, status = logged("".join(f'LOG("{line}");' for line in lines), 1, standard)
    recorded = log.read_text().splitlines()
    assert (status, [line.partition(" at ")[0] for line in recorded]) == (0, lines)
    assert len(read_log(log)) == len(lines)


@pytest.mark.parametrize("standard", COMPILERS)
def test_the_header_records_the_line_of_each_statement(standard: str, logged: Any) -> None:
    """Of the call, of a macro's use, or of the source that a compiler names."""
    body = """
#line 12 "kernel.c"
    wingspan_record("%d write c[1]", t);
    LOG("%d write c[1]", t); LOG("0 join");
    wingspan_record_at("outer product.ws", 7, "%d write c[%d]", t, 1);
    """
    log, status = logged(body, 1, standard)
    assert status == 0 and log.read_text().splitlines() == [
        "1 write c[1] at kernel.c:12",
        "1 write c[1] at kernel.c:13",
        "0 join at kernel.c:13",
        "1 write c[1] at outer product.ws:7",
    ]
    assert [access.place for access in read_log(log)] == [
        "kernel.c:12", "kernel.c:13", "kernel.c:13", "outer product.ws:7"
    ]  # fmt: skip


@pytest.mark.parametrize(("body", "fits"), [("", True), ('LOG("1 join");', False), ('LOG("%070d join", t);', False)])
def test_the_header_saves_all_or_nothing(body: str, fits: bool, logged: Any) -> None:
    """More lines than fit, and a line longer than fits; a file is not written."""
    log, status = logged(f'for (int k = 0; k < 6; k++) {{ LOG("%d read c[%d]", t, k); }} {body}', 1, most=6)
    assert (status == 0) == fits == log.exists()


BARRIER = 'LOG("%d signal b[{k}]", t); pthread_barrier_wait(&barrier); LOG("%d wait b[{k}]", t);'
WRITE, READ = 'LOG("%d write c[%d]", t, t); c[t] = t;', 'LOG("%d read c[%d]", t, t % 3 + 1);'
SET = "__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);"
AWAIT = "while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) sched_yield();"
PASSED = """
if (t == 1) {{ LOG("1 write c[1]"); c[1] = 7; LOG("1 {told} flag"); {set} {late} }}
else {{ {early} {wait} LOG("%d {heard} flag", t); LOG("%d read c[1]", t); }}
"""

RIGHT: dict[str, str] = {"told": "signal", "set": SET, "late": "", "early": "", "wait": AWAIT, "heard": "wait"}
KERNELS = {
    "a barrier": (WRITE + BARRIER.format(k=1) + READ + BARRIER.format(k=2) + WRITE, False),
    "one barrier too few": (WRITE + BARRIER.format(k=1) + READ + WRITE, True),
    "the other barrier too few": (WRITE + READ + BARRIER.format(k=1) + WRITE, True),
    "a flag": (PASSED.format(**RIGHT), False),
    "a write after the flag is set": (PASSED.format(**RIGHT | {"late": 'LOG("1 write c[1]");'}), True),
    "a read before the flag is set": (PASSED.format(**RIGHT | {"early": 'LOG("%d read c[1]", t);'}), True),
    "a relaxed flag": (PASSED.format(**RIGHT | {"told": "atomic", "heard": "look"}).replace("_RELEASE", "_RELAXED")
                       .replace("_ACQUIRE", "_RELAXED"), True),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_what_orders_the_tasks_of_a_kernel_orders_its_log(name: str, logged: Any) -> None:
    """Barriers, and flags with two readers, whatever the order in which the threads ran."""
    body, races_ = KERNELS[name]
    log, status = logged(body)
    assert status == 0 and bool(races(read_log(log))) == races_
