"""dep_test: the direction vectors in which two accesses depend on each other, by classical tests and by integer sets.

"The result is a direction vector d representing the constraints i_k d_k i′_k, where d_k ∈ {<, =, >, *}" (section 3.2).
Here it is the set of all of them, over the loops that are in the tensor's scope and around both accesses; loops around
one access only are existential. The classical tests come first, from the fewest directions known to all; what they
leave, the integer sets decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wingspan.dependence.classical import Disproof, disprove
from wingspan.dependence.sets import pairs_of, same
from wingspan.dependence.sites import Loop, Site, Use
from wingspan.lang import ir

DIRECTIONS = ("<", "=", ">")
Vector = tuple[str, ...]


def common(one: Site | Use, other: Site | Use) -> int:
    """How many loops are around both."""
    pairs = zip(one.loops, other.loops, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a is not b), min(len(one.loops), len(other.loops)))


def dep_test(one: Site, other: Site, number: int) -> frozenset[Vector]:
    """The direction vectors of the pairs that come to one position at the level with this number; kept with the first.

    No vector: the two are independent. Every tuple of no subscripts is equal to itself.
    """
    known: dict[object, frozenset[Vector]] = one.__dict__.setdefault("_vectors", {})
    if (other, number) not in known:
        known[other, number] = frozenset(_vectors(one, other, number))
    return known[other, number]


def _vectors(one: Site, other: Site, number: int) -> list[Vector]:
    start, stop = one.life.depth, common(one, other)
    pairs = pairs_of(one, other, start)
    at = same(one.position(number), other.position(number))
    found: list[Vector] = []

    def refine(vector: Vector) -> None:
        if classical(one, other, number, vector) is not None:
            return
        if not pairs.some(pairs.all, at, *_told(vector, start)):
            return
        if len(vector) == stop - start:
            found.append(vector)
            return
        for d in DIRECTIONS:
            refine((*vector, d))

    refine(())
    return found


def _told(vector: Vector, start: int) -> Iterable[str]:
    """A vector as constraints on pairs of iterations."""
    return (f"x{start + k} {d} y{start + k}" for k, d in enumerate(vector))


def carries(vectors: Iterable[Vector], p: int) -> bool:
    """Whether loop p carries a dependence: "when d_1…d_p-1 are in {*, =} and d_p is not ="."""
    return any(all(d in "=*" for d in v[:p]) and v[p] != "=" for v in vectors)


def summary(vectors: Iterable[Vector]) -> Vector:
    """One vector for many: * where they differ.

    >>> summary([("=", "<"), ("=", ">")])
    ('=', '*')
    """
    return tuple(ds[0] if len(set(ds)) == 1 else "*" for ds in zip(*vectors, strict=True))


def classical(one: Site, other: Site, number: int, vector: Sequence[str]) -> Disproof | None:
    """Why, by a classical test, no pair in these directions comes to one position; None if none can tell.

    The subscripts are those of the program: what a loop with a single iteration stands for takes its place.
    """
    start, stop = one.life.depth, common(one, other)
    known = {loop.index: "=" for loop in one.loops[:start]}
    for k, loop in enumerate(one.loops[start:stop]):
        known[loop.index] = vector[k] if k < len(vector) else "*"
    f = [written(one, k) for k in one.position(number)]
    g = [written(other, k) for k in other.position(number)]
    told = [(a, b) for a, b in zip(f, g, strict=True) if not _varies(a, one, start) and not _varies(b, other, start)]
    return disprove([a for a, _ in told], [b for _, b in told], known, _bounds(one.loops), _bounds(other.loops))


def _varies(e: ir.Expression, site: Site, start: int) -> bool:
    """Whether an expression has a symbol whose value two iterations may see differently."""
    return any(isinstance(n, ir.Variable) and site.symbols.get(n.name, 0) > start for n in e.walk())


def written(site: Site, k: int) -> ir.Expression:
    """The index of loop k over the indices of loops that the program has, through loops of a single iteration."""
    values = {loop.index: loop.value for loop in site.loops if loop.value is not None}

    def replace(e: ir.Expression) -> ir.Expression:
        made: ir.Expression = e.map(
            lambda n: replace(values[n.name]) if isinstance(n, ir.Index) and n.name in values else n
        )
        return made

    return replace(ir.Index(site.loops[k].index))


def _bounds(loops: tuple[Loop, ...]) -> dict[str, tuple[int | None, int | None]]:
    """The constant bounds of the indices."""
    return {loop.index: (_constant(loop.start), _constant(loop.stop)) for loop in loops}


def _constant(e: ir.Expression | None) -> int | None:
    return e.value if isinstance(e, ir.Literal) and isinstance(e.value, int) else None
