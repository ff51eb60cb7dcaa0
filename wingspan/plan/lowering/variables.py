"""The variables of a program before it is lowered: which of them tasks share, and what they hold.

Under the rules a variable may hold an integer now and a double then. A plan has one type for each: a variable that is
given both is a double, with a flag beside it that says whether the rules would call it an integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.lang import ir
from wingspan.lang.kinds import KINDS, Kind, promote
from wingspan.lang.operators import OPERATORS
from wingspan.levels import Tower

Binder = tuple[str, Span | None]
"""A variable: its name, and where the statement stands that binds it."""


@dataclass
class Variables:
    """Facts about each variable; `kinds` are those of the values assigned to it."""

    shared: set[Binder] = field(default_factory=set)
    kinds: dict[Binder, set[Kind]] = field(default_factory=dict)

    def kind(self, binder: Binder) -> Kind:
        """The kind of its values: of several kinds, double if one of them is."""
        kinds = self.kinds[binder]
        return next(iter(kinds)) if len(kinds) == 1 else promote(kinds)

    def has_mixed_kinds(self, binder: Binder) -> bool:
        """Whether it holds values of several kinds."""
        return len(self.kinds[binder]) > 1


def variables(body: ir.Statement, towers: Mapping[str, Tower]) -> Variables:
    """The variables of a program."""
    found = Variables()
    while True:
        before = {binder: set(kinds) for binder, kinds in found.kinds.items()}
        _Walk(found, towers).block(body, {}, 0)
        if found.kinds == before:
            return found


class _Walk:
    """One walk in the order of the text; `known` is what each name is bound to, and inside how many parallel loops."""

    def __init__(self, found: Variables, towers: Mapping[str, Tower]) -> None:
        self.found, self.towers = found, towers

    def block(self, s: ir.Statement, known: dict[str, tuple[Binder, int]], region: int) -> None:
        known = dict(known)
        for each in s.statements if isinstance(s, ir.Block) else (s,):
            match each:
                case ir.Set():
                    self.assign(each, known, region)
                case ir.If(body=body):
                    self.block(body, known, region)
                case ir.For(range=r, body=body):
                    self.block(body, known, region + isinstance(r, ir.Parallel))

    def assign(self, s: ir.Set, known: dict[str, tuple[Binder, int]], region: int) -> None:
        binder, home = known.setdefault(s.name, ((s.name, s.span), region))
        if home != region:
            self.found.shared.add(binder)
        kinds = self.found.kinds.setdefault(binder, set())
        if not _opens(s):
            kinds |= self.kinds(s.value, known)

    def kinds(self, e: ir.Expression, known: Mapping[str, tuple[Binder, int]]) -> set[Kind]:
        """The kinds that an expression may give: those of the variable that it copies, or one."""
        if isinstance(e, ir.Variable) and e.name in known:
            return self.found.kinds[known[e.name][0]]
        return {self.kind(e, known)}

    def kind(self, e: ir.Expression, known: Mapping[str, tuple[Binder, int]]) -> Kind:
        """The kind of an expression's value, by the rules of `lang.algebra`."""
        match e:
            case ir.Literal(kind=kind):
                return KINDS[kind]
            case ir.Variable(name=name) if name in known:
                return self.found.kind(known[name][0])
            case ir.Access(fiber=F):
                return self.towers[F.tensor].elements
            case ir.Choice(then=then):
                return self.kind(then, known)
            case ir.Call(op=ir.Function(parameters=parameters, body=body), args=args):
                inside = {x: ((x, None), 0) for x in parameters}
                given = Variables(
                    kinds={(x, None): {self.kind(a, known)} for x, a in zip(parameters, args, strict=True)}
                )
                return _Walk(given, {}).kind(body, inside)
            case ir.Call(op=str(op), args=args):
                gives = OPERATORS[op].gives
                return KINDS[gives] if gives else promote(self.kind(a, known) for a in args)
        return KINDS["int"]


def _opens(s: ir.Set) -> bool:
    """Whether concordization put the statement there, to bind a variable outside of the loops around `x = e`."""
    return isinstance(s.value, ir.Literal) and s.value.span is None and s.value.value == 0
