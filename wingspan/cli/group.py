"""The command line as a whole: its help, and how it begins."""

from __future__ import annotations

import sys

import click

from wingspan.console import Verbs

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


@click.group(cls=Verbs, name="wingspan", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wingspan", message="%(prog)s %(version)s")
def main() -> None:
    """Check sparse tensor programs with parallel loops, and explore every interleaving of small ones."""
    sys.set_int_max_str_digits(0)  # the number of interleavings may have any number of digits
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
