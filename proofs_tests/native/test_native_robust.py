"""The engine in rough conditions: signals, faults, limits, forks, many threads, spoiled inputs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from proofs_tests.places import ROOT
from wingspan import Fault, InputError, api
from wingspan.native.engine import NativeEngine
from wingspan.native.prepared import NativeProgram
from wingspan.runtime import _memory
from wingspan.runtime.lease import Limits

EXAMPLES = ROOT / "examples"
KARATE = EXAMPLES / "karate.ws"
FOR_EVER = 10**12

COUNT = """
c = Tensor(Dense(Atomic(0)), 1)
c .= 0
for i = parallel(1:{steps}, cpu(3))
    c[1] += 1
end
return c
"""

APPEND = """
dev = cpu(:t, 4)
c = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 1000000, 4)
c .= 0
for i = parallel(1:4, dev)
    for j = 1:(1 + 999999 * (i ÷ 4))
        c[j, i] += 1
    end
end
return c
"""


def ready(text: str, **binding) -> NativeProgram:
    """A program, compiled."""
    return api.compiled(api.bind(api.parse(text), **binding))


def counted(made) -> int:
    tensors, _ = made
    return int(tensors["c"].to_numpy()[0])


def threads_of_the_system() -> int:
    return len(os.listdir("/proc/self/task"))


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def reserved() -> int:
    """Bytes of address space that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def script(tmp_path):
    """Starts a Python program with a file of a program that counts for ever as its argument."""
    file = tmp_path / "count.ws"
    file.write_text(COUNT.format(steps=FOR_EVER))

    def start(text: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": ""}
        command = [sys.executable, "-c", PRELUDE + textwrap.dedent(text), str(file)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)

    return start


PRELUDE = """
import os, signal, sys, threading
import numpy  # starts threads of its own, which would count
from wingspan import api, cli
from wingspan.runtime import _memory

def tasks():
    return len(os.listdir("/proc/self/task"))

def begin():
    '''Says when the four threads of a run are there; they count for ever.'''
    def look(before=tasks()):
        while tasks() < before + 4:
            pass
        print("begun", flush=True)
    threading.Thread(target=look).start()
"""


# ------------------------------------------------------------------------------------------------------------- signals


def test_ctrl_c_ends_the_command_and_all_its_threads(script):
    """Idle threads are joined by `dismiss`: were a task still running, its thread would still be there."""
    process = script("""
        before = tasks()
        begin()
        try:
            cli.main(["run", sys.argv[1], "--engine", "native"])
        finally:
            _memory.dismiss()
            print(tasks() - before, flush=True)
    """)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out, err) == (130, "0\n", "interrupted\n")


def test_sigterm_ends_the_command(script):
    process = script("""
        begin()
        cli.main(["run", sys.argv[1], "--engine", "native"])
    """)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    assert (*process.communicate(timeout=100), process.returncode) == ("", "", -signal.SIGTERM)


def test_an_interrupted_program_runs_again(script):
    """The same compiled program: the second run is not one that has been stopped already."""
    process = script("""
        ready = api.compiled(api.bind(sys.argv[1]))
        for _ in range(2):
            begin()
            try:
                ready.run()
            except KeyboardInterrupt:
                _memory.dismiss()
                print("ended", flush=True)
    """)
    for _ in range(2):
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ended\n"
    assert (*process.communicate(timeout=100), process.returncode) == ("", "", 0)


@pytest.mark.parametrize("exception", few(["KeyboardInterrupt", "ValueError", "SystemExit"], 1))
def test_whatever_a_signal_handler_raises_ends_a_run(script, exception):
    process = script(f"""
        def handler(*_):
            raise {exception}
        signal.signal(signal.SIGUSR1, handler)
        begin()
        try:
            api.run(sys.argv[1], engine="native")
        except {exception}:
            print(api.run(sys.argv[1].replace("count", "few"), engine="native").tensors["c"].to_numpy()[0])
    """)
    Path(process.args[-1].replace("count", "few")).write_text(COUNT.format(steps=7))
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGUSR1)
    assert (*process.communicate(timeout=100), process.returncode) == ("7\n", "", 0)


# --------------------------------------------------------------------------------------------------- faults and limits


def test_a_fault_in_one_of_four_threads_ends_the_others():
    text = f"""
    dev = cpu(:t, 4)
    c = Tensor(Dense(Atomic(0)), 2)
    c .= 0
    for i = parallel(1:4, dev)
        for j = 1:{FOR_EVER}
            c[1] += 1
            if i == 3
                c[2] += {2**62}
            end
        end
    end
    """
    made = ready(text)
    for _ in range(3):
        with pytest.raises(
            Fault, match=r"(?m)^error\[fault\]: overflow: 9223372036854775808 does not fit a 64-bit integer$"
        ):
            made.run()


def test_memory_that_one_thread_runs_out_of_ends_the_run_and_not_the_process():
    made = ready(APPEND)
    with pytest.raises(
        Fault, match=r"(?m)^error\[fault\]: out of memory: the run needs \d+ bytes, which is more than its limit$"
    ):
        made.run(limits=Limits(memory=2**20))
    tensors, _ = made.run()
    assert tensors["c"].nnz == 1000003


@pytest.mark.parametrize("what", ["tables", "registers"])
def test_memory_that_the_engine_itself_cannot_have_is_a_fault(monkeypatch, what):
    """`make asan` refuses each of its requests; here it is refused all."""
    ready = NativeProgram(api.bind(KARATE))

    def refused(*_: object) -> None:
        raise MemoryError

    if what == "tables":
        monkeypatch.setattr(_memory, "Memory", refused)
    else:
        monkeypatch.setattr(ready._engine, "_program", SimpleNamespace(run=refused))
    with pytest.raises(
        Fault, match=r"(?m)^error\[fault\]: out of memory: the system has no address space left$"
    ) as fault:
        ready.run()
    assert fault.value.fix is not None


def test_a_buffer_that_one_thread_outgrows_ends_the_run_and_not_the_process():
    made = ready(APPEND)
    with pytest.raises(Fault, match=r"(?m)has outgrown the address space reserved for it at cell \d+$"):
        made.run(limits=Limits(reservation=2**20))
    tensors, _ = made.run()
    assert tensors["c"].nnz == 1000003


def test_what_was_half_made_when_address_space_ran_out_is_not_used_by_the_next_run(script):
    process = script("""
        import resource
        import wingspan
        text = "c = Tensor(Dense(Element(0)), 3)\\nc .= 0\\nfor i = _\\nc[i] += 1\\nend\\nreturn c"
        compiled = [api.compiled(api.bind(api.parse(text))) for _ in range(2)]
        compiled[0].run()
        pages = int(open("/proc/self/statm").read().split()[0])
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**21, most))
        try:
            compiled[1].run()
        except wingspan.Fault as fault:
            print(fault.message, fault.fix, sep="; ")
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        tensors, _ = compiled[1].run()
        print(*tensors["c"].to_numpy())
    """)
    out, err = process.communicate(timeout=60)
    told = "out of memory: the system has no address space left; raise the limit of the process: ulimit -v"
    assert (process.returncode, out) == (0, f"{told}\n1 1 1\n"), err


# ------------------------------------------------------------------------------------------------ devices and schedules


@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)", "dynamic_schedule(100)"])
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 8, 33, 64])
def test_more_threads_or_larger_chunks_than_iterations(threads, schedule):
    for steps in (0, 1, 5):
        text = COUNT.format(steps=steps).replace("cpu(3)", f"cpu({threads}), {schedule}")
        assert counted(ready(text).run()) == steps


@pytest.mark.parametrize(("outer", "inner"), [(2, 2), (3, 2), (1, 4), (8, 8)])
@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(2)"])
def test_devices_within_devices(outer, inner, schedule):
    text = f"""
    c = Tensor(Dense(Dense(Element(0))), 9, 7)
    c .= 0
    for i = parallel(_, cpu(:a, {outer}), {schedule})
        for j = parallel(_, cpu(:b, {inner}), {schedule})
            c[j, i] += 10 * i + j
        end
    end
    return c
    """
    tensors, _ = ready(text).run()
    assert (tensors["c"].to_numpy() == np.add.outer(np.arange(1, 10), 10 * np.arange(1, 8))).all()


# ------------------------------------------------------------------------------------- memory, Python's threads, forks


def test_a_thousand_runs_take_no_more_memory_than_some():
    """A page more for each run would be four times what is allowed."""
    made = api.compiled(api.bind(KARATE))
    for _ in range(100):
        made.run()
    before, space = resident(), reserved()
    for _ in range(1000):
        made.run()
    assert resident() - before < 2**20 and reserved() - space < 2**30


def test_compiled_programs_give_back_their_memory():
    bound = api.bind(KARATE)
    api.compiled(bound).run()
    space = reserved()
    for _ in range(100):
        api.compiled(bound).run()
    assert reserved() - space < 2**36


def test_a_run_that_fails_gives_back_its_memory():
    text = COUNT.format(steps=5).replace("+= 1", f"+= {2**62}")
    before = reserved()
    for _ in range(20):
        with pytest.raises(Fault):
            ready(text).run()
    assert reserved() - before < 2**36


@pytest.mark.parametrize("shared", [True, False], ids=["one program", "a program each"])
def test_runs_from_several_threads_of_python_at_once(shared):
    bound = api.bind(api.parse(COUNT.format(steps=1000)))
    one = api.compiled(bound)
    results: list[int] = []

    def work():
        mine = one if shared else api.compiled(bound)
        results.extend(counted(mine.run()) for _ in range(50))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [1000] * 300


def test_a_process_forked_while_another_thread_runs_a_program_runs_it_too():
    bound = api.bind(api.parse(COUNT.format(steps=3000000)))
    before = threads_of_the_system()
    results = []
    worker = threading.Thread(target=lambda: results.append(counted(api.compiled(bound).run())))
    worker.start()
    while not results and threads_of_the_system() < before + 5:
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if counted(api.compiled(bound).run()) == 3000000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    worker.join()
    assert results == [3000000]


@pytest.mark.parametrize(
    "last",
    few(["", "_memory.dismiss(); begin(); threading.Thread(target=run, args=(sys.argv[1],), daemon=True).start()"], 1),
)
def test_the_interpreter_ends_while_threads_are_idle_or_a_program_runs(script, last):
    process = script(f"""
        def run(program):
            return api.run(program, engine="native").tensors["c"].to_numpy()[0]
        print(run(api.parse({COUNT.format(steps=9)!r})), tasks() > 3, flush=True)
        {last}
    """)
    out, err = process.communicate(timeout=100)
    assert (out.replace("begun\n", ""), err, process.returncode) == ("9 True\n", "", 0)


def test_dismissed_threads_come_back():
    made = ready(COUNT.format(steps=100))
    for _ in range(20):
        assert counted(made.run()) == 100
        _memory.dismiss()


# ------------------------------------------------------------------------------------------------------ spoiled inputs


def sparse(**arrays) -> scipy.sparse.csc_array:
    """[[1, 0], [2, 0], [0, 3]], but for these arrays of it."""
    made = scipy.sparse.csc_array(np.array([[1.0, 0], [2, 0], [0, 3]]))
    for name, values in arrays.items():
        setattr(made, name, np.array(values, dtype=getattr(made, name).dtype))
    return made


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": [0, 4, 3]}, "pointers do not ascend"),
        ({"indptr": [1, 2, 3]}, "do not begin at the first entry"),
        ({"indptr": [0, 2, 9]}, "announce 9 entries, and there are 3"),
        ({"indices": [0, 3, 1]}, "an index is out of bounds"),
        ({"indices": [0, -1, 1]}, "an index is out of bounds"),
    ],
)
def test_spoiled_inputs_are_refused_once_and_before_anything_runs(arrays, message, monkeypatch):
    monkeypatch.setattr(NativeEngine, "run", lambda *_, **__: pytest.fail("it runs"))
    inputs = {"A": sparse(**arrays), "B": sparse()}
    with pytest.raises(InputError, match=message) as refused:
        api.run(EXAMPLES / "spadd.ws", engine="native", inputs=inputs, params={"nt": 2, "sch": "static_schedule()"})
    assert len(refused.value.diagnostics) == 1


@pytest.mark.parametrize(("array", "value"), [("indices", 10**6), ("indices", -5), ("indptr", 10**6), ("indptr", -5)])
def test_inputs_that_are_spoiled_after_they_were_looked_at_corrupt_no_more_than_results(array, value):
    """Somebody writes to arrays that are used as they are, between two runs. A run ends, in a fault or not."""
    inputs = {"A": sparse(), "B": sparse()}
    bound = api.bind(EXAMPLES / "spadd.ws", inputs=inputs, params={"nt": 2, "sch": "dynamic_schedule(1)"})
    made = api.compiled(bound)
    spoiled = getattr(inputs["A"], array)
    sound, spoiled[1] = spoiled[1], value
    try:
        made.run(limits=Limits(memory=2**26, reservation=2**24))
    except Fault as fault:
        assert len(fault.diagnostics) == 1
    spoiled[1] = sound
    tensors, _ = made.run()
    assert tensors["C"].to_numpy().tolist() == [[2, 0], [4, 0], [0, 6]]
