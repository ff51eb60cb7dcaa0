"""Forked processes that end when the one that forked them does, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(2): the signal that a process gets when the thread that forked it ends."""
LOOK_EVERY = 1.0
"""Seconds between two checks where there is no such signal."""


def end_with(parent: int) -> None:
    """Called in a forked process: let it end with the process `parent`, which forked it, or with that one's thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)
