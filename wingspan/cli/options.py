"""The options that several verbs have, and how their values are read."""

from __future__ import annotations

import functools
import math
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from wingspan import api
from wingspan.api.names import MACHINES
from wingspan.base.budget import BUDGET
from wingspan.base.errors import InputError, Mark, ProgramError, Source, Span
from wingspan.base.memory import parse_size
from wingspan.console import MISTAKE, fail
from wingspan.lang.algebra import exactly
from wingspan.program import from_stdin
from wingspan.views.paint import remark
from wingspan.views.view import CheckReport, Invocation


def pairs(metavar: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """Reads a repeated option NAME=`metavar`."""

    def read(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in texts:
            name, _, value = (part.strip() for part in text.partition("="))
            if not name.isidentifier() or not value:
                raise click.BadParameter(
                    f"{text!r} is not of the form NAME={metavar}, as in {param.opts[0]} {EXAMPLES[metavar]}"
                )
            if name in found:
                raise twice(name, str(param.opts[0]), texts)
            found[name] = value
        return found

    return read


def twice(name: str, option: str, texts: tuple[str, ...]) -> InputError:
    """The message about a name that one option binds twice."""
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


def values(text: str) -> list[str]:
    """The values that a text lists: commas within parentheses are parts of a value.

    >>> values("1,2, 4"), values("cpu(:d, 2),cpu(:d, 4)"), values("3")
    (['1', '2', '4'], ['cpu(:d, 2)', 'cpu(:d, 4)'], ['3'])
    """
    found, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [each.strip() for each in found]


class NamedPath(click.types.StringParamType):
    """NAME=PATH. After the = sign, Tab completes folders and the files that tensors are read from and written to."""

    name = "NAME=PATH"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completions of the word. An only folder is entered, since shells would add a blank after it."""
        name, equals, start = incomplete.partition("=")
        found = _files(start) if equals else []
        while len(found) == 1 and found[0].endswith(os.sep) and (inside := _files(found[0])):
            found = inside
        return [CompletionItem(f"{name}={path}") for path in found]


def _files(start: str) -> list[str]:
    """The folders, with a separator at the end, and the files of tensors whose paths begin so."""
    folder, begin = os.path.split(start)
    from wingspan.tensors.files import SUFFIXES

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


def split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them."""
    names = None if value is None else [name.strip() for name in value.split(",")]
    if names is not None and not all(names):
        raise click.BadParameter(f"{value!r} is not a list of names like semantics,native.")
    return names


def split_scope(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """The scope and the seed of --small."""
    if value is None:
        return None
    from wingspan.api.small import read_scope

    try:
        return read_scope(value)
    except InputError as error:
        raise click.BadParameter(f"{error.message}.") from None


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes."""
    found = None if value is None else parse_size(value)
    if value is not None and found is None:
        raise click.BadParameter(f"{value!r} is not a size like 512M or 2G.")
    return found


def load(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> None:
    """Imports modules, by their names from the current folder too, or Python files."""
    ctx.meta[LOADED] = names
    for name in names:
        try:
            with current_folder():
                runpy.run_path(name) if name.endswith(".py") else import_module(name)
        except (ImportError, OSError) as error:
            fix = "write the name of a module that Python finds, or the path of a .py file"
            raise InputError(f"--load {name}: {error}", fix=fix) from None


@contextmanager
def current_folder() -> Iterator[None]:
    """Import modules that the user names from the current folder too, but none in place of a library."""
    if "" in sys.path:
        yield
        return
    sys.path.append("")  # the folder need not exist
    try:
        yield
    finally:
        sys.path.remove("")


LOADED = "wingspan.loaded"
LOAD = click.option(
    "--load", "modules", metavar="MODULE", multiple=True, callback=load, is_eager=True, expose_value=False,
    help="Import a Python module or file first, which registers formats.",
)  # fmt: skip


def exact(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Prints rationals as such while the command runs."""
    ctx.with_resource(exactly(wanted))


EXACT = click.option(
    "--exact", is_flag=True, expose_value=False, callback=exact, help="Print rationals in full, not as doubles."
)
FORCE = click.option("--force", is_flag=True, help="Replace a file that is there already.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
FINDINGS = click.option(
    "--format", "form", type=click.Choice(("text", "json", "sarif", "junit")),
    help="Text, one JSON object; SARIF 2.1.0, which CI shows beside the code; or JUnit's XML, a test.",
)  # fmt: skip


BINDING = (
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
    click.option(
        "--small",
        "scope",
        metavar="[N[:SEED]]",
        is_flag=False,
        flag_value="2",
        callback=split_scope,
        help="Draw what is left open: inputs of extents up to N, for N threads.  [default: 2:0]",
    ),
    LOAD,
    JSON,
)

FILE = click.Path(path_type=Path)

MACHINE = click.option(
    "--machine", type=click.Choice(MACHINES), default="semantics", show_default=True,
    help="Interleave the steps of the rules, or those of the compiled plan.",
)  # fmt: skip


BUDGET_OPTION = click.option(
    "--budget", type=click.IntRange(min=0), default=BUDGET, show_default=True, metavar="STEPS",
    help="Steps of work that the search may take, about fifteen microseconds each.",
)  # fmt: skip


def on_program(function: Callable[..., None]) -> Callable[..., None]:
    """A verb on a program: it gets an Invocation in place of FILE, -p, -i and --threads. `-` is standard input."""
    return _bound(function, click.argument("file", type=click.Path()))


def beside_program(function: Callable[..., None]) -> Callable[..., None]:
    """A verb on something else, which --program is compared with: it gets an Invocation, or None without --program."""
    return _bound(function, click.option("--program", "file", metavar="FILE", help="Compare with this program."))


def _bound(function: Callable[..., None], given_by: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(function)
    def command(
        file: str | None,
        params: dict[str, str],
        inputs: dict[str, str],
        threads: int | None,
        scope: tuple[int, int] | None,
        **options: Any,
    ) -> None:
        context = click.get_current_context()
        if file is None:
            if params or inputs or threads or scope:
                raise click.UsageError("-p, -i, --threads and --small are for --program.")
            return function(None, **options)
        verb = str(context.info_name)
        given = from_stdin() if file == "-" else None
        words, loaded = context.find_root().command_path, context.meta[LOADED]
        invocation = Invocation(file, params, inputs, threads, words, given=given, loaded=loaded)
        try:
            if scope is not None:
                invocation = _drawn(invocation, *scope)
                from wingspan.views import drawn_inputs

                remark(drawn_inputs.drawn(invocation, verb), None)
            varying = {name: several for name, text in params.items() if len(several := values(text)) > 1}
            if varying:
                from wingspan.cli.sweeping import sweep  # takes all verbs

                sweep(invocation, varying, verb, **options)
            function(invocation, **options)
        except ProgramError as refused:
            if not isinstance(refused, api.Unsafe):
                raise
            from wingspan.views.check import refusal

            report = CheckReport(invocation, refused.report, (given or api.load(file)).tree)
            fail(refused, MISTAKE, refusal(report, verb))

    for option in reversed((given_by, *BINDING)):
        command = option(command)
    return command


def _drawn(invocation: Invocation, scope: int, seed: int) -> Invocation:
    """The invocation with what it leaves open drawn."""
    from wingspan.api.small import draw

    program = invocation.given or api.load(invocation.file)
    return replace(invocation, drawn=draw(program, scope, seed, inputs=invocation.inputs, params=invocation.params))
