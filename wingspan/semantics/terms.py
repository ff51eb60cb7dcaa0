"""Programs as terms: which fibers a loop unfurls, and accesses rewritten."""

from __future__ import annotations

from collections.abc import Callable

from wingspan.lang import ir
from wingspan.lang.ir import Access, Assign, Expression, Fiber, Index, Literal, Statement, accesses


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


def written_once(body: Statement) -> frozenset[str]:
    """The tensors no cell of which is written twice in a phase, whatever the inputs.

    They are declared, never thawed, and one assignment updates them: every loop between the declaration and it is one
    over a subscript of the assignment, or has a single iteration.
    """
    updates = [access.fiber.tensor for access, updated in accesses(body) if updated]
    thawed = {node.tensor for node in body.walk() if isinstance(node, ir.Thaw)}
    candidates = {T for T in updates if updates.count(T) == 1} - thawed
    return frozenset(T for T in candidates if _visits_once(body, T, None))


def _visits_once(s: Statement, T: str, loops: tuple[str, ...] | None) -> bool:
    """Whether the loops since T was declared (None: it is not) are T's subscripts; True if T is not assigned."""
    match s:
        case ir.Block(statements=statements):
            for each in statements:
                loops = () if isinstance(each, ir.Declare) and each.tensor == T else loops
                if not _visits_once(each, T, loops):
                    return False
        case ir.If(body=body):
            return _visits_once(body, T, loops)
        case ir.For(index=index, range=r, body=body):
            single = isinstance(r, ir.Range) and r.start == r.stop
            return _visits_once(body, T, loops if loops is None or single else (*loops, index))
        case Assign(access=access) if access.fiber.tensor == T:
            return loops is not None and {Index(index) for index in loops} <= set(access.subscripts)
    return True
