"""The folder of the files that one process leaves for the next: compiled programs, trees, the tables of the parser."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

DIGITS = 32
"""The length of the names of these files, in hexadecimal digits; then comes a suffix."""


def cache_path() -> Path:
    """The folder: `WINGSPAN_CACHE`, or one in the user's caches. It may not be there."""
    named = os.environ.get("WINGSPAN_CACHE")
    return (Path(named) if named else _user_folder()).absolute()


def _user_folder() -> Path:
    """The folder in the user's caches. Loading platformdirs takes longer than reading what lies there."""
    home, caches = os.environ.get("HOME"), os.environ.get("XDG_CACHE_HOME")
    named = caches or (home and os.path.join(home, ".cache"))
    if sys.platform == "linux" and named and os.path.isabs(named):
        return Path(named) / "wingspan"
    from platformdirs import user_cache_path

    return user_cache_path("wingspan")


def make_private(path: Path) -> os.stat_result:
    """Make a folder for the user alone, if it is not there; return its status. OSError if that cannot be done."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path.stat()


def is_owned(about: os.stat_result) -> bool:
    """Whether a folder belongs to the user."""
    return about.st_uid == os.getuid()


def is_private(about: os.stat_result) -> bool:
    """Whether nobody but the user may read or write in a folder: what lies there is not written by others."""
    return is_owned(about) and not stat.S_IMODE(about.st_mode) & 0o077
