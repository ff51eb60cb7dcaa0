"""Idle iterations: a decision diagram over the inputs that store nothing there.

Whether an update falls away at an index depends on which of its sparse inputs have no element there. A binary decision
diagram (Bryant 1986, Graph-based algorithms for Boolean function manipulation) asks for one input after the other. Once
an input is known to be there, its value is unknown, and so is what is made of it, but for an operator that has an
annihilator: a call becomes a literal only if all its arguments are, or one is the annihilator, and a choice only if
both of its values are. So a sum or a product of n inputs takes n questions, though there are 2ⁿ sets of inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wingspan.base.budget import Budget
from wingspan.choices.operands import Operand
from wingspan.choices.reading import UNKNOWN, fill_missing, update, within_axes
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import algebra, ir

BUSY, IDLE = 0, 1
"""The numbers of the two ends of a diagram."""

QUICK = 4
"""So many nodes of a tree are simplified in one step."""


class IdleDiagram:
    """For which inputs without an element an einsum does nothing.

    A node is the name of an input, and the numbers of the nodes to go on with if it is absent and if it is present;
    these come before it. Where the budget ends, something is taken to be done.
    """

    def __init__(self, einsum: Einsum, operands: Mapping[str, Operand], budget: Budget) -> None:
        self.operands, self.budget, self.init = operands, budget, algebra.exact(einsum.init.value)
        self.nodes: list[tuple[str, int, int]] = [("", BUSY, BUSY), ("", IDLE, IDLE)]
        self._numbers: dict[ir.Statement | tuple[str, int, int], int] = {}
        self._idle: dict[frozenset[str], bool] = {}
        self.root = self._node(update(einsum, UNKNOWN, within_axes(einsum.expression)))

    def idle(self, missing: frozenset[str]) -> bool:
        """Whether nothing is done where just these inputs store nothing."""
        if missing not in self._idle:
            at = self.root
            while at > IDLE:
                name, absent, present = self.nodes[at]
                at = absent if name in missing else present
            self._idle[missing] = at == IDLE
        return self._idle[missing]

    def busy(self, there: Mapping[str, float]) -> float:
        """The probability of any work, if each input is there independently of the others, with its probability."""
        likely = [1.0, 0.0]
        for name, absent, present in self.nodes[2:]:
            p = there[name]
            likely.append(p * likely[present] + (1 - p) * likely[absent])
        return likely[self.root]

    def _node(self, s: ir.Statement) -> int:
        """The number of the node for an update, some of whose inputs have been asked for."""
        left = algebra.simplify(s, lambda assign: algebra.is_literal(assign.value, self.init))
        if isinstance(left, ir.Skip):
            return IDLE
        left = self._abstract(left)
        if left not in self._numbers:
            self._numbers[left] = self._question(left)
        return self._numbers[left]

    def _question(self, s: ir.Statement) -> int:
        """The number of the node that asks for the first input that is left."""
        name = next((name for access, _ in ir.accesses(s) if self._open(name := access.fiber.tensor)), None)
        if name is None or not self.budget.spend(1 + sum(1 for _ in s.walk()) // QUICK):
            return BUSY
        absent = self._node(fill_missing(s, self.operands, (name,)))
        present = self._node(s.map(lambda node: UNKNOWN if _reads(node, name) else node))
        if absent == present:
            return absent
        node = name, absent, present
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def _open(self, name: str) -> bool:
        """Whether it is to be asked for."""
        return name in self.operands and self.operands[name].sparse

    def _abstract(self, s: ir.Statement) -> ir.Statement:
        """A simplified update with one unknown value in place of each expression that cannot become a literal."""

        def change(node: Any) -> Any:
            match node:
                case ir.Access(fiber=ir.Fiber(tensor=name)) if not self._open(name):
                    return UNKNOWN
                case ir.Call(op=op, args=args):
                    lost = any(map(_is_unknown, args)) and algebra.algebra_of(op).annihilator is None
                    return UNKNOWN if lost or not any(map(_is_open, args)) else node
                case ir.Choice(then=then, otherwise=otherwise):
                    lost = _is_unknown(then) or _is_unknown(otherwise) or not (_is_open(then) or _is_open(otherwise))
                    return UNKNOWN if lost else replace(node, condition=UNKNOWN)
            return node

        changed: ir.Statement = s.map(change)
        return changed


def _is_unknown(e: ir.Expression) -> bool:
    """Whether an abstract expression is no literal, whatever is absent."""
    return e == UNKNOWN or isinstance(e, ir.Index)


def _is_open(e: ir.Expression) -> bool:
    """Whether an abstract expression reads an input that is still to be asked for."""
    return not _is_unknown(e) and not isinstance(e, ir.Literal)


def _reads(node: Any, name: str) -> bool:
    return isinstance(node, ir.Access) and node.fiber.tensor == name
