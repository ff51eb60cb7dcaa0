"""Devices and schedules: their identities, their sizes, and the device that each is spawned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from wingspan.base.errors import Mark, Mistakes, ProgramError, Span
from wingspan.lang import ir
from wingspan.lang.devices import SERIAL, STATIC, THREADS, Device, Schedule

Count = Callable[[ir.Expression, str, int | None], int | None]
"""Evaluates a number of threads or a chunk size, given its name and maximum; None if it is mistaken or left open."""

SOME = 2
"""The threads of a device whose number is left open: with two of them any two iterations can meet."""

ANY = Schedule("dynamic", 1)
"""The schedule that is left open: this one may deal any iteration to any thread."""


class Devices:
    """The devices of a program. A device's parent is the device of the loop around its loops."""

    def __init__(self, defined: Mapping[str, ir.Define], count: Count, threads: int | None, mistakes: Mistakes) -> None:
        self.cpus = {name: d.value for name, d in defined.items() if isinstance(d.value, ir.Cpu)}
        self.count, self.threads = count, threads
        self.named: dict[str, str] = {}
        """the device's name by its identity"""
        for name, cpu in self.cpus.items():
            if cpu.id:
                with mistakes.collecting(spoils=[name, self.named.get(cpu.id, name)]):
                    self._register(cpu.id, name, cpu.span)
        self.ids = {name: cpu.id for name, cpu in self.cpus.items()}
        for name in self.cpus:
            if not self.ids[name]:
                self.ids[name] = self._fresh(name)
                self.named[self.ids[name]] = name
        self.counts = {name: self._threads(cpu) for name, cpu in self.cpus.items()}
        for name, cpu in self.cpus.items():
            if name in self._ancestors(name):
                error = ProgramError(f"{name} is spawned from itself", cpu.span, fix="leave one of the parents out")
                mistakes.note(error, name, spoils=self._ancestors(name))
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
        called, span = name_of(d), d.span
        if isinstance(d, ir.Variable):
            cpu, id, count = self.cpus[d.name], self.ids[d.name], self.counts[d.name]
        else:
            cpu, id, count = d, self._inline(d), self._threads(d)
        if any(id == other.id for other in _lineage(around)):
            raise ProgramError(
                f"a loop on {called} stands inside another one on it",
                span,
                fix="use a second device for the inner loop",
            )
        if cpu.parent is not None and self.ids.get(cpu.parent.name, around.id) != around.id:
            raise ProgramError(
                f"{called} is spawned from {cpu.parent.name}, and this loop stands {_describe_location(around)}", span,
                fix=f"put it directly into a loop on {cpu.parent.name}, or leave the parent out",
            )  # fmt: skip
        made = Device(id, count, around)
        first, where = self.made.setdefault(id, (made, span))
        if first != made:
            marks = (Mark(where),) if where else ()
            if first.nthreads != made.nthreads:
                fix = "give one of the two another name"
                raise ProgramError(f"two devices are called {called}", span, marks=marks, fix=fix)
            here, elsewhere = _describe_location(made.parent), _describe_location(first.parent)
            message = f"{called} is used {here} here, and {elsewhere} elsewhere"
            raise ProgramError(message, span, marks=marks, fix="define a device for each of the two")
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

    def _threads(self, cpu: ir.Cpu) -> int:
        return self.threads or self.count(cpu.nthreads, "a number of threads", THREADS) or SOME

    def all(self) -> dict[str, Device]:
        """Every device that has a name, by name; the parent of one that no loop uses is the one it is defined with."""
        return {name: self._with_parent(name) for name in self.cpus}

    def _with_parent(self, name: str) -> Device:
        device = SERIAL
        for each in (*reversed(self._ancestors(name)), name):
            id = self.ids[each]
            device = self.made[id][0] if id in self.made else Device(id, self.counts[each], device)
        return device

    def _ancestors(self, name: str) -> list[str]:
        """The devices that one is spawned from by its definition, from the nearest on, each once."""
        found: list[str] = []
        while (above := self.cpus[name].parent) is not None and above.name in self.cpus and above.name not in found:
            name = above.name
            found.append(name)
        return found


def name_of(d: ir.Variable | ir.Cpu) -> str:
    """The name of a device in messages."""
    return d.name if isinstance(d, ir.Variable) else f":{d.id}"


def _lineage(device: Device | None) -> Iterator[Device]:
    while device is not None:
        yield device
        device = device.parent


def _describe_location(device: Device | None) -> str:
    return "outside of all parallel loops" if device is None or device == SERIAL else f"in a loop on {device}"


def schedule(call: ir.ScheduleCall, count: Count) -> Schedule:
    """A schedule as loops use it; chunks whose size is left open have one iteration, as those of `ANY`."""
    return STATIC if call.step is None else Schedule("dynamic", count(call.step, "a chunk size", None) or ANY.step)
