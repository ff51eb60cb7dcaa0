"""The tables of docs/levels.md, level by modifier: which reads and updates each combination takes, found by running it.

python -m proofs_tests.levels_page      writes them anew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from proofs_tests.dependence.test_stability_lemma import truths
from proofs_tests.generated import rewrite
from proofs_tests.places import ROOT
from proofs_tests.plan.test_looplets import touches
from proofs_tests.towers import ByHand, broken, member, tower
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.explorer.machine import Blocked
from wingspan.lang.devices import Task
from wingspan.testing.formats import BOUNDED, LEAVES, STORAGE, fit_to_format, legal, rank_of

PAGE = ROOT / "docs" / "levels.md"
MODIFIERS = {
    "bare": "{}", "Mutex": "Mutex({})", "Isolate": "Isolate({})", "Shard": "Shard(d, {})", "Merge": "Merge(d, {})"
}  # fmt: skip
PAIRS = {"node": ("11",), "sibling": ("k1",), "cousin": ("1k", "kk")}
"""The relation of two elements of Dense(level) at the level: k where subscripts differ, row before column."""

READING = """
far = cpu(:d, 2)
A = Tensor({form})
y = Tensor(Dense(Element(0)), 2)
y .= 0
for t = parallel(1:2, far)
    y[t] += A[{at}]
end
return y
"""

LEVELS = {level: f"{level}(0)" for level in LEAVES} | {"Pattern": "Pattern()"}
LEVELS |= {level: f"{level}(Atomic(0))" for level in (*STORAGE, *BOUNDED)}
LEVELS |= {"SparseCOO": "SparseCOO(2, Atomic(0))"}
AROUND = {"Pattern": "Mutex(SparseDict({}))"}
"""The level around a level, if no Dense: a Pattern is in a level that stores what was written, in any order."""
Element = tuple[int, ...]


def words(kind: str, rank: int) -> list[str]:
    """The words of a relation for so many axes: rows that have two subscripts differ in one of them, or in both."""
    rows = {"1": ["11"], "k": ["1k", "k1", "kk"]}
    return [row + word[1] for word in PAIRS[kind] for row in (rows[word[0]] if rank == 3 else word[0])]


def elements(word: str, rank: int) -> tuple[Element, Element]:
    """Two elements that are related so. Where there is a leaf alone, there are no rows."""
    return (1,) * rank, tuple(2 if letter == "k" else 1 for letter in word[-rank:])


def read(form: str, word: str) -> bool:
    """Whether two tasks may read two elements that are related so: both find what there is, and no step changes a cell.

    The tensor holds both elements, or as many of them as the format can. That nothing is changed is what searches rely
    on, which let accesses to a tensor that is read go on at once.
    """
    rank = rank_of(form)
    array: np.ndarray = np.zeros((2,) * rank, dtype=np.bool_ if "Pattern" in form else np.int64)
    for at in elements(word, rank):
        array[tuple(i - 1 for i in at)] = 1
    subscripts = ", ".join("t" if letter == "k" else "1" for letter in word[-rank:])
    text = READING.format(form=form.replace("(d,", "(far,"), at=subscripts)
    bound = api.bind(api.parse(text), inputs={"A": fit_to_format(form, array, "0")})
    for machine in (api.semantics(bound), api.native(bound)):
        found, end = touches(machine)
        if isinstance(end, Fault | Blocked) or any(t.effect != "read" for _, t in found if t.tensor == "A"):
            return False
    return api.explore(bound, strategy="dpor").verdict.verdict == "safe"


def updated(form: str, word: str) -> bool:
    """Whether two tasks may update two elements that are related so."""
    tasks = member(far=1), member(far=2)
    return not truths(form)[tuple(word[-rank_of(form) :])].bad and counted(form, word, tasks)


def thawed(form: str, word: str) -> bool:
    """Whether the second one can be updated when the tensor has been thawed."""
    return counted(form, word, (member(far=1), member(far=1)), thaws=True)


def merged(form: str, word: str) -> bool:
    """Whether two copies that have one of them each can be brought together."""
    return counted(f"Merge(dev, {form})", word, (member(dev=1, far=1), member(dev=2, far=1)))


def counted(form: str, word: str, tasks: tuple[Task, Task], thaws: bool = False) -> bool:
    """Whether the tensor counts both elements if each task adds 1 to one of them, one task after the other.

    A Pattern does not count: both elements are true.
    """
    op, one = ("||", True) if "Pattern" in form else ("+", 1)
    h = ByHand(tower(form.replace("(d,", "(far,"), *(2,) * rank_of(form)), op=op).whole("declare")
    pair = elements(word, rank_of(form))
    try:
        for h.task, at in zip(tasks, pair, strict=True):
            h.whole("checkout").update_all({at: one}).whole("commit")
            if thaws and at is pair[0]:
                h.whole("freeze", "thaw")
        h.whole("freeze")
    except Fault:
        return False
    wanted = dict.fromkeys(pair, True) if op == "||" else Counter(pair)
    return {at: v for at, v in h.elements().items() if v} == wanted and broken(h) == []


TABLES: Mapping[str, Callable[[str, str], bool]] = {
    "read by two tasks": read,
    "updated by two tasks": updated,
    "updated again after `thaw`": thawed,
    "in two copies under `Merge(dev, …)`": merged,
}


def tables() -> Iterator[str]:
    """All of them, a line each."""
    for title, takes in TABLES.items():
        yield f"Two elements, {title}:"
        yield ""
        yield f"| level | {' | '.join(MODIFIERS)} |"
        yield "|---" * (len(MODIFIERS) + 1) + "|"
        for level in LEVELS:
            yield row(level, takes)
        yield ""


def row(level: str, takes: Callable[[str, str], bool]) -> str:
    """The line of a level in one of the tables."""
    around = AROUND.get(level, "Dense({})")
    cells = (cell(LEVELS[level], around.format(modifier), takes) for modifier in MODIFIERS.values())
    return f"| `{level}` | {' | '.join(cells)} |"


def cell(form: str, around: str, takes: Callable[[str, str], bool]) -> str:
    """The relations for which a level, in what is around it, takes two reads, or two updates."""
    whole = around.format(form)
    if not legal(whole) or (takes is merged and not legal(f"Merge(dev, {whole})")):
        return "refused"
    kinds = [kind for kind in PAIRS if kind != "sibling" or rank_of(form)]
    found = [kind for kind in kinds if all(takes(whole, word) for word in words(kind, rank_of(whole)))]
    return "all" if found == kinds else ", ".join(found) or "–"


if __name__ == "__main__":
    rewrite(PAGE, {"modifiers": "\n".join(tables())})
