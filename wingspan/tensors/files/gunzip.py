"""Files that gzip packed, in steps like others."""

from __future__ import annotations

import gzip
import zlib

from wingspan.base.errors import InputError
from wingspan.base.reading import DEFLATE, InSteps


class Gunzipped(InSteps):
    """The contents of a file that gzip packed. Its `size` is that of the file: how much follows, nobody can trust."""

    def __init__(self, file: InSteps) -> None:
        super().__init__(_Gunzip(fileobj=file))

    @property
    def most_bytes(self) -> int:
        """An upper bound on the number of bytes that can be read."""
        return DEFLATE * self.size


class _Gunzip(gzip.GzipFile):
    """Inflates no more than is asked for. Its errors say what to do."""

    def readinto(self, buffer: object, /) -> int:
        try:
            return super().readinto(buffer)  # type: ignore[arg-type]
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            if str(error).startswith("Not a gzipped file") and not self.tell():
                raise InputError("it is not packed by gzip", fix="name it without .gz, or pack it: gzip FILE") from None
            raise InputError("it is cut short, or damaged", fix="pack it again: gzip FILE") from None
