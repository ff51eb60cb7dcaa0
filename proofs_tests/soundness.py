"""Random programs of several shapes, judged by the three tests and by the explorer.

The explorer is the ground truth. A fault that values cause (`VALUES`) is counted apart from what makes a program bad,
since no test looks at values. A search that is cut before it finds anything is `cut`, never `safe`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from proofs_tests.scopes import DYNAMIC, STATIC, random_format
from wingspan import api
from wingspan.dependence import TESTS, Analysis
from wingspan.explorer.verdict import Verdict

Truth = Literal["safe", "bad", "value", "cut"]
TRUTHS: tuple[Truth, ...] = ("bad", "value", "safe", "cut")
SOUND = ("repaired", "exact")

VALUES = re.compile(
    r"^(freeze\(\w+\): )?(overflow|division by zero|\w+ has the indices|.* needs |.* is not an? |.* does not fit )"
)
"""Messages of faults that values cause; every other fault is one that an accepted program must not have."""


def truth(verdict: Verdict) -> Truth:
    """What the explorer says of a program; the worst that it has found."""
    if any(not VALUES.match(fault.message) for fault in verdict.faults):
        return "bad"
    if (
        verdict.races
        or verdict.deadlocks
        or verdict.verdict in ("order-dependent", "wrong")
        or len(verdict.results) > 1
    ):
        return "bad"
    if verdict.faults:
        return "value"
    return "safe" if verdict.complete else "cut"


# ------------------------------------------------------------------------------------------------------------- programs

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


# --------------------------------------------------------------------------------------------------------------- shapes

Shape = Callable[[Draft], None]


def one_access(draft: Draft) -> None:
    """One parallel loop and one access."""
    _declare(draft, most=2)
    draft.nest(_loops(draft, "d"), draft.update)


def one_body(draft: Draft) -> None:
    """Two accesses in one body, with different subscripts."""
    _declare(draft, most=1)
    draft.nest(_loops(draft, "d"), lambda: _several(draft, 2))


def serial(draft: Draft) -> None:
    """No parallel loop, and up to three accesses in one or two nests."""
    _declare(draft, most=1)
    for _ in range(draft.choose.randint(1, 2)):
        draft.nest([None] * draft.choose.randint(1, 2), lambda: _several(draft, draft.choose.randint(1, 2)))


def one_after_the_other(draft: Draft) -> None:
    """Two loops one after the other on one tensor, at least one of them parallel, perhaps both in a third."""
    _declare(draft, most=1)
    first = _loops(draft, "d")
    then = _loops(draft, draft.choose.choice(("d", None)))

    def both() -> None:
        draft.nest(first, draft.update)
        draft.nest(then, draft.update)

    draft.nest([None] if draft.chance(4) else [], both)


def nested_devices(draft: Draft) -> None:
    """A parallel loop on e in one on d."""
    draft.devices = 2
    _declare(draft, most=2)
    loops: list[str | None] = ["d", "e"]
    if draft.chance(3):
        loops.insert(draft.choose.randint(0, 2), None)
    draft.nest(loops, lambda: _several(draft, draft.choose.choice((1, 1, 2))))


def conditions(draft: Draft) -> None:
    """Updates that conditions on indices guard."""
    _declare(draft, most=1)

    def guarded() -> None:
        name = draft.choose.choice(list(draft.indices))
        test = draft.choose.choice((f"{name} == 2", f"{name} < 2", f"{name} % 2 == 1", f"{name} != 1"))
        draft.lines.append(f"if {test}")
        draft.nest([None] if draft.chance(3) else [], draft.update)
        draft.lines.append("end")
        if draft.chance(2):
            draft.update()

    draft.nest(_loops(draft, "d"), guarded)


def workspaces(draft: Draft) -> None:
    """A tensor that is declared in a loop, updated there and read."""
    _declare(draft, most=1)
    draft.tensor("W", 1, most=1)

    def declared() -> None:
        draft.lines.append("W .= 0")
        draft.nest([None], lambda: draft.update("W"))
        draft.nest([None], lambda: draft.update("T", draft.access("W", bare=False)))

    draft.nest(_loops(draft, "d")[:2], declared)


def reads(draft: Draft) -> None:
    """A tensor that is updated, then read to update another, and perhaps updated again."""
    _declare(draft, most=1)
    draft.tensor("U", draft.choose.choice((1, 2)), most=1)
    draft.lines.append("U .= 0")
    draft.nest(_loops(draft, None), draft.update)
    draft.nest(_loops(draft, "d"), lambda: draft.update("U", draft.access("T")))
    if draft.chance(3):
        draft.nest(_loops(draft, "d"), draft.update)


def stacks(draft: Draft) -> None:
    """Two to four modifiers around the levels of a tensor of rank 2."""
    _declare(draft, most=4, least=2, rank=2)
    draft.nest(_loops(draft, "d"), lambda: _several(draft, draft.choose.choice((1, 1, 2))))


ARRIVING = (
    "SparseDict({})", "SparseDict(Mutex({}))", "Isolate(SparseDict({}))", "Mutex(SparseDict({}))",
    "Mutex(SparseDict(Merge(d, {})))", "Dense(Shard(d, {}))", "SparseDict(Dense({}))", "Mutex(SparseDict(Dense({})))",
    "Dense(Shard(d, Dense({})))",
)  # fmt: skip


def arrival(draft: Draft) -> None:
    """Lists below levels that number fibers on arrival, few of which are visited and some of which are only entered."""
    form = draft.choose.choice(ARRIVING)
    rank = 3 if "Dense({" in form else 2
    draft.forms["T"], draft.extents["T"] = form.format("SparseList(Element(0))"), [1, *[6] * (rank - 1)]
    draft.lines.append("T .= 0")
    for _ in range(draft.choose.choice((1, 1, 1, 2))):
        loops = draft.choose.choice(([None], [None], ["d"], ["d", None], [None, "d"]))
        draft.nest(loops, lambda: _arrivals(draft, rank))


def _arrivals(draft: Draft, rank: int) -> None:
    """One or two accesses, some of them in a loop over the root's index, or in one without an iteration."""
    index = draft.choose.choice(list(draft.indices))
    low, _ = draft.indices[index]
    smaller = ["1", *(f"{index} - {c}" for c in range(1, low))]
    roots = draft.choose.sample([index, f"{index} + 1", *smaller], draft.choose.choice((1, 2)))
    for root in roots if draft.chance(2) else [draft.choose.choice(smaller), index]:
        inner = ["1", draft.choose.choice(("1", "1", "2", *draft.indices))] if rank == 3 else ["1"]
        update, closed = f"T[{', '.join([*inner, root])}] += 1", 0
        if draft.chance(6):
            name = next(draft.names)
            draft.lines.append(f"for {name} = {root}:{root}")
            update, closed = f"T[{', '.join([*inner, name])}] += 1", 1
        if draft.chance(6):
            draft.lines.append(f"for {next(draft.names)} = 1:{draft.choose.choice((0, 1))}")
            closed += 1
        draft.lines += [update, *["end"] * closed]


def values(draft: Draft) -> None:
    """Products and sums of one element that may overflow, in some orders only."""
    op, start = draft.choose.choice((("+=", 0), ("*=", 1)))
    draft.tensor("T", 1, most=1)
    if draft.chance(2):
        draft.forms["T"] = draft.choose.choice(("Dense(Atomic(0))", "Dense(Mutex(Element(0)))"))
    draft.forms["T"] = draft.forms["T"].replace("(0)", f"({start})")
    data = draft.choose.sample((0, 0, 4, -1, 2**61, 2**62, 2**62, -(2**62)), 3)
    draft.lines += [f"A = Tensor(Dense(Element(0)), [{', '.join(map(str, data))}])", f"T .= {start}"]
    schedule = draft.choose.choice((STATIC, DYNAMIC))
    draft.lines += [f"for i = parallel({draft.choose.choice((1, 1, 2))}:3, d, {schedule})", f"T[1] {op} A[i]", "end"]


def _declare(draft: Draft, most: int, least: int = 0, rank: int | None = None) -> None:
    draft.tensor("T", rank or draft.choose.choice((1, 2, 2)), most, least)
    draft.lines.append("T .= 0")


def _loops(draft: Draft, device: str | None) -> list[str | None]:
    """One to three loops, one of them on the device."""
    serial: list[str | None] = [None] * draft.choose.choice((0, 1, 1, 1, 2))
    serial.insert(draft.choose.randint(0, len(serial)), device)
    return serial


def _several(draft: Draft, number: int) -> None:
    for _ in range(number):
        draft.nest([None] if draft.chance(6) else [], draft.update)


SHAPES: tuple[Shape, ...] = (
    one_access, one_body, serial, one_after_the_other, nested_devices, conditions, workspaces, reads, stacks, arrival,
    values,
)  # fmt: skip


def program(shape: Shape, seed: int) -> str:
    """One program of a shape."""
    draft = Draft(random.Random(f"{shape.__name__}, {seed}"))
    shape(draft)
    return draft.text


# ------------------------------------------------------------------------------------------------------------- verdicts


@dataclass
class Tally:
    """How many programs there are by `test, accepted or rejected, truth`; and those that show a test to be unsound."""

    counts: dict[str, int] = field(default_factory=dict)
    unsound: list[str] = field(default_factory=list)
    sometimes: int = 0
    """programs that `repaired` accepts and in which values cause a fault in some interleavings only"""

    def note(self, text: str, most: int, explore_all: bool = True) -> None:
        """Judge one program, from at most so many states; unless all are explored, only if a sound test accepts it."""
        bound = api.bind(api.parse(text))
        tests = Analysis(bound.body)
        accepted = {test for test in TESTS if tests.verdict(bound.towers, test) == "safe"}
        if not (explore_all or accepted.intersection(SOUND)):
            return
        verdict = api.explore(bound, max_states=most).verdict
        found = truth(verdict)
        for test in TESTS:
            key = f"{test}, {'accepted' if test in accepted else 'rejected'}, {found}"
            self.counts[key] = self.counts.get(key, 0) + 1
            if found == "bad" and test in accepted and test in SOUND:
                self.unsound.append(f"{test} accepts, explored: {verdict.verdict}\n{text}")
        self.sometimes += found == "value" and "repaired" in accepted and bool(verdict.results)

    def add(self, other: Tally) -> None:
        """Count what another tally has counted."""
        for key, number in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + number
        self.unsound += other.unsound
        self.sometimes += other.sometimes

    @property
    def programs(self) -> int:
        """How many programs were explored."""
        return sum(number for key, number in self.counts.items() if key.startswith(TESTS[0]))

    def count(self, test: str, outcome: str, found: str) -> int:
        """How many programs a test has `accepted` or `rejected` of those with a truth."""
        return self.counts.get(f"{test}, {outcome}, {found}", 0)


# ------------------------------------------------------------------------------------------------------------ the table


def table(totals: Mapping[str, Tally]) -> str:
    """Accepted and rejected programs by what the explorer says of them, for each shape and test, and for all shapes."""
    total = Tally()
    for tally in totals.values():
        total.add(tally)
    columns = [(outcome, found) for outcome in ("accepted", "rejected") for found in TRUTHS]
    head = f"| shape | test | {' | '.join(' '.join(column) for column in columns)} |"
    rows = [
        f"| {name if test == TESTS[0] else ''} | {test} | "
        + " | ".join(f"{tally.count(test, *column):,}" for column in columns)
        + " |"
        for name, tally in (*totals.items(), ("all", total))
        for test in TESTS
    ]
    return "\n".join([head, "|" + "---|" * (len(columns) + 2), *rows])
