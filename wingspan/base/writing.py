"""Writing of files: whole or not at all, and never over an input of the same command. Folders are made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EACCES, EDQUOT, EINVAL, EISDIR, ENOSPC, ENOTDIR, ENOTSUP
from pathlib import Path
from typing import BinaryIO

from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name

DRAFT = ".wingspan-"
"""The prefix of the name of an unfinished file. It lies in the folder of the file that it is to replace."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file. Whoever reads it, at any moment, finds all of `data` or all of what was there before.

    InputError if it cannot be written; then the old file is as it was.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """The same for a file that is written within; an exception there leaves the old file as it was.

    A link stays a link: the file that it leads to is replaced.
    """
    require_readable_name(path)
    with writable(path):
        target = _target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{DRAFT}{os.urandom(8).hex()}")
        try:
            with draft.open("xb") as file:
                if target.exists():
                    os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        _sync(target.parent)


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files of one folder, each in one step, all or none of them. InputError if one cannot be written."""
    from tempfile import TemporaryDirectory

    folder = next(iter(files)).parent
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with writable(folder), TemporaryDirectory(dir=folder, prefix=".wingspan-") as name:
        scratch = Path(name)
        for k, (path, data) in enumerate(files.items()):
            with writable(path):
                new = scratch / f"new-{k}"
                new.write_bytes(data)
                _sync(new)
        with _undone_on_failure() as undo:
            for k, path in enumerate(files):
                with writable(path):
                    if os.path.lexists(path):
                        _keep(path, scratch / f"old-{k}")
                        undo.callback(os.replace, scratch / f"old-{k}", path)
                    else:
                        undo.callback(path.unlink, missing_ok=True)
                    os.replace(scratch / f"new-{k}", path)
            _sync(folder)


def _keep(path: Path, at: Path) -> None:
    """Keep a file under another name, too; where a file has one name only, under that one alone."""
    try:
        os.link(path, at, follow_symlinks=False)
    except OSError:
        os.replace(path, at)


@contextmanager
def _undone_on_failure() -> Iterator[ExitStack]:
    """Gives a stack of what undoes each step of the block, last step first, if the block fails."""
    with ExitStack() as undo:
        yield undo
        undo.pop_all()


def check_output(path: Path, used: Iterable[str | os.PathLike[str]] = ()) -> None:
    """InputError, before anything is done, if no file can be written there, or if the command uses that file.

    `used` are the files that the command reads or writes besides, under whatever name.
    """
    require_readable_name(path)
    with writable(path):
        target = _target(path)
        for other in map(Path, used):
            if target == _resolve_links(other) or (path.exists() and other.exists() and path.samefile(other)):
                message = f"{path} would be overwritten, and the same command uses it"
                raise InputError(f"{message} as {other}" if path != other else message, fix="name another file")
        draft = _innermost_existing(target.parent) / f"{DRAFT}{os.urandom(8).hex()}"
        draft.open("xb").close()
        draft.unlink()


def check_new(path: Path, force: bool) -> None:
    """InputError if something is there, unless it may be replaced."""
    if os.path.lexists(path) and not force:
        raise InputError(f"{path} is there already", fix="name another file, or replace it by --force")


def _innermost_existing(folder: Path) -> Path:
    """The folder, or the innermost one around it that is there."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def _resolve_links(path: Path) -> Path:
    """Resolve all links of a path, also if nothing is there."""
    return Path(os.path.realpath(path))


def _target(path: Path) -> Path:
    """Resolve the target file. OSError or InputError if it is a directory, special or read-only."""
    target = _resolve_links(path)
    if target.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not _innermost_existing(target.parent).is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR))
    if target.exists() and not target.is_file():
        raise InputError(f"{path}: not a regular file", fix="name a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    return target


def _sync(path: Path) -> None:
    """Make a file, or the names in a folder, last beyond a loss of power.

    Some file systems cannot; some folders are not read.
    """
    with suppress(PermissionError):
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        except OSError as error:
            if error.errno not in (EINVAL, ENOTSUP):
                raise
        finally:
            os.close(opened)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Within, an OSError about a file that cannot be written becomes an InputError."""
    try:
        yield
    except OSError as error:
        full = error.errno in (ENOSPC, EDQUOT)
        fix = "make room on the disk, or write to another one" if full else "write into a folder of yours"
        raise InputError(f"{path}: {error.strerror or error}", fix=fix) from None
