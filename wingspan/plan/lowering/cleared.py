"""Workspaces that were just declared and not updated since are all fill: what only reads them is worked out.

`filled` asks what a body leaves to do where a fiber that it reads is all fill. If the body sums that fiber in a
workspace and reads this afterwards, nothing is left, once it is known that the workspace holds zeros::

    w .= 0                                  w .= 0
    for j = 1:n; w[j] += 0.0; end     →     for j = 1:n; w[j] += 0.0; end      →     nothing
    for j = 1:n; A[j] += w[j]; end          for j = 1:n; A[j] += 0.0; end

So a loop around it visits the children of the fiber only. A tensor that a block declares and nobody accesses is left
out: no other block can see it, since an inner block may not declare what an outer one has declared.

An expression is worked out only if evaluating it could not have faulted: subscripts stay within their axes by the
ranges of their loops, and there is no arithmetic that may overflow or divide. So a plan faults where the rules do. An
update of nothing is left out only if it leaves no trace in the levels that it goes to, as in Dense ones, or if the
rules leave it out, since the workspace is sparse. So a plan leaves the same cells, workspaces apart, by fewer writes.

MTTKRP with a workspace for each fiber (examples/mttkrp_rows.ws) took 20 times as long when every index had a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from wingspan.elaborate import Elaborated
from wingspan.errors import Fault
from wingspan.lang import algebra, ir
from wingspan.levels import Storage

Known = Mapping[str, ir.Literal]
"""The tensors that are all fill, and their fill values."""

NUMBERS = {"int", "float"}


class Cleared:
    """Works out what parts of a bound program read of workspaces that they have just cleared."""

    def __init__(self, bound: Elaborated) -> None:
        self.bound = bound
        self.extents = {e for shape in bound.extents.values() for e in shape}
        self.ranges: dict[str, set[ir.Range]] = {}
        for node in bound.body.walk():
            if isinstance(node, ir.For):
                r = node.range.range if isinstance(node.range, ir.Parallel) else node.range
                assert isinstance(r, ir.Range)
                self.ranges.setdefault(node.index, set()).add(r)

    def without(self, s: ir.Statement, droppable: Callable[[ir.Assign], bool]) -> ir.Statement:
        """The body of a loop, or a statement, without what it reads of such workspaces; `droppable`: see `simplify`."""
        if not any(isinstance(node, ir.Declare) for node in s.walk()):
            return s
        return self._settled(s, {}, droppable)

    def _settled(self, s: ir.Statement, known: Known, droppable: Callable[[ir.Assign], bool]) -> ir.Statement:
        match s:
            case ir.Block(statements=statements):
                return ir.seq(*_used(list(self._block(statements, dict(known), droppable))))
            case ir.For(index=index, range=r, body=body):
                changing = _updated(body)
                still = {T: fill for T, fill in known.items() if T not in changing}
                inner = self._settled(body, still, droppable)
                if isinstance(inner, ir.Skip) and all(map(self._runs, self.ranges[index])):
                    return ir.SKIP
                return s if isinstance(inner, ir.Skip) else ir.For(index, r, inner, s.absorbed, span=s.span)
            case ir.If(condition=condition, body=body):
                test, inner = self._replaced(condition, known), self._settled(body, known, droppable)
                if test is not condition and self._kind(test) == "bool":
                    return algebra.simplify(ir.If(test, inner, span=s.span), droppable)
                return ir.If(condition, inner, span=s.span)
            case ir.Assign(value=value):
                read = self._replaced(value, known)
                if read is not value and self._kind(s.access) is not None and self._kind(read) in NUMBERS:
                    made = algebra.simplify(replace(s, value=read), droppable)
                    return s if isinstance(made, ir.Skip) and not self._idle(s, known) else made
        return s

    def _idle(self, s: ir.Assign, known: Known) -> bool:
        """Whether an update of nothing leaves no trace: there is nothing to note, or the rules do not reach it."""
        levels = self.bound.towers[s.access.fiber.tensor].levels
        if algebra.algebra_of(s.op).identity is not None and all(
            level.lookup for level in levels if isinstance(level, Storage)
        ):
            return True
        read = {access.fiber.tensor for access, _ in ir.accesses(s.value)} & known.keys()
        found = (self.bound.towers[T].levels for T in read)
        return all(_sparse([level for level in levels if isinstance(level, Storage)]) for levels in found)

    def _block(
        self, statements: tuple[ir.Statement, ...], known: dict[str, ir.Literal], droppable: Callable[[ir.Assign], bool]
    ) -> Iterator[ir.Statement]:
        """The statements of a block; `known` changes as they run."""
        for each in statements:
            made = self._settled(each, known, droppable)
            for T in _updated(made):
                known.pop(T, None)
            if isinstance(made, ir.Declare) and isinstance(made.init, ir.Literal):
                try:
                    tower = self.bound.towers[made.tensor]
                    value = tower.width.rounded(algebra.convert(algebra.exact(made.init.value), tower.kind))
                    known[made.tensor] = ir.Literal(value)
                except Fault:
                    pass
            yield made

    def _replaced(self, e: ir.Expression, known: Known) -> ir.Expression:
        """The expression with what it reads of such tensors as literals, if all these subscripts are in range."""

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.Access) and node.fiber.tensor in known and self._kind(node) is not None:
                return replace(known[node.fiber.tensor], span=node.span)
            return node

        changed: ir.Expression = e.map(change)
        return changed

    def _kind(self, e: ir.Expression) -> str | None:
        """The kind of an expression that cannot fault; None if it might."""
        match e:
            case ir.Literal(kind=kind):
                return kind
            case ir.Access(fiber=F, subscripts=subscripts) if F.by == 0:
                inside = map(self._within, subscripts, self.bound.extents[F.tensor])
                return self.bound.towers[F.tensor].kind if all(inside) else None
            case ir.Call(op=op, args=args):
                kinds = {self._kind(a) for a in args}
                if not kinds <= NUMBERS:
                    return None
                if op in ("<", "<=", ">", ">=", "==", "!="):
                    return "bool"
                whole = op in ("min", "max") or (op == "*" and any(algebra.is_literal(a, 0) for a in args))
                if "float" in kinds and op in ("+", "-", "*", "min", "max"):
                    return "float"
                return "int" if whole else None
        return None

    def _within(self, subscript: ir.Expression, extent: ir.Expression) -> bool:
        """Whether a subscript stays in an axis, by the ranges of all loops that have its name."""
        return isinstance(subscript, ir.Index) and all(
            self._runs(r) and (r.stop == extent or _at_most(r.stop, extent)) for r in self.ranges[subscript.name]
        )

    def _runs(self, r: ir.Range) -> bool:
        """Whether a range has plain ends, and begins where axes do, or later."""
        ends = isinstance(r.stop, ir.Literal) or r.stop in self.extents
        return ends and isinstance(r.start, ir.Literal) and isinstance(r.start.value, int) and r.start.value >= 1


def _sparse(levels: list[Storage]) -> bool:
    """Whether there is nothing to visit in levels that are all fill; a scalar is always read."""
    return bool(levels) and not any(level.lookup for level in levels)


def _at_most(e: ir.Expression, extent: ir.Expression) -> bool:
    return isinstance(e, ir.Literal) and isinstance(extent, ir.Literal) and e.value <= extent.value


def _updated(s: ir.Statement) -> set[str]:
    """The tensors that a statement updates."""
    return {access.fiber.tensor for access, updated in ir.accesses(s) if updated}


def _used(statements: list[ir.Statement]) -> Iterator[ir.Statement]:
    """The statements of a block without the phases of tensors that it declares for nothing."""
    declared = {s.tensor for s in statements if isinstance(s, ir.Declare) and isinstance(s.init, ir.Literal)}
    idle = declared - {access.fiber.tensor for s in statements for access, _ in ir.accesses(s)}
    for s in statements:
        if not (isinstance(s, ir.Declare | ir.Freeze | ir.Thaw) and s.tensor in idle):
            yield s
