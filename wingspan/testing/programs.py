"""Random programs that bind without inputs and mostly run without a fault, as text.

Every axis has extent n, or an extent that the loops determine, and subscripts lie in 1:n. Each output has one reduction
operator. In the scope that declares a tensor, a statement either reads or updates it, or does both where positions are
computed. Modifiers may wrap levels; a tensor with gated modifiers is updated where a task of their device binds the
position. Some programs still fault: a computed subscript exceeds an inferred extent, an ordered level is visited out of
order, a lock is taken twice, or an isolated fiber loaded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from hypothesis import strategies as st

from wingspan.base.dataclass import dataclass
from wingspan.testing.choosing import drawn_by
from wingspan.testing.formats import is_readable_while_updated
from wingspan.testing.program_expressions import ExpressionWriter
from wingspan.testing.program_formats import FormatWriter
from wingspan.testing.program_parts import INDICES, DrawnTensor, Options, StatementScope
from wingspan.testing.vocabulary import (
    FILLS,
    FUNCTIONS,
    KEEPING,
    LITERALS,
    NEUTRAL,
    SCHEDULED,
    UPDATES,
    declarations,
)

__all__ = ["Options", "Writer", "programs"]

ORDINARY = Options()


@dataclass
class Writer(FormatWriter, ExpressionWriter):
    """Writes one program."""

    updated: set[str] = field(default_factory=set)
    inferred: set[str] = field(default_factory=set)
    workspaces: list[DrawnTensor] = field(default_factory=list)
    short: list[DrawnTensor] = field(default_factory=list)

    # -- the program

    def program(self) -> str:
        self.n = self.between(self.options.least, self.options.extent)
        inputs = [
            DrawnTensor("A", 2, self.pick(("int", "int", "float"))),
            DrawnTensor("v", 1, "int"),
            DrawnTensor("r", 1, "int"),
        ]
        inputs += [DrawnTensor("m", 1, "bool")] if self.chance(3) else []
        given = [*inputs, *([DrawnTensor("u", 1, "int")] if self.options.guarded else [])]
        outputs = [self.output(name) for name in self.pick(("C", "Cd", "CdS", "dS", "C", "d"))]
        lines = [f"{t.name} .= {self.start(t)}" for t in outputs]
        modes = dict.fromkeys((t.name for t in outputs), "update")
        here = StatementScope()
        for _ in range(self.between(1, self.options.statements)):
            updates = tuple(t for t in outputs if not self.chance(3))
            reads = (*inputs, *(t for t in outputs if t not in updates), *filter(self.is_read_in_place, updates))
            place = replace(here, updates=updates, reads=reads)
            made, here = self.statement(place)
            lines += made
            lines += self.by_hand(outputs, made, modes)
        text = "\n".join(lines)
        head = [
            *declarations(text),
            *self.devices(),
            *map(self.data, given),
            *map(self.definition, (*outputs, *self.workspaces)),
            *(f"{q.name} = ShortCircuitScalar({FILLS[q.kind][0]})" for q in self.short),
        ]
        return "\n".join((*head, *lines, "return " + ", ".join(t.name for t in outputs)))

    def is_read_in_place(self, t: DrawnTensor) -> bool:
        """Whether a statement that updates a tensor may read it, too; decided anew for each statement."""
        return bool(self.options.in_place) and self.chance(2) and not t.gates and is_readable_while_updated(t.form)

    def by_hand(self, outputs: Sequence[DrawnTensor], made: list[str], modes: dict[str, str]) -> list[str]:
        """Freeze or thaw an output by hand where that is allowed."""
        text = "\n".join(made)
        for t in outputs:
            if f"{t.name}[" in text:
                modes[t.name] = "update" if any(line.lstrip().startswith(f"{t.name}[") for line in made) else "read"
        if not self.chance(4):
            return []
        t = self.pick(outputs)
        verb = {"update": "freeze", "read": "thaw"}[modes[t.name]]
        modes[t.name] = {"freeze": "read", "thaw": "update"}[verb]
        return [f"{verb}({t.name})"]

    def devices(self) -> list[str]:
        if not self.options.parallel:
            return []
        threads = (self.pick(("1", "2", "3")) for _ in range(2))
        return [f"dev = cpu(:t, {next(threads)})", f"dev2 = cpu({next(threads)}, dev)"]

    def output(self, name: str) -> DrawnTensor:
        pairs = self.options.pairs and self.chance(self.options.pairs)
        kind = "pair" if pairs else self.pick(("int", "int", "float", "bool"))
        rank = {"C": 2, "d": 1, "S": 0}[name]
        tensor = DrawnTensor(name, rank, kind, self.operator(kind), self.chance(2))
        if self.options.in_place and self.chance(self.options.in_place):
            leaf = f"{self.pick(('Element', 'Element', 'Atomic'))}({self.pick(FILLS[kind])})"
            return replace(tensor, form=f"{'Dense(' * rank}{leaf}{')' * rank}", inferred=False)
        return self.deciding(self.tensor_format(tensor, "dev"))

    def operator(self, kind: str) -> str:
        """An update operator for a tensor of a kind."""
        if kind in FUNCTIONS and self.options.functions and self.chance(self.options.functions):
            return f"<<{self.pick(FUNCTIONS[kind])}>>="
        return self.pick(UPDATES[kind])

    def start(self, t: DrawnTensor) -> str:
        """The value that a tensor is declared with."""
        if "Pattern" in t.form:
            return "false"
        if "Merge(" in t.form and not self.chance(6):
            return NEUTRAL.get(t.op, FILLS[t.kind][0])
        return self.pick(LITERALS[t.kind]) if self.chance(4) else FILLS[t.kind][0]

    def deciding(self, t: DrawnTensor) -> DrawnTensor:
        """Record a tensor if its extents are inferred."""
        if t.inferred:
            self.inferred.add(t.name)
        return t

    def definition(self, t: DrawnTensor) -> str:
        extents = "" if t.inferred and t.name in self.updated else f", {self.n}" * t.rank
        return f"{t.name} = Tensor({t.form}{extents})"

    # -- statements

    def statement(self, here: StatementScope) -> tuple[list[str], StatementScope]:
        """The lines of a statement, and the place of the next one."""
        loops = ["for"] * (12 if here.depth == 0 and self.options.spawning == 1 else 4)
        kinds = ["update", "update", "set", *loops, "if"] if here.depth < self.options.depth else ["update"]
        if self.options.assertions and self.chance(self.options.assertions):
            return [self.assertion(here)], here
        match self.pick(kinds):
            case "for" if self.options.searches and self.chance(self.options.searches):
                return self.search(here)
            case "for":
                return self.loop(here), here
            case "if":
                inner = replace(here, depth=here.depth + 1)
                return [f"if {self.expression(here, 'bool')}", *self.body(inner), "end"], here
            case "update" if (line := self.update(here)) is not None:
                return [line], here
        kind = self.pick(("int", "float", "bool"))
        return self.bound(here, kind, self.expression(here, kind))

    def assertion(self, here: StatementScope) -> str:
        """A statement that three in four times holds for all but large numbers."""
        if self.chance(4):
            return f"assert({self.expression(here, 'bool')})"
        return f"assert({self.expression(here, self.pick(('int', 'float')))} < 100)"

    def bound(self, here: StatementScope, kind: str, value: str) -> tuple[list[str], StatementScope]:
        """The line that gives the variable of a kind a value, and the place of the next statement."""
        name = f"x{kind[0]}"
        variables = here.variables if (name, kind) in here.variables else (*here.variables, (name, kind))
        return [f"{name} = {value}"], replace(here, variables=variables)

    def search(self, here: StatementScope) -> tuple[list[str], StatementScope]:
        """A loop or two that update one short-circuit scalar, which is bound to a variable then."""
        kind = self.pick(("int", "bool"))
        q = DrawnTensor(f"q{len(self.short)}", 0, kind, self.pick(KEEPING[kind]))
        self.short.append(q)
        start = self.start(q) if self.chance(4) else NEUTRAL.get(q.op, FILLS[kind][0])
        lines, inner, ends = [f"{q.name} .= {start}"], here, ["end"]
        for index in INDICES[len(here.indices) : len(here.indices) + self.pick((1, 1, 2))]:
            stop, static = self.range(inner)
            lines.append(f"for {index} = {stop}")
            inner = replace(inner, indices=(*inner.indices, (index, static)), on=(*inner.on, ""))
        ends *= len(lines) - 1
        update = f"{q.name}[] {q.op} {self.expression(inner, kind)}"
        guarded = [f"if {self.expression(inner, 'bool')}", update, "end"] if self.chance(3) else [update]
        made, after = self.bound(here, kind, f"{q.name}[]")
        return [*lines, *guarded, *ends, *made], after

    def body(self, here: StatementScope) -> list[str]:
        lines = []
        w: DrawnTensor | None = None
        if here.depth <= 2 and self.chance(3):
            kind = self.pick(("int", "float"))
            name, rank = f"w{len(self.workspaces)}", self.pick((1, 1, 0))
            inside = {(): "dev", ("dev",): "dev2"}.get(here.around, "")
            w = self.tensor_format(DrawnTensor(name, rank, kind, self.operator(kind), self.chance(3)), inside)
            self.workspaces.append(self.deciding(w))
            lines.append(f"{w.name} .= {self.start(w) if 'Merge(' in w.form else self.pick(LITERALS[kind])}")
        for _ in range(self.between(1, self.options.statements)):
            place = here
            if w is not None:
                reading = self.chance(2)
                place = replace(
                    here, reads=(*here.reads, w) if reading or self.is_read_in_place(w) else here.reads,
                    updates=here.updates if reading else (*here.updates, w, w),
                )  # fmt: skip
            made, after = self.statement(place)
            here = replace(here, variables=after.variables)
            lines += made
        return ["    " + line for line in lines]

    def loop(self, here: StatementScope) -> list[str]:
        index = INDICES[len(here.indices)]
        ends, static = self.range(here)
        header, around = self.domain(here)
        inner = replace(
            here, indices=(*here.indices, (index, static)), on=(*here.on, *(around[-1:] or ("",))),
            around=around, depth=here.depth + 1,
        )  # fmt: skip
        body = self.body(inner)
        if ends == f"1:{self.n}" and self.is_bare(index, "\n".join(body)) and self.chance(2):
            ends = "_"
        return [f"for {index} = {header.replace('RANGE', ends)}", *body, "end"]

    def is_bare(self, index: str, body: str) -> bool:
        """Whether the index stands bare on an axis of an input, and no tensor with inferred extents is near."""
        bare = any(text in body for text in (f"A[{index}, ", f", {index}]", f"v[{index}]", f"r[{index}]"))
        return bare and not any(f"{name}[" in body for name in self.inferred)

    def range(self, here: StatementScope) -> tuple[str, bool]:
        """The ends of a range, and whether they are static."""
        n = self.n
        choices = [(f"1:{n}", True)] * 5 + [(f"2:{n}", True), (f"{n}:1", True), ("1:r[1]", False)]
        for index, static in here.indices:
            choices += [(f"1:{index}", static), (f"{index}:{n}", static), (f"1:r[{index}]", False)]
        return self.pick(choices)

    def domain(self, here: StatementScope) -> tuple[str, tuple[str, ...]]:
        """A range with RANGE in the place of its ends, and the devices around the loop's body."""
        waiting = any(D not in here.around for t in here.updates for _, D in t.gates)
        serial = self.chance(4) if waiting else not self.chance(self.options.spawning)
        if not self.options.parallel or len(here.around) == 2 or serial:
            return "RANGE", here.around
        schedule = self.pick(SCHEDULED)
        device = {(): "dev", ("dev",): "dev2"}.get(here.around, "cpu(2)")
        device = device if not self.chance(8 if waiting else 4) else "cpu(2)"
        if device == "cpu(2)" and not schedule:
            return "parallel(RANGE)", (*here.around, device)
        return f"parallel(RANGE, {device}{schedule})", (*here.around, device)

    def update(self, here: StatementScope) -> str | None:
        """An update of a tensor whose gates admit it here; None if there is none."""
        if not here.updates:
            return None
        t = self.pick(here.updates)
        target = self.gated_element(here, t) if t.gates else self.access(here, t, pure=t.inferred)
        if target is None:
            return None
        self.updated.add(t.name)
        return f"{target} {t.op} {self.expression(here, t.kind)}"


@st.composite
def programs(draw: st.DrawFn, options: Options = ORDINARY) -> str:
    """Draws texts of programs."""
    return Writer(drawn_by(draw).between, options).program()
