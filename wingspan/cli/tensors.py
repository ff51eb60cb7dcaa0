"""Verbs about files of tensors: one written as another, and one drawn."""

from __future__ import annotations

from pathlib import Path

import click

from wingspan.base.errors import InputError
from wingspan.base.writing import check_new, check_output
from wingspan.cli.group import main
from wingspan.cli.options import FORCE, JSON, LOAD
from wingspan.console import show_result
from wingspan.lang import ir
from wingspan.tensors.files import ONE_OF_THEM, SUFFIXES, split_member, suffix
from wingspan.tensors.files.binsparse import VERSIONS
from wingspan.tensors.formats import parse_format
from wingspan.tensors.tensor import Tensor
from wingspan.views import json as data
from wingspan.views.levels import sizes

FORMAT = click.option(
    "--format", "form", metavar="FORMAT",
    help='Levels, as programs write them: "Dense(SparseRunList(Element(0)))".  [default: as an input has]',
)  # fmt: skip
THREADS = click.option(
    "--threads", type=click.IntRange(min=1), default=1, metavar="N", help="Give every device of the format N threads."
)


@main.command()
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@FORMAT
@THREADS
@LOAD
@click.option(
    "--binsparse-version",
    type=click.Choice(VERSIONS),
    help="How a .h5 file names its version: Finch.jl reads 0.1 only.  [default: 0.1.0]",
)
@FORCE
@JSON
def convert(
    source: str, target: str, form: str | None, threads: int, binsparse_version: str | None, force: bool, as_json: bool
) -> None:
    """Write the tensor in the file IN to the file OUT.

    The suffixes say what the files are. A member is named after a colon: two.npz:a, page.png:red. FORMAT says which
    elements are stored, and thereby what a .h5 or .arrow file is like. What IN does not store is 0, or its fill value,
    or the one behind its name: graph.mtx:fill=Inf.
    """
    path = Path(target)
    if suffix(path) not in SUFFIXES:
        raise InputError(f"{target}: not a file that tensors are written to", fix=ONE_OF_THEM)
    check_output(path, [split_member(Path(source))[0]])
    check_new(path, force)
    tensor = read(source, form, threads)
    tensor.save(path, binsparse_version=binsparse_version)
    extents = "×".join(map(str, tensor.shape)) or "a number"
    text = f"{target}: {extents}, {tensor.nnz:,} stored, {tensor.tower}"
    show_result(as_json, lambda: data.convert(target, tensor), lambda: text)


@main.command()
@click.argument("file", type=click.Path())
@FORMAT
@THREADS
@LOAD
@JSON
def show(file: str, form: str | None, threads: int, as_json: bool) -> None:
    """Draw the tensor in FILE as a fiber tree, with sizes.

    A member is named after a colon: two.npz:a, page.png:red.
    """
    tensor = read(file, form, threads)
    show_result(as_json, lambda: data.show(tensor), lambda: f"{tensor}\n\n{sizes(tensor)}")


def read(file: str, form: str | None, threads: int) -> Tensor:
    """The tensor in a file, in a format, whose devices have so many threads; by default in that of an input."""
    nodes = [] if form is None else parse_format(form).walk()
    devices = {node.name: threads for node in nodes if isinstance(node, ir.Variable)}
    return Tensor.from_file(form, file, devices=devices)
