"""Logs of accesses: races by happens-before, against exploring the log itself and against exploring the program."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from random import Random
from shutil import which
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import api
from wingspan.accesses import HEADER, MOST, Access, parse_log, races, read_log
from wingspan.compiled import build
from wingspan.errors import InputError
from wingspan.explorer import Search, explore
from wingspan.explorer.machine import Blocked, Step, Touch
from wingspan.reading import STEP
from wingspan.testing.programs import meetings

DEPENDENT = Path("examples/dependent.ws")


def saved(rows: Any) -> bytes:
    """The file that NumPy saves."""
    file = BytesIO()
    np.save(file, np.array(rows))
    return file.getvalue()


# ----------------------------------------------------------------------------------------- a log, explored as a program


class Replayed:
    """A machine whose tasks do what a log says, in any order that locks, signals, and the tasks above and below, allow.

    A wait needs all signals of its cell before it in the log.
    """

    name = "log"

    def __init__(self, log: Sequence[Access]) -> None:
        self.log = log
        self.of = {task: [k for k, access in enumerate(log) if access.task == task] for task in {a.task for a in log}}

    def initial(self) -> frozenset[int]:
        return frozenset()

    def tasks(self, state: frozenset[int]) -> Sequence[str]:
        return sorted(task for task, own in self.of.items() if self._next(state, own) is not None)

    def _next(self, state: frozenset[int], own: list[int]) -> int | None:
        """What a task does next, unless it waits for others, which do something before it in the log."""
        number = next((k for k in own if k not in state), None)
        if number is None:
            return None
        task = self.log[number].task
        for k in range(number):
            other = self.log[k].task
            related = other != task and (not task or not other or (other + ".").startswith(task + ".")
                                         or (task + ".").startswith(other + "."))  # fmt: skip
            earlier = self.log[k]
            awaited = (earlier.operation, earlier.cell) == ("signal", self.log[number].cell)
            if (related or (awaited and self.log[number].operation == "wait")) and k not in state:
                return None
        return number

    def step(self, state: frozenset[int], task: str) -> Any:
        number = self._next(state, self.of[task])
        assert number is not None
        access = self.log[number]
        if access.operation == "acquire" and (holder := self._holder(state, access.cell)) is not None:
            return Blocked(task, access.cell, holder, None, access.cell)
        ordering = access.operation in ("join", "signal", "wait")
        touches = () if ordering else (Touch(access.cell, access.operation, access.tensor),)  # type: ignore[arg-type]
        return Step(task, access.operation, touches, True, state | {number}, access.span)

    def _holder(self, state: frozenset[int], lock: str) -> str | None:
        held = {}
        for k in sorted(state):
            if self.log[k].cell == lock and self.log[k].operation in ("acquire", "release"):
                held[self.log[k].task] = self.log[k].operation == "acquire"
        return next((task for task, holds in held.items() if holds), None)

    def fingerprint(self, state: frozenset[int]) -> frozenset[int]:
        return state

    def outcome(self, state: frozenset[int]) -> int:
        return 0


def random_log(seed: int, locks: bool, events: bool) -> str:
    """Two or three tasks, of which one may be nested, and the root task at times; locks are taken and given back."""
    chosen = Random(seed)
    lines, held = [], dict[str, str]()
    tasks = chosen.choice([["1", "2"], ["1", "2", "1.1"], ["0", "1", "2"]])
    for _ in range(chosen.randint(2, 11 if events else 9)):
        task = chosen.choice(tasks)
        lock = chosen.choice("lm")
        if locks and held.get(lock) == task:
            held.pop(lock)
            lines.append(f"{task} release {lock}")
        elif locks and lock not in held and chosen.randrange(3) == 0:
            held[lock] = task
            lines.append(f"{task} acquire {lock}")
        elif events and chosen.randrange(4) == 0:
            lines.append(f"{task} {chosen.choice(['signal', 'wait'])} {chosen.choice('ef')}")
        elif chosen.randrange(12) == 0:
            lines.append(f"{task} join")
        else:
            lines.append(f"{task} {chosen.choice(['read', 'write', 'look', 'atomic'])} {chosen.choice('ab')}")
    return "\n".join(lines + [f"{task} release {lock}" for lock, task in held.items()])


def cells(found: Any) -> set[str]:
    return {race.cell for race in found}


@pytest.mark.many
@pytest.mark.parametrize(("locks", "events"), [(False, False), (True, False), (False, True), (True, True)])
def test_what_is_in_no_order_can_come_next_to_each_other(locks: bool, events: bool) -> None:
    """A race of the log is one of some other order of the log; without locks, the other way round as well."""
    met = 0
    for seed in range(many(3000)):
        text = random_log(seed, locks, events)
        log = parse_log(text)
        predicted = cells(race for race in explore(Replayed(log), Search("graph")).races if race.cell in "ab")
        found = cells(races(log))
        assert found <= predicted if locks else found == predicted, text
        met += bool(found)
    assert many(3000) / 8 < met < many(3000)


# ------------------------------------------------------------------------------------------------------- single claims


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", []),
        ("1 read c[1]\n2 read c[1]", []),
        ("1 read c[1]\n2 write c[1]", ["c[1]"]),
        ("2 write c[1]\n1 write c[1]", ["c[1]"]),
        ("1 write c[1]\n2 write c[2]", []),
        ("1 atomic c[1]\n2 atomic c[1]\n1 look c[1]", []),
        ("1 atomic c[1]\n2 read c[1]", ["c[1]"]),
        ("1 acquire l\n1 write c[1]\n1 release l\n2 acquire l\n2 write c[1]\n2 release l", []),
        ("1 acquire l\n1 write c[1]\n1 release l\n2 acquire m\n2 write c[1]\n2 release m", ["c[1]"]),
        ("1 acquire l\n1 release l\n1 write c[1]\n2 acquire l\n2 write c[1]\n2 release l", ["c[1]"]),
        ("1 write c[1]\n0 read c[1]\n2 write c[1]", []),
        ("1 write c[1]\n0 join\n2 write c[1]", []),
        ("1.1 write c[1]\n1.2 write c[1]\n1 write c[1]", ["c[1]"]),
        ("1.1 write c[1]\n2 write c[1]", ["c[1]"]),
        ("1 write c[1]\n1.1 write c[1]\n1 write c[1]", []),
        ("1 write x # a comment\n\n# another\n11 write x", ["x"]),
        ("1 write x\n1 signal flag\n2 wait flag\n2 read x\n3 wait flag\n3 read x", []),
        ("1 write x\n1 signal flag\n2 wait flag\n2 read x\n3 wait gate\n3 read x", ["x"]),
        ("1 signal flag\n1 write x\n2 wait flag\n2 read x", ["x"]),
        ("2 wait flag\n1 write x\n1 signal flag\n2 read x", ["x"]),
        ("1 write a\n1 signal b\n2 write c\n2 signal b\n1 wait b\n2 wait b\n1 read c\n2 read a", []),
        ("1 write a\n1 signal b\n2 write c\n2 signal b\n1 wait b\n1 read c\n2 read a\n2 wait b", ["a"]),
        ("1 write x\n1 signal b[1]\n2 wait b[2]\n2 read x", ["x"]),
    ],
)
def test_the_races_of_a_log(log: str, expected: list[str]) -> None:
    assert [race.cell for race in races(parse_log(log))] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[1, 2]", "C[1,2]"),
        ("C[1, 2]", "C[ 01 ,\t+2 ]"),
        ("C[1]", "C [1]"),
        ("C[-1]", "C[-01]"),
        ("C[0]", "C[-0]"),
        ("S", "S[ ]"),
        ("C.val⟨dev 1⟩[1]", "C.val⟨ dev  1 ⟩[ 1]"),
    ],
)
def test_all_spellings_of_a_cell_are_one_cell(one: str, other: str) -> None:
    assert cells(races(parse_log(f"1 write {one}\n2 write {other}"))) == {one}
    assert parse_log(f"1 acquire {one}\n1 release {other}")


def test_a_cell_has_a_name_and_whole_subscripts() -> None:
    texts = [
        "C[1",
        "C]1[",
        "C[1,]",
        "C[,1]",
        "C[1 2]",
        "C[i]",
        "C[1.0]",
        "[1]",
        "C[1].next",
        "C[1][2]",
        "C D",
        "C[1_0]",
    ]
    for text in texts:
        with pytest.raises(InputError, match="is not a cell"):
            parse_log(f"1 write {text}")


@pytest.mark.parametrize("other", ["C[2]", "C.val[3]", "C", "C[1, 2, 1]", "C.val[1, 2]"])
def test_elements_have_names_of_one_form(other: str) -> None:
    """One element by two names would be two cells, and its races would be missed."""
    with pytest.raises(InputError, match=r"is named otherwise than C\[1, 2\] in line 1"):
        parse_log(f"1 write C[1, 2]\n2 write {other}")
    assert parse_log(f"1 write C[1, 2]\n2 acquire {other}\n2 write D.val[1]\n2 write C.ptr[1]")


def test_each_spoiled_line_is_one_error() -> None:
    text = "1 read\n1 read c[1]\nx read c[1]\n1 reads c[1]\n1 acquire l\n2 acquire l\n"
    text += "2 release l\n1 release l\n1 release l"
    with pytest.raises(InputError) as error:
        parse_log(text, "kernel.log")
    told = [(d.span and d.span.line, d.message) for d in error.value.diagnostics]
    assert told == [
        (1, "this is not an access"),
        (3, "x is not a task"),
        (4, "there is no operation reads"),
        (6, "task 1 holds l"),
        (7, "task 2 does not hold l"),
        (9, "task 1 does not hold l"),
    ]
    assert "kernel.log:3:1" in error.value.diagnostics[1].render()


def test_a_log_is_read_from_text_and_from_an_array(tmp_path: Path) -> None:
    lines = "1 read c[3]\n2 write C[1, 2]"
    (tmp_path / "a.log").write_text(lines)
    np.save(tmp_path / "a.npy", np.array([line.split(maxsplit=2) for line in lines.splitlines()]))
    both = [[(a.task, a.operation, a.cell) for a in read_log(tmp_path / name)] for name in ("a.log", "a.npy")]
    assert both[0] == both[1] == [("1", "read", "c[3]"), ("2", "write", "C[1, 2]")]
    assert read_log(tmp_path / "a.npy")[1].span.line == 2


def test_a_log_is_read_to_its_end(tmp_path: Path) -> None:
    """Files are read in steps, and the only race is in the last one."""
    (tmp_path / "long.log").write_text("1 read c[1]\n" * (STEP // 12 + 1) + "2 write c[1]\n")
    assert cells(races(read_log(tmp_path / "long.log"))) == {"c[1]"}


BAD = {
    "none.log": (None, "no such file"),
    "none.npy": (None, "no such file"),
    "empty.log": (b"# nothing\n\n", "a log without accesses"),
    "binary.log": (bytes(range(256)), "not UTF-8 text"),
    "empty.npy": (b"", "not an array that NumPy saved"),
    "cut.npy": (saved([["1", "read", "c[1]"]])[:-1], "not an array that NumPy saved"),
    "objects.npy": (saved(np.array([["1", "read", 7]], object)), "not an array that NumPy saved"),
    "two.npy": (saved([["1", "read", "c"]]) * 2, "more follows the last element"),
    "numbers.npy": (saved(np.eye(3)), "not an array of strings with three columns"),
    "narrow.npy": (saved([["1", "join"]]), "not an array of strings with three columns"),
    "lines.npy": (
        saved([["1", "read", "c"], ["1", "read", "c\n2 write c"]]),
        r"the cell in row 2 is 'c\n2 write c', and a log has lines",
    ),
    "end.npy": (saved([["1\r", "read", "c"]]), r"the task in row 1 is '1\r', and"),
    "comment.npy": (saved([["1", "read#", "c"]]), "the operation in row 1 is 'read#', and"),
    "no rows.npy": (saved(np.empty((0, 3), "U1")), "a log without accesses"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_log_is_one_error(name: str, command: Any, tmp_path: Path) -> None:
    """Never the verdict that nothing races."""
    contents, why = BAD[name]
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    done = command("judge", str(tmp_path / name))
    assert (done.status, done.out) == (2, "") and why in done.err and done.err.count("error[input]") == 1
    assert "fix" in done.err


def test_reading_stops_at_the_first_mistakes() -> None:
    with pytest.raises(InputError) as error:
        parse_log("no log\n" * 1000)
    assert [d.span and d.span.line for d in error.value.diagnostics] == [*range(1, MOST + 1)]


# ------------------------------------------------------------------------------------------------- beside the explorer

SAFE = "c = Tensor(Dense(Atomic(0)), 5)\nc .= 0\nfor i = parallel(1:4)\nc[i - i % 2 + 1] += 1\nend\nreturn c"


def test_races_are_judged_by_what_exploring_predicts() -> None:
    program = api.load(DEPENDENT)
    log = "1 read c[1]\n1 write c[1]\n1 read c[3]\n2 read c[3]\n2 write c[3]\n1 write c[3]\n1 write c[5]\n2 read c[5]"
    found = api.judge(parse_log(log), program)
    assert [(one.race.cell, one.predicted) for one in found.races] == [
        ("c[3]", True),
        ("c[3]", True),
        ("c[5]", False),
    ]
    assert str(found).splitlines() == [
        "race  the log: 3 races in 8 accesses of 2 tasks",
        "  task 1 (line 3) reads c[3] while task 2 (line 5) may write it  predicted",
        "  task 2 (line 5) writes c[3] while task 1 (line 6) may write it  predicted",
        "  task 1 (line 7) writes c[5] while task 2 (line 8) may read it  not predicted",
    ]
    assert api.judge(parse_log("1 write c.val[3]\n2 write c.val[3]"), program).races[0].predicted is True
    assert api.judge(parse_log("1 write c.val[1]\n2 write c.val[1]"), program).races[0].predicted is False
    assert api.judge(parse_log("1 write c.ptr\n2 write c.ptr"), program).races[0].predicted is True
    assert api.judge(parse_log("1 write other\n2 write other"), program, max_states=2).races[0].predicted is None
    quiet = api.judge(parse_log("1 write c[3]"), program)
    assert (quiet.races, quiet.unseen) == ((), ("c",))
    assert "exploring predicts a race on c, which the log does not show" in str(quiet)
    assert not api.judge(parse_log("1 write c[3]\n2 write c[3]"), api.parse(SAFE)).races[0].predicted


ONE = "C = Tensor({form}, 2, 3)\nC .= 0\nfor i = parallel(1:2)\nC[2, 3] {op} i\nend"
DENSE, LIST = "Dense(Dense(Element(0)))", "Dense(SparseDict(Element(0)))"


@pytest.mark.parametrize(
    ("form", "cell", "predicted", "outside"),
    [
        (DENSE, "C[2, 3]", True, False),
        (DENSE, "C.val[6]", True, False),
        (DENSE, "C[1, 1]", False, False),
        (DENSE, "C.val[1]", False, False),
        (DENSE, "C[2, 4]", False, True),
        (DENSE, "C[3, 3]", False, True),
        (DENSE, "C[0, 3]", False, True),
        (DENSE, "C.val[7]", False, True),
        (DENSE, "C.other[7]", True, False),
        (DENSE, "C", True, False),
        (DENSE, "D[1]", False, False),
        (LIST, "C[1, 1]", True, False),
        (LIST, "C[2, 4]", False, True),
        (LIST, "C.val[1]", True, False),
        (LIST, "C.val[9]", False, False),
        (LIST, "C.val", True, False),
    ],
)
def test_a_cell_that_exploring_accesses_nowhere_is_not_predicted(
    form: str, cell: str, predicted: bool, outside: bool
) -> None:
    """Unless the program may have it under another name: then, if its tensor has a race."""
    program = api.parse(ONE.format(form=form, op="+="))
    made = api.judge(parse_log(f"1 write {cell}\n2 write {cell}"), program)
    (found,) = made.races
    assert (found.predicted, found.outside) == (predicted, outside)
    assert (
        (f"not predicted: the program has no {cell}" in str(made)) == outside == made.to_dict()["races"][0]["outside"]
    )


def test_outside_of_a_tensor_nothing_is_predicted_even_if_the_search_is_cut_short() -> None:
    made = api.judge(
        parse_log("1 write C[3, 3]\n2 write C[3, 3]"), api.parse(ONE.format(form=DENSE, op="=")), max_states=2
    )
    assert made.verdict and not made.verdict.complete and made.races[0].predicted is False


def test_a_cell_of_a_buffer_has_one_subscript() -> None:
    program = api.parse(ONE.format(form=DENSE, op="+="))
    with pytest.raises(InputError, match=r"C.val is a buffer in the program, and has no cell C.val\[1, 1\]"):
        api.judge(parse_log("1 write C.val[1,1]\n2 write C.val[1,1]"), program)


def test_an_element_has_a_subscript_for_each_axis() -> None:
    program = api.parse(ONE.format(form=DENSE, op="+="))
    with pytest.raises(InputError, match=r"C has rank 2 in the program, and no element C\[6\]"):
        api.judge(parse_log("1 write D\n1 write C[6]"), program)
    assert api.judge(parse_log("1 acquire C[6]\n1 write C[2, 3]"), program).races == ()


@pytest.mark.many
def test_the_log_of_a_run_has_predicted_races_only() -> None:
    """Of any format, recorded from one run under the rules: what is in no order there races in some run."""
    met = 0

    @settings(
        deadline=None, derandomize=True, max_examples=many(240), suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    @given(meetings(), st.integers(0, 99))
    def look(text: str, seed: int) -> None:
        nonlocal met
        bound = api.bind(api.parse(text))
        machine: Any = api.machine_of(bound, "semantics")
        chosen = Random(seed)
        state, lines = machine.initial(), []
        while tasks := machine.tasks(state):
            steps = [step for task in tasks if isinstance(step := machine.step(state, task), Step)]
            if not steps:
                return
            step = chosen.choice(steps)
            lines += [f"{step.task or 0} {touch.effect} {touch.cell}" for touch in step.footprint]
            lines += [f"{step.task or 0} join"] if not step.task else []
            if isinstance(step.next, Exception):
                return
            state = step.next
        found = api.judge(parse_log("\n".join(lines)), api.parse(text))
        assert all(one.predicted is not False for one in found.races), (text, str(found))
        met += bool(found.races)

    look()
    assert met > 0


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
    """That of examples/dependent.ws."""
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
    assert (status, log.read_text().splitlines()) == (0, lines)
    assert len(read_log(log)) == len(lines)


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


# ------------------------------------------------------------------------------------------------------------ the verb

RACING, QUIET = "1 read c[3]\n2 write c[3]\n", "1 read c[3]\n0 join\n2 write c[3]\n"


@pytest.mark.parametrize(
    ("log", "options", "status"),
    [
        (RACING, [], 1),
        (QUIET, [], 0),
        (RACING, ["--program", str(DEPENDENT)], 1),
        (QUIET, ["--program", str(DEPENDENT)], 0),
        (QUIET, ["--program", str(DEPENDENT), "--max-states", "1"], 3),
    ],
)
def test_the_exit_status_says_whether_there_is_a_race(
    log: str, options: list[str], status: int, command: Any, written: Any
) -> None:
    file = written(log, "kernel.log")
    done = command("judge", file, *options)
    assert done.status == status and done.out.startswith(f"{'race' if log == RACING else 'no race'}  {file}: ")
    program = options[1] if options else None
    made = api.judge(file, program, max_states=1 if status == 3 else 100_000)
    assert done.out == f"{made}\n".replace("the log", file, 1)
    printed = command("judge", file, *options, "--json").json
    assert printed == made.to_dict()
    predicted = {None: None, str(DEPENDENT): True}[program]
    assert [one["predicted"] for one in printed["races"]] == ([predicted] if log == RACING else [])
    assert printed["complete"] == (None if program is None else status != 3)


@pytest.mark.parametrize("option", [["-p", "n=3"], ["--threads", "2"], ["--max-states", "9"]])
def test_options_of_a_program_need_one(option: list[str], command: Any, written: Any) -> None:
    done = command("judge", written(RACING, "kernel.log"), *option)
    assert done.status == 2 and "for --program" in done.err
    with pytest.raises(InputError, match="those of a program"):
        api.judge(parse_log(RACING), threads=2)
