"""Workspaces that were just declared and not updated since are all fill: what only reads them is worked out.

`LoweringState.simplify_for_fill` asks what a body leaves to do where a fiber that it reads is all fill. If the body
sums that fiber in a workspace and reads this afterwards, nothing is left, once it is known that the workspace holds
zeros::

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

from wingspan.base.errors import Fault
from wingspan.lang import algebra, ir
from wingspan.levels import Storage
from wingspan.plan.lowering.effects import Effects

Known = Mapping[str, ir.Literal]
"""The tensors that are all fill, and their fill values."""


class FillPropagation:
    """Works out what parts of a bound program read of workspaces that they have just cleared."""

    def __init__(self, effects: Effects) -> None:
        self.effects, self.purity, self.towers = effects, effects.purity, effects.towers

    def without(self, s: ir.Statement, droppable: Callable[[ir.Assign], bool]) -> ir.Statement:
        """The body of a loop, or a statement, without what it reads of such workspaces; `droppable`: see `simplify`."""
        if not any(isinstance(node, ir.Declare) for node in s.walk()):
            return s
        return self._simplify(s, {}, droppable)

    def _simplify(self, s: ir.Statement, known: Known, droppable: Callable[[ir.Assign], bool]) -> ir.Statement:
        match s:
            case ir.Block(statements=statements):
                return ir.seq(*_without_dead_phases(list(self._block(statements, dict(known), droppable))))
            case ir.For(index=index, range=r, body=body):
                changing = _updated_tensors(body)
                still = {T: fill for T, fill in known.items() if T not in changing}
                inner = self._simplify(body, still, droppable)
                if isinstance(inner, ir.Skip) and all(map(self.purity.runs, self.purity.loops[index])):
                    return ir.SKIP
                return s if isinstance(inner, ir.Skip) else ir.For(index, r, inner, s.absorbed, span=s.span)
            case ir.If(condition=condition, body=body):
                test, inner = self._substitute_fill(condition, known), self._simplify(body, known, droppable)
                if test is not condition and self.purity.is_boolean(test):
                    made = algebra.simplify(ir.If(test, inner, span=s.span), droppable)
                    if not (isinstance(made, ir.Skip) and any(map(self.effects.visit_acts, _updated_tensors(s)))):
                        return made
                return ir.If(condition, inner, span=s.span)
            case ir.Assign(value=value):
                read = self._substitute_fill(value, known)
                if read is not value and self.purity.kind(s.access) is not None and self.purity.is_number(read):
                    made = algebra.simplify(replace(s, value=read), droppable)
                    return s if isinstance(made, ir.Skip) and not self._idle(s, known) else made
        return s

    def _idle(self, s: ir.Assign, known: Known) -> bool:
        """Whether an update of nothing leaves no trace: nothing comes of it, or the rules do not reach it; nor of
        opening the fibers above.
        """
        T = s.access.fiber.tensor
        if self.effects.visit_acts(T):
            return False
        if algebra.algebra_of(s.op).identity is not None and not self.effects.update_acts(T, s.op):
            return True
        read = {access.fiber.tensor for access, _ in ir.accesses(s.value)} & known.keys()
        return all(_sparse(self.towers[T].storage) for T in read)

    def _block(
        self, statements: tuple[ir.Statement, ...], known: dict[str, ir.Literal], droppable: Callable[[ir.Assign], bool]
    ) -> Iterator[ir.Statement]:
        """The statements of a block; `known` changes as they run."""
        for each in statements:
            made = self._simplify(each, known, droppable)
            for T in _updated_tensors(made):
                known.pop(T, None)
            if isinstance(made, ir.Declare) and isinstance(made.init, ir.Literal):
                try:
                    tower = self.towers[made.tensor]
                    value = tower.width.round_to_width(algebra.convert(algebra.exact(made.init.value), tower.kind))
                    known[made.tensor] = ir.Literal(value)
                except Fault:
                    pass
            yield made

    def _substitute_fill(self, e: ir.Expression, known: Known) -> ir.Expression:
        """The expression with what it reads of such tensors as literals, if all these subscripts are in range."""

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.Access) and node.fiber.tensor in known and self.purity.kind(node) is not None:
                return replace(known[node.fiber.tensor], span=node.span)
            return node

        changed: ir.Expression = e.map(change)
        return changed


def _sparse(levels: tuple[Storage, ...]) -> bool:
    """Whether there is nothing to visit in levels that are all fill; a scalar is always read."""
    return bool(levels) and not any(level.lookup for level in levels)


def _updated_tensors(s: ir.Statement) -> set[str]:
    """The tensors that a statement updates."""
    return {access.fiber.tensor for access, updated in ir.accesses(s) if updated}


def _without_dead_phases(statements: list[ir.Statement]) -> Iterator[ir.Statement]:
    """The statements of a block without the phases of tensors that it declares for nothing."""
    declared = {s.tensor for s in statements if isinstance(s, ir.Declare) and isinstance(s.init, ir.Literal)}
    idle = declared - {access.fiber.tensor for s in statements for access, _ in ir.accesses(s)}
    for s in statements:
        if not (isinstance(s, ir.Declare | ir.Freeze | ir.Thaw) and s.tensor in idle):
            yield s
