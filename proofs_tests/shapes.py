"""The shapes of random programs that the dependence tests are compared on with the explorer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Sequence

from proofs_tests.drafts import Draft
from proofs_tests.scopes import DYNAMIC, STATIC, STORAGE, STRETCHED, random_format
from wingspan.levels.base import Level
from wingspan.levels.dense import Dense
from wingspan.levels.run_list import RunList
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList
from wingspan.levels.sparse_point import SparsePoint

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


EVERYWHERE = (*STORAGE, *STRETCHED)
"""Not SparsePoint and SparseInterval: a second index of a fiber is a fault that the tests do not look for. `points` has
the first.
"""

TIGHT = (
    (None, "T[{k}]"), ("if {k} == 1", "T[{k}]"), ("for y = 1:2", "T[y]"), ("for y = {k}:{k}", "T[y]"),
    ("for y = 1:{k}", "T[{k}]"), (None, "T[{k}, {a}]"), (None, "T[{a}, {k}]"), ("for y = 1:2", "T[y, {k}]"),
    ("for y = 1:2", "T[{k}, y]"), ("for y = {k}:2", "T[y, {a}]"), ("for y = 1:2", "T[{a}, y]"),
)  # fmt: skip
"""The bodies of a task with index k, as short as may be; {a} is another subscript."""


def tight(draft: Draft) -> None:
    """Short bodies that change in one place, in a loop that a serial one may repeat, over all storage levels."""
    around, update = draft.choose.choice(TIGHT)
    rank = update.count(",") + 1
    form = random_format(rank, 1, draft.choose.choice((0, 1, 1, 2)), draft.choose, EVERYWHERE)
    draft.forms["T"], draft.extents["T"] = str(form), [3] * rank
    draft.lines.append("T .= 0")

    def body() -> None:
        k = draft.choose.choice([*draft.indices, "3 - " + draft.choose.choice(list(draft.indices))])
        for _ in range(draft.choose.choice((1, 1, 2))):
            a = draft.choose.choice((*draft.indices, "1", "2"))
            draft.lines += [around.format(k=k)] if around else []
            draft.lines += [f"{update.format(k=k, a=a)} += 1", *["end"] * bool(around)]

    _narrow(draft, draft.choose.choice((["d"], ["d"], [None, "d"], ["d", None], [None])), body)


def _narrow(draft: Draft, devices: Collection[str | None], body: Callable[[], None]) -> None:
    """Loops over 1:2 in one another."""
    for device in devices:
        index = next(draft.names)
        draft.indices[index] = (1, 2)
        dynamic = "" if draft.chance(2) else ", dynamic_schedule(1)"
        draft.lines.append(f"for {index} = parallel(1:2, {device}{dynamic})" if device else f"for {index} = 1:2")
    body()
    draft.lines += ["end"] * len(devices)
    draft.indices.clear()


def blocks(draft: Draft) -> None:
    """Tasks that do different things, decided by their index; each block has loops and updates of its own."""
    _declare(draft, most=1)

    def block() -> None:
        loops: list[str | None] = [None] * draft.choose.choice((0, 0, 1))
        draft.nest(loops, lambda: _several(draft, draft.choose.choice((1, 1, 2))))

    def decided() -> None:
        first = next(iter(draft.indices))
        draft.lines.append(f"if {first} {draft.choose.choice(('== 1', '< 2', '!= 2', '% 2 == 0'))}")
        block()
        if not draft.chance(4):
            draft.lines.append("else")
            block()
        draft.lines.append("end")

    draft.nest(["d"], decided)


def overlapping(draft: Draft) -> None:
    """Two accesses to fibers that are visited in order, or isolated; loops open one around the other, or go back."""
    form = draft.choose.choice((
        "Dense({})", "SparseDict({})", "Dense(Isolate({}))", "Isolate(Dense({}))", "Dense(Mutex(Isolate({})))",
        "SparseList({})", "Dense(Merge(d, {}))",
    ))  # fmt: skip
    inner = draft.choose.choice(("SparseList", "SparseList", "RunList", "SparseBand", "SparseDict"))
    draft.forms["T"], draft.extents["T"] = (
        form.format(f"{inner}({draft.choose.choice(('Element', 'Atomic'))}(0))"),
        [2, 4],
    )
    draft.lines.append("T .= 0")

    def body() -> None:
        names = list(draft.indices)
        fibers = [draft.choose.choice((*names, *(f"{name} + 1" for name in names), "1")) for _ in range(2)]
        outer, within = (f"for {index} = 1:2" for index in "xy")
        first, second = f"T[{draft.choose.choice('1x')}, {fibers[0]}] += 1", f"T[y, {fibers[1]}] += 1"
        draft.lines += draft.choose.choice((
            [outer, first, within, second, "end", "end"], [outer, first, "end", within, second, "end"],
            [outer, within, first, second, "end", "end"],
            [outer, "if x == 2", first, "end", "end", within, second, "end"],
        ))  # fmt: skip

    _narrow(draft, draft.choose.choice((["d"], ["d"], [None], [None, "d"], ["d", None])), body)


def locks_and_merges(draft: Draft) -> None:
    """Locks of two tensors, held together in some order; copies that are merged by several operators and fills."""
    op, fill = draft.choose.choice(
        (("+=", 0), ("+=", 5), ("*=", 1), ("*=", 2), ("<<min>>=", 9), ("<<max>>=", 0), ("=", 0))
    )
    forms = (
        "Mutex(Dense({}))", "Dense(Mutex({}))", "Mutex(Dense(Mutex({})))", "Merge(d, Dense({}))", "Dense(Merge(d, {}))",
        "Mutex(SparseDict({}))", "Merge(d, SparseDict({}))", "Mutex(Merge(d, Dense({})))",
    )  # fmt: skip
    for name in "TU":
        draft.forms[name] = draft.choose.choice(forms).format(f"Element({fill})")
        draft.extents[name] = [1]
        draft.lines.append(f"{name} .= {fill}")

    def body() -> None:
        value = draft.choose.choice(("2", "2", *draft.indices))
        names = draft.choose.choice(("T", "TT", "TU", "TU"))
        for name in names if draft.chance(2) else reversed(names):
            draft.update(name, value, op=op)
        if draft.chance(3):
            draft.lines.append(f"if {next(iter(draft.indices))} == 1")
            draft.update(names[0], value, op=op)
            draft.lines.append("end")

    draft.nest([*_loops(draft, "d")][:2] if draft.chance(2) else ["d"], body)


def data_dependent(draft: Draft) -> None:
    """Subscripts that are loaded from data, or follow from a condition on it."""
    draft.lines.append(
        f"A = Tensor(Dense(Element(1)), [{', '.join(str(draft.choose.randint(1, 3)) for _ in range(3))}])"
    )
    _declare(draft, most=1)
    rank = len(draft.extents["T"])
    draft.extents["T"] = [3] * rank

    def body() -> None:
        for _ in range(draft.choose.choice((1, 1, 2))):
            names = [name for name, (_, high) in draft.indices.items() if high <= 3]
            some = [*(f"A[{name}]" for name in names), *names, "1"]
            guard = f"A[{names[0]}] < 3" if names and draft.chance(4) else ""
            draft.lines += [f"if {guard}"] * bool(guard)
            draft.lines.append(f"T[{', '.join(draft.choose.choice(some) for _ in range(rank))}] += 1")
            draft.lines += ["end"] * bool(guard)

    draft.nest(_loops(draft, draft.choose.choice(("d", "d", "d", None))), body)


def points(draft: Draft) -> None:
    """Levels around and below a SparsePoint that is entered at several indices, and updated at one of them only."""
    form = _tower(draft, (2, 2, 3), (SparsePoint, SparseList, SparseDict, RunList), r"SparsePoint")
    held = [level == "SparsePoint" for level in re.findall(r"Sparse\w+|RunList", form)]
    _skipping(draft, form, held)


def reused(draft: Draft) -> None:
    """Below a list that uses a child again, as nothing was written in it, a dictionary or copies that still know it."""
    wanted = r"SparseList\(.*(SparseDict|Merge).*(SparseList|Shard)"
    form = _tower(draft, (3, 3, 3, 4), (SparseList, SparseList, SparseDict, Dense), wanted)
    rank = form.count("Sparse") + form.count("Dense")
    _skipping(draft, form, [not draft.chance(3), *[False] * (rank - 1)])


def _tower(draft: Draft, ranks: Sequence[int], storage: Sequence[type[Level]], wanted: str) -> str:
    """A format of these levels in which some, named by a regular expression, are found."""
    rank, form = draft.choose.choice(ranks), ""
    while not re.search(wanted, form):
        form = str(random_format(rank, 1, draft.choose.choice((0, 0, 1, 1, 2)), draft.choose, storage))
    return form


def _skipping(draft: Draft, form: str, held: Sequence[bool]) -> None:
    """A loop for each axis, from the root, over a range that may depend on outer ones; one is parallel, or none.

    Where an axis is held, one index of it is updated only.
    """
    rank = len(held)
    draft.forms["T"], draft.extents["T"] = form, [2] * rank
    names = [next(draft.names) for _ in range(rank)]
    draft.lines.append("T .= 0")
    spawning = draft.choose.choice((None, *range(rank)))
    for place, name in enumerate(names):
        choices = ["1:2", "1:2", "2:2"]
        for outer in names[:place]:
            choices += [f"1:{outer}", f"1:{outer} - 1", f"3 - {outer}:2"]
        text, schedule = draft.choose.choice(choices), draft.choose.choice(("", ", dynamic_schedule(1)"))
        text = f"parallel({text}, d{schedule})" if place == spawning else text
        draft.lines.append(f"for {name} = {text}")
    one = [f"{name} == {draft.choose.choice((1, 2))}" for name, only in zip(names, held, strict=True) if only]
    draft.lines += [f"if {' && '.join(one)}"] if one else []
    draft.lines += [f"T[{', '.join(reversed(names))}] += 1", *["end"] * (rank + bool(one))]


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


def searches(draft: Draft) -> None:
    """A short-circuit scalar in each iteration, which an inner loop updates until it is true, and then an update."""
    _declare(draft, most=1)
    draft.lines.append("q = ShortCircuitScalar(false)")

    def sought() -> None:
        name = draft.choose.choice(list(draft.indices))
        test = draft.choose.choice((f"{name} == 2", f"{name} < 2", f"{name} % 2 == 1", "true"))
        draft.lines += [f"if {test}", f"q[] |= {list(draft.indices)[-1]} > 1", "end"]

    def tested() -> None:
        draft.lines.append("q .= false")
        draft.nest([None], sought)
        draft.lines.append("if q[]")
        draft.update()
        draft.lines.append("end")

    draft.nest(_loops(draft, "d")[:2], tested)


DECLARED = (
    "function grown(x, y; associative, commutative, identity = 0) = x + y + x * y",
    "function larger(x, y; associative, commutative, idempotent) = ifelse(y > x, y, x)",
    "function joined(x, y; commutative) = x * y + 1",
    "function twice(x, y) = 2 * x - y",
)
NUMBERS = ("2", "{i}", "{i}", "{i} % 2")
ALGEBRAS = (
    (("0", "3"), ("+%=", "-%="), NUMBERS), (("1", "2"), ("*%=", "="), NUMBERS),
    (("-1", "0", "5"), ("<<&>>=", "<<|>>=", "<<⊻>>="), NUMBERS),
    (("true", "false"), ("&=", "|="), ("{i} == 1", "{i} > 2", "true")),
    (("(Inf, 0)", "(-Inf, 0)", "(0.5, 1)"), ("<<minby>>=", "<<maxby>>=", "="), ("({i} % 2, {i})", "(1, {i})")),
    *[(("0", "0", "2"), ("<<grown>>=", "<<larger>>=", "<<joined>>=", "<<twice>>=", "<<choose(0)>>="), NUMBERS)] * 2,
)  # fmt: skip
"""For each kind of element values to start from, operators that update it, and values that these take."""


def algebras(draft: Draft) -> None:
    """Elements updated in one or two nests, each by an operator of pairs, of bits, that wraps, or by a function."""
    fills, operators, values = draft.choose.choice(ALGEBRAS)
    fill, merged = draft.choose.choice(fills), draft.choose.choice((*fills, fills[0], fills[0]))
    form = draft.choose.choice((
        "Dense(Atomic({}))", "Dense(Atomic({}))", "SparseDict(Atomic({}))", "Dense(Mutex(Element({})))",
        "Mutex(SparseDict(Element({})))", "Merge(d, Dense(Element({})))", "Dense(Merge(d, Element({})))",
        "Merge(d, SparseDict(Element({})))", "Dense(Element({}))",
    ))  # fmt: skip
    draft.lines += DECLARED if "grown" in operators[0] else ()
    draft.forms["T"], draft.extents["T"] = form.format(merged), [1]
    draft.lines.append(f"T .= {fill}")

    def body() -> None:
        op = draft.choose.choice(operators)
        for _ in range(draft.choose.choice((1, 1, 2))):
            value = draft.choose.choice(values).format(i=draft.choose.choice(list(draft.indices)))
            if draft.chance(2):
                draft.lines.append(f"T[1] {op} {value}")
            else:
                draft.update("T", value, op=op)

    for _ in range(draft.choose.choice((1, 1, 1, 2))):
        draft.nest(_loops(draft, "d")[:2], body)


SHAPES: tuple[Shape, ...] = (
    one_access, one_body, serial, one_after_the_other, nested_devices, conditions, workspaces, reads, stacks, arrival,
    values, tight, blocks, overlapping, locks_and_merges, data_dependent, points, reused, searches, algebras,
)  # fmt: skip


def program(shape: Shape, seed: int) -> str:
    """One program of a shape."""
    draft = Draft(random.Random(f"{shape.__name__}, {seed}"))
    shape(draft)
    return draft.text
