"""The builder of plans: registers with names of their own, and statements in nested blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeVar

from wingspan.base.dataclass import dataclass
from wingspan.lang.devices import Device, Schedule
from wingspan.lang.registers import INSTANCE, INT, RegisterType
from wingspan.plan.fold import op
from wingspan.plan.ir import AllocateInstance, Child, Const, Expr, Group, If, Origin, Reg, Set, Stmt
from wingspan.plan.ranges import Range, range_of
from wingspan.plan.uses import registers

_T = TypeVar("_T")


@dataclass
class PlanBuilder:
    """Collects statements. `indices` are the loop indices in force, which reports name."""

    out: list[Stmt] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    indices: dict[str, Expr] = field(default_factory=dict)
    ends: dict[str, Expr] = field(default_factory=dict)
    """for indices that stand for several, from themselves on: the last of these"""
    names: dict[str, int] = field(default_factory=dict)
    instances: dict[tuple[str, Expr], Reg] = field(default_factory=dict)
    """children looked up before in this block or around it"""
    facts: set[Expr] = field(default_factory=set)
    """conditions that hold here"""
    watched: dict[str, list[Expr]] = field(default_factory=dict)
    """for each register the conditions that mention it"""
    ranges: dict[str, Range] = field(default_factory=dict)
    """for registers whether they are set once or more the integers that they are among"""
    parameters: dict[str, Reg] = field(default_factory=dict)
    """the registers with what is left open"""

    def fresh(self, hint: str, type_: RegisterType = INT) -> Reg:
        """A register with a name that no other has."""
        count = self.names[hint] = self.names.get(hint, 0) + 1
        return Reg(hint if count == 1 else f"{hint}.{count}", type_)

    def parameter(self, name: str, among: Range) -> Reg:
        """A register, set from the start, with what is called so; the integers that it is among."""
        reg = self.parameters[name] = self.fresh(name)
        self.ranges[reg.name] = among
        return reg

    def threads(self, device: Device) -> Reg | Const:
        """The number of threads of a device."""
        return self.parameters[device.number] if device.open else Const(device.nthreads)

    def chunk(self, schedule: Schedule) -> Reg | Const:
        """The number of iterations of a chunk."""
        return self.parameters[schedule.number] if schedule.number else Const(schedule.step)

    def emit(self, s: Stmt) -> None:
        """The next statement."""
        self.out.append(s)

    def set(self, reg: Reg, value: Expr, origin: Origin) -> None:
        """reg = value, unless it is that already."""
        if reg != value:
            self.forget(reg)
            self.out.append(Set(reg, value, origin))

    def keep(self, hint: str, value: Expr, origin: Origin) -> Reg | Const:
        """The value as a register that nobody changes, or as a constant."""
        if isinstance(value, Const) or (isinstance(value, Reg) and value in self.parameters.values()):
            return value
        reg = self.fresh(hint, value.type)
        if value.type.is_integer:
            self.ranges[reg.name] = range_of(value, self.ranges)
        self.out.append(Set(reg, value, origin))
        return reg

    def capture(self, build: Callable[[], _T]) -> tuple[_T, tuple[Stmt, ...]]:
        """Call `build`; return its result and the statements that it emits, apart from the others."""
        saved, self.out = self.out, []
        known, held = dict(self.instances), set(self.facts)
        result = build()
        emitted, self.out, self.instances = tuple(self.out), saved, known
        self.facts &= held
        return result, emitted

    def block(self, build: Callable[[], object]) -> tuple[Stmt, ...]:
        """The statements that `build` emits, apart from the others."""
        return self.capture(build)[1]

    def when(self, condition: Expr, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None) -> None:
        """Emit one of two blocks under a condition, which is decided now if it is a constant."""
        if isinstance(condition, Const):
            (then if condition.value else otherwise)()
            return
        before = set(self.facts)
        yes = self.block(then)
        after, self.facts = self.facts, before
        no = self.block(otherwise)
        self.facts &= after
        if yes:
            self.out.append(If(condition, yes, no))
        elif no:
            self.out.append(If(op("not", condition), no))

    def op(self, name: str, *args: Expr) -> Expr:
        """A private operator, worked out as far as the facts go."""
        made = op(name, *args)
        return Const(True) if made in self.facts else made

    def assume(self, *conditions: Expr) -> None:
        """These conditions hold until a register of theirs is set or this block ends."""
        for fact in conditions:
            self.facts.add(fact)
            for reg in registers(fact):
                self.watched.setdefault(reg.name, []).append(fact)

    def forget(self, reg: Reg) -> None:
        """The register is about to change."""
        self.facts.difference_update(self.watched.get(reg.name, ()))

    def child(self, group: Group, parent: Reg, key: Expr, origin: Origin, *, settled: bool) -> Reg:
        """The instance with a key; if the key is settled, one that was looked up before will do."""
        known = self.instances.get((parent.name, key))
        if known is not None:
            return known
        reg = self.fresh(f"{group.tensor}⟨{group.tag}⟩", INSTANCE)
        self.out.append(Child(reg, group.id, parent, key, origin))
        if settled:
            self.instances[parent.name, key] = reg
        return reg

    def own(self, group: Group, origin: Origin) -> Reg:
        """An instance that is the task's own."""
        reg = self.fresh(f"own {group.tensor}", INSTANCE)
        self.out.append(AllocateInstance(reg, group.id, origin))
        return reg

    def group(self, make: Callable[[int], Group]) -> Group:
        """A group with the next number."""
        made = make(len(self.groups))
        self.groups.append(made)
        return made

    def origin(self, span: object, operation: str) -> Origin:
        """The origin of an operation here, on behalf of the source at a span."""
        return Origin(span, operation, tuple(self.indices.items()), ends=tuple(self.ends.items()))  # type: ignore[arg-type]


def under(origin: Origin, prefix: str) -> Origin:
    """The origin, with a prefix for messages of faults."""
    return replace(origin, prefix=prefix)
