"""Programs that are one sum of products, or the like: what engines for whole expressions need to know of them."""

from __future__ import annotations

from collections.abc import Mapping

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, Span
from wingspan.lang import ir
from wingspan.lang.affine import Affine
from wingspan.lang.operators import PAIRING
from wingspan.lang.printer import show
from wingspan.levels import Tower


@dataclass(frozen=True)
class Einsum:
    """A program that declares one tensor and updates it once, inside of loops over whole axes.

    Parallel loops count as loops. Axes have the names of the indices that run over them, as in `C[i] += A[i, j]`.
    """

    output: str
    axes: tuple[str, ...]
    """of the output, in the order of its subscripts; each index once"""
    op: ir.Operator
    """⊕, as in `ir.Assign`. It is `=` only if every loop runs over an axis of the output."""
    expression: ir.Expression
    """calls, choices, literals, indices, and accesses. Subscripts are bare indices, of which one may come twice, as in
    `A[i, i]`; those of `wingspan.einsum` may be affine, and may leave their axes inside of `coalesce`."""
    init: ir.Literal
    """the declared value of the output"""
    loops: tuple[str, ...]
    """the indices, outermost first"""
    extents: Mapping[str, int]
    """of each index"""
    scattered: tuple[Affine, ...] | None = None
    """the subscripts of the output if these are not `axes`: then `axes` are the indices in them"""

    @property
    def subscripts(self) -> tuple[ir.Expression, ...]:
        """The subscripts of the output."""
        if self.scattered is None:
            return tuple(map(ir.Index, self.axes))
        return tuple(each.expression() for each in self.scattered)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the output; its subscripts are no larger."""
        if self.scattered is None:
            return tuple(self.extents[index] for index in self.axes)
        empty = {index for index, extent in self.extents.items() if extent == 0}
        return tuple(0 if empty & each.factors.keys() else each.ends(self.extents)[1] for each in self.scattered)

    @property
    def accesses(self) -> tuple[ir.Access, ...]:
        """The accesses in the expression, in reading order."""
        return tuple(access for access, _ in ir.accesses(self.expression))

    @property
    def update(self) -> ir.Assign:
        """The statement inside of the loops."""
        output = ir.Access(ir.Fiber(self.output, len(self.subscripts) + 1), self.subscripts)
        return ir.Assign(output, self.op, self.expression)

    def __str__(self) -> str:
        return show(self.update)


def einsum_of(plain: ir.Statement, towers: Mapping[str, Tower]) -> Einsum:
    """The plain program as one update inside of loops. InputError if it is more than that."""
    match plain:
        case ir.Block(statements=(ir.Declare(tensor=output, init=ir.Literal() as init), s)):
            pass
        case _:
            raise _not_an_einsum("it does not consist of a declaration and one update inside of loops", plain.span)
    extents: dict[str, int] = {}
    while isinstance(s, ir.For):
        ends = s.range.range if isinstance(s.range, ir.Parallel) else s.range
        match ends:
            case ir.Range(start=ir.Literal(value=1), stop=ir.Literal(value=int() as extent)) if s.index not in extents:
                extents[s.index] = extent
            case _:
                raise _not_an_einsum(f"the loop over {s.index} is not over a whole axis", s.span)
        s = s.body
    if not isinstance(s, ir.Assign):
        raise _not_an_einsum("there is more than loops around one update", s.span)
    if s.access.fiber.tensor != output:
        raise _not_an_einsum(f"it declares {output} and updates {s.access.fiber.tensor}", s.span)
    require_plain(s)
    for access, _ in ir.accesses(s):
        _require_whole(access, extents, towers[access.fiber.tensor])
    axes = tuple(index.name for index in s.access.subscripts if isinstance(index, ir.Index))
    if len(set(axes)) < len(axes):
        raise _not_an_einsum(f"it updates a diagonal of {output} only", s.span)
    if s.op == "=" and set(axes) != set(extents):
        raise _not_an_einsum(f"it overwrites elements of {output}", s.span)
    return Einsum(output, axes, s.op, s.value, init, tuple(extents), extents)


def require_plain(update: ir.Assign) -> None:
    """InputError if an update has parts that an einsum has not, or reads the output."""
    output, expression = update.access.fiber.tensor, update.value
    if update.op in PAIRING:
        raise _not_an_einsum("it updates pairs", update.span)
    for node in expression.walk():
        match node:
            case ir.Call(op="pair" | "first" | "second"):
                raise _not_an_einsum("it computes with pairs", node.span or expression.span)
            case ir.Access(fiber=ir.Fiber(tensor=name)) if name == output:
                raise _not_an_einsum(f"it reads {output}, which it updates", node.span)
            case ir.Call() | ir.Choice() | ir.Literal() | ir.Index() | ir.Access() | ir.Fiber():
                pass
            case _:
                raise _not_an_einsum(f"it reads {show(node)}", node.span or expression.span)


def _require_whole(access: ir.Access, extents: Mapping[str, int], tower: Tower) -> None:
    for subscript, extent in zip(access.subscripts, tower.shape, strict=True):
        if not isinstance(subscript, ir.Index):
            raise _not_an_einsum(
                f"the subscript {show(subscript)} is not an index alone", subscript.span or access.span
            )
        if extents[subscript.name] != extent:
            what = f"{subscript.name} runs over {extents[subscript.name]} of {extent} indices of {access.fiber.tensor}"
            raise _not_an_einsum(what, subscript.span or access.span)


def _not_an_einsum(why: str, span: Span | None) -> InputError:
    return InputError(f"the program is more than one einsum: {why}", span, fix="use an engine that takes any program")
