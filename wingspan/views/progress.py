"""Progress, in a line that is written over and over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wingspan.views.values import count, digits

if TYPE_CHECKING:
    from wingspan.explorer.states import Status


def searching(status: Status) -> str:
    """The columns of Concuerror: errors, explored, planned, rate, and about how much there is in all.

    >>> from wingspan.explorer.estimate import SampleMean
    >>> from wingspan.explorer.states import Status
    >>> searching(Status("trace", 2, 1500, 12, 3.0, SampleMean(14000.0, 800.0)))
    'exploring: 2 errors, 1 500 traces, 12 planned, 500 traces/s, of about 1.4e+04 ± 8e+02, 25 s to go'
    >>> searching(Status("state", 0, 256, 90, 0.5))
    'exploring: 0 errors, 256 states, 90 planned, 512 states/s'
    >>> searching(Status("trace", 0, 512, 3, 1.0, SampleMean(0.0, 0.0)))
    'exploring: 0 errors, 512 traces, 3 planned, 512 traces/s'
    """
    rate = status.explored / max(status.seconds, 0.001)
    parts = [count(status.errors, "error"), count(status.explored, status.unit), f"{digits(status.planned)} planned"]
    parts.append(f"{digits(round(rate))} {status.unit}s/s")
    if status.total is not None and status.total.mean > 0:  # else each run of the sample led where others lead, too
        left = max(status.total.mean - status.explored, 0) / max(rate, 0.001)
        parts += [f"of about {status.total}", f"{digits(round(left))} s to go"]
    return f"exploring: {', '.join(parts)}"


def counting(words: str) -> Callable[[int, int], str]:
    """Progress in words with the numbers of what is `done` and what is `left`."""
    return lambda done, left: words.format(done=digits(done), left=digits(left))


checking = counting("checking: {done} changes tried")
placing = counting("parallelizing: {done} programs tested")
proving = counting("proving: {done} questions")
running = counting("running: {done} steps")
stressing = counting("stress: {done} runs, {left} to go")


MANY = 200 * 1024
"""Steps, or elements to read, that take several seconds."""


class Slow:
    """Progress of a run of one access at a time. It says once, before or during the run, which engine is faster.

    `stored` is how many elements the inputs store, if each of them is to be read.

    >>> said = []
    >>> slow = Slow(0, said.append)
    >>> slow(MANY - 1024, 1)
    >>> slow(MANY, 1)
    >>> slow(2 * MANY, 1)
    >>> said
    ['note: 204 800 steps so far, one for each access to memory; --engine native takes seconds for many millions']
    """

    def __init__(self, stored: int, say: Callable[[str], None], tell: Callable[[int, int], None] | None = None) -> None:
        self.say, self.tell, self.said = say, tell, False
        if stored >= MANY:
            self._slow(f"the inputs store {digits(stored)} elements, and this engine takes several steps for each")

    def __call__(self, done: int, left: int) -> None:
        if done >= MANY:
            self._slow(f"{digits(done)} steps so far, one for each access to memory")
        if self.tell is not None:
            self.tell(done, left)

    def note(self, text: str) -> None:
        """Say it, unless something has been said."""
        if not self.said:
            self.say(f"note: {text}")
        self.said = True

    def _slow(self, why: str) -> None:
        self.note(f"{why}; --engine native takes seconds for many millions")


def judging(doing: str, done: int, left: int) -> str:
    """A log that is read or examined, or the search for what it is compared with.

    >>> judging("reading", 4096, 100)
    'reading: 4 096 lines, 100 to go'
    """
    unit, rest = {"reading": ("line", "to go"), "judging": ("access", "to go"), "exploring": ("state", "planned")}[
        doing
    ]
    return f"{doing}: {count(done, unit)}, {digits(left)} {rest}"
