"""How far things are, in a line that is written over and over."""

from __future__ import annotations

from wingspan.explorer.states import Status
from wingspan.views.values import count, digits


def searching(status: Status) -> str:
    """The columns of Concuerror: errors, explored, planned, rate, and about how much there is in all.

    >>> from wingspan.explorer.estimate import Estimate
    >>> searching(Status("trace", 2, 1500, 12, 3.0, Estimate(14000.0, 800.0)))
    'exploring: 2 errors, 1 500 traces, 12 planned, 500 traces/s, of about 1.4e+04 ± 8e+02, 25 s to go'
    >>> searching(Status("state", 0, 256, 90, 0.5))
    'exploring: 0 errors, 256 states, 90 planned, 512 states/s'
    """
    rate = status.explored / max(status.seconds, 0.001)
    parts = [count(status.errors, "error"), count(status.explored, status.unit), f"{digits(status.planned)} planned"]
    parts.append(f"{digits(round(rate))} {status.unit}s/s")
    if status.total is not None:
        left = max(status.total.mean - status.explored, 0) / max(rate, 0.001)
        parts += [f"of about {status.total}", f"{digits(round(left))} s to go"]
    return f"exploring: {', '.join(parts)}"


def checking(done: int, left: int) -> str:
    """The search for advice."""
    return f"checking: {digits(done)} changes tried"


def running(done: int, left: int) -> str:
    """One run, a step at a time."""
    return f"running: {digits(done)} steps"


def racing(done: int, left: int) -> str:
    """Many runs on threads."""
    return f"racing: {digits(done)} runs, {digits(left)} to go"
