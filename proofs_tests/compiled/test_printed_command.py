"""A program that is printed as a command: for whatever goes wrong, one clear message and an exit status."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.compiled import inputs as c_inputs
from wingspan.compiled.build import compiler
from wingspan.lang.pairs import Pair

pytestmark = needs_compiler

FLAGS = ("-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-ffp-contract=off", "-pthread")
SUM = """
A = Tensor(SparseDict(Element(0)), [0, 2, 0, 3])
x = Tensor(Dense(Element(0)), [5, 6, 7, 8])
c = Tensor(Element(0))
c .= 0
for i = _
    c[] += A[i] * x[i]
end
return c
"""
SANITIZED = {"ASAN_OPTIONS": "allocator_may_return_null=1"}
Change = Callable[[str], str]


def build(folder: Path, text: str, name: str = "p", change: Change = str, options: tuple[str, ...] = ()) -> Path:
    """The command that a program is printed as, compiled after a `change` of its text."""
    (folder / f"{name}.ws").write_text(text)
    path, *_ = api.emit_c(folder / f"{name}.ws", folder, main=True, unsafe=True)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    made = [*(compiler() or ["cc"]), *FLAGS, *options, str(path), "-lm", "-o", str(folder / name)]
    subprocess.run(made, check=True)
    return folder / name


def print_inputs(folder: Path, text: str) -> Path:
    """The file of inputs that is written beside a program."""
    (folder / "p.ws").write_text(text)
    api.emit_c(folder / "p.ws", folder, main=True)
    return folder / "p.inputs"


def run(command: Path, *arguments: str | bytes, **options: str) -> tuple[int, str, str]:
    """Exit status, output, errors. It must end, soon."""
    environment = {**os.environ, **SANITIZED, **options}
    done = subprocess.run(
        [command, *arguments], cwd=command.parent, capture_output=True, text=True, timeout=60, env=environment
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With AddressSanitizer, which finds what a spoiled file could do."""
    return build(tmp_path_factory.mktemp("command"), SUM, options=("-fsanitize=address,undefined",))


USAGE = "usage: [INPUTS] [--max-memory BYTES]\n  INPUTS  a file of inputs; if none is given, p.inputs\n"


def test_a_command_prints_its_results(command):
    assert run(command) == run(command, "p.inputs", "--max-memory", "100000") == (0, "c val: 36\n", "")
    assert run(command, "-h") == run(command, "x", "--help") == (0, USAGE, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", "b"], f"there is nothing to do with b\n{USAGE}"),
        (["--max-memory=5"], f"there is nothing to do with --max-memory=5\n{USAGE}"),
        (["p.inputs", "-x\x1b[31m"], f"there is nothing to do with -x\\x1b[31m\n{USAGE}"),
        (["--max-memory"], "--max-memory needs a number of bytes\n"),
        *(
            (["--max-memory", wrong], f"--max-memory takes a number of bytes, not {wrong}\n")
            for wrong in ("much", "", "-5", " 5", "5 ", "0x5", "18446744073709551616")
        ),
        (["nowhere"], "nowhere: no such file; give the path of the inputs\n"),
        (
            ["é漢😀\u202e\n\udcff\udc9b"],
            "é漢😀\\xe2\\x80\\xae\\x0a\\xff\\x9b: no such file; give the path of the inputs\n",
        ),
        (["."], ".: it holds no inputs that wingspan printed\n"),
        (["p.c"], "p.c: it holds no inputs that wingspan printed\n"),
    ],
)
def test_a_command_says_what_is_wrong_with_its_arguments(command, arguments, said):
    assert run(command, *map(os.fsencode, arguments)) == (2, "", said)


def test_a_command_without_inputs_takes_none(tmp_path):
    made = build(tmp_path, "x = 1")
    assert run(made) == (0, "x = 1\n", "")
    assert run(made, "file") == (2, "", "there is nothing to do with file\nusage: [--max-memory BYTES]\n")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([made], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "standard output: No space left on device\n")


def test_a_command_prints_pairs_as_programs_write_them(tmp_path):
    """Singles of every size, by the fewest digits, as `Pair` writes them for `wingspan run`; indices beside them."""
    firsts = [0.1, -2.0, 1 / 3, 9999.5, 1e10, 16777216.0, 9.9999999e15, 1e16, 1.17e-4, 9.9e-5, 1e-45, -3.4028235e38]
    pairs = [Pair.of(x, (-1) ** k * k * 10**8) for k, x in enumerate([*firsts, math.inf, -math.inf, math.nan, 0.5])]
    data = f"P = Tensor(Dense(Element((0, 0))), {pairs})\nq = Tensor(Dense(Element((0, 0))))\n"
    made = build(
        tmp_path, f"{data}n = Tensor(Element(0))\nn .= 2\nq .= (0, 0)\nfor i = _; q[i] = P[i]; end\nreturn n, q"
    )
    wanted = f"n val: 2\nq val: {' '.join(map(str, pairs))}\n"
    assert run(made) == (0, wanted, "") and "(1e-45, 1000000000) (-3.4028235e+38, -1100000000)" in wanted


# --------------------------------------------------------------------------------------------------------------- inputs


def test_a_file_of_inputs_that_is_changed_anywhere_is_refused(command):
    """Bytes of each part, ends, and more than there should be; some through a pipe, too, which has no size."""
    good = (command.parent / "p.inputs").read_bytes()
    bad, parts = command.parent / "bad", [*range(0, 104, 9), *range(104, len(good), 41)]
    changed = [good[:k] + bytes([good[k] ^ 0x41]) + good[k + 1 :] for k in parts]
    for n, data in enumerate((b"", *changed, *(good[:k] for k in parts[::3]), good + b"x", good + good)):
        bad.write_bytes(data)
        status, out, said = run(command, "bad")
        assert (status, out) == (2, "") and re.fullmatch("bad: it (is spoiled; print it anew|holds) .*\n", said)
        if n % 3 == 0:
            piped = subprocess.run([command, "/dev/stdin"], input=data, capture_output=True, env=os.environ | SANITIZED)
            assert re.search(rb"(/dev/stdin: it .*|out of memory: .*)\n\Z", piped.stderr)
            assert piped.returncode in (1, 2)


def test_records_that_do_not_fit_are_refused_though_the_sum_is_right(command):
    """Groups, buffers, keys and counts that there are not, and cells that are missing at the end."""
    good = (command.parent / "p.inputs").read_bytes()
    at = len(c_inputs.HEAD)
    records, refused = good[at + 24 :], (2, "", "bad: it is spoiled; print it anew by wingspan emit-c --main\n")

    def read(spoiled: bytes) -> tuple[int, str, str]:
        sizes = len(spoiled).to_bytes(8, "little") + c_inputs.checksum(spoiled).to_bytes(8, "little")
        (command.parent / "bad").write_bytes(good[: at + 8] + sizes + spoiled)
        return run(command, "bad")

    assert read(records)[0] == 0
    for word in range(4):
        for value in (-1, 1, 5, 2**31, 2**62, -(2**63)):
            spoiled = records[: 8 * word] + value.to_bytes(8, "little", signed=True) + records[8 * word + 8 :]
            there = word in (0, 1) and value in (1, 5)  # there may be such a group or buffer
            said = read(spoiled)
            assert said == refused or (there and said[0] == 0) or spoiled == records, (word, value, said)
    for cut in (8, 16, 24):
        assert read(records[:-cut]) == refused


def test_inputs_of_another_program_are_refused(command, tmp_path):
    """Also if they differ in nothing but an extent."""
    other = print_inputs(tmp_path, SUM.replace("[0, 2, 0, 3]", "[0, 2, 0, 3, 0]").replace("7, 8]", "7, 8, 9]"))
    status, _, said = run(command, str(other))
    assert status == 2 and "it holds inputs of another program, or with other extents; print them anew" in said


def test_inputs_of_the_same_program_with_other_values_are_taken(command, tmp_path):
    other = print_inputs(tmp_path, f"# the same\n{SUM.replace('[5, 6', '[5, 7')}")
    assert run(command, str(other)) == (0, "c val: 38\n", "")


# --------------------------------------------------------------------------------------------------------------- faults

CROSSED = """
C = Tensor(Dense(Mutex(Dense(Element(0)))), 1, 2)
C .= 0
for j = parallel(1:2)
    for i = _
        C[i, j] += 1
        C[i, 3 - j] += 10
    end
end
return C
"""
ABOVE = """
c = Tensor(Mutex(Dense(Element(0))), 2)
c .= 0
for i = 1:2
    c[i] += 1
    for k = parallel(1:THREADS, cpu(:e, THREADS))
        c[1] += 1
    end
end
"""


def meeting(text: str) -> str:
    """A printed program whose two tasks wait for each other when each has taken its first lock."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if "ws_acquire" in line)
    lines.insert(first + 1, "pthread_barrier_wait(&meeting);")
    start = next(k for k, line in enumerate(lines) if line.startswith("struct region"))
    lines.insert(start, "static pthread_barrier_t meeting;")
    root = next(k for k, line in enumerate(lines) if line.startswith("static void root("))
    lines.insert(root + 1, "pthread_barrier_init(&meeting, NULL, 2);")
    return "\n".join(lines) + "\n"


def test_a_deadlock_is_told_with_who_waits_for_whom(tmp_path):
    made = build(tmp_path, CROSSED, change=meeting)
    status, out, said = run(made)
    assert (status, out) == (1, "")
    first = "task 1 waits for the lock of fiber 2 of C, held by task 2"
    second = "task 2 waits for the lock of fiber 1 of C, held by task 1"
    assert re.fullmatch(rf"\S*p\.ws:7:9: deadlock: {first}; {second}\n", said)


def test_a_deadlock_with_a_task_that_waits_for_its_tasks_says_so(tmp_path):
    status, out, said = run(build(tmp_path, ABOVE.replace("THREADS", "2")))
    assert (status, out) == (1, "")
    waits = "task {} waits for the lock of fiber 1 of c, held by task 0, which waits for its tasks to end"
    assert said.endswith(f"p.ws:7:9: deadlock: {waits.format(1)}; {waits.format(2)}\n")


def test_of_many_tasks_that_wait_the_first_are_named_and_the_others_counted(tmp_path):
    """And the message stays within its room."""
    status, _, said = run(build(tmp_path, ABOVE.replace("THREADS", "20")))
    assert status == 1 and said.count("waits for the lock") == 8 and said.endswith("; and 12 more tasks wait\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 9223372036854775807\ny = x + x", "2:5: + is not defined for 9223372036854775807 and 9223372036854775807"),
        ("x = 1.5 / (1.0 - 1.0)", "1:5: / is not defined for 1.5 and 0"),
        (
            "c = Tensor(Atomic(0))\nc .= 0\nfor i = parallel(1:2)\n    c[] += 9223372036854775807\nend",
            "4:5: + is not defined for 9223372036854775807 and 9223372036854775807",
        ),
        (
            "A = Tensor(Dense(Element(0)), [1, 2])\nfor i = 1:2\n    x = A[A[i] + 1]\nend",
            "3:9: A has the indices 1:2 on axis 1, got 3",
        ),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path, text, message):
    assert run(build(tmp_path, text)) == (1, "", f"{tmp_path / 'p.ws'}:{message}\n")


def test_a_message_ends_where_its_room_does(tmp_path):
    """The place alone is longer; AddressSanitizer looks at what is written beyond."""
    text, far = "x = 9223372036854775807\ny = x + x", f"/{'d' * 4095}"
    made = build(tmp_path, text, change=lambda text: text.replace(str(tmp_path), far), options=("-fsanitize=address",))
    assert run(made) == (1, "", f"{far[:-1]}\n")


# ------------------------------------------------------------------------------------- what the system does not give

FAILING = ("-include", str(ROOT / "proofs_tests" / "failing.h"))
REFUSED = r"out of memory: the system has no address space left|the system cannot start \d+ more threads?"
VARIED = """
dev = cpu(:dev, 3)
A = Tensor(SparseDict(SparseDict(Element(0.0))), [0 2 0; 3 0 4])
B = Tensor(Merge(dev, Dense(SparseDict(Element(0.0)))), 2, 3)
l = Tensor(Mutex(Dense(Element(0))), 3)
B .= 0
l .= 0
for k = parallel(1:3, dev)
    for j = _
        for i = _
            B[i, j] += A[i, j]
        end
    end
end
for k = parallel(1:3, dev)
    l[1] += k
end
return B, l
"""


def test_whatever_the_system_does_not_give_is_one_message(tmp_path):
    """Every allocation, mapping and start of a thread fails in turn, by itself or with all that come after it."""
    made = build(tmp_path, VARIED, options=FAILING)
    expected = run(made)
    assert expected[0] == 0 and expected[2] == ""
    for on in ({}, {"FAIL_ON": "1"}):
        failures = 0
        for n in range(1, 200):
            status, out, said = run(made, FAIL_AT=str(n), **on)
            if status == 0:
                assert (out, said) == expected[1:]
                if on:
                    break
            else:
                failures += 1
                assert status in (1, 2) and out == "", said
                assert re.fullmatch(rf"(\S*p\.ws:\d+:\d+: )?({REFUSED})\n", said)
        assert failures > 30
