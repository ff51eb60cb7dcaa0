"""States that differ only in which of several siblings does what: one of them represents all.

The names of tasks have no meaning of their own. If the names of two siblings are exchanged throughout a state, whatever
could happen still can, with the names exchanged. So equally many paths lead on, to the same results, and to the same
faults, races and deadlocks up to names. Machines define what remains of a state without names (`Symmetric`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

from wingspan.base.errors import InternalError
from wingspan.explorer.machine import AnonymousState


def canonical_form(shared: Hashable, root: AnonymousState) -> Hashable:
    """Equal exactly for states that differ only in the names of siblings."""
    return shared, _canonical_task(root)


def _canonical_task(task: AnonymousState) -> Hashable:
    """Equal exactly for tasks that are the same up to names, including all tasks below them."""
    return task.own, frozenset(Counter(map(_canonical_task, task.below)).items())


def names(one: AnonymousState, other: AnonymousState) -> dict[str, str]:
    """The names of a state's tasks in another state that differs only in names.

    If siblings are equal, the first one gets the name of the first one there.
    """
    return dict(_pairs("", one, "", other))


def _pairs(path: str, one: AnonymousState, other_path: str, other: AnonymousState) -> Iterator[tuple[str, str]]:
    yield path, other_path
    places: dict[Hashable, list[int]] = defaultdict(list)
    for q, task in reversed(list(enumerate(other.below, start=1))):
        places[_canonical_task(task)].append(q)
    for q, task in enumerate(one.below, start=1):
        if not places[_canonical_task(task)]:
            raise InternalError(f"no task is what task {_child(path, q)} is in a state that is the same but for names")
        k = places[_canonical_task(task)].pop()
        yield from _pairs(_child(path, q), task, _child(other_path, k), other.below[k - 1])


def _child(path: str, q: int) -> str:
    return f"{path}.{q}" if path else str(q)


def distinguish_task(root: AnonymousState, path: str) -> AnonymousState:
    """The same with the task of a path, if there is one, distinguished from all others."""
    if not path:
        return AnonymousState((root.own, True), root.below)
    first, _, rest = path.partition(".")
    q = int(first)
    if q > len(root.below):
        return root
    return AnonymousState(root.own, (*root.below[: q - 1], distinguish_task(root.below[q - 1], rest), *root.below[q:]))
