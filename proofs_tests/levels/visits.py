"""Towers in a heap of their own, and visits of them entry by entry."""

from __future__ import annotations

from proofs_tests.towers import ByHand
from wingspan.buffers import procedures
from wingspan.levels import REGISTRY
from wingspan.testing.formats import (
    BOUNDED,
    STORAGE,
)

ONCE = [name for name in STORAGE if REGISTRY[name].once]
RUNS = [name for name in (*STORAGE, *BOUNDED) if REGISTRY[name].stretch == "run"]


def opened(h: ByHand, position: int = 1, number: int | None = None):
    number = number or h.tower.rank + 1
    return h.run(procedures.open_(h.tower, number), position=position, start=1).result()


def enter(h: ByHand, cursor, index):
    found = h.run(procedures.enter(h.tower, 2), **cursor, index=index).result()
    return found.pop("position"), found
