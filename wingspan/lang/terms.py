"""Programs as terms: which fibers a loop unfurls, and accesses rewritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from wingspan.lang import ir
from wingspan.lang.ir import Access, Assign, Expression, Fiber, Index, Permissive, Plus, Statement, accesses


def unfurled_fibers(body: Statement, index: str) -> dict[Fiber, bool]:
    """The fibers whose last subscript is the index, in the order of the text, each with whether it is updated."""
    found: dict[Fiber, bool] = {}
    for access, updated in accesses(body):
        if access.subscripts and access.subscripts[-1] == Index(index):
            found.setdefault(replace(access.fiber, span=access.span), updated)
    return found


def declared_tensors(s: Statement) -> frozenset[str]:
    """The tensors that s declares."""
    return frozenset(node.tensor for node in s.walk() if isinstance(node, ir.Declare))


def through_view(s: Statement, index: str, shift: Callable[[Expression], Hashable]) -> Statement:
    """s with every access(F, j…, i + e) through a view of F, by the index alone; `shift` gives what e stands for."""
    if not any([access.subscripts and _enters(access.subscripts[-1], index) for access, _ in accesses(s)]):
        return s

    def change(node: ir.Node) -> ir.Node:
        if not (isinstance(node, Access) and node.subscripts and _enters(node.subscripts[-1], index)):
            return node
        *inner, last = node.subscripts
        e = last.subscript if isinstance(last, Permissive) else last
        by = shift(e.by) if isinstance(e, Plus) else 0
        view = replace(node.fiber, by=by, open=isinstance(last, Permissive))
        return Access(view, (*inner, Index(index, span=last.span)), span=node.span)

    changed: Statement = s.map(change)
    return changed


def _enters(e: Expression, index: str) -> bool:
    """Whether the loop over an index enters a view of a fiber for a subscript."""
    inner = e.subscript if isinstance(e, Permissive) else e
    return (isinstance(inner, Plus) and inner.index == index) or (isinstance(e, Permissive) and inner == Index(index))


def mentions(s: ir.Node, F: Fiber) -> bool:
    """Whether an access to F is left in s."""
    return any([access.fiber == F for access, _ in accesses(s)])


def tensors(s: Statement) -> tuple[str, ...]:
    """The tensors that s accesses, declares, freezes or thaws, in the order of the text."""
    names = [
        node.tensor for node in s.walk() if isinstance(node, Fiber | ir.Declare | ir.Freeze | ir.Thaw | ir.Checkout)
    ]
    return tuple(dict.fromkeys(names))


def replace_access(s: Statement, F: Fiber, index: str, by: Fiber | Expression) -> Statement:
    """s[access(F, j…, i) ↦ by]: a fiber takes over the subscripts j…, a value takes the whole place."""
    last = Index(index)

    def change(node: ir.Node) -> ir.Node:
        if not mentions(node, F):
            return node
        made: ir.Node = node.map_children(change)
        if not isinstance(made, Access) or made.fiber != F or made.subscripts[-1:] != (last,):
            return made
        if isinstance(by, Fiber):
            return Access(by, made.subscripts[:-1], span=made.span)
        return replace(by, span=made.span)

    return change(s)  # type: ignore[return-value]


def replace_fiber(s: Statement, F: Fiber, by: Expression) -> Statement:
    """s with all accesses to F and below replaced by a value."""

    def change(node: ir.Node) -> ir.Node:
        return replace(by, span=node.span) if isinstance(node, Access) and node.fiber == F else node

    changed: Statement = s.map(change)
    return changed


def written_once(body: Statement) -> frozenset[str]:
    """The tensors no cell of which is written twice in a phase, whatever the inputs.

    They are declared, never thawed, nothing reads them in update mode, and one assignment updates them: every loop
    between the declaration and it is one over a subscript of the assignment, or has a single iteration.
    """
    updates = Counter(access.fiber.tensor for access, updated in accesses(body) if updated)
    thawed = {node.tensor for node in body.walk() if isinstance(node, ir.Thaw)}
    once = {T for T, number in updates.items() if number == 1} - thawed - read_while_updated(body)
    return frozenset(once.difference(_visited_often(body, (), {})))


def _visited_often(s: Statement, loops: tuple[str, ...], declared: dict[str, int]) -> Iterator[str]:
    """The tensors that an assignment may update twice at one place.

    `loops` are those around s with several iterations; `declared`, how many of them are around a declaration.
    """
    match s:
        case ir.Block(statements=statements):
            around: dict[str, int | None] = {}
            for each in statements:
                if isinstance(each, ir.Declare):
                    around.setdefault(each.tensor, declared.get(each.tensor))
                    declared[each.tensor] = len(loops)
                yield from _visited_often(each, loops, declared)
            for T, outer in around.items():
                declared.pop(T)
                if outer is not None:
                    declared[T] = outer
        case ir.If(body=body):
            yield from _visited_often(body, loops, declared)
        case ir.For(index=index, range=r, body=body):
            single = isinstance(r, ir.Range) and r.start == r.stop
            yield from _visited_often(body, loops if single else (*loops, index), declared)
        case Assign(access=access):
            T = access.fiber.tensor
            if T not in declared or not {Index(index) for index in loops[declared[T] :]} <= set(access.subscripts):
                yield T


def read_while_updated(body: Statement) -> frozenset[str]:
    """The tensors that a program with explicit lifecycles reads in update mode."""
    found: set[str] = set()
    _collect_reads(body, set(), found)
    return frozenset(found)


def _collect_reads(s: Statement, updating: set[str], found: set[str]) -> None:
    """Add the tensors that s reads in update mode; `updating` are those in update mode, which s changes."""
    match s:
        case ir.Block(statements=statements):
            for each in statements:
                _collect_reads(each, updating, found)
        case ir.Declare(tensor=T) | ir.Thaw(tensor=T):
            updating.add(T)
        case ir.Freeze(tensor=T):
            updating.discard(T)
        case ir.For(body=body) | ir.If(body=body):
            found |= {access.fiber.tensor for access in own_reads(s)} & updating
            _collect_reads(body, updating, found)
        case _:
            found |= {access.fiber.tensor for access in own_reads(s)} & updating


def own_reads(s: Statement) -> tuple[Access, ...]:
    """The accesses by which s reads elements, in the order of the text, without those of statements inside of it."""
    parts: tuple[ir.Node, ...] = ()
    match s:
        case Assign(access=access, value=value):
            parts = (*access.subscripts, value)
        case ir.Set(value=value) | ir.Declare(init=value):
            parts = (value,)
        case ir.If(condition=condition) | ir.Assert(condition=condition):
            parts = (condition,)
        case ir.For(range=r):
            parts = (r,)
    return tuple(access for part in parts for access, _ in accesses(part))


def updated_by_several(body: Statement) -> frozenset[str]:
    """The tensors that tasks of a parallel loop may update and have not declared: a race may spoil their order."""
    return frozenset(_updated_below(body, 0, {}))


def _updated_below(s: Statement, loops: int, declared: dict[str, int]) -> Iterator[str]:
    """Tensors updated below more parallel loops than their declaration; `loops` are around the statement."""
    match s:
        case ir.Block(statements=statements):
            inner = dict(declared)
            for each in statements:
                if isinstance(each, ir.Declare) and inner.setdefault(each.tensor, loops) != loops:
                    yield each.tensor
                yield from _updated_below(each, loops, inner)
        case ir.If(body=body):
            yield from _updated_below(body, loops, declared)
        case ir.For(range=r, body=body):
            yield from _updated_below(body, loops + isinstance(r, ir.Parallel), declared)
        case Assign(access=access):
            if declared.get(access.fiber.tensor, 0) != loops:
                yield access.fiber.tensor
