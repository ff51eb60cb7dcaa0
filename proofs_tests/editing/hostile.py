"""Jobs that a process should not survive, or not be spoiled by."""

from __future__ import annotations

import os
import signal

from wingspan.editing.jobs import JOBS


def spin() -> None:
    while True:
        pass


def crash() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def devour() -> int:
    return len(bytearray(2**40))


def chatter() -> str:
    print("a result?")
    os.write(1, b"\0\0\0\2{}")
    return "heard"


JOBS |= {job.__name__: job for job in (spin, crash, leave, devour, chatter)}
