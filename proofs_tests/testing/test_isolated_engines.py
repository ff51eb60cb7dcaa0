"""Engines in processes of their own: ones that crash, exit or hang, in comparisons, campaigns and `diff`."""

from __future__ import annotations

import ctypes
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.elaborate import Elaborated
from wingspan.results.comparison import Defect, Ending, run_to_end
from wingspan.testing import Disagreement, Isolated, campaign

MODULE: Any = sys.modules["wingspan.testing.campaign"]
PLENTY = 300.0
"""Seconds that no run here needs,"""
ENOUGH = 60.0
"""and that no process needs to end."""
PROGRAM = api.bind(api.parse("c = Tensor(Element(0))\nc .= 0\nc[] += 7\nreturn c"))


def result(program: Elaborated) -> dict[str, Any]:
    return {name: tensor.to_numpy() for name, tensor in api.run(program, engine="reference").tensors.items()}


def calling(act: Callable[[], Any], **traits: Any) -> Any:
    """An engine that does something, and then has the right result; a closure, which no other process can import."""

    def run(program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        act()
        return result(program)

    return SimpleNamespace(name="mine", run=run, **traits)


def stop() -> None:
    """Waits for ever, without giving the interpreter to any other thread."""
    ctypes.PyDLL(None).pause()


def crash() -> None:
    os.write(2, b"one\x1b[31m\ntwo\n")
    ctypes.string_at(0)


def interrupt() -> None:
    raise KeyboardInterrupt


def fail() -> None:
    class Own(Exception):
        pass

    raise Own("a class that cannot be pickled")


ENDS: dict[Callable[[], Any], tuple[str, str]] = {
    crash: ("killed by SIGSEGV", "one\\x1b[31m\ntwo"),
    os.abort: ("killed by SIGABRT", ""),
    lambda: os._exit(3): ("exited with status 3", ""),
    lambda: os._exit(0): ("exited with status 0", ""),
    lambda: sys.exit(3): ("SystemExit: 3", ""),
    interrupt: ("KeyboardInterrupt", ""),
    fail: ("Own: a class that cannot be pickled", ""),
}


@pytest.mark.parametrize(("act", "defect"), ENDS.items(), ids=lambda each: each[0] if isinstance(each, tuple) else "")
def test_however_an_engine_ends_the_next_run_has_one(act: Callable[[], Any], defect: tuple[str, str]) -> None:
    calls: list[int] = []

    def second_time() -> None:
        calls.append(1)
        if len(calls) == 2:
            act()

    with Isolated(calling(second_time), PLENTY) as engine:
        runs = [run_to_end(PROGRAM, engine) for _ in range(3)]
    assert [run.defect for run in runs] == [None, defect[0], None]
    if act in (crash, os.abort) or "exited" in defect[0]:
        assert runs[1].output == defect[1]
    else:
        assert runs[1].output.count("in second_time\n    act()\n") == 1
    assert runs[2].arrays["c"] == 7
    assert calls == []


def test_a_run_that_hangs_is_ended_when_its_time_is_up() -> None:
    """Also one that lets no other thread of its process run."""
    with Isolated(calling(stop), 0.1) as engine:
        run = run_to_end(PROGRAM, engine)
    assert (run.defect, run.hung) == ("no end within 0.1 s", True)


class Counting:
    """Its result is the number of its process; it knows how often it has run there, and what it has prepared."""

    name = "counting"
    nonfinite = True

    def __init__(self) -> None:
        self.runs = 0
        self.bodies: list[object] = []

    def prepare(self, programs: Any) -> None:
        self.bodies = [program.body for program in programs]

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        self.runs += 1
        prepared = any(program.body is body for body in self.bodies)
        return {"process": os.getpid(), "runs": self.runs, "prepared": prepared}


def values(run: Ending) -> tuple[Any, ...]:
    assert run.defect is None
    return tuple(each.item() for each in run.arrays.values())


def test_one_process_serves_all_runs_and_ends_when_it_is_closed() -> None:
    made = Counting()
    with Isolated(made, PLENTY) as engine:
        (one, *first), (other, *second) = (values(run_to_end(PROGRAM, engine)) for _ in range(2))
        assert (first, second) == ([1, False], [2, False])
        assert one == other != os.getpid()
        os.kill(one, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(one, 0)
    assert made.runs == 0
    assert (engine.name, engine.nonfinite, getattr(engine, "eager", False)) == ("counting", True, False)
    engine.close()


def test_an_engine_recognises_the_programs_that_it_has_prepared() -> None:
    """By their identity, with any inputs; others arrive, too, and so do all in a new process."""
    text = "b = Tensor(Element(0))\nc = Tensor(Element(0))\nc .= 0\nc[] += b[]\nreturn c"
    other = api.bind(api.parse(text), inputs={"b": np.array(3)})
    with Isolated(Counting(), PLENTY) as engine:
        engine.prepare([PROGRAM])
        assert [values(run_to_end(each, engine))[2] for each in (PROGRAM, other, PROGRAM)] == [True, False, True]
        os.kill(values(run_to_end(PROGRAM, engine))[0], signal.SIGKILL)
        assert run_to_end(PROGRAM, engine).defect == "killed by SIGKILL"
        assert values(run_to_end(PROGRAM, engine))[1:] == (1, False)


def test_an_engine_without_prepare_has_none() -> None:
    with Isolated(calling(list), PLENTY) as engine:
        assert getattr(engine, "prepare", None) is None


def test_a_copy_in_a_forked_process_ends_nothing() -> None:
    with Isolated(Counting(), PLENTY) as engine:
        one = values(run_to_end(PROGRAM, engine))
        child = os.fork()
        if not child:
            engine.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert values(run_to_end(PROGRAM, engine))[:2] == (one[0], 2)


def test_errors_mean_what_they_mean_in_this_process() -> None:
    """A fault with its incident is a fault, what an engine cannot run is left out, ours are what they are without."""
    faulty = api.bind(api.parse("x = 1 ÷ 0"))
    for name in ("semantics", "reference", "native"):
        with Isolated(api.engine(name), PLENTY) as engine:
            plain, isolated = (run_to_end(faulty, each) for each in (api.engine(name), engine))
            assert plain.fault == isolated.fault is not None

    class Odd(Fault):
        pass

    def raising(error: Exception) -> Isolated:
        def act() -> None:
            raise error

        return Isolated(calling(act), PLENTY)

    with raising(Odd("mine")) as engine:
        assert run_to_end(PROGRAM, engine).fault == "mine"
    for error in (InputError("no", fix="do"), NotImplementedError("no")):
        with raising(error) as engine, pytest.raises(InputError, match="no"):
            run_to_end(PROGRAM, engine)


def test_our_engines_agree_when_each_runs_in_a_process_of_its_own() -> None:
    text = "for i = parallel(_, cpu(2))\n    y[i] += A[i, i]\nend\nreturn y"
    declared = "A = Tensor(Dense(SparseList(Element(0.0))))\ny = Tensor(Dense(Element(0.0)))\ny .= 0\n"
    engines = ["semantics", "reference", "native", "compiled"]
    made = api.diff(api.parse(declared + text), engines=engines, isolate=PLENTY, inputs={"A": np.eye(3)})
    assert (made.engines, made.difference) == (tuple(engines), None)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_above_zero(seconds: float) -> None:
    with pytest.raises(InputError, match="within"):
        api.diff(api.parse("x = 1"), engines=["reference"], isolate=seconds)


PARENT = f"""
import ctypes, os, sys
from types import SimpleNamespace
from wingspan import api
def run(program, inputs):
    os.write({{output}}, str(os.getpid()).encode() + b"\\n")
    ctypes.PyDLL(None).pause()
api.diff(api.parse("x = 1"), engines=[SimpleNamespace(name="mine", run=run)], isolate={PLENTY})
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waiting for the process of another one takes Linux")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.deep)]
)
def test_the_process_of_an_engine_ends_with_that_of_its_caller(number: int) -> None:
    """Although the engine runs and hears nothing, however the first process is ended."""
    reading, writing = os.pipe()
    words = [sys.executable, "-c", PARENT.format(output=writing)]
    with subprocess.Popen(words, pass_fds=[writing], stderr=subprocess.DEVNULL) as first, os.fdopen(reading) as heard:
        os.close(writing)
        engine = os.pidfd_open(int(heard.readline()))
        first.send_signal(number)
        first.wait()
        ended, _, _ = select.select([engine], [], [], ENOUGH)
        os.close(engine)
    assert ended


# ----------------------------------------------------------------------------------------------------------- campaigns


def on_two(act: Callable[[], Any], **traits: Any) -> Any:
    """An engine that does something on programs of two inputs or more."""

    def run(program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        if len(inputs) > 1:
            act()
        return result(program)

    return SimpleNamespace(name="mine", run=run, unchecked=True, **traits)


def write_sum(inputs: str, value: str) -> str:
    """A program that adds a value to a scalar; so are its inputs, so that a counterexample is soon minimal."""
    return "".join(f"{name} = Tensor(Element(0))\n" for name in (*inputs, "y")) + f"y .= 0\ny[] += {value}\nreturn y"


PRODUCT = "A[] * B[]"
TEXTS = [write_sum("A", "A[]"), write_sum("AB", PRODUCT), write_sum("AB", f"{PRODUCT} + 3 * A[] - B[] * B[]")]
"""Programs of one and of two inputs, from simple to complex."""
FEW: dict[str, Any] = {"programs": st.sampled_from(TEXTS), "examples": 8, "inputs": 2, "max_states": 0}


def test_a_crash_is_a_difference_whose_simplest_program_is_shown() -> None:
    with pytest.raises(Disagreement) as found:
        campaign(["reference"], [on_two(crash)], isolate=PLENTY, **FEW)
    text = str(found.value)
    assert "mine (as written) has a defect: killed by SIGSEGV\n" in text
    assert text.endswith("output:\n#   one\\x1b[31m\n#   two\n")
    assert f"y .= 0\ny[] += {PRODUCT}\nreturn y\n# A" in text and text.count("array(0)") == 2


def test_a_campaign_goes_on_after_crashes_and_counts_them() -> None:
    """The cases are those of an engine that has no defect."""
    plain = campaign(["reference"], [on_two(list)], collect=True, **FEW)
    done = campaign(["reference"], [on_two(os.abort)], collect=True, isolate=PLENTY, **FEW)
    assert (done.cases, done.runs, done.skipped) == (plain.cases, plain.runs, plain.skipped)
    ((symptom, bucket),) = done.buckets.items()
    assert symptom == "mine: killed by SIGABRT"
    assert 0 < bucket.cases < done.cases and "has a defect: killed by SIGABRT" in bucket.smallest


def test_all_batches_of_a_campaign_have_one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(MODULE, "BATCH", 2)
    log = tmp_path / "processes"

    def note() -> None:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")

    campaign(["reference"], [on_two(note)], isolate=PLENTY, **FEW)
    assert len(set(log.read_text().split())) == 1 < len(log.read_text().split())


def hanging(hangs: list[int]) -> Any:
    """An engine that exceeds its time on programs of two inputs, as an `Isolated` one tells it, and counts that."""

    def hang() -> None:
        hangs.append(1)
        raise Defect("no end within 5 s", hung=True)

    return on_two(hang)


def test_a_simpler_program_is_sought_among_a_limited_number_of_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "HANGS", 1)
    hangs: list[int] = []
    with pytest.raises(Disagreement, match="has a defect: no end within 5 s") as found:
        campaign(["reference"], [hanging(hangs)], dealt=2, repeat=2, **FEW)
    assert len(hangs) == 1 + 1  # the search begins with the program that was found
    assert "Tensor(" in str(found.value)


def test_an_engine_that_has_hung_skips_the_rest_of_the_program() -> None:
    hangs: list[int] = []
    done = campaign(["reference"], [hanging(hangs)], dealt=2, repeat=2, collect=True, **FEW)
    ((symptom, bucket),) = done.buckets.items()
    assert symptom == "mine: no end within … s"
    assert done.skipped["mine: it has exceeded its time on this program"] > 0
    assert bucket.cases == len(hangs) <= FEW["examples"]  # one for each program at most


@pytest.mark.deep
def test_a_campaign_of_a_crashing_engine_resumes(run: Any, tmp_path: Path) -> None:
    """`keep` has what was found before a campaign was ended, for these seconds only."""
    whole, every = run(isolate=PLENTY)
    assert whole.buckets.keys() == {"crashing: killed by SIGABRT"}
    with pytest.raises(KeyboardInterrupt):
        run(ends=1, keep=tmp_path, isolate=PLENTY)
    assert run(keep=tmp_path, isolate=PLENTY) == (whole, every[1:])
    assert run(keep=tmp_path, isolate=PLENTY + 1) == (whole, every)


class Crashing:
    """An engine in a module, whose source is known."""

    name = "crashing"
    unchecked = True

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        if len(inputs) > 1:
            os.abort()
        return result(program)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a campaign of small batches, and ends it before one. Gives its tally, and the batches that it has run."""
    monkeypatch.setattr(MODULE, "BATCH", 2)
    monkeypatch.setattr(MODULE, "sources", lambda module: [Path(__file__)])
    done, usual = list[int](), MODULE.Campaign.batch

    def go(*, ends: int | None = None, **options: Any) -> tuple[Any, list[int]]:
        def batch(self: Any, number: int, **engines: Any) -> Any:
            if number == ends:
                raise KeyboardInterrupt
            done.append(number)
            return usual(self, number, **engines)

        done.clear()
        monkeypatch.setattr(MODULE.Campaign, "batch", batch)
        made = campaign(["reference"], [Crashing()], collect=True, **FEW | {"examples": 6}, **options)
        return replace(made, seconds=0.0), list(done)

    return go


class Preparing(Crashing):
    """It fails to prepare for several programs at once, and for one of two inputs or more."""

    name = "preparing"

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def prepare(self, programs: Any) -> None:
        if len(programs) > 1 or len(programs[0].inputs) > 1:
            self.act()

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        return result(program)


@pytest.mark.parametrize(
    ("act", "how", "isolate"),
    [(os.abort, "killed by SIGABRT", PLENTY), (lambda: sys.exit(3), "SystemExit: …", None)],
)
def test_an_engine_that_fails_to_prepare_prepares_for_each_program_alone(act: Any, how: str, isolate: Any) -> None:
    done = campaign(["reference"], [Preparing(act)], collect=True, isolate=isolate, **FEW)
    assert done.skipped == {f"preparing: 8 programs at once: {how}": 1}
    assert done.buckets.keys() == {f"preparing: {how}"}
    assert sum(bucket.cases for bucket in done.buckets.values()) < done.cases


def test_an_engine_that_exits_is_a_difference_without_a_process_of_its_own_too() -> None:
    done = campaign(["reference"], [on_two(lambda: sys.exit(3))], collect=True, **FEW)
    assert done.buckets.keys() == {"mine: SystemExit: …"}


def test_ctrl_c_ends_a_campaign_in_one_process() -> None:
    with pytest.raises(KeyboardInterrupt):
        campaign(["reference"], [on_two(interrupt)], collect=True, **FEW)


# ---------------------------------------------------------------------------------------------------------------- diff


@pytest.mark.parametrize("isolated", [False, True])
def test_diff_shows_where_an_engine_raised(command: Any, written: Any, monkeypatch: Any, isolated: bool) -> None:
    text = """
class Mine:
    name = "raising"
    def run(self, program, inputs):
        return {"c": self.half(program)}
    def half(self, program):
        return 1 // 0
"""
    monkeypatch.syspath_prepend(str(Path(written(text, "mine_that_raises.py")).parent))
    file = written("c = Tensor(Element(0))\nc .= 0\nc[] += 7\nreturn c", "a.ws")
    words = ["diff", file, "--engines", "reference,mine_that_raises:Mine"]
    done = command(*words, *(["--isolate", str(PLENTY)] if isolated else []))
    lines = [line.strip() for line in done.out.splitlines()]
    assert "raising    a defect: ZeroDivisionError: integer division or modulo by zero" in lines
    shown = [line.partition("raising: ")[2].strip() for line in lines if line.startswith("output")]
    assert [line for line in shown if not line.startswith(("File", "~", "^"))] == [
        'return {"c": self.half(program)}', "return 1 // 0",
    ]  # fmt: skip
    assert re.search(r'mine_that_raises.py", line 5, in run', shown[0])


def test_diff_shows_how_an_engine_ended_and_what_it_wrote(command: Any, written: Any, monkeypatch: Any) -> None:
    text = """
import os
class Mine:
    name = "mine"
    def run(self, program, inputs):
        print("on standard output")
        os.write(2, b"on standard error\\n")
        os.abort()
"""
    folder = Path(written(text, "mine_that_aborts.py")).parent
    monkeypatch.syspath_prepend(str(folder))
    file = written("c = Tensor(Element(0))\nc .= 0\nc[] += 7\nreturn c", "a.ws")
    words = ["diff", file, "--engines", "reference,mine_that_aborts:Mine", "--isolate", str(PLENTY)]
    done = command(*words)
    assert done.status == 1
    assert done.out.splitlines()[1:] == [
        "  reference  a result",
        "  mine       a defect: killed by SIGABRT",
        "  output  mine: on standard output",
        "  output  mine: on standard error",
    ]
    made = command(*words, "--json").json
    assert [(each["defect"], each["output"]) for each in made["runs"]] == [
        (None, ""),
        ("killed by SIGABRT", "on standard output\non standard error"),
    ]
    for wrong in ("0", "nan", "-1", "x"):
        assert command(*words[:-1], wrong).status == 2
