"""Expressions about a program that are evaluated in its states and results: `c[3] == 2`, `all(C[i] >= 0)`.

The reference evaluates them, over the elements of tensors and the names of the root task.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from wingspan import reference
from wingspan.base.errors import InputError, Mistakes, WingspanError, abridge
from wingspan.base.libraries import np
from wingspan.elaborate import Elaborated
from wingspan.elaborate.kinds import settle_kinds
from wingspan.elaborate.missing import may_be_missing, settle_missing
from wingspan.lang import ir
from wingspan.lang.numbers import axes, subscripts
from wingspan.lang.parser import parse

NAME = "it"
FIX = "write one expression, such as c[3] + 1"

QUANTIFIERS = {name: ir.Function(name, ("e",), ir.Variable("e")) for name in ("all", "any")}
"""all(e) and any(e), by name: e for all indices, or for some. They are functions to the parser."""
JOINS = {"all": ("&&", True), "any": ("||", False)}
"""The operator that joins the values of a quantifier, and the value if there are none."""


class StateExpression:
    """An expression about a program. InputError if it is none, or is about a tensor that the program lacks.

    A quantifier binds the names that are subscripts by themselves in it, except for those that a quantifier around it
    binds, and those that occur only in quantifiers inside of it. A name runs over the axis that it is a subscript of.

    Attributes:
        text: as it was written.
        names: the tensors and the variables that it reads.
    """

    def __init__(self, text: str, program: Elaborated, verb: str = "watch") -> None:
        self.text, self._towers, self._refusal = text, program.towers, f"cannot {verb} {abridge(text)}"
        expression = self._parse()
        self._require_fitting(expression)
        self.expression = self._expand_quantifiers(expression)
        self.tensors = frozenset(node.fiber.tensor for node in self.expression.walk() if isinstance(node, ir.Access))
        variables = (node.name for node in self.expression.walk() if isinstance(node, (ir.Variable, ir.Index)))
        self.names = self.tensors.union(variables)

    def value(self, elements: Mapping[str, np.ndarray], variables: Mapping[str, ir.Value]) -> ir.Value:
        """Its value where its tensors have these elements. Fault or InputError if it has none."""
        towers = {name: self._towers[name] for name in self.tensors}
        bound = (ir.Set(name, ir.Literal(value)) for name, value in variables.items() if name in self.names)
        body = ir.Block((*bound, ir.Set(NAME, self.expression)))
        found = reference.evaluate(
            settle_kinds(body, towers, Mistakes())[0],  # booleans count as numbers; what is wrong, the reference says
            {name: elements[name] for name in self.tensors},
            {name: tower.shape for name, tower in towers.items()},
            {name: tower.kind for name, tower in towers.items()},
        )
        return found.variables[NAME]

    def _refuse(self, reason: str, fix: str = FIX) -> InputError:
        return InputError(f"{self._refusal}: {reason}", fix=fix)

    def _parse(self) -> ir.Expression:
        mistakes = Mistakes()
        try:
            parsed = parse(f"{NAME} = ({self.text})", self.text, tuple(QUANTIFIERS.values()))
            body, doubts = settle_missing(parsed.body, mistakes)
            for _, doubtful in doubts.values():
                mistakes.note(may_be_missing(doubtful))
            mistakes.raise_all()
        except WingspanError as error:
            raise self._refuse(error.message) from None
        match body:
            case ir.Block((*definitions, ir.Set(name=name, value=expression))) if name == NAME:
                if len(definitions) == len(QUANTIFIERS):
                    return expression
        raise self._refuse("it is no expression")

    def _require_fitting(self, expression: ir.Expression) -> None:
        """InputError if an access is to no tensor of the program, or has too many subscripts or too few."""
        for access in expression.walk():
            if isinstance(access, ir.Access):
                name, written = access.fiber.tensor, len(access.subscripts)
                tower = self._towers.get(name)
                if tower is None:
                    fix = f"use {', '.join(self._towers)}" if self._towers else "the program has no tensor"
                    raise self._refuse(f"there is no tensor {name}", fix)
                if tower.rank != written:
                    raise self._refuse(
                        f"{name} has {axes(tower.rank)} but {subscripts(written)}", "write a subscript for each axis"
                    )

    # ----------------------------------------------------------------------------------------------------- quantifiers

    def _expand_quantifiers(self, e: ir.Node, bound: frozenset[str] = frozenset()) -> ir.Expression:
        """The expression with its instances in place of each quantifier; names that are bound around it stay."""
        if not _is_quantifier(e):
            return e.map_children(lambda child: self._expand_quantifiers(child, bound))  # type: ignore[no-any-return]
        assert isinstance(e, ir.Call)
        (inner,) = e.args
        own = _names_outside_quantifiers(inner) - bound
        ranges = {name: self._extent(name, found) for name, found in self._axes(inner).items() if name in own}
        inner = self._expand_quantifiers(inner, bound.union(ranges))
        operator, empty = JOINS[str(e.op)]
        instances = [
            _instance(inner, dict(zip(ranges, point, strict=True)))
            for point in product(*(range(1, extent + 1) for extent in ranges.values()))
        ]
        if not instances:
            return ir.Literal(empty, span=e.span)
        return instances[0] if len(instances) == 1 else ir.Call(operator, tuple(instances), span=e.span)

    def _axes(self, e: ir.Node) -> dict[str, set[int]]:
        """The names that are subscripts by themselves, each with the extents of its axes."""
        found: dict[str, set[int]] = {}
        for access in e.walk():
            if isinstance(access, ir.Access):
                shape = self._towers[access.fiber.tensor].shape
                for subscript, extent in zip(access.subscripts, shape, strict=True):
                    bare = subscript.subscript if isinstance(subscript, ir.Permissive) else subscript
                    if isinstance(bare, ir.Variable):
                        found.setdefault(bare.name, set()).add(extent)
        return found

    def _extent(self, name: str, found: set[int]) -> int:
        if len(found) > 1:
            extents = " and ".join(map(str, sorted(found)))
            raise self._refuse(f"{name} is a subscript of axes of extents {extents}", "use a name for each of them")
        return next(iter(found))


def _is_quantifier(e: ir.Node) -> bool:
    return isinstance(e, ir.Call) and any(e.op is quantifier for quantifier in QUANTIFIERS.values())


def _names_outside_quantifiers(e: ir.Node) -> frozenset[str]:
    if isinstance(e, ir.Variable):
        return frozenset({e.name})
    if _is_quantifier(e):
        return frozenset()
    return frozenset().union(*map(_names_outside_quantifiers, e.children()))


def _instance(e: ir.Expression, values: Mapping[str, int]) -> ir.Expression:
    """The expression with integers in place of names."""

    def put(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Variable) and node.name in values:
            return ir.Literal(values[node.name], span=node.span)
        return node

    return e.map(put)  # type: ignore[no-any-return]
