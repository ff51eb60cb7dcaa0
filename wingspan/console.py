"""What all verbs of the command line share: how results and errors are told, and the options that several have.

Results go to standard output, all else to standard error.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from wingspan import api
from wingspan.began import BEGAN
from wingspan.errors import Fault, InputError, InternalError, Mark, Source, Span, WingspanError, printable
from wingspan.explorer.interrupts import Terminated
from wingspan.reading import MORE
from wingspan.tensors.files import SUFFIXES
from wingspan.views.check import refusal
from wingspan.views.paint import painted
from wingspan.views.view import CheckReport, Invocation

STATUS = {"safe": 0, "wrong": 1, "order-dependent": 1, "race": 1, "deadlock": 1, "fault": 1, "incomplete": 3}
"""The exit status of each verdict."""
MISTAKE, MISMATCH, DEFECT, SIGNALLED, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 128, 130, 141
"""The exit statuses when there is no verdict; to SIGNALLED the number of the signal is added."""


# ------------------------------------------------------------------------------------------------- results and errors


def show(text: str, *, colours: bool = False) -> None:
    """Print a result. What a terminal would obey in it is printed as escapes."""
    text = painted(printable(text), sys.stdout) if colours else printable(text)
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        if isinstance(error, BrokenPipeError):
            sys.exit(BROKEN_PIPE)
        raise InputError(f"standard output: {error.strerror}") from None


def show_json(value: dict[str, Any]) -> None:
    """Print a result as one JSON object. Doubles that are not finite, for which JSON has no numbers, become text."""
    show(as_text(value))


def as_text(value: dict[str, Any]) -> str:
    """A value in one line of JSON."""
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {name: _finite(part) for name, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
    return value


def fail(text: str, status: int) -> NoReturn:
    """Print an error and end. If standard error is closed or full, the exit status says it alone."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(painted(printable(text), sys.stderr) + "\n")
            sys.stderr.flush()
    sys.exit(status)


def defect(error: Exception) -> str:
    """An error that is ours, in words."""
    if not isinstance(error, InternalError):
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        at = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        error = InternalError(f"{type(error).__name__}{at}: {error}")
    return f"{error.render()}\n  note  this is a defect of wingspan: please report it, with the program"


@contextmanager
def misuse() -> Iterator[None]:
    """A misuse of the command line is reported without what a terminal would obey."""
    try:
        yield
    except click.UsageError as error:
        raise click.UsageError(printable(error.format_message()), error.ctx) from None


class Verbs(click.Group):
    """Commands whose errors become a message and an exit status, never a traceback.

    The context object is the `time.monotonic()` at which the command began.
    """

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line; without `args` that of the process, which begins with it."""
        return super().main(args, *rest, obj=BEGAN if args is None else time.monotonic(), **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what comes before the name of a command."""
        with misuse():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        try:
            with misuse():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Terminated as signal:
            fail(f"ended by {signal}", SIGNALLED + signal.number)
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except InternalError as error:
            fail(defect(error), DEFECT)
        except WingspanError as error:
            fail(error.render(), STATUS["fault"] if isinstance(error, Fault) else MISTAKE)
        except MemoryError:
            fix = f"use a smaller program or smaller inputs, or {MORE}"
            fail(InputError("memory ran out", topic="memory", fix=fix).render(), MISTAKE)
        except OSError as error:
            what = f"{error.filename or 'the system'}: {error.strerror or error}"
            fix = "correct what the system reports, and run it again"
            fail(InputError(what, topic="system", fix=fix).render(), MISTAKE)
        except Exception as error:
            fail(defect(error), DEFECT)


def began() -> float:
    """The `time.monotonic()` at which the command began."""
    time_of_command: float = click.get_current_context().find_root().obj
    return time_of_command


def keep_garbage() -> None:
    """If the process ends with this command, do not look through its memory for what can go: that may take seconds."""
    if began() is BEGAN:
        gc.freeze()


# ------------------------------------------------------------------------------------------------------------ options


def pairs(what: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """Reads a repeated option NAME=`what`."""

    def read(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in texts:
            name, _, value = (part.strip() for part in text.partition("="))
            if not name.isidentifier() or not value:
                raise click.BadParameter(
                    f"{text!r} is not of the form NAME={what}, as in {param.opts[0]} {EXAMPLES[what]}"
                )
            if name in found:
                raise twice(name, str(param.opts[0]), texts)
            found[name] = value
        return found

    return read


def twice(name: str, option: str, texts: tuple[str, ...]) -> InputError:
    """What to say of a name that one option binds twice."""
    source = Source("command line", " ".join(f"{option} {text}" for text in texts))
    spans = []
    column = 1
    for text in texts:
        column += len(option) + 1
        if text.partition("=")[0].strip() == name:
            spans.append(Span(source, 1, column, 1, column + len(text)))
        column += len(text) + 1
    return InputError(f"{name} is given twice", spans[1], marks=(Mark(spans[0]),), fix="keep one of the two")


EXAMPLES = {"VALUE": "nt=4", "PATH": "A=matrix.mtx"}


class NamedPath(click.types.StringParamType):
    """NAME=PATH. After the = sign, Tab completes folders and the files that tensors are read from and written to."""

    name = "NAME=PATH"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the word may become. A folder that is the only way on is entered, since shells then add a blank."""
        name, equals, start = incomplete.partition("=")
        found = _files(start) if equals else []
        while len(found) == 1 and found[0].endswith(os.sep) and (inside := _files(found[0])):
            found = inside
        return [CompletionItem(f"{name}={path}") for path in found]


def _files(start: str) -> list[str]:
    """The folders, with a separator at the end, and the files of tensors whose paths begin so."""
    folder, begin = os.path.split(start)
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    some = [entry for entry in entries if entry.name.startswith(begin) and (begin or not entry.name.startswith("."))]
    chosen = [entry for entry in some if entry.is_dir() or entry.name.endswith(SUFFIXES)]
    return [os.path.join(folder, entry.name) + (os.sep if entry.is_dir() else "") for entry in chosen]


def limit(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("'nan' is not a number.")
    return value


def listed(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them."""
    names = None if value is None else [name.strip() for name in value.split(",")]
    if names is not None and not all(names):
        raise click.BadParameter(f"{value!r} is not a list of names like semantics,native.")
    return names


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes: digits, and K, M, G or T for powers of 1024."""
    if value is None:
        return None
    unit = "KMGT".find(value[-1:].upper()) + 1
    digits = value[:-1] if unit else value
    if not (digits.isascii() and digits.isdigit()) or int(digits) == 0:
        raise click.BadParameter(f"{value!r} is not a size like 512M or 2G.")
    return int(digits) << 10 * unit


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
PROGRAM = (
    click.argument("file", type=click.Path()),
    click.option(
        "-p", "params", metavar="NAME=VALUE", multiple=True, callback=pairs("VALUE"), help="Bind a parameter."
    ),
    click.option(
        "-i",
        "inputs",
        metavar="NAME=PATH",
        type=NamedPath(),
        multiple=True,
        callback=pairs("PATH"),
        help="Bind an input tensor.",
    ),
    click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Give every device N threads."),
    JSON,
)

FILE = click.Path(path_type=Path)
MACHINE = click.option(
    "--machine", type=click.Choice(api.MACHINES), default="semantics", show_default=True,
    help="Interleave the steps of the rules, or those of the compiled plan.",
)  # fmt: skip


def on_program(function: Callable[..., None]) -> Callable[..., None]:
    """A verb on a bound program: it gets an Invocation in place of FILE, -p, -i and --threads."""

    @functools.wraps(function)
    def command(file: str, params: dict[str, str], inputs: dict[str, str], threads: int | None, **options: Any) -> None:
        name = click.get_current_context().find_root().command_path
        told = Invocation(file, params, inputs, threads, name)
        try:
            function(told, **options)
        except api.Unsafe as refused:
            fail(refusal(CheckReport(told, refused.report, api.load(file).tree)), MISTAKE)

    for option in reversed(PROGRAM):
        command = option(command)
    return command
