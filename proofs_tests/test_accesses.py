"""Logs of accesses: races by happens-before, against exploring the log itself and against exploring the program."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from random import Random
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
    """A machine whose tasks do what a log says, in any order that locks, and the tasks above and below, allow."""

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
            if related and k not in state:
                return None
        return number

    def step(self, state: frozenset[int], task: str) -> Any:
        number = self._next(state, self.of[task])
        assert number is not None
        access = self.log[number]
        if access.operation == "acquire" and (holder := self._holder(state, access.cell)) is not None:
            return Blocked(task, access.cell, holder, None, access.cell)
        touches = () if access.operation == "join" else (Touch(access.cell, access.operation, access.tensor),)  # type: ignore[arg-type]
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


def random_log(seed: int, locks: bool) -> str:
    """Two or three tasks, of which one may be nested, and the root task at times; locks are taken and given back."""
    chosen = Random(seed)
    lines, held = [], dict[str, str]()
    tasks = chosen.choice([["1", "2"], ["1", "2", "1.1"], ["0", "1", "2"]])
    for _ in range(chosen.randint(2, 9)):
        task = chosen.choice(tasks)
        lock = chosen.choice("lm")
        if locks and held.get(lock) == task:
            held.pop(lock)
            lines.append(f"{task} release {lock}")
        elif locks and lock not in held and chosen.randrange(3) == 0:
            held[lock] = task
            lines.append(f"{task} acquire {lock}")
        elif chosen.randrange(12) == 0:
            lines.append(f"{task} join")
        else:
            lines.append(f"{task} {chosen.choice(['read', 'write', 'look', 'atomic'])} {chosen.choice('ab')}")
    return "\n".join(lines + [f"{task} release {lock}" for lock, task in held.items()])


def cells(found: Any) -> set[str]:
    return {race.cell for race in found}


@pytest.mark.many
@pytest.mark.parametrize("locks", [False, True])
def test_what_is_in_no_order_can_come_next_to_each_other(locks: bool) -> None:
    """A race of the log is one of some other order of the log; without locks, the other way round as well."""
    met = 0
    for seed in range(many(3000)):
        log = parse_log(random_log(seed, locks))
        predicted = cells(race for race in explore(Replayed(log), Search("graph")).races if race.cell in "ab")
        found = cells(races(log))
        assert found <= predicted if locks else found == predicted, random_log(seed, locks)
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
        ("1 release flag\n2 acquire flag", []),
        ("1 write x\n1 release flag\n2 acquire flag\n2 read x", []),
    ],
)
def test_the_races_of_a_log(log: str, expected: list[str]) -> None:
    assert [race.cell for race in races(parse_log(log))] == expected


def test_each_spoiled_line_is_one_error() -> None:
    text = (
        "1 read\n1 read c[1]\nx read c[1]\n1 reads c[1]\n1 acquire l\n2 acquire l\n1 release l\n1 release l\n1.0 join"
    )
    with pytest.raises(InputError) as error:
        parse_log(text, "kernel.log")
    told = [(d.span and d.span.line, d.message) for d in error.value.diagnostics]
    assert told == [
        (1, "this is not an access"),
        (3, "x is not a task"),
        (4, "there is no operation reads"),
        (6, "task 1 holds l"),
        (8, "nobody holds l"),
        (9, "1.0 is not a task"),
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


def test_an_element_of_a_matrix_is_found_by_its_subscripts() -> None:
    text = "C = Tensor(Dense(Dense(Element(0))), 2, 3)\nC .= 0\nfor i = parallel(1:2)\nC[2, 3] += i\nend"
    for cell, predicted in [("C[2, 3]", True), ("C[1, 1]", True), ("C.val[6]", True)]:
        found = api.judge(parse_log(f"1 write {cell}\n2 write {cell}"), api.parse(text))
        assert found.races[0].predicted is predicted, cell


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


KERNEL = """
#include "accesses.h"
#include <pthread.h>
static long c[6];
static void *task(void *given) {
    int t = *(int *)given;
    for (int i = 2 * t - 1; i <= 2 * t; i++) {
        int at = i - i % 2 + 1;
        wingspan_record(t, "read", "c", at);
        wingspan_record(t, "write", "c", at);
        __atomic_fetch_add(&c[at], 1, __ATOMIC_SEQ_CST);
    }
    return 0;
}
int main(int count, char **words) {
    pthread_t threads[2];
    int names[2] = {1, 2};
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], 0, task, &names[k]);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], 0);
    return count > 1 ? wingspan_save(words[1]) : 2;
}
"""


@pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")
def test_the_header_records_a_kernel_of_c(tmp_path: Path) -> None:
    """That of examples/dependent.ws; and it says so where there are more accesses than fit."""
    (tmp_path / "kernel.c").write_text(KERNEL)
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    for most, status in [("100", 0), ("7", 255)]:
        words = ["-Wall", "-Wextra", "-Werror", f"-DWINGSPAN_MOST={most}", f"-I{HEADER.parent}", "-pthread"]
        subprocess.run([*compiler, *words, "kernel.c", "-o", "kernel"], cwd=tmp_path, check=True)
        assert subprocess.run(["./kernel", "log"], cwd=tmp_path, check=False).returncode == status
    found = api.judge(tmp_path / "log", DEPENDENT)
    assert found.accesses == 8 and cells(one.race for one in found.races) == {"c[3]"}
    assert all(one.predicted for one in found.races)


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
