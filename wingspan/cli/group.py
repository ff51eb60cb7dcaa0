"""The command line as a whole: its help, and how it begins."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

import click

from wingspan.console import Verbs, printing
from wingspan.views.terminal_width import IN_ASCII, set_width

EPILOG = """
`wingspan help TOPIC` explains a message error[TOPIC].

\b
Exit status of every verb
  0    finished, nothing wrong
  1    something bad was found
  2    the program, its input or the command line is wrong
  3    the search was cut short, or a replay did not match
  4    a defect of wingspan
  130  interrupted; if another signal ended it, 128 + its number
"""


MODULES = {
    **dict.fromkeys(("cache", "schema"), "keeping"),
    **dict.fromkeys(("check",), "checking"),
    **dict.fromkeys(("convert", "show"), "tensors"),
    **dict.fromkeys(("demo",), "pages"),
    **dict.fromkeys(("diff", "run", "stress"), "running"),
    **dict.fromkeys(("emit-c", "plan"), "printing"),
    **dict.fromkeys(("explore",), "exploring"),
    **dict.fromkeys(("fmt",), "formatting"),
    **dict.fromkeys(("help", "quiz", "rules"), "teaching"),
    **dict.fromkeys(("judge",), "judging"),
    **dict.fromkeys(("lsp", "play"), "editors"),
    **dict.fromkeys(("parallelize",), "parallelizing"),
    **dict.fromkeys(("prove",), "proving"),
    **dict.fromkeys(("replay",), "replaying"),
    **dict.fromkeys(("step",), "stepping"),
}
"""The module of this package that adds a verb. It is imported when the verb is used: what others need takes time."""


class Lazily(Verbs):
    """All verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the alphabet."""
        return sorted(MODULES)

    def find(self, name: str) -> click.Command | None:
        """The verb with a name."""
        if name in MODULES and name not in self.commands:
            import_module(f"wingspan.cli.{MODULES[name]}")
        command = self.commands.get(name)
        if command is not None and command.help is None:
            command.help = helps()[name]  # `python -OO` has dropped it
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, but with help texts from the sources: importing the modules of all verbs takes a second."""
        verbs = [click.Command(name, help=text) for name, text in helps().items()]
        click.Group(commands=verbs).format_commands(ctx, formatter)


def helps() -> dict[str, str]:
    """The help text of each verb: the docstring of the function that `main.command` decorates."""
    found = {}
    for module in set(MODULES.values()):
        tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            for call in function.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "main.command":
                    name = ast.literal_eval(call.args[0]) if call.args else function.name
                    found[name] = ast.get_docstring(function) or ""
    return found


def _version() -> str:
    from importlib.metadata import version  # takes longer than the rest of this module

    return version("wingspan")


@click.group(cls=Lazily, name="wingspan", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, help="Show the version and exit.",
    callback=printing(lambda: f"wingspan {_version()}"),
)  # fmt: skip
def main() -> None:
    """Check sparse tensor programs with parallel loops, and explore every interleaving of small ones."""
    sys.set_int_max_str_digits(0)  # the number of interleavings may have any number of digits
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=IN_ASCII)
        set_width(stream)
