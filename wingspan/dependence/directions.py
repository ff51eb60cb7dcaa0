"""dep_test: the direction vectors in which two accesses depend on each other, by classical tests and by integer sets.

"The result is a direction vector d representing the constraints i_k d_k i′_k, where d_k ∈ {<, =, >, *}" (section 3.2).
Here it is the set of all of them, over the loops that are in the tensor's scope and around both accesses; loops around
one access only are existential. The classical tests come first, from the fewest directions known to all; what they
leave, the integer sets decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.dependence.classical import Disproof, disprove
from wingspan.dependence.relations import Relation, all_of, compares, equal_indices
from wingspan.dependence.sets import pairs_of
from wingspan.dependence.sites import UpdateSite, VariableUse
from wingspan.lang import ir

DIRECTIONS = {"<": "<", "=": "==", ">": ">"}
"""Each direction, and the comparison that it stands for."""

Vector = tuple[str, ...]


def common_loops(one: UpdateSite | VariableUse, other: UpdateSite | VariableUse) -> int:
    """The number of loops around both."""
    pairs = zip(one.loops, other.loops, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a is not b), min(len(one.loops), len(other.loops)))


def dep_test(
    one: UpdateSite, other: UpdateSite, number: int, prefix: Vector = (), size: int | None = None
) -> frozenset[Vector]:
    """The direction vectors of the pairs that reach one position at the level with this number; cached at the first.

    Those that begin with a prefix, and of each as many directions as are asked for. No vector: the two are independent.
    Every tuple of no subscripts is equal to itself.
    """
    known: dict[object, frozenset[Vector]] = one.__dict__.setdefault("_vectors", {})
    key = other, number, prefix, size
    if key not in known:
        known[key] = frozenset(_vectors(one, other, number, prefix, size))
    return known[key]


def _vectors(one: UpdateSite, other: UpdateSite, number: int, prefix: Vector, size: int | None) -> list[Vector]:
    start, stop = one.life.depth, common_loops(one, other)
    pairs = pairs_of(one, other, start)
    at = equal_indices(one.position(number), other.position(number))
    found: list[Vector] = []

    def refine(vector: Vector) -> None:
        if classical(one, other, number, vector) is not None:
            return
        if not pairs.is_feasible(pairs.depths, at & in_directions(vector, start)):
            return
        if len(vector) == (stop - start if size is None else size):
            found.append(vector)
            return
        for d in DIRECTIONS:
            refine((*vector, d))

    refine(prefix)
    return found


def in_directions(vector: Vector, start: int) -> Relation:
    """Condition: the pair has these directions, from loop `start` on (section 3.2: "i_k d_k i′_k")."""
    return all_of(compares(start + k, DIRECTIONS[d]) for k, d in enumerate(vector))


def carries(one: UpdateSite, other: UpdateSite, number: int, p: int) -> bool:
    """Whether loop p carries a dependence at a level: "when d_1…d_p-1 are in {*, =} and d_p is not ="."""
    before = ("=",) * (p - one.life.depth)
    return any(d[-1] != "=" for d in dep_test(one, other, number, before, len(before) + 1))


def classical(one: UpdateSite, other: UpdateSite, number: int, vector: Sequence[str]) -> Disproof | None:
    """The classical disproof that a pair in these directions reaches one position; None if no test applies.

    The subscripts are those of the program: what a loop with a single iteration stands for takes its place.
    """
    start, stop = one.life.depth, common_loops(one, other)
    known = {loop.index: "=" for loop in one.loops[:start]}
    for k, loop in enumerate(one.loops[start:stop]):
        known[loop.index] = vector[k] if k < len(vector) else "*"
    f = [source_subscript(one, k) for k in one.position(number)]
    g = [source_subscript(other, k) for k in other.position(number)]
    subscripts = [
        (a, b)
        for a, b in zip(f, g, strict=True)
        if not _has_private_symbol(a, one, start) and not _has_private_symbol(b, other, start)
    ]
    first, second = ({loop.index: loop.constants for loop in site.loops} for site in (one, other))
    return disprove([a for a, _ in subscripts], [b for _, b in subscripts], known, first, second)


def _has_private_symbol(e: ir.Expression, site: UpdateSite, start: int) -> bool:
    """Whether an expression has a symbol whose value two iterations may see differently."""
    return any(isinstance(n, ir.Variable) and site.symbols.get(n.name, 0) > start for n in e.walk())


def source_subscript(site: UpdateSite, k: int) -> ir.Expression:
    """The index of loop k over the indices of loops that the program has, through loops of a single iteration."""
    values = {loop.index: loop.value for loop in site.loops if loop.value is not None}

    def replace(e: ir.Expression) -> ir.Expression:
        made: ir.Expression = e.map(
            lambda n: replace(values[n.name]) if isinstance(n, ir.Index) and n.name in values else n
        )
        return made

    return replace(ir.Index(site.loops[k].index))
