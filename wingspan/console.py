"""The common part of all verbs of the command line: printing of results and errors, and the exit status.

Results go to standard output, all else to standard error; with --json an error goes to both.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from wingspan.base import documents, notes
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Diagnostic, Fault, InputError, InternalError, Mark, WingspanError, printable, to_dict
from wingspan.base.once import without_collection
from wingspan.base.reading import MORE
from wingspan.base.start_time import BEGAN
from wingspan.views.terminal_width import fit

if TYPE_CHECKING:
    from wingspan.views.findings import FindingsReport

STATUS = {
    "safe": 0, "holds": 0, "unreached": 1, "undefined": 1, "wrong": 1, "order-dependent": 1, "violated": 1, "race": 1,
    "deadlock": 1, "fault": 1, "incomplete": 3,
}  # fmt: skip
"""The exit status of each verdict."""
MISTAKE, MISMATCH, DEFECT, SIGNALLED, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 128, 130, 141
"""The exit statuses when there is no verdict; to SIGNALLED the number of the signal is added."""


def show(text: str, *, colours: bool = False) -> None:
    """Print a result. What a terminal would obey in it is printed as escapes."""
    text = _paint(fit(printable(text), sys.stdout), sys.stdout) if colours else printable(text)
    with _printing():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@contextmanager
def _printing() -> Iterator[None]:
    """Output that fails is an InputError, and a reader that has gone away ends the command."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        if isinstance(error, BrokenPipeError):
            sys.exit(BROKEN_PIPE)
        raise InputError(f"standard output: {error.strerror}") from None


def input_lines() -> Iterator[str]:
    """The lines of standard input; what is not UTF-8 in them is replaced. InputError if it is closed or not read."""
    if sys.stdin is None:
        raise InputError("standard input is closed", fix="give an answer on each line of standard input")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    try:
        yield from sys.stdin
    except OSError as error:
        raise InputError(f"standard input: {error.strerror}") from None


def _paint(text: str, stream: Any) -> str:
    from wingspan.views.paint import paint  # takes Rich, which --version does without

    return paint(text, stream)


def show_json(value: Mapping[str, Any]) -> None:
    """Print a result as one JSON object, which says by which schema it is."""
    show(documents.text(documents.with_schema(value)))


def show_result(
    as_json: bool, document: Callable[[], Mapping[str, Any]], text: Callable[[], str], *, colours: bool = False
) -> None:
    """Print a result as one JSON object, or as text; only the one that is printed is made."""
    if as_json:
        show_json(document())
    else:
        show(text(), colours=colours)


def choose_form(as_json: bool, form: str | None) -> str:
    """The output format that --json and --format ask for. A usage error if they ask for two."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    return "json" if as_json else form or "text"


def show_findings(report: FindingsReport, form: str) -> None:
    """Print findings for CI, in SARIF or in JUnit's XML."""
    from wingspan.views import junit, sarif

    show((sarif if form == "sarif" else junit).text(report))


def fail(error: WingspanError, status: int, text: str | None = None) -> NoReturn:
    """Print an error, as `text` if that says more, and end.

    If standard error is closed or full, the exit status says it alone.
    """
    print_mistakes(error.diagnostics)
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(_paint(fit(printable(text or error.render()), sys.stderr), sys.stderr) + "\n")
            sys.stderr.flush()
    sys.exit(status)


def print_note(note: Mark) -> None:
    """Print a note on a program, if standard error takes it."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{printable(f'note: {notes.format_note(note)}')}\n")


def print_mistakes(mistakes: Sequence[Diagnostic]) -> None:
    """Print an error in the format that was requested, if that is JSON, SARIF or JUnit's XML."""
    with suppress(InputError):
        match _context().form:
            case "json":
                show(documents.text(to_dict(mistakes)))
            case "sarif" | "junit" as form:
                from wingspan.views import findings

                verb = click.get_current_context().find_root().invoked_subcommand
                show_findings(findings.mistakes(mistakes, verb or "wingspan"), form)


def defect(error: Exception) -> InternalError:
    """An error that is ours."""
    if not isinstance(error, InternalError):
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        at = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        error = InternalError(f"{type(error).__name__}{at}: {error}")
    return error


REPORT = "\n  note  this is a defect of wingspan: please report it, with the program"


@contextmanager
def misuse() -> Iterator[None]:
    """A misuse of the command line is reported without what a terminal would obey."""
    try:
        yield
    except click.UsageError as error:
        print_mistakes([Diagnostic("error", "usage", error.format_message())])
        raise click.UsageError(printable(error.format_message()), error.ctx) from None


class CommandEnded(WingspanError):
    """A command that ended early, by the will of the user or of the system."""

    topic = "ended"

    def render(self) -> str:
        """The message alone: there is nothing to correct."""
        return self.message


@dataclass(frozen=True)
class CommandContext:
    """The context of a command before its words are parsed."""

    began: float
    """the `time.monotonic()` then"""
    form: str
    """the requested format of results, and so of errors: `json`, `sarif`, `junit`, or text, whatever it is called"""


def _context() -> CommandContext:
    found: CommandContext = click.get_current_context().find_root().obj
    return found


def _form(words: Sequence[str]) -> str:
    """The form that a command line asks for, which is not read yet."""
    words = [part for word in words for part in word.split("=", 1)]
    return "json" if "--json" in words else next((b for a, b in pairwise(words) if a == "--format"), "text")


ALIASES = {"race": "stress"}
"""Former names of verbs, which still work."""


@contextmanager
def _reporting_errors() -> Iterator[None]:
    """Within, turn errors into a message and an exit status."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt as signal:
        number = getattr(signal, "number", None)  # `signals.Terminated` has one
        if number is not None:
            fail(CommandEnded(f"ended by {signal}"), SIGNALLED + number)
        fail(CommandEnded("interrupted"), INTERRUPTED)
    except InternalError as error:
        fail(error, DEFECT, error.render() + REPORT)
    except WingspanError as error:
        fail(error, STATUS["fault"] if isinstance(error, Fault) else MISTAKE)
    except MemoryError:
        fix = f"use a smaller program or smaller inputs, or {MORE}"
        fail(InputError("memory ran out", topic="memory", fix=fix), MISTAKE)
    except OSError as error:
        what = f"{error.filename or 'the system'}: {error.strerror or error}"
        fix = "correct what the system reports, and run it again"
        fail(InputError(what, topic="system", fix=fix), MISTAKE)
    except Exception as error:
        fail(ours := defect(error), DEFECT, ours.render() + REPORT)


class Verb(click.Command):
    """A command whose help is printed as its results are."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option that prints the help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = printing(lambda: ctx.get_help())
        return option


def printing(text: Callable[[], str]) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Print a text and end, if an option asks for it."""

    def read(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            with _printing():
                click.echo(text(), color=ctx.color)
            ctx.exit()

    return read


class Verbs(Verb, click.Group):
    """Commands whose errors become a message and an exit status, not a traceback. The context is a `CommandContext`."""

    command_class = Verb

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb with a name, or a former name."""
        with without_collection():  # modules are no garbage, and looking for some among them takes a tenth of the time
            found = self.find(ALIASES.get(cmd_name, cmd_name))
            keep_garbage(ctx)
        return found

    def find(self, name: str) -> click.Command | None:
        """The verb with a name."""
        return self.commands.get(name)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line; without `args` that of the process, which begins with it."""
        if sys.stderr is None:  # it is closed, and click would print to standard output
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        command = CommandContext(
            BEGAN if args is None else time.monotonic(), _form(sys.argv[1:] if args is None else args)
        )
        try:
            return super().main(args, *rest, obj=command, **extra)
        except OSError:  # standard error is full: the exit status of a wrong command line says it alone
            sys.exit(MISTAKE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what comes before the name of a command."""
        with _reporting_errors(), misuse():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        with _reporting_errors(), misuse(), notes.showing(print_note):
            return super().invoke(ctx)


def began() -> float:
    """The `time.monotonic()` at which the command began."""
    return _context().began


def keep_garbage(context: click.Context | None = None) -> None:
    """If the process ends with this command, do not look through its memory for what can go: that may take seconds."""
    command = (context or click.get_current_context()).find_root().obj
    if command is not None and command.began is BEGAN:
        gc.freeze()
