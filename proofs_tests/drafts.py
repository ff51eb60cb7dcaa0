"""Random programs that are being written, line by line; `opened` leaves open what numbers and data they have."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from proofs_tests.scopes import random_format

Interval = tuple[int, int]
RANGES = ((1, 1), (1, 2), (2, 2), (3, 4), (2, 3), (1, 3))


@dataclass
class Draft:
    """A program that is being written. Extents follow from the subscripts, which are at least 1."""

    choose: random.Random
    devices: int = 1
    lines: list[str] = field(default_factory=list)
    indices: dict[str, Interval] = field(default_factory=dict)
    """the indices in scope, and the values that they may have"""
    extents: dict[str, list[int]] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    names: Iterator[str] = field(default_factory=lambda: iter("ijklmnopqrstuvwxyz"))

    def chance(self, one_in: int) -> bool:
        return self.choose.randrange(one_in) == 0

    def tensor(self, name: str, rank: int, most: int, least: int = 0) -> None:
        """A tensor in a random format with so many modifiers."""
        number = self.choose.randint(least, most)
        self.forms[name] = str(random_format(rank, self.devices, number, self.choose))
        self.extents[name] = [1] * rank

    def head(self, on: str | None, narrow: bool = False) -> tuple[str, Interval, str]:
        """An index, its values, and the line that opens its loop."""
        index = next(self.names)
        low, high = self.choose.choice(RANGES[:4] if narrow else RANGES)
        text = f"{low}:{high}"
        if self.indices and self.chance(5):
            outer = self.choose.choice(list(self.indices))
            first, last = self.indices[outer]
            choices = (
                (f"{outer}:3", (min(first, 3), 3)),
                (f"1:{outer}", (1, last)),
                (f"{outer}:{outer}", (first, last)),
            )
            text, (low, high) = self.choose.choice(choices)
        if on is None:
            return index, (low, high), f"for {index} = {text}"
        schedule = "" if self.chance(2) else f", dynamic_schedule({self.choose.choice((1, 1, 2))})"
        return index, (low, high), f"for {index} = parallel({text}, {on}{schedule})"

    def loop(self, on: str | None, body: Callable[[], None], narrow: bool = False) -> None:
        """A loop around what `body` writes."""
        index, values, line = self.head(on, narrow)
        self.lines.append(line)
        before = dict(self.indices)
        self.indices[index] = values
        body()
        self.indices = before
        self.lines.append("end")

    def nest(self, devices: Collection[str | None], body: Callable[[], None]) -> None:
        """Loops in one another, each on its device or serial."""
        rest = list(devices)
        if not rest:
            body()
        else:
            self.loop(rest[0], lambda: self.nest(rest[1:], body), narrow=len(devices) > 1)

    def subscript(self, place: int, bare: bool) -> tuple[str, Interval]:
        """An affine expression over the indices in scope; `bare`: the index of the loop at this place, if there is."""
        names = list(self.indices)
        if bare and place < len(names):
            return names[place], self.indices[names[place]]
        if not names or self.chance(6):
            c = self.choose.randint(1, 3)
            return str(c), (c, c)
        name = self.choose.choice(names)
        low, high = self.indices[name]
        kind = self.choose.randrange(8)
        if kind == 0:
            c = high + self.choose.randint(1, 2)
            return f"{c} - {name}", (c - high, c - low)
        if kind == 1:
            return f"{name} % 2 + 1", (1, 2)
        if kind == 2 and len(names) > 1:
            other = self.choose.choice(names)
            return f"{name} + {other} - 1", (low + self.indices[other][0] - 1, high + self.indices[other][1] - 1)
        shift = self.choose.choice((-2, -1, 0, 0, 1, 2))
        shift = max(shift, 1 - low)
        sign = "+" if shift > 0 else "-"
        return f"{name} {sign} {abs(shift)}" if shift else name, (low + shift, high + shift)

    def access(self, name: str, bare: bool | None = None) -> str:
        """An access, root subscript last."""
        concordant = self.chance(2) if bare is None else bare
        made = []
        for place in range(len(self.extents[name])):
            text, (_, high) = self.subscript(place, concordant and not (bare is None and self.chance(4)))
            axis = len(self.extents[name]) - 1 - place
            self.extents[name][axis] = max(self.extents[name][axis], high)
            made.append(text)
        return f"{name}[{', '.join(reversed(made))}]"

    def update(self, name: str = "T", value: str = "1", bare: bool | None = None, op: str = "+=") -> None:
        self.lines.append(f"{self.access(name, bare)} {op} {value}")

    @property
    def text(self) -> str:
        """The whole program."""
        head = ["d = cpu(:d, 2)", "e = cpu(:e, 2)"][: self.devices]
        for name, form in self.forms.items():
            head.append(f"{name} = Tensor({form}{''.join(f', {extent}' for extent in self.extents[name])})")
        return "\n".join([*head, *self.lines])


def opened(text: str) -> str:
    """A program of which `text` is an instance: every number of threads, bound, extent, and all data are parameters."""
    lines = []
    for line in text.splitlines():
        if line.startswith("for "):
            line = re.sub(r"\b(\d+):(\d+)", r"low\1:high\2", line)
        elif "= Tensor(" in line:
            made, more, extents = re.sub(r", \[.*\]\)$", ")", line).rpartition("))")
            line = made + more + re.sub(r"(\d+)", r"extent\1", extents)
        lines.append(re.sub(r"= cpu\((:\w), 2\)", r"= cpu(\1, threads)", line))
    return "\n".join(lines)
