"""Devices and schedules: their identities, their sizes, and the device that each is spawned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from wingspan.elaborate.parameters import whole
from wingspan.errors import Mark, ProgramError, Span
from wingspan.lang import ir
from wingspan.lang.devices import SERIAL, STATIC, Device, Schedule

Resolve = Callable[[ir.Expression], ir.Expression]
"""How names in thread counts and chunk sizes are resolved."""


class Devices:
    """The devices of a program. A device's parent is the device of the loop around its loops."""

    def __init__(self, defined: Mapping[str, ir.Define], resolve: Resolve, threads: int | None) -> None:
        self.cpus = {name: d.value for name, d in defined.items() if isinstance(d.value, ir.Cpu)}
        self.resolve, self.threads = resolve, threads
        self.named: dict[str, str] = {}
        """the device's name by its identity"""
        for name, cpu in self.cpus.items():
            if cpu.id:
                self._register(cpu.id, name, cpu.span)
        anonymous = [name for name, cpu in self.cpus.items() if not cpu.id]
        self.ids = {name: cpu.id for name, cpu in self.cpus.items()}
        for name in anonymous:
            self.ids[name] = self._fresh(name)
            self.named[self.ids[name]] = name
        self.made: dict[str, tuple[Device, Span | None]] = {}

    def _register(self, id: str, name: str, span: Span | None) -> None:
        if id == SERIAL.id:
            raise ProgramError(
                f"no device is called :{id}: the program itself runs on it", span, fix=f"cpu(:{name}, …)"
            )
        if id in self.named:
            first = self.cpus[self.named[id]].span
            raise ProgramError(
                f"two devices are called :{id}", span, marks=(Mark(first),) if first else (),
                fix=f"give one of the two another name: cpu(:{name}, …)",
            )  # fmt: skip
        self.named[id] = name

    def _fresh(self, base: str) -> str:
        """An identity for a device that the program gives none."""
        number, id = 1, base
        while id in self.named or id == SERIAL.id:
            number += 1
            id = f"{base}{number}"
        return id

    # -- uses

    def use(self, d: ir.Variable | ir.Cpu, around: Device) -> Device:
        """The device of a loop that runs on `around`."""
        if isinstance(d, ir.Variable):
            cpu, id, called, span = self.cpus[d.name], self.ids[d.name], d.name, d.span
        else:
            cpu, id, called, span = d, self._inline(d), f":{d.id}", d.span
        if any(id == other.id for other in _lineage(around)):
            raise ProgramError(
                f"a loop on {called} stands inside another one on it",
                span,
                fix="use a second device for the inner loop",
            )
        if cpu.parent is not None and self.ids[cpu.parent.name] != around.id:
            raise ProgramError(
                f"{called} is spawned from {cpu.parent.name}, and this loop stands {_where(around)}", span,
                fix=f"put it directly into a loop on {cpu.parent.name}, or leave the parent out",
            )  # fmt: skip
        made = Device(id, self.count(cpu), around)
        first, where = self.made.setdefault(id, (made, span))
        if first != made:
            marks = (Mark(where),) if where else ()
            if first.nthreads != made.nthreads:
                fix = "give one of the two another name"
                raise ProgramError(f"two devices are called {called}", span, marks=marks, fix=fix)
            raise ProgramError(
                f"{called} is used {_where(made.parent)} here, and {_where(first.parent)} elsewhere", span, marks=marks,
                fix="define a device for each of the two",
            )  # fmt: skip
        return made

    def _inline(self, cpu: ir.Cpu) -> str:
        """The identity of a device that is defined where it is used."""
        if not cpu.id:
            id = self._fresh("cpu")
            self.named[id] = ""
            return id
        if self.named.get(cpu.id):
            name = self.named[cpu.id]
            raise ProgramError(f"two devices are called :{cpu.id}", cpu.span, fix=f"use the other by its name, {name}")
        if cpu.id not in self.named:
            self._register(cpu.id, "", cpu.span)
        return cpu.id

    def count(self, cpu: ir.Cpu) -> int:
        """The number of threads."""
        return whole(self.resolve(cpu.nthreads), "a number of threads", 1) if self.threads is None else self.threads

    def all(self) -> dict[str, Device]:
        """Every device that has a name, by name; the parent of one that no loop uses is the one it is defined with."""
        return {name: self._parented(name, ()) for name in self.cpus}

    def _parented(self, name: str, below: tuple[str, ...]) -> Device:
        cpu, id = self.cpus[name], self.ids[name]
        if id in self.made:
            return self.made[id][0]
        if name in below:
            raise ProgramError(f"{name} is spawned from itself", cpu.span, fix="leave one of the parents out")
        parent = SERIAL if cpu.parent is None else self._parented(cpu.parent.name, (*below, name))
        return Device(id, self.count(cpu), parent)


def _lineage(device: Device | None) -> Iterator[Device]:
    while device is not None:
        yield device
        device = device.parent


def _where(device: Device | None) -> str:
    return "outside of all parallel loops" if device is None or device == SERIAL else f"in a loop on {device}"


def schedule(call: ir.ScheduleCall, resolve: Resolve) -> Schedule:
    """A schedule as loops use it."""
    return STATIC if call.step is None else Schedule("dynamic", whole(resolve(call.step), "a chunk size", 1))
