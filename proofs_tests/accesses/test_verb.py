"""The verb that judges a log: its exit status and its options."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.accesses.logs import DEPENDENT
from wingspan import api
from wingspan.accesses import parse_log
from wingspan.base.errors import InputError

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
