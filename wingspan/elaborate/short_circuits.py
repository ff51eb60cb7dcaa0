"""Short-circuit scalars: the loops that end once no update changes a scalar any more. Ours, not the paper's.

`found = ShortCircuitScalar(false)` is a Scalar whose updates may be left out where they would change nothing. A serial
loop ends early if all that its body does, apart from what is local to an iteration, is to update such scalars, each by
an operator that has a value which it keeps (`algebra.absorbing`), and all of them hold such values::

    for i = _                                    any       found[] |= A[i]
        found[] |= A[i]                          all       every[] &= A[i] > 0
    end                                          first     first[] <<choose(0)>>= A[i]

The result is the same as without, but for faults of iterations that are left out. Tasks may not share such a scalar, so
reading it before an iteration takes part in no race.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from wingspan.base.errors import Mistakes, ProgramError
from wingspan.lang import algebra, ir
from wingspan.lang.terms import declared_tensors
from wingspan.levels import Tower


def settle_short_circuits(
    body: ir.Statement, short: Collection[str], towers: Mapping[str, Tower], mistakes: Mistakes
) -> ir.Statement:
    """The program with `absorbed` in the loops that may end early. A mistake where tasks share one of these scalars.

    `short` are the tensors that are defined as short-circuit scalars.
    """
    return _ShortCircuits(towers.keys() & short, towers, mistakes).block(body, frozenset()) if short else body


class _ShortCircuits:
    """A walk over the program; `bound` are the variables that scopes around a statement bind."""

    def __init__(self, short: Collection[str], towers: Mapping[str, Tower], mistakes: Mistakes) -> None:
        self.short, self.towers, self.mistakes = short, towers, mistakes

    def block(self, s: ir.Statement, bound: frozenset[str]) -> ir.Statement:
        """A scope."""
        out: list[ir.Statement] = []
        for each in s.statements if isinstance(s, ir.Block) else (s,):
            out.append(self.statement(each, bound))
            bound |= {each.name} if isinstance(each, ir.Set) else frozenset()
        return ir.Block(tuple(out), span=s.span) if isinstance(s, ir.Block) else out[0]

    def statement(self, s: ir.Statement, bound: frozenset[str]) -> ir.Statement:
        match s:
            case ir.If(condition=condition, body=body):
                return ir.If(condition, self.block(body, bound), span=s.span)
            case ir.For(index=index, range=r, body=body):
                if isinstance(r, ir.Parallel):
                    self.require_own(body)
                absorbed = () if isinstance(r, ir.Parallel) else self.absorbing_scalars(body, bound)
                return ir.For(index, r, self.block(body, bound), absorbed, span=s.span)
        return s

    def absorbing_scalars(self, body: ir.Statement, bound: frozenset[str]) -> tuple[ir.Absorbing, ...]:
        """The scalars that end a loop with this body; none if it does more than update such scalars."""
        found: dict[str, ir.Absorbing | None] = {}
        local = declared_tensors(body)
        for node in body.walk():
            match node:
                case ir.Assert():
                    return ()
                case ir.Set(name=name) if name in bound:
                    return ()
                case ir.Assign(access=ir.Access(fiber=ir.Fiber(tensor=T)), op=op) if T not in local:
                    known = algebra.absorbing(T, op, self.towers[T].kind) if T in self.short else None
                    if known is None or found.setdefault(T, known) != known:
                        return ()
        return tuple(a for a in found.values() if a is not None)

    def require_own(self, body: ir.Statement) -> None:
        """Note a mistake if tasks that run a body update a short-circuit scalar in common."""
        local = declared_tensors(body)
        for access, updated in ir.accesses(body):
            T = access.fiber.tensor
            if updated and T in self.short and T not in local:
                message = f"{T} is a ShortCircuitScalar, and tasks of a parallel loop around this would update it"
                fix = f"declare {T} inside of the parallel loop, or define it otherwise: {T} = Scalar(…)"
                self.mistakes.note(ProgramError(message, access.span, fix=fix), T)
