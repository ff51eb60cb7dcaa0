"""Programs as terms: which fibers a loop unfurls, and accesses rewritten."""

from __future__ import annotations

from collections.abc import Callable

from wingspan.lang import algebra, ir
from wingspan.lang.ir import Access, Assign, Expression, Fiber, Index, Literal, Statement, accesses
from wingspan.levels import Tower


def unfurled(body: Statement, index: str) -> dict[Fiber, bool]:
    """The fibers whose last subscript is the index, in the order of the text, each with whether it is updated."""
    found: dict[Fiber, bool] = {}
    for access, updated in accesses(body):
        if access.subscripts and access.subscripts[-1] == Index(index):
            F = access.fiber
            found.setdefault(Fiber(F.tensor, F.level, F.position, F.instance, span=access.span), updated)
    return found


def mentions(s: Statement, F: Fiber) -> bool:
    """Whether an access to F is left in s."""
    return any(access.fiber == F for access, _ in accesses(s))


def tensors(s: Statement) -> tuple[str, ...]:
    """The tensors that s accesses, declares, freezes or thaws, in the order of the text."""
    names = [
        node.tensor for node in s.walk() if isinstance(node, Fiber | ir.Declare | ir.Freeze | ir.Thaw | ir.Checkout)
    ]
    return tuple(dict.fromkeys(names))


def replace_access(s: Statement, F: Fiber, index: str, by: Fiber | Literal) -> Statement:
    """s[access(F, j…, i) ↦ by]: a fiber takes over the subscripts j…, a literal takes the whole place."""
    last = Index(index)

    def access(a: Access) -> Access | Literal:
        if a.fiber != F or not a.subscripts or a.subscripts[-1] != last:
            return a
        if isinstance(by, Literal):
            return Literal(by.value, span=a.span)
        return Access(by, a.subscripts[:-1], span=a.span)

    return _rewrite(s, access)


def _rewrite(s: Statement, access: Callable[[Access], Access | Literal]) -> Statement:
    match s:
        case Assign(access=target, op=op, value=value):
            left, right = access(target), _rewrite_expression(value, access)
            if left is target and right is value:
                return s
            assert isinstance(left, Access)
            return Assign(left, op, right, span=s.span)
        case ir.Set(name=name, value=value):
            return ir.Set(name, _rewrite_expression(value, access), span=s.span)
        case ir.Block(statements=statements):
            return ir.Block(tuple(_rewrite(each, access) for each in statements))
        case ir.If(condition=condition, body=body):
            return ir.If(_rewrite_expression(condition, access), _rewrite(body, access), span=s.span)
        case ir.For(index=index, range=r, body=body):
            return ir.For(index, _rewrite_range(r, access), _rewrite(body, access), span=s.span)
    return s


def _rewrite_range(r: ir.RangeLike, access: Callable[[Access], Access | Literal]) -> ir.RangeLike:
    match r:
        case ir.Range(start=start, stop=stop):
            return ir.Range(_rewrite_expression(start, access), _rewrite_expression(stop, access), span=r.span)
        case ir.Parallel(range=ir.Range() as inner, device=device, schedule=schedule):
            changed = _rewrite_range(inner, access)
            assert isinstance(changed, ir.Range)
            return ir.Parallel(changed, device, schedule, span=r.span)
    return r


def _rewrite_expression(e: Expression, access: Callable[[Access], Access | Literal]) -> Expression:
    match e:
        case Access():
            return access(e)
        case ir.Call(op=op, args=args):
            changed = tuple(_rewrite_expression(a, access) for a in args)
            return e if all(a is b for a, b in zip(args, changed, strict=True)) else ir.Call(op, changed, span=e.span)
    return e


def without_fill_writes(body: Statement, index: str, about: Callable[[str], tuple[Tower, ir.Value]]) -> Statement:
    """`body` of the loop over `index`, simplified; overwriting by the fill value goes where it cannot be missed.

    It cannot if no other statement could have written the cell in this phase: the leaf's level is visited once and in
    order, the innermost loop is the one over it, and no other assignment to the tensor stands there.
    """

    def droppable(a: Assign, inner: str, whole: Statement) -> bool:
        tower, fill = about(a.access.fiber.tensor)
        F = a.access.fiber
        alone = sum(1 for access, updated in accesses(whole) if updated and access.fiber.tensor == F.tensor) == 1
        return (
            alone
            and a.access.subscripts[:1] == (Index(inner),)
            and tower.levels[tower.depths[2]].once
            and algebra.is_literal(a.value, fill)
        )

    return algebra.simplify(body, droppable, index, body)
