"""The drawings of docs/pictures that explain: towers, kinds of races, looplets, traces, the flow of a program.

All but the last show what a run did. `python -m proofs_tests.pictures` draws them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

from proofs_tests.drawing import Drawing
from proofs_tests.places import EXAMPLES
from wingspan import Tensor, api
from wingspan.explorer.verdict import Race
from wingspan.trace import document
from wingspan.trace.json_types import Document

# ------------------------------------------------------------------------------------------------------------- towers


def tower() -> str:
    """The matrix of docs/levels.md as a tree of fibers, beside the arrays that store it."""
    format = "Dense(SparseList(Element(0.0)))"
    matrix = Tensor.from_numpy(format, [[0, 2.5], [1, 0], [4, 0]])
    arrays: dict[str, list[str]] = {}
    for cell, value in sorted(matrix.cells.values.items(), key=lambda item: item[0].offset):
        arrays.setdefault(cell.buffer, []).append(str(float(value) if cell.buffer == "val" else value))
    ends = [int(end) for end in arrays["ptr"]]
    fibers = [range(first, last) for first, last in pairwise(ends)]
    drawn = Drawing(760, 250, f"A matrix in the format {format}: a tree of fibers, and the arrays behind it")
    rows = {"level 3  Dense": 45, "level 2  SparseList": 125, "level 1  Element": 205}
    for name, y in rows.items():
        drawn.text(20, y + 5, name, "bold")
    place = {entry: 200 + 48 * entry + 80 * fiber for fiber, entries in enumerate(fibers) for entry in entries}
    for column, entries in enumerate(fibers, start=1):
        middle = sum(place[entry] for entry in entries) / len(entries)
        low, high = min(place[entry] for entry in entries), max(place[entry] for entry in entries)
        drawn.line(middle, 60, middle, 95)
        drawn.cell(middle, 45, str(column))
        drawn.box(low - 28, 95, high - low + 56, 60, "pale")
        drawn.text(high + 34, 130, f"fiber {column}", "soft small")
        for entry in entries:
            drawn.line(place[entry], 140, place[entry], 190)
            drawn.cell(place[entry], 125, arrays["idx"][entry - 1])
            drawn.cell(place[entry], 205, arrays["val"][entry - 1])
    texts = ["a child for every column", "", ""]
    texts[1] = f"ptr  {'  '.join(arrays['ptr'])}      idx  {'  '.join(arrays['idx'])}"
    texts[2] = f"val  {'   '.join(arrays['val'])}"
    for text, y in zip(texts, rows.values(), strict=True):
        drawn.text(560, y + 5, text, "soft")
    return drawn.svg()


# ---------------------------------------------------------------------------------------------------- kinds of races


def race_of(kind: str) -> Race:
    """The first race of a kind in the program of the quiz that asks for it."""
    verdict = api.explore(api.load(EXAMPLES / f"quiz_{kind}_race.ws")).verdict
    return next(race for race in verdict.races if race.kind == kind)


ABOUT = {"node": "one index of one fiber", "sibling": "two indices of one fiber", "cousin": "two fibers of one level"}


def kinds() -> str:
    """Two tasks that meet in one cell: at one node, as siblings, and as cousins."""
    drawn = Drawing(780, 290, "Node, sibling and cousin: where two tasks are that meet in one cell")
    for panel, (kind, about) in enumerate(ABOUT.items()):
        race, left = race_of(kind), 20 + 255 * panel
        drawn.text(left, 28, kind, "bold")
        drawn.text(left, 48, about, "soft")
        one, two = sorted((race.first, race.second), key=lambda access: access.task)
        spots = [(access.position, access.index) for access in (one, two)]
        fibers = sorted({position or 1 for position, _ in spots})
        wide = 200 / len(fibers)
        place: dict[tuple[int | None, int | None], float] = {}
        for at, fiber in enumerate(fibers):
            x = left + at * wide
            drawn.box(x, 122, wide - 12, 66, "pale")
            corner, anchor = (x + wide - 12, "end") if at else (x, "start")
            drawn.text(corner, 203, f"fiber {fiber}", "soft small", anchor)
            inside = sorted({spot for spot in spots if (spot[0] or 1) == fiber}, key=str)
            for number, spot in enumerate(inside):
                place[spot] = x + (wide - 12) * (number + 1) / (len(inside) + 1)
                drawn.cell(place[spot], 164, "·" if spot[1] is None else str(spot[1]), width=34)
        drawn.cell(left + 94, 248, race.cell, "bad", width=110)
        for access, spot, x, colour in zip((one, two), spots, (left + 40, left + 148), ("one", "two"), strict=True):
            drawn.text(x, 82, f"task {access.task}", f"{colour} bold", anchor="middle")
            drawn.text(x, 98, f"{access.operation}s", f"{colour} small", anchor="middle")
            shift = -7 if colour == "one" else 7
            drawn.line(x, 103, place[spot] + shift, 147, colour, arrow=True)
            drawn.line(place[spot] + shift, 181, left + 94 + 3 * shift, 231, colour, arrow=True)
        drawn.text(left + 94, 282, f"level {race.level}  {race.level_name}", "soft small", anchor="middle")
    return drawn.svg()


# -------------------------------------------------------------------------------------------------------- dependence

DEPENDENT = EXAMPLES / "dependent.ws"


def dependence() -> str:
    """The iterations of a loop and the elements that they update, and the comparison that refuses the loop."""
    program = api.load(DEPENDENT)
    states = document(program)
    updates = {
        (int(step["indices"]["i"]), states["cells"][access["cell"]]["offset"]): step["task"]
        for step in states["steps"]
        for access in step["accesses"]
        if access["writes"] and "i" in step["indices"]
    }
    updated = [element for _, element in updates]
    drawn = Drawing(780, 262, "Iterations of a loop, the elements that they update, and what their level supports")
    drawn.text(20, 30, "for i = parallel(1:4)   c[i - i % 2 + 1] += 1", "bold")
    drawn.text(20, 80, "iterations", "soft")
    drawn.text(20, 190, "elements of c", "soft")
    for (iteration, element), task in updates.items():
        colour = "one" if task == "1" else "two"
        drawn.line(100 + 110 * iteration, 92, 60 + 110 * element, 167, colour, arrow=True)
        drawn.cell(100 + 110 * iteration, 75, f"i = {iteration}", colour, width=64)
        drawn.text(100 + 110 * iteration, 53, f"task {task}", f"small {colour}", "middle")
    for element in range(1, 6):
        meet = updated.count(element) > 1
        drawn.cell(60 + 110 * element, 185, f"c[{element}]", "bad" if meet else "", width=64)
    found = api.check(program).findings[0]
    needs, supports = (
        ", ".join(kind for kind in ABOUT if kind in kinds) for kinds in (found.required, found.stability)
    )
    drawn.text(20, 240, f"level {found.level}  {found.level_name}", "bold")
    drawn.text(200, 240, f"needs {{{needs}}}")
    drawn.text(420, 240, f"supports {{{supports}}}", "bad")
    return drawn.svg()


# ------------------------------------------------------------------------------------------------------------ traces

SUM = EXAMPLES / "sum.ws"


def runs(states: Document, state: int = 0) -> list[list[int]]:
    """The steps of all runs from a state on."""
    leaving = [edge for edge in states["edges"] if edge["source"] == state and edge["target"] is not None]
    return [[edge["step"], *rest] for edge in leaving for rest in runs(states, edge["target"] or 0)] or [[]]


def conflicts(states: Document, run: list[int]) -> tuple[tuple[str, str], ...]:
    """The pairs of conflicting steps of two tasks, each in its order: they are equal if runs are of one trace only."""
    steps = [states["steps"][step] for step in run]
    names = [
        f"{step['task']}.{[one['task'] for one in steps[:at]].count(step['task'])}" for at, step in enumerate(steps)
    ]
    pairs = [
        (names[a], names[b])
        for a, b in combinations(range(len(run)), 2)
        if steps[a]["task"] != steps[b]["task"]
        and any(x["writes"] or y["writes"] for x in steps[a]["accesses"] for y in steps[b]["accesses"])
    ]
    return tuple(sorted(pairs))


def traces() -> str:
    """All interleavings of two updates as a tree. Those of one trace have one result and one order of conflicts."""
    states = document(api.load(SUM))
    every = runs(states)
    chosen: dict[object, list[int]] = {}
    for run in every:
        chosen.setdefault(conflicts(states, run), run)
    searched = api.explore(api.load(SUM), strategy="dpor").verdict.executions
    assert searched == len(chosen), "dpor runs each trace once"

    drawn = Drawing(780, 70 + 44 * len(every), "The interleavings of two updates, and one run of each trace")
    drawn.text(20, 28, f"{len(every)} interleavings", "bold")
    about = f"of which dpor runs {searched}, one of each trace; the others (dashed) swap steps without conflict"
    drawn.text(150, 28, about, "soft")
    row = {tuple(run): 70 + 44 * at for at, run in enumerate(every)}

    def middle(prefix: tuple[int, ...]) -> float:
        rows = [y for run, y in row.items() if run[: len(prefix)] == prefix]
        return sum(rows) / len(rows)

    kept = list(chosen.values())
    for prefix in sorted({tuple(run[:n]) for run in every for n in range(1, len(run) + 1)}, key=len):
        x, end = 30 + 150 * (len(prefix) - 1), middle(prefix)
        step = states["steps"][prefix[-1]]
        colour = "one" if step["task"] == "1" else "two"
        alive = any(tuple(run[: len(prefix)]) == prefix for run in kept)
        drawn.line(x, middle(prefix[:-1]), x + 28, end, colour if alive else "dashed")
        drawn.line(x + 28, end, x + 150, end, colour if alive else "dashed")
        does = step["text"].replace("s.val[1]", "s")
        drawn.text(x + 34, end - 5, f"{step['task']} {does}", f"small {colour if alive else 'soft'}")
    for run in every:
        final = states["steps"][run[-1]]["values"][-1]
        drawn.text(642, row[tuple(run)] + 5, f"s = {final}", "bold" if run in kept else "soft")
    return drawn.svg()


# ---------------------------------------------------------------------------------------------------------- looplets

LIST, RUNS = [0, 2, 0, 0, 3, 0, 0, 0, 5, 0, 0, 4], [0, 0, 0, 7, 7, 7, 7, 0, 0, 1, 1, 1]
PRODUCT = f"""
A = Tensor(SparseList(Element(0)), {LIST})
R = Tensor(SparseRunList(Element(0)), {RUNS})
c = Tensor(Element(0))
c .= 0
for i = _
    c[] += A[i] * R[i]
end
return c
"""


def looplets() -> str:
    """A loop over a list and over runs: what each stores, and the indices that the loop visits."""
    steps = list(api.replay(api.parse(PRODUCT), "-", machine="native"))
    entries = [index for index, value in enumerate(LIST, start=1) if value]
    loads = [access for step in steps for access in step.footprint if (access.tensor, access.buffer) == ("A", "val")]
    visited = [entries[access.position - 1] for access in loads if access.position is not None]
    finding = [step for step in steps if step.rule in ("Unfurl", "Child", "Leave")]
    drawn = Drawing(780, 270, "A loop over a list and runs visits the indices that both store")

    def x(index: float) -> float:
        return 150 + 44 * index

    drawn.text(20, 30, "for i = _   c[] += A[i] * R[i]", "bold")
    for index in range(1, len(LIST) + 1):
        drawn.text(x(index), 62, str(index), "soft", anchor="middle")
        drawn.line(x(index), 70, x(index), 225, "dashed")
    drawn.text(20, 100, "A  SparseList", "bold")
    drawn.text(20, 117, "spikes", "soft small")
    for index, value in enumerate(LIST, start=1):
        if value:
            drawn.cell(x(index), 100, str(value), "one", width=30)
    drawn.text(20, 155, "R  SparseRunList", "bold")
    drawn.text(20, 172, "stretches", "soft small")
    start = 0
    for at in range(1, len(RUNS) + 1):
        if at == len(RUNS) or RUNS[at] != RUNS[start]:
            if RUNS[start]:
                drawn.cell((x(start + 1) + x(at)) / 2, 155, str(RUNS[start]), "two", width=x(at) - x(start + 1) + 30)
            start = at
    drawn.text(20, 215, "visited", "bold")
    for index in visited:
        drawn.cell(x(index), 210, f"i = {index}", "pale", width=48)
    about = f"Of {len(LIST)} indices {len(visited)} are visited, which {len(finding)} reads find."
    drawn.text(20, 252, f"Both jump: whichever is behind seeks to the other. {about}", "soft")
    return drawn.svg()


# --------------------------------------------------------------------------------------------------- flow of a program

BOXES = {
    "lang": (90, 100, "a text becomes a tree"),
    "elaborate": (285, 140, "a bound program"),
    "tensors": (285, 260, "arrays, files"),
    "reference": (500, 40, "the sequential result"),
    "dependence": (500, 120, "is it safe for all inputs?"),
    "semantics": (500, 190, "the paper's rules"),
    "plan": (500, 260, "registers and buffers"),
    "explorer": (720, 190, "every interleaving"),
    "native": (720, 260, "threads"),
    "compiled": (720, 330, "C, on threads"),
}
"""The packages: where the middle of each is, and what it does or gives."""
FLOWS = [
    ("lang", "elaborate"), ("tensors", "elaborate"), ("elaborate", "dependence"), ("lang", "reference"),
    ("elaborate", "semantics"), ("elaborate", "plan"), ("explorer", "semantics"), ("explorer", "native"),
    ("plan", "native"), ("plan", "compiled"),
]  # fmt: skip
"""From the package that is imported to the one that imports it."""
DRIVES = {("explorer", "semantics"), ("explorer", "native")}
"""The explorer knows machines only; they know its protocol."""


def flow() -> str:
    """The way of a program through the packages."""
    drawn = Drawing(820, 375, "From a text to a verdict and to threads")
    for one, two in FLOWS:
        (x, y, _), (x2, y2, _) = BOXES[one], BOXES[two]
        if (one, two) in DRIVES:
            (x, y), (x2, y2) = (x2, y2), (x, y)
        if abs(x2 - x) < 10:
            down = 1 if y2 > y else -1
            drawn.line(x, y + 23 * down, x2, y2 - 25 * down, arrow=True)
        else:
            drawn.line(x + 80, y, x2 - 82, y2, arrow=True)
    for name, (x, y, does) in BOXES.items():
        drawn.box(x - 80, y - 23, 160, 46, "pale")
        drawn.text(x, y - 3, name, "bold", anchor="middle")
        drawn.text(x, y + 14, does, "soft small", anchor="middle")
    return drawn.svg()


FIGURES: dict[str, Callable[[], str]] = {
    "tower": tower,
    "kinds": kinds,
    "dependence": dependence,
    "traces": traces,
    "looplets": looplets,
    "flow": flow,
}
