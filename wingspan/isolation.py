"""Engines in processes of their own: one that crashes, exits or hangs ends its process, and not that of its caller.

The process is forked from this one when the engine is first used, so the engine may be any object: a closure, or an
object of a class in a notebook. It serves run after run. Only if it ends, or exceeds its time, is a new one forked.
"""

from __future__ import annotations

import faulthandler
import io
import os
import pickle
import resource
import signal
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from time import monotonic
from typing import Any, NoReturn

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError, WingspanError, printable
from wingspan.base.libraries import np
from wingspan.base.orphans import end_with
from wingspan.elaborate import Elaborated
from wingspan.results.comparison import Defect, Engine, Inputs, arrays_of

LOOK_EVERY = 0.05
"""Seconds between two checks whether the process has ended: a process that the engine has started may still hold the
other end of the pipe.
"""
QUOTED = 2_000
"""Bytes of what an engine has written last that are kept,"""
LINES = 10
"""and the number of lines that are quoted."""


@dataclass
class _Process:
    """A forked process, the connection to its engine, and the end of the pipe that standard error goes to."""

    number: int
    pipe: Connection
    stderr: int


class Isolated:
    """An engine that runs in a process of its own, of which each run may take `seconds`.

    If the process ends instead, by a signal or by exiting, or if its time is up, `run` raises a `Defect` that says how,
    and quotes the end of what the engine has written to standard output and standard error. The next run has a new
    process, with the engine as it was when this object was made or first used.

    Close it, or use it in a `with` statement; the process ends with this one in any case.
    """

    def __init__(self, engine: Engine, seconds: float) -> None:
        if not seconds > 0:
            raise InputError(f"an engine cannot run within {seconds:g} s", fix="isolate it with a time limit above 0")
        if not hasattr(os, "fork"):
            raise InputError("engines are isolated on operating systems that can fork only", fix="leave out isolate")
        self.engine, self.seconds = engine, seconds
        self._process: _Process | None = None
        self._owner = os.getpid()
        self._said: deque[int] = deque(maxlen=QUOTED)
        self._bodies: list[object] = []
        """the bodies of the programs that the process has prepared: engines recognise programs by them"""

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    def __getattr__(self, trait: str) -> Any:
        """Traits are those of the engine."""
        if trait == "engine":  # while this object is made, or unpickled
            raise AttributeError(trait)
        found = getattr(self.engine, trait)
        return self._prepare if trait == "prepare" else found

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The engine's results, as arrays. Raises what the engine raises, as far as it matters to a comparison."""
        found: Mapping[str, Any] = self._ask(self.seconds, "run", program)
        return found

    def _prepare(self, programs: Sequence[Elaborated]) -> None:
        """Let the engine prepare for programs, within the time of all of their runs."""
        self._ask(self.seconds * max(len(programs), 1), "prepare", list(programs))
        self._bodies = [program.body for program in programs]

    def _ask(self, seconds: float, verb: str, argument: object) -> Any:
        """The reply of the process to a request."""
        request = self._pickle((verb, argument))
        until = monotonic() + seconds
        self._said.clear()
        try:
            if self._process is None:
                self._process = self._fork()
            with suppress(OSError):  # it has ended: the reply says how
                self._process.pipe.send_bytes(request)
            good, reply = self._reply(self._process, until, seconds)
        except BaseException:
            self.close()
            raise
        if not good:
            raise reply
        return reply

    def _pickle(self, request: object) -> bytes:
        file = io.BytesIO()
        _Pickler(file, self._bodies).dump(request)
        return file.getvalue()

    def _reply(self, process: _Process, until: float, seconds: float) -> tuple[bool, Any]:
        """Whether the engine has a result, and that or what it raised. A Defect if the process has ended or must."""
        sources: list[Connection | int] = [process.pipe, process.stderr]
        while True:
            ready = wait(sources, max(0.0, min(LOOK_EVERY, until - monotonic())))
            if process.stderr in ready and not self._drain_stderr(process):
                sources.remove(process.stderr)
            if process.pipe in ready:
                try:
                    reply: tuple[bool, Any] = pickle.loads(process.pipe.recv_bytes())
                    return reply
                except (EOFError, OSError):
                    sources.remove(process.pipe)
            number, status = os.waitpid(process.number, os.WNOHANG)
            if number:
                raise self._describe_end(process, _describe_status(status))
            if monotonic() > until:
                raise self._describe_end(process, f"no end within {seconds:g} s", hung=True)

    def _drain_stderr(self, process: _Process) -> bool:
        """Read some of what the engine has written; false at its end."""
        some = os.read(process.stderr, 65536)
        self._said.extend(some)
        return bool(some)

    def _describe_end(self, process: _Process, how: str, hung: bool = False) -> Defect:
        """Describe a process that has ended or is to end."""
        while wait([process.stderr], 0) and self._drain_stderr(process):
            pass
        lines = bytes(self._said).decode(errors="replace").splitlines()[-LINES:]
        return Defect(how, printable("\n".join(lines)).strip(), hung)

    def _fork(self) -> _Process:
        self._bodies = []
        ours, theirs = Pipe()
        reading, writing = os.pipe()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        parent = os.getpid()
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns of locks that other threads hold; the process uses what the engine brings alone
                warnings.simplefilter("ignore", DeprecationWarning)
                number = os.fork()
        except OSError as error:
            for each in (reading, writing):
                os.close(each)
            fix = "end other processes, or leave out isolate"
            raise InputError(f"no process can be started for {self.name}: {error.strerror}", fix=fix) from None
        if not number:

            def serve() -> None:
                ours.close()
                os.close(reading)
                _serve(self.engine, theirs)

            _begin(parent, writing, serve)
        with suppress(OSError):  # the process does it, too: whichever comes first
            os.setpgid(number, number)
        theirs.close()
        os.close(writing)
        return _Process(number, ours, reading)

    def close(self) -> None:
        """End the process, and those that the engine has started in it."""
        process, self._process = self._process, None
        self._bodies = []
        if process is None or os.getpid() != self._owner:  # a copy of this object in a forked process
            return
        with suppress(OSError):
            os.killpg(process.number, signal.SIGKILL)
        with suppress(ChildProcessError):  # it has been waited for
            os.waitpid(process.number, 0)
        process.pipe.close()
        os.close(process.stderr)

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_process" in vars(self):
            self.close()


@contextmanager
def isolate_engines(engines: Sequence[Engine], seconds: float | None) -> Iterator[Sequence[Engine]]:
    """Within, each engine has a process of its own; the engines themselves if there is no limit."""
    if seconds is None:
        yield engines
        return
    made = [Isolated(engine, seconds) for engine in engines]
    try:
        yield made
    finally:
        for each in made:
            each.close()


def _describe_status(status: int) -> str:
    """Describe the end of a process, from the status of waitpid(2)."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exited with status {code}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


class _Pickler(pickle.Pickler):
    """Writes requests; the body of a prepared program is written as its number."""

    def __init__(self, file: io.BytesIO, bodies: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = {id(body): number for number, body in enumerate(bodies)}

    def persistent_id(self, each: object) -> int | None:
        return self._numbers.get(id(each))


# --------------------------------------------------------------------------------------------- in the forked process


def _begin(parent: int, output: int, serve: Callable[[], object]) -> NoReturn:
    """Serve, and end: nothing of the process that this one was forked from may run here, nor at its end.

    The process leads a group of its own, so that Ctrl-C reaches only the first one, and so that what the engine starts
    is ended with it. Its output, also by C, goes to the pipe `output`.
    """
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        end_with(parent)
        faulthandler.disable()  # which may write to a copy of standard error
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # many crashes
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGHUP):
                if callable(signal.getsignal(number)):
                    signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        empty = os.open(os.devnull, os.O_RDONLY)
        for there, here in ((empty, 0), (output, 1), (output, 2)):
            os.dup2(there, here)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(k, "w", closefd=False), errors="backslashreplace", write_through=True)
            for k in (1, 2)
        )
        serve()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        os._exit(0)


class _Unpickler(pickle.Unpickler):
    """Reads requests; the bodies of prepared programs are those that the engine has."""

    def __init__(self, request: bytes, bodies: Sequence[object]) -> None:
        super().__init__(io.BytesIO(request))
        self._bodies = bodies

    def persistent_load(self, number: int) -> object:
        return self._bodies[number]


def _serve(engine: Any, pipe: Connection) -> None:
    """Reply to requests until there are no more."""
    bodies: list[object] = []
    with suppress(EOFError):
        while True:
            what, about = _Unpickler(pipe.recv_bytes(), bodies).load()
            reply: tuple[bool, Any]
            try:
                if what == "prepare":
                    bodies = [program.body for program in about]
                    reply = True, engine.prepare(about) and None
                else:
                    reply = True, arrays_of(engine.run(about, Inputs(about.inputs)))
            except (WingspanError, NotImplementedError, Defect) as error:
                reply = False, error
            except BaseException as error:  # also SystemExit and KeyboardInterrupt: no signal arrives here
                reply = False, Defect.from_exception(error)
            pipe.send_bytes(_pickle_reply(reply))


def _pickle_reply(reply: tuple[bool, Any]) -> bytes:
    """A reply as bytes. An error of a class that cannot be pickled becomes the error of ours that it is."""
    try:
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception:
        error = reply[1]
        for kind in (Fault, InputError):
            if isinstance(error, kind):
                return pickle.dumps((False, kind(error.message)))
        return pickle.dumps((False, Defect.from_exception(error)))
