"""The names of files: all verbs refuse those that cannot be printed as they are."""

from __future__ import annotations

import os
from pathlib import Path

from wingspan.base.errors import CONTROL, InputError, Span, visible


def require_readable_name(path: str | os.PathLike[str], span: Span | None = None) -> Path:
    """The path. InputError if its name has control characters or is not UTF-8."""
    text = os.fspath(path)
    if found := CONTROL.search(text):
        why = "is not UTF-8" if "\ud800" <= found[0] <= "\udfff" else "has control characters"
        raise InputError(f"{visible(text)}: the name {why}", span, fix="rename it")
    return Path(text)
