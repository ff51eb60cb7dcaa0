"""Lifecycles: freeze and thaw where a program leaves them out, and the operator of each phase.

"Levels may only change modes in the scope in which they are declared" (section 4.1): a tensor is frozen before the
first statement of that scope that reads it after an update, else at the scope's end; a readable tensor is thawed before
the first statement that updates it. A phase has one operator: before a statement that updates by another one, the
tensor is frozen and thawed, which is ours, not the paper's. Inputs belong to the outermost scope.

A statement that both reads and updates a tensor reads it in update mode. That is ours, too, and for formats that are
`readable_while_updated` only; with any other it is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from wingspan.base.errors import Mark, Mistakes, ProgramError, Span
from wingspan.elaborate.parameters import did_you_mean
from wingspan.elaborate.updates import as_update, join_sums, operators_of, with_updates
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.levels import Tower, usual


def insert_lifecycles(
    body: ir.Statement,
    inputs: Iterable[str],
    towers: Mapping[str, Tower],
    written: ir.Node,
    mistakes: Mistakes,
) -> ir.Statement:
    """The program with every change of mode explicit. It is a mistake if one would be needed in an inner scope.

    `written` is the program in the words of its author, which remedies use.
    """
    known = tuple(inputs)
    return _insert_phases(body, known, towers, mistakes, lambda T: _as_update(T, body, known, towers, written))


Remedy = Callable[[str], str | None]
"""A fix, if one is known, for a tensor that one statement reads and updates."""


def _insert_phases(
    body: ir.Statement, inputs: Iterable[str], towers: Mapping[str, Tower], mistakes: Mistakes, remedy: Remedy
) -> ir.Statement:
    return _PhaseScope(None, dict.fromkeys(inputs, "read"), towers, mistakes, remedy).run(body)


def _as_update(
    T: str, body: ir.Statement, inputs: Iterable[str], towers: Mapping[str, Tower], written: ir.Node
) -> str | None:
    """`write c[i] += 1`, if with that this mistake is gone and no other one is there."""

    def messages(changed: ir.Statement) -> set[str]:
        trial = Mistakes()
        _insert_phases(changed, inputs, towers, trial, lambda _: None)
        return {error.message for error in trial.errors}

    if not messages(join_sums(with_updates(body, T), inputs)) <= messages(body) - {_read_and_updated(T)}:
        return None
    assigns = (n for n in written.walk() if isinstance(n, ir.Assign) and n.access.fiber.tensor == T)
    return "write " + "; ".join(dict.fromkeys(show(made) for n in assigns if (made := as_update(n))))


def _read_and_updated(T: str) -> str:
    return f"{T} is read and updated in one statement of the scope that declares it"


def outputs_of(body: ir.Statement, inputs: Iterable[str], tree: ir.Program, mistakes: Mistakes) -> tuple[str, ...]:
    """The tensors of the outermost scope that are updated or returned. It is a mistake to return anything else."""
    declared = [s.tensor for s in _flat(body) if isinstance(s, ir.Declare)]
    updated = {access.fiber.tensor for access, updating in ir.accesses(body) if updating} | set(declared)
    alive = (*inputs, *declared)
    for name in tree.returns:
        if name not in alive:
            inside = any(isinstance(s, ir.Declare) and s.tensor == name for s in body.walk())
            fix = f"declare {name} outside of all blocks" if inside else did_you_mean(name, alive)
            message = f"return {name}: there is no tensor {name} in the outermost scope"
            error = ProgramError(message, tree.span, fix=fix or f"define and declare {name}, or leave it out")
            mistakes.note(error, name)
    return tuple(dict.fromkeys(name for name in alive if name in updated or name in tree.returns))


def _flat(s: ir.Statement) -> tuple[ir.Statement, ...]:
    return s.statements if isinstance(s, ir.Block) else (s,)


class _PhaseScope:
    """One scope: the one around it, and the modes of its own tensors."""

    def __init__(
        self,
        around: _PhaseScope | None,
        own: dict[str, str],
        towers: Mapping[str, Tower],
        mistakes: Mistakes,
        remedy: Remedy,
    ) -> None:
        self.around, self.own, self.towers, self.mistakes, self.remedy = around, own, towers, mistakes, remedy
        self.order = {T: k for k, T in enumerate(own)}
        """in which order the scope's own tensors come into it"""
        self.places: dict[str, Span | None] = {}
        """the declarations of the scope's own tensors"""
        self.operators: dict[str, set[ir.Operator]] = {}
        """by what the scope's own tensors have been updated in the phase that goes on"""
        self.out: list[ir.Statement] = []

    def outside(self, T: str) -> bool:
        """Whether a tensor is visible from outside."""
        return self.around is not None and (T in self.around.own or self.around.outside(T))

    def run(self, body: ir.Statement) -> ir.Statement:
        for s in _flat(body):
            self.statement(s)
        self.out += [ir.Freeze(T, span=self.places.get(T)) for T, mode in self.own.items() if mode == "update"]
        return ir.seq(*_with_operators(self.out, self.own, self.mistakes))

    def statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Declare(tensor=T):
                if T in self.own or self.outside(T):
                    error = ProgramError(
                        f"{T} is declared while it is declared already", s.span, marks=_marks(self.places.get(T)),
                        fix=f"leave this one out, declare {T} in an inner scope only, or define a second tensor",
                    )  # fmt: skip
                    self.mistakes.note(error, T, spoils=[T])
                self.own[T], self.places[T] = "update", s.span
                self.order.setdefault(T, len(self.order))
            case ir.Freeze(tensor=T):
                with self.mistakes.collecting(T, spoils=[T]):
                    self.by_hand(s, T, "freeze", "update", "read")
            case ir.Thaw(tensor=T):
                with self.mistakes.collecting(T, spoils=[T]):
                    self.by_hand(s, T, "thaw", "read", "update")
            case _:
                self.prepare(s)
                s = self.run_nested(s)
        self.out.append(s)

    def by_hand(self, s: ir.Statement, T: str, verb: str, before: str, after: str) -> None:
        if T not in self.own:
            why = f"{T} is declared in another scope" if self.outside(T) else f"{T} is not declared here"
            raise ProgramError(f"{verb}({T}): {why}", s.span, fix=f"{verb} it in the scope that declares it")
        if self.own[T] != before:
            raise ProgramError(f"{verb}({T}): it is in {self.own[T]} mode already", s.span, fix="leave it out")
        self.own[T] = after
        self.operators.pop(T, None)

    def prepare(self, s: ir.Statement) -> None:
        """Bring the scope's own tensors into the modes that a statement needs."""
        inner = {n.tensor for n in s.walk() if isinstance(n, ir.Declare)}
        phases = operators_of(s)
        reads: dict[str, ir.Access] = {}
        updates: dict[str, ir.Access] = {}
        for access, updated in ir.accesses(s):
            T = access.fiber.tensor
            (updates if updated else reads).setdefault(T, access)
            if T not in self.own and not self.outside(T) and T not in inner:
                error = ProgramError(
                    f"{T} is used where it is not declared", access.span, fix=f"declare it before: {T} .= 0"
                )
                self.mistakes.note(error, T, spoils=[T])
        for T in sorted(self.own.keys() & (reads.keys() | updates.keys()), key=self.order.__getitem__):
            at_once = T in reads and T in updates
            if at_once and not self.is_readable(T):
                fix = self.remedy(T) or self.other_format(T)
                marks = _marks(updates[T].span)
                self.mistakes.note(ProgramError(_read_and_updated(T), reads[T].span, marks=marks, fix=fix), T)
            if T in reads and not at_once and self.own[T] == "update":
                self.change(T, "read", reads[T].span)
            if T in updates:
                span, operators = updates[T].span, phases[T]
                if self.own[T] == "update" and self.operators.get(T, operators) != operators:
                    self.change(T, "read", span)
                if self.own[T] == "read":
                    self.change(T, "update", span)
                self.operators[T] = operators

    def is_readable(self, T: str) -> bool:
        """Whether statements may read the tensor while they update it. One without a format is a mistake by itself."""
        return T not in self.towers or self.towers[T].readable_while_updated

    def other_format(self, T: str) -> str:
        """The fix for a tensor of this format that a statement reads while it updates it."""
        tower = self.towers[T]
        dense = usual.dense(tower.rank, tower.fill, tower.width)
        return f"define {T} = Tensor({dense}), which may be read while it is updated; or update a second tensor"

    def change(self, T: str, mode: str, span: Span | None) -> None:
        self.out.append(ir.Freeze(T, span=span) if mode == "read" else ir.Thaw(T, span=span))
        self.own[T] = mode

    def run_nested(self, s: ir.Statement) -> ir.Statement:
        match s:
            case ir.For(index=index, range=r, body=body):
                inner = self.inner().run(body)
                return ir.For(index, r, inner, s.absorbed, span=s.span)
            case ir.If(condition=condition, body=body):
                return ir.If(condition, self.inner().run(body), span=s.span)
        return s

    def inner(self) -> _PhaseScope:
        """A scope inside of this one."""
        return _PhaseScope(self, {}, self.towers, self.mistakes, self.remedy)


def _marks(span: Span | None) -> tuple[Mark, ...]:
    return () if span is None else (Mark(span),)


def _with_operators(statements: list[ir.Statement], own: Collection[str], mistakes: Mistakes) -> list[ir.Statement]:
    """The statements of a scope with the operator of each phase in its declare, thaw and freeze."""
    out = list(statements)
    phases: dict[str, tuple[int, list[ir.Assign]]] = {}
    for k, s in enumerate(statements):
        match s:
            case ir.Declare(tensor=T) | ir.Thaw(tensor=T):
                phases[T] = k, []
            case ir.Freeze(tensor=T) if T in own and T in phases:
                start, updates = phases[T]
                op = _operator(T, updates, mistakes)
                for at in (start, k):
                    phase = out[at]
                    assert isinstance(phase, ir.Declare | ir.Thaw | ir.Freeze)
                    out[at] = replace(phase, op=op)
        for node in s.walk():
            if isinstance(node, ir.Assign) and node.access.fiber.tensor in phases:
                phases[node.access.fiber.tensor][1].append(node)
    return out


def _operator(T: str, updates: list[ir.Assign], mistakes: Mistakes) -> ir.Operator:
    """The operator of a tensor's phase with these updates, `=` if there are none; two are a mistake."""
    for update in updates[1:]:
        if update.op != updates[0].op:
            error = ProgramError(
                f"{T} is updated by {updates[0].op} and by {update.op} in one statement of the scope that declares it",
                update.span, marks=_marks(updates[0].span), fix="write a statement for each, such as a loop of its own",
            )  # fmt: skip
            mistakes.note(error, T, spoils=[T])
    return updates[0].op if updates else "="
