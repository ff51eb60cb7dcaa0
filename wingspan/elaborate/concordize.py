"""Concordization: loops so that every access's subscripts are bare indices, in the order in which the loops nest.

"It is always possible to convert a non-concordant program to a concordant one by inserting single-iteration loops"
(section 4.1). They stand directly around the statement, in the order root to leaf.

Two things are ours, not the paper's. A subscript `i + k` of what is read needs no loop: see `shifts`; but if it is read
in update mode, it is as for an update. And where a
subscript with ~ may leave its axis, an access with a fill value known beforehand goes on as fill, if that is what
`coalesce` takes there; otherwise the subscripts are compared with the ends of their axes::

    coalesce(A[~(i + 1)], z)  →  A[~(i + 1)]                             if z is A's fill value
                              →  ifelse(i <= n - 1, A[~(i + 1)], z)      if not
    ismissing(A[~(i + 1)])    →  i > n - 1

And an update under ~ happens where its subscripts lie in their axes::

    A[~(i + 1)] += e          →  if i <= n - 1; A[i + 1] += e; end
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import count

from wingspan.elaborate import shifts
from wingspan.lang import branches, ir

Extents = Mapping[str, tuple[ir.Expression, ...]]


def concordize(
    body: ir.Statement, used: frozenset[str], extents: Extents, fills: Mapping[str, ir.Literal]
) -> ir.Statement:
    """The program made concordant; `used` are the names that new indices must avoid.

    `extents` are those of each tensor; `fills` the fill values of those tensors for which they are known.
    """
    fresh = (name for k in count(1) if (name := f"s{k}") not in used)
    return _Concordizer(fresh, extents, fills).block(body, (), {}, frozenset())


class _Concordizer:
    """A walk over the program; new indices are taken from `fresh`. `ranges` are those of the loops around."""

    def __init__(self, fresh: Iterator[str], extents: Extents, fills: Mapping[str, ir.Literal]) -> None:
        self.fresh, self.extents, self.fills = fresh, extents, fills
        self.ranges: dict[str, ir.Range] = {}
        self.updating: set[str] = set()
        """the tensors in update mode, as far as the walk has come"""

    def block(
        self, s: ir.Statement, loops: tuple[str, ...], depths: Mapping[str, int], bound: frozenset[str]
    ) -> ir.Statement:
        """A scope: `loops` are those around it, `depths` how many stand around each tensor's declaration, `bound` the
        variables that an enclosing scope binds.
        """
        out: list[ir.Statement] = []
        for each in s.statements if isinstance(s, ir.Block) else (s,):
            match each:
                case ir.Declare(tensor=T):
                    depths = {**depths, T: len(loops)}
                    self.updating.add(T)
                    out.append(each)
                case ir.Thaw(tensor=T):
                    self.updating.add(T)
                    out.append(each)
                case ir.Freeze(tensor=T):
                    self.updating.discard(T)
                    out.append(each)
                case ir.Set(name=name):
                    out += self.variable(each, loops, depths, bound)
                    bound |= {name}
                case _:
                    out.append(self.statement(each, loops, depths, bound))
        return ir.seq(*out)

    def statement(
        self, s: ir.Statement, loops: tuple[str, ...], depths: Mapping[str, int], bound: frozenset[str]
    ) -> ir.Statement:
        wrap = _Wrap(self, loops, depths)
        match s:
            case ir.Assign(access=access, op=op, value=value):
                there = wrap.lies_inside(access)
                bare = replace(access, subscripts=tuple(map(inside, access.subscripts)))
                target, value = wrap.access(bare), wrap.expression(value)
                update = ir.Assign(target, op, value, span=s.span)
                return wrap.around(update if there == ir.Literal(True) else ir.If(there, update, span=s.span))
            case ir.Assert(condition=condition):
                return wrap.around(ir.Assert(wrap.expression(condition), span=s.span))
            case ir.If(condition=condition, body=body):
                condition = wrap.expression(condition)
                return wrap.around(ir.If(condition, self.block(body, wrap.order, depths, bound), span=s.span))
            case ir.For(index=index, range=r, body=body):
                r = wrap.range(r)
                ends = r.range if isinstance(r, ir.Parallel) else r
                assert isinstance(ends, ir.Range)
                self.ranges[index] = ends
                inner = self.block(body, (*wrap.order, index), depths, bound)
                return wrap.around(ir.For(index, r, inner, s.absorbed, span=s.span))
        return s

    def variable(
        self, s: ir.Set, loops: tuple[str, ...], depths: Mapping[str, int], bound: frozenset[str]
    ) -> list[ir.Statement]:
        """`x = e`: where loops are needed, x is first bound outside of them, unless an enclosing scope binds it."""
        wrap = _Wrap(self, loops, depths)
        value = wrap.expression(s.value)
        wrapped = wrap.around(ir.Set(s.name, value, span=s.span))
        first = [ir.Set(s.name, ir.Literal(0), span=s.span)] if wrap.made and s.name not in bound else []
        return [*first, wrapped]


class _Wrap:
    """The single-iteration loops around one statement, outermost first."""

    def __init__(self, owner: _Concordizer, loops: tuple[str, ...], depths: Mapping[str, int]) -> None:
        self.owner, self.order, self.depths = owner, loops, depths
        self.made: list[tuple[str, ir.Expression]] = []

    def around(self, s: ir.Statement) -> ir.Statement:
        for index, e in reversed(self.made):
            s = ir.For(index, ir.Range(e, e, span=e.span), s, span=e.span)
        return s

    def access(self, a: ir.Access) -> ir.Access:
        """From the root to the leaf, each subscript a bare index of a loop inside the one before, or one shifted.

        In update mode all are bare: a view is of a fiber that is only read.
        """
        last = self.depths.get(a.fiber.tensor, 0) - 1
        updating = a.fiber.tensor in self.owner.updating
        subscripts: list[ir.Expression] = []
        for written in reversed(a.subscripts):
            e, last = self.subscript(inside(written), last, updating)
            view = isinstance(written, ir.Permissive) and not updating
            subscripts.append(ir.Permissive(e, span=written.span) if view else e)
        return ir.Access(a.fiber, tuple(reversed(subscripts)), span=a.span)

    def subscript(self, e: ir.Expression, last: int, updating: bool) -> tuple[ir.Expression, int]:
        """A subscript that a loop inside of loop number `last` enters, and the number of this loop."""
        e = self.expression(e)
        if isinstance(e, ir.Index) and self.order.index(e.name) > last:
            return e, self.order.index(e.name)
        found = None if updating or isinstance(e, ir.Index) else shifts.shift_of(e, self.order, self.owner.ranges)
        if found is not None and self.order.index(found.index) > last:
            return found, self.order.index(found.index)
        return self.loop(e, last)

    def lower_coalesce(self, e: ir.Coalesce) -> ir.Expression:
        """Replace a coalesce by its access, which may read fill outside of its axes, or by a choice."""
        assert isinstance(e.first, ir.Access)
        access, otherwise, ranges = self.access(e.first), self.expression(e.otherwise), self.owner.ranges
        T = access.fiber.tensor
        axes = list(zip(access.subscripts, self.owner.extents[T], strict=True))
        sure = all(isinstance(s, ir.Permissive) or shifts.always(s, n, ranges) for s, n in axes)
        if sure and otherwise == self.owner.fills.get(T):
            return access
        leaves = (isinstance(s, ir.Permissive) for s in reversed(e.first.subscripts))
        tests = self.tests((inside(s), n) for (s, n), may in zip(reversed(axes), leaves, strict=True) if may)
        if not tests:
            return access
        return ir.Choice(reduce(conjunction, tests), access, otherwise, span=e.span)

    def lies_inside(self, a: ir.Access) -> ir.Expression:
        """The condition that the subscripts with ~ of an access lie in their axes."""
        axes = zip(a.subscripts, self.owner.extents[a.fiber.tensor], strict=True)
        found = ((self.subscript(s.subscript, -1, False)[0], n) for s, n in axes if isinstance(s, ir.Permissive))
        tests = self.tests(found)
        return reduce(conjunction, tests) if tests else ir.Literal(True)

    def tests(self, axes: Iterable[tuple[ir.Expression, ir.Expression]]) -> list[ir.Expression]:
        """The conditions, not known to hold, under which subscripts lie in axes of these extents."""
        return [test for e, n in axes for test in shifts.conditions(e, n, self.owner.ranges)]

    def loop(self, e: ir.Expression, last: int) -> tuple[ir.Index, int]:
        """A loop over e:e inside of loop number `last`, one made before if it serves."""
        pure = not any(isinstance(node, ir.Access | ir.Variable) for node in e.walk())
        for index, other in self.made:
            at = self.order.index(index)
            if pure and other == e and at > last:
                return ir.Index(index, span=e.span), at
        index = next(self.owner.fresh)
        self.owner.ranges[index] = ir.Range(e, e)
        self.made.append((index, e))
        self.order = (*self.order, index)
        return ir.Index(index, span=e.span), len(self.order) - 1

    def expression(self, e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Access():
                return self.access(e)
            case ir.Coalesce():
                return self.lower_coalesce(e)
            case ir.Call(op="!", args=(ir.IsMissing(operand=ir.Access() as access),)):
                return self.lies_inside(access)
            case ir.IsMissing(operand=ir.Access() as access):
                return branches.opposite(self.lies_inside(access))
            case ir.Call() | ir.Choice():
                changed: ir.Expression = e.map_children(self.expression)
                return changed
        return e

    def range(self, r: ir.RangeLike) -> ir.RangeLike:
        match r:
            case ir.Range(start=start, stop=stop):
                return ir.Range(self.expression(start), self.expression(stop), span=r.span)
            case ir.Parallel(range=ir.Range() as inner, device=device, schedule=schedule):
                changed = self.range(inner)
                assert isinstance(changed, ir.Range)
                return ir.Parallel(changed, device, schedule, span=r.span)
        return r


def conjunction(p: ir.Expression, q: ir.Expression) -> ir.Expression:
    """The conjunction of two conditions."""
    return ir.Call("&&", (p, q))


def inside(subscript: ir.Expression) -> ir.Expression:
    """A subscript without ~."""
    return subscript.subscript if isinstance(subscript, ir.Permissive) else subscript
