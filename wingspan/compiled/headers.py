"""The headers that printed files include, and the command that compiles these."""

from __future__ import annotations

from pathlib import Path

ROOM = Path(__file__).parent
HEADERS = {
    "runtime.h": ROOM.parent / "runtime" / "runtime.h",
    **{
        f"{name}.h": ROOM / f"{name}.h"
        for name in ("program", "session", "meet", "unite", "coincide", "unpack", "tile")
    },
}
"""What a printed file may include, and where it is: the team of threads is that of the register machine."""

PRINTED = "Printed by wingspan"
"""Begins the first line of each file that is printed, and of the headers."""
COMPILE = ("cc", "-std=gnu11", "-O3", "-march=native", "-fwrapv", "-ffp-contract=off", "-pthread")
