"""State that the printed functions of a plan share: names, registers, and places where a run may fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.compiled.borrowing import borrowed_inputs, zero_based
from wingspan.compiled.headers import OWN_CODE
from wingspan.compiled.nests import nests
from wingspan.compiled.registers import Names, in_declaration_order, mentions, useful
from wingspan.compiled.sites import Site
from wingspan.plan.ir import Expandable, Par, Plan, Reg, Stmt, walk
from wingspan.plan.kernels import Intersection
from wingspan.plan.passes.hoist_bounds_checks import full_capacity
from wingspan.plan.uses import accesses, registers, rewrite


@dataclass
class Printing:
    """State that the functions of one plan share while it is printed. Plans of one file share their names, too."""

    plan: Plan
    racy: bool = False
    names: Names = field(default_factory=Names)
    results_from_zero: bool = False
    """whether indices of results count from 0, as in SciPy's arrays"""
    functions: list[str] = field(default_factory=list)
    sites: dict[Site, int] = field(default_factory=dict)
    cell_names: dict[tuple[Reg, int], str] = field(default_factory=dict)
    room_names: dict[tuple[Reg, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = replace(self.plan, body=_expand(self.plan.body))
        self.borrowed = frozenset() if self.racy else borrowed_inputs(self.plan)
        self.zero_based = frozenset() if self.racy else zero_based(self.plan, self.results_from_zero)
        roots = {g.tensor: g for g in reversed(self.plan.groups) if g.parent is None}
        self.useful = useful(self.plan) | sizes(self.plan.body)
        self.roots = {reg: roots[name] for name, reg in self.plan.roots if reg in self.useful}
        self.parameters = {reg: k for k, (_, reg) in enumerate(self.plan.parameters) if reg in self.useful}
        ends = {reg for e in self.plan.ends for reg in registers(e)} | self.roots.keys() | self.parameters.keys()
        every = mentions(self.plan.body)

        def share(s: Stmt, body: tuple[Stmt, ...]) -> set[Reg]:
            return mentions(body).keys() & ((every - mentions((s,))).keys() | ends)

        self.apart = {
            id(s): in_declaration_order((share(s, s.body) & self.useful | sizes(s.body) | set(s.joined)) - {s.task})
            for s in walk(self.plan.body)
            if isinstance(s, Par)
        }
        self.apart |= {
            id(s): in_declaration_order(share(s, (s,)) & self.useful | sizes((s,))) for s in nests(self.plan.body)
        }
        """the registers that each parallel region, and each nest of loops, shares with what is around it"""

    def site(self, span: Span | None, message: str, types: str = "", statement: Stmt | None = None) -> int:
        """The number of a place where the run may fail, with a message about values of these types: see session.h."""
        return self.sites.setdefault(Site(span, message, types, statement), len(self.sites))


def sizes(body: Iterable[Stmt]) -> set[Reg]:
    """The registers with the numbers of cells of the buffers that are written somewhere in a block."""
    written = {ref.buffer for s in walk(tuple(body)) for ref, how in accesses(s) if how == "write"}
    return {reg for b in written if (most := full_capacity(b)) is not None for reg in registers(most)}


def _expand(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Expand the statements of a block, except those that C has code of its own for."""

    def change(s: Stmt) -> tuple[Stmt, ...] | None:
        match s:
            case Intersection():
                return _expand((s.by_pairs(),))
            case Expandable() if type(s) not in OWN_CODE:
                return _expand(s.expand())
        return None

    return rewrite(body, change)
