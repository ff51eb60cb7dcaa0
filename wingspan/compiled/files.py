"""The files that a plan is printed as, and which files they may replace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from wingspan.base.errors import InputError
from wingspan.base.writing import writable, write_together
from wingspan.compiled import inputs as c_inputs
from wingspan.compiled.emit_c import emit_c
from wingspan.compiled.headers import HEADERS, PRINTED
from wingspan.plan.ir import Plan


def contents(plan: Plan, name: str, inputs: c_inputs.Inputs | None) -> dict[str, bytes]:
    """The files of a plan by their names. With `inputs` it is printed as a command, which reads them from a file."""
    files = {f"{name}.c": emit_c(plan, name, main=inputs is not None).encode()}
    files |= {header: path.read_bytes() for header, path in HEADERS.items()}
    return files | ({f"{name}.inputs": c_inputs.file(plan, inputs)} if inputs else {})


def write(folder: Path, files: Mapping[str, bytes], sources: Iterable[Path], force: bool) -> list[Path]:
    """Write files into a folder, all or none of them; their paths.

    InputError if one would replace one of the `sources`, or, unless `force`, a file that wingspan did not write.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder}: not a folder", fix="name another one: -o DIR")
    paths = {folder / name: data for name, data in files.items()}
    for path in paths:
        _require_other(path, sources)
    foreign = [] if force else [path for path, data in paths.items() if os.path.lexists(path) and not _ours(path, data)]
    if foreign:
        there = ", ".join(map(str, foreign))
        fix = "move it away, print into another folder (-o DIR), or replace it (--force)"
        raise InputError(f"{there}: wingspan did not write this, and does not replace it", fix=fix)
    write_together(paths)
    return list(paths)


def _require_other(path: Path, sources: Iterable[Path]) -> None:
    """InputError if a path is a folder, or one of the sources of what is printed."""
    if path.is_dir():
        raise InputError(f"{path}: a folder has this name", fix="rename it, or print into another folder: -o DIR")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            fix = "rename it, or print into another folder: -o DIR"
            raise InputError(f"{source}: what is printed would replace this, which it is made from", fix=fix)


def _ours(path: Path, data: bytes) -> bool:
    """Whether wingspan wrote a file: it says so in its first line, or is just what would be written."""
    if not path.is_file():
        return False
    with writable(path):
        there = path.read_bytes()
    return there == data or PRINTED.encode() in there.partition(b"\n")[0]
