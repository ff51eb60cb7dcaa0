"""The headers that printed files include, and the command that compiles these."""

from __future__ import annotations

from pathlib import Path

from wingspan.plan.ir import Prefetch, Reserve
from wingspan.plan.kernels import CommonRuns, NextPair, ScanBitmap, Tile, UnionBlocks

OWN_CODE: dict[type, str] = {
    Reserve: "", Prefetch: "",
    NextPair: "intersection.h", UnionBlocks: "union.h", CommonRuns: "common_runs.h", ScanBitmap: "scan_bitmap.h",
    Tile: "tile.h",
}  # fmt: skip
"""The expandable statements that C has code of its own for, each with the header of that code, if there is one."""

ROOM = Path(__file__).parent
HEADERS = {
    "runtime.h": ROOM.parent / "runtime" / "runtime.h",
    **{name: ROOM / name for name in ("program.h", "session.h", *filter(None, OWN_CODE.values()))},
}
"""The headers that a printed file may include, with their paths. Threads are those of the register machine."""

PRINTED = "Printed by wingspan"
"""Begins the first line of each file that is printed, and of the headers."""
COMPILE = ("cc", "-std=gnu11", "-O3", "-march=native", "-fwrapv", "-ffp-contract=off", "-pthread")
