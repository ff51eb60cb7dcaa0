"""Bound programs with their numbers of threads and chunk sizes left open: all that differ only there are one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.devices import OPEN, SERIAL, Device, Schedule
from wingspan.levels import Tower
from wingspan.levels.base import Gated, Level, Modifier, Storage


def open_program(bound: Elaborated) -> Elaborated:
    """The program, for a plan that has these numbers as parameters. What they are in this program is in `numbers`.

    All threads of one device are one number, and the chunks of each parallel loop another.
    """
    numbers: dict[str, int] = {}
    towers = {name: Tower.of(_level(tower.levels[0], numbers), tower.shape) for name, tower in bound.towers.items()}

    def change(node: Any) -> Any:
        if isinstance(node, ir.For) and isinstance(r := node.range, ir.Parallel):
            assert isinstance(r.device, Device) and isinstance(r.schedule, Schedule)
            device, schedule = _device(r.device, numbers), _schedule(r.schedule, node.index, numbers)
            return replace(node, range=replace(r, device=device, schedule=schedule))
        return node

    return replace(bound, body=bound.body.map(change), towers=towers, numbers=numbers)


def _device(device: Device, numbers: dict[str, int]) -> Device:
    if device == SERIAL:
        return SERIAL
    numbers[device.number] = device.nthreads
    return Device(device.id, OPEN, device.parent and _device(device.parent, numbers))


def _schedule(schedule: Schedule, index: str, numbers: dict[str, int]) -> Schedule:
    if schedule.kind != "dynamic":
        return schedule
    name, count = f"chunk of {index}", 1
    while name in numbers:
        count += 1
        name = f"chunk of {index} ({count})"
    numbers[name] = schedule.step
    return Schedule("dynamic", OPEN, name)


def _level(level: Level, numbers: dict[str, int]) -> Level:
    changes: dict[str, Any] = {}
    if isinstance(level, Storage | Modifier):
        changes["child"] = _level(level.child, numbers)
    if isinstance(level, Gated):
        changes["on"] = _device(level.on, numbers)
    return replace(level, **changes) if changes else level
