"""C and C++ that measurements need, compiled when they begin: files of this folder as libraries of this process."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


def library(file: str, compiler: str, *flags: str) -> ctypes.CDLL | None:
    """A file as a library; None if there is no compiler, or it does not compile, as without the headers."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "glue.so")
        try:
            words = [compiler, *FLAGS, *flags, str(HERE / file), "-o", str(made)]
            subprocess.run(words, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        return ctypes.CDLL(str(made))
