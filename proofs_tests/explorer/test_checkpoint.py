"""A search that ends early and is taken up ends as if it had never stopped."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proofs_tests.crafted import document
from proofs_tests.effort import EFFORT, few, many
from proofs_tests.explorer.tiny import programs
from proofs_tests.exploring import facts
from proofs_tests.failing import FILES, each_in_turn
from proofs_tests.places import ROOT
from proofs_tests.several import FORK
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.explorer import Search, checkpoint, explore
from wingspan.testing.litmus import Check, Litmus, Load, Store, ninc


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(machine=programs(), bounds=st.lists(st.integers(1, 60), max_size=4))
@example(machine=Litmus((Load("x"), Check("y", 1)), (Load("x"), Store("y", 1))), bounds=[])
def test_a_search_goes_on_where_it_was(
    tmp_path_factory: pytest.TempPathFactory, strategy: str, machine: Litmus, bounds: list[int]
) -> None:
    """However often it is stopped, by whatever number of states, and also after its end."""
    whole = explore(machine, Search(strategy))
    file = tmp_path_factory.mktemp("kept") / "search"
    step = Search(strategy, max_states=bounds[0] if bounds else None, checkpoint=file)
    explore(machine, step)
    for bound in bounds[1:]:
        explore(machine, Search(max_states=bound, checkpoint=file, resume=file))
    assert facts(explore(machine, Search(resume=file))) == facts(whole)


def test_auto_goes_on_with_what_it_picked(tmp_path: Path) -> None:
    """The reason is kept, too. Cut short when it has all states but one."""
    again = (Load("z"), Store("z", 1, relative=True)) * 2
    wide, file = Litmus((Store("x", 1),) * 50 + again, (Store("y", 1),) * 50 + again), tmp_path / "search"
    whole = explore(wide)
    cut = explore(wide, Search(max_states=whole.states - 1, checkpoint=file))
    assert (whole.strategy, cut.strategy, cut.stopped_by) == ("dpor", "dpor", "max-states")
    assert cut.executions < whole.executions
    assert facts(explore(wide, Search(resume=file))) == facts(whole)


KILLED = """
import sys
from pathlib import Path
from wingspan.testing.litmus import Litmus, ninc
from wingspan.explorer import Search, checkpoint, explore

checkpoint.EVERY = 0

class Held(Litmus):
    asked = 0
    def step(self, state, task):
        Held.asked += 1
        if Held.asked == 10_000:
            print("held", flush=True)
            sys.stdin.read()
        return super().step(state, task)

explore(Held(*ninc(5).programs[1:]), Search(sys.argv[1], checkpoint=Path(sys.argv[2])))
"""


@pytest.mark.deep
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_a_killed_search_goes_on(tmp_path: Path, strategy: str) -> None:
    """Killed in the middle of a step, it leaves the last file that was written, whole."""
    file = tmp_path / "search"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, strategy, str(file)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == b"held\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert document(file.read_bytes())["parents"]
    found = explore(ninc(5), Search(resume=file))
    assert facts(found) == facts(explore(ninc(5), Search(strategy)))


def test_a_program_of_the_language_goes_on(tmp_path: Path) -> None:
    """On both machines; a checkpoint of one is none of the other."""
    program, file = ROOT / "examples" / "quiz_mutex_cousins.ws", tmp_path / "search"
    for machine in api.MACHINES:
        whole = api.explore(program, machine=machine, strategy="graph").verdict
        api.explore(program, machine=machine, strategy="graph", max_states=100, checkpoint=file)
        assert facts(api.explore(program, machine=machine, resume=file).verdict) == facts(whole)
    with pytest.raises(InputError, match="of another program, or with other inputs"):
        api.explore(program, machine="semantics", resume=file)
    with pytest.raises(InputError, match="of another program, or with other inputs"):
        api.explore(program, machine="native", threads=3, resume=file)


# ----------------------------------------------------------------------------------------------------------- bad files


def interrupted_search(tmp_path: Path) -> Path:
    file = tmp_path / "search"
    explore(ninc(3), Search("dpor", max_states=30, checkpoint=file))
    return file


SMALL = (ninc(3), 2) if EFFORT <= 1 else (ninc(4), 200)
"""A program, and so many of its states: some thousand bits, or some ten thousand."""
STRIDE = 7 if EFFORT < 1 else 1
"""Of so many bits one is spoiled: another one of each byte."""


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_every_bit_that_is_spoiled_is_noticed(tmp_path: Path, strategy: str) -> None:
    """And wherever the file is cut short: by one clear error that names the file."""
    file = tmp_path / "search"
    explore(SMALL[0], Search(strategy, max_states=SMALL[1], checkpoint=file))
    contents = file.read_bytes()
    spoiled = [contents[:length] for length in range(len(contents))]
    for bit in range(0, 8 * len(contents), STRIDE):
        flipped = bytearray(contents)
        flipped[bit // 8] ^= 1 << bit % 8
        spoiled.append(bytes(flipped))
    for each in spoiled:
        file.write_bytes(each)
        with pytest.raises(InputError) as raised:
            checkpoint.load_search(file, "")
        known = "is damaged|is not a checkpoint|was written by another version"
        assert re.fullmatch(f"{file} ({known})", raised.value.message)
    assert len(spoiled) > (700 if EFFORT < 1 else 3000 if EFFORT == 1 else 50_000)


def test_a_file_of_another_program_does_not_fit(tmp_path: Path) -> None:
    file = interrupted_search(tmp_path)
    for other in (ninc(2), Litmus(), Litmus((Store("x", 1),) * 40)):
        with pytest.raises(InputError, match="the program takes other steps"):
            explore(other, Search(resume=file))


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("nothing")
    for name, said in (("missing", "No such file"), ("text", "is not a checkpoint"), (".", "Is a directory")):
        with pytest.raises(InputError, match=said):
            explore(ninc(2), Search(resume=tmp_path / name))
    with pytest.raises(InputError, match="Not a directory"):
        explore(ninc(2), Search(checkpoint=tmp_path / "text" / "search"))
    monkeypatch.chdir(tmp_path / "..")
    for folder in (tmp_path, Path(".")):
        with pytest.raises(InputError, match=r"(?m)^error\[input\]: [^\n]*: (Is a directory|Device or resource busy)$"):
            explore(ninc(2), Search(checkpoint=folder))
    assert not list(tmp_path.parent.glob("*.new"))


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@FORK
@pytest.mark.parametrize(
    ("strategy", "processes", "error"),
    few([("graph", 1, FULL), ("dpor", 1, FULL), ("dpor", 1, MemoryError()), ("graph", 2, FULL), ("dpor", 2, FULL)], 2),
)
def test_whatever_fails_while_a_search_is_kept_it_tells_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, processes: int, error: BaseException
) -> None:
    """Calls that write fail one after the other. A checkpoint is always there, whole, and nothing beside it.

    How often several write before the end depends on the clock, so they only do so then.
    """
    file, whole = tmp_path / "search", facts(explore(ninc(3), Search(strategy)))
    explore(ninc(3), Search(strategy, jobs=processes))  # loads modules, which failing calls would prevent
    monkeypatch.setattr(checkpoint, "EVERY", 0 if processes == 1 else 1e9)
    monkeypatch.setattr("wingspan.explorer.graph.LOOK_EVERY", 40)
    monkeypatch.setattr("wingspan.explorer.dpor.SLICE", 18)
    explore(ninc(3), Search(strategy, max_states=20, checkpoint=file))
    before, remarks = file.read_bytes(), []
    for failing in each_in_turn(error):
        file.write_bytes(before)
        with monkeypatch.context() as patch:
            failing.within(patch, FILES)
            try:
                found = facts(explore(ninc(3), Search(resume=file, checkpoint=file, jobs=processes)))
            except (InputError, MemoryError):
                assert failing.calls <= 3  # before anything is searched
            else:
                remarks.append(found.pop("remark"))
                assert told(found) == told(whole)
        assert [each.name for each in tmp_path.iterdir()] == ["search"]
        assert told(facts(explore(ninc(3), Search(resume=file)))) == told(whole)
    last = "memory ran out" if error is not FULL else f"{file}: {error}".replace("[Errno 28] ", "")
    assert set(remarks) == {"", f"the search could not be kept: {last}"}
    assert sum(map(bool, remarks)) == 7 < len(remarks)  # of the calls by which a file is written the last time
    assert multiprocessing.active_children() == []


def told(found: dict[str, Any]) -> dict[str, Any]:
    """The findings that do not depend on the searching processes: each counts states, and shows its first ones."""
    results = {result.outcome: result.executions for result in found["results"]}
    return {"results": results, **{name: found[name] for name in ("verdict", "complete", "executions", "strategy")}}


def test_what_is_no_checkpoint_is_not_written_over(tmp_path: Path) -> None:
    """Before anything is searched; a checkpoint, and a file without contents, are."""
    file = tmp_path / "search"
    file.write_text("a = 1")
    with pytest.raises(InputError, match=f"{file} would be overwritten, and is not a checkpoint"):
        explore(ninc(2), Search(checkpoint=file))
    assert file.read_text() == "a = 1"
    file.write_text("")
    for _ in range(2):
        explore(ninc(2), Search("graph", checkpoint=file))
        assert explore(ninc(2), Search(resume=file)).complete


def test_a_search_that_has_not_begun_is_kept_too(tmp_path: Path) -> None:
    file = tmp_path / "search"
    for strategy in ("graph", "dpor"):
        explore(ninc(3), Search(strategy, max_seconds=0, checkpoint=file))
        assert facts(explore(ninc(3), Search(resume=file))) == facts(explore(ninc(3), Search(strategy)))


def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = interrupted_search(tmp_path)
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.FORMAT + 1)
    with pytest.raises(InputError, match="written by another version"):
        explore(ninc(3), Search(resume=file))


@pytest.mark.parametrize("strategy", ["random", "pct", "bounded"])
def test_strategies_that_are_not_kept_say_so(tmp_path: Path, strategy: str) -> None:
    with pytest.raises(InputError, match=f"a search by {strategy} is not kept"):
        explore(ninc(2), Search(strategy, checkpoint=tmp_path / "search"))
